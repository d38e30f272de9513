"""NumPy arrays in the form that Plotly accepts without conversion to lists."""

from base64 import b64encode
from typing import Any, Literal, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.binary import fits_float32

NumberType = Literal["i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8"]


class TypedArray(TypedDict):
    """Numbers as Plotly takes them: their type and, in base64, their bytes."""

    dtype: NumberType
    bdata: str


def typed(array: NDArray[Any]) -> TypedArray:
    """Return a one-dimensional array as Plotly's base64 typed array.

    float32, float64, int32, int16, int8, and their unsigned forms are kept as they are; int64, which browsers lack,
    becomes int32 if it fits and float64 otherwise.
    """
    if array.dtype == np.int64:
        fits = len(array) == 0 or bool(array.min() >= -(2**31) and array.max() < 2**31)
        array = array.astype(np.int32 if fits else np.float64)
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    name = cast(NumberType, f"{array.dtype.kind}{array.dtype.itemsize}")
    return {"dtype": name, "bdata": b64encode(little.tobytes()).decode("ascii")}


def typed_for_screen(array: NDArray[np.float64]) -> TypedArray:
    """Return numbers for drawing, as float32 if that moves no point by more than 1/10,000 of their range.

    Seven digits remain either way; the columns themselves stay float64.
    """
    return typed(array.astype(np.float32) if fits_float32(array) else array)
