"""Which slice encloses each slice of a trace, in one pass over the slices."""

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel

Column = NDArray[np.int64]
_FURTHER_UP = -2
"""In place of a parent: the row above does not contain it, but a row further up may."""


@kernel()
def _in_row_above(start: Column, end: Column, lane: NDArray[np.int32], depth: NDArray[np.int32]) -> Column:
    """Return the slice of the row above that encloses each slice; -1 in the topmost rows, else `_FURTHER_UP`."""
    parent = np.full(start.size, -1, np.int64)
    above = -1  # the first slice of the row above
    row = 0  # the first slice of this row
    candidate = 0
    for index in range(start.size):
        if index > 0 and (lane[index] != lane[index - 1] or depth[index] != depth[index - 1]):
            above = row if lane[index] == lane[index - 1] else -1
            row = index
            candidate = above
        if above < 0:
            continue
        while candidate + 1 < row and start[candidate + 1] <= start[index]:
            candidate += 1
        encloses = start[candidate] <= start[index] and end[candidate] >= end[index]
        parent[index] = candidate if encloses else _FURTHER_UP
    return parent


@kernel()
def _in_rows_further_up(
    order: Column, end: Column, lane: NDArray[np.int32], depth: NDArray[np.int32], rows: int, parent: Column
) -> None:
    """Fill in the parents that are further up, for slices in order of (lane, start, depth).

    A tree over the rows of a lane holds the latest end in each half, quarter and so on of them, so that the deepest row
    that is still running when a slice ends is found in as many steps as the tree is high.
    """
    half = 1
    while half < rows:
        half *= 2
    tree = np.empty(2 * half, np.int64)
    newest = np.empty(half, np.int64)
    nothing = np.iinfo(np.int64).min
    size = 1
    for place in range(order.size):
        index = order[place]
        if place == 0 or lane[index] != lane[order[place - 1]]:
            height = 0
            last = place
            while last < order.size and lane[order[last]] == lane[index]:
                height = max(height, depth[order[last]] + 1)
                last += 1
            size = 1
            while size < height:
                size *= 2
            tree[: 2 * size] = nothing
        row = depth[index]
        if parent[index] == _FURTHER_UP:
            parent[index] = -1
            node = row + size
            # Go up to a subtree on the left that is still running, then down to its deepest row that is.
            while node > 1:
                if node % 2 == 1 and tree[node - 1] >= end[index]:
                    node -= 1
                    while node < size:
                        node = 2 * node + 1 if tree[2 * node + 1] >= end[index] else 2 * node
                    parent[index] = newest[node - size]
                    break
                node //= 2
        newest[row] = index
        node = row + size
        tree[node] = end[index]
        while node > 1:
            node //= 2
            tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel()
def _nearest(parent: Column, mask: NDArray[np.bool_]) -> Column:
    found = np.empty(parent.size, np.int64)
    for index in range(parent.size):
        above = parent[index]
        found[index] = above if above < 0 or mask[above] else found[above]
    return found


def enclosing(start_ns: Column, duration_ns: Column, lane: NDArray[np.int32], depth: NDArray[np.int32]) -> Column:
    """Return the innermost slice that encloses each slice on its lane, or -1; int64 ``[n]``.

    This is the slice in the deepest of the rows above that is running when the slice begins and
    does not end before it.
    The columns are those of a `stepscope.profiler.trace.Trace`, in its order.
    """
    end = start_ns + duration_ns
    parent = _in_row_above(start_ns, end, lane, depth)
    check_cancelled()
    rest = parent == _FURTHER_UP
    if rest.any():
        crossing = np.zeros(int(lane.max()) + 1, np.bool_)
        crossing[lane[rest]] = True
        chosen = np.flatnonzero(crossing[lane])
        order = chosen[np.lexsort((depth[chosen], start_ns[chosen], lane[chosen]))]
        _in_rows_further_up(order, end, lane, depth, int(depth[chosen].max()) + 1, parent)
    return parent


def nearest(parent: Column, mask: NDArray[np.bool_]) -> Column:
    """Return the nearest enclosing slice of each slice that a mask selects, or -1; a slice does not enclose itself.

    Parents come before the slices they enclose, as in a trace.
    """
    return _nearest(parent, mask)
