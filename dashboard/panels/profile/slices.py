"""The slices that rows of tables stand for: of each operator or kernel, its longest call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dashboard.panels.profile.columns import around
from dashboard.traces.studies import Study
from profiler.analysis.facts import Facts
from profiler.analysis.operators import Key, key_texts, operator_calls

if TYPE_CHECKING:
    import polars as pl

Spans = tuple[tuple[int, int] | None, ...]


def longest_operators(study: Study, frame: "pl.DataFrame", by: Sequence[Key]) -> Spans:
    """Where the longest call of each row of `profiler.analysis.operators.operators` is."""
    import polars as pl

    calls = operator_calls(study.facts)
    slices = calls.slice[calls.is_operator]
    texts: dict[str, pl.Series] = {}
    for key in by:
        texts[key] = pl.Series(key, key_texts(study.facts, slices, key), dtype=pl.String)
    found = (
        pl.DataFrame({**texts, "slice": slices, "ns": calls.host_total[calls.is_operator]})
        .group_by(*by)
        .agg(pl.col("slice").get(pl.col("ns").arg_max()))
    )
    joined = frame.select(*by).join(found, on=list(by), how="left", maintain_order="left")
    return spans(study, joined["slice"].to_list())


def longest_kernels(study: Study, names: Sequence[str]) -> Spans:
    """Where the longest call of each kernel is, and nothing for names of none."""
    device = study.facts.every_device_activity
    device = device.where(device.of("kernel", "communication"))
    return longest_named(study, device.slice, names)


def longest_named(study: Study, slices: NDArray[np.int64], names: Sequence[str]) -> Spans:
    """Where the longest of some slices of each name is."""
    best = _longest_by_name(study.facts, slices)
    return spans(study, [best.get(name) for name in names])


def _longest_by_name(facts: Facts, slices: NDArray[np.int64]) -> dict[str, int]:
    order = np.argsort(facts.trace.duration_ns[slices], kind="stable")
    ordered = slices[order]
    # Of equal names the last stays, which is the longest.
    return dict(zip(facts.names_of(ordered), ordered.tolist(), strict=True))


def by_name(facts: Facts) -> "pl.DataFrame":
    """All slices by name and category, longest own time first: also of traces that no analysis knows the sorts of.

    A slice's own time is its duration without that of the slices directly inside it on its lane.

    Columns: name, category (text), count, self_ns, total_ns (int64), mean_ns (float64), max_ns (int64), longest (int64:
    index of the longest slice).
    """
    import polars as pl

    trace = facts.trace
    own = trace.duration_ns.astype(np.int64)
    inside = np.flatnonzero(facts.parents >= 0)
    np.subtract.at(own, facts.parents[inside], trace.duration_ns[inside])
    duration = pl.col("ns")
    grouped = (
        pl.DataFrame({"name": trace.name_id, "category": trace.category_id, "own": own, "ns": trace.duration_ns})
        .with_row_index("index")
        .group_by("name", "category", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("own").sum().alias("self_ns"),
            duration.sum().alias("total_ns"),
            duration.mean().alias("mean_ns"),
            duration.max().alias("max_ns"),
            pl.col("index").get(duration.arg_max()).cast(pl.Int64).alias("longest"),
        )
    )
    texts = {
        column: pl.Series(column, [known[number] for number in grouped[column].to_list()], dtype=pl.String)
        for column, known in (("name", trace.names), ("category", trace.categories))
    }
    return grouped.with_columns(texts["name"], texts["category"]).sort("self_ns", descending=True, maintain_order=True)


def spans(study: Study, slices: Sequence[int | None]) -> Spans:
    """The stretches of some slices, with room around them."""
    return tuple(None if index is None or index < 0 else around(*study.span(index)) for index in slices)
