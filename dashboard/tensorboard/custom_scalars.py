"""``/data/plugin/custom_scalars``: TensorBoard's routes."""

from collections.abc import Iterator
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME, RunName, TagName
from stepscope.dashboard.server.patterns import exact_case
from stepscope.dashboard.server.pieces import json_answer, named, point_list
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.tensorboard.messages import message_answer
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.dashboard.tensorboard.scalars import Format, scalars_answer
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.custom_scalars import PLUGIN_NAME, TAG
from stepscope.summary.proto.custom_scalars_pb2 import Category, Layout
from stepscope.summary.safe_regex import PatternError
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot


def layout_of(snapshot: Snapshot, run: str) -> Layout | None:
    """Return the last layout of a run; None if it has none that can be read."""
    series = snapshot.series(run, TAG)
    if series is None or series.kind != PLUGIN_NAME or not len(series):
        return None
    try:
        layout: Layout = series.read(len(series) - 1)
    except PayloadError:
        return None
    return layout


def merged_layout(snapshot: Snapshot, *, without: str | None = None) -> Layout | None:
    """Return the layouts of all runs, or all but one, merged into one, in order of run name; None if no run has any.

    Categories with the same title are joined, and a chart that already exists is left out.
    """
    merged: Layout | None = None
    categories: dict[str, Category] = {}
    for name in sorted(snapshot.runs):
        layout = None if name == without else layout_of(snapshot, name)
        if layout is None:
            continue
        if merged is None:
            merged = Layout(version=layout.version)
        for category in layout.category:
            known = categories.get(category.title)
            if known is None:
                merged.category.append(category)
                categories[category.title] = merged.category[-1]
            else:
                known.chart.extend([chart for chart in category.chart if chart not in known.chart])
    return merged


def matching_scalars(snapshot: Snapshot, run: str, pattern: str) -> Iterator[bytes]:
    """Return, as JSON, a run's scalars whose tags match from their beginning, and whether ``pattern`` is usable."""
    found = snapshot.runs.get(run)
    series = found.of_kind(SCALARS) if found is not None else []
    try:
        if not pattern:
            raise PatternError("empty")
        matches = exact_case(pattern, from_beginning=True).matches([one.tag for one in series])
    except PatternError:
        return named([("regex_valid", [b"false"]), ("tag_to_events", [b"{}"])])
    chosen = [(one.tag, point_list(one)) for one, fits in zip(series, matches, strict=True) if fits]
    return named([("regex_valid", [b"true"]), ("tag_to_events", named(chosen))])


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["custom_scalars"], route_class=LightRoute)

    @routes.get("/data/plugin/custom_scalars/layout")
    def layout() -> Response:
        """Return the layouts of all runs merged into one: categories of charts; an empty object if there is none."""
        merged = merged_layout(live.snapshot())
        return message_answer(merged) if merged is not None else Response(b"{}", media_type="application/json")

    @routes.get("/data/plugin/custom_scalars/scalars")
    def scalars(run: RunName, tag: Annotated[str, Query(max_length=MAX_NAME)] = "") -> Response:
        """Return every point of the tags of one run that match the regular expression ``tag`` from their beginning."""
        return json_answer(matching_scalars(live.snapshot(), run, tag))

    @routes.get("/data/plugin/custom_scalars/download_data")
    def download_data(run: RunName, tag: TagName, format: Format = "json") -> Response:
        """Return every point of one tag of one run, as ``scalars/scalars`` gives it."""
        return scalars_answer(find_series(live.snapshot(), run, tag, SCALARS), format)

    return routes


PLUGIN: Final = TensorboardPlugin(name="custom_scalars", tab="Custom Scalars", kinds=(PLUGIN_NAME,), router=router)
