"""Chrome traces: a tiny trace goes in, and the whole table of what is read comes out."""

import gzip
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import TraceError, read_trace
from stepscope.profiler.traces.compression import zstd_compress
from stepscope.profiler.traces.limits import Limits, size_text
from stepscope.profiler.traces.losses import explain


def table(trace: Trace) -> str:
    """One line per slice: lane | depth | start | duration | name | category."""
    return "\n".join(
        f"{trace.lanes[lane].process}/{trace.lanes[lane].name} | {depth} | {start} | {duration} | "
        f"{trace.names[name]} | {trace.categories[category]}"
        for lane, depth, start, duration, name, category in zip(
            trace.lane, trace.depth, trace.start_ns, trace.duration_ns, trace.name_id, trace.category_id, strict=True
        )
    )


def read(*events: dict[str, Any], **top: Any) -> Trace:
    return read_trace(json.dumps({"traceEvents": events, **top}).encode(), name="tiny")


def slice_(name: str, ts: Any, dur: Any, pid: Any = 1, tid: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_unsorted_slices_are_nested_and_sorted() -> None:
    trace = read(
        slice_("inner", 2, 3, cat="op", args={"a": 1}),
        slice_("next", 10, 1, cat="op"),
        slice_("outer", 0, 10, cat="op", args={"a": 0}),
        slice_("instant of no time", 2, 0),
    )
    assert table(trace) == lines("""
        process 1/thread 1 | 0 | 0 | 10000 | outer | op
        process 1/thread 1 | 0 | 10000 | 1000 | next | op
        process 1/thread 1 | 1 | 2000 | 3000 | inner | op
        process 1/thread 1 | 2 | 2000 | 0 | instant of no time |
    """).replace("no time |", "no time | ")
    assert [trace.arguments[index] for index in range(4)] == [{"a": 0}, {}, {"a": 1}, {}]
    assert trace.losses.counts == {}


def test_slices_that_cross_take_another_row_and_are_counted() -> None:
    trace = read(slice_("a", 0, 10), slice_("b", 5, 10), slice_("c", 12, 10), slice_("d", 13, 1))
    assert [(trace.names[n], int(d)) for n, d in zip(trace.name_id, trace.depth, strict=True)] == [
        ("a", 0),
        ("c", 0),
        ("b", 1),
        ("d", 2),
    ]
    assert trace.losses.counts == {"overlaps its neighbor": 2}


def test_times_keep_every_nanosecond_that_is_written() -> None:
    # Read as float64, 1683564901548726.123 us would be 1683564901548726.0: such traces once showed overlapping slices.
    text = (
        '[{"ph":"X","name":"a","pid":1,"ts":1683564901548726.123,"dur":0.0015},'
        '{"ph":"X","name":"b","pid":1,"ts":"1683564901548727.25","dur":"1e3"},'
        '{"ph":"X","name":"c","pid":1,"ts":-1.5,"dur":-1},'
        '{"ph":"X","name":"d","pid":1,"ts":"soon","dur":1},'
        '{"ph":"X","name":"e","pid":1,"ts":7}]'
    )
    trace = read_trace(text.encode(), name="tiny")
    assert list(zip(trace.start_ns.tolist(), trace.duration_ns.tolist(), strict=True)) == [
        (-1500, 0),
        (7000, 0),
        (1683564901548726123, 2),
        (1683564901548727250, 1_000_000),
    ]
    assert trace.losses.counts == {
        "negative duration": 1,
        "event without a readable time": 1,
        "complete event without a readable duration": 1,
    }


def test_begin_and_end_events_pair_up_per_thread() -> None:
    trace = read(
        {"ph": "B", "name": "outer", "ts": 0, "pid": 1, "tid": 1, "args": {"from": "begin"}},
        {"ph": "B", "name": "inner", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "B", "name": "other thread", "ts": 1, "pid": 1, "tid": 2},
        {"ph": "E", "ts": 2, "pid": 1, "tid": 1},
        {"ph": "E", "name": "misnamed", "ts": 3, "pid": 1, "tid": 1, "args": {"to": "end"}},
        {"ph": "E", "name": "stray", "ts": 4, "pid": 1, "tid": 1},
        slice_("last", 5, 1),
    )
    assert table(trace) == "\n".join(
        [
            "process 1/thread 1 | 0 | 0 | 3000 | outer | ",
            "process 1/thread 1 | 0 | 5000 | 1000 | last | ",
            "process 1/thread 1 | 1 | 1000 | 1000 | inner | ",
            "process 1/thread 2 | 0 | 1000 | 5000 | other thread | ",
        ]
    )
    assert trace.arguments[0] == {"from": "begin", "to": "end"}
    assert trace.losses.counts == {
        "begin without an end": 1,
        "end without a begin": 1,
        "end with a different name than its begin": 1,
    }


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        ({}, {"b": 3}, {"b": 3}),
        (None, {"b": 3}, {"b": 3}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, None, {"a": 1}),
        ([1], {"b": 3}, {"args": [1]}),
        ({"a": 1}, 5, {"a": 1}),
        (None, None, {}),
    ],
)
def test_arguments_of_the_end_are_added_to_those_of_the_begin(begin: Any, end: Any, expected: dict[str, Any]) -> None:
    trace = read(
        {"ph": "B", "name": "a", "ts": 0, "pid": 1} | ({} if begin is None else {"args": begin}),
        {"ph": "E", "ts": 1, "pid": 1} | ({} if end is None else {"args": end}),
        slice_("next", 2, 1, tid=None, args={"other": 1}),
    )
    assert trace.arguments[0] == expected
    assert trace.arguments[1] == {"other": 1}


