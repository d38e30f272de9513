"""What is visible in a window of very many intervals, in one pass over them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel

Column = NDArray[np.int64]


class Groups(NamedTuple):
    """Runs of intervals that are shown as one, as parallel columns of indices into the intervals."""

    first: Column
    last: Column
    largest: Column
    """The interval with the largest ``size``; ties go to the first."""


@kernel()
def _group(
    place: Column, start: Column, end: Column, size: Column, begin: int, pixel: int
) -> tuple[Column, Column, Column]:
    first = np.empty(start.size, np.int64)
    last = np.empty(start.size, np.int64)
    largest = np.empty(start.size, np.int64)
    groups = 0
    open_place = 0
    open_column = 0
    is_open = False
    for index in range(start.size):
        column = (start[index] - begin) // pixel
        narrow = end[index] - start[index] < pixel
        if narrow and is_open and column == open_column and place[index] == open_place:
            last[groups - 1] = index
            if size[index] > size[largest[groups - 1]]:
                largest[groups - 1] = index
            continue
        first[groups] = index
        last[groups] = index
        largest[groups] = index
        groups += 1
        is_open = narrow
        open_place = place[index]
        open_column = column
    return first[:groups].copy(), last[:groups].copy(), largest[:groups].copy()


def group_narrow(place: Column, start: Column, end: Column, size: Column, begin: int, pixel: int) -> Groups:
    """Group neighbors at one place that are narrower than a pixel and begin in the same one.

    Intervals are in order of place and start, int64 ``[n]``; pixels of ``pixel`` nanoseconds begin at ``begin``. An
    interval at least as wide as a pixel is a group by itself.
    """
    return Groups(*_group(place, start, end, size, begin, pixel))


@kernel()
def _sum_within(
    number: Column, start: Column, end: Column, counts: NDArray[np.bool_], begin: int, finish: int, size: int
) -> tuple[Column, Column]:
    total = np.zeros(size, np.int64)
    count = np.zeros(size, np.int64)
    for index in range(number.size):
        count[number[index]] += 1
        if not counts[index]:
            continue
        if end[index] < start[index]:
            total[number[index]] += end[index] - start[index]
        else:
            total[number[index]] += min(end[index], finish) - max(start[index], begin)
    return total, count


def sum_within(
    number: Column, start: Column, end: Column, counts: NDArray[np.bool_], window: tuple[int, int], size: int
) -> tuple[Column, Column]:
    """Return, by number (below ``size``), the time of intervals inside a window and their count; all extend into it.

    Only intervals selected by ``counts`` add their time; one that ends before it starts adds all of its negative
    length.
    """
    return _sum_within(number, start, end, counts, window[0], window[1], size)
