"""Recordings as traces in the Chrome trace event format, which Perfetto and chrome://tracing can open.

Times in the file are microseconds with three decimals since ``baseTimeNanoseconds``, as in PyTorch's profiler: as
microseconds since the epoch, a float64 would only resolve quarters of a microsecond.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from stepscope.profiler.collectors.base import HOST_DEVICE, Arrow, CounterSeries, Lane, Record

Event = dict[str, Any]

FIRST_DEVICE_PID: Final = 0x7FFF_0000
"""Process identifiers of devices start here, above those of real processes; the host keeps its own."""

_STREAM: Final = "/stream:"
_CATEGORIES: Final[Mapping[str, str]] = {"step": "user_annotation", "annotation": "user_annotation"}
"""This package's own categories -> what PyTorch's profiler calls them, which analysis tools look for."""
_CALLS: Final = frozenset({"cuda_runtime", "cuda_driver"})
_EVENTS_AT_ONCE: Final = 10_000
_JSON: Final = msgspec.json.Encoder()


def chrome_trace_from_records(
    records: Sequence[Record],
    counters: Sequence[CounterSeries] = (),
    arrows: Sequence[Arrow] = (),
    *,
    base_ns: int,
    host_name: str,
    host_pid: int,
    metadata: Mapping[str, Any] | None = None,
) -> Iterator[bytes]:
    """Yield the pieces of a trace as JSON.

    The streams of one device are threads of one process. An arrow leads from each call to what it started on a device.

    Args:
        records: in the order in which their lanes are to be shown; the first device is shown first.
        counters: quantities over time.
        arrows: any arrows other than those from calls to what they started.
        base_ns: wall time in nanoseconds that is time 0 of the trace.
        host_name: the recorded machine.
        host_pid: the recorded process.
        metadata: additional top-level entries.
    """
    lanes = _lanes(records)
    ends = [lane.device for arrow in arrows for lane in (arrow.source, arrow.target)]
    places = _Places([*(lane.device for lane in lanes), *(series.device for series in counters), *ends], host_pid)
    head = {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "otherData": {"producer": "stepscope", "host": host_name},
        **(metadata or {}),
    }
    yield _JSON.encode(head)[:-1] + b',"traceEvents":[\n'
    separator = b""
    for piece in _pieces(_events(records, counters, arrows, lanes, places, base_ns, host_name)):
        yield separator + piece
        separator = b",\n"
    yield b"\n]}\n"


def process_of(device: str) -> str:
    """Return the device that a stream belongs to; any other device is returned unchanged."""
    return device.partition(_STREAM)[0]


class _Places:
    """The process identifiers of devices, the host first."""

    def __init__(self, devices: Iterable[str], host_pid: int) -> None:
        self.pids: dict[str, int] = {}
        for device in map(process_of, devices):
            self.pids.setdefault(device, host_pid if device == HOST_DEVICE else FIRST_DEVICE_PID + len(self.pids))

    def of(self, lane: Lane) -> Event:
        return {"pid": self.pids[process_of(lane.device)], "tid": lane.thread_id}


def _events(
    records: Sequence[Record],
    counters: Sequence[CounterSeries],
    arrows: Sequence[Arrow],
    lanes: Sequence[Lane],
    places: _Places,
    base_ns: int,
    host_name: str,
) -> Iterator[Event]:
    for index, (device, pid) in enumerate(places.pids.items()):
        name = f"{host_name} (process {pid})" if device == HOST_DEVICE else device
        yield from _names("process", name, index, {"pid": pid})
    for index, lane in enumerate(lanes):
        yield from _names("thread", lane.thread_name, index, places.of(lane))
    for record in records:
        yield _slice(record, base_ns, places)
    moment = partial(_moment, base_ns, places)
    yield from _launches(records, moment)
    first = 1 + max((record.correlation for record in records), default=0)
    for number, arrow in enumerate(arrows, first):
        same = {"cat": arrow.category, "name": arrow.category, "id": number}
        yield {"ph": "s", **same, **moment(arrow.source, arrow.source_ns)}
        yield {"ph": "f", "bp": "e", **same, **moment(arrow.target, arrow.target_ns)}
    for series in counters:
        place = {"pid": places.pids[process_of(series.device)]}
        for time_ns, value in zip(series.times_ns, series.values, strict=True):
            timestamp = (time_ns - base_ns) / 1000
            yield {"ph": "C", "name": series.name, **place, "ts": timestamp, "args": {series.series: value}}


def _names(kind: str, name: str, sort_index: int, place: Event) -> Iterator[Event]:
    yield {"ph": "M", "name": f"{kind}_name", **place, "args": {"name": name}}
    yield {"ph": "M", "name": f"{kind}_sort_index", **place, "args": {"sort_index": sort_index}}


def _slice(record: Record, base_ns: int, places: _Places) -> Event:
    correlation = {"correlation": record.correlation} if record.correlation else {}
    return {
        "ph": "X",
        "cat": _CATEGORIES.get(record.category, record.category),
        "name": record.name,
        **places.of(record.lane),
        "ts": (record.start_ns - base_ns) / 1000,
        "dur": record.duration_ns / 1000,
        "args": {**record.args, **correlation},
    }


def _launches(records: Sequence[Record], moment: Callable[[Lane, int], Event]) -> Iterator[Event]:
    """Yield the arrows of launches: each leaves a call once, and reaches everything the call started."""
    started: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        if record.correlation and record.category not in _CALLS:
            started[record.correlation].append(record)
    for call in records:
        if call.category not in _CALLS or not call.correlation:
            continue
        reached = started.pop(call.correlation, [])
        same = {"cat": "ac2g", "name": "ac2g", "id": call.correlation}
        if reached:
            yield {"ph": "s", **same, **moment(call.lane, call.start_ns)}
        for record in reached:
            yield {"ph": "f", "bp": "e", **same, **moment(record.lane, record.start_ns)}


def _moment(base_ns: int, places: _Places, lane: Lane, time_ns: int) -> Event:
    return {**places.of(lane), "ts": (time_ns - base_ns) / 1000}


def _lanes(records: Sequence[Record]) -> list[Lane]:
    """Return the lanes in order of first appearance; of lanes that differ only by name, the first."""
    lanes: dict[tuple[str, int], Lane] = {}
    for record in records:
        lanes.setdefault(record.lane[:2], record.lane)
    return list(lanes.values())


def _pieces(events: Iterator[Event]) -> Iterator[bytes]:
    while some := list(islice(events, _EVENTS_AT_ONCE)):
        yield b",\n".join(map(_JSON.encode, some))
