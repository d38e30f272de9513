"""Hostile traces, on a small scale: the resources that they take are bounded, counted, and near-linear."""

import gc
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.profiler.trace import Step, Trace
from stepscope.profiler.traces import TraceError, cache, read_trace, trace_of_step_stats
from stepscope.profiler.traces.build import rows_of
from stepscope.profiler.traces.cache import encode_cache
from stepscope.profiler.traces.chrome_arguments import MOST_ARGUMENT_BYTES, MOST_DECODED_BYTES, BesideEvents
from stepscope.profiler.traces.chrome_events import scan_events
from stepscope.profiler.traces.chrome_flows import flow_events
from stepscope.profiler.traces.compression import BEGINNING, unpacked, zstd_compress
from stepscope.profiler.traces.flows import _bind
from stepscope.profiler.traces.limits import Limits
from stepscope.profiler.traces.losses import FURTHER, MOST_EXAMPLE, MOST_REASONS, LossTally, explain
from stepscope.profiler.traces.nesting import in_order_of_start
from stepscope.profiler.traces.row_trees import slices_at
from stepscope.profiler.traces.samples import Frame, StackFrames
from stepscope.profiler.traces.texts import MOST_CHARACTERS
from stepscope.summary.bounded_messages import SMALL_PARTS
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.proto.xplane_pb2 import XSpace

LONG = "a" * (7 * MOST_CHARACTERS)
ENOUGH = Limits(1 << 30, 1 << 20, 1 << 20)


def chrome(*events: dict[str, Any], limits: Limits = ENOUGH) -> Trace:
    return read_trace(json.dumps(events).encode(), name="tiny", limits=limits)


def slice_(name: str, ts: int = 0, dur: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, **more}


@pytest.mark.parametrize("compress", [gzip.compress, zstd_compress])
@pytest.mark.parametrize("filled", [b"\0", b" ", b"\n", b"\xff"])
def test_what_cannot_become_a_trace_is_refused_by_its_beginning(
    compress: Callable[[bytes], bytes], filled: bytes
) -> None:
    packed = compress(filled * 20 * BEGINNING)
    seen: list[bytes] = []

    def refuse(beginning: bytes) -> None:
        seen.append(beginning)
        raise TraceError("not this")

    with pytest.raises(TraceError, match="not this"):
        unpacked(packed, "bomb", ENOUGH, refuse)
    assert seen == [filled * BEGINNING]
    with pytest.raises(TraceError, match=r"^bomb is not a trace\. Expected a Chrome trace"):
        read_trace(packed, name="bomb")


def test_the_beginning_of_a_compressed_trace_is_read_but_once() -> None:
    event = json.dumps(slice_("a" * 100)).encode()
    trace = read_trace(gzip.compress(b"[" + b",".join([event] * 5_000) + b"]"), name="large")
    assert (len(trace), trace.losses.notes) == (5_000, ())


@pytest.mark.parametrize("message", [b"\n\x06\n\x04/cpu", b"dev_stats { }\n"])
def test_messages_that_would_take_all_memory_are_not_parsed(message: bytes) -> None:
    limits = Limits(1 << 30, 10, message_bytes=100, text_bytes=100)
    with pytest.raises(TraceError, match=r"bomb is 0\.0 MiB and was not read: the limit for messages.* is 0\.0 MiB"):
        read_trace(message * 100, name="bomb", limits=limits)


