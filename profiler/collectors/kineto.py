"""Exports of PyTorch's profiler (Kineto), which are Chrome traces, as records.

The format is defined by Kineto's ``output_json.cpp``: slices with the category of their activity, the device as process
and the stream as thread, arguments by name, and times in microseconds with three decimals since
``baseTimeNanoseconds``. It is read here and not by `stepscope.profiler.traces`, whose compiled loops a training process
need not load.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from stepscope.profiler.collectors.base import HOST_DEVICE, Arrow, CounterSeries, Lane, Record, stream_lane
from stepscope.profiler.collectors.devices import OVERHEAD_LANE, host_lane, sync_lane

MEMORY_EVENT: Final = "[memory]"
"""Kineto's name of an allocation or a release."""
STEP_MARK: Final = "ProfilerStep#"
_ON_DEVICE: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_event"})
_FORWARD_BACKWARD: Final = "fwdbwd"
_GPU_TYPES: Final = frozenset({1, 6, 20})
"""``DeviceType`` of CUDA, HIP, and what HIP was masked as."""
_OF_THE_FILE: Final = frozenset({"traceEvents", "baseTimeNanoseconds", "displayTimeUnit", "traceName"})
"""Top-level entries that concern only the exported file."""
_NO_NUMBER: Final = re.compile(rb"(?<=[:,\[ ])[-+]?(?:inf(?:inity)?|nan)(?=\s*[,}\]])", re.IGNORECASE)

_CONTROL_CHARACTERS: Final = dict.fromkeys(range(32), " ")
_FUNCTION: Final = "python_function"

Points: TypeAlias = dict[tuple[str, str, str], list[tuple[int, float]]]
"""Times and values by device, counter and series."""


class Event(msgspec.Struct, gc=False):
    """One event of the trace."""

    ph: str
    name: str = ""
    cat: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: Decimal = Decimal()
    dur: Decimal = Decimal()
    id: int | str = ""
    args: Any = None


@dataclass(frozen=True)
class KinetoTrace:
    """An exported trace, parsed."""

    events: Sequence[Event]
    base_ns: int
    """Wall time of the trace's time 0, on Kineto's clock."""
    metadata: Mapping[str, Any]

    def time_ns(self, event: Event) -> int:
        """Return when an event began, on Kineto's clock."""
        return self.base_ns + _nanoseconds(event.ts)


@dataclass(frozen=True)
class KinetoRecords:
    """An exported trace, converted."""

    records: Sequence[Record]
    counters: Sequence[CounterSeries]
    arrows: Sequence[Arrow]
    """From operators of the forward pass to those of the backward pass."""


