"""Attributes of nodes as short texts; large ones are only measured until requested in full."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.dashboard.graphs.element_types import dtype_name, shape_of, shape_text
from stepscope.summary.graphs.files import text_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor_proto import real_or_complex_numbers, strings
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import AttrValue
from stepscope.summary.proto.tensor_pb2 import TensorProto

LARGE: Final = 1_024
"""Bytes above which an attribute is not decoded with the others; TensorBoard's ``limit_attr_size``."""
LONGEST_TEXT: Final = 200
"""Maximum characters of a short text."""
LARGEST_WHOLE: Final = 1 << 20
"""Maximum characters of a full attribute."""
_MOST_ELEMENTS: Final = 10_000
"""Maximum elements of a tensor to write out."""
_LIST_FIELDS: Final = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


@dataclass(frozen=True)
class Attribute:
    """An attribute of a node, as far as it is shown beside others."""

    kind: str
    """Type of the value: "int", "float", "bool", "string", "type", "shape", "tensor", "function", "list", ..."""
    text: str
    """The value as text, at most `LONGEST_TEXT` characters."""
    bytes: int
    """Stored size in bytes."""
    truncated: bool
    """Whether the text is truncated."""


_KINDS: Final = {
    "s": "string",
    "i": "int",
    "f": "float",
    "b": "bool",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "list": "list",
    "func": "function",
    "placeholder": "placeholder",
}


def attribute_of(value: AttrValue) -> Attribute:
    """Return the attribute as a short text; one larger than `LARGE` is not decoded."""
    field = value.WhichOneof("value")
    if field is None:
        return Attribute("none", "", 0, False)
    size = value.ByteSize()
    if field == "tensor":
        text, whole = _tensor_head(value.tensor), False
        # A single stored value may represent a whole tensor.
        if size <= LARGE and _elements(value.tensor) <= _MOST_ELEMENTS:
            text = f"{text}: {_tensor_values(value.tensor, 16)}"
            whole = _elements(value.tensor) <= 16
    elif size > LARGE:
        text, whole = _large_head(value, field), False
    else:
        text, whole = _text(value, field), True
    if len(text) > LONGEST_TEXT:
        text, whole = f"{text[: LONGEST_TEXT - 1]}…", False
    return Attribute(_KINDS[field], text, size, not whole)


def whole_text(value: AttrValue, limit: int = LARGEST_WHOLE) -> tuple[str, bool]:
    """Return the full text of the attribute, and whether it was cut: at ``limit`` characters, or 10,000 elements of a
    tensor.
    """
    field = value.WhichOneof("value")
    if field is None:
        return "", False
    if field == "tensor":
        text = f"{_tensor_head(value.tensor)}\n{_tensor_values(value.tensor, _MOST_ELEMENTS)}"
        return text[:limit], len(text) > limit or _elements(value.tensor) > _MOST_ELEMENTS
    if field == "s":
        text = _string(value.s[: limit + 1])
        return text[:limit], len(value.s) > limit
    if field == "list" and value.ByteSize() > 16 * limit:
        return _large_head(value, field), True
    text = _text(value, field)
    return text[:limit], len(text) > limit


def _large_head(value: AttrValue, field: str) -> str:
    if field == "s":
        return _string(value.s[:LONGEST_TEXT])
    if field == "list":
        return f"list of {sum(len(getattr(value.list, name)) for name in _LIST_FIELDS):,}"
    return _text(value, field)[: LONGEST_TEXT + 1] if field != "func" else value.func.name


def _text(value: AttrValue, field: str) -> str:
    if field == "list":
        parts = [_scalar(name, part) for name in _LIST_FIELDS for part in getattr(value.list, name)]
        return f"[{', '.join(parts)}]"
    return _scalar(field, getattr(value, field))


def _scalar(field: str, value: Any) -> str:
    match field:
        case "s":
            return _string(value)
        case "type":
            return dtype_name(value) or "none"
        case "shape":
            return shape_text(shape_of(value), "") or "unknown"
        case "tensor":
            return f"{_tensor_head(value)}: {_tensor_values(value, 16)}"
        case "func":
            return value.name if not value.attr else f"{value.name} {_in_line(text_of(value).splitlines()[1:])}"
        case "f":
            return f"{value:.7g}"
        case "b":
            return "true" if value else "false"
        case _:
            return str(value)


def _in_line(lines: Iterable[str]) -> str:
    return " ".join(line.strip() for line in lines)


def _string(value: bytes) -> str:
    """Return the bytes as text, or as a bytes literal if they are not text."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return repr(value)
    return text if all(character.isprintable() or character in "\n\t" for character in text) else repr(value)


def _tensor_head(tensor: TensorProto) -> str:
    return shape_text(shape_of(tensor.tensor_shape), dtype_name(tensor.dtype)) or "tensor"


def _elements(tensor: TensorProto) -> int:
    count = 1
    for dim in tensor.tensor_shape.dim:
        count *= max(dim.size, 0)
    return count


def _tensor_values(tensor: TensorProto, most: int) -> str:
    """Return the first values of a tensor; bytes are decoded without a copy."""
    try:
        if tensor.dtype == types_pb2.DT_STRING:
            return ", ".join(_string(text[:LONGEST_TEXT]) for text in strings(tensor).reshape(-1)[:most].tolist())
        values = real_or_complex_numbers(tensor)
    except PayloadError as error:
        return f"cannot be read: {error}"
    shown = values if values.size <= most else values.reshape(-1)[:most]
    text = np.array2string(shown, separator=", ", threshold=most + 1, max_line_width=120)
    return text if values.size <= most else f"{text[:-1]}, …]"