def test_events_and_nodes_beyond_the_memory_are_left_out_and_said() -> None:
    # Events are read in batches of 65,536.
    trace = chrome(*[slice_("a", ts) for ts in range(70_000)], limits=replace(ENOUGH, events=10))
    assert len(trace) == 65_536
    assert trace.losses.notes[0].startswith("only the first 65,536 events were read, up to byte ")
    step_stats = StepStats()
    device = step_stats.dev_stats.add(device="/cpu:0")
    for number in range(5):
        device.node_stats.add(node_name=f"n{number}", all_start_micros=number + 1, all_end_rel_micros=1)
    kept = trace_of_step_stats(step_stats, most_nodes=2)
    assert ([kept.names[n] for n in kept.name_id if kept.names[n]][:2], kept.losses.counts) == (
        ["n0", "n1"],
        {"left out for lack of memory": 3},
    )
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    for number in range(2):
        events = plane.lines.add(id=number, name=f"line {number}").events
        for offset in range(3):
            events.add(metadata_id=1, offset_ps=offset * 1000, duration_ps=1000)
    plane.event_metadata[1].name = "work"
    some = read_trace(space.SerializeToString(), name="space", limits=replace(ENOUGH, events=4))
    assert (np.bincount(some.lane).tolist(), some.losses.counts) == ([3, 1], {"left out for lack of memory": 2})


def sampled(count: int, limits: Limits = ENOUGH) -> Trace:
    """Samples of one thread that alternate between two stacks of three functions."""
    frames = {
        f"{stack}{depth}": {"name": f"{stack}{depth}"} | ({"parent": f"{stack}{depth - 1}"} if depth else {})
        for stack in "ab"
        for depth in range(3)
    }
    sample = {"ph": "P", "name": "s", "pid": 1, "tid": 1}
    events = [{**sample, "ts": number, "sf": f"{'ab'[number % 2]}2"} for number in range(count)]
    text = json.dumps({"stackFrames": frames, "traceEvents": events})
    return read_trace(text.encode(), name="samples", limits=limits)


def test_slices_of_samples_beyond_the_memory_are_left_out_and_counted() -> None:
    trace = sampled(5, replace(ENOUGH, events=5 + 7))
    columns = (trace.name_id.tolist(), trace.start_ns.tolist(), trace.duration_ns.tolist())
    assert [(trace.names[name], start, duration) for name, start, duration in zip(*columns, strict=True)] == [
        *(("a0", 0, 1000), ("b0", 1000, 1000)),
        *(("a1", 0, 1000), ("b1", 1000, 1000)),
        *(("a2", 0, 1000), ("b2", 1000, 1000)),
    ]
    assert trace.losses.counts == {"left out for lack of memory": 3}


def test_entries_of_profiles_beyond_the_memory_are_left_out_and_counted() -> None:
    nodes = [{"id": number, "callFrame": {"functionName": f"f{number}"}} for number in range(3)]
    profile = {"startTime": 0, "cpuProfile": {"nodes": nodes, "samples": [0, 1, 2, 0]}, "timeDeltas": [0, 1, 1, 1]}
    trace = chrome(
        {"ph": "P", "name": "Profile", "pid": 1, "tid": 1, "ts": 0, "args": {"data": profile}},
        limits=replace(ENOUGH, events=1 + 5),
    )
    assert [trace.names[name] for name in trace.name_id] == ["f0", "f1"]
    assert trace.losses.counts == {"left out for lack of memory": 2}


def test_stacks_consist_of_the_same_frames() -> None:
    frames = StackFrames({"1": {"name": "f"}, "2": {"name": "g", "parent": 1}, "3": {"parent": 1}}, LossTally())
    assert (frames.stack(2), frames.stack("3")) == ((Frame("f"), Frame("g")), (Frame("f"), Frame("3")))
    assert frames.stack(2)[0] is frames.stack(3)[0] is frames.stack(1)[0]


def texts_of(trace: Trace) -> list[str]:
    lanes = [text for lane in trace.lanes for text in (lane.process, lane.name, str(lane.pid), str(lane.tid))]
    counters = [text for each in trace.counters for text in (each.process, each.name, each.series)]
    return [*trace.names, *trace.categories, *lanes, *counters, *(step.name for step in trace.steps)]


