"""Files below an address supported by `fsspec`."""

import io
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, NamedTuple, cast

from stepscope.summary.full_install import needs_full_install
from stepscope.summary.source import FoundFile

_TIMES: Final = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""Names that file systems use for the time of a file's last change."""
_PAGE_FILES: Final = 1_000
"""Maximum number of files per page of a listing, as in S3 and Google Cloud Storage."""


class Requests(NamedTuple):
    """Number of requests to a store."""

    pages: int = 0
    """Pages of listings, for stores that list a thousand files at a time."""
    files: int = 0
    """Requests for ranges of files, or for their sizes."""

    @property
    def total(self) -> int:
        """Total number of requests."""
        return self.pages + self.files

    def plus(self, other: "Requests") -> "Requests":
        """Return the sum of both."""
        return Requests(self.pages + other.pages, self.files + other.files)


class _Counter:
    """Counts requests; thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self.so_far = Requests()

    def add(self, *, pages: int = 0, files: int = 0) -> None:
        with self._lock:
            self.so_far = self.so_far.plus(Requests(pages, files))


class RemoteSource:
    """Files of an `fsspec` file system, listed at every update and read by ranges.

    Args:
        address: an address such as ``s3://bucket/logs``.

    Raises:
        ValueError: the protocol is unknown.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """

    def __init__(self, address: str) -> None:
        with needs_full_install(f"The address {address}"):
            from fsspec.core import url_to_fs

        self._file_system, self._root = url_to_fs(address.rstrip("/"), use_listings_cache=False)
        self.address: Final = address
        self._sizes: dict[PurePosixPath, int] = {}
        """Sizes of all files in the last listing; requesting them again would be half of the requests."""
        self._counter: Final = _Counter()

    @property
    def requests(self) -> Requests:
        """Number of requests to the store so far."""
        return self._counter.so_far

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return ()

    def folders_to_watch(self, most: int) -> Sequence[str]:
        return ()

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        self._file_system.invalidate_cache()
        try:
            found: dict[str, dict[str, Any]] = self._file_system.find(self._root, detail=True)
        except FileNotFoundError:
            self._counter.add(pages=1)
            self._sizes = {}
            return
        self._counter.add(pages=max(1, -(-len(found) // _PAGE_FILES)))
        untold = [name for name, info in found.items() if info.get("size") is None]
        self._counter.add(files=len(untold))
        sizes = dict(zip(untold, self._file_system.sizes(untold), strict=True)) if untold else {}
        files: list[FoundFile] = []
        for name, info in found.items():
            relative = PurePosixPath(name.removeprefix(self._root).lstrip("/"))
            size = sizes.get(name, info.get("size"))
            if relative.parts and ".." not in relative.parts and size is not None:
                etag = info.get("ETag") or info.get("etag")
                files.append(FoundFile(relative, int(size), _modified_ns(info), (0, 0), etag=str(etag or "")))
        self.take_listing(files)
        yield from files

    def take_listing(self, files: Iterable[FoundFile]) -> None:
        """Record the sizes of all files from a listing, possibly made by another process."""
        self._sizes = {file.path: file.size for file in files}

    def is_absent(self) -> bool:
        """Return whether nothing exists at the address; a request is sent only if the last listing was empty."""
        if self._sizes:
            return False
        self._counter.add(files=1)
        try:
            return not self._file_system.exists(self._root)
        # Each file system has errors of its own; without an answer, the listing counts.
        except Exception:
            return False

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {}

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        reader = _RangeReader(self._file_system, f"{self._root}/{path}", self._counter, self._sizes.get(path))
        reader.seek(offset)
        return cast(BinaryIO, reader)

    def open_sized(self, path: PurePosixPath, size: int) -> BinaryIO:
        """Open a file of known size, which saves a request for the size; nothing beyond that size is read."""
        return cast(BinaryIO, _RangeReader(self._file_system, f"{self._root}/{path}", self._counter, size))

    def locate(self, path: PurePosixPath) -> str:
        return f"{self.address.rstrip('/')}/{path}"


class _RangeReader(io.RawIOBase):
    """A remote file for which each `read` requests one range; errors of any library become OSError.

    If no size is given, it is requested, as it is on each seek relative to the end.
    """

    def __init__(self, file_system: Any, path: str, counter: _Counter, size: int | None = None) -> None:
        self._file_system = file_system
        self._counter = counter
        self._path = path
        self._position = 0
        self._size = self._current_size() if size is None else size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            self._size = self._current_size()
            offset += self._size
        elif whence == os.SEEK_CUR:
            offset += self._position
        self._position = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._position + len(view), self._size)
        if end <= self._position:
            return 0
        content = self._range(self._position, end)
        view[: len(content)] = content
        self._position += len(content)
        return len(content)

    def _range(self, begin: int, end: int) -> bytes:
        self._counter.add(files=1)
        try:
            content = bytes(self._file_system.cat_file(self._path, start=begin, end=end))
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        # A server without range support returns the whole file.
        return content if len(content) <= end - begin else content[begin:end]

    def _current_size(self) -> int:
        self._counter.add(files=1)
        try:
            return int(self._file_system.size(self._path) or 0)
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error


def _modified_ns(info: dict[str, Any]) -> int:
    for name in _TIMES:
        time = info.get(name)
        if isinstance(time, datetime):
            return int(time.timestamp() * 1e9)
        if isinstance(time, int | float):
            return int(time * 1e9)
    return 0
