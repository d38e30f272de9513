"""Cards that show every run at one step: which point of a run that is, and what the slider below the card offers.

``web/cards/step_slider.ts`` is its side in the browser. The user's choice stands in the URL as "KEY:STEP"; where there
is none, a card shows the newest point and so follows new data.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.arrays import TypedArray, typed
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.summary.series import Series

MOST_POSITIONS: Final = 2_000
"""Places of one slider: more than it has pixels."""


class StepData(TypedDict):
    """What a slider over steps offers: columns as long as each other, and how many steps there are."""

    steps: TypedArray
    walls: TypedArray
    seconds: TypedArray
    """Since the first point of the run."""
    of: int


def epoch(series: Series) -> str:
    """Return another where points of a series may have become others: its run was started again, or written again, or
    another server reads it.

    Points that are added leave it as it is, so that with it and its step what an index means is one for ever.
    """
    first = float(series.wall_times[0]) if len(series) else 0.0
    return fingerprint((first, series.epoch))


def pick(total: int, most: int) -> NDArray[np.int64]:
    """Return indices of at most ``most`` of ``total`` points, evenly spread, the first and the last always among
    them.
    """
    if total <= most:
        return np.arange(total)
    return np.linspace(0, total - 1, most).round().astype(np.int64)


def chosen_steps(entries: Iterable[str]) -> dict[str, int]:
    """Read "KEY:STEP"; what is not of that form is left out."""
    chosen: dict[str, int] = {}
    for entry in entries:
        key, colon, step = entry.rpartition(":")
        digits = step.removeprefix("-")
        if colon and digits.isascii() and digits.isdecimal() and len(digits) < 19:
            chosen[key] = int(step)
    return chosen


def index_at(steps: NDArray[np.int64], step: int | None) -> int | None:
    """Return the point at a step, or the nearest one before it; None where all are later.

    Of several at one step it is the last. Steps need not be in order.

    Args:
        steps: int64[n]
        step: None for the newest.
    """
    at = np.arange(len(steps)) if step is None else np.flatnonzero(steps <= step)
    if len(at) == 0:
        return None
    highest = at[steps[at] == steps[at].max()]
    return int(highest[-1])


def slider(
    series: Sequence[Series], within: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None
) -> StepData:
    """Return what a slider over all steps of some series needs: steps, wall times, and seconds since the run's first
    point.

    A step that several series have is described by the first of them. Beyond `MOST_POSITIONS` steps, so many of them
    are offered, evenly spread; ``of`` says how many there are.

    Args:
        series: of the runs of a card.
        within: which of some steps are offered at all; None for all.
    """
    filled = [one for one in series if len(one)]
    if not filled:
        return {"steps": typed(np.empty(0)), "walls": typed(np.empty(0)), "seconds": typed(np.empty(0)), "of": 0}
    walls = np.concatenate([one.wall_times for one in filled])
    seconds = np.concatenate([one.wall_times - one.wall_times[0] for one in filled])
    steps, first = np.unique(np.concatenate([one.steps for one in filled]), return_index=True)
    if within is not None:
        inside = within(steps)
        steps, first = steps[inside], first[inside]
    kept = pick(len(steps), MOST_POSITIONS)
    return {
        # Browsers have no int64; float64 holds every step up to 2^53 exactly.
        "steps": typed(steps[kept].astype(np.float64)),
        "walls": typed(walls[first][kept]),
        "seconds": typed(seconds[first][kept]),
        "of": len(steps),
    }
