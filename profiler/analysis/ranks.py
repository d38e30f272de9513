"""Several ranks of one job: who waits for whom."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.analysis.facts import Facts, facts_of
from profiler.analysis.steps import step_windows
from profiler.analysis.temporal import work_intervals
from profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

_KERNEL_OF: Final = re.compile(
    r"(all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv|reduce)", re.I
)


def rank_of(trace: Trace | Facts) -> int | None:
    """The rank that a trace's ``distributedInfo`` states."""
    information = facts_of(trace).trace.metadata.get("distributedInfo")
    rank = information.get("rank") if isinstance(information, Mapping) else None
    return rank if isinstance(rank, int) else None


def rank_summary(traces: Mapping[int, Trace | Facts]) -> "pl.DataFrame":
    """The mean step of each rank.

    As torch-tb-profiler's distributed view: computation is the union of kernels, communication that of communication
    kernels, both within the steps; other = step + overlap - computation - communication.

    Columns: rank (int64), steps (int64), step_ns, computation_ns, communication_ns, overlap_ns, other_ns (float64,
    means per step), waiting_ns, transfer_ns (float64: of the rank's communication kernels, see `collectives`).
    """
    import polars as pl

    waits = collectives(traces).group_by("rank").agg(pl.col("waiting_ns").sum(), pl.col("transfer_ns").sum())
    by_rank = {row["rank"]: row for row in waits.to_dicts()}
    rows: list[dict[str, Any]] = []
    for rank, trace in sorted(traces.items()):
        facts = facts_of(trace)
        windows = step_windows(facts)
        count = len(windows.start)
        device = facts.every_device_activity
        computing, communicating = work_intervals(device, "computation"), work_intervals(device, "communication")
        sums = {
            name: float(each.lengths_within(windows.start, windows.end).sum()) / max(1, count)
            for name, each in (
                ("computation_ns", computing),
                ("communication_ns", communicating),
                ("overlap_ns", computing & communicating),
            )
        }
        step = float((windows.end - windows.start).sum()) / max(1, count)
        other = step + sums["overlap_ns"] - sums["computation_ns"] - sums["communication_ns"]
        found = by_rank.get(rank, {"waiting_ns": 0, "transfer_ns": 0})
        rows.append(
            {
                "rank": rank,
                "steps": count,
                "step_ns": step,
                **sums,
                "other_ns": other,
                "waiting_ns": float(found["waiting_ns"]),
                "transfer_ns": float(found["transfer_ns"]),
            }
        )
    floats = ("step_ns", "computation_ns", "communication_ns", "overlap_ns", "other_ns", "waiting_ns", "transfer_ns")
    return pl.DataFrame(rows, schema={"rank": pl.Int64, "steps": pl.Int64, **dict.fromkeys(floats, pl.Float64)})


def collectives(traces: Mapping[int, Trace | Facts]) -> "pl.DataFrame":
    """Collectives that all ranks took part in, with the wait and the transfer of each rank; see `match_collectives`.

    Columns: step, number (int64), collective (text), rank, duration_ns, transfer_ns, waiting_ns (int64).
    """
    import polars as pl

    ranks = sorted(traces)
    matched = match_collectives([communication(traces[rank]) for rank in ranks], least=max(1, len(ranks)))
    numbers = pl.Series(ranks, dtype=pl.Int64)
    return matched.with_columns(
        numbers.gather(matched["trace"]).alias("rank") if ranks else pl.col("trace").alias("rank")
    ).select("step", "number", "collective", "rank", "duration_ns", "transfer_ns", "waiting_ns")


