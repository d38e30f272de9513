"""TensorBoard's read routes, compared with dumped answers and with TensorBoard itself."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from google.protobuf import text_format
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef

from tests.dashboard.all_kinds_logs import write_all_kinds
from tests.dashboard.media import client_of
from tests.dashboard.routes import client_with_companions
from tests.peers.tensorboard_server import TensorBoard

pytestmark = pytest.mark.peers

Peer = Callable[[str], Path]
LOGDIRS = {
    "torch": "torch",
    "tensorflow2": "tensorflow2",
    "tensorflow1": "tensorflow1/logdir",
    "pack/torch": "pack/torch",
    "pack/tensorboardX": "pack/tensorboardX",
    "pack/tensorflow2": "pack/tensorflow2",
    "pack/tensorflow1": "pack/tensorflow1/logdir",
}
KINDS = ["scalars", "images", "audio", "histograms", "distributions", "text", "pr_curves"]


@cache
def answers(dump: Path) -> Any:
    return json.loads(dump.read_text())


@pytest.fixture(scope="module", params=LOGDIRS)
def pair(request: pytest.FixtureRequest, peer: Peer) -> tuple[TestClient, Any]:
    """A server over a log directory, and TensorBoard's answers about it."""
    dump = answers(peer(f"{request.param}.tensorboard.json"))
    return client_of(peer(LOGDIRS[request.param])), dump


def difference(path: str, ours: Any, theirs: Any) -> str:
    """The first place where two answers differ; empty if they are equal. Floats may differ by float32 rounding."""
    if isinstance(theirs, float | int) and isinstance(ours, float | int):
        return "" if math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-7) else f"{path}: {ours} for {theirs}"
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((found for i, (a, b) in pairs if (found := difference(f"{path}[{i}]", a, b))), "")
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        # Each server has its own keys for fetching a picture or a clip.
        keys = [key for key in theirs if key not in ("query", "imageId")]
        return next((found for key in keys if (found := difference(f"{path}.{key}", ours[key], theirs[key]))), "")
    return "" if ours == theirs else f"{path}: {ours!r} for {theirs!r}"


