"""Repulsion between points of a three-dimensional t-SNE picture: near points singly, far ones as centers of boxes.

Barnes and Hut (1986), with lists for groups of points instead of single ones (Barnes, "A modified tree code", 1990):
the boxes that are far enough from all points of a leaf are listed once, and every point of the leaf then processes the
list without a branch, many entries at a time. The tree is a balanced k-d tree, whose nodes are ranges of an order of
the points that follow from their number alone.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.repulsion import Picture
from stepscope.summary.kernels import kernel

_LEAF: Final = 32
"""Maximum points in a leaf."""
_OPENING: Final = 0.7
"""A box counts as one point if its longest side is shorter than this times sqrt(`_NEAR` + distance^2)."""
_NEAR: Final = 0.1
"""The kernel 1 / (1 + distance^2) changes little within a small part of its width, however near."""
_SUBTREES: Final = 4
"""Levels that are split sequentially; those below are split on all cores."""


class Tree:
    """Forces by a tree that is rebuilt for every picture."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def __call__(self, picture: Picture, forces: Picture) -> float:
        """Write each point's force and return Z."""
        n = picture.shape[1]
        levels = 0
        while n > _LEAF << levels:
            levels += 1
        order = np.arange(n, dtype=np.int32)
        first = min(levels, _SUBTREES)
        _split(picture, order, 0, first, 0, 1)
        self._workers.over(1 << first, lambda begin, end: _split(picture, order, first, levels, begin, end), least=1)
        points = picture[:, order]
        nodes = _summaries(points, levels)
        parts = self._workers.over(
            1 << levels,
            lambda begin, end: _push(points, order, nodes, levels, _OPENING, forces, begin, end),
            least=4,
        )
        return float(sum(parts))


@kernel()
def _split(picture: Picture, order: NDArray[np.int32], level: int, levels: int, begin: int, end: int) -> None:
    """Sort the nodes from ``begin`` to ``end`` of a level, and all below them, into the order of a k-d tree."""
    n = np.int64(picture.shape[1])
    for depth in range(level, levels):
        for node in range(begin << (depth - level), end << (depth - level)):
            low, high = (node * n) >> depth, ((node + 1) * n) >> depth
            middle = ((2 * node + 1) * n) >> (depth + 1)
            line, longest = 0, np.float32(-1)
            for axis in range(len(picture)):
                least, most = np.float32(np.inf), np.float32(-np.inf)
                for k in range(low, high):
                    value = picture[axis, order[k]]
                    least, most = min(least, value), max(most, value)
                if most - least > longest:
                    line, longest = axis, most - least
            _select(picture[line], order, low, high, middle)


@kernel()
def _select(
    values: NDArray[np.float32],
    order: NDArray[np.int32],
    low: int | np.int64,
    high: int | np.int64,
    middle: int | np.int64,
) -> None:
    """Reorder a range so that no value before ``middle`` is above any value from there on (Hoare's selection)."""
    last = high - 1
    while low < last:
        a, b, c = values[order[low]], values[order[(low + last) // 2]], values[order[last]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, last
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            low = i
        else:
            break


@kernel()
def _summaries(points: NDArray[np.float32], levels: int) -> NDArray[np.float32]:
    """Return for every node, in the order of a heap with root 1: the center of its points (3), the corners of its
    box (3 low, 3 high), the square of the box's longest side, and the number of its points.
    """
    n = np.int64(points.shape[1])
    leaves = 1 << levels
    nodes = np.empty((2 * leaves, 11), np.float32)
    for leaf in range(leaves):
        low, high = (leaf * n) >> levels, ((leaf + 1) * n) >> levels
        node = nodes[leaves + leaf]
        node[10] = high - low
        for axis in range(3):
            total, least, most = 0.0, np.float32(np.inf), np.float32(-np.inf)
            for k in range(low, high):
                total += points[axis, k]
                least, most = min(least, points[axis, k]), max(most, points[axis, k])
            node[axis], node[3 + axis], node[6 + axis] = total / (high - low), least, most
    for inner in range(leaves - 1, 0, -1):
        node, one, other = nodes[inner], nodes[2 * inner], nodes[2 * inner + 1]
        node[10] = one[10] + other[10]
        for axis in range(3):
            node[axis] = (one[axis] * one[10] + other[axis] * other[10]) / node[10]
            node[3 + axis], node[6 + axis] = min(one[3 + axis], other[3 + axis]), max(one[6 + axis], other[6 + axis])
    for node in nodes[1:]:
        side = max(node[6] - node[3], node[7] - node[4], node[8] - node[5])
        node[9] = side * side
    return nodes


@kernel()
def _listed(
    points: NDArray[np.float32],
    nodes: NDArray[np.float32],
    levels: int,
    leaf: int,
    opening: float,
    entries: NDArray[np.float32],
    stack: NDArray[np.int64],
) -> int:
    """Write the entries that repel a leaf's points, positions and numbers of points, and return how many there are."""
    n = np.int64(points.shape[1])
    leaves = 1 << levels
    own = nodes[leaves + leaf]
    far = np.float32(opening * opening)
    count, top = 0, 1
    stack[0] = 1
    while top:
        top -= 1
        at = stack[top]
        node = nodes[at]
        square = np.float32(_NEAR)
        for axis in range(3):
            outside = max(own[3 + axis] - node[axis], node[axis] - own[6 + axis], np.float32(0))
            square += outside * outside
        if node[9] < far * square:
            for axis in range(3):
                entries[axis, count] = node[axis]
            entries[3, count] = node[10]
            count += 1
        elif at < leaves:
            stack[top], stack[top + 1] = 2 * at, 2 * at + 1
            top += 2
        else:
            low, high = ((at - leaves) * n) >> levels, ((at - leaves + 1) * n) >> levels
            for k in range(low, high):
                for axis in range(3):
                    entries[axis, count] = points[axis, k]
                entries[3, count] = 1
                count += 1
    return count


@kernel()
def _push(
    points: NDArray[np.float32],
    order: NDArray[np.int32],
    nodes: NDArray[np.float32],
    levels: int,
    opening: float,
    forces: Picture,
    begin: int,
    end: int,
) -> float:
    """Compute the forces on the points of some leaves, and their part of Z."""
    n = np.int64(points.shape[1])
    entries = np.empty((4, n + len(nodes)), np.float32)
    stack = np.empty(2 * levels + 2, np.int64)
    total = 0.0
    for leaf in range(begin, end):
        count = _listed(points, nodes, levels, leaf, opening, entries, stack)
        for k in range((leaf * n) >> levels, ((leaf + 1) * n) >> levels):
            total += _sum(points[:, k], entries[:, :count], forces[:, order[k]])
    return total


# Divisions like NumPy's, without an error for 0, let the compiler process many entries at once.
@kernel(fastmath=True, error_model="numpy")
def _sum(point: NDArray[np.float32], entries: NDArray[np.float32], force: NDArray[np.float32]) -> float:
    xs, ys, zs, counts = entries[0], entries[1], entries[2], entries[3]
    x, y, z = point[0], point[1], point[2]
    one = np.float32(1)
    fx, fy, fz, total = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for k in range(len(xs)):
        dx, dy, dz = x - xs[k], y - ys[k], z - zs[k]
        q = one / (one + dx * dx + dy * dy + dz * dz)
        weighted = q * counts[k]
        total += weighted
        weighted *= q
        fx += weighted * dx
        fy += weighted * dy
        fz += weighted * dz
    force[0], force[1], force[2] = fx, fy, fz
    return float(total - one)
