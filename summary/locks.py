"""Locks that a fork does not leave locked."""

import os
import sys
import threading
import weakref
from types import TracebackType


class ForkSafeLock:
    """A lock that is free in a forked child, whichever thread of the parent held it; a thread may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        if sys.platform != "win32":
            itself = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _free(itself))

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()


def _free(lock: weakref.ref[ForkSafeLock]) -> None:
    alive = lock()
    if alive is not None:
        alive._lock = threading.RLock()
