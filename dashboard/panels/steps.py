"""Cards that show every run at one step: which point of a run that is, and what the slider below the card offers.

``web/cards/step_slider.ts`` is the browser side. The user's choice is in the URL as "KEY:STEP"; without one, a card
shows the newest point and so follows new data.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.arrays import TypedArray, typed
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.summary.series import Series

MOST_POSITIONS: Final = 2_000
"""Maximum positions of one slider: more than it has pixels."""


class StepData(TypedDict):
    """What a slider over steps offers: columns as long as each other, and how many steps there are."""

    steps: TypedArray
    walls: TypedArray
    seconds: TypedArray
    """Seconds since the first point of the run."""
    of: int


def epoch(series: Series) -> str:
    """Return a value that changes if points may: the run was restarted or rewritten, or another server reads it.

    Added points leave it unchanged, so that together with it and the step, an index always means the same.
    """
    return fingerprint(series.epoch)


def pick(total: int, most: int) -> NDArray[np.int64]:
    """Return indices of at most ``most`` of ``total`` points, evenly spread, always including the first and last."""
    if total <= most:
        return np.arange(total)
    return np.linspace(0, total - 1, most).round().astype(np.int64)


def chosen_steps(entries: Iterable[str]) -> dict[str, int]:
    """Parse "KEY:STEP"; entries not of that form are left out."""
    chosen: dict[str, int] = {}
    for entry in entries:
        key, colon, step = entry.rpartition(":")
        digits = step.removeprefix("-")
        if colon and digits.isascii() and digits.isdecimal() and len(digits) < 19:
            chosen[key] = int(step)
    return chosen


def index_at(steps: NDArray[np.int64], step: int | None) -> int | None:
    """Return the index of the point at a step, or of the nearest one before it; None if all are later.

    Of several at one step, it is the last. Steps need not be in order.

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
    """Return what a slider over the steps of some series needs: steps, wall times, and seconds since a run's start.

    A step shared by several series is described by the first of them. Beyond `MOST_POSITIONS` steps, that many of them
    are offered, evenly spread; ``of`` is how many there are.

    Args:
        series: of the runs of a card.
        within: returns which of some steps are offered at all; None for all.
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
