"""``/data/plugin/timeseries``: TensorBoard's routes for scalars, histograms and images together."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from stepscope.dashboard.page.safe_html import markdown_html
from stepscope.dashboard.server.bodies import Body, form_fields, values_of
from stepscope.dashboard.server.bounded_bodies import LARGEST_BODY
from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.pictures import picture_answer, read_picture
from stepscope.dashboard.server.pieces import columns_of, elements_of, joined, json_answer, named, rows
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.blobs import BlobKey, find_blob
from stepscope.dashboard.tensorboard.histograms import readable
from stepscope.dashboard.tensorboard.images import pictures_at, samples_of
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kinds.histogram import PLUGIN_NAME as HISTOGRAMS
from stepscope.summary.kinds.image import PLUGIN_NAME as IMAGES
from stepscope.summary.series import SCALARS, LazySeries, Run, Series
from stepscope.summary.snapshot import Snapshot

MOST_REQUESTS: Final = 1_000
"""Maximum time series, each of one tag, that one request may ask for."""

MOST_POINTS: Final = 10_000_000
"""Maximum points of one answer, at some 60 bytes each; a histogram counts as `POINTS_A_HISTOGRAM`."""
MOST_KEPT: Final = 1_000_000
"""Maximum points of answers kept for repetition; the rest is written again."""
POINTS_A_HISTOGRAM: Final = 30

Requests = Annotated[str, Query(max_length=LARGEST_BODY, description="A JSON list of plugin, tag, run and sample.")]


def combined_description(by_run: Mapping[str, str]) -> str:
    """Return the Markdown of a tag's descriptions, given the nonempty ones by run.

    Runs that agree share a heading.
    """
    runs_of: dict[str, list[str]] = {}
    for run, description in by_run.items():
        runs_of.setdefault(description, []).append(run)
    if len(runs_of) < 2:
        return next(iter(runs_of), "")
    parts = ["# Multiple descriptions"]
    for description in sorted(runs_of):
        names = sorted(runs_of[description])
        parts.append(f"## For run{'s' if len(names) > 1 else ''}: {', '.join(names)}\n{description}")
    return "\n".join(parts)


def descriptions(snapshot: Snapshot, kind: str) -> dict[str, str]:
    """Return tag -> description as sanitized HTML, for the tags of a kind that have one."""
    by_tag: dict[str, dict[str, str]] = {}
    for name, run in snapshot.runs.items():
        # Most runs have no descriptions, and their series need not be created to find that out.
        if isinstance(run.series, LazySeries) and not run.series.has_texts(kind):
            continue
        for series in run.of_kind(kind):
            if series.description:
                by_tag.setdefault(series.tag, {})[name] = series.description
    return {tag: markdown_html(combined_description(by_run)) for tag, by_run in by_tag.items()}


def tags_by_run(snapshot: Snapshot, kind: str) -> Iterator[bytes]:
    """Return run -> sorted tags, and the tags' descriptions, as JSON."""
    info = (
        (name, [json_bytes(sorted(tags))]) for name, run in snapshot.runs.items() if (tags := run.tags_of_kind(kind))
    )
    return named([("runTagInfo", named(info)), ("tagDescriptions", [json_bytes(descriptions(snapshot, kind))])])


def samples_by_tag(snapshot: Snapshot, kind: str) -> dict[str, Any]:
    """Return tag -> run -> number of samples, and the tags' descriptions."""
    info: dict[str, dict[str, dict[str, int]]] = {}
    for name, run in snapshot.runs.items():
        for series in run.of_kind(kind):
            info.setdefault(series.tag, {})[name] = {"maxSamplesPerStep": samples_of(series)}
    return {"tagDescriptions": descriptions(snapshot, kind), "tagRunSampledInfo": info}


def scalar_points(series: Series) -> Iterator[bytes]:
    """Yield the wall time, step, and value of every point."""
    for part in rows(series.columns):
        yield elements_of([{"wallTime": wall_time, "step": step, "value": value} for wall_time, step, value in part])


