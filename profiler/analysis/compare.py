"""What changed between two traces."""

from typing import TYPE_CHECKING, Literal, assert_never

from profiler.analysis.facts import Facts, facts_of
from profiler.analysis.kernels import kernels
from profiler.analysis.operators import operators
from profiler.analysis.steps import CATEGORIES, mean_step
from profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

What = Literal["steps", "operators", "kernels"]


def compare(before: Trace | Facts, after: Trace | Facts, *, what: What = "kernels") -> "pl.DataFrame":
    """Counts and times in two traces side by side, largest change first.

    Of steps the mean time by category; of operators the host total by name; of kernels the total by name. As
    HolisticTraceAnalysis' ``TraceDiff``, names in one trace only count 0 in the other.

    Columns: name (text), count_before, count_after, ns_before, ns_after, change_ns (float64), change_percent (float64,
    null for what is new), state ("added", "removed", "longer", "shorter", "same").
    """
    import polars as pl

    tables = [_table(facts_of(trace), what) for trace in (before, after)]
    joined = (
        tables[0]
        .join(tables[1], on="name", how="full", coalesce=True, suffix="_after")
        .rename({"count": "count_before", "ns": "ns_before"})
    )
    change = pl.col("ns_after") - pl.col("ns_before")
    state = (
        pl.when((pl.col("count_before") == 0) & (pl.col("count_after") > 0))
        .then(pl.lit("added"))
        .when((pl.col("count_after") == 0) & (pl.col("count_before") > 0))
        .then(pl.lit("removed"))
        .when(change > 0)
        .then(pl.lit("longer"))
        .when(change < 0)
        .then(pl.lit("shorter"))
        .otherwise(pl.lit("same"))
    )
    return (
        joined.with_columns(pl.exclude("name").fill_null(0))
        .with_columns(
            change.alias("change_ns"),
            pl.when(pl.col("ns_before") > 0).then(100 * change / pl.col("ns_before")).alias("change_percent"),
            state.alias("state"),
        )
        .select("name", "count_before", "count_after", "ns_before", "ns_after", "change_ns", "change_percent", "state")
        .sort(pl.col("change_ns").abs(), "name", descending=[True, False])
    )


def _table(facts: Facts, what: What) -> "pl.DataFrame":
    import polars as pl

    match what:
        case "steps":
            steps = len(facts.steps)
            means = mean_step(facts)
            return pl.DataFrame(
                {"name": list(CATEGORIES), "count": [float(steps)] * len(CATEGORIES), "ns": means["mean_ns"]}
            )
        case "operators":
            table = operators(facts).select("name", count="calls", ns="host_total_ns")
        case "kernels":
            table = (
                kernels(facts, scope="all")
                .group_by("name")
                .agg(pl.col("count").sum(), pl.col("total_ns").sum().alias("ns"))
            )
        case _:
            assert_never(what)
    return table.cast({"count": pl.Float64, "ns": pl.Float64})
