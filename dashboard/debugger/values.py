"""A kept value as a page can show it: a two-dimensional slice, the distribution of its elements, and the first ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.histogram_binning import equal_width_buckets

MOST_SIDE: Final = 128
"""Maximum number of rows and columns of a slice; larger ones are joined to blocks, shown by their worst element."""
MOST_NUMBERS: Final = 1_024
MOST_SPREAD: Final = 1 << 24
"""Maximum number of elements in the distribution; larger values use their first elements."""
BINS: Final = 40


@dataclass(frozen=True)
class ShownValue:
    """A displayed value, of bounded size whatever the size of the original."""

    shape: tuple[int, ...]
    dtype: str
    leading: tuple[int, ...]
    """The length of each axis before those of the slice."""
    at: tuple[int, ...]
    """The index along each of these axes."""
    slice: NDArray[np.float64]
    """[rows, columns], the last two axes."""
    block: tuple[int, int]
    """Number of original elements per element of the slice, down and across."""
    numbers: NDArray[np.float64]
    """The first elements of the slice, unchanged."""
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    """Number of finite elements per bin."""
    nan: int
    infinite: int
    spread_of: int
    """Number of elements that the fields from ``edges`` to ``infinite`` cover: all, unless the value is huge."""


def shown_value(value: NDArray[np.generic], at: Sequence[int] = ()) -> ShownValue:
    """Return the displayed form of a value.

    Args:
        value: numbers of any shape.
        at: index of the slice; 0 along axes that are not given.
    """
    leading = value.shape[:-2] if value.ndim > 2 else ()
    place = tuple(min(max(at[axis] if axis < len(at) else 0, 0), length - 1) for axis, length in enumerate(leading))
    if not value.size:
        table = np.zeros((0, 0))
    else:
        table = _real(value[place] if leading else value)
        table = table.reshape(1, -1) if table.ndim < 2 else table
    flat = _real(value.reshape(-1)[:MOST_SPREAD])
    rows, columns = (max(-(-length // MOST_SIDE), 1) for length in table.shape)
    edges, counts = _even_bins(flat[np.isfinite(flat)])
    return ShownValue(
        tuple(value.shape),
        str(value.dtype),
        leading,
        place,
        _blocks(table, rows, columns),
        (rows, columns),
        table.reshape(-1)[:MOST_NUMBERS],
        edges,
        counts,
        int(np.isnan(flat).sum()),
        int(np.isinf(flat).sum()),
        len(flat),
    )


def _even_bins(finite: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return edges and counts of equal bins: one without width if all elements are equal, none without elements."""
    if not len(finite):
        return np.zeros(0), np.zeros(0, np.int64)
    buckets = equal_width_buckets(finite, BINS if finite.min() < finite.max() else 1)
    return np.append(buckets[:, 0], buckets[-1, 1]), buckets[:, 2].astype(np.int64)


def _real(value: NDArray[np.generic]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (np.abs(value) if np.iscomplexobj(value) else value).astype(np.float64)
    return found


def _blocks(table: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Return a table with one cell per block: NaN if the block has any, else the element farthest from zero."""
    if rows == columns == 1 or not table.size:
        return table
    starts = [np.arange(0, length, size) for length, size in zip(table.shape, (rows, columns), strict=True)]

    def joined(by: np.ufunc) -> NDArray[np.float64]:
        found: NDArray[np.float64] = by.reduceat(by.reduceat(table, starts[0], axis=0), starts[1], axis=1)
        return found

    high, low = joined(np.maximum), joined(np.minimum)
    return np.where(np.abs(low) > np.abs(high), low, high)