def test_events_without_a_place_are_on_thread_0_of_process_0() -> None:
    trace = read(
        slice_("written", 1, 1, 0, 0),
        {"ph": "X", "name": "not written", "ts": 3, "dur": 1},
        {"ph": "B", "name": "begins", "ts": 5, "pid": "0"},
        {"ph": "E", "ts": 6, "tid": 0},
        slice_("elsewhere", 7, 1),
    )
    assert table(trace) == lines("""
        process 0/thread 0 | 0 | 1000 | 1000 | written |
        process 0/thread 0 | 0 | 3000 | 1000 | not written |
        process 0/thread 0 | 0 | 5000 | 1000 | begins |
        process 1/thread 1 | 0 | 7000 | 1000 | elsewhere |
    """).replace(" |\n", " | \n").replace("elsewhere |", "elsewhere | ")
    assert trace.losses.counts == {}


def test_asynchronous_operations_have_lanes_of_their_own() -> None:
    def mark(phase: str, name: str, ts: int, id_: str, category: str = "net") -> dict[str, Any]:
        return {"ph": phase, "cat": category, "name": name, "ts": ts, "id": id_, "pid": 1, "tid": 1}

    trace = read(
        mark("b", "load", 0, "0x1"),
        mark("b", "load", 2, "0x2"),
        mark("n", "half", 3, "0x1"),
        mark("b", "parse", 4, "0x1"),
        mark("e", "parse", 6, "0x1"),
        mark("e", "load", 8, "0x1"),
        mark("e", "load", 9, "0x2"),
        mark("e", "load", 9, "0x3"),
    )
    assert table(trace) == "\n".join(
        [
            "process 1/load | 0 | 0 | 8000 | load | net",
            "process 1/load | 1 | 2000 | 7000 | load | net",
            "process 1/load | 2 | 3000 | 0 | half | net",
            "process 1/load | 2 | 4000 | 2000 | parse | net",
        ]
    )
    assert trace.losses.counts == {"asynchronous end without a begin": 1}


def test_asynchronous_ends_find_the_innermost_begin_of_their_name() -> None:
    # Each end once searched everything that was open, so a file with many open operations took hours.
    def mark(phase: str, ts: int, name: str | None) -> dict[str, Any]:
        return {"ph": phase, "cat": "c", "ts": ts, "id": 1, "pid": 1, "tid": 1} | ({"name": name} if name else {})

    marks = [
        ("b", "a"),
        ("b", "b"),
        ("b", "a"),
        ("e", "b"),
        ("e", "b"),
        ("e", None),
        ("b", "c"),
        ("e", "a"),
        ("e", "c"),
    ]
    trace = read(*(mark(phase, ts, name) for ts, (phase, name) in enumerate(marks)))
    assert table(trace) == "\n".join(
        [
            "process 1/a | 0 | 0 | 7000 | a | c",
            "process 1/a | 1 | 1000 | 2000 | b | c",
            "process 1/a | 1 | 6000 | 2000 | c | c",
            "process 1/a | 2 | 2000 | 3000 | a | c",
        ]
    )
    assert trace.losses.counts == {"asynchronous end without a begin": 1}


@pytest.mark.parametrize("id2", ['{"local":"0x1"}', '{ "local" : "0x1" }'])
def test_local_ids_are_those_of_a_process(id2: str) -> None:
    def mark(phase: str, pid: int, ts: int, more: str = "") -> str:
        return f'{{"ph":"{phase}","name":"load","cat":"c","id2":{id2},"pid":{pid},"tid":1,"ts":{ts}{more}}}'

    operations = [mark("b", 1, 0), mark("b", 2, 1), mark("e", 1, 2), mark("e", 2, 9)]
    ends = [json.dumps(slice_(name, ts, 1, pid)) for pid in (1, 2) for name, ts in ((f"a{pid}", 0), (f"b{pid}", 9))]
    flows = [mark("s", 1, 0), mark("s", 2, 0), mark("f", 1, 9, ',"bp":"e"'), mark("f", 2, 9, ',"bp":"e"')]
    assert table(read_trace(f"[{','.join(operations)}]".encode(), name="operations")) == lines("""
        process 1/load | 0 | 0 | 2000 | load | c
        process 2/load | 0 | 1000 | 8000 | load | c
    """)
    trace = read_trace(f"[{','.join(ends + flows)}]".encode(), name="flows")
    assert (arrows(trace), trace.losses.counts) == ([("a1", "b1", "c"), ("a2", "b2", "c")], {})


@pytest.mark.parametrize("field", ["id", "id2"])
def test_global_ids_are_those_of_all_processes(field: str) -> None:
    def mark(phase: str, pid: int, ts: int) -> dict[str, Any]:
        value = "0x1" if field == "id" else {"global": "0x1"}
        return {"ph": phase, "name": "load", "cat": "c", field: value, "pid": pid, "tid": 1, "ts": ts}

    assert table(read(mark("b", 1, 0), mark("e", 2, 9))) == "process 1/load | 0 | 0 | 9000 | load | c"


def test_instants_are_slices_without_duration() -> None:
    trace = read(
        {"ph": "i", "name": "[memory]", "ts": 1, "pid": 1, "tid": 1, "s": "t", "args": {"Bytes": 4}},
        {"ph": "I", "name": "mark", "cat": "user", "ts": 2, "pid": 1, "tid": 1},
    )
    assert table(trace) == lines("""
        process 1/thread 1 | 0 | 1000 | 0 | [memory] | instant
        process 1/thread 1 | 0 | 2000 | 0 | mark | user
    """)


