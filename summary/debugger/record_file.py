"""One growing file of records, framed as event files are, of which only the places of records are kept."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.contents import Damage, FileHealth
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.plain_scan import is_followed_by_crc, next_header
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, masked_crc
from stepscope.summary.scan import DAMAGE_REASONS, DamageReason
from stepscope.summary.scan_layout import LARGEST_RECORD
from stepscope.summary.source import read_up_to

LARGEST_READ: Final = 256 << 20
"""Bytes of a record that is read; a longer one is skipped, counted and named."""
_WINDOW_BYTES: Final = 4 << 20
_DAMAGES_KEPT: Final = 100
_COMPARED_BYTES: Final = 64
_LENGTH: Final = struct.Struct("<Q")

OpenAt = Callable[[str, int], BinaryIO]
"""Opens the file of a name at an offset; raises OSError."""
Take = Callable[[int, bytes], str | None]
"""Takes the data of a record, which begins at an offset of the file; returns what is wrong with it, if anything.

Raises `EnoughError` to have the rest of the file left out."""
_Step = Literal["needs more", "lost", "enough"]


class EnoughError(Exception):
    """Raised by `Take`: no more of the file is to be read; the message says why."""


class ReplacedError(Exception):
    """The file is not the one that was read so far; the message says how that shows."""


@dataclass(frozen=True)
class Record:
    """Where the data of a record lies."""

    name: str
    offset: int
    length: int


class RecordFile:
    """Reads a growing file piece by piece; one that was replaced is to be read by a new object.

    Args:
        name: of the file, for `OpenAt` and for messages.
        open_at: opens it.
    """

    def __init__(self, name: str, open_at: OpenAt) -> None:
        self.name: Final = name
        self._open_at: Final = open_at
        self.position = 0
        """Offset of the first byte that is not read for good."""
        self.size = 0
        """As it was last seen."""
        self.records = 0
        self.waiting = False
        """It ends inside a record."""
        self.error = ""
        """Why it cannot be opened."""
        self.damage_count = 0
        self.skipped_bytes = 0
        self._damages: list[Damage] = []
        self._tail_damage: Damage | None = None
        self._head = b""
        self._tail = b""
        self._needed = 0
        self._enough = ""
        """Why no more is read."""

    def health(self, run: str) -> FileHealth:
        """Return what was read of it, and what was not."""
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

    def read_new(self, size: int, take: Take) -> None:
        """Read what was appended, up to ``size`` bytes; what was taken stays when that is ended midway.

        Raises:
            ReplacedError: it is another file than before, or shorter.
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
                    raise ReplacedError("it begins, or goes on, in another way than when it was read first")
                self._read(stream, size, take)
            self.error = ""
        except OSError as error:
            self.error = error.strerror or str(error)

    def _is_as_before(self, stream: BinaryIO) -> bool:
        head = read_up_to(stream, len(self._head))
        stream.seek(self.position - len(self._tail))
        return head == self._head and read_up_to(stream, len(self._tail)) == self._tail

    def _read(self, stream: BinaryIO, size: int, take: Take) -> None:
        lost_at: int | None = None
        position, window = self.position, _WINDOW_BYTES
        while position < size:
            check_cancelled()
            stream.seek(position)
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
                self._add_damage(lost_at, position + following - lost_at, DAMAGE_REASONS[DamageReason.HEADER])
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
                self._add_damage(position, self._needed, f"a record of {self._needed:,} bytes is too large to be read")
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

    def _take_all(self, buffer: bytes, at: int, base: int, take: Take) -> tuple[int, _Step]:
        """Take the records of a window from ``at`` on; returns where that ends, and why."""
        self._needed = 0
        end = len(buffer)
        while end - at >= HEADER_BYTES:
            (length,) = _LENGTH.unpack_from(buffer, at)
            if length > LARGEST_RECORD or not is_followed_by_crc(buffer, at, at + 8):
                following = next_header(buffer, at + 1)
                if following < 0:
                    return at, "lost"
                self._add_damage(base + at, following - at, DAMAGE_REASONS[DamageReason.HEADER])
                at = following
                continue
            begin, stop = at + HEADER_BYTES, at + HEADER_BYTES + length
            if stop + FOOTER_BYTES > end:
                self._needed = stop + FOOTER_BYTES - at
                return at, "needs more"
            reason: str | None = DAMAGE_REASONS[DamageReason.DATA]
            if is_followed_by_crc(buffer, begin, stop):
                try:
                    reason = take(base + begin, buffer[begin:stop])
                except EnoughError as error:
                    self._enough = str(error)
                    return at, "enough"
                self.records += reason is None
            if reason is not None:
                self._add_damage(base + at, stop + FOOTER_BYTES - at, reason)
            at = stop + FOOTER_BYTES
        return at, "needs more"

    def _advance(self, position: int, last: bytes) -> None:
        self._tail = last
        self.position = position

    def _add_damage(self, offset: int, length: int, reason: str) -> None:
        self.damage_count += 1
        self.skipped_bytes += length
        if len(self._damages) < _DAMAGES_KEPT:
            self._damages.append(Damage(offset, length, reason))


def read_records(open_at: OpenAt, name: str, offsets: list[int], lengths: list[int]) -> list[bytes | None]:
    """Return the data of records of a file, in ascending order of offsets; None for those that have changed since.

    Neighbors are read together.

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
        raise PayloadError(f"{name} cannot be read: {error.strerror or error}") from error
    return found


def _reaches(offsets: list[int], lengths: list[int], first: int, following: int) -> bool:
    """Return whether a record is read with those before it: it lies close by, and all together are no more than a
    window.
    """
    gap = offsets[following] - offsets[following - 1] - lengths[following - 1]
    return 0 <= gap <= _WINDOW_BYTES // 16 and offsets[following] + lengths[following] - offsets[first] <= _WINDOW_BYTES
