"""Counts how many numbers fall between edges, from the top bits of their floating-point representation.

The sign, the exponent and the first seven fraction bits of a float32 name one of 65536 *cells*. Cells have the order of
the numbers in them, so one `numpy.bincount` counts every cell that no edge cuts; only numbers in a cell with an edge
are compared with edges at all. A float64 is rounded to float32 to find its cell: rounding never swaps two numbers, so a
number and an edge in different cells compare as their cells do, and those in the same cell are compared in float64.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

_CELLS: Final = 1 << 16
_CHUNK: Final = 1 << 17
"""Numbers counted at a time, so that intermediate results stay in the cache."""
_FEW: Final = 1 << 13
"""Fewer numbers than this are counted faster by searching the edges for each."""
_MOST_COMPARISONS: Final = 8
"""With more edges in a cell than this, sorting the numbers is faster than comparing with each."""


@dataclass(frozen=True)
class Counts:
    """How many numbers lie between edges."""

    between: NDArray[np.int64]
    """One per pair of neighboring edges [left, right); the last pair also holds its right edge."""
    below: int
    """Numbers below the first edge."""
    above: int
    """Numbers above the last edge."""


@dataclass(frozen=True)
class _CellTable:
    """The positions of edges in cells."""

    edges_before: NDArray[np.intp]
    """Per cell, the number of edges in lower cells."""
    is_cut: NDArray[np.bool_]
    """Per cell, whether an edge is in it, or equals a number in it."""
    most_in_cell: int


class EdgeTable:
    """Edges, ready to count numbers between them.

    Args:
        edges: float64 [k + 1], ascending, without NaN, k at least 1.
    """

    edges: NDArray[np.float64]
    """Read-only."""

    def __init__(self, edges: NDArray[np.float64]) -> None:
        self.edges = edges.copy()
        self.edges.flags.writeable = False
        self._made_table: _CellTable | None = None

    def count(self, numbers: Floats) -> Counts:
        """Count finite ``numbers``, shape [n]; the result equals `numpy.histogram` with these edges."""
        last = self.edges[-1]
        if len(numbers) < _FEW:
            found = np.searchsorted(self.edges, numbers.astype(np.float64), "right")
            return _counts(np.bincount(found, minlength=len(self.edges) + 1), int(np.count_nonzero(numbers == last)))
        table = self._cell_table
        reached = np.zeros(len(self.edges) + 1, np.int64)
        per_cell = np.zeros(_CELLS, np.int64)
        at_last = 0
        for begin in range(0, len(numbers), _CHUNK):
            chunk = numbers[begin : begin + _CHUNK]
            cells = _cells(chunk)
            per_cell += np.bincount(cells, minlength=_CELLS)
            compared = np.flatnonzero(table.is_cut[cells])
            close = chunk[compared].astype(np.float64)
            reached += self._reached(close, cells[compared])
            at_last += int(np.count_nonzero(close == last))
        per_cell[table.is_cut] = 0
        # Weights are float64, which counts exactly up to 2**53.
        reached += np.bincount(table.edges_before, per_cell, len(reached)).astype(np.int64)
        return _counts(reached, at_last)

    @property
    def _cell_table(self) -> _CellTable:
        # Two threads may both make it. A cached_property takes a lock, which a fork would leave locked in the child.
        if self._made_table is None:
            self._made_table = self._new_cell_table()
        return self._made_table

    def _new_cell_table(self) -> _CellTable:
        place_of_cell = np.empty(_CELLS, np.intp)
        place_of_cell[_cells_in_order()] = np.arange(_CELLS)
        # 0.0 and -0.0 have different cells; as -0.0, an edge is in no higher cell than any number equal to it.
        edge_places = place_of_cell[_cells(np.where(self.edges == 0, -0.0, self.edges))]
        before = np.searchsorted(edge_places, place_of_cell, "left")
        in_cell = np.searchsorted(edge_places, place_of_cell, "right") - before
        is_cut = in_cell > 0
        if self.edges[-1] == 0:
            # 0.0 equals the last edge, whose cell is that of -0.0.
            is_cut[_cells(np.zeros(1))] = True
        return _CellTable(before, is_cut, int(in_cell.max()))

    def _reached(self, numbers: NDArray[np.float64], cells: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many of ``numbers``, which lie in ``cells``, have 0, 1, 2, ... edges at or below them."""
        table = self._cell_table
        if table.most_in_cell > _MOST_COMPARISONS:
            numbers.sort()
            below = np.searchsorted(numbers, self.edges, "left")
            return np.diff(below, prepend=0, append=len(numbers))
        padded = np.append(self.edges, np.inf)
        found = table.edges_before[cells]
        for _ in range(table.most_in_cell):
            found += numbers >= padded[found]
        return np.bincount(found, minlength=len(padded))