def histogram_points(series: Series) -> Iterator[bytes]:
    """Yield the wall time, step, and bins of every point that can be decoded."""
    for wall_time, step, buckets in readable(series):
        bins = [
            {"min": json_number(left), "max": json_number(right), "count": json_number(number)}
            for left, right, number in buckets.tolist()
        ]
        yield orjson.dumps({"wallTime": json_number(wall_time), "step": step, "bins": bins})


def image_points(series: Series, sample: int) -> Iterator[bytes]:
    """Yield the wall time, step, and key for ``imageData`` of every point that has the sample."""
    for wall_time, step, key in pictures_at(series, sample):
        yield orjson.dumps({"wallTime": wall_time, "step": step, "imageId": key})


def problem_of(requested: Mapping[str, Any]) -> str:
    """Return what is wrong with a request, in TensorBoard's words; empty if nothing is."""
    plugin = requested.get("plugin")
    sample = requested.get("sample")
    if not isinstance(requested.get("tag"), str):
        return "Missing tag"
    if plugin not in (SCALARS, HISTOGRAMS, IMAGES):
        return "Invalid plugin"
    if plugin in (HISTOGRAMS, IMAGES) and not isinstance(requested.get("run"), str):
        return "Missing run"
    if plugin == IMAGES and (not isinstance(sample, int) or sample < 0):
        return "Missing sample"
    return ""


def runs_asked_for(snapshot: Snapshot, run: Any) -> Iterator[Run]:
    """Yield the run of that name, or all runs if none is given."""
    if not run:
        yield from snapshot.runs.values()
    elif isinstance(run, str) and run in snapshot.runs:
        yield snapshot.runs[run]


@dataclass(frozen=True)
class Question:
    """What one request asks for."""

    said: bytes
    """The request's own fields as a JSON object, which the answer repeats."""
    problem: str
    """What is wrong with the request; empty if nothing is."""
    runs: tuple[Run, ...]
    """The requested runs."""
    tag: str
    kind: str
    sample: int

    def series(self) -> Iterator[Series]:
        """Yield the answer's series, one per run.

        They are created again on each call if runs create them on demand: if those of 100,000 runs, each of several
        objects, were kept until all are sent, every garbage collection would scan them.
        """
        for run in self.runs:
            check_cancelled()
            if run.kind_of(self.tag) == self.kind:
                yield run.series[self.tag]

    @cached_property
    def has_any(self) -> bool:
        """Whether the answer has a series."""
        return next(self.series(), None) is not None

    @cached_property
    def points(self) -> int:
        """Approximate number of points in the answer, counted as points of scalars."""
        return sum(map(len, self.series())) * (POINTS_A_HISTOGRAM if self.kind == HISTOGRAMS else 1)

    def answer(self) -> Iterator[bytes]:
        """Return the request's own fields, followed by a series per run or what is wrong with the request."""
        if self.problem:
            return iter([self.said[:-1] + b',"error":' + orjson.dumps(self.problem) + b"}"])
        return chain([self.said[:-1] + b',"runToSeries":'], named(self._with_some()), [b"}"])

    def _points(self, series: Series) -> Iterator[bytes]:
        if series.kind == SCALARS:
            return scalar_points(series)
        return histogram_points(series) if series.kind == HISTOGRAMS else image_points(series, self.sample)

    def _with_some(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        for series in self.series():
            parts = self._points(series)
            first = next(parts, None)
            # Runs without a picture of the sample are left out.
            if first is not None or series.kind != IMAGES:
                yield series.run, joined(parts if first is None else chain([first], parts))


def question(snapshot: Snapshot, requested: Mapping[str, Any]) -> Question:
    """Return what a request asks for.

    Raises:
        HTTPException: 400 if the request cannot be repeated in its answer.
    """
    tag, kind, sample = requested.get("tag"), requested.get("plugin"), requested.get("sample")
    fields: dict[str, Any] = {"plugin": kind, "tag": tag}
    fields |= {"run": requested["run"]} if isinstance(requested.get("run"), str) else {}
    fields |= {"sample": sample} if isinstance(sample, int) else {}
    try:
        said = orjson.dumps(fields)
    except TypeError as error:
        raise HTTPException(400, f"A request cannot be repeated in its response: {error}.") from error
    if problem := problem_of(requested):
        return Question(said, problem, (), "", "", 0)
    runs = tuple(runs_asked_for(snapshot, requested.get("run")))
    return Question(said, "", runs, str(tag), str(kind), sample if isinstance(sample, int) else 0)


def time_series_answer(snapshot: Snapshot, requests: str) -> Response:
    """Return the answers to a JSON list of requests, in order; equal requests are computed once.

    Raises:
        HTTPException: 400 if it is not such a list, 413 if the answer would have more than `MOST_POINTS`, 422 if points
            can no longer be read.
    """
    try:
        requested = json.loads(requests)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"Expected 'requests' as JSON: {error}.") from error
    if (
        not isinstance(requested, list)
        or not all(isinstance(one, dict) for one in requested)
        or len(requested) > MOST_REQUESTS
    ):
        raise HTTPException(400, f"Expected 'requests' as a list of at most {MOST_REQUESTS} objects.")
    # Equal requests share one question, as they ask for the same runs.
    alike: dict[tuple[bytes, int], Question] = {}
    asked = (question(snapshot, one) for one in requested)
    questions = [alike.setdefault((one.said, len(one.runs)), one) for one in asked]
    points = sum(one.points for one in questions)
    if points > MOST_POINTS:
        raise HTTPException(
            413,
            f"The response would have {points:,} points, and at most {MOST_POINTS:,} are sent at once. "
            "Ask for fewer time series, or name a run in each request.",
        )
    for one in {_key(one): one for one in questions if one.kind == SCALARS}.values():
        for series in one.series():
            columns_of(series)
    return json_answer(answers(questions))


