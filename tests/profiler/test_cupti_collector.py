"""CUPTI's activities as records; the library itself is tested in tests/gpu, where there is a GPU."""

import ctypes
import json
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.profiler.collectors import cupti_activities as activities
from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, Lane, Record, RecordingClock, stream_lane
from stepscope.profiler.collectors.cupti import CuptiCollector, _Demangler
from stepscope.profiler.collectors.cupti_activities import Moment, Names, kept, records_of_activities, wall_times
from stepscope.profiler.collectors.devices import sync_lane
from stepscope.profiler.collectors.registry import make_collector
from stepscope.profiler.step_stats import step_stats_from_records
from stepscope.profiler.traces import trace_of_step_stats
from stepscope.summary.errors import UserError

# Objects with the attributes that cupti-python 13.4.0 documents; 12.6.0 has all of those that are read.


def on_stream(kind: int, start: int, end: int, correlation: int, **more: Any) -> SimpleNamespace:
    place = {"device_id": 0, "context_id": 1, "stream_id": 7, "graph_id": 0, "graph_node_id": 0}
    return SimpleNamespace(kind=kind, start=start, end=end, correlation_id=correlation, **(place | more))


def kernel(start: int, end: int, correlation: int, **more: Any) -> SimpleNamespace:
    sizes = {"grid_x": 4, "grid_y": 2, "grid_z": 1, "block_x": 64, "block_y": 1, "block_z": 1}
    memory = {"registers_per_thread": 32, "static_shared_memory": 16, "dynamic_shared_memory": 8, "queued": 0}
    return on_stream(10, start, end, correlation, **({"name": "_Z3addPfS_"} | sizes | memory | more))


def memcpy(start: int, end: int, correlation: int, kinds: tuple[int, int, int], **more: Any) -> SimpleNamespace:
    copy, source, target = kinds
    details = {"copy_kind": copy, "src_kind": source, "dst_kind": target, "bytes": 4096, "flags_": 0}
    return on_stream(more.pop("kind", 1), start, end, correlation, **(details | more))


def memset(start: int, end: int, correlation: int) -> SimpleNamespace:
    return on_stream(2, start, end, correlation, bytes=64, value=0, memory_kind=3)


def call(kind: int, start: int, end: int, correlation: int, cbid: int, **more: Any) -> SimpleNamespace:
    details = {"cbid": cbid, "process_id": 1, "thread_id": 77, "return_value": 0} | more
    return SimpleNamespace(kind=kind, start=start, end=end, correlation_id=correlation, **details)


def wait(start: int, end: int, correlation: int, sort: int, stream: int, **more: Any) -> SimpleNamespace:
    details = {"type": sort, "context_id": 1, "stream_id": stream, "cuda_event_id": 5} | more
    return SimpleNamespace(kind=38, start=start, end=end, correlation_id=correlation, **details)


def function_name(domain: int, code: int) -> str:
    return {
        (2, 211): "cudaLaunchKernel_v7000",
        (2, 31): "cudaMemcpy_ptds_v7000",
        (1, 307): "cuLaunchKernel",
        (1, 277): "cuMemcpyHtoDAsync_v2",
    }.get((domain, code), "")


NAMES = Names(
    function_name, lambda name: name.replace("_Z3addPfS_", "add(float*, float*)"), {77: "MainThread"}, {0: 16}
)
MAIN = Lane(HOST_DEVICE, 77, "MainThread")


def records(*found: SimpleNamespace, names: Names = NAMES, until: int = 1_000_000) -> list[Record]:
    chosen = [activity for activity in map(kept, found) if activity is not None]
    return records_of_activities(chosen, names, lambda theirs: theirs + 1_000_000, until=until).records


