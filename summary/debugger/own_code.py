"""Which lines of a stack are the program's own, and which of what is installed."""

from collections.abc import Sequence
from typing import Final

from stepscope.summary.debugger.model import Frame

_LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")


def is_library(frame: Frame) -> bool:
    """Return whether a line is none of the program's own."""
    path = frame.path.replace("\\", "/")
    return any(part in path for part in _LIBRARIES)


def own_frame(stack: Sequence[Frame]) -> Frame | None:
    """Return the innermost line of a stack that is the program's own; the innermost of all where none is."""
    own = [frame for frame in stack if not is_library(frame)]
    innermost = own or stack
    return innermost[-1] if innermost else None
