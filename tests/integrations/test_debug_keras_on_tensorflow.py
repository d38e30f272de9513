"""Watching a Keras model on TensorFlow while it fits: in graphs, and eagerly."""

import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed: see make test-integrations")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # type: ignore[import-untyped]
import tensorflow as tf

from stepscope import debug, open_logdir
from stepscope.debug.tensorflow_health import TensorFlowHealth, size_and_sums
from stepscope.summary.debugger.recordings import RecordedData, read_recording


class Logarithm(keras.layers.Layer):  # type: ignore[misc,unused-ignore]
    def call(self, x: Any) -> Any:
        return keras.ops.log(x)


def model(**options: Any) -> Any:
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Input((3,)),
        keras.layers.Dense(4, activation="relu", name="dense"),
        Logarithm(name="logarithm"),
        keras.layers.Dropout(0.5, name="dropout"),
        keras.layers.Dense(1, name="last"),
    ]
    own = keras.Sequential(layers)
    own.compile(keras.optimizers.Adam(1e-6), "mse", **options)
    own.layers[0].set_weights([np.ones((3, 4)), np.zeros(4)])
    return own


def batches(count: int, *bad: int) -> Any:
    x = np.ones((count, 3), np.float32)
    x[list(bad)] = -1
    return x


def fit(own: Any, x: Any) -> None:
    own.fit(x, np.ones((len(x), 1)), batch_size=1, shuffle=False, verbose=0)


def recorded(folder: Path) -> RecordedData:
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run)


def lines_of(data: RecordedData, name: str, phase: str) -> list[str]:
    (tensor,) = [tensor for tensor in data.tensors if (tensor.name, tensor.phase) == (name, phase)]
    assert tensor.stack is not None
    return [f"{Path(frame.path).name}: {frame.code.strip()}" for frame in data.stack(tensor.stack)]


@pytest.mark.parametrize("eagerly", [False, True])
def test_a_training_that_goes_bad_at_step_500_names_layer_operation_and_line(tmp_path: Path, eagerly: bool) -> None:
    own = model(run_eagerly=eagerly)
    with debug.watch(own, tmp_path, every=100, on_alert=None) as watcher:
        own.train_step = debug.catch(own.train_step, watcher)
        with pytest.raises(debug.CaughtError) as caught:
            fit(own, batches(502, 500))
    data = recorded(tmp_path)
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert verdict.sentence == str(caught.value)
    assert verdict.sentence.startswith("Step 500: logarithm/Log (float32) is the first with 4 -Inf of 4 elements, at ")
    assert verdict.sentence.endswith(
        "in call: return keras.ops.log(x). It produced them: its inputs were finite (dense/Relu from 0 to 0)."
    )
    assert data.tensors[verdict.tensor].module == "logarithm"
    np.testing.assert_array_equal(np.load(tmp_path / "caught/step_500_logarithm_Log.npy"), np.full((1, 4), -np.inf))
    np.testing.assert_array_equal(np.load(tmp_path / "caught/step_500_logarithm_Log_input0.npy"), np.zeros((1, 4)))


@pytest.mark.parametrize("eagerly", [False, True])
def test_without_catch_a_recorded_step_names_the_layer_and_its_line(tmp_path: Path, eagerly: bool) -> None:
    own = model(run_eagerly=eagerly)
    with debug.watch(own, tmp_path, every=1, on_alert="stop") as watcher:
        fit(own, batches(7, 5))
        assert watcher.should_stop
    verdict = debug.first_bad(recorded(tmp_path))
    assert verdict is not None
    assert verdict.sentence.startswith("Step 5: logarithm (float32) is the first with 4 -Inf of 4 elements, at ")
    assert "in call: return keras.ops.log(x). It produced them" in verdict.sentence
    assert "train_step" not in vars(own)
    fit(own, batches(2))


