"""A few points of a long curve that look like all of them in a chart, for its first picture."""

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

PICTURE_POINTS: Final = 1024
LEAST_PICTURED: Final = 8 * PICTURE_POINTS
"""Minimum number of points of a curve that has a picture."""
_PARTS: Final = PICTURE_POINTS // 2 - 1


def points_of_picture(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose points of a curve: its ends, and the minimum and the maximum of each of several equal parts.

    NaN takes precedence over both.

    Args:
        values: float64 [n], at least `LEAST_PICTURED`.

    Returns:
        int64 [`PICTURE_POINTS`], ascending, no two equal.
    """
    last = len(values) - 1
    chosen = [0]
    for begin, end in pairwise(np.linspace(1, last, _PARTS + 1).astype(np.int64).tolist()):
        part = values[begin:end]
        one, other = begin + int(part.argmin()), begin + int(part.argmax())
        if one == other:
            other = begin if one != begin else end - 1
        chosen += (min(one, other), max(one, other))
    return np.array([*chosen, last], np.int64)
