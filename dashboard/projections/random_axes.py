"""Projection onto random directions: any visible structure is in the data, not created by a method."""

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.pca import mean_of, projected


def random_projection(points: Points, components: int = 3, *, seed: int = 0) -> NDArray[np.float32]:
    """Return ``(X - m) R'`` with independent Gaussian ``R``, of variance ``1 / components``.

    Squared distances are preserved on average (Johnson and Lindenstrauss 1984). Source of the scale:
    ``sklearn.random_projection.GaussianRandomProjection``.

    Args:
        points: float32[n, d].
        components: k, at least 1.
        seed: seed of the directions, which depend only on it, ``components`` and ``d``.

    Returns:
        float32[n, k], centered at the origin.

    Raises:
        ValueError: ``components`` is below 1.
    """
    if components < 1:
        raise ValueError(f"components is {components}; expected at least 1")
    axes = np.random.default_rng(seed).normal(0, components**-0.5, (components, points.shape[1]))
    return projected(points, mean_of(points), axes)
