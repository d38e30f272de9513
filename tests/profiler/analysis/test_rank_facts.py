"""Facts of one trace: their contents, and the handling of anything beyond their limits."""

from collections import Counter
from collections.abc import Callable

import polars as pl
import pytest

from stepscope.profiler.analysis.rank_facts import FACT_TABLES, MOST_ROWS, OTHER_STEPS, RankFacts, rank_facts, schemas
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def job() -> Trace:
    """Two steps, the first with a product, a copy and a collective; a kernel before all steps."""
    return trace(
        operator("aten::ones", 0, 2),
        launch(0, 1, 9),
        activity("fill", 3, 2, 9),
        step(4, 10, 40),
        operator("aten::mm", 12, 8),
        launch(14, 2, 1),
        activity("gemm", 18, 6, 1),
        activity("Memcpy HtoD (Pageable -> Device)", 25, 5, 2, category="gpu_memcpy", more={"bytes": 1000}),
        launch(22, 1, 3),
        activity(
            REDUCE,
            30,
            10,
            3,
            stream=9,
            more={"Collective name": "allreduce", "Process Group Name": "dp", "Seq": 7},
        ),
        step(5, 50, 20),
        operator("aten::mm", 52, 3),
        event("cpu_instant_event", "odd", 55, -1),
        distributedInfo={"rank": 3, "world_size": 8},
        host_name="node7",
    )


def test_facts_of_a_small_job() -> None:
    facts = rank_facts(job())
    assert facts.rank == 3
    about = facts.tables["trace"].row(0, named=True)
    assert {name: about[name] for name in ("marked_steps", "world_size", "host", "on_device")} == {
        "marked_steps": 2,
        "world_size": 8,
        "host": "node7",
        "on_device": True,
    }
    assert facts.tables["operators"].rows() == [
        (4, "aten::mm", 1, 6_000, 8_000, 6_000),
        (5, "aten::mm", 1, 3_000, 3_000, 0),
        (-1, "aten::ones", 1, 1_000, 2_000, 2_000),
    ]
    assert facts.tables["kernels"].rows() == [
        (4, REDUCE, 1, 10_000, 10_000),
        (4, "gemm", 1, 6_000, 6_000),
        (-1, "fill", 1, 2_000, 2_000),
    ]
    assert facts.tables["collectives"].rows() == [(4, 0, "allreduce (dp)", 7, 30_000, 10_000, "dp")]
    assert facts.tables["copies"].rows() == [("HtoD", "pageable", 1, 1000, 5_000)]
    columns = ("step", "start_ns", "total_ns", "computation_ns", "communication_work_ns", "overlap_ns")
    assert facts.tables["steps"].select(columns).rows() == [(4, 10_000, 40_000, 6_000, 10_000, 0)]


@pytest.mark.parametrize("made", [job, lambda: trace(), lambda: trace(operator("a", 0, 1))])
def test_tables_have_the_same_columns_whatever_the_trace(made: Callable[[], Trace]) -> None:
    facts = rank_facts(made())
    assert {name: dict(facts.tables[name].schema) for name in FACT_TABLES} == schemas()


def many(kernels: int, steps: int) -> RankFacts:
    """Facts of steps with as many differently named kernels each; every other kernel takes long."""
    events: list[Event] = []
    for number in range(steps):
        begin = number * (kernels + 1) * 10
        events.append(step(number, begin, (kernels + 1) * 10))
        for place in range(kernels):
            correlation = number * kernels + place
            at = begin + place * 10
            events += [
                launch(at, 1, correlation),
                activity(f"k{place:05d}", at + 2, 1 + 5 * (place % 2), correlation),
            ]
    return rank_facts(trace(*events))


def test_what_is_too_much_to_be_told_by_step_keeps_its_sums() -> None:
    kernels, steps = 500, 12
    facts = many(kernels, steps)
    table = facts.tables["kernels"]
    # As many rows by step as leave room for one row per name; half of the names are short.
    assert len(table) == MOST_ROWS["kernels"] - kernels + kernels // 2
    assert facts.tables["trace"]["left_out_kernels"][0] == 0
    sums = table.group_by("kernel").agg(pl.col("count", "total_ns").sum(), pl.col("max_ns").max())
    assert Counter({name: (count, total, most) for name, count, total, most in sums.rows()}) == Counter(
        {
            f"k{place:05d}": (steps, steps * took, took)
            for place in range(kernels)
            for took in [1000 + 5000 * (place % 2)]
        }
    )
    told = table.filter(pl.col("step") != OTHER_STEPS)["total_ns"].to_list()
    folded = table.filter(pl.col("step") == OTHER_STEPS)["max_ns"].to_list()
    # The rows that are kept by step are the longest.
    assert min(told) >= max(folded)


def test_names_beyond_all_bounds_are_left_out_and_counted() -> None:
    facts = many(MOST_ROWS["kernels"] + 10, 1)
    assert len(facts.tables["kernels"]) == MOST_ROWS["kernels"]
    assert facts.tables["trace"]["left_out_kernels"][0] == 10


def test_long_names_are_cut() -> None:
    facts = rank_facts(trace(launch(0, 1, 1), activity("k" * 3000, 2, 1, 1)))
    assert facts.tables["kernels"]["kernel"].to_list() == ["k" * 500]
