"""The figures over all steps that were looked at last, of all recordings together, within a number of bytes."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from stepscope.dashboard.debugger.heat import Matrix
from stepscope.summary.debugger.model import Figure

MOST_BYTES: Final = 76_000_000
"""Two matrices of the most cells that there are."""

Key = tuple[object, Figure]
"""What stands for a recording, however long it has become, and the figure."""


class MatrixCache:
    """Matrices that are kept; used by any thread.

    Args:
        most_bytes: of all of them.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes: Final = most_bytes
        self._lock: Final = Lock()
        self._kept: Final[OrderedDict[Key, Matrix]] = OrderedDict()

    def get(self, key: Key) -> Matrix | None:
        """Return a matrix, if it is kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def make_room(self, needed: int) -> None:
        """Forget those looked at longest ago, before another one is made of so many bytes."""
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
