"""The steps that traces cover, for the curves of their runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, body_answer, json_answer
from stepscope.dashboard.traces.messages import StepsNews
from stepscope.dashboard.traces.requests import TraceRequests
from stepscope.dashboard.traces.step_ranges import step_ranges_of

OptionalId = Annotated[
    str | None, Query(alias="id", max_length=4_096, description="An id of the listing; without one, all traces.")
]


def make_router(live: Live) -> APIRouter:
    """Return ``GET /steps`` for the log directory that ``live`` follows."""
    router = APIRouter(tags=["timeline"], route_class=SentenceRoute)
    requests = TraceRequests(live)
    ranges = step_ranges_of(live)

    @router.get("/steps")
    def steps(
        request: Request,
        trace_id: OptionalId = None,
        version: Annotated[str, Query(max_length=64, description="What the page has.")] = "",
    ) -> Response:
        """Return the steps of their runs that traces cover, as `StepsOfTrace`.

        Without an id, return "traces" with all known so far, "pending" while there are more to come, and "version"; no
        "traces" if they are those of the page's version. With an id, return one trace, which is opened for this.
        """
        snapshot = live.snapshot()
        if trace_id is not None:
            source = requests.source(trace_id)
            if source.kind == "file":
                ranges.learn(requests.opened(trace_id))
            return json_answer(request, ranges.row(snapshot, source))
        listing = ranges.listing(snapshot)
        rows = json_bytes(listing.traces)
        now = fingerprint(rows)
        head: StepsNews = {"revision": snapshot.revision, "version": now, "pending": listing.pending}
        if now == version:
            return json_answer(request, head)
        body = json_bytes(head)[:-1] + b',"traces":' + rows + b"}"
        return body_answer(request, body, "application/json")

    return router
