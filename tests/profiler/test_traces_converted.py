"""Traces written in another format and read again: what is kept, and what damage does."""

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

from stepscope.profiler.analysis.classify import KINDS, Kind
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.trace import Counter as TraceCounter
from stepscope.profiler.trace import Lane, LaneKind, Step, Trace
from stepscope.profiler.traces import TraceError, read_trace, trace_of_step_stats
from stepscope.profiler.traces.cache import BLOCK, encode_cache
from stepscope.profiler.traces.simple import Slice, trace_of_slices
from stepscope.profiler.traces.to_chrome import chrome_json
from stepscope.profiler.traces.to_step_stats import not_carried, step_stats_of_trace
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.proto.xplane_pb2 import XSpace
from tests.profiler.test_traces_any_input import AN_EVENT, SAMPLE, check_contract, events_of_any_kind

KINETO = {
    "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    "distributedInfo": {"rank": 1},
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": "main"}},
        {"ph": "X", "name": "ProfilerStep#3", "cat": "user_annotation", "pid": 9, "tid": 9, "ts": 1.001, "dur": 50},
        {"ph": "X", "name": "launch", "cat": "cuda_runtime", "pid": 9, "tid": 9, "ts": 2, "dur": 3, "args": {"c": 1}},
        {"ph": "s", "name": "ac2g", "cat": "ac2g", "id": 1, "pid": 9, "tid": 9, "ts": 2},
        {
            "ph": "X", "name": "void sgemm(float)", "cat": "kernel", "pid": 0, "tid": 7, "ts": 9, "dur": 20.5,
            "args": {"grid": [1, 2, 3], "block": [4, 1, 1], "registers per thread": 8, "rate": 1.5},
        },
        {"ph": "f", "name": "ac2g", "cat": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 9, "bp": "e"},
        {
            "ph": "X", "name": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy", "pid": 0, "tid": 7, "ts": 31,
            "dur": 0, "args": {"bytes": 4},
        },
        {"ph": "X", "name": "all of it", "cat": "x", "pid": 9, "tid": 8, "ts": 0, "dur": 5},
        {"ph": "X", "name": "crosses", "cat": "x", "pid": 9, "tid": 8, "ts": 3, "dur": 5},
        {"ph": "C", "name": "memory", "pid": 9, "ts": 4, "args": {"used": 7.5}},
    ],
}  # fmt: skip


def kineto() -> Trace:
    return read_trace(json.dumps(KINETO).encode(), name="kineto")


def slices(trace: Trace, *, absolute: bool = False) -> Counter[tuple[str, str, str, str, int, int, str]]:
    shift = (trace.epoch_ns or 0) if absolute else 0
    return Counter(
        (
            trace.lanes[lane].process,
            trace.lanes[lane].name.partition(" (")[0],
            trace.names[name],
            trace.categories[category],
            int(start) + shift,
            int(duration),
            json.dumps(dict(trace.arguments[index]), sort_keys=True, default=str),
        )
        for index, (lane, name, category, start, duration) in enumerate(
            zip(trace.lane, trace.name_id, trace.category_id, trace.start_ns, trace.duration_ns, strict=True)
        )
    )


def arrows(trace: Trace) -> Counter[tuple[str, str, str]]:
    flows = trace.flows
    return Counter(
        (trace.names[trace.name_id[a]], trace.names[trace.name_id[b]], trace.categories[c])
        for a, b, c in zip(flows.source, flows.target, flows.category_id, strict=True)
    )


