"""Chrome trace JSON: what Kineto, TensorFlow's Timeline, XLA, viztracer and this package's recorder write.

Format: "Trace Event Format" of the Catapult project, as its importer and Perfetto's read it. Times there are
microseconds, possibly with decimals; here they are converted to nanoseconds from the decimal text.
"""

from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from profiler.trace import Counter, Losses, Trace
from profiler.traces import flows as flow_roles
from profiler.traces.build import RawSlices, arrange, assemble, find_steps, intern_used, rows_of
from profiler.traces.chrome_events import (
    Columns,
    Events,
    JsonArguments,
    decode_arguments,
    decode_json,
    pair_asynchronous,
    pair_nested,
    scan_events,
)
from profiler.traces.error import TraceError
from profiler.traces.flows import FlowEvents, join_flows
from profiler.traces.json_scan import Buffer, skip_space, skip_value
from profiler.traces.json_values import UNREADABLE_TIME
from profiler.traces.lanes import ThreadKey, ThreadNames, order_and_name, process_name

INSTANT_CATEGORY: Final = "instant"
"""Category of instant events that name none; they are slices of duration 0."""

_SHOWN: Final = "XBEiIRbneSTpFCstfM"
_OBJECTS: Final = "NOD"


def read_chrome(data: bytes, *, name: str, notes: tuple[str, ...] = ()) -> Trace:
    """Read a Chrome trace: a JSON object with ``traceEvents``, or the bare array of events.

    Data that ends early or is damaged is read as far as it goes, and `Trace.losses` says where. ``name`` is
    for messages; ``notes`` are put before the losses' own. Raises `TraceError` for JSON that holds no events.
    """
    buffer = np.frombuffer(data, np.uint8)
    position = skip_space(buffer, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    metadata: dict[str, Any] = {}
    bare = data[position : position + 1] == b"["
    if bare:
        events = scan_events(buffer, position + 1)
    else:
        found, position = _read_keys(data, buffer, position + 1, metadata)
        if not found:
            raise TraceError(
                f"{name} is JSON without trace events. Expected an object with the key “traceEvents”, or an "
                "array of events. Check that it is the trace itself and not a report about one."
            )
        if data[position : position + 1] != b"[":
            raise TraceError(f"In {name} “traceEvents” is not an array. Expected the array of the trace's events.")
        events = scan_events(buffer, position + 1)
        if not events.truncated:
            _, position = _read_keys(data, buffer, events.end, metadata)
            if data[position : position + 1] != b"}":
                notes += (f"what follows byte {position} of {len(data)} cannot be read",)
    if events.unreadable and not len(events.columns.phase) and not events.truncated:
        raise TraceError(f"{name} is a JSON array of something else. Expected objects with “ph”, “ts” and “name”.")
    return _build(data, events, metadata, (*notes, *_notes(events, len(data), bare=bare)))


def _read_keys(data: bytes, buffer: Buffer, position: int, metadata: dict[str, Any]) -> tuple[bool, int]:
    """Read keys of the outer object into ``metadata`` up to ``traceEvents``: whether that came, and where."""
    while True:
        position = skip_space(buffer, position)
        if data[position : position + 1] == b",":
            position += 1
            continue
        if data[position : position + 1] != b'"':
            return False, position
        key_end = skip_value(buffer, position)
        colon = skip_space(buffer, key_end) if key_end > 0 else len(data)
        value = skip_space(buffer, colon + 1)
        if data[colon : colon + 1] != b":" or value >= len(data):
            return False, position
        key = str(decode_json(data[position:key_end]))
        if key == "traceEvents":
            return True, value
        position = skip_value(buffer, value)
        if position < 0:
            return False, value
        metadata[key] = decode_json(data[value:position])


def _notes(events: Events, size: int, *, bare: bool) -> tuple[str, ...]:
    notes = []
    if events.unreadable:
        notes.append(f"the first unreadable event is at byte {events.first_unreadable}")
    if events.truncated and (events.end < size or not bare):
        notes.append(f"the file ends early: nothing was read from byte {events.end} of {size}")
    return tuple(notes)


@dataclass(frozen=True)
class _Found:
    """Slices of a file: their columns, and the events each begins and ends with (-1 for none)."""

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    thread: NDArray[np.int64]
    """Index into ``threads``."""
    event: NDArray[np.int64]
    end_event: NDArray[np.int64]
    threads: list[ThreadKey]


def _build(data: bytes, events: Events, metadata: Mapping[str, Any], notes: tuple[str, ...]) -> Trace:
    columns = events.columns
    counts = Tally[str]({"unreadable event": events.unreadable})
    names = [*events.names, ""]
    categories = [*events.categories, "", INSTANT_CATEGORY]
    found = _find_slices(events, counts)
    category = columns.category[found.event]
    instant = np.isin(columns.phase[found.event], np.frombuffer(b"iIRnTp", np.uint8))
    category = np.where(category >= 0, category, np.where(instant, len(categories) - 1, len(categories) - 2))
    own_name = columns.name[found.event]

    thread_names = _read_names(data, events, counts)
    order, lanes = order_and_name(
        found.threads,
        _categories_by_thread(found.thread, category, categories, len(found.threads)),
        thread_names,
    )
    lane_of = np.empty(len(order), np.int32)
    lane_of[order] = np.arange(len(order), dtype=np.int32)
    name_id, kept_names = intern_used(np.where(own_name >= 0, own_name, len(names) - 1).astype(np.int32), names)
    flow_marks = _flow_marks(columns)
    flow_category = columns.category[flow_marks]
    all_categories, kept_categories = intern_used(
        np.concatenate(
            [category, np.where(flow_category >= 0, flow_category, len(categories) - 2)],
            dtype=np.int32,
            casting="unsafe",
        ),
        categories,
    )
    raw = RawSlices(
        found.start_ns,
        found.duration_ns,
        lane_of[found.thread],
        name_id,
        all_categories[: len(category)],
    )
    operations = [int(lane_of[index]) for index, key in enumerate(found.threads) if key.operation is not None]
    arranged = arrange(raw, lanes, may_overlap=operations)
    event = found.event[arranged.order]
    slice_of_event = np.full(len(columns.phase), -1, np.int64)
    slice_of_event[event] = np.arange(len(event))
    thread_lanes = {
        (key.pid, key.tid): int(lane_of[index]) for index, key in enumerate(found.threads) if key.operation is None
    }
    flows, in_vain = join_flows(
        _flow_events(events, flow_marks, thread_lanes, slice_of_event, all_categories[len(category) :]),
        arranged.columns,
        rows_of(arranged.columns.lane, arranged.depth, arranged.lanes),
    )
    counts.update(in_vain)
    counters = _read_counters(data, events, thread_names, counts)
    _count_others(columns, counts)
    return assemble(
        arranged,
        names=kept_names,
        categories=kept_categories,
        arguments=_arguments(data, columns, event, found.end_event[arranged.order]),
        flows=flows,
        counters=counters,
        steps=find_steps(arranged.columns, kept_names, arranged.lanes),
        losses=Losses(counts, notes),
        metadata=metadata,
    )


def _find_slices(events: Events, counts: Tally[str]) -> _Found:
    columns = events.columns
    readable = columns.time_ns != UNREADABLE_TIME
    thread = columns.pid.astype(np.int64) * len(events.places) + columns.tid
    complete = np.flatnonzero((columns.phase == ord("X")) & readable)
    instants = np.flatnonzero(np.isin(columns.phase, np.frombuffer(b"iIR", np.uint8)) & readable)
    pairs = pair_nested(columns, thread)
    operations = pair_asynchronous(columns)
    counts.update(pairs.in_vain)
    counts.update(operations.in_vain)
    timed = np.isin(columns.phase, np.frombuffer(b"XBEiIRbneSTpFCstf", np.uint8))
    counts["event without a readable time"] += int(np.count_nonzero(timed & ~readable))
    lasting = columns.duration_ns[complete]
    counts["complete event without a readable duration"] += int(np.count_nonzero(lasting == UNREADABLE_TIME))
    lasting = np.where(lasting == UNREADABLE_TIME, 0, lasting)

    event = np.concatenate([complete, instants, pairs.begin, operations.begin]).astype(np.int64)
    none = np.full(len(complete) + len(instants), -1, np.int64)
    end_event = np.concatenate([none, pairs.end, operations.end]).astype(np.int64)
    start = columns.time_ns[event]
    duration = np.zeros(len(event), np.int64)
    duration[: len(complete)] = lasting
    ended = end_event >= 0
    duration[ended] = columns.time_ns[end_event[ended]] - start[ended]
    last_ns = int(np.max(start + np.maximum(duration, 0), initial=0))
    unclosed = ~ended
    unclosed[: len(none)] = False
    duration[unclosed] = last_ns - start[unclosed]

    synchronous = len(complete) + len(instants) + len(pairs.begin)
    keys, numbers = np.unique(thread[event[:synchronous]], return_inverse=True)
    threads = [
        ThreadKey(events.places[key // len(events.places)], events.places[key % len(events.places)])
        for key in keys.tolist()
    ]
    numbers_of = {key: number for number, key in enumerate(threads)}
    threads = list(numbers_of)
    asynchronous = []
    for root in operations.root:
        pid = events.places[columns.pid[root]]
        name = events.names[columns.name[root]] if columns.name[root] >= 0 else ""
        category = events.categories[columns.category[root]] if columns.category[root] >= 0 else ""
        key = ThreadKey(pid, category or pid, name or category or "asynchronous operations")
        asynchronous.append(numbers_of.setdefault(key, len(numbers_of)))
    merged = np.array([numbers_of[key] for key in threads], np.int64)
    return _Found(
        start,
        duration,
        np.concatenate([merged[numbers], asynchronous]).astype(np.int64),
        event,
        end_event,
        list(numbers_of),
    )


def _categories_by_thread(
    thread: NDArray[np.int64], category: NDArray[np.int32], categories: list[str], threads: int
) -> list[set[str]]:
    found: list[set[str]] = [set() for _ in range(threads)]
    for pair in np.unique(thread * len(categories) + category).tolist():
        found[pair // len(categories)].add(categories[pair % len(categories)])
    return found


def _read_names(data: bytes, events: Events, counts: Tally[str]) -> ThreadNames:
    columns = events.columns
    names = ThreadNames()
    for event in np.flatnonzero(columns.phase == ord("M")).tolist():
        what = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        arguments = _arguments_of(data, columns, event)
        pid = events.places[columns.pid[event]]
        thread = (pid, events.places[columns.tid[event]])
        if what == "process_name":
            names.process_names[pid] = str(arguments.get("name", "")).strip()
        elif what == "process_labels":
            names.process_labels[pid] = str(arguments.get("labels", "")).strip()
        elif what == "process_sort_index":
            names.process_sort[pid] = _number(arguments.get("sort_index")) or 0
        elif what == "thread_name":
            names.thread_names[thread] = str(arguments.get("name", "")).strip()
        elif what == "thread_sort_index":
            names.thread_sort[thread] = _number(arguments.get("sort_index")) or 0
        else:
            counts[f"metadata event “{what}”"] += 1
    return names


def _number(value: object) -> float | None:
    """A number, also one written as a string; None for anything else and for what has no place on an axis."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def _read_counters(data: bytes, events: Events, names: ThreadNames, counts: Tally[str]) -> tuple[Counter, ...]:
    columns = events.columns
    marks = np.flatnonzero((columns.phase == ord("C")) & (columns.time_ns != UNREADABLE_TIME))
    marks = marks[np.argsort(columns.time_ns[marks], kind="stable")]
    series: dict[tuple[str, str, str], tuple[list[int], list[float]]] = {}
    for event, time in zip(marks.tolist(), columns.time_ns[marks].tolist(), strict=True):
        name = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        if columns.id[event] >= 0:
            name = f"{name} [{events.ids[columns.id[event]]}]"
        for key, value in _arguments_of(data, columns, event).items():
            number = _number(value)
            if number is None:
                counts["counter value that is no number"] += 1
                continue
            times, values = series.setdefault((events.places[columns.pid[event]], name, key), ([], []))
            times.append(time)
            values.append(number)
    return tuple(
        Counter(process_name(pid, names), name, key, np.array(times, np.int64), np.array(values, np.float64))
        for (pid, name, key), (times, values) in series.items()
    )


def _arguments_of(data: bytes, columns: Columns, event: int) -> dict[str, Any]:
    return decode_arguments(data, int(columns.arguments_start[event]), int(columns.arguments_length[event]))


def _flow_marks(columns: Columns) -> NDArray[np.int64]:
    """Events that take part in flows, those of slices with a ``bind_id`` last."""
    readable = columns.time_ns != UNREADABLE_TIME
    own = np.isin(columns.phase, np.frombuffer(b"stf", np.uint8)) & readable
    bound = (columns.bind_id >= 0) & (columns.flow_in | columns.flow_out) & readable & ~own
    return np.concatenate([np.flatnonzero(own), np.flatnonzero(bound)])


def _slice_written_before(columns: Columns, marks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The event of the slice that a flow event was written right after, else the flow event itself.

    Kineto writes the flow events of a slice after it, with its thread and start. At the same time there may be
    other slices of less than the clock's resolution, so that time alone would choose among them by chance.
    """
    complete = columns.phase == ord("X")
    latest = np.maximum.accumulate(np.where(complete, np.arange(len(complete)), 0))[marks]
    same = (
        complete[latest]
        & (columns.pid[latest] == columns.pid[marks])
        & (columns.tid[latest] == columns.tid[marks])
        & (columns.time_ns[latest] == columns.time_ns[marks])
    )
    return np.where(same, latest, marks)


def _flow_events(
    events: Events,
    marks: NDArray[np.int64],
    thread_lanes: Mapping[tuple[str, str], int],
    slice_of_event: NDArray[np.int64],
    category_id: NDArray[np.int32],
) -> FlowEvents:
    columns = events.columns
    phase = columns.phase[marks]
    own = np.isin(phase, np.frombuffer(b"stf", np.uint8))
    bound = slice_of_event[np.where(own, _slice_written_before(columns, marks), marks)]
    role = np.full(len(marks), flow_roles.STEP, np.int8)
    role[(phase == ord("s")) | (~own & ~columns.flow_in[marks])] = flow_roles.START
    role[(phase == ord("f")) | (~own & ~columns.flow_out[marks])] = flow_roles.END
    places = len(events.places)
    threads, numbers = np.unique(columns.pid[marks].astype(np.int64) * places + columns.tid[marks], return_inverse=True)
    lanes = [
        thread_lanes.get((events.places[thread // places], events.places[thread % places]), -1)
        for thread in threads.tolist()
    ]
    identity = columns.category[marks].astype(np.int64) + 1
    identity = identity * (len(events.names) + 1) + columns.name[marks] + 1
    identity = identity * (len(events.ids) + 1) + columns.id[marks] + 1
    return FlowEvents(
        time_ns=columns.time_ns[marks],
        lane=np.array(lanes, np.int32)[numbers],
        role=role,
        to_next=(phase == ord("f")) & ~columns.to_enclosing[marks],
        bound=bound,
        key=np.where(own, identity, -2 - columns.bind_id[marks].astype(np.int64)),
        category_id=category_id,
    )


def _count_others(columns: Columns, counts: Tally[str]) -> None:
    phases, occurrences = np.unique(columns.phase, return_counts=True)
    for phase, count in zip(phases.tolist(), occurrences.tolist(), strict=True):
        letter = chr(phase)
        if letter in _OBJECTS:
            counts["object event (N, O, D)"] += count
        elif phase and letter not in _SHOWN:
            counts[f"event of phase “{letter}”"] += count
    absent = columns.phase == 0
    empty = absent & (columns.name < 0) & (columns.time_ns == UNREADABLE_TIME) & (columns.arguments_start < 0)
    counts["event without a phase"] += int(np.count_nonzero(absent & ~empty))


def _arguments(data: bytes, columns: Columns, event: NDArray[np.int64], end_event: NDArray[np.int64]) -> JsonArguments:
    ending = np.flatnonzero((end_event >= 0) & (end_event != event))
    ending = ending[columns.arguments_start[end_event[ending]] >= 0]
    ends = {
        index: (int(columns.arguments_start[last]), int(columns.arguments_length[last]))
        for index, last in zip(ending.tolist(), end_event[ending].tolist(), strict=True)
    }
    return JsonArguments(data, columns.arguments_start[event], columns.arguments_length[event], ends)
