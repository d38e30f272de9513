"""Model graphs: operations as GraphDef, layers as Keras writes them, and functions in RunMetadata."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.run_metadata import decode_run_metadata
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata

PLUGIN_NAME: Final = "graphs"
KERAS_PLUGIN_NAME: Final = "graph_keras_model"
FUNCTIONS_PLUGIN_NAME: Final = "graph_run_metadata_graph"

_VERSION: Final = b"1"
"""The plugin content without which TensorBoard skips a Keras model or a function graph."""


@dataclass(frozen=True)
class KerasModel:
    """A Keras model as its layers."""

    json: str
    """The result of ``model.to_json()``."""

    @property
    def config(self) -> dict[str, Any]:
        """The parsed JSON: ``class_name``, ``config`` and more, as Keras 2 or Keras 3 lays it out."""
        config: dict[str, Any] = json.loads(self.json)
        return config


def graph(graph_def: GraphDef) -> Event:
    """Return an event with a run's graph, whose tag is ``__run_graph__``; it is not part of a summary."""
    return Event(graph_def=graph_def.SerializeToString())


def keras_model(tag: str, model_json: str) -> Summary.Value:
    """Return a value with a Keras model's JSON; Keras's own callback uses the tag "keras".

    Raises:
        ValueError: the text is not a JSON object with a ``config``.
    """
    parse_keras_json(model_json)
    metadata = _metadata(KERAS_PLUGIN_NAME)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor([model_json.encode()], ()))


def function_graphs(tag: str, run_metadata: RunMetadata) -> Summary.Value:
    """Return a value with RunMetadata whose ``function_graphs`` are the graph, as in TensorFlow's ``trace_export``."""
    metadata = _metadata(FUNCTIONS_PLUGIN_NAME)
    encoded = run_metadata.SerializeToString()
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor([encoded], ()))


def parse_keras_json(text: str) -> dict[str, Any]:
    """Return the object in a Keras model's JSON.

    Raises:
        ValueError: the text is not a JSON object with a ``config``, or cannot be encoded as UTF-8.
    """
    try:
        text.encode()
        parsed = json.loads(text)
    except UnicodeEncodeError as error:
        raise ValueError(f"the JSON of a Keras model must be text that UTF-8 can encode: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected the JSON of a Keras model, as model.to_json() gives it: {error}") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("config"), Mapping):
        raise ValueError(
            'expected the JSON of a Keras model, an object with a "config", as model.to_json() gives it, '
            f"got {text[:60]!r}"
        )
    return parsed


def decode_graph(value: Summary.Value) -> GraphDef:
    """Return the GraphDef in a string tensor of one element.

    Raises:
        PayloadError: the value is not such a tensor, or its bytes are not a GraphDef.
    """
    encoded = _only_string(value, "a graph")
    try:
        return parse(GraphDef, encoded)
    except DecodeError as error:
        raise PayloadError(f"expected a GraphDef message, got {encoded[:20]!r}...: {error}") from error


def decode_keras_model(value: Summary.Value) -> KerasModel:
    """Return the JSON in a string tensor of one element; metadata, if any, must have the content ``b"1"``.

    Raises:
        PayloadError: the value is not such a tensor, or holds no JSON object with a ``config``.
    """
    _check_version(value, KERAS_PLUGIN_NAME)
    try:
        text = _only_string(value, "a Keras model").decode()
        parse_keras_json(text)
    except ValueError as error:
        raise PayloadError(str(error)) from error
    return KerasModel(text)


def decode_function_graphs(value: Summary.Value) -> RunMetadata:
    """Return the RunMetadata in a string tensor of one element; metadata, if any, must have the content ``b"1"``.

    Raises:
        PayloadError: the value is not such a tensor, or its bytes are not a RunMetadata.
    """
    _check_version(value, FUNCTIONS_PLUGIN_NAME)
    return decode_run_metadata(value)


def graph_in_meta_graph(encoded: bytes) -> bytes:
    """Return the serialized ``graph_def`` of a serialized MetaGraphDef; empty if it has none.

    Raises:
        PayloadError: the bytes are not a MetaGraphDef.
    """
    try:
        return parse(MetaGraphDef, encoded).graph_def.SerializeToString()
    except DecodeError as error:
        raise PayloadError(f"expected a MetaGraphDef message, got {encoded[:20]!r}...: {error}") from error


def _metadata(plugin_name: str) -> SummaryMetadata:
    # No data class, as in TensorFlow: only then does TensorBoard make one string a sequence of blobs.
    return plugin_metadata(plugin_name, summary_pb2.DATA_CLASS_UNKNOWN, _VERSION)


def _check_version(value: Summary.Value, plugin_name: str) -> None:
    plugin = value.metadata.plugin_data
    if plugin.plugin_name == plugin_name and plugin.content != _VERSION:
        raise PayloadError(f"expected {plugin_name} of version {_VERSION!r}, got {plugin.content[:20]!r}")


def _only_string(value: Summary.Value, name: str) -> bytes:
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected {name} as a tensor, got {value.WhichOneof('value') or 'no value'}")
    parts = strings(value.tensor)
    if parts.size != 1:
        raise PayloadError(f"expected one string for {name}, got shape {list(parts.shape)}")
    encoded: bytes = parts.item()
    return encoded


KIND: Final = Kind(plugin_name=PLUGIN_NAME, decode=decode_graph, about="a graph of operations")
KERAS_KIND: Final = Kind(plugin_name=KERAS_PLUGIN_NAME, decode=decode_keras_model, about="a Keras model as its layers")
FUNCTIONS_KIND: Final = Kind(
    plugin_name=FUNCTIONS_PLUGIN_NAME, decode=decode_function_graphs, about="graphs of TensorFlow's functions"
)
