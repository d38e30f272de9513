"""From a request to the panel to the traces and tables that answer it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from stepscope.dashboard.panels.profile.analysis_tables import rank_tables, tables_of
from stepscope.dashboard.panels.profile.known_ranks import KnownRanks, known_ranks
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace, AnalyzedTraces, folder_of
from stepscope.dashboard.traces.choices import newest
from stepscope.dashboard.traces.sources import TraceSource, TraceUnavailableError
from stepscope.summary.contents import Companion

MOST_CHOSEN: Final = 64
"""Maximum number of traces that can be chosen individually; a folder is taken as a whole."""


@dataclass(frozen=True)
class Answer:
    """The open trace, and the tables of a page."""

    analyzed: AnalyzedTrace
    tables: list[Table] = field(default_factory=list)
    missing: tuple[str, str] | None = None
    """Why the page has nothing to show, as a title and what to do."""
    workers: int = 1
    """Number of traces in the folder of the open one."""
    ranks: KnownRanks | None = None
    """On the page of ranks, what is known about them."""
    job: Sequence[TraceSource] = ()
    """On the page of ranks, their traces."""


def answer_of(
    analyzed_traces: AnalyzedTraces,
    requested: PageRequest,
    chosen: str | None,
    sources: Sequence[TraceSource],
    ranks: KnownRanks | None = None,
) -> Answer:
    """Open the traces that a page needs, and make its tables.

    Args:
        analyzed_traces: opens traces.
        requested: the page and its settings.
        chosen: id of the open trace; None for the newest.
        sources: all traces of the log directory.
        ranks: on the page of ranks, what is known about them; None to open their traces.

    Raises:
        TraceUnavailableError: if the open trace, or another chosen one, cannot be shown.
    """
    analyzed = analyzed_traces.get(_listed(sources, chosen or newest(sources) or ""))
    if not len(analyzed.facts.trace) and requested.page not in ("ranks", "diff"):
        return Answer(analyzed, tables_of(requested, analyzed, None))
    before: AnalyzedTrace | None = None
    workers = len(beside(analyzed.source, sources))
    if requested.page == "ranks":
        job = rank_sources(requested, chosen, sources)
        if ranks is None:
            ranks, _ = known_ranks(job, analyzed_traces, None)
        return Answer(analyzed, rank_tables(requested, analyzed, ranks), _why_not(ranks, len(job)), workers, ranks, job)
    if requested.page == "diff":
        if not requested.before:
            words = "Choose the earlier trace above: operators and kernels are compared by name."
            return Answer(analyzed, missing=("Choose a trace to compare with", words))
        before = analyzed_traces.get(_listed(sources, requested.before))
    return Answer(analyzed, tables_of(requested, analyzed, before), workers=workers)


def _why_not(ranks: KnownRanks, traces: int) -> tuple[str, str] | None:
    """Return why nothing can be shown about ranks, as a title and what to do; None if something can be."""
    if traces < 2:
        words = "Choose the traces of the other ranks above. Traces in the same folder are grouped automatically."
        return "Only one rank", words
    if len(ranks.numbers) > 1:
        return None
    if ranks.running:
        return "The ranks are being read", "The first results appear once some of them have been read."
    why = ranks.problem or next((f"{address}: {reason}" for address, reason in ranks.failures.items()), "")
    return "Fewer than two of the traces can be read", why or "Choose other traces above."


def _listed(sources: Sequence[TraceSource], trace_id: str) -> TraceSource:
    for source in sources:
        if source.id == trace_id:
            return source
    raise TraceUnavailableError(
        f"There is no trace {trace_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def rank_sources(requested: PageRequest, chosen: str | None, sources: Sequence[TraceSource]) -> list[TraceSource]:
    """Return the traces of one job: the requested ones, else the files beside the open one, in order of name."""
    if requested.page != "ranks":
        return []
    if requested.ranks:
        found = {source.id: source for source in sources}
        return [found[each] for each in requested.ranks if each in found][:MOST_CHOSEN]
    own = next((source for source in sources if source.id == chosen), None)
    return beside(own, sources) if own is not None else []


def beside(own: TraceSource, sources: Sequence[TraceSource]) -> list[TraceSource]:
    """Return the traces in the folder of a trace, including itself, in order of name."""
    if not isinstance(own.origin, Companion):
        return [own]
    folder = folder_of(own)
    return sorted((each for each in sources if folder_of(each) == folder), key=lambda source: source.id)
