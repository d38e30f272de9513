"""Locks that stay locked neither after a fork nor after an interruption."""

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any


class ForkSafeLock:
    """A reentrant lock that is free in a forked child, whichever thread of the parent held it.

    The ``with`` statement calls the built-in lock directly: in a Python function between the two, a signal handler
    could raise after the lock is acquired but before anything can release it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        if sys.platform != "win32":
            itself = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _free(itself))

    @property
    def __enter__(self) -> Callable[[], Any]:
        return self._lock.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:
        return self._lock.__exit__


def _free(lock: weakref.ref[ForkSafeLock]) -> None:
    alive = lock()
    if alive is not None:
        alive._lock = threading.RLock()
