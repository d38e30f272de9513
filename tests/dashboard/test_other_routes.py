"""TensorBoard's routes where TensorBoard has no answer to compare with."""

import json
import math
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.bounded_bodies import LARGEST_BODY
from stepscope.dashboard.server.live import Live
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.tensor_proto import numbers_tensor, plugin_metadata, strings_tensor
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.plugin_data_pb2 import AudioPluginData, MeshPluginData
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.stored_series import StoredSeries
from tests.dashboard.all_kinds_logs import write_all_kinds
from tests.dashboard.media import NoFollower
from tests.dashboard.routes import client_with_companions

MULTIRUN = "/data/plugin/scalars/scalars_multirun"
TIME_SERIES = "/data/plugin/timeseries/timeSeries"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client_with_companions(write_all_kinds(tmp_path_factory.mktemp("all_kinds")))


def ask(client: TestClient, path: str, **query: Any) -> Any:
    return client.get(f"/data/plugin/{path}", params=query)


def test_runs_whose_files_are_empty_are_listed_last(tmp_path: Path) -> None:
    # TensorBoard lists such runs.
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "events.out.tfevents.1").touch()
    with SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert client_with_companions(tmp_path).get("/data/runs").json() == ["run", "empty"]


def test_numbers_and_times_that_are_not_finite(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for step, value in enumerate([1.5, math.nan, math.inf, -math.inf]):
            writer.add_scalar("loss", value, step, walltime=100.0)
    client = client_with_companions(tmp_path)
    where = {"run": "a", "tag": "loss"}
    values = [row[2] for row in ask(client, "scalars/scalars", **where).json()]
    assert values == [1.5, "NaN", "Infinity", "-Infinity"]
    lines = ask(client, "scalars/scalars", **where, format="csv").text.splitlines()
    assert lines == ["Wall time,Step,Value", "100.0,0,1.5", "100.0,1,nan", "100.0,2,inf", "100.0,3,-inf"]
    assert ask(client, "custom_scalars/download_data", **where, format="csv").text.splitlines() == lines


def test_clips_with_labels_of_unsafe_types(tmp_path: Path) -> None:
    metadata = plugin_metadata(
        "audio", summary_pb2.DATA_CLASS_UNKNOWN, AudioPluginData(encoding=AudioPluginData.WAV).SerializeToString()
    )
    labeled = strings_tensor([b"RIFF1", b"a *bell* <script>", b"RIFF2", b""], (2, 2))
    page = Summary.Audio(encoded_audio_string=b"<script>", content_type="text/html")
    with SummaryWriter(str(tmp_path / "a")) as writer:
        value = Summary.Value(tag="tone", metadata=metadata, tensor=labeled)
        writer.add_summary(Summary(value=[value]), 1, walltime=10.0)
        writer.add_summary(Summary(value=[Summary.Value(tag="page", audio=page)]), 1, walltime=10.0)
    client = client_with_companions(tmp_path)
    assert ask(client, "audio/tags").json()["a"]["tone"]["samples"] == 2
    rows = ask(client, "audio/audio", run="a", tag="tone").json()
    assert [(row["label"], row["contentType"]) for row in rows] == [
        ("<p>a <em>bell</em> &lt;script&gt;</p>", "audio/wav")
    ]
    second = ask(client, "audio/audio", run="a", tag="tone", sample=1).json()
    assert client.get(f"/data/plugin/audio/individualAudio?{second[0]['query']}").content == b"RIFF2"
    # A sample past the last clip gives nothing, and no server error.
    assert ask(client, "audio/audio", run="a", tag="tone", sample=2).json() == []
    page_rows = ask(client, "audio/audio", run="a", tag="page").json()
    answer = client.get(f"/data/plugin/audio/individualAudio?{page_rows[0]['query']}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    key = page_rows[0]["query"].partition("&")[0].removeprefix("blob_key=")
    assert ask(client, "audio/individualAudio", blob_key=key, content_type="text/html").status_code == 400
    assert ask(client, "images/individualImage", blob_key=key).status_code == 404


def test_charts_of_a_category_that_several_later_runs_have(tmp_path: Path) -> None:
    for run in ("a", "b", "c"):
        charts = {run: ["Multiline", ["loss"]]}
        with SummaryWriter(str(tmp_path / run)) as writer:
            writer.add_custom_scalars({"First": charts} if run == "a" else {"Later": charts})
    layout = ask(client_with_companions(tmp_path), "custom_scalars/layout").json()
    titles = {category["title"]: [chart["title"] for chart in category["chart"]] for category in layout["category"]}
    assert titles == {"First": ["a"], "Later": ["b", "c"]}


def test_patterns_that_would_never_end_are_no_patterns(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_scalar("a" * 60 + "!", 1.0, 0)
    client = client_with_companions(tmp_path)
    for pattern in ("(a|aa)+$", "x" * 400):
        answer = ask(client, "custom_scalars/scalars", run="a", tag=pattern).json()
        assert answer == {"regex_valid": False, "tag_to_events": {}}


def test_samples_that_are_not_there(client: TestClient) -> None:
    where = {"run": "one", "tag": "shape", "content_type": "VERTEX"}
    assert len(ask(client, "mesh/data", **where, sample=1).content) == 9 * 4
    assert ask(client, "mesh/data", **where, sample=2).status_code == 404
    assert ask(client, "mesh/data", **where, step=1).content == b""
    assert ask(client, "mesh/data", **where, step="nan").status_code == 422
    assert ask(client, "mesh/data", **{**where, "content_type": "UNDEFINED"}).status_code == 422
    assert ask(client, "mesh/meshes", run="one", tag="gone").json()["detail"] == (
        "No mesh for run 'one', tag 'gone': this run has no mesh with that tag. See /data/plugin/mesh/tags."
    )


def test_floats_that_are_no_colors_or_faces_are_the_nearest_ones(tmp_path: Path) -> None:
    rows = np.array([[[0.9, 254.9, -1.0], [300.0, np.nan, np.inf], [-np.inf, 1e19, 7.0]]], np.float32)
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for part in (MeshPluginData.FACE, MeshPluginData.COLOR):
            data = MeshPluginData(name="m", content_type=part).SerializeToString()
            metadata = plugin_metadata("mesh", summary_pb2.DATA_CLASS_TENSOR, data)
            writer.add_summary(
                Summary(value=[Summary.Value(tag=str(part), metadata=metadata, tensor=numbers_tensor(rows))])
            )
    client = client_with_companions(tmp_path)
    where = {"run": "a", "tag": "m", "sample": 0, "step": 0}
    colors = ask(client, "mesh/data", **where, content_type="COLOR").content
    assert list(colors) == [0, 254, 0, 255, 0, 255, 0, 255, 7]
    faces = np.frombuffer(ask(client, "mesh/data", **where, content_type="FACE").content, "<i4")
    assert faces.tolist() == [0, 254, -1, 300, 0, 2**31 - 1, -(2**31), 2**31 - 1, 7]


def test_curves_of_several_runs_at_once(client: TestClient) -> None:
    found = ask(client, "pr_curves/pr_curves", run=["one", "two", "one"], tag="pr").json()
    assert list(found) == ["one", "two"]
    assert [len(point["thresholds"]) for point in found["one"]] == [4, 1]
    assert ask(client, "pr_curves/pr_curves", run=["one", "gone"], tag="pr").status_code == 404
    assert ask(client, "pr_curves/pr_curves", tag="pr").status_code == 422


def test_graphs_that_are_not_there(client: TestClient) -> None:
    assert ask(client, "graphs/graph", run="one").status_code == 404
    assert ask(client, "graphs/graph", run="one", tag="step", conceptual=True).status_code == 404
    assert ask(client, "graphs/run_metadata", run="one", tag="step").status_code == 404
    limits: tuple[dict[str, Any], ...] = ({"limit_attr_size": 60}, {"limit_attr_size": 0, "large_attrs_key": "x"})
    for limit, status in zip(limits, (400, 422), strict=True):
        assert ask(client, "graphs/graph", run="one", tag="step", **limit).status_code == status


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/x-www-form-urlencoded", b"tag=loss&runs=one", 200),
        ("application/x-www-form-urlencoded", b"runs=one", 400),
        ("application/x-www-form-urlencoded", b"tag=loss&tag=acc", 400),
        ("application/x-www-form-urlencoded", b"tag=\xff", 400),
        ("application/x-www-form-urlencoded", b"tag=%ff", 400),
        ("multipart/form-data", b"tag=loss", 400),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nnothing", 400),
        ("multipart/form-data; boundary=b", b"", 400),
        ("application/json", b"{}", 400),
        ("", b"", 400),
        ("application/x-www-form-urlencoded", b"tag=loss&" + b"runs=one&" * 2_001, 400),
        ("application/x-www-form-urlencoded", b"a" * (LARGEST_BODY + 1), 413),
    ],
)
def test_forms(client: TestClient, content_type: str, body: bytes, status: int) -> None:
    assert client.post(MULTIRUN, content=body, headers={"content-type": content_type}).status_code == status


def test_several_runs_at_once_are_posted_only(client: TestClient) -> None:
    assert client.get(MULTIRUN).status_code == 405
    found = client.post(MULTIRUN, data={"tag": "loss", "runs": ["two", "gone", "two", "one"]}).json()
    assert {run: [row[1:] for row in rows] for run, rows in found.items()} == {
        run: [[step, float(np.float32(1 / step))] for step in (3, 5)] for run in ("two", "one")
    }


@pytest.mark.parametrize(
    "requests",
    ["", "{", "{}", "[1]", "[" * 5_000, json.dumps([{}] * 1_001), '[{"tag": 123456789012345678901234567890}]'],
    ids=len,
)
def test_time_series_that_nobody_can_ask_for(client: TestClient, requests: str) -> None:
    assert client.get(TIME_SERIES, params={"requests": requests}).status_code == 400
    assert client.post(TIME_SERIES, data={"requests": requests}).status_code == 400


def test_a_sample_below_zero_is_no_sample(client: TestClient) -> None:
    requested = {"plugin": "images", "tag": "digit", "run": "one", "sample": -1}
    answer = client.get(TIME_SERIES, params={"requests": json.dumps([requested])}).json()
    assert answer == [{**requested, "error": "Missing sample"}]


@pytest.mark.parametrize("sample", ["[1]", '"abc"', "1e400"])
def test_the_sample_of_what_has_no_samples_is_ignored(client: TestClient, sample: str) -> None:
    requested = f'[{{"plugin": "scalars", "tag": "loss", "sample": {sample}}}]'
    (answer,) = client.get(TIME_SERIES, params={"requests": requested}).json()
    assert sorted(answer["runToSeries"]) == ["one", "three", "two"]


def test_there_are_no_notifications(client: TestClient) -> None:
    assert client.get("/data/notifications").json() == {"notifications": []}
    title = client.get("/data/window_properties").json()["window_title"]
    assert client.get("/data/environment").json()["window_title"] == title != ""


def test_every_route_is_described_and_in_the_guide(client: TestClient) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text()
    paths = client.get("/api/openapi.json").json()["paths"]
    routes = {path: operations for path, operations in paths.items() if path.startswith("/data/")}
    names = {path.removeprefix("/data/").removeprefix("plugin/") for path in routes}
    assert {name for name in names if f"`{name}`" not in guide} == set()
    assert all(about["description"] for operations in routes.values() for about in operations.values())


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """Two runs as read from an index."""
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    for run in ("a", "b"):
        with SummaryWriter(str(tmp_path / "logs" / run)) as writer:
            writer.add_scalar("loss", 1.0, 0, walltime=1.0)
            writer.add_scalar("accuracy", 0.5, 0, walltime=1.0)
    logdir = Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    logdir.wait_until_stored()
    live = Live(str(tmp_path), lambda publish: NoFollower())
    live.publish(Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index"))).indexed())
    return TestClient(build_app(live), base_url="http://localhost:6006")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of living series each time one was made."""
    counts: list[int] = []
    alive: WeakSet[Any] = WeakSet()
    make = StoredSeries._make

    def counted(self: StoredSeries, tag: str) -> Any:
        counts.append(len(alive))
        found = make(self, tag)
        alive.add(found)
        return found

    monkeypatch.setattr(StoredSeries, "_make", counted)
    return counts


def test_the_tags_of_time_series_are_told_without_making_a_series(indexed: TestClient, held: list[int]) -> None:
    """The series of 100,000 runs were kept until the answer was ready; every garbage collection scanned them."""
    assert ask(indexed, "timeseries/tags").json() == {
        "scalars": {"runTagInfo": {run: ["accuracy", "loss"] for run in ("a", "b")}, "tagDescriptions": {}},
        "histograms": {"runTagInfo": {}, "tagDescriptions": {}},
        "images": {"tagDescriptions": {}, "tagRunSampledInfo": {}},
    }
    assert held == []


def test_time_series_are_sent_a_run_at_a_time(indexed: TestClient, held: list[int]) -> None:
    answer = indexed.post(TIME_SERIES, data={"requests": json.dumps([{"plugin": "scalars", "tag": "loss"}])}).json()
    points = [{"wallTime": 1.0, "step": 0, "value": 1.0}]
    assert answer == [{"plugin": "scalars", "tag": "loss", "runToSeries": {"a": points, "b": points}}]
    assert held
    assert max(held) <= 1
