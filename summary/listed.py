"""Conversion of long columns to lists without blocking other threads."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_PIECE: Final = 1 << 18


def listed(column: NDArray[np.generic]) -> list[Any]:
    """Return the values of a column ``[n]`` as Python objects, like ``tolist``.

    Unlike this function, ``tolist`` holds the GIL until all values are converted, tenths of a second for millions.
    """
    values: list[Any] = []
    for begin in range(0, len(column), _PIECE):
        values += column[begin : begin + _PIECE].tolist()
    return values
