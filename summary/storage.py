"""Folders for a run's files: a local folder, or an address supported by `fsspec`."""

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, Final, Protocol

from stepscope.summary.full_install import needs_full_install

if sys.platform != "win32":
    # Not imported where used: a fork during another thread's import would leave the child waiting for it.
    import fcntl

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")
"""``s3://bucket/run``, ``memory://run`` or a chain such as ``simplecache::s3://...``, but not a Windows drive."""
_ADDRESS_AS_PATH: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[\\/]")
_APPENDING: Final = frozenset({"arrow_hdfs", "hdfs", "memory", "sftp", "smb", "ssh"})
"""Protocols whose files can grow in place. Elsewhere, as in object stores, a file can only be replaced as a whole."""
_BUCKET_STORES: Final = frozenset(
    {"abfs", "abfss", "az", "gcs", "gs", "oci", "ocilake", "oss", "s3", "s3a", "tos", "tosfs"}
)
"""Protocols of object stores whose first folder is a bucket or container, which a mistyped address must not create."""
_LARGEST_REPLACED: Final = 8 << 20
"""Size in bytes after which a file that is replaced at each flush is succeeded by a new one."""
_CREATED: Final[dict[str, object]] = {}
"""Who created each remote file of this process, by address: object stores show a file only after its first upload."""
_CLOSED: Final = -1
"""In place of a file's descriptor."""


class AppendFile(Protocol):
    """A file that is appended to; for use by one thread at a time."""

    @property
    def name(self) -> str:
        """The path or address."""
        ...

    def write(self, data: memoryview) -> int:
        """Accept at least one byte of ``data`` and return the number accepted; raises OSError if none is."""
        ...

    def flush(self, *, to_disk: bool) -> None:
        """Wait until readers can see the accepted data, or until a disk holds it; raises OSError.

        After an error nothing is lost: the next call tries again.
        """
        ...

    @property
    def unflushed(self) -> int:
        """Number of accepted bytes that readers cannot see yet."""
        ...

    @property
    def full(self) -> bool:
        """Whether further data belongs in another file."""
        ...

    def gone(self) -> bool:
        """Return whether the file was removed, so that data written to it is lost; raises OSError."""
        ...

    def close(self) -> None:
        """Release the file, unless it is closed; data that was not flushed is lost. Raises OSError."""
        ...

    def remove(self) -> None:
        """Delete the closed file, if possible."""
        ...


class Folder(Protocol):
    """A folder to write to; created when something is written."""

    @property
    def address(self) -> str:
        """The path or address."""
        ...

    def child(self, relative: str) -> "Folder":
        """Return the folder at a path below this one."""
        ...

    def make(self) -> None:
        """Create the folder, if it does not exist; raises OSError."""
        ...

    def create(self, name: str) -> AppendFile:
        """Create an empty file in the folder; raises FileExistsError if it exists, or another OSError."""
        ...

    def read(self, relative: str) -> bytes:
        """Return the content of a file; raises FileNotFoundError or another OSError."""
        ...

    def replace(self, relative: str, content: bytes) -> None:
        """Write a whole file, replacing any old one, so that local readers never see a part of it; raises OSError."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Lock out other threads and processes that request the same lock, if the system supports it."""
        ...


def folder_at(log_dir: str | os.PathLike[str]) -> Folder:
    """Return the folder at ``log_dir``: a path, or an address such as ``s3://bucket/run``.

    A relative path is resolved now, so that the folder stays the same when the program changes its own.

    Raises:
        ValueError: the address's protocol is unknown, or the address is a `Path`, which corrupts addresses.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """
    address = os.fspath(log_dir)
    if not _ADDRESS.match(address):
        if isinstance(log_dir, PurePath) and _ADDRESS_AS_PATH.match(address):
            raise ValueError(f"an address must be given as a string, as a Path drops a slash of it: {address!r}")
        return LocalFolder(Path(log_dir).absolute())
    with needs_full_install(f"The address {address}"):
        from fsspec.implementations.local import LocalFileSystem

    folder = RemoteFolder(address.rstrip("/"))
    file_system, path = folder.file_system_and_path()
    return LocalFolder(Path(path)) if isinstance(file_system, LocalFileSystem) else folder


def is_address(log_dir: str | os.PathLike[str]) -> bool:
    """Return whether ``log_dir`` is an address for `fsspec` rather than a local path."""
    return _ADDRESS.match(os.fspath(log_dir)) is not None


