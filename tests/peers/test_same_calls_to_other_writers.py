"""The same calls to PyTorch's writer, to tensorboardX's and to ours, all read back by our reader."""

import importlib
import io
import warnings
import wave
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot

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
def peer(request: pytest.FixtureRequest) -> str:
    """The module of another writer."""
    name: str = request.param
    pytest.importorskip(name, reason=f"{name} is not installed")
    return name


def writers(peer: str) -> list[tuple[str, Any]]:
    return [("ours", SummaryWriter), ("theirs", importlib.import_module(peer).SummaryWriter)]


@pytest.fixture
def both(peer: str, tmp_path: Path) -> tuple[Snapshot, Snapshot]:
    """Our run and theirs, both read by our reader."""
    for folder, writer_class in writers(peer):
        write(writer_class(str(tmp_path / folder)))
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
    # tensorboardX needs another package for audio.
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
    # They truncate what we round.
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


STEPS = [1.5, -1.5, "5", b"7", Decimal("2.5"), Fraction(7, 2), np.float32(8.75), np.int64(9), torch.tensor(10.5), True]
NOT_STEPS = ["1.5", float("nan"), float("inf"), 2**63, 1j, object()]
NUMBERS = [True, np.float32(1.5), torch.tensor([2.5])]
NUMBERS_OF_PYTORCH = ["1.5", b"2.5", Decimal("3.5"), Fraction(1, 2), *NUMBERS]


def oddly(writer: Any, numbers: Sequence[Any]) -> list[str]:
    """Writes values that are not a plain int or float, and returns the steps that were refused."""
    refused = []
    for step in [*STEPS, *NOT_STEPS]:
        try:
            writer.add_scalar("steps", 1.0, step)
        except (TypeError, ValueError, OverflowError):
            refused.append(repr(step))
    for step, number in enumerate(numbers):
        writer.add_scalar("numbers", number, step)
    writer.add_scalar("", 1.0, 3)
    writer.add_histogram("h", np.arange(3.0), "4", bins=[0, 1, 2])
    writer.close()
    return refused


def test_odd_steps_numbers_and_tags(peer: str, tmp_path: Path) -> None:
    numbers = NUMBERS_OF_PYTORCH if peer.startswith("torch") else NUMBERS
    refused = oddly(importlib.import_module(peer).SummaryWriter(str(tmp_path / "theirs")), numbers)
    assert oddly(SummaryWriter(tmp_path / "ours"), numbers) == refused == [repr(step) for step in NOT_STEPS]
    read = []
    for folder in ("ours", "theirs"):
        series = Logdir(tmp_path / folder, keep_superseded=True).update().runs["."].series
        read.append({tag: (one.kind, one.steps.tolist(), one.values.tolist()) for tag, one in series.items()})
    assert read[0] == read[1]
    assert read[0]["steps"][1] == [1, -1, 5, 7, 2, 3, 8, 9, 10, 1]
    assert read[0].keys() == {"steps", "numbers", "", "h"}


def pixels_of(folder: Path, tag: str) -> list[Any]:
    _, _, images = only(open_logdir(folder), tag)
    return [np.asarray(Image.open(io.BytesIO(encoded))).tolist() for encoded in images.encoded]


RED_GREEN_BLUE = np.arange(3 * 40 * 60, dtype=np.uint8).reshape(3, 40, 60)
BOXES = np.array([[4, 4, 55, 35], [10.5, 12.25, 20, 30], [50, 30, 30, 20]])


@pytest.mark.parametrize("labels", [None, ["cat", "a longer dog", "é"]])
@pytest.mark.parametrize("dataformats", ["CHW", "HW"])
def test_boxes(peer: str, tmp_path: Path, labels: list[str] | None, dataformats: str) -> None:
    picture = RED_GREEN_BLUE if dataformats == "CHW" else RED_GREEN_BLUE[0]
    for folder, writer_class in writers(peer):
        with writer_class(str(tmp_path / folder)) as writer:
            writer.add_image_with_boxes("b", picture, BOXES, 1, labels=labels, dataformats=dataformats)
    assert pixels_of(tmp_path / "ours", "b") == pixels_of(tmp_path / "theirs", "b")


def test_labels_that_do_not_fit_are_not_drawn(peer: str, tmp_path: Path) -> None:
    for folder, writer_class in writers(peer):
        with writer_class(str(tmp_path / folder)) as writer, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            writer.add_image_with_boxes("b", RED_GREEN_BLUE, BOXES, labels=["a"])
        messages = [str(warning.message) for warning in warned if warning.category is UserWarning]
        assert messages == (
            ["the labels of the image 'b' must be one per box, got 1 for 3 boxes; none is drawn"]
            if folder == "ours"
            else []
        )
    assert pixels_of(tmp_path / "ours", "b") == pixels_of(tmp_path / "theirs", "b")


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint16])
def test_masks(peer: str, tmp_path: Path, dtype: torch.dtype) -> None:
    mask = (torch.arange(3 * 5 * 4).reshape(3, 5, 4) % 2).to(dtype)
    for folder, writer_class in writers(peer):
        with writer_class(str(tmp_path / folder)) as writer:
            writer.add_image("i", mask)
            writer.add_images("n", mask[None])
    for tag in ("i", "n"):
        assert pixels_of(tmp_path / "ours", tag) == pixels_of(tmp_path / "theirs", tag)


def test_a_curve_of_logits(peer: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    logits, labels, weights = random.normal(0, 2, 400), random.random(400), random.random(400)
    tables = []
    for folder, writer_class in writers(peer):
        with writer_class(str(tmp_path / folder)) as writer, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer.add_pr_curve("pr", labels, logits, 1, weights=weights)
            writer.add_pr_curve("none", labels[:0], logits[:0], 1)
        tables.append([only(open_logdir(tmp_path / folder), tag)[2].table for tag in ("pr", "none")])
    for ours, theirs in zip(*tables, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


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