def test_counters_have_a_series_per_argument() -> None:
    trace = read(
        {"ph": "C", "name": "memory", "ts": 2, "pid": 1, "args": {"used": 3, "free": "5"}},
        {"ph": "C", "name": "memory", "ts": 1, "pid": 1, "args": {"used": 1, "free": None}},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "trainer"}},
    )
    assert [(c.process, c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("trainer", "memory", "used", [1000, 2000], [1.0, 3.0]),
        ("trainer", "memory", "free", [2000], [5.0]),
    ]
    assert trace.losses.counts == {"counter value that is not a number": 1}


def test_counters_of_processes_with_the_same_name_are_apart() -> None:
    def of_process(pid: int) -> list[dict[str, Any]]:
        named = {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "python"}}
        return [named, {"ph": "C", "name": "memory", "pid": pid, "ts": pid, "args": {"used": 10 * pid}}]

    trace = read(*of_process(1), *of_process(2), slice_("a", 0, 1, pid=2))
    assert [(c.process, c.name, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("python 1", "memory", [1000], [10.0]),
        ("python 2", "memory", [2000], [20.0]),
    ]
    assert [lane.process for lane in trace.lanes] == ["python 2"]


def test_a_process_of_which_nothing_is_shown_takes_no_name() -> None:
    named = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "python"}} for pid in (1, 2)]
    trace = read(*named, slice_("a", 0, 1, pid=1), {**flow("s", 0, 1), "pid": 2})
    assert [lane.process for lane in trace.lanes] == ["python"]


def flow(phase: str, ts: int, tid: int, id_: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "cat": "ac2g", "name": "ac2g", "ts": ts, "pid": 1, "tid": tid, "id": id_, **more}


def arrows(trace: Trace) -> list[tuple[str, str, str]]:
    flows = trace.flows
    return [
        (trace.names[trace.name_id[a]], trace.names[trace.name_id[b]], trace.categories[c])
        for a, b, c in zip(flows.source, flows.target, flows.category_id, strict=True)
    ]


@pytest.mark.parametrize(
    ("events", "expected", "in_vain"),
    [
        pytest.param([flow("s", 1, 1), flow("f", 20, 2, bp="e")], [("launch", "kernel")], {}, id="launch"),
        pytest.param([flow("s", 1, 1), flow("f", 15, 2)], [("launch", "kernel")], {}, id="next slice"),
        pytest.param([flow("s", 5, 1), flow("t", 20, 2)], [("launch", "kernel")], {}, id="at the end of its slice"),
        pytest.param(
            [flow("s", 22, 2), flow("f", 1, 1, bp="e")],
            [("kernel", "launch")],
            {"arrow back in time": 1},
            id="skewed clocks",
        ),
        pytest.param(
            [flow("s", 1, 1), flow("f", 20, 2, bp="e"), flow("f", 40, 2, bp="e")],
            [("launch", "kernel"), ("launch", "second kernel")],
            {},
            id="one launch, two kernels",
        ),
        pytest.param(
            [flow("s", 1, 1), flow("t", 20, 2), flow("f", 40, 2, bp="e")],
            [("launch", "kernel"), ("kernel", "second kernel")],
            {},
            id="through a step",
        ),
        pytest.param([flow("s", 1, 1, "1"), flow("f", 20, 2, bp="e")], [("launch", "kernel")], {}, id="id as text"),
        pytest.param([flow("f", 20, 2, bp="e", cat="x")], [], {"flow end without a start": 1}, id="no start"),
        # As PyTorch writes one where the second is a call too.
        pytest.param([flow("f", 20, 2, bp="e")], [], {}, id="a call that launches nothing"),
        pytest.param([flow("s", 1, 1)], [], {"flow start without an end": 1}, id="no end"),
        pytest.param([flow("s", 8, 1), flow("f", 20, 2)], [], {"flow event on no slice": 1}, id="on no slice"),
        pytest.param([flow("s", 1, 1), flow("f", 2, 1, bp="e")], [], {"flow from a slice to itself": 1}, id="itself"),
    ],
)
def test_flows_join_slices(
    events: list[dict[str, Any]], expected: list[tuple[str, str]], in_vain: dict[str, int]
) -> None:
    trace = read(
        slice_("launch", 1, 4, tid=1),
        slice_("kernel", 20, 10, tid=2),
        slice_("second kernel", 40, 10, tid=2),
        *events,
    )
    assert arrows(trace) == [(*pair, "ac2g") for pair in expected]
    assert trace.losses.counts == in_vain


def test_slices_can_name_their_flow_themselves() -> None:
    trace = read(
        slice_("from", 0, 1, bind_id="0x7", flow_out=True),
        slice_("through", 2, 1, bind_id="0x7", flow_in=True, flow_out=True),
        slice_("to", 4, 1, bind_id="0x7", flow_in=True),
    )
    assert arrows(trace) == [("from", "through", ""), ("through", "to", "")]


