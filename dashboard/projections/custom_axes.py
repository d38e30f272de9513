"""Projection onto directions chosen by the user, each defined by the points at its two ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.pca import mean_of, pca, projected

MOST_FITTED: Final = 50_000
"""Maximum number of points used to compute the second direction of a single axis."""


@dataclass(frozen=True)
class CustomAxis:
    """A direction from the mean of some points to the mean of others; an end without rows means all points."""

    left: NDArray[np.int64]
    """Row numbers."""
    right: NDArray[np.int64]
    """Row numbers."""


@dataclass(frozen=True)
class Direction:
    """An axis through the data space."""

    middle: NDArray[np.float64]
    """[d]: the point at coordinate 0."""
    unit: NDArray[np.float64]
    """[d], of length 1; zeros if the axis has no direction."""


def directions_of(points: Points, axes: Sequence[CustomAxis]) -> list[Direction]:
    """Return the directions of axes, from the left end to the right, with 0 halfway between; not orthogonalized.

    For a single axis, a second one is added: the direction orthogonal to it in which the points vary most.
    Source: the Embedding Projector's "Custom" (tensorboard/plugins/projector/vz_projector/
    vz-projector-projections-panel.ts), which omits the length and the middle, so that its axes have no common unit, and
    draws a single axis as a line.

    Args:
        points: float32[n, d].
        axes: one or more.

    Raises:
        ValueError: a row number is not one of the points.
    """
    found = [_between(_mean(points, axis.left), _mean(points, axis.right)) for axis in axes]
    return [*found, _most_varied_besides(points, found[0])] if len(found) == 1 else found


def along(points: Points, directions: Sequence[Direction]) -> NDArray[np.float32]:
    """Return coordinates along each direction, in the unit of the data: float32[n, number of directions]."""
    columns = [projected(points, direction.middle, direction.unit[None]) for direction in directions]
    return np.ascontiguousarray(np.hstack(columns)) if columns else np.zeros((len(points), 0), np.float32)


def _between(left: NDArray[np.float64], right: NDArray[np.float64]) -> Direction:
    way = right - left
    length = float(np.linalg.norm(way))
    # Means of the same rows differ at most by rounding.
    same = length <= 1e-12 * max(float(np.linalg.norm(left)), float(np.linalg.norm(right)))
    return Direction((left + right) / 2, np.zeros_like(way) if same else way / length)


def _most_varied_besides(points: Points, taken: Direction) -> Direction:
    """Return the first principal component of the points after removing a direction, from a subset if there are
    many.
    """
    chosen = np.linspace(0, len(points) - 1, min(len(points), MOST_FITTED)).round().astype(np.int64)
    some = points[chosen]
    left = some - along(some, [taken]) * taken.unit.astype(np.float32)
    found = pca(left, 1)
    # The remainder that rounding leaves along the removed direction is not a direction of its own.
    unit = found.axes[0] - taken.unit * float(taken.unit @ found.axes[0])
    length = float(np.linalg.norm(unit))
    return Direction(mean_of(points), unit / length if length > 0.5 else np.zeros_like(unit))


def _mean(points: Points, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    if not len(rows):
        return mean_of(points)
    lowest, highest = int(rows.min()), int(rows.max())
    if lowest < 0 or highest >= len(points):
        wrong = lowest if lowest < 0 else highest
        raise ValueError(f"there is no point {wrong}; expected rows 0 to {len(points) - 1}")
    return np.asarray(points[rows].mean(axis=0, dtype=np.float64))
