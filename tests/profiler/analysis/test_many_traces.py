"""Several ranks of a job, and two traces side by side."""

import polars as pl
import pytest

from stepscope.profiler.analysis.compare import Per, What, basis_of, compare
from stepscope.profiler.analysis.ranks import collectives, rank_of, rank_summary, stragglers
from stepscope.profiler.analysis.steps import step_breakdown
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace

REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"


def rank(number: int, compute: float, wait: float) -> Trace:
    """A step in which a rank computes, then takes part in two collectives; it waits in the first one."""
    return trace(
        step(1, 0, 100),
        launch(1, 1, 1),
        activity("gemm", 5, compute, 1, device=number),
        launch(3, 1, 2),
        activity(REDUCE, 5 + compute, 10 + wait, 2, stream=9, device=number),
        launch(6, 1, 3),
        activity(REDUCE, 70, 4, 3, stream=9, device=number),
        distributedInfo={"rank": number, "world_size": 2},
    )


def test_who_waits_for_whom() -> None:
    traces = {0: rank(0, 40, 0), 1: rank(1, 20, 20)}
    assert collectives(traces).rows() == [
        (1, 0, "allreduce", 0, 10_000, 10_000, 0),
        (1, 0, "allreduce", 1, 30_000, 10_000, 20_000),
        (1, 1, "allreduce", 0, 4_000, 4_000, 0),
        (1, 1, "allreduce", 1, 4_000, 4_000, 0),
    ]
    assert stragglers(traces).rows() == [(0, 2, 20_000, 0), (1, 0, 0, 20_000)]
    columns = ("rank", "steps", "step_ns", "computation_ns", "communication_ns", "other_ns", "waiting_ns")
    assert rank_summary(traces).select(columns).rows() == [
        (0, 1, 100_000.0, 40_000.0, 14_000.0, 46_000.0, 0.0),
        (1, 1, 100_000.0, 20_000.0, 34_000.0, 46_000.0, 20_000.0),
    ]
    assert [rank_of(each) for each in traces.values()] == [0, 1]


def test_ranks_have_means_per_step_and_stragglers_sums() -> None:
    def twice(number: int, wait: float) -> Trace:
        events: list[Event] = []
        for index, start in ((1, 0), (2, 100)):
            events += [
                step(index, start, 100),
                launch(start + 1, 1, index),
                activity(REDUCE, start + 5, 10 + wait, index, stream=9, device=number),
            ]
        return trace(*events, distributedInfo={"rank": number})

    traces = {0: twice(0, 0), 1: twice(1, 20)}
    columns = ("rank", "steps", "communication_ns", "waiting_ns", "transfer_ns")
    assert rank_summary(traces).select(columns).rows() == [
        (0, 2, 10_000.0, 0.0, 10_000.0),
        (1, 2, 30_000.0, 20_000.0, 10_000.0),
    ]
    assert stragglers(traces).rows() == [(0, 2, 40_000, 0), (1, 0, 0, 40_000)]


def gloo(number: int, wait: float) -> Trace:
    """A step as PyTorch records it on a CPU: the operator on one thread, the backend's work on another."""
    return trace(
        step(1, 0, 100),
        operator("aten::mm", 0, 20),
        operator("c10d::allreduce_", 20, 5),
        operator("record_param_comms", 21, 3),
        event("user_annotation", "gloo:all_reduce", 22, 10 + wait, tid=2),
        operator("c10d::allreduce_", 80, 6),
        event("user_annotation", "gloo:all_reduce", 82, 3, tid=2),
        event("user_annotation", "gloo:all_reduce", 83, 1, tid=2),
        distributedInfo={"rank": number, "backend": "gloo"},
    )


def test_collectives_of_the_host_count_once_where_no_device_has_any() -> None:
    traces = {0: gloo(0, 0), 1: gloo(1, 30)}
    assert collectives(traces).rows() == [
        (1, 0, "all_reduce", 0, 10_000, 10_000, 0),
        (1, 0, "all_reduce", 1, 40_000, 10_000, 30_000),
        (1, 1, "all_reduce", 0, 3_000, 3_000, 0),
        (1, 1, "all_reduce", 1, 3_000, 3_000, 0),
    ]
    assert stragglers(traces).rows() == [(0, 2, 30_000, 0), (1, 0, 0, 30_000)]
    columns = ("rank", "computation_ns", "communication_ns", "overlap_ns", "other_ns", "waiting_ns", "transfer_ns")
    found = rank_summary(traces).select(columns).rows()
    assert found == [
        (0, 20_000.0, 18_000.0, 0.0, 62_000.0, 0.0, 13_000.0),
        (1, 20_000.0, 48_000.0, 0.0, 32_000.0, 30_000.0, 13_000.0),
    ]
    # The overview reports the same for this step.
    for number, each in traces.items():
        (row,) = step_breakdown(each).to_dicts()
        assert row["communication_ns"] == found[number][2]
    # Without the backend's slices, c10d's records count; without those, its operators.
    less = {0: trace(step(1, 0, 100), operator("c10d::allreduce_", 20, 5), operator("record_param_comms", 21, 3))}
    assert collectives(less).select("duration_ns").rows() == [(3_000,)]
    least = {0: trace(step(1, 0, 100), operator("c10d::allreduce_", 20, 5), operator("c10d::allreduce_", 21, 3))}
    assert collectives(least).select("duration_ns").rows() == [(5_000,)]


