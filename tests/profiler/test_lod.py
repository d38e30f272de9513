"""Windows, coverage and search, compared with plain oracles."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.lod import LevelOfDetail, NameStatistics, coverage, search, span_ns, statistics_of_name
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace
from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS, LONGEST_NS
from stepscope.summary.errors import UserError


def trace_of(*slices: tuple[str, int, int, int]) -> Trace:
    """A trace of (name, thread, start in us, duration in us) tuples."""
    events: list[dict[str, Any]] = [
        {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur} for name, tid, ts, dur in slices
    ]
    return read_trace(json.dumps(events).encode(), name="tiny")


def test_small_slices_share_a_bucket_and_wide_ones_do_not() -> None:
    trace = trace_of(("a", 1, 0, 1), ("b", 1, 1, 3), ("c", 1, 4, 1), ("wide", 1, 5, 40), ("d", 1, 45, 1))
    window = LevelOfDetail(trace).window(0, 100_000, 10)
    found = [trace.names[trace.name_id[index]] for index in window.slice_index]
    assert (found, window.count.tolist(), window.bucket_ns) == (["b", "wide", "d"], [3, 1, 1], 10_000)


def test_a_slice_that_reaches_into_the_window_is_in_it() -> None:
    trace = trace_of(("long", 1, 0, 1000), ("inner", 1, 500, 1))
    window = LevelOfDetail(trace).window(100_000, 200_000, 10)
    assert (window.slice_index.tolist(), window.count.tolist()) == ([0], [1])


def test_lanes_can_be_chosen() -> None:
    trace = trace_of(("a", 1, 0, 1), ("b", 2, 0, 1), ("c", 3, 0, 1))
    detail = LevelOfDetail(trace)
    assert detail.window(0, 1000, 4, lanes=[2, 0]).slice_index.tolist() == [0, 2]
    assert detail.window(0, 1000, 4, lanes=[]).slice_index.tolist() == []


@pytest.mark.parametrize(("start", "end", "buckets", "lanes"), [(1, 1, 4, None), (0, 1, 0, None), (0, 1, 1, [7])])
def test_windows_that_make_no_sense_are_refused(start: int, end: int, buckets: int, lanes: list[int] | None) -> None:
    with pytest.raises(ValueError, match="Expected"):
        LevelOfDetail(trace_of(("a", 1, 0, 1))).window(start, end, buckets, lanes)


def expected_window(trace: Trace, start: int, end: int, buckets: int) -> list[tuple[int, int]]:
    width = -(-(end - start) // buckets)
    groups: dict[tuple[int, int, int, bool], list[int]] = {}
    last_of_bucket: dict[tuple[int, int, int], int] = {}
    inside = [
        i
        for i in range(len(trace))
        if trace.start_ns[i] < end and (trace.start_ns[i] >= start or trace.start_ns[i] + trace.duration_ns[i] > start)
    ]
    bucket_of = {i: max(0, int(trace.start_ns[i]) - start) // width for i in inside}
    for i in inside:
        last_of_bucket[int(trace.lane[i]), int(trace.depth[i]), bucket_of[i]] = i
    for i in inside:
        place = (int(trace.lane[i]), int(trace.depth[i]), bucket_of[i])
        alone = last_of_bucket[place] == i and trace.duration_ns[i] >= 2 * width and bucket_of[i] < buckets - 1
        groups.setdefault((*place, bool(alone)), []).append(i)
    return [
        (max(members, key=lambda i: (trace.duration_ns[i], -i)), len(members)) for _, members in sorted(groups.items())
    ]


spans = st.lists(st.tuples(st.just("a"), st.integers(1, 2), st.integers(0, 60), st.integers(0, 30)), max_size=40)


@given(spans, st.integers(-5, 60), st.integers(1, 80), st.integers(1, 20))
def test_windows_are_those_of_an_oracle(slices: Any, start: int, length: int, buckets: int) -> None:
    trace = trace_of(*slices)
    begin, end = start * 1000, (start + length) * 1000
    window = LevelOfDetail(trace).window(begin, end, buckets)
    assert list(zip(window.slice_index.tolist(), window.count.tolist(), strict=True)) == expected_window(
        trace, begin, end, buckets
    )
    assert len(window.count) <= buckets * sum(lane.depths for lane in trace.lanes)


def test_coverage_is_the_busy_fraction_of_each_lane() -> None:
    trace = trace_of(("a", 1, 0, 10), ("inside a", 1, 2, 3), ("b", 1, 15, 5), ("c", 2, 5, 10))
    assert coverage(trace, 4).tolist() == [[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]
    assert coverage(trace, 1).tolist() == [[0.75], [0.5]]
    assert coverage(trace_of(), 3).shape == (0, 3)


def test_the_longest_possible_trace_has_a_coverage() -> None:
    # Times far enough on either side of zero differ by more than 64 bits hold: coverage once wrote past its array.
    first, last = -(-EARLIEST_NS // 1000), LATEST_NS // 1000
    trace = trace_of(("a", 1, first, 1), ("b", 2, last, LONGEST_NS // 1000), ("c", 3, -1, LONGEST_NS // 1000))
    begin, end = span_ns(trace)
    assert (begin, len(trace)) == (first * 1000, 3)
    assert end - begin < 2**63
    assert coverage(trace, 2).sum(axis=1).tolist() == pytest.approx(
        [duration / ((end - begin) / 2) for duration in trace.duration_ns.tolist()], rel=1e-6
    )
    beyond = trace_of(("a", 1, first - 1, 1), ("b", 1, last + 1, 1), ("c", 1, 0, LONGEST_NS // 1000 + 1))
    assert beyond.losses.counts == {
        "event without a readable time": 2,
        "complete event without a readable duration": 1,
    }


def test_search_finds_names_in_order_of_time() -> None:
    trace = trace_of(("MatMul", 1, 9, 1), ("Conv", 1, 5, 1), ("matmul_grad", 2, 3, 1))
    names = [trace.names[trace.name_id[index]] for index in search(trace, "matmul")]
    assert names == ["matmul_grad", "MatMul"]
    assert len(search(trace, "^matmul$", "regex")) == 1
    assert len(search(trace, "m.t")) == 0
    assert len(search(trace, "")) == 0
    assert len(search(trace_of(), "a")) == 0
    with pytest.raises(UserError, match="cannot be searched for"):
        search(trace, "(", "regex")


def test_statistics_of_a_name() -> None:
    trace = trace_of(("a", 1, 0, 1), ("a", 1, 5, 2), ("a", 2, 3, 6), ("b", 2, 10, 1))
    assert statistics_of_name(trace, trace.names.index("a")) == NameStatistics(3, 9000, 3000.0, 1000, 6000, 2000.0)
    with pytest.raises(ValueError, match="Expected"):
        statistics_of_name(trace, 9)


def test_the_longest_slice_is_found_among_many() -> None:
    generator = np.random.default_rng(0)
    durations = generator.integers(1, 9, 5000)
    trace = trace_of(*(("a", 1, 10 * i, int(d)) for i, d in enumerate(durations)))
    window = LevelOfDetail(trace).window(0, 50_000_000, 7)
    edges = np.searchsorted(trace.start_ns, np.arange(8) * window.bucket_ns)
    assert window.count.tolist() == np.diff(edges).tolist()
    assert window.slice_index.tolist() == [a + int(np.argmax(trace.duration_ns[a:b])) for a, b in pairwise(edges)]
