"""Append-only columns of millions of numbers, packed so that most take little or no memory.

Every `BLOCK` numbers are packed separately, in the first of these lossless forms: one number for all of them; one
number per place of `stepscope.summary.debugger.events.Places`, the same in all blocks; offsets of consecutive records,
stored as the first offset; whole numbers, or whole microseconds, relative to the minimum of the block; unpacked.
"""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES

_SHIFT: Final = 14
BLOCK: Final = 1 << _SHIFT
_MICROSECONDS: Final = 1e6
"""The divisor that TensorFlow applies to its clock."""
_FIRST_ROOM: Final = 256

Numbers = NDArray[Any]


class _Above(NamedTuple):
    """Whole numbers relative to their minimum, with a divisor."""

    least: Any
    more: Numbers
    divisor: float

    @property
    def nbytes(self) -> int:
        return self.more.nbytes


class _ByPlace(NamedTuple):
    """The number in the column's table for each place."""

    nbytes: int = 0


class _Following(NamedTuple):
    """Offsets of consecutive records."""

    first: int
    nbytes: int = 8


_Packed = np.generic | NDArray[Any] | _Above | _ByPlace | _Following


class PackedView:
    """The numbers of a column at one moment; immutable, and usable by any thread like an array.

    Args:
        blocks: the packed blocks; more may have been added since.
        tail: the numbers after the blocks.
        count: how many numbers there are.
        table: the number of each place.
        beside: the column by which numbers are packed, if any.
    """

    def __init__(
        self, blocks: list[_Packed], tail: Numbers, count: int, table: Numbers, beside: "PackedView | None"
    ) -> None:
        self._blocks: Final = blocks
        self._tail: Final = tail
        self._count: Final = count
        self._table: Final = table
        self._beside: Final = beside
        self.dtype: Final = tail.dtype

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> Any:
        """Return one number, the numbers of a slice without a step, or the numbers at an array of rows."""
        if isinstance(key, slice):
            begin, end, _ = key.indices(self._count)
            return self._part(begin, max(begin, end))
        rows = np.asarray(key)
        if rows.ndim == 0:
            return self._block(int(rows) >> _SHIFT, rows.reshape(1) & (BLOCK - 1))[0]
        return self._at(rows.astype(np.int64))

    @property
    def nbytes(self) -> int:
        """The memory use in bytes, without the column beside it."""
        packed = sum(each.nbytes for each in self._blocks[: self._count >> _SHIFT])
        return packed + self._table.nbytes + BLOCK * self.dtype.itemsize

    def _part(self, begin: int, end: int) -> Numbers:
        found = np.empty(end - begin, self.dtype)
        for number in range(begin >> _SHIFT, -(-end // BLOCK)):
            base = number << _SHIFT
            low, high = max(begin, base), min(end, base + BLOCK)
            found[low - begin : high - begin] = self._block(number, slice(low - base, high - base))
        return found

    def _at(self, rows: NDArray[np.int64]) -> Numbers:
        found = np.empty(len(rows), self.dtype)
        numbers = rows >> _SHIFT
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(rows, kind="stable")
            found[order] = self._at(rows[order])
            return found
        edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(rows)]
        for begin, end in pairwise(edges):
            found[begin:end] = self._block(int(numbers[begin]), rows[begin:end] & (BLOCK - 1))
        return found

    def _block(self, number: int, inside: Any) -> Any:
        """Return numbers of a block: one for all, or those of a slice or an array of positions within it."""
        if number >= self._count >> _SHIFT:
            return self._tail[inside]
        packed = self._blocks[number]
        if isinstance(packed, _Above):
            more = packed.more[inside]
            if packed.divisor == 1:
                return more.astype(self.dtype) + packed.least
            return (more + packed.least) / packed.divisor
        if isinstance(packed, np.ndarray):
            return packed[inside]
        if isinstance(packed, _ByPlace):
            assert self._beside is not None
            return self._table[self._beside._part_of_block(number, inside)]
        if isinstance(packed, _Following):
            assert self._beside is not None
            lengths = self._beside._part_of_block(number, slice(0, BLOCK))
            return _following(packed.first, lengths)[inside]
        return np.full(BLOCK, packed)[inside]

    def _part_of_block(self, number: int, inside: Any) -> Numbers:
        return np.asarray(self._block(number, inside))


class PackedColumn:
    """Numbers appended by one thread; results of `view` never change.

    Args:
        dtype: the type of the numbers.
        places: a column that is appended to before this one; numbers that depend only on it are stored once.
        lengths: the column of record lengths, appended to before this one, which holds the records' offsets.
        microseconds: whether the numbers are times of a clock that counts microseconds.
    """

    def __init__(
        self,
        dtype: Any,
        places: "PackedColumn | None" = None,
        *,
        lengths: "PackedColumn | None" = None,
        microseconds: bool = False,
    ) -> None:
        self._places: Final = places
        self._lengths: Final = lengths
        self._microseconds: Final = microseconds
        self._blocks: Final[list[_Packed]] = []
        self._tail: Numbers = np.empty(BLOCK, dtype)
        self._filled = 0
        self._table: Numbers = np.empty(0, dtype)
        self._known: NDArray[np.bool_] = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return (len(self._blocks) << _SHIFT) + self._filled

    def append(self, number: float) -> None:
        """Append one number."""
        self._tail[self._filled] = number
        self._filled += 1
        if self._filled == BLOCK:
            self._pack()

    def extend(self, numbers: Numbers) -> None:
        """Append numbers."""
        done = 0
        while done < len(numbers):
            more = min(BLOCK - self._filled, len(numbers) - done)
            self._tail[self._filled : self._filled + more] = numbers[done : done + more]
            self._filled += more
            done += more
            if self._filled == BLOCK:
                self._pack()

    def view(self) -> PackedView:
        """Return the numbers so far."""
        beside = self._places or self._lengths
        tail = self._tail[: self._filled]
        tail.flags.writeable = False
        return PackedView(self._blocks, tail, len(self), self._table, None if beside is None else beside.view())

    def _pack(self) -> None:
        numbers = self._tail
        if (numbers == numbers[0]).all() or (numbers != numbers).all():
            packed: _Packed = numbers[0]
        elif self._is_by_place(numbers):
            packed = _ByPlace()
        elif self._is_following(numbers):
            packed = _Following(int(numbers[0]))
        else:
            packed = _above(numbers, _MICROSECONDS if self._microseconds else 1.0)
        self._blocks.append(packed)
        # Views may use the old array.
        self._tail = np.empty(BLOCK, numbers.dtype)
        self._filled = 0

    def _beside(self, column: "PackedColumn") -> Numbers:
        """Return the numbers of another column that belong to the full block."""
        begin = len(self._blocks) << _SHIFT
        return np.asarray(column.view()[begin : begin + BLOCK])

    def _is_by_place(self, numbers: Numbers) -> bool:
        """Return whether each number equals its place's entry in the table; new places are added to the table."""
        if self._places is None:
            return False
        places = self._beside(self._places)
        most = int(places.max()) + 1
        if most > len(self._known):
            more = max(most, 2 * len(self._known), _FIRST_ROOM) - len(self._known)
            self._table = np.concatenate([self._table, np.zeros(more, self._table.dtype)])
            self._known = np.concatenate([self._known, np.zeros(more, np.bool_)])
        distinct, firsts = np.unique(places, return_index=True)
        new = ~self._known[distinct]
        self._table[distinct[new]] = numbers[firsts[new]]
        self._known[distinct[new]] = True
        expected = self._table[places]
        return bool(((expected == numbers) | ((expected != expected) & (numbers != numbers))).all())

    def _is_following(self, numbers: Numbers) -> bool:
        if self._lengths is None:
            return False
        return bool((_following(int(numbers[0]), self._beside(self._lengths)) == numbers).all())


def _following(first: int, lengths: Numbers) -> NDArray[np.int64]:
    """Return the data offsets of consecutive records."""
    found = np.empty(len(lengths), np.int64)
    found[0] = first
    np.cumsum(lengths[:-1].astype(np.int64) + (HEADER_BYTES + FOOTER_BYTES), out=found[1:])
    found[1:] += first
    return found


def _above(numbers: Numbers, divisor: float) -> _Packed:
    """Return numbers as whole numbers relative to the minimum; unchanged if that is lossy or saves nothing."""
    whole = numbers
    if numbers.dtype.kind == "f":
        if not np.isfinite(numbers).all():
            return numbers
        whole = np.rint(numbers * divisor)
        if not (whole / divisor == numbers).all():
            return numbers
    elif numbers.dtype.kind == "b":
        return numbers
    least = whole.min()
    reach = int(whole.max()) - int(least)
    if reach >= 1 << 32:
        return numbers
    return _Above(least, (whole - least).astype(np.min_scalar_type(reach)), divisor)
