"""When lanes were busy: stretches in which slices ran without a pause."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.latest import latest
from stepscope.summary.distinct import numbered

Column = NDArray[np.int64]


class Stretches(NamedTuple):
    """Busy stretches in order of lane and time, as parallel columns; those of a lane neither overlap nor touch."""

    lane: Column
    start: Column
    end: Column
    first: Column
    """The slice that begins the stretch, the outermost if several."""
    last: Column
    """The slice that ends the stretch, the outermost if several."""

    def where(self, chosen: NDArray[np.bool_]) -> "Stretches":
        """Return the stretches selected by a mask."""
        return Stretches(*(column[chosen] for column in self))

    def busy(self, lane: Column, start: Column, end: Column) -> Column:
        """Return how long a lane was busy between two times, int64 ``[k]`` nanoseconds."""
        return self._busy_before(lane, end) - self._busy_before(lane, start)

    def _busy_before(self, lane: Column, time: Column) -> Column:
        length = self.end - self.start
        before = np.concatenate([[0], np.cumsum(length)])
        place = latest(self.lane, self.start, lane, time)
        known = place >= 0
        place = place[known]
        first = np.searchsorted(self.lane, self.lane[place])
        result = np.zeros(len(time), np.int64)
        result[known] = before[place] - before[first] + np.minimum(time[known] - self.start[place], length[place])
        return result


def furthest(lane: Column, end: Column) -> Column:
    """Return, for each item in order of lane, the index of the last to end in its lane so far; ties go to the first."""
    ends, _, rank = numbered(end)
    # Lanes come in order, so the greatest pair of lane and rank so far is always one of the current lane.
    pair = lane * len(ends) + rank
    further = np.concatenate([[True], pair[1:] > np.maximum.accumulate(pair)[:-1]])[: len(pair)]
    return np.maximum.accumulate(np.where(further, np.arange(len(pair)), 0))


def stretches_of(facts: Facts, slices: Column) -> Stretches:
    """Return when the lanes of some slices were busy with these; slices are indices in the trace's order."""
    trace = facts.trace
    order = slices[np.lexsort((trace.start_ns[slices], trace.lane[slices]))]
    lane, start, end = trace.lane[order].astype(np.int64), trace.start_ns[order], facts.end_ns[order]
    ends_last = furthest(lane, end)
    begins = (lane[1:] != lane[:-1]) | (start[1:] > end[ends_last[:-1]])
    first = np.flatnonzero(np.concatenate([[True], begins])[: len(order)])
    last = ends_last[np.concatenate([first[1:], [len(order)]])[: len(first)] - 1]
    return Stretches(lane[first], start[first], end[last], order[first], order[last])
