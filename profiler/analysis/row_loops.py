"""Compiled loops over the rows of a trace: overlaps with a time interval, their sums, and nesting.

A row is one depth of one lane: a range of slices in which starts and ends never decrease. Rows are given as ranges
``first[r]:last[r]``, those of one lane one after the other by depth, and ``top[r]`` is the lane's first.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel

COUNT, TOTAL, OWN, LEAST, MOST, LONGEST = range(6)
"""Columns of the sums."""
_SLOTS: Final = 1024
_SPREAD: Final = 0x1E3779B97F4A7C15
"""An odd number with no pattern, close to 2^61 divided by the golden ratio."""


@kernel()
def _first_at_least(column: NDArray[np.int32], low: int, high: int, value: int) -> int:
    """Return the first index in ``low:high`` of a sorted column with ``value`` or more, or ``high``."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def _first_after(start: NDArray[np.int64], low: int, high: int, time: int) -> int:
    """Return the first of the slices ``low:high`` that begins after ``time``, or ``high``, using doubling steps."""
    step = 1
    while low + step < high and start[low + step] <= time:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) // 2
        if start[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def rows_of_lanes(
    lane: NDArray[np.int32], depth: NDArray[np.int32], lanes: NDArray[np.int64], depths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ``first``, ``last`` and ``top`` of all rows of some lanes, which have ``depths`` rows each."""
    rows = depths.sum()
    first = np.empty(rows, np.int64)
    last = np.empty(rows, np.int64)
    top = np.empty(rows, np.int64)
    row = 0
    for number in range(lanes.size):
        highest = row
        at = _first_at_least(lane, 0, lane.size, lanes[number])
        end = _first_at_least(lane, at, lane.size, lanes[number] + 1)
        for level in range(depths[number]):
            first[row] = at
            at = _first_at_least(depth, at, end, level + 1)
            last[row] = at
            top[row] = highest
            row += 1
    return first, last, top


@kernel()
def narrow(
    start: NDArray[np.int64],
    duration: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    begin: int,
    end: int,
) -> None:
    """Narrow rows to the slices that begin in ``[begin, end)`` or extend into it from before."""
    for row in range(first.size):
        at = _first_after(start, first[row], last[row], begin - 1)
        last[row] = _first_after(start, at, last[row], end - 1)
        if at > first[row] and start[at - 1] + duration[at - 1] > begin:
            at -= 1
        first[row] = at


@kernel()
def enclosing(parent: NDArray[np.int64], index: int) -> NDArray[np.int64]:
    """Return the slices around a slice, innermost first."""
    count = 0
    outer = parent[index]
    while outer >= 0:
        count += 1
        outer = parent[outer]
    found = np.empty(count, np.int64)
    outer = parent[index]
    for place in range(count):
        found[place] = outer
        outer = parent[outer]
    return found


@kernel()
def _slot(keys: NDArray[np.int64], key: int) -> int:
    """Return the index of a key in a hash table, or the free one (-1) where it belongs; the size is a power of two."""
    at = ((key * _SPREAD) >> 32) & (keys.size - 1)
    while keys[at] != key and keys[at] >= 0:
        at = (at + 1) & (keys.size - 1)
    return at


@kernel()
def _grown(
    keys: NDArray[np.int64], groups: NDArray[np.int64], sums: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the same table with twice the capacity."""
    more_keys = np.full(2 * keys.size, -1, np.int64)
    more_groups = np.empty(2 * keys.size, np.int64)
    more_sums = np.empty((2 * sums.shape[0], sums.shape[1]), np.int64)
    for group in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            more_sums[group, column] = sums[group, column]
    for place in range(keys.size):
        if keys[place] >= 0:
            to = _slot(more_keys, keys[place])
            more_keys[to] = keys[place]
            more_groups[to] = groups[place]
    return more_keys, more_groups, more_sums


@kernel()
def sum_up(
    start: NDArray[np.int64],
    duration: NDArray[np.int64],
    name: NDArray[np.int32],
    category: NDArray[np.int32],
    parent: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    begin: int,
    end: int,
    categories: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sum slices clipped to ``[begin, end)`` by name and category, and the time that each row covers.

    ``first`` and ``last`` are narrowed to that time. Returns the groups' keys, name * ``categories`` + category, int64
    ``[k]``; their sums, int64 ``[k, 6]`` (see `COUNT` and the others; ``LONGEST`` is the index of a slice); and the
    rows' times, int64 ``[rows]``.
    """
    keys = np.full(_SLOTS, -1, np.int64)
    groups = np.empty(_SLOTS, np.int64)
    sums = np.empty((_SLOTS // 2, 6), np.int64)
    known = 0
    covered = np.zeros(first.size, np.int64)
    for row in range(first.size):
        owner = -1
        group_of_owner = -1
        for index in range(first[row], last[row]):
            stop = start[index] + duration[index]
            clipped = min(stop, end) - max(start[index], begin)
            key = np.int64(name[index]) * categories + category[index]
            place = _slot(keys, key)
            if keys[place] < 0:
                if 2 * known == keys.size:
                    keys, groups, sums = _grown(keys, groups, sums)
                    place = _slot(keys, key)
                keys[place] = key
                groups[place] = known
                sums[known, :] = 0
                sums[known, LEAST] = clipped
                sums[known, MOST] = -1
                known += 1
            group = groups[place]
            sums[group, COUNT] += 1
            sums[group, TOTAL] += clipped
            sums[group, OWN] += clipped
            sums[group, LEAST] = min(sums[group, LEAST], clipped)
            if clipped > sums[group, MOST]:
                sums[group, MOST] = clipped
                sums[group, LONGEST] = index
            covered[row] += clipped
            outer = parent[index]
            # A slice with no time in the area may lie in one that has none there either.
            if outer < 0 or clipped <= 0:
                continue
            if outer != owner:
                owner = outer
                group_of_owner = groups[_slot(keys, np.int64(name[outer]) * categories + category[outer])]
            sums[group_of_owner, OWN] -= clipped
    ordered = np.empty(known, np.int64)
    for place in range(keys.size):
        if keys[place] >= 0:
            ordered[groups[place]] = keys[place]
    return ordered, sums[:known].copy(), covered
