"""Cache of the most recently viewed figures over all steps, for all recordings together, within a memory limit."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from stepscope.dashboard.debugger.heat import Matrix
from stepscope.summary.debugger.model import Figure

MOST_BYTES: Final = 48_000_000
"""Enough for one matrix with the maximum number of cells, and smaller ones."""

Key = tuple[object, Figure]
"""The key of a recording, which stays the same as it grows, and the figure."""


class MatrixCache:
    """A cache of matrices, safe to use from any thread.

    Args:
        most_bytes: maximum size of all matrices together.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes: Final = most_bytes
        self._lock: Final = Lock()
        self._kept: Final[OrderedDict[Key, Matrix]] = OrderedDict()

    def get(self, key: Key) -> Matrix | None:
        """Return a matrix, or None if it is not cached."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def make_room(self, needed: int) -> None:
        """Drop the least recently viewed matrices to make room for ``needed`` bytes."""
        with self._lock:
            while self._kept and sum(matrix.nbytes for matrix in self._kept.values()) + needed > self._most_bytes:
                self._kept.popitem(last=False)

    def put(self, key: Key, matrix: Matrix) -> None:
        """Keep a matrix."""
        with self._lock:
            self._kept.pop(key, None)
        self.make_room(matrix.nbytes)
        with self._lock:
            self._kept[key] = matrix
