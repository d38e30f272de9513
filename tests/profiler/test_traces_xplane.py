"""XSpaces: a tiny one goes in, and the whole table of what is read comes out."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.classify import KINDS, classify
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import TraceError, read_trace
from stepscope.profiler.traces.losses import explain
from stepscope.profiler.traces.xplane import looks_like_xplane
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.proto.xplane_pb2 import XSpace
from tests.profiler.test_traces_any_input import check_contract

TEXT = """
planes {
  name: "/host:CPU"
  lines {
    id: 5000000000 name: "python" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 1000000 duration_ps: 9000400 stats { metadata_id: 1 int64_value: 7 } }
    events {
      metadata_id: 2 offset_ps: 2000000 duration_ps: 1000000
      stats { metadata_id: 2 int64_value: 9 } stats { metadata_id: 3 uint64_value: 18446744073709551615 }
      stats { metadata_id: 6 ref_value: 7 } stats { metadata_id: 8 bytes_value: "x" }
    }
    events { metadata_id: 6 num_occurrences: 4 }
  }
  lines {
    id: 2 display_id: 22 name: "pool" display_name: "pool of threads" timestamp_ns: 1000
    events { metadata_id: 3 offset_ps: 3000000 }
    events {
      metadata_id: 6 offset_ps: 4000500
      stats { metadata_id: 4 int64_value: 9 } stats { metadata_id: 5 uint64_value: 18446744073709551615 }
    }
    events { metadata_id: 4 offset_ps: 5000000 }
    events {
      metadata_id: 5 offset_ps: 6000000
      stats { metadata_id: 9 str_value: "cpu" } stats { metadata_id: 10 int64_value: 64 }
    }
  }
  event_metadata { key: 1 value { id: 1 name: "train" stats { metadata_id: 6 str_value: "of all" } } }
  event_metadata { key: 2 value { id: 2 name: "layer/op:MatMul" display_name: "MatMul" } }
  event_metadata { key: 3 value { id: 3 name: "ThreadpoolListener::StartRegion" } }
  event_metadata { key: 4 value { id: 4 name: "ThreadpoolListener::StopRegion" } }
  event_metadata { key: 5 value { id: 5 name: "MemoryAllocation" } }
  event_metadata { key: 6 value { id: 6 name: "work" } }
  stat_metadata { key: 1 value { id: 1 name: "step_num" } }
  stat_metadata { key: 2 value { id: 2 name: "_pt" } }
  stat_metadata { key: 3 value { id: 3 name: "_p" } }
  stat_metadata { key: 4 value { id: 4 name: "_ct" } }
  stat_metadata { key: 5 value { id: 5 name: "_c" } }
  stat_metadata { key: 6 value { id: 6 name: "note" } }
  stat_metadata { key: 7 value { id: 7 name: "a text" } }
  stat_metadata { key: 8 value { id: 8 name: "raw" } }
  stat_metadata { key: 9 value { id: 9 name: "allocator_name" } }
  stat_metadata { key: 10 value { id: 10 name: "bytes_allocated" } }
}
planes {
  id: 1 name: "/device:GPU:0"
  lines {
    id: 7 name: "Stream #7(Compute,MemcpyH2D)" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 5000000 duration_ps: 1 }
    events { metadata_id: 2 offset_ps: 6000000 duration_ps: 2000000 }
  }
  lines {
    id: 9 name: "_counters_"
    events { metadata_id: 3 offset_ps: 1000 stats { metadata_id: 1 double_value: 0.5 } }
  }
  event_metadata { key: 1 value { id: 1 name: "sgemm" } }
  event_metadata { key: 2 value { id: 2 name: "MemcpyH2D" } }
  event_metadata { key: 3 value { id: 3 name: "power" } }
  stat_metadata { key: 1 value { id: 1 name: "watts" } }
}
planes {
  name: "Task Environment"
  stats { metadata_id: 1 uint64_value: 1795225657605640738 }
  stat_metadata { key: 1 value { id: 1 name: "profile_start_time" } }
}
warnings: "a buffer was full"
hostnames: "vm"
"""


def message() -> bytes:
    return text_format.Parse(TEXT, XSpace()).SerializeToString()


def test_lines_become_lanes_and_events_slices() -> None:
    trace = read_trace(message(), name="tiny")
    table = [
        f"{trace.lanes[lane].process} {trace.lanes[lane].name} | {depth} | {start} | {duration} | "
        f"{trace.names[name]} | {trace.categories[category]}"
        for lane, depth, start, duration, name, category in zip(
            trace.lane, trace.depth, trace.start_ns, trace.duration_ns, trace.name_id, trace.category_id, strict=True
        )
    ]
    gpu = "/device:GPU:0 Stream #7(Compute,MemcpyH2D)"
    assert table == [
        "/host:CPU python | 0 | 2000 | 9000 | train | ",
        "/host:CPU python | 1 | 3000 | 1000 | MatMul | ",
        "/host:CPU pool of threads | 0 | 4000 | 2000 | ThreadpoolListener::Region | ",
        "/host:CPU pool of threads | 0 | 6000 | 0 | ThreadpoolListener::StopRegion | ",
        "/host:CPU pool of threads | 1 | 4000 | 0 | ThreadpoolListener::StartRegion | ",
        "/host:CPU pool of threads | 1 | 5001 | 0 | work | ",
        f"{gpu} | 0 | 6000 | 0 | sgemm | kernel",
        f"{gpu} | 0 | 7000 | 2000 | MemcpyH2D | gpu_memcpy",
    ]
    assert [(lane.tid, lane.kind) for lane in trace.lanes] == [
        (5000000000 & 0xFFFFFFFF, "host"),
        (22, "host"),
        (7, "stream"),
    ]
    assert [trace.arguments[index] for index in (0, 1, 2)] == [
        {"note": "of all", "step_num": 7},
        {"long_name": "layer/op:MatMul", "note": "a text"},
        {},
    ]
    assert (trace.flows.source.tolist(), trace.flows.target.tolist()) == ([1], [5])
    assert trace.categories[trace.flows.category_id[0]] == "context"
    assert [(step.number, step.name, step.start_ns) for step in trace.steps] == [(7, "train", 2000)]
    assert [(c.process, c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("/host:CPU", "memory of cpu", "allocated", [7000], [64.0]),
        ("/device:GPU:0", "power", "watts", [1], [0.5]),
    ]
    assert trace.epoch_ns == 1795225657605640738
    assert trace.losses.counts == {"event without a time": 1}
    assert trace.losses.notes == ("message from the profiler: a buffer was full",)
    assert trace.metadata["hostnames"] == ["vm"]


def test_what_is_an_xspace_is_told_from_step_stats() -> None:
    assert looks_like_xplane(message())
    stats = StepStats()
    stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="x", all_end_rel_micros=1)
    for other in (stats, RunMetadata(step_stats=stats)):
        assert not looks_like_xplane(other.SerializeToString())
    assert len(read_trace(gzip.compress(message()), name="tiny")) == 8


def test_unknown_texts_and_times_out_of_range_do_no_harm() -> None:
    space = XSpace()
    line = space.planes.add(name="/host:CPU").lines.add(name="t", timestamp_ns=5)
    line.events.add(metadata_id=9, offset_ps=1000, duration_ps=1000).stats.add(metadata_id=8, ref_value=7)
    line.events.add(metadata_id=9, offset_ps=(1 << 63) - 1)
    line.events.add(metadata_id=9, offset_ps=0, duration_ps=-1000)
    trace = read_trace(space.SerializeToString(), name="tiny")
    assert (trace.names, trace.start_ns.tolist(), trace.arguments[1]) == (("",), [5, 6], {"": ""})
    assert trace.losses.counts == {"time out of range": 1, "negative duration": 1}
    assert all(explain(reason) for reason in trace.losses.counts)


def check(data: bytes) -> Trace | None:
    try:
        trace = read_trace(data, name="any")
    except TraceError:
        return None
    check_contract(trace)
    return trace


def test_truncation_anywhere() -> None:
    data = message()
    read = [check(data[:end]) for end in range(len(data))]
    # A plane's texts come after its lines, so what is left of a file still has slices, but without names.
    late = read[len(data) // 2]
    assert late is not None
    assert len(late) >= 4
    assert late.losses.counts["unreadable part"] >= 1


@given(st.integers(0, len(message()) * 8 - 1))
def test_a_flipped_bit_anywhere(bit: int) -> None:
    damaged = bytearray(message())
    damaged[bit // 8] ^= 1 << bit % 8
    check(bytes(damaged))


any_int64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(
    st.lists(st.tuples(st.integers(-2, 3), any_int64, any_int64, any_int64), max_size=10),
    any_int64,
    st.sampled_from(["train", "MemoryAllocation", "ThreadpoolListener::StartRegion", ""]),
    st.sampled_from(["_p", "_c", "step_num", "bytes_allocated", "x"]),
)
def test_any_events(events: list[tuple[int, int, int, int]], timestamp: int, name: str, stat: str) -> None:
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    plane.event_metadata[1].name = name
    plane.event_metadata[2].name = "ThreadpoolListener::StopRegion"
    plane.stat_metadata[1].name = stat
    line = plane.lines.add(timestamp_ns=timestamp)
    for metadata, offset, duration, value in events:
        line.events.add(metadata_id=metadata, offset_ps=offset, duration_ps=duration).stats.add(
            metadata_id=1, int64_value=value
        )
    assert check(space.SerializeToString()) is not None


@pytest.mark.peers
@pytest.mark.parametrize(
    ("logdir", "slices", "arrows_between", "steps"),
    [("tensorflow2", 3497, 665, [4, 5, 6, 7, 8, 9]), ("pack/tensorflow2", 491, 92, [1, 2])],
)
def test_a_profile_of_tensorflow_is_what_xprof_shows(
    peer: Callable[[str], Path], logdir: str, slices: int, arrows_between: int, steps: list[int]
) -> None:
    (path,) = peer(f"{logdir}/keras/train/plugins/profile").rglob("*.xplane.pb")
    trace = read_trace(path.read_bytes(), name=path.name)
    events = json.loads(peer(f"{logdir}.xprof_trace.json").read_bytes())["traceEvents"]
    # Added by xprof's analysis of groups, not recorded.
    derived = ("group_id", "flow", "is_eager")

    def texts(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((key, str(value)) for key, value in arguments.items() if key not in derived))

    def key(event: dict[str, Any]) -> tuple[int, str, int, int]:
        return event["tid"], event["name"], round(event["ts"] * 1000), round(event.get("dur", 0) * 1000)

    shown = [event for event in events if event.get("ph") in ("X", "i")]
    expected = Counter((*key(event), texts(event.get("args", {}))) for event in shown)
    columns = (trace.lane, trace.name_id, trace.start_ns, trace.duration_ns)
    keys = [
        (trace.lanes[lane].tid, trace.names[name], start, duration, texts(dict(trace.arguments[index])))
        for index, (lane, name, start, duration) in enumerate(zip(*(c.tolist() for c in columns), strict=True))
    ]
    assert Counter(keys) == expected
    assert len(keys) == slices
    names = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    assert {lane.tid: lane.name for lane in trace.lanes} == names
    # xprof puts both ends of an arrow into one flow, whose lowest two bits are the direction.
    flows = {key(event): int(event["args"]["flow"]) >> 2 for event in shown if "flow" in event.get("args", {})}
    arrows = np.stack([trace.flows.source, trace.flows.target], axis=1).tolist()
    assert len(arrows) == arrows_between
    assert all(flows[keys[source][:4]] == flows[keys[target][:4]] for source, target in arrows)
    assert [step.number for step in trace.steps] == steps


def test_modules_operations_and_scopes_are_derived_from_the_kernels_of_a_gpu() -> None:
    # Texts 11 and up; a kernel is what has details, and refers to its module, HLO operation or framework operation.
    texts = {11: "jit_f", 12: "fusion.1", 13: "call::dot", 14: "a/b/MatMul:MatMul", 15: "a/c/add:AddV2", 16: "regs:8"}
    stats = dict(enumerate(("kernel_details", "hlo_module", "hlo_op", "tf_op", "program_id"), 1))

    def kernel(start: int, duration: int, *refs: tuple[int, int], program: int | None = None) -> str:
        said = "".join(f"stats {{ metadata_id: {stat} ref_value: {text} }} " for stat, text in refs)
        said += f"stats {{ metadata_id: 5 uint64_value: {program} }}" if program is not None else ""
        return f"events {{ metadata_id: 1 offset_ps: {start}000 duration_ps: {duration}000 {said} }}"

    details = (1, 16)
    first = [
        kernel(0, 10, details, (2, 11), (3, 12), program=7),
        kernel(20, 10, details, (2, 11), (3, 12), program=7),
        kernel(40, 10, details, (2, 11), (3, 13), program=7),
        kernel(60, 10, (4, 14)),
    ]
    second = [kernel(100, 5, details, (4, 14)), kernel(110, 5, details, (4, 14)), kernel(120, 5, details, (4, 15))]
    metadata = "".join(
        f'stat_metadata {{ key: {number} value {{ id: {number} name: "{name}" }} }}'
        for number, name in (texts | stats).items()
    )
    text = (
        f'planes {{ name: "/device:GPU:0" lines {{ id: 1 name: "Stream #1" {" ".join(first)} }} '
        f'lines {{ id: 2 name: "Stream #2" {" ".join(second)} }} '
        f'event_metadata {{ key: 1 value {{ id: 1 name: "k" }} }} {metadata} }}'
    )
    trace = read_trace(text_format.Parse(text, XSpace()).SerializeToString(), name="gpu")
    found = [
        (trace.lanes[lane].name, depth, trace.names[name], start, start + duration)
        for lane, depth, name, start, duration in zip(
            *(c.tolist() for c in (trace.lane, trace.depth, trace.name_id, trace.start_ns, trace.duration_ns)),
            strict=True,
        )
        if trace.lanes[lane].kind == "other"
    ]
    assert found == [
        ("XLA Modules", 0, "jit_f(7)", 0, 50),
        ("XLA Ops", 0, "fusion.1", 0, 30),
        ("XLA Ops", 0, "call", 40, 50),
        ("XLA Ops", 1, "dot", 40, 50),
        ("Framework Name Scope", 0, "a", 100, 125),
        ("Framework Name Scope", 1, "b", 100, 115),
        ("Framework Name Scope", 1, "c", 120, 125),
        ("Framework Ops", 0, "MatMul", 100, 115),
        ("Framework Ops", 0, "AddV2", 120, 125),
    ]
    # None of the derived slices is counted beside the kernels.
    assert Counter(KINDS[kind] for kind in classify(trace)) == {"kernel": 7, "annotation": 6, "other": 3}


def test_calls_lead_to_what_they_launched_and_derived_slices_end_with_the_step_of_the_call() -> None:
    def stats(**values: int) -> str:
        numbers = {"step_num": 1, "correlation_id": 2, "kernel_details": 3, "hlo_module": 4}
        return "".join(
            f"stats {{ metadata_id: {numbers[name]} "
            f"{'uint64_value' if name in ('step_num', 'correlation_id') else 'ref_value'}: {value} }} "
            for name, value in values.items()
        )

    def event(name: int, start: int, duration: int, **values: int) -> str:
        return f"events {{ metadata_id: {name} offset_ps: {start}000 duration_ps: {duration}000 {stats(**values)} }}"

    def kernel(start: int, correlation: int) -> str:
        return event(3, start, 10, correlation_id=correlation, kernel_details=5, hlo_module=6)

    texts = enumerate(("step_num", "correlation_id", "kernel_details", "hlo_module", "regs:8", "jit_f"), 1)
    stat_metadata = " ".join(
        f'stat_metadata {{ key: {number} value {{ id: {number} name: "{name}" }} }}' for number, name in texts
    )
    names = " ".join(
        f'event_metadata {{ key: {number} value {{ id: {number} name: "{name}" }} }}'
        for number, name in enumerate(("train", "cuGraphLaunch", "gemm"), 1)
    )
    host = [event(1, 0, 100, step_num=7), event(2, 10, 5, correlation_id=1)]
    host += [event(1, 100, 100, step_num=8), event(2, 110, 5, correlation_id=2)]
    # The device lags behind, and no call is recorded for the last kernel.
    device = [kernel(60, 1), kernel(80, 1), kernel(130, 2), kernel(150, 3)]
    text = "".join(
        f'planes {{ id: {number} name: "{plane}" lines {{ id: {number} name: "{line}" {" ".join(events)} }} '
        f"{names} {stat_metadata} }} "
        for number, (plane, line, events) in enumerate(
            (("/device:GPU:0", "Stream #7", device), ("/host:CPU", "python", host)), 1
        )
    )
    trace = read_trace(text_format.Parse(text, XSpace()).SerializeToString(), name="gpu")
    assert [(lane.process, lane.name) for lane in trace.lanes] == [
        ("/device:GPU:0", "Stream #7"),
        ("/device:GPU:0", "XLA Modules"),
        ("/host:CPU", "python"),
    ]
    named = [
        (trace.names[name], start) for name, start in zip(trace.name_id.tolist(), trace.start_ns.tolist(), strict=True)
    ]
    arrows = zip(
        trace.flows.source.tolist(), trace.flows.target.tolist(), trace.flows.category_id.tolist(), strict=True
    )
    assert [(named[source], named[target], trace.categories[category]) for source, target, category in arrows] == [
        (("cuGraphLaunch", 10), ("gemm", 60), "launch"),
        (("cuGraphLaunch", 10), ("gemm", 80), "launch"),
        (("cuGraphLaunch", 110), ("gemm", 130), "launch"),
    ]
    modules = np.flatnonzero(trace.lane == 1)
    assert [(int(trace.start_ns[each]), int(trace.duration_ns[each])) for each in modules] == [
        (60, 30),
        (130, 10),
        (150, 10),
    ]
