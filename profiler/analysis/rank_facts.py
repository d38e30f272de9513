"""The facts of one rank's trace, as small tables: all that analyses of many ranks need, a thousandth of the trace.

`rank_facts` is pure. Its result changes only with `VERSION`, by which cached facts of another version are recognized.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.communication import communication, work_of_rank
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.memcpys import memcpys
from stepscope.profiler.analysis.memory import memory_peaks
from stepscope.profiler.analysis.operators import operator_calls
from stepscope.profiler.analysis.process_groups import process_groups
from stepscope.profiler.analysis.steps import step_breakdown
from stepscope.profiler.lod import extent_ns, span_ns
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

VERSION: Final = 4
"""Incremented whenever the result of `rank_facts` for a trace changes, or how a trace is read."""
FactTable = Literal[
    "trace", "steps", "operators", "kernels", "collectives", "idle", "copies", "memory", "losses", "groups"
]
FACT_TABLES: Final[tuple[FactTable, ...]] = get_args(FactTable)
MOST_ROWS: Final[Mapping[FactTable, int]] = {
    "steps": 10_000,
    "operators": 4_000,
    "kernels": 4_000,
    "collectives": 100_000,
    "idle": 2_000,
    "copies": 200,
    "memory": 200,
    "losses": 100,
    "groups": 100,
}
"""Maximum number of rows kept of each table: the longest operators and kernels, and the first rows of the others. The
number left out is a column of "trace"."""
OTHER_STEPS: Final = -2
"""Stands for the step of operators and kernels that are too many to be listed by step: their sums are complete."""
MOST_CHARACTERS: Final = 500
"""Maximum length of a name."""


@dataclass(frozen=True)
class RankFacts:
    """The tables of one trace, by name; see `rank_facts`."""

    tables: Mapping[FactTable, "pl.DataFrame"]

    @property
    def rank(self) -> int | None:
        """The rank that the trace states."""
        rank: int | None = self.tables["trace"]["stated_rank"][0]
        return rank

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return int(sum(table.estimated_size() for table in self.tables.values()))


@runtime_checkable
class RankTables(Protocol):
    """The facts of several ranks of one job, to be reduced."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks whose facts are available, in order."""
        ...

    def scan(self, table: FactTable) -> "pl.LazyFrame":
        """Return a table of all ranks, with an additional column rank (int64), in no particular order."""
        ...


@dataclass(frozen=True)
class RanksInMemory:
    """Facts by rank, in memory."""

    facts: Mapping[int, RankFacts]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(self.facts))

    def scan(self, table: FactTable) -> "pl.LazyFrame":
        import polars as pl

        frames = [
            facts.tables[table].with_columns(rank=pl.lit(rank, pl.Int64)) for rank, facts in sorted(self.facts.items())
        ]
        frames = frames or [pl.DataFrame(schema={**schemas()[table], "rank": pl.Int64})]
        return pl.concat(frames).lazy()


def rank_facts(trace: Trace | Facts) -> RankFacts:
    """Return the facts of a trace, as tables.

    - trace, one row: slices, marked_steps (int64), start_ns, end_ns (int64, null without slices), origin_ns (int64,
      where the Timeline begins), epoch_ns, stated_rank, world_size (int64, null if not stated), host (text, "" if not
      stated), on_device (bool), and left_out_<table> (int64) for each of `MOST_ROWS`;
    - steps: those of `stepscope.profiler.analysis.steps.step_breakdown` with its columns, and computation_ns,
      communication_work_ns, overlap_ns (int64), of `work_of_rank` within the step;
    - operators: step (int64, in which they begin; -1 for none, `OTHER_STEPS` for the shortest ones if there are many),
      operator (text), calls, host_self_ns, host_total_ns, device_self_ns (int64), as in
      `stepscope.profiler.analysis.operators.operator_calls`;
    - kernels, including communication: step (of the launch, as for operators), kernel (text), count, total_ns, max_ns
      (int64);
    - collectives: `stepscope.profiler.analysis.communication.communication`;
    - idle: `stepscope.profiler.analysis.idle.idle_time` without its shares;
    - copies: direction, memory (text), count, bytes, total_ns (int64), of
      `stepscope.profiler.analysis.memcpys.memcpys`;
    - memory: device (text), peak_bytes (int64);
    - losses: what (text), count (int64, null for notes on the file as a whole);
    - groups: grouping, group (text), size (int64), as in `stepscope.profiler.analysis.process_groups`.
    """
    import polars as pl

    facts = facts_of(trace)
    whole: dict[FactTable, pl.DataFrame] = {
        "steps": _steps(facts),
        "operators": _operators(facts),
        "kernels": _kernels(facts),
        "collectives": communication(facts).drop("slice"),
        "idle": idle_time(facts).drop("percent"),
        "copies": memcpys(facts).select("direction", "memory", "count", "bytes", "total_ns"),
        "memory": memory_peaks(facts).select("device", "peak_bytes"),
        "losses": _losses(facts.trace),
        "groups": _groups(facts.trace),
    }
    known = schemas()
    kept = {name: _within_limits(whole[name]).head(most) for name, most in MOST_ROWS.items()}
    left_out = {f"left_out_{name}": len(whole[name]) - len(kept[name]) for name in MOST_ROWS}
    about = _about(facts) | left_out
    tables: dict[FactTable, pl.DataFrame] = {"trace": pl.DataFrame([about], schema=known["trace"])}
    tables |= {name: frame.select(list(known[name])).cast(pl.Schema(known[name])) for name, frame in kept.items()}
    return RankFacts(tables)


