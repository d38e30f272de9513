"""Which slices enclose others and when lanes are busy, also for crossing slices and for very many of them."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.profiler.analysis.critical_path import path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.latest import earliest, latest
from stepscope.profiler.analysis.stretches import stretches_of
from stepscope.profiler.trace import Flows, Lane, Losses, Trace
from tests.profiler.analysis.kineto import operator, trace

MANY = 200_000
"""Overlapping slices, so many that looking at pairs of them would take hours."""
tiny = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(1, 2)), max_size=30)
Column = NDArray[np.int64]


def columns(*values: list[int]) -> list[Column]:
    return [np.array(each, np.int64) for each in values]


def staircase(size: int) -> Trace:
    """Slices that all overlap on one thread: each begins and ends after the previous one."""
    lane = Lane("program", "thread 1", 100, 1, "host", size)
    zeros = np.zeros(size, np.int32)
    return Trace(
        start_ns=np.arange(size, dtype=np.int64),
        duration_ns=np.full(size, size, np.int64),
        lane=zeros,
        depth=np.arange(size, dtype=np.int32),
        name_id=zeros,
        category_id=zeros,
        names=("op",),
        categories=("cpu_op",),
        lanes=(lane,),
        arguments=[{}] * size,
        flows=Flows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)),
        counters=(),
        steps=(),
        losses=Losses(),
        metadata={},
    )


@given(tiny)
def test_parents_are_in_the_deepest_row_that_still_runs(events: list[tuple[int, int, int]]) -> None:
    found = trace(*(operator(f"{index}", *event) for index, event in enumerate(events)))
    end = found.start_ns + found.duration_ns
    expected = []
    for index in range(len(found)):
        parent = -1
        for depth in range(found.depth[index]):
            row = np.flatnonzero((found.lane == found.lane[index]) & (found.depth == depth))
            begun = row[found.start_ns[row] <= found.start_ns[index]]
            if len(begun) and end[begun[-1]] >= end[index]:
                parent = int(begun[-1])
        expected.append(parent)
    assert Facts(found).parents.tolist() == expected


@given(tiny, st.sets(st.integers(0, 29)))
def test_the_nearest_that_is_chosen(events: list[tuple[int, int, int]], chosen: set[int]) -> None:
    found = trace(*(operator(f"{index}", *event) for index, event in enumerate(events)))
    facts = Facts(found)
    parents = facts.parents
    mask = np.isin(np.arange(len(found)), list(chosen))
    expected = []
    for index in range(len(found)):
        parent = int(parents[index])
        while parent >= 0 and not mask[parent]:
            parent = int(parents[parent])
        expected.append(parent)
    assert facts.nearest(mask).tolist() == expected


@given(tiny)
def test_stretches_are_when_a_lane_is_busy(events: list[tuple[int, int, int]]) -> None:
    found = trace(*(operator(f"{index}", *event) for index, event in enumerate(events)))
    stretches = stretches_of(Facts(found), np.arange(len(found)))
    busy = {(lane, time) for start, length, lane in events for time in range(start, start + length)}
    lanes = {int(lane.tid): number for number, lane in enumerate(found.lanes)}
    seen = [
        (lane, time)
        for lane, start, end in zip(*(column.tolist() for column in stretches[:3]), strict=True)
        for time in range(start // 1_000, end // 1_000)
    ]
    assert len(seen) == len(set(seen))
    assert set(seen) == {(lanes[lane], time) for lane, time in busy}
    assert (stretches.end == (found.start_ns + found.duration_ns)[stretches.last]).all()
    assert (stretches.start == found.start_ns[stretches.first]).all()
    for lane in lanes:
        requested = [np.array([value]) for value in (lanes[lane], 3_000, 9_000)]
        assert stretches.busy(*requested).tolist() == [1_000 * sum((lane, time) in busy for time in range(3, 9))]


@given(tiny, tiny)
def test_what_came_last_and_first(items: list[tuple[int, int, int]], requested: list[tuple[int, int, int]]) -> None:
    times, _, groups = columns(*map(list, zip(*items, strict=True))) if items else columns([], [], [])
    whens, _, wanted = columns(*map(list, zip(*requested, strict=True))) if requested else columns([], [], [])

    def best(group: int, time: int, sign: int) -> int:
        fits = [i for i in range(len(times)) if groups[i] == group and sign * times[i] <= sign * time]
        return max(fits, key=lambda i: (sign * times[i], sign * i), default=-1)

    questions = list(zip(wanted.tolist(), whens.tolist(), strict=True))
    assert latest(groups, times, wanted, whens).tolist() == [best(*each, 1) for each in questions]
    assert earliest(groups, times, wanted, whens).tolist() == [best(*each, -1) for each in questions]


def test_slices_that_all_overlap_are_no_burden() -> None:
    found = staircase(MANY)
    facts = Facts(found)
    assert (facts.parents == -1).all()
    path = path_of(facts)
    assert (path.start[0], path.end[-1]) == (0, 2 * MANY - 1)
    assert path.explained.all()


def test_parents_are_found_far_up_too() -> None:
    stairs = staircase(MANY)
    duration = stairs.duration_ns.copy()
    duration[0] = 3 * MANY
    assert (Facts(replace(stairs, duration_ns=duration)).parents[1:] == 0).all()


def test_many_calls_that_wait_are_no_burden() -> None:
    waits = replace(staircase(MANY), names=("cudaDeviceSynchronize",), categories=("cuda_runtime",))
    assert not path_of(Facts(waits)).explained.any()
