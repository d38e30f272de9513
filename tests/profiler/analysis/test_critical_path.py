"""What critical paths pass through, and how much of a step or a trace they explain."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stepscope.profiler.analysis import path_graph
from stepscope.profiler.analysis.critical_path import BOUNDS, MEANINGS, critical_path, critical_path_summary, path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.handovers import handovers
from stepscope.profiler.analysis.idle import idle_gaps
from stepscope.profiler.analysis.metrics import metrics
from stepscope.profiler.trace import Trace
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace

MAIN, BACKWARD = 1, 2
Part = tuple[str, str, int, int]


def parts(found: Trace, *, number: int | None = None) -> list[Part]:
    """The path as bound, name, start and end in microseconds, after checking that the parts are contiguous."""
    path = path_of(found, step=number)
    assert path.start[1:].tolist() == path.end[:-1].tolist()
    names = [found.names[name] for name in found.name_id[path.slice].tolist()]
    starts, ends = (path.start // 1_000).tolist(), (path.end // 1_000).tolist()
    return list(zip([BOUNDS[bound] for bound in path.bound.tolist()], names, starts, ends, strict=True))


def shares(found: Trace, *, number: int | None = None) -> dict[str, float]:
    summary = critical_path_summary(found, step=number)
    return dict(zip(summary["bound"].to_list(), summary["percent"].to_list(), strict=True))


def backward_pass(*more: Event, names: Sequence[str] = ("MulBackward", "AddBackward")) -> list[Event]:
    """Forward on the main thread, backward on autograd's while the main thread waits, then the optimizer."""
    first, second = names
    return [
        operator("forward", 0, 20, MAIN),
        operator(first, 25, 30, BACKWARD),
        operator(second, 58, 30, BACKWARD),
        operator("optimizer", 92, 8, MAIN),
        *more,
    ]


def arrow(category: str, number: int, start: float, source: Any, end: float, target: Any) -> list[Event]:
    common = {"cat": category, "name": category, "id": number, "pid": 100}
    return [
        {"ph": "s", "ts": start, "tid": source, **common},
        {"ph": "f", "bp": "e", "ts": end, "tid": target, **common},
    ]


def test_a_step_of_one_device() -> None:
    reduce = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
    found = trace(
        step(1, 0, 100),
        event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 20),
        operator("aten::mm", 20, 12),
        launch(30, 2, 1),
        activity("gemm", 40, 30, 1),
        launch(34, 4, 3, "cudaMemcpyAsync"),
        activity("Memcpy DtoH (Device -> Pinned)", 73, 10, 3, category="gpu_memcpy"),
        launch(39, 2, 4),
        activity(reduce, 85, 10, 4),
        launch(60, 38, 5, "cudaDeviceSynchronize"),
        step(2, 100, 50),
        operator("aten::mm", 110, 40),
    )
    assert parts(found, number=1) == [
        ("host", "enumerate(DataLoader)#_Iter.__next__", 0, 20),
        ("host", "aten::mm", 20, 30),
        ("launch_delay", "gemm", 30, 40),
        ("kernel", "gemm", 40, 70),
        ("kernel_gap", "Memcpy DtoH (Device -> Pinned)", 70, 73),
        ("memory", "Memcpy DtoH (Device -> Pinned)", 73, 83),
        ("kernel_gap", reduce, 83, 85),
        ("communication", reduce, 85, 95),
        ("dependency", "cudaDeviceSynchronize", 95, 98),
        ("idle", "cudaDeviceSynchronize", 98, 100),
    ]
    summary = critical_path_summary(found, step=1)
    assert summary.drop("meaning").rows() == [
        ("host", 30_000, 2, 30.0, True),
        ("kernel", 30_000, 1, 30.0, True),
        ("communication", 10_000, 1, 10.0, True),
        ("launch_delay", 10_000, 1, 10.0, True),
        ("memory", 10_000, 1, 10.0, True),
        ("kernel_gap", 5_000, 2, 5.0, True),
        ("dependency", 3_000, 1, 3.0, False),
        ("idle", 2_000, 1, 2.0, False),
    ]
    assert summary["meaning"].to_list() == [MEANINGS[bound] for bound in summary["bound"].to_list()]
    with pytest.raises(ValueError, match=r"no step 7\. It has: 1, 2"):
        critical_path(found, step=7)


def test_shares_are_of_the_trace() -> None:
    found = trace(operator("a", 0, 30), operator("b", 60, 30), launch(88, 1, 1), activity("k", 90, 10, 1))
    assert shares(found) == {"host": 58.0, "kernel": 10.0, "launch_delay": 2.0, "idle": 30.0}
    names = ("critical_path_explained", "critical_path_host", "critical_path_device")
    assert {name: metric.value for name, metric in metrics(found, names).items()} == {
        "critical_path_explained": 70.0,
        "critical_path_host": 58.0,
        "critical_path_device": 10.0,
    }


