import gzip
import json
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline.api import make_router
from stepscope.dashboard.panels.timeline.payloads import MAX_SLICES
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.choices import choices, newest
from stepscope.dashboard.traces.sources import (
    OpenedTrace,
    TraceCache,
    TraceSource,
    TraceUnavailableError,
    find_source,
    has_traces,
    open_trace,
    trace_sources,
)
from stepscope.profiler.timeline import chrome_trace
from stepscope.summary.contents import Companion
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.series import Columns, Run, Series
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot

EVENTS: list[dict[str, Any]] = [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "trainer"}},
    {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "main"}},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 100, "dur": 50, "name": "forward", "cat": "op", "args": {"shape": [2, 3]}},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 110, "dur": 20, "name": "matmul", "cat": "op"},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 160, "dur": 10, "name": "matmul", "cat": "op"},
    {"ph": "X", "pid": 1, "tid": 8, "ts": 165, "dur": 5, "name": "copy", "cat": "memcpy"},
    {"ph": "s", "pid": 1, "tid": 7, "ts": 160, "id": 1, "name": "launch", "cat": "flow"},
    {"ph": "f", "pid": 1, "tid": 8, "ts": 165, "id": 1, "name": "launch", "cat": "flow", "bp": "e"},
    {"ph": "C", "pid": 1, "ts": 100, "name": "memory", "args": {"bytes": 10}},
    {"ph": "C", "pid": 1, "ts": 150, "name": "memory", "args": {"bytes": 30}},
]


class NoFollower:
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


def companion(run: str, path: Path, modified_ns: int = 5_000_000_000) -> Companion:
    size = path.stat().st_size if path.exists() else 0
    return Companion(run, PurePosixPath(run) / path.name, str(path), size, modified_ns)


def run_metadata_series(run: str, metadata: RunMetadata) -> Series:
    columns = Columns(np.array([4]), np.array([1.0]), np.array([]))
    return Series(run, "step_4", "graph_run_metadata", "", "", b"", 1, 0, lambda: columns, lambda _index: metadata)


def metadata_of_one_node() -> RunMetadata:
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    device.node_stats.add(node_name="a", all_start_micros=10, all_end_rel_micros=5, timeline_label="a = MatMul(b, c)")
    return metadata


def snapshot_of(*companions: Companion, series: Series | None = None) -> Snapshot:
    runs = {series.run: Run(series.run, 1.0, MappingProxyType({series.tag: series}))} if series else {}
    return Snapshot(3, MappingProxyType(runs), companions)


@pytest.mark.parametrize("time", [1.0, float("nan")])
def test_a_trace_is_the_same_when_its_tag_has_another_step(time: float) -> None:
    def listed(steps: list[int], times: list[float], version: int) -> list[TraceSource]:
        columns = Columns(np.array(steps), np.array(times), np.array([]))
        kept = metadata_of_one_node()
        kind = "graph_run_metadata"
        series = Series("a", "traced", kind, "", "", b"", version, 0, lambda: columns, lambda _index: kept)
        return sorted(trace_sources(snapshot_of(series=series)), key=lambda source: source.step or 0)

    (before,) = listed([4], [time], 1)
    same, other = listed([4, 5], [time, 2.0], 2)
    assert (same.id, same.version) == (before.id, before.version)
    assert other.version != same.version
    # After a restart, another step is in its place.
    (instead,) = listed([3], [3.0], 3)
    assert instead.id == before.id
    assert instead.version != before.version


def client_of(snapshot: Snapshot) -> TestClient:
    live = Live("logs", lambda publish: NoFollower())
    live.publish(snapshot)
    app = FastAPI()
    app.include_router(make_router(live), prefix="/api/timeline")
    return TestClient(app)


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps({"traceEvents": EVENTS}))
    return path


@pytest.fixture
def client(trace_file: Path) -> TestClient:
    return client_of(snapshot_of(companion("r", trace_file)))


ID = "r|file|r/a.trace.json"