def hostile_names() -> Trace:
    """Every text of a Chrome trace, far too long."""
    return chrome(
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"p{LONG}"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": f"t{LONG}"}},
        slice_(f"{LONG}x", cat=f"c{LONG}"),
        slice_(f"{LONG}y", ts=5),
        slice_("b", ts=9, pid=f"q{LONG}", tid=f"r{LONG}"),
        {"ph": "b", "name": f"o{LONG}", "cat": "a", "id": f"i{LONG}", "pid": 1, "ts": 5},
        {"ph": "C", "name": f"n{LONG}", "pid": 1, "ts": 5, "args": {f"s{LONG}": 1}},
        {"ph": "P", "name": "s", "pid": 1, "tid": 7, "ts": 1, "stack": [f"f{LONG}"]},
    )


def test_long_texts_of_a_chrome_trace_are_cut_counted_and_told_apart() -> None:
    trace = hostile_names()
    assert max(map(len, texts_of(trace))) <= MOST_CHARACTERS
    x, y = (trace.names[trace.name_id[np.flatnonzero(trace.start_ns == ns)[0]]] for ns in (0, 5_000))
    assert x.startswith("a" * 4_000 + "a")
    assert x.partition("…")[2].startswith(f" ({len(LONG) + 1:,} in all, checksum ")
    assert x != y
    assert trace.losses.counts["text truncated"] >= 9
    assert explain("text truncated")
    assert max(len(example) for example in trace.losses.examples.values()) <= MOST_EXAMPLE
    # Texts that are cut stay cut, unchanged, when they are stored and read again.
    again = read_trace(encode_cache(trace), name="cache")
    assert (texts_of(again), again.losses) == (texts_of(trace), trace.losses)


def test_names_of_ordinary_length_stay_whole() -> None:
    name = "é" * MOST_CHARACTERS
    trace = chrome(slice_(name))
    assert (trace.names, trace.losses.counts) == ((name,), {})


def test_long_texts_of_messages_are_cut_and_counted() -> None:
    step_stats = StepStats()
    device = step_stats.dev_stats.add(device=f"/job:{LONG}/cpu:0")
    device.node_stats.add(node_name=LONG, timeline_label=f"{LONG} = {LONG}(x)", all_start_micros=1)
    space = XSpace()
    plane = space.planes.add(name=f"/host:{LONG}")
    plane.event_metadata[1].name = LONG
    plane.lines.add(id=1, name=LONG).events.add(metadata_id=1, duration_ps=1000)
    for trace in (trace_of_step_stats(step_stats), read_trace(space.SerializeToString(), name="space")):
        assert max(map(len, texts_of(trace))) <= MOST_CHARACTERS
        assert trace.losses.counts["text truncated"] >= 3


def test_long_arguments_are_kept_as_text_up_to_a_limit_and_counted() -> None:
    trace = chrome(slice_("a", args={"text": "b" * MOST_ARGUMENT_BYTES}), slice_("b", ts=5, args={"c": 1}))
    assert trace.losses.counts == {"arguments truncated": 1}
    assert len(trace.arguments[0]["args"]) == MOST_ARGUMENT_BYTES
    assert trace.arguments[1] == {"c": 1}
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    plane.stat_metadata[1].name = "text"
    plane.lines.add(id=1).events.add(metadata_id=1).stats.add(metadata_id=1, str_value="b" * (1 << 20))
    found = read_trace(space.SerializeToString(), name="space")
    assert found.losses.counts == {"arguments truncated": 1}
    assert list(found.arguments[0]) == ["args"]


def test_flows_stay_apart_though_the_names_identifiers_and_processes_multiply_to_more_than_64_bits() -> None:
    text = json.dumps(
        [{"ph": phase, "cat": phase, "name": "a", "id": 1, "pid": 1, "tid": 1, "ts": 0} for phase in "sf"]
    )
    events = scan_events(np.frombuffer(text.encode(), np.uint8), 1, LossTally(), 2)
    many = ["a"] * ((1 << 18) - 1)
    events = replace(
        events,
        columns=events.columns._replace(category=np.array([0, 1 << 10], np.int32)),
        names=many,
        ids=many,
        places=many,
    )
    flows = flow_events(events, np.arange(2), {}, np.full(2, -1), np.zeros(2, np.int32))
    assert len(set(flows.key.tolist())) == 2


