"""Graphs of Keras models, from the JSON that Keras 2 and Keras 3 write for them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepscope.summary.graphs.nodes import GraphBuilder, TensorType, clean, dtype_of, joined, output, plain, shape_proto
from stepscope.summary.kinds.graph import parse_keras_json
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import AttrValue, GraphDef

_DEEPEST: Final = 64
_NOT_SHOWN: Final = frozenset({"name", "layers", "dtype", "batch_shape", "batch_input_shape", "build_config"})


def keras_json_of(model: Any) -> str | None:
    """Return the JSON of a live model of Keras 3, ``tf.keras`` or ``tf_keras``; None if it is not a Keras model.

    Raises:
        ValueError: Keras cannot describe the model; its own error is chained.
    """
    if not is_keras_model(model):
        return None
    try:
        text = model.to_json()
    except Exception as error:
        raise ValueError(
            f"the Keras model {type(model).__name__} has no JSON, which is what a graph of layers is made from; "
            f"Sequential and functional models have one: {error}"
        ) from error
    parse_keras_json(text)
    return str(text)


def is_keras_model(model: Any) -> bool:
    """Return whether this is a live Keras model, without importing Keras."""
    names = ((kind.__module__ or "", kind.__name__) for kind in type(model).__mro__)
    return hasattr(model, "to_json") and any(
        name == "Model" and module.split(".")[0] in ("keras", "tf_keras", "tensorflow") and "keras" in module
        for module, name in names
    )


def graph_from_keras(model: Any) -> GraphDef:
    """Return the layers of a Keras model, as TensorBoard's conceptual graph shows them.

    A layer is a node in the scopes of its enclosing models, with the names of its inputs. ``keras_class`` is its
    class, ``dtype`` its compute type, ``_output_shapes`` its output shape where the JSON has it, and the other
    attributes are the layer's own settings.

    Args:
        model: a live Keras model; its JSON as text, or parsed; or the path of a file with the JSON.

    Raises:
        TypeError: the model is none of these.
        ValueError: the JSON is not a Keras model's.
        OSError: the file cannot be read.
    """
    text = keras_json_of(model)
    if text is None and isinstance(model, Path):
        text = model.read_text()
    elif text is None and isinstance(model, str):
        text = model
    if text is not None:
        config: Any = parse_keras_json(text)
    elif isinstance(model, Mapping):
        config = parse_keras_json(json.dumps(model))
    else:
        raise TypeError(f"expected a Keras model or its JSON, got {type(model).__name__}")
    return _LayerReader().read(config)


@dataclass(frozen=True)
class _Tensor:
    """A tensor that a layer yields: ``keras_history`` in Keras 3."""

    layer: str
    call: int
    index: int
    shape: Sequence[int | None] | None = None


@dataclass
class _Layer:
    """A layer or a model, with the names that its nodes have."""

    name: str
    """The name by which other layers refer to it."""
    spec: Mapping[str, Any]
    node: str = ""
    """The node of a layer; empty if it is a model."""
    layers: list["_Layer"] = field(default_factory=list)
    """The layers of a model."""
    outputs: list[str] = field(default_factory=list)
    """The nodes that yield its outputs; a layer with several outputs is still one node."""


class _LayerReader:
    """Names all nodes first, since a layer that is called twice may take outputs of later layers."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self._shapes: dict[str, Sequence[int | None]] = {}

    def read(self, model: Mapping[str, Any]) -> GraphDef:
        """Return the graph of a model or a layer."""
        self._add(self._named(model, "", 0), [])
        for node in self.builder.graph.node:
            if node.name in self._shapes:
                sizes = [size if isinstance(size, int) else -1 for size in self._shapes[node.name]]
                shapes = AttrValue.ListValue(shape=[shape_proto(sizes)])
                node.attr["_output_shapes"].CopyFrom(AttrValue(list=shapes))
        return self.builder.graph

    def _named(self, spec: Mapping[str, Any], scope: str, depth: int) -> _Layer:
        config = _object(spec.get("config"), "config")
        layer = _Layer(_layer_name(spec), spec)
        inner = config.get("layers")
        if not isinstance(inner, list) or not inner:
            layer.node = self.builder.name(scope, clean(layer.name))
            layer.outputs = [layer.node]
            return layer
        if depth > _DEEPEST:
            raise ValueError(f"models are nested more than {_DEEPEST} levels deep in {scope[:60]!r}")
        inside = joined(scope, clean(layer.name))
        layer.layers = [self._named(_object(entry, "layer"), inside, depth + 1) for entry in inner]
        outputs = _tensors(config.get("output_layers"))
        by_name = {child.name: child for child in layer.layers}
        layer.outputs = [_source(tensor, by_name) for tensor in outputs] if outputs else layer.layers[-1].outputs
        return layer

    def _add(self, layer: _Layer, inputs: list[str]) -> None:
        config = layer.spec["config"]
        if layer.node:
            self._add_node(layer, config, inputs)
        elif _tensors(config.get("output_layers")):
            self._add_functional(layer, config, inputs)
        else:
            for child in layer.layers:
                self._add(child, inputs)
                inputs = child.outputs

    def _add_functional(self, layer: _Layer, config: Mapping[str, Any], inputs: list[str]) -> None:
        by_name = {child.name: child for child in layer.layers}
        fed = [tensor.layer for tensor in _tensors(config.get("input_layers"))]
        for child in layer.layers:
            tensors = _tensors(child.spec.get("inbound_nodes"))
            sources = [_source(tensor, by_name) for tensor in tensors]
            for tensor, source in zip(tensors, sources, strict=True):
                if tensor.shape is not None and tensor.index == 0:
                    self._shapes.setdefault(source, tensor.shape)
            # An inner model that is called several times gets the inputs of its calls one after the other.
            outer = inputs[fed.index(child.name) :: len(fed)] if child.name in fed else []
            self._add(child, [*sources, *outer])

    def _add_node(self, layer: _Layer, config: Mapping[str, Any], inputs: list[str]) -> None:
        class_name = str(layer.spec.get("class_name") or "")
        shape = config.get("batch_shape") or config.get("batch_input_shape")
        if isinstance(shape, list) and class_name == "InputLayer":
            self._shapes.setdefault(layer.node, shape)
        attributes = {**_settings(config), "keras_class": class_name or None}
        dtype = _dtype(config.get("dtype"))
        self.builder.node(layer.node, plain(class_name), inputs, [TensorType(None, dtype)], attributes)


