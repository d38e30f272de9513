"""Any bytes give either a trace that keeps its contract, or a `TraceError`."""

import gzip
import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import TraceError, read_trace, trace_of_step_stats
from stepscope.profiler.traces.compression import zstd_compress
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

AN_EVENT = {"ph": "i", "name": "an event", "ts": 3, "pid": 1, "tid": 1}
"""Arrays in which nothing is an event are no traces."""
SAMPLE = json.dumps(
    {
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
            {"ph": "X", "name": "op", "cat": "cpu_op", "pid": 1, "tid": "7", "ts": 1.5, "dur": 9, "args": {"a": [{}]}},
            {"ph": "B", "name": "é\n", "pid": 1, "tid": 7, "ts": "2"},
            {"ph": "s", "name": "f", "cat": "f", "id": 3, "pid": 1, "tid": 7, "ts": 3},
            {"ph": "t", "name": "f", "cat": "f", "id": 3, "pid": 1, "tid": 7, "ts": 4},
            {"ph": "E", "pid": 1, "tid": 7, "ts": 5, "args": {"b": 2}},
            {"ph": "b", "name": "a", "cat": "a", "id": "0x1", "pid": 1, "ts": 5},
            {"ph": "C", "name": "c", "pid": 1, "ts": 5, "args": {"x": 1}},
            {},
            {"ph": "X", "name": "op", "cat": "cpu_op", "pid": 1, "tid": 7, "ts": 8, "dur": 9},
        ],
        "displayTimeUnit": "ms",
    }
).encode()


def check_contract(trace: Trace) -> None:
    columns = (trace.start_ns, trace.duration_ns, trace.lane, trace.depth, trace.name_id, trace.category_id)
    assert {len(column) for column in columns} == {len(trace)}
    assert (trace.duration_ns >= 0).all()
    for ids, size in ((trace.lane, trace.lanes), (trace.name_id, trace.names), (trace.category_id, trace.categories)):
        assert ((ids >= 0) & (ids < len(size))).all()
    for index, lane in enumerate(trace.lanes):
        depths = trace.depth[trace.lane == index]
        assert sorted(set(depths.tolist())) == list(range(lane.depths))
    key = np.stack([trace.lane, trace.depth, trace.start_ns])
    assert (np.lexsort(key[::-1]) == np.arange(len(trace))).all()
    same_row = (np.diff(trace.lane) == 0) & (np.diff(trace.depth) == 0)
    ends = (trace.start_ns + trace.duration_ns)[:-1]
    assert (ends[same_row] <= trace.start_ns[1:][same_row]).all()
    for ends_of_flows in (trace.flows.source, trace.flows.target):
        assert ((ends_of_flows >= 0) & (ends_of_flows < len(trace))).all()
    for counter in trace.counters:
        assert (np.diff(counter.times_ns) >= 0).all()
        assert len(counter.times_ns) == len(counter.values)
    for index in range(len(trace)):
        assert isinstance(dict(trace.arguments[index]), dict)


def check(data: bytes) -> None:
    try:
        trace = read_trace(data, name="any")
    except TraceError:
        return
    check_contract(trace)


def test_truncation_anywhere() -> None:
    for end in range(len(SAMPLE)):
        check(SAMPLE[:end])
    for compressed in (gzip.compress(SAMPLE), zstd_compress(SAMPLE)):
        for end in range(len(compressed)):
            check(compressed[:end])


