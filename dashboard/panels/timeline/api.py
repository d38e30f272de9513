"""The Timeline panel's HTTP routes, mounted under ``/api/timeline``.

Every route is a plain function, which runs in a thread of `stepscope.dashboard.server.work`, so that opening a large
trace never blocks the event loop. Client errors are answered with a 4xx status and ``{"detail": <sentence>}``.
"""

import json
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response
from starlette.responses import FileResponse

from stepscope.dashboard.panels.timeline import payloads, routes_overlays, routes_slices, routes_steps
from stepscope.dashboard.panels.timeline.lanes import MOST_COUNTERS, lanes_payload, shown_lanes
from stepscope.dashboard.panels.timeline.values import Value, values_of
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.dashboard.server.work import light
from stepscope.dashboard.traces.requests import (
    End,
    Numbers,
    Start,
    TraceId,
    TraceRequests,
    Width,
    check_range,
    parse_numbers,
)
from stepscope.dashboard.traces.sources import (
    TraceCache,
    TraceSource,
    TraceUnavailableError,
    find_source,
    trace_sources,
)
from stepscope.profiler.lod import Match
from stepscope.profiler.timeline import chrome_trace
from stepscope.summary.contents import Companion
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError
from stepscope.summary.kinds.base import PayloadError

MAX_PATTERN: Final = 16_384
"""Maximum number of characters; kernel names with template arguments can have thousands."""


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["timeline"], route_class=SentenceRoute)

    traces_asked_for = TraceRequests(live)
    opened = traces_asked_for.opened

    @router.get("/traces")
    @light
    def traces(request: Request) -> Response:
        """Return the traces of the log directory, newest first within each run."""
        snapshot = live.snapshot()
        return json_answer(
            request, {"revision": snapshot.revision, "traces": payloads.listing(trace_sources(snapshot))}
        )

    @router.get("/trace")
    def trace(request: Request, trace_id: TraceId) -> Response:
        """Return the lanes, extent, steps, counters and losses of one trace.

        A trace that cannot be shown is not a client error: the answer is then ``{"id": ..., "problem": <sentence>}``.
        """
        try:
            found = live.shared(TraceCache).get(find_source(live.snapshot(), trace_id))
        except TraceUnavailableError as error:
            return json_answer(request, {"id": trace_id, "problem": str(error)})
        return json_answer(request, payloads.summary(found))

    @router.get("/lanes")
    def lanes(
        request: Request,
        trace_id: TraceId,
        q: Annotated[str, Query(max_length=MAX_PATTERN, description="Filter: a regular expression.")] = "",
        lane: Annotated[int | None, Query(ge=0, description="A lane that is listed in any case.")] = None,
    ) -> Response:
        """Return lanes, by their names in the file, of a trace that has more than are listed at once."""
        trace = opened(trace_id).trace
        if lane is not None and lane >= len(trace.lanes):
            there = len(trace.lanes)
            raise HTTPException(
                404, f"The trace has {counted(there, 'lane')}; expected a number from 0 to {there - 1}, got {lane}."
            )
        try:
            return json_answer(request, lanes_payload(trace, shown_lanes(trace, q, with_lane=lane)))
        except UserError as error:
            raise HTTPException(422, str(error)) from error

    @router.get("/window")
    def window(
        request: Request,
        trace_id: TraceId,
        start: Start,
        end: End,
        width: Width,
        lanes: Numbers = None,
        value: Value | None = None,
    ) -> Response:
        """Return the slices to draw, as typed arrays; `payloads.window` documents the layout."""
        check_range(start, end)
        found = opened(trace_id)
        chosen = parse_numbers(lanes, "lanes", len(found.trace.lanes))
        values = values_of(traces_asked_for.analyzed(trace_id), value) if value else None
        body = payloads.window(found, start, end, width, chosen, values)
        return body_answer(request, body, "application/octet-stream")

    @router.get("/search")
    def search(
        request: Request,
        trace_id: TraceId,
        q: Annotated[str, Query(min_length=1, max_length=MAX_PATTERN)],
        match: Match = "text",
        offset: Annotated[int, Query(ge=0, lt=1 << 53)] = 0,
        limit: Annotated[int, Query(ge=1, le=5_000)] = 2_000,
        at: Start = 0,
    ) -> Response:
        """Return the slices whose name matches, over the whole trace."""
        found = opened(trace_id)
        try:
            return json_answer(request, payloads.search_result(found, q, match, offset, limit, at))
        except UserError as error:
            raise HTTPException(422, str(error)) from error

    @router.get("/counters")
    def counters(
        request: Request, trace_id: TraceId, start: Start, end: End, width: Width, counters: Numbers = None
    ) -> Response:
        """Return counters between two moments, at most two points per bucket."""
        check_range(start, end)
        found = opened(trace_id)
        chosen = parse_numbers(counters, "counters", len(found.trace.counters))
        every = range(min(len(found.trace.counters), MOST_COUNTERS)) if chosen is None else chosen
        return json_answer(request, [payloads.counter_window(found, c, start, end, width) for c in every])

    @router.get("/download")
    def download(trace_id: TraceId) -> Response:
        """Return the trace as Chrome JSON: the file as is, or converted from StepStats."""
        return _download(traces_asked_for.source(trace_id))

    join(router, routes_slices.make_router(live))
    join(router, routes_overlays.make_router(live))
    join(router, routes_steps.make_router(live))
    return router


def _download(source: TraceSource) -> Response:
    if isinstance(source.origin, Companion):
        if Path(source.origin.path).is_file():
            return FileResponse(source.origin.path, filename=source.file_name, media_type="application/octet-stream")
        try:
            content = source.origin.read()
        except OSError as error:
            raise HTTPException(404, f"{source.label} of run {source.run!r} no longer exists.") from error
        headers = attachment(f"{source.run}_{source.label}", "trace")
        return Response(content, media_type="application/octet-stream", headers=headers)
    try:
        metadata = source.origin.read(int(source.id.rsplit("|", 1)[1]))
    except (PayloadError, IndexError, OSError) as error:
        raise HTTPException(422, f"{source.label} cannot be converted: {error}") from error
    # Not orjson: sums of 64-bit times and sizes may need more than 64 bits.
    body = json.dumps(chrome_trace(metadata.step_stats), separators=(",", ":"))
    headers = attachment(f"{source.run}_{source.label}", "trace.json")
    return Response(body, media_type="application/json", headers=headers)
