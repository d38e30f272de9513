"""What lies around one slice of a trace, and what lies in it, without working out the parents of all slices."""

import numpy as np
from numpy.typing import NDArray

from profiler.analysis import row_kernels
from profiler.trace import Trace


def enclosing(trace: Trace, index: int) -> NDArray[np.int64]:
    """The slices around a slice on its lane, the outermost first, int64 ``[k]``.

    They are the slice's parent, as in `profiler.analysis.facts.Facts.parents`, its parent's parent, and so on.
    """
    first, last = _rows(trace, index)
    row = int(trace.depth[index])
    return row_kernels.enclosing(trace.start_ns, trace.duration_ns, first, last, row, index)[::-1]


def children(trace: Trace, index: int) -> NDArray[np.int64]:
    """The slices whose parent a slice is, in the trace's order, int64 ``[k]``."""
    first, last = _rows(trace, index)
    row = int(trace.depth[index])
    return row_kernels.children(trace.start_ns, trace.duration_ns, first, last, row, index)


def _rows(trace: Trace, index: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lane = int(trace.lane[index])
    lanes, depths = np.array([lane]), np.array([trace.lanes[lane].depths])
    first, last, _ = row_kernels.rows_of_lanes(trace.lane, trace.depth, lanes, depths)
    return first, last
