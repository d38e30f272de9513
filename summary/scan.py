"""Scans the bytes of an event file into columns: framing, both CRCs and the common shapes of an event.

The format is TFRecord (length as uint64, masked CRC-32C of the length, data, masked CRC-32C of the data, all little
endian) around serialized ``Event`` messages. The kernel parses the protobuf wire format itself: a record whose summary
holds numbers becomes rows without creating an object; for all others, only the location is stored.
The kernel holds neither a lock nor Python objects, so threads can scan files in parallel.
`stepscope.summary.plain_scan` is used while another process compiles the kernel, and for small reads of a server that
has not loaded it yet.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary import plain_scan, scan_layout
from stepscope.summary.interned import Interned
from stepscope.summary.kernels import Group
from stepscope.summary.points import Rows
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES

KERNELS: Final = Group("event files", ["stepscope.summary.scan_kernel"])
"""The compiled loops of the scan."""
READ_PLAINLY: Final = 1 << 19
"""Bytes that a server reads without the loops after the first pass: this takes 0.2 s, whereas loading the loops takes
0.7 s and 130 MB."""

_SHAPES_AT_FIRST: Final = 16
"""Initial capacity for shapes of records, kept for as long as the file may grow: half a kilobyte per tag."""

MOST_FRAMED: Final = 1 << 16
"""Maximum number of records that `frame_records` finds in one call."""

ROW: Final = np.dtype(
    [
        ("wall_time", np.float64),
        ("step", np.int64),
        ("value", np.float64),
        ("offset", np.int64),
        ("length", np.uint32),
        ("tag", np.int32),
        ("index", np.int32),
        ("value_at", np.uint32),
        ("value_length", np.uint32),
        ("form", np.int32),
    ]
)
"""One row per summary value.

