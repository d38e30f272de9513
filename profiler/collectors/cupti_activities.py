"""CUPTI's activity records as records of this package, with the names and arguments that Kineto gives them.

Attribute names and numbers are those of NVIDIA's ``cupti-python`` 12.6.0 and 13.4.0, which call the classes
``ActivityKernel9`` to ``ActivityKernel13``, ``ActivityMemcpy5`` to ``ActivityMemcpy7``, ``ActivityMemcpyPtoP4``,
``ActivityMemset4`` and ``5``, ``ActivitySynchronization`` and ``2``, and ``ActivityAPI``; all of them have the
attributes read here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from stepscope.profiler.collectors.base import ArgumentValue, Record, stream_lane
from stepscope.profiler.collectors.devices import host_lane, sync_lane

MEMCPY: Final = 1
MEMSET: Final = 2
KERNEL: Final = 3
DRIVER: Final = 4
RUNTIME: Final = 5
CONCURRENT_KERNEL: Final = 10
MEMCPY2: Final = 22
SYNCHRONIZATION: Final = 38
"""Members of ``ActivityKind``; `MEMCPY2` are copies from one device to another."""

CALLS: Final = (DRIVER, RUNTIME)

DRIVER_API: Final = 1
RUNTIME_API: Final = 2
"""Members of ``CallbackDomain``."""

_DIRECTIONS: Final = ("Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
"""Kineto's words, by ``ActivityMemcpyKind``; A is a CUDA array, P a peer."""
_MEMORIES: Final = (
    "Unknown",
    "Pageable",
    "Pinned",
    "Device",
    "Array",
    "Managed",
    "Device Static",
    "Managed Static",
)
"""Kineto's words, by ``ActivityMemoryKind``."""
_WAITS: Final = ("Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
"""Kineto's words, by ``ActivitySynchronizationType``."""
_API_VERSION: Final = re.compile(r"(_ptsz|_ptds)?_v[0-9]{4,5}$")
"""Suffix that CUPTI adds to the names of runtime functions, as in "cudaLaunchKernel_v7000"."""
_NO_STREAM: Final = 0xFFFF_FFFF


class Activity(NamedTuple):
    """The part of an activity record that is kept; the record itself would keep its whole buffer alive."""

    kind: int
    start: int
    """Nanoseconds on CUPTI's clock."""
    end: int
    correlation: int
    context: int
    """-1 for calls on the host."""
    device: int
    """-1 if the record does not state it."""
    place: int
    """The stream, or the thread on the host."""
    name: str
    """The mangled name of a kernel; for a copy or a memset, what it moved, in Kineto's words."""
    code: int
    """The number of the function that was called."""
    args: Mapping[str, ArgumentValue]


def kept(activity: Any) -> Activity | None:
    """Return the part of an activity record to keep; None for kinds that are not wanted.

    Raises:
        AttributeError: the record lacks the attributes of its kind.
    """
    kind = activity.kind
    if kind in (KERNEL, CONCURRENT_KERNEL):
        return _kernel(activity)
    if kind in (MEMCPY, MEMCPY2):
        return _memcpy(activity)
    if kind == MEMSET:
        name = f"Memset ({_word(_MEMORIES, activity.memory_kind)})"
        return _on_stream(activity, name, {"bytes": activity.bytes, **_bandwidth(activity)})
    if kind == SYNCHRONIZATION:
        return _wait(activity)
    return _call(activity) if kind in CALLS else None


def _on_stream(activity: Any, name: str, args: Mapping[str, ArgumentValue]) -> Activity:
    where = {"device": activity.device_id, "context": activity.context_id, "stream": activity.stream_id}
    if activity.graph_node_id:
        where |= {"graph id": activity.graph_id, "graph node id": activity.graph_node_id}
    return Activity(
        activity.kind,
        activity.start,
        activity.end,
        activity.correlation_id,
        activity.context_id,
        activity.device_id,
        activity.stream_id,
        name,
        0,
        {**where, **args},
    )


def _kernel(activity: Any) -> Activity:
    args = {
        "queued": activity.queued,
        "registers per thread": activity.registers_per_thread,
        "shared memory": activity.static_shared_memory + activity.dynamic_shared_memory,
        "grid": [activity.grid_x, activity.grid_y, activity.grid_z],
        "block": [activity.block_x, activity.block_y, activity.block_z],
    }
    return _on_stream(activity, activity.name or "unnamed kernel", args)


def _memcpy(activity: Any) -> Activity:
    source, target = _word(_MEMORIES, activity.src_kind), _word(_MEMORIES, activity.dst_kind)
    name = f"Memcpy {_word(_DIRECTIONS, activity.copy_kind)} ({source} -> {target})"
    args: dict[str, ArgumentValue] = {"bytes": activity.bytes, **_bandwidth(activity)}
    if activity.kind == MEMCPY2:
        args |= {"from device": activity.src_device_id, "to device": activity.dst_device_id}
    return _on_stream(activity, name, args)


def _wait(activity: Any) -> Activity:
    kind = _word(_WAITS, activity.type)
    stream = activity.stream_id
    args: dict[str, ArgumentValue] = {"cuda_sync_kind": kind, "context": activity.context_id, "stream": stream}
    if activity.type in (1, 2):
        args["cuda event"] = activity.cuda_event_id
    times = (activity.start, activity.end, activity.correlation_id)
    place = stream if 0 <= stream < _NO_STREAM else -1
    return Activity(activity.kind, *times, activity.context_id, -1, place, kind, 0, args)


def _call(activity: Any) -> Activity:
    args: dict[str, ArgumentValue] = {"cbid": activity.cbid}
    if activity.return_value:
        args["return value"] = activity.return_value
    times = (activity.start, activity.end, activity.correlation_id)
    return Activity(activity.kind, *times, -1, -1, activity.thread_id, "", activity.cbid, args)


def _bandwidth(activity: Any) -> Mapping[str, ArgumentValue]:
    duration = activity.end - activity.start
    return {"memory bandwidth (GB/s)": activity.bytes / duration} if duration > 0 else {}


def _word(words: Sequence[str], number: int) -> str:
    return words[number] if 0 <= number < len(words) else words[0]


class Moment(NamedTuple):
    """One moment on two clocks, in nanoseconds."""

    theirs: int
    ours: int


def wall_times(begin: Moment, end: Moment, wall_offset_ns: int) -> Callable[[int], int]:
    """Return a function that converts times of CUPTI's clock to wall times.

    The clocks are compared at the beginning and the end of the recording, so they may run at different speeds. The
    result never decreases, so nesting is preserved.
    """
    theirs, ours = end.theirs - begin.theirs, end.ours - begin.ours
    if theirs <= 0:
        theirs = ours = 1
    return lambda time: begin.ours + (time - begin.theirs) * ours // theirs + wall_offset_ns


@dataclass(frozen=True)
class Names:
    """The meaning of numbers and mangled names."""

    function: Callable[[int, int], str]
    """Domain and number of a function -> CUPTI's name for it."""
    demangled: Callable[[str], str] = str
    threads: Mapping[int, str] = field(default_factory=dict)
    processors: Mapping[int, int] = field(default_factory=dict)
    """Number of multiprocessors, by device."""


class CuptiRecords(NamedTuple):
    """Activities, converted."""

    records: list[Record]
    without_times: int
    """Number of activities for which CUPTI could not tell when they ran, or that had not ended."""


def records_of_activities(
    activities: Iterable[Activity], names: Names, wall: Callable[[int], int], *, until: int
) -> CuptiRecords:
    """Return activities as records, calls on the host first.

    Args:
        activities: as returned by `kept`.
        names: their names.
        wall: converts their times to wall times.
        until: calls made later, on CUPTI's clock, are left out: they belong to the end of the recording.
    """
    activities = list(activities)
    timed = [activity for activity in activities if 0 < activity.start <= activity.end]
    device_of = {activity.context: activity.device for activity in timed if activity.device >= 0}
    known: dict[tuple[int, int], str] = {}
    records = []
    for activity in timed:
        if activity.kind in (*CALLS, SYNCHRONIZATION) and activity.start > until:
            continue
        key = activity.kind, activity.code
        if activity.kind in CALLS and key not in known:
            known[key] = _function_name(*key, names)
        start = wall(activity.start)
        span = start, wall(activity.end) - start
        records.append(_record(activity, span, known.get(key, ""), names, device_of))
    on_host = [record for record in records if record.category in ("cuda_runtime", "cuda_driver")]
    on_device = [record for record in records if record.category not in ("cuda_runtime", "cuda_driver")]
    on_device.sort(key=lambda record: (record.lane.device.partition("/stream:")[0], record.lane.thread_id))
    return CuptiRecords(on_host + on_device, len(activities) - len(timed))


def _record(
    activity: Activity, span: tuple[int, int], function: str, names: Names, device_of: Mapping[int, int]
) -> Record:
    correlation, args = activity.correlation, activity.args
    if activity.kind in CALLS:
        category = "cuda_runtime" if activity.kind == RUNTIME else "cuda_driver"
        return Record(function, category, host_lane(activity.place, names.threads), *span, correlation, args)
    if activity.kind == SYNCHRONIZATION:
        # If nothing ran in its context, its device is unknown; programs on most machines use the first one.
        device = device_of.get(activity.context, 0)
        lane = sync_lane(device, activity.place)
        return Record(activity.name, "cuda_sync", lane, *span, correlation, {**args, "device": device})
    lane = stream_lane(activity.device, activity.place)
    if activity.kind in (KERNEL, CONCURRENT_KERNEL):
        args = {**args, **dict(_load(activity, names.processors))}
        return Record(names.demangled(activity.name), "kernel", lane, *span, correlation, args)
    category = "gpu_memset" if activity.kind == MEMSET else "gpu_memcpy"
    return Record(activity.name, category, lane, *span, correlation, args)


def _load(activity: Activity, processors: Mapping[int, int]) -> Iterator[tuple[str, float]]:
    """Yield blocks and warps per multiprocessor, as Kineto computes them."""
    number = processors.get(activity.device, 0)
    grid, block = activity.args["grid"], activity.args["block"]
    if number and isinstance(grid, list) and isinstance(block, list):
        blocks = _product(grid) / number
        yield "blocks per SM", blocks
        yield "warps per SM", blocks * _product(block) / 32


def _product(sizes: Iterable[Any]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _function_name(kind: int, code: int, names: Names) -> str:
    domain = RUNTIME_API if kind == RUNTIME else DRIVER_API
    return _API_VERSION.sub("", names.function(domain, code)) or f"function {code}"
