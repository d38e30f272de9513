"""``/api/profile``: the tables as files, and the progress of the work."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.export.tables import csv_pieces, json_pieces
from stepscope.dashboard.page.state import MAX_QUERY, decode
from stepscope.dashboard.panels.profile.chosen_rows import Chosen, chosen_rows
from stepscope.dashboard.panels.profile.known_ranks import known_ranks
from stepscope.dashboard.panels.profile.messages import ChosenRows, Progress, RanksRead
from stepscope.dashboard.panels.profile.request import Answer, answer_of, rank_sources
from stepscope.dashboard.panels.profile.rows import found_note, numbered_rows
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.server.bodies import Body, parsed
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import HeavyRoute, Pieces
from stepscope.dashboard.traces.analyzed_traces import analyzed_traces_of
from stepscope.dashboard.traces.choices import newest
from stepscope.dashboard.traces.gathered_ranks import jobs_of_ranks
from stepscope.dashboard.traces.rank_words import progress_words
from stepscope.dashboard.traces.sources import TraceUnavailableError, trace_sources

Name = Annotated[str, Query(max_length=100, description="A table of the page.")]
ViewQuery = Annotated[str, Query(max_length=MAX_QUERY, description="The page's query string.")]
TraceId = Annotated[str, Query(max_length=4_096, description="Id of the trace; the newest without.")]


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=HeavyRoute)

    @routes.get("/table.{extension}")
    def table(
        extension: Literal["csv", "json"],
        name: Name,
        view: ViewQuery = "",
        trace: TraceId = "",
    ) -> Response:
        """Return a table of the page that ``view`` shows: all its rows, with times in nanoseconds of the trace's
        clock; while ranks are being read, those that are known.
        """
        answer, found = _table(live, name, view, trace)
        pieces = csv_pieces if extension == "csv" else json_pieces
        media = "text/csv" if extension == "csv" else "application/json"
        so_far = "_so_far" if answer.ranks is not None and answer.ranks.running else ""
        headers = attachment(f"{answer.analyzed.source.run}_{name}{so_far}", extension)
        return Pieces(pieces(found.frame), media_type=media, headers=headers)

    @routes.post("/rows")
    def rows(name: Name, body: Body, view: ViewQuery = "", trace: TraceId = "") -> ChosenRows:
        """Return rows of a table that is too long for the page that ``view`` shows, and the number found.

        The body is JSON: ``order``, ``search`` and ``filters`` in AG Grid's format.
        """
        chosen = parsed(body, Chosen, "Expected order, search and filters as JSON")
        _, found = _table(live, name, view, trace)
        numbers, count = chosen_rows(found, chosen)
        return {"rows": numbered_rows(found, numbers) if numbers else [], "note": found_note(found, count)}

    @routes.get("/progress")
    async def progress() -> list[Progress]:
        """Return what is being read or computed, latest first, and for how many seconds."""
        now = analyzed_traces_of(live).progress.now()
        return [{"what": what, "seconds": round(seconds, 1)} for what, seconds in now]

    @routes.get("/ranks")
    async def ranks(
        job: Annotated[str, Query(max_length=100, description="Id of a reading of ranks, as the page has it.")],
    ) -> RanksRead | None:
        """Return the progress of reading a page's ranks; null if it is no longer kept."""
        found = jobs_of_ranks(live).known(job)
        if found is None:
            return None
        # In this order: once there are no words, the version is final.
        words = progress_words(found.progress) if found.running else ""
        return {"version": found.version, "words": words}

    return routes


def _table(live: Live, name: str, view: str, trace: str) -> tuple[Answer, Table]:
    """Return a table of a page, and what the page is about.

    Raises:
        HTTPException: if no table has the name, or its trace cannot be shown.
    """
    requested = PageRequest.of(decode(view))
    sources = trace_sources(live.snapshot())
    chosen = requested.trace or trace or newest(sources)
    analyzed_traces, ranks = analyzed_traces_of(live), None
    try:
        if requested.page == "ranks":
            job = rank_sources(requested, chosen, sources)
            ranks, _ = known_ranks(job, analyzed_traces, jobs_of_ranks(live), wait_for_all=True)
        answer = answer_of(analyzed_traces, requested, chosen, sources, ranks)
    except TraceUnavailableError as error:
        raise HTTPException(404, str(error)) from error
    found = {each.name: each for each in answer.tables}
    if name not in found:
        known = ", ".join(found) or "none"
        raise HTTPException(404, f"Page {requested.page!r} has no table {name!r}. It has: {known}.")
    return answer, found[name]