def answers(questions: Sequence[Question]) -> Iterator[bytes]:
    """Yield a JSON array of the answers."""
    often = {key for key, times in Counter(map(_key, questions)).items() if times > 1}
    kept: dict[object, list[bytes]] = {}
    room = MOST_KEPT
    before = b"["
    for one in questions:
        yield before
        before = b","
        key = _key(one)
        if key in kept:
            yield from kept[key]
        elif key in often and one.points <= room:
            room -= one.points
            kept[key] = []
            for part in one.answer():
                kept[key].append(part)
                yield part
        else:
            yield from one.answer()
    yield b"]" if questions else b"[]"


def _key(one: Question) -> tuple[bytes, bool]:
    # A run that is not text, such as null, is not repeated, and means all runs or none.
    return one.said, one.has_any


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["timeseries"], route_class=LightRoute)

    @routes.get("/data/plugin/timeseries/tags")
    def tags() -> Response:
        """Return the tags of scalars and histograms by run and of images by tag, each with its description."""
        snapshot = live.snapshot()
        by_run = ((kind, tags_by_run(snapshot, kind)) for kind in (SCALARS, HISTOGRAMS))
        return json_answer(named(chain(by_run, [(IMAGES, [json_bytes(samples_by_tag(snapshot, IMAGES))])])))

    @routes.get("/data/plugin/timeseries/timeSeries")
    def get_time_series(requests: Requests) -> Response:
        """Return every point of the requested series: ``requests`` is a JSON list of plugin, tag, run, and sample."""
        return time_series_answer(live.snapshot(), requests)

    @routes.post("/data/plugin/timeseries/timeSeries")
    def post_time_series(request: Request, body: Body) -> Response:
        """Return the same, with ``requests`` as a form field."""
        given = values_of(form_fields(request.headers.get("content-type", ""), body), "requests")
        if len(given) != 1:
            raise HTTPException(400, f"Expected the field 'requests' once, got it {len(given)} times.")
        return time_series_answer(live.snapshot(), given[0])

    @routes.get("/data/plugin/timeseries/imageData", response_class=Response)
    def image_data(request: Request, imageId: BlobKey) -> Response:  # noqa: N803 - TensorBoard's name
        """Return the bytes of one picture."""
        return picture_answer(request, read_picture(*find_blob(live.snapshot(), imageId, IMAGES)), {})

    return routes


PLUGIN: Final = TensorboardPlugin(
    name="timeseries", tab="Time Series", kinds=(SCALARS, HISTOGRAMS, IMAGES), router=router
)