def test_lanes_are_named_and_ordered_by_metadata() -> None:
    def meta(what: str, pid: Any, tid: Any, **args: Any) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}

    trace = read(
        meta("process_name", 9, 0, name="python"),
        meta("process_labels", 9, 0, labels="CPU"),
        meta("process_sort_index", 9, 0, sort_index=9),
        meta("process_name", 0, 0, name="python"),
        meta("process_labels", 0, 0, labels="GPU 0"),
        meta("process_sort_index", 0, 0, sort_index=50),
        meta("thread_name", 0, 7, name="stream 7 "),
        meta("thread_name", 9, "2", name="worker"),
        meta("thread_name", 9, 3, name="worker"),
        meta("thread_sort_index", 9, 3, sort_index=-1),
        meta("process_uptime", 9, 3, seconds=1),
        slice_("kernel", 0, 1, 0, 7, cat="kernel"),
        slice_("op", 0, 1, 9, 2),
        slice_("op", 0, 1, 9, 3),
        slice_("PyTorch Profiler", 0, 1, "Spans", "PyTorch Profiler"),
        slice_("gap", 0, 1, "", ""),
        {"ph": "X", "name": "no thread", "ts": 0, "dur": 1, "pid": 12},
    )
    assert [(lane.process, lane.name, lane.pid, lane.tid, lane.kind) for lane in trace.lanes] == [
        ("process 12", "thread 12", 12, 12, "host"),
        ("python (CPU)", "worker 3", 9, 3, "host"),
        ("python (CPU)", "worker 2", 9, 2, "host"),
        ("python (GPU 0)", "stream 7", 0, 7, "stream"),
        ("no process", "no thread", "", "", "other"),
        ("Spans", "PyTorch Profiler", "Spans", "PyTorch Profiler", "other"),
    ]
    assert trace.losses.counts == {"metadata event “process_uptime”": 1}


@pytest.mark.parametrize(
    ("process", "thread", "kind"),
    [
        ("/job:localhost/replica:0/task:0/device:CPU:0 Compute", "0", "host"),
        ("/job:localhost/replica:0/task:0/device:GPU:0 Compute", "0", "device"),
        ("/device:GPU:0/stream:all Compute", "0", "stream"),
        ("/device:GPU:0/stream:7<MemcpyH2D> Compute", "0", "memcpy"),
        ("/device:GPU:0/memcpy Compute", "0", "memcpy"),
        ("/gpu:0 (Tesla P40)/context#0/stream#2:MemcpyDtoH Compute", "0", "memcpy"),
        ("/device:GPU:0", "Stream #7(Compute,MemcpyH2D)", "stream"),
        ("/device:GPU:0", "Stream #8(MemcpyH2D)", "memcpy"),
        ("/device:TPU:0", "XLA Ops", "device"),
        ("/host:CPU", "python", "host"),
        ("gpu-node-12 (process 7)", "MainThread", "host"),
        ("memcpy-1 (process 7)", "CUDA stream feeder", "host"),
        ("/device:CPU:0 Tensors", "0", "other"),
    ],
)
def test_lanes_are_of_a_kind(process: str, thread: str, kind: str) -> None:
    trace = read(
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": thread}},
        slice_("op", 0, 1),
    )
    assert [lane.kind for lane in trace.lanes] == [kind]


def test_steps_come_from_the_host() -> None:
    trace = read(
        slice_("ProfilerStep#4", 30, 9, 0, 7, cat="gpu_user_annotation"),
        slice_("ProfilerStep#4", 20, 9, cat="user_annotation"),
        slice_("ProfilerStep#3", 0, 19, cat="user_annotation"),
    )
    assert [(s.number, s.name, s.start_ns, s.duration_ns) for s in trace.steps] == [
        (3, "ProfilerStep#3", 0, 19000),
        (4, "ProfilerStep#4", 20000, 9000),
    ]


def test_steps_come_from_a_lane_of_steps() -> None:
    trace = read(
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "Steps"}},
        slice_("7", 0, 2),
        slice_("8", 2, 2),
        slice_("9", 2, 2, tid=2),
    )
    assert [(s.number, s.start_ns) for s in trace.steps] == [(7, 0), (8, 2000)]


def test_what_cannot_be_shown_is_counted() -> None:
    trace = read(
        {},
        {"ph": "Z", "name": "t", "ts": 0, "id": 1, "pid": 1},
        {"ph": "M", "name": "mood", "pid": 1, "args": {"x": 1}},
        {"name": "no phase", "ts": 0, "pid": 1},
        slice_("op", 0, 1),
    )
    assert len(trace) == 1
    assert trace.losses.counts == {
        "event of phase “Z”": 1,
        "metadata event “mood”": 1,
        "event without a phase": 1,
    }
    assert trace.losses.examples == {
        "event of phase “Z”": "“t” of process 1, thread 1 at 0.000000 ms (event 1 of the file)",
        "metadata event “mood”": "“mood” of process 1, thread 1 (event 2 of the file)",
        "event without a phase": "“no phase” of process 1, thread 1 at 0.000000 ms (event 3 of the file)",
    }
    assert all(explain(reason) for reason in trace.losses.counts)


def test_objects_live_from_their_making_to_their_deletion() -> None:
    def mark(phase: str, ts: int, name: str = "x", id_: int = 1, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "cat": "Tensor", "name": name, "ts": ts, "id": id_, "pid": 1, "tid": 0, **more}

    trace = read(
        mark("N", 0, args={"made": True}),
        mark("O", 1, args={"snapshot": {"bytes": 4}}),
        mark("N", 2, name="y"),
        mark("D", 5),
        mark("D", 7, name="gone", id_=9),
    )
    assert table(trace) == "\n".join(
        [
            "process 1/Tensor objects | 0 | 0 | 5000 | x | Tensor",
            "process 1/Tensor objects | 1 | 2000 | 3000 | y | Tensor",
        ]
    )
    assert [trace.arguments[index] for index in range(2)] == [{"made": True, "snapshot": {"bytes": 4}}, {}]
    assert trace.losses.counts == {"object without an end": 1, "object deleted without being created": 1}


