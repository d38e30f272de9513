"""The events of a Chrome trace as columns, and the pairs among them."""

import json
from collections import Counter as Tally
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profiler.traces import json_scan
from profiler.traces.build import EARLIEST_NS, LATEST_NS, LONGEST_NS
from profiler.traces.json_scan import Buffer, Spans
from profiler.traces.json_values import UNREADABLE_TIME, Interner, nanoseconds
from profiler.traces.kernel import kernel

_BATCH: Final = 1 << 16


class Columns(NamedTuple):
    """One entry per event, in the order of the file.

    Identifiers are numbers of texts, -1 where there is none.
    """

    phase: NDArray[np.uint8]
    """The letter of ``ph``, 0 where it is no single letter."""
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
    ids: list[str]
    unreadable: int
    first_unreadable: int
    end: int
    """Offset at which the scan ended."""
    truncated: bool


class JsonArguments:
    """Arguments as spans of the JSON text, decoded for one slice at a time.

    ``ends`` holds the spans of slices whose end event has arguments of its own; these are added to the
    begin's.
    """

    def __init__(
        self,
        data: bytes,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        ends: Mapping[int, tuple[int, int]],
    ) -> None:
        self._data = data
        self._starts = starts
        self._lengths = lengths
        self._ends = ends

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        arguments = decode_arguments(self._data, int(self._starts[slice_index]), int(self._lengths[slice_index]))
        if slice_index in self._ends:
            arguments |= decode_arguments(self._data, *self._ends[slice_index])
        return arguments


def decode_arguments(data: bytes, start: int, length: int) -> dict[str, Any]:
    """The ``args`` at a span, ``{}`` for start -1. What is no JSON object comes under the key "args"."""
    if start < 0:
        return {}
    text = data[start : start + length]
    value = decode_json(text)
    if isinstance(value, dict):
        return value
    return {"args": text.decode(errors="replace") if value is None else value}


def decode_json(text: bytes) -> Any:
    """A JSON value, with NaN and Infinity allowed as Python writes them; None where the text is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def scan_events(buffer: Buffer, position: int) -> Events:
    """Read the elements of the array that begins at ``position``, after its bracket."""
    names, categories, places, ids = (Interner(buffer) for _ in range(4))
    spans = Spans(
        np.empty((_BATCH, len(json_scan.FIELDS)), np.int64),
        np.empty((_BATCH, len(json_scan.FIELDS)), np.int64),
    )
    batches = []
    reread, ended, unreadable, first_unreadable = 0, 0, 0, -1
    while ended == 0:
        progress = json_scan.scan_batch(buffer, position, reread, spans)
        position, reread, ended = progress.position, progress.reread, progress.ended
        if not unreadable:
            first_unreadable = progress.first_unreadable
        unreadable += progress.unreadable
        batch = Spans(spans.starts[: progress.events].T.copy(), spans.lengths[: progress.events].T.copy())
        batches.append(_columns(buffer, batch, names, categories, places, ids))
    columns = Columns(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))
    return Events(
        columns=_with_places(columns),
        names=[_text(raw) for raw in names.texts()],
        categories=[_text(raw) for raw in categories.texts()],
        places=["0", *(_text(raw) for raw in places.texts())],
        ids=[_text(raw) for raw in ids.texts()],
        unreadable=unreadable,
        first_unreadable=first_unreadable,
        end=position,
        truncated=ended == json_scan.TRUNCATED,
    )


def _columns(
    buffer: Buffer, spans: Spans, names: Interner, categories: Interner, places: Interner, ids: Interner
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
        arguments_start=starts[json_scan.ARGS],
        arguments_length=lengths[json_scan.ARGS],
        to_enclosing=begins_with(json_scan.BP, "e"),
        flow_in=begins_with(json_scan.FLOW_IN, "t"),
        flow_out=begins_with(json_scan.FLOW_OUT, "t"),
    )


def _with_places(columns: Columns) -> Columns:
    """A missing process is process 0, a missing thread the one that is called like its process."""
    pid = columns.pid + 1
    return columns._replace(pid=pid, tid=np.where(columns.tid < 0, pid, columns.tid + 1).astype(np.int32))


def _text(raw: bytes) -> str:
    if b"\\" in raw:
        try:
            return msgspec.json.decode(b'"' + raw + b'"', type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    return raw.decode(errors="replace")


@kernel
def _match_nested(
    thread: NDArray[np.int64], name: NDArray[np.int32], begins: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], int, int]:
    end_of = np.full(thread.size, -1, np.int64)
    stack = np.empty(thread.size, np.int64)
    height = 0
    unmatched = 0
    renamed = 0
    for index in range(thread.size):
        if index > 0 and thread[index] != thread[index - 1]:
            height = 0
        if begins[index]:
            stack[height] = index
            height += 1
        elif height == 0:
            unmatched += 1
        else:
            height -= 1
            end_of[stack[height]] = index
            renamed += name[index] >= 0 and name[index] != name[stack[height]]
    return end_of, unmatched, renamed


class Pairs(NamedTuple):
    """Begin events, the end event of each (-1 where there is none), and what did not pair up, by reason."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    in_vain: Mapping[str, int]


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
            "begin without an end": int(np.count_nonzero(end < 0)),
            "end without a begin": unmatched,
            "end with another name than its begin": renamed,
        },
    )


