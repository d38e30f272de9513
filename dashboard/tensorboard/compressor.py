"""Percentiles of a histogram, as TensorBoard's distributions show them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

BASIS_POINTS: Final = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
"""Hundredths of a percent: 0, a normal distribution at -1.5, -1, -0.5, 0, 0.5, 1, and 1.5 deviations, and all."""


def compress(buckets: NDArray[np.float64]) -> list[tuple[int, float]]:
    """Return the value below which each of `BASIS_POINTS` of the counts lies.

    Counts are assumed to be spread evenly within a bucket; buckets without counts are skipped. The values are zeros if
    there are no buckets. Source: tensorboard/plugins/distribution/compressor.py, ``compress_histogram``.

    Args:
        buckets: float64[k, 3] of left edge, right edge, count.
    """
    if len(buckets) == 0:
        return [(point, 0.0) for point in BASIS_POINTS]
    lefts, rights, counts = buckets.T
    cumulated = np.cumsum(counts * BASIS_POINTS[-1] / (counts.sum() or 1.0))
    before = np.append(0.0, cumulated[:-1])
    filled = np.flatnonzero(cumulated != before)
    return [(point, _value_at(point, lefts[0], rights, cumulated, before, filled)) for point in BASIS_POINTS]


def _value_at(
    point: int,
    smallest: float,
    rights: NDArray[np.float64],
    cumulated: NDArray[np.float64],
    before: NDArray[np.float64],
    filled: NDArray[np.int64],
) -> float:
    reached = filled[cumulated[filled] > point]
    if len(reached) == 0:
        return float(rights[-1])
    i = int(reached[0])
    low = smallest if i == 0 or before[i] == 0 else max(rights[i - 1], smallest)
    high = min(rights[i], rights[-1])
    share = (point - before[i]) / (cumulated[i] - before[i])
    return float(low + (high - low) * share)