def decoded(body: bytes) -> dict[str, Any]:
    assert body[:4] == b"SSW1"
    length = int.from_bytes(body[4:8], "little")
    assert (8 + length) % 8 == 0
    header: dict[str, Any] = json.loads(body[8 : 8 + length])
    offset, n = 8 + length, header["n"]
    for name, kind in (
        ("start", "<f8"),
        ("duration", "<f8"),
        ("index", "<u4"),
        ("count", "<u4"),
        ("name", "<u2"),
        ("category", "<u2"),
    ):
        column = np.frombuffer(body, kind, n, offset)
        offset += column.nbytes
        header[f"{name}[]"] = column.tolist()
    assert offset == len(body)
    return header


def test_traces_are_listed_by_run_with_the_newest_first(tmp_path: Path, trace_file: Path) -> None:
    other = tmp_path / "b.pt.trace.json.gz"
    other.write_bytes(gzip.compress(b"{}"))
    notes = tmp_path / "notes.json"
    snapshot = snapshot_of(
        companion("x", trace_file),
        companion("x", other, modified_ns=9_000_000_000),
        companion("x", notes),
        series=run_metadata_series("r", metadata_of_one_node()),
    )
    answer = client_of(snapshot).get("/api/timeline/traces").json()
    assert answer == {
        "revision": 3,
        "traces": [
            {
                "id": "r|tag|step_4|0",
                "run": "r",
                "label": "step_4",
                "kind": "run_metadata",
                "step": 4,
                "size": None,
                "recorded": 1.0,
            },
            {
                "id": "x|file|x/b.pt.trace.json.gz",
                "run": "x",
                "label": "b.pt.trace.json.gz",
                "kind": "file",
                "step": None,
                "size": other.stat().st_size,
                "recorded": 9.0,
            },
            {
                "id": "x|file|x/a.trace.json",
                "run": "x",
                "label": "a.trace.json",
                "kind": "file",
                "step": None,
                "size": trace_file.stat().st_size,
                "recorded": 5.0,
            },
        ],
    }


def test_copied_traces_are_as_old_as_the_dates_of_their_folders() -> None:
    # A checkout, an archive or a download writes all files again, in any order.
    copied = {
        "2001_09_09_01_46_40": 1_700_000_003,
        "2001_09_10_01_46_40": 1_700_000_002,
        "0001_01_01_00_00_00": 1_700_000_004,
        "2001_99_99_00_00_00": 1_600_000_001,
        "2999_01_01_00_00_00": 1_600_000_000,
    }
    sources = trace_sources(
        snapshot_of(
            *(
                Companion("r", PurePosixPath("r/plugins/profile", date, "a.trace.json"), "", 2, seconds * 10**9)
                for date, seconds in copied.items()
            )
        )
    )
    an_hour_later = datetime(2001, 9, 10, 2, 46, 40).timestamp()
    assert [(source.id.split("/")[3], source.recorded) for source in sources] == [
        ("0001_01_01_00_00_00", 1_700_000_004),  # too early for a clock
        ("2001_99_99_00_00_00", 1_600_000_001),  # no date
        ("2999_01_01_00_00_00", 1_600_000_000),  # not recorded after it was written
        ("2001_09_10_01_46_40", an_hour_later),
        ("2001_09_09_01_46_40", an_hour_later - 86_400),
    ]
    assert newest(sources) == sources[0].id
    (group,) = choices(sources, None)
    assert [item["label"] for item in group["items"]] == [
        "r · 0001-01-01 00:00:00 · a.trace.json · 2 B",
        "r · a.trace.json · 2 B",
        "r · 2999-01-01 00:00:00 · a.trace.json · 2 B",
        "r · 2001-09-10 01:46:40 · a.trace.json · 2 B",
        "r · 2001-09-09 01:46:40 · a.trace.json · 2 B",
    ]


def test_a_snapshot_has_traces_only_if_it_lists_some(trace_file: Path) -> None:
    assert not has_traces(EMPTY_SNAPSHOT)
    assert has_traces(snapshot_of(companion("r", trace_file)))
    assert has_traces(snapshot_of(series=run_metadata_series("r", metadata_of_one_node())))


