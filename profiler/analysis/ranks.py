"""Several ranks of one job: who waits for whom."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.intervals import Intervals
from stepscope.profiler.analysis.reasons import NO_COLLECTIVES
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.analysis.steps import category_intervals, step_windows
from stepscope.profiler.analysis.temporal import work_intervals
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

_KERNEL_OF: Final = re.compile(
    r"(all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv|reduce)", re.I
)
_BACKEND: Final = re.compile(r"(nccl|gloo|mpi|ucc):")
_RECORD: Final = re.compile(r"record_param_comms")


def rank_of(trace: Trace | Facts) -> int | None:
    """Return the rank that a trace's ``distributedInfo`` states."""
    information = facts_of(trace).trace.metadata.get("distributedInfo")
    rank = information.get("rank") if isinstance(information, Mapping) else None
    return rank if isinstance(rank, int) else None


def rank_summary(traces: Mapping[int, Trace | Facts]) -> "pl.DataFrame":
    """Return the mean step of each rank: all times are means over the rank's complete steps.

    As torch-tb-profiler's distributed view: computation is the union of kernels, communication that of communication
    kernels, both within the steps; other = step + overlap - computation - communication. Where a trace has no
    communication on a device, communication is what `step_breakdown` counts as such (gloo, MPI and the like); where
    it has no kernels either, computation is the union of the host's operators.

    Columns: rank (int64), steps (int64), step_ns, computation_ns, communication_ns, overlap_ns, other_ns, waiting_ns,
    transfer_ns (float64, means per step; the last two of the rank's collectives in these steps, see `collectives`).
    """
    import polars as pl

    waits = collectives(traces)
    rows: list[dict[str, Any]] = []
    for rank, trace in sorted(traces.items()):
        facts = facts_of(trace)
        windows = step_windows(facts)
        count = max(1, len(windows.start))
        computing, communicating = _work(facts)
        row = {
            name: float(each.lengths_within(windows.start, windows.end).sum()) / count
            for name, each in (
                ("computation_ns", computing),
                ("communication_ns", communicating),
                ("overlap_ns", computing & communicating),
            )
        }
        step = float((windows.end - windows.start).sum()) / count
        other = step + row["overlap_ns"] - row["computation_ns"] - row["communication_ns"]
        here = waits.filter((pl.col("rank") == rank) & pl.col("step").is_in(windows.number))
        row |= {"step_ns": step, "other_ns": other}
        row |= {name: float(here[name].sum()) / count for name in ("waiting_ns", "transfer_ns")}
        rows.append({"rank": rank, "steps": len(windows.start), **row})
    floats = ("step_ns", "computation_ns", "communication_ns", "overlap_ns", "other_ns", "waiting_ns", "transfer_ns")
    return pl.DataFrame(rows, schema={"rank": pl.Int64, "steps": pl.Int64, **dict.fromkeys(floats, pl.Float64)})


def _work(facts: Facts) -> tuple[Intervals, Intervals]:
    """When the rank computed and when it communicated: on its devices, or on the host if no device communicates."""
    device = facts.every_device_activity
    if device.of("communication").any():
        return work_intervals(device, "computation"), work_intervals(device, "communication")
    active = category_intervals(facts)
    return active["kernel" if device.of("kernel").any() else "cpu_exec"], active["communication"]


def collectives(traces: Mapping[int, Trace | Facts]) -> "pl.DataFrame":
    """Return the collectives of all ranks with the wait and the transfer of each rank; see `match_collectives`.

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
    """Return the collectives in which at least so many of several traces took part, given the `communication` of each.

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
    """Communication kernels of a trace, in order of start; those of the host where no device communicates.

    On a host one collective has several slices, within each other or on another thread: c10d's operator
    ("c10d::allreduce_"), its record of the parameters, and the backend's work ("gloo:all_reduce"). The backend's count
    where there are any, else the records, else the operators, so that each collective counts once.

    Columns: step, number (int64, within the step, the sort and the sequence number), collective (text), sequence
    (int64, -1 where none is stated), slice, start_ns, duration_ns (int64).
    """
    import polars as pl

    facts = facts_of(trace)
    device = facts.every_device_activity
    device = device.where(device.of("communication"))
    slices, launch = device.slice, device.launch
    if not len(slices):
        slices = _host_collectives(facts)
        launch = np.full(len(slices), -1, np.int64)
    begin, duration = facts.trace.start_ns[slices], facts.trace.duration_ns[slices]
    starts = np.array([step.start_ns for step in facts.steps], np.int64)
    # A collective belongs to the step that launched it, where that is known.
    when = np.where(launch >= 0, facts.trace.start_ns[np.maximum(launch, 0)], begin)
    place = np.searchsorted(starts, when, side="right") - 1
    schema = _no_communication().schema
    rows: list[tuple[int, int, str, int, int, int, int]] = []
    seen: dict[tuple[int, str, int], int] = {}
    for index, arguments, name, *times in zip(
        place.tolist(),
        facts.decoded(slices),
        facts.names_of(slices),
        slices.tolist(),
        begin.tolist(),
        duration.tolist(),
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


def _host_collectives(facts: Facts) -> NDArray[np.int64]:
    """Return one slice of the host for each collective, in order of start."""
    found = facts.slices("communication", on_device=False)
    names = facts.names_of(found)
    for level in (_BACKEND, _RECORD):
        chosen = np.array([level.match(name) is not None for name in names], np.bool_)
        if chosen.any():
            found = found[chosen]
            break
    mask = np.zeros(len(facts.trace), np.bool_)
    mask[found] = True
    outermost = found[facts.nearest(mask)[found] < 0]
    result: NDArray[np.int64] = outermost[np.argsort(facts.trace.start_ns[outermost], kind="stable")]
    return result


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
    """Return which ranks make the others wait: how often each came last to a collective, and what that cost the others.

    All are sums over all steps of the traces.

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


_RANK: Final = Column("rank", "number of the rank", "identity")
RANK_SUMMARY: Final = Analysis(
    "ranks",
    "the mean step of each rank",
    rank_summary,
    (
        _RANK,
        Column("steps", "complete steps of its trace"),
        Column("step_ns", "mean duration of a step"),
        Column("computation_ns", "mean time per step in computation"),
        Column("communication_ns", "mean time per step in communication"),
        Column("overlap_ns", "mean time per step in both"),
        Column("other_ns", "mean time per step in neither"),
        Column("waiting_ns", "what a rank's collectives took beyond the fastest rank's"),
        Column("transfer_ns", "what the fastest rank needed for the same collectives"),
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
        _RANK,
        Column("last", "collectives to which it came last", adds_up=True),
        Column("caused_waiting_ns", "what the others waited where this rank came last", adds_up=True),
        Column("own_waiting_ns", "what it waited itself", adds_up=True),
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
        Column("number", "number of the collective within the step and its sort", "identity"),
        Column("collective", "its sort, and the process group"),
        _RANK,
        Column("duration_ns", "how long it took on this rank", adds_up=True),
        Column("transfer_ns", "what the fastest rank needed for the same collectives", adds_up=True),
        Column("waiting_ns", "what a rank's collectives took beyond the fastest rank's", adds_up=True),
    ),
    of="ranks",
    title="Collectives",
    description="Wait and transfer of each rank in each collective that all took part in.",
    empty=NO_COLLECTIVES,
)
"""Each collective."""
