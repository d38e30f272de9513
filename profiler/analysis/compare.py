"""Changes between two traces."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, assert_never, get_args

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.analysis.steps import CATEGORIES, in_steps, mean_step, step_windows
from stepscope.profiler.trace import Trace
from stepscope.summary.counts import counted

if TYPE_CHECKING:
    import polars as pl

What = Literal["steps", "operators", "kernels"]
Per = Literal["step", "call", "total"]
"""The basis of counts and times: a mean complete step, a mean call, or the whole trace."""
NAMES: Final[dict[Per, str]] = {"step": "per step", "call": "per call", "total": "total"}


class Basis(NamedTuple):
    """The basis on which the figures of two traces are compared."""

    per: Per
    steps_before: int
    """Complete steps of the earlier trace; 0 if it marks none."""
    steps_after: int
    wanted: Per
    """The requested basis; traces that mark no steps are compared by totals regardless."""

    @property
    def words(self) -> str:
        """The basis in words, such as "per step, of 3 steps before and 5 steps after"."""
        before, after = (
            counted(count, "step") if count else "no marked steps" for count in (self.steps_before, self.steps_after)
        )
        name = NAMES[self.per] if self.per == self.wanted else "totals, as a mean step needs steps in both"
        return f"{name}, of {before} before and {after} after"


def basis_of(before: Trace | Facts, after: Trace | Facts, per: Per = "step") -> Basis:
    """Return the basis on which two traces can be compared: as requested, or totals if one of them has no steps."""
    counts = [len(step_windows(each).start) if each.trace.steps else 0 for each in map(facts_of, (before, after))]
    return Basis("total" if per == "step" and not all(counts) else per, counts[0], counts[1], per)


def compare(
    before: Trace | Facts, after: Trace | Facts, *, what: What = "kernels", per: Per = "step"
) -> "pl.DataFrame":
    """Return counts and times of two traces side by side, largest change first.

    Steps are compared by time per category, operators by host total per name, kernels by total per name. As in
    HolisticTraceAnalysis' ``TraceDiff``, names in only one trace count 0 in the other. The comparison is by mean step:
    operators count if they begin in a complete step, kernels if they are launched in one. ``per`` can request means per
    call, with counts of the whole trace, or totals of the whole trace; if a trace marks no steps, totals are compared
    (`basis_of`).

    Columns: name (text), count_before, count_after, before_ns, after_ns, change_ns (float64), change_percent (float64,
    null if new), state ("added", "removed", "longer", "shorter", "same"), basis ("per step", "per call", "total").
    """
    import polars as pl

    # Here, a call is a step.
    basis = basis_of(before, after, "step" if what == "steps" and per == "call" else per)
    tables = [_table(facts_of(trace), what, basis.per) for trace in (before, after)]
    joined = (
        tables[0]
        .join(tables[1], on="name", how="full", coalesce=True, suffix="_after")
        .rename({"count": "count_before", "ns": "before_ns", "ns_after": "after_ns"})
    )
    change = pl.col("after_ns") - pl.col("before_ns")
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
            pl.when(pl.col("before_ns") > 0).then(100 * change / pl.col("before_ns")).alias("change_percent"),
            state.alias("state"),
            pl.lit(NAMES[basis.per]).alias("basis"),
        )
        .select(
            "name",
            "count_before",
            "count_after",
            "before_ns",
            "after_ns",
            "change_ns",
            "change_percent",
            "state",
            "basis",
        )
        .sort(pl.col("change_ns").abs(), "name", descending=[True, False])
    )


def _table(facts: Facts, what: What, per: Per) -> "pl.DataFrame":
    """Return a count and a time for each name."""
    import polars as pl

    steps = len(step_windows(facts).start)
    match what:
        case "steps":
            whole = steps if per == "total" else 1
            mean = mean_step(facts)
            counts = [float(steps)] * len(CATEGORIES)
            return pl.DataFrame({"name": list(CATEGORIES), "count": counts, "ns": mean["mean_ns"] * whole})
        case "operators":
            chosen = in_steps(facts) if per == "step" else None
            table = operators(facts, chosen=chosen).select("name", count="calls", ns="host_total_ns")
        case "kernels":
            chosen = in_steps(facts) if per == "step" else None
            table = kernels(facts, scope="all", chosen=chosen).select("name", "count", ns="total_ns")
        case _:
            assert_never(what)
    table = table.cast({"count": pl.Float64, "ns": pl.Float64})
    match per:
        case "step":
            return table.with_columns(pl.col("count", "ns") / max(1, steps))
        case "call":
            return table.with_columns(pl.col("ns") / pl.col("count"))
        case "total":
            return table
        case _:
            assert_never(per)


_DESCRIPTIONS: Final[Mapping[What, str]] = {
    "steps": "Time of the steps by category",
    "operators": "Host time by name; rows lead to the longest call in the later trace",
    "kernels": "Time by name; rows lead to the longest call in the later trace",
}


def _changes_in(what: What) -> Analysis:
    # The times of operators count nested operators again.
    adds_up = what != "operators"
    return Analysis(
        f"changed_{what}",
        f"{what} in two traces, and what changed",
        lambda before, after, per: compare(before, after, what=what, per=per),
        (
            Column("name", "name of the compared item"),
            Column("count_before", "count in the earlier trace; a mean if compared per step"),
            Column("count_after", "count in the later trace; a mean if compared per step"),
            Column("before_ns", "time in the earlier trace", adds_up=adds_up),
            Column("after_ns", "time in the later trace", adds_up=adds_up),
            Column("change_ns", "after minus before", "change", adds_up=adds_up),
            Column("change_percent", "change relative to the time before; empty if new", "change_percent"),
            Column("state", '"added", "removed", "longer", "shorter" or "same"', "label"),
            Column("basis", "what is compared: a mean step, a mean call, or totals", hidden=True),
        ),
        of="changes",
        title="Largest changes first",
        description=_DESCRIPTIONS[what],
        empty="Neither trace has any of these.",
        of_devices=what == "kernels",
    )


CHANGES: Final[Mapping[What, Analysis]] = {what: _changes_in(what) for what in get_args(What)}
"""The analyses that compare two traces, by what they compare."""