def test_what_is_beside_the_events_is_bounded_in_its_parts_all_together() -> None:
    half = "[" + "0," * (SMALL_PARTS // 2) + "0]"
    frames = f'{{"ph":"M","name":"stackFrames","args":{{"stackFrames":{half}}}}}'
    events = f"[{json.dumps(slice_('a'))},{frames}]"
    trace = read_trace(f'{{"a":{half},"b":{half},"c":7,"traceEvents":{events}}}'.encode(), name="parts")
    assert (list(trace.metadata), trace.metadata["c"]) == (["a", "c"], 7)
    assert trace.losses.counts == {"non-event data left out": 2}
    assert trace.losses.examples == {"non-event data left out": f"“b”, {SMALL_PARTS + 7:,} bytes"}


def test_marks_in_texts_beside_the_events_are_no_parts() -> None:
    text = json.dumps('"' + "[" * SMALL_PARTS)
    trace = read_trace(f'{{"a":{text},"b":[{text}],"traceEvents":[{json.dumps(slice_("a"))}]}}'.encode(), name="texts")
    assert (list(trace.metadata), trace.losses.counts) == (["a", "b"], {})


def test_what_is_beside_the_events_is_bounded_in_its_bytes_all_together() -> None:
    tally = LossTally()
    beside = BesideEvents(tally)
    text = b" " * MOST_DECODED_BYTES
    assert [beside.has_room(text, start, MOST_DECODED_BYTES, "a") for start in (7, 0, MOST_DECODED_BYTES - 7)] == [
        True,
        False,
        True,
    ]
    assert tally.losses().counts == {"non-event data left out": 1}


def test_reasons_without_end_are_counted_together() -> None:
    tally = LossTally()
    for number in range(MOST_REASONS + 7):
        tally.add(f"metadata event “{number}”", 1, "x" * 10_000)
    losses = tally.losses()
    assert (len(losses.counts), losses.counts[FURTHER]) == (MOST_REASONS + 1, 7)
    assert {len(example) for example in losses.examples.values()} == {MOST_EXAMPLE}


def rows_by_looking_at_all(slices: list[tuple[int, int]]) -> list[tuple[int, bool]]:
    """Row of each slice, in order of (start, -duration), and whether it crosses another, by checking every row."""
    ends: list[int] = []
    found = []
    for start, end in slices:
        open_rows = [row for row, last in enumerate(ends) if last > start]
        around = [row for row in open_rows if ends[row] >= end]
        row = (around[-1] if around else -1) + 1
        while row in open_rows:
            row += 1
        found.append((row, len(around) < len(open_rows)))
        ends[row:] = [end, *ends[row + 1 :]]
    return found


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60)


@given(spans)
def test_slices_that_overlap_lie_in_the_rows_that_looking_at_all_of_them_gives(slices: list[tuple[int, int]]) -> None:
    ordered = sorted(slices, key=lambda each: (each[0], -each[1]))
    expected = rows_by_looking_at_all([(start, start + length) for start, length in ordered])
    trace = chrome(*[slice_(str(number), *span) for number, span in enumerate(ordered)])
    row_of = {int(trace.names[name]): int(row) for name, row in zip(trace.name_id, trace.depth, strict=True)}
    assert [row_of[number] for number in range(len(ordered))] == [row for row, _ in expected]
    assert trace.losses.counts.get("overlaps its neighbor", 0) == sum(crosses for _, crosses in expected)


