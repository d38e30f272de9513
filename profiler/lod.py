"""Level of detail: what is visible of a trace in a window, at a cost that depends on the window's pixels.

For each row (one depth of one lane), this is the longest slice and the number of slices per time bucket. The idea is
that of Perfetto's slice mipmap over an implicit segment forest: an index of range maxima alongside the slices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.build import rows_of
from stepscope.summary.distinct import distinct_values
from stepscope.summary.errors import UserError
from stepscope.summary.kernels import kernel
from stepscope.summary.safe_regex import Pattern, PatternError

Match = Literal["text", "regex", "name"]
"""How a search matches names; see `search`."""


@dataclass(frozen=True)
class Window:
    """What to draw of a window, as parallel arrays sorted by lane, depth and time.

    Each entry stands for ``count`` slices of one row that begin in the same bucket, or that begin before the window and
    reach into it; ``slice_index`` is the longest of them. The counts of all entries add up to the number of slices in
    the window.
    """

    slice_index: NDArray[np.int64]
    count: NDArray[np.int32]
    bucket_ns: int
    """Width of a bucket."""
    rows_left_out: int
    """Number of rows of the lanes beyond the requested maximum."""


@kernel()
def _build_maxima(duration: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a segment tree without its leaves: node k holds the longest slice under nodes 2k and 2k + 1.

    Leaf i is node n + i and stands for slice i. The first of several equally long slices counts as the longest.
    """
    size = duration.size
    best = np.zeros(size, np.int64)
    for node in range(size - 1, 0, -1):
        left = 2 * node - size if 2 * node >= size else best[2 * node]
        right = 2 * node + 1 - size if 2 * node + 1 >= size else best[2 * node + 1]
        longer = duration[right] > duration[left]
        if longer or (duration[right] == duration[left] and right < left):
            best[node] = right
        else:
            best[node] = left
    return best


@kernel()
def _longest(duration: NDArray[np.int64], best: NDArray[np.int64], first: int, last: int) -> int:
    """Return the first of the longest slices in ``first:last``, which is not empty, in O(log n)."""
    size = duration.size
    longest = first
    low = first + size
    high = last + size
    while low < high:
        if low & 1:
            candidate = low - size if low >= size else best[low]
            if duration[candidate] > duration[longest] or (
                duration[candidate] == duration[longest] and candidate < longest
            ):
                longest = candidate
            low += 1
        if high & 1:
            high -= 1
            candidate = high - size if high >= size else best[high]
            if duration[candidate] > duration[longest] or (
                duration[candidate] == duration[longest] and candidate < longest
            ):
                longest = candidate
        low >>= 1
        high >>= 1
    return longest


