"""Bounds the memory of what is read at once, before it is taken.

Whoever takes much memory for what a file declares calls `claim` first, from wherever it is; who lets files be read puts
the `MemoryBudget` around it. Without one, nothing is bounded.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from stepscope.summary.cancellation import check_cancelled

MOST_BYTES: Final = 3 << 30
"""Of all that is read at once."""
LONGEST_WAIT: Final = 30.0
"""Seconds."""
_LOOK_SECONDS: Final = 0.1


class TooLargeError(ValueError):
    """Something needs more memory than may ever be taken; the message is a sentence for a person."""


class NoMemoryError(Exception):
    """Something needs more memory than others leave now; the message is a sentence for a person."""


class MemoryBudget:
    """Bytes that may be claimed at once; safe to use from many threads.

    Args:
        most: bytes.
        longest_wait: seconds that a claim waits for others to end.
    """

    def __init__(self, most: int = MOST_BYTES, longest_wait: float = LONGEST_WAIT) -> None:
        self._most: Final = most
        self._longest_wait: Final = longest_wait
        self._changed: Final = threading.Condition()
        self._claimed = 0

    @property
    def claimed(self) -> int:
        """Bytes that are claimed now."""
        return self._claimed

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Provide what `claim` is called with inside the block counts until its end."""
        lease = self.lease()
        try:
            with lease.reading():
                yield
        finally:
            lease.release()

    def lease(self) -> "Lease":
        """Memory for what outlives its reading, nothing yet."""
        return Lease(self)

    def _give_back(self, size: int) -> None:
        with self._changed:
            self._claimed -= size
            self._changed.notify_all()

    def _claim(self, lease: "Lease", size: int) -> None:
        if lease.held + size > self._most:
            raise TooLargeError(
                f"It needs some {_mebibytes(lease.held + size)} of memory; at most {_mebibytes(self._most)} are taken."
            )
        waited = 0.0
        with self._changed:
            while self._claimed + size > self._most:
                check_cancelled()
                if waited >= self._longest_wait:
                    raise NoMemoryError(
                        f"It needs some {_mebibytes(size)} of memory, and what others read leaves "
                        f"{_mebibytes(self._most - self._claimed)}. Try again when they are done."
                    )
                self._changed.wait(_LOOK_SECONDS)
                waited += _LOOK_SECONDS
            self._claimed += size
            lease.held += size


class Lease:
    """Bytes of a budget that one piece of work has claimed."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget: Final = budget
        self.held = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Provide what `claim` is called with inside the block counts until `release`."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def release(self) -> None:
        """Give back what was claimed."""
        held, self.held = self.held, 0
        self.budget._give_back(held)


_current: ContextVar[Lease | None] = ContextVar("memory lease", default=None)


def claim(size: int) -> None:
    """Count bytes that are about to be taken, and wait for others to end where they leave too few.

    Raises:
        TooLargeError: they are more than may ever be taken.
        NoMemoryError: others did not end.
        Cancelled: nobody waits for the work any more.
    """
    lease = _current.get()
    if lease is not None:
        lease.budget._claim(lease, size)


def _mebibytes(size: int) -> str:
    return f"{max(size, 0) / (1 << 20):,.0f} MiB"
