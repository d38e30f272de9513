"""Conversion of `TensorProto` to NumPy arrays and back, and its metadata."""

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.summary_pb2 import DataClass, SummaryMetadata
from stepscope.summary.proto.tensor_pb2 import TensorProto, TensorShapeProto

_BFLOAT16: Final = types_pb2.DT_BFLOAT16
_HALF: Final = types_pb2.DT_HALF

_NUMERIC: Final[dict[types_pb2.DataType, tuple[str, str]]] = {
    types_pb2.DT_FLOAT: ("<f4", "float_val"),
    types_pb2.DT_DOUBLE: ("<f8", "double_val"),
    types_pb2.DT_HALF: ("<f2", "half_val"),
    types_pb2.DT_BFLOAT16: ("<u2", "half_val"),
    types_pb2.DT_INT8: ("i1", "int_val"),
    types_pb2.DT_INT16: ("<i2", "int_val"),
    types_pb2.DT_INT32: ("<i4", "int_val"),
    types_pb2.DT_INT64: ("<i8", "int64_val"),
    types_pb2.DT_UINT8: ("u1", "int_val"),
    types_pb2.DT_UINT16: ("<u2", "int_val"),
    types_pb2.DT_UINT32: ("<u4", "uint32_val"),
    types_pb2.DT_UINT64: ("<u8", "uint64_val"),
    types_pb2.DT_BOOL: ("?", "bool_val"),
}
_COMPLEX: Final[dict[types_pb2.DataType, tuple[str, str]]] = {
    types_pb2.DT_COMPLEX64: ("<c8", "scomplex_val"),
    types_pb2.DT_COMPLEX128: ("<c16", "dcomplex_val"),
}
_DTYPES: Final[dict[np.dtype[Any], types_pb2.DataType]] = {
    np.dtype(code): dtype for dtype, (code, _) in (_NUMERIC | _COMPLEX).items() if dtype != types_pb2.DT_BFLOAT16
}

_MOST_DIMENSIONS: Final = 32
_LARGEST_ARRAY: Final = 1 << 58
"""Elements, of up to 16 bytes, beyond which NumPy refuses a shape, even one with a 0 in it."""
_LARGEST_REPEATED: Final = 1 << 24
"""Elements that one stored value may stand for; a damaged shape must not claim all memory."""
_MOST_EMPTY_ROWS: Final = 1 << 16
"""Of an array without elements: as nested lists, each of them takes memory."""


def plugin_metadata(plugin_name: str, data_class: DataClass, content: bytes = b"") -> SummaryMetadata:
    """Return the metadata that assigns a tensor to a kind; most plugins' ``content`` is empty at version 0."""
    plugin_data = SummaryMetadata.PluginData(plugin_name=plugin_name, content=content)
    return SummaryMetadata(plugin_data=plugin_data, data_class=data_class)


def numbers(tensor: TensorProto) -> NDArray[Any]:
    """Return the tensor as a read-only array of its own shape and dtype; bfloat16 becomes float32.

    A single value stands for a whole constant tensor, and no value for zeros, as in TensorFlow's
    ``Tensor::FromProto``.

    Raises:
        PayloadError: the dtype is not numeric, or the number of values does not match the shape.
    """
    return _decoded(tensor, _NUMERIC)


def real_or_complex_numbers(tensor: TensorProto) -> NDArray[Any]:
    """Return the same as `numbers`, but the tensor may also be complex."""
    return _decoded(tensor, _NUMERIC | _COMPLEX)


def _decoded(tensor: TensorProto, dtypes: dict[types_pb2.DataType, tuple[str, str]]) -> NDArray[Any]:
    if tensor.dtype not in dtypes:
        raise PayloadError(f"expected a numeric tensor, got {_dtype_name(tensor)}")
    code, field = dtypes[tensor.dtype]
    dtype = np.dtype(code)
    shape = _shape(tensor)
    flat = _stored(tensor, dtype, field)
    if tensor.dtype == _BFLOAT16:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    array = _shaped(flat, shape)
    array.flags.writeable = False
    return array