def parse_kineto(data: bytes) -> KinetoTrace:
    """Parse an exported trace; times keep all their digits.

    Raises:
        msgspec.DecodeError: the data is not a Chrome trace in the object form.
    """
    try:
        return _parsed(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Kineto writes inf as the bandwidth of copies that took no time, and for the names of frames that are gone,
        # whatever memory holds in their place. Neither is JSON.
        text = _NO_NUMBER.sub(b"null", data).decode(errors="replace")
        return _parsed(text.translate(_CONTROL_CHARACTERS).encode())


def _parsed(data: bytes) -> KinetoTrace:
    top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    return KinetoTrace(
        events=msgspec.json.decode(top.get("traceEvents", msgspec.Raw(b"[]")), type=list[Event]),
        base_ns=msgspec.json.decode(top.get("baseTimeNanoseconds", msgspec.Raw(b"0")), type=int),
        metadata={key: msgspec.json.decode(value) for key, value in top.items() if key not in _OF_THE_FILE},
    )


def marks_of(trace: KinetoTrace, name: str) -> list[tuple[int, int]]:
    """Return the start and end of the scopes with a name, on Kineto's clock, in order of time."""
    return sorted(
        (trace.time_ns(event), trace.time_ns(event) + _nanoseconds(event.dur))
        for event in trace.events
        if event.name == name and event.ph == "X" and event.cat == "user_annotation"
    )


def clock_offset(marks: Sequence[tuple[int, int]], readings: Sequence[tuple[int, int]]) -> int:
    """Return the offset to add to the times of Kineto's clock.

    Kineto converts the processor's counter to wall time by its own comparison of clocks, which is off by some
    microseconds. Each mark lies between the readings of our clock before and after it, which bounds the offset from
    both sides; the result is the middle of the bounds left by all marks, or 0 without marks.

    Args:
        marks: start and end, on Kineto's clock.
        readings: readings of our clock, before and after each mark.
    """
    least = max((before - start for (start, _), (before, _) in zip(marks, readings, strict=True)), default=0)
    most = min((after - end for (_, end), (_, after) in zip(marks, readings, strict=True)), default=0)
    return (least + most) // 2


def records_of_kineto(
    trace: KinetoTrace,
    *,
    host_pid: int,
    offset_ns: int = 0,
    names: Mapping[int, str] | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> KinetoRecords:
    """Return the slices of a trace as records, allocations also as counters, and the arrows of the backward pass.

    Launches and what they started share a correlation, so the arrows between them are not returned separately.

    Args:
        trace: the exported trace.
        host_pid: the recorded process.
        offset_ns: added to all times.
        names: names of threads, by native identifier.
        leave_out: names of slices to leave out.
    """
    names = names or {}
    records = []
    points: Points = defaultdict(list)
    ends: dict[tuple[str, int | str], dict[str, tuple[Lane, int]]] = defaultdict(dict)
    for event in trace.events:
        start = trace.time_ns(event) + offset_ns
        if event.ph == "X" or event.name == MEMORY_EVENT:
            lane = _lane(event, host_pid, names)
            if lane is None or event.name in leave_out or event.name.startswith(STEP_MARK):
                continue
            record = _record(event, lane, start)
            records.append(record)
            if event.name == MEMORY_EVENT:
                _add_memory(points, record)
        elif event.ph == "C" and isinstance(event.args, dict):
            device = HOST_DEVICE if event.pid == host_pid else f"/device:GPU:{event.pid}"
            for series, value in event.args.items():
                if isinstance(value, int | float):
                    points[device, event.name, series].append((start, value))
        elif event.ph in "sf" and event.cat == _FORWARD_BACKWARD and isinstance(event.tid, int):
            ends[event.cat, event.id][event.ph] = host_lane(event.tid, names), start
    return KinetoRecords(sorted(records, key=_order), _counters(points), list(_arrows(ends)))


def threads_of(trace: KinetoTrace, host_pid: int) -> set[int]:
    """Return the native identifiers of the host's threads in a trace."""
    return {event.tid & 0xFFFF_FFFF for event in trace.events if event.pid == host_pid and isinstance(event.tid, int)}


def _record(event: Event, lane: Lane, start_ns: int) -> Record:
    args = event.args if isinstance(event.args, dict) else {}
    if event.cat == _FUNCTION:
        # The enclosing functions are records, too.
        args.pop("Call stack", None)
    correlation = args.pop("correlation", 0)
    if not isinstance(correlation, int) or correlation < 0:
        correlation = 0
    return Record(event.name, event.cat, lane, start_ns, max(_nanoseconds(event.dur), 0), correlation, args)


def _lane(event: Event, host_pid: int, names: Mapping[int, str]) -> Lane | None:
    """Return where a slice ran; None for what Kineto reports about itself ("Spans", "Traces")."""
    if not isinstance(event.pid, int) or not isinstance(event.tid, int):
        return None
    if event.cat == "overhead":
        return OVERHEAD_LANE
    args = event.args if isinstance(event.args, dict) else {}
    stream = args.get("stream", event.tid)
    if event.cat == "cuda_sync":
        # Kineto moves some of these to threads other than their stream's.
        return sync_lane(event.pid, stream if isinstance(stream, int) else -1)
    # The process ID of a device is its number, which may be that of the host's process in a container.
    if event.cat in _ON_DEVICE or event.pid != host_pid:
        return stream_lane(event.pid, stream if isinstance(stream, int) else event.tid)
    return host_lane(event.tid, names)


def _order(record: Record) -> tuple[bool, str, int]:
    """Return a sort key that puts threads of the host first, in their given order, then devices and their streams."""
    if record.lane.device == HOST_DEVICE:
        return False, "", 0
    return True, record.lane.device.partition("/stream:")[0], record.lane.thread_id


def _add_memory(points: Points, allocation: Record) -> None:
    """Add the bytes held by PyTorch's allocator, which it reports after every change."""
    number = allocation.args.get("Device Id", -1)
    on_gpu = allocation.args.get("Device Type") in _GPU_TYPES and isinstance(number, int) and number >= 0
    device = f"/device:GPU:{number}" if on_gpu else HOST_DEVICE
    for series, key in (("allocated", "Total Allocated"), ("reserved", "Total Reserved")):
        value = allocation.args.get(key)
        if isinstance(value, int | float) and (value > 0 or series == "allocated"):
            points[device, "PyTorch memory (bytes)", series].append((allocation.start_ns, value))


def _counters(points: Points) -> list[CounterSeries]:
    counters = []
    for (device, name, series), those in points.items():
        those.sort(key=lambda point: point[0])
        times, values = zip(*those, strict=True)
        counters.append(CounterSeries(device, name, series, times, values))
    return counters


def _arrows(ends: Mapping[tuple[str, int | str], Mapping[str, tuple[Lane, int]]]) -> Iterator[Arrow]:
    for (category, _), found in ends.items():
        if len(found) == 2:
            yield Arrow(category, *found["s"], *found["f"])


def first_events(trace: KinetoTrace, most: int) -> tuple[KinetoTrace, int]:
    """Return the first events of a trace, in the order of the file, and the number of the others."""
    if len(trace.events) <= most:
        return trace, 0
    kept: Iterable[Event] = islice(trace.events, most)
    return KinetoTrace(list(kept), trace.base_ns, trace.metadata), len(trace.events) - most


def _nanoseconds(micros: Decimal) -> int:
    return int(micros * 1000)