``offset`` and ``length`` locate the record's data in the file; ``index`` is the index of the value in the record's
summary. ``value_at`` and ``value_length`` locate the value's own message in the record's data; the length is 0 if that
is not kept. ``tag`` is the number of the tag in the scanner; for an event whose payload is not a summary, it is the
negative number of the ``Event`` field.
"""


class Outcome(IntEnum):
    """Reason a scan stopped."""

    END = 0
    """Everything in the buffer was read, or the buffer ends inside a record."""
    ROWS_FULL = 1
    TAGS_FULL = 2
    DAMAGES_FULL = 3
    LOST = 4
    """No valid header follows the position in this buffer."""


class DamageReason(IntEnum):
    """Reason a range of bytes is damaged."""

    HEADER = 0
    DATA = 1
    MESSAGE = 2


DAMAGE_REASONS: Final = {
    DamageReason.HEADER: "the CRC of a record's length does not match",
    DamageReason.DATA: "the CRC of a record's data does not match",
    DamageReason.MESSAGE: "the record's CRCs match but it is not an Event message",
}


@dataclass(frozen=True)
class RawDamage:
    """A range of the file in which the scan found no record."""

    offset: int
    length: int
    reason: DamageReason


@dataclass
class Scanner:
    """Scans one file from its beginning, buffer by buffer, and tracks the tags found so far."""

    tags: list[bytes] = field(default_factory=list)
    """All tags so far, as bytes in the file, indexed by number."""
    records: int = 0
    damages: list[RawDamage] = field(default_factory=list)
    """Damages found since the caller last cleared the list."""
    needed: int = 0
    """Total bytes needed by the record at the end of the last buffer; 0 if its header is not there yet."""
    _names: Interned = field(default_factory=Interned, repr=False)
    _templates: NDArray[np.uint64] = field(
        default_factory=lambda: np.zeros((_SHAPES_AT_FIRST, 2 * scan_layout.TEMPLATE_WORDS), np.uint64), repr=False
    )
    _layouts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((_SHAPES_AT_FIRST, scan_layout.LAYOUT_NUMBERS), np.int64), repr=False
    )

    def scan(
        self, buffer: NDArray[np.uint8], begin: int, base: int, rows: NDArray[np.void]
    ) -> tuple[Outcome, int, int]:
        """Read records of ``buffer``, starting at ``begin``, into ``rows``.

        Args:
            buffer: the bytes of the file, starting at offset ``base``.
            begin: position in the buffer at which to start.
            base: offset of the buffer in the file.
            rows: `ROW` [n]: destination of the rows, overwritten from the first.

        Returns:
            The reason it stopped, the position in the buffer at which it stopped, and the number of rows written. The
            reason is never ``TAGS_FULL``, because the tables grow as needed.
        """
        if not KERNELS.take(len(buffer) - begin):
            return self._scan_plainly(buffer[begin:].tobytes(), base + begin, begin, rows)
        from stepscope.summary import scan_kernel

        names = self._names
        state = names.state
        state[scan_layout.ROWS] = 0
        damages = np.empty((256, 3), np.int64)
        position = begin
        while True:
            state[scan_layout.DAMAGES] = 0
            state[scan_layout.RECORDS] = 0
            outcome = Outcome(
                scan_kernel.scan(
                    buffer,
                    position,
                    len(buffer),
                    base,
                    state,
                    rows,
                    *names.tables,
                    self._templates,
                    self._layouts,
                    damages,
                )
            )
            position = int(state[scan_layout.POSITION])
            self.records += int(state[scan_layout.RECORDS])
            self.damages += [
                RawDamage(int(offset), int(length), DamageReason(int(reason)))
                for offset, length, reason in damages[: state[scan_layout.DAMAGES]]
            ]
            if outcome is Outcome.TAGS_FULL:
                names.grow()
                self._make_room_for_shapes()
            elif outcome is not Outcome.DAMAGES_FULL:
                break
        self.needed = int(state[scan_layout.NEEDED])
        for tag in range(len(self.tags), int(state[scan_layout.TAGS])):
            self.tags.append(names[tag])
        return outcome, position, int(state[scan_layout.ROWS])

    def scan_files(
        self, buffer: NDArray[np.uint8], ends: NDArray[np.int64], rows: NDArray[np.void]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read whole files, each from its beginning, with compiled loops.

        Args:
            buffer: the concatenated bytes of the files.
            ends: int64 [files]: end of each file.
            rows: `ROW` [n]: destination of the rows; offsets are relative to each file.

        Returns:
            The end of each file's rows, and its number of records: -1, with no rows, if the file does not consist of
            whole, undamaged records, or has more rows than there is room for.
        """
        from stepscope.summary import scan_kernel

        KERNELS.note_call()
        names = self._names
        row_ends, records = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        damages = np.empty((1, 3), np.int64)
        done = 0
        while done < len(ends):
            done = scan_kernel.scan_files(
                buffer,
                ends,
                done,
                rows,
                names.state,
                *names.tables,
                self._templates,
                self._layouts,
                damages,
                row_ends,
                records,
            )
            if done < len(ends):
                names.grow()
                self._make_room_for_shapes()
        self.tags = [names[tag] for tag in range(len(names))]
        return row_ends, records

    @property
    def names(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The concatenated bytes of all tags, and the start of each (int64)."""
        return self._names.arena, self._names.starts

    def _scan_plainly(self, data: bytes, base: int, begin: int, rows: NDArray[np.void]) -> tuple[Outcome, int, int]:
        """Read records like `scan`, from a copy of the buffer starting at ``begin``, without compiled loops."""
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        found = plain_scan.scan(data, 0, base, len(rows), lambda tag: self._number_of(tag, numbers))
        rows[: len(found.rows)] = np.array(found.rows, ROW)
        self.records += found.records
        self.damages += [RawDamage(offset, length, DamageReason(reason)) for offset, length, reason in found.damages]
        self.needed = found.needed
        return Outcome(found.outcome), begin + found.position, len(found.rows)

    def _number_of(self, tag: bytes, numbers: dict[bytes, int]) -> int:
        """Return the number of a tag, adding it to the kernel's tables if it is new.

        ``numbers`` has the numbers assigned so far.
        """
        number = numbers.get(tag)
        if number is not None:
            return number
        number = numbers[tag] = self._names.add(tag)
        self._make_room_for_shapes()
        self.tags.append(tag)
        return number

    def split_by_tag(self, rows: NDArray[np.void]) -> "RowsByTag":
        """Group the rows by tag, in file order, as columns; rows that belong to no tag are omitted."""
        if KERNELS.spared or not KERNELS.ready:
            return _split_plainly(rows, len(self.tags))
        from stepscope.summary import scan_kernel

        count, tags = int(np.count_nonzero(rows["tag"] >= 0)), len(self.tags)
        steps = np.empty(count, np.int64)
        split = RowsByTag(
            rows,
            steps,
            np.empty(tags, np.int64),
            np.empty(count, np.float64),
            np.empty(count, np.float64),
            np.empty(count, np.int32),
            np.empty(count, np.bool_),
            np.empty(tags, np.int64),
            np.empty(tags, np.bool_),
        )
        distinct = scan_kernel.split_by_tag(*split)
        return split._replace(steps=steps[:distinct].copy())

    def _make_room_for_shapes(self) -> None:
        """Make room for the shape of a record of each tag that the tables can hold."""
        while len(self._layouts) < len(self._names.starts):
            self._templates = np.concatenate([self._templates, np.zeros_like(self._templates)])
            self._layouts = np.concatenate([self._layouts, np.zeros_like(self._layouts)])


class RowsByTag(NamedTuple):
    """The rows of a window as columns, tag after tag."""

    found: NDArray[np.void]
    """The window's rows in file order."""
    steps: NDArray[np.int64]
    """Steps of each tag, stored once for neighbors with equal steps, as tags are usually logged together."""
    step_begins: NDArray[np.int64]
    """[tags]: start of each tag's steps."""
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    numbers: NDArray[np.int32]
    is_blob: NDArray[np.bool_]
    """Whether the row holds something other than a number."""
    group_ends: NDArray[np.int64]
    """[tags]: end of each tag's rows; they begin at the end of the previous tag's rows."""
    goes_back: NDArray[np.bool_]
    """[tags]: whether a step of the tag is below the one before it."""

    def of_tag(self, tag: int, group: slice) -> Rows:
        """Return the rows of a tag, given as the slice ``group``."""
        begin = int(self.step_begins[tag])
        return Rows(
            self.steps[begin : begin + group.stop - group.start],
            self.wall_times[group],
            self.values[group],
            self.found,
            self.numbers[group],
            goes_back=bool(self.goes_back[tag]),
        )


def _split_plainly(rows: NDArray[np.void], tags: int) -> RowsByTag:
    """Return the rows grouped by tag like `Scanner.split_by_tag`, without compiled loops."""
    of_tags = np.flatnonzero(rows["tag"] >= 0)
    numbers = of_tags[np.argsort(rows["tag"][of_tags], kind="stable")].astype(np.int32)
    ordered = rows[numbers]
    steps = ordered["step"].astype(np.int64)
    ends = np.cumsum(np.bincount(ordered["tag"], minlength=tags)).astype(np.int64)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)[:tags]
    distinct: list[NDArray[np.int64]] = []
    step_begins = np.zeros(tags, np.int64)
    goes_back = np.zeros(tags, np.bool_)
    packed = 0
    for tag in range(tags):
        own = steps[begins[tag] : ends[tag]]
        goes_back[tag] = bool((own[1:] < own[:-1]).any())
        if not distinct or not np.array_equal(own, distinct[-1]):
            distinct.append(own)
            packed += len(own)
        step_begins[tag] = packed - len(distinct[-1])
    return RowsByTag(
        rows,
        np.concatenate(distinct) if distinct else steps,
        step_begins,
        ordered["wall_time"].astype(np.float64),
        ordered["value"].astype(np.float64),
        numbers,
        ordered["form"] != scan_layout.NUMBER,
        ends,
        goes_back,
    )


