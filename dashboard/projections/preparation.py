"""Preparation of points before projection."""

import numpy as np

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import as_float32, row_blocks
from stepscope.dashboard.projections.pca import mean_of, pca

_ROUNDING = 1e-7
"""Fraction of a row's length: a float32 row that is this close to the centroid cannot be told from it."""


def sphered(points: Points) -> Points:
    """Return the points on a sphere around their centroid, as in the Embedding Projector's "Spherize data".

    ``x' = (x - c) / |x - c|`` with the centroid ``c``; a row at the centroid becomes zero.
    Source: tensorboard/plugins/projector/vz_projector/data.ts, ``DataSet.normalize``.

    Args:
        points: float32[n, d].

    Returns:
        float32[n, d], a copy; each row has length 1 or 0.
    """
    out = np.zeros(points.shape, np.float32)
    if points.size == 0:
        return out
    centroid = mean_of(points)
    for rows in row_blocks(*points.shape):
        block = points[rows].astype(np.float64)
        lengths = np.linalg.norm(block, axis=1)
        block -= centroid
        away = np.linalg.norm(block, axis=1)
        # The difference between equal numbers is noise if their mean was rounded, and so is its direction.
        apart = away > _ROUNDING * np.maximum(lengths, away)
        apart &= away > 0
        block[~apart] = 0
        block[apart] /= away[apart, None]
        out[rows] = as_float32(block)
    return out


def reduced(points: Points, most_dimensions: int, *, seed: int = 0) -> Points:
    """Return the points reduced to ``most_dimensions`` by PCA, or the points themselves if they have no more.

    Args:
        points: float32[n, d].
        most_dimensions: at least 1.
        seed: seed for very wide data, whose components are approximated.

    Returns:
        float32[n, min(d, most_dimensions)].
    """
    if points.shape[1] <= most_dimensions:
        return points
    return pca(points, most_dimensions, seed=seed).coordinates
