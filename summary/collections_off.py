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


@contextmanager
def without_collections() -> Iterator[None]:
    """Make objects without garbage collections, which go on when the last of all threads inside has left."""
    _SWITCH.off()
    try:
        yield
    finally:
        _SWITCH.back()
