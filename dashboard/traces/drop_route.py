"""``/api/traces/drop``: accepts traces that are dropped or chosen on the page."""

from typing import Final

from fastapi import APIRouter, Request

from stepscope.dashboard.server.dropped_files import LARGEST_UPLOAD
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute
from stepscope.dashboard.server.upload_route import FileName, taken
from stepscope.dashboard.traces import messages
from stepscope.dashboard.traces.dropped import trace_uploads

PATH: Final = "/api/traces/drop"
UPLOADS: Final = {PATH: LARGEST_UPLOAD}
"""Maximum bytes of a trace that the route accepts."""


def router(live: Live) -> APIRouter:
    """Return the route for the log directory that ``live`` follows."""
    routes = APIRouter(tags=["timeline"], route_class=SentenceRoute)
    uploads = trace_uploads(live)

    @routes.post(PATH)
    async def drop(request: Request, name: FileName) -> messages.DroppedTrace:
        """Accept a trace, which is listed from then on; the body is the file, as application/octet-stream."""
        return {"id": await taken(request, lambda: uploads.begin(name))}

    return routes
