"""One small step on one device, and what every analysis makes of it."""

import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.input_pipeline import input_pipeline, verdict_of
from stepscope.profiler.analysis.kernels import kernels, tensor_core_share, uses_tensor_cores
from stepscope.profiler.analysis.memcpys import (
    bandwidth_over_time,
    direction_of,
    each_copy,
    memcpys,
    memory_of,
    size_histogram,
)
from stepscope.profiler.analysis.metrics import metrics
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.queue import launch_delays, launch_summary, queue_length, queue_summary
from stepscope.profiler.analysis.ranks import collectives
from stepscope.profiler.analysis.steps import step_breakdown, step_windows
from stepscope.profiler.analysis.temporal import (
    communication_overlap,
    gpu_utilization,
    temporal_breakdown,
    work_breakdown,
)
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step, trace

GEMM = "volta_h884gemm_128x64"
COPY = "Memcpy DtoH (Device -> Pageable)"
NCCL = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"


def events() -> list[Event]:
    """Two steps of 100 us; the second launches little, so that the profiler seems to have stopped."""
    return [
        step(1, 0, 100),
        event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 20),
        operator("aten::mm", 20, 40, Input_Dims=[[4, 8], [8, 16]], Input_type=["float", "float"]),
        launch(30, 5, 1),
        activity(GEMM, 40, 30, 1, more={"blocks per SM": 0.5, "est. achieved occupancy %": 40}),
        operator("aten::add", 62, 10, Input_Dims=[[4, 16], [4, 16]], Input_type=["float", "float"]),
        launch(64, 2, 2),
        activity("add_kernel", 73, 7, 2),
        launch(74, 4, 3, "cudaMemcpyAsync"),
        activity(COPY, 80, 10, 3, category="gpu_memcpy", bytes=1000, more={"memory bandwidth (GB/s)": 0.1}),
        launch(80, 2, 4),
        activity(NCCL, 85, 10, 4, stream=9),
        launch(90, 8, 5, "cudaDeviceSynchronize"),
        step(2, 100, 100),
        operator("aten::mm", 110, 40, Input_Dims=[[4, 8], [8, 16]], Input_type=["float", "float"]),
        launch(120, 5, 6),
        activity(GEMM, 130, 30, 6, more={"blocks per SM": 2, "est. achieved occupancy %": 80}),
    ]


@pytest.fixture(scope="module")
def small() -> Trace:
    return trace(*events())


def test_a_step_by_category(small: Trace) -> None:
    (row,) = step_breakdown(small).to_dicts()
    assert row == {
        "step": 1,
        "start_ns": 0,
        "total_ns": 100_000,
        "kernel_ns": 37_000,
        "memcpy_ns": 10_000,
        "memset_ns": 0,
        "communication_ns": 5_000,
        "runtime_ns": 8_000,
        "dataloader_ns": 20_000,
        "cpu_exec_ns": 17_000,
        "other_ns": 3_000,
    }


def test_a_step_lasts_until_what_it_launched_has_ended() -> None:
    windows = step_windows(
        Facts(
            trace(
                activity("before", 0, 4, 99),
                step(1, 2, 10),
                launch(5, 1, 1),
                activity("late", 10, 20, 1),
                step(2, 12, 10),
                launch(15, 1, 2),
                activity("later", 31, 9, 2),
            )
        )
    )
    assert (windows.start.tolist(), windows.end.tolist()) == ([4000, 30000], [30000, 40000])


def test_steps_without_marks_are_one() -> None:
    unmarked = trace(operator("a", 5, 10), operator("b", 20, 10))
    (row,) = step_breakdown(unmarked).to_dicts()
    assert (row["step"], row["start_ns"], row["total_ns"], row["cpu_exec_ns"]) == (0, 5000, 25000, 20000)
    known = metrics(unmarked, ("steps", "step_time"))
    assert (known["steps"].value, known["step_time"].value) == (1, 25_000)


def test_time_of_the_device(small: Trace) -> None:
    (row,) = temporal_breakdown(small).to_dicts()
    assert {key: value for key, value in row.items() if key.endswith("_ns")} == {
        "span_ns": 55_000,
        "busy_ns": 52_000,
        "idle_ns": 3_000,
        "compute_ns": 37_000,
        "non_compute_ns": 15_000,
    }
    assert [(r["work"], r["duration_ns"]) for r in work_breakdown(small).to_dicts()] == [
        ("computation", 37_000),
        ("communication", 5_000),
        ("memory", 5_000),
        ("communication + memory", 5_000),
    ]
    (overlap,) = communication_overlap(small).to_dicts()
    assert (overlap["communication_ns"], overlap["overlap_ns"], overlap["overlap_percent"]) == (10_000, 0, 0.0)
    (whole,) = temporal_breakdown(small, scope="all").to_dicts()
    assert (whole["span_ns"], whole["compute_ns"]) == (120_000, 67_000)


