"""``debug.show``: what a program shows of its arrays, to whoever looks and into files."""

from typing import Any, Final

from stepscope.debug.live import PATH, LiveTensors
from stepscope.profiler.capture_routes import OTHER_ROUTES

LIVE: Final = LiveTensors()
"""What this process shows."""
OTHER_ROUTES[PATH] = LIVE.answer


def show(name: str, values: Any, *, section: str | None = None) -> None:
    """Show an array while it changes: in the Debugger's view *Live*, and in films and images of the run.

    Until somebody looks this costs one look at a flag. Call it once a step for each array.

    Args:
        name: what the array is called; the page groups by what stands before the last "/".
        values: an array or a tensor of real numbers, of any shape and framework.
        section: the group, instead.

    Raises:
        TypeError: somebody looks, and the elements are no real numbers.
    """
    if LIVE.active:
        LIVE.offer(name, values, section)


def end_step(step: int | None = None) -> None:
    """Say that all arrays of a training step were shown; without it a step ends when a name comes again."""
    LIVE.end_step(step)
