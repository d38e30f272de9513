"""Real recordings of PyTorch on the CPU, and the arithmetic behind them."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import torch

from stepscope import profiler
from stepscope.profiler.collectors.base import (
    HOST_DEVICE,
    Arrow,
    Collected,
    CounterSeries,
    Lane,
    Record,
    RecordingClock,
    stream_lane,
)
from stepscope.profiler.collectors.devices import OVERHEAD_LANE, host_lane, sync_lane, thread_names
from stepscope.profiler.collectors.kineto import (
    Event,
    KinetoTrace,
    clock_offset,
    first_events,
    marks_of,
    parse_kineto,
    records_of_kineto,
    threads_of,
)
from stepscope.profiler.collectors.registry import make_collector
from stepscope.profiler.collectors.torch import TorchCollector
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace
from stepscope.summary.errors import UserError

TOLERANCE_NS = 50_000
"""How far PyTorch's clock may be from ours."""


class SkewedClock:
    """Wall time that is an hour ahead of the machine's, as after an adjustment of its clock."""

    HOUR_NS = 3_600_000_000_000

    def perf_counter_ns(self) -> int:
        return time.perf_counter_ns()

    def time_ns(self) -> int:
        return time.time_ns() + self.HOUR_NS


def train(steps: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        with profiler.annotate("forward"):
            loss = model(torch.ones(4, 8)).sum()
        with profiler.annotate("backward"):
            loss.backward()
        with profiler.annotate("update"):
            optimizer.step()
            optimizer.zero_grad()
        profiler.step()


def recorded(collector: TorchCollector, run: Callable[[], object], clock: Any = time) -> Collected:
    collector.start(RecordingClock(clock))
    try:
        run()
    finally:
        collected = collector.stop()
    return collected


def slices(trace: Trace, name: str) -> list[tuple[int, int, str]]:
    """Start, end and lane of the slices with a name, in time order."""
    chosen = [index for index, number in enumerate(trace.name_id.tolist()) if trace.names[number] == name]
    return sorted(
        (int(trace.start_ns[i]), int(trace.start_ns[i] + trace.duration_ns[i]), trace.lanes[trace.lane[i]].name)
        for i in chosen
    )


def test_a_training_loop_end_to_end(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=["torch"]) as profile:
        train(3)
    recording = profile.recording
    assert recording is not None
    assert recording.notes == ()
    assert recording.steps == (0, 1, 2)
    trace = load_trace(str(recording.trace_path))
    # Two clocks: slices that end together by one of them may overlap by a microsecond.
    assert trace.losses.counts.keys() <= {"overlaps its neighbor"}

    forward, linear = slices(trace, "forward"), slices(trace, "aten::linear")
    assert len(forward) == 3
    assert len(linear) == 6
    for index, (start, end, lane) in enumerate(linear):
        scope_start, scope_end, scope_lane = forward[index // 2]
        assert lane == scope_lane == "MainThread"
        assert scope_start - TOLERANCE_NS <= start <= end <= scope_end + TOLERANCE_NS
    backward = slices(trace, "autograd::engine::evaluate_function: AddmmBackward0")
    for index, (start, end, _) in enumerate(backward):
        scope_start, scope_end, _ = slices(trace, "backward")[index // 2]
        assert scope_start - TOLERANCE_NS <= start <= end <= scope_end + TOLERANCE_NS

    first = next(index for index, number in enumerate(trace.name_id.tolist()) if trace.names[number] == "aten::linear")
    assert trace.arguments[first]["Input Dims"] == [[4, 8], [8, 8], [8]]
    assert "ProfilerStep#0" in trace.names
    assert not any("clock" in name for name in trace.names)
    assert {"trace_id", "deviceProperties", "record_shapes", "profile_memory"} <= trace.metadata.keys()
    assert [(counter.name, counter.series) for counter in trace.counters] == [("PyTorch memory (bytes)", "allocated")]

    nodes = {node.node_name for device in recording.run_metadata[1].step_stats.dev_stats for node in device.node_stats}
    assert {"ProfilerStep#1", "forward", "aten::linear"} <= nodes
    assert "[memory]" not in nodes


def test_recording_loads_no_compiled_loops() -> None:
    code = (
        "import sys, time, torch; from stepscope.profiler.collectors.torch import TorchCollector;"
        "from stepscope.profiler.collectors.base import RecordingClock; c = TorchCollector();"
        "c.start(RecordingClock(time));torch.ones(2) + 1; assert c.stop().records; print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_times_are_those_of_the_recording_clock_whatever_pytorchs_clock_says() -> None:
    clock = RecordingClock(SkewedClock())
    collector = TorchCollector()
    collector.start(clock)
    before = clock.now() + clock.wall_offset_ns
    torch.ones(2)
    after = clock.now() + clock.wall_offset_ns
    (record,) = [record for record in collector.stop().records if record.name == "aten::ones"]
    assert before - TOLERANCE_NS <= record.start_ns <= record.start_ns + record.duration_ns <= after + TOLERANCE_NS
    assert record.lane == Lane(HOST_DEVICE, threading.get_native_id(), threading.current_thread().name)
    assert record.category == "cpu_op"


def test_one_collector_serves_several_recordings() -> None:
    collector = TorchCollector()
    first = recorded(collector, lambda: torch.ones(2))
    second = recorded(collector, lambda: torch.zeros(2))
    names = [{record.name for record in each.records} for each in (first, second)]
    assert "aten::ones" in names[0]
    assert "aten::ones" not in names[1]
    assert "aten::zeros" in names[1]


def test_the_registry_makes_it() -> None:
    assert isinstance(make_collector("torch"), TorchCollector)


def test_allocations_are_records_and_a_counter() -> None:
    collected = recorded(TorchCollector(), lambda: torch.ones(256))
    allocated = [record.args["Bytes"] for record in collected.records if record.name == "[memory]"]
    assert allocated == [1024, -1024]
    (counter,) = collected.counters
    assert (counter.device, counter.name, counter.series) == (HOST_DEVICE, "PyTorch memory (bytes)", "allocated")
    assert [after - before for before, after in zip((0, *counter.values), counter.values, strict=False)] == allocated


def test_without_options_neither_shapes_nor_allocations_are_kept() -> None:
    collected = recorded(TorchCollector(record_shapes=False, profile_memory=False), lambda: torch.ones(256))
    assert collected.counters == []
    assert not any(record.name == "[memory]" or "Input Dims" in record.args for record in collected.records)


def test_stacks_are_functions_around_the_operators() -> None:
    collected = recorded(TorchCollector(with_stack=True), lambda: torch.nn.Linear(2, 2)(torch.ones(1, 2)))
    (operator,) = [record for record in collected.records if record.name == "aten::linear"]
    functions = [record for record in collected.records if record.category == "python_function"]
    around = [
        record.name
        for record in functions
        if record.start_ns <= operator.start_ns
        and operator.start_ns + operator.duration_ns <= record.start_ns + record.duration_ns
    ]
    assert "nn.Module: Linear_0" in around
    assert "Call stack" in operator.args
    assert not any("Call stack" in record.args for record in functions)


def test_all_threads_are_recorded_on_their_lanes() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        torch.ones(2)
        done.set()
        go.clear()
        go.wait()

    worker = threading.Thread(target=work, name="worker", daemon=True)
    worker.start()

    def run() -> None:
        go.set()
        done.wait()

    collected = recorded(TorchCollector(all_threads=True), run)
    go.set()
    worker.join()
    lanes = {record.lane for record in collected.records if record.name == "aten::ones"}
    assert lanes == {Lane(HOST_DEVICE, worker.native_id or 0, "worker")}
    assert collected.notes == (
        "PyTorch's allocations were not recorded: PyTorch reports them only when it records a single thread, as "
        "TorchCollector(all_threads=False) does.",
    )


def test_started_in_another_thread_it_records_all_and_may_stop_anywhere() -> None:
    collector = TorchCollector(profile_memory=False)
    starter = threading.Thread(target=collector.start, args=(RecordingClock(time),))
    starter.start()
    starter.join()
    torch.ones(2)
    collected = collector.stop()
    assert collected.notes == ()
    assert "aten::ones" in {record.name for record in collected.records}


def run_alone(code: str, *arguments: str) -> list[str]:
    """The output of a program that needs its own process, because it breaks PyTorch's profiler."""
    head = (
        "import threading, time, torch\n"
        "from stepscope.profiler.collectors.base import RecordingClock\n"
        "from stepscope.profiler.collectors.torch import TorchCollector\n"
        "def other():\n"
        "    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])\n"
        "clock = RecordingClock(time)\n"
    )
    done = subprocess.run([sys.executable, "-c", head + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_another_profiler_that_runs_is_an_error_and_goes_on() -> None:
    code = (
        "mine = other(); mine.start()\n"
        "try: TorchCollector().start(clock)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "torch.ones(2); mine.stop(); print('aten::ones' in {event.name for event in mine.events()})\n"
    )
    assert run_alone(code) == [
        "UserError PyTorch cannot be recorded: a torch profiler is already running, and PyTorch can have only one at a "
        "time. Stop it first, or record without the collector “torch”.",
        "True",
    ]


# PyTorch 2.9 refuses to stop what another profiler has stopped.
REFUSES = """
def refuse():
    raise RuntimeError("Can't disable Kineto profiler when it's not running")
torch.autograd.profiler._disable_profiler = refuse
"""


@pytest.mark.parametrize("pytorch", ["", REFUSES], ids=["installed", "2.9"])
def test_another_profiler_that_ran_meanwhile_costs_the_recording_and_not_the_process(pytorch: str) -> None:
    code = (
        "c = TorchCollector(); c.start(clock)\n"
        "mine = other(); mine.start(); torch.ones(2); mine.stop()\n"
        f"{pytorch}\n"
        "print(c.stop())\n"
    )
    (line,) = run_alone(code)
    assert "records=()" in line
    assert "PyTorch's activity is missing: another torch profiler was started during the recording" in line


def test_another_profiler_that_took_over_is_noted() -> None:
    code = "c = TorchCollector(); c.start(clock)\nmine = other(); mine.start(); torch.ones(2)\nprint(c.stop().notes)\n"
    (line,) = run_alone(code)
    assert "PyTorch's activity is missing in part: another torch profiler ran during the recording" in line


def test_a_recording_of_one_thread_that_stops_in_another_is_lost_with_a_reason() -> None:
    code = (
        "c = TorchCollector(all_threads=False); c.start(clock)\n"
        "t = threading.Thread(target=lambda: print(c.stop().notes)); t.start(); t.join()\n"
    )
    (line,) = run_alone(code)
    assert "the recording was started in one thread and stopped in another" in line


CAPTURES = """
import sys
from stepscope import profiler
from stepscope.profiler import capture_recording, server
from stepscope.profiler.capture_request import CaptureRequest

def is_profiled():
    return torch.autograd._profiler_enabled()

def capture(is_wanted, **request):
    def answer():
        try: print("recorded", capture_recording.record(CaptureRequest(**request), sys.argv[1], is_wanted).notes)
        except capture_recording.CaptureCancelledError: print("cancelled")
    capturing = threading.Thread(target=answer)
    capturing.start()
    return capturing

def cancelled_capture():
    begun = threading.Event()
    capturing = capture(lambda: not begun.is_set(), duration_ms=600_000, collectors=["torch"])
    while not is_profiled():
        profiler.step()
    begun.set()
    capturing.join()
"""


@pytest.mark.parametrize(
    ("then", "printed"),
    [
        ("profiler.step()", ["cancelled", "True", "False"]),
        ("server.start(0).stop()", ["cancelled", "True", "False"]),
        (
            "next = capture(lambda: True, steps=1, collectors=['torch'])\nwhile next.is_alive(): profiler.step()",
            ["cancelled", "True", "recorded ()", "False"],
        ),
        # The program ends.
        ("sys.exit()", ["cancelled", "True"]),
    ],
)
def test_what_a_cancelled_capture_leaves_running_ends_in_the_thread_that_trains(
    then: str, printed: list[str], tmp_path: Path
) -> None:
    code = f"cancelled_capture()\nprint(is_profiled())\n{then}\nprint(is_profiled())\n"
    assert run_alone(CAPTURES + code, str(tmp_path)) == printed


def test_a_recording_that_nobody_stops_does_not_break_the_programs_end() -> None:
    assert run_alone("c = TorchCollector(); c.start(clock); torch.ones(2); print('end')") == ["end"]


def test_without_pytorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"pip install 'stepscope\[torch\]'"):
        TorchCollector().start(RecordingClock(time))


@pytest.mark.parametrize("activities", [["gpu"], [], ["cpu", "magic"]])
def test_unknown_activities_are_named(activities: list[str]) -> None:
    unknown = ", ".join(name for name in activities if name != "cpu") or r"\(none\)"
    with pytest.raises(UserError, match=f"cannot record the activities {unknown} here. Expected one or more of: cpu"):
        TorchCollector(activities=activities).start(RecordingClock(time))


def test_activities_may_be_pytorchs_own() -> None:
    collector = TorchCollector(activities=[torch.profiler.ProfilerActivity.CPU])
    assert recorded(collector, lambda: torch.ones(2)).records


def test_events_beyond_the_limit_are_counted() -> None:
    collected = recorded(TorchCollector(most_events=10, profile_memory=False), lambda: torch.ones(2))
    (note,) = collected.notes
    assert note.startswith("PyTorch events beyond the first 10 were dropped: ")
    assert len(collected.records) <= 10


@pytest.mark.parametrize(
    ("marks", "readings", "offset"),
    [
        ([], [], 0),
        ([(100, 110)], [(90, 120)], 0),
        ([(100, 110)], [(130, 145)], 32),
        ([(100, 110)], [(60, 75)], -38),
        ([(100, 110), (500, 510)], [(0, 300), (540, 560)], 45),
        # The clocks drifted apart: first by 10 to 20, then by 40 to 50.
        ([(100, 110), (500, 510)], [(110, 130), (540, 560)], 30),
    ],
)
def test_the_clocks_are_compared_by_what_both_saw(
    marks: list[tuple[int, int]], readings: list[tuple[int, int]], offset: int
) -> None:
    assert clock_offset(marks, readings) == offset


def event(category: str, name: str, place: tuple[int | str, int | str], ts: float, dur: float, **args: Any) -> Any:
    pid, tid = place
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def arrow(phase: str, category: str, number: int, place: tuple[int, int], ts: float) -> Any:
    return {"ph": phase, "cat": category, "name": category, "id": number, "pid": place[0], "tid": place[1], "ts": ts}


def allocation(ts: float, **args: Any) -> Any:
    place = {"pid": 1, "tid": 1, "ts": ts, "s": "t"}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", **place, "args": args}


HOST = (1, 1)
"""In a container the host may be process 1, which is the number of a GPU too."""
GPU_MEMORY = {"Bytes": 8, "Total Allocated": 8, "Total Reserved": 32, "Device Type": 1, "Device Id": 0}
CPU_MEMORY = {"Bytes": 4, "Total Allocated": 4, "Total Reserved": 0, "Device Type": 0, "Device Id": -1}
KERNEL_ARGS: dict[str, Any] = {"device": 1, "stream": 20, "grid": [2, 1, 1]}
DEVICE_TRACE: dict[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}],
    "distributedInfo": {"backend": "nccl", "rank": 1},
    "displayTimeUnit": "ms",
    "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    "traceName": "/tmp/x.json",
    "traceEvents": [
        {"ph": "M", "name": "process_name", "ts": 1, "pid": 1, "tid": 0, "args": {"name": "python"}},
        event("Trace", "PyTorch Profiler (0)", ("Spans", "PyTorch Profiler"), 0, 9),
        event("cpu_op", "aten::mm", HOST, 10.001, 5.25, **{"Ev Idx": 0}),
        arrow("s", "fwdbwd", 3, HOST, 10.001),
        arrow("f", "fwdbwd", 3, (1, 9), 40),
        arrow("s", "fwdbwd", 4, HOST, 11),
        event("cuda_runtime", "cudaLaunchKernel", HOST, 11, 1, cbid=211, correlation=7),
        arrow("s", "ac2g", 7, HOST, 11),
        event("kernel", "sgemm", (1, 20), 20, 2, correlation=7, **KERNEL_ARGS),
        arrow("f", "ac2g", 7, (1, 20), 20),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", (0, 7), 18, 2, stream=7, correlation=6, bytes=64),
        event("gpu_user_annotation", "forward", (0, 7), 18, 2),
        event("gpu_user_annotation", "ProfilerStep#1", (0, 7), 18, 2),
        event("cuda_sync", "Stream Sync", (0, 100_007), 19, 2, stream=7),
        event("cuda_sync", "Context Sync", (0, -1), 19, 2, stream=4294967295),
        event("overhead", "Buffer Flush", (-1, 0), 30, -1),
        event("user_annotation", "ProfilerStep#1", HOST, 9, 2),
        event("user_annotation", "the mark", HOST, 8.5, 0.5),
        allocation(33, **GPU_MEMORY),
        allocation(32, **CPU_MEMORY),
        {"ph": "C", "name": "power (W)", "pid": 0, "tid": 0, "ts": 5, "args": {"gpu": 70}},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 50},
    ],
}

BASE = 1_700_000_000_000_000_000


def test_every_sort_of_event_has_its_place() -> None:
    trace = parse_kineto(json.dumps(DEVICE_TRACE).encode())
    found = records_of_kineto(
        trace, host_pid=1, offset_ns=1_000_000, names={1: "MainThread"}, leave_out=frozenset({"the mark"})
    )
    at = BASE + 1_000_000
    main, copies, gpu = Lane(HOST_DEVICE, 1, "MainThread"), stream_lane(0, 7), "/device:GPU:0"
    assert found.records == [
        Record("aten::mm", "cpu_op", main, at + 10_001, 5_250, 0, {"Ev Idx": 0}),
        Record("cudaLaunchKernel", "cuda_runtime", main, at + 11_000, 1_000, 7, {"cbid": 211}),
        Record("Buffer Flush", "overhead", OVERHEAD_LANE, at + 30_000, 0, 0, {}),
        Record("[memory]", "cpu_instant_event", main, at + 33_000, 0, 0, GPU_MEMORY),
        Record("[memory]", "cpu_instant_event", main, at + 32_000, 0, 0, CPU_MEMORY),
        Record(
            "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", copies, at + 18_000, 2_000, 6, {"stream": 7, "bytes": 64}
        ),
        Record("forward", "gpu_user_annotation", copies, at + 18_000, 2_000, 0, {}),
        Record("Stream Sync", "cuda_sync", sync_lane(0, 7), at + 19_000, 2_000, 0, {"stream": 7}),
        Record("Context Sync", "cuda_sync", sync_lane(0, -1), at + 19_000, 2_000, 0, {"stream": 4294967295}),
        Record("sgemm", "kernel", stream_lane(1, 20), at + 20_000, 2_000, 7, KERNEL_ARGS),
    ]
    assert found.counters == [
        CounterSeries(gpu, "PyTorch memory (bytes)", "allocated", (at + 33_000,), (8,)),
        CounterSeries(gpu, "PyTorch memory (bytes)", "reserved", (at + 33_000,), (32,)),
        CounterSeries(HOST_DEVICE, "PyTorch memory (bytes)", "allocated", (at + 32_000,), (4,)),
        CounterSeries(gpu, "power (W)", "gpu", (at + 5_000,), (70,)),
    ]
    assert found.arrows == [Arrow("fwdbwd", main, at + 10_001, Lane(HOST_DEVICE, 9, "thread 9"), at + 40_000)]
    assert trace.metadata == {
        key: DEVICE_TRACE[key] for key in ("schemaVersion", "deviceProperties", "distributedInfo")
    }
    assert marks_of(trace, "the mark") == [(BASE + 8_500, BASE + 9_000)]
    assert threads_of(trace, 1) == {0, 1, 9, 20}


def test_waiting_for_one_stream_and_for_a_device_have_lanes_of_their_own() -> None:
    assert sync_lane(2, 7) == Lane("/device:GPU:2", 0x4000_0007, "waiting for stream 7")
    assert sync_lane(2, -1) == sync_lane(2, 4294967295) == Lane("/device:GPU:2", 0xFFFF_FFFF, "waiting for the device")


def test_times_keep_their_nanoseconds() -> None:
    text = b'{"baseTimeNanoseconds": 5, "traceEvents": [{"ph": "X", "ts": 4436415227218.337, "dur": 0.001}]}'
    (event,) = parse_kineto(text).events
    assert event == Event(ph="X", ts=Decimal("4436415227218.337"), dur=Decimal("0.001"))
    assert parse_kineto(text).time_ns(event) == 4_436_415_227_218_342


def test_what_is_no_json_is_read_all_the_same() -> None:
    text = b'{"traceEvents": [{"ph": "X", "name": "f \xa0\x05", "args": {"rate": inf, "x": [-inf, nan], "s": "nan"}}]}'
    (event,) = parse_kineto(text).events
    assert (event.name, event.args) == ("f � ", {"rate": None, "x": [None, None], "s": "nan"})


def test_only_the_first_events_are_kept() -> None:
    trace = KinetoTrace([Event("X", str(number)) for number in range(5)], 0, {})
    shorter, dropped = first_events(trace, 3)
    assert [event.name for event in shorter.events] == ["0", "1", "2"]
    assert dropped == 2
    assert first_events(trace, 5) == (trace, 0)


def test_threads_are_called_by_their_names_while_they_run() -> None:
    release = threading.Event()
    worker = threading.Thread(target=release.wait, name="named \udcff", daemon=True)
    worker.start()
    names = thread_names(known={5: "ended"})
    release.set()
    worker.join()
    assert names[worker.native_id or 0] == "named \\udcff"
    assert names[5] == "ended"
    assert host_lane(5, names) == Lane(HOST_DEVICE, 5, "ended")
    assert host_lane(-6, {}) == Lane(HOST_DEVICE, 0xFFFF_FFFA, "thread 4294967290")