def match_collectives(parts: Sequence["pl.DataFrame"], *, least: int = 2) -> "pl.DataFrame":
    """The collectives in which at least so many of several traces took part, given the `communication` of each.

    The n-th communication kernel of one sort (collective, process group) within a step is the same collective in all
    traces; where kernels state a sequence number, those of one number are. As torch-tb-profiler, what the fastest rank
    needed is data transfer, the rest of a rank's time is waiting for others. Clocks of ranks need not agree. A
    collective of which a rank has another number in the step is left out from where the shortest list ends.

    Columns: step, number (int64), collective (text), trace (int64, index into ``parts``), slice, start_ns,
    duration_ns, transfer_ns, waiting_ns (int64), by step, collective, number and trace.
    """
    import polars as pl

    indexed = [part.with_columns(pl.lit(index, dtype=pl.Int64).alias("trace")) for index, part in enumerate(parts)]
    table = pl.concat(indexed) if indexed else _no_communication().with_columns(pl.lit(0, pl.Int64).alias("trace"))
    keys = ("step", "collective", "sequence", "number")
    transfer = pl.col("duration_ns").min().over(*keys)
    # Numbers run on over sequence numbers, each of which may have kernels of its own.
    number = pl.struct("sequence", "number").rank("dense").over("step", "collective").cast(pl.Int64) - 1
    return (
        table.filter(pl.col("trace").n_unique().over(*keys) >= least)
        .with_columns(
            transfer.alias("transfer_ns"), (pl.col("duration_ns") - transfer).alias("waiting_ns"), number=number
        )
        .select(
            "step", "number", "collective", "trace", "slice", "start_ns", "duration_ns", "transfer_ns", "waiting_ns"
        )
        .sort("step", "collective", "number", "trace")
    )


def communication(trace: Trace | Facts) -> "pl.DataFrame":
    """Communication kernels of a trace, in order of start.

    Columns: step, number (int64, within the step, the sort and the sequence number), collective (text), sequence
    (int64, -1 where none is stated), slice, start_ns, duration_ns (int64).
    """
    import polars as pl

    facts = facts_of(trace)
    device = facts.every_device_activity
    device = device.where(device.of("communication"))
    starts = np.array([step.start_ns for step in facts.steps], np.int64)
    # A collective belongs to the step that launched it, where that is known.
    when = np.where(device.launch >= 0, facts.trace.start_ns[np.maximum(device.launch, 0)], device.start)
    place = np.searchsorted(starts, when, side="right") - 1
    schema = _no_communication().schema
    rows: list[tuple[int, int, str, int, int, int, int]] = []
    seen: dict[tuple[int, str, int], int] = {}
    for index, arguments, name, *times in zip(
        place.tolist(),
        facts.decoded(device.slice),
        facts.names_of(device.slice),
        device.slice.tolist(),
        device.start.tolist(),
        device.duration.tolist(),
        strict=True,
    ):
        if index < 0:
            continue
        sort = _sort_of(name, arguments)
        stated = arguments.get("Seq")
        sequence = stated if isinstance(stated, int) and 0 <= stated < 1 << 63 else -1
        step = facts.steps[index].number
        number = seen[step, sort, sequence] = seen.get((step, sort, sequence), -1) + 1
        rows.append((step, number, sort, sequence, *times))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _no_communication() -> "pl.DataFrame":
    import polars as pl

    whole = pl.Int64
    return pl.DataFrame(
        schema={
            "step": whole,
            "number": whole,
            "collective": pl.String,
            "sequence": whole,
            "slice": whole,
            "start_ns": whole,
            "duration_ns": whole,
        }
    )


def _sort_of(name: str, arguments: Mapping[str, Any]) -> str:
    stated = arguments.get("Collective name")
    found = _KERNEL_OF.search(name)
    collective = str(stated) if stated else found[1].lower() if found else name
    group = arguments.get("Process Group Name")
    return f"{collective} ({group})" if group not in (None, "") else collective


def stragglers(traces: Mapping[int, Trace | Facts]) -> "pl.DataFrame":
    """Which ranks make the others wait: how often each came last to a collective, and what that cost the others.

    The last to come waits least, so the rank with the least waiting in a collective is its straggler; the cost is
    what the others waited there.

    Columns: rank, last (int64), caused_waiting_ns (int64), own_waiting_ns (int64), worst first.
    """
    import polars as pl

    table = collectives(traces)
    keys = ("step", "collective", "number")
    waiting = pl.col("waiting_ns")
    per = table.group_by(*keys).agg(
        pl.col("rank").get(waiting.arg_min()).alias("rank"), waiting.sum().alias("caused_waiting_ns")
    )
    caused = per.group_by("rank").agg(pl.len().cast(pl.Int64).alias("last"), pl.col("caused_waiting_ns").sum())
    own = table.group_by("rank").agg(waiting.sum().alias("own_waiting_ns"))
    everyone = pl.DataFrame({"rank": sorted(traces)}, schema={"rank": pl.Int64})
    joined = everyone.join(caused, on="rank", how="left").join(own, on="rank", how="left").fill_null(0)
    return joined.select("rank", "last", "caused_waiting_ns", "own_waiting_ns").sort(
        "caused_waiting_ns", "rank", descending=[True, False]
    )
