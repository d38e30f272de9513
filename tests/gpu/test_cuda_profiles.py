"""Real recordings of programs on an NVIDIA GPU; skipped, with the reason, where they cannot run."""

import ctypes
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.memcpys import memcpys
from stepscope.profiler.analysis.memory import memory_peaks
from stepscope.profiler.analysis.queue import launch_summary
from stepscope.profiler.analysis.report import analyses, table
from stepscope.profiler.step_stats import load_step_stats
from stepscope.profiler.timeline import chrome_trace
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace, trace_of_step_stats
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.gpu import library_cuda, plain_cuda

REPOSITORY = Path(__file__).resolve().parents[2]
UPLOADED_BY_TORCH = 4 * 256 * 512


@cache
def missing(package: str) -> str:
    """Why a program cannot be recorded here; "" if it can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no CUDA driver here"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "there is no CUDA GPU here"
    if find_spec(package) is None:
        return f"{package} is not installed"
    if package == "torch":
        import torch

        if not torch.cuda.is_available():
            return "this PyTorch has no CUDA"
    return ""


@dataclass(frozen=True)
class Recorded:
    """The output of a program's recording."""

    trace: Trace
    step_stats: StepStats
    """Of its second step."""
    notes: tuple[str, ...]


def run(program: str, folder: Path, *arguments: str) -> Recorded:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "gpu" / program), str(folder), *arguments],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        },
    )
    assert done.returncode == 0, done.stderr
    path, *notes = done.stdout.splitlines()
    return Recorded(load_trace(path), load_step_stats(folder / "step_1.pb"), tuple(notes))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A program that uses only the driver, recorded by the collector "cupti"."""
    if reason := missing("cupti"):
        pytest.skip(reason)
    return run("plain_cuda.py", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def torch_loop(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A PyTorch training loop, recorded by the collector "torch"."""
    if reason := missing("torch"):
        pytest.skip(reason)
    return run("torch_cuda.py", tmp_path_factory.mktemp("torch"))


