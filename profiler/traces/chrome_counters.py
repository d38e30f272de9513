"""Counters of a Chrome trace: its C events, PyTorch's memory events, and memory dumps (v)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Counter
from stepscope.profiler.traces.chrome_arguments import arguments_of
from stepscope.profiler.traces.chrome_events import Events
from stepscope.profiler.traces.json_values import UNREADABLE_TIME
from stepscope.profiler.traces.losses import LossTally, moment

NOT_A_NUMBER: Final = "counter value that is not a number"
MEMORY_EVENT: Final = "[memory]"
"""Name of the instant events that PyTorch's profiler writes for allocations and releases."""
DEVICE_TYPES: Final[Mapping[int, str]] = {
    0: "CPU",
    1: "GPU",
    6: "HIP",
    9: "XLA",
    12: "XPU",
    13: "MPS",
    15: "HPU",
    19: "MTIA",
    20: "private-use device",
}
"""``DeviceType`` values of PyTorch's c10, as far as profilers write them."""
_MEMORY_KEYS: Final = {
    "bytes": "Bytes",
    "allocated": "Total Allocated",
    "reserved": "Total Reserved",
    "device_type": "Device Type",
    "device": "Device Id",
}


class _MemoryArguments(msgspec.Struct, rename=_MEMORY_KEYS):
    bytes: float | None = None
    allocated: float | None = None
    reserved: float | None = None
    device_type: int = 0
    device: int = -1


_MEMORY_ARGUMENTS: Final = msgspec.json.Decoder(_MemoryArguments)


class _Series:
    """Points of all counters, collected as they are read."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str, str], tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))

    def add(self, process: str, name: str, series: str, time: int, value: float) -> None:
        times, values = self._points[process, name, series]
        times.append(time)
        values.append(value)

    def counters(self) -> tuple[Counter, ...]:
        return tuple(
            Counter(process, name, series, np.array(times, np.int64), np.array(values, np.float64))
            for (process, name, series), (times, values) in self._points.items()
        )


def counter_marks(events: Events) -> NDArray[np.int64]:
    """Return the events with values of counters, sorted by time."""
    columns = events.columns
    memory = events.names.index(MEMORY_EVENT) if MEMORY_EVENT in events.names else -2
    wanted = np.isin(columns.phase, np.frombuffer(b"Cv", np.uint8))
    if memory >= 0:
        wanted |= (columns.phase == ord("i")) & (columns.name == memory)
    marks = np.flatnonzero(wanted & (columns.time_ns != UNREADABLE_TIME))
    return marks[np.argsort(columns.time_ns[marks], kind="stable")]


def read_counters(
    data: bytes, events: Events, marks: NDArray[np.int64], processes: Mapping[str, str], tally: LossTally
) -> tuple[Counter, ...]:
    """Return all counters of a trace, one per series, with times in ascending order.

    ``marks`` are those of `counter_marks`, and ``processes`` the display names of processes by identifier.
    """
    columns = events.columns
    found = _Series()
    running: dict[tuple[str, str], float] = defaultdict(float)
    of_marks = (marks, columns.time_ns[marks], columns.phase[marks], columns.pid[marks])
    starts = columns.arguments_start[marks]
    spans = (starts, starts + columns.arguments_length[marks])
    for event, time, phase, pid, start, end in zip(*(each.tolist() for each in (*of_marks, *spans)), strict=True):
        process = processes[events.places[pid]]
        if phase == ord("i"):
            if start < 0 or not _add_memory(found, running, data[start:end], process, time):
                tally.add(NOT_A_NUMBER, 1, f"“{MEMORY_EVENT}” at {moment(time)}")
            continue
        arguments = arguments_of(data, columns, event)
        name = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        if phase == ord("v"):
            for series, value in _dumped(arguments.get("dumps")):
                found.add(process, "memory dump", series, time, value)
            continue
        if columns.id[event] >= 0:
            name = f"{name} [{events.ids[columns.id[event]]}]"
        for key, argument in arguments.items():
            number = number_of(argument)
            if number is None:
                tally.add(NOT_A_NUMBER, 1, f"“{key}” of “{name}” at {moment(time)}")
            else:
                found.add(process, name, key, time, number)
    return found.counters()


def _add_memory(
    found: _Series, running: dict[tuple[str, str], float], arguments: bytes, process: str, time: int
) -> bool:
    """Add the bytes that PyTorch's allocator held after an event; if it wrote no totals, the sum of all changes.

    Return False if the event's arguments are malformed.
    """
    try:
        memory = _MEMORY_ARGUMENTS.decode(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    device = DEVICE_TYPES.get(memory.device_type, f"device of type {memory.device_type}")
    name = f"memory of {device}" + (f" {memory.device}" if memory.device >= 0 else "")
    if memory.allocated is not None and memory.allocated >= 0:
        found.add(process, name, "allocated", time, memory.allocated)
    elif memory.bytes is not None:
        running[process, name] += memory.bytes
        found.add(process, name, "allocated since the start", time, running[process, name])
    if memory.reserved is not None and memory.reserved > 0:
        found.add(process, name, "reserved", time, memory.reserved)
    return True


def _dumped(dumps: object) -> Iterator[tuple[str, float]]:
    """Yield the sizes in a memory dump of Chromium: the totals of the process, and the size of each allocator."""
    if not isinstance(dumps, dict):
        return
    totals = dumps.get("process_totals")
    if isinstance(totals, dict):
        for key, value in totals.items():
            number = _hexadecimal(value)
            if number is not None:
                yield key, number
    allocators = dumps.get("allocators")
    if isinstance(allocators, dict):
        for allocator, dump in allocators.items():
            attributes = dump.get("attrs") if isinstance(dump, dict) else None
            size = attributes.get("size") if isinstance(attributes, dict) else None
            number = _hexadecimal(size.get("value")) if isinstance(size, dict) else None
            if number is not None:
                yield allocator, number


def _hexadecimal(value: object) -> float | None:
    if not isinstance(value, str):
        return number_of(value)
    try:
        return float(int(value[:32], 16))
    except ValueError:
        return None


def number_of(value: Any) -> float | None:
    """Return a number, or a string that holds one, as a float; None for anything else and for non-finite values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None
