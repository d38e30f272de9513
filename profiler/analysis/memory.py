"""Memory over time, its peak, and what was alive at the peak.

There are three kinds of evidence, in this order for each device:

- Kineto's ``[memory]`` events: signed "Bytes" with "Addr", "Device Type" and "Device Id"; without "Addr", as in 2021, a
  free belongs to the latest allocation of its size, which is a guess;
- StepStats' output tensors: alive from the start of the operation that makes one to the end of the last that uses it,
  as in TensorFlow's ``Timeline`` (arrows lead to the users), on the device of the operation that makes it;
- counters of the trace whose name says memory or bytes, except for memory that is only reserved or available, and those
  with another unit, such as "memory clock (MHz)"; their peak is known, but not what was alive.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.arguments import NO_SIZE, identifier_columns, number_columns
from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Facts, facts_of, text_column
from stepscope.profiler.analysis.operators import key_texts
from stepscope.profiler.analysis.reasons import NO_MEMORY
from stepscope.profiler.analysis.records import SLICE, START, Analysis, Column
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.chrome_counters import DEVICE_TYPES
from stepscope.summary.distinct import distinct_rows, distinct_values
from stepscope.summary.kernels import kernel

if TYPE_CHECKING:
    import polars as pl

_MEMORY_EVENT: Final = "[memory]"
_MEMORY_COUNTER: Final = re.compile(r"memory|bytes|rss|allocat", re.I)
_OTHER_UNIT: Final = re.compile(r"\((?!bytes\))[^()\d\s]+\)$")
_NOT_IN_USE: Final = re.compile(r"available|reserved|free|limit|fragment|peak", re.I)
NEVER: Final = np.iinfo(np.int64).max
"""End of allocations that the trace does not show freed."""


class Allocations(NamedTuple):
    """Allocations, as parallel columns; ``end`` is `NEVER` if not freed in the trace."""

    devices: tuple[str, ...]
    device: NDArray[np.int64]
    """Indices into ``devices``."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    bytes: NDArray[np.int64]
    maker: NDArray[np.int64]
    """Slice of the operator that allocated it, or -1."""


def allocations(trace: Trace | Facts) -> Allocations:
    """Return allocations with their lifetimes, from ``[memory]`` events with addresses or from output tensors.

    A free without a preceding allocation in the trace belongs to something older: it counts in `memory_timeline`, and
    is not an allocation here.
    """
    return facts_of(trace).once(_allocations)


def _allocations(facts: Facts) -> Allocations:
    events = facts.once(_memory_events)
    return _paired(facts, events) if len(events.slice) else _tensors(facts)


class _Events(NamedTuple):
    slice: NDArray[np.int64]
    devices: tuple[str, ...]
    device: NDArray[np.int64]
    """Indices into ``devices``."""
    bytes: NDArray[np.int64]
    address: NDArray[np.int64]
    allocated: NDArray[np.float64]
    reserved: NDArray[np.float64]


def _memory_events(facts: Facts) -> _Events:
    """Return ``[memory]`` events in order of time."""
    trace = facts.trace
    named = [index for index, name in enumerate(trace.names) if name == _MEMORY_EVENT]
    slices = np.flatnonzero(np.isin(trace.name_id, named))
    slices = slices[np.argsort(trace.start_ns[slices], kind="stable")]
    size, allocated, reserved = number_columns(trace.arguments, slices, ("Bytes", "Total Allocated", "Total Reserved"))
    known = np.abs(size) < NO_SIZE
    kind, number, address = identifier_columns(trace.arguments, slices, ("Device Type", "Device Id", "Addr"))
    different = distinct_rows(kind, number)
    devices = tuple(
        DEVICE_TYPES.get(k, f"device of type {k}") + (f" {n}" if n >= 0 else "")
        for k, n in zip(kind[different.first].tolist(), number[different.first].tolist(), strict=True)
    )
    return _Events(
        slices[known],
        devices,
        different.group[known],
        size[known].astype(np.int64),
        address[known],
        allocated[known],
        reserved[known],
    )


