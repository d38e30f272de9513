"""The events of a Chrome trace as columns, and the pairs among them."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces import json_scan
from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS, LONGEST_NS
from stepscope.profiler.traces.json_scan import Buffer, Spans
from stepscope.profiler.traces.json_values import UNREADABLE_TIME, Interner, nanoseconds
from stepscope.profiler.traces.losses import TEXT, LossTally
from stepscope.profiler.traces.texts import MOST_CHARACTERS, marked
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel
from stepscope.summary.records import crc32c

MOST_ARGUMENT_BYTES: Final = 1 << 20
"""Of the arguments of a slice."""
MOST_DECODED_BYTES: Final = 64 << 20
"""Of JSON that is decoded at once: that of an event that holds samples or stack frames, or a key beside the events."""
_MOST_TEXT_BYTES: Final = 6 * MOST_CHARACTERS
"""An escaped character has six bytes."""
_BATCH: Final = 1 << 16
_EARLY_NS: Final = 1_000
"""How long before the making of an object its snapshot may come: TensorFlow's Timeline dates the snapshot a microsecond
before the end of the operation, which may have taken no time at all."""


class Columns(NamedTuple):
    """One entry per event, in the order of the file.

    Identifiers are numbers of texts, -1 where there is none.
    """

    phase: NDArray[np.uint8]
    """The letter of ``ph``, 0 where it is not a single letter."""
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    time_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    id: NDArray[np.int32]
    bind_id: NDArray[np.int32]
    arguments_start: NDArray[np.int64]
    arguments_length: NDArray[np.int64]
    stack_frame: NDArray[np.int32]
    """Number of the stack frame that the event began in."""
    to_enclosing: NDArray[np.bool_]
    """Whether ``bp`` is "e"."""
    flow_in: NDArray[np.bool_]
    flow_out: NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """All events of a trace with their texts, and how the scan of them went."""

    columns: Columns
    names: list[str]
    categories: list[str]
    places: list[str]
    """Texts of process and thread identifiers."""
    ids: Sequence[str]
    frames: list[str]
    """Texts of the numbers of stack frames."""
    stacks: Mapping[int, tuple[int, int]]
    """Start and length of the list of frames of events that have one of their own."""
    unreadable: int
    first_unreadable: int
    end: int
    """Offset at which the scan ended."""
    truncated: bool
    unread: bool
    """Whether there are more events than were to be read."""
    foreign: Sequence[int]
    """Objects that have other keys than "ph", "name" and "ts", and none of these."""


class JsonArguments:
    """Arguments as JSON texts one after the other, decoded for one slice at a time.

    ``offsets`` is int64 ``[slices + 1]``: the text of slice i is ``texts[offsets[i]:offsets[i + 1]]``, which is empty
    for a slice without arguments. ``stack_of`` gives the frames that a slice was called in, the outermost first.
    """

    def __init__(
        self, texts: Buffer, offsets: NDArray[np.int64], stack_of: Callable[[int], Sequence[str]] | None = None
    ) -> None:
        self.texts: Final = texts
        self.offsets: Final = offsets
        self._stack_of = stack_of

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        text = self.texts[int(self.offsets[slice_index]) : int(self.offsets[slice_index + 1])].tobytes()
        arguments = _decoded(text) if text else {}
        if self._stack_of is not None and (stack := self._stack_of(slice_index)):
            arguments.setdefault("stack", list(stack))
        return arguments


@kernel()
def _has_keys(buffer: Buffer, start: int, length: int) -> bool:
    """Return whether a JSON text is an object with at least one key."""
    if start < 0 or length < 2 or buffer[start] != 123 or buffer[start + length - 1] != 125:
        return False
    position = start + 1
    while position < start + length - 1 and buffer[position] <= 32:
        position += 1
    return position < start + length - 1


@kernel()
def _gathered(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    more_starts: NDArray[np.int64],
    more_lengths: NDArray[np.int64],
    texts: Buffer,
) -> NDArray[np.int64]:
    """Return offsets of the texts of slices; they are copied if ``texts`` has room for any.

    A slice whose end event has arguments too gets one object of both: the brackets between them become a comma.
    """
    offsets = np.zeros(starts.size + 1, np.int64)
    copies = texts.size > 0
    for index in range(starts.size):
        at = offsets[index]
        start = starts[index]
        length = lengths[index] if start >= 0 else 0
        more = more_starts[index]
        if _has_keys(buffer, more, more_lengths[index]):
            if not _has_keys(buffer, start, length) and (length == 0 or buffer[start] == 123):
                start = more
                length = more_lengths[index]
            elif buffer[start] == 123:
                if copies:
                    # Byte by byte: texts are short, and assigning slices takes longer than the copy.
                    for byte in range(length - 1):
                        texts[at + byte] = buffer[start + byte]
                    texts[at + length - 1] = 44
                at += length
                start = more + 1
                length = more_lengths[index] - 1
        if copies:
            for byte in range(length):
                texts[at + byte] = buffer[start + byte]
        offsets[index + 1] = at + length
    return offsets


def gather_arguments(
    data: bytes,
    columns: Columns,
    event: NDArray[np.int64],
    end_event: NDArray[np.int64],
    stack_of: Callable[[int], Sequence[str]] | None,
) -> JsonArguments:
    """Return the arguments of slices, without the rest of the file, by the events that begin and end them (-1 for
    none).
    """
    buffer = np.frombuffer(data, np.uint8)
    ending = (end_event >= 0) & (end_event != event)
    # What is longer is cut, and shown as the text that it is then.
    spans = (
        columns.arguments_start[event],
        np.minimum(columns.arguments_length[event], MOST_ARGUMENT_BYTES),
        np.where(ending, columns.arguments_start[end_event], -1),
        np.where(ending, np.minimum(columns.arguments_length[end_event], MOST_ARGUMENT_BYTES), 0),
    )
    offsets = _gathered(buffer, *spans, np.empty(0, np.uint8))
    texts = np.empty(int(offsets[-1]), np.uint8)
    if texts.size:
        _gathered(buffer, *spans, texts)
    return JsonArguments(texts, offsets, stack_of)


def _decoded(text: bytes) -> dict[str, Any]:
    """Return the value of ``args``; what is not a JSON object comes under the key "args"."""
    value = decode_json(text)
    if isinstance(value, dict):
        return value
    return {"args": text.decode(errors="replace") if value is None else value}


def arguments_of(data: bytes, columns: Columns, event: int) -> dict[str, Any]:
    """Return the arguments of an event."""
    start = int(columns.arguments_start[event])
    length = min(int(columns.arguments_length[event]), MOST_DECODED_BYTES)
    return {} if start < 0 else _decoded(data[start : start + length])


def decode_json(text: bytes) -> Any:
    """Return a JSON value, also with control characters in strings, NaN and Infinity.

    None where the text is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def scan_events(buffer: Buffer, position: int, tally: LossTally, most: int) -> Events:
    """Read the elements of the array that begins at ``position``, after its bracket; ``most`` of them or a few more.

    Texts that are cut are counted in ``tally``.
    """
    names, categories, places, ids, frames = (Interner(buffer) for _ in range(5))
    spans = Spans(
        np.empty((len(json_scan.FIELDS), _BATCH), np.int64),
        np.empty((len(json_scan.FIELDS), _BATCH), np.int64),
    )
    batches: list[Columns] = []
    stacks: dict[int, tuple[int, int]] = {}
    foreign: list[int] = []
    scanned = 0
    reread, ended, unreadable, first_unreadable = 0, 0, 0, -1
    while ended == 0 and scanned < most:
        check_cancelled()
        progress = json_scan.scan_batch(buffer, position, reread, spans)
        position, reread, ended = progress.position, progress.reread, progress.ended
        if not unreadable:
            first_unreadable = progress.first_unreadable
        unreadable += progress.unreadable
        batch = Spans(spans.starts[:, : progress.events], spans.lengths[:, : progress.events])
        for event in np.flatnonzero(batch.starts[json_scan.STACK] >= 0).tolist():
            place = int(batch.starts[json_scan.STACK][event]), int(batch.lengths[json_scan.STACK][event])
            stacks[scanned + event] = place
        is_none = batch.lengths[json_scan.PH] == -1
        is_none &= (batch.starts[json_scan.NAME] < 0) & (batch.starts[json_scan.TS] < 0)
        foreign += (scanned + np.flatnonzero(is_none)).tolist()
        scanned += progress.events
        batches.append(_columns(buffer, batch, names, categories, places, ids, frames))
    return Events(
        columns=_with_places(_joined(batches)),
        names=_texts(names, tally),
        categories=_texts(categories, tally),
        places=["0", *_texts(places, tally)],
        ids=_Texts(ids),
        frames=_texts(frames, tally),
        stacks=stacks,
        unreadable=unreadable,
        first_unreadable=first_unreadable,
        end=position,
        truncated=ended == json_scan.TRUNCATED,
        unread=ended == 0,
        foreign=foreign,
    )


