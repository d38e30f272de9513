"""How a device spends its time: busy or idle, by kind of work, and communication hidden by computation."""

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Device, Facts, Scope, facts_of, share
from stepscope.profiler.analysis.intervals import Intervals, union
from stepscope.profiler.analysis.reasons import NO_DEVICE
from stepscope.profiler.analysis.records import DEVICE, Analysis, Column
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

WORK: Final = ("computation", "communication", "memory")
"""Kinds of device work; "memory" is copies and memsets."""


def work_intervals(device: Device, work: str) -> Intervals:
    """Return when a kind of work ran, merged over streams.

    Raises:
        ValueError: ``work`` is none of `WORK`.
    """
    match work:
        case "computation":
            chosen = device.of("kernel")
        case "communication":
            chosen = device.of("communication")
        case "memory":
            chosen = device.of("memcpy", "memset")
        case _:
            raise ValueError(f"{work!r} is not a kind of device work. Expected one of {', '.join(WORK)}.")
    return union(device.start[chosen], device.end[chosen])


def device_numbers(device: Device) -> list[int]:
    """Return the devices on which something ran."""
    return sorted(set(device.device.tolist()))


def temporal_breakdown(
    trace: Trace | Facts, *, scope: Scope = "complete", waits_are_work: bool = False
) -> "pl.DataFrame":
    """Return idle, computing and other time of each device.

    Like HolisticTraceAnalysis' ``get_temporal_breakdown``, per device: the span runs from the first activity's start to
    the last one's end; busy is the union of all activities, computing the union of kernels other than communication;
    idle = span - busy; non-compute = busy - computing.

    Device-side synchronization is not work. HolisticTraceAnalysis counts synchronization on streams as busy, and
    "Stream Wait Event", which it takes for a kernel, as computing; with ``waits_are_work``, this function does too.
    Synchronization on no stream (-1), namely waits for whole devices and threads' waits for events, counts for neither.

    Columns: device, span_ns, busy_ns, idle_ns, compute_ns, non_compute_ns (int64), idle_percent, compute_percent,
    non_compute_percent (float64, of the span).
    """
    import polars as pl

    facts = facts_of(trace)
    every = facts.device(scope)
    waits = every.of("synchronization")
    if waits_are_work:
        event_waits = facts.named(every.slice, "Stream Wait Event".__eq__)
        every = every._replace(kind=np.where(waits & event_waits, KINDS.index("kernel"), every.kind).astype(np.int8))
        every = every.where(~waits | (every.stream >= 0))
    else:
        every = every.where(~waits)
    rows = []
    for number in device_numbers(every):
        device = every.where(every.device == number)
        busy = union(device.start, device.end).length
        span = int(device.end.max() - device.start.min())
        compute = work_intervals(device, "computation").length
        parts = {"idle": span - busy, "compute": compute, "non_compute": busy - compute}
        row: dict[str, float] = {"device": number, "span_ns": span, "busy_ns": busy}
        row |= {f"{part}_ns": value for part, value in parts.items()}
        row |= {f"{part}_percent": 100 * share(value, span) for part, value in parts.items()}
        rows.append(row)
    schema: dict[str, type[pl.DataType]] = {"device": pl.Int64, "span_ns": pl.Int64, "busy_ns": pl.Int64}
    schema |= {f"{part}_ns": pl.Int64 for part in ("idle", "compute", "non_compute")}
    schema |= {f"{part}_percent": pl.Float64 for part in ("idle", "compute", "non_compute")}
    return pl.DataFrame(rows, schema=schema)


