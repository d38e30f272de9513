"""Turn slices in any order into the columns of a `Trace`: sorted, nested into rows, with names interned."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Arguments, Counter, Flows, Lane, Losses, Step, Trace
from stepscope.profiler.traces.losses import BACKWARDS, NEGATIVE_DURATION, OVERLAP, LossTally, merged, moment
from stepscope.profiler.traces.row_trees import assign_depths
from stepscope.profiler.traces.texts import BoundedTexts
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.kernels import kernel

EARLIEST_NS: Final = -(1 << 60)
"""Earliest start of a slice; with this and the next two, the difference of any two times fits in 64 bits."""
LATEST_NS: Final = 4 * 10**18
LONGEST_NS: Final = 1 << 61
EARLIEST_WALL_NS: Final = 946_684_800 * 10**9
"""The start of the year 2000: times since 1970 lie after it, times since a computer's boot before it."""

_MOST_TIES: Final = 64
"""Maximum number of slices with equal lane and start that are sorted one by one."""

_STEP_NAME: Final = re.compile(r"ProfilerStep#([0-9]{1,18})")
_STEP_NUMBER: Final = re.compile(r"[0-9]{1,18}")
WRITTEN_STEPS: Final = "Steps"
"""Process and lane of the steps that are written to Chrome JSON because its slices do not tell them."""
STEP_NUMBER: Final = "step_num"
"""Argument with the number of such a step."""


@dataclass(frozen=True)
class RawSlices:
    """Slices as a reader found them: parallel columns of equal length, in any order.

    ``lane`` indexes the lanes that are passed along with these columns; ``name_id`` and ``category_id`` index the
    texts. Durations may be negative; they are set to 0 and counted.
    """

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    lane: NDArray[np.int32]
    name_id: NDArray[np.int32]
    category_id: NDArray[np.int32]


@dataclass(frozen=True)
class Rows:
    """Position of each row (one depth of one lane) in the columns of a `Trace`.

    Row ``r`` of ``lane`` has depth ``r - lane_first[lane]`` and holds the slices ``first[r]:first[r + 1]``.
    """

    first: NDArray[np.int64]
    lane_first: NDArray[np.int64]


@dataclass(frozen=True)
class Arranged:
    """Sorted slices: the columns of a `Trace`, and in ``order`` the raw index of each slice."""

    columns: RawSlices
    depth: NDArray[np.int32]
    lanes: tuple[Lane, ...]
    order: NDArray[np.int64]
    crossing: NDArray[np.bool_]
    """Whether a slice partly overlaps its neighbor, where that is a loss."""
    negative: NDArray[np.int64]
    """Indices of the slices whose durations were negative."""


@kernel()
def _settle_ties(key: NDArray[np.int64], duration: NDArray[np.int64], order: NDArray[np.int64]) -> bool:
    """Sort equal keys by longest duration, then by order in the file; return False if there are too many."""
    first = 0
    while first < order.size:
        last = first + 1
        while last < order.size and key[order[last]] == key[order[first]]:
            last += 1
        if last - first > _MOST_TIES:
            return False
        for place in range(first + 1, last):
            moved = order[place]
            to = place
            while to > first and (
                duration[order[to - 1]] < duration[moved]
                or (duration[order[to - 1]] == duration[moved] and order[to - 1] > moved)
            ):
                order[to] = order[to - 1]
                to -= 1
            order[to] = moved
        first = last
    return True


