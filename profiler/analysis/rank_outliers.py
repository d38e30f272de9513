"""Which ranks differ from the others: by step, by figure, by kernel and by operator.

A rank differs if it is further than `MOST_DEVIATIONS` from the median of all, in units of the median absolute deviation
times 1.4826, which for a normal distribution is the standard deviation (the modified z-score of Iglewicz and Hoaglin,
"How to Detect and Handle Outliers", 1993). If most ranks are equal to the nanosecond, a deviation is `LEAST_SCALE` of
the median.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.rank_facts import FactTable, RankTables
from stepscope.profiler.analysis.ranks import (
    RANK,
    Ranks,
    beside,
    rank_summary,
    rows_of_collectives,
    slowest_rank,
    tables_of_ranks,
)
from stepscope.profiler.analysis.reasons import NO_DEVICE, NO_OPERATORS, NO_STEPS
from stepscope.profiler.analysis.records import Analysis, Column

if TYPE_CHECKING:
    import polars as pl

MOST_DEVIATIONS: Final = 3.5
"""The limit recommended by Iglewicz and Hoaglin."""
LEAST_SCALE: Final = 0.01
"""Minimum size of one deviation, as a share of the median."""
LEAST_RANKS: Final = 3
"""Minimum number of ranks; of two ranks, neither is the outlier."""
_NORMAL: Final = 1.4826
_FIGURES: Final = {
    "step": "step_ns",
    "computation": "computation_ns",
    "communication": "communication_ns",
    "other": "other_ns",
    "waiting": "waiting_ns",
}


def deviations(values: NDArray[np.float64], of: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return by how many deviations each value is above the median, float64 ``[n]``; see the module.

    Args:
        values: at least one.
        of: measure noise by these instead of the values, such as the steps that they are parts of.
    """
    middle = np.median(values)
    spread = _NORMAL * np.median(np.abs(values - middle))
    scale = max(float(spread), LEAST_SCALE * float(np.median(values if of is None else of)), 1.0)
    result: NDArray[np.float64] = (values - middle) / scale
    return result


def rank_outliers(ranks: Ranks) -> "pl.DataFrame":
    """Return the figures of the mean step by which a rank differs from the others, most deviant first.

    Columns: rank (int64), figure (text, of "step", "computation", "communication", "other", "waiting"), value_ns,
    median_ns, deviations (float64).
    """
    import polars as pl

    summary = rank_summary(ranks).filter(pl.col("steps") > 0)
    numbers = summary["rank"].to_numpy()
    steps = summary["step_ns"].to_numpy()
    rows: list[tuple[int, str, float, float, float]] = []
    if len(numbers) >= LEAST_RANKS:
        for figure, column in _FIGURES.items():
            values = summary[column].to_numpy()
            away = deviations(values, steps)
            middle = float(np.median(values))
            rows += [
                (int(numbers[place]), figure, float(values[place]), middle, float(away[place]))
                for place in np.flatnonzero(np.abs(away) > MOST_DEVIATIONS).tolist()
            ]
    schema = {
        "rank": pl.Int64,
        "figure": pl.String,
        "value_ns": pl.Float64,
        "median_ns": pl.Float64,
        "deviations": pl.Float64,
    }
    found = pl.DataFrame(rows, schema=schema, orient="row")
    return found.sort(pl.col("deviations").abs(), "rank", "figure", descending=[True, False, False])


def rank_steps(ranks: Ranks) -> "pl.DataFrame":
    """Return each step over the ranks that have it complete, in order, and which rank was slowest.

    The slowest is the rank that takes longest apart from waiting in collectives: those that wait for it take as long.

    Columns: step, ranks (int64), median_ns (float64), max_ns (int64), slowest_rank (int64, the lowest if several),
    slowest_own_ns (int64), median_own_ns (float64): durations of steps, and without waiting.
    """
    import polars as pl

    own = own_times(tables_of_ranks(ranks))
    return (
        own.group_by("step")
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            pl.col("total_ns").median().alias("median_ns"),
            pl.col("total_ns").max().alias("max_ns"),
            slowest_rank("own_ns"),
            pl.col("own_ns").max().alias("slowest_own_ns"),
            pl.col("own_ns").median().alias("median_own_ns"),
        )
        .sort("step")
        .collect(engine="streaming")
    )


