"""Which files of a run are consecutive and which were written concurrently, and which points a restart overwrote.

A job that resumes after an interruption begins a new file after the last event of the previous one: this is a restart,
and steps that both files wrote count once. A file that begins before another file's last event has its own writer, such
as each rank of distributed training in which more than one rank logs: neither file overwrites points of the other.
"""

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.series import Resumption

MOST_RESUMPTIONS: Final = 100
"""Maximum number of restarts of one tag that are reported individually."""
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Restart:
    """A point at which a run resumes, relative to one tag in one file."""

    position: int
    """Number of points of the tag in the file before the restart."""
    step: int


class Turn(NamedTuple):
    """Time at which a file was written, relative to the other files of its run."""

    rank: int
    """Index of the file in the order of first events."""
    after: int
    """First rank whose file began after this file's last event."""

    def precedes(self, other: "Turn") -> bool:
        """Return whether this file had ended when the other began."""
        return self.after <= other.rank


class Written(NamedTuple):
    """The points of one tag in one file of a run, in the order in which they were written."""

    turn: Turn
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    starts: Sequence[Restart]
    """The ``SessionLog.START`` events of the file that restart the run."""


class Standing(NamedTuple):
    """The points of a tag that are shown."""

    kept: list[NDArray[np.bool_]]
    """For each file, which of its points were not overwritten by a restart."""
    resumptions: tuple[Resumption, ...]


def turns(spans: Sequence[tuple[float, float]]) -> list[Turn]:
    """Return the turn of each file of a run.

    Files are ordered by first event, and by the given order if times are equal. If any time is NaN, the order is
    unknown, and all files are treated as consecutive in the given order.

    Args:
        spans: wall times of each file's first and latest events.
    """
    if not all(map(math.isfinite, (time for span in spans for time in span))):
        return [Turn(place, place + 1) for place in range(len(spans))]
    order = sorted(range(len(spans)), key=lambda place: (*spans[place], place))
    firsts = [spans[place][0] for place in order]
    found = dict.fromkeys(order, Turn(0, 1))
    for rank, place in enumerate(order):
        found[place] = Turn(rank, max(bisect.bisect_left(firsts, spans[place][1]), rank + 1))
    return [found[place] for place in range(len(spans))]


def writers_at_once(found: Sequence[Turn]) -> int:
    """Return the maximum number of the given files of a run, ordered by rank, that were written concurrently."""
    ends = sorted(turn.after for turn in found)
    return max((begun - bisect.bisect_right(ends, turn.rank) for begun, turn in enumerate(found, 1)), default=0)


def are_written_at_once(found: Iterable[Turn]) -> Iterator[bool]:
    """Yield, for each file of a run, ordered by rank, whether it and another were written concurrently."""
    furthest = 0
    for turn in found:
        yield furthest > turn.rank or turn.after > turn.rank + 1
        furthest = max(furthest, turn.after)


def kept_points(steps: NDArray[np.int64], restarts: Sequence[Restart]) -> NDArray[np.bool_]:
    """Return which points of a file were not overwritten by a restart within the file, bool [n].

    A restart at step s overwrites the points before it with step >= s. If no restarts are reported, a point whose step
    is lower than the previous point's counts as one. Consecutive equal steps are several points, not a restart.

    Args:
        steps: int64 [n], in the order written.
        restarts: the reported restarts, in order.
    """
    goes_back = steps[1:] < steps[:-1]
    if not restarts and not goes_back.any():
        return np.ones(len(steps), np.bool_)
    resets = np.full(len(steps) + 1, _NEVER)
    if restarts:
        positions = np.minimum([restart.position for restart in restarts], len(steps))
        np.minimum.at(resets, positions, [restart.step for restart in restarts])
        last = int(positions.max())
    else:
        resets[1:-1] = np.where(goes_back, steps[1:], resets[1:-1])
        last = int(np.flatnonzero(goes_back)[-1]) + 1
    lowest_reset_after = np.minimum.accumulate(resets[::-1])[::-1][1:]
    kept = steps < lowest_reset_after
    kept[last:] = True
    return kept


def standing(files: Sequence[Written], *, reported: bool) -> Standing:
    """Return which points of a tag were not overwritten by a restart.

    A restart in a file overwrites points before it in that file, and in files that had ended when the file began, but
    never in a file written at the same time. If the run reports its restarts, those are used. Otherwise a decreasing
    step is a restart: within a file as in `kept_points`, and at the beginning of a file whose first step is below the
    last step of a directly preceding file.

    Args:
        files: the files, ordered by rank.
        reported: whether any file of the run has a ``SessionLog.START`` that restarts it.
    """
    begins = [None] * len(files) if reported else _steps_that_begin_anew(files)
    # For each file, the lowest step at which it restarts the run; then the lowest of it and all later files.
    lowest = [_lowest(file, begin, reported=reported) for file, begin in zip(files, begins, strict=True)]
    for place in range(len(files) - 1, 0, -1):
        lowest[place - 1] = min(lowest[place - 1], lowest[place])
    ranks = [file.turn.rank for file in files]
    kept: list[NDArray[np.bool_]] = []
    for file in files:
        own = (
            np.ones(len(file.steps), np.bool_) if reported and not file.starts else kept_points(file.steps, file.starts)
        )
        following = bisect.bisect_left(ranks, file.turn.after)
        if following < len(files) and lowest[following] < math.inf:
            own &= file.steps < lowest[following]
        kept.append(own)
    resumed = () if all(mask.all() for mask in kept) else _resumptions(files, begins, reported=reported)
    return Standing(kept, resumed)


