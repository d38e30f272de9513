"""Sums over an area of a trace, and what surrounds and fills a slice, compared with slice-by-slice results."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.area import CounterFigures, Totals, area, counter_figures, overlap
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.nesting import children, enclosing
from stepscope.profiler.trace import Counter, Lane, Losses, Step, Trace
from stepscope.profiler.traces.build import RawSlices, arrange, assemble, no_flows

LANES = 3
NAMES = ("a", "b", "c")
CATEGORIES = ("x", "y")


class Raw(NamedTuple):
    start: int
    duration: int
    lane: int
    name: int
    category: int


class NoArguments:
    def __getitem__(self, slice_index: int) -> dict[str, object]:
        return {}


def trace_of(slices: Sequence[Raw], names: Sequence[str] = NAMES) -> Trace:
    start, duration, lane, name, category = (
        (list(column) for column in zip(*slices, strict=True)) if slices else [[]] * 5
    )
    raw = RawSlices(
        np.array(start, np.int64),
        np.array(duration, np.int64),
        np.array(lane, np.int32),
        np.array(name, np.int32),
        np.array(category, np.int32),
    )
    return assemble(
        arrange(raw, [Lane("p", str(number), 1, number, "host", 0) for number in range(LANES)]),
        names=tuple(names),
        categories=CATEGORIES,
        arguments=NoArguments(),
        flows=no_flows(),
        counters=(),
        steps=(),
        losses=Losses(),
        metadata={},
    )


def rows_of(totals: Totals) -> list[tuple[int, ...]]:
    return [tuple(row) for row in np.stack(totals, axis=1).tolist()] if len(totals.slices) else []


traces = st.lists(
    st.builds(
        Raw,
        st.integers(0, 30),
        st.integers(0, 12),
        st.integers(0, LANES - 1),
        st.integers(0, len(NAMES) - 1),
        st.integers(0, len(CATEGORIES) - 1),
    ),
    max_size=40,
).map(trace_of)
lanes_or_all = st.none() | st.lists(st.integers(0, LANES - 1), max_size=4)


def in_area(trace: Trace, start: int, end: int, lanes: Sequence[int] | None) -> dict[int, int]:
    """How much of each slice lies in the area, computed one slice at a time."""
    found = {}
    for index in range(len(trace)):
        begins = int(trace.start_ns[index])
        ends = begins + int(trace.duration_ns[index])
        if (start <= begins < end or begins < start < ends) and (lanes is None or int(trace.lane[index]) in lanes):
            found[index] = min(ends, end) - max(begins, start)
    return found


def summed(trace: Trace, clipped: dict[int, int], *, by_name: bool) -> list[tuple[int, ...]]:
    own = dict(clipped)
    for index, parent in enumerate(Facts(trace).parents.tolist()):
        if index in clipped and parent >= 0:
            own[parent] -= clipped[index]
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index in clipped:
        members[int(trace.name_id[index]) if by_name else -1, int(trace.category_id[index])].append(index)
    rows = []
    for key, indices in members.items():
        times = [clipped[index] for index in indices]
        longest = min(index for index in indices if clipped[index] == max(times))
        own_ns = sum(own[index] for index in indices)
        rows.append((*key, len(indices), sum(times), own_ns, min(times), max(times), longest))
    return sorted(rows, key=lambda row: (-row[3], -row[4], row[0], row[1]))


@given(traces, st.integers(-3, 40), st.integers(1, 50), lanes_or_all)
def test_sums_are_those_of_the_slices_one_by_one(
    trace: Trace, start: int, length: int, lanes: Sequence[int] | None
) -> None:
    end = start + length
    clipped = in_area(trace, start, end, lanes)
    found = area(trace, start, end, lanes)
    assert rows_of(found.by_name) == summed(trace, clipped, by_name=True)
    assert rows_of(found.by_category) == summed(trace, clipped, by_name=False)
    by_lane = []
    for lane in range(LANES):
        inside = [index for index in clipped if trace.lane[index] == lane]
        if inside:
            by_lane.append((lane, len(inside), sum(clipped[index] for index in inside if trace.depth[index] == 0)))
    assert list(zip(*(column.tolist() for column in found.by_lane), strict=True)) == by_lane
    assert found.slices == len(clipped)
    assert overlap(trace, start, end, lanes).indices.tolist() == sorted(clipped)


@given(traces)
def test_slices_around_and_in_a_slice_follow_the_parents(trace: Trace) -> None:
    parents = Facts(trace).parents.tolist()
    for index in range(len(trace)):
        around, outer = [], parents[index]
        while outer >= 0:
            around.append(outer)
            outer = parents[outer]
        assert enclosing(trace, index).tolist() == around[::-1]
        assert children(trace, index).tolist() == [inner for inner, parent in enumerate(parents) if parent == index]


def test_a_small_area_adds_up() -> None:
    outer, inner, next_to = Raw(0, 100, 0, 0, 0), Raw(10, 20, 0, 1, 1), Raw(40, 30, 0, 1, 1)
    found = area(trace_of([outer, inner, next_to, Raw(90, 30, 1, 2, 1)]), 20, 95)
    assert found.slices == 4
    assert rows_of(found.by_name) == [
        (0, 0, 1, 75, 35, 75, 75, 0),
        (1, 1, 2, 40, 40, 10, 30, 2),
        (2, 1, 1, 5, 5, 5, 5, 3),
    ]
    assert rows_of(found.by_category) == [(-1, 0, 1, 75, 35, 75, 75, 0), (-1, 1, 3, 45, 45, 5, 30, 2)]
    assert [column.tolist() for column in found.by_lane] == [[0, 1], [3, 1], [75, 5]]


def test_marks_of_steps_add_nothing_to_an_area() -> None:
    trace = trace_of([Raw(0, 100, 0, 0, 0), Raw(10, 30, 0, 1, 0)])
    marked = replace(trace, steps=(Step(1, "a", 0, 100),))
    found = area(marked, 0, 100)
    assert (found.slices, rows_of(found.by_name), rows_of(found.by_category)) == (
        2,
        [(1, 0, 1, 30, 30, 30, 30, 1)],
        [(-1, 0, 1, 30, 30, 30, 30, 1)],
    )
    assert found.by_lane.busy_ns.tolist() == [100]
    only = area(replace(trace, steps=(Step(1, "a", 0, 100), Step(2, "b", 10, 30))), 0, 100)
    assert len(only.by_name.slices) == 2


def test_many_names_are_all_told_apart() -> None:
    names = [f"n{number}" for number in range(5_000)]
    trace = trace_of([Raw(number, 1 + number % 7, 0, number, number % 2) for number in range(5_000)], names)
    found = area(trace, 0, 6_000).by_name
    assert sorted(zip(found.name_id.tolist(), found.category_id.tolist(), found.total_ns.tolist(), strict=True)) == [
        (number, number % 2, 1 + number % 7) for number in range(5_000)
    ]


def test_a_trace_without_slices_has_an_empty_area() -> None:
    found = area(trace_of([]), 0, 5)
    assert (found.slices, rows_of(found.by_name), rows_of(found.by_category)) == (0, [], [])
    assert [column.tolist() for column in found.by_lane] == [[], [], []]


@pytest.mark.parametrize(
    ("start", "end", "lanes", "message"),
    [(5, 5, None, "ends after it starts, got 5 to 5 ns"), (0, 5, [0, 3], "lanes from 0 to 2, got \\[0, 3\\]")],
)
def test_an_area_that_is_none_is_refused(start: int, end: int, lanes: list[int] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        area(trace_of([]), start, end, lanes)


@pytest.mark.parametrize(
    ("times", "values", "expected"),
    [
        ([0, 10, 30], [1.0, 5.0, 9.0], CounterFigures(1.0, (5 * 1 + 20 * 5 + 10 * 9) / 35, 9.0)),
        ([0, 40], [3.0, 7.0], CounterFigures(3.0, 3.0, 3.0)),
        ([20], [4.0], CounterFigures(4.0, 4.0, 4.0)),
        ([0, 10], [np.nan, 2.0], CounterFigures(2.0, 2.0, 2.0)),
        ([10, 10], [100.0, 2.0], CounterFigures(2.0, 2.0, 2.0)),
        ([40], [4.0], None),
        ([0], [np.inf], None),
        ([], [], None),
    ],
)
def test_a_counter_holds_its_value_until_the_next(
    times: list[int], values: list[float], expected: CounterFigures | None
) -> None:
    counter = Counter("p", "c", "v", np.array(times, np.int64), np.array(values, np.float64))
    assert counter_figures(counter, 5, 40) == (expected and pytest.approx(expected))
