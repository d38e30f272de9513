"""Cancels long work from outside: when whoever requested it has left, or at a deadline.

Work that may take long calls `check_cancelled` between its parts, at any depth; whoever starts the work sets a
`Cancellation` around it. Without one, the check does nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event


class Cancelled(Exception):  # noqa: N818 - not a fault
    """The work was canceled before it was done; the message says why."""


class Cancellation:
    """Tracks whether one piece of work is still wanted; safe to use from many threads."""

    def __init__(self, seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Set the deadline to ``seconds`` from now; if None, the work is wanted until `cancel`."""
        self._clock = clock
        self._seconds = seconds
        self._deadline = None if seconds is None else clock() + seconds
        self._cancelled = Event()

    def cancel(self) -> None:
        """Mark the result as no longer wanted."""
        self._cancelled.set()

    def check(self) -> None:
        """Return if the work is still wanted.

        Raises:
            Cancelled: the work is no longer wanted, or its time is over.
        """
        if self._cancelled.is_set():
            raise Cancelled("The request was canceled.")
        if self._deadline is not None and self._clock() > self._deadline:
            raise Cancelled(f"This took longer than {self._seconds:g} seconds and was stopped.")


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Make the work inside the block end at its next `check_cancelled` once ``cancellation`` no longer wants it.

    A context variable holds it: tasks and `asyncio.to_thread` inherit it, threads started in other ways do not.
    """
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


def check_cancelled() -> None:
    """Return if the current work is still wanted, or if nobody can cancel it.

    Raises:
        Cancelled: the work is no longer wanted, or its time is over.
    """
    cancellation = _current.get()
    if cancellation is not None:
        cancellation.check()
