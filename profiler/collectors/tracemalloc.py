"""The memory held by Python's own allocator, from the standard library's `tracemalloc`."""

import tracemalloc
from collections.abc import Mapping
from typing import Any, Final

from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, RecordingClock
from stepscope.profiler.collectors.sampling import MAX_POINTS, Counters, Key, Sampler, checked_interval_ns

TRACED: Final = Key(HOST_DEVICE, "Python memory (bytes)", "traced")
PEAK: Final = Key(HOST_DEVICE, "Python memory peak (bytes)", "peak")


class TracemallocCollector:
    """Records how much memory Python objects hold, and the lines of code that hold most of it at the end.

    If `tracemalloc` is not tracing yet, it traces from start to stop, and sees what is allocated in that time. If it is
    already tracing, it continues afterward, and its figures count from when it began.

    Args:
        interval: seconds between two samples.
        top: number of lines.
        frames: number of calls by which allocations are distinguished; 1 is the line alone. Each costs time and memory.
        max_points: maximum number of points of both counters together; the rest are counted in the notes.

    Raises:
        ValueError: the interval, or the number of frames, is not positive, or another number is negative.
    """

    def __init__(self, *, interval: float = 0.05, top: int = 10, frames: int = 1, max_points: int = MAX_POINTS) -> None:
        checked_interval_ns(interval)
        if top < 0:
            raise ValueError(f"top must be a number of lines, 0 or more, got {top!r}")
        if frames < 1:
            raise ValueError(f"frames must be a number of calls, 1 or more, got {frames!r}")
        self._interval: Final = interval
        self._top: Final = top
        self._frames: Final = frames
        self._max_points: Final = max_points

    def start(self, clock: RecordingClock) -> None:
        """Start tracing, unless it is already running, and take the first sample."""
        self._wall_offset_ns = clock.wall_offset_ns
        self._counters = Counters(self._interval, self._max_points)
        sampler = Sampler("stepscope tracemalloc", self._interval, {"Python memory": self._sample}, clock.now)
        self._began_here = not tracemalloc.is_tracing()
        if self._began_here:
            tracemalloc.start(self._frames)
        try:
            sampler.start()
        except BaseException:
            self._end_tracing()
            raise
        self._sampler = sampler

    def stop(self) -> Collected:
        """Take the last sample, find the lines, and stop tracing if it began here."""
        notes = self._sampler.stop()
        try:
            if tracemalloc.is_tracing():
                metadata = {"tracemalloc": self._lines(tracemalloc.take_snapshot())}
            else:
                metadata = {}
                notes += ("which lines hold memory is not known: tracemalloc was stopped while it was recorded",)
        finally:
            self._end_tracing()
        series = self._counters.series(self._wall_offset_ns)
        return Collected(counters=series, notes=(*notes, *self._counters.notes()), metadata=metadata)

    def _end_tracing(self) -> None:
        if self._began_here:
            tracemalloc.stop()

    def _sample(self, now: int) -> None:
        if tracemalloc.is_tracing():
            current, peak = tracemalloc.get_traced_memory()
            self._counters.add(TRACED, now, current)
            self._counters.add(PEAK, now, peak)

    def _lines(self, snapshot: tracemalloc.Snapshot) -> list[Mapping[str, Any]]:
        """Return the places that hold the most, the largest first."""
        # Short recordings would show nothing but the memory that tracing and sampling hold themselves.
        own = (
            tracemalloc.Filter(False, file)
            for file in (tracemalloc.__file__, __file__, Counters.add.__code__.co_filename)
        )
        kept = snapshot.filter_traces(tuple(own))
        found = kept.statistics("lineno" if self._frames == 1 else "traceback")
        return [self._place(each) for each in found[: self._top]]

    def _place(self, statistic: tracemalloc.Statistic) -> Mapping[str, Any]:
        # The most recent call is the last.
        *callers, line = statistic.traceback
        place: dict[str, Any] = {
            "file": line.filename,
            "line": line.lineno,
            "bytes": statistic.size,
            "count": statistic.count,
        }
        if self._frames > 1:
            place["callers"] = [{"file": each.filename, "line": each.lineno} for each in reversed(callers)]
        return place
