"""Messages between the server and its worker processes: a JSON object and named arrays, over a pipe."""

import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

import numpy as np
import orjson
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

KINDS: Final = frozenset("fiubU")
"""Kinds of dtypes that can be sent: real numbers, integers, booleans, and texts."""
_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def send(stream: BinaryIO, message: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a message: little-endian uint32 length of the JSON, the JSON, then the bytes of each array.

    Raises:
        ValueError: an array holds objects.
        OSError: the other end is gone.
    """
    pieces = [np.ascontiguousarray(array) if array.ndim else array.copy() for array in arrays.values()]
    for name, array in zip(arrays, pieces, strict=True):
        if array.dtype.kind not in KINDS:
            raise ValueError(f"the array {name!r} is of {array.dtype}, which is not sent")
    described = [[name, array.dtype.str, array.shape] for name, array in zip(arrays, pieces, strict=True)]
    text = orjson.dumps({"message": message, "arrays": described}, option=_OPTIONS)
    stream.write(struct.pack("<I", len(text)) + text)
    for array in pieces:
        if array.nbytes:
            stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], Arrays] | None:
    """Return the next message; None if the other end closed the pipe or is gone.

    Args:
        stream: stream whose ``read`` returns the requested number of bytes, unless it ends first.
    """
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    (length,) = struct.unpack("<I", prefix)
    text = stream.read(length)
    if len(text) < length:
        return None
    envelope = orjson.loads(text)
    arrays: Arrays = {}
    for name, dtype, shape in envelope["arrays"]:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        content = stream.read(size)
        if len(content) < size:
            return None
        arrays[name] = np.ndarray(shape, np.dtype(dtype), content)
    return envelope["message"], arrays
