"""All slices of a trace by name, including traces with kinds of slices that no analysis knows."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import is_profilers_own
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.records import SLICE, Analysis, Column
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl


def slices_by_name(trace: Trace | Facts) -> "pl.DataFrame":
    """Return all slices by name and category, longest own time first.

    A slice's own time is its duration without the slices directly inside it on its lane. Spans of the profiler itself
    are left out unless there are no others (`stepscope.profiler.analysis.classify.is_profilers_own`).

    Columns: name, category (text), count, self_ns, total_ns (int64), mean_ns (float64), max_ns (int64), slice (int64:
    index of the longest).
    """
    import polars as pl

    facts = facts_of(trace)
    trace = facts.trace
    duration = pl.col("ns")
    grouped = (
        pl.DataFrame(
            {"name": trace.name_id, "category": trace.category_id, "own": own_ns(facts), "ns": trace.duration_ns}
        )
        .with_row_index("index")
        .group_by("name", "category", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("own").sum().alias("self_ns"),
            duration.sum().alias("total_ns"),
            duration.mean().alias("mean_ns"),
            duration.max().alias("max_ns"),
            pl.col("index").get(duration.arg_max()).cast(pl.Int64).alias("slice"),
        )
    )
    own = is_profilers_own(trace, grouped["name"].to_numpy(), grouped["category"].to_numpy())
    if not own.all():
        grouped = grouped.filter(~pl.Series(own, dtype=pl.Boolean))
    texts = {
        column: pl.Series(column, [known[number] for number in grouped[column].to_list()], dtype=pl.String)
        for column, known in (("name", trace.names), ("category", trace.categories))
    }
    return grouped.with_columns(texts["name"], texts["category"]).sort("self_ns", descending=True, maintain_order=True)


def slices_by_category(by_name: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of `slices_by_name` added up by category, longest own time first.

    The name of a row is its category.
    """
    import polars as pl

    longest = pl.col("max_ns")
    return (
        by_name.group_by("category", maintain_order=True)
        .agg(
            pl.col("count", "self_ns", "total_ns").sum(),
            (pl.col("total_ns").sum() / pl.col("count").sum()).alias("mean_ns"),
            longest.max(),
            pl.col("slice").get(longest.arg_max()),
        )
        .with_columns(pl.col("category").alias("name"))
        .select(by_name.columns)
        .sort("self_ns", descending=True, maintain_order=True)
    )


def own_ns(facts: Facts) -> NDArray[np.int64]:
    """Return each slice's duration without the slices directly inside it on its lane, int64 ``[n]`` nanoseconds."""
    own: NDArray[np.int64] = facts.trace.duration_ns.astype(np.int64)
    inside = np.flatnonzero(facts.parents >= 0)
    np.subtract.at(own, facts.parents[inside], facts.trace.duration_ns[inside])
    return own


SLICES: Final = Analysis(
    "slices",
    "all slices by name",
    slices_by_name,
    (
        Column("name", "name of the slices"),
        Column("category", "their category in the trace", "label"),
        Column("count", "number of slices", adds_up=True),
        Column("self_ns", "self time, excluding what is nested inside", adds_up=True),
        Column("total_ns", "sum of their durations; nested slices count in both"),
        Column("mean_ns", "mean duration"),
        Column("max_ns", "longest duration"),
        SLICE,
    ),
    title="Slices",
    description="Slices of every kind: annotations, functions, operators, kernels. Self times exclude nested slices. "
    "Step markers and the profiler's own span are left out.",
    empty="The trace has no slices. Choose another trace, or record again.",
)
"""All slices."""
