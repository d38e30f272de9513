"""The points of one tag: columns that one thread appends to, and the pure rules that join and supersede them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from summary.snapshot import Columns

Number = TypeVar("Number", bound=np.generic)


class GrowingColumn(Generic[Number]):
    """An array that grows at its end; views given out before stay valid and never change."""

    def __init__(self, dtype: type[Number]) -> None:
        self._array: NDArray[Number] = np.empty(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, values: NDArray[Number]) -> None:
        end = self._length + len(values)
        if end > len(self._array):
            # The first fill is often the last (a finished run), so it gets no room to spare.
            grown = np.empty(end if self._length == 0 else max(end, self._length * 3 // 2), self._array.dtype)
            grown[: self._length] = self._array[: self._length]
            self._array = grown
        self._array[self._length : end] = values
        self._length = end

    def view(self) -> NDArray[Number]:
        view = self._array[: self._length]
        view.flags.writeable = False
        return view


@dataclass(frozen=True)
class Part:
    """The points of one tag in one file, at one moment; arrays of equal length, or empty where not kept.

    Scalars keep ``values``, everything else keeps where its record lies: ``offsets`` and ``lengths`` of the record's
    data, and ``indices`` of the value in it.
    """

    path: PurePosixPath
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Restart:
    """A ``SessionLog.START`` as one tag sees it."""

    position: int
    """How many points of the tag, over all files of the run, came before it."""
    step: int


def kept_points(steps: NDArray[np.int64], restarts: Sequence[Restart]) -> NDArray[np.bool_]:
    """Which points no restart has overwritten, bool [n].

    A ``SessionLog.START`` at step s that is not the run's beginning overwrites the points before it with step >= s. A
    run without one may have restarted all the same: there, a point whose step is below that of the point before
    it overwrites all earlier points with step >= its own. Equal steps in a row are several points, not a restart.

    Args:
        steps: int64 [n], in the order in which they were written.
        restarts: the starts that do not begin the run, in order.
    """
    goes_back = steps[1:] < steps[:-1]
    if not restarts and not goes_back.any():
        return np.ones(len(steps), np.bool_)
    none = np.iinfo(np.int64).max
    resets = np.full(len(steps) + 1, none)
    if restarts:
        positions = np.minimum([restart.position for restart in restarts], len(steps))
        np.minimum.at(resets, positions, [restart.step for restart in restarts])
    else:
        resets[1:-1] = np.where(goes_back, steps[1:], none)
    lowest_reset_after = np.minimum.accumulate(resets[::-1])[::-1][1:]
    kept: NDArray[np.bool_] = (steps < lowest_reset_after) | (lowest_reset_after == none)
    return kept


def join(parts: Sequence[Part], kept: NDArray[np.bool_] | None) -> Columns:
    """The points of several files as columns; ``kept`` (bool [n]) leaves out those that are False."""
    if len(parts) == 1 and kept is None:
        return Columns(parts[0].steps, parts[0].wall_times, parts[0].values)

    def joined(arrays: list[NDArray[Number]]) -> NDArray[Number]:
        whole = np.concatenate(arrays)
        if kept is not None and len(whole):
            whole = whole[kept]
        whole.flags.writeable = False
        return whole

    return Columns(
        joined([p.steps for p in parts]),
        joined([p.wall_times for p in parts]),
        joined([p.values for p in parts]),
    )
