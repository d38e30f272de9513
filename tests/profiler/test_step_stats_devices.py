"""StepStats of kernels, copies and waiting, in the form of TensorFlow's CuptiTracer, and back."""

from collections import Counter
from typing import Any

from google.protobuf import text_format

from stepscope.profiler.collectors.base import HOST_DEVICE, Lane, Record, stream_lane
from stepscope.profiler.collectors.devices import Origin, copy_name, device_label, origins_of_launches, sync_lane
from stepscope.profiler.step_stats import step_stats_from_records
from stepscope.profiler.timeline import chrome_trace
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import trace_of_step_stats
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats

MAIN = Lane(HOST_DEVICE, 7, "MainThread")
AUTOGRAD = Lane(HOST_DEVICE, 8, "pt_autograd_0")
KERNEL = "void at::native::add<float>(int)::{lambda()#1}"
SIZES: dict[str, Any] = {"grid": [2, 1, 1], "block": [64, 1, 1]}
GRID = {"registers per thread": 32, "shared memory": 16, **SIZES, "queued": 0}
HTOD, DTOH = "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)"

RECORDS = [
    Record("Optimizer.step#SGD.step", "user_annotation", MAIN, 1_000, 9_000),
    Record("aten::add", "cpu_op", MAIN, 2_000, 3_000, args={"Input Dims": [[2, 3], []], "Sequence number": 4}),
    Record("cudaLaunchKernel", "cuda_runtime", MAIN, 2_500, 500, 11, {"cbid": 211}),
    Record("cudaMemcpyAsync", "cuda_runtime", MAIN, 6_000, 500, 12),
    Record("aten::mul", "cpu_op", AUTOGRAD, 3_000, 3_000),
    Record("cudaLaunchKernel", "cuda_runtime", AUTOGRAD, 4_000, 500, 13),
    Record("[memory]", "cpu_instant_event", MAIN, 2_600, 0, args={"Bytes": 8}),
    Record("f.py(1): f", "python_function", MAIN, 1_000, 500),
    Record(KERNEL, "kernel", stream_lane(0, 7), 20_000, 4_000, 11, GRID),
    Record("sgemm", "kernel", stream_lane(0, 20), 21_000, 8_500, 13, {"grid": (1, 1, 1)}),
    Record(HTOD, "gpu_memcpy", stream_lane(0, 7), 30_000, 1_250, 12, {"bytes": 4096}),
    Record(DTOH, "gpu_memcpy", stream_lane(0, 7), 15_000, 1_000, 99, {"bytes": 8}),
    Record("Memset (Device)", "gpu_memset", stream_lane(1, 7), 40_000, 1_000, 0, {"bytes": 64}),
    Record("Optimizer.step#SGD.step", "gpu_user_annotation", stream_lane(0, 7), 19_999, 12_000),
    Record("Stream Sync", "cuda_sync", sync_lane(0, 7), 41_000, 2_000, 14, {"stream": 7}),
    Record("Context Sync", "cuda_sync", sync_lane(0, -1), 16_000, 3_000, 15),
]


def nodes(trace: Trace, category: str) -> list[tuple[str, str, int, int]]:
    """Name, lane, start and duration of the slices of a category."""
    number = trace.categories.index(category)
    return sorted(
        (trace.names[name], trace.lanes[lane].process + " " + trace.lanes[lane].name, start, duration)
        for name, lane, start, duration, of in zip(
            trace.name_id.tolist(),
            trace.lane.tolist(),
            trace.start_ns.tolist(),
            trace.duration_ns.tolist(),
            trace.category_id.tolist(),
            strict=True,
        )
        if of == number
    )


