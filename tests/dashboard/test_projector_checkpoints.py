"""TensorBoard's projector routes and the listing of embeddings for checkpoints, local and at an address."""

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import h5py
import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.embeddings.listing import EMBEDDING_PATTERNS, embedding_sources, open_dataset
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary.logdir import Logdir
from stepscope.summary.projector import CONFIG_PATTERN
from tests.dashboard.media import NoFollower
from tests.summary.bundles import of_arrays, slices_file

POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
KERAS_NAME = "layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE"


def write_logs(folder: Path) -> None:
    run = folder / "a"
    (run / "saved").mkdir(parents=True)
    of_arrays(emb=POINTS, flat=POINTS[0]).write(run / "saved" / "ckpt-7")
    (run / CONFIG_PATTERN).write_text('model_checkpoint_path: "saved/ckpt-7" embeddings { tensor_name: "emb:0" }')
    keras = folder / "k"
    (keras / "train").mkdir(parents=True)
    (keras / CONFIG_PATTERN).write_text(f'embeddings {{ tensor_name: "{KERAS_NAME}" metadata_path: "m.tsv" }}')
    (keras / "m.tsv").write_text("a\nb\nc\nd\n")
    for epoch in (1, 2):
        with h5py.File(keras / "train" / f"keras_embedding.ckpt-{epoch}.weights.h5", "w") as file:
            file["layers/embedding/vars/0"] = POINTS * epoch


@pytest.fixture(params=["local", "memory"])
def logdir(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    write_logs(tmp_path)
    if request.param == "local":
        yield str(tmp_path)
        return
    memory, root = fsspec.filesystem("memory"), f"/{uuid.uuid4().hex}"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"{root}/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    yield f"memory:/{root}"
    memory.rm(root, recursive=True)


def client(logdir: str) -> TestClient:
    live = Live(logdir, lambda publish: NoFollower())
    live.publish(Logdir(logdir, companion_patterns=(CONFIG_PATTERN, *EMBEDDING_PATTERNS)).update())
    return TestClient(build_app(live), base_url="http://localhost:6006")


def test_tensorboards_routes_serve_checkpoints(logdir: str) -> None:
    browser = client(logdir)

    def points(run: str, name: str, more: str = "") -> list[list[float]]:
        answer = browser.get(f"/data/plugin/projector/tensor?run={run}&name={name}{more}")
        assert answer.status_code == 200, answer.text
        found: list[list[float]] = np.frombuffer(answer.content, "<f4").reshape(-1, 3).tolist()
        return found

    assert browser.get("/data/plugin/projector/runs").json() == ["a", "k"]
    info = browser.get("/data/plugin/projector/info?run=a").json()
    assert info["embeddings"] == [{"tensorName": "emb", "tensorShape": [4, 3]}]
    assert points("a", "emb") == POINTS.tolist()
    assert points("a", "emb", "&num_rows=2") == POINTS[:2].tolist()
    assert points("k", KERAS_NAME) == (POINTS * 2).tolist()
    assert browser.get(f"/data/plugin/projector/metadata?run=k&name={KERAS_NAME}").text == "a\nb\nc\nd\n"


def test_checkpoints_are_listed_and_read(logdir: str) -> None:
    snapshot = Logdir(logdir, companion_patterns=(CONFIG_PATTERN, *EMBEDDING_PATTERNS)).update()
    sources = {source.id: source for source in embedding_sources(snapshot)}
    assert sorted(sources) == [
        "a/saved|file|a/saved/ckpt-*.index|emb",
        "a|config|emb",
        "k/train|file|k/train/keras_embedding.ckpt-*.weights.h5|layers/embedding/vars/0",
        f"k|config|{KERAS_NAME}",
    ]
    for name, source in sources.items():
        expected = POINTS * 2 if name.startswith("k") else POINTS
        assert open_dataset(source).points.tolist() == expected.tolist(), name
    assert open_dataset(sources[f"k|config|{KERAS_NAME}"], 1).points.tolist() == POINTS.tolist()


def test_without_h5py_it_is_said_what_to_install_and_other_checkpoints_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_logs(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    snapshot = Logdir(tmp_path, companion_patterns=(CONFIG_PATTERN, *EMBEDDING_PATTERNS)).update()
    problems = {source.id: source.problem for source in embedding_sources(snapshot)}
    name, needs = "keras_embedding.ckpt", "needs h5py. Run: pip install 'stepscope-core[hdf5]'"
    assert problems == {
        "a/saved|file|a/saved/ckpt-*.index|emb": "",
        "a|config|emb": "",
        f"k/train|file|k/train/{name}-*.weights.h5|": f"Reading {name}-1.weights.h5 {needs}",
        f"k|config|{KERAS_NAME}": f"Reading train/{name}-2.weights.h5 {needs}",
    }


def test_tensorboards_routes_have_all_matrices_and_no_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    for run, checkpoint in {"new": "ckpt-7", "old": "model.ckpt-7", "gone": "nothing-7"}.items():
        (tmp_path / run).mkdir()
        named = f'model_checkpoint_path: "{checkpoint}" embeddings {{ tensor_name: "b" }}'
        (tmp_path / run / CONFIG_PATTERN).write_text(named)
    arrays = {"a": POINTS + 1, "b": POINTS, "flat": POINTS[0]}
    of_arrays(**arrays).write(tmp_path / "new" / "ckpt-7")
    (tmp_path / "old" / "model.ckpt-7").write_bytes(slices_file(arrays))
    browser = client(str(tmp_path))
    assert browser.get("/data/plugin/projector/runs").json() == ["new", "old"]
    for run in ("new", "old"):
        info = browser.get(f"/data/plugin/projector/info?run={run}").json()
        assert info["embeddings"] == [{"tensorName": name, "tensorShape": [4, 3]} for name in ("b", "a")]
        other = browser.get(f"/data/plugin/projector/tensor?run={run}&name=a").content
        assert np.frombuffer(other, "<f4").tolist() == (POINTS + 1).reshape(-1).tolist()
    # The page lists the run that lacks its checkpoint, and tells why.
    rows = browser.get("/api/projector/embeddings").json()["embeddings"]
    assert [row["problem"] for row in rows if row["run"] == "gone"] == [
        "nothing-7 cannot be read: There is no file 'nothing-7' in the log directory."
    ]
