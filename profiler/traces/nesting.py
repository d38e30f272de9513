"""Slices in the order in which a sweep over time visits them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.build import Rows


def in_order_of_start(
    start: NDArray[np.int64], rows: Rows, lanes: Sequence[int] | NDArray[np.intp]
) -> NDArray[np.int64]:
    """Sort the slices of some lanes, given in order, by (lane, start, depth); slices of one row keep their order."""
    ordered = [np.empty(0, np.int64)]
    for lane in np.asarray(lanes, np.int64).tolist():
        first, last = (int(rows.first[rows.lane_first[each]]) for each in (lane, lane + 1))
        # Slices come row by row, so a stable sort keeps those that begin together in order of depth.
        ordered.append(first + np.argsort(start[first:last], kind="stable"))
    return np.concatenate(ordered)