def test_devices_and_labels_are_those_of_tensorflow() -> None:
    step_stats = step_stats_from_records(RECORDS)
    labels = [
        (device.device, [(node.node_name, node.timeline_label) for node in device.node_stats])
        for device in step_stats.dev_stats
    ]
    scope = "Optimizer.step_SGD.step"
    kernel = (
        f"{scope}:void at.native.add<float>(int).{{lambda()_1}}",
        f"{KERNEL} regs:32 shm:16 grid:2,1,1 block:64,1,1@@{scope}:aten.add",
    )
    sgemm = ("aten.mul:sgemm", "sgemm grid:1,1,1@@aten.mul:aten.mul")
    dtoh = ("MemcpyD2H:MemcpyD2H", "MemcpyD2H bytes:8")
    htod = (f"{scope}:MemcpyH2D", f"MemcpyH2D bytes:4096@@{scope}:MemcpyH2D")
    memset = ("Memset:Memset", "Memset bytes:64")
    add_inputs = "Input Dims=[[2,3],[]], Sequence number=4"
    assert labels == [
        (
            HOST_DEVICE,
            [
                ("Optimizer.step#SGD.step", "Optimizer.step#SGD.step = Optimizer.step#SGD.step()"),
                ("aten::add", f"aten::add = aten::add({add_inputs})"),
                ("cudaLaunchKernel", "cudaLaunchKernel = cudaLaunchKernel(cbid=211)"),
                ("cudaMemcpyAsync", "cudaMemcpyAsync = cudaMemcpyAsync()"),
                ("aten::mul", "aten::mul = aten::mul()"),
                ("cudaLaunchKernel", "cudaLaunchKernel = cudaLaunchKernel()"),
            ],
        ),
        ("/device:GPU:0/stream:7", [dtoh, kernel, htod]),
        ("/device:GPU:0/memcpy", [dtoh, htod]),
        ("/device:GPU:0/stream:all", [kernel, sgemm]),
        ("/device:GPU:0/stream:20", [sgemm]),
        ("/device:GPU:1/stream:7", [memset]),
        ("/device:GPU:1/memcpy", [memset]),
        (
            "/device:GPU:0/sync",
            [
                ("Context Sync", "Context Sync regs:0 = Context_Sync()"),
                ("Stream Sync", "Stream Sync regs:0 = Stream_Sync()"),
            ],
        ),
    ]


def test_times_are_there_in_microseconds_and_nanoseconds() -> None:
    device = step_stats_from_records(RECORDS[9:10]).dev_stats[0]
    expected = text_format.Parse(
        """
        node_name: "sgemm:sgemm" timeline_label: "sgemm grid:1,1,1"
        all_start_micros: 21 op_end_rel_micros: 8 all_end_rel_micros: 8 scheduled_micros: 21
        all_start_nanos: 21000 op_end_rel_nanos: 8500 all_end_rel_nanos: 8500 scheduled_nanos: 21000
        """,
        NodeExecStats(),
    )
    assert device == DeviceStepStats(device="/device:GPU:0/stream:20", node_stats=[expected])


def test_our_reader_finds_the_same_kernels_copies_and_lanes() -> None:
    trace = trace_of_step_stats(step_stats_from_records(RECORDS))
    assert nodes(trace, "kernel") == [
        ("sgemm", "/device:GPU:0 stream 20", 21_000, 8_500),
        (KERNEL, "/device:GPU:0 stream 7", 20_000, 4_000),
    ]
    assert nodes(trace, "gpu_memcpy") == [
        ("Memcpy DtoH", "/device:GPU:0 stream 7", 15_000, 1_000),
        ("Memcpy HtoD", "/device:GPU:0 stream 7", 30_000, 1_250),
    ]
    assert nodes(trace, "gpu_memset") == [("Memset", "/device:GPU:1 stream 7", 40_000, 1_000)]
    assert nodes(trace, "sync") == [
        ("Context Sync", "/device:GPU:0 sync", 16_000, 3_000),
        ("Stream Sync", "/device:GPU:0 sync", 41_000, 2_000),
    ]
    assert trace.losses.counts == {"stored twice, shown once": 5}
    arguments = {trace.names[number]: trace.arguments[index] for index, number in enumerate(trace.name_id.tolist())}
    kernel = {key: arguments[KERNEL][key] for key in ("node", "op", "grid", "block", "registers per thread")}
    assert kernel == {
        "node": "Optimizer.step_SGD.step",
        "op": "aten.add",
        "grid": [2, 1, 1],
        "block": [64, 1, 1],
        "registers per thread": 32,
    }
    assert [arguments[name]["bytes"] for name in ("Memcpy HtoD", "Memcpy DtoH", "Memset")] == [4096, 8, 64]


