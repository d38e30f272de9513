"""Several traces in one view, with per-step critical paths and gaps as columns."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stepscope.profiler.analysis.classify import is_profilers_own
from stepscope.profiler.analysis.communication import communication, match_collectives
from stepscope.profiler.analysis.critical_path import BOUNDS, critical_path, path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.idle import CAUSES, idle_gaps, idle_time
from stepscope.profiler.analysis.trace_alignment import Aligned, Alignment, By, align, differences, totals_by_name
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace
from stepscope.summary.errors import UserError
from tests.profiler.analysis.kineto import Event, activity, launch, operator, step, trace

REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"


def rank(number: int, late: float, *, collectives: tuple[tuple[float, float], ...] = ((20, 10), (40, 4))) -> Trace:
    """Two steps on a clock that is ``late`` microseconds behind; the first has collectives as (start, duration)."""
    events: list[Event] = [step(1, 0, 100), step(2, 100, 100)]
    for index, (start, duration) in enumerate(collectives):
        events += [
            launch(1 + 3 * index, 1, index),
            activity(REDUCE, start, duration, index, stream=9, device=number),
        ]
    for each in events:
        each["ts"] += late
    return trace(*events, distributedInfo={"rank": number})


def together(*traces: Trace, origins: tuple[int, ...] | None = None) -> list[Aligned]:
    starts = origins or (0,) * len(traces)
    return [
        Aligned(Facts(each), start, f"trace {index}")
        for index, (each, start) in enumerate(zip(traces, starts, strict=True))
    ]


def lined_up(traces: list[Aligned], by: By, **more: Any) -> Alignment:
    parts = [communication(each.facts) for each in traces] if by == "collectives" else []
    return align(traces, by, communication=parts, **more)


def test_traces_line_up_by_a_step() -> None:
    first, second = rank(0, 0), rank(1, 30)
    assert lined_up(together(first, second), "step", step=2) == Alignment((0, -30_000), ())
    # Times are sent relative to each trace's beginning, which is later in the second one.
    moved = together(first, second, origins=(0, 25_000))
    assert lined_up(moved, "step", step=2) == Alignment((0, -5_000), ())
    assert lined_up(moved, "start") == Alignment((0, 0), ())
    assert lined_up(moved, "step") == Alignment((0, -5_000), ("Aligned by step 1, the first that all have.",))


def test_a_step_that_is_missing_has_its_nearest_stand_for_it() -> None:
    other = trace(step(5, 40, 10), step(8, 60, 10))
    assert lined_up(together(rank(0, 0), other), "step", step=7) == Alignment(
        (0, 40_000),
        (
            "trace 0 has no step 7: its nearest, step 2, is used.",
            "trace 1 has no step 7: its nearest, step 8, is used.",
        ),
    )
    assert lined_up(together(rank(0, 0), other), "step") == Alignment(
        (0, -40_000), ("The traces have no step in common: they are aligned by the first step of each.",)
    )
    with pytest.raises(UserError, match="trace 1 has no marked steps"):
        lined_up(together(rank(0, 0), trace(operator("a", 0, 1))), "step", step=1)


def test_traces_line_up_by_the_wall_clock() -> None:
    first, second = (replace(rank(0, 0), epoch_ns=epoch) for epoch in (1_000, 9_000))
    assert lined_up(together(first, second, origins=(500, 200)), "clock") == Alignment((0, 7_700), ())
    much_later = replace(first, epoch_ns=2 * 3600 * 10**9 + 1_000)
    assert lined_up(together(first, much_later), "clock") == Alignment(
        (0, 7_200_000_000_000), ("trace 1 begins 2.0 hours after trace 0.",)
    )
    assert lined_up(together(much_later, first), "clock").notes == ("trace 1 begins 2.0 hours before trace 0.",)
    with pytest.raises(UserError, match="trace 1 has no wall-clock start time"):
        lined_up(together(first, rank(1, 0)), "clock")


def test_traces_line_up_by_the_first_slice_of_a_name() -> None:
    first, second = trace(operator("a", 9, 1), operator("a", 3, 1)), trace(operator("a", 20, 1))
    assert lined_up(together(first, second), "name", name="a") == Alignment((0, -17_000), ())
    with pytest.raises(UserError, match="trace 0 has no slice called “b”"):
        lined_up(together(first, second), "name", name="b")


def test_ranks_line_up_by_the_ends_of_their_collectives() -> None:
    # The second clock is 7 us behind; its rank reaches the first collective 5 us late, and one end differs by 2 us.
    first = rank(0, 0, collectives=((20, 10), (40, 4), (60, 6)))
    second = rank(1, 7, collectives=((25, 5), (40, 4), (60, 8)))
    assert lined_up(together(first, second), "collectives") == Alignment(
        (0, -7_000), ("trace 1: 3 collectives in common, whose ends differ by 0.0 µs (median).",)
    )
    with pytest.raises(UserError, match="trace 1 has no collective in common with trace 0"):
        lined_up(together(first, trace(step(1, 0, 9), operator("a", 0, 1))), "collectives")


def test_collectives_are_matched_by_sequence_number_where_kernels_state_one() -> None:
    def of(*numbers: int) -> pl.DataFrame:
        events = [step(1, 0, 100)]
        for place, number in enumerate(numbers):
            more = {"Seq": number, "Process Group Name": "dp", "Collective name": "allreduce"}
            events += [launch(place, 1, place), activity(REDUCE, 10 * place + 10, 5 + number, place, more=more)]
        return communication(trace(*events))

    # The second trace began recording after the first collective.
    columns = ("step", "number", "collective", "trace", "start_ns", "duration_ns", "transfer_ns", "waiting_ns")
    assert match_collectives([of(3, 4, 5), of(4, 5, 6)]).select(columns).rows() == [
        (1, 0, "allreduce (dp)", 0, 20_000, 9_000, 9_000, 0),
        (1, 0, "allreduce (dp)", 1, 10_000, 9_000, 9_000, 0),
        (1, 1, "allreduce (dp)", 0, 30_000, 10_000, 10_000, 0),
        (1, 1, "allreduce (dp)", 1, 20_000, 10_000, 10_000, 0),
    ]
    assert match_collectives([of(1), of(2)]).is_empty()
    assert match_collectives([]).is_empty()


def test_some_of_the_ranks_are_enough() -> None:
    parts = [communication(each) for each in (rank(0, 0), rank(1, 0), rank(2, 0, collectives=((20, 2),)))]
    rows = match_collectives(parts).select("number", "trace", "waiting_ns").rows()
    assert rows == [(0, 0, 8_000), (0, 1, 8_000), (0, 2, 0), (1, 0, 0), (1, 1, 0)]
    assert match_collectives(parts, least=3)["number"].to_list() == [0, 0, 0]


def test_differences_have_a_verdict_for_every_name() -> None:
    before = trace(
        operator("gone", 0, 5),
        operator("as before", 10, 10),
        operator("slower", 20, 10),
        operator("slower", 40, 10),
        operator("hardly slower", 50, 100),
        operator("faster", 200, 10),
        operator("twice, each as long", 220, 10),
        activity("gemm", 5, 40, 1),
    )
    after = trace(
        operator("as before", 10, 10),
        operator("slower", 20, 15),
        operator("hardly slower", 50, 110),
        operator("faster", 200, 4),
        operator("twice, each as long", 220, 10),
        operator("twice, each as long", 240, 10),
        operator("new", 300, 1),
        activity("gemm", 5, 70, 1),
    )
    found = differences(totals_by_name(Facts(before)), totals_by_name(Facts(after)), 300_000)
    assert found.rows() == [
        ("gemm", "kernel", "device", 1, 1, 40_000, 70_000, 40_000.0, 70_000.0, 30_000, "longer"),
        ("hardly slower", "cpu_op", "host", 1, 1, 100_000, 110_000, 100_000.0, 110_000.0, 10_000, "same"),
        ("twice, each as long", "cpu_op", "host", 1, 2, 10_000, 20_000, 10_000.0, 10_000.0, 10_000, "same"),
        ("faster", "cpu_op", "host", 1, 1, 10_000, 4_000, 10_000.0, 4_000.0, -6_000, "shorter"),
        ("gone", "cpu_op", "host", 1, 0, 5_000, 0, 5_000.0, None, -5_000, "only in first"),
        ("slower", "cpu_op", "host", 2, 1, 20_000, 15_000, 10_000.0, 15_000.0, -5_000, "longer"),
        ("new", "cpu_op", "host", 0, 1, 0, 1_000, None, 1_000.0, 1_000, "only in second"),
        ("as before", "cpu_op", "host", 1, 1, 10_000, 10_000, 10_000.0, 10_000.0, 0, "same"),
    ]
    assert found.columns == [
        "name",
        "category",
        "side",
        "count_first",
        "count_second",
        "total_first_ns",
        "total_second_ns",
        "mean_first_ns",
        "mean_second_ns",
        "change_ns",
        "verdict",
    ]
    # In a window a thousand times as long as the change, it does not count as one.
    wide = differences(totals_by_name(Facts(before)), totals_by_name(Facts(after)), 30_000_000)
    assert set(wide.filter(pl.col("name") == "gemm")["verdict"]) == {"same"}


def test_verdicts_are_per_call_whatever_the_number_of_steps() -> None:
    before = trace(*(operator("mm", 100 * index, 30) for index in range(5)))
    after = trace(*(operator("mm", 100 * index, 50) for index in range(3)))
    found = differences(totals_by_name(Facts(before)), totals_by_name(Facts(after)), 500_000)
    assert found.select("change_ns", "verdict").rows() == [(0, "longer")]


def test_a_window_takes_what_begins_in_it() -> None:
    facts = Facts(trace(operator("a", 0, 50), operator("a", 60, 10), operator("b", 80, 5), operator("a", 100, 1)))
    assert totals_by_name(facts, (60_000, 100_000)).rows() == [
        ("a", "cpu_op", "host", 1, 10_000),
        ("b", "cpu_op", "host", 1, 5_000),
    ]
    marked = Facts(trace(step(1, 0, 100), operator("a", 0, 50)))
    assert totals_by_name(marked).rows() == [("a", "cpu_op", "host", 1, 50_000)]
    empty = totals_by_name(Facts(trace()))
    assert empty.is_empty()
    assert differences(empty, empty, 0).is_empty()


def test_the_path_of_a_step_says_where_each_part_comes_from() -> None:
    found = trace(
        step(1, 0, 50),
        operator("load", 0, 10),
        launch(12, 3, 1),
        activity("gemm", 20, 25, 1),
        step(2, 60, 50),
        operator("other step", 60, 40),
    )
    path = path_of(found, step=1)
    rows = [
        (BOUNDS[bound], found.names[found.name_id[at]], found.names[found.name_id[origin]], start, end)
        for bound, at, origin, start, end in zip(*(column.tolist() for column in path), strict=True)
    ]
    assert rows == [
        ("host", "load", "load", 0, 10_000),
        ("idle", "cudaLaunchKernel", "load", 10_000, 12_000),
        ("launch_delay", "gemm", "cudaLaunchKernel", 12_000, 20_000),
        ("kernel", "gemm", "gemm", 20_000, 45_000),
        ("idle", "gemm", "gemm", 45_000, 50_000),
    ]
    assert critical_path(found, step=1)["duration_ns"].to_list() == [10_000, 2_000, 8_000, 25_000, 5_000]
    assert [len(column) for column in path_of(trace())] == [0] * 5


GAPS = trace(
    launch(0, 1, 1),
    launch(2, 1, 2),
    launch(30, 1, 3),
    launch(31, 1, 4),
    activity("a", 5, 10, 1),
    activity("b", 17, 3, 2),
    activity("c", 40, 5, 3),
    activity("d", 18, 30, 4, stream=8),
    activity("e", 90, 5, 4, stream=8),
)


def test_gaps_add_up_to_the_idle_time() -> None:
    gaps = idle_gaps(GAPS, scope="all")
    names = [GAPS.names[GAPS.name_id[each]] for each in gaps.slice.tolist()]
    rows = zip(gaps.stream.tolist(), gaps.start.tolist(), gaps.end.tolist(), gaps.cause.tolist(), names, strict=True)
    assert list(rows) == [
        (7, 15_000, 17_000, CAUSES.index("kernel_wait"), "b"),
        (7, 20_000, 40_000, CAUSES.index("host_wait"), "c"),
        (8, 48_000, 90_000, CAUSES.index("other"), "e"),
    ]
    assert idle_time(GAPS, scope="all").rows() == [
        (0, 7, "host_wait", 20_000, 1, pytest.approx(100 * 20 / 22)),
        (0, 7, "kernel_wait", 2_000, 1, pytest.approx(100 * 2 / 22)),
        (0, 7, "other", 0, 0, 0.0),
        (0, 8, "other", 42_000, 1, 100.0),
    ]


def test_a_device_is_idle_when_none_of_its_streams_works() -> None:
    gaps = idle_gaps(GAPS, of="device", scope="all")
    assert [column.tolist() for column in gaps[1:6]] == [
        [0, 0],
        [-1, -1],
        [15_000, 48_000],
        [17_000, 90_000],
        [CAUSES.index("kernel_wait"), CAUSES.index("other")],
    ]
    two = trace(activity("a", 0, 5, 1), activity("b", 2, 9, 2, device=1), activity("c", 8, 1, 3))
    assert [column.tolist() for column in idle_gaps(two, of="device")[1:5]] == [[0], [-1], [5_000], [8_000]]
    assert [len(column) for column in idle_gaps(trace(), of="device")[1:]] == [0] * 6


@pytest.mark.peers
def test_ranks_of_a_small_job_line_up(peer: Callable[[str], Path]) -> None:
    traces = [load_trace(str(peer(f"pack/kineto/rank-{number}.json.gz"))) for number in (0, 1)]
    aligned = together(*traces, origins=(int(traces[0].start_ns.min()), int(traces[1].start_ns.min())))
    # The traces share one clock; collectives whose times were drawn at random do not end together.
    assert lined_up(aligned, "clock") == Alignment((0, 0), ())
    assert lined_up(aligned, "step", step=6) == Alignment((0, 0), ())
    assert lined_up(aligned, "collectives") == Alignment(
        (0, 13_000), ("trace 1: 3 collectives in common, whose ends differ by 11.0 µs (median).",)
    )


@pytest.mark.peers
def test_ranks_of_a_real_job_line_up(peer: Callable[[str], Path]) -> None:
    traces = [load_trace(str(peer(f"hta/sampled_rank-{number}.json.gz"))) for number in (0, 1)]
    aligned = together(*traces, origins=(int(traces[0].start_ns.min()), int(traces[1].start_ns.min())))
    # Both clocks are set: the second trace begins 553 us later, and step 552 lies where the traces put it.
    assert lined_up(aligned, "clock") == Alignment((0, 553_000), ())
    assert lined_up(aligned, "step", step=552) == Alignment((0, -232_000), ())
    by_collectives = lined_up(aligned, "collectives")
    # The files are samples in which half of the collectives have lost their partner; the median is still close.
    assert by_collectives.offsets[1] == pytest.approx(553_000, abs=200_000)
    assert by_collectives.notes == ("trace 1: 10 collectives in common, whose ends differ by 21,338.5 µs (median).",)


@pytest.mark.peers
@pytest.mark.parametrize(
    ("first", "second", "largest"),
    [
        ("hta/diff_control", "hta/diff_test", ("cudaMemcpyAsync", 292_492_000, "shorter")),
        ("pack/kineto/rank-0", "pack/kineto/rank-1", ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", -83_000, "same")),
    ],
)
def test_differences_of_two_real_traces_add_up(
    peer: Callable[[str], Path], first: str, second: str, largest: tuple[str, int, str]
) -> None:
    traces = {name: load_trace(str(peer(f"{name}.json.gz"))) for name in (first, second)}
    control, test = (totals_by_name(Facts(each)) for each in traces.values())
    found = differences(control, test, 10**9)
    shown = {}
    for name, each in traces.items():
        counted = ~is_profilers_own(each, each.name_id, each.category_id)
        counted &= np.array([lane.kind != "other" for lane in each.lanes])[each.lane]
        shown[name] = each.duration_ns[counted].sum()
    assert found.select("total_first_ns", "total_second_ns").sum().row(0) == (shown[first], shown[second])
    assert found.select("name", "change_ns", "verdict").rows()[0] == largest