def test_contexts_clock_marks_and_dumps_are_shown() -> None:
    trace = read(
        {"ph": "(", "name": "request", "id": 4, "ts": 1, "pid": 1, "tid": 1},
        {"ph": "c", "name": "clock_sync", "ts": 2, "pid": 1, "tid": 1, "args": {"sync_id": "a", "issue_ts": 1}},
        {"ph": ")", "name": "request", "id": 4, "ts": 5, "pid": 1, "tid": 1},
        {"ph": "R", "name": "navigationStart", "ts": 6, "pid": 1, "tid": 1},
        {"ph": "V", "name": "global dump", "ts": 7, "pid": 1, "tid": 1},
        {
            "ph": "v",
            "name": "periodic",
            "id": 1,
            "ts": 8,
            "pid": 1,
            "args": {
                "dumps": {
                    "process_totals": {"resident_set_bytes": "ff", "note": "none"},
                    "allocators": {"malloc": {"attrs": {"size": {"type": "scalar", "units": "bytes", "value": "10"}}}},
                }
            },
        },
    )
    assert table(trace) == "\n".join(
        [
            "process 1/thread 1 | 0 | 2000 | 0 | clock_sync | instant",
            "process 1/thread 1 | 0 | 6000 | 0 | navigationStart | instant",
            "process 1/thread 1 | 0 | 7000 | 0 | global dump | instant",
            "process 1/contexts | 0 | 1000 | 4000 | request | ",
        ]
    )
    assert [(c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("memory dump", "resident_set_bytes", [8000], [255.0]),
        ("memory dump", "malloc", [8000], [16.0]),
    ]
    assert trace.losses.counts == {}


STACK_FRAMES = {"1": {"name": "main"}, "2": {"name": "f", "parent": "1"}, "3": {"name": "g", "parent": 1}}


@pytest.mark.parametrize(
    ("events", "top"),
    [
        (
            [
                {"ph": "P", "name": "s", "pid": 1, "tid": 7, "ts": ts, "sf": frame}
                for ts, frame in [(0, 2), (10, 3), (20, "3"), (30, 1)]
            ],
            {"stackFrames": STACK_FRAMES},
        ),
        (
            [{"ph": "M", "name": "process_name", "pid": 1, "tid": 7, "args": {"name": "process 1"}}],
            {
                "stackFrames": STACK_FRAMES,
                "samples": [{"tid": 7, "ts": ts, "sf": frame} for ts, frame in [("30", 1), (0, 2), (10, 3), (20, 3)]],
            },
        ),
        (
            [
                {"ph": "P", "name": "s", "pid": 1, "tid": 7, "ts": ts, "stack": stack}
                for ts, stack in [(0, ["f", "main"]), (10, ["g", "main"]), (20, ["g", "main"]), (30, ["main"])]
            ],
            {},
        ),
        (
            [
                {"ph": "P", "name": "Profile", "id": "a", "pid": 1, "tid": 7, "args": {"data": {"startTime": 0}}},
                {
                    "ph": "P", "name": "ProfileChunk", "id": "a", "pid": 1, "tid": 8, "ts": 1,
                    "args": {
                        "data": {
                            "cpuProfile": {
                                "nodes": [
                                    {"id": 1, "callFrame": {"functionName": "(root)"}},
                                    {"id": 2, "parent": 1, "callFrame": {"functionName": "main"}},
                                    {"id": 3, "parent": 2, "callFrame": {"functionName": "f"}},
                                    {"id": 4, "parent": 2, "callFrame": {"functionName": "g"}},
                                ],
                                "samples": [3, 4, 4, 2],
                            },
                            "timeDeltas": [0, 10, 10, 10],
                        }
                    },
                },
            ],
            {},
        ),
    ],
    ids=["events", "array", "own stacks", "V8"],
)  # fmt: skip
def test_samples_become_slices(events: list[dict[str, Any]], top: dict[str, Any]) -> None:
    trace = read(*events, **top)
    assert table(trace) == lines("""
        process 1/7 samples | 0 | 0 | 40000 | main | sample
        process 1/7 samples | 1 | 0 | 10000 | f | sample
        process 1/7 samples | 1 | 10000 | 20000 | g | sample
    """)
    assert trace.losses.counts == {}


def test_stacks_that_lead_nowhere_are_counted() -> None:
    frames = {"1": {"name": "a", "parent": 2}, "2": {"name": "b", "parent": 1}, "3": "none"}
    trace = read(
        {"ph": "P", "name": "s", "pid": 1, "tid": 7, "ts": 0, "sf": 1},
        {"ph": "P", "name": "s", "pid": 1, "tid": 7, "ts": 1, "sf": 3},
        slice_("op", 0, 2, sf=2),
        stackFrames=frames,
    )
    assert trace.losses.counts == {"stack frame that is its own parent": 1, "sample without a stack": 1}
    assert [trace.names[n] for n in trace.name_id] == ["op", "s", "b", "a"]
    assert trace.arguments[0] == {"stack": ["a", "b"]}


def test_allocations_of_pytorch_are_counters() -> None:
    def event(ts: int, **arguments: Any) -> dict[str, Any]:
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": arguments}

    trace = read(
        event(2, **{"Device Type": 1, "Device Id": 0, "Bytes": -8, "Total Allocated": 8, "Total Reserved": 64}),
        event(1, **{"Device Type": 1, "Device Id": 0, "Bytes": 16, "Total Allocated": 16, "Total Reserved": 64}),
        event(1, **{"Device Type": 0, "Device Id": -1, "Bytes": 4}),
        event(3, **{"Device Type": 0, "Device Id": -1, "Bytes": -4}),
        event(4, Bytes="many"),
    )
    assert [(c.process, c.name, c.series, c.times_ns.tolist(), c.values.tolist()) for c in trace.counters] == [
        ("process 1", "memory of GPU 0", "allocated", [1000, 2000], [16.0, 8.0]),
        ("process 1", "memory of GPU 0", "reserved", [1000, 2000], [64.0, 64.0]),
        ("process 1", "memory of CPU", "allocated since the start", [1000, 3000], [4.0, 0.0]),
    ]
    assert trace.losses.counts == {"counter value that is not a number": 1}


@pytest.mark.parametrize(
    ("ts", "top", "epoch"),
    [
        (5, {}, None),
        (5, {"baseTimeNanoseconds": 1_735_632_360_000_000_001}, 1_735_632_360_000_000_001),
        (5, {"viztracer_metadata": {"baseTimeNanoseconds": 7}}, 7),
        (5, {"baseTimeNanoseconds": "soon"}, None),
        (1_683_564_901_548_726, {"baseTimeNanoseconds": 1_683_564_900_000_000_000}, 0),
    ],
)
def test_times_are_those_of_a_wall_clock_where_the_file_says(ts: int, top: dict[str, Any], epoch: int | None) -> None:
    assert read(slice_("op", ts, 1), **top).epoch_ns == epoch


def test_of_several_snapshots_of_an_object_each_is_shown() -> None:
    def mark(phase: str, ts: int, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "cat": "Tensor", "name": "x", "ts": ts, "id": 1, "pid": 1, "tid": 0, **more}

    shown = [mark("O", at, args={"snapshot": at}) for at in (1, 2)]
    trace = read(mark("N", 0), *shown, mark("D", 5))
    assert table(trace) == "\n".join(
        [
            "process 1/Tensor objects | 0 | 0 | 5000 | x | Tensor",
            "process 1/Tensor objects | 1 | 1000 | 0 | x | Tensor",
            "process 1/Tensor objects | 1 | 2000 | 0 | x | Tensor",
        ]
    )
    assert [trace.arguments[index] for index in range(3)] == [{}, {"snapshot": 1}, {"snapshot": 2}]
    # An end with its own arguments keeps them, and an object that was never created has nothing but its snapshot.
    late = mark("O", 7, args={"snapshot": 2})
    trace = read(mark("N", 0), shown[0], mark("D", 5, args={"freed": True}), late)
    assert [trace.arguments[index] for index in range(3)] == [{"freed": True}, {"snapshot": 2}, {"snapshot": 1}]
    # TensorFlow dates the snapshot of an object that took no time 1 us early; anything earlier is of another object.
    trace = read(mark("O", 6, args={"snapshot": 3}), shown[0], mark("N", 7), mark("D", 9))
    assert table(trace) == "\n".join(
        [
            "process 1/Tensor objects | 0 | 1000 | 0 | x | Tensor",
            "process 1/Tensor objects | 0 | 7000 | 2000 | x | Tensor",
        ]
    )
    assert [trace.arguments[index] for index in range(2)] == [{"snapshot": 1}, {"snapshot": 3}]


def test_what_the_profiler_says_about_its_file_is_a_note() -> None:
    trace = read(slice_("op", 0, 1), viztracer_metadata={"overflow": True}, WARNING=["CUPTI dropped 5 records"])
    assert trace.losses.notes == (
        "viztracer's buffer was full: the earliest events are missing (record with larger tracer_entries)",
        "message from the profiler: CUPTI dropped 5 records",
    )


def test_a_trace_of_viztracer_is_read() -> None:
    trace = read(
        {"ph": "M", "pid": 9, "tid": 9, "name": "process_name", "args": {"name": "MainProcess"}},
        {"pid": 9, "tid": 9, "ts": 1650.31, "ph": "N", "id": "139", "name": "o"},
        {"pid": 9, "tid": 9, "ts": 1690.091, "ph": "C", "name": "c", "args": {"a": 1}},
        {"pid": 9, "tid": 9, "ts": 1713.9, "ph": "O", "id": "139", "name": "o", "args": {"snapshot": {"x": 1}}},
        {"pid": 9, "tid": 9, "ts": 1720.573, "ph": "X", "dur": 0.549230736393566, "name": "f (/a.py:5)",
         "args": {"func_args": {"n": "1"}, "return_value": "1"}, "cat": "FEE"},
        {"pid": 9, "tid": 9, "ts": 1789.182, "ph": "i", "cat": "INSTANT", "name": "inst", "args": {"k": 1}, "s": "g"},
        viztracer_metadata={"version": "1.1.1", "overflow": False, "baseTimeNanoseconds": 1795279216339042528},
        file_info={"files": {"/a.py": ["def f(n): ...", 1]}, "functions": {"f (/a.py:5)": ["/a.py", 5]}},
    )  # fmt: skip
    assert table(trace) == lines("""
        MainProcess/thread 9 | 0 | 1720573 | 549 | f (/a.py:5) | FEE
        MainProcess/thread 9 | 0 | 1789182 | 0 | inst | INSTANT
        MainProcess/objects | 0 | 1650310 | 138872 | o | .
    """).replace(" .", " ")
    assert trace.arguments[2] == {"snapshot": {"x": 1}}
    assert trace.arguments[0] == {"func_args": {"n": "1"}, "return_value": "1"}
    assert [(c.name, c.series, c.values.tolist()) for c in trace.counters] == [("c", "a", [1.0])]
    assert trace.epoch_ns == 1795279216339042528
    assert trace.metadata["file_info"]["functions"] == {"f (/a.py:5)": ["/a.py", 5]}
    # viztracer never deletes the objects that it creates.
    assert trace.losses.counts == {"object without an end": 1}


def test_other_keys_are_metadata() -> None:
    trace = read(slice_("op", 0, 1), displayTimeUnit="ns", baseTimeNanoseconds=5, distributedInfo={"rank": 3})
    assert trace.metadata == {"displayTimeUnit": "ns", "baseTimeNanoseconds": 5, "distributedInfo": {"rank": 3}}


EVENT = '{"ph":"X","name":"a","pid":1,"ts":1,"dur":1}'


@pytest.mark.parametrize(
    ("text", "slices", "counts", "notes"),
    [
        pytest.param(f"[{EVENT},{EVENT},]", 2, {}, (), id="trailing comma"),
        pytest.param(f" \n[{EVENT},\n", 1, {}, (), id="array without its bracket"),
        pytest.param(f"\ufeff[{EVENT}]", 1, {}, (), id="byte order mark"),
        pytest.param(
            f"[{EVENT},{EVENT[:20]}",
            1,
            {"unreadable event": 1},
            (
                "the first unreadable event is at byte 46",
                "the file ends early: nothing was read from byte 46 of 66",
            ),
            id="ends inside an event",
        ),
        pytest.param(
            f'{{"traceEvents":[{EVENT}',
            1,
            {},
            ("the file ends early: nothing was read from byte 60 of 60",),
            id="ends after an event",
        ),
        pytest.param(
            f'{{"traceEvents":[{EVENT}],"a":tr',
            1,
            {},
            ("everything after byte 66 of 68 is unreadable",),
            id="ends after the events",
        ),
        pytest.param(
            f'[{EVENT},{{"ph":"X","name" "b"}},{EVENT}]',
            2,
            {"unreadable event": 1},
            ("the first unreadable event is at byte 46",),
            id="damaged event",
        ),
        pytest.param(
            f'[{EVENT},{{"ph":"X","args":{{"a":1,"pid":1}},{EVENT}]',
            2,
            {"unreadable event": 1},
            ("the first unreadable event is at byte 46",),
            id="a lost bracket does not take what follows",
        ),
        pytest.param(f"[7,{EVENT}]", 1, {"unreadable event": 1}, ("the first unreadable event is at byte 1",), id="7"),
        pytest.param("[]", 0, {}, (), id="empty"),
        pytest.param('{"traceEvents": []}', 0, {}, (), id="no events"),
    ],
)
def test_damaged_files_are_read_as_far_as_they_go(
    text: str, slices: int, counts: dict[str, int], notes: tuple[str, ...]
) -> None:
    trace = read_trace(text.encode(), name="tiny")
    assert (len(trace), trace.losses.counts, trace.losses.notes) == (slices, counts, notes)


@pytest.mark.parametrize("compress", [gzip.compress, zstd_compress])
def test_compressed_files_are_read_as_far_as_they_go(compress: Callable[[bytes], bytes]) -> None:
    # Texts that do not repeat, because Zstandard unpacks whole blocks.
    names = [hashlib.sha256(str(i).encode()).hexdigest() * 4 for i in range(2000)]
    whole = compress(json.dumps([slice_(name, i, 1) for i, name in enumerate(names)]).encode())
    assert len(read_trace(whole, name="tiny")) == 2000
    half = read_trace(whole[: len(whole) // 2], name="tiny")
    assert 500 < len(half) < 1500
    assert half.losses.notes[0] == "the compressed file ends early"
    joined = compress(b"[" + EVENT.encode()) + compress(b"," + EVENT.encode() + b"]")
    assert len(read_trace(joined, name="tiny")) == 2
    assert read_trace(joined + bytes(512), name="tiny").losses.notes == ()
    # Trailing data was once ignored silently.
    followed = read_trace(joined + b"more", name="tiny")
    assert followed.losses.notes == (
        f"what follows byte {len(joined)} of the compressed file's {len(joined) + 4} is not compressed",
    )


@pytest.mark.parametrize("count", [500, 5000])
def test_a_damaged_gzip_file_is_read_up_to_the_damage(count: int) -> None:
    names = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(count)]
    whole = gzip.compress(json.dumps([slice_(name, i, 1) for i, name in enumerate(names)]).encode())
    at = len(whole) * 9 // 10
    trace = read_trace(whole[:at] + bytes(64) + whole[at + 64 :], name="tiny")
    assert trace.losses.notes[0].startswith("the compressed file is damaged: ")
    known = count * 8 // 10
    assert trace.names[:known] == tuple(names[:known])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "tiny is empty."),
        (b" \n", "tiny is empty."),
        (b"hello", "tiny is not a trace. Expected a Chrome trace"),
        (b"\x89PNG\r\n\x1a\n", "tiny is not a trace."),
        (b'{"a": 1}', "tiny is JSON without trace events."),
        (b'{"traceEvents": 5}', "In tiny “traceEvents” is not an array."),
        (b"[1, 2, 3]", "tiny is a JSON array, but not of trace events."),
        (b"\x1f\x8b\x08broken", "tiny is a damaged gzip file"),
        (b"\x28\xb5\x2f\xfd\x00\x58" + b"\xff" * 10, "tiny is a damaged zstd file"),
        (b"dev_stats { device: ", "tiny is not a trace."),
    ],
)
def test_what_is_no_trace_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(TraceError) as error:
        read_trace(data, name="tiny")
    assert str(error.value).startswith(message)


