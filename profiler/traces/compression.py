"""Decompress gzip and Zstandard files, whether whole, truncated or damaged, up to a limit."""

import sys
from collections.abc import Callable
from io import BytesIO
from typing import Final, Protocol, cast

from zlib_ng import zlib_ng

from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits, size_text
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.full_install import needs_full_install

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
    from compression.zstd import compress as zstd_compress
else:
    with needs_full_install("Reading traces"):
        from backports.zstd import ZstdDecompressor, ZstdError
        from backports.zstd import compress as zstd_compress

__all__ = ["BEGINNING", "GZIP", "ZSTD", "is_compressed", "unpacked", "unpacked_beginning", "zstd_compress"]

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
# The stub of the package annotates the class as an instance of itself.
_ZLIB_ERROR: Final = cast(type[Exception], zlib_ng.error)
_PIECE_BYTES: Final = 1 << 16
_CAREFUL_BYTES: Final = 1 << 8
"""A piece of a damaged file: none of what it unpacks to is given out."""
BEGINNING: Final = 1 << 16
"""Number of leading bytes from which a format is detected."""


class _Stream(Protocol):
    """One member of a compressed file."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: memoryview, most: int, /) -> bytes: ...


class _GzipStream:
    def __init__(self) -> None:
        self._stream = zlib_ng.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: memoryview, most: int, /) -> bytes:
        return self._stream.decompress(data, most)


def is_compressed(data: bytes) -> bool:
    """Return whether a file begins like one of these formats."""
    return data.startswith((GZIP, ZSTD))


def unpacked_beginning(data: bytes) -> bytes:
    """Return the beginning of a file's content, given its first bytes: unpacked, as far as possible, if compressed."""
    stream: _Stream
    if data.startswith(GZIP):
        stream = _GzipStream()
    elif data.startswith(ZSTD):
        stream = ZstdDecompressor()
    else:
        return data
    try:
        return stream.decompress(memoryview(data), BEGINNING)
    except (_ZLIB_ERROR, ZstdError):
        return b""


def unpacked(
    data: bytes, name: str, limits: Limits, check: Callable[[bytes], None] = lambda _: None
) -> tuple[bytes, tuple[str, ...]]:
    """Return the content of all members of a compressed file, as far as it can be read, and what went wrong.

    ``check`` is called with the beginning of the content before the rest is unpacked, and may raise.

    Raises:
        TraceError: the file is damaged from its beginning.
    """
    if data.startswith(GZIP):
        return _unpacked(data, name, ("gzip", GZIP, _GzipStream), limits, check)
    return _unpacked(data, name, ("zstd", ZSTD, ZstdDecompressor), limits, check)


def _unpacked(
    data: bytes,
    name: str,
    form: tuple[str, bytes, Callable[[], _Stream]],
    limits: Limits,
    check: Callable[[bytes], None],
) -> tuple[bytes, tuple[str, ...]]:
    called, magic, new_stream = form
    by_ratio = max(limits.always_unpacked, limits.unpacked_ratio * len(data))
    most = min(limits.file_bytes, by_ratio)
    # Shares its content with the result, whereas a list of parts would hold all of it twice.
    content = BytesIO()
    checked = False
    notes: tuple[str, ...] = ()
    view = memoryview(data)
    at, step = 0, _PIECE_BYTES
    while data.startswith(magic, at):
        stream = new_stream()
        try:
            while not stream.eof and at < len(data):
                check_cancelled()
                piece = view[at : at + step]
                room = most - content.tell()
                content.write(stream.decompress(piece, room if checked else min(room, BEGINNING)))
                if not checked and content.tell() >= min(BEGINNING, most):
                    check(content.getvalue())
                    # Start over: streams differ in how they continue with data that they held back.
                    checked, at, content = True, 0, BytesIO()
                    stream = new_stream()
                    continue
                if content.tell() >= most and not stream.eof:
                    reason = (
                        f", as it claims more than {limits.unpacked_ratio} times its size" if most == by_ratio else ""
                    )
                    return content.getvalue(), (
                        f"only the first {size_text(most)} of the unpacked file were read{reason}",
                    )
                at += len(piece) - len(stream.unused_data)
        except (_ZLIB_ERROR, ZstdError) as error:
            if step != _CAREFUL_BYTES:
                at, step, content = 0, _CAREFUL_BYTES, BytesIO()
                continue
            if not content.tell():
                raise TraceError(f"{name} is a damaged {called} file: {error}. Expected a complete one.") from None
            notes = (f"the compressed file is damaged: {error}",)
            break
        if not stream.eof:
            notes = ("the compressed file ends early",)
    else:
        if data[at:].strip(b"\0"):
            notes = (f"what follows byte {at} of the compressed file's {len(data)} is not compressed",)
    if not checked:
        check(content.getvalue()[:BEGINNING])
    return content.getvalue(), notes
