"""Preparation of histogram buckets for drawing; pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FINEST_SHARE: Final = 1 / 150
"""Fraction of the axis below which buckets are joined: a few pixels of a card."""
STEPS_DRAWN: Final = 50
"""Maximum number of ridges or lines in one chart; more cannot be told apart and are slow."""
COLUMNS_DRAWN: Final = 400
"""Maximum number of columns of a heat map or of bands: about as many as a card has pixels."""
COLUMNS_WIDE: Final = 1200
"""The same for a card of full width."""


@dataclass(frozen=True)
class Cleaned:
    """Buckets that can be drawn."""

    buckets: NDArray[np.float64]
    """float64[k, 3] of left edge, right edge, count: all finite, sorted by left edge."""
    dropped: int
    """Number of buckets left out because an edge or the count is not finite, or the count is negative."""

    @property
    def total(self) -> float:
        """The number of counted values."""
        return float(self.buckets[:, 2].sum())


def clean(buckets: NDArray[np.float64]) -> Cleaned:
    """Leave out what cannot be drawn, swap reversed edges, and sort."""
    usable = np.isfinite(buckets).all(axis=1) & (buckets[:, 2] >= 0)
    kept = buckets[usable]
    edges = np.sort(kept[:, :2], axis=1)
    ordered = np.column_stack([edges, kept[:, 2]])
    if len(ordered) and float(ordered[:, 2].sum()) == 0:
        # Writers store a histogram of nothing as rows of zeros, edges included.
        ordered = ordered[:0]
    return Cleaned(ordered[np.argsort(ordered[:, 0], kind="stable")], int(len(buckets) - len(kept)))


def join_narrow(buckets: NDArray[np.float64], finest: float) -> NDArray[np.float64]:
    """Join neighbors that are too narrow to tell apart; wider buckets stay as written.

    Args:
        buckets: float64[k, 3], as returned by `clean`.
        finest: the minimum visible width.
    """
    if len(buckets) == 0:
        return buckets
    widths = buckets[:, 1] - buckets[:, 0]
    place = np.floor(buckets[:, :2].mean(axis=1) / finest)
    begins = np.ones(len(buckets), np.bool_)
    begins[1:] = (
        (widths[1:] >= finest)
        | (widths[:-1] >= finest)
        | (place[1:] != place[:-1])
        | (buckets[1:, 0] > buckets[:-1, 1])
    )
    starts = np.flatnonzero(begins)
    rights = np.maximum.reduceat(buckets[:, 1], starts)
    return np.column_stack([buckets[starts, 0], rights, np.add.reduceat(buckets[:, 2], starts)])


def typical_width(all_buckets: Sequence[NDArray[np.float64]], finest: float) -> float:
    """Return the median width of buckets, at least ``finest``."""
    widths = [buckets[:, 1] - buckets[:, 0] for buckets in all_buckets if len(buckets)]
    return max(float(np.median(np.concatenate(widths))), finest) if widths else finest


def outline(
    buckets: NDArray[np.float64], typical: float, finest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the stairs over the buckets: level over each bucket, 0 between buckets that do not touch.

    Heights are counts per ``typical`` of width, so that equal areas are equal counts: TensorFlow's and PyTorch's
    buckets get wider with distance from zero, and raw counts would show a valley at zero. Adjacent empty buckets
    share one stair, so that a line has few points. A bucket narrower than ``finest``, including one of zero width
    if all values are equal, is drawn as high as one of that width.

    Args:
        buckets: float64[k, 3], as returned by `clean`.
        typical: the width at which the height equals the count.
        finest: the minimum width.

    Returns:
        x and y of the line, float64, of equal length: bucket i of n lies between points 2i + 1 and 2i + 2, and a point
        at height 0 precedes the first and follows the last.
    """
    steps = stairs(buckets)
    if len(steps) == 0:
        return np.empty(0), np.empty(0)
    x = np.concatenate([steps[:1, 0], steps[:, :2].reshape(-1), steps[-1:, 1]])
    heights = steps[:, 2] * (typical / np.maximum(steps[:, 1] - steps[:, 0], finest))
    y = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return x, y


