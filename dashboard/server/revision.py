"""``/api/revision``: notification of new data, as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from time import monotonic
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from stepscope.dashboard.server.live import Live

HEARTBEAT_SECONDS: Final = 1.0
"""A client that hears nothing for several of these considers the connection lost (web/page/live.ts)."""
LEAST_SECONDS_BETWEEN: Final = 0.2
"""Revisions that arrive faster are merged, so that a busy writer does not keep the page from drawing."""


async def revision_events(live: Live, request: Request) -> AsyncIterator[str]:
    """Yield the server's identity and title, then the revision now and at every change, with heartbeats in between."""
    yield f"event: server\ndata: {live.id}\n\n"
    # As JSON, because the name of a folder may have line breaks.
    yield f"event: title\ndata: {json.dumps(live.title)}\n\n"
    revision = -1
    while not live.closed and not await request.is_disconnected():
        started = monotonic()
        latest = await live.wait_beyond(revision, HEARTBEAT_SECONDS)
        if latest == revision:
            yield "event: heartbeat\ndata: \n\n"
            continue
        revision = latest
        yield f"id: {revision}\ndata: {revision}\n\n"
        await asyncio.sleep(max(0.0, LEAST_SECONDS_BETWEEN - (monotonic() - started)))


def router(live: Live) -> APIRouter:
    """Return the event stream for one log directory."""
    routes = APIRouter(tags=["live"])

    @routes.get("/api/revision", response_class=StreamingResponse)
    async def revision(request: Request) -> StreamingResponse:
        """Send the data's revision number whenever it changes, as server-sent events."""
        return StreamingResponse(
            revision_events(live, request),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return routes