def parents_by_looking_at_all(trace: Trace) -> list[int]:
    """For each slice, the enclosing slice in the deepest row above it that has one."""
    end = trace.start_ns + trace.duration_ns
    found = []
    for index in range(len(trace)):
        parent = -1
        for row in range(int(trace.depth[index])):
            before = np.flatnonzero(
                (trace.lane == trace.lane[index]) & (trace.depth == row) & (trace.start_ns <= trace.start_ns[index])
            )
            if len(before) and end[before[-1]] >= end[index]:
                parent = int(before[-1])
        found.append(parent)
    return found


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 2)), max_size=40))
def test_parents_are_those_that_looking_at_all_gives(slices: list[tuple[int, int, int]]) -> None:
    trace = chrome(*[slice_("a", start, length, tid=tid) for start, length, tid in slices])
    assert trace.parents.tolist() == parents_by_looking_at_all(trace)


def test_hundreds_of_rows_have_parents_and_depths() -> None:
    # Each begins in all of those before it, and ends after them; then one lies in the last of them, and one in all.
    stairs = [slice_(str(number), number, 300) for number in range(200)]
    trace = chrome(*stairs, slice_("in the last", 450, 20), slice_("beside", 1_000, 1))
    assert trace.lanes[0].depths == 201
    inner = trace.name_id == trace.names.index("in the last")
    (index,) = np.flatnonzero(inner).tolist()
    assert [trace.names[trace.name_id[trace.parents[index]]], int((trace.parents >= 0).sum())] == ["199", 1]
    # Every slice but the first begins within slices that end before it; so does the one in the last of them.
    assert trace.losses.counts == {"overlaps its neighbor": 200}


def bound_row_by_row(trace: Trace, time: NDArray[Any], lane: NDArray[Any], to_next: NDArray[Any]) -> list[int]:
    rows = rows_of(trace.lane, trace.depth, trace.lanes)
    nowhere = np.full(len(time), -1, np.int64)
    slices = (trace.start_ns, trace.duration_ns)
    found: list[int] = _bind(time, lane, to_next, nowhere, *slices, rows.first, rows.lane_first).tolist()
    return found


def bound_in_order(trace: Trace, time: NDArray[Any], lane: NDArray[Any], to_next: NDArray[Any]) -> list[int]:
    rows = rows_of(trace.lane, trace.depth, trace.lanes)
    order = in_order_of_start(trace.start_ns, rows, np.unique(lane))
    result = np.full(len(time), -1, np.int64)
    end = trace.start_ns + trace.duration_ns
    events = np.lexsort((~to_next, time, lane))
    slices_at(order, trace.start_ns, end, trace.lane, trace.depth, 64, events, time, lane, to_next, result)
    found: list[int] = result.tolist()
    return found


@given(spans.filter(bool), st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=1, max_size=20))
def test_arrows_on_deep_lanes_end_where_looking_row_by_row_says(
    slices: list[tuple[int, int]], marks: list[tuple[int, bool]]
) -> None:
    threads = [slice_("a", *span, tid=1 + number % 2) for number, span in enumerate(slices)]
    trace = chrome(*threads)
    time = np.array([at * 1000 for at, _ in marks], np.int64)
    to_next = np.array([following for _, following in marks])
    lane = np.array([number % len(trace.lanes) for number in range(len(marks))], np.int32)
    assert bound_in_order(trace, time, lane, to_next) == bound_row_by_row(trace, time, lane, to_next)


def test_arrows_among_hundreds_of_rows() -> None:
    stairs = [slice_(str(number), number, 300) for number in range(100)]
    arrow = {"name": "f", "cat": "f", "id": 1, "pid": 1, "tid": 1}
    trace = chrome(*stairs, {"ph": "s", "ts": 10.5, **arrow}, {"ph": "f", "bp": "e", "ts": 320.5, **arrow})
    ends = [trace.names[trace.name_id[index]] for index in (trace.flows.source[0], trace.flows.target[0])]
    assert (trace.lanes[0].depths, ends) == (100, ["10", "99"])