def stairs(buckets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the buckets, with an empty one in every gap between two, and adjacent empty ones joined.

    Args:
        buckets: float64[k, 3], as `clean` gives them.
    """
    return _without_empty_neighbors(_with_gaps(buckets)) if len(buckets) else buckets


def _with_gaps(buckets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add an empty bucket in every gap between two."""
    after = np.flatnonzero(buckets[1:, 0] > buckets[:-1, 1])
    gaps = np.column_stack([buckets[after, 1], buckets[after + 1, 0], np.zeros(len(after))])
    return np.insert(buckets, after + 1, gaps, axis=0)


def _without_empty_neighbors(buckets: NDArray[np.float64]) -> NDArray[np.float64]:
    empty = buckets[:, 2] == 0
    starts = np.flatnonzero(~empty | ~np.append(False, empty[:-1]))
    ends = np.append(starts[1:], len(buckets)) - 1
    return np.column_stack([buckets[starts, 0], buckets[ends, 1], buckets[starts, 2]])


def span(
    all_buckets: Sequence[NDArray[np.float64]], at_least: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return the range from the minimum to the maximum edge, extended to include ``at_least``; never of zero width."""
    edges = [(float(buckets[:, 0].min()), float(buckets[:, 1].max())) for buckets in all_buckets if len(buckets)]
    if at_least is not None:
        edges.append(at_least)
    if not edges:
        return 0.0, 1.0
    low, high = min(left for left, _ in edges), max(right for _, right in edges)
    if high > low:
        return low, high
    margin = abs(low) * 0.05 or 0.5
    return low - margin, high + margin


def rebin(buckets: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert counts to other buckets: each bucket's count is spread evenly over its width.

    As in TensorBoard's ``histogram_util.ts``. The sum is preserved if ``edges`` cover all buckets.

    Args:
        buckets: float64[k, 3], as `clean` gives them.
        edges: float64[n + 1], ascending.

    Returns:
        float64[n]
    """
    counts = np.zeros(len(edges) - 1)
    if len(buckets) == 0:
        return counts
    lefts, rights, filled = buckets.T
    needles = rights == lefts
    at = np.clip(np.searchsorted(edges, lefts[needles], side="right") - 1, 0, len(counts) - 1)
    np.add.at(counts, at, filled[needles])
    lefts, rights, filled = lefts[~needles], rights[~needles], filled[~needles]
    if len(filled) == 0:
        return counts
    if bool((lefts[1:] >= rights[:-1]).all()):
        # Nearly always, buckets are side by side: counts below an edge are then interpolated, many times faster.
        reached = np.cumsum(filled)
        below = np.column_stack([reached - filled, reached]).reshape(-1)
        counts += np.diff(np.interp(edges, np.column_stack([lefts, rights]).reshape(-1), below))
    else:
        shares = (np.clip(edges[:, None], lefts, rights) - lefts) / (rights - lefts)
        counts += np.diff(shares @ filled)
    return counts


@dataclass(frozen=True)
class Statistics:
    """Statistics of the values in the buckets; NaN if there are none."""

    count: float
    smallest: float
    """Left edge of the first bucket with values."""
    largest: float
    """Right edge of the last bucket with values."""
    mean: float
    """Estimated as if every value lay in the middle of its bucket."""


def statistics(cleaned: Cleaned) -> Statistics:
    """Return the count, edges and estimated mean of a histogram's values."""
    filled = cleaned.buckets[cleaned.buckets[:, 2] > 0]
    if len(filled) == 0:
        return Statistics(0.0, float("nan"), float("nan"), float("nan"))
    lefts, rights, counts = filled.T
    # Halves first: the sum of two large edges may overflow float64. Likewise for the shares.
    shares = counts / counts.max()
    mean = float(((lefts / 2 + rights / 2) * (shares / shares.sum())).sum())
    return Statistics(cleaned.total, float(lefts.min()), float(rights.max()), mean)
