"""Framing of records in event files.

A record is ``length uint64 | masked CRC-32C of length uint32 | data | masked CRC-32C of data uint32``, all
little endian (TensorFlow's TFRecord format, ``tensorflow/core/lib/io/record_writer.h``).
"""

import struct
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 12
FOOTER_BYTES = 4

_MASK_DELTA = 0xA282EAD8
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")


def crc32c(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32C of ``data``, or of ``data`` appended to bytes whose CRC-32C is ``before``."""
    return int(_checksum()(data, before))


@cache
def _checksum() -> Callable[[bytes | memoryview, int], int]:
    # Importing the package looks up its version, a fifth of the time allowed for importing `summary`.
    from crc32c import crc32c as checksum

    function: Callable[[bytes | memoryview, int], int] = checksum
    return function


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C of ``data``, rotated right by 15 bits plus a constant, so that CRCs of CRCs stay sound."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crcs(crcs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the masked values of many CRC-32Cs."""
    return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_MASK_DELTA)


def header(length: int) -> bytes:
    """Return the 12 bytes before a record's ``length`` bytes of data."""
    packed = _LENGTH.pack(length)
    return packed + _CRC.pack(masked_crc(packed))


def frame(data: bytes) -> bytes:
    """Return one whole record that contains ``data``."""
    return b"".join((header(len(data)), data, _CRC.pack(masked_crc(data))))


def length_of_record(data: bytes | memoryview, begin: int) -> int:
    """Return the size in bytes of the whole record that begins at ``begin``, including its frame."""
    (length,) = _LENGTH.unpack_from(data, begin)
    return HEADER_BYTES + int(length) + FOOTER_BYTES
