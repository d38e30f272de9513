"""Building blocks of graphs from every source: unique node names, shapes, element types and attributes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import AttrValue, GraphDef, NodeDef
from stepscope.summary.proto.tensor_pb2 import TensorShapeProto
from stepscope.summary.proto.versions_pb2 import VersionDef

PRODUCER: Final = 22
"""The GraphDef version that PyTorch and tensorboardX write."""

_LONGEST_TEXT: Final = 1024
_MOST_ELEMENTS: Final = 256
_INT64: Final = range(-(2**63), 2**63)

DTYPES: Final[Mapping[str, types_pb2.DataType]] = {
    "bool": types_pb2.DT_BOOL,
    "int8": types_pb2.DT_INT8,
    "int16": types_pb2.DT_INT16,
    "int32": types_pb2.DT_INT32,
    "int64": types_pb2.DT_INT64,
    "uint8": types_pb2.DT_UINT8,
    "uint16": types_pb2.DT_UINT16,
    "uint32": types_pb2.DT_UINT32,
    "uint64": types_pb2.DT_UINT64,
    "float16": types_pb2.DT_HALF,
    "bfloat16": types_pb2.DT_BFLOAT16,
    "float32": types_pb2.DT_FLOAT,
    "float64": types_pb2.DT_DOUBLE,
    "complex64": types_pb2.DT_COMPLEX64,
    "complex128": types_pb2.DT_COMPLEX128,
    "string": types_pb2.DT_STRING,
    "float8_e4m3fn": types_pb2.DT_FLOAT8_E4M3FN,
    "float8_e4m3fnuz": types_pb2.DT_FLOAT8_E4M3FNUZ,
    "float8_e5m2": types_pb2.DT_FLOAT8_E5M2,
    "float8_e5m2fnuz": types_pb2.DT_FLOAT8_E5M2FNUZ,
    "float4_e2m1fn": types_pb2.DT_FLOAT4_E2M1FN,
    "int2": types_pb2.DT_INT2,
    "uint2": types_pb2.DT_UINT2,
    "int4": types_pb2.DT_INT4,
    "uint4": types_pb2.DT_UINT4,
    "qint8": types_pb2.DT_QINT8,
    "quint8": types_pb2.DT_QUINT8,
    "qint32": types_pb2.DT_QINT32,
}
"""Element types by the names that NumPy, PyTorch and Keras share."""


def dtype_of(name: str) -> types_pb2.DataType:
    """Return the element type for a name such as "float32" or "torch.float32"; DT_INVALID if files have none."""
    return DTYPES.get(name.rpartition(".")[2], types_pb2.DT_INVALID)


class GraphBuilder:
    """Collects nodes under unique names that TensorBoard does not misinterpret."""

    def __init__(self) -> None:
        self.graph: Final = GraphDef(versions=VersionDef(producer=PRODUCER))
        self._taken: dict[str, int] = {}

    def name(self, scope: str, leaf: str) -> str:
        """Reserve and return a node name: ``scope/leaf``, with a number appended if that is taken."""
        base = joined(scope, leaf)
        count = self._taken.get(base, 0)
        name = base
        while name in self._taken:
            name = f"{base}_{count}"
            count += 1
        self._taken[base] = max(count, 1)
        self._taken.setdefault(name, 1)
        return name

    def node(
        self,
        name: str,
        op: str,
        inputs: Iterable[str] = (),
        outputs: Sequence["TensorType"] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> NodeDef:
        """Add a node; ``name`` was returned by `name`, and ``outputs`` are the types of its outputs, in order."""
        node = self.graph.node.add(name=name, op=op, input=inputs)
        set_attributes(node, attributes or {})
        if any(output.shape is not None for output in outputs):
            shapes = [shape_proto(output.shape) for output in outputs]
            node.attr["_output_shapes"].CopyFrom(AttrValue(list=AttrValue.ListValue(shape=shapes)))
        known = [output.dtype for output in outputs if output.dtype != types_pb2.DT_INVALID]
        if known:
            node.attr["dtype"].CopyFrom(AttrValue(type=known[0]))
        return node


class TensorType:
    """The shape and element type of a tensor, as far as known.

    Args:
        shape: sizes, names of dynamic sizes, or -1 for any size; None if the rank is unknown.
        dtype: the element type; DT_INVALID if unknown.
    """

    def __init__(
        self, shape: Sequence[int | str] | None = None, dtype: types_pb2.DataType = types_pb2.DT_INVALID
    ) -> None:
        self.shape = shape
        self.dtype = dtype


def shape_proto(shape: Sequence[int | str] | None) -> TensorShapeProto:
    """Return the message for a shape as in `TensorType`; dynamic sizes are -1 and keep their names."""
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    proto = TensorShapeProto()
    for size in shape:
        if isinstance(size, str):
            proto.dim.add(size=-1, name=plain(size))
        else:
            proto.dim.add(size=size if size in _INT64 else -1)
    return proto


def clean(part: str) -> str:
    """Return part of a node name, without the characters that mark scopes, outputs and control inputs in GraphDefs."""
    return plain(part).translate(_NOT_IN_NAMES).lstrip("^") or "_"


_NOT_IN_NAMES: Final = str.maketrans({"/": "_", ":": "_", "\n": "_", "\r": "_", "\0": "_"})


def joined(*parts: str) -> str:
    """Return a node name or scope joined from the nonempty parts."""
    return "/".join(part for part in parts if part)


def plain(text: str) -> str:
    """Return the text in a form that UTF-8 can encode."""
    return text.encode(errors="replace").decode()


def output(name: str, index: int) -> str:
    """Return the reference by which an input names output ``index`` of a node."""
    return name if index == 0 else f"{name}:{index}"


def set_attributes(node: NodeDef, attributes: Mapping[str, Any]) -> None:
    """Set the attributes that are not None."""
    for name, value in attributes.items():
        converted = attr_value(value)
        if converted is not None:
            node.attr[plain(name)].CopyFrom(converted)


def attr_value(value: Any) -> AttrValue | None:
    """Return the message for a number, a string, or a list of one kind of these; any other value as its text.

    Long strings and lists are truncated, with "..." at the end: graphs show what a model does, not what it holds.
    """
    match value:
        case None:
            return None
        case AttrValue():
            return value
        case bool():
            return AttrValue(b=value)
        case int() if value in _INT64:
            return AttrValue(i=value)
        case float():
            return AttrValue(f=value)
        case bytes():
            return AttrValue(s=value if len(value) <= _LONGEST_TEXT else value[:_LONGEST_TEXT] + b"...")
        case list() | tuple() if len(value) <= _MOST_ELEMENTS:
            return _list_value(value)
    return attr_value(str(value).encode(errors="replace"))


def _list_value(values: Sequence[Any]) -> AttrValue:
    kinds = {type(value) for value in values}
    if kinds <= {bool}:
        return AttrValue(list=AttrValue.ListValue(b=values))
    if kinds == {int} and all(value in _INT64 for value in values):
        return AttrValue(list=AttrValue.ListValue(i=values))
    if kinds <= {int, float}:
        return AttrValue(list=AttrValue.ListValue(f=values))
    if kinds <= {str, bytes}:
        encoded = [value if isinstance(value, bytes) else value.encode(errors="replace") for value in values]
        return AttrValue(list=AttrValue.ListValue(s=encoded))
    return AttrValue(s=str(list(values)).encode(errors="replace")[:_LONGEST_TEXT])
