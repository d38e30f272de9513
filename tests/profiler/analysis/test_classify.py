"""Classification of slices."""

from dataclasses import replace

import numpy as np
import pytest

from stepscope.profiler.analysis.classify import KINDS, Kind, classify, kind_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.trace import LaneKind, Step
from stepscope.profiler.traces import read_trace, trace_of_step_stats
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.profiler.analysis.kineto import activity, event, launch, operator, step, trace


@pytest.mark.parametrize(
    ("category", "name", "lane", "kind"),
    [
        ("cpu_op", "aten::mm", "host", "operator"),
        ("Operator", "aten::mm", "host", "operator"),
        ("Operator", "ProfilerStep#5", "host", "annotation"),
        ("Operator", "enumerate(DataLoader)#_Iter.__next__", "host", "data_loading"),
        ("user_annotation", "enumerate(DataPipe)#Mapper", "host", "data_loading"),
        ("user_annotation", "nccl:all_reduce", "host", "communication"),
        ("cpu_op", "c10d::allreduce_", "host", "communication"),
        ("user_annotation", "forward", "host", "annotation"),
        ("gpu_user_annotation", "forward", "stream", "annotation"),
        ("gpu_user_annotation", "nccl:all_reduce", "stream", "annotation"),
        ("gpu_user_annotation", "c10d::allreduce_", "stream", "annotation"),
        ("gpu_user_annotation", "gloo:all_reduce", "stream", "annotation"),
        ("kernel", "dma_request", "stream", "memcpy"),
        ("mtia_ccp_events", "dma_request", "stream", "memcpy"),
        ("", "$profiler.py:271 stop_trace", "host", "python"),
        ("", "$builtins isinstance", "host", "python"),
        ("", "$builtins isinstance", "stream", "kernel"),
        ("cpu_op", "$name", "host", "operator"),
        ("kernel", "ncclDevKernel_AllReduce", "stream", "communication"),
        ("Kernel", "gemm", "stream", "kernel"),
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "stream", "memcpy"),
        ("Memset", "Memset (Device)", "stream", "memset"),
        ("cuda_runtime", "cudaLaunchKernel", "host", "runtime"),
        ("cuda_driver", "cuLaunchKernel", "host", "runtime"),
        ("mtia_runtime", "runFunction", "host", "runtime"),
        ("cuda_runtime", "cudaStreamSynchronize", "host", "synchronization"),
        ("cuda_sync", "Stream Wait Event", "stream", "synchronization"),
        ("python_function", "nn.Module: Linear_0", "host", "python"),
        ("FEE", "main (a.py:1)", "host", "python"),
        ("overhead", "CUPTI", "host", "other"),
        ("Trace", "PyTorch Profiler (0)", "other", "other"),
        ("MatMul", "dense/MatMul", "host", "operator"),
        ("IteratorGetNext", "IteratorGetNext", "host", "data_loading"),
        ("MatMul", "dense/MatMul", "stream", "kernel"),
        ("MEMCPYHtoD", "edge_3", "memcpy", "memcpy"),
        ("", "Memset", "stream", "memset"),
        ("", "MemcpyD2H", "stream", "memcpy"),
    ],
)
def test_kinds(category: str, name: str, lane: LaneKind, kind: Kind) -> None:
    assert kind_of(category, name, lane, False) == kind


def test_a_trace_is_classified_in_its_own_order() -> None:
    found = trace(
        step(1, 0, 50), operator("aten::mm", 0, 40), launch(5, 1, 1), activity("gemm", 10, 5, 1), event("x", "y", 60, 1)
    )
    names = [found.names[index] for index in found.name_id.tolist()]
    kinds = [KINDS[index] for index in classify(found).tolist()]
    assert dict(zip(names, kinds, strict=True)) == {
        "ProfilerStep#1": "annotation",
        "aten::mm": "operator",
        "cudaLaunchKernel": "runtime",
        "gemm": "kernel",
        "y": "operator",
    }


def test_the_mark_of_a_step_is_no_operator_whatever_it_is_called() -> None:
    found = trace(operator("train", 0, 100), operator("train", 10, 30), operator("aten::mm", 50, 10))
    marked = Facts(replace(found, steps=(Step(3, "train", 0, 100_000),)))
    names = [(found.names[found.name_id[each]], int(found.start_ns[each])) for each in marked.operator_slices.tolist()]
    assert names == [("train", 10_000), ("aten::mm", 50_000)]


def test_derived_lanes_are_annotations() -> None:
    assert kind_of("", "train 1", "device", True) == "annotation"


@pytest.mark.parametrize("streams", [("/device:GPU:0/stream:7",), ("/gpu:0 (Tesla P40)/context#0/stream#7",)])
def test_what_is_stored_twice_counts_once(streams: tuple[str, ...]) -> None:
    stats = StepStats()
    for name in ("/device:GPU:0/stream:all", *streams):
        device = stats.dev_stats.add(device=name)
        for start in (10, 30):
            device.node_stats.add(node_name="a:MatMul", all_start_micros=start, all_end_rel_micros=5)
    facts = Facts(trace_of_step_stats(stats))
    assert facts.every_device_activity.start.tolist() == [10_000, 30_000]
    assert set(facts.every_device_activity.stream.tolist()) == {7}


def test_only_all_streams_counts_where_there_is_no_other() -> None:
    stats = StepStats()
    stats.dev_stats.add(device="/device:GPU:0/stream:all").node_stats.add(
        node_name="a:MatMul", all_start_micros=10, all_end_rel_micros=5
    )
    assert len(Facts(trace_of_step_stats(stats)).every_device_activity.slice) == 1


def test_parents_enclose() -> None:
    facts = Facts(trace(operator("a", 0, 10), operator("b", 1, 5), operator("c", 2, 1), operator("d", 8, 1)))
    names = facts.names_of(np.arange(4))
    parents = {
        name: "" if parent < 0 else names[parent] for name, parent in zip(names, facts.parents.tolist(), strict=True)
    }
    assert parents == {"a": "", "b": "a", "c": "b", "d": "a"}


def test_an_empty_trace_has_no_kinds() -> None:
    assert classify(read_trace(b"[]", name="empty")).tolist() == []
