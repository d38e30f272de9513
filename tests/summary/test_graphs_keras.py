import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
keras: Any = pytest.importorskip("keras", reason="Keras is not installed")
layers = keras.layers

from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def  # noqa: E402

from stepscope.summary.graphs import graph_of, keras_json_of  # noqa: E402
from stepscope.summary.graphs.dispatch import keras_json_of_file  # noqa: E402
from stepscope.summary.graphs.from_keras import graph_from_keras  # noqa: E402
from stepscope.summary.logdir import open_logdir  # noqa: E402
from stepscope.summary.proto import types_pb2  # noqa: E402


def rows(graph: Any) -> list[tuple[str, list[str], bytes, int]]:
    """The contents of TensorBoard's graph of layers; attributes are read without adding them."""
    empty = {"keras_class": b"", "dtype": 0}
    found: list[tuple[str, list[str], bytes, int]] = []
    for node in graph.node:
        known = {**empty, **{k: v.s if k == "keras_class" else v.type for k, v in node.attr.items() if k in empty}}
        found.append((node.name, list(node.input), known["keras_class"], known["dtype"]))
    return found


def sequential() -> Any:
    inner = keras.Sequential([layers.Dense(2, name="c")], name="inner")
    return keras.Sequential([layers.Input((4,), name="x"), layers.Dense(3, name="a"), inner], name="outer")


def functional() -> Any:
    x = keras.Input((5,), name="x")
    y = keras.Input((8,), name="y")
    joined = layers.Add(name="add")([layers.Dense(8, name="d")(x), y])
    outputs = [layers.Dense(2, name="o", activation="softmax")(joined), joined]
    return keras.Model([x, y], outputs, name="m")


def shared() -> Any:
    x = keras.Input((4,), name="x")
    layer = layers.Dense(4, name="d")
    return keras.Model(x, layer(layers.ReLU(name="r")(layer(x))), name="m")


def mixed() -> Any:
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dense(4, name="d", dtype="float16")(x), name="m")


@pytest.mark.parametrize("made", [sequential, functional, shared, mixed])
def test_the_same_layers_as_tensorboards_conceptual_graph(made: Callable[[], Any]) -> None:
    model = made()
    assert rows(graph_from_keras(model)) == rows(keras_model_to_graph_def(json.loads(model.to_json())))


def nested() -> Any:
    inside = keras.Input((3,), name="in")
    inner = keras.Model(inside, layers.Dense(2, name="out")(inside), name="inner")
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    return keras.Model([x, y], layers.Concatenate(name="cat")([inner(x), inner(y)]), name="m")


def test_a_model_that_is_called_twice_takes_both_inputs() -> None:
    # TensorBoard's own graph has only the first call.
    assert [row[:2] for row in rows(graph_from_keras(nested()))] == [
        ("m/x", []),
        ("m/y", []),
        ("m/inner/in", ["m/x", "m/y"]),
        ("m/inner/out", ["m/inner/in"]),
        ("m/cat", ["m/inner/out", "m/inner/out"]),
    ]


def two_ends() -> Any:
    a, b = keras.Input((3,), name="a"), keras.Input((4,), name="b")
    ends = [layers.Dense(2, name="first")(a), layers.Dense(2, name="second")(b)]
    inner = keras.Model([a, b], ends, name="inner")
    x, y = keras.Input((3,), name="x"), keras.Input((4,), name="y")
    first, second = inner([x, y])
    return keras.Model([x, y], layers.Subtract(name="sub")([second, first]), name="m")


def test_inputs_and_outputs_of_an_inner_model_are_told_apart() -> None:
    assert [row[:2] for row in rows(graph_from_keras(two_ends()))] == [
        ("m/x", []),
        ("m/y", []),
        ("m/inner/a", ["m/x"]),
        ("m/inner/b", ["m/y"]),
        ("m/inner/first", ["m/inner/a"]),
        ("m/inner/second", ["m/inner/b"]),
        ("m/sub", ["m/inner/second", "m/inner/first"]),
    ]


def test_settings_and_shapes() -> None:
    nodes = {node.name: node for node in graph_from_keras(functional()).node}
    assert (nodes["m/o"].attr["units"].i, nodes["m/o"].attr["activation"].s) == (2, b"softmax")
    assert nodes["m/o"].attr["kernel_initializer"].s == b"GlorotUniform"
    assert nodes["m/o"].op == "Dense"
    (shape,) = nodes["m/add"].attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [-1, 8]
    (shape,) = nodes["m/x"].attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [-1, 5]