def schemas() -> "Mapping[FactTable, dict[str, type[pl.DataType]]]":
    """Return the columns of each table with their types."""
    import polars as pl

    def whole(*names: str) -> "dict[str, type[pl.DataType]]":
        return dict.fromkeys(names, pl.Int64)

    def texts(*names: str) -> "dict[str, type[pl.DataType]]":
        return dict.fromkeys(names, pl.String)

    from stepscope.profiler.analysis.steps import CATEGORIES

    return {
        "trace": {
            **whole(
                "slices", "marked_steps", "start_ns", "end_ns", "origin_ns", "epoch_ns", "stated_rank", "world_size"
            ),
            **texts("host"),
            "on_device": pl.Boolean,
            **whole(*(f"left_out_{name}" for name in MOST_ROWS)),
        },
        "steps": whole(
            "step",
            "start_ns",
            "total_ns",
            *(f"{category}_ns" for category in CATEGORIES),
            "computation_ns",
            "communication_work_ns",
            "overlap_ns",
        ),
        "operators": {
            **whole("step"),
            **texts("operator"),
            **whole("calls", "host_self_ns", "host_total_ns", "device_self_ns"),
        },
        "kernels": {**whole("step"), **texts("kernel"), **whole("count", "total_ns", "max_ns")},
        "collectives": {
            **whole("step", "number"),
            **texts("collective"),
            **whole("sequence", "start_ns", "duration_ns"),
            **texts("group"),
        },
        "idle": {**whole("device", "stream"), **texts("cause"), **whole("idle_ns", "gaps")},
        "copies": {**texts("direction", "memory"), **whole("count", "bytes", "total_ns")},
        "memory": {**texts("device"), **whole("peak_bytes")},
        "losses": {**texts("what"), **whole("count")},
        "groups": {**texts("grouping", "group"), **whole("size")},
    }


