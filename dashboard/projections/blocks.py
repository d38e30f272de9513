"""Processing of many vectors by blocks of rows, so that nothing as large as the data is copied."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points

_VALUES: Final = 1 << 18
_FEWEST_ROWS: Final = 1024
_LARGEST: Final = float(np.finfo(np.float32).max)
_HARMLESS: Final = (1e-12, 1e12)


def row_blocks(
    count: int, width: int, *, begin: int = 0, values: int = _VALUES, fewest: int = _FEWEST_ROWS
) -> Iterator[slice]:
    """Yield slices that cover ``count`` rows from ``begin``, each of about ``values`` numbers but at least ``fewest``
    rows.
    """
    rows = max(values // max(width, 1), fewest)
    for start in range(begin, begin + count, rows):
        yield slice(start, min(start + rows, begin + count))


def as_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return float32 of the same shape, C-contiguous; values out of range become the largest float32."""
    return np.clip(values, -_LARGEST, _LARGEST).astype(np.float32, order="C")


def bounded(points: Points) -> Points:
    """Return the points; if their squares could overflow or vanish, all of them are divided by a power of two.

    For results that do not depend on the scale of the points: neighbors, clusters.
    """
    return divided(points, harmful_exponent(largest_of(points)))


def harmful_exponent(largest: float) -> int:
    """Return the exponent of the power of two by which to divide values up to ``largest`` before they are squared.

    0 if their squares neither overflow nor vanish.
    """
    harmless = largest == 0 or _HARMLESS[0] <= largest <= _HARMLESS[1]
    return 0 if harmless else int(np.ceil(np.log2(largest)))


def divided(points: Points, exponent: int) -> Points:
    """Return the points divided by two to the power of an exponent."""
    return np.ascontiguousarray(np.ldexp(points, -exponent), dtype=np.float32) if exponent else points


def largest_of(points: Points) -> float:
    """Return the largest absolute value; 0 if there are no points."""
    if points.size == 0:
        return 0.0
    return max(float(np.max(points)), -float(np.min(points)))
