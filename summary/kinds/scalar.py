"""Scalars: one number at a step."""

from typing import Final, Literal, assert_never

from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import numbers, plugin_metadata
from stepscope.summary.proto import summary_pb2, types_pb2
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata
from stepscope.summary.proto.tensor_pb2 import TensorProto, TensorShapeProto

PLUGIN_NAME: Final = "scalars"

ScalarForm = Literal["simple_value", "float32", "float64"]
"""How a number is stored: in its own field (float32, the smallest form), or as a tensor."""


def scalar_metadata() -> SummaryMetadata:
    """Return the metadata that marks a tensor as a scalar."""
    return plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_SCALAR)


def scalar_tensor(number: float, form: Literal["float32", "float64"]) -> TensorProto:
    """Return a tensor of rank 0; its serialization ends with the number."""
    match form:
        case "float32":
            return TensorProto(dtype=types_pb2.DT_FLOAT, tensor_shape=TensorShapeProto(), float_val=[number])
        case "float64":
            return TensorProto(dtype=types_pb2.DT_DOUBLE, tensor_shape=TensorShapeProto(), double_val=[number])
        case _:
            assert_never(form)


def scalar(tag: str, number: float, form: ScalarForm = "simple_value") -> Summary.Value:
    """Return a value with one number; "simple_value" and "float32" store numbers beyond float32 as infinity."""
    if form == "simple_value":
        return Summary.Value(tag=tag, simple_value=number)
    return Summary.Value(tag=tag, metadata=scalar_metadata(), tensor=scalar_tensor(number, form))


def decode_scalar(value: Summary.Value) -> float:
    """Return the number in ``simple_value``, or in a numeric tensor of one element and any rank.

    Raises:
        PayloadError: the value is neither.
    """
    field = value.WhichOneof("value")
    if field == "simple_value":
        return value.simple_value
    if field != "tensor":
        raise PayloadError(f"expected a scalar as simple_value or tensor, got {field or 'no value'}")
    array = numbers(value.tensor)
    if array.size != 1:
        raise PayloadError(f"expected a scalar, which is a tensor of one element, got shape {list(array.shape)}")
    return float(array.item())


KIND: Final = Kind(plugin_name=PLUGIN_NAME, decode=decode_scalar, about="one number", legacy_field="simple_value")
