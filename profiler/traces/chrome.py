"""Chrome trace JSON: what Kineto, TensorFlow's Timeline, XLA, viztracer and this package's recorder write.

Format: "Trace Event Format" of the Catapult project, as its importer and Perfetto's read it. Times there are
microseconds, possibly with decimals; here they are converted to nanoseconds from the decimal text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Losses, Trace
from stepscope.profiler.traces import flows as flow_roles
from stepscope.profiler.traces.build import (
    EARLIEST_WALL_NS,
    LATEST_NS,
    RawSlices,
    arrange,
    assemble,
    find_steps,
    intern_used,
    rows_of,
)
from stepscope.profiler.traces.chrome_counters import number_of, read_counters
from stepscope.profiler.traces.chrome_events import (
    ASYNCHRONOUS,
    CONTEXTS,
    MOST_ARGUMENT_BYTES,
    MOST_DECODED_BYTES,
    OBJECTS,
    Columns,
    Events,
    OperationPhases,
    arguments_of,
    decode_json,
    gather_arguments,
    pair_asynchronous,
    pair_nested,
    scan_events,
)
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.flows import FlowEvents, join_flows
from stepscope.profiler.traces.json_scan import Buffer, skip_space, skip_value
from stepscope.profiler.traces.json_values import UNREADABLE_TIME
from stepscope.profiler.traces.lanes import ThreadKey, ThreadNames, order_and_name
from stepscope.profiler.traces.limits import Limits
from stepscope.profiler.traces.losses import ARGUMENTS, BESIDE, NO_EVENT, LossTally, merged, moment
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.samples import StackFrames, samples_of, slices_of_samples, stacks_of_events, with_slices
from stepscope.profiler.traces.step_stats import step_stats_in
from stepscope.profiler.traces.texts import shortened
from stepscope.summary.cancellation import check_cancelled

INSTANT_CATEGORY: Final = "instant"
"""Category of instant events that name none; they are slices of duration 0."""

_INSTANTS: Final = "iIRcPV"
_MOST_REMARKS: Final = 10
_OF_FILE: Final = frozenset({"num_cpus", "process_uptime_seconds", "trace_buffer_overflowed", "trace-config"})
"""Metadata events that say something about the file and not about a thread."""
_SHOWN: Final = f"XBE{_INSTANTS}bneSTpFNOD()CvstfM"
_PLACED: Final = f"XBE{_INSTANTS}bneSTpFNOD()Cvstf"
"""Phases of events that have a time."""
_MOST_EVENTS_OF_TENSORFLOW: Final = 1_000_000
"""TensorFlow's converter leaves out what comes after so many, and does not say so."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHITE_SPACE: Final = b" \t\r\n"
_MOST_WHITE_SPACE: Final = 4096
"""Bytes before the first bracket."""
_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*(?:\[|$)')
_PHASE: Final = re.compile(rb'"ph"\s*:\s*"."')
_BEFORE_EVENTS: Final = re.compile(rb'"(?:displayTimeUnit|deviceProperties|systemTraceEvents|stackFrames)"\s*:')
"""Keys that only a trace has; what they hold may be longer than the beginning, with the events after it."""


def begins_as_chrome(beginning: bytes) -> bool:
    """Return whether a file whose first bytes these are is a Chrome trace, rather than some other JSON."""
    text = beginning.removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITE_SPACE)
    if text[:1] == b"[":
        return _PHASE.search(text) is not None
    return text[:1] == b"{" and (_EVENTS.search(text) is not None or _BEFORE_EVENTS.search(text) is not None)


def looks_like_json(data: bytes) -> bool:
    """Return whether a file that begins with these bytes may be JSON."""
    start = data[: _MOST_WHITE_SPACE + 3].removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITE_SPACE)
    following = start[1:].lstrip(_WHITE_SPACE)[:1]
    return (start[:1] == b"{" and following in (b'"', b"}", b"")) or start[:1] == b"["


