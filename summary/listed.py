"""Long lists, made without keeping other threads from running meanwhile."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_PIECE: Final = 1 << 18


def listed(column: NDArray[np.generic]) -> list[Any]:
    """Return the values of a column ``[n]`` as Python's, as its ``tolist`` does.

    That holds the interpreter's lock until it has made them all, which for millions takes tenths of a second.
    """
    values: list[Any] = []
    for begin in range(0, len(column), _PIECE):
        values += column[begin : begin + _PIECE].tolist()
    return values
