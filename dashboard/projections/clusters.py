"""Clusters of points, by scikit-learn's methods, with limits for many points and dimensions.

scikit-learn is an extra and is imported on demand: it is the slowest and largest of all imports, and the server, which
only needs the notes on a method, works without it.
"""

import warnings
from typing import Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import bounded
from stepscope.dashboard.projections.preparation import reduced
from stepscope.summary.distinct import numbered
from stepscope.summary.full_install import SCIKIT_LEARN, check_extra, needs_extra

Method = Literal["kmeans", "hdbscan"]
WIDEST: Final[dict[Method, int]] = {"kmeans": 256, "hdbscan": 16}
"""Maximum dimensions; points with more are reduced by PCA."""
EXACT_POINTS: Final = 20_000
"""Number of points above which k-means uses batches."""
DENSITY_POINTS: Final = 25_000
"""Number of points above which HDBSCAN, whose time grows quadratically, uses a sample."""
_BATCH: Final = 4096
_STARTS: Final = 4


def notes(method: Method, count: int, dimensions: int) -> tuple[str, ...]:
    """Return sentences for the user about approximations of the method for points of this shape."""
    said = []
    if dimensions > WIDEST[method]:
        said.append(f"The {dimensions} dimensions were reduced to {WIDEST[method]} by PCA first.")
    match method:
        case "kmeans":
            if count > EXACT_POINTS:
                said.append("Centers were found on batches of points, so they are approximate.")
        case "hdbscan":
            if count > DENSITY_POINTS:
                said.append(
                    f"Clusters were found on {DENSITY_POINTS:,} of {count:,} points; each other point joins the"
                    " cluster of its nearest one among those."
                )
        case _:
            assert_never(method)
    return tuple(said)


def check_installed() -> None:
    """Raise NotInstalledError if scikit-learn is not installed."""
    check_extra("Finding clusters", "sklearn", SCIKIT_LEARN)


def kmeans(points: Points, count: int = 8, seed: int = 0) -> NDArray[np.int32]:
    """Return clusters around ``count`` centers that minimize the squared distances from them.

    Lloyd's algorithm from k-means++, the best of 4 starts; in batches (Sculley 2010) for more than 20,000 points.

    Args:
        points: float32[n, d].
        count: number of centers, limited to the number of points.
        seed: seed of the starts.

    Returns:
        int32[n], 0 for the largest cluster. Fewer clusters than requested if there are fewer distinct points.

    Raises:
        NotInstalledError: scikit-learn is not installed.
        ValueError: ``count`` is below 1.
    """
    with needs_extra("Finding clusters", SCIKIT_LEARN):
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from sklearn.exceptions import ConvergenceWarning

    if count < 1:
        raise ValueError(f"count is {count}; expected at least 1")
    if not len(points) or not points.shape[1]:
        return np.zeros(len(points), np.int32)
    taken = reduced(bounded(points), WIDEST["kmeans"], seed=seed)
    count = min(count, _different(taken, count))
    if len(taken) <= EXACT_POINTS:
        method = KMeans(count, n_init=_STARTS, random_state=seed)
    else:
        method = MiniBatchKMeans(count, n_init=_STARTS, batch_size=_BATCH, random_state=seed)
    with warnings.catch_warnings():
        # If points differ by less than the rounding of far larger ones, fewer clusters are found; that is all.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _by_size(method.fit_predict(taken))


def hdbscan(
    points: Points, minimum_size: int = 15, minimum_samples: int | None = None, *, seed: int = 0
) -> NDArray[np.int32]:
    """Return clusters of any shape and number: regions where points are dense.

    Campello, Moulavi, Sander 2013, "Density-Based Clustering Based on Hierarchical Density Estimates".

    Args:
        points: float32[n, d].
        minimum_size: minimum number of points in a cluster, at least 2.
        minimum_samples: number of neighbors, including itself, that make a point dense; ``minimum_size`` by default.
        seed: seed of the sample, if there are many points.

    Returns:
        int32[n], 0 for the largest cluster, -1 for points in none.

    Raises:
        NotInstalledError: scikit-learn is not installed.
        ValueError: ``minimum_size`` is below 2, or ``minimum_samples`` below 1.
    """
    with needs_extra("Finding clusters", SCIKIT_LEARN):
        from sklearn.neighbors import NearestNeighbors

    if minimum_size < 2:
        raise ValueError(f"minimum_size is {minimum_size}; expected at least 2")
    if minimum_samples is not None and minimum_samples < 1:
        raise ValueError(f"minimum_samples is {minimum_samples}; expected at least 1")
    n = len(points)
    if n < minimum_size or not points.shape[1]:
        return np.full(n, -1, np.int32)
    taken = reduced(bounded(points), WIDEST["hdbscan"], seed=seed)
    if n <= DENSITY_POINTS:
        return _by_size(_dense(taken, minimum_size, minimum_samples))
    chosen = np.sort(np.random.default_rng(seed).choice(n, DENSITY_POINTS, replace=False))
    # A cluster has proportionally fewer points in the sample.
    size = max(2, round(minimum_size * DENSITY_POINTS / n))
    found = _dense(taken[chosen], size, minimum_samples)
    nearest = NearestNeighbors(n_neighbors=1).fit(taken[chosen]).kneighbors(taken, return_distance=False)
    return _by_size(found[nearest[:, 0]])


def _dense(points: Points, minimum_size: int, minimum_samples: int | None) -> NDArray[np.int64]:
    from sklearn.cluster import HDBSCAN

    samples = min(minimum_samples or minimum_size, len(points))
    found = HDBSCAN(min_cluster_size=minimum_size, min_samples=samples, copy=True).fit_predict(points)
    return np.asarray(found, np.int64)


def _different(points: Points, most: int) -> int:
    """Return the number of distinct points, at most ``most``."""
    seen: set[bytes] = set()
    for point in points:
        # -0 and 0 are the same.
        seen.add((point + np.float32(0)).tobytes())
        if len(seen) >= most:
            break
    return len(seen)


def _by_size(found: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return clusters numbered by size, the largest 0; among equal sizes, the one of the first point comes first."""
    labels = np.full(len(found), -1, np.int32)
    inside = np.flatnonzero(found >= 0)
    if len(inside):
        _, first, number = numbered(found[inside])
        order = np.lexsort((first, -np.bincount(number)))
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        labels[inside] = numbers[number]
    return labels
