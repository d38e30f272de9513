"""The Timeline panel's HTTP routes, mounted under ``/api/timeline``.

Every route is a plain function: FastAPI runs it in a thread, so that opening a large trace never blocks the event
loop. What a caller got wrong is answered with a 4xx status and ``{"detail": <sentence>}``.
"""

import gzip
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import FileResponse

from dashboard.api.downloads import attachment
from dashboard.live import Live
from dashboard.panels.timeline import payloads
from dashboard.panels.timeline.sources import (
    LATEST_NS,
    OpenedTrace,
    TraceCache,
    TraceSource,
    TraceUnavailableError,
    find_source,
    trace_sources,
)
from profiler.timeline import chrome_trace
from summary.errors import UserError
from summary.kinds.base import PayloadError
from summary.snapshot import Companion

MAX_BUCKETS = 8_192
MAX_LANES = 2_000
COMPRESS_ABOVE = 4_096
"""Bytes; smaller bodies are sent as they are."""

TraceId = Annotated[str, Query(alias="id", max_length=4_096, description="An id of the listing.")]
Start = Annotated[int, Query(description="Nanoseconds since the trace's start.", ge=-LATEST_NS, le=LATEST_NS)]
End = Annotated[int, Query(description="Nanoseconds since the trace's start.", ge=-LATEST_NS, le=LATEST_NS)]
Width = Annotated[int, Query(ge=1, le=MAX_BUCKETS, description="Buckets that the window is divided into.")]
Numbers = Annotated[str | None, Query(max_length=16_384, description="Comma-separated numbers.")]


class SentenceRoute(APIRoute):
    """A route that answers a bad parameter with one sentence instead of a structure."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                raise HTTPException(422, f"Parameter {first['loc'][-1]!r}: {first['msg']}.") from error

        return handle


def make_router(live: Live, cache: TraceCache) -> APIRouter:
    """The routes over the log directory that ``live`` follows."""
    router = APIRouter(tags=["timeline"], route_class=SentenceRoute)

    def source_of(trace_id: str) -> TraceSource:
        try:
            return find_source(live.snapshot(), trace_id)
        except TraceUnavailableError as error:
            raise HTTPException(404, str(error)) from error

    def opened(trace_id: str) -> OpenedTrace:
        try:
            return cache.get(source_of(trace_id))
        except TraceUnavailableError as error:
            raise HTTPException(422, str(error)) from error

    @router.get("/traces")
    def traces(request: Request) -> Response:
        """The traces of the log directory, newest first within each run."""
        snapshot = live.snapshot()
        return _json(request, {"revision": snapshot.revision, "traces": payloads.listing(trace_sources(snapshot))})

    @router.get("/trace")
    def trace(request: Request, trace_id: TraceId) -> Response:
        """Lanes, extent, steps, counters and losses of one trace.

        One that cannot be shown is no error of the caller: the answer is then ``{"id": ..., "problem": <sentence>}``.
        """
        try:
            found = cache.get(find_source(live.snapshot(), trace_id))
        except TraceUnavailableError as error:
            return _json(request, {"id": trace_id, "problem": str(error)})
        return _json(request, payloads.summary(found))

    @router.get("/window")
    def window(
        request: Request, trace_id: TraceId, start: Start, end: End, width: Width, lanes: Numbers = None
    ) -> Response:
        """The slices to draw, as typed arrays; `payloads.window` documents the layout."""
        _check_range(start, end)
        found = opened(trace_id)
        chosen = _numbers(lanes, "lanes", len(found.trace.lanes))
        body = payloads.window(found, start, end, width, chosen)
        return _body(request, body, "application/octet-stream")

    @router.get("/slice")
    def slice_(request: Request, trace_id: TraceId, index: int) -> Response:
        """Everything about one slice."""
        found = opened(trace_id)
        if not 0 <= index < len(found.trace):
            raise HTTPException(404, f"The trace has {len(found.trace)} slices; there is no number {index}.")
        return _json(request, payloads.slice_details(found, index))

    @router.get("/search")
    def search(
        request: Request,
        trace_id: TraceId,
        q: Annotated[str, Query(min_length=1, max_length=1_000)],
        regex: bool = False,
        offset: Annotated[int, Query(ge=0, lt=1 << 53)] = 0,
        limit: Annotated[int, Query(ge=1, le=5_000)] = 2_000,
        at: Start = 0,
    ) -> Response:
        """The slices whose name matches, over the whole trace."""
        found = opened(trace_id)
        try:
            return _json(request, payloads.search_result(found, q, regex, offset, limit, at))
        except UserError as error:
            raise HTTPException(422, str(error)) from error

    @router.get("/counters")
    def counters(
        request: Request, trace_id: TraceId, start: Start, end: End, width: Width, counters: Numbers = None
    ) -> Response:
        """Counters between two moments, at most two points a bucket."""
        _check_range(start, end)
        found = opened(trace_id)
        chosen = _numbers(counters, "counters", len(found.trace.counters))
        every = range(len(found.trace.counters)) if chosen is None else chosen
        return _json(request, [payloads.counter_window(found, c, start, end, width) for c in every])

    @router.get("/download")
    def download(trace_id: TraceId) -> Response:
        """The trace as Chrome's JSON: the file as it is, or converted from StepStats."""
        return _download(source_of(trace_id))

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


def _check_range(start: int, end: int) -> None:
    if end <= start:
        raise HTTPException(422, f"The window ends at {end} ns, which is not after its start at {start} ns.")


def _numbers(text: str | None, name: str, limit: int) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise HTTPException(422, f"Parameter {name!r} must be comma-separated numbers, but is {text!r}.") from error
    if len(numbers) > MAX_LANES:
        raise HTTPException(422, f"Parameter {name!r} has {len(numbers)} numbers; at most {MAX_LANES} are allowed.")
    for number in numbers:
        if not 0 <= number < limit:
            raise HTTPException(404, f"The trace has {limit} {name}; there is no number {number}.")
    return sorted(set(numbers))


def _json(request: Request, value: Any) -> Response:
    return _body(request, payloads.json_bytes(value), "application/json")


def _body(request: Request, body: bytes, media_type: str) -> Response:
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if len(body) > COMPRESS_ABOVE and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=media_type, headers=headers)
