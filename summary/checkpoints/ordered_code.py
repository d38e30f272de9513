"""Keys of tensor pieces in an order-preserving encoding (tensorflow/core/lib/strings/ordered_code.cc)."""

from collections.abc import Sequence
from typing import Final

WHOLE: Final = -1
"""The length of a piece along a dimension that it covers entirely."""


def slice_key(name: str, extents: Sequence[tuple[int, int]]) -> bytes:
    """Return the key under which a bundle stores a piece of a tensor (``EncodeTensorNameSlice``).

    Args:
        name: the tensor's name.
        extents: start and length along each dimension; 0 and `WHOLE` where the piece covers all of it.
    """
    parts = [_unsigned(0), _text(name.encode(errors="surrogateescape")), _unsigned(len(extents))]
    for start, length in extents:
        parts += (_signed(start), _signed(length))
    return b"".join(parts)


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _text(value: bytes) -> bytes:
    return b"".join(_ESCAPED.get(byte, bytes([byte])) for byte in value) + b"\0\x01"


_ESCAPED: Final = {0: b"\0\xff", 255: b"\xff\0"}


def _signed(value: int) -> bytes:
    """Return the value with seven bits per byte; the leading ones of the first byte give the number that follow."""
    bits = (value if value >= 0 else ~value).bit_length()
    size = bits // 7 + 1
    if size == 1:
        return bytes([0x80 ^ (value & 0xFF)])
    body = bytearray((value & (1 << 8 * size) - 1).to_bytes(size, "big"))
    head = ((1 << size) - 1) << (16 - size)
    body[0] ^= head >> 8
    body[1] ^= head & 0xFF
    return bytes(body)