@given(st.integers(0, len(SAMPLE) * 8 - 1))
def test_a_flipped_bit_anywhere(bit: int) -> None:
    damaged = bytearray(SAMPLE)
    damaged[bit // 8] ^= 1 << bit % 8
    check(bytes(damaged))


def test_a_damaged_event_costs_no_other() -> None:
    events = [{"ph": "X", "name": f"n{i}", "pid": 1, "ts": i, "dur": 1, "args": {"i": i}} for i in range(20)]
    parts = [json.dumps(event).encode() for event in events]
    for byte in range(len(parts[10])):
        for replacement in b'x"{}[],:\\\n':
            damaged = bytearray(parts[10])
            damaged[byte] = replacement
            trace = read_trace(b"[" + b",".join([*parts[:10], bytes(damaged), *parts[11:]]) + b"]", name="any")
            kept = {trace.names[index] for index in trace.name_id}
            # A misplaced quote or bracket may take the next event along, but never more.
            assert kept >= {f"n{i}" for i in range(20) if i not in (10, 11)}


@given(
    st.binary(max_size=200),
    st.sampled_from(
        [
            b"",
            b"{",
            b"[",
            b'{"traceEvents":[',
            b"[{",
            b"\n",
            b"\x1f\x8b",
            b"\x28\xb5\x2f\xfd",
            b"stepscope trace 1\n",
            b"\n\x05",
        ]
    ),
)
def test_any_bytes(data: bytes, prefix: bytes) -> None:
    check(prefix + data)


scalars = st.none() | st.booleans() | st.integers(-5, 30) | st.floats() | st.text(max_size=3)
frames = st.fixed_dictionaries({}, optional={"name": scalars, "parent": st.integers(0, 4) | scalars})
nodes = st.fixed_dictionaries({}, optional={"id": scalars, "parent": scalars, "callFrame": frames | scalars})
profiles = scalars | st.fixed_dictionaries(
    {},
    optional={
        "startTime": scalars,
        "timeDeltas": st.lists(scalars, max_size=3) | scalars,
        "cpuProfile": st.fixed_dictionaries(
            {}, optional={"nodes": st.lists(nodes | scalars, max_size=3) | scalars, "samples": st.lists(scalars)}
        )
        | scalars,
    },
)
sizes = st.fixed_dictionaries({}, optional={"size": st.fixed_dictionaries({"value": scalars}) | scalars})
dumps = scalars | st.fixed_dictionaries(
    {},
    optional={
        "process_totals": st.dictionaries(st.text(max_size=2), scalars, max_size=2) | scalars,
        "allocators": st.dictionaries(
            st.text(max_size=2), st.fixed_dictionaries({"attrs": sizes | scalars}) | scalars, max_size=2
        )
        | scalars,
    },
)
events_of_any_kind = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from("XXXXBEiIRCbnestfMNODPcvV()STpF") | scalars,
        "name": st.sampled_from(
            ["a", "b", "process_name", "thread_sort_index", "ProfilerStep#1", "[memory]", "Profile", "ProfileChunk"]
        )
        | scalars,
        "cat": st.sampled_from("cd") | scalars,
        "ts": st.integers(0, 30) | st.integers(0, 30).map(str) | scalars,
        "dur": st.integers(0, 10) | scalars,
        "pid": st.integers(0, 2) | scalars,
        "tid": st.integers(0, 2) | scalars,
        "id": st.integers(0, 3) | scalars,
        "bind_id": st.integers(0, 1),
        "flow_in": st.booleans(),
        "flow_out": st.booleans(),
        "bp": st.just("e"),
        "sf": st.integers(0, 4) | scalars,
        "stack": st.lists(scalars, max_size=2) | scalars,
        "args": st.dictionaries(st.sampled_from(["name", "sort_index", "x", "Bytes"]), scalars, max_size=2)
        | st.fixed_dictionaries({"data": profiles})
        | st.fixed_dictionaries({"dumps": dumps})
        | scalars,
    },
)


@given(
    st.lists(events_of_any_kind, max_size=30),
    st.fixed_dictionaries(
        {},
        optional={
            "stackFrames": st.dictionaries(st.sampled_from("01234"), frames | scalars) | scalars,
            "samples": st.lists(st.dictionaries(st.sampled_from(["ts", "sf", "tid", "pid"]), scalars) | scalars)
            | scalars,
            "baseTimeNanoseconds": scalars | st.integers(),
            "viztracer_metadata": st.dictionaries(st.sampled_from(["overflow", "baseTimeNanoseconds"]), scalars)
            | scalars,
            "metadata": scalars,
            "WARNING": st.lists(scalars) | scalars,
        },
    ),
)
def test_any_events(events: list[dict[str, Any]], top: dict[str, Any]) -> None:
    check_contract(read_trace(json.dumps({**top, "traceEvents": [*events, AN_EVENT]}).encode(), name="any"))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=30))
def test_crossing_slices_are_counted_as_an_oracle_counts_them(spans: list[tuple[int, int]]) -> None:
    events = [{"ph": "X", "name": "a", "pid": 1, "ts": ts, "dur": dur} for ts, dur in spans]
    trace = read_trace(json.dumps(events).encode(), name="any")
    check_contract(trace)
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
    ordered = [(spans[i][0], sum(spans[i])) for i in order]
    crossing = sum(
        any(start < other_end < end for _, other_end in ordered[:index]) for index, (start, end) in enumerate(ordered)
    )
    assert trace.losses.counts.get("overlaps its neighbor", 0) == crossing
    assert sorted(zip(trace.start_ns.tolist(), trace.duration_ns.tolist(), strict=True)) == sorted(
        (ts * 1000, dur * 1000) for ts, dur in spans
    )


any_int64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(
    st.lists(st.tuples(any_int64, any_int64, st.text(max_size=12), st.text(max_size=12)), max_size=10),
    st.text(max_size=20),
)
def test_any_step_stats(nodes: list[tuple[int, int, str, str]], device: str) -> None:
    step_stats = StepStats(
        dev_stats=[
            DeviceStepStats(
                device=device,
                node_stats=[
                    NodeExecStats(node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_nanos=end)
                    for start, end, name, label in nodes
                ],
            )
        ]
    )
    check_contract(trace_of_step_stats(step_stats, step=1))
