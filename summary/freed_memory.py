"""Gives memory back to the system that was freed."""

import ctypes
import sys
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """Give back what the program has freed; after much work of several threads, glibc keeps a fifth of all and more.

    Where the C library has no such call (``malloc_trim``, glibc's) nothing happens.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
