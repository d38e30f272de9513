"""What is done to the points before they are projected."""

import numpy as np

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import as_float32, row_blocks
from stepscope.dashboard.projections.pca import mean_of, pca

_ROUNDING = 1e-7
"""Of the length of a row: how near to the centroid a row of float32 numbers cannot be told from it."""


def sphered(points: Points) -> Points:
    """Return the points on a sphere around their centroid, as the Embedding Projector's "Spherize data" puts them.

    ``x' = (x - c) / |x - c|`` with the centroid ``c``; a row at the centroid stays there, at zero.
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
        # The difference of equal numbers is noise once their mean was rounded; its direction would be one, too.
        apart = away > _ROUNDING * np.maximum(lengths, away)
        apart &= away > 0
        block[~apart] = 0
        block[apart] /= away[apart, None]
        out[rows] = as_float32(block)
    return out


def reduced(points: Points, most_dimensions: int, *, seed: int = 0) -> Points:
    """Return the points with at most so many dimensions, by PCA; the points themselves where they have no more.

    Args:
        points: float32[n, d].
        most_dimensions: at least 1.
        seed: for very wide data, whose components are approximated.

    Returns:
        float32[n, min(d, most_dimensions)].
    """
    if points.shape[1] <= most_dimensions:
        return points
    return pca(points, most_dimensions, seed=seed).coordinates
