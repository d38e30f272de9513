"""Loops over rows on all cores, with the same result on any number of them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
MOST_PARTS: Final = 16


class Workers:
    """Threads for compiled loops that let go of the interpreter lock.

    Numba's own threads are not used: where its layer is the built-in one, two threads that enter it end the process.
    Rows are cut into parts by their number alone, and results come in the order of the parts, so that sums do not
    depend on how many cores there are. The threads end with this object.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or _cores()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def over(self, rows: int, work: Callable[[int, int], T], *, least: int = 256) -> list[T]:
        """``work(begin, end)`` for parts of ``rows``, of at least ``least`` rows each.

        Args:
            rows: how many there are; 0 calls nothing.
            work: a compiled loop over rows from ``begin`` to ``end``.
            least: rows below which a part is not worth a thread.

        Returns:
            What the calls returned, first part first.
        """
        part = max(least, -(-rows // MOST_PARTS))
        parts = [(begin, min(begin + part, rows)) for begin in range(0, rows, part)]
        if self._pool is None or len(parts) < 2:
            return [work(begin, end) for begin, end in parts]
        return list(self._pool.map(lambda bounds: work(*bounds), parts))


def _cores() -> int:
    # A container may have fewer cores than the machine; not every system tells.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
