"""One event file as it grows: the data read from it so far, by tag."""

import errno
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import BinaryIO, Final, NamedTuple

import msgspec
import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary.bounded_messages import parse
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.contents import Damage
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.graph import graph_in_meta_graph
from stepscope.summary.kinds.registry import decode, kind_of
from stepscope.summary.kinds.scalar_batch import varint
from stepscope.summary.names import readable_name
from stepscope.summary.packed_points import PackedPoints, Packer
from stepscope.summary.points import Rows, TagPoints, TagState
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.types_pb2 import DT_STRING
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, crc32c
from stepscope.summary.scan import DAMAGE_REASONS, ROW, DamageReason, Outcome, RowsByTag, Scanner
from stepscope.summary.series import SCALARS
from stepscope.summary.source import read_up_to
from stepscope.summary.stored_points import NO_TEXTS, NONE_SAID, KeptPoints, StoredPoints, TagTable, TagTexts

GRAPHS: Final = "graphs"
TAGGED_RUN_METADATA: Final = "graph_tagged_run_metadata"
RUN_GRAPH_TAG: Final = "__run_graph__"
_WINDOW_BYTES: Final = 8 << 20
_WINDOW_ROWS: Final = 1 << 17
_DAMAGES_KEPT: Final = 100
HEAD_BYTES: Final = 64
"""Number of first bytes by which a file is recognized again."""
_TAGS_REMEMBERED: Final = 1 << 12
"""Tags in caches; the runs of a sweep have the same ones."""
_HASHED_BYTES: Final = 4096
_MOST_SESSION_STARTS: Final = 100
"""Maximum session starts of a packed file; each holds numbers of points by tag."""
_FIRST: Final = np.zeros(1, np.int64)
TAIL_BYTES: Final = 64
"""Enough to hold the CRC of the last record's data."""
_LEFT_OUT: Final = -1
"""Stands for the tag of a row that yielded no point; no event has a payload with that number."""


@dataclass(frozen=True)
class SessionStart:
    """A ``SessionLog.START``: its step, and how many points of each tag came between the start before it and itself.

    These are together no more than the points, however many starts and tags there are.
    """

    step: int
    points_between: dict[str, int]


class FileState(msgspec.Struct, array_like=True, frozen=True):
    """What is known about a file after a read, besides its points; immutable."""

    position: int
    head: bytes
    tail_hash: bytes
    """Hash of the last bytes before ``position``; empty if ``tail`` replaces it."""
    crc: int | None
    """CRC-32C of all bytes before ``position``, if it is known."""
    waiting: bool
    records: int
    first_wall_time: float | None
    span: tuple[float, float]
    damages: tuple[Damage, ...]
    """The first damages, without any that the bytes from ``position`` on may yet turn out to be."""
    damage_count: int
    skipped_bytes: int
    session_starts: tuple[SessionStart, ...]
    tail: bytes = b""
    """The very last bytes before ``position``, if they are known without reading them again."""