def _paired(facts: Facts, events: _Events) -> Allocations:
    """Return each allocation with the next free at its address.

    Traces of 2021 have no addresses; there, it is the next free of its size.
    """
    start = facts.trace.start_ns[events.slice]
    made = events.bytes > 0
    place = distinct_rows(events.device, np.where(events.address >= 0, events.address, -np.abs(events.bytes))).group
    freed_by = _freed_by(place, np.argsort(place, kind="stable"), made)
    end = np.where(freed_by >= 0, start[freed_by], NEVER)
    operator = np.isin(facts.kinds, [KINDS.index("operator"), KINDS.index("communication")])
    maker = facts.nearest(operator)[events.slice] if len(facts.trace) else events.slice
    return Allocations(events.devices, events.device[made], start[made], end[made], events.bytes[made], maker[made])


@kernel()
def _freed_by(place: NDArray[np.int64], order: NDArray[np.int64], made: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the event that frees each allocation, or -1: a free at a place frees the latest one not freed yet.

    ``order`` has the events place by place, each in order of time.
    """
    freed_by = np.full(place.size, -1, np.int64)
    waiting = np.empty(place.size, np.int64)
    count = 0
    here = -1
    for index in order:
        if place[index] != here:
            here = place[index]
            count = 0
        if made[index]:
            waiting[count] = index
            count += 1
        elif count > 0:
            count -= 1
            freed_by[waiting[count]] = index
    return freed_by


def _tensors(facts: Facts) -> Allocations:
    """Return output tensors of StepStats."""
    slices = facts.slices("operator", "communication", "data_loading", on_device=False)
    (size,) = number_columns(facts.trace.arguments, slices, ("output bytes",))
    size = np.where(size < NO_SIZE, size, 0)
    made = slices[size > 0]
    last_use = facts.end_ns.copy()
    flows = facts.trace.flows
    np.maximum.at(last_use, flows.source, facts.end_ns[flows.target])
    devices = tuple(dict.fromkeys(lane.process for lane in facts.trace.lanes))
    of_lane = np.array([devices.index(lane.process) for lane in facts.trace.lanes] or [0], np.int64)
    device = of_lane[facts.trace.lane[made]]
    return Allocations(
        devices, device, facts.trace.start_ns[made], last_use[made], size[size > 0].astype(np.int64), made
    )


def memory_timeline(trace: Trace | Facts) -> "pl.DataFrame":
    """Return bytes allocated over time, per device.

    With ``[memory]`` events, this is the tracer's own "Total Allocated" if present, else the running sum of "Bytes",
    which is relative to what was allocated when the trace began. Each row is a change.

    Columns: device (text), time_ns, bytes (int64), reserved_bytes (int64 or null), in order of device and time.
    """
    import polars as pl

    facts = facts_of(trace)
    events = facts.once(_memory_events)
    if len(events.slice):
        frame = _events_frame(facts, events)
    else:
        frame = _changes_frame(allocations(facts))
        if frame.is_empty():
            frame = _counters_frame(facts.trace)
    # Numbers beyond 64 bits are not sizes.
    sizes = frame.cast({"bytes": pl.Int64, "reserved_bytes": pl.Int64}, strict=False)
    return sizes.drop_nulls("bytes").sort("device", "time_ns", maintain_order=True)


def _events_frame(facts: Facts, events: _Events) -> "pl.DataFrame":
    import polars as pl

    running = pl.col("change").cum_sum().over("device")
    return pl.DataFrame(
        {
            "device": _names(events),
            "time_ns": facts.trace.start_ns[events.slice],
            "change": events.bytes,
            "total": pl.Series(events.allocated).fill_nan(None),
            "reserved_bytes": pl.Series(events.reserved).fill_nan(None),
        }
    ).select("device", "time_ns", pl.coalesce("total", running).alias("bytes"), "reserved_bytes")


def _changes_frame(made: Allocations) -> "pl.DataFrame":
    import polars as pl

    freed = made.end != NEVER
    # At equal times, frees come before allocations, as in TensorFlow's Timeline.
    return (
        pl.DataFrame(
            {
                "device": pl.concat([_names(made), _names(made).filter(freed)]),
                "time_ns": np.concatenate([made.start, made.end[freed]]),
                "change": np.concatenate([made.bytes, -made.bytes[freed]]),
            }
        )
        .sort("device", "time_ns", "change", maintain_order=True)
        .select(
            "device",
            "time_ns",
            pl.col("change").cum_sum().over("device").alias("bytes"),
            pl.lit(None, dtype=pl.Int64).alias("reserved_bytes"),
        )
    )


def _counters_frame(trace: Trace) -> "pl.DataFrame":
    import polars as pl

    schema = {"device": pl.String, "time_ns": pl.Int64, "bytes": pl.Float64, "reserved_bytes": pl.Int64}
    parts = [
        pl.DataFrame({"time_ns": counter.times_ns, "bytes": np.nan_to_num(counter.values)}).select(
            pl.lit(f"{counter.process} {counter.name} {counter.series}".strip()).alias("device"),
            pl.col("time_ns").cast(pl.Int64),
            pl.col("bytes").cast(pl.Float64),
            pl.lit(None, dtype=pl.Int64).alias("reserved_bytes"),
        )
        for counter in trace.counters
        if _MEMORY_COUNTER.search(f"{counter.name} {counter.series}")
        and not _OTHER_UNIT.search(counter.name)
        and not _NOT_IN_USE.search(counter.series)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def memory_peaks(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the peak of each device.

    Columns: device (text), time_ns, peak_bytes, first_bytes, last_bytes (int64).
    """
    import polars as pl

    timeline = memory_timeline(trace)
    value = pl.col("bytes")
    return timeline.group_by("device", maintain_order=True).agg(
        pl.col("time_ns").get(value.arg_max()).alias("time_ns"),
        value.max().alias("peak_bytes"),
        value.first().alias("first_bytes"),
        value.last().alias("last_bytes"),
    )


def alive_at_peak(trace: Trace | Facts) -> "pl.DataFrame":
    """Return what was alive when each device's memory was at its peak, largest first.

    Covers only what was allocated during the trace; the rest of the peak is older than the trace.

    Columns: device, operator (text, of the maker, "" if unknown), bytes, start_ns (int64), end_ns (int64 or null for
    never), slice (int64 of the maker, or -1).
    """
    import polars as pl

    facts = facts_of(trace)
    made = allocations(facts)
    alive = np.flatnonzero(_at_peak(facts, made))
    makers = made.maker[alive]
    frame = pl.DataFrame(
        {
            "device": _names(made)[alive],
            "operator": facts.name_column(makers),
            "bytes": made.bytes[alive],
            "start_ns": made.start[alive],
            "end_ns": made.end[alive],
            "slice": makers,
        }
    )
    freed = pl.when(pl.col("end_ns") != NEVER).then(pl.col("end_ns"))
    return frame.with_columns(freed.alias("end_ns")).sort(
        "device", "bytes", descending=[False, True], maintain_order=True
    )


def memory_by_operator(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the bytes that operators allocated directly, per device, largest first.

    Columns: device, operator (text), allocations, bytes, largest_bytes, kept_bytes (int64): those still alive when the
    trace ends.
    """
    import polars as pl

    facts = facts_of(trace)
    made = allocations(facts)
    frame = pl.DataFrame(
        {
            "device": _names(made),
            "operator": facts.name_column(made.maker),
            "size": made.bytes,
            "kept": made.end == NEVER,
        }
    )
    size = pl.col("size")
    return (
        frame.group_by("device", "operator", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("allocations"),
            size.sum().alias("bytes"),
            size.max().alias("largest_bytes"),
            size.filter(pl.col("kept")).sum().alias("kept_bytes"),
        )
        .sort("device", "bytes", descending=[False, True], maintain_order=True)
    )


def memory_by_module(trace: Trace | Facts) -> "pl.DataFrame":
    """Return bytes allocated by the operators of each module (layer), per device, largest at the peak first.

    Modules are those of the operators that allocated (see `stepscope.profiler.analysis.operators`); operators of the
    backward pass are in none. Empty if no operator is known to be in a module.

    Columns: device, module (text, "" for none), allocations, bytes, peak_bytes, kept_bytes (int64): of all bytes those
    alive at the peak of the device, and those still alive when the trace ends.
    """
    import polars as pl

    facts = facts_of(trace)
    made = allocations(facts)
    makers = distinct_values(made.maker[made.maker >= 0])
    names = pl.concat([key_texts(facts, makers, "module"), pl.Series([""])])
    modules = names[np.where(made.maker >= 0, np.searchsorted(makers, made.maker), len(makers))]
    frame = pl.DataFrame(
        {
            "device": _names(made),
            "module": modules,
            "size": made.bytes,
            "at_peak": _at_peak(facts, made),
            "kept": made.end == NEVER,
        }
    )
    if not (modules != "").any():
        frame = frame.clear()
    size = pl.col("size")
    return (
        frame.group_by("device", "module", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("allocations"),
            size.sum().alias("bytes"),
            size.filter(pl.col("at_peak")).sum().alias("peak_bytes"),
            size.filter(pl.col("kept")).sum().alias("kept_bytes"),
        )
        .sort("device", "peak_bytes", "bytes", descending=[False, True, True], maintain_order=True)
    )


def _names(found: Allocations | _Events) -> "pl.Series":
    """Return the device name of each."""
    return text_column(found.device, found.devices.__getitem__)


def _at_peak(facts: Facts, made: Allocations) -> NDArray[np.bool_]:
    """Return which allocations were alive when their device's memory was at its peak."""
    peaks = memory_peaks(facts)
    peak = dict(zip(peaks["device"].to_list(), peaks["time_ns"].to_list(), strict=True))
    when = np.array([peak.get(device, NEVER) for device in made.devices], np.int64)[made.device]
    alive: NDArray[np.bool_] = (made.start <= when) & (made.end > when) & (when != NEVER)
    return alive


_DEVICE: Final = Column("device", "the device or the host, as named in the trace", "label")
MEMORY: Final = Analysis(
    "memory",
    "peaks of memory",
    memory_peaks,
    (
        _DEVICE,
        Column("time_ns", "time since the beginning of the trace, as on the Timeline", "moment"),
        Column("peak_bytes", "bytes allocated at the peak"),
        Column("first_bytes", "bytes allocated at the beginning"),
        Column("last_bytes", "bytes allocated at the end"),
    ),
    title="Peaks",
    description="Maximum memory of each device.",
    empty=NO_MEMORY,
)
"""Peaks of memory."""
MEMORY_TIMELINE: Final = Analysis(
    "memory_timeline",
    "memory over time",
    memory_timeline,
    (
        _DEVICE,
        Column("time_ns", "time since the beginning of the trace, as on the Timeline", "moment"),
        Column("bytes", "bytes allocated from then on"),
        Column("reserved_bytes", "bytes that the allocator holds, if the trace records it"),
    ),
    title="Memory over time",
    empty=NO_MEMORY,
)
"""Memory over time."""
MEMORY_AT_PEAK: Final = Analysis(
    "memory_at_peak",
    "allocations alive at the peak",
    alive_at_peak,
    (
        _DEVICE,
        Column("operator", "the operator that allocated it; empty if unknown"),
        Column("bytes", "size of the allocation"),
        START,
        Column(
            "end_ns", "time since the beginning of the trace; empty if the trace does not show it being freed", "moment"
        ),
        SLICE,
    ),
    title="Alive at the peak",
    description="Allocations made during the trace; the rest of the peak was allocated earlier.",
    empty="The trace does not list individual allocations. " + NO_MEMORY,
)
"""What was alive at the peak."""
MEMORY_BY_MODULE: Final = Analysis(
    "memory_by_module",
    "bytes that modules allocated, and that were alive at the peak",
    memory_by_module,
    (
        _DEVICE,
        Column("module", "the module (layer); empty if none"),
        Column("allocations", "number of allocations", adds_up=True),
        Column("bytes", "sum of their bytes", adds_up=True),
        Column("peak_bytes", "bytes alive when the device's memory was at its peak", adds_up=True),
        Column("kept_bytes", "bytes still alive when the trace ends", adds_up=True),
    ),
    title="By module",
    description="Bytes that the operators of each module (layer) allocated, and those of them alive at the peak.",
    empty="The trace does not say which modules allocate: record with with_stack=True or with_modules=True.",
)
"""Bytes by module."""
MEMORY_BY_OPERATOR: Final = Analysis(
    "memory_by_operator",
    "bytes that operators allocated",
    memory_by_operator,
    (
        _DEVICE,
        Column("operator", "the operator; empty if unknown"),
        Column("allocations", "number of allocations", adds_up=True),
        Column("bytes", "sum of their bytes", adds_up=True),
        Column("largest_bytes", "the largest allocation"),
        Column("kept_bytes", "bytes still alive when the trace ends", adds_up=True),
    ),
    title="By operator",
    description="Bytes that operators allocated themselves.",
    empty="The trace does not list individual allocations. " + NO_MEMORY,
)
"""Bytes by operator."""
