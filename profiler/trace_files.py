"""Where the traces of a recording are stored in the log directory, and how they are written."""

import gzip
import io
import os
import threading
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import IO

from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.storage import Folder, LocalFolder, RemoteFolder, folder_at

TRACE_SUFFIX = ".trace.json.gz"


def writable_folder(place: str | os.PathLike[str], purpose: str) -> Folder:
    """Return the folder at a path, created if missing, or at an `fsspec` address; ``purpose`` begins the error.

    Raises:
        UserError: the folder cannot be created, or the address is unknown.
    """
    try:
        folder = folder_at(place)
        folder.make()
    except OSError as error:
        raise UserError(
            f"{purpose} into {place}: {reason_of(error)}. Expected a directory, or a place where one can be made."
        ) from error
    except (ValueError, ImportError) as error:
        raise UserError(
            f"{purpose} into {place}: {error}. Expected a directory, or an address such as s3://bucket/run."
        ) from error
    return folder


def write_trace(logdir: Path | Folder, begin_ns: int, host_name: str, pieces: Iterable[bytes]) -> Path | str:
    """Write ``plugins/profile/<date>/<host>.trace.json.gz``, as TensorFlow and JAX do; return its path or address.

    Args:
        logdir: the run's log directory.
        begin_ns: wall time at which the recording began, in nanoseconds since the epoch; gives the date, in local time.
        host_name: name of the file; a number is added if it is taken.
        pieces: the trace as JSON.

    Raises:
        OSError: the file cannot be written.
    """
    date = datetime.fromtimestamp(begin_ns / 1e9).strftime("%Y_%m_%d_%H_%M_%S")
    folder = LocalFolder(logdir) if isinstance(logdir, Path) else logdir
    return write_new(folder.child(f"plugins/profile/{date}"), host_name, TRACE_SUFFIX, pieces)


def write_new(folder: Path | Folder, stem: str, suffix: str, pieces: Iterable[bytes]) -> Path | str:
    """Write a file that is never half written and replaces no other, named by the stem, or the stem and a number.

    It is compressed if the suffix ends in ``.gz``. Returns its path, or its address if the folder is remote; there, the
    process number always follows the stem, as names cannot be reserved.

    Raises:
        OSError: the file cannot be written.
    """
    if isinstance(folder, RemoteFolder):
        return _write_remote(folder, f"{stem}.{os.getpid()}", suffix, pieces)
    path = Path(folder.address) if not isinstance(folder, Path) else folder
    path.mkdir(parents=True, exist_ok=True)
    # Several processes, and threads of one process, write files of the same name at the same time.
    hidden = path / f".{stem}.{os.getpid()}.{threading.get_native_id()}.tmp"
    try:
        with hidden.open("wb") as stream:
            _write_pieces(stream, suffix, pieces)
        return hidden.replace(_reserve_name(path, stem, suffix))
    finally:
        hidden.unlink(missing_ok=True)


def _write_remote(folder: RemoteFolder, stem: str, suffix: str, pieces: Iterable[bytes]) -> str:
    content = io.BytesIO()
    _write_pieces(content, suffix, pieces)
    number, name = 1, f"{stem}{suffix}"
    while folder.has(name):
        number += 1
        name = f"{stem}.{number}{suffix}"
    folder.replace(name, content.getvalue())
    return f"{folder.address}/{name}"


def _write_pieces(stream: IO[bytes], suffix: str, pieces: Iterable[bytes]) -> None:
    if not suffix.endswith(".gz"):
        stream.writelines(pieces)
        return
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6) as packed:
        for piece in pieces:
            packed.write(piece)


def _reserve_name(folder: Path, stem: str, suffix: str) -> Path:
    """Reserve a free name with an empty file, and return it: the ranks of a host stop in the same second."""
    number = 1
    path = folder / f"{stem}{suffix}"
    while True:
        try:
            path.touch(exist_ok=False)
            return path
        except FileExistsError:
            number += 1
            path = folder / f"{stem}.{number}{suffix}"
