"""Graphs of ONNX models, in the format of ``onnx.proto3``. Requires the package ``onnx``."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stepscope.summary.descriptors import is_repeated
from stepscope.summary.graphs.nodes import (
    GraphBuilder,
    TensorType,
    clean,
    dtype_of,
    joined,
    output,
    plain,
    set_attributes,
)
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import FunctionDef, GraphDef, NodeDef, OpDef

_LARGEST_CONSTANT: Final = 1024
"""Maximum number of elements of a constant that shape inference sees, such as the shape that Reshape takes."""
_MOST_SHOWN: Final = 16
"""Maximum number of elements of a constant that is shown."""
_DEEPEST: Final = 64
"""Maximum nesting depth of graphs."""


def graph_from_onnx(model: str | os.PathLike[str] | bytes | Any) -> GraphDef:
    """Return the graph of an ONNX model.

    Inputs are ``input/*`` and outputs ``output/*`` of kind "IO Node". Constant tensors are "Const" nodes with shape and
    element type; their values are omitted beyond 16 elements, and external data files are not read. Shapes that the
    model does not declare are inferred. Slashes in names form scopes, as do the modules that PyTorch's exporter
    records. The bodies of conditions and loops are scopes of their nodes. The model's own functions become functions
    of the graph's library.

    Args:
        model: the path of a file, its bytes, or an ``onnx.ModelProto``.

    Raises:
        ImportError: the package ``onnx`` is missing.
        TypeError: the argument is none of these.
        ValueError: the argument holds no ONNX model.
        OSError: the file cannot be read.
    """
    light = _without_weights(_loaded(model))
    _check_texts(light)
    proto = _inferred(light)
    reader = _ModelReader()
    reader.read_graph(proto.graph)
    for function in proto.functions:
        reader.read_function(function)
    return reader.builder.graph


def _onnx() -> Any:
    try:
        import onnx
        import onnx.shape_inference
    except ImportError as error:
        raise ImportError(
            "graphs of ONNX models need the package onnx, which is not installed; "
            'install it with: pip install "stepscope[onnx]"'
        ) from error
    return onnx


def _loaded(model: Any) -> Any:
    from google.protobuf.message import DecodeError

    onnx = _onnx()
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, str | os.PathLike):
        with open(model, "rb") as stream:
            content = stream.read()
    elif isinstance(model, bytes):
        content = model
    else:
        raise TypeError(f"expected the path, the bytes or the ModelProto of an ONNX model, got {type(model).__name__}")
    loaded = onnx.ModelProto()
    try:
        loaded.ParseFromString(content)
    except DecodeError as error:
        raise ValueError(f"expected an ONNX model, got {content[:20]!r}...: {error}") from error
    if not loaded.HasField("graph"):
        raise ValueError(f"expected an ONNX model with a graph, got {content[:20]!r}...")
    return loaded


def _without_weights(model: Any) -> Any:
    """Return a copy in which large constant tensors are only declared."""
    onnx = _onnx()
    light = onnx.ModelProto(ir_version=max(model.ir_version, 4))
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    # Everything else, above all the model's nodes, is copied unchanged; weights must not be copied.
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            target = getattr(light.graph, field.name)
            if is_repeated(field):
                target.extend(value)
            else:
                setattr(light.graph, field.name, value)
    for tensor in model.graph.initializer:
        copy = light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        if _size(tensor.dims) <= _LARGEST_CONSTANT:
            copy.CopyFrom(tensor)
    return light


def _check_texts(message: Any) -> None:
    """Refuse strings that are not UTF-8, which protobuf returns as bytes under proto2 syntax."""
    for field, value in message.ListFields():
        values = value if is_repeated(field) else (value,)
        if field.message_type is not None:
            for inner in values:
                _check_texts(inner)
        elif field.type == field.TYPE_STRING:
            for text in values:
                if not isinstance(text, str):
                    raise ValueError(
                        f"expected an ONNX model whose strings are UTF-8, got {text[:20]!r} as a {field.name}"
                    )


def _inferred(model: Any) -> Any:
    """Return the model with the shapes that can be inferred; meanwhile, inputs replace constants without data."""
    onnx = _onnx()
    known = {value.name for value in model.graph.input}
    trial = onnx.ModelProto()
    trial.CopyFrom(model)
    del trial.graph.initializer[:]
    for tensor in model.graph.initializer:
        if _size(tensor.dims) <= _LARGEST_CONSTANT and tensor.data_location != onnx.TensorProto.EXTERNAL:
            trial.graph.initializer.add().CopyFrom(tensor)
        elif tensor.name not in known:
            trial.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    try:
        inferred = onnx.shape_inference.infer_shapes(trial, data_prop=True)
    except Exception:
        # It raises errors of many types for odd models, which nevertheless have a graph to show.
        return model
    for field in ("input", "initializer"):
        del getattr(inferred.graph, field)[:]
        getattr(inferred.graph, field).extend(getattr(model.graph, field))
    return inferred


def _size(dims: Iterable[int]) -> int:
    size = 1
    for dim in dims:
        size *= max(dim, 0)
    return size


class _ModelReader:
    def __init__(self) -> None:
        self.builder = GraphBuilder()

    def read_graph(self, graph: Any) -> None:
        """Add the main graph."""
        types = _types(graph)
        sources: dict[str, str] = {}
        constants = {tensor.name for tensor in graph.initializer}
        for value in graph.input:
            if value.name not in constants:
                sources[value.name] = self._add_io("input", value.name, [], types)
        self._add_body(graph, "", sources, types, 0)
        for value in graph.output:
            self._add_io("output", value.name, _references([value.name], sources), types)

    def read_function(self, function: Any) -> None:
        """Add one of the model's own functions to the library."""
        inner = _ModelReader()
        sources = {name: clean(name) for name in function.input}
        for name in sources.values():
            inner.builder.name("", name)
        for node in function.node:
            inner._add_node(node, "", sources, {}, 0)
        name = function_name(function.domain, function.name, function.overload)
        signature = OpDef(
            name=name,
            input_arg=[OpDef.ArgDef(name=clean(n)) for n in function.input],
            output_arg=[OpDef.ArgDef(name=clean(n)) for n in function.output],
            description=plain(function.doc_string),
        )
        returned = {clean(n): sources.get(n, "") for n in function.output}
        definition = FunctionDef(signature=signature, node_def=inner.builder.graph.node, ret=returned)
        self.builder.graph.library.function.append(definition)

    def _add_io(self, scope: str, value_name: str, inputs: Sequence[str], types: Mapping[str, TensorType]) -> str:
        name = self.builder.name(scope, clean(value_name))
        self.builder.node(name, "IO Node", inputs, [types.get(value_name, TensorType())])
        return name

    def _add_body(
        self, graph: Any, scope: str, sources: dict[str, str], types: Mapping[str, TensorType], depth: int
    ) -> None:
        homes: dict[str, str] = {}
        for node in graph.node:
            for value in node.input:
                homes.setdefault(value, _scope(node))
        for tensor in graph.initializer:
            # In its user's scope; a model's hundreds of weights would hide its outline.
            name = self.builder.name(joined(scope, homes.get(tensor.name, "")), _path(tensor.name))
            sources[tensor.name] = name
            dtype = _dtype(tensor.data_type)
            self.builder.node(name, "Const", (), [TensorType(tensor.dims, dtype)], {"value": _shown(tensor)})
        for tensor in graph.sparse_initializer:
            name = self.builder.name(scope, _path(tensor.values.name))
            sources[tensor.values.name] = name
            self.builder.node(name, "Const", (), [TensorType(tensor.dims, _dtype(tensor.values.data_type))])
        for node in graph.node:
            self._add_node(node, scope, sources, types, depth)

    def _add_node(
        self, node: Any, scope: str, sources: dict[str, str], types: Mapping[str, TensorType], depth: int
    ) -> None:
        name = self.builder.name(joined(scope, _module_scope(node)), _path(node.name) or clean(node.op_type))
        inputs = _references(node.input, sources)
        attributes: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                inputs += self._add_subgraph(name, attribute.name, attribute.g, node, sources, types, depth + 1)
            else:
                attributes[attribute.name] = _attribute(attribute)
        outputs = [types.get(value, TensorType()) for value in node.output]
        added = self.builder.node(name, function_name(node.domain, node.op_type, node.overload), inputs, outputs)
        set_attributes(added, {n: v for n, v in attributes.items() if n not in added.attr})
        _note_document(added, node)
        for index, value in enumerate(node.output):
            sources[value] = output(name, index)

    def _add_subgraph(
        self,
        name: str,
        label: str,
        graph: Any,
        node: Any,
        sources: Mapping[str, str],
        types: Mapping[str, TensorType],
        depth: int,
    ) -> list[str]:
        """Add the body of a condition or loop, which sees the enclosing values; return its outputs."""
        if depth > _DEEPEST:
            raise ValueError(f"graphs are nested more than {_DEEPEST} levels deep in the node {name!r}")
        scope = joined(name, clean(label))
        inside = dict(sources)
        inner_types = {**types, **_types(graph)}
        # A loop body's inputs are the iteration, whether to continue, and then the node's inputs from the third on.
        given = list(node.input)
        for place, value in enumerate(graph.input):
            source = given[place] if place < len(given) else ""
            leaf = self.builder.name(scope, clean(value.name))
            outer = _references([source], sources) if source else []
            self.builder.node(leaf, "Param", outer, [inner_types.get(value.name, TensorType())])
            inside[value.name] = leaf
        self._add_body(graph, scope, inside, inner_types, depth)
        return _references([value.name for value in graph.output], inside)


def function_name(domain: str, op_type: str, overload: str = "") -> str:
    """Return the name of a node's kind; operators of domains other than ONNX's own have the domain as a prefix."""
    name = op_type if domain in ("", "ai.onnx") else f"{domain}.{op_type}"
    return plain(f"{name}.{overload}" if overload else name)


def _references(names: Iterable[str], sources: Mapping[str, str]) -> list[str]:
    return [sources[name] for name in names if name in sources]


def _path(name: str) -> str:
    """Return the path of an exported name, whose slashes form scopes."""
    return joined(*(clean(part) for part in name.split("/") if part))


def _scope(node: Any) -> str:
    return joined(_module_scope(node), _path(node.name).rpartition("/")[0])


def _module_scope(node: Any) -> str:
    """Return the module scope of an operation; PyTorch's exporter records it as "path: class", outermost first."""
    notes = {entry.key: entry.value for entry in node.metadata_props}
    namespace = notes.get("namespace") or notes.get("pkg.torch.onnx.namespace") or ""
    labels = []
    for part in namespace.split("/")[:-1]:
        path, found, class_name = part.partition(": ")
        if found:
            leaf, short = path.rpartition(".")[2].strip(), class_name.rpartition(".")[2].strip()
            labels.append(clean(f"{short}[{leaf}]" if leaf else short))
    return "/".join(labels)


def _note_document(added: NodeDef, node: Any) -> None:
    if node.doc_string:
        set_attributes(added, {"doc_string": node.doc_string})


def _types(graph: Any) -> dict[str, TensorType]:
    found = {}
    for value in (*graph.value_info, *graph.input, *graph.output):
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            shape = [_dim(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None
            found[value.name] = TensorType(shape, _dtype(tensor.elem_type))
    return found


def _dim(dim: Any) -> int | str:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return dim.dim_param or -1


def _dtype(element_type: int) -> types_pb2.DataType:
    """Return the element type whose ONNX name belongs to the number, such as FLOAT or BFLOAT16."""
    types = _onnx().TensorProto.DataType
    if element_type not in types.values():
        return types_pb2.DT_INVALID
    name = types.Name(element_type).lower()
    spelled = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn"}.get(name, name)
    return dtype_of(spelled.replace("float8e", "float8_e"))


def _attribute(attribute: Any) -> Any:
    kind = type(attribute).AttributeType.Name(attribute.type)
    match kind:
        case "FLOAT" | "INT" | "STRING":
            return {"FLOAT": attribute.f, "INT": attribute.i, "STRING": attribute.s}[kind]
        case "FLOATS":
            return list(attribute.floats)
        case "INTS":
            return list(attribute.ints)
        case "STRINGS":
            return list(attribute.strings)
        case "TENSOR":
            return _shown(attribute.t)
        case "UNDEFINED":
            return f"@{attribute.ref_attr_name}" if attribute.ref_attr_name else None
        case _:
            return f"<{kind.lower()}>"


def _shown(tensor: Any) -> str:
    """Return a constant tensor as text: its type, and its elements if there are few."""
    onnx = _onnx()
    known = tensor.data_type in onnx.TensorProto.DataType.values()
    name = onnx.TensorProto.DataType.Name(tensor.data_type).lower() if known else f"type {tensor.data_type}"
    elements = "..."
    if 0 in tensor.dims:
        # Not as nested lists, of which any number may be empty.
        elements = "[]"
    elif _size(tensor.dims) <= _MOST_SHOWN and tensor.data_location != onnx.TensorProto.EXTERNAL:
        try:
            elements = str(onnx.numpy_helper.to_array(tensor).tolist())
        except (ValueError, TypeError, KeyError, IndexError, NotImplementedError):
            elements = "..."
    return f"{name}{list(tensor.dims)} {elements}"
