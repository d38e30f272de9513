"""Figures as text; ``profile/web/texts.ts`` formats them identically."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from stepscope.dashboard.server.numbers import count, file_size

NONE: Final = "–"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def digits(value: float) -> str:
    """Return a number with at most four significant digits, in millions or more if it is that large."""
    for unit, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= scale:
            return f"{digits(value / scale)} {unit}"
    if abs(_rounded(value)) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value == 0 or abs(value) >= 1e-4 else f"{value:.2e}"


def duration(ns: float | None) -> str:
    """Return nanoseconds as text, in a suitable unit."""
    if ns is None or not math.isfinite(ns):
        return NONE
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # A value that rounds to a thousand is one of the next unit.
        if abs(_rounded(ns)) >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def percent(value: float | None) -> str:
    """Return a percentage as text."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1f}%"


def size(value: float | None) -> str:
    """Return a number of bytes as text."""
    if value is None or not math.isfinite(value):
        return NONE
    return file_size(int(value)) if value >= 0 else "-" + file_size(int(-value))


def of_unit(value: float, unit: str) -> str:
    """Return a metric's value in its unit (`stepscope.profiler.analysis.metrics.Unit`)."""
    match unit:
        case "ns":
            return duration(value)
        case "percent":
            return percent(value)
        case "bytes":
            return size(value)
        case _:
            return count(int(value)) if float(value).is_integer() else digits(value)


_SCOPES: Final = re.compile(r"\(anonymous namespace\)::|\b(?:[A-Za-z_]\w*::)+(?=[A-Za-z_(])")


def short_names(names: Sequence[str]) -> list[str]:
    """Return short names of C++ functions: without return type, namespaces and parameters.

    Other names are unchanged, as are those that would become equal to another.
    """
    short = [_short(name) for name in names]
    times = Counter(short)
    return [name if times[each] > 1 else each for name, each in zip(names, short, strict=True)]


def _short(name: str) -> str:
    words = name.removeprefix("void ")
    if words == name and "<" not in name:
        return name
    words = _SCOPES.sub("", words)
    if words.endswith(")"):
        # Parameters repeat the text between the angle brackets.
        depth = 0
        for place in range(len(words) - 1, -1, -1):
            depth += (words[place] == ")") - (words[place] == "(")
            if depth == 0:
                words = words[:place] or words
                break
    return words.strip() or name


def middle_cut(name: str, tail: int = 14) -> tuple[str, str]:
    """Return a name as a part that may be cut at its end, and the end that stays, which is empty for short names."""
    return (name[:-tail], name[-tail:]) if len(name) > 2 * tail else (name, "")
