"""From what the panel is asked for to the traces and tables that answer it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dashboard.panels.profile.columns import Table
from dashboard.panels.profile.settings import Asked
from dashboard.panels.profile.tables import tables_of
from dashboard.traces.choices import newest
from dashboard.traces.sources import TraceSource, TraceUnavailableError
from dashboard.traces.studies import Studies, Study, folder_of
from profiler.analysis.ranks import rank_of
from summary.snapshot import Companion

MOST_RANKS: Final = 64


@dataclass(frozen=True)
class Answer:
    """The open trace, and the tables of a page."""

    study: Study
    tables: list[Table] = field(default_factory=list)
    missing: tuple[str, str] | None = None
    """Why the page has nothing to show, as a title and what to do."""


def answer_of(studies: Studies, asked: Asked, chosen: str | None, sources: Sequence[TraceSource]) -> Answer:
    """Opens the traces that a page needs, and makes its tables.

    Raises:
        TraceUnavailableError: the open trace, or another that was chosen, cannot be shown.
    """
    study = studies.get(_listed(sources, chosen or newest(sources) or ""))
    if not len(study.facts.trace) and asked.page not in ("ranks", "diff"):
        return Answer(study, tables_of(asked, study, {}, None))
    ranks: Mapping[int, Study] = {}
    before: Study | None = None
    if asked.page == "ranks":
        ranks = by_rank([studies.get(source) for source in rank_sources(asked, chosen, sources)])
        if len(ranks) < 2:
            words = "Choose the traces of the other ranks above. Those of one folder are taken together by themselves."
            return Answer(study, missing=("One rank has nobody to wait for", words))
    if asked.page == "diff":
        if not asked.before:
            words = "Choose the earlier trace above: operators and kernels are compared by name."
            return Answer(study, missing=("Compared with what?", words))
        before = studies.get(_listed(sources, asked.before))
    return Answer(study, tables_of(asked, study, ranks, before))


def _listed(sources: Sequence[TraceSource], trace_id: str) -> TraceSource:
    for source in sources:
        if source.id == trace_id:
            return source
    raise TraceUnavailableError(
        f"There is no trace {trace_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def rank_sources(asked: Asked, chosen: str | None, sources: Sequence[TraceSource]) -> list[TraceSource]:
    """The traces of one job: those asked for, else the files beside the open one, in order of their names."""
    if asked.page != "ranks":
        return []
    if asked.ranks:
        found = {source.id: source for source in sources}
        return [found[each] for each in asked.ranks if each in found][:MOST_RANKS]
    mine = next((source for source in sources if source.id == chosen), None)
    if mine is None or not isinstance(mine.origin, Companion):
        return [] if mine is None else [mine]
    beside = [source for source in sources if folder_of(source) == folder_of(mine)]
    return sorted(beside, key=lambda source: source.id)[:MOST_RANKS]


def by_rank(studies: Sequence[Study]) -> dict[int, Study]:
    """Traces by the rank that each states, or in order where these are not all stated and distinct."""
    stated = [rank_of(study.facts) for study in studies]
    known = [rank for rank in stated if rank is not None]
    if len(set(known)) == len(studies):
        return dict(sorted(zip(known, studies, strict=True)))
    return dict(enumerate(studies))
