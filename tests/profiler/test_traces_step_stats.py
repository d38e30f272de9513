"""StepStats in every generation of tracers."""

import pytest
from google.protobuf import text_format

from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.step_stats import parse_step_stats
from stepscope.profiler.trace import Lane, Trace
from stepscope.profiler.traces import read_trace, trace_of_step_stats
from stepscope.profiler.traces.step_stats_nodes import describe
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import NodeExecStats, StepStats

TEXT = """
dev_stats {
  device: "/job:localhost/replica:0/task:0/device:CPU:0"
  node_stats { node_name: "x" all_start_micros: 10 all_end_rel_micros: 5 timeline_label: "x = Const()" thread_id: 3 }
  node_stats {
    node_name: "y" all_start_micros: 12 all_end_rel_micros: 8 thread_id: 4 scheduled_micros: 11
    all_start_nanos: 12345 all_end_rel_nanos: 7891
    timeline_label: "[cpu 1B 2B] y = MatMul(x:1, ^missing)"
    output { tensor_description { allocation_description { requested_bytes: 24 } } }
    memory { allocator_name: "cpu" total_bytes: 3 peak_bytes: 2 live_bytes: 1 }
  }
  node_stats { node_name: "odd" all_start_micros: 30 all_end_rel_micros: -1 timeline_label: "odd" }
}
dev_stats {
  device: "/device:GPU:0/stream:all"
  node_stats { node_name: "y:MatMul" all_start_micros: 15 all_end_rel_micros: 2 timeline_label: "sgemm" }
}
dev_stats {
  device: "/device:GPU:0/stream:14"
  node_stats {
    node_name: "sgemm" all_start_micros: 15 all_end_rel_micros: 2
    timeline_label: "sgemm regs:32 grid:9,1,1@@y:MatMul#id=1#"
  }
}
dev_stats {
  device: "/gpu:0 (Tesla P40)/context#0/stream#2:MemcpyDtoH"
  node_stats { node_name: "edge_7_y::MEMCPYDtoH" all_start_micros: 18 all_end_rel_micros: 1 timeline_label: "4 bytes" }
}
dev_stats {
  device: "/host"
  thread_names { key: 1 value: "main" }
  node_stats { node_name: "ProfilerStep#6" all_start_micros: 1 all_end_rel_micros: 40 thread_id: 1 }
  node_stats { node_name: "forward" all_start_micros: 2 all_end_rel_micros: 4 thread_id: 1 }
  node_stats { node_name: "load" all_start_micros: 2 all_end_rel_micros: 4 thread_id: 2 }
}
dev_stats { device: "/device:GPU:0/sync" }
"""


def table(trace: Trace) -> list[str]:
    return [
        f"{trace.lanes[lane].process} {trace.lanes[lane].name} | {depth} | {start} | {duration} | "
        f"{trace.names[name]} | {trace.categories[category]}"
        for lane, depth, start, duration, name, category in zip(
            trace.lane, trace.depth, trace.start_ns, trace.duration_ns, trace.name_id, trace.category_id, strict=True
        )
    ]


def message() -> StepStats:
    return text_format.Parse(TEXT, StepStats())


def test_every_generation_of_tracers_is_understood() -> None:
    trace = trace_of_step_stats(message())
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0 operations"
    assert table(trace) == [
        f"{cpu} | 0 | 10000 | 5000 | x | Const",
        f"{cpu} | 0 | 30000 | 0 | odd | unknown",
        f"{cpu} | 1 | 12345 | 7891 | y | MatMul",
        "/device:GPU:0 stream 14 | 0 | 15000 | 2000 | sgemm | kernel",
        "/gpu:0 (Tesla P40) stream 2:MemcpyDtoH | 0 | 18000 | 1000 | Memcpy DtoH | gpu_memcpy",
        "/host main | 0 | 1000 | 40000 | ProfilerStep#6 | unknown",
        "/host main | 1 | 2000 | 4000 | forward | unknown",
        "/host thread 2 | 0 | 2000 | 4000 | load | unknown",
        "Tensors no allocator | 0 | 12000 | 8000 | y | tensor",
    ]
    assert [lane.kind for lane in trace.lanes] == ["host", "stream", "memcpy", "host", "host", "other"]
    assert trace.losses.counts == {"negative duration": 1, "stored twice, shown once": 1}
    assert trace.losses.examples == {
        "negative duration": "“odd” on /job:localhost/replica:0/task:0/device:CPU:0, operations at 0.030000 ms",
        "stored twice, shown once": "“sgemm” of /device:GPU:0/stream:all at 0.015000 ms",
    }
    assert trace.epoch_ns is None
    assert [(s.number, s.start_ns, s.duration_ns) for s in trace.steps] == [(6, 1000, 40000)]


