"""``/data/plugin/timeseries``: TensorBoard's routes for scalars, histograms and images together."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from dashboard.api.blobs import BlobKey, find_blob
from dashboard.api.bodies import LARGEST_BODY, Body, form_fields, values_of
from dashboard.api.histograms import readable
from dashboard.api.images import pictures_at, samples_of
from dashboard.api.scalars import points
from dashboard.live import Live
from dashboard.numbers import json_number
from dashboard.panels.images.routes import answer, read_picture
from dashboard.panels.text.rendering import markdown_html
from dashboard.work import LightRoute
from summary.kinds.histogram import PLUGIN_NAME as HISTOGRAMS
from summary.kinds.image import PLUGIN_NAME as IMAGES
from summary.snapshot import SCALARS, Run, Series, Snapshot

MOST_REQUESTS: Final = 1_000
"""Time series, each of one tag, that one request may ask for."""

Requests = Annotated[str, Query(max_length=LARGEST_BODY, description="A JSON list of plugin, tag, run and sample.")]


def combined_description(by_run: Mapping[str, str]) -> str:
    """The Markdown of a tag's descriptions, given those that are not empty by run; runs that agree share a heading."""
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


def descriptions(runs: Mapping[str, list[Series]]) -> dict[str, str]:
    """Tag -> description as sanitised HTML, of the tags that have any."""
    by_tag: dict[str, dict[str, str]] = {}
    for run, found in runs.items():
        for series in found:
            if series.description:
                by_tag.setdefault(series.tag, {})[run] = series.description
    return {tag: markdown_html(combined_description(by_run)) for tag, by_run in by_tag.items()}


def tags_by_run(runs: Mapping[str, list[Series]]) -> dict[str, Any]:
    """Run -> sorted tags, and the tags' descriptions."""
    info = {run: sorted(series.tag for series in found) for run, found in runs.items()}
    return {"runTagInfo": info, "tagDescriptions": descriptions(runs)}


def samples_by_tag(runs: Mapping[str, list[Series]]) -> dict[str, Any]:
    """Tag -> run -> number of samples, and the tags' descriptions."""
    info: dict[str, dict[str, dict[str, int]]] = {}
    for run, found in runs.items():
        for series in found:
            info.setdefault(series.tag, {})[run] = {"maxSamplesPerStep": samples_of(series)}
    return {"tagDescriptions": descriptions(runs), "tagRunSampledInfo": info}


def with_kind(snapshot: Snapshot, kind: str) -> dict[str, list[Series]]:
    """The series of one kind, of the runs that have any."""
    return {name: found for name, run in snapshot.runs.items() if (found := run.of_kind(kind))}


def scalar_points(series: Series) -> list[dict[str, Any]]:
    """Wall time, step and value of every point."""
    return [{"wallTime": wall_time, "step": step, "value": value} for wall_time, step, value in points(series)]


def histogram_points(series: Series) -> list[dict[str, Any]]:
    """Wall time, step and bins of every point that can be decoded."""
    return [
        {
            "wallTime": json_number(wall_time),
            "step": step,
            "bins": [
                {"min": json_number(left), "max": json_number(right), "count": json_number(number)}
                for left, right, number in buckets.tolist()
            ],
        }
        for wall_time, step, buckets in readable(series)
    ]


def image_points(series: Series, sample: int) -> list[dict[str, Any]]:
    """Wall time, step and the key for ``imageData`` of every point that has the sample."""
    return [
        {"wallTime": wall_time, "step": step, "imageId": key} for wall_time, step, key in pictures_at(series, sample)
    ]


def problem_of(asked: Mapping[str, Any]) -> str:
    """What is wrong with a request, in TensorBoard's words; empty where nothing is."""
    plugin = asked.get("plugin")
    sample = asked.get("sample")
    if not isinstance(asked.get("tag"), str):
        return "Missing tag"
    if plugin not in (SCALARS, HISTOGRAMS, IMAGES):
        return "Invalid plugin"
    if plugin in (HISTOGRAMS, IMAGES) and not isinstance(asked.get("run"), str):
        return "Missing run"
    if plugin == IMAGES and (not isinstance(sample, int) or sample < 0):
        return "Missing sample"
    return ""