def _sorted_by_start(
    lane: NDArray[np.int32], start: NDArray[np.int64], duration: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the order of slices by (lane, start, -duration), with one sort by one key where possible."""
    if lane.size:
        earliest = int(start.min())
        bits = (int(start.max()) - earliest).bit_length()
        if bits + int(lane.max()).bit_length() < 63:
            key = (lane.astype(np.int64) << bits) | (start - earliest)
            order = np.argsort(key)
            if _settle_ties(key, duration, order):
                return order
    return np.lexsort((-duration, start, lane))


def arrange(raw: RawSlices, lanes: Sequence[Lane], *, may_overlap: Sequence[int] = ()) -> Arranged:
    """Sort slices by (lane, depth, start) and assign each its depth.

    ``may_overlap`` lists the lanes in which overlapping slices are not a loss, such as those of asynchronous
    operations. On streams overlaps are never a loss: branches of a graph run concurrently, and kernels begin before
    earlier ones have ended.
    """
    duration = np.maximum(raw.duration_ns, 0)
    check_cancelled()
    by_start = _sorted_by_start(raw.lane, raw.start_ns, duration)
    check_cancelled()
    start, lane = raw.start_ns[by_start], raw.lane[by_start]
    depth, crossing = assign_depths(start, start + duration[by_start], lane)
    check_cancelled()
    depths = np.zeros(len(lanes), np.int64)
    np.maximum.at(depths, lane, depth + 1)
    row = (np.cumsum(depths) - depths)[lane] + depth
    by_row = np.argsort(row, kind="stable")
    order = by_start[by_row]
    counted = np.array([each.kind != "stream" for each in lanes], np.bool_)
    counted[list(may_overlap)] = False
    crossing &= counted[lane]
    return Arranged(
        columns=RawSlices(start[by_row], duration[order], lane[by_row], raw.name_id[order], raw.category_id[order]),
        depth=depth[by_row],
        lanes=tuple(
            Lane(lane.process, lane.name, lane.pid, lane.tid, lane.kind, rows)
            for lane, rows in zip(lanes, depths.tolist(), strict=True)
        ),
        order=order,
        crossing=crossing[by_row],
        negative=np.flatnonzero(raw.duration_ns[order] < 0),
    )


def rows_of(lane: NDArray[np.int32], depth: NDArray[np.int32], lanes: Sequence[Lane]) -> Rows:
    """Return the position of each row in columns sorted by (lane, depth, start)."""
    lane_first = np.concatenate([[0], np.cumsum([each.depths for each in lanes], dtype=np.int64)])
    slices = np.bincount(lane_first[lane] + depth, minlength=int(lane_first[-1]))
    return Rows(np.concatenate([[0], np.cumsum(slices, dtype=np.int64)]), lane_first)


def intern_used(ids: NDArray[np.int32], texts: Sequence[str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Drop unused and duplicate texts; return the new ids and the remaining texts."""
    used = np.flatnonzero(np.bincount(ids, minlength=len(texts)))
    numbers: dict[str, int] = {}
    renumbered = np.full(len(texts), -1, np.int32)
    for old in used.tolist():
        renumbered[old] = numbers.setdefault(texts[old], len(numbers))
    return renumbered[ids], tuple(numbers)


def no_flows() -> Flows:
    """Return the flows of a trace without any."""
    return Flows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


def find_steps(
    columns: RawSlices, names: Sequence[str], lanes: Sequence[Lane], arguments: Arguments | None = None
) -> tuple[Step, ...]:
    """Return the training steps by time: slices named ``ProfilerStep#<n>``, or else those of lanes named "Steps".

    A step marked on both host and device lanes is taken from the host lane. If ``arguments`` are given, steps that this
    package wrote to Chrome JSON come before all others.
    """
    if arguments is not None and (written := _written_steps(columns, names, lanes, arguments)):
        return written
    numbers = {index: int(match[1]) for index, name in enumerate(names) if (match := _STEP_NAME.fullmatch(name))}
    marked = np.flatnonzero(np.isin(columns.name_id, list(numbers)))
    if not numbers:
        step_lanes = [index for index, lane in enumerate(lanes) if lane.name == "Steps"]
        marked = np.flatnonzero(np.isin(columns.lane, step_lanes))
        numbers = {index: int(name) for index, name in enumerate(names) if _STEP_NUMBER.fullmatch(name)}
    found: dict[int, tuple[bool, Step]] = {}
    for index in marked.tolist():
        name_id = int(columns.name_id[index])
        if name_id not in numbers:
            continue
        number = numbers[name_id]
        on_host = lanes[int(columns.lane[index])].kind == "host"
        step = Step(number, names[name_id], int(columns.start_ns[index]), int(columns.duration_ns[index]))
        if number not in found or (on_host and not found[number][0]):
            found[number] = (on_host, step)
    return tuple(sorted((step for _, step in found.values()), key=lambda step: step.start_ns))


def _written_steps(
    columns: RawSlices, names: Sequence[str], lanes: Sequence[Lane], arguments: Arguments
) -> tuple[Step, ...]:
    own = [index for index, lane in enumerate(lanes) if lane.process == lane.name == WRITTEN_STEPS]
    steps = []
    for index in np.flatnonzero(np.isin(columns.lane, own)).tolist():
        number = arguments[index].get(STEP_NUMBER)
        if isinstance(number, int) and _STEP_NUMBER.fullmatch(str(abs(number))):
            name = names[int(columns.name_id[index])]
            steps.append(Step(number, name, int(columns.start_ns[index]), int(columns.duration_ns[index])))
    return tuple(sorted(steps, key=lambda step: step.start_ns))


def assemble(
    arranged: Arranged,
    *,
    names: tuple[str, ...],
    categories: tuple[str, ...],
    arguments: Arguments,
    flows: Flows,
    counters: tuple[Counter, ...],
    steps: tuple[Step, ...],
    losses: Losses,
    metadata: Mapping[str, Any],
    epoch_ns: int | None = None,
) -> Trace:
    """Return a `Trace` of arranged slices; problems in arranging are added to ``losses``. Long texts are cut."""
    columns = arranged.columns
    texts = BoundedTexts()
    names, categories = texts.all_of(names), texts.all_of(categories)
    arranged = replace(arranged, lanes=tuple(texts.lane(lane) for lane in arranged.lanes))
    counters = tuple(texts.counter(counter) for counter in counters)
    steps = tuple(texts.step(step) for step in steps)
    return Trace(
        start_ns=columns.start_ns,
        duration_ns=columns.duration_ns,
        lane=columns.lane,
        depth=arranged.depth,
        name_id=columns.name_id,
        category_id=columns.category_id,
        names=names,
        categories=categories,
        lanes=arranged.lanes,
        arguments=arguments,
        flows=flows,
        counters=counters,
        steps=steps,
        losses=merged(losses, _losses_of(arranged, names, flows), texts.losses()),
        metadata=metadata,
        epoch_ns=epoch_ns,
    )


def _losses_of(arranged: Arranged, names: Sequence[str], flows: Flows) -> Losses:
    columns = arranged.columns
    tally = LossTally()

    def slice_text(index: int) -> str:
        lane = arranged.lanes[int(columns.lane[index])]
        start = int(columns.start_ns[index])
        return f"“{names[int(columns.name_id[index])]}” on {lane.process}, {lane.name} at {moment(start)}"

    for reason, indices in ((OVERLAP, np.flatnonzero(arranged.crossing)), (NEGATIVE_DURATION, arranged.negative)):
        if len(indices):
            tally.add(reason, len(indices), slice_text(int(indices[0])))
    backwards = np.flatnonzero(columns.start_ns[flows.target] < columns.start_ns[flows.source])
    if len(backwards):
        source, target = int(flows.source[backwards[0]]), int(flows.target[backwards[0]])
        tally.add(BACKWARDS, len(backwards), f"from {slice_text(source)} to {slice_text(target)}")
    return tally.losses()