def test_a_collective_that_a_rank_lacks_is_left_out() -> None:
    alone = trace(step(1, 0, 100), launch(1, 1, 1), activity(REDUCE, 5, 3, 1, stream=9))
    assert collectives({0: rank(0, 40, 0), 1: alone})["number"].to_list() == [0, 0]
    assert collectives({}).is_empty()


def test_changes() -> None:
    before = trace(operator("same", 0, 5), operator("gone", 10, 5), operator("slower", 20, 10))
    after = trace(operator("same", 0, 5), operator("slower", 20, 15), operator("new", 40, 1))
    columns = ("name", "count_before", "count_after", "change_ns", "change_percent", "state")
    assert compare(before, after, what="operators").select(columns).rows() == [
        ("gone", 1.0, 0.0, -5_000.0, -100.0, "removed"),
        ("slower", 1.0, 1.0, 5_000.0, 50.0, "longer"),
        ("new", 0.0, 1.0, 1_000.0, None, "added"),
        ("same", 1.0, 1.0, 0.0, 0.0, "same"),
    ]
    steps = {row["name"]: row["change_ns"] for row in compare(before, after, what="steps").to_dicts()}
    assert steps["cpu_exec"] == pytest.approx(1_000)
    assert compare(before, after, what="kernels").is_empty()


def steps_of(number: int, duration: float) -> Trace:
    """Steps of 100 us, each with an operator and its kernel, and an operator before the first step."""
    events: list[Event] = [operator("mm", -50, 40)]
    for index in range(number):
        start = 100 * index
        events += [
            step(index, start, 100),
            operator("mm", start, duration),
            launch(start + 1, 1, index + 1),
            activity("gemm", start + 5, duration, index + 1),
        ]
    return trace(*events)


@pytest.mark.parametrize(
    ("per", "operators", "gemm"),
    [
        ("step", (1.0, 1.0, 20_000.0, 21_000.0, "longer"), (1.0, 1.0, 20_000.0, 21_000.0, "longer")),
        ("call", (6.0, 4.0, 140_000 / 6, 103_000 / 4, "longer"), (5.0, 3.0, 20_000.0, 21_000.0, "longer")),
        ("total", (6.0, 4.0, 140_000.0, 103_000.0, "shorter"), (5.0, 3.0, 100_000.0, 63_000.0, "shorter")),
    ],
)
def test_traces_of_different_numbers_of_steps(
    per: Per, operators: tuple[object, ...], gemm: tuple[object, ...]
) -> None:
    before, after = steps_of(5, 20), steps_of(3, 21)
    columns = ("count_before", "count_after", "before_ns", "after_ns", "state")
    cases: tuple[tuple[What, tuple[object, ...]], ...] = (("operators", operators), ("kernels", gemm))
    for what, expected in cases:
        found = compare(before, after, what=what, per=per)
        assert found.select(columns).row(0) == pytest.approx(expected)
        assert found["basis"].to_list() == [{"step": "per step", "call": "per call", "total": "total"}[per]]
    words = {"step": "per step", "call": "per call", "total": "total"}[per]
    assert basis_of(before, after, per).words == f"{words}, of 5 steps before and 3 steps after"
    by_step = compare(before, after, what="steps", per=per).row(by_predicate=pl.col("name") == "kernel", named=True)
    times = 1 if per != "total" else 5
    assert (by_step["before_ns"], by_step["count_before"]) == (20_000 * times, 5)
    assert by_step["basis"] == ("total" if per == "total" else "per step")


def test_totals_are_compared_where_a_trace_marks_no_steps() -> None:
    marked, unmarked = steps_of(2, 20), trace(operator("mm", 0, 30))
    (row,) = compare(marked, unmarked, what="operators").to_dicts()
    assert (row["before_ns"], row["after_ns"], row["basis"]) == (80_000, 30_000, "total")
    words = "totals, as a mean step needs steps in both, of 2 steps before and no marked steps after"
    assert basis_of(marked, unmarked).words == words
