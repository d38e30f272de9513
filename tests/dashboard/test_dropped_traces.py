"""Traces dropped on the page: how they arrive, where they are listed, and how they go."""

import json
from pathlib import Path, PurePosixPath

import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline.panel import PANEL
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.dropped_files import NoRoomError, UploadError
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.choices import newest
from stepscope.dashboard.traces.drop_route import PATH
from stepscope.dashboard.traces.dropped import TraceUploads, trace_uploads
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.dashboard.traces.step_ranges import StepRanges
from stepscope.summary.contents import Companion
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.media import NoFollower

TRACE = json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "forward"}]}).encode()
FILE = {"content-type": "application/octet-stream"}


@pytest.fixture
def live(tmp_path: Path) -> Live:
    made = Live(str(tmp_path), lambda publish: NoFollower())
    made.publish(Snapshot(4, {}))
    return made


@pytest.fixture
def client(live: Live) -> TestClient:
    return TestClient(build_app(live), base_url="http://localhost:6006")


def test_a_dropped_trace_is_listed_and_opened(live: Live, client: TestClient) -> None:
    assert not PANEL.has_data(live.snapshot())
    answer = client.post(PATH, params={"name": "../a/step.json"}, content=TRACE, headers=FILE)
    assert answer.json() == {"id": "|dropped|step.json"}
    again = client.post(PATH, params={"name": "step.json"}, content=TRACE, headers=FILE)
    assert again.json() == {"id": "|dropped|step (2).json"}
    assert PANEL.has_data(live.snapshot())
    listed = client.get("/api/timeline/traces").json()
    assert [(each["id"], each["run"], each["kind"]) for each in listed["traces"]] == [
        ("|dropped|step (2).json", "Dropped", "dropped"),
        ("|dropped|step.json", "Dropped", "dropped"),
    ]
    opened = client.get("/api/timeline/trace", params={"id": "|dropped|step.json"}).json()
    assert "problem" not in opened
    assert opened["slices"] == 1
    # It belongs to no curves.
    assert StepRanges().listing(live.snapshot()).traces == []


def test_revisions_grow_with_either_source_of_news(live: Live) -> None:
    revisions = [live.snapshot().revision]
    for name in ("a", "b"):
        upload = trace_uploads(live).begin(f"{name}.json")
        upload.write(TRACE)
        upload.finish()
        revisions.append(live.snapshot().revision)
        live.publish(Snapshot(revisions[0] + len(revisions), {}))
        revisions.append(live.snapshot().revision)
    assert revisions == sorted(set(revisions))
    assert len(live.snapshot().companions) == 2


def test_the_newest_trace_is_one_of_the_log_directory(live: Live, tmp_path: Path) -> None:
    (tmp_path / "x.trace.json").write_bytes(TRACE)
    listed = Companion("r", PurePosixPath("r/x.trace.json"), str(tmp_path / "x.trace.json"), len(TRACE), 1)
    upload = trace_uploads(live).begin("later.json")
    upload.write(TRACE)
    assert newest(trace_sources(live.snapshot())) is None
    dropped = upload.finish()
    assert newest(trace_sources(live.snapshot())) == dropped
    live.publish(Snapshot(5, {}, (listed,)))
    assert newest(trace_sources(live.snapshot())) == "r|file|r/x.trace.json"


def test_what_is_no_trace_is_refused_and_gone(client: TestClient, live: Live) -> None:
    for content in (b"", b'{"lr": 1}', b"hello"):
        answer = client.post(PATH, params={"name": "config.json"}, content=content, headers=FILE)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("config.json is not a trace. Drop a Chrome trace")
    assert client.post(PATH, params={"name": "a.json"}, content=TRACE).status_code == 415
    stranger = {**FILE, "origin": "http://evil.example"}
    assert client.post(PATH, params={"name": "a.json"}, content=TRACE, headers=stranger).status_code == 403
    assert live.snapshot().revision == 4


def test_traces_make_room_for_later_ones_and_go_with_the_server() -> None:
    listed: list[tuple[Companion, ...]] = []
    uploads = TraceUploads(listed.append, largest=2 * len(TRACE), most_bytes=3 * len(TRACE), most_files=2)
    for number in range(3):
        upload = uploads.begin(f"{number}.json")
        upload.write(TRACE)
        upload.finish()
    assert [each.relative_path.name for each in listed[-1]] == ["1.json", "2.json"]
    paths = [Path(each.path) for each in listed[-1]]
    assert [path.exists() for path in paths] == [True, True]
    with pytest.raises(UploadError, match="the limit for dropped files"):
        uploads.begin("large.json").write(TRACE * 3)
    waiting = [uploads.begin("x.json") for _ in range(8)]
    with pytest.raises(NoRoomError, match="8 uploads in progress already"):
        uploads.begin("x.json")
    uploads.close()
    assert [path.exists() for path in paths] == [False, False]
    for each in waiting:
        each.abort()