def test_the_summary_names_lanes_extent_counters_and_utilization(client: TestClient) -> None:
    answer = client.get("/api/timeline/trace", params={"id": ID}).json()
    strips = answer.pop("coverage")["strips"]
    assert [strip["kind"] for strip in strips] == [lane["kind"] for lane in answer["lanes"]]
    assert max(strips[0]["busy"]) == 100
    kinds = [lane.pop("kind") for lane in answer["lanes"]]
    assert kinds[0] == "host"
    assert answer == {
        "id": ID,
        "label": "a.trace.json",
        "run": "r",
        "start_ns": "100000",
        "end": 70_000,
        "work": [0, 70_000],
        "slices": 4,
        "lanes": [
            {"lane": 0, "process": "trainer", "name": "main", "pid": 1, "tid": 7, "depths": 2},
            {"lane": 1, "process": "trainer", "name": "thread 8", "pid": 1, "tid": 8, "depths": 1},
        ],
        "lanes_total": 2,
        "steps": [],
        "steps_total": 0,
        "counters": [
            {"process": "trainer", "name": "memory", "series": "bytes", "points": 2, "min": 10.0, "max": 30.0}
        ],
        "groups": [
            {"title": "Host · trainer", "short": "Host", "kind": "host", "lanes": [0, 1], "counters": []},
            {"title": "Counters", "short": "Counters", "kind": "counters", "lanes": [], "counters": [0]},
        ],
        "lane_labels": ["main", "thread 8"],
        "counter_labels": ["memory · bytes"],
        "categories": ["flow", "memcpy", "op"],
        "longest": 50_000,
        "losses": {},
        "counted": {},
        "examples": {},
        "meanings": {},
        "notes": [],
    }


def test_a_window_holds_every_slice_when_the_buckets_are_fine(client: TestClient) -> None:
    answer = client.get("/api/timeline/window", params={"id": ID, "start": 0, "end": 70_000, "width": 700})
    assert decoded(answer.content) == {
        "n": 4,
        "start": 0,
        "end": 70_000,
        "bucket": 100,
        "names": ["forward", "matmul", "copy"],
        "categories": ["op", "memcpy"],
        "value": False,
        "rows_left_out": 0,
        "rows": [0, 0, 0, 0, 1, 2, 1, 0, 3],
        "start[]": [0.0, 60_000.0, 10_000.0, 65_000.0],
        "duration[]": [50_000.0, 10_000.0, 20_000.0, 5_000.0],
        "index[]": [0, 1, 2, 3],
        "count[]": [1, 1, 1, 1],
        "name[]": [0, 1, 1, 2],
        "category[]": [0, 0, 0, 1],
    }


def test_a_window_merges_what_shares_a_bucket_and_keeps_to_the_lanes_asked_for(client: TestClient) -> None:
    query = {"id": ID, "start": 0, "end": 70_000, "width": 1, "lanes": "0"}
    window = decoded(client.get("/api/timeline/window", params=query).content)
    assert (window["rows"], window["index[]"], window["count[]"]) == ([0, 0, 0, 0, 1, 1], [0, 2], [2, 1])


def test_a_window_of_a_dense_trace_stays_small(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": lane, "ts": 10 * i, "dur": 1 + (i * 7919 + lane) % 9, "name": f"n{i % 50}"}
        for lane in range(40)
        for i in range(2_000)
    ]
    path = tmp_path / "dense.trace.json"
    path.write_text(json.dumps(events))
    client = client_of(snapshot_of(companion("r", path)))
    query = {"id": "r|file|r/dense.trace.json", "start": 0, "end": 20_000_000, "width": 4_000}
    answer = client.get("/api/timeline/window", params=query)
    window = decoded(answer.content)
    assert MAX_SLICES / 4 < window["n"] <= MAX_SLICES
    assert sum(window["count[]"]) == len(events)
    assert int(answer.headers["content-length"]) < 300_000