@pytest.mark.parametrize(("name", "bound"), [("cudaDeviceSynchronize", "wait"), ("cudaStreamWaitEvent", "host")])
def test_only_calls_that_wait_take_no_time_of_their_own(name: str, bound: str) -> None:
    found = trace(operator("a", 0, 10), launch(10, 7, 1, name), operator("b", 17, 10))
    assert parts(found) == [("host", "a", 0, 10), (bound, name, 10, 17), ("host", "b", 17, 27)]


def test_a_synchronizing_call_ends_when_the_device_has_ended() -> None:
    found = trace(
        operator("a", 0, 5),
        launch(2, 1, 1),
        activity("long", 10, 80, 1),
        launch(6, 90, 2, "cudaDeviceSynchronize"),
        operator("b", 100, 10),
    )
    assert parts(found) == [
        ("host", "a", 0, 2),
        ("launch_delay", "long", 2, 10),
        ("kernel", "long", 10, 90),
        ("dependency", "cudaDeviceSynchronize", 90, 96),
        ("idle", "b", 96, 100),
        ("host", "b", 100, 110),
    ]


def test_a_call_waits_for_nothing_that_ended_before_it() -> None:
    found = trace(
        launch(0, 1, 1),
        activity("k", 1, 29, 1),
        operator("a", 31, 9),
        launch(50, 5, 2, "cudaDeviceSynchronize"),
        operator("b", 60, 10),
    )
    assert parts(found) == [
        ("host", "cudaLaunchKernel", 0, 1),
        ("idle", "a", 1, 31),
        ("host", "a", 31, 40),
        ("idle", "cudaDeviceSynchronize", 40, 50),
        ("wait", "cudaDeviceSynchronize", 50, 55),
        ("idle", "b", 55, 60),
        ("host", "b", 60, 70),
    ]


def test_a_copy_that_keeps_its_call_is_waited_for() -> None:
    copy = "Memcpy DtoH (Device -> Pageable)"
    found = trace(
        launch(0, 5, 1),
        activity("k", 5, 55, 1),
        launch(8, 62, 2, "cudaMemcpyAsync"),
        activity(copy, 61, 5, 2, category="gpu_memcpy"),
        operator("b", 70, 10),
    )
    assert parts(found) == [
        ("launch_delay", "k", 0, 5),
        ("kernel", "k", 5, 60),
        ("kernel_gap", copy, 60, 61),
        ("memory", copy, 61, 66),
        ("dependency", "cudaMemcpyAsync", 66, 70),
        ("host", "b", 70, 80),
    ]


def test_the_backward_thread_is_followed() -> None:
    assert parts(trace(*backward_pass())) == [
        ("host", "forward", 0, 20),
        ("dependency", "MulBackward", 20, 25),
        ("host", "MulBackward", 25, 55),
        ("idle", "AddBackward", 55, 58),
        ("host", "AddBackward", 58, 88),
        ("dependency", "optimizer", 88, 92),
        ("host", "optimizer", 92, 100),
    ]


def test_kernels_of_the_backward_thread_decide_where_they_end_last() -> None:
    found = trace(
        *backward_pass(
            launch(84, 3, 1, tid=BACKWARD),
            activity("grad", 90, 40, 1),
            launch(93, 6, 2, tid=MAIN),
            activity("update", 132, 8, 2),
        )
    )
    assert parts(found)[4:] == [
        ("host", "AddBackward", 58, 84),
        ("launch_delay", "grad", 84, 90),
        ("kernel", "grad", 90, 130),
        ("kernel_gap", "update", 130, 132),
        ("kernel", "update", 132, 140),
    ]


def test_a_thread_that_works_beside_another_is_not_waited_for() -> None:
    found = trace(
        *(operator(f"main {index}", 10 * index, 8, MAIN) for index in range(10)),
        *(operator(f"loader {index}", 10 * index + 5, 4.5, BACKWARD) for index in range(9)),
    )
    assert {name.split()[0] for _, name, _, _ in parts(found)} == {"main"}


def test_threads_that_only_ask_for_events_are_not_waited_for() -> None:
    watchdog = [launch(12, 3, 1, "cudaEventQuery", tid=9), launch(32, 3, 2, "cudaEventQuery", tid=9)]
    found = trace(operator("a", 0, 10), operator("b", 20, 10), operator("c", 40, 10), *watchdog)
    assert {name for _, name, _, _ in parts(found)} == {"a", "b", "c"}