class Operations(NamedTuple):
    """Asynchronous operations: their begin and end events (the same for an instant, -1 for no end).

    ``root`` is the event whose name the lane of the operation carries: the outermost open one of the same id.
    """

    begin: list[int]
    end: list[int]
    root: list[int]
    in_vain: Mapping[str, int]


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

    def close(self, name: int) -> int | None:
        """Closes the innermost of a name, or the innermost of all if ``name`` is -1; None where none is open."""
        if not self.by_age or (name >= 0 and not self.by_name[name]):
            return None
        number = self.by_name[name if name >= 0 else self.by_age[-1][1]].pop()
        self.closed.add(number)
        while self.by_age and self.by_age[-1][0] in self.closed:
            self.closed.remove(self.by_age.pop()[0])
        while self.by_age and self.by_age[0][0] in self.closed:
            self.closed.remove(self.by_age.popleft()[0])
        return number


def pair_asynchronous(columns: Columns) -> Operations:
    """Asynchronous events (b, n, e and the older S, T, p, F): those of one category and id nest.

    An end closes the innermost open begin of its name, or the innermost if it has no name.
    """
    letters = np.frombuffer(b"bneSTpF", np.uint8)
    marks = np.flatnonzero(np.isin(columns.phase, letters) & (columns.time_ns != UNREADABLE_TIME))
    marks = marks[np.argsort(columns.time_ns[marks], kind="stable")]
    phases = columns.phase[marks].tobytes().decode()
    keys = zip(columns.category[marks].tolist(), columns.id[marks].tolist(), strict=True)
    open_: dict[tuple[int, int], _OpenOperations] = defaultdict(_OpenOperations)
    begin: list[int] = []
    end: list[int] = []
    root: list[int] = []
    in_vain = Tally[str]()
    for event, phase, key in zip(marks.tolist(), phases, keys, strict=True):
        operations = open_[key]
        name = int(columns.name[event])
        if phase in "eF":
            closed = operations.close(name)
            if closed is None:
                in_vain["asynchronous end without a begin"] += 1
            else:
                end[closed] = event
            continue
        root.append(begin[operations.by_age[0][0]] if operations.by_age else event)
        begin.append(event)
        if phase in "bS":
            operations.add(len(begin) - 1, name)
            end.append(-1)
        else:
            end.append(event)
    in_vain["asynchronous begin without an end"] = end.count(-1)
    return Operations(begin, end, root, in_vain)
