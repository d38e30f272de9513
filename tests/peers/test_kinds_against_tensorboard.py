"""Decodes what PyTorch and TensorFlow wrote, and compares it with what TensorBoard serves."""

import html
import io
import json
import re
import shutil
import struct
import wave
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format, text_format
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds import KINDS, decode, kind_of
from stepscope.summary.kinds.mesh import mesh_info
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.projector_pb2 import ProjectorConfig

pytestmark = pytest.mark.peers

Points = dict[str, dict[str, list[tuple[float, int, Any]]]]
"""Run, tag, then (wall time, step, payload)."""


HYPERPARAMETERS = {
    "torch": 12,
    "tensorflow1": 0,
    "tensorflow2": 2,
    "pack/torch": 6,
    "pack/tensorboardX": 3,
    "pack/tensorflow1": 0,
    "pack/tensorflow2": 2,
}
"""What other tools wrote, and how many messages of hyperparameters are in it."""


@pytest.fixture(scope="module", params=HYPERPARAMETERS)
def case(request: pytest.FixtureRequest, peer: Callable[[str], Path]) -> tuple[dict[str, Points], dict[str, Any]]:
    """Our points by kind, and TensorBoard's dump."""
    name = request.param
    folder = peer(f"{name}/logdir" if name.endswith("tensorflow1") else name)
    return _decoded(folder), json.loads(peer(f"{name}.tensorboard.json").read_bytes())


def _decoded(folder: Path) -> dict[str, Points]:
    points: dict[str, Points] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for path in sorted(folder.rglob("*tfevents*")):
        run = path.parent.relative_to(folder).as_posix()
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                kind = kind_of(value)
                if kind in KINDS:
                    point = (event.wall_time, event.step, decode(kind, value))
                    points[kind][run][value.tag].append(point)
    return points


def _compare(ours: Points, theirs: dict[str, Any], matches: Callable[[Any, Any], None]) -> None:
    assert {run: set(tags) for run, tags in ours.items()} == {run: set(tags) for run, tags in theirs.items() if tags}
    for run, tags in ours.items():
        for tag, points in tags.items():
            assert len(points) == len(theirs[run][tag])
            for point, served in zip(points, theirs[run][tag], strict=True):
                matches(point, served)


def test_scalars(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, float], served: list[Any]) -> None:
        assert point[:2] == tuple(served[:2])
        assert np.array_equal(point[2], float(served[2]), equal_nan=True)

    _compare(case[0]["scalars"], case[1]["scalars"], matches)


def test_histograms(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, Any], served: list[Any]) -> None:
        assert point[:2] == tuple(served[:2])
        stored = np.array(served[2]).reshape(-1, 3)
        # TensorBoard rounds older histograms to float32; it serves newer ones unchanged.
        ours = point[2].buckets
        rounded = ours.astype(np.float32).astype(np.float64)
        assert np.array_equal(ours, stored) or np.array_equal(rounded, stored)

    _compare(case[0]["histograms"], case[1]["histograms"], matches)


