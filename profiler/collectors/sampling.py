"""Shared parts of the collectors of counters: a thread that takes samples, and the columns that store them."""

import math
import threading
import time
from array import array
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from stepscope.profiler.collectors.base import CounterSeries
from stepscope.summary.counts import counted

MAX_POINTS: Final = 2_000_000
"""Default maximum number of points that a collector keeps: 32 MB."""

_MOST_OF_A_CORE: Final = 0.05
"""Sampling that costs more than this share of a core becomes less frequent."""
_LEAST_PART: Final = 0.2
"""A rate over less than this fraction of the interval would be noise if totals are counted in clock ticks."""


class Sampler:
    """Calls functions when it starts, when it stops, and, in its own thread, at an interval in between.

    An error in a function costs one sample of that function, and becomes a note. Times do not drift: samples are due at
    multiples of the interval since the start, and missed samples are left out.

    Args:
        name: name of the thread.
        interval: seconds from one sample to the next.
        functions: what is sampled -> the function, which is called with the monotonic time.
        now: the monotonic clock, in nanoseconds.
        at_ends: also sample in `start` and `stop`; False for functions that take long.

    Raises:
        ValueError: the interval is not positive.
    """

    def __init__(
        self,
        name: str,
        interval: float,
        functions: Mapping[str, Callable[[int], None]],
        now: Callable[[], int],
        *,
        at_ends: bool = True,
    ) -> None:
        self._interval_ns: Final = checked_interval_ns(interval)
        self._functions: Final = functions
        self._now: Final = now
        self._at_ends: Final = at_ends
        self._errors: Final[dict[str, tuple[int, str]]] = {}
        self._stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Take the first samples in the calling thread, and start the sampling thread."""
        self._started_ns = self._now()
        if self._at_ends:
            self._sample()
        self._thread.start()

    def stop(self) -> tuple[str, ...]:
        """End the thread, take the last samples in the calling thread, and return notes on what failed."""
        self._stopping.set()
        self._thread.join()
        if self._at_ends:
            self._sample()
        return tuple(
            f"{what}: {counted(count, 'sample')} failed; the first: {first}"
            for what, (count, first) in self._errors.items()
        )

    def _run(self) -> None:
        cost_ns = 0
        while True:
            now = self._now()
            due = next_due_ns(self._started_ns, self._interval_ns, now, cost_ns)
            if self._stopping.wait((due - now) / 1e9):
                return
            began = time.thread_time_ns()
            self._sample(self._stopping.is_set)
            # Processor time, not elapsed time: waiting for the driver or for other threads costs nothing.
            cost_ns = time.thread_time_ns() - began

    def _sample(self, stopped: Callable[[], bool] = lambda: False) -> None:
        for what, function in self._functions.items():
            if stopped():
                return
            try:
                function(self._now())
            except Exception as error:
                count, first = self._errors.get(what, (0, f"{type(error).__name__}: {error}"))
                self._errors[what] = (count + 1, first)


def checked_interval_ns(interval: float) -> int:
    """Return seconds as whole nanoseconds.

    Raises:
        ValueError: the interval is not between a microsecond and an hour.
    """
    if not 1e-6 <= interval <= 3600:
        raise ValueError(f"interval must be seconds between two samples, from 0.000001 to 3600, got {interval!r}")
    return round(interval * 1e9)


def next_due_ns(started_ns: int, interval_ns: int, now_ns: int, cost_ns: int) -> int:
    """Return when the next sample is due: a multiple of the interval since the start.

    Args:
        started_ns: when sampling began.
        interval_ns: time from one sample to the next.
        now_ns: the current time.
        cost_ns: time on a core that the last sample took; enough rest follows to make it a small share.
    """
    rested = now_ns + max(1, math.ceil(cost_ns / _MOST_OF_A_CORE) - cost_ns)
    return started_ns + -(-(rested - started_ns) // interval_ns) * interval_ns


class Key(NamedTuple):
    """The series that a value belongs to, as in `CounterSeries`."""

    device: str
    name: str
    series: str


class _Column:
    """One series: times and values, and for a rate the totals of which its last value is the difference."""

    __slots__ = ("before", "last", "times", "values")

    def __init__(self) -> None:
        self.times = array("q")
        self.values = array("d")
        self.before: tuple[int, float] | None = None
        self.last: tuple[int, float] | None = None


class Counters:
    """Collects the points of counters, up to a limit.

    Args:
        interval: seconds between two samples.
        max_points: maximum number of points of all series together.

    Raises:
        ValueError: the interval is not positive, or the limit is negative.
    """

    def __init__(self, interval: float, max_points: int = MAX_POINTS) -> None:
        if max_points < 0:
            raise ValueError(f"max_points must be a number of points, 0 or more, got {max_points!r}")
        self._least_ns: Final = checked_interval_ns(interval) * _LEAST_PART
        self._max_points: Final = max_points
        self._points = 0
        self._dropped = 0
        self._columns: Final[dict[Key, _Column]] = {}

    def add(self, key: Key, time_ns: int, value: float) -> None:
        """Add a value at a monotonic time."""
        self._append(self._column(key), time_ns, value)

    def add_total(self, key: Key, time_ns: int, total: float, most: float = math.inf) -> None:
        """Add the total of something that grows; the series is its growth per second.

        Viewers draw a value until the next one, so a rate is placed at the beginning of the time in which it was
        measured.

        Args:
            key: the series.
            time_ns: monotonic time.
            total: the total, counted from any time.
            most: maximum of the rate, which totals in clock ticks could exceed over short times.
        """
        column = self._column(key)
        before, last = column.before, column.last
        column.last = (time_ns, total)
        if last is None or time_ns <= last[0]:
            return
        if before is not None and column.values and time_ns - last[0] < self._least_ns:
            # Too short an interval for a value of its own: it becomes part of the interval of the previous value.
            column.values[-1] = _rate(before, column.last, most)
        else:
            column.before = last
            self._append(column, last[0], _rate(last, column.last, most))

    def series(self, wall_offset_ns: int) -> list[CounterSeries]:
        """Return the collected series, on wall time; a rate ends with the last total."""
        for column in self._columns.values():
            if column.last is not None and column.values:
                self._append(column, column.last[0], column.values[-1])
                column.last = None
        return [
            CounterSeries(*key, [time_ns + wall_offset_ns for time_ns in column.times], column.values.tolist())
            for key, column in self._columns.items()
            if column.times
        ]

    def notes(self) -> tuple[str, ...]:
        """Return notes on what was dropped."""
        if not self._dropped:
            return ()
        points = counted(self._dropped, "point of counters was", "points of counters were")
        return (f"{points} dropped beyond the limit of {self._max_points:,}",)

    def _column(self, key: Key) -> _Column:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _Column()
        return column

    def _append(self, column: _Column, time_ns: int, value: float) -> None:
        if self._points >= self._max_points:
            self._dropped += 1
            return
        self._points += 1
        column.times.append(time_ns)
        column.values.append(value)


def _rate(begin: tuple[int, float], end: tuple[int, float], most: float) -> float:
    """Return the growth per second between two (nanoseconds, total) pairs."""
    return min(max(0.0, (end[1] - begin[1]) / (end[0] - begin[0]) * 1e9), most)