def test_other_processes_are_not_waited_for() -> None:
    events = backward_pass()
    for each in events:
        if each["tid"] == BACKWARD:
            each["pid"] = 200
    assert shares(trace(*events)) == {"host": 60.0, "idle": 40.0}


def test_arrows_to_backward_operators_say_which_thread_waits() -> None:
    busy = [operator("hook", 30, 20, MAIN)]
    assert shares(trace(*backward_pass(*busy)))["host"] < 70
    arrows = arrow("fwdbwd", 1, 5, MAIN, 26, BACKWARD)
    assert [name for _, name, _, _ in parts(trace(*backward_pass(*busy, *arrows)))] == [
        "forward",
        "MulBackward",
        "MulBackward",
        "AddBackward",
        "AddBackward",
        "optimizer",
        "optimizer",
    ]


def test_a_stream_that_is_busy_with_the_step_before_has_a_backlog() -> None:
    found = trace(
        step(1, 0, 20),
        launch(2, 2, 1),
        activity("before", 5, 65, 1),
        step(2, 20, 20),
        operator("op", 20, 10),
        launch(24, 2, 2),
        activity("first", 72, 8, 2),
    )
    assert parts(found, number=2) == [
        ("host", "op", 20, 24),
        ("backlog", "before", 24, 70),
        ("kernel_gap", "first", 70, 72),
        ("kernel", "first", 72, 80),
    ]
    # The first step lasts until everything that it launched has ended.
    assert parts(found, number=1)[-1] == ("kernel", "before", 5, 70)


def test_a_stream_that_was_free_again_has_none() -> None:
    found = trace(
        step(1, 0, 20),
        launch(2, 2, 1),
        activity("before", 5, 17, 1),
        step(2, 20, 20),
        launch(24, 2, 2),
        activity("first", 32, 8, 2),
    )
    assert parts(found, number=2)[1:] == [("launch_delay", "first", 24, 32), ("kernel", "first", 32, 40)]


def test_activities_that_run_at_once_on_a_stream_follow_what_ended_last() -> None:
    found = trace(
        launch(0, 1, 1),
        activity("a", 2, 8, 1),
        activity("long branch", 10, 30, 1),
        activity("short branch", 11, 9, 1),
        activity("next", 21, 39, 1),
    )
    assert [name for _, name, _, _ in parts(found)] == ["a", "a", "short branch", "short branch", "next", "next"]


def test_a_kernel_that_begins_before_the_one_before_it_has_ended_leaves_no_gap() -> None:
    found = trace(
        launch(0, 1, 1),
        activity("first", 4, 6, 1),
        launch(1, 1, 2),
        activity("long", 12, 30, 2),
        launch(20, 1, 3),
        activity("prepares early", 40, 8, 3),
        launch(22, 1, 4),
        activity("so does this", 47, 13, 4),
    )
    assert parts(found) == [
        ("launch_delay", "first", 0, 4),
        ("kernel", "first", 4, 10),
        ("kernel_gap", "long", 10, 12),
        ("kernel", "long", 12, 40),
        ("kernel", "prepares early", 40, 47),
        ("kernel", "so does this", 47, 60),
    ]


def test_a_kernel_that_begins_before_one_of_the_last_step_has_ended_was_kept_by_it() -> None:
    found = trace(
        step(1, 0, 10),
        launch(1, 1, 1),
        activity("of the last step", 4, 40, 1),
        step(2, 10, 10),
        launch(12, 1, 2),
        activity("begins early", 42, 8, 2),
    )
    assert parts(found, number=2)[-2:] == [
        ("backlog", "of the last step", 12, 42),
        ("kernel", "begins early", 42, 50),
    ]


def collective(call: str) -> Trace:
    """A kernel that waits for a collective on another stream, because of a call before its launch."""
    return trace(
        operator("op", 0, 4),
        launch(4, 2, 1),
        activity("ncclDevKernel_AllReduce", 10, 60, 1, stream=20),
        launch(7, 1, 2, call),
        launch(9, 2, 3),
        activity("uses it", 72, 8, 3),
    )


def test_a_stream_that_was_told_to_wait_waits_for_what_ended_last() -> None:
    assert parts(collective("cudaStreamWaitEvent")) == [
        ("host", "op", 0, 4),
        ("launch_delay", "ncclDevKernel_AllReduce", 4, 10),
        ("communication", "ncclDevKernel_AllReduce", 10, 70),
        ("dependency", "uses it", 70, 72),
        ("kernel", "uses it", 72, 80),
    ]
    assert ("launch_delay", "uses it", 9, 72) in parts(collective("cudaEventQuery"))


