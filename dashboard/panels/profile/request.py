"""From what the panel is asked for to the traces and tables that answer it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepscope.dashboard.panels.profile.analysis_tables import tables_of
from stepscope.dashboard.panels.profile.settings import Asked
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.analyzed_traces import Studies, Study, folder_of
from stepscope.dashboard.traces.choices import newest
from stepscope.dashboard.traces.sources import TraceSource, TraceUnavailableError
from stepscope.profiler.analysis import report
from stepscope.summary.contents import Companion

MOST_RANKS: Final = 64


@dataclass(frozen=True)
class Answer:
    """The open trace, and the tables of a page."""

    study: Study
    tables: list[Table] = field(default_factory=list)
    missing: tuple[str, str] | None = None
    """Why the page has nothing to show, as a title and what to do."""
    workers: int = 1
    """Traces in the folder of the open one."""


def answer_of(studies: Studies, asked: Asked, chosen: str | None, sources: Sequence[TraceSource]) -> Answer:
    """Open the traces that a page needs, and make its tables.

    Raises:
        TraceUnavailableError: the open trace, or another that was chosen, cannot be shown.
    """
    study = studies.get(_listed(sources, chosen or newest(sources) or ""))
    if not len(study.facts.trace) and asked.page not in ("ranks", "diff"):
        return Answer(study, tables_of(asked, study, {}, None))
    ranks: Mapping[int, Study] = {}
    before: Study | None = None
    if asked.page == "ranks":
        found = [studies.get(source) for source in rank_sources(asked, chosen, sources)]
        ranks = report.by_rank(found, lambda each: each.facts)
        if len(ranks) < 2:
            words = "Choose the traces of the other ranks above. Traces in the same folder are grouped automatically."
            return Answer(study, missing=("Only one rank", words))
    if asked.page == "diff":
        if not asked.before:
            words = "Choose the earlier trace above: operators and kernels are compared by name."
            return Answer(study, missing=("Choose a trace to compare with", words))
        before = studies.get(_listed(sources, asked.before))
    return Answer(study, tables_of(asked, study, ranks, before), workers=len(beside(study.source, sources)))


def _listed(sources: Sequence[TraceSource], trace_id: str) -> TraceSource:
    for source in sources:
        if source.id == trace_id:
            return source
    raise TraceUnavailableError(
        f"There is no trace {trace_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def rank_sources(asked: Asked, chosen: str | None, sources: Sequence[TraceSource]) -> list[TraceSource]:
    """Return the traces of one job: those asked for, else the files beside the open one, in order of their names."""
    if asked.page != "ranks":
        return []
    if asked.ranks:
        found = {source.id: source for source in sources}
        return [found[each] for each in asked.ranks if each in found][:MOST_RANKS]
    mine = next((source for source in sources if source.id == chosen), None)
    return beside(mine, sources)[:MOST_RANKS] if mine is not None else []


def beside(mine: TraceSource, sources: Sequence[TraceSource]) -> list[TraceSource]:
    """Return the traces in the folder of one, itself among them, in order of their names."""
    if not isinstance(mine.origin, Companion):
        return [mine]
    return sorted((each for each in sources if folder_of(each) == folder_of(mine)), key=lambda source: source.id)
