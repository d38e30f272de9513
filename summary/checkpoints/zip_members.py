"""Members of ZIP archives as separate files."""

import io
import struct
import tempfile
import zipfile
from typing import IO, BinaryIO, Final, cast

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.memory_budget import claim
from stepscope.summary.source import read_up_to

_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_LARGEST_UNPACKED: Final = 4 << 30
"""Maximum size in bytes of a compressed member that is unpacked into a temporary file."""


def open_member(archive: zipfile.ZipFile, name: str) -> BinaryIO:
    """Open a member for sequential reading from its beginning; raise the same errors as `zipfile`."""
    return cast(BinaryIO, archive.open(name))


def seekable_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Return a seekable member: a window of the archive, or a temporary file if it is compressed.

    Raises:
        CheckpointError: the member is too large.
        OSError, zipfile.BadZipFile, KeyError: the member cannot be read.
    """
    info = archive.getinfo(name)
    stream = archive.fp
    if stream is not None and info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        return cast(IO[bytes], io.BufferedReader(Window(cast(BinaryIO, stream), _begin(stream, info), info.file_size)))
    if info.file_size > _LARGEST_UNPACKED:
        raise CheckpointError(
            f"{name} is {info.file_size:,} bytes; the limit for compressed members is {_LARGEST_UNPACKED:,}."
        )
    # The temporary folder is often in memory.
    claim(info.file_size)
    # The caller closes it; it is never longer than declared.
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115
    with archive.open(name) as content:
        while piece := content.read(1 << 20):
            check_cancelled()
            unpacked.write(piece)
    unpacked.seek(0)
    return unpacked


def _begin(stream: IO[bytes], info: zipfile.ZipInfo) -> int:
    stream.seek(info.header_offset)
    header = read_up_to(cast(BinaryIO, stream), _LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile(f"{info.filename} is not where the archive says")
    _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    return int(info.header_offset + _LOCAL_HEADER.size + name_length + extra_length)


class Window(io.RawIOBase):
    """A section of a file as a file of its own; closing it does not close the underlying file."""

    def __init__(self, stream: BinaryIO, begin: int, size: int) -> None:
        self._stream = stream
        self._begin = begin
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(0, self._size - self._at))
        self._stream.seek(self._begin + self._at)
        piece = self._stream.read(wanted)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
