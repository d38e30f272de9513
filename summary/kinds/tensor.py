"""Tensors: numbers of any shape and dtype at a step."""

from dataclasses import dataclass
from typing import Any, Final

from numpy.typing import NDArray

from stepscope.summary.arguments import as_array
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import (
    bfloat16_tensor,
    numbers_tensor,
    plugin_metadata,
    real_or_complex_numbers,
)
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "tensor"
"""The name in PyTorch's ``add_tensor``; TensorBoard has no panel with this name."""

_LARGEST: Final = (1 << 31) - (1 << 10)
"""Bytes; a message, which contains more than the tensor, must stay below 2 GiB."""


@dataclass(frozen=True)
class Tensor:
    """The numbers as written."""

    array: NDArray[Any]
    """Read-only, of any shape; booleans, integers, floats or complex numbers."""


def tensor(tag: str, values: Any) -> Summary.Value:
    """Return a value with the numbers unchanged, also bfloat16; float8, which NumPy and files lack, becomes float32.

    Raises:
        TypeError: ``values`` are not numbers.
        ValueError: they need 2 GiB or more, which no message can hold.
    """
    name = f"the tensor {tag!r}"
    array = as_array(values, name, allow_complex=True)
    is_bfloat16 = "bfloat16" in str(getattr(values, "dtype", ""))
    size = array.nbytes // 2 if is_bfloat16 else array.nbytes
    if size > _LARGEST:
        raise ValueError(f"{name} must be smaller than 2 GiB, got {size} bytes (shape {array.shape})")
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR)
    encoded = bfloat16_tensor(array) if is_bfloat16 else numbers_tensor(array)
    return Summary.Value(tag=tag, metadata=metadata, tensor=encoded)


def decode_tensor(value: Summary.Value) -> Tensor:
    """Decode a numeric tensor of any shape.

    Raises:
        PayloadError: the value is not such a tensor.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a tensor, got {value.WhichOneof('value') or 'no value'}")
    return Tensor(real_or_complex_numbers(value.tensor))


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_tensor,
    about="numbers of any shape and dtype",
    array=lambda found: found.array,
)
