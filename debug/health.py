"""The health of a value, as the recorder measures it.

The definitions of `stepscope.summary.debugger.measures` are applied to any array, and to the sums that devices compute.
A complex number counts as two.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.measures import LIMITS, figures_of_numbers
from stepscope.summary.debugger.model import COLUMN, FIGURES

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
"""What a device computes in one pass: seven counts; then, with non-finite elements replaced by 0, the minimum and
maximum (of the finite elements alone), the sums of elements, squares and absolute values, and the sum of the squared
deviations from the mean."""
COUNTS: Final = 7
"""Number of `SUMS` that are counts."""


def health(value: Any, dtype: str = "") -> NDArray[np.float64]:
    """Return the statistics of a value, in the order of `stepscope.summary.debugger.model.FIGURES`.

    Args:
        value: an array of numbers or booleans of any shape.
        dtype: the type whose limits count, if the array holds numbers of a narrower type, such as bfloat16.

    Raises:
        TypeError: its elements are not numbers.
    """
    array = np.asarray(value)
    name = dtype or str(array.dtype)
    if array.dtype.kind == "c":
        array, name = real_numbers(array), {"complex64": "float32", "complex128": "float64"}.get(name, name)
    elif array.dtype.kind not in "biuf" and name not in LIMITS:
        raise TypeError(f"health needs numbers, got an array of {array.dtype}")
    return figures_of_numbers(array.astype(np.float64).reshape(-1), name)


def real_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of real numbers, in which a complex number is two."""
    # Only contiguous numbers of one dimension at least can be seen as pairs.
    return np.ascontiguousarray(array).view(array.real.dtype) if array.dtype.kind == "c" else array


def figures_of_sums(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], floating: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the statistics of many values from the sums that a device computed.

    Args:
        sums: [n, len(SUMS)].
        sizes: [n], number of elements of each.
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
        # Non-finite values counted as 0 among the deviations.
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
