"""Distribution of the elements of one value, from a recorded histogram or from the value itself if it was kept."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.filters import ObservationFilter
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.debugger.values import BINS, shown_value
from stepscope.summary.debugger.recordings import RecordedData
from stepscope.summary.kinds.debug import histogram_tag, value_tag
from stepscope.summary.kinds.histogram import PLUGIN_NAME as HISTOGRAMS
from stepscope.summary.kinds.histogram import Histogram
from stepscope.summary.kinds.histogram_binning import range_scale
from stepscope.summary.series import Series

MOST_LOOKED_AT: Final = 200
"""Maximum number of observations of a dump to search for one whose value was kept."""


@dataclass(frozen=True)
class Spread:
    """Distribution of the finite elements of a value over equal bins."""

    step: int
    """Step of the value: the requested one, else the nearest earlier one with a histogram, else the first later one."""
    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    nan: int
    infinite: int


def spread_at(opened: OpenedDebug, tensor: int, step: int | None) -> Spread | None:
    """Return the distribution of a tensor's elements at a step, or at the last one; None if it is unknown.

    Raises:
        PayloadError: the recorded data is damaged.
    """
    data = opened.data
    if not isinstance(data, RecordedData):
        return _of_values(opened, tensor, step)
    watched = data.tensors[tensor]
    histograms = data.run.series.get(histogram_tag(watched.phase, watched.name))
    if histograms is not None and histograms.kind == HISTOGRAMS and len(histograms):
        place = _nearest(histograms, step)
        return _of_histogram(int(histograms.steps[place]), histograms.read(place))
    values = data.run.series.get(value_tag(watched.phase, watched.name))
    if values is None or not len(values):
        return None
    place = _nearest(values, step)
    return _of_value(int(values.steps[place]), values.read(place).array)


def _nearest(series: Series, step: int | None) -> int:
    steps = series.steps
    if step is None:
        return len(steps) - 1
    before = np.flatnonzero(steps <= step)
    return int(before[np.argmax(steps[before])]) if len(before) else int(np.argmin(steps))


def _of_values(opened: OpenedDebug, tensor: int, step: int | None) -> Spread | None:
    wanted = ObservationFilter(tensor=tensor, first_step=step)
    total = opened.page(wanted, 0, 1).total
    page = opened.page(wanted, max(total - 1, 0) if step is None else 0, MOST_LOOKED_AT)
    for number, own in zip(page.numbers.tolist(), page.observed.steps.tolist(), strict=True):
        value = opened.data.value(number)
        if value is None:
            # A mode keeps all values or none.
            return None
        if value.dtype.kind in "biufc":
            return _of_value(own, value)
    return None


def _of_value(step: int, value: NDArray[np.generic]) -> Spread | None:
    if value.dtype.kind not in "biufc":
        return None
    shown = shown_value(value)
    return Spread(step, shown.edges, shown.counts.astype(np.float64), shown.nan, shown.infinite)


def _of_histogram(step: int, found: Histogram) -> Spread:
    edges, counts = evenly(found.buckets)
    return Spread(step, edges, counts, found.nan, found.positive_infinite + found.negative_infinite)


def evenly(buckets: NDArray[np.float64], bins: int = BINS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges and counts of equal bins; each bucket's count is spread evenly over its width.

    Args:
        buckets: rows of left edge, right edge and count, from left to right.
        bins: number of bins.
    """
    filled = np.flatnonzero(buckets[:, 2] > 0) if len(buckets) else np.zeros(0, np.intp)
    if not len(filled):
        return np.zeros(0), np.zeros(0)
    used = buckets[filled[0] : filled[-1] + 1]
    low, high = float(used[0, 0]), float(used[-1, 1])
    if not low < high:
        return np.array([low, high]), np.array([used[:, 2].sum()])
    scale = range_scale(low, high)
    edges = np.linspace(low * scale, high * scale, bins + 1)
    ends = np.cumsum(used[:, 2])
    knots = used[:, :2].reshape(-1) * scale
    below = np.stack([ends - used[:, 2], ends], axis=1).reshape(-1)
    return edges / scale, np.diff(np.interp(edges, knots, below))
