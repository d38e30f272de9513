"""Figures as text; ``profile/web/texts.ts`` writes them in the same way, to the letter."""

import math
from typing import Final

from dashboard.server.numbers import count, file_size

NONE: Final = "–"


def digits(value: float) -> str:
    """A number with four significant digits at most, and in millions and more where it is that large."""
    for unit, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= scale:
            return f"{digits(value / scale)} {unit}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value == 0 or abs(value) >= 1e-4 else f"{value:.2e}"


def duration(ns: float | None) -> str:
    """Nanoseconds in the unit that fits."""
    if ns is None or not math.isfinite(ns):
        return NONE
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def percent(value: float | None) -> str:
    """A share that is in percent already."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1f}%"


def size(value: float | None) -> str:
    """Bytes."""
    if value is None or not math.isfinite(value):
        return NONE
    return file_size(int(value)) if value >= 0 else "-" + file_size(int(-value))


def of_unit(value: float, unit: str) -> str:
    """A metric's value in its unit (`profiler.analysis.metrics.Unit`)."""
    match unit:
        case "ns":
            return duration(value)
        case "percent":
            return percent(value)
        case "bytes":
            return size(value)
        case _:
            return count(int(value)) if float(value).is_integer() else digits(value)