def _source(tensor: _Tensor, layers: Mapping[str, _Layer]) -> str:
    if tensor.layer not in layers:
        raise ValueError(f"expected the name of a layer of the model as an input, got {tensor.layer[:60]!r}")
    outputs = layers[tensor.layer].outputs
    # A layer is one node, however many outputs it has; a model has a node for each.
    return output(outputs[0], tensor.index) if len(outputs) == 1 else outputs[min(tensor.index, len(outputs) - 1)]


def _tensors(nested: Any, depth: int = 0) -> list[_Tensor]:
    """Return the tensors in call arguments or in a model's inputs and outputs: [layer, call, index] in both formats."""
    if depth > _DEEPEST:
        raise ValueError(f"arguments are nested more than {_DEEPEST} levels deep")
    if isinstance(nested, Mapping):
        if nested.get("class_name") == "__keras_tensor__":
            config = _object(nested.get("config"), "config")
            shape = config.get("shape")
            found = _tensors(config.get("keras_history"), depth + 1)
            return [_Tensor(t.layer, t.call, t.index, shape if isinstance(shape, list) else None) for t in found]
        parts: Sequence[Any] = list(nested.values())
    elif isinstance(nested, list):
        match nested:
            case [str(layer), int(call), int(index), *arguments]:
                return [_Tensor(layer, call, max(index, 0)), *_tensors(arguments, depth + 1)]
        parts = nested
    else:
        return []
    return [tensor for part in parts for tensor in _tensors(part, depth + 1)]


def _layer_name(layer: Mapping[str, Any]) -> str:
    """Return the name by which other layers refer to it; Keras 2 also stores it beside the configuration."""
    config = _object(layer.get("config"), "config")
    return str(config.get("name") or layer.get("name") or layer.get("class_name") or "layer")


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected the {name} of a Keras layer as an object, got {str(value)[:60]!r}")
    return value


def _dtype(given: Any) -> types_pb2.DataType:
    """Return the type of a dtype or policy; policies such as "mixed_float16" compute in their second part."""
    if isinstance(given, Mapping):
        config = given.get("config")
        given = config.get("name") if isinstance(config, Mapping) else None
    return dtype_of(given.removeprefix("mixed_")) if isinstance(given, str) else types_pb2.DT_INVALID


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layer's settings that fit on a line: numbers, strings, lists of these, and the class of objects."""
    shown: dict[str, Any] = {}
    for name, value in config.items():
        if name in _NOT_SHOWN or value is None:
            continue
        if isinstance(value, Mapping):
            class_name = value.get("class_name")
            if isinstance(class_name, str) and class_name:
                shown[name] = class_name
        elif isinstance(value, str | int | float) or (
            isinstance(value, list) and all(isinstance(part, str | int | float) for part in value)
        ):
            shown[name] = value
    return shown
