"""Records of which most are decoded many at once, and the others one by one, in their order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.columns import GrowingColumn
from stepscope.summary.debugger.record_file import EnoughError, Take, Taken

REFUSED: Final = -1
"""What is known of a key whose first record was refused."""


class Learn(Protocol):
    """Notes what records of the next key have in common, from the one that was taken last."""

    def __call__(self, *, taken: bool) -> None: ...


@dataclass(frozen=True)
class KeyedRows:
    """Records that are decoded, and what takes them."""

    plain: NDArray[np.bool_]
    """Which are."""
    keys: NDArray[np.int64]
    """Of these; new ones are numbered in the order of their first rows."""
    known: GrowingColumn
    """Of each key something, or `REFUSED`."""
    learn: Learn
    take_plain: Callable[[int, int], None]
    """Takes rows from one up to another, which are all plain and of known keys."""
    room: Callable[[int, int], int]
    """Says how many of these there is room for."""


def take_rows(rows: KeyedRows, take: Take, base: int, buffer: bytes, records: NDArray[np.int64]) -> Taken:
    """Take records: by ``take`` those that are not plain, those of keys that are refused, and the first of each key.

    Args:
        rows: what they hold.
        take: takes one.
        base: the offset of the buffer.
        buffer: what they lie in.
        records: [n, 2]: where.
    """
    plain = np.flatnonzero(rows.plain)
    distinct, firsts = np.unique(rows.keys[plain], return_index=True)
    new = plain[firsts[distinct >= len(rows.known)]]
    return _Taking(rows, take, base, buffer, records, frozenset(new.tolist())).run()


class _Taking:
    def __init__(
        self,
        rows: KeyedRows,
        take: Take,
        base: int,
        buffer: bytes,
        records: NDArray[np.int64],
        new: frozenset[int],
    ) -> None:
        self._rows: Final = rows
        self._take: Final = take
        self._base: Final = base
        self._buffer: Final = buffer
        self._records: Final = records
        self._new: Final = new
        self._refused: Final[list[tuple[int, str]]] = []
        self._at = 0

    def run(self) -> Taken:
        count = len(self._records)
        alone = sorted(self._new.union(np.flatnonzero(~self._rows.plain).tolist()))
        try:
            for row in alone:
                self._many(row)
                self._one()
            self._many(count)
        except EnoughError as error:
            return Taken(self._refused, (self._at, str(error)))
        return Taken(self._refused)

    def _many(self, end: int) -> None:
        """Take plain rows of known keys up to ``end``."""
        if end == self._at:
            return
        keys = self._rows.keys[self._at : end]
        for row in (self._at + np.flatnonzero(self._rows.known.view()[keys] == REFUSED)).tolist():
            self._plain(row)
            self._one()
        self._plain(end)

    def _plain(self, end: int) -> None:
        if end == self._at:
            return
        stop = self._at + min(self._rows.room(self._at, end), end - self._at)
        if stop > self._at:
            self._rows.take_plain(self._at, stop)
            self._at = stop
        if stop < end:
            # It says why there is no room.
            self._one()

    def _one(self) -> None:
        row = self._at
        begin, end = self._records[row].tolist()
        reason = self._take(self._base + begin, self._buffer[begin:end])
        if row in self._new:
            self._rows.learn(taken=reason is None)
        if reason is not None:
            self._refused.append((row, reason))
        self._at = row + 1
