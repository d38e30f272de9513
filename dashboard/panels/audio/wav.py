"""WAV files: what their header says, and any stretch of their sound as numbers.

The format is Microsoft's RIFF with the chunks ``fmt `` and ``data`` ("Multimedia Programming Interface and Data
Specifications 1.0", 1991, and "Multiple Channel Audio Data and WAVE Files", 2007); RF64 is EBU Tech 3306.
"""

import struct
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from dashboard.server.numbers import counted, file_size
from summary.kinds.base import PayloadError

Encoding: TypeAlias = Literal["u8", "i16", "i24", "i32", "f32", "f64"]
Sound: TypeAlias = NDArray[np.float32]
"""[frames, channels]; full scale is -1..1, which floats may exceed."""

_PCM: Final = 1
_FLOAT: Final = 3
_EXTENSIBLE: Final = 0xFFFE
_ENCODINGS: Final[dict[tuple[int, int], Encoding]] = {
    (_PCM, 8): "u8",
    (_PCM, 16): "i16",
    (_PCM, 24): "i24",
    (_PCM, 32): "i32",
    (_FLOAT, 32): "f32",
    (_FLOAT, 64): "f64",
}
_NAMES: Final[dict[Encoding, str]] = {
    "u8": "8-bit PCM",
    "i16": "16-bit PCM",
    "i24": "24-bit PCM",
    "i32": "32-bit PCM",
    "f32": "32-bit float",
    "f64": "64-bit float",
}
_OTHER_FORMATS: Final = {2: "ADPCM", 6: "A-law", 7: "mu-law", 17: "IMA ADPCM", 85: "MP3"}


@dataclass(frozen=True)
class Wav:
    """A WAV file whose sound is read by stretches."""

    rate: int
    """Frames a second; at least 1."""
    channels: int
    """At least 1."""
    encoding: Encoding
    data: memoryview
    """The sound, a whole number of frames."""
    notice: str
    """What is odd about the file but does not keep it from being read; empty if nothing is."""

    @property
    def block(self) -> int:
        """Bytes of a frame."""
        return self.channels * _width(self.encoding)

    @property
    def frames(self) -> int:
        return len(self.data) // self.block

    @property
    def format(self) -> str:
        """The format in words: "WAV, 16-bit PCM"."""
        return f"WAV, {_NAMES[self.encoding]}"

    def read(self, start: int, stop: int) -> Sound:
        """The frames from ``start`` to before ``stop``, as many of them as there are."""
        first = min(max(start, 0), self.frames)
        last = min(max(stop, first), self.frames)
        return _numbers(self.data[first * self.block : last * self.block], self.encoding).reshape(-1, self.channels)


def read_wav(content: bytes) -> Wav:
    """Reads the header of a WAV file.

    Raises:
        PayloadError: it is none, it is damaged, or its sound is compressed.
    """
    view = memoryview(content)
    if len(content) < 12 or content[:4] not in (b"RIFF", b"RF64") or content[8:12] != b"WAVE":
        raise PayloadError(f"no WAV file: {file_size(len(content))} that begin with {content[:12]!r}")
    at, header = 12, None
    while at + 8 <= len(content):
        name, size = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        body = view[at + 8 : at + 8 + size]
        if name == b"fmt ":
            header = _header(bytes(body))
        elif name == b"data":
            if header is None:
                raise PayloadError('damaged WAV: its "data" comes before its "fmt "')
            return _sound(header, body, size, is_streamed=size == 0xFFFFFFFF)
        at += 8 + size + size % 2
    missing = '"fmt "' if header is None else '"data"'
    raise PayloadError(f"damaged WAV: it has no {missing} in its {file_size(len(content))}")


@dataclass(frozen=True)
class _Header:
    rate: int
    channels: int
    encoding: Encoding


def _header(body: bytes) -> _Header:
    if len(body) < 16:
        raise PayloadError(f'damaged WAV: its "fmt " has {len(body)} bytes, expected 16 or more')
    kind, channels, rate, _, block, bits = struct.unpack_from("<HHIIHH", body)
    if kind == _EXTENSIBLE and len(body) >= 26:
        # The format proper is at the beginning of the GUID.
        kind = struct.unpack_from("<H", body, 24)[0]
    encoding = _ENCODINGS.get((kind, bits))
    if encoding is None:
        name = _OTHER_FORMATS.get(kind, f"format {kind}")
        raise PayloadError(f"a WAV file with {name} of {bits} bits, which is not decoded; expected PCM or floats")
    if rate == 0 or channels == 0 or block != channels * _width(encoding):
        raise PayloadError(
            f"damaged WAV: its header says {counted(channels, 'channel')}, {rate} Hz and {block} bytes a frame"
        )
    return _Header(rate, channels, encoding)


def _sound(header: _Header, body: memoryview, size: int, *, is_streamed: bool) -> Wav:
    block = header.channels * _width(header.encoding)
    whole = len(body) // block * block
    notice = ""
    if len(body) < size and not is_streamed:
        notice = f"Cut short: {file_size(len(body))} of the {file_size(size)} that the header says."
    elif whole < len(body):
        notice = f"The last {len(body) - whole} bytes are no whole frame and left out."
    return Wav(header.rate, header.channels, header.encoding, body[:whole], notice)


def _width(encoding: Encoding) -> int:
    return int(encoding[1:]) // 8 if encoding != "u8" else 1


def _numbers(data: memoryview, encoding: Encoding) -> NDArray[np.float32]:
    match encoding:
        case "u8":
            return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / np.float32(128)
        case "i16":
            return np.frombuffer(data, "<i2").astype(np.float32) / np.float32(1 << 15)
        case "i24":
            wide = np.zeros((len(data) // 3, 4), np.uint8)
            wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
            return wide.view("<i4").reshape(-1).astype(np.float32) / np.float32(1 << 31)
        case "i32":
            return np.frombuffer(data, "<i4").astype(np.float32) / np.float32(1 << 31)
        case "f32":
            return np.frombuffer(data, "<f4").astype(np.float32)
        case "f64":
            with np.errstate(over="ignore"):
                return np.frombuffer(data, "<f8").astype(np.float32)
        case _:
            assert_never(encoding)
