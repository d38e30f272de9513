"""Several ranks of a job, and two traces side by side."""

import pytest

from profiler.analysis.compare import compare
from profiler.analysis.ranks import collectives, rank_of, rank_summary, stragglers
from profiler.trace import Trace
from tests.profiler.analysis.kineto import activity, launch, operator, step, trace

REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"


def rank(number: int, compute: float, wait: float) -> Trace:
    """A step in which a rank computes, then takes part in two collectives, the first of which it waits in."""
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