def test_a_cache_whose_rows_are_not_its_slices_is_refused() -> None:
    trace = chrome(slice_("a", 0, 10), slice_("b", 2, 3), slice_("c", 20, 3))
    (lane,) = trace.lanes
    order = np.array([1, 0, 2])
    for damaged in (
        replace(trace, lanes=(replace(lane, depths=1 << 40),)),
        replace(trace, lanes=(replace(lane, depths=1),)),
        replace(trace, lanes=(lane, *[replace(lane, depths=1 << 62)] * 4)),
        replace(trace, depth=-trace.depth),
        replace(trace, start_ns=trace.start_ns[order]),
        replace(trace, duration_ns=trace.duration_ns - 20_000),
    ):
        with pytest.raises(TraceError, match="its columns do not fit together"):
            read_trace(encode_cache(damaged), name="cache")
    assert len(read_trace(encode_cache(trace), name="cache")) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda trace: replace(trace, lanes=(replace(trace.lanes[0], depths=1 << 63),)),
        lambda trace: replace(trace, steps=(Step(1 << 63, "s", 0, 1),)),
        lambda trace: replace(trace, epoch_ns=1 << 63),
    ],
    ids=["rows", "step", "wall time"],
)
def test_a_cache_with_numbers_beyond_64_bits_is_refused(change: Callable[[Trace], Trace]) -> None:
    with pytest.raises(TraceError, match="Expected `int` <= 9223372036854775807"):
        read_trace(encode_cache(change(chrome(slice_("a")))), name="cache")


def test_a_cache_with_a_column_of_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setitem(cache._SLICE_COLUMNS, "start_ns", "<f8")
        data = encode_cache(chrome(slice_("a")))
    with pytest.raises(TraceError, match="its column “start_ns” cannot be read"):
        read_trace(data, name="cache")


def test_an_xspace_may_have_any_number_of_planes() -> None:
    space = XSpace()
    for _ in range(1 << 15 | 1):
        space.planes.add(name="/host").lines.add().events.add(metadata_id=1)
    assert len(read_trace(space.SerializeToString(), name="planes")) == 1 << 15 | 1


@pytest.mark.parametrize("what", [b"[" + json.dumps(slice_("a")).encode() + b"]", b"\n\x06\n\x04/cpu"])
def test_reading_ends_when_nobody_wants_it(what: bytes) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation), pytest.raises(Cancelled):
        read_trace(what, name="tiny")


class Counted(Cancellation):
    """Counts how often it is asked whether the work is still wanted."""

    checks = 0

    def check(self) -> None:
        self.checks += 1
        super().check()


def many_nodes(count: int) -> StepStats:
    step_stats = StepStats()
    device = step_stats.dev_stats.add(device="/cpu:0")
    for number in range(count):
        node = device.node_stats.add(node_name=f"n{number}", all_start_micros=number, all_end_rel_micros=1)
        node.timeline_label = f"n{number} = MatMul(a, b)"
    return step_stats


def checks(read: Callable[[], Trace]) -> int:
    counted = Counted()
    with cancellable(counted):
        read()
    return counted.checks


def test_reading_may_end_among_the_nodes_of_one_device() -> None:
    many, one = (checks(partial(trace_of_step_stats, many_nodes(count))) for count in (20_000, 1))
    assert many >= one + 4


def test_reading_may_end_among_the_samples_of_one_thread() -> None:
    many, one = (checks(partial(sampled, count)) for count in (100, 1))
    assert many >= one + 99


def test_nodes_are_no_objects_that_the_garbage_collector_visits() -> None:
    step_stats = many_nodes(5_000)
    gc.collect()
    before = len(gc.get_objects())
    trace = trace_of_step_stats(step_stats)
    gc.collect()
    assert len(gc.get_objects()) - before < 1_000
    assert trace.arguments[4_999]["label"] == "n4999 = MatMul(a, b)"


def test_equal_slices_lie_in_each_other() -> None:
    trace = chrome(*[slice_("a", 0, 5) for _ in range(2_000)])
    assert trace.parents.tolist() == list(range(-1, 1_999))