def test_tensorflows_timeline_names_the_kernels() -> None:
    events = chrome_trace(step_stats_from_records(RECORDS))["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    shown = Counter((names[e["pid"]], e["name"], e["args"]["name"]) for e in events if e["ph"] == "X")
    scope = "Optimizer.step_SGD.step"
    assert {key for key in shown if key[0].startswith("/device:GPU:0")} == {
        ("/device:GPU:0/stream:7 Compute", "void at.native.add<float>(int).{lambda()_1}", scope),
        ("/device:GPU:0/stream:7 Compute", "MemcpyH2D", scope),
        ("/device:GPU:0/stream:7 Compute", "MemcpyD2H", "MemcpyD2H"),
        ("/device:GPU:0/stream:20 Compute", "sgemm", "aten.mul"),
        ("/device:GPU:0/stream:all Compute", "void at.native.add<float>(int).{lambda()_1}", scope),
        ("/device:GPU:0/stream:all Compute", "sgemm", "aten.mul"),
        ("/device:GPU:0/memcpy Compute", "MemcpyH2D", scope),
        ("/device:GPU:0/memcpy Compute", "MemcpyD2H", "MemcpyD2H"),
        ("/device:GPU:0/sync Compute", "Stream_Sync", "Stream Sync"),
        ("/device:GPU:0/sync Compute", "Context_Sync", "Context Sync"),
    }


def test_launches_belong_to_the_scopes_around_them_in_their_own_thread() -> None:
    assert origins_of_launches(RECORDS) == {
        11: Origin("Optimizer.step#SGD.step", "aten::add"),
        12: Origin("Optimizer.step#SGD.step", ""),
        13: Origin("", "aten::mul"),
    }


def test_a_scope_that_ended_is_around_nothing() -> None:
    records = [
        Record("outer", "annotation", MAIN, 0, 100),
        Record("inner", "annotation", MAIN, 10, 20),
        Record("cuLaunchKernel", "cuda_driver", MAIN, 30, 5, 1),
        Record("cuLaunchKernel", "cuda_driver", MAIN, 29, 1, 2),
        Record("cuLaunchKernel", "cuda_driver", MAIN, 100, 5, 3),
        Record("step", "step", MAIN, 0, 200),
    ]
    assert origins_of_launches(records) == {1: Origin("outer", ""), 2: Origin("inner", ""), 3: Origin("", "")}


def test_a_kernel_of_an_earlier_steps_launch_keeps_its_annotation() -> None:
    kernel = RECORDS[8]
    (alone,) = step_stats_from_records([kernel]).dev_stats[0].node_stats
    (with_origin,) = step_stats_from_records([kernel], origins_of_launches(RECORDS)).dev_stats[0].node_stats
    assert "@@" not in alone.timeline_label
    assert with_origin.timeline_label.endswith("@@Optimizer.step_SGD.step:aten.add")


def test_what_has_no_details_is_labeled_as_of_this_generation() -> None:
    assert device_label("k", {}) == "k regs:0"
    assert device_label("k", {"grid": [], "block": ["x"], "bytes": 2.5}, "a:b") == "k regs:0@@a:b"


def test_copies_are_named_by_their_direction() -> None:
    names = ["Memcpy HtoD (Pinned -> Device)", "Memcpy PtoP (Device -> Device)", "Memcpy AtoD", "Memcpy (Unknown)"]
    assert [copy_name(name, "gpu_memcpy") for name in names] == ["MemcpyH2D", "MemcpyP2P", "MemcpyA2D", "Memcpy"]
    assert copy_name("Memset (Device)", "gpu_memset") == "Memset"
