"""What threads still have to end themselves, because it can end only in the thread that began it."""

import threading
from collections.abc import Callable
from typing import Final

left: Final[list[tuple[int, Callable[[], None]]]] = []
"""Identifiers of threads, and what each has to call."""


def leave_to(thread: int, end: Callable[[], None]) -> None:
    """Have a thread call a function when it makes the next step, begins a recording or stops the server."""
    left.append((thread, end))


def end_left() -> None:
    """Call what was left to the calling thread."""
    # Only this thread removes these entries; others may add theirs meanwhile.
    for entry in [entry for entry in left if entry[0] == threading.get_ident()]:
        left.remove(entry)
        entry[1]()
