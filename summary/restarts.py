"""Which files of a run follow each other and which were written at once, and which points a restart has overwritten.

A job that goes on after an interruption begins a file when the one before has had its last event: that is a restart,
and what both have written counts once. A file that begins before another one's last event has a writer of its own, such
as each rank of a distributed training that was not told to leave the logging to one of them: nothing of it overwrites
anything of the other.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.series import Resumption

MOST_RESUMPTIONS: Final = 100
"""Restarts of one tag that are told one by one."""
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Restart:
    """A place where a run goes on, as one tag in one file sees it."""

    position: int
    """How many points of the tag the file has before it."""
    step: int


class Turn(NamedTuple):
    """When a file was written, relative to the other files of its run."""

    rank: int
    """Its place in the order of the files' first events."""
    after: int
    """The first rank whose file began when this one had had its last event."""

    def precedes(self, other: "Turn") -> bool:
        """Return whether this file had ended when the other began."""
        return self.after <= other.rank


class Written(NamedTuple):
    """The points of one tag in one file of a run, in the order in which they were written."""

    turn: Turn
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    starts: Sequence[Restart]
    """The ``SessionLog.START`` of the file that restart the run."""


class Standing(NamedTuple):
    """What of a tag's points is shown."""

    kept: list[NDArray[np.bool_]]
    """For each file, which of its points no restart has overwritten."""
    resumptions: tuple[Resumption, ...]


def turns(spans: Sequence[tuple[float, float]]) -> list[Turn]:
    """Return the turn of each file of a run.

    Files are in the order of their first events, those of equal times as they are given. Where a time is not a number,
    nothing can be told, and all files follow each other as they are given.

    Args:
        spans: wall times of each file's first event and of its latest one.
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
    """Return how many of some files of a run, in order of their ranks, were written at one time, at most."""
    ends = sorted(turn.after for turn in found)
    return max((begun - bisect.bisect_right(ends, turn.rank) for begun, turn in enumerate(found, 1)), default=0)


def kept_points(steps: NDArray[np.int64], restarts: Sequence[Restart]) -> NDArray[np.bool_]:
    """Return which points of a file no restart within it has overwritten, bool [n].

    A restart at step s overwrites the points before it with step >= s. Without restarts that are told, a point whose
    step is below that of the point before it is one. Equal steps in a row are several points, not a restart.

    Args:
        steps: int64 [n], in the order in which they were written.
        restarts: those that are told, in order.
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
    """Return which points of a tag no restart has overwritten.

    A restart in a file overwrites what stands before it in the file, and in the files that had ended when its file
    began; never in a file that was written at the same time. Where the run tells of its restarts, those count.
    Otherwise a step that goes back is one: within a file as `kept_points` has it, and at the beginning of a file whose
    first step is below the last one of a file right before it.

    Args:
        files: in order of their ranks.
        reported: whether the run has a ``SessionLog.START`` that restarts it, in whichever file.
    """
    begins = [None] * len(files) if reported else _steps_that_begin_anew(files)
    # For each file the lowest step at which it restarts the run; then the lowest of it and of all files behind it.
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
    """Return the places of the points that are shown, in their order: of files one after the other as they were
    written; of files that were written at once by step, and by time where steps are equal.

    Args:
        files: in order of their ranks; those without points have no part in it.
        kept: which points of each file are shown.

    Returns:
        intp [n], indices into the points of all files one after the other.
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
    """Return the first step of each file that goes back behind a file right before it; None for all others."""
    by_end = sorted(range(len(files)), key=lambda place: files[place].turn.after)
    ends = [files[place].turn.after for place in by_end]
    begins: list[int | None] = []
    ended, latest = 0, -1
    for file in files:
        while ended < len(files) and ends[ended] <= file.turn.rank:
            latest = max(latest, files[by_end[ended]].turn.rank)
            ended += 1
        # Those right before it: the ended ones that none of the ended ones follows.
        right_before = by_end[bisect.bisect_right(ends, latest, hi=ended) : ended]
        reached = max((int(files[place].steps[-1]) for place in right_before if len(files[place].steps)), default=None)
        begin = int(file.steps[0]) if len(file.steps) else None
        begins.append(begin if begin is not None and reached is not None and begin < reached else None)
    return begins


def _lowest(file: Written, begin: int | None, *, reported: bool) -> float:
    steps = [restart.step for restart in file.starts] if reported else file.steps[1:][file.steps[1:] < file.steps[:-1]]
    return min([*([begin] if begin is not None else []), *([int(min(steps))] if len(steps) else [])], default=math.inf)


def _resumptions(files: Sequence[Written], begins: Sequence[int | None], *, reported: bool) -> tuple[Resumption, ...]:
    """Return the restarts that overwrote points, with how many each of them overwrote; at most `MOST_RESUMPTIONS`."""
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
    """Step and wall time of the first point behind a position: of the file, or of those that follow it."""
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
