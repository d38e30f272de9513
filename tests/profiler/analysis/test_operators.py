"""Trees of operator calls, their grouping, FLOPs, and tfprof's views."""

from typing import Any

import numpy as np
import pytest

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.flops import flops_of
from stepscope.profiler.analysis.operators import operator_calls, operators
from stepscope.profiler.analysis.reached_sums import reached_sums
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.tfprof import advice, tfprof
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import trace_of_step_stats
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.step_stats_pb2 import StepStats
from tests.profiler.analysis.kineto import activity, event, launch, operator, trace


def nested() -> Trace:
    return trace(
        event("user_annotation", "forward", 0, 100),
        event("python_function", "nn.Module: Linear_0", 0, 60),
        operator("aten::linear", 0, 55, Input_Dims=[[2, 4], [4, 4]], Call_stack="a;b"),
        operator("aten::addmm", 10, 30, Input_Dims=[[4], [2, 4], [4, 8]], Input_type=["float"] * 3),
        launch(20, 10, 1),
        activity("s884gemm", 40, 25, 1),
        operator("aten::empty", 60, 20, Input_Dims=[[]]),
        operator("aten::empty", 65, 10, Input_Dims=[[]]),
    )


def test_totals_add_the_children() -> None:
    columns = ("name", "calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns")
    assert operators(nested()).select(columns).rows() == [
        ("aten::addmm", 1, 20_000, 30_000, 25_000, 25_000),
        ("aten::linear", 1, 25_000, 55_000, 0, 25_000),
        # A call whose only child has the same name counts as one call with it.
        ("aten::empty", 1, 20_000, 20_000, 0, 0),
    ]
    row = operators(nested()).to_dicts()[1]
    assert (row["tensor_core_eligible"], row["tensor_core_total_percent"]) == (True, 100.0)
    assert operator_calls(nested()).parent.tolist() == [-1, -1, 1]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("shape", ["[[2, 4], [4, 4]]", "[[4], [2, 4], [4, 8]]", "[[]]"]),
        ("stack", ["", "a;b"]),
        ("module", ["", "Linear_0"]),
        ("annotation", ["forward"]),
        ("op_type", ["cpu_op"]),
    ],
)
def test_operators_are_grouped(key: Any, expected: list[str]) -> None:
    assert sorted(operators(nested(), by=(key,))[key].to_list()) == expected


def test_a_runtime_call_belongs_to_the_operator_of_its_external_id() -> None:
    found = trace(
        operator("outer", 0, 50, External_id=1),
        operator("inner", 10, 10, External_id=2),
        {**launch(12, 0, 7), "args": {"correlation": 7, "External id": 1}},
        activity("kernel", 30, 5, 7),
    )
    columns = ("name", "device_self_ns")
    assert operators(found).select(columns).rows() == [("outer", 5_000), ("inner", 0)]


@pytest.mark.parametrize(
    ("name", "arguments", "flops"),
    [
        ("aten::mm", {"Input Dims": [[2, 3], [3, 5]]}, 60.0),
        ("aten::bmm", {"Input Dims": [[7, 2, 3], [7, 3, 5]]}, 420.0),
        ("aten::addmm", {"Input Dims": [[5], [2, 3], [3, 5]]}, 60.0),
        ("aten::mm", {"Input Dims": [[2, 3], [4, 5]]}, None),
        ("aten::mm", {"Input Dims": "[[2, 3], [3, 5]]"}, None),
        ("aten::mm", {}, None),
        ("aten::add", {"Input Dims": [[2, 3], []]}, 6.0),
        ("fusion", {"flops": 12}, 12.0),
        ("aten::relu", {"Input Dims": [[2, 3]]}, None),
    ],
)
def test_flops(name: str, arguments: dict[str, Any], flops: float | None) -> None:
    assert flops_of(name, arguments) == flops