@pytest.mark.parametrize("stream_of_another_device", [7, 20])
def test_recorded_waits_of_streams_are_followed(stream_of_another_device: int) -> None:
    found = trace(
        operator("op", 0, 4),
        launch(4, 2, 1),
        activity("other stream", 10, 60, 1, stream=20),
        launch(9, 2, 3),
        activity("Stream Wait Event", 8, 1, 2, category="cuda_sync", wait_on_stream=20),
        activity("uses it", 72, 8, 3),
        launch(7, 1, 4),
        activity("on another device", 9, 62, 4, stream=stream_of_another_device, device=1),
    )
    assert parts(found)[2:] == [
        ("kernel", "other stream", 10, 70),
        ("dependency", "uses it", 70, 72),
        ("kernel", "uses it", 72, 80),
    ]


@pytest.mark.parametrize(
    ("call", "record"), [("cudaStreamSynchronize", "Stream Sync"), ("cudaDeviceSynchronize", "Context Sync")]
)
def test_a_call_waits_for_the_device_that_is_recorded(call: str, record: str) -> None:
    found = trace(
        launch(0, 2, 1),
        activity("awaited", 10, 60, 1),
        launch(4, 2, 2),
        activity("on another device", 12, 62, 2, device=1),
        event("cuda_runtime", call, 8, 68, correlation=3),
        activity(record, 8, 64, 3, category="cuda_sync"),
        operator("next", 76, 20),
    )
    assert parts(found) == [
        ("launch_delay", "awaited", 0, 10),
        ("kernel", "awaited", 10, 70),
        ("dependency", call, 70, 76),
        ("host", "next", 76, 96),
    ]


def test_what_only_python_functions_show_is_not_explained() -> None:
    found = trace(
        event("python_function", "train.py(3): step", 0, 60),
        operator("a", 0, 10),
        operator("b", 50, 10),
        operator("c", 90, 10),
    )
    assert parts(found) == [
        ("host", "a", 0, 10),
        ("python", "b", 10, 50),
        ("host", "b", 50, 60),
        ("idle", "c", 60, 90),
        ("host", "c", 90, 100),
    ]


def test_a_path_leads_to_the_end_rather_than_being_longest() -> None:
    found = trace(
        operator("a", 0, 4),
        launch(0, 2, 1),
        activity("ends early", 0, 50, 1),
        operator("b", 12, 8),
        launch(20, 2, 2),
        activity("ends last", 22, 33, 2, stream=8),
    )
    assert parts(found)[-1] == ("kernel", "ends last", 22, 55)


def test_without_what_is_inferred_threads_are_on_their_own() -> None:
    path = path_of(trace(*backward_pass(operator("much", 100, 50, MAIN))), inferred=False)
    bounds = [BOUNDS[bound] for bound in path.bound.tolist()]
    assert list(zip(bounds, path.start.tolist(), path.end.tolist(), strict=True)) == [
        ("host", 0, 20_000),
        ("idle", 20_000, 92_000),
        ("host", 92_000, 100_000),
        ("host", 100_000, 150_000),
    ]


def test_a_path_that_nobody_waits_for_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cancellation = Cancellation()

    def left_meanwhile(*arguments: Any) -> Any:
        cancellation.cancel()
        return handovers(*arguments)

    monkeypatch.setattr(path_graph, "handovers", left_meanwhile)
    monkeypatch.setattr(path_graph, "_add_streams", None)
    with cancellable(cancellation), pytest.raises(Cancelled):
        path_of(trace(*backward_pass()))


def test_slices_that_overlap_in_part_leave_no_idle_time() -> None:
    found = trace(operator("a", 0, 20), operator("b", 10, 30), operator("c", 50, 10))
    assert parts(found) == [
        ("host", "a", 0, 10),
        ("host", "b", 10, 40),
        ("idle", "c", 40, 50),
        ("host", "c", 50, 60),
    ]


def test_nothing_is_summed_up_while_others_have_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy holds the interpreter's lock while it sums booleans: half a second for ten million slices."""
    cumsum, held = np.cumsum, []

    def counted(values: Any, *arguments: Any, **named: Any) -> Any:
        result = cumsum(values, *arguments, **named)
        if isinstance(values, np.ndarray) and values.dtype != result.dtype:
            held.append(values.dtype)
        return result

    monkeypatch.setattr(np, "cumsum", counted)
    launched = [launch(30, 2, 1), activity("k", 50, 9, 1), launch(34, 2, 2), activity("k", 70, 9, 2)]
    facts = Facts(trace(step(1, 0, 100), *backward_pass(), *launched))
    assert len(path_of(facts).bound)
    assert len(idle_gaps(facts).slice)
    assert held == []