def test_arguments_are_read_when_asked_for() -> None:
    trace = read_trace(
        b'[{"ph":"X","name":"\\u00e9 \\"x\\"","pid":1,"ts":0,"dur":1,"args":{"rate":NaN,"text":"a}b"}},'
        b'{"ph":"X","name":"b","pid":1,"ts":1,"dur":1,"args":[1]},'
        b'{"ph":"X","name":"c","pid":1,"ts":2,"dur":1,"args":{"a":inf}}]',
        name="tiny",
    )
    assert trace.names == ('é "x"', "b", "c")
    first = trace.arguments[0]
    assert first["rate"] != first["rate"]
    assert first["text"] == "a}b"
    assert trace.arguments[1] == {"args": [1]}
    assert trace.arguments[2] == {"args": '{"a":inf}'}


@pytest.mark.parametrize("compress", [gzip.compress, zstd_compress])
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(100, 10, 100), ""),
        (Limits(1 << 30, 10, 100, unpacked_ratio=1, always_unpacked=100), ", as it claims more than 1 times its size"),
    ],
)
def test_a_small_file_that_unpacks_to_a_huge_one_is_read_to_the_limit(
    limits: Limits, why: str, compress: Callable[[bytes], bytes]
) -> None:
    # A megabyte of zeros packs into a kilobyte, and so a terabyte into a gigabyte.
    event = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'
    packed = compress(b"[" + event + b"," + b" " * 1_000_000 + event + b"]")
    trace = read_trace(packed, name="bomb", limits=limits)
    assert len(trace) == 1
    most = size_text(max(100, len(packed) if why else 0))
    assert f"only the first {most} of the unpacked file were read{why}" in trace.losses.notes


