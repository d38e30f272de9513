"""Routes that read slices: one slice, its occurrences and relations, the sums of an area, and the visible part."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.panels.timeline import area as areas
from stepscope.dashboard.panels.timeline import visible
from stepscope.dashboard.panels.timeline.details import slice_details
from stepscope.dashboard.panels.timeline.occurrences import Scope
from stepscope.dashboard.panels.timeline.occurrences import occurrences as occurrences_of
from stepscope.dashboard.panels.timeline.relations import relations as relations_of
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, json_answer
from stepscope.dashboard.server.work import Pieces
from stepscope.dashboard.traces.requests import End, Numbers, Start, TraceId, TraceRequests, check_range, parse_numbers
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.analysis.area import overlap
from stepscope.profiler.traces.to_chrome import chrome_json
from stepscope.summary.counts import counted

Index = Annotated[int, Query(description="Number of a slice in the trace.")]
Top = Annotated[int, Query(ge=1, le=areas.MAX_ROWS, description="Rows of each table.")]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["timeline"], route_class=SentenceRoute)
    requests = TraceRequests(live)

    @router.get("/slice")
    def slice_(request: Request, trace_id: TraceId, index: Index) -> Response:
        """Return one slice, as `stepscope.dashboard.panels.timeline.details.slice_details` does."""
        return json_answer(request, slice_details(_with_slice(requests.opened(trace_id), index), index))

    @router.get("/relations")
    def relations(request: Request, trace_id: TraceId, index: Index) -> Response:
        """Return launch, operator, call stack and table of one slice; the first answer for a trace may take seconds."""
        found = _with_slice(requests.opened(trace_id), index)
        return json_answer(request, relations_of(requests.analyzed(trace_id), found, index))

    @router.get("/occurrences")
    def occurrences(request: Request, trace_id: TraceId, index: Index, scope: Scope = "all") -> Response:
        """Return the slices of the same name, as `stepscope.dashboard.panels.timeline.occurrences.occurrences`."""
        found = _with_slice(requests.opened(trace_id), index)
        try:
            return json_answer(request, occurrences_of(found, index, scope))
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @router.get("/area")
    def area(
        request: Request, trace_id: TraceId, start: Start, end: End, lanes: Numbers = None, top: Top = 500
    ) -> Response:
        """Return totals of the slices in an area, clipped to it."""
        check_range(start, end)
        found = requests.opened(trace_id)
        chosen = parse_numbers(lanes, "lanes", len(found.trace.lanes))
        return json_answer(request, areas.area_answer(found, start, end, chosen, top))

    @router.get("/export")
    def export(
        request: Request,
        trace_id: TraceId,
        start: Start,
        end: End,
        lanes: Numbers = None,
        counters: Numbers = None,
    ) -> Response:
        """Return the slices that overlap a window, as Chrome JSON to save as a file."""
        check_range(start, end)
        found = requests.opened(trace_id)
        trace = found.trace
        chosen = parse_numbers(lanes, "lanes", len(trace.lanes))
        chosen_counters = parse_numbers(counters, "counters", len(trace.counters))
        start_ns, end_ns = found.start_ns + start, found.start_ns + end
        inside = overlap(trace, start_ns, end_ns, chosen)
        if problem := visible.too_many(inside.number):
            raise HTTPException(422, problem)
        part = visible.visible_part(trace, inside, start_ns, end_ns, chosen_counters)
        compress = "gzip" in request.headers.get("accept-encoding", "")
        headers = attachment(visible.export_name(found.source, start, end), "trace.json")
        headers |= {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
        if compress:
            headers["Content-Encoding"] = "gzip"
        body = visible.in_pieces(chrome_json(part), compress=compress)
        return Pieces(body, media_type="application/json", headers=headers)

    return router


def _with_slice(found: OpenedTrace, index: int) -> OpenedTrace:
    if not 0 <= index < len(found.trace):
        there = len(found.trace)
        raise HTTPException(
            404, f"The trace has {counted(there, 'slice')}; expected a number from 0 to {there - 1}, got {index}."
        )
    return found
