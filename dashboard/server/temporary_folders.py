"""Temporary folders that are deleted with the server, however it ends: the next one deletes those of a killed one.

A folder belongs to whoever holds the lock on a file in it. The system releases the lock when a process ends, even if it
is killed, so a folder whose lock is free belongs to nobody.
"""

import contextlib
import logging
import os
import shutil
import stat
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import Final

_PREFIX: Final = "stepscope-"
KINDS: Final = ("demo", "dropped", "points")
_LOCK: Final = ".lock"
_TRIES: Final = 10
_LEFT_SECONDS: Final = 86_400
"""Age at which an unchanged folder without a lock is deleted; before that, a server may be about to lock it."""
_log: Final = logging.getLogger(__name__)


class OwnedFolder:
    """A folder for this user only, which exists until `close` or the end of the process.

    Args:
        kind: one of `KINDS`.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, kind: str) -> None:
        path, lock = _made(kind)
        self.path: Final = path
        self._finalizer: Final = weakref.finalize(self, _delete, path, lock)

    def close(self) -> None:
        """Delete the folder with all its contents."""
        self._finalizer()


def sweep() -> None:
    """Delete the folders that this user's servers left behind when they were killed.

    Neither links nor folders owned by others are followed.
    """
    for kind in KINDS:
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{kind}-*"):
            try:
                if _is_own_folder(folder):
                    _delete_if_left(folder)
            except OSError as error:
                _log.warning("the temporary folder %s, which is no longer needed, cannot be deleted: %s", folder, error)


def _made(kind: str) -> tuple[Path, int]:
    """Return a new folder, and the open file with the lock that this process holds."""
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # A server that sweeps may have intervened: then it has the lock, or the folder is gone.
        if _take(lock) and _is_there(path / _LOCK, lock):
            return path, lock
        os.close(lock)
    raise OSError(f"no temporary folder can be locked in {tempfile.gettempdir()}")


def _delete_if_left(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        if time.time() - folder.lstat().st_mtime > _LEFT_SECONDS:
            shutil.rmtree(folder)
        return
    if _take(lock):
        _delete(folder, lock)
    else:
        os.close(lock)


def _delete(folder: Path, lock: int) -> None:
    # Windows does not delete open files; elsewhere the lock is kept until everything is gone.
    if sys.platform == "win32":
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)
    if sys.platform != "win32":
        os.close(lock)


def _is_own_folder(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.getuid())


def _is_there(path: Path, file: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(path.lstat(), os.fstat(file))
    return False


def _take(file: int) -> bool:
    """Return whether this process now has the lock of an open file, without waiting for it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
