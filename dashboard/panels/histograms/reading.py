"""Reading histograms from a series: those to draw, and all within a range of steps."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.panels.histograms.buckets import STEPS_DRAWN, span
from stepscope.dashboard.panels.histograms.moments import Moment, RunMoment
from stepscope.dashboard.panels.steps import index_at, pick
from stepscope.dashboard.server.numbers import count
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.histogram import Histogram
from stepscope.summary.series import Series


@dataclass(frozen=True)
class StepRange:
    """Steps from ``first`` to ``last``, both inclusive; None means no bound."""

    first: int | None = None
    last: int | None = None

    def holds(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the steps in the range."""
        inside = np.ones(len(steps), np.bool_)
        if self.first is not None:
            inside &= steps >= self.first
        if self.last is not None:
            inside &= steps <= self.last
        return inside

    def indices(self, series: Series) -> NDArray[np.int64]:
        """Return the indices in a series whose steps are in the range."""
        return np.flatnonzero(self.holds(series.steps))


def read(series: Series, index: int) -> Moment:
    """Return one histogram; damage is returned as a value."""
    step, wall_time = int(series.steps[index]), float(series.wall_times[index])
    try:
        histogram = series.read(index)
    except PayloadError:
        return Moment(step, wall_time, None, index=index)
    return Moment(step, wall_time, histogram.buckets, left_out(histogram), index)


def left_out(histogram: Histogram) -> dict[str, int]:
    """Return the number of values in no bucket, by kind."""
    numbers = {
        "NaN": histogram.nan,
        "+inf": histogram.positive_infinite,
        "-inf": histogram.negative_infinite,
        "below the edges": histogram.below,
        "above the edges": histogram.above,
    }
    return {name: number for name, number in numbers.items() if number}


def read_some(series: Series, within: StepRange, most: int) -> tuple[list[Moment], int]:
    """Return at most ``most`` evenly spaced histograms of a range, with its first and last, and its total number."""
    inside = within.indices(series)
    return [read(series, index) for index in inside[pick(len(inside), most)].tolist()], len(inside)


class Ranges:
    """Cache of the most recently requested value ranges of series; thread-safe."""

    MOST: Final = 8192

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._known: Final[OrderedDict[Hashable, tuple[float, float] | None]] = OrderedDict()

    def of(self, series: Series, within: StepRange) -> tuple[float, float] | None:
        """Return the minimum and maximum edge of the histograms that a card draws as ridges.

        Return None if none has values.

        A series is recognized by its points' number, version and times, so that one that did not grow is read once.
        """
        if not len(series):
            return None
        times = (float(series.wall_times[0]), float(series.wall_times[-1]))
        key = (series.run, series.tag, series.version, len(series), times, within)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        buckets = [moment.cleaned().buckets for moment in read_some(series, within, STEPS_DRAWN)[0]]
        found = span(buckets) if any(len(rows) for rows in buckets) else None
        with self._lock:
            self._known[key] = found
            while len(self._known) > self.MOST:
                self._known.popitem(last=False)
        return found

    def of_all(self, chosen: Sequence[Series], within: StepRange) -> tuple[float, float] | None:
        """Return the range that covers those of several series."""
        found = [reach for reach in (self.of(series, within) for series in chosen) if reach is not None]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def read_at(series: Series, color: RunColor, step: int | None, within: StepRange) -> RunMoment:
    """Return a run's histogram at a step, or at the nearest one before it within a range.

    Args:
        series: series of the run.
        color: color of the run.
        step: the step; None for the newest in the range.
        within: the range.
    """
    inside = within.indices(series)
    place = index_at(series.steps[inside], step)
    if place is None:
        if len(inside):
            return RunMoment(series.run, color, None, f"begins at step {count(int(series.steps[inside].min()))}")
        return RunMoment(series.run, color, None, "no histogram in the range of steps")
    moment = read(series, int(inside[place]))
    if moment.buckets is None:
        return RunMoment(series.run, color, None, f"damaged at step {count(moment.step)}")
    parts = [f"step {count(moment.step)}"] if step is not None and moment.step != step else []
    parts += [f"{count(number)} {name}" for name, number in moment.left_out.items()]
    return RunMoment(series.run, color, moment, " · ".join(parts))


def everything(series: Series, within: StepRange) -> Iterator[tuple[int, float, Histogram | None, str]]:
    """Yield the step, wall time, histogram and error of every point in a range; one of the latter two is empty."""
    for index in within.indices(series).tolist():
        step, wall_time = int(series.steps[index]), float(series.wall_times[index])
        try:
            yield step, wall_time, series.read(index), ""
        except PayloadError as error:
            yield step, wall_time, None, str(error)
