"""A JSON header and columns of numbers as one body, which ``web/core/binary.ts`` reads."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

MAGIC: Final = b"SSC1"
ALIGNMENT: Final = 8


class ColumnPack:
    """Collects arrays; each is identified by its position."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []

    def add(self, array: NDArray[Any]) -> int:
        """Add a one-dimensional array of float32, float64, int32, uint32, or uint8, and return its position."""
        self._arrays.append(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")))
        return len(self._arrays) - 1

    def add_numbers(self, array: NDArray[np.float64]) -> int:
        """Add numbers for drawing, as float32 if that moves none by more than 1/10,000 of their range."""
        return self.add(array.astype(np.float32) if fits_float32(array) else array)

    def add_exactly(self, array: NDArray[np.float64]) -> int:
        """Add numbers as float32 if that represents each exactly, such as steps up to 16 million."""
        short = array.astype(np.float32)
        return self.add(short if bool((short == array).all()) else array)

    def body(self, header: Mapping[str, Any]) -> bytes:
        """Return the header, with "arrays" as a list of [type, length], followed by the arrays.

        Layout: 4 bytes `MAGIC`, the length of the JSON as little-endian uint32, the JSON, then each array, all starting
        at multiples of 8 bytes.
        """
        described = [[f"{array.dtype.kind}{array.dtype.itemsize}", len(array)] for array in self._arrays]
        text = orjson.dumps({**header, "arrays": described}, option=orjson.OPT_SERIALIZE_NUMPY)
        pieces: list[bytes] = [MAGIC, struct.pack("<I", len(text)), text, _padding(len(text))]
        for array in self._arrays:
            pieces += (array.tobytes(), _padding(array.nbytes))
        return b"".join(pieces)


def unpack(body: bytes) -> tuple[dict[str, Any], Sequence[NDArray[Any]]]:
    """Return the header and the arrays from `ColumnPack.body`."""
    (length,) = struct.unpack_from("<I", body, 4)
    header: dict[str, Any] = orjson.loads(body[8 : 8 + length])
    at = 8 + length + len(_padding(length))
    arrays: list[NDArray[Any]] = []
    for dtype, count in header.pop("arrays"):
        array = np.frombuffer(body, np.dtype("<" + dtype), count, at)
        arrays.append(array)
        at += array.nbytes + len(_padding(array.nbytes))
    return header, arrays


def fits_float32(array: NDArray[np.float64]) -> bool:
    """Return whether float32 moves no number by more than 1/10,000 of their range and makes no small one zero."""
    finite = array[np.isfinite(array)]
    if not len(finite):
        return True
    low, high = float(finite.min()), float(finite.max())
    reach = max(abs(low), abs(high))
    # float32 would turn the smallest numbers into zero, which a log scale cannot show.
    subnormal = reach > 0 and bool(((finite != 0) & (np.abs(finite) < 1e-30)).any())
    return not (reach > 1e30 or subnormal or reach * 6e-8 > 1e-4 * (high - low) > 0)


def _padding(length: int) -> bytes:
    return b"\0" * (-length % ALIGNMENT)