def strings(tensor: TensorProto) -> NDArray[np.object_]:
    """Return the byte strings of a DT_STRING tensor as a read-only object array of its shape.

    Raises:
        PayloadError: the tensor has another dtype, or the number of strings does not match the shape.
    """
    if tensor.dtype != types_pb2.DT_STRING:
        raise PayloadError(f"expected a tensor of strings, got {_dtype_name(tensor)}")
    flat = np.empty(len(tensor.string_val), dtype=object)
    flat[:] = tensor.string_val
    shape = _shape(tensor)
    if math.prod(shape) != len(flat):
        raise PayloadError(f"expected {math.prod(shape)} strings for shape {list(shape)}, got {len(flat)}")
    array = flat.reshape(shape)
    array.flags.writeable = False
    return array


def strings_tensor(values: Iterable[bytes], shape: tuple[int, ...]) -> TensorProto:
    """Return a DT_STRING tensor."""
    return TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=_shape_proto(shape), string_val=values)


def numbers_tensor(array: NDArray[Any]) -> TensorProto:
    """Return a tensor of the array's dtype, real or complex, with the values as raw bytes.

    Raises:
        TypeError: files do not support the dtype.
    """
    little_endian = array.dtype.newbyteorder("<")
    if little_endian not in _DTYPES:
        raise TypeError(f"expected one of the dtypes {', '.join(map(str, _DTYPES))}, got {array.dtype}")
    content = np.ascontiguousarray(array, dtype=little_endian).tobytes()
    return TensorProto(
        dtype=_DTYPES[little_endian],
        tensor_shape=_shape_proto(array.shape),
        tensor_content=content,
    )


def bfloat16_tensor(array: NDArray[np.float32]) -> TensorProto:
    """Return a bfloat16 tensor from the upper halves of its numbers, which NumPy holds as float32."""
    halves = (np.ascontiguousarray(array, np.float32).view(np.uint32) >> np.uint32(16)).astype("<u2")
    return TensorProto(dtype=_BFLOAT16, tensor_shape=_shape_proto(array.shape), tensor_content=halves.tobytes())


def _shape_proto(shape: tuple[int, ...]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def _shape(tensor: TensorProto) -> tuple[int, ...]:
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        raise PayloadError(f"expected a tensor of known shape, got {list(shape)}")
    if len(shape) > _MOST_DIMENSIONS:
        raise PayloadError(f"expected a tensor of at most {_MOST_DIMENSIONS} dimensions, got {len(shape)}")
    if math.prod(size for size in shape if size) > _LARGEST_ARRAY:
        raise PayloadError(f"expected a tensor that fits into memory, got shape {list(shape)}")
    if 0 in shape and math.prod(shape[: shape.index(0)]) > _MOST_EMPTY_ROWS:
        raise PayloadError(f"expected at most {_MOST_EMPTY_ROWS} rows without elements, got shape {list(shape)}")
    return shape


def _stored(tensor: TensorProto, dtype: np.dtype[Any], field: str) -> NDArray[Any]:
    # Each access makes a copy.
    content = tensor.tensor_content
    if content:
        if len(content) % dtype.itemsize:
            raise PayloadError(f"expected a multiple of {dtype.itemsize} bytes, got {len(content)}")
        return np.frombuffer(content, dtype)
    if dtype.kind == "c":
        parts = np.array(getattr(tensor, field), dtype=dtype.type(0).real.dtype)
        if len(parts) % 2:
            raise PayloadError(f"expected pairs of real and imaginary parts, got {len(parts)} numbers")
        return parts.view(dtype)
    values = np.array(getattr(tensor, field), dtype=np.int64 if field in ("int_val", "half_val") else dtype)
    if field == "half_val":
        values = values.astype(np.uint16)
        return values.view(np.float16) if tensor.dtype == _HALF else values
    return values.astype(dtype)


def _shaped(flat: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    size = math.prod(shape)
    if len(flat) == size:
        return flat.reshape(shape)
    if len(flat) > 1 or size == 0 or size > _LARGEST_REPEATED:
        raise PayloadError(f"expected {size} values for shape {list(shape)}, got {len(flat)}")
    return np.full(shape, flat[0] if len(flat) else 0, flat.dtype)


def _dtype_name(tensor: TensorProto) -> str:
    known = types_pb2.DataType.DESCRIPTOR.values_by_number.get(tensor.dtype)
    return known.name if known is not None else f"unknown dtype {tensor.dtype}"
