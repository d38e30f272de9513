"""Watches folders for changes on Linux; each folder takes one of the few watches that all programs share."""

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Final

from stepscope.summary.full_install import needs_full_install

with needs_full_install("Watching a folder"):
    from watchdog.observers.inotify_c import InotifyConstants, inotify_add_watch, inotify_init, inotify_rm_watch

_CHANGES: Final = (
    InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
)
_EVENT: Final = struct.Struct("iIII")
"""Watch, mask, cookie and length of the name behind it; see inotify(7)."""
_BUFFER_BYTES: Final = 1 << 16
_NO_ROOM: Final = (errno.ENOSPC, errno.ENOMEM)


class FolderWatches:
    """The folders that are watched, without those below them.

    Args:
        tell: called, on a thread of its own, with the paths of each change, or with the watched folders if the system
            had more changes than it could keep.

    Raises:
        OSError: the system has no room for another program that watches.
    """

    def __init__(self, tell: Callable[[Sequence[str]], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._file = inotify_init()
        if self._file < 0:
            raise _error()
        self._end, self._ending = os.pipe()
        self._thread = threading.Thread(target=self._run, name="stepscope-watches", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._watches)

    def watch(self, wanted: Collection[str]) -> list[str]:
        """Watch these folders and no others, and return those that were not watched before.

        A folder that cannot be watched is left out.

        Raises:
            OSError: the system allows no more watches; the folders that come earlier are watched.
        """
        kept = set(wanted)
        with self._lock:
            # The thread, too, forgets folders, those that are gone.
            for folder in self._watches.keys() - kept:
                self._forget(folder)
        added: list[str] = []
        for folder in wanted:
            if folder in self._watches:
                continue
            with self._lock:
                watch = inotify_add_watch(self._file, os.fsencode(folder), _CHANGES)
                error = _error()
                if watch >= 0:
                    # A folder reachable in two ways has one watch, which reports the way added last.
                    self._watches[folder] = watch
                    self._folders[watch] = folder
            if watch >= 0:
                added.append(folder)
            elif error.errno in _NO_ROOM:
                raise error
        return added

    def stop(self) -> None:
        """End all watches and wait until the thread has ended."""
        os.write(self._ending, b"!")
        self._thread.join()
        for file in (self._file, self._end, self._ending):
            os.close(file)

    def _forget(self, folder: str) -> None:
        watch = self._watches.pop(folder)
        if self._folders.get(watch) == folder:
            del self._folders[watch]
            inotify_rm_watch(self._file, watch)  # type: ignore[arg-type]

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._file, select.POLLIN)
        poller.register(self._end, select.POLLIN)
        while not any(file == self._end for file, _ in poller.poll()):
            paths = self._paths(os.read(self._file, _BUFFER_BYTES))
            if paths:
                self._tell(paths)

    def _paths(self, events: bytes) -> list[str]:
        found: dict[str, None] = {}
        at = 0
        while at < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, at)
            name = events[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            with self._lock:
                folder = self._folders.get(watch)
                if mask & InotifyConstants.IN_Q_OVERFLOW:
                    found |= dict.fromkeys(self._watches)
                elif folder is not None and mask & InotifyConstants.IN_IGNORED:
                    # The folder is gone; its name may be reused.
                    del self._folders[watch]
                    self._watches.pop(folder, None)
                elif folder is not None:
                    found[os.path.join(folder, os.fsdecode(name)) if name else folder] = None
        return list(found)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
