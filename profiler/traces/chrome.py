"""Chrome trace JSON, as written by Kineto, TensorFlow's Timeline, XLA, viztracer and this package's recorder.

Format: the "Trace Event Format" of the Catapult project, as its importer and Perfetto's read it. Its times are in
microseconds, possibly with decimals; they are converted to nanoseconds from the decimal text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Losses, Trace
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
from stepscope.profiler.traces.chrome_arguments import (
    MOST_ARGUMENT_BYTES,
    MOST_DECODED_BYTES,
    BesideEvents,
    arguments_of,
    gather_arguments,
)
from stepscope.profiler.traces.chrome_counters import counter_marks, number_of, read_counters
from stepscope.profiler.traces.chrome_events import Columns, Events, scan_events
from stepscope.profiler.traces.chrome_flows import ends_of_no_launch, flow_events, flow_marks
from stepscope.profiler.traces.chrome_slices import INSTANTS, event_text, find_slices, letters
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.flows import NO_START, join_flows
from stepscope.profiler.traces.json_scan import Buffer, skip_space, skip_value
from stepscope.profiler.traces.json_values import UNREADABLE_TIME, decode_json
from stepscope.profiler.traces.lanes import LANE_KINDS, ThreadNames, order_and_name, process_names
from stepscope.profiler.traces.limits import Limits
from stepscope.profiler.traces.losses import ARGUMENTS, NO_EVENT, LossTally, merged
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.samples import StackFrames, samples_of, slices_of_samples, stacks_of_events, with_slices
from stepscope.profiler.traces.step_stats import step_stats_in
from stepscope.profiler.traces.texts import shortened
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.distinct import distinct_values

INSTANT_CATEGORY: Final = "instant"
"""Category of instant events that have none; instant events become slices of duration 0."""

_MOST_REMARKS: Final = 10
_OF_FILE: Final = frozenset({"num_cpus", "process_uptime_seconds", "trace_buffer_overflowed", "trace-config"})
"""Metadata events that describe the file rather than a thread."""
_KEPT: Final = _OF_FILE | {"stackFrames"}
"""Metadata events of which everything is kept."""
_SHOWN: Final = f"XBE{INSTANTS}bneSTpFNOD()CvstfM"
_MOST_EVENTS_OF_TENSORFLOW: Final = 1_000_000
"""TensorFlow's converter silently drops the events after this many."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHITE_SPACE: Final = b" \t\r\n"
_MOST_WHITE_SPACE: Final = 4096
"""Maximum number of bytes before the first bracket."""
_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*(?:\[|$)')
_PHASE: Final = re.compile(rb'"ph"\s*:\s*"."')
_BEFORE_EVENTS: Final = re.compile(rb'"(?:displayTimeUnit|deviceProperties|systemTraceEvents|stackFrames)"\s*:')
"""Keys that only a trace has; their values may extend past the beginning of the file, with the events after them."""


def begins_as_chrome(beginning: bytes) -> bool:
    """Return whether a file with these first bytes is a Chrome trace, rather than some other JSON."""
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
    """Read a Chrome trace: a JSON object with ``traceEvents``, or a bare array of events.

    Truncated or damaged data is read as far as possible, and `Trace.losses` reports where. ``name`` is used in
    messages; ``notes`` precede the losses' own notes, as do the notes on events beyond ``most_events``. Raises
    `TraceError` for JSON without events.
    """
    buffer = np.frombuffer(data, np.uint8)
    position = skip_space(buffer, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    metadata: dict[str, Any] = {}
    tally = LossTally()
    beside = BesideEvents(tally)
    bare = data[position : position + 1] == b"["
    if bare:
        events = scan_events(buffer, position + 1, tally, most_events)
    else:
        found, position = _read_keys(data, buffer, position + 1, metadata, beside)
        if not found:
            raise TraceError(
                f"{name} is JSON without trace events. Expected an object with the key “traceEvents”, or an "
                "array of events. Check that it is the trace itself and not a report about one."
            )
        if data[position : position + 1] != b"[":
            raise TraceError(f"In {name} “traceEvents” is not an array. Expected the array of the trace's events.")
        events = scan_events(buffer, position + 1, tally, most_events)
        if not events.truncated and not events.unread:
            _, position = _read_keys(data, buffer, events.end, metadata, beside)
            if data[position : position + 1] != b"}":
                notes += (f"everything after byte {position} of {len(data)} is unreadable",)
    only_foreign = len(events.foreign) > 0 and not _any_event(events)
    if only_foreign or (events.unreadable and not len(events.columns.phase) and not events.truncated):
        raise TraceError(
            f"{name} is a JSON array, but not of trace events. Expected objects with “ph”, “ts” and “name”."
        )
    return _build(data, events, metadata, beside, tally, (*notes, *_notes(events, len(data), bare=bare)), most_events)


def _any_event(events: Events) -> bool:
    columns = events.columns
    return bool(((columns.phase > 0) | (columns.name >= 0) | (columns.time_ns != UNREADABLE_TIME)).any())


def _read_keys(
    data: bytes, buffer: Buffer, position: int, metadata: dict[str, Any], beside: BesideEvents
) -> tuple[bool, int]:
    """Read keys of the outer object into ``metadata`` up to ``traceEvents``; return whether it was found, and where."""
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
        begin, position = position, skip_value(buffer, value)
        if position < 0:
            return False, value
        if beside.has_room(data, begin, position, key):
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


def _build(
    data: bytes,
    events: Events,
    metadata: dict[str, Any],
    beside: BesideEvents,
    tally: LossTally,
    notes: tuple[str, ...],
    most_events: int,
) -> Trace:
    tally.add("unreadable event", events.unreadable, f"at byte {events.first_unreadable}")
    _count_others(events, tally)
    _count_long_arguments(events, tally)
    thread_names = _read_names(data, events, metadata, beside, tally)
    frames = StackFrames(metadata.get("stackFrames"), tally)
    room = max(0, most_events - len(events.columns.phase))
    samples, used = samples_of(data, events, metadata, frames, tally, _nanoseconds_of, room)
    events = with_slices(events, slices_of_samples(samples, tally, room), used)
    columns = events.columns
    names = [*events.names, ""]
    categories = [*events.categories, "", INSTANT_CATEGORY]
    found = find_slices(events, tally)
    category = columns.category[found.event]
    instant = np.isin(columns.phase[found.event], letters(INSTANTS + "nTp"))
    category = np.where(category >= 0, category, np.where(instant, len(categories) - 1, len(categories) - 2))
    own_name = columns.name[found.event]

    of_counters = counter_marks(events)
    pids = [events.places[pid] for pid in distinct_values(columns.pid[of_counters]).tolist()]
    processes = process_names({key.pid for key in found.threads} | set(pids), thread_names)
    order, lanes = order_and_name(
        found.threads,
        _categories_by_thread(found.thread, category, categories, len(found.threads)),
        thread_names,
        processes,
    )
    lane_of = np.empty(len(order), np.int32)
    lane_of[order] = np.arange(len(order), dtype=np.int32)
    name_id, kept_names = intern_used(np.where(own_name >= 0, own_name, len(names) - 1).astype(np.int32), names)
    marks = flow_marks(columns)
    flow_category = columns.category[marks]
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
    of_flows = flow_events(events, marks, thread_lanes, slice_of_event, all_categories[len(category) :])
    flows, in_vain = join_flows(
        of_flows, arranged.columns, rows_of(arranged.columns.lane, arranged.depth, arranged.lanes)
    )
    meaningless = ends_of_no_launch(of_flows, arranged.lanes, kept_categories)
    for unjoined in in_vain:
        lost = unjoined.events[~meaningless[unjoined.events]] if unjoined.reason == NO_START else unjoined.events
        if len(lost):
            tally.add(unjoined.reason, len(lost), event_text(events, int(marks[lost[0]])))
    stack_of_event = stacks_of_events(data, events, frames)
    stack_of = None if stack_of_event is None else lambda index: stack_of_event(int(event[index]))
    counters = read_counters(data, events, of_counters, processes, tally)
    arguments = gather_arguments(data, columns, event, found.other_event[arranged.order], stack_of)
    return assemble(
        arranged,
        names=kept_names,
        categories=kept_categories,
        arguments=arguments,
        flows=flows,
        counters=counters,
        steps=find_steps(arranged.columns, kept_names, arranged.lanes, arguments),
        losses=merged(Losses(notes=(*notes, *_producer_notes(metadata, len(found.event)))), tally.losses()),
        metadata=metadata,
        epoch_ns=_epoch_ns(metadata, columns),
    )


def _nanoseconds_of(value: object) -> int:
    """Convert a time in microseconds, as JSON holds it, to nanoseconds; return `UNREADABLE_TIME` for anything else."""
    number = number_of(value)
    return UNREADABLE_TIME if number is None or abs(number) > LATEST_NS / 1e3 else round(number * 1000)


def _epoch_ns(metadata: Mapping[str, Any], columns: Columns) -> int | None:
    """Wall time of time 0: what the file says, else 0 where its times are those of a clock that began in 1970."""
    timed = columns.time_ns[(columns.time_ns != UNREADABLE_TIME) & np.isin(columns.phase, letters("XBiC"))]
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
    """Yield what the program that wrote the file reports about its completeness."""
    of_viztracer = metadata.get("viztracer_metadata")
    if isinstance(of_viztracer, dict) and of_viztracer.get("overflow"):
        yield "viztracer's buffer was full: the earliest events are missing (record with larger tracer_entries)"
    own = metadata.get("metadata")
    if slices == _MOST_EVENTS_OF_TENSORFLOW and isinstance(own, dict) and "highres-ticks" in own:
        yield "the file has exactly 1,000,000 events, after which TensorFlow leaves out the rest (open the .xplane.pb)"
    for level in ("ERROR", "WARNING"):
        said = metadata.get(level)
        if isinstance(said, list):
            yield from (f"message from the profiler: {text}" for text in said[:_MOST_REMARKS])
    overflowed = metadata.get("trace_buffer_overflowed")
    if overflowed:
        yield "the buffer of the tracer was full: events are missing"


def _categories_by_thread(
    thread: NDArray[np.int64], category: NDArray[np.int32], categories: list[str], threads: int
) -> list[set[str]]:
    found: list[set[str]] = [set() for _ in range(threads)]
    for pair in distinct_values(thread * len(categories) + category).tolist():
        found[pair // len(categories)].add(categories[pair % len(categories)])
    return found


def _read_names(
    data: bytes, events: Events, metadata: dict[str, Any], beside: BesideEvents, tally: LossTally
) -> ThreadNames:
    """Return the names of processes and threads; metadata events about the whole file go into ``metadata``."""
    columns = events.columns
    names = ThreadNames()
    for event in np.flatnonzero(columns.phase == ord("M")).tolist():
        what = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        begin, length = int(columns.arguments_start[event]), int(columns.arguments_length[event])
        if what in _KEPT and not beside.has_room(data, begin, begin + length, what):
            continue
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
            if (kind := arguments.get("kind")) in LANE_KINDS:
                names.thread_kinds[thread] = kind
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
            tally.add(f"metadata event “{what}”", 1, event_text(events, event))
    return names


def _count_long_arguments(events: Events, tally: LossTally) -> None:
    """Count the arguments of which only the beginning is read."""
    columns = events.columns
    whole = np.isin(columns.phase, letters("MP"))
    long = np.flatnonzero(columns.arguments_length > np.where(whole, MOST_DECODED_BYTES, MOST_ARGUMENT_BYTES))
    if len(long):
        tally.add(ARGUMENTS, len(long), event_text(events, int(long[0])))


def _count_others(events: Events, tally: LossTally) -> None:
    columns = events.columns
    for phase in distinct_values(columns.phase).tolist():
        letter = chr(phase)
        if phase and letter not in _SHOWN:
            those = np.flatnonzero(columns.phase == phase)
            tally.add(f"event of phase “{letter}”", len(those), event_text(events, int(those[0])))
    absent = columns.phase == 0
    empty = absent & (columns.name < 0) & (columns.time_ns == UNREADABLE_TIME) & (columns.arguments_start < 0)
    absent[np.array(events.foreign, np.int64)] = False
    if len(events.foreign):
        tally.add(NO_EVENT, len(events.foreign), f"element {events.foreign[0]} of the array")
    nameless = np.flatnonzero(absent & ~empty)
    if len(nameless):
        tally.add("event without a phase", len(nameless), event_text(events, int(nameless[0])))


def _read(data: bytes, name: str, notes: tuple[str, ...], limits: Limits) -> Trace | None:
    # A binary message may begin with a line feed, followed by bytes that look like JSON.
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