def own_times(tables: RankTables) -> "pl.LazyFrame":
    """Return the complete steps of all ranks, with the time of each without waiting in collectives.

    Columns: rank, step, total_ns, own_ns (int64).
    """
    import polars as pl

    waits = rows_of_collectives(tables).group_by("rank", "step").agg(pl.col("waiting_ns").sum())
    own = (pl.col("total_ns") - pl.col("waiting_ns").fill_null(0)).clip(0)
    return (
        tables.scan("steps")
        .group_by("rank", "step")
        .agg(pl.col("total_ns").sum())
        .join(waits, on=("rank", "step"), how="left")
        .select("rank", "step", "total_ns", own.alias("own_ns"))
    )


def rank_kernels(ranks: Ranks) -> "pl.DataFrame":
    """Return kernels by name with the rank that spends most time in each, those that differ most in time first.

    Columns: kernel (text), ranks, count (int64), median_ns (float64, of the ranks that have it, per rank), max_ns,
    slowest_rank (int64, the lowest if several), over_ns (float64, how much its time is above the median).
    """
    return _by_name(tables_of_ranks(ranks), "kernels", "kernel", "count", "total_ns")


def rank_operators(ranks: Ranks) -> "pl.DataFrame":
    """Return operators by name with the rank that spends most time in each on its host, those that differ most first.

    Columns: operator (text), ranks, calls (int64), median_ns (float64, of their own time per rank), max_ns,
    slowest_rank (int64), over_ns (float64), as in `rank_kernels`.
    """
    return _by_name(tables_of_ranks(ranks), "operators", "operator", "calls", "host_self_ns")


def _by_name(tables: RankTables, table: FactTable, name: str, count: str, took: str) -> "pl.DataFrame":
    import polars as pl

    return (
        tables.scan(table)
        .group_by("rank", name)
        .agg(pl.col(count, took).sum())
        .group_by(name)
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            pl.col(count).sum(),
            pl.col(took).median().alias("median_ns"),
            pl.col(took).max().alias("max_ns"),
            slowest_rank(took),
        )
        .with_columns((pl.col("max_ns") - pl.col("median_ns")).alias("over_ns"))
        .sort("over_ns", name, descending=[True, False])
        .collect(engine="streaming")
    )


def rank_resources(ranks: Ranks) -> "pl.DataFrame":
    """Return other facts about each rank: why its streams were idle, what it copied, its peak memory.

    Columns: rank (int64), host (text), slices, host_wait_ns, kernel_wait_ns, other_idle_ns (sums over streams), copies,
    copied_bytes, copy_ns, peak_bytes (int64, of its fullest device, null if not recorded), not_as_stored (int64, events
    and arrows that could not be shown as stored).
    """
    import polars as pl

    tables = tables_of_ranks(ranks)
    cause, gap = pl.col("cause"), pl.col("idle_ns")
    idle = (
        tables.scan("idle")
        .group_by("rank")
        .agg(
            gap.filter(cause == "host_wait").sum().alias("host_wait_ns"),
            gap.filter(cause == "kernel_wait").sum().alias("kernel_wait_ns"),
            gap.filter(cause == "other").sum().alias("other_idle_ns"),
        )
    )
    copies = (
        tables.scan("copies")
        .group_by("rank")
        .agg(
            pl.col("count").sum().alias("copies"),
            pl.col("bytes").sum().alias("copied_bytes"),
            pl.col("total_ns").sum().alias("copy_ns"),
        )
    )
    peaks = tables.scan("memory").group_by("rank").agg(pl.col("peak_bytes").max())
    losses = tables.scan("losses").group_by("rank").agg(pl.col("count").sum().alias("not_as_stored"))
    frame = beside(tables.scan("trace").select("rank", "host", "slices"), idle, copies, peaks, losses)
    return frame.with_columns(pl.exclude("peak_bytes").fill_null(0)).sort("rank").collect(engine="streaming")


