"""The Debugger panel's HTTP routes, mounted under ``/api/debugger``.

Every route is a plain function, which runs in a thread of `stepscope.dashboard.server.work`. Client errors are answered
with a 4xx status and ``{"detail": <sentence>}``.
"""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.debugger.comparison import compare
from stepscope.dashboard.debugger.findings import findings, scalars_of
from stepscope.dashboard.debugger.sources import DebugUnavailableError, debug_sources, find_debug_source
from stepscope.dashboard.panels.debugger import routes_list, routes_map
from stepscope.dashboard.panels.debugger.compared import compare_answer
from stepscope.dashboard.panels.debugger.messages import Recording
from stepscope.dashboard.panels.debugger.overview import (
    alerts_of,
    overview_of,
    source_answer,
    source_list,
    unavailable,
)
from stepscope.dashboard.panels.debugger.requests import DebugRequests, RecordingId
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, json_answer
from stepscope.dashboard.server.work import light
from stepscope.summary.counts import counted


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["debugger"], route_class=SentenceRoute)
    requests = DebugRequests(live)

    @router.get("/recordings")
    @light
    def recordings(request: Request) -> Response:
        """Return the recordings and dumps of the log directory."""
        snapshot = live.snapshot()
        listed: list[Recording] = [
            {
                "id": source.id,
                "run": source.run,
                "title": source.title,
                "label": source.label,
                "kind": source.kind,
                "modified": source.modified,
                "scalars": bool(scalars_of(snapshot, source.run)),
            }
            for source in debug_sources(snapshot)
        ]
        return json_answer(request, {"revision": snapshot.revision, "recordings": listed})

    @router.get("/overview")
    def overview(request: Request, recording: RecordingId) -> Response:
        """Return a summary of one recording.

        A recording that cannot be shown is not a client error: the answer is then
        ``{"id": ..., "problem": <sentence>}``.
        """
        try:
            source = find_debug_source(live.snapshot(), recording)
            opened = requests.cache.get(source)
        except DebugUnavailableError as error:
            return json_answer(request, unavailable(recording, str(error)))
        return json_answer(request, overview_of(opened, source.id, fingerprint(source.version)))

    @router.get("/alerts")
    def alerts(request: Request, recording: RecordingId) -> Response:
        """Return what went bad first, and the findings of rules, first to last."""
        source = requests.source(recording)
        opened = requests.opened(recording)
        found = findings(opened, scalars_of(live.snapshot(), source.run))
        return json_answer(request, alerts_of(opened, found))

    @router.get("/sources")
    def sources(request: Request, recording: RecordingId) -> Response:
        """Return the source files that were kept."""
        return json_answer(request, source_list(requests.opened(recording)))

    @router.get("/source")
    def source(request: Request, recording: RecordingId, index: Annotated[int, Query(ge=0)]) -> Response:
        """Return a source file as it was, with lines marked by the tensors created there."""
        opened = requests.opened(recording)
        if index >= len(opened.data.sources):
            there = len(opened.data.sources)
            raise HTTPException(
                404,
                f"The recording has {counted(there, 'file')}; expected a number from 0 to {there - 1}, got {index}.",
            )
        return json_answer(request, source_answer(opened, index))

    @router.get("/compare")
    def compared(
        request: Request,
        recording: RecordingId,
        other: Annotated[str, Query(max_length=4_096, description="Id of the other recording.")],
        tolerance: Annotated[float, Query(ge=0, le=1)] = 1e-3,
    ) -> Response:
        """Return the tensors that differ between two recordings, the first difference first."""
        first, second = requests.opened(recording), requests.opened(other)
        key = ("compare", requests.source(other).id, requests.source(other).version, tolerance)
        found = first.kept(key, lambda: compare(first, second, tolerance))
        return json_answer(request, compare_answer(first, second, found, tolerance))

    join(router, routes_map.make_router(live))
    join(router, routes_list.make_router(live))
    return router
