"""The routes that read slices: one slice, its occurrences and relations, an area's sums, and the export."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline import visible
from stepscope.dashboard.panels.timeline.occurrences import MOST_BUCKETS, histogram
from stepscope.dashboard.traces.sources import open_trace, trace_sources
from stepscope.profiler.analysis.area import overlap
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace
from stepscope.profiler.traces.to_chrome import chrome_json
from tests.dashboard.test_timeline_api import EVENTS, ID, client_of, companion, snapshot_of
from tests.profiler.analysis.kineto import Event, activity, event, launch, operator, step
from tests.profiler.test_traces_converted import arrows, slices

BASE_NS = 1_700_000_000_000_000_000
STEPS: list[Event] = [
    step(1, 0, 100),
    operator("aten::linear", 10, 50, Call_stack="net.py(4): forward;train.py(2): main"),
    operator("aten::mm", 15, 30),
    launch(20, 5, correlation=1),
    activity("gemm", 40, 20, correlation=1),
    step(2, 100, 100),
    operator("aten::mm", 110, 40),
    launch(115, 5, correlation=2),
    launch(125, 10, correlation=3, name="cudaMemcpyAsync"),
    activity("gemm", 118, 30, correlation=2),
    activity("Memcpy HtoD (Pageable -> Device)", 150, 5, correlation=3, category="gpu_memcpy"),
    operator("aten::mm", 220, 20),
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 100, "tid": 1, "ts": 20},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 0, "tid": 7, "ts": 40, "bp": "e"},
    {"ph": "C", "pid": 100, "name": "memory", "ts": 0, "args": {"bytes": 10}},
    {"ph": "C", "pid": 100, "name": "memory", "ts": 150, "args": {"bytes": 30}},
]
"""Two steps and what follows. The device's lane is the first: gemm 0, gemm 1, copy 2; then the host's by depth."""
GEMM = {"index": 0, "name": "gemm", "lane": 0, "depth": 0, "start": 40_000, "duration": 20_000}
OTHER_GEMM = {"index": 1, "name": "gemm", "lane": 0, "depth": 0, "start": 118_000, "duration": 30_000}
COPY = {
    "index": 2,
    "name": "Memcpy HtoD (Pageable -> Device)",
    "lane": 0,
    "depth": 0,
    "start": 150_000,
    "duration": 5_000,
}
STEP = {"index": 3, "name": "ProfilerStep#1", "lane": 1, "depth": 0, "start": 0, "duration": 100_000}
LAST_MM = {"index": 5, "name": "aten::mm", "lane": 1, "depth": 0, "start": 220_000, "duration": 20_000}
LINEAR = {"index": 6, "name": "aten::linear", "lane": 1, "depth": 1, "start": 10_000, "duration": 50_000}
SECOND_MM = {"index": 7, "name": "aten::mm", "lane": 1, "depth": 1, "start": 110_000, "duration": 40_000}
MM = {"index": 8, "name": "aten::mm", "lane": 1, "depth": 2, "start": 15_000, "duration": 30_000}
LAUNCH = {"index": 11, "name": "cudaLaunchKernel", "lane": 1, "depth": 3, "start": 20_000, "duration": 5_000}


def client_with(path: Path, events: list[Event], **top: Any) -> TestClient:
    file = path / "a.trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, **top, "traceEvents": events}))
    return client_of(snapshot_of(companion("r", file)))


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return client_with(tmp_path, STEPS)


def get(client: TestClient, route: str, **query: Any) -> Any:
    answer = client.get(f"/api/timeline/{route}", params={"id": ID, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_slice_says_everything_about_itself(tmp_path: Path) -> None:
    client = client_with(tmp_path, EVENTS)
    copy = {"index": 3, "name": "copy", "lane": 1, "depth": 0, "start": 65_000, "duration": 5_000}
    launching = {"index": 1, "name": "matmul", "lane": 0, "depth": 0, "start": 60_000, "duration": 10_000}
    assert get(client, "slice", index=1) == {
        **launching,
        "category": "op",
        "process": "trainer",
        "lane_name": "main",
        "arguments": {},
        "occurrences": {"count": 2, "total": 30_000, "mean": 15_000.0, "min": 10_000, "max": 20_000},
        "incoming": {"total": 0, "slices": []},
        "outgoing": {"total": 1, "slices": [{**copy, "category": "flow", "kind": None}]},
        "previous": 0,
        "next": None,
        "step": None,
        "stack": [],
        "children": {"count": 0, "own_ns": 10_000, "slices": []},
    }
    assert get(client, "slice", index=3)["incoming"] == {
        "total": 1,
        "slices": [{**launching, "category": "flow", "kind": None}],
    }
    assert get(client, "slice", index=0)["arguments"] == {"shape": [2, 3]}


def test_a_slice_has_its_step_its_stack_and_its_children(client: TestClient) -> None:
    launched = get(client, "slice", index=11)
    assert (launched["step"], launched["stack"]) == (1, [STEP, LINEAR, MM])
    assert launched["children"] == {"count": 0, "own_ns": 5_000, "slices": []}
    assert launched["outgoing"] == {"total": 1, "slices": [{**GEMM, "category": "ac2g", "kind": "launch"}]}
    outer = get(client, "slice", index=6)
    assert (outer["step"], outer["stack"]) == (1, [STEP])
    assert outer["children"] == {"count": 1, "own_ns": 20_000, "slices": [MM]}
    assert get(client, "slice", index=7)["step"] == 2
    assert get(client, "slice", index=5)["step"] is None


def test_children_are_counted_and_the_longest_shown_first(tmp_path: Path) -> None:
    inside = [event("x", "in", 1 + 10 * i, 1 + i % 9) for i in range(60)]
    client = client_with(tmp_path, [event("x", "around", 0, 1_000), *inside])
    children = get(client, "slice", index=0)["children"]
    assert (children["count"], children["own_ns"]) == (60, 1_000_000 - sum(1 + i % 9 for i in range(60)) * 1_000)
    shown = [(row["duration"], row["index"]) for row in children["slices"]]
    every = sorted(((1_000 * (1 + i % 9), 1 + i) for i in range(60)), key=lambda row: (-row[0], row[1]))
    assert shown == every[:50]


def test_a_kernel_leads_to_its_launch_its_operator_and_its_row(client: TestClient) -> None:
    assert get(client, "relations", index=0) == {
        "index": 0,
        "kind": "kernel",
        "launch": LAUNCH,
        "launched": {"count": 0, "total_ns": 0, "slices": []},
        "operator": MM,
        "call_stack": ["train.py(2): main", "net.py(4): forward"],
        "queue_ns": 15_000,
        "table": {"page": "kernels", "row": "gemm"},
    }
    second = get(client, "relations", index=1)
    assert (second["operator"], second["queue_ns"], second["call_stack"]) == (SECOND_MM, -2_000, [])
    assert get(client, "relations", index=2)["table"] == {"page": "copies", "row": "HtoD"}


def test_an_operator_leads_to_what_was_launched_in_it(client: TestClient) -> None:
    assert get(client, "relations", index=7) == {
        "index": 7,
        "kind": "operator",
        "launch": None,
        "launched": {"count": 2, "total_ns": 35_000, "slices": [OTHER_GEMM, COPY]},
        "operator": None,
        "call_stack": [],
        "queue_ns": None,
        "table": {"page": "operators", "row": "aten::mm"},
    }
    inner = get(client, "relations", index=8)
    assert inner["launched"] == {"count": 1, "total_ns": 20_000, "slices": [GEMM]}
    assert (inner["operator"], inner["call_stack"]) == (LINEAR, ["train.py(2): main", "net.py(4): forward"])
    assert get(client, "relations", index=3)["launched"]["slices"] == [GEMM]
    assert get(client, "relations", index=3)["table"] is None
    assert get(client, "relations", index=11)["table"] == {"page": "slices", "row": "cudaLaunchKernel"}
    assert get(client, "relations", index=5)["launched"]["count"] == 0


def test_python_functions_around_a_slice_are_its_call_stack(tmp_path: Path) -> None:
    events = [
        event("python_function", "main (a.py:1)", 0, 100),
        event("python_function", "nn.Module: Net_0", 10, 40),
        event("python_function", "forward (net.py:3)", 11, 38),
        operator("aten::mm", 12, 10),
        operator("Optimizer.step#SGD.step", 60, 10),
    ]
    client = client_with(tmp_path, events)
    found = get(client, "relations", index=4)
    assert (found["call_stack"], found["operator"]) == (["main (a.py:1)", "forward (net.py:3)"], None)
    assert get(client, "relations", index=0)["call_stack"] == ["main (a.py:1)"]
    wrapper = get(client, "relations", index=2)
    assert (wrapper["kind"], wrapper["table"]) == ("operator", {"page": "slices", "row": "Optimizer.step#SGD.step"})


def test_occurrences_say_how_long_slices_of_a_name_take(client: TestClient) -> None:
    found = get(client, "occurrences", index=7)
    edges, counts = found.pop("histogram").values()
    assert (edges[0], edges[-1], sum(counts)) == (20_000, 40_000, 3)
    assert found == {
        "index": 7,
        "name": "aten::mm",
        "scope": "all",
        "count": 3,
        "total": 90_000,
        "mean": 30_000.0,
        "median": 30_000.0,
        "p95": 39_000.0,
        "min": 20_000,
        "max": 40_000,
        "std": 10_000.0,
        "rank": 1,
        "percentile": 100.0,
        "longest": [SECOND_MM, MM, LAST_MM],
        "place": 1,
        "previous": 8,
        "next": 5,
        "steps": {"number": [1, 2], "count": [1, 1], "total": [30_000, 40_000], "mean": [30_000.0, 40_000.0]},
    }


def test_occurrences_may_be_those_of_a_lane_or_a_step(tmp_path: Path) -> None:
    events = [step(1, 0, 100), *(event("x", "a", at, 4, tid=tid) for at, tid in ((5, 1), (10, 2), (20, 1), (200, 1)))]
    client = client_with(tmp_path, events)

    def figures(scope: str) -> tuple[int, int, int | None, int | None, str]:
        found = get(client, "occurrences", index=2, scope=scope)
        assert found["histogram"] == {"edges": [4_000, 4_000], "counts": [found["count"]]}
        assert (found["std"], found["rank"], found["percentile"]) == (0.0, 1, 100.0)
        assert found["steps"]["count"] == [found["count"] - (scope != "step")]
        return found["count"], found["place"], found["previous"], found["next"], found["scope"]

    # By lane and depth: the step is 0 and the last slice 1; then 2 and 3 in the step; then the one on the other thread.
    assert figures("all") == (4, 0, None, 4, "all")
    assert figures("lane") == (3, 0, None, 3, "lane")
    assert figures("step") == (3, 0, None, 4, "step")
    outside = client.get("/api/timeline/occurrences", params={"id": ID, "index": 1, "scope": "step"})
    assert (outside.status_code, outside.json()["detail"]) == (
        422,
        "Slice 1 begins in no step of the trace; expected one that does, or scope “all” or “lane”.",
    )


@pytest.mark.parametrize(
    ("durations", "edges", "counts"),
    [
        ([7], [7, 7], [1]),
        ([7, 7, 7], [7, 7], [3]),
        ([0, 0], [0, 0], [2]),
        ([0, 5, 5], [0, 5, 5], [1, 2]),
        ([1, 2], [1, 2], [2]),
        ([1, 10, 100, 1_000, 10_000], [1, 10, 100, 1_000, 10_000], [1, 1, 1, 2]),
        ([0, 1, 16], [0, 1, 2, 4, 8, 16], [1, 1, 0, 0, 1]),
    ],
)
def test_histograms_grow_by_a_factor(durations: list[int], edges: list[int], counts: list[int]) -> None:
    found = histogram(np.array(durations, np.int64))
    assert [column.tolist() for column in found] == [edges, counts]


def test_histograms_of_many_have_few_buckets() -> None:
    edges, counts = histogram(np.arange(100_000))
    assert MOST_BUCKETS - 5 < len(counts) <= MOST_BUCKETS
    assert (edges[0], edges[-1], counts.sum()) == (0, 99_999, 100_000)
    assert (np.diff(edges) > 0).all()


def test_an_area_adds_up_what_is_in_it(client: TestClient) -> None:
    assert get(client, "area", start=30_000, end=120_000, lanes="0,1", top=2) == {
        "start": 30_000,
        "end": 120_000,
        "slices": 8,
        # Step marks are not counted.
        "names_total": 4,
        "categories_total": 3,
        "by_name": [
            {
                "name": "aten::linear",
                "category": "cpu_op",
                "count": 1,
                "total_ns": 30_000,
                "own_ns": 15_000,
                "mean_ns": 30_000.0,
                "min_ns": 30_000,
                "max_ns": 30_000,
                "longest": 6,
            },
            {
                "name": "aten::mm",
                "category": "cpu_op",
                "count": 2,
                "total_ns": 25_000,
                "own_ns": 20_000,
                "mean_ns": 12_500.0,
                "min_ns": 10_000,
                "max_ns": 15_000,
                "longest": 8,
            },
        ],
        "by_category": [
            {
                "category": "cpu_op",
                "count": 3,
                "total_ns": 55_000,
                "own_ns": 35_000,
                "mean_ns": 55_000 / 3,
                "min_ns": 10_000,
                "max_ns": 30_000,
                "longest": 6,
            },
            {
                "category": "kernel",
                "count": 2,
                "total_ns": 22_000,
                "own_ns": 22_000,
                "mean_ns": 11_000.0,
                "min_ns": 2_000,
                "max_ns": 20_000,
                "longest": 0,
            },
        ],
        "lanes_total": 2,
        "by_lane": [
            {"lane": 0, "count": 2, "busy_ns": 22_000, "share": 22 / 90},
            {"lane": 1, "count": 6, "busy_ns": 90_000, "share": 1.0},
        ],
        "counters": [{"counter": 0, "min": 10.0, "mean": 10.0, "max": 10.0}],
    }
    device = get(client, "area", start=30_000, end=120_000, lanes="0")
    assert [(row["name"], row["count"], row["total_ns"]) for row in device["by_name"]] == [("gemm", 2, 22_000)]


def export(client: TestClient, **query: Any) -> tuple[Trace, str]:
    answer = client.get("/api/timeline/export", params={"id": ID, **query})
    assert answer.status_code == 200, answer.text
    return read_trace(answer.content, name="export"), answer.headers["content-disposition"]


def test_an_export_holds_what_overlaps_the_window(tmp_path: Path) -> None:
    client = client_with(tmp_path, STEPS, baseTimeNanoseconds=BASE_NS, deviceProperties=[{"id": 0}])
    whole = read_trace(
        json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": STEPS}).encode(), name="whole"
    )
    part, name = export(client, start=50_000, end=120_000)
    assert 'filename="r_a_50000-120000ns.trace.json"' in name
    first_eight = {"gemm": 2, "ProfilerStep#1": 1, "ProfilerStep#2": 1, "aten::linear": 1, "aten::mm": 1}
    assert Counter(part.names[number] for number in part.name_id) == {**first_eight, "cudaLaunchKernel": 1}
    assert slices(part, absolute=True) <= slices(whole, absolute=True)
    assert [(lane.process, lane.name, lane.pid, lane.tid, lane.kind) for lane in part.lanes] == [
        (lane.process, lane.name, lane.pid, lane.tid, lane.kind) for lane in whole.lanes
    ]
    assert [step.number for step in part.steps] == [1, 2]
    assert part.metadata["deviceProperties"] == [{"id": 0}]
    assert arrows(part) == {}
    (memory,) = part.counters
    shift = (part.epoch_ns or 0) - BASE_NS
    assert ((memory.times_ns + shift).tolist(), memory.values.tolist()) == ([50_000], [10.0])
    with_launch, _ = export(client, start=21_000, end=45_000)
    assert arrows(with_launch) == {("cudaLaunchKernel", "gemm", "ac2g"): 1}


def test_an_export_of_everything_is_the_trace(tmp_path: Path) -> None:
    client = client_with(tmp_path, STEPS, baseTimeNanoseconds=BASE_NS)
    whole = read_trace(
        json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": STEPS}).encode(), name="whole"
    )
    found, _ = export(client, start=0, end=1_000_000)
    assert slices(found, absolute=True) == slices(whole, absolute=True)
    assert (found.lanes, arrows(found), found.losses) == (whole.lanes, arrows(whole), whole.losses)
    assert [(step.number, step.duration_ns) for step in found.steps] == [(1, 100_000), (2, 100_000)]
    assert [counter.values.tolist() for counter in found.counters] == [[10.0, 30.0]]


def test_an_export_keeps_to_lanes_and_counters_asked_for(client: TestClient) -> None:
    found, _ = export(client, start=0, end=100_000, lanes="0", counters="0")
    # The steps' own lane was not asked for, so the steps are written as one.
    assert [lane.name for lane in found.lanes] == ["thread 7", "Steps"]
    assert [step.number for step in found.steps] == [1]
    assert [counter.name for counter in found.counters] == ["memory"]
    empty, _ = export(client, start=300_000, end=400_000)
    assert (len(empty), empty.steps) == (0, ())


def test_an_export_is_compressed_for_who_accepts_it(client: TestClient) -> None:
    plain = client.get(
        "/api/timeline/export", params={"id": ID, "start": 0, "end": 9}, headers={"accept-encoding": "identity"}
    )
    assert "content-encoding" not in plain.headers
    with client.stream(
        "GET", "/api/timeline/export", params={"id": ID, "start": 0, "end": 9}, headers={"accept-encoding": "gzip"}
    ) as packed:
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content


def test_pieces_join_to_what_they_were_made_of() -> None:
    parts = [bytes([number % 251]) * (number % 5_000) for number in range(2_000)]
    assert b"".join(visible.in_pieces(parts, compress=False)) == b"".join(parts)
    assert gzip.decompress(b"".join(visible.in_pieces(parts, compress=True))) == b"".join(parts)
    assert 5 < len(list(visible.in_pieces(parts, compress=False))) < 50


def test_an_export_of_too_much_says_what_to_do(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible, "MAX_SLICES", 4)
    answer = client.get("/api/timeline/export", params={"id": ID, "start": 0, "end": 1_000_000})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "The window has 12 slices in these lanes, and at most 4 can be exported at once. "
        "Zoom in, or choose fewer lanes.",
    )


@pytest.mark.peers
@pytest.mark.parametrize(
    "name",
    [
        "hta/a100_rank0_108936_events.json.gz",
        "timeline/gen2_0.step_stats.pb",
        "tensorflow1/rm_4.pb",
        "pack/kineto/rank-0.json.gz",
        "pack/torch_profiler/cpu.pt.trace.json.gz",
    ],
)
def test_a_window_of_other_tools_traces_survives_its_export(
    peer: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    file = tmp_path / "a.trace.json.gz"
    file.write_bytes(peer(name).read_bytes())
    (source,) = trace_sources(snapshot_of(companion("r", file)))
    opened = open_trace(source)
    middle = (opened.start_ns + opened.end_ns) // 2
    end = middle + (opened.end_ns - opened.start_ns) // 5
    found = overlap(opened.trace, middle, end)
    assert found.number > 10
    part = visible.visible_part(opened.trace, found, middle, end)
    again = read_trace(b"".join(chrome_json(part)), name="export")
    written = slices(again, absolute=True)
    written = Counter({key: count for key, count in written.items() if key[0] != "Steps"})
    assert written == slices(part, absolute=True) <= slices(opened.trace, absolute=True)
    assert len(part) == found.number
    assert arrows(again) == arrows(part)


@pytest.mark.parametrize(
    ("route", "query", "status", "sentence"),
    [
        ("slice", {"index": 12}, 404, "The trace has 12 slices; expected a number from 0 to 11, got 12."),
        ("relations", {"index": -1}, 404, "expected a number from 0 to 11, got -1"),
        ("occurrences", {"index": 12}, 404, "expected a number from 0 to 11, got 12"),
        ("occurrences", {"index": 0, "scope": "process"}, 422, "Parameter 'scope'"),
        ("area", {"start": 5, "end": 5}, 422, "not after its start at 5 ns"),
        ("area", {"start": 0, "end": 5, "lanes": "2"}, 404, "has 2 lanes"),
        ("area", {"start": 0, "end": 5, "top": 0}, 422, "Parameter 'top'"),
        ("export", {"start": 9, "end": 5}, 422, "not after its start at 9 ns"),
        ("export", {"start": 0, "end": 5, "lanes": "x"}, 422, "comma-separated numbers"),
        ("export", {"start": 0, "end": 5, "counters": "1"}, 404, "has 1 counter;"),
    ],
)
def test_what_is_asked_wrongly_is_answered_with_a_sentence(
    client: TestClient, route: str, query: dict[str, Any], status: int, sentence: str
) -> None:
    answer = client.get(f"/api/timeline/{route}", params={"id": ID, **query})
    assert answer.status_code == status
    assert sentence in answer.json()["detail"]
