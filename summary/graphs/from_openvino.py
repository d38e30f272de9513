"""Graphs of OpenVINO models: the ``.xml`` file of the intermediate representation, versions 2 to 11."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepscope.summary.graphs.nodes import GraphBuilder, TensorType, clean, dtype_of, joined, output
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import GraphDef

_PRECISIONS: Final[Mapping[str, str]] = {
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "bf16": "bfloat16",
    "boolean": "bool",
    "i4": "int4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u4": "uint4",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "string": "string",
}
_DEEPEST: Final = 64


@dataclass(frozen=True)
class _Layer:
    id: str
    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[TensorType, ...]
    attributes: Mapping[str, str]
    element: ET.Element


def graph_from_openvino(model: str | os.PathLike[str] | bytes) -> GraphDef:
    """Return the graph of an OpenVINO model: a node per layer, with the shapes and element types of its outputs.

    Slashes in names form scopes. The bodies of loops and conditions are scopes of their layers. The weights, which are
    in a separate file, are not read.

    Args:
        model: the path of the ``.xml`` file, or its bytes.

    Raises:
        TypeError: the argument is neither.
        ValueError: the argument holds no OpenVINO model.
        OSError: the file cannot be read.
    """
    if isinstance(model, str | os.PathLike):
        with open(model, "rb") as stream:
            content = stream.read()
    elif isinstance(model, bytes):
        content = model
    else:
        raise TypeError(f"expected the path or the bytes of an OpenVINO .xml file, got {type(model).__name__}")
    root = _parsed(content)
    builder = GraphBuilder()
    _add_layers(builder, root, "", {}, 0)
    return builder.graph


def _parsed(content: bytes) -> ET.Element:
    # Models define no entities, and files that do may expand without bound.
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError("expected an OpenVINO model, got XML with a document type, which no model has")
    try:
        root = ET.fromstring(content)
    except (ET.ParseError, LookupError, ValueError) as error:
        raise ValueError(f"expected the XML of an OpenVINO model, got {content[:20]!r}...: {error}") from error
    if root.tag != "net" or root.find("layers") is None:
        raise ValueError(f"expected an OpenVINO model, <net> with <layers>, got <{root.tag[:40]}>")
    return root


def _add_layers(
    builder: GraphBuilder, net: ET.Element, scope: str, given: Mapping[str, str], depth: int
) -> dict[str, list[str]]:
    """Add the layers of a model or a body; ``given`` has the sources of a body's parameters, by layer id.

    Returns:
        The inputs of each layer, by layer id.
    """
    layers = [_layer(element) for element in net.iterfind("layers/layer")]
    names = {layer.id: builder.name(scope, _path(layer.name) or clean(layer.kind)) for layer in layers}
    edges = _edges(net, {layer.id: layer for layer in layers}, names)
    inputs: dict[str, list[str]] = {}
    for layer in layers:
        inputs[layer.id] = [edges[layer.id, port] for port in layer.inputs if (layer.id, port) in edges]
        if layer.id in given:
            inputs[layer.id].append(given[layer.id])
        inside = _add_bodies(builder, layer, names[layer.id], edges, depth)
        references = [*inputs[layer.id], *inside]
        node = builder.node(names[layer.id], layer.kind, references, layer.types, _typed(layer.attributes))
        if not node.op:
            node.op = "layer"
    return inputs


def _add_bodies(
    builder: GraphBuilder, layer: _Layer, name: str, edges: Mapping[tuple[str, str], str], depth: int
) -> list[str]:
    """Add the bodies of a loop or condition; return their outputs."""
    if depth >= _DEEPEST:
        raise ValueError(f"bodies are nested more than {_DEEPEST} levels deep in the layer {name!r}")
    results: list[str] = []
    for body in layer.element:
        if body.find("layers") is None:
            continue
        ports = layer.element.find(body.tag.replace("body", "port_map"))
        ports = layer.element.find("port_map") if ports is None else ports
        given: dict[str, str] = {}
        for entry in [] if ports is None else ports.iterfind("input"):
            key = (layer.id, entry.get("external_port_id", ""))
            if key in edges:
                given[entry.get("internal_layer_id", "")] = edges[key]
        inputs = _add_layers(builder, body, joined(name, clean(body.tag)), given, depth + 1)
        for entry in [] if ports is None else ports.iterfind("output"):
            results += inputs.get(entry.get("internal_layer_id", ""), [])
    return results


def _edges(net: ET.Element, layers: Mapping[str, _Layer], names: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the source of each input port: a mapping from (layer id, port) to the output of a node."""
    edges = {}
    for edge in net.iterfind("edges/edge"):
        source = layers.get(edge.get("from-layer", ""))
        if source is not None:
            port = edge.get("from-port", "")
            index = source.outputs.index(port) if port in source.outputs else 0
            edges[edge.get("to-layer", ""), edge.get("to-port", "")] = output(names[source.id], index)
    return edges


def _layer(element: ET.Element) -> _Layer:
    data = element.find("data")
    attributes = {} if data is None else {name: value for name, value in data.attrib.items() if name != "offset"}
    outputs = element.findall("output/port")
    return _Layer(
        id=element.get("id", ""),
        name=element.get("name", ""),
        kind=element.get("type", ""),
        inputs=tuple(port.get("id", "") for port in element.iterfind("input/port")),
        outputs=tuple(port.get("id", "") for port in outputs),
        types=tuple(_type(port, element.get("precision", "")) for port in outputs),
        attributes=attributes,
        element=element,
    )


def _type(port: ET.Element, layer_precision: str) -> TensorType:
    precision = (port.get("precision") or layer_precision).lower()
    dtype = dtype_of(_PRECISIONS.get(precision, precision)) if precision else types_pb2.DT_INVALID
    return TensorType([_size(dim.text or "") for dim in port.iterfind("dim")], dtype)


def _size(text: str) -> int | str:
    text = text.strip()
    return int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 20 else text or -1


def _path(name: str) -> str:
    return joined(*(clean(part) for part in name.split("/") if part))


def _typed(attributes: Mapping[str, str]) -> dict[str, Any]:
    return {name: _number(text) for name, text in attributes.items()}


def _number(text: str) -> int | float | bool | str | list[Any]:
    """Return the value that an attribute's text represents: a number, Boolean, list of numbers, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    parts = [_one_number(part) for part in text.split(",")]
    if any(part is None for part in parts):
        return text
    numbers: list[Any] = list(_present(parts))
    return numbers[0] if len(numbers) == 1 else numbers


def _one_number(text: str) -> int | float | None:
    try:
        return int(text) if len(text) < 20 else None
    except ValueError:
        pass
    try:
        return float(text) if len(text) < 40 else None
    except ValueError:
        return None


def _present(parts: Iterable[int | float | None]) -> Iterable[int | float]:
    return (part for part in parts if part is not None)