def test_a_kernel_has_kinetos_name_category_and_arguments() -> None:
    assert records(kernel(100, 350, 11)) == [
        Record(
            "add(float*, float*)",
            "kernel",
            stream_lane(0, 7),
            1_000_100,
            250,
            11,
            {
                "device": 0,
                "context": 1,
                "stream": 7,
                "queued": 0,
                "registers per thread": 32,
                "shared memory": 24,
                "grid": [4, 2, 1],
                "block": [64, 1, 1],
                "blocks per SM": 0.5,
                "warps per SM": 1.0,
            },
        )
    ]


def test_a_kernel_of_a_graph_says_so_and_of_an_unknown_device_has_no_load() -> None:
    (record,) = records(kernel(1, 2, 3, graph_id=4, graph_node_id=5, name=None), names=Names(function_name))
    assert record.name == "unnamed kernel"
    assert (record.args["graph id"], record.args["graph node id"]) == (4, 5)
    assert "blocks per SM" not in record.args


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        ((1, 1, 3), "Memcpy HtoD (Pageable -> Device)"),
        ((1, 2, 3), "Memcpy HtoD (Pinned -> Device)"),
        ((2, 3, 1), "Memcpy DtoH (Device -> Pageable)"),
        ((8, 3, 3), "Memcpy DtoD (Device -> Device)"),
        ((0, 0, 99), "Memcpy Unknown (Unknown -> Unknown)"),
    ],
)
def test_copies_are_named_by_direction_and_memory(kinds: tuple[int, int, int], name: str) -> None:
    (record,) = records(memcpy(100, 300, 12, kinds))
    assert record == Record(
        name,
        "gpu_memcpy",
        stream_lane(0, 7),
        1_000_100,
        200,
        12,
        {"device": 0, "context": 1, "stream": 7, "bytes": 4096, "memory bandwidth (GB/s)": 20.48},
    )


def test_copies_between_devices_name_both() -> None:
    (record,) = records(memcpy(100, 100, 12, (10, 3, 3), kind=22, src_device_id=0, dst_device_id=1))
    assert (record.name, record.category) == ("Memcpy PtoP (Device -> Device)", "gpu_memcpy")
    expected = {"device": 0, "context": 1, "stream": 7, "bytes": 4096, "from device": 0, "to device": 1}
    assert record.args == expected


def test_a_memset() -> None:
    (record,) = records(memset(100, 164, 13))
    expected = {"device": 0, "context": 1, "stream": 7, "bytes": 64, "memory bandwidth (GB/s)": 1.0}
    assert record == Record("Memset (Device)", "gpu_memset", stream_lane(0, 7), 1_000_100, 64, 13, expected)


def test_calls_lie_on_the_lane_of_their_thread_without_versions_in_their_names() -> None:
    found = records(
        call(5, 10, 90, 11, 211),
        call(4, 20, 80, 11, 307),
        call(5, 100, 110, 12, 31, return_value=2),
        call(4, 120, 130, 13, 277),
        call(5, 140, 150, 14, 9999, thread_id=88),
    )
    assert found == [
        Record("cudaLaunchKernel", "cuda_runtime", MAIN, 1_000_010, 80, 11, {"cbid": 211}),
        Record("cuLaunchKernel", "cuda_driver", MAIN, 1_000_020, 60, 11, {"cbid": 307}),
        Record("cudaMemcpy", "cuda_runtime", MAIN, 1_000_100, 10, 12, {"cbid": 31, "return value": 2}),
        Record("cuMemcpyHtoDAsync_v2", "cuda_driver", MAIN, 1_000_120, 10, 13, {"cbid": 277}),
        Record("function 9999", "cuda_runtime", Lane(HOST_DEVICE, 88, "thread 88"), 1_000_140, 10, 14, {"cbid": 9999}),
    ]


