"""A `Trace` as Chrome trace JSON, written piece by piece, for Perfetto, chrome://tracing and this package.

Times are in microseconds with three decimals since ``baseTimeNanoseconds``, so that a float64 holds every nanosecond.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import orjson

from stepscope.profiler.trace import Lane, LaneKind, Trace
from stepscope.profiler.traces.build import STEP_NUMBER, WRITTEN_STEPS, RawSlices, find_steps, rows_of

_INSTANT: Final = "instant"
_OWN_KEYS: Final = frozenset({"traceEvents", "baseTimeNanoseconds"})


def chrome_json(trace: Trace) -> Iterator[bytes]:
    """Yield the pieces of a Chrome trace: all slices, arguments, flows, counters, names and metadata.

    Slices that overlap within a lane, which viewers would drop, are written as separate threads, one for each row.
    Objects, and instants with arrows, are written as slices, as in a `Trace`.
    """
    base_ns = int(trace.start_ns.min()) if trace.epoch_ns is not None and len(trace) else 0
    top = {key: value for key, value in trace.metadata.items() if key not in _OWN_KEYS}
    if trace.epoch_ns is not None:
        top["baseTimeNanoseconds"] = trace.epoch_ns + base_ns
    yield b"{"
    for key, value in top.items():
        yield _json(key) + b":" + _json(value) + b",\n"
    yield b'"traceEvents":[\n'
    separator = b""
    for event in _events(trace, base_ns):
        yield separator + event
        separator = b",\n"
    yield b"\n]}\n"


def _events(trace: Trace, base_ns: int) -> Iterator[bytes]:
    places = _Places(trace)
    yield from places.metadata()
    yield from _slices(trace, places, base_ns)
    yield from _counters(trace, places, base_ns)
    own_columns = RawSlices(trace.start_ns, trace.duration_ns, trace.lane, trace.name_id, trace.category_id)
    if trace.steps and trace.steps != find_steps(own_columns, trace.names, trace.lanes, trace.arguments):
        place = {"pid": places.pid_of(WRITTEN_STEPS), "tid": 0}
        yield from places.metadata()
        yield _thread_name(place, WRITTEN_STEPS, "other")
        for step in trace.steps:
            number = b',"args":' + _json({STEP_NUMBER: step.number})
            at = step.start_ns - base_ns
            yield _slice(b'""', _json(step.name), _json(place)[1:-1], at, step.duration_ns, number)


class _Places:
    """Process and thread identifiers that distinguish all rows."""

    def __init__(self, trace: Trace) -> None:
        self._lanes = trace.lanes
        self._pids: dict[str, int | str] = {}
        self._taken: set[str] = set()
        crossing = _lanes_that_cross(trace)
        self.rows: list[list[bytes]] = []
        self._metadata: list[bytes] = []
        threads: set[tuple[str, str]] = set()
        for index, lane in enumerate(trace.lanes):
            pid = self._pid(lane)
            of_lane = []
            for depth in range(lane.depths if index in crossing else 1):
                name = lane.name if depth == 0 else f"{lane.name} ({depth + 1})"
                tid: int | str = lane.tid if depth == 0 else f"{lane.tid} ({depth + 1})"
                while (str(pid), str(tid)) in threads:
                    tid = f"{tid} {name}"
                threads.add((str(pid), str(tid)))
                place = {"pid": pid, "tid": tid}
                self._metadata += [
                    _thread_name(place, name, lane.kind),
                    _json({"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": len(threads)}}),
                ]
                of_lane.append(_json(place)[1:-1])
            self.rows.append(of_lane)

    def _pid(self, lane: Lane) -> int | str:
        if lane.process not in self._pids:
            pid: int | str = lane.pid
            while str(pid) in self._taken:
                pid = f"{pid} {lane.process}"
            self._name(lane.process, pid)
        return self._pids[lane.process]

    def _name(self, process: str, pid: int | str) -> None:
        self._taken.add(str(pid))
        order = len(self._pids)
        self._pids[process] = pid
        self._metadata += [
            _json({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}}),
            _json({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": order}}),
        ]

    def pid_of(self, process: str) -> int | str:
        """Return the identifier of a process, which may have no lanes."""
        if process not in self._pids:
            self._name(process, f"{process} {len(self._pids)}" if process in self._taken else process)
        return self._pids[process]

    def metadata(self) -> Iterator[bytes]:
        yield from self._metadata
        self._metadata.clear()


def _thread_name(place: Mapping[str, int | str], name: str, kind: LaneKind) -> bytes:
    """Return a metadata event with the kind of a lane too, which names do not always tell; viewers ignore it."""
    return _json({"ph": "M", "name": "thread_name", **place, "args": {"name": name, "kind": kind}})


def _lanes_that_cross(trace: Trace) -> set[int]:
    """Return lanes in which a slice extends beyond the slice of the row above in which it begins."""
    rows = rows_of(trace.lane, trace.depth, trace.lanes)
    end = trace.start_ns + trace.duration_ns
    crossing: set[int] = set()
    for index, lane in enumerate(trace.lanes):
        for row in range(int(rows.lane_first[index]) + 1, int(rows.lane_first[index]) + lane.depths):
            above = slice(int(rows.first[row - 1]), int(rows.first[row]))
            below = slice(int(rows.first[row]), int(rows.first[row + 1]))
            container = np.searchsorted(trace.start_ns[above], trace.start_ns[below], side="right") - 1
            if (container < 0).any() or (end[above][container] < end[below]).any():
                crossing.add(index)
                break
    return crossing


def _slices(trace: Trace, places: _Places, base_ns: int) -> Iterator[bytes]:
    names = [_json(name) for name in trace.names]
    categories = [_json(category) for category in trace.categories]
    instant = trace.categories.index(_INSTANT) if _INSTANT in trace.categories else -1
    flows: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for number, (source, target) in enumerate(
        zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True)
    ):
        flows[source].append((number, True))
        flows[target].append((number, False))
    flow_category = trace.flows.category_id.tolist()
    columns = (trace.start_ns, trace.duration_ns, trace.lane, trace.depth, trace.name_id, trace.category_id)
    for first in range(0, len(trace), 1 << 16):
        part = [column[first : first + (1 << 16)].tolist() for column in columns]
        for index, (start, duration, lane, depth, name, category) in enumerate(zip(*part, strict=True), first):
            of_lane = places.rows[lane]
            place = of_lane[depth if len(of_lane) > 1 else 0]
            arguments = trace.arguments[index]
            text = b',"args":' + _json(dict(arguments)) if arguments else b""
            # No arrow begins or ends at an instant in viewers, so instants with arrows stay slices.
            if category == instant and duration == 0 and index not in flows:
                head = b'{"ph":"i","s":"t","cat":%s,"name":%s,' % (categories[category], names[name])
                yield head + place + b',"ts":' + _microseconds(start - base_ns) + text + b"}"
            else:
                yield _slice(categories[category], names[name], place, start - base_ns, duration, text)
            # Right after their slice, so that readers can tell it from others at the same time.
            for number, leaves in flows.get(index, ()):
                phase = b'"ph":"s"' if leaves else b'"ph":"f","bp":"e"'
                kind = categories[flow_category[number]]
                head = b'{%s,"id":%d,"cat":%s,"name":%s,' % (phase, number + 1, kind, kind)
                yield head + place + b',"ts":' + _microseconds(start - base_ns) + b"}"


def _slice(category: bytes, name: bytes, place: bytes, start: int, duration: int, arguments: bytes) -> bytes:
    head = b'{"ph":"X","cat":%s,"name":%s,' % (category, name) if category != b'""' else b'{"ph":"X","name":%s,' % name
    return b'%s%s,"ts":%s,"dur":%s%s}' % (head, place, _microseconds(start), _microseconds(duration), arguments)


def _counters(trace: Trace, places: _Places, base_ns: int) -> Iterator[bytes]:
    for counter in trace.counters:
        pid = places.pid_of(counter.process)
        yield from places.metadata()
        head = b'{"ph":"C","name":%s,"pid":%s,"ts":' % (_json(counter.name), _json(pid))
        series = b',"args":{' + _json(counter.series) + b":"
        for time, value in zip(counter.times_ns.tolist(), counter.values.tolist(), strict=True):
            yield head + _microseconds(time - base_ns) + series + _json(value) + b"}}"


def _microseconds(nanoseconds: int) -> bytes:
    whole, rest = divmod(abs(nanoseconds), 1000)
    return b"%s%d.%03d" % (b"-" if nanoseconds < 0 else b"", whole, rest)


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    except (TypeError, ValueError):
        # Numbers of more than 64 bits, and lone surrogates.
        return json.dumps(value, default=str).encode()
