"""Sets of time intervals, as sorted disjoint pairs of int64 columns: union, intersection, difference, length."""

from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Operation = Literal["and", "minus"]


class Intervals(NamedTuple):
    """Disjoint half-open intervals in order of time, int64 nanoseconds ``[n]`` each."""

    start: Times
    end: Times

    @property
    def length(self) -> int:
        """Sum of the lengths in nanoseconds."""
        return int((self.end - self.start).sum())

    def __and__(self, other: "Intervals") -> "Intervals":
        """Return the times that both cover."""
        return _combine(self, other, "and")

    def __sub__(self, other: "Intervals") -> "Intervals":
        """Return the times that this covers and the other does not."""
        return _combine(self, other, "minus")

    def lengths_within(self, starts: Times, ends: Times) -> Times:
        """Return how much of each window ``[starts[i], ends[i])`` is covered, int64 ``[k]`` nanoseconds."""
        covered = np.concatenate([[0], np.cumsum(self.end - self.start)])
        return self._covered_before(ends, covered) - self._covered_before(starts, covered)

    def _covered_before(self, times: Times, covered: Times) -> Times:
        whole = np.searchsorted(self.end, times, side="right")
        if not len(self.start):
            return np.zeros(len(times), np.int64)
        inside = np.minimum(whole, len(self.start) - 1)
        part = np.where(whole < len(self.start), np.maximum(times - self.start[inside], 0), 0)
        result: Times = covered[whole] + part
        return result


def union(start: Times, end: Times) -> Intervals:
    """Return the union of the given intervals; those that touch are joined, empty ones dropped."""
    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(start, kind="stable")
    start, furthest = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[True], start[1:] > furthest[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Intervals(start[first], furthest[last])


def _combine(left: Intervals, right: Intervals, operation: Operation) -> Intervals:
    times = np.concatenate([left.start, left.end, right.start, right.end])
    order = np.argsort(times, kind="stable")
    ones = np.ones(len(left.start), np.int64), np.ones(len(right.start), np.int64)
    zero = np.zeros(2 * len(left.start), np.int64), np.zeros(2 * len(right.start), np.int64)
    in_left = np.cumsum(np.concatenate([ones[0], -ones[0], zero[1]])[order]) > 0
    in_right = np.cumsum(np.concatenate([zero[0], ones[1], -ones[1]])[order]) > 0
    match operation:
        case "and":
            wanted = in_left & in_right
        case "minus":
            wanted = in_left & ~in_right
        case _:
            assert_never(operation)
    times = times[order]
    pieces = np.flatnonzero(wanted[:-1])
    return union(times[pieces], times[pieces + 1])


class Levels(NamedTuple):
    """A step function: ``values[i]`` from ``times[i]`` on, and 0 before the first time."""

    times: Times
    values: NDArray[np.float64]


def sum_over_time(start: Times, end: Times, value: NDArray[np.float64]) -> Levels:
    """Return the sum of the values of all active intervals, over time."""
    times = np.concatenate([start, end])
    change = np.concatenate([value, -value])
    order = np.argsort(times, kind="stable")
    distinct, first = np.unique(times[order], return_index=True)
    running = np.cumsum(change[order])
    last = np.concatenate([first[1:], [len(times)]]) - 1
    return Levels(distinct, running[last] if len(distinct) else np.empty(0, np.float64))
