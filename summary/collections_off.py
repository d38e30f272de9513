"""No garbage collections while many objects are made that stay: to look through them again and again takes half of the
time.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Switch:
    """Turns collections off as long as any thread wants that; where they were off before, they stay so."""

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
    """Make objects without garbage collections, which go on when the last of all threads inside has left."""
    _SWITCH.off()
    try:
        yield
    finally:
        _SWITCH.back()


@contextmanager
def putting_aside() -> Iterator[None]:
    """Make objects that stay, without garbage collections.

    In the end they are moved to the oldest generation, where the next collection of young objects would put them after
    it had looked through all of them. Few objects stay where they are: what is moved does not count towards the next
    collection of the oldest generation, which would never come if every small update moved what it made.

    A program that has put objects aside from all collections, as the command does with what it imported, has these
    put aside too: to look through those of a hundred thousand runs keeps all its threads waiting for a second.
    They go when nothing refers to them, as there are no cycles among them.
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