def read_at(address: str) -> bytes:
    """Return the content of the file at a local path or address; raises OSError."""
    if not is_address(address):
        return Path(address).read_bytes()
    folder, _, name = address.rpartition("/")
    return RemoteFolder(folder).read(name)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Provide a file that appears once it is complete: a failure leaves no partial file, and keeps an existing one.

    The file has the permissions of the one that it replaces; of a symbolic link, that is the file that it points to.
    What is no regular file, such as a device or a FIFO, is written into. Raises OSError.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as special:
            yield special
        return
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as stream:
            if mode is not None:
                # Some file systems do not support it.
                with contextlib.suppress(OSError):
                    unfinished.chmod(stat.S_IMODE(mode))
            yield stream
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


class LocalFolder:
    """A local folder."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.address = str(path)

    def child(self, relative: str) -> "LocalFolder":
        return LocalFolder(self.path / relative)

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def create(self, name: str) -> "LocalFile":
        return LocalFile(self.path / name)

    def read(self, relative: str) -> bytes:
        return (self.path / relative).read_bytes()

    def replace(self, relative: str, content: bytes) -> None:
        path = self.path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as stream:
            stream.write(content)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        self.make()
        fd = os.open(self.path, os.O_RDONLY)
        try:
            # Network file systems may not support locks.
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            # A child forked meanwhile also has the file open, so closing alone would not release the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


class LocalFile:
    """A local file; writes reach the operating system immediately."""

    unflushed = 0
    full = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path: Final = path
        self._entry_on_disk = False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path, flags, 0o666)
        # Some file systems do not count links.
        self._counts_links: Final = os.fstat(self._fd).st_nlink > 0

    def gone(self) -> bool:
        return self._counts_links and os.fstat(self._fd).st_nlink == 0

    def write(self, data: memoryview) -> int:
        return os.write(self._fd, data)

    def flush(self, *, to_disk: bool) -> None:
        if not to_disk:
            return
        os.fsync(self._fd)
        if not self._entry_on_disk:
            _sync_folder(self._path.parent)
            self._entry_on_disk = True

    def close(self) -> None:
        # The system may give the number to another file at once, even if closing fails.
        fd, self._fd = self._fd, _CLOSED
        if fd != _CLOSED:
            os.close(fd)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


class Nowhere:
    """A folder that accepts everything and stores nothing."""

    def __init__(self, address: str) -> None:
        self.address = address

    def child(self, relative: str) -> "Nowhere":
        return Nowhere(f"{self.address}/{relative}")

    def make(self) -> None:
        pass

    def create(self, name: str) -> "NoFile":
        return NoFile(f"{self.address}/{name}")

    def read(self, relative: str) -> bytes:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.address}/{relative}")

    def replace(self, relative: str, content: bytes) -> None:
        pass

    def locked(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()


class NoFile:
    """A file in `Nowhere`."""

    unflushed = 0
    full = False

    def __init__(self, name: str) -> None:
        self.name = name

    def gone(self) -> bool:
        return False

    def write(self, data: memoryview) -> int:
        return len(data)

    def flush(self, *, to_disk: bool) -> None:
        pass

    def close(self) -> None:
        pass

    def remove(self) -> None:
        pass


class RemoteFolder:
    """A folder on any `fsspec` file system."""

    def __init__(self, address: str) -> None:
        self.address = address

    def file_system_and_path(self) -> tuple[Any, str]:
        """Return the file system and the folder's path on it.

        The file system is looked up each time, because a forked child needs its own.
        """
        with needs_full_install(f"The address {self.address}"):
            from fsspec.core import url_to_fs

        file_system, path = url_to_fs(self.address)
        return file_system, path

    def child(self, relative: str) -> "RemoteFolder":
        return RemoteFolder(f"{self.address}/{relative}")

    def make(self) -> None:
        # Object stores have no folders and may forbid querying them; others get theirs with the first file.
        pass

    def create(self, name: str) -> "GrowingRemoteFile | ReplacedRemoteFile":
        file_system, path = self.file_system_and_path()
        creation = object()
        created_first = _CREATED.setdefault(file_system.unstrip_protocol(f"{path}/{name}"), creation)
        if created_first is not creation or self.has(name):
            raise FileExistsError(f"{self.address}/{name} exists")
        kind = GrowingRemoteFile if _protocols(file_system) & _APPENDING else ReplacedRemoteFile
        return kind(self, name)

    def has(self, relative: str) -> bool:
        """Return whether a file exists; raises OSError."""
        file_system, path = self.file_system_and_path()
        return bool(_as_os_error(file_system.exists, f"{path}/{relative}"))

    def read(self, relative: str) -> bytes:
        file_system, path = self.file_system_and_path()
        return bytes(_as_os_error(file_system.cat_file, f"{path}/{relative}"))

    def replace(self, relative: str, content: bytes) -> None:
        file_system, path = self.file_system_and_path()
        target = f"{path}/{relative}"
        try:
            _as_os_error(file_system.pipe_file, target, content)
        except OSError:
            folders = PurePosixPath(target).parents
            with contextlib.suppress(Exception):
                if not _has_buckets(file_system) or file_system.exists(str(folders[-2])):
                    file_system.makedirs(str(folders[0]), exist_ok=True)
            _as_os_error(file_system.pipe_file, target, content)

    def locked(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def remove(self, relative: str) -> None:
        """Delete a file, if possible."""
        file_system, path = self.file_system_and_path()
        with contextlib.suppress(Exception):
            file_system.rm_file(f"{path}/{relative}")


class GrowingRemoteFile:
    """A remote file that is appended to."""

    unflushed = 0
    full = False

    def __init__(self, folder: RemoteFolder, name: str) -> None:
        self.name = f"{folder.address}/{name}"
        self._folder: Final = folder
        self._file_name: Final = name
        self._size = 0
        folder.replace(name, b"")

    def gone(self) -> bool:
        return self._found_size() < self._size

    def write(self, data: memoryview) -> int:
        # It may hold more than is known if a response was lost, or may be gone, and appending would start it over.
        size = self._found_size()
        if size < self._size:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self.name)
        if size == self._size:
            file_system, folder = self._folder.file_system_and_path()
            _as_os_error(_append, file_system, f"{folder}/{self._file_name}", bytes(data))
            size += len(data)
        taken, self._size = size - self._size, size
        return taken

    def flush(self, *, to_disk: bool) -> None:
        pass

    def close(self) -> None:
        pass

    def remove(self) -> None:
        self._folder.remove(self._file_name)

    def _found_size(self) -> int:
        """Return the current size in bytes, or -1 if the file does not exist."""
        file_system, folder = self._folder.file_system_and_path()
        try:
            return int(_as_os_error(file_system.size, f"{folder}/{self._file_name}"))
        except FileNotFoundError:
            return -1


class ReplacedRemoteFile:
    """A remote file that is written as a whole at each flush."""

    def __init__(self, folder: RemoteFolder, name: str) -> None:
        self.name = f"{folder.address}/{name}"
        self._folder: Final = folder
        self._file_name: Final = name
        self._content = bytearray()
        self._flushed = 0

    @property
    def unflushed(self) -> int:
        return len(self._content) - self._flushed

    @property
    def full(self) -> bool:
        return self._flushed >= _LARGEST_REPLACED

    def gone(self) -> bool:
        return False  # the next flush restores it in full

    def write(self, data: memoryview) -> int:
        self._content += data
        return len(data)

    def flush(self, *, to_disk: bool) -> None:
        if self.unflushed:
            self._folder.replace(self._file_name, bytes(self._content))
            self._flushed = len(self._content)

    def close(self) -> None:
        self._content.clear()
        self._flushed = 0

    def remove(self) -> None:
        self._folder.remove(self._file_name)


def _protocols(file_system: Any) -> frozenset[str]:
    return frozenset([file_system.protocol] if isinstance(file_system.protocol, str) else file_system.protocol)


def _has_buckets(file_system: Any) -> bool:
    """Return whether a file system is an object store, or wraps one, as a cache does."""
    wrapped = getattr(file_system, "fs", None)
    return bool(_protocols(file_system) & _BUCKET_STORES) or (hasattr(wrapped, "protocol") and _has_buckets(wrapped))


def _append(file_system: Any, path: str, data: bytes) -> None:
    with file_system.open(path, "ab") as stream:
        stream.write(data)


def _as_os_error(operation: Any, *arguments: Any) -> Any:
    """Call a function of `fsspec`, converting errors of its underlying libraries."""
    try:
        return operation(*arguments)
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _sync_folder(folder: Path) -> None:
    """Flush the folder's entries to disk, if the system supports it."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
