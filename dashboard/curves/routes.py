"""The route that panels of curves get their charts from."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec
from fastapi import APIRouter, HTTPException, Response

from stepscope.dashboard.curves.chart import MOST_POINTS, chart, chart_version, values_at
from stepscope.dashboard.curves.messages import ChartsAnswer, SentChart, ValuesAnswer
from stepscope.dashboard.curves.settings import CurveParameters
from stepscope.dashboard.curves.spec import ChartSpec
from stepscope.dashboard.page.state import MAX_QUERY, View, decode
from stepscope.dashboard.panels.charts import utc_offset
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


class ChartRequest(msgspec.Struct, frozen=True):
    """One chart that is asked for."""

    key: str
    points: int = 1000
    """How many points of each line are wanted."""
    window: tuple[float, float] | None = None
    """Visible part of the horizontal axis, in its own unit."""
    version: str = ""
    """The version that the page has, if it has one."""


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
    points: int = 1000


def curve_routes(
    live: Live,
    parameters: CurveParameters,
    spec_of: Callable[[str, Snapshot, View], ChartSpec],
    first_keys: Callable[[Snapshot, View], Sequence[str]],
) -> APIRouter:
    """``POST /curves``, ``POST /first`` and ``POST /values`` of a panel.

    Args:
        live: the log directory.
        parameters: the panel's settings for curves.
        spec_of: which lines the chart of a key has.
        first_keys: the cards that stand first on the page.
    """
    routes = APIRouter(route_class=LightRoute)
    answers = Answers()

    @routes.post("/first")
    async def first(body: Body) -> Response:
        """Return the charts that a page with a view shows first, as ``curves`` gives them.

        Asked for while the page starts.
        """
        return await answered("first", body, first_charts)

    def first_charts(body: bytes) -> bytes:
        requested = parsed(body, FirstRequest, "Expected a view", 400)
        keys = first_keys(live.snapshot(), decode(requested.view[:MAX_QUERY]))[:FIRST_CHARTS]
        return answer(requested.view, [ChartRequest(key, requested.points) for key in keys])

    @routes.post("/curves")
    async def curves(body: Body) -> Response:
        """Return charts as `stepscope.dashboard.server.binary` writes them, without those that did not change."""
        return await answered("curves", body, charts_asked_for)

    def charts_asked_for(body: bytes) -> bytes:
        requested = parsed(body, ChartsRequest, "Expected a list of charts", 400)
        return answer(requested.view, requested.charts)

    @routes.post("/values")
    def values(body: Body) -> ValuesAnswer:
        """Return what each line of a chart has at one place of its axis, of all its points."""
        requested = parsed(body, ValuesRequest, "Expected a place on a chart", 400)
        snapshot, view = live.snapshot(), decode(requested.view[:MAX_QUERY])
        settings = parameters.of(view, utc_offset(), requested.key)
        spec = spec_of(requested.key, snapshot, view)
        return {"points": values_at(spec, RunTable(snapshot, view), settings, requested.x)}

    async def answered(route: str, body: bytes, make: Callable[[bytes], bytes]) -> Response:
        found = await answers.get(state_of(live), (route, body), lambda: run(LIGHT, make, body))
        return Response(found, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})

    def answer(query: str, charts: Sequence[ChartRequest]) -> bytes:
        if len(charts) > MOST_CHARTS or len(query) > MAX_QUERY:
            raise HTTPException(400, f"Expected up to {MOST_CHARTS} charts, got {len(charts)}.")
        snapshot, view = live.snapshot(), decode(query)
        table = RunTable(snapshot, view)
        pack = ColumnPack()
        found: dict[str, SentChart] = {}
        for wanted in charts:
            spec = spec_of(wanted.key, snapshot, view)
            settings = parameters.of(view, utc_offset(), wanted.key)
            most = min(wanted.points, MOST_POINTS)
            version = chart_version(spec, table, settings, wanted.window, most)
            if version != wanted.version:
                made = chart(spec, table, settings, wanted.window, most, pack)
                # Equal but for the smoothing: the page keeps what it has drawn of the points themselves.
                raw = chart_version(spec, table, replace(settings, smoothing=0.0), wanted.window, most)
                found[wanted.key] = {**made, "version": version, "raw_version": raw, "points": wanted.points}
        reported: ChartsAnswer = {"revision": snapshot.revision, "traces": has_traces(snapshot), "charts": found}
        return pack.body(reported)

    return routes
