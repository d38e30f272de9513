"""Element types and shapes of tensors in graphs: names, sizes, and text form."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from stepscope.summary.graphs.nodes import DTYPES
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.tensor_pb2 import TensorShapeProto

Shape: TypeAlias = tuple[int, ...]
"""Sizes; -1 for an unknown one."""

_REFERENCE: Final = 100
"""Added by TensorFlow 1 to an element type's number for a reference to a variable."""
_NAMES: Final[Mapping[int, str]] = {int(value): name for name, value in DTYPES.items()}
_BITS: Final[Mapping[str, int]] = {
    "bool": 8,
    "half": 16,
    "bfloat16": 16,
    "double": 64,
    "float": 32,
    "complex64": 64,
    "complex128": 128,
}
_MOST_DIMENSIONS: Final = 32
_MOST_ELEMENTS: Final = 1 << 45
"""Larger shapes are treated as damaged; sums of them would need more than 64 bits."""


def dtype_name(number: int) -> str:
    """Return the name as in NumPy, such as "float32"; empty for none, with a trailing "&" for a reference."""
    base = number - _REFERENCE if number > _REFERENCE else number
    if base == types_pb2.DT_INVALID:
        return ""
    if base in _NAMES:
        name = _NAMES[base]
    elif base in types_pb2.DataType.values():
        name = types_pb2.DataType.Name(base).removeprefix("DT_").lower()
    else:
        name = f"type {base}"
    return f"{name}&" if number > _REFERENCE else name


def is_reference(dtype: str) -> bool:
    """Return whether tensors of this type represent a variable: references of TensorFlow 1, and resource handles."""
    return dtype == "resource" or dtype.endswith("&")


def dtype_bits(dtype: str) -> int:
    """Return the bits of one element; 0 for elements without a fixed size, such as strings and resources."""
    name = dtype.rstrip("&")
    if name in _BITS:
        return _BITS[name]
    for stem in ("float", "quint", "qint", "uint", "int"):
        digits = name.removeprefix(stem).partition("_")[0]
        if name.startswith(stem) and digits.isdigit():
            return int(digits)
    return 0


def elements_of(shape: Shape | None) -> int | None:
    """Return the number of elements of a tensor with this shape; None if a size is unknown or the shape is damaged."""
    if shape is None:
        return None
    count = 1
    for size in shape:
        if size < 0:
            return None
        count *= size
    return count if count <= _MOST_ELEMENTS else None


def tensor_bytes(shape: Shape | None, dtype: str) -> int | None:
    """Return the bytes of a tensor; None if its shape or type is unknown."""
    elements, bits = elements_of(shape), dtype_bits(dtype)
    return (elements * bits + 7) // 8 if elements is not None and bits else None


def shape_of(proto: TensorShapeProto) -> Shape | None:
    """Return the sizes in the message; None if even their number is unknown."""
    if proto.unknown_rank or len(proto.dim) > _MOST_DIMENSIONS:
        return None
    return tuple([size if size >= 0 else -1 for size in (dim.size for dim in proto.dim)])


def shape_text(shape: Shape | None, dtype: str) -> str:
    """Return a short description of a tensor: "float32 32×128", "int64 scalar", "float32 ?×10".

    Empty if nothing is known.
    """
    if shape is None:
        return dtype
    sizes = "×".join("?" if size < 0 else str(size) for size in shape) or "scalar"
    return f"{dtype} {sizes}".strip()
