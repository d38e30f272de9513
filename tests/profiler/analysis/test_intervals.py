"""Sets of intervals, compared with sets of instants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.intervals import Intervals, sum_over_time, union

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)


def intervals(pairs: list[tuple[int, int]]) -> Intervals:
    start = np.array([start for start, _ in pairs], np.int64)
    return union(start, start + np.array([length for _, length in pairs], np.int64))


def instants(pairs: list[tuple[int, int]]) -> set[int]:
    return {at for start, length in pairs for at in range(start, start + length)}


def covered(found: Intervals) -> set[int]:
    assert (found.end > found.start).all()
    assert (found.start[1:] > found.end[:-1]).all()
    return {at for start, end in zip(found.start.tolist(), found.end.tolist(), strict=True) for at in range(start, end)}


@given(PAIRS, PAIRS)
def test_algebra(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, b = intervals(left), intervals(right)
    assert covered(a) == instants(left)
    assert covered(a & b) == instants(left) & instants(right)
    assert covered(a - b) == instants(left) - instants(right)
    assert a.length == len(instants(left))


@given(PAIRS, PAIRS)
def test_lengths_within_windows(pairs: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in windows], np.int64)
    ends = starts + np.array([length for _, length in windows], np.int64)
    lengths = intervals(pairs).lengths_within(starts, ends).tolist()
    assert lengths == [len(instants(pairs) & set(range(s, s + n))) for s, n in windows]


def test_sums_over_time() -> None:
    levels = sum_over_time(np.array([0, 5]), np.array([10, 7]), np.array([1.0, 2.0]))
    assert levels.times.tolist() == [0, 5, 7, 10]
    assert levels.values.tolist() == [1.0, 3.0, 1.0, 0.0]