def test_the_type_that_a_mixed_policy_computes_in() -> None:
    model = keras.Sequential([layers.Input((4,)), layers.Dense(2, name="d", dtype="mixed_bfloat16")], name="s")
    (node,) = [node for node in graph_from_keras(model).node if node.name == "s/d"]
    assert node.attr["dtype"].type == types_pb2.DT_BFLOAT16


KERAS_2 = {
    "class_name": "Functional",
    "config": {
        "name": "m",
        "layers": [
            {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
             "config": {"name": "x", "batch_input_shape": [None, 5], "dtype": "float32"}},
            {"class_name": "Dense", "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]],
             "config": {"name": "d", "units": 3, "dtype": "float32"}},
            {"class_name": "Add", "name": "a", "inbound_nodes": [[["d", 0, 0, {}], ["d", 0, 0, {}]]],
             "config": {"name": "a", "dtype": "float32"}},
            {"class_name": "LSTM", "name": "l", "inbound_nodes": [[["a", 0, 0, {"initial_state": ["d", 0, 0]}]]],
             "config": {"name": "l"}},
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["l", 0, 0]],
    },
}  # fmt: skip


def test_the_json_of_keras_2() -> None:
    graph = graph_from_keras(KERAS_2)
    assert [(node.name, node.op, list(node.input)) for node in graph.node] == [
        ("m/x", "InputLayer", []),
        ("m/d", "Dense", ["m/x"]),
        ("m/a", "Add", ["m/d", "m/d"]),
        ("m/l", "LSTM", ["m/a", "m/d"]),
    ]
    assert graph_from_keras(json.dumps(KERAS_2)) == graph


def test_a_model_its_json_a_json_file_and_a_saved_model_are_the_same(tmp_path: Path) -> None:
    model = functional()
    (tmp_path / "m.json").write_text(model.to_json())
    model.save(tmp_path / "m.keras")
    expected = graph_from_keras(model)
    assert keras_json_of(model) == model.to_json()
    assert graph_from_keras(model.to_json()) == graph_from_keras(tmp_path / "m.json") == graph_of(model) == expected
    assert graph_of(tmp_path / "m.json") == expected
    assert rows(graph_of(tmp_path / "m.keras")) == rows(expected)
    assert json.loads(keras_json_of_file(tmp_path / "m.keras") or "")["config"]["name"] == "m"


def test_a_model_that_is_its_own_class_is_one_node() -> None:
    class Own(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.dense(x)

    model = Own()
    assert [row[:2] for row in rows(graph_from_keras(model))] == [("Own", [])]


@pytest.mark.parametrize("logdir", ["tensorflow2", "pack/tensorflow2"])
def test_the_model_that_keras_own_callback_wrote(peer: Callable[[str], Path], logdir: str) -> None:
    payload = open_logdir(peer(logdir)).runs["keras/train"].series["keras"].read(0)
    ours, theirs = graph_from_keras(payload.json), keras_model_to_graph_def(payload.config)
    assert rows(ours) == rows(theirs)
    assert len(ours.node) > 2


def chain(**changes: Any) -> dict[str, Any]:
    layer = {"class_name": "Dense", "config": {"name": "d"}, "inbound_nodes": [[["x", 0, 0, {}]]]}
    config = {"name": "m", "layers": [layer], "input_layers": [], "output_layers": [["d", 0, 0]], **changes}
    return {"class_name": "Functional", "config": config}


def deep(levels: int) -> dict[str, Any]:
    model: dict[str, Any] = {"class_name": "Dense", "config": {"name": "d"}}
    for level in range(levels):
        model = {"class_name": "Sequential", "config": {"name": f"s{level}", "layers": [model]}}
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (chain(), "expected the name of a layer of the model as an input, got 'x'"),
        (chain(output_layers=[["e", 0, 0]]), "expected the name of a layer of the model as an input, got 'e'"),
        (chain(layers=[3]), "expected the layer of a Keras layer as an object, got '3'"),
        (chain(layers=[{"config": []}]), r"expected the config of a Keras layer as an object, got '\[\]'"),
        (deep(100), "nested more than 64 levels deep"),
        ({"config": 3}, "JSON of a Keras model"),
    ],
)
def test_json_that_is_no_models(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_from_keras(model)


def test_what_is_no_model() -> None:
    with pytest.raises(TypeError, match="expected a Keras model or its JSON, got int"):
        graph_from_keras(3)
    assert keras_json_of(3) is None
