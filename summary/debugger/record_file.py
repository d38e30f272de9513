"""A growing file of records with the framing of event files; only the locations of records are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import Cancellation, cancellable, check_cancelled
from stepscope.summary.contents import Damage, FileHealth
from stepscope.summary.errors import reason_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.plain_scan import next_header
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, masked_crc
from stepscope.summary.scan import DAMAGE_REASONS, DamageReason, Outcome, frame_records
from stepscope.summary.source import read_up_to

LARGEST_READ: Final = 256 << 20
"""Maximum size in bytes of a record that is read; a longer one is skipped, counted and reported."""
_WINDOW_BYTES: Final = 4 << 20
_DAMAGES_KEPT: Final = 100
_COMPARED_BYTES: Final = 64

OpenAt = Callable[[str, int], BinaryIO]
"""Opens the named file at an offset; raises OSError."""
Records = NDArray[np.int64]
"""[n, 2], where the data of each record begins and ends in a buffer."""
_Step = Literal["needs more", "lost", "enough"]


@dataclass(frozen=True)
class Taken:
    """The outcome of taking records."""

    refused: Sequence[tuple[int, str]] = ()
    """The rows of records that were not taken, ascending, with the reasons."""
    enough: tuple[int, str] | None = None
    """The row from which the rest of the file is not to be read, with the reason."""


TakeAll = Callable[[int, bytes, Records], Taken]
"""Takes the records in a buffer; the first argument is the offset of the buffer in the file."""
Take = Callable[[int, bytes], str | None]
"""Takes the data of a record that begins at an offset of the file; returns what is wrong with it, if anything.

Raises `EnoughError` to skip the rest of the file."""


class EnoughError(Exception):
    """Raised by `Take` to stop reading the file; the message gives the reason."""


def one_by_one(take: Take) -> TakeAll:
    """Return a `TakeAll` that passes records to ``take`` one by one."""

    def take_all(base: int, buffer: bytes, records: Records) -> Taken:
        refused: list[tuple[int, str]] = []
        for row, (begin, end) in enumerate(records.tolist()):
            try:
                reason = take(base + begin, buffer[begin:end])
            except EnoughError as error:
                return Taken(refused, (row, str(error)))
            if reason is not None:
                refused.append((row, reason))
        return Taken(refused)

    return take_all


class ReplacedError(Exception):
    """The file is not the one read so far; the message says how this was detected."""


@dataclass(frozen=True)
class Record:
    """The location of a record's data."""

    name: str
    offset: int
    length: int