def runs_asked_for(snapshot: Snapshot, run: Any) -> Iterator[Run]:
    """The run of that name, or all where there is none."""
    if not run:
        yield from snapshot.runs.values()
    elif isinstance(run, str) and run in snapshot.runs:
        yield snapshot.runs[run]


def time_series(snapshot: Snapshot, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one request: its own fields, and a series per run or what is wrong with it."""
    tag, kind, sample = asked.get("tag"), asked.get("plugin"), asked.get("sample")
    said: dict[str, Any] = {"plugin": kind, "tag": tag}
    said |= {"run": asked["run"]} if isinstance(asked.get("run"), str) else {}
    said |= {"sample": sample} if isinstance(sample, int) else {}
    problem = problem_of(asked)
    if problem:
        return {**said, "error": problem}
    by_run: dict[str, list[dict[str, Any]]] = {}
    for run in runs_asked_for(snapshot, asked.get("run")):
        series = run.series.get(str(tag))
        if series is None or series.kind != kind:
            continue
        if kind == SCALARS:
            by_run[run.name] = scalar_points(series)
        elif kind == HISTOGRAMS:
            by_run[run.name] = histogram_points(series)
        elif found := image_points(series, int(sample or 0)):
            by_run[run.name] = found
    return {**said, "runToSeries": by_run}


def time_series_answer(snapshot: Snapshot, requests: str) -> Response:
    """The answers to a JSON list of requests, in its order.

    Raises:
        HTTPException: 400 where it is no such list.
    """
    try:
        asked = json.loads(requests)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"Expected 'requests' as JSON: {error}.") from error
    if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked) or len(asked) > MOST_REQUESTS:
        raise HTTPException(400, f"Expected 'requests' as a list of at most {MOST_REQUESTS} objects.")
    try:
        body = orjson.dumps([time_series(snapshot, one) for one in asked])
    except TypeError as error:
        raise HTTPException(400, f"A request cannot be repeated in its answer: {error}.") from error
    return Response(body, media_type="application/json")


def router(live: Live) -> APIRouter:
    """The routes, over the latest snapshot."""
    routes = APIRouter(tags=["timeseries"], route_class=LightRoute)

    @routes.get("/data/plugin/timeseries/tags")
    def tags() -> dict[str, dict[str, Any]]:
        """The tags of scalars and histograms by run, of images by tag, each with its description."""
        snapshot = live.snapshot()
        return {
            "scalars": tags_by_run(with_kind(snapshot, SCALARS)),
            "histograms": tags_by_run(with_kind(snapshot, HISTOGRAMS)),
            "images": samples_by_tag(with_kind(snapshot, IMAGES)),
        }

    @routes.get("/data/plugin/timeseries/timeSeries")
    def get_time_series(requests: Requests) -> Response:
        """Every point of the series asked for: ``requests`` is a JSON list of plugin, tag, run and sample."""
        return time_series_answer(live.snapshot(), requests)

    @routes.post("/data/plugin/timeseries/timeSeries")
    def post_time_series(request: Request, body: Body) -> Response:
        """The same, with ``requests`` as the field of a form."""
        given = values_of(form_fields(request.headers.get("content-type", ""), body), "requests")
        if len(given) != 1:
            raise HTTPException(400, f"Expected the field 'requests' once, got it {len(given)} times.")
        return time_series_answer(live.snapshot(), given[0])

    @routes.get("/data/plugin/timeseries/imageData", response_class=Response)
    def image_data(request: Request, imageId: BlobKey) -> Response:  # noqa: N803 - TensorBoard's name
        """The bytes of one picture."""
        return answer(request, read_picture(*find_blob(live.snapshot(), imageId, IMAGES)), {})

    return routes