def shown_order(files: Sequence[Written], kept: Sequence[NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Return the indices of the shown points, in order: as written for consecutive files; by step, then by time, for
    files written at the same time.

    Args:
        files: the files, ordered by rank; files without points are ignored.
        kept: which points of each file are shown.

    Returns:
        intp [n], indices into the concatenated points of all files.
    """
    held = [(file, mask) for file, mask in zip(files, kept, strict=True) if len(file.steps)]
    order: list[NDArray[np.intp]] = []
    place = begin = 0
    while place < len(held):
        end, after = place + 1, held[place][0].turn.after
        while end < len(held) and held[end][0].turn.rank < after:
            after = max(after, held[end][0].turn.after)
            end += 1
        stretch = held[place:end]
        shown = np.flatnonzero(np.concatenate([mask for _, mask in stretch]))
        if len(stretch) > 1:
            steps = np.concatenate([file.steps for file, _ in stretch])[shown]
            times = np.concatenate([file.wall_times for file, _ in stretch])[shown]
            shown = shown[np.lexsort((times, steps))]
        order.append(shown + begin)
        begin += sum(len(file.steps) for file, _ in stretch)
        place = end
    return np.concatenate(order) if order else np.empty(0, np.intp)


def _steps_that_begin_anew(files: Sequence[Written]) -> list[int | None]:
    """Return the first step of each file that goes back behind a directly preceding file; None for all others."""
    by_end = sorted(range(len(files)), key=lambda place: files[place].turn.after)
    ends = [files[place].turn.after for place in by_end]
    begins: list[int | None] = []
    ended, latest = 0, -1
    for file in files:
        while ended < len(files) and ends[ended] <= file.turn.rank:
            latest = max(latest, files[by_end[ended]].turn.rank)
            ended += 1
        # The files right before it: ended ones that no other ended one follows.
        right_before = by_end[bisect.bisect_right(ends, latest, hi=ended) : ended]
        reached = max((int(files[place].steps[-1]) for place in right_before if len(files[place].steps)), default=None)
        begin = int(file.steps[0]) if len(file.steps) else None
        begins.append(begin if begin is not None and reached is not None and begin < reached else None)
    return begins


def _lowest(file: Written, begin: int | None, *, reported: bool) -> float:
    steps = [restart.step for restart in file.starts] if reported else file.steps[1:][file.steps[1:] < file.steps[:-1]]
    return min([*([begin] if begin is not None else []), *([int(min(steps))] if len(steps) else [])], default=math.inf)


def _resumptions(files: Sequence[Written], begins: Sequence[int | None], *, reported: bool) -> tuple[Resumption, ...]:
    """Return the restarts that overwrote points, each with the number of points; at most `MOST_RESUMPTIONS`."""
    alive = [np.ones(len(file.steps), np.bool_) for file in files]
    found: list[Resumption] = []
    looked_at = 0
    for place, file in enumerate(files):
        restarts = [] if begins[place] is None else [Restart(0, begins[place] or 0)]
        if reported:
            restarts += file.starts
        else:
            back = np.flatnonzero(file.steps[1:] < file.steps[:-1]) + 1
            restarts += [Restart(int(at), int(file.steps[at])) for at in back[:MOST_RESUMPTIONS]]
        for restart in restarts[: MOST_RESUMPTIONS - looked_at]:
            goes_on = _next_point(files, place, restart.position)
            if goes_on is None:
                continue
            looked_at += 1
            count = _overwrite(file.steps, alive[place], restart.position, restart.step)
            for earlier, other in zip(files[:place], alive[:place], strict=True):
                if earlier.turn.precedes(file.turn):
                    count += _overwrite(earlier.steps, other, len(other), restart.step)
            if count:
                found.append(Resumption(*goes_on, count))
    return tuple(found)


def _next_point(files: Sequence[Written], place: int, position: int) -> tuple[int, float] | None:
    """Step and wall time of the first point after a position, in the file or in files that follow it."""
    for file in files[place:]:
        if file is files[place] or files[place].turn.precedes(file.turn):
            if position < len(file.steps):
                return int(file.steps[position]), float(file.wall_times[position])
            position = 0
    return None


def _overwrite(steps: NDArray[np.int64], alive: NDArray[np.bool_], end: int, step: int) -> int:
    overwritten = alive[:end] & (steps[:end] >= step)
    alive[:end][overwritten] = False
    return int(np.count_nonzero(overwritten))
