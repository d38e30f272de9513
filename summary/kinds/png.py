"""Encodes pixels as PNG (ISO/IEC 15948), several times as fast as Pillow and hardly larger.

Pillow tries five filters on every row and searches for repeated strings at zlib's level 6. Here, a sample of the rows
decides once per image which filter to use, and whether searching for strings pays off or runs and Huffman codes do as
well, as they do wherever there is noise, such as in photographs.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

Rows: TypeAlias = NDArray[np.uint8]
"""Bytes of pixels, shape [rows, bytes]."""
Strategy = Literal["runs", "strings"]
"""What to search for: repeated bytes, or repeated strings of bytes."""

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER: Final = struct.Struct(">8sI4sIIBB")
"""Signature; length and name of the first chunk; width, height, bits of a channel, color type."""
_COLOR_TYPES: Final[Mapping[int, int]] = MappingProxyType({1: 0, 3: 2, 4: 6})
"""Gray, RGB, RGBA by the number of channels."""
_SAMPLES: Final = 4
"""Places in the image where rows are tried."""
_SAMPLE_BYTES: Final = 1 << 14
"""Bytes tried at each place."""
_SMALL_PICTURE: Final = 1 << 16
"""Bytes of pixels up to which one place is enough: trying more would take longer than everything else."""
_BAND_BYTES: Final = 1 << 17
"""Bytes filtered at a time, so that intermediate results stay in the cache."""


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return uint8 [height, width, channels], with 1, 3 or 4 channels, as a PNG with 8 bits per channel."""
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(height, width * channels)
    code, strategy = _best(rows, channels)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    data = _deflated(_filtered(rows, channels, code), strategy)
    return b"".join([_SIGNATURE, *_chunk(b"IHDR", header), *_chunk(b"IDAT", data), *_chunk(b"IEND", b"")])


def png_size(encoded: bytes) -> tuple[int, int, int] | None:
    """Return width, height and channels of a gray, RGB or RGBA PNG; None for anything else."""
    if len(encoded) < _HEADER.size or not encoded.startswith(_SIGNATURE):
        return None
    _, _, kind, width, height, _, color = _HEADER.unpack_from(encoded)
    channels = [number for number, code in _COLOR_TYPES.items() if code == color]
    return (width, height, channels[0]) if kind == b"IHDR" and channels else None


def _chunk(kind: bytes, data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    checksum = zlib_ng.crc32(data, zlib_ng.crc32(kind))
    return struct.pack(">I", len(data)), kind, data, struct.pack(">I", checksum)


def _deflated(data: NDArray[np.uint8], strategy: Strategy) -> bytes:
    match strategy:
        case "runs":
            level, how = 1, zlib_ng.Z_RLE
        case "strings":
            level, how = 2, zlib_ng.Z_DEFAULT_STRATEGY
        case _:
            assert_never(strategy)
    compressor = zlib_ng.compressobj(level, zlib_ng.DEFLATED, zlib_ng.MAX_WBITS, zlib_ng.DEF_MEM_LEVEL, how)
    return b"".join([compressor.compress(data), compressor.flush()])


def _best(rows: Rows, channels: int) -> tuple[int, Strategy]:
    """Return the filter and the strategy that make a sample of the image smallest."""
    height = max(1, min(len(rows), _SAMPLE_BYTES // rows.shape[1]))
    beyond = len(rows) - height
    is_small = rows.size <= _SMALL_PICTURE
    places = [beyond // 2] if is_small else np.linspace(0, beyond, _SAMPLES).astype(int).tolist()
    samples = {
        code: [_filtered(rows, channels, code, place, place + height) for place in dict.fromkeys(places)]
        for code in _FILTERS
    }
    sizes = {code: _size(tried, "runs") for code, tried in samples.items()}
    code = min(sizes, key=lambda code: sizes[code])
    return code, "strings" if _size(samples[code], "strings") < sizes[code] else "runs"


def _size(samples: Iterable[NDArray[np.uint8]], strategy: Strategy) -> int:
    return sum(len(_deflated(sample, strategy)) for sample in samples)


def _filtered(rows: Rows, channels: int, code: int, first: int = 0, last: int | None = None) -> NDArray[np.uint8]:
    """Return rows ``first`` to ``last``, each after the filter's number."""
    end = len(rows) if last is None else last
    width = rows.shape[1]
    out = np.empty((end - first, 1 + width), np.uint8)
    out[:, 0] = code
    band = max(1, _BAND_BYTES // width)
    for begin in range(first, end, band):
        beyond = min(begin + band, end)
        # Bytes left of a row or above the first row count as 0.
        padded = np.zeros((beyond - begin + 1, channels + width), np.uint8)
        above = min(begin, 1)
        padded[1 - above :, channels:] = rows[begin - above : beyond]
        x, a, b, c = padded[1:, channels:], padded[1:, :-channels], padded[:-1, channels:], padded[:-1, :-channels]
        np.subtract(x, _FILTERS[code](a, b, c), out=out[begin - first : beyond - first, 1:])
    return out


def _none(a: Rows, b: Rows, c: Rows) -> Rows:
    return np.zeros((), np.uint8)


def _left(a: Rows, b: Rows, c: Rows) -> Rows:
    return a


def _up(a: Rows, b: Rows, c: Rows) -> Rows:
    return b


def _average(a: Rows, b: Rows, c: Rows) -> Rows:
    # floor((a + b) / 2) without a ninth bit.
    return (a & b) + ((a ^ b) >> np.uint8(1))


def _paeth(a: Rows, b: Rows, c: Rows) -> Rows:
    """Whichever of left a, up b and upper left c is nearest to a + b - c; a before b before c.

    In bytes: the distances of a and b are |b - c| and |a - c|. That of c is their difference where c lies between a
    and b, and their sum elsewhere, so that c can be nearest only in between.
    """
    distance_a = np.maximum(b, c) - np.minimum(b, c)
    distance_b = np.maximum(a, c) - np.minimum(a, c)
    nearer = np.minimum(distance_a, distance_b)
    farther = np.maximum(distance_a, distance_b)
    is_between = (np.minimum(a, b) < c) & (c < np.maximum(a, b))
    takes_c = is_between & (farther - nearer < nearer)
    # Selecting by bit masks is several times as fast as numpy.where.
    predicted = b ^ ((a ^ b) & _mask(distance_a <= distance_b))
    prediction: Rows = predicted ^ ((predicted ^ c) & _mask(takes_c))
    return prediction


def _mask(condition: NDArray[np.bool_]) -> Rows:
    mask: Rows = np.negative(condition.view(np.uint8))
    return mask


_FILTERS: Final[Mapping[int, Callable[[Rows, Rows, Rows], Rows]]] = MappingProxyType(
    {0: _none, 1: _left, 2: _up, 3: _average, 4: _paeth}
)
"""By PNG's number: the prediction of a byte x from the bytes left (a), above (b) and upper left (c) of it."""
