"""Scans the bytes of an event file into columns: framing, both CRCs and the common shapes of an event.

The format is TFRecord (length as uint64, masked CRC-32C of the length, data, masked CRC-32C of the data, all little
endian) around serialized ``Event`` messages. The kernel walks the protobuf wire format itself: a record whose summary
holds numbers becomes rows without an object being made, and anything else is remembered by where it lies.
It holds no lock and no Python object, so that files are scanned in parallel by threads. While another process compiles
the kernel, `stepscope.summary.plain_scan` reads.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary import plain_scan, scan_layout
from stepscope.summary.kernels import Group
from stepscope.summary.points import Rows

KERNELS: Final = Group("event files", ["stepscope.summary.scan_kernel"])
"""The loops of the scan."""

_TAGS_AT_FIRST: Final = 16
"""The room of the tables, which stay for as long as the file may grow: half a kilobyte a tag, of each of many files."""

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

``offset`` and ``length`` are those of the record's data in the file, ``index`` says which value of the record's summary
it is. ``value_at`` and ``value_length`` are where the value's own message lies in the record's data; the length is 0
where that is not kept. ``tag`` is the number of the tag in the scanner; for an event whose payload is no summary it is
minus the number of the ``Event`` field.
"""


class Outcome(IntEnum):
    """Why a scan stopped."""

    END = 0
    """Everything in the buffer was read, or it ends inside a record."""
    ROWS_FULL = 1
    TAGS_FULL = 2
    DAMAGES_FULL = 3
    LOST = 4
    """No valid header follows the position in this buffer."""


class DamageReason(IntEnum):
    """What was wrong with a stretch of bytes."""

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
    """A stretch of the file that is no record, as the scan found it."""

    offset: int
    length: int
    reason: DamageReason