def test_functions_of_v8_are_told_apart_by_where_they_are_defined() -> None:
    def node(number: int, parent: int | None, name: str, line: int) -> dict[str, Any]:
        frame = {"functionName": name, "scriptId": 4, "url": "min.js", "lineNumber": line, "columnNumber": 0}
        return {"id": number, "callFrame": frame} | ({} if parent is None else {"parent": parent})

    profile = {
        "nodes": [node(1, None, "(root)", 0), node(2, 1, "e", 1), node(3, 1, "e", 9), node(4, 3, "e", 1)],
        "samples": [2, 3, 3, 4],
    }
    trace = read(
        {"ph": "P", "name": "Profile", "id": "a", "pid": 1, "tid": 7, "args": {"data": {"startTime": 0}}},
        {
            "ph": "P", "name": "ProfileChunk", "id": "a", "pid": 1, "tid": 8, "ts": 1,
            "args": {"data": {"cpuProfile": profile, "timeDeltas": [0, 10, 10, 10]}},
        },
    )  # fmt: skip
    assert table(trace) == lines("""
        process 1/7 samples | 0 | 0 | 10000 | e | sample
        process 1/7 samples | 0 | 10000 | 30000 | e | sample
        process 1/7 samples | 1 | 30000 | 10000 | e | sample
    """)