def _counts(reached: NDArray[np.int64], at_last: int) -> Counts:
    """Return counts, given how many numbers have 0, 1, 2, ... edges at or below them, and how many equal the last."""
    between = reached[1:-1].copy()
    between[-1] += at_last
    return Counts(between, int(reached[0]), int(reached[-1]) - at_last)


def binary_floats(array: NDArray[Any]) -> Floats:
    """Return any real numbers, flat, as float32 or float64 in native byte order; float16 becomes float32."""
    flat = array.reshape(-1)
    is_short = flat.dtype.kind == "f" and flat.dtype.itemsize <= np.dtype(np.float32).itemsize
    if is_short:
        return np.ascontiguousarray(flat, dtype=np.float32)
    return np.ascontiguousarray(flat, dtype=np.float64)


def sums(numbers: Floats) -> tuple[float, float]:
    """Return the sum of ``numbers`` and that of their squares; a result beyond float64 is infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(numbers.sum(dtype=np.float64)), float(np.square(numbers, dtype=np.float64).sum())


def equal_width_buckets(numbers: Floats, count: int) -> NDArray[np.float64]:
    """Return TensorFlow 2's buckets of finite ``numbers``: float64 [count, 3] of left edge, right edge, count.

    For the rule, see `stepscope.summary.kinds.histogram.histogram_of_equal_buckets`.
    """
    buckets = np.zeros((count, 3))
    if len(numbers) == 0 or count == 0:
        return buckets
    smallest, largest = float(numbers.min()), float(numbers.max())
    if smallest == largest:
        buckets[:, :2] = largest
        buckets[-1, 2] = len(numbers)
        return buckets
    scale = range_scale(smallest, largest)
    edges = np.linspace(smallest * scale, largest * scale, count + 1) / scale
    edges[-1] = largest
    buckets[:, 0], buckets[:, 1] = edges[:-1], edges[1:]
    for begin in range(0, len(numbers), _CHUNK):
        chunk = numbers[begin : begin + _CHUNK].astype(np.float64)
        buckets[:, 2] += _counts_of_equal_widths(chunk, smallest, largest, scale, count)
    return buckets


def range_scale(smallest: float, largest: float) -> float:
    """Return the factor for finite numbers with which float64 can hold their range, a power of two."""
    # Quarters only if the range is beyond float64, as quarters of subnormals are not exact.
    return 1.0 if math.isfinite(largest - smallest) else 0.25


def _counts_of_equal_widths(
    numbers: NDArray[np.float64], smallest: float, largest: float, scale: float, count: int
) -> NDArray[np.intp]:
    if scale != 1.0:
        numbers *= scale
    numbers -= smallest * scale
    extent = largest * scale - smallest * scale
    width = extent / count
    if width > 0:
        numbers /= width
    else:
        # The width underflows: few numbers are so small, and they are placed by their share of the range.
        numbers /= extent
        numbers *= count
    return np.bincount(np.minimum(numbers.astype(np.intp), count - 1), minlength=count)


def _cells_in_order() -> NDArray[np.intp]:
    """Return cells in the order of the numbers in them: the sign is the top bit, and the rest is the magnitude."""
    negative_zero = _CELLS // 2
    return np.concatenate([np.arange(_CELLS - 1, negative_zero - 1, -1), np.arange(negative_zero)])


def _cells(numbers: Floats) -> NDArray[np.intp]:
    # Overflow to infinity loses nothing: numbers in one cell are compared as they are.
    with np.errstate(over="ignore", under="ignore"):
        bits = numbers.astype(np.float32, copy=False).view(np.uint32)
    return np.right_shift(bits, np.uint32(16), out=np.empty(len(bits), np.intp), casting="unsafe")
