"""Which lines of a stack are the program's own, by the paths of their files."""

from collections.abc import Sequence
from typing import Final

from stepscope.summary.debugger.model import Frame

_LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")


def is_library(path: str) -> bool:
    """Return whether a file is none of the program's own."""
    path = path.replace("\\", "/")
    return any(part in path for part in _LIBRARIES)


def own_frame(stack: Sequence[Frame]) -> Frame | None:
    """Return the innermost line of a stack that is the program's own; the innermost of all where none is."""
    own = [frame for frame in stack if not is_library(frame.path)]
    innermost = own or stack
    return innermost[-1] if innermost else None