@pytest.mark.parametrize(
    "text",
    ['[{"foo":1}]', '[{"foo":1},{}]', '[{"level":"info","args":{}},{"level":"info"}', '{"traceEvents":[{"a":1}]}'],
)
def test_an_array_in_which_nothing_is_an_event_is_no_trace(text: str) -> None:
    with pytest.raises(
        TraceError, match=r"array, but not of trace events\. Expected objects with “ph”, “ts” and “name”"
    ):
        read_trace(text.encode(), name="log")


def test_objects_that_are_no_events_are_counted_among_events() -> None:
    # The empty object with which some writers end the array is not a loss.
    trace = read(slice_("a", 0, 1), {"foo": 1}, {}, {"foo": 2, "args": {"b": 1}}, {"ts": 5})
    assert (len(trace), trace.losses.counts) == (
        1,
        {"object that is not an event": 2, "event without a phase": 1},
    )
    assert trace.losses.examples["object that is not an event"] == "element 1 of the array"
    assert explain("object that is not an event")


def test_halves_of_characters_become_their_escapes() -> None:
    """A file name that is not UTF-8 once made most analyses of its trace fail."""
    texts = rb'"file\udce9.py \ud83d\ude00 \ud83d\\ud83d\n\uD83D"', b'"file\xed\xb3\xa9"'
    event = b'{"ph":"X","name":%b,"ts":0,"dur":1,"pid":1,"tid":1,"args":{"a":[%b]}}' % texts
    trace = read_trace(b'{"traceEvents":[%b],"half \\ud83d":1}' % event, name="halves")
    assert trace.names == ("file\\udce9.py \N{GRINNING FACE} \\ud83d\\ud83d\n\\uD83D",)
    assert trace.arguments[0] == {"a": ["file\\udce9"]}
    assert trace.metadata == {"half \\ud83d": 1}


def test_control_characters_in_strings_are_read() -> None:
    first = '{"ph":"X","name":"two\nlines","ts":0,"dur":1,"args":{"code":"a\n\tb\x01","n":1}}'
    text = f'[{first},\n{{"ph":"X","name":"\\u0061\n","ts":2,"dur":1}}]'
    trace = read_trace(text.encode(), name="tiny")
    assert trace.names == ("two\nlines", "a\n")
    assert trace.arguments[0] == {"code": "a\n\tb\x01", "n": 1}
    assert (trace.losses.counts, trace.losses.notes) == ({}, ())


def test_states_of_threads_last() -> None:
    state = {"ph": "T", "cat": "thread_state", "name": "Running", "id": "1", "pid": 1, "tid": 1}
    trace = read({**state, "ts": 1, "dur": 5}, {**state, "ts": 9}, slice_("a", 0, 20))
    assert table(trace) == lines("""
        process 1/thread 1 | 0 | 0 | 20000 | a |
        process 1/Running | 0 | 1000 | 5000 | Running | thread_state
        process 1/Running | 0 | 9000 | 0 | Running | thread_state
    """).replace("a |", "a | ")
