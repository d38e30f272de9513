"""Working on many vectors a block of rows at a time, so that nothing as large as the data is copied."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points

_VALUES: Final = 1 << 18
_FEWEST_ROWS: Final = 1024
_LARGEST: Final = float(np.finfo(np.float32).max)
_HARMLESS: Final = 1e12


def row_blocks(
    count: int, width: int, *, begin: int = 0, values: int = _VALUES, fewest: int = _FEWEST_ROWS
) -> Iterator[slice]:
    """Yield slices that cover ``count`` rows from ``begin``, each of about ``values`` numbers, or of ``fewest``
    rows.
    """
    rows = max(values // max(width, 1), fewest)
    for start in range(begin, begin + count, rows):
        yield slice(start, min(start + rows, begin + count))


def as_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32 of the same shape, C-contiguous; what float32 cannot hold becomes the largest number that it can."""
    return np.clip(values, -_LARGEST, _LARGEST).astype(np.float32, order="C")


def bounded(points: Points) -> Points:
    """Return the points, or, where some are so large that their squares overflow, all of them divided by a power of
    two.

    For what does not depend on the scale of the points: neighbors, clusters.
    """
    largest = largest_of(points)
    if largest <= _HARMLESS:
        return points
    return np.ascontiguousarray(np.ldexp(points, -int(np.ceil(np.log2(largest)))), dtype=np.float32)


def largest_of(points: Points) -> float:
    """Return the largest absolute value, 0 where there is none."""
    if points.size == 0:
        return 0.0
    return max(float(np.max(points)), -float(np.min(points)))
