"""Arrays as small pictures that show how they change: bars, planes, kernels, or colors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array

Layout = Literal["bars", "plane", "tiles", "colors"]
"""How an array is laid out: numbers in a row; a matrix; a grid of matrices, such as the kernels of a convolution,
separated by lines of one pixel; or a color picture."""

MOST_PIXELS: Final = 128 * 256
"""Maximum number of pixels of a picture; larger arrays are thinned out."""
MOST_BARS: Final = 1024
NOT_FINITE: Final = 0
"""The pixel value of non-finite elements."""
GAP: Final = 1
"""The pixel value of the lines between tiles."""
LOWEST: Final = 2
HIGHEST: Final = 255
"""Pixel values of the lowest and highest value of the scale."""
_LARGEST_KERNEL: Final = 11
"""Maximum number of rows or columns of a convolution kernel, by which the order of an array's dimensions is
recognized."""
_IN_GAPS: Final = float("-inf")
"""Stands for the lines between tiles in the values of a plane."""


@dataclass(frozen=True)
class Plane:
    """An array laid out in rows and columns, before a scale turns it into pixels."""

    layout: Layout
    values: NDArray[np.float32]
    """[height, width], or [height, width, 3] for colors from 0 to 1. NaN for non-finite values, -Inf for the lines
    between tiles."""
    shape: tuple[int, ...]
    """Shape of the array."""
    dtype: str
    shown: int
    """Number of the array's elements that are shown."""
    axes: tuple[tuple[int, int], ...]
    """The array's dimensions in layout order: tiles first, then the rows and columns of a tile; each with the step
    with which its elements are shown."""

    @property
    def finite(self) -> NDArray[np.float32]:
        """The shown values that are finite, [n]."""
        found: NDArray[np.float32] = self.values[np.isfinite(self.values)]
        return found

    @property
    def not_finite(self) -> int:
        """Number of shown elements that are NaN or infinite."""
        return int(np.isnan(self.values).sum())


def laid_out(values: Any, most_pixels: int = MOST_PIXELS) -> Plane:
    """Lay an array out as rows and columns of float32; only the shown part of a large one is read.

    Args:
        values: an array or a tensor of real numbers, of any shape and framework. One of [height, width, 3] with bytes,
            or numbers from 0 to 1, is a color picture. For others with more than two dimensions, the last two are
            tiles; kernels of convolutions may be [out, in, height, width] or [height, width, in, out].
        most_pixels: maximum number of pixels of the result.

    Raises:
        TypeError: its elements are not real numbers.
    """
    if not hasattr(values, "shape"):
        values = as_array(values, "an array to be shown")
    shape = tuple(int(extent) for extent in values.shape)
    dtype = str(values.dtype).removeprefix("torch.")
    if 0 in shape or not shape:
        flat = _numbers(as_array(values, "an array to be shown")).reshape(1, -1)
        return Plane("bars", flat, shape, dtype, flat.size, tuple((axis, 1) for axis in range(len(shape))))
    if len(shape) == 3 and shape[2] == 3 and min(shape[:2]) > 1:
        rows, columns = _steps(shape[0], shape[1], most_pixels)
        colors = as_array(values[::rows, ::columns], "an array to be shown")
        if colors.dtype == np.uint8 or (colors.dtype.kind == "f" and colors.min() >= 0 and colors.max() <= 1):
            scale = 255 if colors.dtype == np.uint8 else 1
            pixel_axes = ((0, rows), (1, columns), (2, 1))
            return Plane("colors", (colors / scale).astype(np.float32), shape, dtype, colors.size, pixel_axes)
    order = _order(shape)
    axes = tuple(zip(order, _thinning([shape[axis] for axis in order], most_pixels), strict=True))
    picks = [slice(None)] * len(shape)
    for axis, step in axes:
        picks[axis] = slice(None, None, step)
    numbers = _numbers(as_array(values[tuple(picks)], "an array to be shown").transpose(order))
    numbers = numbers.reshape([extent for extent in numbers.shape if extent > 1] or [1])
    if numbers.ndim == 1:
        return Plane("bars", numbers[None], shape, dtype, numbers.size, axes)
    if numbers.ndim == 2:
        return Plane("plane", np.ascontiguousarray(numbers), shape, dtype, numbers.size, axes)
    return Plane("tiles", _grid(numbers), shape, dtype, numbers.size, axes)