class Framed(NamedTuple):
    """The records of a buffer."""

    records: NDArray[np.int64]
    """[n, 2]: start and end of each record's data in the buffer."""
    damages: list[RawDamage]
    outcome: Outcome
    """``ROWS_FULL`` if the buffer has more records than one call finds."""
    position: int
    """Position in the buffer at which the search stopped."""
    needed: int
    """Total bytes needed by the record at the end of the buffer; 0 if its header is not there yet."""


def frame_records(buffer: NDArray[np.uint8], begin: int, base: int, most: int = MOST_FRAMED) -> Framed:
    """Find records of any kind, and check their CRCs.

    Args:
        buffer: the bytes of the file, starting at offset ``base``.
        begin: position in the buffer at which to start.
        base: offset of the buffer in the file.
        most: maximum number of records.
    """
    if not KERNELS.ready:
        plain = plain_scan.frame_records(buffer.tobytes(), begin, base, most)
        records = np.array(plain.rows, np.int64).reshape(-1, 2)
        damages = [RawDamage(offset, length, DamageReason(reason)) for offset, length, reason in plain.damages]
        return Framed(records, damages, Outcome(plain.outcome), plain.position, plain.needed)
    from stepscope.summary import scan_kernel

    state = np.zeros(8, np.int64)
    records = np.empty((min(most, len(buffer) // (HEADER_BYTES + FOOTER_BYTES) + 1), 2), np.int64)
    found: list[RawDamage] = []
    damages_found = np.empty((256, 3), np.int64)
    position = begin
    while True:
        state[scan_layout.DAMAGES] = 0
        outcome = Outcome(scan_kernel.frame_records(buffer, position, len(buffer), base, state, records, damages_found))
        position = int(state[scan_layout.POSITION])
        found += [
            RawDamage(offset, length, DamageReason(reason))
            for offset, length, reason in damages_found[: state[scan_layout.DAMAGES]].tolist()
        ]
        if outcome is not Outcome.DAMAGES_FULL:
            break
    count = int(state[scan_layout.RECORDS])
    return Framed(records[:count], found, outcome, position, int(state[scan_layout.NEEDED]))
