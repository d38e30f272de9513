import gc
import gzip
import json
import logging
import os
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras  # type: ignore[import-untyped]
import numpy as np
import pytest
from google.protobuf import text_format
from numpy.typing import NDArray

from stepscope import profiler
from stepscope.profiler.integrations.keras import StepscopeCallback, profiled_batches, weight_pictures
from stepscope.profiler.process import NotStartedError
from stepscope.summary import open_logdir
from stepscope.summary.proto.projector_pb2 import ProjectorConfig
from stepscope.summary.series import Series

ROWS = 12
FEATURES = np.linspace(-1, 1, ROWS * 3, dtype=np.float32).reshape(ROWS, 3)
TARGETS = FEATURES.sum(axis=1, keepdims=True)


class Clock:
    """Each reading is a quarter of a second after the previous one."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 0.25
        return self.seconds


def dense_model() -> Any:
    layers = [keras.layers.Input((3,)), keras.layers.Dense(4, name="hidden"), keras.layers.Dense(1, name="last")]
    return keras.Sequential(layers, name="small")


def fit(callback: StepscopeCallback, model: Any = None, also: Sequence[Any] = (), **arguments: Any) -> Any:
    """Trains two epochs of three batches; returns the history."""
    model = model or dense_model()
    model.compile(keras.optimizers.SGD(0.125), "mse", metrics=["mae"])
    settings = {"batch_size": 4, "epochs": 2, "verbose": 0, "shuffle": False, **arguments}
    return model.fit(FEATURES, TARGETS, callbacks=[callback, *also], **settings).history


def series(logdir: Path) -> dict[str, dict[str, Series]]:
    return {name: dict(run.series) for name, run in open_logdir(logdir).runs.items()}


def points(logdir: Path) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """(step, value) of all scalars by run and tag."""
    return {
        run: {
            tag: list(zip(one.steps.tolist(), one.values.tolist(), strict=True))
            for tag, one in by_tag.items()
            if one.kind == "scalars"
        }
        for run, by_tag in series(logdir).items()
    }


def numbered(values: list[float], first: int = 0) -> Any:
    return [(step, pytest.approx(value)) for step, value in enumerate(values, first)]


def test_epochs_of_training_and_validation_are_two_runs(tmp_path: Path) -> None:
    history = fit(StepscopeCallback(tmp_path, write_graph=False), validation_data=(FEATURES[:4], TARGETS[:4]))
    assert points(tmp_path) == {
        "train": {
            "epoch_loss": numbered(history["loss"]),
            "epoch_mae": numbered(history["mae"]),
            "epoch_learning_rate": numbered([0.125, 0.125]),
        },
        "validation": {
            "evaluation_loss_vs_iterations": [(3 * step + 3, value) for step, value in numbered(history["val_loss"])],
            "evaluation_mae_vs_iterations": [(3 * step + 3, value) for step, value in numbered(history["val_mae"])],
            "epoch_loss": numbered(history["val_loss"]),
            "epoch_mae": numbered(history["val_mae"]),
        },
    }


class BatchLosses(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.losses.append(float(logs["loss"]))


@pytest.mark.parametrize(("update_freq", "steps"), [("batch", [1, 2, 3, 4, 5, 6]), (1, [1, 2, 3, 4, 5, 6]), (4, [4])])
def test_batches_are_counted_from_one_through_all_epochs(tmp_path: Path, update_freq: Any, steps: list[int]) -> None:
    callback, seen = StepscopeCallback(tmp_path, write_graph=False, update_freq=update_freq), BatchLosses()
    model = dense_model()
    model.compile(keras.optimizers.SGD(0.125), "mse")
    model.fit(FEATURES, TARGETS, batch_size=4, epochs=2, verbose=0, callbacks=[callback, seen])
    expected: Any = [(step, pytest.approx(seen.losses[step - 1])) for step in steps]
    assert points(tmp_path)["train"]["batch_loss"] == expected


def test_steps_per_second(tmp_path: Path) -> None:
    callback = StepscopeCallback(tmp_path, write_graph=False, write_steps_per_second=True, update_freq=3, clock=Clock())
    fit(callback)
    train = points(tmp_path)["train"]
    # An epoch reads the clock at its beginning, twice in each of its three batches, and at its end.
    assert train["epoch_steps_per_second"] == numbered([3 / 1.75, 3 / 1.75])
    assert train["batch_steps_per_second"] == [(3, 4.0), (6, 4.0)]


def test_an_evaluation_alone_writes_to_the_run_of_validations(tmp_path: Path) -> None:
    model = dense_model()
    model.compile("sgd", "mse")
    loss = model.evaluate(FEATURES, TARGETS, verbose=0, callbacks=[StepscopeCallback(tmp_path)])
    assert points(tmp_path) == {"validation": {"evaluation_loss_vs_iterations": numbered([loss])}}


def test_a_second_fit_goes_on_in_the_same_runs(tmp_path: Path) -> None:
    callback, model = StepscopeCallback(tmp_path, write_graph=False), dense_model()
    fit(callback, model)
    fit(callback, model, initial_epoch=2, epochs=3)
    assert [step for step, _ in points(tmp_path)["train"]["epoch_loss"]] == [0, 1, 2]


def test_a_metric_with_a_number_per_class_is_a_scalar_per_class(tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy", metrics=[keras.metrics.F1Score(average=None, name="f1")])
    labels = np.eye(2, dtype=np.float32)[np.arange(ROWS) % 2]
    model.fit(FEATURES, labels, verbose=0, callbacks=[StepscopeCallback(tmp_path, write_graph=False)])
    assert points(tmp_path)["train"].keys() == {
        "epoch_f1/0",
        "epoch_f1/1",
        "epoch_loss",
        "epoch_learning_rate",
    }


def test_the_graph_is_that_of_the_layers(tmp_path: Path) -> None:
    model = dense_model()
    fit(StepscopeCallback(tmp_path), model)
    graph = series(tmp_path)["train"]["keras"]
    assert graph.kind == "graph_keras_model"
    assert graph.steps.tolist() == [0]
    assert json.loads(graph.read(0).json) == json.loads(model.to_json())


def test_weights_are_histograms_of_thirty_buckets_and_pictures(tmp_path: Path) -> None:
    model = dense_model()
    fit(StepscopeCallback(tmp_path, write_graph=False, histogram_freq=1, write_images=True), model, epochs=3)
    found = {tag: one for tag, one in series(tmp_path)["train"].items() if one.kind != "scalars"}
    weights = {"hidden/kernel": (3, 4), "hidden/bias": (4, 1), "last/kernel": (4, 1), "last/bias": None}
    expected = {f"small/{name}": size for name, size in weights.items()}
    pictures = {f"{name}/image" for name, size in expected.items() if size}
    assert found.keys() == {f"{name}/histogram" for name in expected} | pictures
    for name, size in expected.items():
        assert found[f"{name}/histogram"].steps.tolist() == [0, 1, 2]
        if size:
            picture = found[f"{name}/image"].read(0)
            assert (picture.height, picture.width, len(picture.encoded)) == (*size, 1)
    kernel = keras.ops.convert_to_numpy(model.layers[0].kernel).astype(np.float64)
    counts, edges = np.histogram(kernel, 30)
    buckets = found["small/hidden/kernel/histogram"].read(2).buckets
    np.testing.assert_allclose(buckets, np.stack([edges[:-1], edges[1:], counts], axis=1), rtol=1e-12)


def test_large_equal_weights_are_a_histogram_too(tmp_path: Path) -> None:
    model = dense_model()
    model.layers[1].trainable = False
    model.layers[1].set_weights([np.full((4, 1), 1e17), np.zeros(1)])
    fit(StepscopeCallback(tmp_path, write_graph=False, histogram_freq=1), model, epochs=1)
    buckets = series(tmp_path)["train"]["small/last/kernel/histogram"].read(0).buckets
    large = float(np.float32(1e17))
    assert buckets[-1].tolist() == [large, large, 4]


def test_weights_only_in_the_epochs_asked_for(tmp_path: Path) -> None:
    fit(StepscopeCallback(tmp_path, write_graph=False, histogram_freq=2), epochs=4)
    steps = {tuple(one.steps) for one in series(tmp_path)["train"].values() if one.kind == "histograms"}
    assert steps == {(0, 2)}


@pytest.mark.parametrize(
    ("weight", "channels_last", "picture"),
    [
        (np.arange(3.0), True, np.arange(3.0).reshape(1, 3, 1, 1)),
        (np.arange(6.0).reshape(2, 3), True, np.arange(6.0).reshape(1, 2, 3, 1)),
        (np.arange(6.0).reshape(3, 2), True, np.array([[[[0.0], [2], [4]], [[1], [3], [5]]]])),
        (np.arange(8.0).reshape(2, 2, 1, 2), True, np.array([[[[0.0], [2]], [[4], [6]]], [[[1], [3]], [[5], [7]]]])),
        (np.arange(8.0).reshape(2, 2, 2), False, np.arange(8.0).reshape(2, 2, 2, 1)),
        (np.zeros((2, 2, 9)), True, np.zeros((3, 2, 2, 1))),
        (np.zeros((2, 4, 4, 3)), True, np.zeros((2, 4, 4, 3))),
        (np.zeros((2, 4, 4, 5)), True, None),
        (np.zeros((2, 2, 2, 2, 3)), True, None),
        (np.zeros(()), True, None),
        (np.zeros((0, 4)), True, None),
        (np.zeros(4, np.int32), True, None),
    ],
)
def test_a_weight_as_pictures(weight: NDArray[Any], channels_last: bool, picture: NDArray[Any] | None) -> None:
    found = weight_pictures(weight, channels_last=channels_last)
    if picture is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, picture, strict=True)


def embedding_model() -> Any:
    layers = [keras.layers.Input((3,)), keras.layers.Embedding(5, 2, name="words"), keras.layers.Flatten()]
    return keras.Sequential([*layers, keras.layers.Dense(1)])


def fit_words(callback: StepscopeCallback, model: Any) -> None:
    model.compile("sgd", "mse")
    model.fit(np.zeros((2, 3), np.int32), np.zeros((2, 1)), epochs=3, verbose=0, callbacks=[callback])


def config(path: Path) -> dict[str, tuple[list[int], str, str]]:
    """Shape, file and label file by name."""
    parsed = text_format.Parse((path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    return {
        info.tensor_name: (list(info.tensor_shape), info.tensor_path, info.metadata_path) for info in parsed.embeddings
    }


def test_embeddings_are_files_that_readers_can_read_beside_those_of_keras(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("the\nof\nand\nto\nin\n")
    model = embedding_model()
    fit_words(StepscopeCallback(tmp_path, write_graph=False, embeddings_freq=2, embeddings_metadata="words.tsv"), model)
    assert config(tmp_path) == {
        "layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE": ([], "", "words.tsv"),
    }
    assert sorted(path.name for path in (tmp_path / "train").glob("*.h5")) == [
        "keras_embedding.ckpt-0.weights.h5",
        "keras_embedding.ckpt-2.weights.h5",
    ]
    assert config(tmp_path / "train") == {
        "words:00000": ([5, 2], "00000/words/tensors.tsv", "00000/words/metadata.tsv"),
        "words:00002": ([5, 2], "00002/words/tensors.tsv", "00002/words/metadata.tsv"),
    }
    rows = np.loadtxt(tmp_path / "train" / "00002/words/tensors.tsv", np.float32)
    np.testing.assert_array_equal(rows, keras.ops.convert_to_numpy(model.layers[0].embeddings))
    assert (tmp_path / "train" / "00002/words/metadata.tsv").read_text() == "the\nof\nand\nto\nin\n"


def test_labels_of_several_columns_by_layer(tmp_path: Path) -> None:
    table = "word\tcount\n" + "".join(f"w{row}\t{row}\n" for row in range(5))
    (tmp_path / "words.tsv").write_text(table)
    metadata = {"words": "words.tsv"}
    callback = StepscopeCallback(tmp_path, write_graph=False, embeddings_freq=1, embeddings_metadata=metadata)
    fit_words(callback, embedding_model())
    assert (tmp_path / "train" / "00000/words/metadata.tsv").read_text() == table
    assert metadata == {"words": "words.tsv"}


def test_labels_that_do_not_fit_are_left_out_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("the\nof\n")
    callback = StepscopeCallback(tmp_path, write_graph=False, embeddings_freq=3, embeddings_metadata="words.tsv")
    with pytest.warns(UserWarning, match="must have 5 lines of one label each.* it has 2 lines"):
        fit_words(callback, embedding_model())
    assert config(tmp_path / "train") == {"words:00000": ([5, 2], "00000/words/tensors.tsv", "")}


def test_labels_of_a_layer_that_is_not_there_are_refused(tmp_path: Path) -> None:
    callback = StepscopeCallback(tmp_path, embeddings_freq=1, embeddings_metadata={"wrods": "words.tsv"})
    with pytest.raises(ValueError, match=r"must have keys among the Embedding layers \['words'\], got \['wrods'\]"):
        fit_words(callback, embedding_model())
    assert list(tmp_path.iterdir()) == []


def profiled_steps(logdir: Path) -> list[str]:
    runs = series(logdir)
    return [tag for tag, one in runs["train"].items() if one.kind == "graph_tagged_run_metadata"]


@pytest.mark.parametrize(
    ("profile_batch", "tags"),
    [(2, ["step_2"]), ((2, 4), ["step_2", "step_3", "step_4"]), ("5,9", ["step_5", "step_6"]), (0, []), (7, [])],
)
def test_chosen_batches_are_recorded_into_the_run_of_the_training(
    tmp_path: Path, profile_batch: Any, tags: list[str]
) -> None:
    fit(StepscopeCallback(tmp_path, write_graph=False, profile_batch=profile_batch))
    assert profiled_steps(tmp_path) == tags
    traces = list(tmp_path.glob("train/plugins/profile/*/*.trace.json.gz"))
    assert len(traces) == (1 if tags else 0)
    for trace in traces:
        events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
        batches = [event["args"]["batch"] for event in events if event["name"] == "train batch"]
        assert [f"step_{batch}" for batch in batches] == tags
        unfinished = [event["name"] for event in events if event.get("args", {}).get("unfinished")]
        # Training ended in the step of batch 6, which was not the last one to record.
        assert unfinished == (["ProfilerStep#6"] if profile_batch == "5,9" else [])
    with pytest.raises(NotStartedError):
        profiler.stop()


def test_a_recording_of_the_users_own_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with profiler.Profile(tmp_path / "own"), caplog.at_level(logging.ERROR):
        fit(StepscopeCallback(tmp_path / "keras", write_graph=False, profile_batch=(1, 2)))
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("batch 1 is not recorded: a recording is already running")
    assert profiled_steps(tmp_path / "keras") == []


def recorded_steps(logdir: Path) -> list[list[str]]:
    traces = logdir.glob("*/train/plugins/profile/*/*.trace.json.gz")
    slices = [json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"] for trace in traces]
    return [[event["name"] for event in events if event["name"].startswith("ProfilerStep")] for events in slices]


class Interrupting(keras.callbacks.Callback):  # type: ignore[misc]
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 1:
            raise KeyboardInterrupt


@pytest.mark.parametrize("is_reused", [False, True])
def test_a_recording_that_an_interrupted_training_left_ends_before_the_next_training(
    tmp_path: Path, is_reused: bool
) -> None:
    def callback(name: str) -> StepscopeCallback:
        return StepscopeCallback(tmp_path / name, write_graph=False, profile_batch=(2, 3))

    first = callback("first")
    with pytest.raises(KeyboardInterrupt):
        fit(first, also=[Interrupting()])
    fit(first if is_reused else callback("second"))
    assert sorted(recorded_steps(tmp_path)) == [["ProfilerStep#2"], ["ProfilerStep#2", "ProfilerStep#3"]]
    with pytest.raises(NotStartedError):
        profiler.stop()


class FittingAnother(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, callback: StepscopeCallback, in_thread: bool) -> None:
        super().__init__()
        self.callback, self.in_thread = callback, in_thread

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch == 0:
            return
        if self.in_thread:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(fit, self.callback, epochs=1).result()
        else:
            fit(self.callback, epochs=1)


def test_nothing_of_an_interrupted_training_is_kept(tmp_path: Path) -> None:
    callback = StepscopeCallback(tmp_path, write_graph=False, profile_batch=(2, 3))
    with pytest.raises(KeyboardInterrupt):
        fit(callback, also=[Interrupting()])
    model = weakref.ref(callback.model)
    del callback
    gc.collect()
    assert model() is None
    profiler.stop()


def test_a_list_of_callbacks_that_the_program_keeps_is_no_training_that_runs(tmp_path: Path) -> None:
    model = dense_model()
    recorded, second = (
        StepscopeCallback(tmp_path / name, write_graph=False, profile_batch=(2, 3)) for name in ("first", "second")
    )
    callbacks = keras.callbacks.CallbackList([recorded, Interrupting()], model=model, epochs=2)
    model.compile("sgd", "mse")
    with pytest.raises(KeyboardInterrupt):
        model.fit(FEATURES, TARGETS, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
    fit(second)
    assert callbacks is not None
    assert sorted(recorded_steps(tmp_path)) == [["ProfilerStep#2"], ["ProfilerStep#2", "ProfilerStep#3"]]


class Derived(StepscopeCallback):
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        super().on_train_batch_begin(batch, logs)


@pytest.mark.parametrize("of_class", [StepscopeCallback, Derived])
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_training_leaves_the_recording_of_another_that_still_runs_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, in_thread: bool, of_class: type[StepscopeCallback]
) -> None:
    outer = of_class(tmp_path / "outer", write_graph=False, profile_batch=(2, 5))
    inner = of_class(tmp_path / "inner", write_graph=False, profile_batch=(1, 2))
    with caplog.at_level(logging.ERROR):
        fit(outer, also=[FittingAnother(inner, in_thread)])
    assert [message.partition(":")[0] for message in caplog.messages] == ["batch 1 is not recorded"]
    assert recorded_steps(tmp_path) == [[f"ProfilerStep#{batch}" for batch in (2, 3, 4, 5)]]


@pytest.mark.parametrize(
    ("profile_batch", "batches"), [(0, None), (3, (3, 3)), ("3", (3, 3)), ("3,5", (3, 5)), ([3, 5], (3, 5))]
)
def test_the_batches_to_record(profile_batch: Any, batches: tuple[int, int] | None) -> None:
    assert profiled_batches(profile_batch) == batches


@pytest.mark.parametrize("profile_batch", [-1, (5, 3), (1, 2, 3), (), "a", "1,b", 1.5, None, (1.0, 2.0)])
def test_what_names_no_batches_is_refused(profile_batch: Any) -> None:
    with pytest.raises(ValueError, match="profile_batch must be a batch counted from 1"):
        StepscopeCallback(profile_batch=profile_batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"update_freq": "step"}, "update_freq must be 'batch', 'epoch' or a number of batches, got 'step'"),
        ({"update_freq": 0}, "update_freq must be 'batch', 'epoch' or a number of batches, got 0"),
        ({"histogram_freq": -1}, "histogram_freq must be a number of epochs, or 0 for never, got -1"),
        ({"embeddings_freq": 0.5}, "embeddings_freq must be a number of epochs, or 0 for never, got 0.5"),
    ],
)
def test_other_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StepscopeCallback(**arguments)


def test_metadata_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="embeddings_metadata must be a path, or paths by layer name, got int 3"):
        StepscopeCallback(embeddings_metadata=3)  # type: ignore[arg-type]