def test_arguments_say_what_the_message_says() -> None:
    trace = trace_of_step_stats(message())
    assert trace.arguments[2] == {
        "node": "y",
        "op": "MatMul",
        "input0": "x:1",
        "input1": "^missing",
        "label": "[cpu 1B 2B] y = MatMul(x:1, ^missing)",
        "output bytes": 24,
        "memory cpu": {"total bytes": 3, "peak bytes": 2, "live bytes": 1},
        "waited ns": 1345,
        "thread": 4,
    }
    assert trace.arguments[3] == {
        "node": "y",
        "op": "MatMul",
        "kernel": "sgemm",
        "label": "sgemm regs:32 grid:9,1,1@@y:MatMul#id=1#",
        "registers per thread": 32,
        "grid": [9, 1, 1],
    }
    assert trace.arguments[4] == {
        "node": "edge_7_y",
        "op": "MEMCPYDtoH",
        "kernel": "Memcpy DtoH",
        "label": "4 bytes",
        "bytes": 4,
    }


@pytest.mark.parametrize(
    ("label", "size"),
    [("bytes:12", 12), ("12 bytes", 12), ("bytes:" + "9" * 5000, None), ("9" * 5000 + " bytes", None)],
)
def test_a_copy_of_an_impossible_size_has_none(label: str, size: int | None) -> None:
    # Python refuses to convert so many digits to a number, and such a slice once could not be looked at.
    stats = StepStats()
    stats.dev_stats.add(device="/device:GPU:0/stream:7").node_stats.add(node_name="copy", timeline_label=label)
    assert trace_of_step_stats(stats).arguments[0].get("bytes") == size


def test_data_flows_from_the_node_that_made_an_input() -> None:
    trace = trace_of_step_stats(message())
    flows = trace.flows
    assert (flows.source.tolist(), flows.target.tolist()) == ([0, 2], [2, 3])
    assert [trace.categories[category] for category in flows.category_id] == ["DataFlow", "launch"]


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("n:Op", "void f<a::b>(int)", ("n", "Op", "void f<a::b>(int)", "kernel")),
        ("n:MEMCPYHtoD", "MEMCPYHtoD 4 bytes (1 to 2)", ("n", "MEMCPYHtoD", "Memcpy HtoD", "gpu_memcpy")),
        ("n:Op::void f<a::b>()", "", ("n", "Op", "void f<a::b>()", "kernel")),
        ("edge_3_n::MEMCPYDtoH", "4 bytes", ("edge_3_n", "MEMCPYDtoH", "Memcpy DtoH", "gpu_memcpy")),
        ("void f(int)", "void f(int) regs:8 shm:0@@n:Op#id=1#", ("n", "Op", "void f(int)", "kernel")),
        ("n:Op", "f regs:8 shm:0@@n:Op", ("n", "Op", "f", "kernel")),
        ("n:Op", "f regs:8 shm:0", ("n", "Op", "f", "kernel")),
        ("a::f", "a::f regs:8 shm:0", ("a::f", "unknown", "a::f", "kernel")),
        ("MemcpyD2D", "MemcpyD2D bytes:8 aync to device:1@@n:Op", ("n", "Op", "Memcpy DtoD", "gpu_memcpy")),
        ("MemcpyH2D", "MemcpyH2D bytes:8", ("MemcpyH2D", "MemcpyH2D", "Memcpy HtoD", "gpu_memcpy")),
        ("Memset", "Memset bytes:8", ("Memset", "Memset", "Memset", "gpu_memset")),
        ("", "", ("", "unknown", "", "kernel")),
    ],
)
def test_what_ran_on_a_stream_is_told_from_its_name_and_label(
    name: str, label: str, expected: tuple[str, str, str, str]
) -> None:
    found = describe(NodeExecStats(node_name=name, timeline_label=label), on_stream=True)
    assert (found.node, found.op, found.kernel, found.activity) == expected


def test_what_only_the_joint_lanes_have_stays() -> None:
    stats = StepStats()
    for device, times in {"stream:all": (1, 1, 2, 3), "stream:7": (1, 2), "memcpy": (9,)}.items():
        added = stats.dev_stats.add(device=f"/device:GPU:0/{device}")
        for time in times:
            added.node_stats.add(node_name="a:A", timeline_label="k", all_start_micros=time, all_end_rel_micros=1)
    other = stats.dev_stats.add(device="/device:GPU:1/stream:all")
    other.node_stats.add(node_name="a:A", timeline_label="k", all_start_micros=1, all_end_rel_micros=1)
    trace = trace_of_step_stats(stats)
    assert [(trace.lanes[lane].process[-1], trace.lanes[lane].name) for lane in trace.lane] == [
        ("0", "all streams"),
        ("0", "all streams"),
        ("0", "stream 7"),
        ("0", "stream 7"),
        ("0", "memcpy"),
        ("1", "all streams"),
    ]
    assert trace.losses.counts == {"stored twice, shown once": 2}


