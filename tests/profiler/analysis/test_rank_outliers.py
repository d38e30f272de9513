"""Which ranks differ from the others."""

import numpy as np

from stepscope.profiler.analysis.rank_outliers import (
    deviations,
    rank_kernels,
    rank_operators,
    rank_outliers,
    rank_resources,
    rank_steps,
)
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import Event, activity, launch, operator, step, trace


def rank(number: int, compute: float, *, steps: int = 2, **about: object) -> Trace:
    """Steps in which a kernel runs for ``compute`` microseconds on a rank, and half as long again in step 2."""
    events: list[Event] = []
    for place in range(steps):
        at = 1000.0 * place
        took = compute * (1.5 if place == 1 else 1)
        events += [
            step(place + 1, at, took + 20),
            operator("aten::mm", at + 1, 5),
            launch(at + 2, 1, place + 1),
            activity("gemm", at + 10, took, place + 1, device=0),
        ]
    return trace(*events, **{"distributedInfo": {"rank": number}, **about})


def test_deviations_are_in_units_of_the_median_absolute_deviation() -> None:
    values = np.array([100.0, 101, 99, 100, 102, 98, 200])
    # The median is 100, and the median distance from it is 1.
    assert np.round(deviations(values) * 1.4826, 6).tolist() == [0, 1, -1, 0, 2, -2, 100]
    # When ranks are alike, a hundredth of the median counts as one.
    assert deviations(np.array([1000.0, 1000, 1000, 1050])).tolist() == [0, 0, 0, 5]


def test_a_rank_that_computes_for_longer_is_odd() -> None:
    traces = {number: rank(number, 100 if number == 3 else 80) for number in range(5)}
    assert rank_outliers(traces).rows() == [
        (3, "computation", 125_000.0, 100_000.0, 20.833333333333332),
        (3, "step", 145_000.0, 120_000.0, 20.833333333333332),
    ]


def test_of_two_ranks_neither_is_odd_and_of_none_nothing_is_said() -> None:
    assert rank_outliers({0: rank(0, 10), 1: rank(1, 90)}).is_empty()
    assert rank_outliers({}).is_empty()
    assert rank_steps({}).is_empty()
    assert rank_kernels({}).is_empty()
    assert rank_resources({}).is_empty()


def test_the_slowest_rank_of_each_step() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 90), 2: rank(2, 85, steps=1)}
    assert rank_steps(traces).rows() == [
        (1, 3, 105_000.0, 110_000, 1, 110_000, 105_000.0),
        (2, 2, 147_500.0, 155_000, 1, 155_000, 147_500.0),
    ]


def test_names_have_the_rank_that_spends_most_in_them() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 90), 2: rank(2, 80)}
    assert rank_kernels(traces).rows() == [("gemm", 3, 6, 200_000.0, 225_000, 1, 25_000.0)]
    assert rank_operators(traces).rows() == [("aten::mm", 3, 6, 8_000.0, 8_000, 0, 0.0)]