@dataclass
class Scanner:
    """Scans one file from its beginning, buffer after buffer; knows the tags met so far."""

    tags: list[bytes] = field(default_factory=list)
    """Every tag so far, as its bytes in the file, by number."""
    records: int = 0
    damages: list[RawDamage] = field(default_factory=list)
    """What was found since the caller last cleared the list."""
    needed: int = 0
    """Bytes that the record at the end of the last buffer needs in all; 0 if its header is not there yet."""
    _state: NDArray[np.int64] = field(default_factory=lambda: np.array([0] * 7 + [-1], np.int64), repr=False)
    _arena: NDArray[np.uint8] = field(default_factory=lambda: np.empty(32 * _TAGS_AT_FIRST, np.uint8), repr=False)
    _starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_TAGS_AT_FIRST, np.int64), repr=False)
    _slots: NDArray[np.int64] = field(default_factory=lambda: np.full(2 * _TAGS_AT_FIRST, -1, np.int64), repr=False)
    _successors: NDArray[np.int64] = field(default_factory=lambda: np.full(_TAGS_AT_FIRST, -1, np.int64), repr=False)
    _templates: NDArray[np.uint64] = field(
        default_factory=lambda: np.zeros((_TAGS_AT_FIRST, 2 * scan_layout.TEMPLATE_WORDS), np.uint64), repr=False
    )
    _layouts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((_TAGS_AT_FIRST, scan_layout.LAYOUT_NUMBERS), np.int64), repr=False
    )

    def scan(
        self, buffer: NDArray[np.uint8], begin: int, base: int, rows: NDArray[np.void]
    ) -> tuple[Outcome, int, int]:
        """Read records of ``buffer`` from ``begin`` on into ``rows``.

        Args:
            buffer: the bytes of the file from offset ``base`` on.
            begin: where in the buffer to begin.
            base: offset of the buffer in the file.
            rows: `ROW` [n]: where the rows go; they are overwritten from the first.

        Returns:
            Why it stopped, where in the buffer it stopped, and how many rows it wrote. ``TAGS_FULL`` never comes out:
            the tables grow as needed.
        """
        if not KERNELS.ready:
            return self._scan_plainly(buffer[begin:].tobytes(), base + begin, begin, rows)
        from stepscope.summary import scan_kernel

        state = self._state
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
                    self._arena,
                    self._starts,
                    self._slots,
                    self._successors,
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
                self._grow_tables()
            elif outcome is not Outcome.DAMAGES_FULL:
                break
        self.needed = int(state[scan_layout.NEEDED])
        for tag in range(len(self.tags), int(state[scan_layout.TAGS])):
            self.tags.append(self._arena[self._starts[tag] : self._starts[tag + 1]].tobytes())
        return outcome, position, int(state[scan_layout.ROWS])

    def _scan_plainly(self, data: bytes, base: int, begin: int, rows: NDArray[np.void]) -> tuple[Outcome, int, int]:
        """Read records as `scan` does, of a copy of the buffer from ``begin`` on, without compiled loops."""
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        found = plain_scan.scan(data, 0, base, len(rows), lambda tag: self._number_of(tag, numbers))
        rows[: len(found.rows)] = np.array(found.rows, ROW)
        self.records += found.records
        self.damages += [RawDamage(offset, length, DamageReason(reason)) for offset, length, reason in found.damages]
        self.needed = found.needed
        return Outcome(found.outcome), begin + found.position, len(found.rows)

    def _number_of(self, tag: bytes, numbers: dict[bytes, int]) -> int:
        """Return the number of a tag, which is entered into the kernel's tables if it is new.

        ``numbers`` are those so far.
        """
        number = numbers.get(tag)
        if number is not None:
            return number
        number = numbers[tag] = len(self.tags)
        while (
            self._state[scan_layout.ARENA] + len(tag) > len(self._arena)
            or number + 2 > len(self._starts) - 1
            or 2 * (number + 1) > len(self._slots)
        ):
            self._grow_tables()
        begin = int(self._state[scan_layout.ARENA])
        self._arena[begin : begin + len(tag)] = np.frombuffer(tag, np.uint8)
        self._state[scan_layout.ARENA] = self._starts[number + 1] = begin + len(tag)
        self._state[scan_layout.TAGS] = number + 1
        self._enter(number, tag)
        self.tags.append(tag)
        return number

    def split_by_tag(self, rows: NDArray[np.void]) -> "RowsByTag":
        """Bring the rows of each tag together, in file order, as columns; rows that belong to no tag are left out."""
        if not KERNELS.ready:
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

    def _grow_tables(self) -> None:
        """Double the room for tags."""
        tags = int(self._state[scan_layout.TAGS])
        self._arena = np.concatenate([self._arena, np.empty_like(self._arena)])
        if tags + 3 <= len(self._starts) and 2 * (tags + 1) <= len(self._slots):
            return
        self._starts = np.concatenate([self._starts, np.zeros_like(self._starts)])
        self._successors = np.concatenate([self._successors, np.full_like(self._successors, -1)])
        self._templates = np.concatenate([self._templates, np.zeros_like(self._templates)])
        self._layouts = np.concatenate([self._layouts, np.zeros_like(self._layouts)])
        self._slots = np.full(2 * len(self._slots), -1, np.int64)
        for tag in range(tags):
            self._enter(tag, self._arena[self._starts[tag] : self._starts[tag + 1]].tobytes())

    def _enter(self, number: int, tag: bytes) -> None:
        """Put a tag into the table by which the kernel finds it."""
        mask = len(self._slots) - 1
        slot = _hash(tag) & mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & mask
        self._slots[slot] = number


class RowsByTag(NamedTuple):
    """The rows of a window as columns, tag after tag."""

    found: NDArray[np.void]
    """The window's rows in file order."""
    steps: NDArray[np.int64]
    """Those of each tag, but once only for neighbors that have the same: as a rule all tags are logged together."""
    step_begins: NDArray[np.int64]
    """[tags]: where each tag's steps begin."""
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    numbers: NDArray[np.int32]
    is_blob: NDArray[np.bool_]
    """Whether the row holds what is not a number to the scan."""
    group_ends: NDArray[np.int64]
    """[tags]: where each tag's rows end; they begin where the tag's before end."""
    goes_back: NDArray[np.bool_]
    """[tags]: whether a step of the tag is below the one before it."""

    def of_tag(self, tag: int, group: slice) -> Rows:
        """Return the rows of a tag, which are those of ``group``."""
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
    """Return the rows of each tag as `Scanner.split_by_tag` brings them together, without compiled loops."""
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


def _hash(tag: bytes) -> int:
    """FNV-1a with a final mix, as the kernel computes it."""
    h = 0xCBF29CE484222325
    for byte in tag:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h ^ (h >> 29)