def _columns(
    buffer: Buffer,
    spans: Spans,
    names: Interner,
    categories: Interner,
    places: Interner,
    ids: Interner,
    frames: Interner,
) -> Columns:
    starts, lengths = spans

    def interned(interner: Interner, field: int) -> NDArray[np.int32]:
        return interner.ids(starts[field], lengths[field])

    def begins_with(field: int, letter: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = buffer[np.maximum(starts[field], 0)] == ord(letter)
        found[starts[field] < 0] = False
        return found

    def times_between(field: int, least: int, most: int) -> NDArray[np.int64]:
        times = nanoseconds(buffer, starts[field], lengths[field])
        times[(times < least) | (times > most)] = UNREADABLE_TIME
        return times

    id_ = interned(ids, json_scan.ID)
    one_letter = lengths[json_scan.PH] == 1
    return Columns(
        phase=np.where(one_letter, buffer[np.maximum(starts[json_scan.PH], 0)], 0).astype(np.uint8),
        name=interned(names, json_scan.NAME),
        category=interned(categories, json_scan.CAT),
        time_ns=times_between(json_scan.TS, EARLIEST_NS, LATEST_NS),
        duration_ns=times_between(json_scan.DUR, -LONGEST_NS, LONGEST_NS),
        pid=interned(places, json_scan.PID),
        tid=interned(places, json_scan.TID),
        id=np.where(id_ < 0, interned(ids, json_scan.ID2), id_),
        bind_id=interned(ids, json_scan.BIND_ID),
        arguments_start=starts[json_scan.ARGS].copy(),
        arguments_length=lengths[json_scan.ARGS].copy(),
        stack_frame=interned(frames, json_scan.SF),
        to_enclosing=begins_with(json_scan.BP, "e"),
        flow_in=begins_with(json_scan.FLOW_IN, "t"),
        flow_out=begins_with(json_scan.FLOW_OUT, "t"),
    )


def _joined(batches: list[Columns]) -> Columns:
    """Return all batches as one; they are emptied column by column, so that little is in memory twice."""
    parts = [list(columns) for columns in zip(*batches, strict=True)]
    batches.clear()
    joined = []
    for column in parts:
        joined.append(np.concatenate(column))
        column.clear()
    return Columns(*joined)


def _with_places(columns: Columns) -> Columns:
    """Return a missing process is process 0, a missing thread the one that is called like its process."""
    pid = columns.pid + 1
    return columns._replace(pid=pid, tid=np.where(columns.tid < 0, pid, columns.tid + 1).astype(np.int32))


def _texts(interner: Interner, tally: LossTally) -> list[str]:
    """Return the texts of an interner, those that are long beyond any use cut."""
    texts = [_text(raw) for raw in interner.texts(_MOST_TEXT_BYTES)]
    for number in interner.longer_than(_MOST_TEXT_BYTES):
        texts[number] = marked(texts[number], interner.length(number), crc32c(interner.span(number).data))
        tally.add(TEXT, 1, texts[number])
    return texts


def _text(raw: bytes) -> str:
    if b"\\" in raw:
        try:
            return msgspec.json.decode(b'"' + raw + b'"', type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if isinstance(text := decode_json(b'"' + raw + b'"'), str):
                return text
    return raw.decode(errors="replace")


class _Texts(Sequence[str]):
    """The texts of an interner, each made when it is asked for: of the many identifiers of flows none ever is."""

    def __init__(self, interner: Interner) -> None:
        self._interner = interner

    def __len__(self) -> int:
        return len(self._interner)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return _text(self._interner.beginning(number, _MOST_TEXT_BYTES))


@kernel()
def _match_nested(
    thread: NDArray[np.int64], name: NDArray[np.int32], begins: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Per mark its end (-1 for none), whether it is an end of nothing, and whether it ends what is called otherwise."""
    end_of = np.full(thread.size, -1, np.int64)
    stack = np.empty(thread.size, np.int64)
    height = 0
    unmatched = np.zeros(thread.size, np.bool_)
    renamed = np.zeros(thread.size, np.bool_)
    for index in range(thread.size):
        if index > 0 and thread[index] != thread[index - 1]:
            height = 0
        if begins[index]:
            stack[height] = index
            height += 1
        elif height == 0:
            unmatched[index] = True
        else:
            height -= 1
            end_of[stack[height]] = index
            renamed[index] = name[index] >= 0 and name[index] != name[stack[height]]
    return end_of, unmatched, renamed


class Pairs(NamedTuple):
    """Begin events, and the end event of each, -1 where there is none."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    in_vain: Mapping[str, Sequence[int]]
    """By reason, the events that did not pair up as they should."""


def pair_nested(columns: Columns, thread: NDArray[np.int64]) -> Pairs:
    """Begin and end events (B, E): an end closes the innermost open begin of its thread."""
    marks = np.flatnonzero(
        ((columns.phase == ord("B")) | (columns.phase == ord("E"))) & (columns.time_ns != UNREADABLE_TIME)
    )
    marks = marks[np.lexsort((columns.time_ns[marks], thread[marks]))]
    begins = columns.phase[marks] == ord("B")
    end_of, unmatched, renamed = _match_nested(thread[marks], columns.name[marks], begins)
    begin = np.flatnonzero(begins)
    end = end_of[begin]
    return Pairs(
        marks[begin],
        np.where(end < 0, -1, marks[np.maximum(end, 0)] if marks.size else end),
        {
            "begin without an end": marks[begin[end < 0]].tolist(),
            "end without a begin": marks[unmatched].tolist(),
            "end with another name than its begin": marks[renamed].tolist(),
        },
    )


class Operations(NamedTuple):
    """Asynchronous operations: their begin and end events (the same for an instant, -1 for no end).

    ``root`` is the event whose name the lane of the operation carries: the outermost open one of the same id.
    """

    begin: list[int]
    end: list[int]
    root: list[int]
    described_by: list[int]
    """The event whose arguments belong to an operation beside those of its begin: its end, or its snapshot."""
    in_vain: Mapping[str, Sequence[int]]
    """By reason, the events that did not pair up."""


@dataclass(frozen=True)
class _OpenOperations:
    """Numbers of the operations of one category and id that have begun and not ended.

    Both ends of ``by_age`` are open; what was closed between them goes when it comes to an end, so that closing
    takes no search.
    """

    by_age: deque[tuple[int, int]] = field(default_factory=deque)
    """Number and name, the outermost first."""
    by_name: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    closed: set[int] = field(default_factory=set)

    def add(self, number: int, name: int) -> None:
        self.by_age.append((number, name))
        self.by_name[name].append(number)

    def innermost(self, name: int) -> int | None:
        """Return the number of the innermost one of a name, None where none is open."""
        numbers = self.by_name.get(name)
        return numbers[-1] if numbers else None

    def close(self, name: int) -> int | None:
        """Close the innermost of a name, or the innermost of all if ``name`` is -1; None where none is open."""
        if not self.by_age or (name >= 0 and not self.by_name[name]):
            return None
        number = self.by_name[name if name >= 0 else self.by_age[-1][1]].pop()
        self.closed.add(number)
        while self.by_age and self.by_age[-1][0] in self.closed:
            self.closed.remove(self.by_age.pop()[0])
        while self.by_age and self.by_age[0][0] in self.closed:
            self.closed.remove(self.by_age.popleft()[0])
        return number


@dataclass(frozen=True)
class OperationPhases:
    """The letters of one sort of operations: what begins one, marks a moment of one, and ends one."""

    begin: str
    moment: str
    end: str
    lane: str
    """What the lane of an operation is called after its category; "" for the name of the outermost operation."""
    of_process: bool
    """Whether equal identifiers in two processes are two operations."""
    unended: str
    """The reason under which what has no end is counted."""
    unbegun: str
    described: bool = False
    """Whether moments say what an operation is."""


ASYNCHRONOUS: Final = OperationPhases(
    "bS", "nTp", "eF", "", False, "asynchronous begin without an end", "asynchronous end without a begin"
)
OBJECTS: Final = OperationPhases(
    "N", "O", "D", "objects", True, "object without an end", "object deleted without being made", described=True
)
CONTEXTS: Final = OperationPhases("(", "", ")", "contexts", True, "context without an end", "context left unentered")


def pair_asynchronous(columns: Columns, phases_of: OperationPhases = ASYNCHRONOUS) -> Operations:
    """Asynchronous events (b, n, e and the older S, T, p, F): those of one category and id nest.

    An end closes the innermost open begin of its name, or the innermost if it has no name. Objects (N, O, D) and
    contexts come in the same way. The only snapshot (O) of an object is no operation of its own: it describes the
    object.
    """
    letters = np.frombuffer((phases_of.begin + phases_of.moment + phases_of.end).encode(), np.uint8)
    marks = np.flatnonzero(np.isin(columns.phase, letters) & (columns.time_ns != UNREADABLE_TIME))
    marks = marks[np.argsort(columns.time_ns[marks], kind="stable")]
    phases = columns.phase[marks].tobytes().decode()
    process = columns.pid[marks] if phases_of.of_process else np.zeros(len(marks), np.int32)
    keys = zip(process.tolist(), columns.category[marks].tolist(), columns.id[marks].tolist(), strict=True)
    open_: dict[tuple[int, int, int], _OpenOperations] = defaultdict(_OpenOperations)
    begin: list[int] = []
    end: list[int] = []
    root: list[int] = []
    snapshots: dict[int, list[int]] = defaultdict(list)
    early: dict[tuple[tuple[int, int, int], int], int] = {}
    in_vain: dict[str, list[int]] = {phases_of.unbegun: []}
    for event, phase, key in zip(marks.tolist(), phases, keys, strict=True):
        operations = open_[key]
        name = int(columns.name[event])
        if phase in phases_of.end:
            closed = operations.close(name)
            if closed is None:
                in_vain[phases_of.unbegun].append(event)
            else:
                end[closed] = event
            continue
        root.append(begin[operations.by_age[0][0]] if operations.by_age else event)
        begin.append(event)
        if phase in phases_of.begin:
            operations.add(len(begin) - 1, name)
            before = early.pop((key, name), None)
            if before is not None and columns.time_ns[event] - columns.time_ns[begin[before]] <= _EARLY_NS:
                snapshots[len(end)].append(before)
            end.append(-1)
        else:
            of = operations.innermost(name) if phases_of.described else None
            if of is not None:
                snapshots[of].append(len(end))
            elif phases_of.described:
                early[key, name] = len(end)
            end.append(event)
    in_vain[phases_of.unended] = [start for start, last in zip(begin, end, strict=True) if last < 0]
    return _described(Operations(begin, end, root, list(end), in_vain), snapshots, columns)


def _described(operations: Operations, snapshots: Mapping[int, list[int]], columns: Columns) -> Operations:
    """Return the operations without those that are the only snapshot of another one, unless its end says something
    too.
    """
    if not snapshots:
        return operations
    begin, end, root, described_by, in_vain = operations
    single = {
        moments[0]: of
        for of, moments in snapshots.items()
        if len(moments) == 1 and (end[of] < 0 or columns.arguments_start[end[of]] < 0)
    }
    for moment, of in single.items():
        described_by[of] = begin[moment]
    kept = [number for number in range(len(begin)) if number not in single]
    return Operations(
        [begin[number] for number in kept],
        [end[number] for number in kept],
        [root[number] for number in kept],
        [described_by[number] for number in kept],
        in_vain,
    )