def named(tags: Any) -> Any:
    """Tags as TensorBoard's page shows them: the tag itself where there is no display name."""
    if isinstance(tags, list):
        return sorted(tags)
    return {tag: {**about, "displayName": about["displayName"] or tag} for tag, about in tags.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_tags(pair: tuple[TestClient, Any], kind: str) -> None:
    client, dump = pair
    ours = client.get(f"/data/plugin/{kind}/tags").json()
    theirs = {run: tags for run, tags in dump[f"{kind}/tags"].items() if tags}
    assert {run: named(tags) for run, tags in ours.items()} == {run: named(tags) for run, tags in theirs.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_of_every_tag(pair: tuple[TestClient, Any], kind: str) -> None:
    client, dump = pair
    for run, tags in dump.get(kind, {}).items():
        for tag, theirs in tags.items():
            ours = client.get(f"/data/plugin/{kind}/{kind}", params={"run": run, "tag": tag}).json()
            assert difference(f"{run} {tag}", ours, theirs) == ""


def test_every_picture_is_the_one_in_the_file(pair: tuple[TestClient, Any], request: pytest.FixtureRequest) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    client, dump = pair
    logdir = request.getfixturevalue("peer")(LOGDIRS[request.node.callspec.params["pair"]])
    for run, tags in dump["images"].items():
        accumulator = loader.EventAccumulator(str(logdir / run), {"images": 0, "tensors": 0})
        accumulator.Reload()
        for tag in tags:
            if tag in accumulator.Tags()["images"]:
                theirs = [event.encoded_image_string for event in accumulator.Images(tag)]
            else:
                theirs = [event.tensor_proto.string_val[2] for event in accumulator.Tensors(tag)]
            rows = client.get("/data/plugin/images/images", params={"run": run, "tag": tag}).json()
            ours = [client.get(f"/data/plugin/images/individualImage?{row['query']}").content for row in rows]
            assert ours == theirs


@cache
def tensorboard_of(logdir: Path) -> TensorBoard:
    return TensorBoard(logdir)


@pytest.fixture(scope="session")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_kinds(tmp_path_factory.mktemp("all_kinds"))


@pytest.fixture(scope="module", params=[*LOGDIRS, "all kinds"])
def both(request: pytest.FixtureRequest, peer: Peer, all_kinds: Path) -> tuple[TestClient, TensorBoard]:
    """A server over a log directory, and TensorBoard over the same one."""
    logdir = all_kinds if request.param == "all kinds" else peer(LOGDIRS[request.param])
    return client_with_companions(logdir), tensorboard_of(logdir)


Both = tuple[TestClient, TensorBoard]


def same_json(both: Both, path: str, **query: Any) -> Any:
    """Asserts that both answers are the same, and returns the answer."""
    client, tensorboard = both
    theirs = tensorboard.json(path, **query)
    assert difference(path, client.get(f"/data/{path}", params=query).json(), theirs) == ""
    return theirs


def same_bytes(both: Both, path: str, **query: Any) -> bytes:
    client, tensorboard = both
    theirs: bytes = tensorboard.get(path, **query).get_data()
    answer = client.get(f"/data/{path}", params=query)
    assert answer.status_code == 200
    assert answer.content == theirs
    return theirs


@pytest.mark.parametrize("path", ["logdir", "experiments", "experiment_runs"])
def test_what_tensorboard_says_of_itself(both: Both, path: str) -> None:
    same_json(both, path)


def test_runs_in_order(both: Both) -> None:
    assert both[0].get("/data/runs").json() == both[1].json("runs")


def test_environment_and_listing(both: Both) -> None:
    client, tensorboard = both
    ours, theirs = client.get("/data/environment").json(), tensorboard.json("environment")
    assert ours.keys() == theirs.keys() - {"debug"}
    assert {key: ours[key] for key in ours if key not in ("version", "window_title")} == {
        key: theirs[key] for key in ours if key not in ("version", "window_title")
    }
    # TensorBoard's listing looks for embeddings in a thread, and at first reports that there are none.
    embeddings = tensorboard.json("plugin/projector/runs")
    listing = client.get("/data/plugins_listing").json()
    names = listing.keys() - {"projector"}
    assert {name: {**listing[name], "loading_mechanism": None} for name in names} == {
        name: {**about, "loading_mechanism": None}
        for name, about in tensorboard.json("plugins_listing").items()
        if name in names
    }
    assert listing["projector"]["enabled"] == bool(embeddings)


def test_scalars_as_csv_and_of_several_runs(both: Both) -> None:
    client, tensorboard = both
    runs_of: dict[str, list[str]] = {}
    for run, tags in tensorboard.json("plugin/scalars/tags").items():
        for tag in tags:
            same_bytes(both, "plugin/scalars/scalars", run=run, tag=tag, format="csv")
            runs_of.setdefault(tag, []).append(run)
    for tag, runs in runs_of.items():
        path, fields = "plugin/scalars/scalars_multirun", {"tag": tag, "runs": [*runs, "gone"]}
        theirs = json.loads(tensorboard.post(path, data=fields).get_data())
        assert client.post(f"/data/{path}", data=fields).json() == theirs
        parts = [("tag", (None, tag)), *(("runs", (None, run)) for run in runs)]
        assert client.post(f"/data/{path}", files=parts).json() == theirs


def test_time_series(both: Both) -> None:
    client, tensorboard = both
    tags = same_json(both, "plugin/timeseries/tags")
    requested: list[dict[str, Any]] = [{"plugin": "text", "tag": "a"}, {"plugin": "images", "tag": "a", "run": "b"}, {}]
    for kind in ("scalars", "histograms"):
        for run, found in tags[kind]["runTagInfo"].items():
            requested += [{"plugin": kind, "run": run, "tag": tag} for tag in found]
            requested += [{"plugin": kind, "tag": tag} for tag in found]
    for tag, by_run in tags["images"]["tagRunSampledInfo"].items():
        requested += [{"plugin": "images", "run": run, "tag": tag, "sample": s} for run in by_run for s in (0, 7)]
    theirs = same_json(both, "plugin/timeseries/timeSeries", requests=json.dumps(requested))
    posted = client.post("/data/plugin/timeseries/timeSeries", data={"requests": json.dumps(requested)}).json()
    assert difference("posted", posted, theirs) == ""
    for our, their in zip(posted, theirs, strict=True):
        for run in their.get("runToSeries", {}) if their["plugin"] == "images" else ():
            ids = zip(our["runToSeries"][run], their["runToSeries"][run], strict=True)
            for one, other in ids:
                picture = tensorboard.get("plugin/timeseries/imageData", imageId=other["imageId"])
                query = {"imageId": one["imageId"]}
                answer = client.get("/data/plugin/timeseries/imageData", params=query)
                assert answer.content == picture.get_data()
                assert answer.headers["content-type"] == picture.mimetype


def test_every_clip_is_the_one_in_the_file(both: Both) -> None:
    client, tensorboard = both
    for run, tags in tensorboard.json("plugin/audio/tags").items():
        for tag in tags:
            theirs = tensorboard.json("plugin/audio/audio", run=run, tag=tag)
            ours = client.get("/data/plugin/audio/audio", params={"run": run, "tag": tag}).json()
            for one, other in zip(ours, theirs, strict=True):
                answer = client.get(f"/data/plugin/audio/individualAudio?{one['query']}")
                clip = tensorboard.get(f"plugin/audio/individualAudio?{other['query']}")
                assert answer.content == clip.get_data()
                assert answer.headers["content-type"] == clip.mimetype


def test_custom_scalars(both: Both) -> None:
    _, tensorboard = both
    same_json(both, "plugin/custom_scalars/layout")
    for run, tags in tensorboard.json("plugin/scalars/tags").items():
        for pattern in ("", "loss/.*", "acc", "a", "ACC", "oss", "(", "a)|(b"):
            same_json(both, "plugin/custom_scalars/scalars", run=run, tag=pattern)
        same_bytes(both, "plugin/custom_scalars/download_data", run=run, tag=next(iter(tags)), format="csv")
    same_json(both, "plugin/custom_scalars/scalars", run="gone", tag="acc")


def test_curves(both: Both) -> None:
    _, tensorboard = both
    for run, tags in tensorboard.json("plugin/pr_curves/tags").items():
        for tag in tags:
            same_json(both, "plugin/pr_curves/pr_curves", run=run, tag=tag)


def test_meshes(both: Both) -> None:
    for run, tags in same_json(both, "plugin/mesh/tags").items():
        for tag in tags:
            for point in same_json(both, "plugin/mesh/meshes", run=run, tag=tag):
                where = {"run": run, "tag": tag, "step": point["step"]}
                where["content_type"] = ("VERTEX", "FACE", "COLOR")[point["content_type"] - 1]
                for sample in range(point["data_shape"][0]):
                    same_bytes(both, "plugin/mesh/data", **where, sample=sample)


def test_embeddings(both: Both) -> None:
    for run in same_json(both, "plugin/projector/runs"):
        for about in same_json(both, "plugin/projector/info", run=run)["embeddings"]:
            where = {"run": run, "name": about["tensorName"]}
            for rows in ({}, {"num_rows": 3}):
                same_bytes(both, "plugin/projector/tensor", **where, **rows)
                same_bytes(both, "plugin/projector/metadata", **where, **rows)
            same_bytes(both, "plugin/projector/sprite_image", **where)


def parsed(text: bytes, message: Any) -> Any:
    return text_format.Parse(text.decode(), message)


def same_message(both: Both, path: str, kind: Any, **query: Any) -> Any:
    client, tensorboard = both
    theirs = parsed(tensorboard.get(path, **query).get_data(), kind())
    answer = client.get(f"/data/{path}", params=query)
    assert answer.headers["content-type"].startswith("text/x-protobuf")
    assert parsed(answer.content, kind()) == theirs
    return theirs


def test_graphs(both: Both) -> None:
    for run, about in same_json(both, "plugin/graphs/info").items():
        limit = {"limit_attr_size": 60, "large_attrs_key": "_too_large_attrs"}
        if about["run_graph"]:
            same_message(both, "plugin/graphs/graph", GraphDef, run=run)
            same_message(both, "plugin/graphs/graph", GraphDef, run=run, **limit)
        for tag, has in about["tags"].items():
            if has["op_graph"]:
                same_message(both, "plugin/graphs/graph", GraphDef, run=run, tag=tag)
            if has["profile"]:
                same_message(both, "plugin/graphs/run_metadata", RunMetadata, run=run, tag=tag)


@pytest.mark.parametrize("name", ["tensorflow2", "pack/tensorflow2"])
def test_graph_of_layers(peer: Peer, name: str) -> None:
    logdir = peer(name)
    query = {"run": "keras/train", "tag": "keras", "conceptual": "true"}
    client, tensorboard = client_with_companions(logdir), tensorboard_of(logdir)
    ours = parsed(client.get("/data/plugin/graphs/graph", params=query).content, GraphDef())
    theirs = parsed(tensorboard.get("plugin/graphs/graph", **query).get_data(), GraphDef())
    assert [(node.name, list(node.input)) for node in ours.node] == [
        (node.name, list(node.input)) for node in theirs.node
    ]


@pytest.mark.parametrize(
    "path",
    [
        "plugin/scalars/scalars?run=gone&tag=gone",
        "plugin/audio/audio?run=gone&tag=gone",
        "plugin/images/images?run=gone&tag=gone",
        "plugin/histograms/histograms?run=gone&tag=gone",
        "plugin/graphs/graph?run=gone",
        "plugin/graphs/run_metadata?run=gone&tag=gone",
    ],
)
def test_what_is_not_there(both: Both, path: str) -> None:
    client, tensorboard = both
    assert client.get(f"/data/{path}").status_code == tensorboard.get(path).status_code == 404
