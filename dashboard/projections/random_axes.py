"""Projection onto random directions: what is seen in it is in the data, not made by a method."""

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.pca import mean_of, projected


def random_projection(points: Points, components: int = 3, *, seed: int = 0) -> NDArray[np.float32]:
    """``(X - m) R'`` with independent Gaussian ``R``, of variance ``1 / components``.

    Squared distances are kept on average (Johnson and Lindenstrauss 1984). Source of the scale:
    ``sklearn.random_projection.GaussianRandomProjection``.

    Args:
        points: float32[n, d].
        components: k, at least 1.
        seed: of the directions, which depend on it, on ``components`` and on ``d`` alone.

    Returns:
        float32[n, k], around the origin.

    Raises:
        ValueError: ``components`` is below 1.
    """
    if components < 1:
        raise ValueError(f"components is {components}; expected at least 1")
    axes = np.random.default_rng(seed).normal(0, components**-0.5, (components, points.shape[1]))
    return projected(points, mean_of(points), axes)
