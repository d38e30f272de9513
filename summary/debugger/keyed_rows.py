"""Records of which most are decoded in batches and the others one by one, in order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.columns import GrowingColumn
from stepscope.summary.debugger.record_file import EnoughError, Take, Taken

REFUSED: Final = -1
"""The marker of a key whose first record was refused."""


class Learn(Protocol):
    """Stores the data that records of the next key share, from the record taken last."""

    def __call__(self, *, taken: bool) -> None: ...


@dataclass(frozen=True)
class KeyedRows:
    """Decoded records, and the functions that take them."""

    plain: NDArray[np.bool_]
    """Which records are decoded."""
    keys: NDArray[np.int64]
    """The keys of these; new ones are numbered in the order of their first rows."""
    known: GrowingColumn
    """One entry per known key, or `REFUSED`."""
    learn: Learn
    take_plain: Callable[[int, int], None]
    """Takes a range of rows that are all plain and have known keys."""
    room: Callable[[int, int], int]
    """Returns how many of these rows there is room for."""


def take_rows(rows: KeyedRows, take: Take, base: int, buffer: bytes, records: NDArray[np.int64]) -> Taken:
    """Take records; those that are not plain, have refused keys, or are the first of their key go through ``take``.

    Args:
        rows: the content of the records.
        take: takes one record.
        base: the offset of the buffer.
        buffer: the bytes that contain the records.
        records: [n, 2], where each record begins and ends.
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
            # This reports why there is no room.
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