def pixels(values: NDArray[np.float32], lowest: float, highest: float) -> NDArray[np.uint8]:
    """Return the values of a plane as pixels from `LOWEST` to `HIGHEST` on a scale.

    Values beyond the scale get the color of its end; if the range of the scale is empty, all get the color of its
    middle. Non-finite values are `NOT_FINITE`, lines between tiles are `GAP`.
    """
    known = np.isfinite(values)
    span = highest - lowest
    # In float64, since a scale may be wider than the range of float32.
    above = np.subtract(np.where(known, values, lowest), lowest, dtype=np.float64)
    places = np.clip(above / span, 0, 1) if span > 0 else 0.5
    scaled = np.where(known, LOWEST + np.rint(places * (HIGHEST - LOWEST)), NOT_FINITE)
    found: NDArray[np.uint8] = np.where(values == _IN_GAPS, GAP, scaled).astype(np.uint8)
    return found


def _numbers(array: NDArray[Any]) -> NDArray[np.float32]:
    """Return numbers as float32, with NaN for those that are not finite in it."""
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    found: NDArray[np.float32] = np.where(np.isfinite(numbers), numbers, np.float32(np.nan))
    return found


def _order(shape: Sequence[int]) -> list[int]:
    """Return the dimensions in layout order: tiles first, then the rows and columns of a tile."""
    axes = list(range(len(shape)))
    if len(shape) == 4 and max(shape[:2]) <= _LARGEST_KERNEL < max(shape[2:]):
        return [3, 2, 0, 1]
    return axes


def _thinning(shape: Sequence[int], most: int) -> list[int]:
    """Return the step with which elements of each dimension are shown: every one, every second one, ..."""
    extents = [extent for extent in shape if extent > 1]
    if len(extents) < 2:
        steps = [-(-extent // min(most, MOST_BARS)) for extent in extents]
    elif len(extents) == 2:
        steps = list(_steps(extents[0], extents[1], most))
    else:
        height, width = extents[-2:]
        rows, columns = _steps(height, width, most // 4)
        tiles = max(1, most // ((-(-height // rows) + 1) * (-(-width // columns) + 1)))
        steps = [rows, columns]
        for extent in reversed(extents[:-2]):
            step = -(-extent // min(extent, tiles))
            tiles = max(1, tiles // -(-extent // step))
            steps.insert(0, step)
    left = iter(steps)
    return [next(left) if extent > 1 else 1 for extent in shape]


def _steps(height: int, width: int, most: int) -> tuple[int, int]:
    """Return the steps along rows and columns that leave at most ``most`` elements, equal ones if both are long."""
    side = max(1, math.isqrt(most))
    if width <= side:
        return -(-height // max(1, most // width)), 1
    if height <= side:
        return 1, -(-width // max(1, most // height))
    step = max(1, math.ceil(math.sqrt(height * width / most)))
    while -(-height // step) * -(-width // step) > most:
        step += 1
    return step, step


def _grid(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lay tiles out in a grid: of four dimensions, the first two are its rows and columns; else it is twice as wide."""
    height, width = numbers.shape[-2:]
    planes = numbers.reshape(-1, height, width)
    if numbers.ndim == 4:
        columns = numbers.shape[1]
    else:
        columns = max(1, min(len(planes), round(math.sqrt(len(planes) * 2 * (height + 1) / (width + 1)))))
    rows = -(-len(planes) // columns)
    grid = np.full((rows * columns, height + 1, width + 1), _IN_GAPS, np.float32)
    grid[: len(planes), :height, :width] = planes
    whole = grid.reshape(rows, columns, height + 1, width + 1).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(whole.reshape(rows * (height + 1), columns * (width + 1))[:-1, :-1])