def test_waiting_is_of_the_device_whose_kernels_ran_in_its_context() -> None:
    found = records(
        kernel(1, 2, 3, device_id=1, context_id=9),
        wait(10, 20, 15, 3, 7, context_id=9),
        wait(11, 21, 16, 4, 0xFFFF_FFFF, context_id=9),
        wait(12, 22, 17, 2, 8, context_id=8),
    )
    assert [record[:-1] for record in found if record.category == "cuda_sync"] == [
        ("Stream Wait Event", "cuda_sync", sync_lane(0, 8), 1_000_012, 10, 17),
        ("Stream Sync", "cuda_sync", sync_lane(1, 7), 1_000_010, 10, 15),
        ("Context Sync", "cuda_sync", sync_lane(1, -1), 1_000_011, 10, 16),
    ]
    (event,) = [record for record in found if record.name == "Stream Wait Event"]
    expected = {"cuda_sync_kind": "Stream Wait Event", "context": 8, "stream": 8, "cuda event": 5, "device": 0}
    assert event.args == expected


def test_what_the_end_of_the_recording_calls_is_left_out() -> None:
    found = records(
        call(4, 99, 500, 1, 307), call(4, 101, 500, 2, 308), wait(102, 500, 3, 4, -1), kernel(300, 400, 1), until=100
    )
    assert [(record.category, record.correlation) for record in found] == [("cuda_driver", 1), ("kernel", 1)]


def test_what_has_no_times_is_counted() -> None:
    found = [kept(each) for each in (kernel(0, 0, 1), kernel(5, 0, 2), kernel(5, 6, 3))]
    result = records_of_activities([each for each in found if each], NAMES, lambda theirs: theirs, until=9)
    assert result.without_times == 2
    assert [record.correlation for record in result.records] == [3]


def test_other_kinds_are_not_kept() -> None:
    assert kept(SimpleNamespace(kind=9, context_id=1)) is None


def test_a_record_without_the_attributes_of_its_kind_is_an_error() -> None:
    incomplete = kernel(1, 2, 3)
    del incomplete.device_id
    with pytest.raises(AttributeError, match="device_id"):
        kept(incomplete)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(1_000, 50_000), (2_000, 51_100), (1_500, 50_550), (500, 49_450), (3_000, 52_200)],
)
def test_times_go_by_both_ends_of_the_recording(theirs: int, ours: int) -> None:
    wall = wall_times(Moment(1_000, 50_000), Moment(2_000, 51_100), wall_offset_ns=7)
    assert wall(theirs) == ours + 7


def test_a_recording_of_no_length_has_one_offset() -> None:
    assert wall_times(Moment(1_000, 50_000), Moment(1_000, 50_000), 0)(1_200) == 50_200


def test_step_stats_of_activities_have_tensorflows_devices() -> None:
    found = records(
        call(5, 10, 90, 11, 211), kernel(100, 200, 11), memcpy(210, 220, 12, (1, 1, 3)), memset(230, 240, 13)
    )
    scope = Record("forward", "annotation", MAIN, 1_000_005, 100)
    step_stats = step_stats_from_records([scope, *found])
    labels = {device.device: [node.timeline_label for node in device.node_stats] for device in step_stats.dev_stats}
    copy = "MemcpyH2D bytes:4096"
    launched = "add(float*, float*) regs:32 shm:24 grid:4,2,1 block:64,1,1@@forward:add(float*, float*)"
    assert {key: value for key, value in labels.items() if key != HOST_DEVICE} == {
        "/device:GPU:0/stream:7": [launched, copy, "Memset bytes:64"],
        "/device:GPU:0/stream:all": [launched],
        "/device:GPU:0/memcpy": [copy, "Memset bytes:64"],
    }
    assert {"add(float*, float*)", "Memcpy HtoD", "Memset"} <= set(trace_of_step_stats(step_stats).names)


def test_names_are_demangled_by_the_systems_cpp_library() -> None:
    demangle = _Demangler()
    if demangle._demangle is None:
        pytest.skip("there is no libstdc++ here")
    assert demangle("_Z3addPfS_") == "add(float*, float*)"
    assert [demangle(name) for name in ("sgemm", "_Znonsense", "_Z3addPfS_")] == [
        "sgemm",
        "_Znonsense",
        "add(float*, float*)",
    ]


