"""The ranks of the Distributed page, as far as they are known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from stepscope.dashboard.panels.profile.messages import FollowedRanks
from stepscope.dashboard.panels.profile.table import Place
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTraces
from stepscope.dashboard.traces.gathered_ranks import FIRST_SECONDS, GatheredRanks, JobsOfRanks, are_files
from stepscope.dashboard.traces.sources import TraceSource
from stepscope.profiler.analysis import report
from stepscope.profiler.analysis.rank_groups import groupings, selected_ranks
from stepscope.profiler.analysis.ranks import Ranks, tables_of_ranks
from stepscope.profiler.ranks.collection import CollectedRanks

MOST_IN_MEMORY: Final = 64
"""Maximum number of traces that are not files, whose facts cannot be cached."""
MOST_FAILURES: Final = 20
"""Maximum number of failures that are listed individually."""


@dataclass(frozen=True, eq=False)
class KnownRanks:
    """What is known about the ranks of a job at one time."""

    ranks: Ranks
    source_of: Mapping[int, TraceSource]
    words: str
    """The number of ranks, such as "16 of 1,024 ranks"."""
    content: str
    """Equal if the same is known about the ranks."""
    running: bool = False
    """Whether ranks are still being read."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why traces cannot be read, by address."""
    problem: str = ""
    """Why reading ended early."""

    @property
    def version(self) -> str:
        """Equal if everything reported about the ranks is the same."""
        return fingerprint((self.content, self.running, sorted(self.failures), self.problem))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The ranks, in order."""
        return tables_of_ranks(self.ranks).ranks

    @cached_property
    def groupings(self) -> tuple[str, ...]:
        """The ways in which ranks are grouped: by host and by process group."""
        return groupings(self.ranks)

    def selected(self, words: str) -> tuple[int, ...]:
        """Return the requested ranks; see `selected_ranks`."""
        return selected_ranks(self.ranks, words)

    @cached_property
    def whole(self) -> Mapping[int, Place]:
        """The whole trace of each rank, as a place on its Timeline."""
        rows = (
            tables_of_ranks(self.ranks)
            .scan("trace")
            .select("rank", "start_ns", "end_ns", "origin_ns")
            .drop_nulls()
            .collect(engine="streaming")
        )
        return {
            rank: Place(start - origin, end - origin, trace=self.source_of[rank].id)
            for rank, start, end, origin in rows.iter_rows()
            if rank in self.source_of
        }

    def steps(self, of: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], Place]:
        """Return the places of some steps on the Timelines of their ranks; a step is given as its rank and number."""
        import polars as pl

        wanted = pl.LazyFrame(
            [pair for pair in {*of} if pair[0] in self.source_of],
            {"rank": pl.Int64, "step": pl.Int64},
            orient="row",
        )
        tables = tables_of_ranks(self.ranks)
        rows = (
            tables.scan("steps")
            .select("rank", "step", "start_ns", "total_ns")
            .join(wanted, on=("rank", "step"), how="semi")
            .join(tables.scan("trace").select("rank", "origin_ns"), on="rank")
            .collect(engine="streaming")
        )
        return {
            (rank, step): Place(start - origin, start - origin + took, trace=self.source_of[rank].id)
            for rank, step, start, took, origin in rows.iter_rows()
        }


def known_ranks(
    sources: Sequence[TraceSource],
    analyzed_traces: AnalyzedTraces,
    jobs: JobsOfRanks | None,
    *,
    wait_for_all: bool = False,
) -> tuple[KnownRanks, FollowedRanks | None]:
    """Return what is currently known about ranks, and the reading it comes from; None for traces that are not files.

    Args:
        sources: the traces of one job, in order.
        analyzed_traces: opens traces that are not files.
        jobs: reads traces that are files in the background; None to open these too.
        wait_for_all: whether to wait a moment for all of these instead of only for a first answer.

    Raises:
        TraceUnavailableError: if an opened trace cannot be shown.
    """
    if jobs is not None and len(sources) > 1 and are_files(sources):
        job = jobs.get(sources)
        if wait_for_all:
            job.join(FIRST_SECONDS)
        job.now(wait=FIRST_SECONDS)
        # In this order: later data has another version, and a reading that has ended by now is fully known.
        followed: FollowedRanks = {"job": job.id, "version": job.version, "running": job.running}
        found = job.now()
        running = followed["running"]
        return (_collected(job, found, running) if found is not None else _unknown(job, running)), followed
    opened = [analyzed_traces.get(source) for source in sources[:MOST_IN_MEMORY]]
    by_rank = report.by_rank(opened, lambda each: each.facts)
    content = fingerprint([(rank, each.source.id, each.source.version) for rank, each in by_rank.items()])
    left_out = {source.id: f"at most {MOST_IN_MEMORY} traces are open at once" for source in sources[MOST_IN_MEMORY:]}
    return (
        KnownRanks(
            {rank: each.facts for rank, each in by_rank.items()},
            {rank: each.source for rank, each in by_rank.items()},
            f"{len(by_rank):,} ranks" if not left_out else f"{len(by_rank):,} of {len(sources):,} ranks",
            content,
            failures=left_out,
        ),
        None,
    )


def _collected(job: GatheredRanks, found: CollectedRanks, running: bool) -> KnownRanks:
    pairs = zip(found.about["rank"].to_list(), found.about["file"].to_list(), strict=True)
    return KnownRanks(
        found,
        {rank: job.sources[file] for rank, file in pairs},
        found.words,
        fingerprint((job.id, len(found.ranks))),
        running,
        found.failures,
        job.problem,
    )


def _unknown(job: GatheredRanks, running: bool) -> KnownRanks:
    return KnownRanks({}, {}, "no ranks", job.id, running, dict(job.progress.failures), job.problem)
