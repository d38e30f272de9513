"""The decorator of compiled loops."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from summary.kernels import kernel as compiled

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Have a function compiled, as `summary.kernels.kernel` does."""
    return compiled()(function)