def test_search_covers_the_whole_trace_and_answers_in_pages(client: TestClient) -> None:
    query = {"id": ID, "q": "MAT", "limit": 1, "offset": 1, "at": 10_001}
    answer = client.get("/api/timeline/search", params=query).json()
    minimap = answer.pop("minimap")
    assert (len(minimap), sum(minimap)) == (500, 2)
    assert answer == {
        "count": 2,
        "rank": 1,
        "offset": 1,
        "index": [1],
        "start": [60_000],
        "duration": [10_000],
        "lane": [0],
        "depth": [0],
        "names": ["matmul"],
    }
    both = client.get("/api/timeline/search", params={"id": ID, "q": "^(copy|forward)$", "match": "regex"}).json()
    assert both["index"] == [0, 3]


def test_counters_come_with_the_value_before_the_window(client: TestClient) -> None:
    query = {"id": ID, "start": 20_000, "end": 40_000, "width": 10}
    assert client.get("/api/timeline/counters", params=query).json() == [
        {"counter": 0, "time": [0, 50_000], "value": [10.0, 30.0], "points": 2, "reduced": False}
    ]


def test_a_counter_with_many_points_keeps_its_extremes(tmp_path: Path) -> None:
    values = [5] * 10_000
    values[1_234], values[6_000] = 99, -7
    events = [{"ph": "C", "pid": 1, "ts": i, "name": "c", "args": {"v": v}} for i, v in enumerate(values)]
    path = tmp_path / "c.trace.json"
    path.write_text(json.dumps(events))
    client = client_of(snapshot_of(companion("r", path)))
    query = {"id": "r|file|r/c.trace.json", "start": 0, "end": 10_000_000, "width": 20}
    (counter,) = client.get("/api/timeline/counters", params=query).json()
    assert (counter["points"], counter["reduced"]) == (10_000, True)
    assert len(counter["value"]) <= 42
    assert (counter["value"][0], max(counter["value"]), min(counter["value"])) == (5, 99, -7)


def test_a_file_downloads_as_it_is(client: TestClient, trace_file: Path) -> None:
    answer = client.get("/api/timeline/download", params={"id": ID})
    assert answer.content == trace_file.read_bytes()
    assert 'filename="a.trace.json"' in answer.headers["content-disposition"]


def test_run_metadata_opens_and_downloads_as_chrome_json() -> None:
    metadata = metadata_of_one_node()
    client = client_of(snapshot_of(series=run_metadata_series("r", metadata)))
    summary = client.get("/api/timeline/trace", params={"id": "r|tag|step_4|0"}).json()
    assert (summary["slices"], summary["end"]) == (1, 5_000)
    answer = client.get("/api/timeline/download", params={"id": "r|tag|step_4|0"})
    assert answer.json() == json.loads(json.dumps(chrome_trace(metadata.step_stats)))
    assert 'filename="r_step_4.trace.json"' in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    ("route", "query", "status", "sentence"),
    [
        ("slice", {"id": "r|file|../../etc/passwd", "index": 0}, 404, "no trace 'r|file|../../etc/passwd'"),
        ("download", {"id": "/etc/passwd"}, 404, "There is no trace '/etc/passwd'"),
        ("trace", {}, 422, "Parameter 'id': Field required."),
        ("window", {"id": ID, "start": 5, "end": 5, "width": 1}, 422, "not after its start at 5 ns"),
        ("window", {"id": ID, "start": 0, "end": 5, "width": 0}, 422, "Parameter 'width'"),
        ("window", {"id": ID, "start": 0, "end": 5, "width": 1e6}, 422, "Parameter 'width'"),
        ("window", {"id": ID, "start": "x", "end": 5, "width": 1}, 422, "Parameter 'start'"),
        ("window", {"id": ID, "start": 0, "end": 5, "width": 1, "lanes": "0,x"}, 422, "comma-separated numbers"),
        ("window", {"id": ID, "start": 0, "end": 5, "width": 1, "lanes": "9"}, 404, "has 2 lanes"),
        ("window", {"id": ID, "start": 0, "end": 5, "width": 1, "lanes": "0," * 2_001 + "0"}, 422, "at most 2000"),
        ("counters", {"id": ID, "start": 0, "end": 5, "width": 1, "counters": "1"}, 404, "has 1 counter;"),
        ("slice", {"id": ID, "index": 4}, 404, "The trace has 4 slices; expected a number from 0 to 3, got 4."),
        ("slice", {"id": ID, "index": -1}, 404, "expected a number from 0 to 3, got -1"),
        ("search", {"id": ID, "q": "("}, 200, ""),
        ("search", {"id": ID, "q": "(", "match": "regex"}, 422, "cannot be searched for"),
    ],
)
def test_what_is_asked_wrongly_is_answered_with_a_sentence(
    client: TestClient, route: str, query: dict[str, Any], status: int, sentence: str
) -> None:
    answer = client.get(f"/api/timeline/{route}", params=query)
    assert answer.status_code == status
    if status != 200:
        assert sentence in answer.json()["detail"]


