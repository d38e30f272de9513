"""Communication in a trace, and which parts of it are the same collective in several traces."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.arguments import identifier_columns
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.intervals import Intervals
from stepscope.profiler.analysis.steps import category_intervals
from stepscope.profiler.analysis.temporal import work_intervals
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import distinct_rows

if TYPE_CHECKING:
    import polars as pl

_KERNEL_OF: Final = re.compile(
    r"(all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv|reduce)", re.I
)
_BACKEND: Final = re.compile(r"(nccl|gloo|mpi|ucc):")
_COLLECTIVE, _GROUP = "Collective name", "Process Group Name"
_RECORD: Final = re.compile(r"record_param_comms")


def work_of_rank(facts: Facts) -> tuple[Intervals, Intervals]:
    """Return when the rank computed and communicated: on its devices, or on the host if no device communicates."""
    device = facts.every_device_activity
    if device.of("communication").any():
        return work_intervals(device, "computation"), work_intervals(device, "communication")
    active = category_intervals(facts)
    return active["kernel" if device.of("kernel").any() else "cpu_exec"], active["communication"]


def match_collectives(parts: Sequence["pl.DataFrame"], *, least: int = 2) -> "pl.DataFrame":
    """Return the collectives in which at least ``least`` traces took part, given the `communication` of each.

    The n-th communication kernel of one type (collective, process group) within a step is the same collective in all
    traces; if kernels state a sequence number, those with the same number match. As in torch-tb-profiler, the time that
    the fastest rank needed is data transfer; the rest of a rank's time is waiting for others. Clocks of ranks need not
    agree. If ranks have different numbers of a collective in a step, those beyond the end of the shortest list are left
    out.

    Columns: step, number (int64), collective (text), trace (int64, index into ``parts``), slice, start_ns, duration_ns,
    transfer_ns, waiting_ns (int64), by step, collective, number and trace.
    """
    import polars as pl

    indexed = [part.with_columns(pl.lit(index, dtype=pl.Int64).alias("trace")) for index, part in enumerate(parts)]
    table = pl.concat(indexed) if indexed else _no_communication().with_columns(pl.lit(0, pl.Int64).alias("trace"))
    keys = ("step", "collective", "sequence", "number")
    transfer = pl.col("duration_ns").min().over(*keys)
    # Numbering continues across sequence numbers, each of which may have kernels of its own.
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
    """Return the communication kernels of a trace, in order of start; those of the host if no device communicates.

    On a host, one collective has several slices, nested or on another thread: c10d's operator ("c10d::allreduce_"), its
    record of the parameters, and the backend's work ("gloo:all_reduce"). Only the backend's count if there are any,
    else the records, else the operators, so that each collective counts once.

    Columns: step, number (int64, within the step, the type and the sequence number), collective (text), sequence
    (int64, -1 if not stated), slice, start_ns, duration_ns (int64), group (text, "" if not stated).
    """
    import polars as pl

    facts = facts_of(trace)
    device = facts.every_device_activity
    device = device.where(device.of("communication"))
    slices, launch = device.slice, device.launch
    if not len(slices):
        slices = _host_collectives(facts)
        launch = np.full(len(slices), -1, np.int64)
    starts = np.array([step.start_ns for step in facts.steps], np.int64)
    # A collective belongs to the step that launched it, where that is known.
    when = facts.trace.start_ns[np.where(launch >= 0, launch, slices)]
    place = np.searchsorted(starts, when, side="right") - 1
    slices, place = slices[place >= 0], place[place >= 0]
    if not len(slices):
        return _no_communication()
    stated = facts.distinct(slices, _COLLECTIVE, _GROUP)
    collectives, groups = stated.each(_collective_of), stated.each(_group_of)
    # Calls with the same name and equal arguments are of one sort.
    alike = distinct_rows(facts.trace.name_id[slices].astype(np.int64), stated.number)
    examples = zip(facts.names_of(slices[alike.first]), stated.number[alike.first].tolist(), strict=True)
    sorts = [_sort_of(name, collectives[number], groups[number]) for name, number in examples]
    (sequence,) = identifier_columns(facts.trace.arguments, slices, ("Seq",))
    keys = ("step", "collective", "sequence")
    return pl.DataFrame(
        {
            "step": np.array([step.number for step in facts.steps], np.int64)[place],
            "collective": pl.Series(sorts, dtype=pl.String)[alike.group],
            "sequence": np.maximum(sequence, -1),
            "slice": slices,
            "start_ns": facts.trace.start_ns[slices],
            "duration_ns": facts.trace.duration_ns[slices],
            "group": pl.Series(groups, dtype=pl.String)[stated.number],
        }
    ).select(*keys[:1], pl.int_range(pl.len(), dtype=pl.Int64).over(*keys).alias("number"), pl.exclude("step"))


def _host_collectives(facts: Facts) -> NDArray[np.int64]:
    """Return one host slice per collective, in order of start."""
    found = facts.slices("communication", on_device=False)
    for level in (_BACKEND, _RECORD):
        chosen = facts.named(found, level.match)
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
            "group": pl.String,
        }
    )


def _group_of(arguments: Mapping[str, Any]) -> str:
    group = arguments.get(_GROUP)
    return "" if group is None else str(group)


def _collective_of(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get(_COLLECTIVE) or "")


def _sort_of(name: str, stated: str, group: str) -> str:
    found = _KERNEL_OF.search(name)
    collective = stated or (found[1].lower() if found else name)
    return f"{collective} ({group})" if group else collective
