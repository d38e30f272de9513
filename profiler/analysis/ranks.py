"""Several ranks of one job: which rank waits for which.

Everything here is a reduction of `stepscope.profiler.analysis.rank_facts.RankTables`: lazy queries over small tables,
which handle thousands of ranks without their traces.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.rank_facts import RankFacts, RanksInMemory, RankTables, rank_facts
from stepscope.profiler.analysis.reasons import NO_COLLECTIVES
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

Ranks = RankTables | Mapping[int, Trace | Facts]
"""Ranks of one job: their facts, or whole traces by rank."""
_KEYS: Final = ("step", "collective", "sequence", "number")


def rank_of(trace: Trace | Facts) -> int | None:
    """Return the rank that a trace's ``distributedInfo`` states."""
    information = facts_of(trace).trace.metadata.get("distributedInfo")
    rank = information.get("rank") if isinstance(information, Mapping) else None
    return rank if isinstance(rank, int) else None


def tables_of_ranks(ranks: Ranks) -> RankTables:
    """Return the facts of ranks; facts are returned as they are."""
    if isinstance(ranks, RankTables):
        return ranks
    return RanksInMemory({rank: facts_of(trace).once(_facts_of_rank) for rank, trace in ranks.items()})


def _facts_of_rank(facts: Facts) -> RankFacts:
    return rank_facts(facts)


def rank_summary(ranks: Ranks) -> "pl.DataFrame":
    """Return the mean step of each rank: all times are means over the rank's complete steps.

    Like torch-tb-profiler's distributed view: computation is the union of kernels, communication that of communication
    kernels, both within the steps; other = step + overlap - computation - communication. If a trace has no
    communication on a device, communication is what `step_breakdown` counts as such (gloo, MPI and the like); if it has
    no kernels either, computation is the union of the host's operators.

    Columns: rank (int64), steps (int64), step_ns, computation_ns, communication_ns, overlap_ns, other_ns, waiting_ns,
    transfer_ns (float64, means per step; the last two of the rank's collectives in these steps, see `collectives`).
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    steps = tables.scan("steps")
    parts = {
        "step_ns": "total_ns",
        "computation_ns": "computation_ns",
        "communication_ns": "communication_work_ns",
        "overlap_ns": "overlap_ns",
    }
    sums = steps.group_by("rank").agg(
        pl.len().cast(pl.Int64).alias("steps"), *(pl.col(of).sum().alias(name) for name, of in parts.items())
    )
    within = (
        rows_of_collectives(tables)
        .join(steps.select("rank", "step").unique(), on=("rank", "step"), how="semi")
        .group_by("rank")
        .agg(pl.col("waiting_ns", "transfer_ns").sum())
    )
    joined = beside(_every(tables), sums, within).fill_null(0).collect(engine="streaming")
    mean = pl.max_horizontal("steps", 1)
    return (
        joined.with_columns(pl.col(*parts, "waiting_ns", "transfer_ns").cast(pl.Float64) / mean)
        .with_columns(
            other_ns=pl.col("step_ns") + pl.col("overlap_ns") - pl.col("computation_ns") - pl.col("communication_ns")
        )
        .select("rank", "steps", *parts, "other_ns", "waiting_ns", "transfer_ns")
        .sort("rank")
    )


def _every(tables: RankTables) -> "pl.LazyFrame":
    import polars as pl

    return pl.LazyFrame({"rank": list(tables.ranks)}, schema={"rank": pl.Int64})


def beside(frame: "pl.LazyFrame", *others: "pl.LazyFrame") -> "pl.LazyFrame":
    """Return the columns of ``frame`` and of the others, joined by rank; null where the others have no row."""
    for other in others:
        frame = frame.join(other, on="rank", how="left")
    return frame


def slowest_rank(took: str) -> "pl.Expr":
    """Return the rank of a group with the longest ``took``, the lowest if several."""
    import polars as pl

    return pl.col("rank").filter(pl.col(took) == pl.col(took).max()).min().alias("slowest_rank")


def _matched(tables: RankTables) -> "pl.LazyFrame":
    """Return the collectives in which all possible ranks took part, as `_KEYS`, and what the fastest rank needed.

    For a named process group, these are the ranks that took part in any of its collectives; for others, all ranks.
    Columns: those of `_KEYS`, transfer_ns.
    """
    import polars as pl

    rows = tables.scan("collectives")
    members = rows.group_by("group").agg(pl.col("rank").n_unique().alias("members"))
    least = pl.when(pl.col("group") == "").then(max(1, len(tables.ranks))).otherwise("members")
    return (
        rows.group_by(*_KEYS, "group")
        .agg(pl.len().alias("present"), pl.col("duration_ns").min().alias("transfer_ns"))
        .join(members, on="group", how="left")
        .filter(pl.col("present") >= least)
        .select(*_KEYS, "transfer_ns")
    )


def rows_of_collectives(tables: RankTables) -> "pl.LazyFrame":
    """Return each rank's part of the collectives in `_matched`.

    Columns: rank, those of `_KEYS`, duration_ns, transfer_ns, waiting_ns.
    """
    import polars as pl

    return (
        tables.scan("collectives")
        .select("rank", *_KEYS, "duration_ns")
        .join(_matched(tables), on=_KEYS, how="inner")
        .with_columns(waiting_ns=pl.col("duration_ns") - pl.col("transfer_ns"))
    )


def collectives(ranks: Ranks) -> "pl.DataFrame":
    """Return the collectives of all ranks with the wait and the transfer of each rank.

    They are matched as in `stepscope.profiler.analysis.communication.match_collectives`, and listed if all ranks took
    part; for a named process group, all ranks that took part in any of its collectives.

    Columns: step, number (int64), collective (text), rank, duration_ns, transfer_ns, waiting_ns (int64), by step,
    collective, number and rank.
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    # Numbering continues across sequence numbers, each of which may have kernels of its own.
    number = pl.struct("sequence", "number").rank("dense").over("step", "collective").cast(pl.Int64) - 1
    numbered = _matched(tables).collect(engine="streaming").with_columns(number.alias("place"))
    return (
        tables.scan("collectives")
        .select("rank", *_KEYS, "duration_ns")
        .join(numbered.lazy(), on=_KEYS, how="inner")
        .select(
            "step",
            pl.col("place").alias("number"),
            "collective",
            "rank",
            "duration_ns",
            "transfer_ns",
            (pl.col("duration_ns") - pl.col("transfer_ns")).alias("waiting_ns"),
        )
        .sort("step", "collective", "number", "rank")
        .collect(engine="streaming")
    )