class StandIn:
    """Answers as ``cupti.cupti`` does, with activities supplied by the test."""

    def __init__(self, *found: SimpleNamespace, unsupported: int = 0, refuses: Exception | None = None) -> None:
        self.found = found
        self.enabled: set[int] = set()
        self.thread_id_type = 0
        self.unsupported = unsupported
        self.refuses = refuses
        self.dropped = 0
        self.complete: Callable[[Any], None] = lambda _: None

    def get_thread_id_type(self) -> int:
        return self.thread_id_type

    def set_thread_id_type(self, sort: int) -> None:
        self.thread_id_type = sort

    def activity_register_callbacks(self, requested: Callable[[], tuple[int, int]], complete: Any) -> None:
        assert requested() == (8 << 20, 0)
        self.complete = complete

    def activity_enable(self, kind: int) -> None:
        if kind == self.unsupported:
            raise NotImplementedError("Activity Kind RUNTIME not supported")
        if self.refuses is not None and self.enabled:
            raise self.refuses
        self.enabled.add(kind)

    def activity_disable(self, kind: int) -> None:
        self.enabled.remove(kind)

    def activity_flush_all(self, flag: int) -> None:
        assert flag == 1
        handed_over = threading.Thread(target=self.complete, args=(self.found,))
        handed_over.start()
        handed_over.join()

    def activity_get_num_dropped_records(self, context: int, stream: int, dropped: int) -> None:
        ctypes.c_size_t.from_address(dropped).value = self.dropped

    def get_callback_name(self, domain: int, code: int) -> str:
        name = function_name(domain, code)
        if not name:
            raise RuntimeError("ERROR_INVALID_PARAMETER (1)")
        return name

    def get_timestamp(self) -> int:
        return time.perf_counter_ns() + 1_000_000_000


def recorded(library: StandIn, **options: Any) -> Collected:
    collector = CuptiCollector(library=library, **options)
    collector.start(RecordingClock(time))
    assert library.thread_id_type == 1
    now = library.get_timestamp()
    for activity in library.found:
        activity.start += now
        activity.end += now
    return collector.stop()


def test_a_recording_asks_for_all_kinds_and_leaves_none() -> None:
    library = StandIn(kernel(100, 200, 11), SimpleNamespace(kind=10, name="odd", start=1, end=2))
    collected = recorded(library)
    assert library.enabled == set()
    assert library.thread_id_type == 0
    assert [(record.name, record.category) for record in collected.records] == [("add(float*, float*)", "kernel")]
    (record,) = collected.records
    assert 0 <= time.time_ns() - record.start_ns < 60_000_000_000
    assert collected.notes == (
        "1 GPU activity could not be read: 'types.SimpleNamespace' object has no attribute 'queued'.",
    )
    json.dumps(collected.metadata)


def test_one_collector_serves_several_recordings() -> None:
    library = StandIn(kernel(100, 200, 11))
    collector = CuptiCollector(library=library)
    counts = []
    for _ in range(2):
        collector.start(RecordingClock(time))
        counts.append(len(collector.stop().records))
    assert counts == [1, 1]


def test_what_was_dropped_is_counted() -> None:
    library = StandIn(*(kernel(100 + n, 101 + n, n) for n in range(5)), kernel(-(10**18), 1, 9))
    library.dropped = 3
    collected = recorded(library, most_activities=2)
    assert [record.correlation for record in collected.records] == [0, 1]
    assert collected.notes == (
        "CUPTI dropped 3 GPU activities because its buffers were full.",
        "GPU activities beyond the first 2 were dropped: 4.",
    )


def test_kinds_that_the_library_lacks_are_noted() -> None:
    collected = recorded(StandIn(unsupported=activities.RUNTIME))
    assert collected.notes == ("CUDA runtime calls were not recorded: cupti-python can do so only in a later version.",)