def of_category(trace: Trace, category: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The slices of a category: index, name and arguments."""
    if category not in trace.categories:
        return
    number = trace.categories.index(category)
    for index, each in enumerate(trace.category_id.tolist()):
        if each == number:
            yield index, trace.names[int(trace.name_id[index])], dict(trace.arguments[index])


def span(trace: Trace, index: int) -> tuple[int, int]:
    return int(trace.start_ns[index]), int(trace.start_ns[index] + trace.duration_ns[index])


def scopes(trace: Trace, name: str) -> list[tuple[int, int]]:
    return sorted(span(trace, index) for index, each, _ in of_category(trace, "user_annotation") if each == name)


def steps(trace: Trace) -> list[str]:
    marks = [(span(trace, index), name) for index, name, _ in of_category(trace, "user_annotation")]
    return [name for _, name in sorted(marks) if name.startswith("ProfilerStep#")]


def launches(trace: Trace) -> dict[int, tuple[int, int]]:
    """When the host made each call, by correlation."""
    return {
        arguments["correlation"]: span(trace, index)
        for category in ("cuda_driver", "cuda_runtime")
        for index, _, arguments in of_category(trace, category)
        if "correlation" in arguments
    }


def test_cupti_sees_every_kernel_with_its_launch(plain: Recorded) -> None:
    assert plain.notes == ()
    found = list(of_category(plain.trace, "kernel"))
    assert [name for _, name, _ in found] == ["scale"] * plain_cuda.STEPS
    calls = launches(plain.trace)
    for (index, _, arguments), (begin, end) in zip(found, scopes(plain.trace, "scale it"), strict=True):
        assert arguments["grid"] == [plain_cuda.COUNT // plain_cuda.BLOCK, 1, 1]
        assert arguments["block"] == [plain_cuda.BLOCK, 1, 1]
        assert arguments["blocks per SM"] > 0
        start, _ = span(plain.trace, index)
        called, returned = calls[arguments["correlation"]]
        assert called <= start + 50_000
        assert begin - 50_000 <= called <= returned <= end + 50_000


def test_each_step_is_recorded_once(plain: Recorded, torch_loop: Recorded) -> None:
    expected = [f"ProfilerStep#{number}" for number in range(plain_cuda.STEPS)]
    assert steps(plain.trace) == expected
    assert steps(torch_loop.trace) == expected


def test_cupti_sees_every_copy_and_memset_with_its_bytes(plain: Recorded) -> None:
    copies = Counter(
        (name.split(" (")[0], arguments["bytes"]) for _, name, arguments in of_category(plain.trace, "gpu_memcpy")
    )
    size, steps = plain_cuda.BYTES, plain_cuda.STEPS
    assert copies == {("Memcpy HtoD", size): steps, ("Memcpy DtoD", size): steps, ("Memcpy DtoH", size): steps}
    memsets = [arguments["bytes"] for _, _, arguments in of_category(plain.trace, "gpu_memset")]
    assert memsets == [size] * steps


def test_cupti_sees_the_host_wait(plain: Recorded) -> None:
    names = [name for _, name, _ in of_category(plain.trace, "cuda_sync")]
    assert names.count("Context Sync") >= plain_cuda.STEPS


def test_the_scopes_of_a_thread_and_its_calls_of_cuda_are_one_lane(plain: Recorded) -> None:
    lanes = {
        plain.trace.lanes[plain.trace.lane[index]].name
        for category in ("cuda_driver", "user_annotation")
        for index, name, _ in of_category(plain.trace, category)
        if not name.startswith("ProfilerStep#")
    }
    assert lanes == {"MainThread"}


def test_arrows_lead_from_launches_to_kernels(plain: Recorded) -> None:
    trace = plain.trace
    targets = {trace.names[int(trace.name_id[target])] for target in trace.flows.target.tolist()}
    assert "scale" in targets
    assert launch_summary(trace).height > 0


def test_the_device_is_described(plain: Recorded) -> None:
    (device, *_) = plain.trace.metadata["deviceProperties"]
    assert device["numSms"] > 0
    assert device["name"]


def test_the_step_stats_of_cupti_are_those_of_tensorflow(plain: Recorded) -> None:
    devices = {device.device: device for device in plain.step_stats.dev_stats}
    streams = [name for name in devices if "/stream:" in name and not name.endswith(":all")]
    assert streams
    assert {"/device:GPU:0/stream:all", "/device:GPU:0/memcpy", "/device:GPU:0/sync"} <= devices.keys()
    (kernel,) = devices["/device:GPU:0/stream:all"].node_stats
    assert kernel.timeline_label.startswith("scale regs:")
    assert "@@scale it:scale" in kernel.timeline_label
    assert len(devices["/device:GPU:0/memcpy"].node_stats) == 4
    again = trace_of_step_stats(plain.step_stats)
    assert [name for _, name, _ in of_category(again, "kernel")] == ["scale"]
    shown = [event["name"] for event in chrome_trace(plain.step_stats)["traceEvents"] if event["ph"] == "X"]
    assert "unknown" not in shown
    assert "scale" in shown


def test_analyses_of_the_plain_program(plain: Recorded) -> None:
    (row,) = kernels(plain.trace).to_dicts()
    assert (row["name"], row["count"]) == ("scale", plain_cuda.STEPS)
    moved = {row["direction"]: row["bytes"] for row in memcpys(plain.trace).to_dicts()}
    assert moved == dict.fromkeys(("HtoD", "DtoH", "DtoD", "memset"), plain_cuda.STEPS * plain_cuda.BYTES)


def test_torch_sees_kernels_with_their_launches(torch_loop: Recorded) -> None:
    assert torch_loop.notes == ()
    found = list(of_category(torch_loop.trace, "kernel"))
    calls = launches(torch_loop.trace)
    assert found
    assert all(arguments["correlation"] in calls for _, _, arguments in found)
    assert all(len(arguments["grid"]) == len(arguments["block"]) == 3 for _, _, arguments in found)
    forward = scopes(torch_loop.trace, "forward")
    inside = [
        name
        for _, name, arguments in found
        if any(begin - 50_000 <= calls[arguments["correlation"]][0] <= end + 50_000 for begin, end in forward)
    ]
    assert inside


def test_torch_sees_copies_with_their_bytes(torch_loop: Recorded) -> None:
    copies = [(name, arguments["bytes"]) for _, name, arguments in of_category(torch_loop.trace, "gpu_memcpy")]
    assert copies.count(("Memcpy HtoD (Pinned -> Device)", UPLOADED_BY_TORCH)) == 3
    assert copies.count(("Memcpy DtoD (Device -> Device)", UPLOADED_BY_TORCH)) == 3
    assert any(name.startswith("Memcpy DtoH") and size == 4 for name, size in copies)


def test_torch_sees_the_host_wait(torch_loop: Recorded) -> None:
    assert any(name == "Stream Sync" for _, name, _ in of_category(torch_loop.trace, "cuda_sync"))


def test_torch_counts_the_gpus_memory(torch_loop: Recorded) -> None:
    counters = {(counter.process, counter.series) for counter in torch_loop.trace.counters}
    assert {("/device:GPU:0", "allocated"), ("/device:GPU:0", "reserved")} <= counters
    assert "GPU 0" in memory_peaks(torch_loop.trace)["device"].to_list()


def test_the_step_stats_of_torch_are_those_of_tensorflow(torch_loop: Recorded) -> None:
    devices = {device.device: device for device in torch_loop.step_stats.dev_stats}
    assert {"/device:GPU:0/stream:7", "/device:GPU:0/stream:all", "/device:GPU:0/memcpy"} <= devices.keys()
    labels = [node.timeline_label for node in devices["/device:GPU:0/stream:all"].node_stats]
    assert all(" regs:" in label for label in labels)
    assert any("@@forward:aten." in label for label in labels)
    stored_once = Counter(name for _, name, _ in of_category(trace_of_step_stats(torch_loop.step_stats), "kernel"))
    assert stored_once.total() == len(labels)
    shown = [event["name"] for event in chrome_trace(torch_loop.step_stats)["traceEvents"] if event["ph"] == "X"]
    assert "unknown" not in shown


@pytest.mark.parametrize(
    ("library", "collector"),
    [
        ("jax", "cupti"),
        ("cupy", "cupti"),
        ("triton", "cupti"),
        ("graph", "cupti"),
        ("triton", "torch"),
        ("graph", "torch"),
    ],
)
def test_kernels_of_any_library_belong_to_the_calls_that_launched_them(
    library: str, collector: str, tmp_path: Path
) -> None:
    for package in (collector, {"jax": "jax", "cupy": "cupy"}.get(library, "torch")):
        if reason := missing(package):
            pytest.skip(reason)
    recorded = run("library_cuda.py", tmp_path, library, collector)
    trace = recorded.trace
    assert recorded.notes == ()
    assert steps(trace) == [f"ProfilerStep#{number}" for number in range(library_cuda.STEPS)]
    calls, ranges = launches(trace), scopes(trace, "run it")
    ran = [0] * library_cuda.STEPS
    for index, _, arguments in of_category(trace, "kernel"):
        called, _ = calls[arguments["correlation"]]
        assert called <= span(trace, index)[0] + 50_000
        # The nearest: clocks of host and device may differ by more than a step takes.
        distances = [max(begin - called, called - end, 0) for begin, end in ranges]
        ran[distances.index(min(distances))] += 1
    assert ran[0] > 0
    assert ran == [ran[0]] * library_cuda.STEPS
    for name in analyses("trace"):
        assert table(trace, name).columns


@pytest.mark.parametrize("name", sorted(analyses("trace")))
def test_every_analysis_takes_both_traces(name: str, request: pytest.FixtureRequest) -> None:
    reasons = {program: missing(package) for program, package in (("plain", "cupti"), ("torch_loop", "torch"))}
    if all(reasons.values()):
        pytest.skip("; ".join(reasons.values()))
    for program, reason in reasons.items():
        if not reason:
            recorded: Recorded = request.getfixturevalue(program)
            assert table(recorded.trace, name).columns