def test_the_roofline() -> None:
    (row,) = roofline(nested(), peak_flops=1e9, peak_bytes_per_s=1e9).to_dicts()
    assert row["name"] == "aten::addmm"
    assert (row["flops"], row["bytes"], row["time_ns"]) == (128.0, 4.0 * (4 + 8 + 32), 25_000)
    assert row["gflops_per_s"] == pytest.approx(128 / 25_000)
    assert (row["bound_by"], row["efficiency_percent"]) == ("memory", pytest.approx(100 * 176 / 25_000))
    (unknown,) = roofline(nested()).to_dicts()
    assert (unknown["bound_by"], unknown["efficiency_percent"]) == (None, None)


def small_graph() -> Trace:
    stats = StepStats()
    host = stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:GPU:0")
    for name, label, start, end in (
        ("in/x", "in/x = Const()", 0, 2),
        ("net/conv", "net/conv = Conv2D(in/x)", 10, 4),
        ("net/batchnorm/Rsqrt", "net/batchnorm/Rsqrt = Rsqrt(net/conv)", 20, 3),
    ):
        host.node_stats.add(node_name=name, timeline_label=label, all_start_micros=1000 + start, all_end_rel_micros=end)
    stream = stats.dev_stats.add(device="/device:GPU:0/stream:7")
    stream.node_stats.add(node_name="net/conv:Conv2D", all_start_micros=1015, all_end_rel_micros=6)
    return trace_of_step_stats(stats)


def test_tfprof_views() -> None:
    columns = ("name", "occurrences", "cpu_ns", "accelerator_ns", "self_ns", "total_ns")
    assert tfprof(small_graph(), view="scope").select(columns).rows() == [
        ("net", 0, 0, 0, 0, 13_000),
        ("net/conv", 1, 4_000, 6_000, 10_000, 10_000),
        ("net/batchnorm", 0, 0, 0, 0, 3_000),
        ("net/batchnorm/Rsqrt", 1, 3_000, 0, 3_000, 3_000),
        ("in", 0, 0, 0, 0, 2_000),
        ("in/x", 1, 2_000, 0, 2_000, 2_000),
    ]
    assert tfprof(small_graph(), view="graph").select("name", "total_ns").rows() == [
        ("net/batchnorm/Rsqrt", 15_000),
        ("net/conv", 12_000),
        ("in/x", 2_000),
    ]
    assert tfprof(small_graph(), view="op").select("name", "total_ns").rows() == [
        ("Conv2D", 10_000),
        ("Rsqrt", 3_000),
        ("Const", 2_000),
    ]


def test_what_a_node_reaches_counts_once() -> None:
    # 0 needs 1 and 2, which both need 3; 4 and 5 need each other and 3; 6 needs nothing.
    source, target = np.array([(0, 1), (0, 2), (1, 3), (2, 3), (4, 5), (5, 4), (5, 3)]).T
    weight = np.array([1, 10, 100, 1_000, 10_000, 100_000, 1_000_000])
    assert reached_sums(source, target, weight).tolist() == [1_111, 1_010, 1_100, 1_000, 111_000, 111_000, 1_000_000]


def test_the_graph_view_can_be_cancelled_and_the_advisor_does_without_it() -> None:
    facts = Facts(small_graph())
    advised = advice(facts)
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation):
        assert advice(facts).equals(advised)
        with pytest.raises(Cancelled):
            tfprof(facts, view="graph")


def test_the_advisor() -> None:
    graph = GraphDef()
    graph.node.add(name="net/conv", op="Conv2D").attr["data_format"].s = b"NHWC"
    rows = advice(small_graph(), graph).to_dicts()
    assert [(row["checker"], row["subject"]) for row in rows] == [
        ("accelerator_utilization", "GPU 0"),
        ("operation", "net/batchnorm/Rsqrt"),
        ("operation", "net/conv"),
        ("expensive_operation", "Conv2D"),
        ("expensive_operation", "Rsqrt"),
        ("expensive_operation", "Const"),
        ("expensive_operation", "net/conv"),
        ("expensive_operation", "net/batchnorm/Rsqrt"),
        ("expensive_operation", "in/x"),
    ]
    assert rows[0]["value"] == pytest.approx(6 / 23)
    assert rows[0]["message"] == "device is busy 26% of the time: low"
    assert not any(row["subject"] == "net/conv" for row in advice(small_graph()).to_dicts()[:2])