def test_calls_may_be_left_out() -> None:
    library = StandIn()
    collector = CuptiCollector(library=library, runtime_calls=False, driver_calls=False)
    collector.start(RecordingClock(time))
    enabled = set(library.enabled)
    collector.stop()
    assert enabled == {1, 2, 10, 22, 38}


def test_a_refusal_is_an_error_that_leaves_nothing_on() -> None:
    library = StandIn(refuses=RuntimeError("ERROR_INSUFFICIENT_PRIVILEGES (35)"))
    with pytest.raises(
        UserError, match=r"CUPTI cannot record: ERROR_INSUFFICIENT_PRIVILEGES \(35\). Expected an NVIDIA"
    ):
        CuptiCollector(library=library).start(RecordingClock(time))
    assert library.enabled == set()
    assert library.thread_id_type == 0


def test_what_fails_at_the_end_leaves_nothing_on() -> None:
    library = StandIn()
    collector = CuptiCollector(library=library)
    collector.start(RecordingClock(time))
    library.activity_flush_all = lambda flag: 1 / 0  # type: ignore[assignment, method-assign]
    with pytest.raises(ZeroDivisionError):
        collector.stop()
    assert library.enabled == set()


def test_beside_pytorchs_profiler_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    torch_profiler = ModuleType("torch.autograd.profiler")
    torch_profiler._is_profiler_enabled = True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.autograd.profiler", torch_profiler)
    with pytest.raises(UserError, match="PyTorch's profiler is running and already uses CUPTI"):
        CuptiCollector(library=StandIn()).start(RecordingClock(time))


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupti.cupti", None)
    with pytest.raises(
        UserError, match=r"Expected NVIDIA's cupti-python. Install .* pip install 'cupti-python>=13,<14'"
    ):
        CuptiCollector().start(RecordingClock(time))


def test_another_package_of_that_name_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupti", ModuleType("cupti"))
    monkeypatch.setitem(sys.modules, "cupti.cupti", ModuleType("cupti.cupti"))
    with pytest.raises(UserError, match="the package “cupti” here is not NVIDIA's"):
        CuptiCollector().start(RecordingClock(time))


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="there is a CUDA driver here")
def test_without_a_driver_or_the_package_nothing_is_recorded_and_the_error_says_why() -> None:
    reason = "CUDA driver is not found" if find_spec("cupti") else "No module named 'cupti'"
    with pytest.raises(UserError, match=f"CUPTI cannot record: {reason}"):
        make_collector("cupti").start(RecordingClock(time))


def records_can_be_made() -> bool:
    """Whether cupti-python can create empty records; before version 13 it has only those of its own buffers."""
    try:
        return int(version("cupti-python").partition(".")[0]) >= 13
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(not records_can_be_made(), reason="cupti-python 13 or later is not installed")
@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("ActivityKernel",), 10),
        (("ActivityMemcpy5", "ActivityMemcpy6", "ActivityMemcpy7"), 1),
        (("ActivityMemcpyPtoP",), 22),
        (("ActivityMemset",), 2),
        (("ActivitySynchronization",), 38),
        (("ActivityAPI",), 5),
    ],
)
def test_the_librarys_own_records_have_these_attributes(names: tuple[str, ...], kind: int) -> None:
    from cupti import cupti  # type: ignore[import-not-found, unused-ignore]

    classes = [getattr(cupti, name) for name in dir(cupti) if name.startswith(names)]
    made = [each() for each in classes if hasattr(each, "from_ptr")]
    assert made
    for record in made:
        record.kind, record.start, record.end, record.correlation_id = kind, 100, 300, 4
        found = kept(record)
        assert found is not None
        assert (found.kind, found.start, found.end, found.correlation) == (kind, 100, 300, 4)
        json.dumps(found)
