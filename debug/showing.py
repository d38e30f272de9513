"""``debug.show``: show a program's arrays to viewers and in files."""

from typing import Any, Final

from stepscope.debug.live import PATH, LiveTensors
from stepscope.profiler.capture_routes import OTHER_ROUTES

LIVE: Final = LiveTensors()
"""The arrays that this process shows."""
OTHER_ROUTES[PATH] = LIVE.answer


def show(name: str, values: Any, *, section: str | None = None) -> None:
    """Show an array while it changes: in the tab *Live tensors*, and in films and images of the run.

    While nothing is being viewed, this only checks a flag. Call it once per step for each array.

    Args:
        name: name of the array; the page groups by the part before the last "/".
        values: an array or a tensor of real numbers, of any shape and framework.
        section: the group to use instead.

    Raises:
        TypeError: the array is being viewed, and its elements are not real numbers.
    """
    if LIVE.active:
        LIVE.offer(name, values, section)


def end_step(step: int | None = None) -> None:
    """Mark that all arrays of a training step were shown; without this call, a step ends when a name is repeated."""
    LIVE.end_step(step)
