"""Piecewise conversion of stored numbers to float32."""

from collections.abc import Callable
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.checkpoints.base import MOST_VALUES, CheckpointError
from stepscope.summary.memory_budget import claim
from stepscope.summary.source import read_up_to

_PIECE: Final = 4 << 20
"""Bytes converted at a time, so that a float64 file is never held whole as float64."""

_STORED: Final[dict[str, str]] = {
    "float64": "f8",
    "float32": "f4",
    "float16": "f2",
    "bfloat16": "u2",
    "float8_e4m3fn": "u1",
    "float8_e5m2": "u1",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "uint64": "u8",
    "uint32": "u4",
    "uint16": "u2",
    "uint8": "u1",
    "bool": "u1",
}
"""NumPy type code of each element type's bytes."""


def is_number(dtype: str) -> bool:
    """Return whether elements of this type can be read."""
    return dtype in _STORED


def element_bytes(dtype: str) -> int:
    """Return the size of one element in bytes.

    Raises:
        CheckpointError: elements of this type cannot be read.
    """
    if dtype not in _STORED:
        raise CheckpointError(f"Tensors of type {dtype[:50]} are not supported; supported types: {', '.join(_STORED)}.")
    return np.dtype(_STORED[dtype]).itemsize


def read_floats(
    stream: BinaryIO,
    count: int,
    dtype: str,
    *,
    big_endian: bool = False,
    seen: Callable[[bytes], None] | None = None,
) -> NDArray[np.float32]:
    """Return the next ``count`` elements of a stream, float32 [count].

    Args:
        stream: a stream positioned at the first element.
        count: the number of elements.
        dtype: a type for which `is_number` is true.
        big_endian: whether the high byte comes first.
        seen: called with all bytes, for a checksum.

    Raises:
        CheckpointError: the stream ends too soon, the type is unsupported, or there are too many elements.
    """
    size = element_bytes(dtype)
    if not 0 <= count <= MOST_VALUES:
        raise CheckpointError(f"The tensor has {count:,} numbers; the limit is {MOST_VALUES:,}.")
    stored = np.dtype(_STORED[dtype]).newbyteorder(">" if big_endian else "<")
    claim(count * np.dtype(np.float32).itemsize)
    floats = np.empty(count, np.float32)
    step = _PIECE // size
    for begin in range(0, count, step):
        check_cancelled()
        wanted = min(step, count - begin)
        piece = read_up_to(stream, wanted * size)
        if len(piece) < wanted * size:
            raise CheckpointError(
                f"The file ends {(count - begin) * size - len(piece):,} bytes before the tensor's end."
            )
        if seen is not None:
            seen(piece)
        floats[begin : begin + wanted] = as_floats(np.frombuffer(piece, stored), dtype)
    return floats


def as_floats(stored: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """Return stored elements as float32; values beyond its range become infinite."""
    floats: NDArray[np.float32]
    match dtype:
        case "bfloat16":
            floats = np.left_shift(stored, 16, dtype=np.uint32).view(np.float32)
        case "float8_e5m2":
            floats = np.left_shift(stored, 8, dtype=np.uint16).view(np.float16).astype(np.float32)
        case "float8_e4m3fn":
            floats = _E4M3FN[stored]
        case "bool":
            floats = (stored != 0).astype(np.float32)
        case _:
            with np.errstate(over="ignore", invalid="ignore"):
                floats = stored.astype(np.float32)
    return floats


def _e4m3fn() -> NDArray[np.float32]:
    """Return all 256 numbers with 1 sign bit, 4 exponent bits (bias 7), 3 mantissa bits, and no infinities.

    From "FP8 Formats for Deep Learning", Micikevicius et al., 2022, table 1.
    """
    bits = np.arange(256)
    exponent, mantissa = bits >> 3 & 15, bits & 7
    size = np.where(exponent > 0, 2.0 ** (exponent - 7.0) * (1 + mantissa / 8), 2.0**-6 * mantissa / 8)
    size[bits & 127 == 127] = np.nan
    return np.where(bits & 128, -size, size).astype(np.float32)


_E4M3FN: Final = _e4m3fn()
