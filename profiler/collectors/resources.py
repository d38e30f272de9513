"""The machine's resources that the process uses: memory, processors, threads, files."""

import time
from typing import Final

import psutil

from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, RecordingClock
from stepscope.profiler.collectors.sampling import MAX_POINTS, Counters, Key, Sampler, checked_interval_ns

RSS: Final = Key(HOST_DEVICE, "memory (bytes)", "RSS")
SHARED: Final = Key(HOST_DEVICE, "shared memory (bytes)", "shared")
PROCESS_CPU: Final = Key(HOST_DEVICE, "CPU (%)", "process")
MACHINE_CPU: Final = Key(HOST_DEVICE, "machine CPU (%)", "machine")
THREADS: Final = Key(HOST_DEVICE, "threads", "threads")
OPEN_FILES: Final = Key(HOST_DEVICE, "open files", "open files")
READ: Final = Key(HOST_DEVICE, "storage (bytes/s)", "read")
WRITTEN: Final = Key(HOST_DEVICE, "storage (bytes/s)", "written")

_NOT_BUSY: Final = frozenset({"idle", "iowait", "guest", "guest_nice"})
"""Fields of `psutil.cpu_times` that are not busy time; a guest's time is already included in the user's."""


class ResourceCollector:
    """Records memory, processor time, threads, open files and bytes from and to storage as counters.

    Args:
        interval: seconds between two samples.
        max_points: maximum number of points of all counters together; the rest are counted in the notes.

    Raises:
        ValueError: the interval is not positive, or the limit is negative.
    """

    def __init__(self, *, interval: float = 0.05, max_points: int = MAX_POINTS) -> None:
        checked_interval_ns(interval)
        self._interval: Final = interval
        self._max_points: Final = max_points

    def start(self, clock: RecordingClock) -> None:
        """Take the first sample, and start the thread that takes the others."""
        self._wall_offset_ns = clock.wall_offset_ns
        self._process = psutil.Process()
        self._processors = psutil.cpu_count() or 1
        self._counters = Counters(self._interval, self._max_points)
        functions = {"memory": self._memory, "CPU": self._cpu, "threads": self._threads}
        if hasattr(self._process, "num_fds"):
            functions["open files"] = self._open_files
        # Not available on macOS.
        if hasattr(self._process, "io_counters"):
            functions["storage"] = self._storage
        self._sampler = Sampler("stepscope resources", self._interval, functions, clock.now)
        self._sampler.start()

    def stop(self) -> Collected:
        """Take the last sample, and return the counters."""
        notes = self._sampler.stop()
        series = self._counters.series(self._wall_offset_ns)
        return Collected(counters=series, notes=(*notes, *self._counters.notes()))

    def _memory(self, now: int) -> None:
        memory = self._process.memory_info()
        self._counters.add(RSS, now, memory.rss)
        shared = getattr(memory, "shared", None)
        if shared is not None:
            self._counters.add(SHARED, now, shared)

    def _cpu(self, now: int) -> None:
        # Not psutil's figure, which counts whole clock ticks of 10 ms.
        self._counters.add_total(PROCESS_CPU, now, time.process_time_ns() / 1e7)
        times = psutil.cpu_times()._asdict()
        busy = sum(seconds for name, seconds in times.items() if name not in _NOT_BUSY)
        self._counters.add_total(MACHINE_CPU, now, busy / self._processors * 100, most=100)

    def _threads(self, now: int) -> None:
        self._counters.add(THREADS, now, self._process.num_threads())

    def _open_files(self, now: int) -> None:
        self._counters.add(OPEN_FILES, now, self._process.num_fds())

    def _storage(self, now: int) -> None:
        counters = self._process.io_counters()
        self._counters.add_total(READ, now, counters.read_bytes)
        self._counters.add_total(WRITTEN, now, counters.write_bytes)