def _within_limits(frame: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    return frame.with_columns(pl.col(pl.String).str.slice(0, MOST_CHARACTERS))


def _about(facts: Facts) -> dict[str, Any]:
    trace = facts.trace
    stated = trace.metadata.get("distributedInfo")
    information = stated if isinstance(stated, Mapping) else {}
    start, end = span_ns(trace) if len(trace) else (None, None)
    host = trace.metadata.get("host_name")
    return {
        "slices": len(trace),
        "marked_steps": len(trace.steps),
        "start_ns": start,
        "end_ns": end,
        "origin_ns": extent_ns(trace)[0],
        "epoch_ns": trace.epoch_ns,
        "stated_rank": _whole_number(information.get("rank")),
        "world_size": _whole_number(information.get("world_size")),
        "host": host[:MOST_CHARACTERS] if isinstance(host, str) else "",
        "on_device": len(facts.every_device_activity.slice) > 0,
    }


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def _steps(facts: Facts) -> "pl.DataFrame":
    frame = step_breakdown(facts)
    starts = frame["start_ns"].to_numpy()
    ends = starts + frame["total_ns"].to_numpy()
    computing, communicating = work_of_rank(facts)
    work = {
        "computation_ns": computing,
        "communication_work_ns": communicating,
        "overlap_ns": computing & communicating,
    }
    import polars as pl

    return frame.with_columns(
        pl.Series(name, intervals.lengths_within(starts, ends), dtype=pl.Int64) for name, intervals in work.items()
    )


def _step_of(facts: Facts, begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the step that contains each point in time, -1 for none."""
    starts = np.array([step.start_ns for step in facts.steps], np.int64)
    ends = starts + np.array([step.duration_ns for step in facts.steps], np.int64)
    numbers = np.array([*(step.number for step in facts.steps), -1], np.int64)
    place = np.searchsorted(starts, begin, side="right") - 1
    outside = (place < 0) | (begin > ends[np.maximum(place, 0)]) if len(starts) else np.ones(len(begin), np.bool_)
    result: NDArray[np.int64] = numbers[np.where(outside, -1, place)]
    return result


def _operators(facts: Facts) -> "pl.DataFrame":
    import polars as pl

    calls = operator_calls(facts)
    slices = calls.slice[calls.is_operator]
    columns = {"host_self_ns": calls.host_self, "host_total_ns": calls.host_total, "device_self_ns": calls.device_self}
    frame = pl.DataFrame(
        {
            "step": _step_of(facts, facts.trace.start_ns[slices]),
            "operator": facts.trace.name_id[slices],
            **{name: values[calls.is_operator] for name, values in columns.items()},
        }
    )
    grouped = frame.group_by("step", "operator").agg(pl.len().alias("calls"), pl.col(*columns).sum())
    most = pl.max_horizontal("host_self_ns", "device_self_ns")
    named = _named(facts.trace, grouped, "operator")
    return _folded(named, "operator", most, [pl.col("calls", *columns).sum()], MOST_ROWS["operators"])


def _kernels(facts: Facts) -> "pl.DataFrame":
    import polars as pl

    every = facts.every_device_activity
    every = every.where(every.of("kernel", "communication"))
    launched = every.launch >= 0
    begin = np.where(launched, facts.trace.start_ns[np.where(launched, every.launch, every.slice)], every.start)
    frame = pl.DataFrame(
        {
            "step": _step_of(facts, begin),
            "kernel": facts.trace.name_id[every.slice],
            "took": every.duration,
        }
    )
    grouped = frame.group_by("step", "kernel").agg(
        pl.len().alias("count"), pl.col("took").sum().alias("total_ns"), pl.col("took").max().alias("max_ns")
    )
    named = _named(facts.trace, grouped, "kernel")
    sums = [pl.col("count", "total_ns").sum(), pl.col("max_ns").max()]
    return _folded(named, "kernel", pl.col("total_ns"), sums, MOST_ROWS["kernels"])


def _folded(frame: "pl.DataFrame", name: str, by: "pl.Expr", sums: "list[pl.Expr]", most: int) -> "pl.DataFrame":
    """Return a table, longest first, in which the shortest rows beyond ``most`` are merged into one per name."""
    import polars as pl

    order, descending = [by, pl.col("step"), pl.col(name)], [True, False, False]
    ordered = frame.sort(order, descending=descending)
    if len(ordered) <= most:
        return ordered
    names = frame[name].n_unique()
    whole = ordered.head(max(0, most - names))
    rest = ordered.slice(len(whole)).group_by(name).agg(sums).with_columns(pl.lit(OTHER_STEPS, pl.Int64).alias("step"))
    return pl.concat([whole, rest.select(frame.columns).cast(frame.schema)]).sort(order, descending=descending)


def _named(trace: Trace, frame: "pl.DataFrame", column: str) -> "pl.DataFrame":
    """Return a table with names in place of their numbers."""
    import polars as pl

    names = trace.names
    return frame.with_columns(pl.Series(column, [names[number] for number in frame[column].to_list()], dtype=pl.String))


def _losses(trace: Trace) -> "pl.DataFrame":
    import polars as pl

    rows: list[tuple[str, int | None]] = [(note, None) for note in trace.losses.notes]
    rows += [(reason, count) for reason, count in trace.losses.counts.items() if count]
    return pl.DataFrame(rows, schema={"what": pl.String, "count": pl.Int64}, orient="row")


def _groups(trace: Trace) -> "pl.DataFrame":
    import polars as pl

    rows = [(each.grouping, each.group, each.size) for each in process_groups(trace.metadata.get("distributedInfo"))]
    return pl.DataFrame(rows, schema={"grouping": pl.String, "group": pl.String, "size": pl.Int64}, orient="row")
