"""Lets long work be ended from outside: by whoever asked for it and left, or by a deadline.

Work that may take long calls `check_cancelled` between its parts, from wherever it is; who begins it sets the
`Cancellation` around it. Without one, the check does nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event


class Cancelled(Exception):  # noqa: N818 - not a fault
    """The work was ended before it was done; the message says why."""


class Cancellation:
    """Whether one piece of work is still wanted; safe to use from many threads."""

    def __init__(self, seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Work that is wanted for ``seconds`` from now, or until `cancel` where that is None."""
        self._clock = clock
        self._seconds = seconds
        self._deadline = None if seconds is None else clock() + seconds
        self._cancelled = Event()

    def cancel(self) -> None:
        """Say that nobody waits for the result any more."""
        self._cancelled.set()

    def check(self) -> None:
        """Return while the work is wanted.

        Raises:
            Cancelled: it is not wanted any more, or its time is over.
        """
        if self._cancelled.is_set():
            raise Cancelled("The request was canceled.")
        if self._deadline is not None and self._clock() > self._deadline:
            raise Cancelled(f"This took longer than {self._seconds:g} seconds and was ended.")


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Make the work inside the block end at its next `check_cancelled` once ``cancellation`` says so.

    A context variable: it is inherited by tasks and by `asyncio.to_thread`, not by threads that are started otherwise.
    """
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


def check_cancelled() -> None:
    """Return while the work that this is part of is wanted, and where nobody can cancel it.

    Raises:
        Cancelled: it is not wanted any more, or its time is over.
    """
    cancellation = _current.get()
    if cancellation is not None:
        cancellation.check()
