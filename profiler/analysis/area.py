"""The contents of an area of a trace: the slices of some lanes between two points in time, clipped to them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis import row_loops
from stepscope.profiler.analysis.classify import is_profilers_own
from stepscope.profiler.trace import Counter, Trace
from stepscope.summary.distinct import numbered


class Overlap(NamedTuple):
    """The slices of an area: a range ``first[r]:last[r]`` for each row of its lanes; int64 ``[rows]`` each.

    A slice is in the area if it begins in it or extends into it from before.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    top: NDArray[np.int64]
    """The row number of depth 0 of the same lane."""
    lane: NDArray[np.int64]

    @property
    def number(self) -> int:
        """The number of slices."""
        return int((self.last - self.first).sum())

    @property
    def indices(self) -> NDArray[np.int64]:
        """Indices of the slices in the trace, in its order."""
        ranges = zip(self.first.tolist(), self.last.tolist(), strict=True)
        return np.concatenate([np.empty(0, np.int64), *(np.arange(first, last) for first, last in ranges)])


class Totals(NamedTuple):
    """Sums of clipped slices as parallel columns, int64 ``[k]``, the longest total first."""

    name_id: NDArray[np.int64]
    """Index into `Trace.names`; -1 if names are not distinguished."""
    category_id: NDArray[np.int64]
    slices: NDArray[np.int64]
    """The number of slices."""
    total_ns: NDArray[np.int64]
    own_ns: NDArray[np.int64]
    """Total without the slices directly inside, as in the table of slices."""
    min_ns: NDArray[np.int64]
    max_ns: NDArray[np.int64]
    longest: NDArray[np.int64]
    """The slice with the most time in the area; the first if several are equal."""


class LaneTotals(NamedTuple):
    """Totals of lanes in an area, as parallel columns in the lanes' order; lanes without slices are left out."""

    lane: NDArray[np.int64]
    slices: NDArray[np.int64]
    busy_ns: NDArray[np.int64]
    """Time covered by slices of depth 0."""


class CounterFigures(NamedTuple):
    """Statistics of a counter in an area, from its finite values; each value holds until the next point."""

    minimum: float
    mean: float
    """Weighted by time, over the part of the area in which the counter has a value."""
    maximum: float


class Area(NamedTuple):
    """Totals of an area."""

    slices: int
    by_name: Totals
    """Without spans of the profiler itself (`stepscope.profiler.analysis.classify.is_profilers_own`), unless there are
    no others.
    """
    by_category: Totals
    by_lane: LaneTotals


def overlap(trace: Trace, start_ns: int, end_ns: int, lanes: Sequence[int] | None = None) -> Overlap:
    """Return the slices of some lanes, or of all if None, in ``[start_ns, end_ns)``; costs O(rows * log n).

    Raises `ValueError` if the interval is empty or a lane is unknown.
    """
    if end_ns <= start_ns:
        raise ValueError(f"Expected a time that ends after it starts, got {start_ns} to {end_ns} ns.")
    chosen = range(len(trace.lanes)) if lanes is None else sorted(set(lanes))
    if any(not 0 <= lane < len(trace.lanes) for lane in chosen):
        raise ValueError(f"Expected lanes from 0 to {len(trace.lanes) - 1}, got {list(chosen)}.")
    numbers = np.array(chosen, np.int64)
    depths = np.array([trace.lanes[lane].depths for lane in chosen], np.int64)
    first, last, top = row_loops.rows_of_lanes(trace.lane, trace.depth, numbers, depths)
    row_loops.narrow(trace.start_ns, trace.duration_ns, first, last, start_ns, end_ns)
    return Overlap(first, last, top, np.repeat(numbers, depths))


def area(trace: Trace, start_ns: int, end_ns: int, lanes: Sequence[int] | None = None) -> Area:
    """Return totals of the slices of some lanes, or of all if None, clipped to ``[start_ns, end_ns)``.

    Makes one pass over the slices in the area. Raises `ValueError` like `overlap`.
    """
    found = overlap(trace, start_ns, end_ns, lanes)
    categories = max(1, len(trace.categories))
    keys, sums, covered = row_loops.sum_up(
        trace.start_ns,
        trace.duration_ns,
        trace.name_id,
        trace.category_id,
        trace.parents,
        found.first,
        found.last,
        start_ns,
        end_ns,
        categories,
    )
    name, category = np.divmod(keys, categories)
    own = is_profilers_own(trace, name, category)
    if not own.all():
        name, category, sums = name[~own], category[~own], sums[~own]
    count = found.last - found.first
    highest = found.top == np.arange(len(found.top))
    slices_of_lane = np.add.reduceat(count, np.flatnonzero(highest)) if len(count) else count
    busy = slices_of_lane > 0
    return Area(
        slices=found.number,
        by_name=_totals(name, category, sums),
        by_category=_by_category(category, sums),
        by_lane=LaneTotals(found.lane[highest][busy], slices_of_lane[busy], covered[highest][busy]),
    )


def _totals(name: NDArray[np.int64], category: NDArray[np.int64], sums: NDArray[np.int64]) -> Totals:
    order = np.lexsort((category, name, -sums[:, row_loops.OWN], -sums[:, row_loops.TOTAL]))
    return Totals(name[order], category[order], *sums[order].T)


def _by_category(category: NDArray[np.int64], sums: NDArray[np.int64]) -> Totals:
    distinct, _, group = numbered(category)
    merged = np.zeros((len(distinct), sums.shape[1]), np.int64)
    for column in (row_loops.COUNT, row_loops.TOTAL, row_loops.OWN):
        np.add.at(merged[:, column], group, sums[:, column])
    # Among the longest slices of each name, the longest of all comes last; ties go to the first.
    order = np.lexsort((-sums[:, row_loops.LONGEST], sums[:, row_loops.MOST]))
    merged[group[order], row_loops.MOST] = sums[order, row_loops.MOST]
    merged[group[order], row_loops.LONGEST] = sums[order, row_loops.LONGEST]
    order = np.argsort(-sums[:, row_loops.LEAST], kind="stable")
    merged[group[order], row_loops.LEAST] = sums[order, row_loops.LEAST]
    return _totals(np.full(len(distinct), -1, np.int64), distinct, merged)


def counter_figures(counter: Counter, start_ns: int, end_ns: int) -> CounterFigures | None:
    """Return a counter's extremes and mean in ``[start_ns, end_ns)``, or None if it has no value there."""
    first = max(int(np.searchsorted(counter.times_ns, start_ns, side="right")) - 1, 0)
    last = int(np.searchsorted(counter.times_ns, end_ns))
    values = counter.values[first:last]
    held = np.diff(np.maximum(counter.times_ns[first:last], start_ns), append=end_ns).astype(np.float64)
    # Of points at the same time, the last one counts.
    known = np.isfinite(values) & (held > 0)
    values, held = values[known], held[known]
    if not len(values):
        return None
    mean = float((values * (held / held.sum())).sum())
    return CounterFigures(float(values.min()), mean, float(values.max()))
