"""Compiled loops over slices in order of start, near-linear however many rows overlap at once.

The open rows of a lane are the leaves of binary trees (stored as arrays: the children of node k are 2k and 2k + 1), so
that finding the deepest row that ends late enough, or the first free row, takes O(log rows).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel

_NEVER: Final = np.iinfo(np.int64).min
_FOREVER: Final = np.iinfo(np.int64).max
_LATEST, _EARLIEST, _OPEN = range(3)
"""Trees: the latest end and the earliest end of rows, and the earliest end of rows not known to be over."""

Column = NDArray[np.int64]


@kernel()
def _empty(leaves: int) -> Column:
    trees = np.empty((3, 2 * leaves), np.int64)
    trees[_LATEST] = _NEVER
    trees[_EARLIEST] = _NEVER
    trees[_OPEN] = _FOREVER
    return trees


@kernel()
def _put(tree: Column, row: int, end: int, latest: bool) -> None:
    at = tree.size // 2 + row
    tree[at] = end
    at >>= 1
    while at > 0:
        left = tree[2 * at]
        right = tree[2 * at + 1]
        best = max(left, right) if latest else min(left, right)
        if tree[at] == best:
            return
        tree[at] = best
        at >>= 1


@kernel()
def _put_all(trees: Column, row: int, end: int) -> None:
    _put(trees[_LATEST], row, end, True)
    _put(trees[_EARLIEST], row, end, False)
    _put(trees[_OPEN], row, end, False)


@kernel()
def _clear(trees: Column, rows: int) -> None:
    for row in range(rows):
        _put(trees[_LATEST], row, _NEVER, True)
        _put(trees[_EARLIEST], row, _NEVER, False)
        _put(trees[_OPEN], row, _FOREVER, False)


@kernel()
def _with_room(trees: Column, rows: int) -> Column:
    """Return the same trees with more leaves than ``rows``, which `_deepest` relies on."""
    leaves = trees.shape[1] // 2
    if rows < leaves:
        return trees
    wider = leaves
    while wider <= rows:
        wider *= 2
    more = _empty(wider)
    for number in range(3):
        for leaf in range(leaves):
            more[number, wider + leaf] = trees[number, leaves + leaf]
        for at in range(wider - 1, 0, -1):
            left = more[number, 2 * at]
            right = more[number, 2 * at + 1]
            more[number, at] = max(left, right) if number == _LATEST else min(left, right)
    return more


@kernel()
def _deepest(tree: Column, rows: int, least: int) -> int:
    """Return the last of the first ``rows`` rows that ends at ``least`` or later, or -1."""
    leaves = tree.size // 2
    at = leaves + rows
    while at > 1:
        if at & 1 and tree[at - 1] >= least:
            at -= 1
            while at < leaves:
                at = 2 * at + 1 if tree[2 * at + 1] >= least else 2 * at
            return at - leaves
        at >>= 1
    return -1


@kernel()
def _first_free(tree: Column, row: int, most: int) -> int:
    """Return the first row, from ``row`` on, that ends at ``most`` or earlier; a row that was never used qualifies."""
    leaves = tree.size // 2
    at = leaves + row
    while tree[at] > most:
        while at & 1:
            at >>= 1
        at += 1
    while at < leaves:
        at = 2 * at if tree[2 * at] <= most else 2 * at + 1
    return at - leaves


@kernel()
def _close(tree: Column, time: int) -> None:
    """Remove rows that end at ``time`` or earlier from the tree of open ones."""
    leaves = tree.size // 2
    while tree[1] <= time:
        at = 1
        while at < leaves:
            at = 2 * at if tree[2 * at] <= time else 2 * at + 1
        _put(tree, at - leaves, _FOREVER, False)


@kernel()
def assign_depths(start: Column, end: Column, lane: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the depth of each slice, given in order of (lane, start, -duration), and whether it crosses a neighbor.

    A slice goes to the first free row below every slice that contains it. A row is free once its last slice has ended,
    so partly overlapping slices take as many rows as overlap at once. O(n log rows).
    """
    depth = np.empty(start.size, np.int32)
    crossing = np.zeros(start.size, np.bool_)
    row_end = np.empty(64, np.int64)
    trees = _empty(64)
    height = 0
    used = 0
    # As long as each slice lies within the one above it, a stack is enough.
    orderly = True
    for index in range(start.size):
        begin = start[index]
        finish = end[index]
        if not orderly:
            new_lane = lane[index] != lane[index - 1]
            height = 0 if new_lane else _deepest(trees[_LATEST], height, begin + 1) + 1
            if height <= 1:
                row_end[0] = trees[_LATEST, trees.shape[1] // 2]
                _clear(trees, used)
                orderly = True
        elif index > 0 and lane[index] != lane[index - 1]:
            height = 0
        if orderly:
            while height > 0 and row_end[height - 1] <= begin:
                height -= 1
            if height == 0 or row_end[height - 1] >= finish:
                if height == row_end.size:
                    larger = np.empty(2 * height, np.int64)
                    for row in range(height):
                        larger[row] = row_end[row]
                    row_end = larger
                row_end[height] = finish
                depth[index] = height
                height += 1
                continue
            orderly = False
            used = height
            trees = _with_room(trees, height + 1)
            for row in range(height):
                _put_all(trees, row, row_end[row])
        _close(trees[_OPEN], begin)
        crossing[index] = trees[_OPEN, 1] < finish
        container = _deepest(trees[_LATEST], height, max(finish, begin + 1))
        row = _first_free(trees[_EARLIEST], container + 1, begin)
        trees = _with_room(trees, row + 2)
        _put_all(trees, row, finish)
        height = max(height, row + 1)
        used = max(used, height)
        depth[index] = row
    return depth, crossing


@kernel()
def slices_at(
    order: Column,
    start: Column,
    end: Column,
    lane: NDArray[np.int32],
    depth: NDArray[np.int32],
    rows: int,
    events: Column,
    time: Column,
    event_lane: NDArray[np.int32],
    to_next: NDArray[np.bool_],
    result: Column,
) -> None:
    """Fill in the slice that each event is on: the deepest around its time, else the deepest that ends there.

    ``order`` lists the slices of some lanes of at most ``rows`` rows by (lane, start, depth); ``events`` lists the
    events of the same lanes by (lane, time, not ``to_next``). An event with ``to_next`` is on the next slice.
    """
    leaves = 64
    while leaves <= rows + 1:
        leaves *= 2
    tree = np.full(2 * leaves, _NEVER, np.int64)
    occupant = np.empty(leaves, np.int64)
    used = 0
    place = 0
    newest = -1
    for number in range(events.size):
        event = events[number]
        at = time[event]
        if number == 0 or event_lane[event] != event_lane[events[number - 1]]:
            for row in range(used):
                _put(tree, row, _NEVER, True)
            used = 0
            newest = -1
            while place < order.size and lane[order[place]] < event_lane[event]:
                place += 1
        while place < order.size and lane[order[place]] == event_lane[event]:
            index = order[place]
            if start[index] > at or (start[index] == at and to_next[event]):
                break
            _put(tree, depth[index], end[index], True)
            occupant[depth[index]] = index
            used = max(used, depth[index] + 1)
            newest = index
            place += 1
        if to_next[event]:
            follows = place < order.size and lane[order[place]] == event_lane[event]
            result[event] = order[place] if follows else -1
            continue
        row = _deepest(tree, used, at + 1)
        if newest >= 0 and start[newest] == at:
            row = max(row, depth[newest])
        if row < 0:
            row = _deepest(tree, used, at)
        result[event] = occupant[row] if row >= 0 else -1