def test_images(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        images = point[2]
        assert len(images.encoded) >= 1
        for png in images.encoded:
            assert png[:8] == b"\x89PNG\r\n\x1a\n"
            assert (images.width, images.height) == struct.unpack(">II", png[16:24])

    _compare(case[0]["images"], case[1]["images"], matches)


def test_text(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text)

    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        shown = html.unescape(re.sub(r"</?(table|tbody|tr|td|p|strong|h1)>", " ", served["text"]))
        assert words(" ".join(point[2].strings.reshape(-1).tolist())) == words(shown)

    _compare(case[0]["text"], case[1]["text"], matches)


def test_audio(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        (clip,) = point[2].clips
        assert (clip.content_type, clip.label) == (served["contentType"], served["label"])
        with wave.open(io.BytesIO(clip.encoded)) as reader:
            # A tone of at most two seconds; TensorBoard's dump has no samples to compare.
            assert (reader.getframerate(), reader.getsampwidth(), reader.getnchannels()) == (8000, 2, 1)
            assert 0 < reader.getnframes() <= 16000

    _compare(case[0]["audio"], case[1].get("audio", {}), matches)


def test_pr_curves(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    rows = ["true_positives", "false_positives", "true_negatives", "false_negatives", "precision", "recall"]

    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        # TensorBoard leaves out the thresholds at the end that no prediction reaches.
        shown = len(served["thresholds"])
        assert not point[2].table[:2, shown:].any()
        assert point[2].table[:, :shown].tolist() == [served[row] for row in rows]
        assert point[2].thresholds[:shown].tolist() == served["thresholds"]

    served = case[1].get("pr_curves", {})
    _compare(
        case[0]["pr_curves"], {r: {t: of_run[r] for t, of_run in tags.items()} for r, tags in served.items()}, matches
    )


def test_meshes(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    for run, tags in case[1]["plugin/mesh/tags"].items():
        for tag, served in tags.items():
            found = {part: case[0]["mesh"][run].get(f"{tag}_{part}") for part in MESH_TAGS}
            points = {part: of_part for part, of_part in found.items() if of_part}
            assert set(points) in ({"VERTEX", "FACE", "COLOR"}, {"1", "2", "3"})
            assert {len(rows.rows) for of_part in points.values() for _, _, rows in of_part} == {served["samples"]}
    assert case[0]["mesh"].keys() == case[1]["plugin/mesh/tags"].keys()


MESH_TAGS = {"VERTEX": "VERTEX", "FACE": "FACE", "COLOR": "COLOR", "1": "VERTEX", "2": "FACE", "3": "COLOR"}
"""How tags of meshes end, and the part that they are; tensorboardX counts."""


@pytest.mark.parametrize("writer", ["torch", "pack/torch", "pack/tensorboardX"])
def test_mesh_metadata(peer: Callable[[str], Path], writer: str) -> None:
    found = set()
    for path in peer(writer).rglob("*tfevents*"):
        for raw in RawEventFileLoader(str(path)).Load():
            for value in Event.FromString(raw).summary.value:
                if kind_of(value) == "mesh":
                    info = mesh_info(value.metadata.plugin_data.content)
                    name, _, ending = value.tag.rpartition("_")
                    assert (name, MESH_TAGS[ending]) == (info.name, info.part)
                    assert info.parts == {"VERTEX", "FACE", "COLOR"}
                    found.add(info.part)
    assert found == {"VERTEX", "FACE", "COLOR"}


def test_layouts(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    served = case[1]["plugin/custom_scalars/layout"]
    layouts = [point[2] for tags in case[0]["custom_scalars"].values() for points in tags.values() for point in points]
    assert bool(layouts) == bool(served)
    for layout in layouts:
        # All of PyTorch's runs have the same layout, so TensorBoard makes the same one from all of them.
        assert json_format.MessageToDict(layout, always_print_fields_with_no_presence=True) == served


def test_hyperparameters(case: tuple[dict[str, Points], dict[str, Any]], request: pytest.FixtureRequest) -> None:
    messages = [point[2] for tags in case[0]["hparams"].values() for points in tags.values() for point in points]
    assert len(messages) == HYPERPARAMETERS[request.node.callspec.params["case"]]
    for message in messages:
        theirs = HParamsPluginData.FromString(message.SerializeToString())
        assert json_format.MessageToDict(theirs) == json_format.MessageToDict(message)
        assert theirs.WhichOneof("data") == message.WhichOneof("data")


@pytest.mark.parametrize(("run", "first"), [("torch/lr_0.01/seed_0", "emb:00199"), ("pack/torch/seed_0", "emb:00005")])
def test_embeddings_join_those_of_pytorch(peer: Callable[[str], Path], tmp_path: Path, run: str, first: str) -> None:
    shutil.copy(peer(f"{run}/projector_config.pbtxt"), tmp_path)
    path = tmp_path / "projector_config.pbtxt"
    path.chmod(0o644)
    (theirs,) = text_format.Parse(path.read_text(), ProjectorConfig()).embeddings
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding([[1.0]], tag="mine")
    both = text_format.Parse(path.read_text(), ProjectorConfig()).embeddings
    assert both[0] == theirs
    assert [info.tensor_name for info in both] == [first, "mine:00000"]
