"""The same calls to PyTorch's writer, to tensorboardX's and to ours, read back by ours."""

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from summary import SummaryWriter, open_logdir
from summary.snapshot import Snapshot

pytestmark = pytest.mark.peers

POINTS = np.array([[[0, 0, 1], [0.5, 0, 0], [0, 1, 0]]], np.float32)
COLORS = np.array([[[255, 0, 0], [0, 128, 0], [0, 0, 7]]], np.int32)
FACES = np.array([[[0, 1, 2]]], np.int32)
SOUND = np.sin(np.arange(100, dtype=np.float32))
LABELS = np.array([0, 1, 1, 0, 1])
PREDICTIONS = np.array([0.1, 0.5, 0.75, 0.7, 1.0], np.float32)
LAYOUT = {"Losses": {"both": ["Multiline", ["loss/.*"]], "band": ["Margin", ["acc", "low", "high"]]}}


def write(writer: Any) -> None:
    writer.add_pr_curve("pr", LABELS, PREDICTIONS, 2)
    writer.add_pr_curve_raw("raw", [3, 1], [2, 0], [0, 2], [0, 2], [0.5, 1], [1, 0.25], 3)
    writer.add_mesh("tri", POINTS, COLORS, FACES, {"camera": {"fov": 75}}, 4)
    writer.add_histogram_raw("h", 0, 3, 3, 4, 10, [1, 2, 4], [1, 0, 2], 5)
    writer.add_custom_scalars(LAYOUT)
    writer.close()


@pytest.fixture(params=["torch.utils.tensorboard", "tensorboardX"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Snapshot, Snapshot]:
    """What we read of our run and of theirs."""
    theirs = pytest.importorskip(request.param, reason=f"{request.param} is not installed").SummaryWriter
    write(SummaryWriter(tmp_path / "ours"))
    write(theirs(str(tmp_path / "theirs")))
    return open_logdir(tmp_path / "ours"), open_logdir(tmp_path / "theirs")


def only(snapshot: Snapshot, tag: str) -> tuple[int, str, Any]:
    series = snapshot.series(".", tag)
    assert series is not None
    assert len(series) == 1
    return int(series.steps[0]), series.kind, series.read(0)


def test_curves(both: tuple[Snapshot, Snapshot]) -> None:
    for tag, count in (("pr", 127), ("raw", 2)):
        (step, kind, ours), (their_step, their_kind, theirs) = (only(snapshot, tag) for snapshot in both)
        assert (step, kind) == (their_step, their_kind)
        assert ours.table.shape == (6, count)
        np.testing.assert_array_equal(ours.table, theirs.table)


def test_sound(tmp_path: Path) -> None:
    # tensorboardX needs another package for it.
    theirs = pytest.importorskip("torch.utils.tensorboard", reason="PyTorch is not installed").SummaryWriter
    heard = []
    for folder, writer_class in (("ours", SummaryWriter), ("theirs", theirs)):
        with writer_class(str(tmp_path / folder)) as writer:
            writer.add_audio("tone", SOUND, 1, 8000)
        step, kind, audio = only(open_logdir(tmp_path / folder), "tone")
        (clip,) = audio.clips
        with wave.open(io.BytesIO(clip.encoded)) as reader:
            heard.append(np.frombuffer(reader.readframes(1000), "<i2").astype(int))
            assert (step, kind, reader.getparams()[:4]) == (1, "audio", (1, 2, 8000, 100))
    # They cut off what we round.
    assert np.abs(heard[0] - heard[1]).max() <= 1


def test_meshes(both: tuple[Snapshot, Snapshot]) -> None:
    for part, rows in (("VERTEX", POINTS), ("FACE", FACES), ("COLOR", COLORS)):
        step, kind, mesh = only(both[0], f"tri_{part}")
        assert (step, kind, mesh.rows.tolist()) == (4, "mesh", rows.tolist())
    theirs = [series.read(0).rows.tolist() for series in both[1].runs["."].of_kind("mesh")]
    assert theirs == [POINTS.tolist(), FACES.tolist(), COLORS.tolist()]


def test_histograms_and_layouts(both: tuple[Snapshot, Snapshot]) -> None:
    (step, kind, ours), (their_step, their_kind, theirs) = (only(snapshot, "h") for snapshot in both)
    assert (step, kind, ours.buckets.tolist()) == (their_step, their_kind, theirs.buckets.tolist())
    assert only(both[0], "custom_scalars__config__") == only(both[1], "custom_scalars__config__")


def test_hyperparameters(tmp_path: Path) -> None:
    theirs = pytest.importorskip("torch.utils.tensorboard", reason="PyTorch is not installed").SummaryWriter
    read = []
    for folder, writer_class in (("ours", SummaryWriter), ("theirs", theirs)):
        with writer_class(str(tmp_path / folder)) as writer:
            hparams = {"lr": 0.1, "opt": "sgd", "layers": 3}
            writer.add_hparams(hparams, {"hparam/loss": 0.25}, {"opt": ["sgd", "adam"]}, "trial", 7)
        series = open_logdir(tmp_path / folder).runs["trial"].series
        read.append({tag: (one.kind, one.steps.tolist(), one.read(0)) for tag, one in series.items()})
    assert read[0] == read[1]
    assert len(read[0]) == 4