class EventFile:
    """Reads a growing event file piece by piece; a replaced or truncated file needs a new object.

    Args:
        path: relative to the log directory.
        open_at: opens the file at an offset.
        number: distinguishes objects that read the same path one after the other.
    """

    # There may be very many, most of which are never read again.
    __slots__ = (
        "_by_id",
        "_counted",
        "_crc",
        "_damaged_records",
        "_head",
        "_lost_at",
        "_made_scanner",
        "_open_at",
        "_packed",
        "_packer",
        "_points",
        "_records_before",
        "_session_starts",
        "_skipped_bytes",
        "_tail",
        "_tail_damage",
        "damage_count",
        "damages",
        "first_wall_time",
        "number",
        "path",
        "position",
        "span",
        "stored",
        "waiting",
    )

    def __init__(self, path: PurePosixPath, open_at: Callable[[int], BinaryIO], number: int = 0) -> None:
        self.path = path
        self.number = number
        self._open_at = open_at
        self._begin()

    def _begin(self) -> None:
        """Begin or restart, as if nothing had been read."""
        # State that most files do not need is created on demand.
        self._session_starts: list[SessionStart] | None = None
        self._counted: Counter[str] | None = None
        """Number of points of each tag before the last session start."""
        self.first_wall_time: float | None = None
        """None while there is no event."""
        self.span = (math.nan, math.nan)
        """Wall times of the first and the latest of the events that have a time; NaN if none has."""
        self.position = 0
        """Offset up to which the file has been read for good."""
        self.waiting = False
        self.damages: tuple[Damage, ...] = ()
        self.damage_count = 0
        self.stored: StoredPoints | None = None
        """All points, if another object read them and `points` has not been requested yet."""
        self._points: dict[str, TagPoints] | None = None
        self._skipped_bytes = 0
        self._damaged_records: set[int] | None = None
        """Offsets of the records with a damaged value among those whose rows were taken last."""
        self._tail_damage: Damage | None = None
        self._lost_at: int | None = None
        self._made_scanner: Scanner | None = None
        self._records_before = 0
        """Records read by another object, whose state this one has."""
        self._by_id: list[TagPoints] | None = None
        self._head = b""
        self._tail = b""
        """The last bytes before ``position``."""
        self._packer: Packer | None = None
        """Creates the points, if all of them are to be one block."""
        self._packed: PackedPoints | None = None
        """The points that are in no `TagPoints` yet."""
        self._crc: int | None = 0
        """CRC-32C of all bytes before ``position``; None if damage went beyond a window."""

    @property
    def points(self) -> dict[str, TagPoints]:
        """The points by tag, in order of first appearance.

        Raises:
            OSError: neither the stored points nor the file exist as they were; everything must be read again.
        """
        if self.stored is not None:
            try:
                states = self.stored.states()
            except OSError:
                self._begin()
                raise
            self._points = {state.tag: TagPoints.restored(state) for state in states}
            self.stored = None
        if self._packed is not None:
            self._points = {state.tag: TagPoints.restored(state) for state in self._packed.states()}
            self._packed = None
        if self._points is None:
            self._points = {}
        return self._points

    @property
    def session_starts(self) -> Sequence[SessionStart]:
        return self._session_starts or ()

    @property
    def has_points(self) -> bool:
        """Whether any tag has a point."""
        return self.stored.count > 0 if self.stored is not None else any(map(len, self.points.values()))

    @property
    def _scanner(self) -> Scanner:
        if self._made_scanner is None:
            self._made_scanner = Scanner()
        return self._made_scanner

    @property
    def records(self) -> int:
        """Number of whole records that were read."""
        return self._records_before + (0 if self._made_scanner is None else self._made_scanner.records)

    @property
    def all_damages(self) -> tuple[Damage, ...]:
        """The first damages by offset, and the one at the end of the file that more bytes may yet repair."""
        damages = sorted(self.damages, key=lambda damage: (damage.offset, damage.reason))
        return (*damages, *([self._tail_damage] if self._tail_damage else []))

    @property
    def all_damage_count(self) -> int:
        return self.damage_count + (self._tail_damage is not None)

    @property
    def all_skipped_bytes(self) -> int:
        """Number of bytes that all damages cover, including damages that are not kept; overlaps count once."""
        return self._skipped_bytes + (self._tail_damage.length if self._tail_damage else 0)

    def tag_states(self) -> tuple[TagState, ...]:
        """Return the points so far; raises OSError as `points` does."""
        return tuple(points.state() for points in self.points.values())

    def state(self) -> FileState:
        """Return the state so far; raises OSError if the file's tail cannot be read again."""
        with self._open_at(0) as stream:
            tail = _bytes_before(stream, self.position)
        return self._state(_hash(tail))

    def _state(self, tail_hash: bytes = b"") -> FileState:
        return FileState(
            self.position,
            self._head,
            tail_hash,
            self._crc,
            self.waiting,
            self.records,
            self.first_wall_time,
            self.span,
            self.damages,
            self.damage_count,
            self._skipped_bytes,
            tuple(self.session_starts),
            self._tail,
        )

    def packed(self, packer: Packer) -> tuple[FileState, PackedPoints] | None:
        """Return the state and points so far, without looking at the file; raises OSError as `points` does.

        Return None if the file has so many session starts that the result would be large.
        """
        if len(self.session_starts) > _MOST_SESSION_STARTS:
            return None
        return self._state(), packer.pack(self.tag_states())

    def read_packed(self, size: int, packer: Packer) -> tuple[FileState, PackedPoints] | None:
        """Read a file from its beginning, keep the points as one block, and free everything needed to read on.

        A file that was read whole may never grow. Return the state and the points; None if the file has so many
        session starts that packing is of no use, in which case the object is as `read_new` leaves it. Raises as
        `read_new` does.
        """
        self._packer = packer
        try:
            self.read_new(size)
        finally:
            self._packer = None
        if len(self.session_starts) > _MOST_SESSION_STARTS:
            return None
        packed = self._packed or packer.pack(self.tag_states())
        self._records_before, self._made_scanner = self.records, None
        self._by_id, self._points, self._packed, self._counted = None, None, None, None
        state = self._state()
        self._store(state, packed.table.tags, packed, packed.table.places)
        return state, packed

    def restore_packed(self, state: FileState, packed: PackedPoints) -> None:
        """Take over what was just read from the file, from its beginning on."""
        table = packed.table
        self.restore(
            state,
            table.tags,
            packed,
            changed=False,
            trusted=True,
            places=table.places,
        )

    def _store(
        self,
        state: FileState,
        table: TagTable,
        kept: KeptPoints,
        places: Mapping[str, int] | None,
    ) -> None:
        # Points that come with places are packed, and quick to load again.
        read_again = _ReadAgain(self.path, self._open_at, state, table)
        self.stored = StoredPoints(table, kept, read_again, places, keep=places is None)

    def restore(
        self,
        state: FileState,
        table: TagTable,
        kept: KeptPoints,
        *,
        changed: bool,
        trusted: bool = False,
        places: Mapping[str, int] | None = None,
    ) -> bool:
        """Take over what another object read, if the file still begins and continues as it did then.

        Args:
            state: the state of the other object.
            changed: the file has changed since without growing; all of it is compared.
            trusted: the file is known to be the same; nothing is read. The state must have a tail.
            table: the tags that the other object found.
            kept: their stored points, read when points are requested.
            places: the place of each tag in the table, if available.

        Raises:
            OSError: the file cannot be read.
        """
        tail = state.tail if trusted else self._tail_as_in(state)
        if tail is None:
            return False
        if changed:
            with self._open_at(0) as stream:
                if not self._has_crc(stream, state.position, state.crc):
                    return False
        self.position, self.waiting = state.position, state.waiting
        self.first_wall_time, self.span = state.first_wall_time, state.span
        self.damages, self.damage_count = state.damages, state.damage_count
        self._skipped_bytes = state.skipped_bytes
        self._session_starts = list(state.session_starts) or None
        self._store(state, table, kept, places)
        self._head, self._tail, self._crc = state.head, tail[-TAIL_BYTES:], state.crc
        self._records_before = state.records
        return True

    def _tail_as_in(self, state: FileState) -> bytes | None:
        """Return the last bytes before ``state.position``, if the file still begins and continues as it did then.

        Raises OSError.
        """
        with self._open_at(0) as stream:
            head, tail = read_up_to(stream, len(state.head)), _bytes_before(stream, state.position)
        as_then = _hash(tail) == state.tail_hash if state.tail_hash else tail.endswith(state.tail)
        return tail if head == state.head and as_then else None

    def begins_as_before(self, size: int) -> bool:
        """Return whether the first and the last bytes that were read are still there.

        Raises OSError.

        If a changed file has not grown beyond ``size``, all bytes that were read are compared: copying another file
        over it may leave its size and its time as they were.
        """
        with self._open_at(0) as stream:
            if stream.seek(0, os.SEEK_END) <= size:
                return self._has_crc(stream, self.position, self._crc)
            stream.seek(0)
            if read_up_to(stream, len(self._head)) != self._head:
                return False
            stream.seek(self.position - len(self._tail))
            return read_up_to(stream, len(self._tail)) == self._tail

    @staticmethod
    def _has_crc(stream: BinaryIO, end: int, expected: int | None) -> bool:
        crc = at = 0
        stream.seek(0)
        while at < end and (content := read_up_to(stream, min(_WINDOW_BYTES, end - at))):
            crc = crc32c(content, crc)
            at += len(content)
            check_cancelled()
        return at == end and crc == expected

    def read_new(self, size: int) -> None:
        """Read appended data up to the end of the file, whose size was last seen as ``size``.

        Raises:
            OSError: the file cannot be read; data read before is kept.
        """
        window = min(_WINDOW_BYTES, max(1 << 12, size - self.position + 1))
        rows = np.empty(min(_WINDOW_ROWS, window // 16 + 16), ROW)
        position = self.position
        self._lost_at = None
        with self._open_at(position) as stream:
            while True:
                stream.seek(position)
                content = read_up_to(stream, window)
                if position == 0:
                    self._head = content[:HEAD_BYTES]
                outcome, taken = self._scan_window(np.frombuffer(content, np.uint8), position, rows)
                end = position + len(content)
                # Data after damage at the end is read again when the file grows, as the end may be half written.
                self._advance(position + taken if self._lost_at is None else self._lost_at, content, position)
                if len(content) < window:
                    break
                # A header may lie across the end of the window.
                position += taken if outcome is not Outcome.LOST else len(content) - HEADER_BYTES + 1
                end = stream.seek(0, os.SEEK_END)
                if self._scanner.needed > end - position:
                    break
                window = max(_WINDOW_BYTES, self._scanner.needed)
        self._note_end(end)

    def _advance(self, position: int, content: bytes, base: int) -> None:
        """Note that everything before ``position`` was read for good; ``content`` was read from ``base`` on."""
        if position > self.position:
            end = position - base
            self._tail = (self._tail + content[max(0, end - TAIL_BYTES) : end])[-TAIL_BYTES:]
            if self._crc is not None:
                begin = self.position - base
                self._crc = crc32c(memoryview(content)[begin:end], self._crc) if begin >= 0 else None
            self.position = position

    def _note_end(self, end: int) -> None:
        self.waiting = self._lost_at is None and self.position < end
        self._tail_damage = None
        if self._lost_at is not None and self._lost_at < end:
            reason = f"{DAMAGE_REASONS[DamageReason.HEADER]}, and no record follows"
            self._tail_damage = Damage(self._lost_at, end - self._lost_at, reason)

    def _scan_window(self, buffer: NDArray[np.uint8], base: int, rows: NDArray[np.void]) -> tuple[Outcome, int]:
        """Take the rows of a window of the file; returns why it stopped, and where in the window."""
        at = 0
        while True:
            begin = at
            outcome, at, count = self._scanner.scan(buffer, begin, base, rows)
            header_found = at > begin or outcome is Outcome.ROWS_FULL or self._scanner.needed > 0
            self._note_damages(base + begin, header_found)
            if outcome is Outcome.LOST and self._lost_at is None:
                self._lost_at = base + at
            self._take_rows(rows[:count], buffer, base)
            if outcome is not Outcome.ROWS_FULL:
                return outcome, at
            if at == begin:
                # One record has more values than there are rows.
                rows = np.empty(2 * len(rows), ROW)

    def _note_damages(self, begin: int, header_found: bool) -> None:
        found = self._scanner.damages
        if self._lost_at is not None and header_found:
            self._tail_damage = None
            end = begin
            if found and found[0].offset == begin and found[0].reason is DamageReason.HEADER:
                end = begin + found.pop(0).length
            self._add_damage(Damage(self._lost_at, end - self._lost_at, DAMAGE_REASONS[DamageReason.HEADER]))
            self._lost_at = None
        for damage in found:
            self._add_damage(Damage(damage.offset, damage.length, DAMAGE_REASONS[damage.reason]))
        found.clear()

    def _add_damage(self, damage: Damage) -> None:
        last = self.damages[-1] if self.damages else None
        header = DAMAGE_REASONS[DamageReason.HEADER]
        if last and last.offset + last.length == damage.offset and last.reason == damage.reason == header:
            # It ended at a header that was awaiting its record; that header has changed.
            self.damages = (*self.damages[:-1], Damage(last.offset, last.length + damage.length, header))
            self._skipped_bytes += damage.length
            return
        self.damage_count += 1
        # Stretches never overlap, but several damaged values of one record each cover all of it.
        if damage.offset not in (self._damaged_records or ()):
            self._skipped_bytes += damage.length
        if len(self.damages) < _DAMAGES_KEPT:
            self.damages = (*self.damages, damage)

    def _add_record_damage(self, rows: Rows, index: int, reason: str) -> None:
        begin, end = int(rows.offsets[index]) - HEADER_BYTES, int(rows.offsets[index] + rows.lengths[index])
        self._add_damage(Damage(begin, end + FOOTER_BYTES - begin, reason))
        if self._damaged_records is None:
            self._damaged_records = set()
        self._damaged_records.add(begin)

    def _take_rows(self, rows: NDArray[np.void], buffer: NDArray[np.uint8], base: int) -> None:
        if len(rows) == 0:
            return
        self._damaged_records = None
        if self.first_wall_time is None:
            self.first_wall_time = float(rows["wall_time"][0])
        times = rows["wall_time"]
        # Some writers set no time in session logs, so it is 0.
        if len(times := times[(times > 0) & (times < math.inf)]):
            begun, ended = self.span
            self.span = (
                float(times[0]) if math.isnan(begun) else begun,
                float(np.fmax(ended, times.max())),
            )
        window = _Window(rows, buffer, base)
        split = self._scanner.split_by_tag(rows)
        if self._packer is not None and self._packed is None and not self._points:
            self._packed = self._packed_at_once(self._packer, split, window)
            if self._packed is not None:
                return
        others = np.flatnonzero(rows["tag"] < 0)
        counts = self._points_since_start() if len(others) else Counter()
        begin = 0
        for tag_id, end in enumerate(split.group_ends.tolist()):
            if end > begin:
                taken = self._take_group(tag_id, split, slice(begin, end), window)
                if taken is not None:
                    rows["tag"][np.flatnonzero(rows["tag"] == tag_id)[~taken]] = _LEFT_OUT
            begin = end
        counted, by_id = 0, self._by_id or []
        for index in others.tolist():
            if counted < index:
                between = rows["tag"][counted:index]
                for tag_id, count in zip(*np.unique(between[between >= 0], return_counts=True), strict=True):
                    counts[by_id[tag_id].tag] += int(count)
            counted = index
            self._take_other(index, window, counts)

    def _points_since_start(self) -> Counter[str]:
        """Return the number of points of each tag since the last session start."""
        if self._counted is None:
            self._counted = Counter()
            for start in self.session_starts:
                self._counted.update(start.points_between)
        return Counter({tag: len(points) for tag, points in self.points.items()}) - self._counted

    def _packed_at_once(self, packer: Packer, split: RowsByTag, window: "_Window") -> PackedPoints | None:
        """Return the points of a window as one block if all are numbers; None if they are not."""
        tags = self._scanner.tags
        if not tags or split.is_blob.any():
            return None
        begins = np.concatenate([_FIRST, split.group_ends[:-1]])
        if len(begins) < len(tags) or (begins == split.group_ends).any():
            return None
        names = [name_of(tag) for tag in tags]
        texts: dict[int, TagTexts] = {}
        try:
            for index in np.flatnonzero(window.found["tag"] < 0).tolist():
                if window.event(index).WhichOneof("what") != "file_version":
                    return None
            firsts = split.numbers[begins]
            for number in np.flatnonzero(~window.are_bare_numbers(firsts, tags)).tolist():
                value = window.value(int(firsts[number]))
                if kind_of(value) != SCALARS:
                    return None
                if (found := texts_of(value)) != NO_TEXTS:
                    texts[number] = found
        except DecodeError:
            return None
        counts = split.group_ends - begins
        return packer.pack_numbers(names, texts or NONE_SAID, split, counts) if len(set(names)) == len(names) else None

    def _take_group(self, tag_id: int, split: RowsByTag, group: slice, window: "_Window") -> NDArray[np.bool_] | None:
        """Take the rows of a tag; returns which of them became points, or None where all did."""
        if self._by_id is None:
            self._by_id = []
        while tag_id >= len(self._by_id):
            self._by_id.append(TagPoints(name_of(self._scanner.tags[len(self._by_id)]), ""))
        rows, is_blob = split.of_tag(tag_id, group), split.is_blob[group]
        taken: NDArray[np.bool_] | None = None
        points = self._by_id[tag_id]
        known = self.points.get(points.tag)
        if known is not None:
            points = self._by_id[tag_id] = known
        else:
            first = self._describe(points, rows, self._scanner.tags[tag_id], window)
            if first > 0:
                taken = np.arange(len(rows)) >= first
            if first == len(rows):
                return taken
            self.points[points.tag] = points
        if points.kind in (SCALARS, "") and is_blob.any():
            to_decode = is_blob if taken is None else is_blob & taken
            rows, decoded = self._decode_numbers(points, rows, to_decode, window)
            if not decoded.all():
                taken = decoded if taken is None else taken & decoded
        points.extend(rows if taken is None else rows.chosen(taken, rows.goes_back))
        return taken

    def _describe(self, points: TagPoints, rows: Rows, tag: bytes, window: "_Window") -> int:
        """Take the kind and the names from the tag's first value that can be read; returns which row that is."""
        if window.is_bare_number(int(rows.numbers[0]), tag):
            points.kind = SCALARS
            return 0
        for index, number in enumerate(rows.numbers.tolist()):
            try:
                value = window.value(number)
            except DecodeError as error:
                self._add_record_damage(rows, index, f"not an Event message: {error}")
                continue
            points.kind = kind_of(value)
            points.display_name, points.description, points.plugin_content = texts_of(value)
            return index
        return len(rows)

    def _decode_numbers(
        self, points: TagPoints, rows: Rows, to_decode: NDArray[np.bool_], window: "_Window"
    ) -> tuple[Rows, NDArray[np.bool_]]:
        """Decode numbers in forms that the scan leaves alone, such as integer tensors; also return which are readable.

        A value that is not a number counts as damage only under a scalar tag.
        """
        values = rows.values.copy()
        readable = np.ones(len(rows), np.bool_)
        for index in np.flatnonzero(to_decode).tolist():
            try:
                values[index] = decode(SCALARS, window.value(int(rows.numbers[index])))
            except (DecodeError, PayloadError) as error:
                if points.kind == SCALARS:
                    readable[index] = False
                    self._add_record_damage(rows, index, f"no scalar under the tag {points.tag!r}: {error}")
        return replace(rows, values=values), readable

    def _take_other(self, index: int, window: "_Window", counts: Counter[str]) -> None:
        row = _single(window.found[index])
        try:
            event = window.event(index)
        except DecodeError as error:
            self._add_record_damage(row, 0, f"not an Event message: {error}")
            return
        match event.WhichOneof("what"):
            case "session_log" if event.session_log.status == SessionLog.START:
                self._session_starts = self._session_starts or []
                self._session_starts.append(SessionStart(event.step, dict(counts)))
                if self._counted is not None:
                    self._counted.update(counts)
                counts.clear()
            case "graph_def" | "tagged_run_metadata":
                self._take_older_form(row, value_of_event(event), counts)
            case "meta_graph_def":
                self._take_meta_graph(row, event, counts)
            case _:
                pass

    def _take_meta_graph(self, row: Rows, event: Event, counts: Counter[str]) -> None:
        """Take the graph of a MetaGraphDef, unless the file has one: writers of both write the same graph twice."""
        if RUN_GRAPH_TAG in self.points:
            return
        try:
            value = value_of_event(event)
        except PayloadError as error:
            self._add_record_damage(row, 0, str(error))
            return
        if value.tensor.string_val[0]:
            self._take_older_form(row, value, counts)

    def _take_older_form(self, row: Rows, value: Summary.Value, counts: Counter[str]) -> None:
        """Take a payload that was a field of the event before summaries could hold it."""
        kind = value.metadata.plugin_data.plugin_name
        tag = readable_name(value.tag)
        points = self.points.setdefault(tag, TagPoints(tag, kind))
        if points.kind == kind:
            points.extend(row)
            counts[points.tag] += 1
        else:
            reason = f"{kind} under the tag {tag!r}, which holds {points.kind or 'values of no known kind'}"
            self._add_record_damage(row, 0, reason)


class _ReadAgain:
    """Reads the points that a file had in a state, although it may have grown since."""

    __slots__ = ("_open_at", "_path", "_state", "_table")

    def __init__(
        self, path: PurePosixPath, open_at: Callable[[int], BinaryIO], state: FileState, table: TagTable
    ) -> None:
        self._path = path
        self._open_at = open_at
        self._state = state
        self._table = table

    def __call__(self) -> list[TagState]:
        """Return the points; raises OSError if the file is another."""
        file, table = EventFile(self._path, self._open_at), self._table
        file.read_new(self._state.position)
        found = [file.points.get(tag) for tag in table.tags]
        states: list[TagState] = []
        for points, kind, count in zip(found, table.kinds, table.counts, strict=True):
            if points is None or points.kind != kind or len(points) < count:
                break
            states.append(points.state(count))
        if len(states) < len(found) or file._tail_as_in(self._state) is None:
            raise OSError(errno.ESTALE, f"{self._path} is no longer the file that was first read")
        return states


def _bytes_before(stream: BinaryIO, position: int) -> bytes:
    """Return the last bytes of a file before ``position``."""
    begin = max(0, position - _HASHED_BYTES)
    stream.seek(begin)
    return read_up_to(stream, position - begin)


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def value_of_event(event: Event, index: int = 0) -> Summary.Value:
    """Return the value that an event holds: value ``index`` of its summary, or its older payload in today's form.

    A ``graph_def`` or ``tagged_run_metadata`` becomes a string tensor under the plugin name that TensorBoard's
    migration gives it; the graph of a ``meta_graph_def`` is treated like a ``graph_def``.

    Raises:
        PayloadError: the event holds no such value, or no MetaGraphDef where it should.
    """
    what = event.WhichOneof("what")
    if what == "summary" and index < len(event.summary.value):
        return event.summary.value[index]
    value = Summary.Value()
    value.tensor.dtype = DT_STRING
    if what == "graph_def" or what == "meta_graph_def":
        value.tag = RUN_GRAPH_TAG
        value.metadata.plugin_data.plugin_name = GRAPHS
        encoded = event.graph_def if what == "graph_def" else graph_in_meta_graph(event.meta_graph_def)
        value.tensor.string_val.append(encoded)
    elif what == "tagged_run_metadata":
        value.tag = event.tagged_run_metadata.tag
        value.metadata.plugin_data.plugin_name = TAGGED_RUN_METADATA
        value.tensor.string_val.append(event.tagged_run_metadata.run_metadata)
    else:
        raise PayloadError(f"the record holds {what or 'nothing'}, not value {index} of a summary")
    return value


def texts_of(value: Summary.Value) -> TagTexts:
    """Return the display name, description and plugin content in the first value of a tag."""
    if not value.HasField("metadata"):
        return NO_TEXTS
    metadata = value.metadata
    return TagTexts(readable_name(metadata.display_name), metadata.summary_description, metadata.plugin_data.content)


class _Window(NamedTuple):
    """A window of the file and the rows found in it."""

    found: NDArray[np.void]
    buffer: NDArray[np.uint8]
    base: int
    """Where the window begins in the file."""

    def event(self, number: int) -> Event:
        """Return the event of a row; raises DecodeError."""
        row = self.found[number]
        begin = int(row["offset"]) - self.base
        return parse(Event, self.buffer[begin : begin + int(row["length"])].tobytes())

    def is_bare_number(self, number: int, tag: bytes) -> bool:
        """Return whether a row's value consists only of the tag, in ASCII, and a ``simple_value``."""
        return bool(self.are_bare_numbers(np.array([number]), [tag])[0])

    def are_bare_numbers(self, numbers: NDArray[np.integer], tags: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return `is_bare_number` for each of some rows, each with its own tag."""
        rows = self.found[numbers]
        begins = (rows["offset"] + rows["value_at"] - self.base).tolist()
        buffer = self.buffer.data
        found = []
        for tag, begin, length in zip(tags, begins, rows["value_length"].tolist(), strict=True):
            head = _head_of_number(tag)
            found.append(length == len(head) + 4 and tag.isascii() and bytes(buffer[begin : begin + len(head)]) == head)
        return np.array(found, np.bool_)

    def value(self, number: int) -> Summary.Value:
        """Return the value of a row, parsed alone if possible: an event may have very many. Raises DecodeError."""
        row = self.found[number]
        if not row["value_length"]:
            return self.event(number).summary.value[int(row["index"])]
        begin = int(row["offset"]) + int(row["value_at"]) - self.base
        return parse(Summary.Value, self.buffer[begin : begin + int(row["value_length"])].tobytes())


@lru_cache(_TAGS_REMEMBERED)
def name_of(tag: bytes) -> str:
    return readable_name(tag.decode("utf-8", "replace"))


@lru_cache(_TAGS_REMEMBERED)
def _head_of_number(tag: bytes) -> bytes:
    """Return the bytes before the number in a value that consists of the tag and a ``simple_value``."""
    return b"\x0a" + varint(len(tag)) + tag + b"\x15"


def _single(row: np.void) -> Rows:
    """Return a row of the scan as columns of one element."""
    found = np.array([row])
    return Rows(found["step"], found["wall_time"], found["value"], found, np.zeros(1, np.int32), goes_back=False)
