"""The routes that provide charts for panels of curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, HTTPException, Response

from stepscope.dashboard.curves.chart import MOST_POINTS, chart, chart_version, is_pictured, values_at
from stepscope.dashboard.curves.messages import ChartsAnswer, SentChart, ValuesAnswer
from stepscope.dashboard.curves.settings import CurveParameters
from stepscope.dashboard.curves.spec import ChartSpec
from stepscope.dashboard.page.state import MAX_QUERY, View, decode
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.answers import Answers, state_of
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.bodies import Body, parsed
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LIGHT, LightRoute, run
from stepscope.dashboard.traces.sources import has_traces
from stepscope.summary.snapshot import Snapshot

MOST_CHARTS: Final = 64
FIRST_CHARTS: Final = 6
_PICTURE: Final = "picture "
"""Prefix of the version of a chart drawn from pictures, so that no other chart has the same version."""

Points = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class ChartRequest(msgspec.Struct, frozen=True):
    """One requested chart."""

    key: str
    points: Points = 1000
    """Number of points wanted per line."""
    window: tuple[float, float] | None = None
    """Visible part of the horizontal axis, in its own unit."""
    version: str = ""
    """The version that the page has, if any; without one, it gets a picture if that is available sooner."""


class ChartsRequest(msgspec.Struct, frozen=True):
    """Charts of one view."""

    view: str
    """The page's query string."""
    charts: list[ChartRequest]


class ValuesRequest(msgspec.Struct, frozen=True):
    """One place on the horizontal axis of a chart."""

    view: str
    key: str
    x: float


class FirstRequest(msgspec.Struct, frozen=True):
    """The charts that a page will show first."""

    view: str
    points: Points = 1000


@dataclass(frozen=True)
class WantedCharts:
    """Charts of one view that a page lacks; the ``repr`` is the same for all pages that lack the same charts."""

    snapshot: Snapshot = field(repr=False)
    revision: int
    view: str
    charts: tuple[tuple[str, int, tuple[float, float] | None, bool], ...]
    """Key, points and window of each chart, and whether it is drawn from pictures."""


def curve_routes(
    live: Live,
    parameters: CurveParameters,
    spec_of: Callable[[str, Snapshot, View], ChartSpec],
    first_keys: Callable[[Snapshot, View], Sequence[str]],
) -> APIRouter:
    """Return the routes ``POST /curves``, ``POST /first`` and ``POST /values`` of a panel.

    Args:
        live: the log directory.
        parameters: the panel's settings for curves.
        spec_of: returns the lines of a key's chart.
        first_keys: returns the cards at the top of the page.
    """
    routes = APIRouter(route_class=LightRoute)
    answers = Answers()

    @routes.post("/first")
    async def first(body: Body) -> Response:
        """Return the charts that a page with a given view shows first, in the format of ``curves``.

        The page requests them while it starts.
        """
        return await answered("first", body, first_charts)

    def first_charts(body: bytes) -> WantedCharts:
        requested = parsed(body, FirstRequest, "Expected a view", 400)
        snapshot = live.snapshot()
        keys = first_keys(snapshot, decode(requested.view[:MAX_QUERY]))[:FIRST_CHARTS]
        return changed(snapshot, requested.view, [ChartRequest(key, requested.points) for key in keys])

    @routes.post("/curves")
    async def curves(body: Body) -> Response:
        """Return the charts that changed, in the format of `stepscope.dashboard.server.binary`."""
        return await answered("curves", body, charts_asked_for)

    def charts_asked_for(body: bytes) -> WantedCharts:
        requested = parsed(body, ChartsRequest, "Expected a list of charts", 400)
        return changed(live.snapshot(), requested.view, requested.charts)

    @routes.post("/values")
    def values(body: Body) -> ValuesAnswer:
        """Return the point of each line of a chart that is nearest to one place on its axis, among all points."""
        requested = parsed(body, ValuesRequest, "Expected a place on a chart", 400)
        snapshot, view = live.snapshot(), decode(requested.view[:MAX_QUERY])
        settings = parameters.of(view, requested.key)
        spec = spec_of(requested.key, snapshot, view)
        return {"points": values_at(spec, RunTable(snapshot, view), settings, requested.x)}

    async def answered(route: str, body: bytes, wanted: Callable[[bytes], WantedCharts]) -> Response:
        state = state_of(live)

        async def made() -> bytes:
            # Pages that lag behind have other versions of a chart, but what they lack is the same.
            lacking = await run(LIGHT, wanted, body)
            return await answers.get(state, lacking, lambda: run(LIGHT, drawn, lacking))

        found = await answers.get(state, (route, body), made)
        return Response(found, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})

    def changed(snapshot: Snapshot, query: str, charts: Sequence[ChartRequest]) -> WantedCharts:
        """Return the charts whose current version the page does not have."""
        if len(charts) > MOST_CHARTS or len(query) > MAX_QUERY:
            raise HTTPException(400, f"Expected up to {MOST_CHARTS} charts, got {len(charts)}.")
        view = decode(query)
        table = RunTable(snapshot, view)

        def is_known(wanted: ChartRequest) -> bool:
            if not wanted.version:
                return False
            spec, settings = spec_of(wanted.key, snapshot, view), parameters.of(view, wanted.key)
            most = min(wanted.points, MOST_POINTS)
            return chart_version(spec, table, settings, wanted.window, most) == wanted.version

        def is_picture(wanted: ChartRequest) -> bool:
            if wanted.version:
                return False
            spec, settings = spec_of(wanted.key, snapshot, view), parameters.of(view, wanted.key)
            return is_pictured(spec, table, settings, wanted.window)

        lacking = tuple((each.key, each.points, each.window, is_picture(each)) for each in charts if not is_known(each))
        return WantedCharts(snapshot, snapshot.revision, query, lacking)

    def drawn(wanted: WantedCharts) -> bytes:
        snapshot, view = wanted.snapshot, decode(wanted.view)
        table = RunTable(snapshot, view)
        pack = ColumnPack()
        found: dict[str, SentChart] = {}
        for key, points, window, pictured in wanted.charts:
            spec = spec_of(key, snapshot, view)
            settings = parameters.of(view, key)
            most = min(points, MOST_POINTS)
            version = chart_version(spec, table, settings, window, most)
            made = chart(spec, table, settings, window, most, pack, pictured=pictured)
            # If only the smoothing differs, the page keeps its drawing of the points themselves.
            raw = chart_version(spec, table, replace(settings, smoothing=0.0), window, most)
            of = _PICTURE if made["is_picture"] else ""
            found[key] = {**made, "version": of + version, "raw_version": of + raw, "points": points}
        reported: ChartsAnswer = {"revision": snapshot.revision, "traces": has_traces(snapshot), "charts": found}
        return pack.body(reported)

    return routes
