"""The definition of a value's figures, in NumPy: the reference for the computations on devices.

Counts are numbers of elements. Negatives count only finite elements. Minimum, maximum, mean, variance (divided by the
number of elements), L2 norm and absolute mean cover only finite elements, in float64, and are NaN if there are none.
Underflow is the share of elements that are subnormal in the value's own type; overflow is the share of elements whose
absolute value is at least half of the type's largest number, including infinities. Both are NaN for types that are not
floating-point.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.model import COLUMN, FIGURES, Figure

PIECE: Final = 1 << 20
"""Elements processed at once."""


class Limits(NamedTuple):
    """The limits of a floating-point type."""

    smallest: float
    """The smallest normal number."""
    largest: float
    """The largest finite number."""


LIMITS: Final[Mapping[str, Limits]] = MappingProxyType(
    {
        "float64": Limits(2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
        "float32": Limits(2.0**-126, (2 - 2.0**-23) * 2.0**127),
        "float16": Limits(2.0**-14, 65504.0),
        "bfloat16": Limits(2.0**-126, (2 - 2.0**-7) * 2.0**127),
        # The OCP 8-bit floating-point specification, and GraphCore's and AMD's variants without negative zero.
        "float8_e4m3fn": Limits(2.0**-6, 448.0),
        "float8_e5m2": Limits(2.0**-14, 57344.0),
        "float8_e4m3fnuz": Limits(2.0**-7, 240.0),
        "float8_e5m2fnuz": Limits(2.0**-15, 57344.0),
    }
)
"""Limits by type name; bfloat16 and float8 types have their names in PyTorch, JAX and ml_dtypes."""


def figures_of_numbers(numbers: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """Return the figures of real numbers [n] of any type, using memory for only `PIECE` of them.

    Args:
        numbers: the elements.
        dtype: the original type of the elements, whose limits apply.
    """
    if len(numbers) <= PIECE:
        return _figures_of_piece(np.asarray(numbers, np.float64), dtype)
    pieces = [
        _figures_of_piece(np.asarray(numbers[begin : begin + PIECE], np.float64), dtype)
        for begin in range(0, len(numbers), PIECE)
    ]
    return _together(np.array(pieces))


def _together(pieces: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the figures of all elements of several nonempty pieces.

    Variances are combined as in Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
    Sample Variances" (1979).
    """

    def column(name: Figure) -> NDArray[np.float64]:
        found: NDArray[np.float64] = pieces[:, COLUMN[name]]
        return found

    figures = np.full(len(FIGURES), np.nan)
    counts: tuple[Figure, ...] = ("size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives")
    for figure in counts:
        figures[COLUMN[figure]] = column(figure).sum()
    shares: tuple[Figure, ...] = ("underflow", "overflow")
    for figure in shares:
        figures[COLUMN[figure]] = (column(figure) * column("size")).sum() / figures[COLUMN["size"]]
    finite = column("size") - column("nan") - column("positive_infinity") - column("negative_infinity")
    pieces, finite = pieces[finite > 0], finite[finite > 0]
    if len(pieces):
        weights = finite / finite.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            # As differences, which are zero if all means are equal.
            first = column("mean")[0]
            mean = first + (weights * (column("mean") - first)).sum()
            figures[COLUMN["minimum"]] = column("minimum").min()
            figures[COLUMN["maximum"]] = column("maximum").max()
            figures[COLUMN["mean"]] = mean
            figures[COLUMN["variance"]] = (weights * (column("variance") + np.square(column("mean") - mean))).sum()
            figures[COLUMN["l2"]] = np.sqrt(np.square(column("l2")).sum())
            figures[COLUMN["absolute_mean"]] = (weights * column("absolute_mean")).sum()
    return figures


def _figures_of_piece(numbers: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    finite = numbers[np.isfinite(numbers)]
    figures = np.full(len(FIGURES), np.nan)
    size = len(numbers)
    magnitude = np.abs(numbers)
    counts = {
        "size": size,
        "nan": np.isnan(numbers).sum(),
        "positive_infinity": np.isposinf(numbers).sum(),
        "negative_infinity": np.isneginf(numbers).sum(),
        "zeros": (numbers == 0).sum(),
        "negatives": (finite < 0).sum(),
    }
    for figure, count in counts.items():
        figures[COLUMN[figure]] = count  # type: ignore[index]
    if dtype in LIMITS and size:
        limits = LIMITS[dtype]
        figures[COLUMN["underflow"]] = ((magnitude > 0) & (magnitude < limits.smallest)).sum() / size
        figures[COLUMN["overflow"]] = (magnitude >= limits.largest / 2).sum() / size
    if len(finite):
        with np.errstate(over="ignore", invalid="ignore"):
            figures[COLUMN["minimum"]] = finite.min()
            figures[COLUMN["maximum"]] = finite.max()
            figures[COLUMN["mean"]] = finite.mean()
            figures[COLUMN["variance"]] = finite.var()
            figures[COLUMN["l2"]] = np.sqrt(np.square(finite).sum())
            figures[COLUMN["absolute_mean"]] = np.abs(finite).mean()
    return figures