def work_breakdown(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return the busy time of each device by which kinds of work ran at the same time.

    Like the first table of HolisticTraceAnalysis' ``get_gpu_kernel_breakdown`` with memory kernels: each instant
    belongs to the set of kinds that are running, such as "computation + communication".

    Columns: device (int64), work (text), duration_ns (int64), percent (float64, of the sum).
    """
    import polars as pl

    every = facts_of(trace).device(scope)
    rows = []
    for number in device_numbers(every):
        device = every.where(every.device == number)
        running = [work_intervals(device, work) for work in WORK]
        rows += [
            {"device": number, "work": name, "duration_ns": length}
            for name, length in _exclusive(running).items()
            if length
        ]
    frame = pl.DataFrame(rows, schema={"device": pl.Int64, "work": pl.String, "duration_ns": pl.Int64})
    percent = 100 * pl.col("duration_ns") / pl.col("duration_ns").sum().over("device")
    shares = frame.with_columns(percent.alias("percent"))
    return shares.sort("device", "duration_ns", descending=[False, True], maintain_order=True)


def _exclusive(running: list[Intervals]) -> dict[str, int]:
    """Return the time in which exactly the kinds of each combination run, from one pass over all boundaries."""
    times = np.concatenate([part for each in running for part in (each.start, each.end)])
    signs = (1, -1)
    change = np.concatenate(
        [np.full(len(each.start), sign << bit) for bit, each in enumerate(running) for sign in signs]
    ).astype(np.int64)
    order = np.argsort(times, kind="stable")
    # Each kind's intervals are disjoint, so the sum has one bit per kind between distinct times.
    combination = np.cumsum(change[order])[:-1]
    lengths = np.diff(times[order])
    held = lengths > 0
    sums = np.zeros(1 << len(running), np.int64)
    np.add.at(sums, combination[held], lengths[held])
    return {
        " + ".join(work for bit, work in enumerate(WORK) if code >> bit & 1): int(sums[code])
        for code in range(1, len(sums))
    }


def communication_overlap(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return how much of the communication is hidden by computation, per device.

    ``|communication and computation| / |communication|``, both merged over streams, as in HolisticTraceAnalysis'
    ``get_comm_comp_overlap``. Without communication, the share is null.

    Columns: device, communication_ns, computation_ns, overlap_ns (int64), overlap_percent (float64 or null).
    """
    import polars as pl

    every = facts_of(trace).device(scope)
    rows = []
    for number in device_numbers(every):
        device = every.where(every.device == number)
        communication = work_intervals(device, "communication")
        computation = work_intervals(device, "computation")
        overlap = (communication & computation).length
        rows.append(
            {
                "device": number,
                "communication_ns": communication.length,
                "computation_ns": computation.length,
                "overlap_ns": overlap,
                "overlap_percent": 100 * overlap / communication.length if communication.length else None,
            }
        )
    columns = ("device", "communication_ns", "computation_ns", "overlap_ns")
    return pl.DataFrame(rows, schema={**dict.fromkeys(columns, pl.Int64), "overlap_percent": pl.Float64})


def gpu_utilization(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the utilization, SM efficiency and occupancy of each device over the steps.

    Like torch-tb-profiler's ``GPUMetricsParser``, over the time from the first step's start to the last one's end (with
    the bounds of `stepscope.profiler.analysis.steps`): utilization is the share of time in which a kernel runs;
    estimated SM efficiency is the mean of min(sum of the running kernels' blocks per SM, 1), zero while none runs;
    occupancy is the mean of the kernels' estimated achieved occupancy, weighted by their time inside the steps.

    Columns: device (int64), utilization_percent, sm_efficiency_percent, occupancy_percent (float64, null if the trace
    does not provide what is needed).
    """
    import polars as pl

    from stepscope.profiler.analysis.steps import step_windows

    facts = facts_of(trace)
    every = facts.every_device_activity
    kernels = every.where(every.of("kernel", "communication"))
    starts, ends, _ = step_windows(facts)
    rows = []
    for number in device_numbers(kernels) if len(starts) else []:
        device = kernels.where(kernels.device == number)
        begin, end = int(starts[0]), int(ends[-1])
        busy = union(device.start, device.end).lengths_within(np.array([begin]), np.array([end]))[0]
        rows.append(
            {
                "device": number,
                "utilization_percent": 100 * share(float(busy), end - begin),
                "sm_efficiency_percent": _sm_efficiency(device, begin, end),
                "occupancy_percent": _occupancy(device, begin, end),
            }
        )
    columns = ("utilization_percent", "sm_efficiency_percent", "occupancy_percent")
    return pl.DataFrame(rows, schema={"device": pl.Int64, **dict.fromkeys(columns, pl.Float64)})


def _sm_efficiency(device: Device, begin: int, end: int) -> float | None:
    from stepscope.profiler.analysis.intervals import sum_over_time

    blocks = device.number("blocks per SM")
    known = blocks > 0
    if not known.any() or end <= begin:
        return None
    # Only a few numbers are summed at a time, so cancellation leaves no residue worth a thousandth.
    times, values = sum_over_time(device.start[known], device.end[known], blocks[known])
    lengths = np.diff(np.clip(times, begin, end))
    running = np.where(values[:-1] > 1e-9, np.minimum(values[:-1], 1.0), 0.0)
    return float(100 * (running * lengths).sum() / (end - begin))


def _occupancy(device: Device, begin: int, end: int) -> float | None:
    occupancy = device.number("est. achieved occupancy %")
    inside = np.minimum(device.end, end) - np.maximum(device.start, begin)
    counted = (inside > 0) & (occupancy >= 0)
    if not counted.any():
        return None
    return float(np.average(occupancy[counted], weights=inside[counted]))


UTILIZATION: Final = Analysis(
    "utilization",
    "utilization, SM efficiency and occupancy",
    gpu_utilization,
    (
        DEVICE,
        Column("utilization_percent", "share of the steps' time in which a kernel runs"),
        Column(
            "sm_efficiency_percent",
            "share of multiprocessors in use over the steps' time, estimated from blocks",
        ),
        Column("occupancy_percent", "estimated achieved occupancy: mean, weighted by duration"),
    ),
    title="Utilization",
    description="Over the time from the first step's start to the last one's end.",
    empty=NO_DEVICE,
)
"""Utilization, SM efficiency and occupancy."""
TEMPORAL: Final = Analysis(
    "temporal",
    "busy, idle and computing time of devices",
    temporal_breakdown,
    (
        DEVICE,
        Column("span_ns", "from the device's first activity to its last"),
        Column("busy_ns", "time of the span in which something ran"),
        Column("idle_ns", "time of the span in which nothing ran"),
        Column("compute_ns", "time of the span in which kernels other than communication ran"),
        Column("non_compute_ns", "time of the span in which only something else ran"),
        Column("idle_percent", "share of the span in which nothing ran"),
        Column("compute_percent", "share of the span in which kernels other than communication ran"),
        Column("non_compute_percent", "share of the span in which only something else ran"),
    ),
    title="Busy and idle",
    description="A device's time from its first activity to its last.",
    empty=NO_DEVICE,
)
"""Busy, idle and computing time of devices."""
WORK_AT_ONCE: Final = Analysis(
    "work",
    "busy time by the kinds of work that ran at the same time",
    work_breakdown,
    (
        DEVICE,
        Column("work", "the kinds of work that ran together", "word"),
        Column("duration_ns", "time in which exactly these ran"),
        Column("percent", "share of the device's busy time"),
    ),
    title="What ran at the same time",
    description="Busy time by the kinds of work that ran together.",
    empty=NO_DEVICE,
)
"""Busy time by which kinds of work ran at the same time."""
OVERLAP: Final = Analysis(
    "overlap",
    "communication overlapped with computation",
    communication_overlap,
    (
        DEVICE,
        Column("communication_ns", "time in which communication ran"),
        Column("computation_ns", "time in which computation ran"),
        Column("overlap_ns", "time in which both ran"),
        Column("overlap_percent", "share of the communication overlapped with computation"),
    ),
    title="Communication overlapped with computation",
    description="How much of the communication was hidden.",
    empty=NO_DEVICE,
)
"""Communication overlapped with computation."""
