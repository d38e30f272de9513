"""Loops over rows on all cores, with results that do not depend on the number of cores."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
MOST_PARTS: Final = 16


class Workers:
    """Threads for compiled loops that release the interpreter lock.

    Numba's own threads are not used: with its built-in threading layer, two threads that enter it end the process.
    Rows are divided by their number only, and results are in the order of the parts, so that sums do not depend on the
    number of cores. The threads end with this object.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or _cores()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def over(self, rows: int, work: Callable[[int, int], T], *, least: int = 256) -> list[T]:
        """Call ``work(begin, end)`` for parts of ``rows``, of at least ``least`` rows each.

        Args:
            rows: number of rows; for 0, nothing is called.
            work: a compiled loop over rows from ``begin`` to ``end``.
            least: minimum number of rows that is worth a thread.

        Returns:
            The results of the calls, first part first.
        """
        part = max(least, -(-rows // MOST_PARTS))
        parts = [(begin, min(begin + part, rows)) for begin in range(0, rows, part)]
        if self._pool is None or len(parts) < 2:
            return [work(begin, end) for begin, end in parts]
        return list(self._pool.map(lambda bounds: work(*bounds), parts))


def _cores() -> int:
    # A container may have fewer cores than the machine; not every system reports this.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
