"""`StepscopeCallback` compared with Keras's own callback, which needs TensorFlow, in one training run."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("tensorflow", reason="TensorFlow is not installed: see make test-integrations")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # type: ignore[import-untyped]

from stepscope.profiler.integrations.keras import StepscopeCallback
from stepscope.summary import open_logdir
from stepscope.summary.series import Series

ROWS = 12


@pytest.fixture(scope="module", autouse=True)
def on_tensorflow() -> None:
    assert keras.config.backend() == "tensorflow"


def model_with_words() -> Any:
    pixels = keras.layers.Input((8, 8, 1), name="pixels")
    words = keras.layers.Input((3,), dtype="int32", name="words")
    seen = keras.layers.Conv2D(5, 3, name="conv")(pixels)
    seen = keras.layers.Flatten()(keras.layers.BatchNormalization(name="norm")(seen))
    read = keras.layers.Flatten()(keras.layers.Embedding(7, 2, name="embedded")(words))
    joined = keras.layers.Dropout(0.5)(keras.layers.Concatenate()([seen, read]))
    return keras.Model([pixels, words], keras.layers.Dense(2, name="last")(joined), name="both")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The log directories of Keras's callback and of ours, from the same training run."""
    folder = tmp_path_factory.mktemp("logs")
    theirs, ours = folder / "theirs", folder / "ours"
    for logdir in (theirs, ours):
        logdir.mkdir()
        (logdir / "words.tsv").write_text("".join(f"word {row}\n" for row in range(7)))
    settings: dict[str, Any] = {
        "histogram_freq": 2,
        "write_images": True,
        "update_freq": 2,
        "embeddings_freq": 2,
        "embeddings_metadata": "words.tsv",
    }
    model = model_with_words()
    rates = keras.optimizers.schedules.ExponentialDecay(2**-9, 2, 0.5)
    model.compile(keras.optimizers.SGD(rates), "mse", metrics=["mae"])
    random = np.random.default_rng(0)
    pixels, words = random.normal(size=(ROWS, 8, 8, 1)), random.integers(0, 7, (ROWS, 3))
    targets = random.normal(size=(ROWS, 2))
    model.fit(
        [pixels, words],
        targets,
        batch_size=2,
        epochs=3,
        verbose=0,
        validation_data=([pixels[:4], words[:4]], targets[:4]),
        callbacks=[keras.callbacks.TensorBoard(theirs, **settings), StepscopeCallback(ours, **settings)],
    )
    return theirs, ours


def others(logdir: Path, kind: str) -> dict[str, Series]:
    """All series of a kind, by run and tag."""
    return {
        f"{name}: {tag}": series
        for name, run in open_logdir(logdir).runs.items()
        for tag, series in run.series.items()
        if series.kind == kind
    }


def test_scalars_are_the_same(logs: tuple[Path, Path], scalars: Callable[[Path], Any]) -> None:
    theirs, ours = map(scalars, logs)
    assert theirs["train"]["batch_loss"][0][0] == 2
    assert ours == theirs


@pytest.mark.parametrize("kind", ["scalars", "histograms", "images", "graph_keras_model"])
def test_tags_and_steps_are_the_same(logs: tuple[Path, Path], kind: str) -> None:
    theirs, ours = ({tag: one.steps.tolist() for tag, one in others(logdir, kind).items()} for logdir in logs)
    assert theirs
    assert ours == theirs


def test_histograms_have_the_same_buckets(logs: tuple[Path, Path]) -> None:
    theirs, ours = (others(logdir, "histograms") for logdir in logs)
    for tag, series in theirs.items():
        for index in range(len(series.steps)):
            peer, own = series.read(index).buckets, ours[tag].read(index).buckets
            if peer[0, 0] == peer[-1, 1]:
                # For a weight with one value, all of their buckets have the same edges and the last holds all.
                assert own.tolist() == [peer[-1].tolist()], tag
                continue
            np.testing.assert_allclose(own[:, :2], peer[:, :2], rtol=1e-5, atol=1e-7, err_msg=tag)
            # A value on an edge may fall to either side, because theirs are computed in TensorFlow's float64.
            assert np.abs(own[:, 2] - peer[:, 2]).sum() <= 2, tag
            assert own[:, 2].sum() == peer[:, 2].sum(), tag


def test_images_differ_by_a_rounding_at_most(logs: tuple[Path, Path]) -> None:
    theirs, ours = (others(logdir, "images") for logdir in logs)
    for tag, series in theirs.items():
        peer, own = series.read(1), ours[tag].read(1)
        assert (own.width, own.height, len(own.encoded)) == (peer.width, peer.height, len(peer.encoded)), tag
        for one, other in zip(own.encoded, peer.encoded, strict=True):
            difference = pixels_of(one) - pixels_of(other)
            assert np.abs(difference).max() <= 1, tag


def pixels_of(png: bytes) -> Any:
    return np.asarray(Image.open(BytesIO(png)), np.int64)


def test_the_conceptual_graph_is_the_same(logs: tuple[Path, Path]) -> None:
    theirs, ours = (others(logdir, "graph_keras_model")["train: keras"].read(0) for logdir in logs)
    assert ours == theirs


def test_files_of_the_projector_are_the_same(logs: tuple[Path, Path]) -> None:
    theirs, ours = logs
    assert (ours / "projector_config.pbtxt").read_text() == (theirs / "projector_config.pbtxt").read_text()
    for logdir in logs:
        assert sorted(path.name for path in (logdir / "train").glob("keras_embedding*")) == [
            "keras_embedding.ckpt-0.weights.h5",
            "keras_embedding.ckpt-2.weights.h5",
        ]


def test_an_evaluation_writes_the_same(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callbacks = [
        keras.callbacks.TensorBoard(tmp_path / "theirs", write_graph=False),
        StepscopeCallback(tmp_path / "ours", write_graph=False),
    ]
    model.evaluate(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=callbacks)
    callbacks[0]._close_writers()
    assert scalars(tmp_path / "ours") == scalars(tmp_path / "theirs")


def test_batches_are_recorded(tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback = StepscopeCallback(tmp_path, profile_batch=(2, 3))
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=2, verbose=0, callbacks=[callback])
    assert others(tmp_path, "graph_tagged_run_metadata").keys() == {"train: step_2", "train: step_3"}