def test_waits_count_only_on_streams_where_they_are_work() -> None:
    def wait(name: str, start: float, duration: float, stream: int) -> Event:
        return activity(name, start, duration, 0, stream=stream, category="cuda_sync")

    found = trace(
        activity("k", 10, 20, 1),
        wait("Stream Wait Event", 40, 5, 7),
        wait("Stream Sync", 50, 10, 7),
        wait("Event Sync", 0, 90, -1),
        wait("Context Sync", 70, 30, -1),
    )
    columns = ("span_ns", "busy_ns", "compute_ns")
    assert temporal_breakdown(found, scope="all", waits_are_work=True).select(columns).rows() == [
        (50_000, 35_000, 25_000)
    ]
    assert temporal_breakdown(found, scope="all").select(columns).rows() == [(20_000, 20_000, 20_000)]


def test_utilization(small: Trace) -> None:
    (row,) = gpu_utilization(small).to_dicts()
    # In step 1, kernels run from 40 to 70, 73 to 80 and 85 to 95; only the first has known blocks per SM.
    assert row["utilization_percent"] == pytest.approx(47.0)
    assert row["sm_efficiency_percent"] == pytest.approx(100 * 0.5 * 30 / 100)
    assert row["occupancy_percent"] == pytest.approx(40.0)


def test_idle_time(small: Trace) -> None:
    assert idle_time(small).rows() == [
        (0, 7, "kernel_wait", 3_000, 1, 100.0),
        (0, 7, "other", 0, 0, 0.0),
        (0, 9, "other", 0, 0, None),
    ]
    waiting = trace(launch(0, 1, 1), activity("a", 2, 8, 1), launch(50, 1, 2), activity("b", 60, 5, 2))
    assert [(r["cause"], r["idle_ns"]) for r in idle_time(waiting).to_dicts()] == [("host_wait", 50_000), ("other", 0)]


def test_a_stream_is_idle_when_none_of_its_overlapping_activities_runs() -> None:
    overlapping = trace(
        *(launch(0, 1, 1), launch(1, 1, 2), launch(2, 1, 3), launch(120, 1, 4)),
        *(activity("branch", 10, 90, 1), activity("branch", 20, 10, 2), activity("branch", 95, 15, 3)),
        activity("late", 130, 10, 4),
    )
    assert idle_time(overlapping).rows() == [(0, 7, "host_wait", 20_000, 1, 100.0), (0, 7, "other", 0, 0, 0.0)]
    assert metrics(Facts(overlapping), ("host_wait", "kernel_wait"))["host_wait"].value == 100.0


def test_queue_and_launches(small: Trace) -> None:
    assert queue_length(small).rows() == [
        (0, 7, 30_000, 1),
        (0, 7, 40_000, 0),
        (0, 7, 64_000, 1),
        (0, 7, 73_000, 0),
        (0, 7, 74_000, 1),
        (0, 7, 80_000, 0),
        (0, 9, 80_000, 1),
        (0, 9, 85_000, 0),
    ]
    assert [(r["stream"], r["count"], r["mean"], r["max"]) for r in queue_summary(small).to_dicts()] == [
        (7, 6, 0.5, 1.0),
        (9, 2, 0.5, 1.0),
    ]
    assert [(r["name"], r["delay_ns"]) for r in launch_delays(small).to_dicts()] == [
        (GEMM, 5_000),
        ("add_kernel", 7_000),
        (COPY, 2_000),
        (NCCL, 3_000),
    ]
    (row,) = launch_summary(small).to_dicts()
    assert (row["launches"], row["short_kernels"], row["delay_max_ns"]) == (4, 0, 7_000)


def test_kernels(small: Trace) -> None:
    rows = kernels(small).to_dicts()
    assert [(r["name"], r["kind"], r["count"], r["total_ns"], r["tensor_cores"]) for r in rows] == [
        (GEMM, "kernel", 2, 60_000, True),
        (NCCL, "communication", 1, 10_000, False),
        ("add_kernel", "kernel", 1, 7_000, False),
    ]
    assert (rows[0]["blocks_per_sm"], rows[0]["occupancy_percent"], rows[1]["occupancy_percent"]) == (1.25, 60.0, None)
    assert tensor_core_share(small) == pytest.approx(60 / 77)
    assert uses_tensor_cores("ampere_fp16_s16816gemm_fp16")
    assert not uses_tensor_cores("volta_sgemm_128x64_nn")


