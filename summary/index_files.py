"""The files of an index: segments, which never change, and a manifest, which is replaced as a whole."""

import contextlib
import itertools
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from stepscope.summary.blob_cache import BlobCache, BlobKey
from stepscope.summary.logdir_source import source_of
from stepscope.summary.records import crc32c
from stepscope.summary.remote_source import RemoteSource
from stepscope.summary.source import read_up_to
from stepscope.summary.storage import LocalFolder, RemoteFolder, folder_at

_NAME: Final = re.compile(r"[0-9a-f]{16}\.segment")
_MANIFEST: Final = "manifest"
_ABANDONED_SECONDS: Final = 3600.0
"""A segment that no manifest has listed for this long is abandoned: its writer replaces the manifest at once."""
_RECENT_BYTES: Final = 32 << 20
_LARGEST_PART: Final = 1 << 31
"""Maximum bytes that are read at once, whatever a manifest says."""


class IndexFolder:
    """An index folder on this machine or at an address; it need not exist.

    Args:
        address: a path or an address that `fsspec` supports.

    Raises:
        ValueError: the address's protocol is unknown.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """

    def __init__(self, address: str | os.PathLike[str]) -> None:
        self._folder: Final = folder_at(address)
        self.recent: Final = BlobCache(_RECENT_BYTES)
        """Recently read blocks: charts request tag after tag of the same runs."""
        self.numbers: Final = itertools.count()
        self.address: Final = self._folder.address
        self._source: Final = source_of(self._folder.address)

    def open(self, name: str, size: int) -> BinaryIO:
        """Open a file that should have ``size`` bytes; raises OSError."""
        if isinstance(self._source, RemoteSource):
            return self._source.open_sized(PurePosixPath(name), size)
        return self._source.open(PurePosixPath(name), 0)

    def read_manifest(self) -> bytes:
        """Return the manifest as it is now; raises OSError."""
        return self._folder.read(_MANIFEST)

    def write_segment(self, pieces: Sequence[bytes]) -> str:
        """Write a new segment, piece after piece, and return its name; raises OSError."""
        name = f"{secrets.token_hex(8)}.segment"
        self._replace(name, pieces)
        return name

    def write_manifest(self, content: bytes) -> None:
        """Replace the manifest; raises OSError."""
        self._replace(_MANIFEST, [content])

    def sweep(self, in_use: Sequence[str]) -> None:
        """Delete segments that no manifest lists any longer, except those that may be on their way into one."""
        with contextlib.suppress(OSError):
            for found in list(self._source.list()):
                name = str(found.path)
                is_ours = is_segment_name(name) or name.startswith(_UNFINISHED)
                age = time.time() - found.modified_ns / 1e9
                if is_ours and name not in in_use and found.modified_ns and age > _ABANDONED_SECONDS:
                    self._remove(name)

    def _remove(self, name: str) -> None:
        if isinstance(self._folder, LocalFolder):
            (self._folder.path / name).unlink(missing_ok=True)
        elif isinstance(self._folder, RemoteFolder):
            self._folder.remove(name)

    def _replace(self, name: str, pieces: Sequence[bytes]) -> None:
        if not isinstance(self._folder, LocalFolder):
            self._folder.replace(name, b"".join(pieces))
            return
        folder: Path = self._folder.path
        # Logged data may be secret, and so may whatever is kept of it.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=_UNFINISHED, delete=False) as stream:
            try:
                stream.writelines(pieces)
                stream.close()
                os.replace(stream.name, folder / name)
            except BaseException:
                os.unlink(stream.name)
                raise


_UNFINISHED: Final = "unfinished-"


def is_segment_name(name: str) -> bool:
    """Return whether a segment may have that name: a manifest from elsewhere may contain any name."""
    return _NAME.fullmatch(name) is not None


class Segment:
    """A file of blocks that never changes; any thread may read it.

    It is kept open so that it can still be read after another program has replaced it.

    Args:
        folder: where the segment is.
        name: the name of the file.
        size: the number of bytes that it should have.
    """

    def __init__(self, folder: IndexFolder, name: str, size: int) -> None:
        self.name: Final = name
        self._size: Final = size
        self.recent: Final = folder.recent
        self.number: Final = next(folder.numbers)
        self._folder: Final = folder
        self._lock: Final = threading.Lock()
        self._stream: BinaryIO | None = None

    def block(self, at: int, length: int, crc: int) -> bytes | None:
        """Return bytes that may be requested again soon; None if they are damaged or gone."""
        key = BlobKey(self.number, at, length)
        content = self.recent.get(key)
        if content is None:
            content = self.read(at, length, crc)
            if content is not None:
                self.recent.put(key, content)
        return content

    def read(self, at: int, length: int, crc: int) -> bytes | None:
        """Return bytes of the segment; None if they are damaged or gone."""
        if not 0 <= length <= _LARGEST_PART:
            return None
        try:
            with self._lock:
                if self._stream is None:
                    self._stream = self._folder.open(self.name, self._size)
                if length > _EASILY_READ and self._stream.seek(0, os.SEEK_END) < at + length:
                    return None
                self._stream.seek(at)
                content = read_up_to(self._stream, length)
        except OSError:
            return None
        return content if len(content) == length and crc32c(content) == crc else None


_EASILY_READ: Final = 1 << 20
"""Bytes for which memory is allocated before it is known that they exist."""
