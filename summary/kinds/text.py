"""Text: one string, or a table of strings, at a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import with_values
from stepscope.summary.kinds.base import Kind, PayloadError, Table
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "text"


@dataclass(frozen=True)
class Text:
    """Markdown, as written."""

    strings: NDArray[np.object_]
    """`str` objects of any shape, read-only; rank 0 is one text, a higher rank is a table."""


def text(tag: str, content: str | Sequence[Any] | NDArray[Any]) -> Summary.Value:
    """Return a value with a string, or with an array or nested sequence of strings.

    Raises:
        TypeError: an element is not a string, or the rows differ in length.
        ValueError: a string cannot be encoded as UTF-8.
    """
    name = f"the text {tag!r}"
    try:
        array = with_values(content, name, object)
    except ValueError as error:
        raise TypeError(f"{name} must be rectangular: {error}") from None
    for element in array.flat:
        if not isinstance(element, str):
            raise TypeError(f"{name} must be a string or an array of strings, got {type(element).__name__}")
    try:
        encoded = [element.encode() for element in array.flat]
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must be text that UTF-8 can encode: {error}") from error
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor(encoded, array.shape))


def decode_text(value: Summary.Value) -> Text:
    """Decode a string tensor of any rank; bytes that are not UTF-8 become U+FFFD.

    Raises:
        PayloadError: the value is not such a tensor.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected text as a tensor, got {value.WhichOneof('value') or 'no value'}")
    encoded = strings(value.tensor)
    flat = np.empty(encoded.size, dtype=object)
    flat[:] = [string.decode(errors="replace") for string in encoded.reshape(-1).tolist()]
    decoded = flat.reshape(encoded.shape)
    decoded.flags.writeable = False
    return Text(decoded)


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_text,
    about="one string, or a table of strings",
    table=Table(
        {"shape": "list[int]", "text": "list[str]"},
        lambda found: [(list(found.strings.shape), found.strings.reshape(-1).tolist())],
    ),
)
