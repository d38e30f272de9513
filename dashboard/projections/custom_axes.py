"""Projection onto directions that a person names, each by what is at its two ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.projections.base import Points
from dashboard.projections.pca import mean_of, projected


@dataclass(frozen=True)
class CustomAxis:
    """A direction from the mean of some points to the mean of others; no rows at an end stand for all points."""

    left: NDArray[np.int64]
    """Row numbers."""
    right: NDArray[np.int64]
    """Row numbers."""


def project(points: Points, axes: Sequence[CustomAxis]) -> NDArray[np.float32]:
    """Coordinates along each axis, in the unit of the data: 0 halfway between the ends, positive towards the right.

    ``((x - (l + r) / 2) . (r - l)) / |r - l|`` with the means ``l`` and ``r`` of both ends. Axes are not made
    orthogonal. Source: the Embedding Projector's "Custom" (tensorboard/plugins/projector/vz_projector/
    vz-projector-projections-panel.ts), which leaves out the length and the middle, so that its axes have no common
    unit.

    Args:
        points: float32[n, d].
        axes: one or more.

    Returns:
        float32[n, number of axes]; zeros along an axis whose ends have the same mean.

    Raises:
        ValueError: a row number is not one of the points.
    """
    if not axes or not len(points):
        return np.zeros((len(points), len(axes)), np.float32)
    columns = [_along(points, axis) for axis in axes]
    return np.ascontiguousarray(np.hstack(columns))


def _along(points: Points, axis: CustomAxis) -> NDArray[np.float32]:
    left, right = _mean(points, axis.left), _mean(points, axis.right)
    direction = right - left
    length = float(np.linalg.norm(direction))
    # Means of the same rows differ by their rounding at most.
    if length <= 1e-12 * max(float(np.linalg.norm(left)), float(np.linalg.norm(right))):
        return np.zeros((len(points), 1), np.float32)
    return projected(points, (left + right) / 2, (direction / length)[None])


def _mean(points: Points, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    if not len(rows):
        return mean_of(points)
    lowest, highest = int(rows.min()), int(rows.max())
    if lowest < 0 or highest >= len(points):
        wrong = lowest if lowest < 0 else highest
        raise ValueError(f"there is no point {wrong}; expected rows 0 to {len(points) - 1}")
    return np.asarray(points[rows].mean(axis=0, dtype=np.float64))
