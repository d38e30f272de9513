"""Framing of records in event files.

A record is ``length uint64 | masked CRC-32C of length uint32 | data | masked CRC-32C of data uint32``, all
little endian (TensorFlow's TFRecord format, ``tensorflow/core/lib/io/record_writer.h``).
"""

import struct

import crc32c

HEADER_BYTES = 12
FOOTER_BYTES = 4

_MASK_DELTA = 0xA282EAD8
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")


def masked_crc(data: bytes) -> int:
    """CRC-32C of ``data``, rotated right by 15 bits plus a constant, so that a CRC over CRCs stays sound."""
    crc = int(crc32c.crc32c(data))
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def header(length: int) -> bytes:
    """The 12 bytes before a record's ``length`` bytes of data."""
    packed = _LENGTH.pack(length)
    return packed + _CRC.pack(masked_crc(packed))


def frame(data: bytes) -> bytes:
    """One whole record with ``data`` inside."""
    return b"".join((header(len(data)), data, _CRC.pack(masked_crc(data))))
