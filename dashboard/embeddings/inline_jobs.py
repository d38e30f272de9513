"""Fast projections, computed by NumPy in threads of the server without blocking others."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.custom_axes import CustomAxis, along, directions_of
from stepscope.dashboard.projections.pca import Pca, pca, projected
from stepscope.dashboard.projections.random_axes import random_projection

MOST_FITTED: Final = 200_000
"""Maximum number of points, over all steps, used to compute common components."""
Pictures = dict[int, NDArray[np.float32]]
PointReaders = Sequence[Callable[[], Points]]
"""One per picture, so that only one set of points has to be in memory at a time."""


def pca_pictures(readers: PointReaders, components: int) -> tuple[Pictures, dict[str, Any], tuple[str, ...]]:
    """Return pictures on common components, facts about the components, and notes.

    Several pictures are fitted together, on a subset of the points if there are many, so that points keep their places.
    """
    if len(readers) == 1:
        found = pca(readers[0](), components)
        notes = () if found.exact else ("Components are approximate, as there are many columns and many rows.",)
        return {0: found.coordinates}, _facts(found), notes
    share = MOST_FITTED // len(readers)
    samples = []
    for read in readers:
        points = read()
        chosen = np.linspace(0, len(points) - 1, min(len(points), share)).round().astype(np.int64)
        samples.append(points[chosen])
    fitted = pca(np.concatenate(samples), components)
    pictures = {index: projected(read(), fitted.mean, fitted.axes) for index, read in enumerate(readers)}
    return pictures, _facts(fitted), ("Components are those of all steps together.",)


def _facts(found: Pca) -> dict[str, Any]:
    return {
        "components": {"variances": found.variances.tolist(), "ratios": found.ratios.tolist(), "exact": found.exact}
    }


def random_pictures(readers: PointReaders, dimensions: int, seed: int) -> Pictures:
    """Return pictures on the same random axes."""
    return {index: random_projection(read(), dimensions, seed=seed) for index, read in enumerate(readers)}


def custom_pictures(
    readers: PointReaders, base: Points, axes: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
) -> Pictures:
    """Return pictures on axes between means of points of ``base``; the axes are the same for all pictures."""
    directions = directions_of(base, [CustomAxis(left, right) for left, right in axes])
    return {index: along(read(), directions) for index, read in enumerate(readers)}


def first_picture(points: Points, dimensions: int) -> NDArray[np.float32]:
    """Return the initial picture of an iterative projection, for display in the meantime: the first components."""
    return pca(points, dimensions).coordinates