def test_allocators_are_counters() -> None:
    stats = StepStats()
    node = stats.dev_stats.add(device="/cpu:0").node_stats.add(
        node_name="x", timeline_label="x = Const()", all_start_micros=5, all_end_rel_micros=2
    )
    description = node.output.add().tensor_description.allocation_description
    description.requested_bytes, description.allocator_name = 64, "cpu"
    (counter,) = trace_of_step_stats(stats).counters
    assert (counter.process, counter.name, counter.series) == ("Allocators", "cpu", "bytes")
    assert (counter.times_ns.tolist(), counter.values.tolist()) == ([5000, 7000], [64.0, 0.0])


TENSORS = """
dev_stats {
  device: "/cpu:0"
  node_stats {
    node_name: "x" all_start_micros: 10 all_end_rel_micros: 4 timeline_label: "x = Split()"
    output { tensor_description {
      dtype: DT_FLOAT shape { dim { size: 2 } dim { size: -1 } }
      allocation_description { requested_bytes: 8 allocated_bytes: 64 allocator_name: "cpu" allocation_id: 5 }
    } }
    output { slot: 1 tensor_description {
      dtype: DT_RESOURCE shape { unknown_rank: true }
      allocation_description { allocator_name: "cpu" requested_bytes: 4 }
    } }
  }
  node_stats {
    node_name: "y" all_start_micros: 20 all_end_rel_micros: 5 timeline_label: "y = Neg(x)"
    output { tensor_description { allocation_description { requested_bytes: 16 allocator_name: "gpu" } } }
  }
  node_stats {
    node_name: "z" all_start_micros: 14 all_end_rel_micros: 2 timeline_label: "z = Const()"
    output { tensor_description { allocation_description { requested_bytes: 2 allocator_name: "cpu" } } }
  }
  node_stats {
    node_name: "z" all_start_micros: 30 all_end_rel_micros: 2 timeline_label: "z = Const()"
    output { tensor_description { allocation_description { requested_bytes: 2 allocator_name: "cpu" } } }
  }
}
"""


def test_tensors_live_from_their_making_to_their_last_use() -> None:
    trace = trace_of_step_stats(text_format.Parse(TENSORS, StepStats()))
    # x is used by y until 24; its other output is freed when x ends at 14, which leaves its row to z.
    assert table(trace)[4:] == [
        "Tensors cpu | 0 | 10000 | 4000 | x:1 | tensor",
        "Tensors cpu | 0 | 14000 | 2000 | z | tensor",
        "Tensors cpu | 0 | 30000 | 2000 | z | tensor",
        "Tensors cpu | 1 | 10000 | 14000 | x | tensor",
        "Tensors gpu | 0 | 20000 | 5000 | y | tensor",
    ]
    assert trace.lanes[1:] == (
        Lane("Tensors", "cpu", "Tensors", "cpu", "other", 2),
        Lane("Tensors", "gpu", "Tensors", "gpu", "other", 1),
    )
    assert [trace.arguments[index] for index in range(4, 9)] == [
        {"node": "x", "slot": 1, "bytes": 4, "shape": "unknown", "dtype": "resource", "allocator": "cpu"},
        {
            "node": "z",
            "slot": 0,
            "bytes": 2,
            "allocator": "cpu",
            "note": "its node ran again: who used this one is not known",
        },
        {"node": "z", "slot": 0, "bytes": 2, "allocator": "cpu"},
        {
            "node": "x",
            "slot": 0,
            "bytes": 8,
            "allocated bytes": 64,
            "shape": [2, -1],
            "dtype": "float32",
            "allocator": "cpu",
            "allocation id": 5,
        },
        {"node": "y", "slot": 0, "bytes": 16, "allocator": "gpu"},
    ]
    assert [(c.name, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("cpu", [10_000, 10_000, 14_000, 24_000, 30_000, 32_000], [4.0, 12.0, 8.0, 0.0, 2.0, 0.0]),
        ("gpu", [20_000, 25_000], [16.0, 0.0]),
    ]
    # Tensors are not work that ran.
    assert set(Facts(trace).kinds[4:].tolist()) == {KINDS.index("other")}
    assert [step.name for step in trace.steps] == []


def test_the_step_can_be_given() -> None:
    trace = trace_of_step_stats(message(), step=12)
    assert [(s.number, s.name, s.start_ns, s.duration_ns) for s in trace.steps] == [(12, "step 12", 1000, 40000)]


def test_empty_step_stats_are_an_empty_trace() -> None:
    trace = trace_of_step_stats(StepStats())
    assert (len(trace), trace.lanes, len(trace.flows.source)) == (0, (), 0)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_are_told_apart_by_content(*, binary: bool, wrapped: bool) -> None:
    sent = RunMetadata(step_stats=message()) if wrapped else message()
    data = sent.SerializeToString() if binary else text_format.MessageToString(sent).encode()
    assert table(read_trace(data, name="rm")) == table(trace_of_step_stats(message()))
    assert parse_step_stats(data, name="rm") == message()
