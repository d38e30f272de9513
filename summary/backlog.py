"""Records on their way into a file; none is lost while the file cannot be written."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from stepscope.summary.counts import counted
from stepscope.summary.records import length_of_record
from stepscope.summary.storage import AppendFile

_SMALL_PIECE: Final = 1 << 16

Piece: TypeAlias = bytes | bytearray | memoryview
"""Whole records, one after another."""


@dataclass
class Backlog:
    """Whole records that readers cannot see yet."""

    size: int = 0
    """Bytes."""
    count: int = 0
    """Records."""
    _pieces: list[bytes | memoryview] = field(default_factory=list)
    _taken: int = 0
    """How many bytes the file has taken."""

    def extend(self, pieces: Iterable[Piece], count: int) -> None:
        """Add ``count`` whole records; small pieces are joined so that few calls write them."""
        small: list[Piece] = []
        for piece in pieces:
            if len(piece) < _SMALL_PIECE:
                small.append(piece)
                continue
            self._add(b"".join(small))
            small.clear()
            self._add(piece if isinstance(piece, memoryview) else memoryview(piece))
        self._add(b"".join(small))
        self.count += count

    def write_to(self, file: AppendFile, *, to_disk: bool) -> None:
        """Return once readers, or the disk, have all records; raises OSError, after which the next call resumes."""
        begin = 0
        for piece in self._pieces:
            view = memoryview(piece)
            while self._taken < begin + len(view):
                self._taken += file.write(view[self._taken - begin :])
            begin += len(view)
        file.flush(to_disk=to_disk)

    def rewind(self) -> None:
        """Mark all records as unwritten, to write them to another file."""
        self._taken = 0

    def clear(self) -> None:
        """Discard all records, as they are in the file."""
        self._pieces.clear()
        self.size = self.count = self._taken = 0

    def unseen(self, file: AppendFile | None) -> str:
        """Return how much readers cannot see yet, as text for people."""
        seen = self._taken - (0 if file is None else file.unflushed)
        events = end = 0
        for piece in self._pieces:
            begin = 0
            while begin < len(piece):
                length = length_of_record(piece, begin)
                begin, end = begin + length, end + length
                events += end > seen
        return f"{counted(events, 'event')} ({counted(self.size - seen, 'byte')})"

    def _add(self, piece: bytes | memoryview) -> None:
        if piece:
            self._pieces.append(piece)
            self.size += len(piece)