def stragglers(ranks: Ranks) -> "pl.DataFrame":
    """Return which ranks make the others wait: how often each was last at a collective, and what that cost the others.

    All are sums over all steps of the traces.

    The last to arrive waits least, so the rank with the least waiting in a collective is its straggler (the lowest if
    several); the cost is the time that the others waited there.

    Columns: rank, last (int64), caused_waiting_ns (int64), own_waiting_ns (int64), worst first.
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    rows = rows_of_collectives(tables)
    waiting = pl.col("waiting_ns")
    per = rows.group_by(*_KEYS).agg(pl.col("rank").filter(waiting == 0).min(), waiting.sum().alias("caused_waiting_ns"))
    caused = per.group_by("rank").agg(pl.len().cast(pl.Int64).alias("last"), pl.col("caused_waiting_ns").sum())
    own = rows.group_by("rank").agg(waiting.sum().alias("own_waiting_ns"))
    return (
        beside(_every(tables), caused, own)
        .fill_null(0)
        .select("rank", "last", "caused_waiting_ns", "own_waiting_ns")
        .sort("caused_waiting_ns", "rank", descending=[True, False])
        .collect(engine="streaming")
    )


RANK: Final = Column("rank", "number of the rank", "identity")
RANK_SUMMARY: Final = Analysis(
    "ranks",
    "the mean step of each rank",
    rank_summary,
    (
        RANK,
        Column("steps", "complete steps of its trace"),
        Column("step_ns", "mean duration of a step"),
        Column("computation_ns", "mean time per step in computation"),
        Column("communication_ns", "mean time per step in communication"),
        Column("overlap_ns", "mean time per step in computation and communication at once"),
        Column("other_ns", "mean time per step in neither computation nor communication"),
        Column("waiting_ns", "time that the rank's collectives took beyond those of the fastest rank"),
        Column("transfer_ns", "time that the fastest rank needed for the same collectives"),
    ),
    of="ranks",
    title="Ranks",
    description="The mean step of each rank: every time is a mean per step, of the rank's complete steps.",
    empty="Choose the traces of the other ranks above.",
    note="means per step",
)
"""The mean step of each rank."""
STRAGGLERS: Final = Analysis(
    "stragglers",
    "which ranks make others wait",
    stragglers,
    (
        RANK,
        Column("last", "collectives at which it arrived last", adds_up=True),
        Column("caused_waiting_ns", "time that the others waited where this rank arrived last", adds_up=True),
        Column("own_waiting_ns", "time that it waited itself", adds_up=True),
    ),
    of="ranks",
    title="Stragglers",
    description="Which ranks reached collectives last, and how long the others waited: sums over all steps.",
    empty=NO_COLLECTIVES,
    note="sums over all steps",
)
"""Which ranks make others wait."""
COLLECTIVES: Final = Analysis(
    "collectives",
    "wait and transfer of each collective",
    collectives,
    (
        Column("step", "number of the step", "identity"),
        Column("number", "number of the collective among those of its type in the step", "identity"),
        Column("collective", "its type, and the process group"),
        RANK,
        Column("duration_ns", "how long it took on this rank", adds_up=True),
        Column("transfer_ns", "time that the fastest rank needed for the same collectives", adds_up=True),
        Column("waiting_ns", "time that the rank's collectives took beyond those of the fastest rank", adds_up=True),
    ),
    of="ranks",
    title="Collectives",
    description="Wait and transfer of each rank in each collective that all took part in.",
    empty=NO_COLLECTIVES,
)
"""Wait and transfer of each collective."""
