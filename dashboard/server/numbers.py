"""Numbers as text, their mean, and texts in order of their numbers, the same everywhere."""

import math
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

Natural: TypeAlias = tuple[str | int, ...]
_DIGITS: Final = re.compile(r"([0-9]{1,300})")
"""A number; Python refuses to read much longer ones, which count as several."""


def natural(text: str) -> Natural:
    """Return a key that sorts texts with their numbers by value, ignoring case: "layer2" before "Layer10"."""
    return tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(text.casefold())))


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one number, of any size; NaN if there are infinities of both signs."""
    if math.inf in values and -math.inf in values:
        return math.nan
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # The sum is beyond float64, but no mean is.
        return math.fsum(value / len(values) for value in values)


def json_number(value: float) -> float | str:
    """Return a number for JSON; NaN and the infinities become the strings that TensorBoard uses."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def count(number: int) -> str:
    """Return an integer with thousands separators: 12,345."""
    return f"{number:,}"


def file_size(size: int) -> str:
    """Return a human-readable number of bytes: 512 B, 1.5 kB, 23 MB."""
    if size < 1000:
        return f"{size} B"
    scaled = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        scaled /= 1000
        if scaled < 999.5 or unit == "TB":
            break
    return f"{scaled:.3g} {unit}"