def test_what_is_watched_and_in_which_steps(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, every=3, on_alert=None, exclude="dropout"):
        fit(own, batches(7))
    data = recorded(tmp_path)
    parameters = ["dense.kernel", "dense.bias", "last.kernel", "last.bias"]
    assert [f"{tensor.phase} {tensor.name}" for tensor in data.tensors] == [
        *(f"parameter {name}" for name in parameters),
        "forward Sequential:input",
        "forward dense",
        "forward logarithm",
        "forward last",
        "forward Sequential",
        *(f"backward {name}" for name in parameters),
        *(f"update {name}" for name in parameters),
    ]
    inputs = {tensor.name: [data.tensors[n].name for n in tensor.inputs] for tensor in data.tensors}
    assert inputs["dense"] == ["Sequential:input", "dense.kernel", "dense.bias"]
    assert sorted(set(data.observations(0, data.observation_count).steps.tolist())) == [0, 3, 6]
    assert any("gradients of layer outputs are not observed" in problem for problem in data.problems)


def test_the_device_is_known(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, every=1):
        fit(own, batches(1))
    assert {tensor.device for tensor in recorded(tmp_path).tensors} == {"cpu:0"}


def test_the_state_of_the_optimizer_is_watched_where_asked(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, every=1, on_alert=None, optimizer_state=True, include=re.compile(".*last")):
        fit(own, batches(2))
    data = recorded(tmp_path)
    kept = [(tensor.phase, tensor.name, tensor.shape) for tensor in data.tensors if tensor.name.startswith("adam")]
    assert [(phase, re.sub(r"_\d+", "", name), shape) for phase, name, shape in kept] == [
        ("update", "adam/sequential_last_kernel_momentum", (4, 1)),
        ("update", "adam/sequential_last_kernel_velocity", (4, 1)),
        ("update", "adam/sequential_last_bias_momentum", (1,)),
        ("update", "adam/sequential_last_bias_velocity", (1,)),
    ]


def test_a_training_that_is_watched_learns_the_same(tmp_path: Path) -> None:
    alone, own = model(), model()
    fit(alone, batches(6))
    with debug.watch(own, tmp_path, every=2, on_alert=None):
        fit(own, batches(6))
    for expected, found in zip(alone.get_weights(), own.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_bad_step_can_be_left_out(tmp_path: Path) -> None:
    alone, own = model(), model()
    fit(alone, batches(6))
    with debug.watch(own, tmp_path, every=100, on_alert=None) as watcher:
        step = debug.catch(own.train_step, watcher, then="skip")
        for number in range(7):
            step((batches(1, *([0] if number == 3 else [])), np.ones((1, 1), np.float32)))
    assert [found.step for found in step.caught] == [3]
    for expected, found in zip(alone.get_weights(), own.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_every_operation_and_the_values_themselves(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, every=1, on_alert=None, operations=True, tensors="full", include="logarithm"):
        fit(own, batches(2))
    data = recorded(tmp_path)
    names = [f"{tensor.phase} {tensor.name}" for tensor in data.tensors]
    assert names == [
        "forward logarithm/Log",
        "forward logarithm",
        "backward logarithm/Reciprocal",
        "backward logarithm/Mul",
    ]
    assert lines_of(data, "logarithm/Mul", "backward")[-1].endswith("return keras.ops.log(x)")
    value = data.value(0)
    assert value is not None
    np.testing.assert_allclose(np.asarray(value, np.float64), np.full((1, 4), np.log(3)), rtol=1e-6)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1.5, -2, 0, np.nan], [np.inf, -np.inf, 1e-40, 3e38]], np.float32),
        np.array([1e-7, 65504, -3, 0.5], np.float16),
        np.array([1 + 2j, np.nan], np.complex64),
        np.array([3, 0, -4]),
        np.array([True, False]),
        np.zeros((0, 3), np.float32),
        np.full(3, np.nan),
    ],
)
def test_health_is_what_numpy_measures(values: Any) -> None:
    row = tf.function(size_and_sums)(tf.constant(values))
    found = TensorFlowHealth(tf.stack([row]), [tf.constant(values).dtype.name]).figures()[0]
    np.testing.assert_allclose(found, debug.health(values), rtol=1e-6)


def test_what_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    own = model(steps_per_execution=2)
    with pytest.raises(ValueError, match="expected steps_per_execution=1"):
        debug.watch(own, tmp_path)
    with pytest.raises(ValueError, match="must be built and compiled"):
        debug.watch(keras.Sequential([keras.layers.Dense(1)]), tmp_path)
    assert set(threading.enumerate()) <= before
    assert own.train_step.__func__ is type(own).train_step