def test_broken_traces_say_so_and_the_others_still_work(tmp_path: Path, trace_file: Path) -> None:
    text = tmp_path / "text.trace.json"
    text.write_text("hello")
    gone = tmp_path / "gone.trace.json"
    cut = tmp_path / "cut.trace.json"
    cut.write_bytes(trace_file.read_bytes()[:-200])
    client = client_of(snapshot_of(*(companion("r", path) for path in (text, gone, cut, trace_file))))

    def trace(name: str) -> Any:
        return client.get("/api/timeline/trace", params={"id": f"r|file|r/{name}"})

    assert "text.trace.json is not a trace" in trace("text.trace.json").json()["problem"]
    assert "gone.trace.json of run 'r' cannot be read" in trace("gone.trace.json").json()["problem"]
    assert "There is no trace 'r|file|r/other.trace.json'" in trace("other.trace.json").json()["problem"]
    slice_of_text = client.get("/api/timeline/slice", params={"id": "r|file|r/text.trace.json", "index": 0})
    assert slice_of_text.status_code == 422
    assert "text.trace.json is not a trace" in slice_of_text.json()["detail"]
    assert trace("cut.trace.json").json()["slices"] > 0
    assert trace("cut.trace.json").json()["notes"] != []
    assert trace("a.trace.json").status_code == 200


def test_a_trace_that_two_ask_for_at_once_is_opened_once(trace_file: Path) -> None:
    (source,) = trace_sources(snapshot_of(companion("r", trace_file)))
    opening, release, calls = threading.Event(), threading.Event(), []

    def slowly(source: TraceSource) -> OpenedTrace:
        calls.append(source.id)
        opening.set()
        assert release.wait(10)
        return open_trace(source)

    cache = TraceCache(opener=slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, source)
        assert opening.wait(10)
        second = pool.submit(cache.get, source)
        release.set()
        assert first.result(10) is second.result(10)
    assert calls == [ID]


def test_the_cache_forgets_what_was_used_longest_ago(tmp_path: Path, trace_file: Path) -> None:
    paths = [tmp_path / f"{name}.trace.json" for name in "xyz"]
    for path in paths:
        path.write_bytes(trace_file.read_bytes())
    x, y, z = trace_sources(snapshot_of(*(companion("r", path) for path in paths)))
    calls: list[str] = []

    def counting(source: TraceSource) -> OpenedTrace:
        calls.append(source.label[0])
        return open_trace(source)

    cache = TraceCache(max_traces=2, opener=counting)
    for source in (x, y, x, z, x, y):
        cache.get(source)
    assert "".join(calls) == "xyzy"
    calls.clear()
    cache = TraceCache(max_bytes=1, opener=counting)
    for source in (x, x, y, x):
        cache.get(source)
    assert "".join(calls) == "xyx"


def test_a_broken_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "b.trace.json"
    path.write_text("hello")
    calls: list[int] = []

    def counting(source: TraceSource) -> OpenedTrace:
        calls.append(source.version[0])
        return open_trace(source)

    cache = TraceCache(opener=counting)
    for modified_ns in (1, 1, 2):
        source = find_source(snapshot_of(companion("r", path, modified_ns)), "r|file|r/b.trace.json")
        with pytest.raises(TraceUnavailableError, match=r"b\.trace\.json is not a trace"):
            cache.get(source)
    assert calls == [1, 2]