_SLOWEST: Final = Column("slowest_rank", "number of the slowest rank", "identity")
_OVER: Final = Column("over_ns", "time of the slowest rank minus the median")
RANK_OUTLIERS: Final = Analysis(
    "rank_outliers",
    "ranks that differ from the others",
    rank_outliers,
    (
        RANK,
        Column("figure", "the part of its mean step that differs", "word"),
        Column("value_ns", "the value on this rank"),
        Column("median_ns", "the median over the ranks"),
        Column("deviations", "distance from the median, in median absolute deviations times 1.4826", "number"),
    ),
    of="ranks",
    title="Ranks that differ",
    description="Parts of the mean step that are more than 3.5 deviations from the median of all ranks.",
    empty="No rank differs from the others, or there are fewer than three.",
    note="more than 3.5 deviations from the median",
)
"""Ranks that differ from the others."""
RANK_STEPS: Final = Analysis(
    "rank_steps",
    "the slowest rank of each step",
    rank_steps,
    (
        Column("step", "number of the step", "identity"),
        Column("ranks", "ranks with the complete step"),
        Column("median_ns", "median duration of the step"),
        Column("max_ns", "longest duration of the step"),
        _SLOWEST,
        Column("slowest_own_ns", "own time of the slowest rank in the step, excluding waiting in collectives"),
        Column("median_own_ns", "median over the ranks of their own time in the step"),
    ),
    of="ranks",
    title="Slowest rank per step",
    description="The rank that took longest outside of waiting for others, and the median of all ranks.",
    empty=NO_STEPS,
)
"""The slowest rank of each step."""
RANK_KERNELS: Final = Analysis(
    "rank_kernels",
    "kernels that differ between ranks",
    rank_kernels,
    (
        Column("kernel", "its name", "text"),
        Column("ranks", "number of ranks that have it"),
        Column("count", "how often it ran on all of them", adds_up=True),
        Column("median_ns", "median over the ranks of its time on a rank"),
        Column("max_ns", "its time on the slowest rank"),
        _SLOWEST,
        _OVER,
    ),
    of="ranks",
    title="Kernels across ranks",
    description="Time of each kernel on its slowest rank compared with the median rank, largest differences first.",
    empty=NO_DEVICE,
)
"""Kernels that differ between ranks."""
RANK_OPERATORS: Final = Analysis(
    "rank_operators",
    "operators that differ between ranks",
    rank_operators,
    (
        Column("operator", "its name", "text"),
        Column("ranks", "number of ranks that have it"),
        Column("calls", "how often it was called on all of them", adds_up=True),
        Column("median_ns", "median over the ranks of its self time on a rank's host"),
        Column("max_ns", "its time on the slowest rank"),
        _SLOWEST,
        _OVER,
    ),
    of="ranks",
    title="Operators across ranks",
    description="Self time of each operator on its slowest rank compared with the median rank, largest differences "
    "first.",
    empty=NO_OPERATORS,
)
"""Operators that differ between ranks."""
RANK_RESOURCES: Final = Analysis(
    "rank_resources",
    "idle time, copies and memory of each rank",
    rank_resources,
    (
        RANK,
        Column("host", "name of the rank's machine", "label"),
        Column("slices", "number of slices in its trace"),
        Column("host_wait_ns", "idle time of its streams because launches came late", adds_up=True),
        Column("kernel_wait_ns", "idle time between activities that follow each other immediately", adds_up=True),
        Column("other_idle_ns", "other idle time of its streams", adds_up=True),
        Column("copies", "number of copies and memsets", adds_up=True),
        Column("copied_bytes", "bytes of copies and memsets", adds_up=True),
        Column("copy_ns", "time of copies and memsets", adds_up=True),
        Column("peak_bytes", "peak memory in use on any of its devices"),
        Column("not_as_stored", "events skipped or altered", adds_up=True),
    ),
    of="ranks",
    title="Idle time, copies and memory",
    description="Sums over the trace of each rank.",
)
"""Idle time, copies and memory of each rank."""
