"""The decorator of compiled loops, typed so that annotated kernels stay annotated."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile with Numba on first call, cache the machine code on disk, and run without the GIL.

    A kernel may call only kernels of its own module: Numba's cache notices changes in one file at a time.
    """
    return cast(Callable[Parameters, Result], njit(cache=True, nogil=True)(function))
