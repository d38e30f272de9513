"""Detection of stack lines in the program's own code, by file path."""

from collections.abc import Sequence
from typing import Final

from stepscope.summary.debugger.model import Frame

_LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")


def is_library(path: str) -> bool:
    """Return whether a file is not part of the program's own code."""
    path = path.replace("\\", "/")
    return any(part in path for part in _LIBRARIES)


def own_frame(stack: Sequence[Frame]) -> Frame | None:
    """Return the innermost stack line in the program's own code, or the innermost line of all if there is none."""
    own = [frame for frame in stack if not is_library(frame.path)]
    innermost = own or stack
    return innermost[-1] if innermost else None
