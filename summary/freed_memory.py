"""Gives freed memory back to the system."""

import ctypes
import sys
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """Give back freed memory; after much work in several threads, glibc keeps a fifth of all memory or more.

    Do nothing if the C library has no ``malloc_trim``, a function of glibc.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
