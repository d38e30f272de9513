"""A group of curves as one line with a band."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.runs.settings import Alignment, BandStatistic, LineStatistic
from stepscope.summary.distinct import distinct_values

Floats = NDArray[np.float64]
MOST_PLACES: Final = 8192
"""Maximum number of places at which a group is computed; more than a screen has pixels across."""
BUCKETS: Final = 200

_T_975: Final = np.array(
    [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
        2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
        2.0452, 2.0423,
    ]
)  # fmt: skip
"""Student's t at 97.5% for 1 to 30 degrees of freedom."""


@dataclass(frozen=True)
class GroupCurve:
    """A group's line, as float64 arrays of equal length; ``low`` and ``high`` are None without a band."""

    x: Floats
    y: Floats
    low: Floats | None
    high: Floats | None
    members: NDArray[np.int32]
    """Number of curves that have a value at each place."""


def group_curve(
    curves: Sequence[tuple[Floats, Floats]], line: LineStatistic, band: BandStatistic, align: Alignment
) -> GroupCurve:
    """Join curves into one.

    "interpolate" evaluates each curve, within its own extent, at the places of all curves by linear interpolation;
    "bucket" divides the whole extent into 200 equal buckets and takes each curve's mean in each bucket. The line is the
    mean, median, minimum or maximum of the values at a place. The band extends from the minimum to the maximum; or,
    around the mean, by one sample standard deviation (with n - 1), one standard error (that divided by the root of n),
    or the 95% confidence interval of the mean (Student's t times the standard error). With one value at a place, its
    width is 0.

    Args:
        curves: x and y of each curve, float64[n]; points that are not finite are left out.
        line: the statistic that the line shows.
        band: the statistic that the band shows.
        align: how curves with different x are aligned.
    """
    usable = [_usable(x, y) for x, y in curves]
    usable = [(x, y) for x, y in usable if len(x)]
    if not usable:
        empty = np.empty(0)
        return GroupCurve(empty, empty, None, None, np.empty(0, np.int32))
    x, table = _interpolated(usable) if align == "interpolate" else _bucketed(usable)
    return _joined(x, table, line, band)


def _usable(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the finite points by ascending x, and only the last of several points at the same x."""
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) > 1 and not bool((np.diff(x) > 0).all()):
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        last = np.append(x[1:] != x[:-1], True)
        x, y = x[last], y[last]
    return x, y


def _interpolated(curves: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    first = curves[0][0]
    if all(len(x) == len(first) and bool((x == first).all()) for x, _ in curves):
        # The usual case, seeds of one script: nothing to interpolate.
        return first, np.stack([y for _, y in curves])
    places = distinct_values(np.concatenate([x for x, _ in curves]))
    if len(places) > MOST_PLACES:
        places = places[np.linspace(0, len(places) - 1, MOST_PLACES).round().astype(np.int64)]
    return places, np.stack([np.interp(places, x, y, left=np.nan, right=np.nan) for x, y in curves])


def _bucketed(curves: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    low = min(float(x[0]) for x, _ in curves)
    high = max(float(x[-1]) for x, _ in curves)
    # Scaled to a quarter if the extent exceeds float64.
    scale = 1.0 if math.isfinite(high - low) else 0.25
    low, high = low * scale, high * scale
    buckets = BUCKETS if high > low else 1
    width = (high - low) / buckets or 1.0
    table = np.full((len(curves), buckets), np.nan)
    for row, (x, y) in zip(table, curves, strict=True):
        bucket = np.minimum(((x * scale - low) / width).astype(np.int64), buckets - 1)
        counts = np.bincount(bucket, minlength=buckets)
        filled = counts > 0
        row[filled] = np.bincount(bucket, y, buckets)[filled] / counts[filled]
    some = np.isfinite(table).any(axis=0)
    centers = low + (np.arange(buckets) + 0.5) * width if buckets > 1 else np.array([low])
    return centers[some] / scale, table[:, some]


def _joined(x: Floats, table: Floats, line: LineStatistic, band: BandStatistic) -> GroupCurve:
    present = np.isfinite(table)
    n = present.sum(axis=0)
    whole = bool(present.all())
    mean = np.where(present, table, 0.0).sum(axis=0) / n
    match line:
        case "mean":
            y = mean
        case "median":
            y = np.median(table, axis=0) if whole else np.nanmedian(table, axis=0)
        case "min":
            y = np.nanmin(table, axis=0)
        case "max":
            y = np.nanmax(table, axis=0)
        case _:
            assert_never(line)
    if band == "none":
        return GroupCurve(x, y, None, None, n.astype(np.int32))
    if band == "minmax":
        return GroupCurve(x, y, np.nanmin(table, axis=0), np.nanmax(table, axis=0), n.astype(np.int32))
    squares = np.where(present, (table - mean) ** 2, 0.0).sum(axis=0)
    width = np.sqrt(squares / np.maximum(n - 1, 1))
    match band:
        case "std":
            pass
        case "stderr":
            width = width / np.sqrt(n)
        case "ci95":
            width = width / np.sqrt(n) * student_t(n - 1)
        case _:
            assert_never(band)
    return GroupCurve(x, y, mean - width, mean + width, n.astype(np.int32))


def student_t(freedom: NDArray[np.int64]) -> Floats:
    """Return Student's t at 97.5% by degrees of freedom, float64[n]; above 30 by Fisher's expansion, within 0.001."""
    exact = _T_975[np.clip(freedom, 1, len(_T_975)) - 1]
    z = 1.959964
    nu = np.maximum(freedom, 1).astype(np.float64)
    beyond = z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
    return np.where(freedom <= len(_T_975), exact, beyond)