class RecordFile:
    """Reads a growing file piece by piece; a replaced file must be read by a new object.

    Args:
        name: the name of the file, for `OpenAt` and for messages.
        open_at: opens the file.
    """

    def __init__(self, name: str, open_at: OpenAt) -> None:
        self.name: Final = name
        self._open_at: Final = open_at
        self.position = 0
        """Offset of the first byte that has not been finally read."""
        self.size = 0
        """The file size when last seen."""
        self.records = 0
        self.waiting = False
        """Whether the file ends inside a record."""
        self.error = ""
        """The reason that the file cannot be opened."""
        self.damage_count = 0
        self.skipped_bytes = 0
        self._damages: list[Damage] = []
        self._tail_damage: Damage | None = None
        self._head = b""
        self._tail = b""
        self._needed = 0
        self._enough = ""
        """The reason that no more is read."""

    def health(self, run: str) -> FileHealth:
        """Return how much of the file was and was not read."""
        tail = () if self._tail_damage is None else (self._tail_damage,)
        return FileHealth(
            self.name,
            run,
            self.position,
            self.size,
            self.records,
            (*self._damages, *tail),
            self.damage_count + len(tail),
            self.waiting,
            self.error,
            skipped_bytes=self.skipped_bytes + sum(damage.length for damage in tail),
        )

    def read_new(self, size: int, take: TakeAll) -> None:
        """Read appended data, up to a file size of ``size`` bytes; if interrupted, the records taken so far are kept.

        Raises:
            ReplacedError: the file is a different one than before, or is shorter.
        """
        if size < self.position:
            raise ReplacedError(f"it shrank from {self.position:,} bytes, which were read, to {size:,}")
        self.size = size
        if self._enough:
            self._tail_damage = Damage(self.position, size - self.position, self._enough)
            return
        if size == self.position:
            self.waiting, self._tail_damage = False, None
            return
        try:
            with self._open_at(self.name, 0) as stream:
                if self.position and not self._is_as_before(stream):
                    raise ReplacedError("its content has changed since it was first read")
                self._read(stream, size, take)
            self.error = ""
        except OSError as error:
            self.error = reason_of(error)

    def _is_as_before(self, stream: BinaryIO) -> bool:
        head = read_up_to(stream, len(self._head))
        stream.seek(self.position - len(self._tail))
        return head == self._head and read_up_to(stream, len(self._tail)) == self._tail

    def _read(self, stream: BinaryIO, size: int, take: TakeAll) -> None:
        lost_at: int | None = None
        position, window = self.position, _WINDOW_BYTES
        while position < size:
            check_cancelled()
            stream.seek(position)
            # Release the previous buffer first.
            buffer = b""
            buffer = read_up_to(stream, min(window, size - position))
            if position == 0:
                self._head = buffer[:_COMPARED_BYTES]
            if not buffer:
                break
            at_end = len(buffer) < window or position + len(buffer) >= size
            at = 0
            if lost_at is not None:
                following = next_header(buffer, 0)
                if following < 0:
                    position += max(1, len(buffer) - HEADER_BYTES + 1)
                    if at_end:
                        break
                    continue
                reason = DAMAGE_REASONS[DamageReason.HEADER]
                self._add_damage(Damage(lost_at, position + following - lost_at, reason))
                lost_at, at = None, following
            at, step = self._take_all(buffer, at, position, take)
            if at or step != "lost":
                self._advance(position + at, buffer[max(0, at - _COMPARED_BYTES) : at])
            position += at
            if step == "lost":
                lost_at = position
                position += 1
            elif step == "enough":
                break
            elif self._needed > LARGEST_READ:
                if position + self._needed > size:
                    break
                reason = f"a record of {self._needed:,} bytes is too large to be read"
                self._add_damage(Damage(position, self._needed, reason))
                position += self._needed
                self._advance(position, b"")
            elif at_end or self._needed > size - position:
                break
            window = max(_WINDOW_BYTES, min(self._needed, LARGEST_READ + HEADER_BYTES + FOOTER_BYTES))
        self._tail_damage = None
        if lost_at is not None:
            reason = f"{DAMAGE_REASONS[DamageReason.HEADER]}, and no record follows"
            self._tail_damage = Damage(lost_at, size - lost_at, reason)
        if self._enough:
            self._tail_damage = Damage(self.position, size - self.position, self._enough)
        self.waiting = self._tail_damage is None and self.position < size

    def _take_all(self, buffer: bytes, at: int, base: int, take: TakeAll) -> tuple[int, _Step]:
        """Take the records of a window from ``at`` on; return where they end, and why."""
        array = np.frombuffer(buffer, np.uint8)
        while True:
            framed = frame_records(array, at, base)
            # Interrupted among them, the file would not tell which were taken.
            with cancellable(Cancellation()):
                taken = take(base, buffer, framed.records)
            at = framed.position
            damages = [Damage(each.offset, each.length, DAMAGE_REASONS[each.reason]) for each in framed.damages]
            for row, reason in taken.refused:
                begin, end = framed.records[row].tolist()
                length = end + FOOTER_BYTES - begin + HEADER_BYTES
                damages.append(Damage(base + begin - HEADER_BYTES, length, reason))
            count = len(framed.records)
            if taken.enough is not None:
                count, self._enough = taken.enough
                at = int(framed.records[count, 0]) - HEADER_BYTES
            self.records += count - len(taken.refused)
            for damage in sorted(damages, key=lambda damage: damage.offset):
                if damage.offset < base + at:
                    self._add_damage(damage)
            if self._enough:
                return at, "enough"
            if framed.outcome is not Outcome.ROWS_FULL:
                self._needed = framed.needed
                return at, "lost" if framed.outcome is Outcome.LOST else "needs more"

    def _advance(self, position: int, last: bytes) -> None:
        self._tail = last
        self.position = position

    def _add_damage(self, damage: Damage) -> None:
        self.damage_count += 1
        self.skipped_bytes += damage.length
        if len(self._damages) < _DAMAGES_KEPT:
            self._damages.append(damage)


def read_records(open_at: OpenAt, name: str, offsets: list[int], lengths: list[int]) -> list[bytes | None]:
    """Return the data of records of a file, in ascending order of offset; None for records that have changed since.

    Neighboring records are read together.

    Raises:
        PayloadError: the file cannot be read any more.
    """
    found: list[bytes | None] = []
    try:
        with open_at(name, 0) as stream:
            first = 0
            while first < len(offsets):
                check_cancelled()
                last = first
                while last + 1 < len(offsets) and _reaches(offsets, lengths, first, last + 1):
                    last += 1
                begin = offsets[first]
                stream.seek(begin)
                content = read_up_to(stream, offsets[last] + lengths[last] + FOOTER_BYTES - begin)
                for number in range(first, last + 1):
                    at = offsets[number] - begin
                    stop = at + lengths[number]
                    data, crc = content[at:stop], content[stop : stop + FOOTER_BYTES]
                    whole = len(crc) == FOOTER_BYTES and masked_crc(data) == int.from_bytes(crc, "little")
                    found.append(data if whole else None)
                first = last + 1
    except OSError as error:
        raise PayloadError(f"{name} cannot be read: {reason_of(error)}") from error
    return found


def _reaches(offsets: list[int], lengths: list[int], first: int, following: int) -> bool:
    """Return whether a record is read with those before it: it is close by, and together they fit in a window."""
    gap = offsets[following] - offsets[following - 1] - lengths[following - 1]
    return 0 <= gap <= _WINDOW_BYTES // 16 and offsets[following] + lengths[following] - offsets[first] <= _WINDOW_BYTES
