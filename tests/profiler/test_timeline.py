import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.timeline import (
    AllocatorMaximum,
    OpTime,
    allocator_maximums,
    chrome_trace,
    parse_kernel_label,
    parse_op_label,
)
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, NodeOutput, StepStats

Event = dict[str, Any]
Trace = dict[str, list[Event]]

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def step_stats(text: str) -> StepStats:
    return text_format.Parse(text, StepStats())


def node(name: str, start: int, duration: int, label: str = "", outputs: Sequence[NodeOutput] = ()) -> NodeExecStats:
    return NodeExecStats(
        node_name=name,
        all_start_micros=start,
        all_end_rel_micros=duration,
        timeline_label=label or f"{name} = Op()",
        output=outputs,
    )


def output(num_bytes: int, allocator: str = "cpu") -> NodeOutput:
    result = NodeOutput()
    result.tensor_description.allocation_description.requested_bytes = num_bytes
    result.tensor_description.allocation_description.allocator_name = allocator
    return result


def one_device(*nodes: NodeExecStats, device: str = CPU) -> StepStats:
    return StepStats(dev_stats=[DeviceStepStats(device=device, node_stats=nodes)])


def slices(trace: Trace) -> list[tuple[str, int, int, int]]:
    return [(e["args"]["name"], e["tid"], e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X"]


def of_phase(trace: Trace, *phases: str) -> list[Event]:
    return [e for e in trace["traceEvents"] if e["ph"] in phases]


TWO_OPERATIONS = step_stats(f"""
    dev_stats {{
      device: "{CPU}"
      node_stats {{
        node_name: "x" all_start_micros: 10 all_end_rel_micros: 5 timeline_label: "x = Const()"
        output {{
          tensor_description {{
            dtype: DT_FLOAT
            allocation_description {{ requested_bytes: 8 allocator_name: "cpu" }}
          }}
        }}
      }}
      node_stats {{
        node_name: "y" all_start_micros: 15 all_end_rel_micros: 4 timeline_label: "y = Neg(x, gone)"
      }}
    }}""")

NAMES = [
    {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Allocators"}},
    {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": f"{CPU} Compute"}},
    {"name": "process_name", "ph": "M", "pid": 2, "args": {"name": f"{CPU} Tensors"}},
]
CREATED = {"ph": "N", "cat": "Tensor", "name": "x", "pid": 2, "tid": 0, "ts": 10, "id": 0}
SNAPSHOT = {
    "ph": "O",
    "cat": "Tensor",
    "name": "x",
    "pid": 2,
    "tid": 0,
    "ts": 14,
    "id": 0,
    "args": {
        "snapshot": {
            "tensor_description": "dtype: DT_FLOAT\nallocation_description {\n"
            "  requested_bytes: 8\n  allocator_name: cpu\n}\n"
        }
    },
}
X_SLICE = {
    "ph": "X",
    "cat": "Op",
    "name": "Const",
    "pid": 1,
    "tid": 0,
    "ts": 10,
    "dur": 5,
    "args": {"name": "x", "op": "Const"},
}
Y_SLICE = {
    "ph": "X",
    "cat": "Op",
    "name": "Neg",
    "pid": 1,
    "tid": 1,
    "ts": 15,
    "dur": 4,
    "args": {"name": "y", "op": "Neg", "input0": "x", "input1": "gone"},
}
FLOW = [
    {"ph": "s", "cat": "DataFlow", "name": "x", "pid": 1, "tid": 0, "ts": 15, "id": 0},
    {"ph": "t", "cat": "DataFlow", "name": "x", "pid": 1, "tid": 1, "ts": 15, "id": 0},
]
DELETED = {"ph": "D", "cat": "Tensor", "name": "x", "pid": 2, "tid": 0, "ts": 18, "id": 0}
COUNTERS = [
    {"ph": "C", "cat": "Memory", "name": "cpu", "pid": 0, "tid": 0, "ts": 10, "args": {"cpu": 8}},
    {"ph": "C", "cat": "Memory", "name": "cpu", "pid": 0, "tid": 0, "ts": 18, "args": {"cpu": 0}},
]


@pytest.mark.parametrize(
    ("options", "events"),
    [
        ({}, [*NAMES, X_SLICE, Y_SLICE, *FLOW]),
        ({"show_dataflow": False}, [*NAMES, X_SLICE, Y_SLICE]),
        (
            {"show_memory": True},
            [*NAMES, CREATED, SNAPSHOT, X_SLICE, Y_SLICE, *FLOW, DELETED, *COUNTERS],
        ),
    ],
)
def test_whole_trace(options: dict[str, Any], events: list[Event]) -> None:
    assert chrome_trace(TWO_OPERATIONS, **options) == {"traceEvents": events}


def test_step_stats_are_left_as_they_were() -> None:
    before = TWO_OPERATIONS.SerializeToString(deterministic=True)
    chrome_trace(TWO_OPERATIONS, show_memory=True, op_time="gpu")
    assert TWO_OPERATIONS.SerializeToString(deterministic=True) == before


def test_empty_step_stats_still_have_the_allocators() -> None:
    assert chrome_trace(StepStats()) == {"traceEvents": NAMES[:1]}
    assert allocator_maximums(StepStats()) == {}


def test_a_slice_takes_the_first_lane_that_ended_strictly_before_it() -> None:
    # "b" starts when "a" ends and so takes a second lane; "c" fits into both and takes the first.
    trace = chrome_trace(one_device(node("a", 1, 4), node("b", 5, 3), node("c", 9, 1)))
    assert slices(trace) == [("a", 0, 1, 4), ("b", 1, 5, 3), ("c", 0, 9, 1)]


def test_lanes_follow_the_stored_order_not_time() -> None:
    trace = chrome_trace(one_device(node("late", 10, 5), node("early", 1, 2)))
    assert slices(trace) == [("late", 0, 10, 5), ("early", 1, 1, 2)]


def test_an_operation_at_time_zero_is_on_the_second_lane() -> None:
    assert slices(chrome_trace(one_device(node("a", 0, 1)))) == [("a", 1, 0, 1)]


@given(st.lists(st.tuples(st.integers(-3, 12), st.integers(-2, 6)), max_size=40))
def test_lanes_equal_a_plain_search(spans: list[tuple[int, int]]) -> None:
    ends, expected = [0], []
    for start, duration in spans:
        lane = next((i for i, end in enumerate(ends) if start > end), len(ends))
        ends[lane : lane + 1] = [start + duration]
        expected.append(lane)
    trace = chrome_trace(one_device(*(node("n", start, duration) for start, duration in spans)))
    assert [lane for _, lane, _, _ in slices(trace)] == expected


def test_received_tensors_have_no_label_and_no_arrows() -> None:
    received = node("RecvTensor", 20, 3, label="edge_7_x from /job:worker = Sent(x)")
    trace = chrome_trace(one_device(node("x", 1, 2, outputs=[output(4)]), received))
    assert of_phase(trace, "s", "t") == []
    assert of_phase(trace, "X")[1]["args"] == {"name": "RecvTensor", "op": "RecvTensor"}


def test_the_suffix_of_an_inserted_receive_is_dropped_to_find_the_producer() -> None:
    nodes = [node("scope/x", 1, 9, outputs=[output(4)]), node("y", 5, 3, label="y = Neg(scope/x/_12)")]
    flow = of_phase(chrome_trace(one_device(*nodes)), "s", "t")
    assert [(e["name"], e["tid"], e["ts"]) for e in flow] == [("scope/x", 0, 10), ("scope/x", 1, 5)]


def test_no_arrow_within_one_lane() -> None:
    nodes = [node("x", 1, 2, outputs=[output(4)]), node("y", 5, 3, label="y = Neg(x)")]
    assert of_phase(chrome_trace(one_device(*nodes)), "s", "t") == []


def test_a_node_in_a_loop_gives_its_tensor_again_under_another_identifier() -> None:
    # Identifiers count tensors by name, so the second "x" gets that of the "y" that comes after it.
    nodes = [
        node("x", 1, 2, outputs=[output(4)]),
        node("x", 11, 2, outputs=[output(6)]),
        node("y", 21, 2, outputs=[output(1)]),
    ]
    trace = chrome_trace(one_device(*nodes), show_memory=True)
    assert [(e["name"], e["ts"], e["id"]) for e in of_phase(trace, "N")] == [
        ("x", 1, 0),
        ("x", 11, 1),
        ("y", 21, 1),
    ]
    assert [(e["name"], e["ts"], e["id"]) for e in of_phase(trace, "D")] == [("x", 13, 1), ("y", 23, 1)]
    assert [(e["ts"], e["args"]) for e in of_phase(trace, "C")] == [
        (11, {"cpu": 6}),
        (13, {"cpu": 0}),
        (21, {"cpu": 1}),
        (23, {"cpu": 0}),
    ]


def test_memory_given_back_counts_before_memory_taken_at_the_same_time() -> None:
    nodes = [node("x", 1, 9, outputs=[output(5)]), node("y", 10, 4, outputs=[output(7), output(2, "gpu")])]
    trace = chrome_trace(one_device(*nodes), show_memory=True)
    assert [(e["name"], e["ts"], e["args"]) for e in of_phase(trace, "C")] == [
        ("cpu", 1, {"cpu": 5}),
        ("cpu", 10, {"cpu": 0}),
        ("cpu", 10, {"cpu": 7}),
        ("cpu", 14, {"cpu": 0}),
        ("gpu", 10, {"gpu": 2}),
        ("gpu", 14, {"gpu": 0}),
    ]
    assert allocator_maximums(one_device(*nodes)) == {
        "cpu": AllocatorMaximum(10, 7, frozenset({"y"})),
        "gpu": AllocatorMaximum(10, 2, frozenset({"y:1"})),
    }


def test_an_allocator_that_never_holds_a_byte_has_an_empty_maximum() -> None:
    stats = one_device(node("x", 1, 2, outputs=[output(0)]))
    assert allocator_maximums(stats) == {"cpu": AllocatorMaximum(0, 0, frozenset())}


WITH_KERNELS = StepStats(
    dev_stats=[
        DeviceStepStats(device=GPU, node_stats=[node("mul", 10, 2), node("add", 13, 2)]),
        DeviceStepStats(
            device="/device:GPU:0/stream:all",
            node_stats=[node("mul:MatMul", 20, 3), node("sgemm", 25, 5, label="regs:32@@mul:MatMul#id=1#")],
        ),
    ]
)
KERNELS = [("mul", 0, 20, 3), ("mul", 0, 25, 5)]


@pytest.mark.parametrize(
    ("op_time", "operations"),
    [
        ("schedule", [("mul", 0, 10, 2), ("add", 0, 13, 2)]),
        ("gpu", [("mul", 0, 20, 10), ("add", 1, 13, 2)]),
        ("all", [("mul", 0, 10, 20), ("add", 1, 13, 2)]),
    ],
)
def test_operation_times(op_time: OpTime, operations: list[tuple[str, int, int, int]]) -> None:
    assert slices(chrome_trace(WITH_KERNELS, op_time=op_time)) == operations + KERNELS


def test_a_device_listed_twice_draws_on_the_second() -> None:
    stats = StepStats(
        dev_stats=[
            DeviceStepStats(device=CPU, node_stats=[node("a", 1, 1)]),
            DeviceStepStats(device=CPU, node_stats=[node("b", 1, 1)]),
        ]
    )
    assert [e["pid"] for e in of_phase(chrome_trace(stats), "X")] == [3, 3]


@pytest.mark.parametrize(
    ("label", "node_name", "expected"),
    [
        ("regs:1 @@a/b:MatMul#id=1#", "kernel", ("a/b", "MatMul")),
        ("", "a/b:MatMul", ("a/b", "MatMul")),
        ("", "MEMCPYHtoD", ("MEMCPYHtoD", "unknown")),
        ("", "annotation::kernel", ("annotation", "")),
        ("@@#", "n:o", ("n", "o")),
        ("#@@", "n:o", ("n", "o")),
    ],
)
def test_kernel_labels(label: str, node_name: str, expected: tuple[str, str]) -> None:
    assert parse_kernel_label(label, node_name) == expected


@given(st.lists(st.sampled_from([" = ", "(", ")", ", ", "a", " ", "=", "\n"]), max_size=14).map("".join))
def test_op_labels_split_as_the_greedy_pattern_does(label: str) -> None:
    match = re.match(r"(.*) = (.*)\((.*)\)", label)
    expected = ("unknown", ()) if match is None else (match[2], tuple(match[3].split(", ")) if match[3] else ())
    assert parse_op_label(label) == expected


INT64 = st.integers(-(2**63), 2**63 - 1)
NAME = st.sampled_from(["a", "b", "a:1", "RecvTensor", "a/_1", ""]) | st.text(max_size=4)
LABEL = st.builds("{} = {}({})".format, NAME, NAME, st.lists(NAME, max_size=3).map(", ".join)) | st.text(max_size=9)
NODE = st.builds(node, NAME, INT64, INT64, LABEL, st.lists(st.builds(output, INT64, NAME), max_size=2))
DEVICE = st.builds(
    DeviceStepStats,
    device=st.sampled_from([CPU, GPU, "/device:GPU:0/stream:all", "/device:GPU:0/memcpy"]) | st.text(max_size=4),
    node_stats=st.lists(NODE, max_size=4),
)


@given(
    st.builds(StepStats, dev_stats=st.lists(DEVICE, max_size=3)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["schedule", "gpu", "all"]),
)
def test_any_step_stats_become_a_trace_with_every_node(
    stats: StepStats, show_dataflow: bool, show_memory: bool, op_time: OpTime
) -> None:
    trace = chrome_trace(stats, show_dataflow=show_dataflow, show_memory=show_memory, op_time=op_time)
    assert json.loads(json.dumps(trace)) == trace
    assert len(of_phase(trace, "X")) == sum(len(device.node_stats) for device in stats.dev_stats)
    assert len(of_phase(trace, "N")) == len(of_phase(trace, "O"))
    assert len(of_phase(trace, "s")) == len(of_phase(trace, "t"))
    allocator_maximums(stats, op_time=op_time)
