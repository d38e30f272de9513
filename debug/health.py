"""The health of a value: what is measured of it, in NumPy; the reference for what devices compute.

Counts are of elements; a complex number counts as two. Negatives are finite ones. Minimum, maximum, mean, variance
(divided by their number), L2 norm and absolute mean are of the finite elements alone, in float64, and NaN where there
are none. Underflow is the share of elements that are subnormal in the value's own type, overflow the share of those
whose absolute value is at least half of its largest number, infinities among them; both are NaN for types that are not
floating.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.model import COLUMN, FIGURES


class Limits(NamedTuple):
    """Of a floating type."""

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
        # OCP 8-bit floating point specification, and the variants without negative zero of GraphCore and AMD.
        "float8_e4m3fn": Limits(2.0**-6, 448.0),
        "float8_e5m2": Limits(2.0**-14, 57344.0),
        "float8_e4m3fnuz": Limits(2.0**-7, 240.0),
        "float8_e5m2fnuz": Limits(2.0**-15, 57344.0),
    }
)
"""By the names of types; bfloat16 and float8 as PyTorch, JAX and ml_dtypes call them."""

SUMS: Final = (
    "nan",
    "positive_infinity",
    "negative_infinity",
    "zeros",
    "negatives",
    "underflow",
    "overflow",
    "minimum",
    "maximum",
    "sum",
    "squares",
    "absolutes",
    "deviations",
)
"""What a device computes in one pass: seven counts, then of the value with 0 in place of what is not finite the minimum
and maximum (of the finite elements alone), the sums of elements, squares and absolute values, and the sum of the
squared deviations from its mean."""
COUNTS: Final = 7
"""How many of `SUMS` are counts."""


def health(value: Any, dtype: str = "") -> NDArray[np.float64]:
    """Return the figures of a value, in the order of `stepscope.summary.debugger.model.FIGURES`.

    Args:
        value: an array of numbers or booleans of any shape.
        dtype: the type whose limits count, where the array holds numbers of a narrower type, such as bfloat16.

    Raises:
        TypeError: its elements are no numbers.
    """
    array = np.asarray(value)
    name = dtype or str(array.dtype)
    if array.dtype.kind == "c":
        array, name = array.view(array.real.dtype), {"complex64": "float32", "complex128": "float64"}.get(name, name)
    elif array.dtype.kind not in "biuf" and name not in LIMITS:
        raise TypeError(f"health is of numbers, got an array of {array.dtype}")
    return health_of_numbers(array.astype(np.float64).reshape(-1), name)


def health_of_numbers(numbers: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return the figures of float64 [n] that hold what had another type; see `health`."""
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


def figures_of_sums(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], floating: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the figures of many values from what a device summed up.

    Args:
        sums: [n, len(SUMS)].
        sizes: [n], elements of each.
        floating: [n], whether its type has limits.

    Returns:
        [n, len(FIGURES)]
    """
    column = {name: sums[:, place] for place, name in enumerate(SUMS)}
    figures = np.full((len(sums), len(FIGURES)), np.nan)
    figures[:, COLUMN["size"]] = sizes
    for name in SUMS[:5]:
        figures[:, COLUMN[name]] = column[name]
    count = sizes - column["nan"] - column["positive_infinity"] - column["negative_infinity"]
    with np.errstate(all="ignore"):
        mean_of_all, mean = column["sum"] / sizes, column["sum"] / count
        # What is not finite counted as 0 among the deviations.
        deviations = column["deviations"] + np.where(count < sizes, sizes * mean_of_all**2 - count * mean**2, 0)
        measured = {
            "minimum": column["minimum"],
            "maximum": column["maximum"],
            "mean": mean,
            "variance": np.maximum(deviations / count, 0),
            "l2": np.sqrt(column["squares"]),
            "absolute_mean": column["absolutes"] / count,
        }
        shares = {name: column[name] / sizes for name in ("underflow", "overflow")}
    for name, values in measured.items():
        figures[:, COLUMN[name]] = np.where(count > 0, values, np.nan)  # type: ignore[index]
    for name, values in shares.items():
        figures[:, COLUMN[name]] = np.where(floating & (sizes > 0), values, np.nan)  # type: ignore[index]
    return figures
