"""``/api/profile``: the tables as files, and how far the work is."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.export.tables import csv_pieces, json_pieces
from stepscope.dashboard.page.state import MAX_QUERY, decode
from stepscope.dashboard.panels.profile.messages import Progress, RanksRead
from stepscope.dashboard.panels.profile.request import answer_of
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import HeavyRoute, Pieces
from stepscope.dashboard.traces.analyzed_traces import analyzed_traces_of
from stepscope.dashboard.traces.gathered_ranks import jobs_of_ranks
from stepscope.dashboard.traces.rank_words import progress_words
from stepscope.dashboard.traces.sources import TraceUnavailableError, trace_sources


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes, over the latest snapshot."""
    routes = APIRouter(route_class=HeavyRoute)

    @routes.get("/table.{extension}")
    def table(
        extension: Literal["csv", "json"],
        name: Annotated[str, Query(max_length=100, description="A table of the page.")],
        view: Annotated[str, Query(max_length=MAX_QUERY, description="The page's query string.")] = "",
        trace: Annotated[str, Query(max_length=4_096, description="Id of the trace; the newest without.")] = "",
    ) -> Response:
        """Return a table of the page that ``view`` shows: all its rows, with times in nanoseconds of the trace's
        clock.
        """
        requested = PageRequest.of(decode(view))
        sources = trace_sources(live.snapshot())
        try:
            answer = answer_of(analyzed_traces_of(live), requested, requested.trace or trace or None, sources)
        except TraceUnavailableError as error:
            raise HTTPException(404, str(error)) from error
        found = {each.name: each for each in answer.tables}
        if name not in found:
            known = ", ".join(found) or "none"
            raise HTTPException(404, f"Page {requested.page!r} has no table {name!r}. It has: {known}.")
        pieces = csv_pieces if extension == "csv" else json_pieces
        media = "text/csv" if extension == "csv" else "application/json"
        headers = attachment(f"{answer.analyzed.source.run}_{name}", extension)
        return Pieces(pieces(found[name].frame), media_type=media, headers=headers)

    @routes.get("/progress")
    async def progress() -> list[Progress]:
        """Return what is being read or worked out, the latest first, and for how many seconds it has been."""
        now = analyzed_traces_of(live).progress.now()
        return [{"what": what, "seconds": round(seconds, 1)} for what, seconds in now]

    @routes.get("/ranks")
    async def ranks(
        job: Annotated[str, Query(max_length=100, description="Id of a reading of ranks, as the page has it.")],
    ) -> RanksRead | None:
        """Return how far the reading of a page's ranks is; null where it is not kept any more."""
        found = jobs_of_ranks(live).known(job)
        if found is None:
            return None
        # In this order: once there are no words, the version is the last.
        words = progress_words(found.progress) if found.running else ""
        return {"version": found.version, "words": words}

    return routes
