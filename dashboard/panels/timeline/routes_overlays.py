"""Routes for overlays and for relations between traces: critical path, idle gaps, alignment, collectives, differences.

Mounted under ``/api/timeline``. Client errors are answered with a 4xx status and ``{"detail": <sentence>}``.
"""

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.panels.timeline import overlays, several_traces
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, json_answer
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.dashboard.traces.requests import End, Start, TraceId, TraceRequests, Width, check_range
from stepscope.dashboard.traces.sources import LATEST_NS, OpenedTrace
from stepscope.profiler.analysis.communication import communication
from stepscope.profiler.analysis.critical_path import Path, path_of
from stepscope.profiler.analysis.facts import Scope
from stepscope.profiler.analysis.idle import Of, idle_gaps
from stepscope.profiler.analysis.trace_alignment import By, totals_by_name
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

MAX_TRACES: Final = 8
_RANGE: Final = re.compile(r"(-?[0-9]{1,19}):(-?[0-9]{1,19})")

TraceIds = Annotated[
    list[str],
    Query(alias="id", min_length=1, max_length=MAX_TRACES, description="Ids of the listing, one parameter each."),
]
StepNumber = Annotated[int | None, Query(ge=0, lt=1 << 63, description="Number of a step.")]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["timeline"], route_class=SentenceRoute)
    traces_asked_for = TraceRequests(live)

    @router.get("/critical_path")
    def critical_path(
        request: Request, trace_id: TraceId, start: Start, end: End, width: Width, step: StepNumber = None
    ) -> Response:
        """Return the part of the critical path of the trace, or of one step, that reaches into the window."""
        check_range(start, end)
        analyzed = traces_asked_for.analyzed(trace_id)
        found = overlays.critical_path_window(
            _path(analyzed, step), analyzed.facts.trace, analyzed.start_ns, start, end, width
        )
        return json_answer(request, {"step": step, **found})

    @router.get("/idle")
    def idle(
        request: Request,
        trace_id: TraceId,
        start: Start,
        end: End,
        width: Width,
        of: Of = "stream",
        scope: Scope = "all",
    ) -> Response:
        """Return when streams, or whole devices, were idle, and why."""
        check_range(start, end)
        analyzed = traces_asked_for.analyzed(trace_id)
        gaps = analyzed.kept(
            ("idle gaps", of, scope),
            "idle gaps",
            lambda: overlays.by_lane(idle_gaps(analyzed.facts, of=of, scope=scope), analyzed.facts.trace),
        )
        found = overlays.idle_window(gaps, analyzed.facts.trace, analyzed.start_ns, start, end, width)
        return json_answer(request, {"of": of, "scope": scope, **found})

    @router.get("/align")
    def align(
        request: Request,
        ids: TraceIds,
        by: By,
        step: StepNumber = None,
        name: Annotated[str | None, Query(max_length=100_000, description="Name of a slice.")] = None,
    ) -> Response:
        """Return the offset to add to the relative times of each trace so that they align with those of the first."""
        if by == "name" and not name:
            raise HTTPException(422, "Parameter 'name' must be the name of a slice to line the traces up by.")
        opened, analyzed_traces = _several(traces_asked_for, ids)
        parts = _communication(analyzed_traces) if by == "collectives" else []
        try:
            found = several_traces.alignment(
                opened, [analyzed.facts for analyzed in analyzed_traces], by, step, name, parts
            )
        except UserError as error:
            raise HTTPException(422, str(error)) from error
        return json_answer(request, found)

    @router.get("/collectives")
    def collectives(
        request: Request,
        ids: TraceIds,
        start: Start | None = None,
        end: End | None = None,
        limit: Annotated[int, Query(ge=1, le=several_traces.MAX_COLLECTIVES)] = several_traces.MAX_COLLECTIVES,
    ) -> Response:
        """Return collectives in which several ranks took part, with the slice of each rank."""
        if (start is None) != (end is None):
            raise HTTPException(422, "A window needs both 'start' and 'end'; leave out both for the whole trace.")
        window = None
        if start is not None and end is not None:
            check_range(start, end)
            window = start, end
        if len(ids) < 2:
            raise HTTPException(422, "Collectives are matched across traces: give 'id' at least twice.")
        opened, analyzed_traces = _several(traces_asked_for, ids)
        return json_answer(request, several_traces.collectives(opened, _communication(analyzed_traces), window, limit))

    @router.get("/differences")
    def differences(
        request: Request,
        ids: TraceIds,
        ranges: Annotated[
            list[str], Query(alias="range", max_length=2, description="START:END in ns since each trace's start.")
        ] = [],  # noqa: B006 - FastAPI copies it
        limit: Annotated[int, Query(ge=1, le=several_traces.MAX_DIFFERENCES)] = several_traces.MAX_DIFFERENCES,
    ) -> Response:
        """Return statistics by slice name of two traces, or of a range of each, and their differences."""
        if len(ids) != 2 or len(ranges) not in (0, 2):
            raise HTTPException(
                422, "Differences are between two traces: give 'id' twice, and 'range' twice or not at all."
            )
        opened, analyzed_traces = _several(traces_asked_for, ids)
        windows = [_range(text) for text in ranges] or [(0, each.end_ns - each.start_ns) for each in opened]
        tables = [
            _totals(analyzed, window if ranges else None)
            for analyzed, window in zip(analyzed_traces, windows, strict=True)
        ]
        longest = max(end - start for start, end in windows)
        return json_answer(request, several_traces.difference(tables[0], tables[1], longest, limit))

    return router


def _path(analyzed: AnalyzedTrace, step: int | None) -> Path:
    what = "the critical path" if step is None else f"the critical path of step {step}"
    try:
        return analyzed.kept(("critical path", step), what, lambda: path_of(analyzed.facts, step=step))
    except ValueError as error:
        raise HTTPException(404, str(error)) from error


def _several(requests: TraceRequests, ids: list[str]) -> tuple[list[OpenedTrace], list[AnalyzedTrace]]:
    if len(set(ids)) != len(ids):
        raise HTTPException(422, "Each 'id' can be given once.")
    return [requests.opened(trace_id) for trace_id in ids], [requests.analyzed(trace_id) for trace_id in ids]


# Tables of single traces are kept one by one and joined afterwards: if one were computed within another, two
# requests could take their locks in different orders.
def _communication(analyzed_traces: list[AnalyzedTrace]) -> list["pl.DataFrame"]:
    return [
        analyzed.kept("communication", "collectives", partial(communication, analyzed.facts))
        for analyzed in analyzed_traces
    ]


def _totals(analyzed: AnalyzedTrace, window: tuple[int, int] | None) -> "pl.DataFrame":
    own = None if window is None else (window[0] + analyzed.start_ns, window[1] + analyzed.start_ns)
    return analyzed.kept(("totals by name", own), "times by name", lambda: totals_by_name(analyzed.facts, own))


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None or max(abs(int(match[1])), abs(int(match[2]))) > LATEST_NS:
        raise HTTPException(422, f"Parameter 'range' must be START:END in nanoseconds, but is {text[:100]!r}.")
    check_range(int(match[1]), int(match[2]))
    return int(match[1]), int(match[2])
