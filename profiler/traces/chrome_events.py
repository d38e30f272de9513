"""The events of a Chrome trace as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces import json_scan
from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS, LONGEST_NS
from stepscope.profiler.traces.json_scan import Buffer, Spans
from stepscope.profiler.traces.json_values import UNREADABLE_TIME, Interner, decode_json, nanoseconds
from stepscope.profiler.traces.losses import TEXT, LossTally
from stepscope.profiler.traces.texts import MOST_CHARACTERS, marked
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.records import crc32c

_MOST_TEXT_BYTES: Final = 6 * MOST_CHARACTERS
"""An escaped character takes six bytes."""
_BATCH: Final = 1 << 16


class Columns(NamedTuple):
    """Columns with one entry per event, in the order of the file.

    Identifiers are indices of texts, or -1 for none.
    """

    phase: NDArray[np.uint8]
    """The letter of ``ph``, or 0 if it is not a single letter."""
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    time_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    id: NDArray[np.int32]
    of_process: NDArray[np.bool_]
    """Whether another process may use the same ``id`` for something else."""
    bind_id: NDArray[np.int32]
    arguments_start: NDArray[np.int64]
    arguments_length: NDArray[np.int64]
    stack_frame: NDArray[np.int32]
    """Number of the stack frame in which the event began."""
    to_enclosing: NDArray[np.bool_]
    """Whether ``bp`` is "e"."""
    flow_in: NDArray[np.bool_]
    flow_out: NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """All events of a trace with their texts, and the outcome of scanning them."""

    columns: Columns
    names: list[str]
    categories: list[str]
    places: list[str]
    """Texts of process and thread identifiers."""
    ids: Sequence[str]
    frames: list[str]
    """The numbers of stack frames, as text."""
    stacks: Mapping[int, tuple[int, int]]
    """Start and length of the frame list of each event that has its own."""
    unreadable: int
    first_unreadable: int
    end: int
    """Offset at which the scan ended."""
    truncated: bool
    unread: bool
    """Whether there are more events than the limit allows."""
    foreign: Sequence[int]
    """Indices of objects that have keys, but none of "ph", "name" and "ts"."""


def scan_events(buffer: Buffer, position: int, tally: LossTally, most: int) -> Events:
    """Read ``most`` elements, or a few more, of the array that begins at ``position``, after its bracket.

    Cut texts are counted in ``tally``.
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
    read_places = ["0", *_texts(places, tally)]
    return Events(
        columns=_with_places(_joined(batches), read_places),
        names=_texts(names, tally),
        categories=_texts(categories, tally),
        places=read_places,
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
    is_local = json_scan.local_ids(buffer, starts[json_scan.ID2], lengths[json_scan.ID2])
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
        of_process=(id_ < 0) & is_local,
        bind_id=interned(ids, json_scan.BIND_ID),
        arguments_start=starts[json_scan.ARGS].copy(),
        arguments_length=lengths[json_scan.ARGS].copy(),
        stack_frame=interned(frames, json_scan.SF),
        to_enclosing=begins_with(json_scan.BP, "e"),
        flow_in=begins_with(json_scan.FLOW_IN, "t"),
        flow_out=begins_with(json_scan.FLOW_OUT, "t"),
    )


def _joined(batches: list[Columns]) -> Columns:
    """Return all batches as one, emptying them column by column so that little is in memory twice."""
    parts = [list(columns) for columns in zip(*batches, strict=True)]
    batches.clear()
    joined = []
    for column in parts:
        joined.append(np.concatenate(column))
        column.clear()
    return Columns(*joined)


def _with_places(columns: Columns, places: Sequence[str]) -> Columns:
    """Replace a missing process with process 0, and a missing thread with the one named like its process.

    Places of the same text get the same number.
    """
    first: dict[str, int] = {}
    numbers = np.array([first.setdefault(text, number) for number, text in enumerate(places)], np.int32)
    pid = numbers[columns.pid + 1]
    return columns._replace(pid=pid, tid=np.where(columns.tid < 0, pid, numbers[columns.tid + 1]))


def _texts(interner: Interner, tally: LossTally) -> list[str]:
    """Return the texts of an interner, cutting those that are excessively long."""
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
    """The texts of an interner, each created on demand: the texts of the many flow identifiers are never needed."""

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
