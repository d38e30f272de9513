"""Histograms as lines: stair heights over their buckets, all of a chart on one scale; pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.histograms.buckets import (
    FINEST_SHARE,
    Cleaned,
    join_narrow,
    outline,
    rebin,
    span,
    stairs,
    typical_width,
)
from stepscope.dashboard.panels.histograms.moments import ChartSettings

Floats = NDArray[np.float64]

DECADES: Final = 9
"""Decades that a logarithmic scale shows below the maximum; lower heights are drawn at its foot."""


@dataclass(frozen=True)
class Shape:
    """One histogram as a line."""

    x: Floats
    y: Floats
    """As drawn: heights, or the result of `log_heights` for them."""
    counts: Floats
    """Count per stair: stair i lies between points 2i + 1 and 2i + 2."""
    total: float

    @property
    def needle(self) -> bool:
        """Whether all values are equal, so that the outline has no interior to fill."""
        return len(self.x) > 0 and self.x[0] == self.x[-1]


@dataclass(frozen=True)
class Shapes:
    """The histograms of one chart."""

    shapes: tuple[Shape, ...]
    low: float
    high: float
    """End of the range of the histograms, which begins at ``low``."""
    foot: float
    """The height drawn as 1 on a logarithmic scale; 0 on a linear one."""

    @property
    def tallest(self) -> float:
        """The maximum y; 0 if nothing is drawn."""
        return max((float(shape.y.max()) for shape in self.shapes if len(shape.y)), default=0.0)


def make_shapes(cleaned: Sequence[Cleaned], settings: ChartSettings) -> Shapes:
    """Return the outlines of histograms on one scale.

    Counts are heights per typical bucket width, so that equal areas are equal counts regardless of the buckets'
    widths. Densities are fractions of the histogram's values per unit of x, so that every area is 1.

    Args:
        cleaned: the buckets.
        settings: bins, heights and scale.
    """
    low, high = span([c.buckets for c in cleaned], settings.reach)
    finest = (high - low) * FINEST_SHARE
    if settings.bins == "even":
        edges = np.linspace(low, high, settings.bin_count + 1)
        drawn = [_even(c.buckets, edges) for c in cleaned]
    else:
        drawn = [join_narrow(c.buckets, finest) for c in cleaned]
    typical = typical_width(drawn, finest)
    lines = []
    for buckets in drawn:
        total = float(buckets[:, 2].sum())
        x, y = outline(buckets, _unit(typical, total, settings), finest)
        # The density of a bucket of almost no width exceeds the range of a float.
        lines.append((x, np.minimum(y, np.finfo(np.float64).max), stairs(buckets)[:, 2], total))
    heights = [y for _, y, _, _ in lines]
    foot = foot_of(heights) if settings.log else 0.0
    shapes = tuple(Shape(x, log_heights(y, foot) if foot else y, counts, total) for x, y, counts, total in lines)
    return Shapes(shapes, low, high, foot)


def _unit(typical: float, total: float, settings: ChartSettings) -> float:
    """Return the factor for a count divided by its bucket's width."""
    match settings.height:
        case "count":
            return typical
        case "density":
            return 1.0 / total if total > 0 else 0.0
        case _:
            assert_never(settings.height)


def foot_of(heights: Sequence[Floats]) -> float:
    """Return the height at which a logarithmic scale begins: the minimum within `DECADES` of the maximum, or 0."""
    positive = np.concatenate([[], *(y[y > 0] for y in heights)])
    if len(positive) == 0:
        return 0.0
    return float(max(positive.min(), positive.max() * 10.0**-DECADES))


def log_heights(heights: Floats, foot: float) -> Floats:
    """Return 0 for 0, else 1 + log10(height / foot), at least 1: an empty bucket differs from a single value."""
    drawn = np.zeros_like(heights)
    filled = heights > 0
    drawn[filled] = 1.0 + np.log10(np.maximum(heights[filled] / foot, 1.0))
    return drawn


def log_ticks(foot: float, tallest: float) -> dict[str, Any]:
    """Return the ticks of an axis with `log_heights`: 0 and powers of ten.

    Args:
        foot: the height drawn as 1.
        tallest: the maximum position on the axis.
    """
    first, last = ceil(log10(foot) - 1e-9), floor(log10(foot) + tallest - 1 + 1e-9)
    every = max(1, -(-(last - first + 1) // 6))
    powers = list(range(first, last + 1, every))
    places = [0.0] + [1.0 + power - log10(foot) for power in powers]
    labels = ["0"] + [f"{10**power:g}" if -4 < power < 5 else f"1e{power}" for power in powers]
    return {"tickvals": places, "ticktext": labels}


def _even(buckets: Floats, edges: Floats) -> Floats:
    if len(buckets) == 0:
        return buckets
    return np.column_stack([edges[:-1], edges[1:], rebin(buckets, edges)])