def test_copies(small: Trace) -> None:
    assert memcpys(small).rows() == [("DtoH", "pageable", 1, 1000, 10_000, 10_000.0, 10_000, 0.1)]
    assert size_histogram(small).rows() == [("DtoH", 512, 1024, 1, 10_000)]
    assert bandwidth_over_time(small).rows() == [("DtoH", 80_000, 0.1), ("DtoH", 90_000, 0.0)]
    assert [direction_of(name) for name in ("MEMCPYHtoD", "MemcpyD2H", "Memset (Device)", "copy", "Memcpy PtoP")] == [
        "HtoD",
        "DtoH",
        "memset",
        "unknown",
        "PtoP",
    ]
    assert [memory_of(name) for name in (COPY, "Memcpy HtoD (Pinned -> Device)", "MEMCPYHtoD")] == [
        "pageable",
        "pinned",
        "",
    ]


def test_operators(small: Trace) -> None:
    columns = ("name", "calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns")
    assert operators(small).select(columns).rows() == [
        ("aten::mm", 2, 70_000, 80_000, 60_000, 60_000),
        ("aten::add", 1, 8_000, 10_000, 7_000, 7_000),
    ]


def test_the_input_pipeline(small: Trace) -> None:
    (row,) = input_pipeline(small).to_dicts()
    assert (row["verdict"], row["input_percent"], row["worst_step"]) == ("input_bound", 20.0, 1)
    assert [verdict_of(share) for share in (4.9, 5.0, 19.9, 20.0, None)] == [
        "not_input_bound",
        "moderately_input_bound",
        "moderately_input_bound",
        "input_bound",
        "unknown",
    ]
    (unmarked,) = input_pipeline(trace(operator("a", 0, 1))).to_dicts()
    assert (unmarked["verdict"], unmarked["input_percent"]) == ("unknown", None)


def test_annotations_on_a_device_are_no_kernels() -> None:
    """As PyTorch writes them: c10d's record on the host, repeated on the stream around the kernels that it launched."""
    events = [
        step(1, 0, 100),
        event("user_annotation", "nccl:all_reduce", 10, 20),
        launch(12, 5, 1),
        activity(NCCL, 40, 30, 1, stream=9),
        activity("nccl:all_reduce", 39, 32, 1, stream=9, category="gpu_user_annotation"),
        launch(32, 5, 2),
        activity(GEMM, 75, 10, 2),
    ]
    found = trace(*events, distributedInfo={"rank": 0})
    table = kernels(found).select("name", "kind", "count", "total_ns")
    assert table.rows() == [(NCCL, "communication", 1, 30_000), (GEMM, "kernel", 1, 10_000)]
    assert tensor_core_share(found) == 10 / 40
    assert collectives({0: found}).select("collective", "duration_ns").rows() == [("allreduce", 30_000)]
    (row,) = communication_overlap(found).to_dicts()
    assert row["communication_ns"] == 30_000


def test_a_size_that_no_copy_has_is_not_known() -> None:
    sizes = (1024, 2**62, 2**63, 1e19, -1, 0)
    found = trace(
        *(
            activity(COPY, 10 * place, 10, place + 1, category="gpu_memcpy", bytes=size)
            for place, size in enumerate(sizes)
        )
    )
    assert each_copy(found)["bytes"].to_list() == [1024, None, None, None, None, 0]
    assert memcpys(found)["bytes"].to_list() == [1024]
    assert size_histogram(found).rows() == [("DtoH", 0, 1, 1, 10_000), ("DtoH", 1024, 2048, 1, 10_000)]


def test_copies_of_mtia_state_direction_and_size() -> None:
    def request(start: float, duration: float, correlation: int, direction: str, size: int) -> Event:
        more = {"direction": direction, "size": size}
        return activity("dma_request", start, duration, correlation, more=more)

    found = trace(
        launch(0, 1, 1, "runFunction"),
        request(5, 10, 1, "HOST_TO_DEVICE", 1_000),
        request(20, 10, 2, "h2d", 3_000),
        request(40, 5, 3, "outbound", 500),
        activity("fused_mm", 50, 20, 4),
    )
    columns = ("direction", "count", "bytes", "total_ns", "gb_per_s")
    assert memcpys(found).select(columns).rows() == [
        ("HtoD", 2, 4_000, 20_000, 0.2),
        ("outbound", 1, 500, 5_000, 0.1),
    ]
    (row,) = temporal_breakdown(found, scope="all").to_dicts()
    assert (row["compute_ns"], row["non_compute_ns"]) == (20_000, 25_000)
