"""The slices around one slice of a trace, and the slices in it."""

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis import row_loops
from stepscope.profiler.trace import Trace


def enclosing(trace: Trace, index: int) -> NDArray[np.int64]:
    """Return the slices around a slice on its lane, outermost first, int64 ``[k]``.

    They are the slice's parent, as in `stepscope.profiler.trace.Trace.parents`, its parent's parent, and so on.
    """
    return row_loops.enclosing(trace.parents, index)[::-1]


def children(trace: Trace, index: int) -> NDArray[np.int64]:
    """Return the slices whose parent is the given slice, in the trace's order, int64 ``[k]``."""
    return np.flatnonzero(trace.parents == index)
