"""What lanes are called and how they are grouped, for the names that profilers write."""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from stepscope.dashboard.panels.timeline.lanes import arrange
from stepscope.dashboard.panels.timeline.values import step_places
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace, Progress
from stepscope.dashboard.traces.sources import TraceSource, open_trace
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace, read_trace, trace_of_step_stats
from stepscope.summary.contents import Companion
from stepscope.summary.proto.step_stats_pb2 import StepStats


def trace_of(events: list[dict[str, Any]], **more: Any) -> Trace:
    return read_trace(json.dumps({**more, "traceEvents": events}).encode(), name="a.trace.json")


def thread(pid: int, tid: int | str, process: str, name: str = "", label: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}]
    if label:
        found.append({"ph": "M", "pid": pid, "name": "process_labels", "args": {"labels": label}})
    if name:
        found.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}})
    return found


def ran(pid: int, tid: int | str, name: str, category: str, duration: int = 10) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "ts": 0, "dur": duration, "name": name, "cat": category}


def shown(trace: Trace) -> list[tuple[str, str, list[str]]]:
    """Each group as its title, its short name and its contents."""
    found = arrange(trace)
    return [
        (
            group.title,
            group.short,
            [found.labels[lane] for lane in group.lanes] + [found.counters[counter] for counter in group.counters],
        )
        for group in found.groups
    ]


def test_kinetos_threads_and_streams() -> None:
    events = [
        *thread(55, 60, "python", "thread 60 (pt_autograd_0)", "CPU"),
        *thread(55, 55, "python", "thread 55 (python)", "CPU"),
        *thread(1, 7, "python", "stream 7", "GPU 1"),
        *thread(1, 9, "python", "stream 9", "GPU 1"),
        *thread(1, 11, "python", "stream 11", "GPU 1"),
        ran(55, 55, "aten::mm", "cpu_op"),
        ran(55, 60, "aten::mm", "cpu_op"),
        ran(1, 7, "sgemm", "kernel", 80),
        {**ran(1, 7, "Memcpy DtoD", "gpu_memcpy", 5), "ts": 90},
        ran(1, 9, "ncclKernel_AllReduce", "kernel"),
        ran(1, 11, "Memcpy HtoD", "gpu_memcpy", 50),
        {**ran(1, 11, "add", "kernel", 50), "ts": 60},
        {"ph": "C", "pid": 55, "ts": 0, "name": "load", "args": {"percent": 3}},
        ran(77, "PyTorch Profiler", "PyTorch Profiler (0)", "Trace"),
        *thread(77, "PyTorch Profiler", "Spans"),
    ]
    assert shown(trace_of(events, deviceProperties=[{"id": 1, "name": "NVIDIA H200"}])) == [
        ("Host · python", "Host", ["main thread · 55", "pt_autograd_0 · 60"]),
        (
            "GPU 1 · NVIDIA H200",
            "GPU 1",
            ["stream 7 · compute", "stream 9 · collectives", "stream 11 · copies + compute"],
        ),
        ("Counters", "Counters", ["load · percent"]),
        ("Profiler", "Profiler", ["PyTorch Profiler"]),
    ]


def test_two_hosts_keep_their_names_and_threads_called_alike_get_numbers() -> None:
    events = [
        *thread(1, 10, "trainer", "loader"),
        *thread(1, 11, "trainer", "loader"),
        *thread(2, 20, "evaluator"),
        *(ran(pid, tid, "step", "op") for pid, tid in ((1, 10), (1, 11), (2, 20))),
    ]
    assert shown(trace_of(events)) == [
        ("Host · trainer", "Host · trainer", ["loader 10", "loader 11"]),
        ("Host · evaluator", "Host · evaluator", ["thread 20"]),
    ]


def test_step_stats_of_two_tasks_with_streams_of_all_three_generations() -> None:
    stats = StepStats()
    for number, device in enumerate(
        (
            "/job:worker/replica:0/task:0/device:CPU:0",
            "/job:worker/replica:0/task:1/device:CPU:0",
            "/job:worker/replica:0/task:1/device:GPU:0",
            "/job:worker/replica:0/task:1/device:GPU:0/stream:14",
            "/job:worker/replica:0/task:1/device:GPU:0/memcpy",
        )
    ):
        stats.dev_stats.add(device=device).node_stats.add(
            node_name="a", timeline_label="a = MatMul(b)", all_start_micros=5 + number, all_end_rel_micros=3
        )
    found = shown(trace_of_step_stats(stats))
    assert [(title, lanes) for title, _, lanes in found] == [
        ("worker 0 · Host · CPU 0", ["operators"]),
        ("worker 1 · Host · CPU 0", ["operators"]),
        ("worker 1 · GPU 0", ["operators", "stream 14 · compute", "copies"]),
    ]


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("hta/a100_rank0_108936_events", ["Host · pyper:trainer:0:0", "GPU 0 · NVIDIA A100-SXM4-80GB", "Profiler"]),
        ("hta/amd_mi250", ["Host · python3", "GPU 2 · AMD Radeon Graphics", "Profiler"]),
        (
            "kineto/resnet50_num_workers_0.pt.trace",
            ["Host · python", "GPU 0 · Tesla V100-DGXS-32GB", "Counters", "Profiler"],
        ),
        ("pack/kineto/rank-0", ["Host · python", "GPU 0 · NVIDIA A100-SXM4-40GB"]),
        ("pack/torch_profiler/cpu.pt.trace", ["Host · python", "Counters", "Profiler"]),
    ],
)
def test_traces_of_other_tools(peer: Callable[[str], Path], name: str, groups: list[str]) -> None:
    trace = load_trace(str(peer(f"{name}.json.gz")))
    found = arrange(trace)
    assert [group.title for group in found.groups] == groups
    every = [lane for group in found.groups for lane in group.lanes]
    assert sorted(every) == [index for index, lane in enumerate(trace.lanes) if lane.depths]


def test_a_kernel_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    events = [
        ran(5, 5, "ProfilerStep#1", "user_annotation", 100),
        {**ran(5, 5, "ProfilerStep#2", "user_annotation", 100), "ts": 100},
        {**ran(5, 5, "cudaLaunchKernel", "cuda_runtime"), "ts": 90, "args": {"correlation": 1}},
        {**ran(0, 7, "late", "kernel"), "ts": 150, "args": {"correlation": 1, "stream": 7, "device": 0}},
        {**ran(0, 7, "never launched", "kernel"), "ts": 170, "args": {"stream": 7, "device": 0}},
        {**ran(0, 7, "after all", "kernel"), "ts": 300, "args": {"stream": 7, "device": 0}},
    ]
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps(events))
    companion = Companion("r", PurePosixPath("r/a.trace.json"), str(path), path.stat().st_size, 0)
    source = TraceSource("r|file|a", "r", "a", "file", None, None, 0.0, (0,), companion)
    analyzed = AnalyzedTrace(open_trace(source), Progress())
    trace, places = analyzed.facts.trace, step_places(analyzed)
    names = [trace.names[i] for i in trace.name_id]
    found = dict(zip(names, places.tolist(), strict=True))
    assert (found["late"], found["never launched"], found["cudaLaunchKernel"]) == (0, 1, 0)
    assert found["after all"] != found["after all"]
