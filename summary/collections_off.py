"""Turns garbage collection off while many lasting objects are created: scanning them repeatedly takes half of the
time.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Switch:
    """Turns collections off as long as any thread wants that; if they were off before, they stay off."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._wanting = 0
        self._were_on = False

    def off(self) -> None:
        with self._lock:
            if self._wanting == 0:
                self._were_on = gc.isenabled()
                gc.disable()
            self._wanting += 1

    def back(self) -> None:
        with self._lock:
            self._wanting -= 1
            if self._wanting == 0 and self._were_on:
                gc.enable()


_SWITCH: Final = _Switch()
_MANY_OBJECTS: Final = 100_000


@contextmanager
def without_collections() -> Iterator[None]:
    """Create objects without garbage collections, which resume when the last thread has left its block."""
    _SWITCH.off()
    try:
        yield
    finally:
        _SWITCH.back()


@contextmanager
def putting_aside() -> Iterator[None]:
    """Create lasting objects without garbage collections.

    At the end, they are moved to the oldest generation, where the next collection of young objects would put them
    after scanning them all. If there are only a few, they stay where they are: moved objects do not count toward the
    next collection of the oldest generation, which would never come if every small update moved its objects.

    If the program has exempted objects from all collections, as the command does with its imports, these are exempted
    too: scanning the objects of a hundred thousand runs would make all threads wait for a second. They are freed when
    nothing refers to them, as there are no cycles among them.
    """
    with without_collections():
        try:
            yield
        finally:
            if gc.get_count()[0] > _MANY_OBJECTS:
                has_put_aside = gc.get_freeze_count() > 0
                gc.freeze()
                if not has_put_aside:
                    gc.unfreeze()
