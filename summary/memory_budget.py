"""Limits on the memory of concurrent reads, enforced before the memory is allocated.

Code that allocates much memory because of what a file declares calls `claim` first, at any depth; code that starts
reading wraps it in a `MemoryBudget`. Without a budget, nothing is limited.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from stepscope.summary.cancellation import check_cancelled

MOST_BYTES: Final = 3 << 30
"""Default maximum of the bytes claimed at the same time."""
LONGEST_WAIT: Final = 30.0
"""Default maximum wait of a claim, in seconds."""
_LOOK_SECONDS: Final = 0.1
_JSON_VALUE_BYTES: Final = 60
"""Memory of a value, a name, a list, an object or a line, besides its text."""


class TooLargeError(ValueError):
    """More memory is needed than may ever be claimed; the message is a user-readable sentence."""


class NoMemoryError(Exception):
    """More memory is needed than others leave available now; the message is a user-readable sentence."""


class MemoryBudget:
    """Limit on the bytes claimed at the same time; thread-safe.

    Args:
        most: maximum number of bytes.
        longest_wait: maximum number of seconds that a claim waits for others to end.
    """

    def __init__(self, most: int = MOST_BYTES, longest_wait: float = LONGEST_WAIT) -> None:
        self._most: Final = most
        self._longest_wait: Final = longest_wait
        self._changed: Final = threading.Condition()
        self._claimed = 0

    @property
    def claimed(self) -> int:
        """Number of bytes currently claimed."""
        return self._claimed

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count claims made inside the block until the block ends."""
        lease = self.lease()
        try:
            with lease.reading():
                yield
        finally:
            lease.release()

    def lease(self) -> "Lease":
        """Return an empty lease, for memory that outlives the read."""
        return Lease(self)

    def _give_back(self, size: int) -> None:
        with self._changed:
            self._claimed -= size
            self._changed.notify_all()

    def _claim(self, lease: "Lease", size: int) -> None:
        if lease.held + size > self._most:
            raise TooLargeError(
                f"It needs about {_mebibytes(lease.held + size)} of memory; the limit is {_mebibytes(self._most)}."
            )
        waited = 0.0
        with self._changed:
            while self._claimed + size > self._most:
                check_cancelled()
                if waited >= self._longest_wait:
                    left = _mebibytes(self._most - self._claimed)
                    raise NoMemoryError(
                        f"It needs about {_mebibytes(size)} of memory, but only {left} is free while other files are "
                        "being read. Try again when they are done."
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
        """Count claims made inside the block until `release`."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def release(self) -> None:
        """Release the claimed bytes."""
        held, self.held = self.held, 0
        self.budget._give_back(held)


_current: ContextVar[Lease | None] = ContextVar("memory lease", default=None)


def claim(size: int) -> None:
    """Claim bytes that are about to be allocated, waiting for others to end if too few are available.

    Raises:
        TooLargeError: the bytes are more than may ever be claimed.
        NoMemoryError: others did not end in time.
        Cancelled: the result of the work is no longer needed.
    """
    lease = _current.get()
    if lease is not None:
        lease.budget._claim(lease, size)


def claim_json(content: bytes) -> None:
    """Claim what the values of JSON, or of lines of JSON, take once they are decoded; raises as `claim`."""
    claim(_JSON_VALUE_BYTES * sum(map(content.count, (b",", b":", b"[", b"{", b"\n"))) + 2 * len(content))


def _mebibytes(size: int) -> str:
    return f"{max(size, 0) / (1 << 20):,.0f} MiB"
