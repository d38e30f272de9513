"""How ``stepscope analyze`` gets its results: from each trace in turn, or from the facts of many ranks."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from rich.console import Console

from stepscope.dashboard.cli.analyze_text import About, Answer, print_shared
from stepscope.dashboard.cli.interrupts import interrupt_this_thread_alone
from stepscope.dashboard.cli.reading import printable
from stepscope.dashboard.traces.peaks import peaks_words
from stepscope.dashboard.traces.rank_words import progress_words
from stepscope.plugins import ERRORS_OF_OTHERS
from stepscope.profiler.analysis.compare import Per, basis_of
from stepscope.profiler.analysis.device_peaks import StatedPeaks
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.metric_sources import metrics_of_trace
from stepscope.profiler.analysis.metrics import OF_RANKS
from stepscope.profiler.analysis.rank_facts import RankFacts, rank_facts
from stepscope.profiler.analysis.records import Analysis
from stepscope.profiler.analysis.report import OTHERS, analyses, is_of_others
from stepscope.profiler.lod import extent_ns
from stepscope.profiler.ranks.collection import CollectedRanks, gather
from stepscope.profiler.ranks.files import TraceFile, trace_file
from stepscope.profiler.ranks.store import FactStore, default_store
from stepscope.profiler.trace import Losses
from stepscope.profiler.traces import TraceError, load_trace
from stepscope.summary.engine import Progress
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

_SECONDS_BETWEEN_LINES: Final = 5.0


@dataclass(frozen=True)
class Question:
    """The tables and metrics requested for traces."""

    own: tuple[str, ...]
    """Tables computed for each trace."""
    shared: tuple[str, ...]
    """Tables computed for all traces together."""
    asked: frozenset[str]
    """Tables that were requested by name."""
    before: Facts | None
    per: Per
    peaks: StatedPeaks
    metrics: tuple[str, ...]
    """Metrics used in the condition."""

    @property
    def needs_each(self) -> bool:
        """Whether facts are not enough, so that each trace must be read in full."""
        return bool(self.own) or any(name not in OF_RANKS for name in self.metrics)


def fact_store(place: str | None) -> FactStore:
    """Return the store of facts at a place.

    Raises:
        UserError: the place is an address that cannot be opened.
    """
    try:
        return FactStore(place)
    except (ImportError, ValueError) as error:
        expected = "Expected a folder, or an address such as s3://bucket/facts."
        raise UserError(f"--facts {place}: {error}. {expected}") from error


def answers_of(
    paths: Sequence[str], question: Question, store: FactStore | None
) -> tuple[list[Answer], CollectedRanks | None, Mapping[str, str]]:
    """Read traces one by one; return the answer for each, their facts, and why some cannot be read.

    No trace is kept. Facts are returned only if there is a store for them.

    Raises:
        TraceError: none of them can be read.
    """
    answers: list[Answer] = []
    failures: dict[str, str] = {}
    files: list[TraceFile] = []
    found: dict[TraceFile, RankFacts] = {}
    for path in paths:
        try:
            file = trace_file(path) if store is not None else None
            facts = Facts(load_trace(path), question.peaks)
        except TraceError as error:
            if len(paths) == 1:
                raise
            failures[path] = str(error)
            files.append(TraceFile(path, 0, ""))
            continue
        answers.append(_answer(path, facts, question))
        if file is not None:
            files.append(file)
            found[file] = rank_facts(facts)
    if not answers:
        raise TraceError(next(iter(failures.values())))
    if store is None:
        return answers, None, failures
    segment = store.add(list(found.items()), list(found))
    return answers, CollectedRanks(tuple(files), (segment,), failures), failures


def _answer(path: str, facts: Facts, question: Question) -> Answer:
    trace, before = facts.trace, question.before
    basis = None if before is None else basis_of(before, facts, question.per)
    whole = "the whole trace, because it has no step markers"
    notes = {} if trace.steps else dict.fromkeys(("mean_step", "steps"), whole)
    if basis is not None:
        notes |= dict.fromkeys(analyses("changes"), basis.words)
    if "roofline" in question.own and (words := peaks_words(facts)):
        notes["roofline"] = words
    device = any(len(each.every_device_activity.slice) for each in (facts, before) if each is not None)
    return Answer(
        path,
        len(trace),
        len(trace.steps),
        trace.losses,
        tables_of(question.own, question, facts, None),
        About(extent_ns(trace)[0], device, notes),
        basis,
        metrics_of_trace(tuple(name for name in question.metrics if name not in OF_RANKS), facts, before),
    )


def answers_from_facts(ranks: CollectedRanks) -> list[Answer]:
    """Return the answer for each trace that could be read, from its facts."""
    losses: dict[int, list[tuple[str, int | None]]] = {}
    for rank, what, count in ranks.scan("losses").select("rank", "what", "count").collect().iter_rows():
        losses.setdefault(rank, []).append((what, count))
    found = []
    for row in ranks.about.iter_rows(named=True):
        here = losses.get(row["rank"], [])
        counts = {what: count for what, count in here if count is not None}
        notes = tuple(what for what, count in here if count is None)
        path = ranks.files[row["file"]].address
        found.append(Answer(path, row["slices"], row["marked_steps"], Losses(counts, notes), {}))
    return found


def gathered(
    paths: Sequence[str], question: Question, store: FactStore, engine: str | None, top: int
) -> tuple[CollectedRanks, bool]:
    """Return the facts of many ranks, and whether Ctrl+C ended the work early.

    A first answer, from a sample, and the progress go to standard error.

    Raises:
        TraceError: none of the traces can be read.
        UserError: there is no such engine, or it cannot be used.
    """
    progress = Progress(0, 0)
    console = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 160)
    ranks: CollectedRanks | None = None
    told = 0.0
    interrupt_this_thread_alone()
    steps = gather(paths, store, engine=engine, progress=progress)
    try:
        for ranks in steps:
            if not ranks.missing:
                continue
            if not told and len(ranks.ranks) > 1:
                print_shared(console, tables_of(question.shared, question, None, ranks), ranks, top, alone=True)
            now = time.monotonic()
            if now - told > _SECONDS_BETWEEN_LINES:
                told = now
                print(printable(progress_words(progress)), file=sys.stderr)
    except KeyboardInterrupt:
        steps.close()
        if ranks is None:
            raise
        return ranks, True
    if ranks is None or not ranks.ranks:
        raise TraceError(next(iter(progress.failures.values())))
    if store.address == default_store():
        # A store elsewhere is left to its owner.
        store.prune()
    if store.problem:
        print(printable(f"Results are not cached for the next run: {store.problem}."), file=sys.stderr)
    return ranks, False


def tables_of(
    names: Sequence[str], question: Question, facts: Facts | None, ranks: CollectedRanks | None
) -> "dict[str, pl.DataFrame]":
    """Return tables by name; those of other distributions that fail are named on standard error, and left out."""
    known = analyses()
    found = {}
    for name in names:
        analysis = known[name]
        try:
            found[name] = _table(analysis, question, facts, ranks)
        except ERRORS_OF_OTHERS as error:
            if not is_of_others(analysis):
                raise
            OTHERS.fail(analysis, error)
    return found


def failed_tables(
    question: Question, answers: Sequence[Answer], shared: "Mapping[str, pl.DataFrame] | None"
) -> list[str]:
    """Return the tables that were requested by name, and that the plug-in failed to make of one of the traces.

    Args:
        question: what was requested.
        answers: of all traces.
        shared: the tables made of all traces together; None if none were to be made.
    """
    missing = {name for name in question.own for answer in answers if name not in answer.tables}
    missing |= {name for name in question.shared if shared is not None and name not in shared}
    return [name for name in (*question.own, *question.shared) if name in missing & question.asked]


def _table(analysis: Analysis, question: Question, facts: Facts | None, ranks: CollectedRanks | None) -> "pl.DataFrame":
    match analysis.of:
        case "trace":
            return analysis.table(facts)
        case "ranks":
            return analysis.table(ranks)
        case "changes":
            return analysis.table(question.before, facts, question.per)
        case _:
            assert_never(analysis.of)
