"""Join the flow events of a trace into arrows between slices."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Flows
from stepscope.profiler.traces.build import RawSlices, Rows
from stepscope.profiler.traces.nesting import in_order_of_start
from stepscope.profiler.traces.row_trees import slices_at
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.distinct import distinct_values
from stepscope.summary.kernels import kernel

START, STEP, END = range(3)
"""Roles of a flow event: leaving a slice, passing through one, or reaching one."""

_MOST_ROWS: Final = 64
"""Maximum number of rows of a lane in which an event's slice is searched row by row."""
NO_START: Final = "flow end without a start"
_REASONS: Final = (
    NO_START,
    "flow start without an end",
    "flow event on no slice",
    "flow from a slice to itself",
)


class FlowEvents(NamedTuple):
    """Flow events as parallel columns, in the order of the file."""

    time_ns: NDArray[np.int64]
    lane: NDArray[np.int32]
    """Index of the event's lane, or -1 if that has no slices."""
    role: NDArray[np.int8]
    """`START`, `STEP` or `END`."""
    to_next: NDArray[np.bool_]
    """Whether the event belongs to the next slice that begins, rather than to the one it is in."""
    bound: NDArray[np.int64]
    """Index of the slice that the event was written in, or -1."""
    key: NDArray[np.int64]
    """Equal for events of one flow."""
    category_id: NDArray[np.int32]


@kernel()
def _bind(
    time: NDArray[np.int64],
    lane: NDArray[np.int32],
    to_next: NDArray[np.bool_],
    bound: NDArray[np.int64],
    slice_start: NDArray[np.int64],
    slice_duration: NDArray[np.int64],
    row_first: NDArray[np.int64],
    lane_first: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the slice that each flow event belongs to, or -1.

    This is the deepest slice around the event, else the deepest that ends there; or the next to begin on the lane.
    Events on lanes with more than `_MOST_ROWS` rows are left unchanged.
    """
    result = bound.copy()
    for index in range(time.size):
        if result[index] >= 0 or lane[index] < 0:
            continue
        if lane_first[lane[index] + 1] - lane_first[lane[index]] > _MOST_ROWS:
            continue
        at = time[index]
        best = -1
        for row in range(lane_first[lane[index] + 1] - 1, lane_first[lane[index]] - 1, -1):
            low = row_first[row]
            high = row_first[row + 1]
            last = high
            while low < high:
                middle = (low + high) // 2
                if slice_start[middle] < at or (slice_start[middle] == at and not to_next[index]):
                    low = middle + 1
                else:
                    high = middle
            if to_next[index]:
                if low < last and (best < 0 or slice_start[low] <= slice_start[best]):
                    best = low
                continue
            candidate = low - 1
            if candidate < row_first[row]:
                continue
            end = slice_start[candidate] + slice_duration[candidate]
            if at < end or slice_start[candidate] == at:
                best = candidate
                break
            if at == end and best < 0:
                best = candidate
        result[index] = best
    return result


def _bind_on_deep_lanes(events: FlowEvents, slices: RawSlices, rows: Rows, bound: NDArray[np.int64]) -> None:
    """Fill in the slices of events on lanes with too many rows to search one by one for each event."""
    depths = np.diff(rows.lane_first)
    waiting = np.flatnonzero((bound < 0) & (events.lane >= 0))
    waiting = waiting[depths[events.lane[waiting]] > _MOST_ROWS]
    if not len(waiting):
        return
    of_waiting = (~events.to_next[waiting], events.time_ns[waiting], events.lane[waiting])
    lanes = distinct_values(events.lane[waiting]).astype(np.int64)
    order = in_order_of_start(slices.start_ns, rows, lanes)
    depth = np.repeat(np.arange(len(rows.first) - 1), np.diff(rows.first)) - rows.lane_first[slices.lane]
    end = slices.start_ns + slices.duration_ns
    in_order = waiting[np.lexsort(of_waiting)]
    slices_at(
        order,
        slices.start_ns,
        end,
        slices.lane,
        depth.astype(np.int32),
        int(depths.max()),
        in_order,
        events.time_ns,
        events.lane,
        events.to_next,
        bound,
    )


@kernel()
def _join(
    key: NDArray[np.int64], role: NDArray[np.int8], bound: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return arrows as pairs of event indices, and for each event the ``_REASONS`` index of why it failed, or -1.

    Events are sorted by (key, time). A start serves all events that follow it up to the next start, as one launch may
    run several kernels; events before the first start, due to a skewed clock, belong to that one.
    """
    source = np.empty(key.size, np.int64)
    target = np.empty(key.size, np.int64)
    reason = np.full(key.size, -1, np.int8)
    arrows = 0
    first = 0
    while first < key.size:
        last = first
        start = -1
        while last < key.size and key[last] == key[first]:
            if start < 0 and role[last] == START:
                start = last
            last += 1
        answered = True
        previous = start
        for index in range(first, last):
            if role[index] == START:
                if not answered:
                    reason[previous] = 1
                answered = index == start and index > first
                previous = index
                continue
            if previous < 0:
                reason[index] = 0
                continue
            answered = True
            if bound[previous] < 0 or bound[index] < 0:
                reason[index] = 2
            elif bound[previous] == bound[index]:
                reason[index] = 3
            else:
                source[arrows] = previous
                target[arrows] = index
                arrows += 1
            if role[index] == STEP and index > start:
                previous = index
        if not answered:
            reason[previous] = 1
        first = last
    return source[:arrows], target[:arrows], reason


class UnjoinedFlows(NamedTuple):
    """Flow events that did not become arrows: the reason, and their indices in ascending order."""

    reason: str
    events: NDArray[np.int64]


def join_flows(events: FlowEvents, slices: RawSlices, rows: Rows) -> tuple[Flows, list[UnjoinedFlows]]:
    """Return the arrows between the slices of flow events, and the events that could not be joined.

    ``slices`` and ``rows`` are those of the finished trace, sorted by (lane, depth, start).
    """
    bound = _bind(
        events.time_ns,
        events.lane,
        events.to_next,
        events.bound,
        slices.start_ns,
        slices.duration_ns,
        rows.first,
        rows.lane_first,
    )
    check_cancelled()
    _bind_on_deep_lanes(events, slices, rows, bound)
    check_cancelled()
    order = np.lexsort((events.role, events.time_ns, events.key))
    bound = bound[order]
    source, target, reasons = _join(events.key[order], events.role[order], bound)
    flows = Flows(bound[source], bound[target], events.category_id[order][target])
    unjoined = []
    for number, reason in enumerate(_REASONS):
        those = order[reasons == number]
        if len(those):
            unjoined.append(UnjoinedFlows(reason, np.sort(those)))
    return flows, unjoined