def read_chrome(data: bytes, *, name: str, notes: tuple[str, ...] = (), most_events: int = 1 << 62) -> Trace:
    """Read a Chrome trace: a JSON object with ``traceEvents``, or the bare array of events.

    Data that ends early or is damaged is read as far as it goes, and `Trace.losses` says where. ``name`` is
    for messages; ``notes`` are put before the losses' own; so are those of events beyond ``most_events``. Raises
    `TraceError` for JSON that holds no events.
    """
    buffer = np.frombuffer(data, np.uint8)
    position = skip_space(buffer, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    metadata: dict[str, Any] = {}
    tally = LossTally()
    bare = data[position : position + 1] == b"["
    if bare:
        events = scan_events(buffer, position + 1, tally, most_events)
    else:
        found, position = _read_keys(data, buffer, position + 1, metadata, tally)
        if not found:
            raise TraceError(
                f"{name} is JSON without trace events. Expected an object with the key “traceEvents”, or an "
                "array of events. Check that it is the trace itself and not a report about one."
            )
        if data[position : position + 1] != b"[":
            raise TraceError(f"In {name} “traceEvents” is not an array. Expected the array of the trace's events.")
        events = scan_events(buffer, position + 1, tally, most_events)
        if not events.truncated and not events.unread:
            _, position = _read_keys(data, buffer, events.end, metadata, tally)
            if data[position : position + 1] != b"}":
                notes += (f"what follows byte {position} of {len(data)} cannot be read",)
    only_foreign = len(events.foreign) > 0 and not _any_event(events)
    if only_foreign or (events.unreadable and not len(events.columns.phase) and not events.truncated):
        raise TraceError(f"{name} is a JSON array of something else. Expected objects with “ph”, “ts” and “name”.")
    return _build(data, events, metadata, tally, (*notes, *_notes(events, len(data), bare=bare)))


def _any_event(events: Events) -> bool:
    columns = events.columns
    return bool(((columns.phase > 0) | (columns.name >= 0) | (columns.time_ns != UNREADABLE_TIME)).any())


def _read_keys(
    data: bytes, buffer: Buffer, position: int, metadata: dict[str, Any], tally: LossTally
) -> tuple[bool, int]:
    """Read keys of the outer object into ``metadata`` up to ``traceEvents``: whether that came, and where."""
    while True:
        check_cancelled()
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
        key = shortened(str(decode_json(data[position : min(key_end, position + MOST_DECODED_BYTES)])))
        if key == "traceEvents":
            return True, value
        position = skip_value(buffer, value)
        if position < 0:
            return False, value
        if position - value > MOST_DECODED_BYTES:
            tally.add(BESIDE, 1, f"“{key}”, {position - value:,} bytes")
        else:
            metadata[key] = decode_json(data[value:position])


def _notes(events: Events, size: int, *, bare: bool) -> tuple[str, ...]:
    notes = []
    if events.unreadable:
        notes.append(f"the first unreadable event is at byte {events.first_unreadable}")
    if events.unread:
        notes.append(
            f"only the first {len(events.columns.phase):,} events were read, up to byte {events.end} of {size}: "
            "there is no memory for more"
        )
    if events.truncated and (events.end < size or not bare):
        notes.append(f"the file ends early: nothing was read from byte {events.end} of {size}")
    return tuple(notes)


@dataclass(frozen=True)
class _Found:
    """Slices of a file: their columns, the event each begins with, and another one whose arguments are its too."""

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    thread: NDArray[np.int64]
    """Index into ``threads``."""
    event: NDArray[np.int64]
    other_event: NDArray[np.int64]
    """The end event, or the snapshot of an object; -1 for none."""
    threads: list[ThreadKey]


def _letters(phases: str) -> NDArray[np.uint8]:
    return np.frombuffer(phases.encode(), np.uint8)


def _build(data: bytes, events: Events, metadata: dict[str, Any], tally: LossTally, notes: tuple[str, ...]) -> Trace:
    tally.add("unreadable event", events.unreadable, f"at byte {events.first_unreadable}")
    _count_others(events, tally)
    _count_long_arguments(events, tally)
    thread_names = _read_names(data, events, metadata, tally)
    frames = StackFrames(metadata.get("stackFrames"), tally)
    samples, used = samples_of(data, events, metadata, frames, tally, _nanoseconds_of)
    events = with_slices(events, slices_of_samples(samples), used)
    columns = events.columns
    names = [*events.names, ""]
    categories = [*events.categories, "", INSTANT_CATEGORY]
    found = _find_slices(events, tally)
    category = columns.category[found.event]
    instant = np.isin(columns.phase[found.event], _letters(_INSTANTS + "nTp"))
    category = np.where(category >= 0, category, np.where(instant, len(categories) - 1, len(categories) - 2))
    own_name = columns.name[found.event]

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
    for unjoined in in_vain:
        tally.add(unjoined.reason, unjoined.events, _event_text(events, int(flow_marks[unjoined.first])))
    stack_of_event = stacks_of_events(data, events, frames)
    stack_of = None if stack_of_event is None else lambda index: stack_of_event(int(event[index]))
    counters = read_counters(data, events, thread_names, tally)
    return assemble(
        arranged,
        names=kept_names,
        categories=kept_categories,
        arguments=gather_arguments(data, columns, event, found.other_event[arranged.order], stack_of),
        flows=flows,
        counters=counters,
        steps=find_steps(arranged.columns, kept_names, arranged.lanes),
        losses=merged(Losses(notes=(*notes, *_producer_notes(metadata, len(found.event)))), tally.losses()),
        metadata=metadata,
        epoch_ns=_epoch_ns(metadata, columns),
    )


def _event_text(events: Events, event: int) -> str:
    """Return an event as the example of a loss."""
    columns = events.columns
    name = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
    place = f"process {events.places[columns.pid[event]]}, thread {events.places[columns.tid[event]]}"
    time = int(columns.time_ns[event])
    when = "" if time == UNREADABLE_TIME else f" at {moment(time)}"
    return f"“{name}” of {place}{when} (event {event} of the file)"


def _nanoseconds_of(value: object) -> int:
    """Return a time in microseconds, as JSON holds it, in nanoseconds; `UNREADABLE_TIME` for anything else."""
    number = number_of(value)
    return UNREADABLE_TIME if number is None or abs(number) > LATEST_NS / 1e3 else round(number * 1000)


def _epoch_ns(metadata: Mapping[str, Any], columns: Columns) -> int | None:
    """Wall time of time 0: what the file says, else 0 where its times are those of a clock that began in 1970."""
    timed = columns.time_ns[(columns.time_ns != UNREADABLE_TIME) & np.isin(columns.phase, _letters("XBiC"))]
    if timed.size and timed.min() > EARLIEST_WALL_NS:
        return 0
    of_viztracer = metadata.get("viztracer_metadata")
    base = metadata.get("baseTimeNanoseconds")
    if base is None and isinstance(of_viztracer, dict):
        base = of_viztracer.get("baseTimeNanoseconds")
    number = number_of(base)
    if number is None or not 0 <= number <= LATEST_NS:
        return None
    return base if isinstance(base, int) else round(number)


def _producer_notes(metadata: Mapping[str, Any], slices: int) -> Iterator[str]:
    """Yield what the program that wrote the file says about its completeness."""
    of_viztracer = metadata.get("viztracer_metadata")
    if isinstance(of_viztracer, dict) and of_viztracer.get("overflow"):
        yield "viztracer's buffer was full: the earliest events are missing (record with larger tracer_entries)"
    own = metadata.get("metadata")
    if slices == _MOST_EVENTS_OF_TENSORFLOW and isinstance(own, dict) and "highres-ticks" in own:
        yield "the file has exactly 1,000,000 events, after which TensorFlow leaves out the rest (open the .xplane.pb)"
    for level in ("ERROR", "WARNING"):
        said = metadata.get(level)
        if isinstance(said, list):
            yield from (f"the profiler said: {text}" for text in said[:_MOST_REMARKS])
    overflowed = metadata.get("trace_buffer_overflowed")
    if overflowed:
        yield "the buffer of the tracer was full: events are missing"


def _find_slices(events: Events, tally: LossTally) -> _Found:
    columns = events.columns
    readable = columns.time_ns != UNREADABLE_TIME
    thread = columns.pid.astype(np.int64) * len(events.places) + columns.tid
    complete = np.flatnonzero((columns.phase == ord("X")) & readable)
    instants = np.flatnonzero(np.isin(columns.phase, _letters(_INSTANTS)) & readable)
    pairs = pair_nested(columns, thread)
    sorts = [(phases, pair_asynchronous(columns, phases)) for phases in (ASYNCHRONOUS, OBJECTS, CONTEXTS)]
    for in_vain in (pairs.in_vain, *(operations.in_vain for _, operations in sorts)):
        for reason, found in in_vain.items():
            tally.add(reason, len(found), _event_text(events, found[0]) if found else "")
    untimed = np.flatnonzero(np.isin(columns.phase, _letters(_PLACED)) & ~readable)
    lasting = columns.duration_ns[complete]
    endless = complete[lasting == UNREADABLE_TIME]
    for reason, lost in (
        ("event without a readable time", untimed),
        ("complete event without a readable duration", endless),
    ):
        if len(lost):
            tally.add(reason, len(lost), _event_text(events, int(lost[0])))
    lasting = np.where(lasting == UNREADABLE_TIME, 0, lasting)
    begins = [begin for _, operations in sorts for begin in operations.begin]
    ends = [end for _, operations in sorts for end in operations.end]
    described_by = [event for _, operations in sorts for event in operations.described_by]

    event = np.concatenate([complete, instants, pairs.begin, begins]).astype(np.int64)
    none = np.full(len(complete) + len(instants), -1, np.int64)
    end_event = np.concatenate([none, pairs.end, ends]).astype(np.int64)
    start = columns.time_ns[event]
    duration = np.zeros(len(event), np.int64)
    duration[: len(complete)] = lasting
    ended = end_event >= 0
    duration[ended] = columns.time_ns[end_event[ended]] - start[ended]
    # States of threads are written as moments that last.
    lasting_moments = (columns.phase[event] == ord("T")) & (columns.duration_ns[event] != UNREADABLE_TIME)
    duration[lasting_moments] = columns.duration_ns[event[lasting_moments]]
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
    for phases, operations in sorts:
        for root in operations.root:
            key = _operation_key(events, phases, root)
            asynchronous.append(numbers_of.setdefault(key, len(numbers_of)))
    known = np.array([numbers_of[key] for key in threads], np.int64)
    return _Found(
        start,
        duration,
        np.concatenate([known[numbers], asynchronous]).astype(np.int64),
        event,
        np.concatenate([none, pairs.end, described_by]).astype(np.int64),
        list(numbers_of),
    )


def _operation_key(events: Events, phases: OperationPhases, root: int) -> ThreadKey:
    columns = events.columns
    pid = events.places[columns.pid[root]]
    category = events.categories[columns.category[root]] if columns.category[root] >= 0 else ""
    if phases.lane:
        lane = f"{category} {phases.lane}".strip()
        return ThreadKey(pid, lane, lane)
    name = events.names[columns.name[root]] if columns.name[root] >= 0 else ""
    return ThreadKey(pid, category or pid, name or category or "asynchronous operations")


def _categories_by_thread(
    thread: NDArray[np.int64], category: NDArray[np.int32], categories: list[str], threads: int
) -> list[set[str]]:
    found: list[set[str]] = [set() for _ in range(threads)]
    for pair in np.unique(thread * len(categories) + category).tolist():
        found[pair // len(categories)].add(categories[pair % len(categories)])
    return found


def _read_names(data: bytes, events: Events, metadata: dict[str, Any], tally: LossTally) -> ThreadNames:
    """Return names of processes and threads; what metadata events say about the whole file goes into ``metadata``."""
    columns = events.columns
    names = ThreadNames()
    for event in np.flatnonzero(columns.phase == ord("M")).tolist():
        what = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        arguments = arguments_of(data, columns, event)
        pid = events.places[columns.pid[event]]
        thread = (pid, events.places[columns.tid[event]])
        if what == "process_name":
            names.process_names[pid] = str(arguments.get("name", "")).strip()
        elif what == "process_labels":
            names.process_labels[pid] = str(arguments.get("labels", "")).strip()
        elif what == "process_sort_index":
            names.process_sort[pid] = number_of(arguments.get("sort_index")) or 0
        elif what == "thread_name":
            names.thread_names[thread] = str(arguments.get("name", "")).strip()
        elif what == "thread_sort_index":
            names.thread_sort[thread] = number_of(arguments.get("sort_index")) or 0
        elif what == "stackFrames":
            frames = arguments.get("stackFrames")
            known = metadata.setdefault("stackFrames", {})
            if isinstance(frames, dict) and isinstance(known, dict):
                known.update(frames)
        elif what in _OF_FILE:
            metadata.setdefault(what, next(iter(arguments.values()), None))
        else:
            tally.add(f"metadata event “{what}”", 1, _event_text(events, event))
    return names


def _flow_marks(columns: Columns) -> NDArray[np.int64]:
    """Return events that take part in flows, those of slices with a ``bind_id`` last."""
    readable = columns.time_ns != UNREADABLE_TIME
    own = np.isin(columns.phase, np.frombuffer(b"stf", np.uint8)) & readable
    bound = (columns.bind_id >= 0) & (columns.flow_in | columns.flow_out) & readable & ~own
    return np.concatenate([np.flatnonzero(own), np.flatnonzero(bound)])


def _slice_written_before(columns: Columns, marks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the event of the slice that a flow event was written right after, else the flow event itself.

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


def _count_long_arguments(events: Events, tally: LossTally) -> None:
    """Count the arguments of which only the beginning is looked at."""
    columns = events.columns
    whole = np.isin(columns.phase, _letters("MP"))
    long = np.flatnonzero(columns.arguments_length > np.where(whole, MOST_DECODED_BYTES, MOST_ARGUMENT_BYTES))
    if len(long):
        tally.add(ARGUMENTS, len(long), _event_text(events, int(long[0])))


def _count_others(events: Events, tally: LossTally) -> None:
    columns = events.columns
    for phase in np.unique(columns.phase).tolist():
        letter = chr(phase)
        if phase and letter not in _SHOWN:
            those = np.flatnonzero(columns.phase == phase)
            tally.add(f"event of phase “{letter}”", len(those), _event_text(events, int(those[0])))
    absent = columns.phase == 0
    empty = absent & (columns.name < 0) & (columns.time_ns == UNREADABLE_TIME) & (columns.arguments_start < 0)
    absent[np.array(events.foreign, np.int64)] = False
    if len(events.foreign):
        tally.add(NO_EVENT, len(events.foreign), f"element {events.foreign[0]} of the array")
    nameless = np.flatnonzero(absent & ~empty)
    if len(nameless):
        tally.add("event without a phase", len(nameless), _event_text(events, int(nameless[0])))


def _read(data: bytes, name: str, notes: tuple[str, ...], limits: Limits) -> Trace | None:
    # A binary message may begin with a line feed, and then with what looks like JSON.
    if data[:1] == b"\n" and step_stats_in(data, name, limits) is not None:
        return None
    return read_chrome(data, name=name, notes=notes, most_events=limits.events)


READER: Final = TraceReader(
    name="chrome",
    about="a Chrome trace (JSON)",
    sniff=begins_as_chrome,
    read=_read,
    # Also matches what PyTorch's profiler writes, ``*.pt.trace.json[.gz]``.
    suffixes=(".trace.json", ".trace.json.gz", ".trace.json.zst"),
    endings=(".json", ".json.gz", ".json.zst"),
    accepts=looks_like_json,
    reads_beginning=True,
)