@kernel()
def _first_from(start: NDArray[np.int64], low: int, high: int, time: int) -> int:
    """Return the first of the slices ``low:high`` that begins at or after ``time``, found by exponential search."""
    step = 1
    while low + step < high and start[low + step] < time:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) // 2
        if start[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def _query(
    start: NDArray[np.int64],
    duration: NDArray[np.int64],
    best: NDArray[np.int64],
    row_first: NDArray[np.int64],
    rows: NDArray[np.int64],
    start_ns: int,
    end_ns: int,
    width: int,
    buckets: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    capacity = 0
    for row in rows:
        capacity += min(buckets, row_first[row + 1] - row_first[row])
    slice_index = np.empty(capacity, np.int64)
    count = np.empty(capacity, np.int32)
    entries = 0
    for row in rows:
        first = row_first[row]
        index = _first_from(start, first, row_first[row + 1], start_ns)
        if index > first and start[index - 1] + duration[index - 1] > start_ns:
            index -= 1
        end = _first_from(start, index, row_first[row + 1], end_ns)
        while index < end:
            bucket = max(0, start[index] - start_ns) // width
            following = _first_from(start, index, end, start_ns + (bucket + 1) * width)
            last = following
            # A slice two buckets wide leaves the next bucket empty, so it can be an entry of its own.
            if last - index > 1 and bucket < buckets - 1 and duration[last - 1] >= 2 * width:
                last -= 1
            slice_index[entries] = _longest(duration, best, index, last)
            count[entries] = last - index
            entries += 1
            if last < following:
                slice_index[entries] = last
                count[entries] = 1
                entries += 1
            index = following
    return slice_index[:entries].copy(), count[:entries].copy()


@kernel()
def _busy(
    start: NDArray[np.int64],
    duration: NDArray[np.int64],
    row_first: NDArray[np.int64],
    lane_first: NDArray[np.int64],
    lanes: NDArray[np.int64],
    begin: int,
    width: int,
    buckets: int,
) -> NDArray[np.float32]:
    fractions = np.zeros((lanes.size, buckets), np.float32)
    busy = np.empty(buckets, np.int64)
    for place in range(lanes.size):
        lane = lanes[place]
        row = lane_first[lane]
        if row == lane_first[lane + 1]:
            continue
        busy[:] = 0
        for index in range(row_first[row], row_first[row + 1]):
            at = start[index] - begin
            end = at + duration[index]
            bucket = at // width
            while at < end:
                edge = min(end, (bucket + 1) * width)
                busy[bucket] += edge - at
                at = edge
                bucket += 1
        for bucket in range(buckets):
            fractions[place, bucket] = busy[bucket] / width
    return fractions


class LevelOfDetail:
    """An index over one trace: 8 bytes per slice, built in one pass, and safe to query from several threads."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rows = rows_of(trace.lane, trace.depth, trace.lanes)
        self._best = _build_maxima(trace.duration_ns)

    def window(
        self,
        start_ns: int,
        end_ns: int,
        buckets: int,
        lanes: Sequence[int] | None = None,
        *,
        most_depths: int | None = None,
        most_rows: int | None = None,
    ) -> Window:
        """Return what to draw between two times (end exclusive), in ``buckets`` columns.

        ``lanes`` are indices into `Trace.lanes`; None for all. The result has at most ``buckets`` entries per row,
        covering the first ``most_depths`` rows of each lane, and of all these only the first ``most_rows``.
        A slice at least two buckets wide has its own entry unless it begins in the last bucket. Slices that begin
        before the window and reach into it count toward its first bucket. The cost is O(rows * buckets * log n),
        however many slices there are.

        Raises `ValueError` for an empty window, no buckets or an unknown lane.
        """
        if end_ns <= start_ns or buckets < 1:
            raise ValueError(f"Expected a window and buckets, got {start_ns} to {end_ns} ns in {buckets} buckets.")
        lane_first = self._rows.lane_first
        known = len(self._trace.lanes)
        chosen = np.arange(known) if lanes is None else distinct_values(np.array(lanes, np.int64))
        if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < known:
            raise ValueError(f"Expected lanes from 0 to {known - 1}, got {chosen.tolist()}.")
        depths = (lane_first[chosen + 1] - lane_first[chosen]).astype(np.int64)
        shown = depths if most_depths is None else np.minimum(depths, most_depths)
        # For each row, how far it is below the first row of its lane.
        below = np.arange(int(shown.sum())) - np.repeat(np.cumsum(shown) - shown, shown)
        rows = (np.repeat(lane_first[chosen], shown) + below)[:most_rows]
        width = -(-(end_ns - start_ns) // buckets)
        slice_index, count = _query(
            self._trace.start_ns,
            self._trace.duration_ns,
            self._best,
            self._rows.first,
            rows,
            start_ns,
            end_ns,
            width,
            buckets,
        )
        return Window(slice_index, count, width, int(depths.sum()) - len(rows))


def span_ns(trace: Trace) -> tuple[int, int]:
    """Return when the first slice begins and the last one ends; (0, 0) without slices."""
    if not len(trace):
        return 0, 0
    return int(trace.start_ns.min()), int((trace.start_ns + trace.duration_ns).max())


def extent_ns(trace: Trace) -> tuple[int, int]:
    """Return when the first of a trace's slices and counters begins, and when the last ends; (0, 0) without any.

    The Timeline counts time from that beginning.
    """
    spans = [span_ns(trace)] if len(trace) else []
    spans += [(int(np.min(c.times_ns)), int(np.max(c.times_ns))) for c in trace.counters if len(c.times_ns)]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else (0, 0)


def coverage(trace: Trace, buckets: int, lanes: Sequence[int] | None = None) -> NDArray[np.float32]:
    """Return how busy some lanes, all if None, are over the whole trace, float32 ``[lanes, buckets]``.

    This is the fraction of each of ``buckets`` equal parts of `span_ns` in which a slice of depth 0 is running. Raises
    `ValueError` for no buckets.
    """
    if buckets < 1:
        raise ValueError(f"Expected at least one bucket, got {buckets}.")
    begin, end = span_ns(trace)
    rows = rows_of(trace.lane, trace.depth, trace.lanes)
    width = max(1, -(-(end - begin) // buckets))
    chosen = np.arange(len(trace.lanes)) if lanes is None else np.array(lanes, np.int64)
    return _busy(trace.start_ns, trace.duration_ns, rows.first, rows.lane_first, chosen, begin, width, buckets)


def search(trace: Trace, pattern: str, match: Match = "text") -> NDArray[np.int64]:
    """Return the indices of the slices whose names match a pattern, in order of time.

    ``match`` is how to interpret the pattern: as part of the name, ignoring case ("text"), as a regular expression
    ("regex"), or as the exact whole name ("name"). Raises `UserError` if the regular expression is invalid. An empty
    pattern matches nothing.
    """
    if not pattern:
        return np.empty(0, np.int64)
    if match == "name":
        matches = np.array([name == pattern for name in trace.names], np.bool_)
    else:
        try:
            matches = np.array(Pattern(pattern, literal=match == "text").matches(trace.names), np.bool_)
        except PatternError as error:
            raise UserError(
                f"“{pattern}” cannot be searched for: {error}. Correct it, or search for plain text."
            ) from None
    found = np.flatnonzero(matches[trace.name_id]) if len(trace) else np.empty(0, np.int64)
    return found[np.argsort(trace.start_ns[found], kind="stable")]


@dataclass(frozen=True)
class NameStatistics:
    """Durations of all slices of one name, in nanoseconds."""

    count: int
    total_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    median_ns: float


def statistics_of_name(trace: Trace, name_id: int) -> NameStatistics:
    """Return statistics of the slices whose `Trace.name_id` is ``name_id``. Raises `ValueError` if there are none."""
    durations = trace.duration_ns[trace.name_id == name_id]
    if not len(durations):
        raise ValueError(f"Expected the name of a slice, got {name_id} of {len(trace.names)} names.")
    total = int(durations.sum())
    return NameStatistics(
        count=len(durations),
        total_ns=total,
        mean_ns=total / len(durations),
        min_ns=int(durations.min()),
        max_ns=int(durations.max()),
        median_ns=float(np.median(durations)),
    )
