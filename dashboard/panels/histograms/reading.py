"""Histograms read from a series: those that are drawn, and all within a range of steps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.page.colors import RunColor
from dashboard.panels.histograms.moments import Moment, RunMoment
from dashboard.panels.steps import index_at, pick
from dashboard.server.numbers import count
from summary.kinds.base import PayloadError
from summary.kinds.histogram import Histogram
from summary.series import Series


@dataclass(frozen=True)
class StepRange:
    """Steps from ``first`` to ``last``, both included; None is without a bound."""

    first: int | None = None
    last: int | None = None

    def holds(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the steps are in the range."""
        inside = np.ones(len(steps), np.bool_)
        if self.first is not None:
            inside &= steps >= self.first
        if self.last is not None:
            inside &= steps <= self.last
        return inside

    def indices(self, series: Series) -> NDArray[np.int64]:
        """Places in a series whose steps are in the range."""
        return np.flatnonzero(self.holds(series.steps))


def read(series: Series, index: int) -> Moment:
    """One histogram; damage is a value."""
    step, wall_time = int(series.steps[index]), float(series.wall_times[index])
    try:
        histogram = series.read(index)
    except PayloadError:
        return Moment(step, wall_time, None, index=index)
    return Moment(step, wall_time, histogram.buckets, left_out(histogram), index)


def left_out(histogram: Histogram) -> dict[str, int]:
    """How many values are in no bucket, by what they are called."""
    numbers = {
        "NaN": histogram.nan,
        "+inf": histogram.positive_infinite,
        "-inf": histogram.negative_infinite,
        "below the edges": histogram.below,
        "above the edges": histogram.above,
    }
    return {name: number for name, number in numbers.items() if number}


def read_some(series: Series, within: StepRange, most: int) -> tuple[list[Moment], int]:
    """At most ``most`` histograms of a range, evenly spread, the first and the last among them; and how many it has."""
    inside = within.indices(series)
    return [read(series, index) for index in inside[pick(len(inside), most)].tolist()], len(inside)


def read_at(series: Series, color: RunColor, step: int | None, within: StepRange) -> RunMoment:
    """A run's histogram at a step, or at the nearest one before it within a range.

    Args:
        series: the run's.
        color: the run's.
        step: None for the newest of the range.
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
    """Step, wall time, histogram and what is wrong, of every point in a range; one of the latter two is empty."""
    for index in within.indices(series).tolist():
        step, wall_time = int(series.steps[index]), float(series.wall_times[index])
        try:
            yield step, wall_time, series.read(index), ""
        except PayloadError as error:
            yield step, wall_time, None, str(error)