def check_same(found: Trace, trace: Trace) -> None:
    for column in ("start_ns", "duration_ns", "lane", "depth", "name_id", "category_id"):
        assert np.array_equal(getattr(found, column), getattr(trace, column))
        assert getattr(found, column).dtype == getattr(trace, column).dtype
    assert (found.names, found.categories, found.lanes, found.steps) == (
        trace.names,
        trace.categories,
        trace.lanes,
        trace.steps,
    )
    assert (found.losses, found.epoch_ns) == (trace.losses, trace.epoch_ns)
    assert slices(found) == slices(trace)
    assert arrows(found) == arrows(trace)
    assert [(c.process, c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in found.counters] == [
        (c.process, c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters
    ]


def test_a_cache_holds_everything() -> None:
    trace = kineto()
    found = read_trace(encode_cache(trace), name="cache")
    check_same(found, trace)
    assert found.metadata == trace.metadata


def test_a_cache_holds_what_msgpack_has_no_form_for() -> None:
    big = 10**30
    arguments = f'{{"big":{big},"nan":NaN,"half":"\\ud800"}}'
    text = f'[{{"ph":"X","name":"\\ud800","pid":1,"ts":1,"dur":1,"args":{arguments}}}]'
    found = read_trace(encode_cache(read_trace(text.encode(), name="odd")), name="cache")
    kept = found.arguments[0]
    assert (kept["big"], kept["half"]) == (str(big), "\\ud800")
    assert kept["nan"] != kept["nan"]


def test_a_cache_holds_counters_of_any_type_of_number() -> None:
    lane = Lane("host", "main", 1, 1, "host", 0)
    used = TraceCounter("host", "memory", "used", np.array([0, 1], np.int32), np.array([1, 1 << 40]))
    trace = trace_of_slices([Slice("a", 0, 5, lane)], counters=[used])
    check_same(read_trace(encode_cache(trace), name="cache"), trace)


def test_arguments_of_many_blocks_are_found() -> None:
    count = 2 * BLOCK + 3
    events = [{"ph": "X", "name": "a", "pid": 1, "ts": i, "dur": 1, "args": {"i": i}} for i in range(count)]
    found = read_trace(encode_cache(read_trace(json.dumps(events).encode(), name="many")), name="cache")
    assert [found.arguments[i]["i"] for i in (0, BLOCK - 1, BLOCK, count - 1, 5)] == [0, BLOCK - 1, BLOCK, count - 1, 5]


def test_a_damaged_cache_is_refused_or_says_what_is_lost() -> None:
    data = encode_cache(kineto())
    refused = 0
    for byte in range(len(data)):
        damaged = bytearray(data)
        damaged[byte] ^= 0xFF
        try:
            check_contract(read_trace(bytes(damaged), name="cache"))
        except TraceError:
            refused += 1
    assert refused > len(data) // 2
    for end in range(len(data) // 2):
        with pytest.raises(TraceError):
            read_trace(data[:end], name="cache")
    for end in range(len(data) // 2, len(data)):
        try:
            check_contract(read_trace(data[:end], name="cache"))
        except TraceError:
            continue
    damaged = bytearray(data)
    damaged[-1] ^= 0xFF
    assert read_trace(bytes(damaged), name="cache").arguments[0] == {
        "damaged": "the arguments of this slice cannot be read"
    }


@given(st.lists(events_of_any_kind, max_size=20))
def test_any_trace_survives_a_cache(events: list[dict[str, Any]]) -> None:
    trace = read_trace(json.dumps({"traceEvents": [*events, AN_EVENT]}).encode(), name="any")
    found = read_trace(encode_cache(trace), name="cache")
    check_contract(found)
    assert np.array_equal(found.start_ns, trace.start_ns)
    assert (found.lanes, len(found.names), found.losses.counts) == (trace.lanes, len(trace.names), trace.losses.counts)


def test_chrome_json_holds_slices_flows_counters_and_the_clock() -> None:
    trace = kineto()
    data = b"".join(chrome_json(trace))
    document = json.loads(data)
    assert document["distributedInfo"] == {"rank": 1}
    assert document["baseTimeNanoseconds"] == KINETO["baseTimeNanoseconds"]
    found = read_trace(data, name="again")
    assert slices(found, absolute=True) == slices(trace, absolute=True)
    assert arrows(found) == arrows(trace) == {("launch", "void sgemm(float)", "ac2g"): 1}
    assert [(c.name, c.series, c.values.tolist()) for c in found.counters] == [("memory", "used", [7.5])]
    assert [step.number for step in found.steps] == [3]
    # Overlapping slices now have a thread of their own, because viewers drop them.
    assert (trace.losses.counts, found.losses.counts) == ({"overlaps its neighbor": 1}, {})
    assert [lane.name for lane in found.lanes if lane.pid == 9] == ["thread 8", "thread 8 (2)", "main"]


def test_steps_without_slices_are_written_as_slices() -> None:
    stats = StepStats()
    stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="x", all_start_micros=3, all_end_rel_micros=9)
    trace = trace_of_step_stats(stats, step=12)
    found = read_trace(b"".join(chrome_json(trace)), name="again")
    assert [(step.number, step.duration_ns) for step in found.steps] == [(12, trace.steps[0].duration_ns)]


XSPACE = """
planes { name: "/host:CPU"
  lines { id: 1 name: "python"
    events { metadata_id: 1 duration_ps: 100000000 stats { metadata_id: 1 int64_value: 7 } }
    events { metadata_id: 2 offset_ps: 1000000 duration_ps: 2000000 } }
  event_metadata { key: 1 value { id: 1 name: "train" } }
  event_metadata { key: 2 value { id: 2 name: "dot" } }
  stat_metadata { key: 1 value { id: 1 name: "step_num" } } }
planes { id: 1 name: "/device:GPU:0"
  lines { id: 1 name: "Steps" events { metadata_id: 1 offset_ps: 5000000 duration_ps: 50000000 } }
  lines { id: 2 name: "Stream #7(Compute)"
    events { metadata_id: 2 offset_ps: 5000000 duration_ps: 50000000
      stats { metadata_id: 1 ref_value: 3 } stats { metadata_id: 2 ref_value: 4 } } }
  event_metadata { key: 1 value { id: 1 name: "0" } }
  event_metadata { key: 2 value { id: 2 name: "fusion" } }
  stat_metadata { key: 1 value { id: 1 name: "kernel_details" } }
  stat_metadata { key: 2 value { id: 2 name: "hlo_module" } }
  stat_metadata { key: 3 value { id: 3 name: "regs:32" } }
  stat_metadata { key: 4 value { id: 4 name: "jit_f" } } }
"""
"""A step that the host marks, what xprof calls a step of the GPU, and a kernel from which a lane is derived."""


def kinds(trace: Trace) -> set[tuple[str, LaneKind, str, Kind]]:
    columns = zip(trace.lane.tolist(), trace.name_id.tolist(), Facts(trace).kinds.tolist(), strict=True)
    return {
        (trace.lanes[lane].name, trace.lanes[lane].kind, trace.names[name], KINDS[kind]) for lane, name, kind in columns
    }


def test_chrome_json_tells_the_steps_of_an_xspace_and_that_derived_lanes_do_not_count() -> None:
    trace = read_trace(text_format.Parse(XSPACE, XSpace()).SerializeToString(), name="xspace")
    expected = {
        ("python", "host", "train", "annotation"),
        ("python", "host", "dot", "operator"),
        ("Steps", "device", "0", "annotation"),
        ("Stream #7(Compute)", "stream", "fusion", "kernel"),
        ("XLA Modules", "other", "jit_f", "annotation"),
    }
    assert (trace.steps, kinds(trace)) == ((Step(7, "train", 0, 100_000),), expected)
    again = read_trace(b"".join(chrome_json(trace)), name="again")
    written = ("Steps", "other", "train", "annotation")
    assert (again.steps, kinds(again)) == (trace.steps, expected | {written})
    assert len(read_trace(b"".join(chrome_json(again)), name="and again")) == len(again)


def test_arrows_at_instants_stay_there_in_chrome_json() -> None:
    events = [
        {"ph": "i", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "X", "name": "at the same time", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
        {"ph": "X", "name": "target", "pid": 1, "tid": 2, "ts": 20, "dur": 50},
        {"ph": "s", "cat": "c", "name": "f", "id": 1, "pid": 1, "tid": 1, "ts": 10},
        {"ph": "f", "bp": "e", "cat": "c", "name": "f", "id": 1, "pid": 1, "tid": 2, "ts": 20},
    ]
    trace = read_trace(json.dumps(events).encode(), name="instant")
    again = read_trace(b"".join(chrome_json(trace)), name="again")
    assert arrows(again) == arrows(trace) == {("mark", "target", "c"): 1}
    assert slices(again) == slices(trace)


@given(st.lists(events_of_any_kind, max_size=20))
def test_any_trace_can_be_written_as_chrome_json(events: list[dict[str, Any]]) -> None:
    trace = read_trace(json.dumps({"traceEvents": [*events, AN_EVENT]}).encode(), name="any")
    found = read_trace(b"".join(chrome_json(trace)), name="again")
    check_contract(found)
    assert sorted(found.duration_ns.tolist()) == sorted(trace.duration_ns.tolist())


def test_step_stats_hold_kernels_copies_and_threads() -> None:
    trace = kineto()
    stats = step_stats_of_trace(trace)
    assert [(device.device, [node.node_name for node in device.node_stats]) for device in stats.dev_stats] == [
        ("/host:python", ["all of it", "crosses", "ProfilerStep#3", "launch"]),
        ("/device:GPU:0/stream:7", ["void sgemm(float)", "MemcpyH2D"]),
        ("/device:GPU:0/stream:all", ["void sgemm(float)"]),
        ("/device:GPU:0/memcpy", ["MemcpyH2D"]),
    ]
    found = read_trace(stats.SerializeToString(), name="stats")
    assert Counter((found.names[name], start) for name, start in zip(found.name_id, found.start_ns, strict=True)) == (
        Counter(
            (trace.names[name].partition(" (Pageable")[0], start + KINETO["baseTimeNanoseconds"])
            for name, start in zip(trace.name_id, trace.start_ns, strict=True)
        )
    )
    kernel = found.arguments[found.name_id.tolist().index(found.names.index("void sgemm(float)"))]
    assert (kernel["grid"], kernel["block"], kernel["registers per thread"]) == ([1, 2, 3], [4, 1, 1], 8)
    assert found.losses.counts == {"stored twice, shown once": 2, "overlaps its neighbor": 1}
    assert (
        not_carried(trace)
        == "Not converted, because StepStats cannot hold them: 1 counter, 1 arrow, and most arguments."
    )


@given(st.lists(events_of_any_kind, max_size=20))
def test_any_trace_can_be_written_as_step_stats(events: list[dict[str, Any]]) -> None:
    trace = read_trace(json.dumps({"traceEvents": [*events, AN_EVENT]}).encode(), name="any")
    check_contract(trace_of_step_stats(step_stats_of_trace(trace)))


PEERS = [
    "hta/simple_add.json.gz",
    "hta/amd_mi250.json.gz",
    "torch_profiler/cpu.1795227341401647509.pt.trace.json.gz",
    "tensorflow1/rm_4.timeline_dataflow_memory.json",
    "timeline/gen2_0.step_stats.pb",
    "timeline/gen3_1.step_stats.pb",
    "tensorflow2/keras/train/plugins/profile/2026_11_21_01_47_37/vm.xplane.pb",
    "pack/kineto/rank-0.json.gz",
    "pack/torch_profiler/cpu.pt.trace.json.gz",
    "pack/tensorflow1/rm_4.timeline_dataflow_memory.json",
    "pack/timeline/gen2_0.step_stats.pb",
    "pack/timeline/gen3_1.step_stats.pb",
    "pack/tensorflow2/keras/train/plugins/profile/2026_11_24_04_17_28/vm.xplane.pb",
]


@pytest.mark.peers
@pytest.mark.parametrize("name", PEERS)
def test_traces_of_other_tools_survive_every_format(peer: Callable[[str], Path], name: str) -> None:
    trace = read_trace(peer(name).read_bytes(), name=name)
    check_same(read_trace(encode_cache(trace), name="cache"), trace)
    again = read_trace(b"".join(chrome_json(trace)), name="chrome")
    # Steps that are not slices are written as slices.
    written = slices(again, absolute=True)
    assert Counter({key: count for key, count in written.items() if key[0] != "Steps"}) == slices(trace, absolute=True)
    assert [step.number for step in again.steps] == [step.number for step in trace.steps]
    assert arrows(again) == arrows(trace)
    assert sum(len(c.values) for c in again.counters) >= sum(len(c.values) for c in trace.counters)
    stats = trace_of_step_stats(step_stats_of_trace(trace))
    repeated = stats.losses.counts.get("stored twice, shown once", 0)
    on_streams = sum(lane.kind in ("stream", "memcpy") for lane in (trace.lanes[index] for index in trace.lane))
    # StepStats have no place for lifetimes of tensors without their nodes.
    tensors = sum(trace.lanes[index].process == "Tensors" for index in trace.lane)
    assert (len(stats), repeated) == (len(trace) - tensors, on_streams)


def test_the_sample_survives_every_format() -> None:
    trace = read_trace(SAMPLE, name="sample")
    check_same(read_trace(encode_cache(trace), name="cache"), trace)
    assert slices(read_trace(b"".join(chrome_json(trace)), name="chrome")) == slices(trace)
