"""Quality of a projection: whether neighbors in it are neighbors in the data, and vice versa."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import bounded, row_blocks
from stepscope.summary.kernels import kernel

Metric = Literal["euclidean", "cosine"]
EXACT_POINTS: Final = 20_000
"""Maximum number of points to rate all of them; with more, only a sample is rated."""
SAMPLE: Final = 5_000
_DISTANCES: Final = 1 << 21
_FEWEST_ROWS: Final = 32
_MOST_ROWS: Final = 512
_TILE: Final = 2048


@dataclass(frozen=True)
class Quality:
    """Preservation of neighborhoods; 1 is perfect. The arrays are float32 [n], NaN for points not sampled."""

    trustworthiness: float
    """Reduced by points that are neighbors in the projection, but far apart in the data."""
    continuity: float
    """Reduced by points that are neighbors in the data, but far apart in the projection."""
    hit: float | None
    """Fraction of the neighbors in the projection with the point's own label; None without labels."""
    neighbors_kept: float
    """Fraction of the nearest neighbors in the data that are nearest neighbors in the projection."""
    trustworthiness_each: NDArray[np.float32]
    continuity_each: NDArray[np.float32]
    hit_each: NDArray[np.float32] | None
    """Also NaN for points without a label."""
    neighbors_kept_each: NDArray[np.float32]
    count: int
    """Number of neighbors compared: as requested, but fewer than half the points; 0 for one or two points."""
    sampled: int
    """Number of rated points, all or a sample; each was compared with all others."""


def quality(
    points: Points,
    coordinates: NDArray[np.float32],
    count: int = 12,
    *,
    metric: Metric = "euclidean",
    labels: NDArray[np.int32] | None = None,
    sample: int | None = None,
    seed: int = 0,
    reported: Callable[[int, int], None] | None = None,
) -> Quality:
    """Compare the ``count`` nearest neighbors of points in the data and in the projection.

    ``T = 1 - 2 / (m k (2 n - 3 k - 1)) sum_i sum_j max(0, r(i, j) - k)`` over the k neighbors j of each rated point i
    in the projection, with the rank r of j by its distance from i in the data; m points are rated. Continuity is the
    same with data and projection exchanged. A point's own value uses only its own sum, so that the total is the mean.
    Sources: Venna and Kaski 2001, "Neighborhood Preservation in Nonlinear Projection Methods"; trustworthiness and
    continuity match ``sklearn.manifold.trustworthiness`` except for points at equal distances, which are ordered by
    row, in data and picture. Neighborhood hit: Paulovich et al. 2008,
    "Least Square Projection".

    Args:
        points: float32[n, d].
        coordinates: float32[n, k], the picture; its distances are Euclidean.
        count: k, limited to less than n / 2, as ranks are meaningless beyond that.
        metric: metric of the data.
        labels: int32[n], -1 where unknown.
        sample: number of points to rate; by default all up to 20,000, else 5,000.
        seed: seed of the sample.
        reported: called after each block with the points rated so far and in total; an exception stops it.

    Raises:
        ValueError: the shapes do not match, or ``count`` is below 1.
    """
    n = len(points)
    if len(coordinates) != n or (labels is not None and len(labels) != n):
        raise ValueError(
            f"{n} points, but {len(coordinates)} in the projection; expected equal numbers of points and labels"
        )
    if count < 1:
        raise ValueError(f"count is {count}; expected at least 1")
    rated = _rated(n, sample, seed)
    k = min(count, max((n - 1) // 2, 0))
    if k == 0:
        return _whole(n, rated, labels)
    space, picture = _Space(bounded(points), metric), _Space(bounded(coordinates), "euclidean")
    near = np.empty((len(rated), k), np.int64)
    trusted, continuous, kept = (np.empty(len(rated)) for _ in range(3))
    done = 0
    for rows in _blocks(len(rated), n):
        own = rated[rows]
        apart, seen_apart = space.distances(own), picture.distances(own)
        neighbors, near[rows] = _nearest(apart, own, k), _nearest(seen_apart, own, k)
        trusted[rows] = _share(_ranks(apart, own, near[rows]), n, k)
        continuous[rows] = _share(_ranks(seen_apart, own, neighbors), n, k)
        kept[rows] = (near[rows][:, :, None] == neighbors[:, None, :]).sum(axis=(1, 2)) / k
        # Freed before those of the next block are created: they are the largest objects here.
        del apart, seen_apart
        done += len(own)
        if reported is not None:
            reported(done, len(rated))
    hits = None if labels is None else _hits(labels, rated, near)
    known = None if hits is None else hits[np.isfinite(hits)]
    return Quality(
        trustworthiness=float(trusted.mean()),
        continuity=float(continuous.mean()),
        hit=None if known is None or not len(known) else float(known.mean()),
        neighbors_kept=float(kept.mean()),
        trustworthiness_each=_spread(trusted, rated, n),
        continuity_each=_spread(continuous, rated, n),
        hit_each=None if hits is None else _spread(hits, rated, n),
        neighbors_kept_each=_spread(kept, rated, n),
        count=k,
        sampled=len(rated),
    )


def _rated(n: int, sample: int | None, seed: int) -> NDArray[np.int64]:
    wanted = (n if n <= EXACT_POINTS else SAMPLE) if sample is None else max(sample, 1)
    if wanted >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, wanted, replace=False))


def _blocks(rated: int, n: int) -> Iterator[slice]:
    rows = min(max(_DISTANCES // n, _FEWEST_ROWS), _MOST_ROWS)
    return row_blocks(rated, 1, values=rows, fewest=1)


def _whole(n: int, rated: NDArray[np.int64], labels: NDArray[np.int32] | None) -> Quality:
    """Return the quality for so few points that any picture preserves their neighbors."""
    ones = _spread(np.ones(len(rated)), rated, n)
    hits = None if labels is None else np.full(n, np.nan, np.float32)
    return Quality(1.0, 1.0, None, 1.0, ones, ones.copy(), hits, ones.copy(), 0, len(rated))


def _spread(values: NDArray[np.float64], rated: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    out = np.full(n, np.nan, np.float32)
    out[rated] = values
    return out


def _share(ranks: NDArray[np.int64], n: int, k: int) -> NDArray[np.float64]:
    return np.asarray(1 - np.maximum(ranks - k, 0).sum(axis=1) * (2.0 / (k * (2.0 * n - 3.0 * k - 1.0))))


def _hits(labels: NDArray[np.int32], rated: NDArray[np.int64], near: NDArray[np.int64]) -> NDArray[np.float64]:
    own = labels[rated]
    shares = (labels[near] == own[:, None]).mean(axis=1)
    return np.where(own >= 0, shares, np.nan)


@dataclass(frozen=True)
class _Space:
    """Points and their metric."""

    points: Points
    metric: Metric

    def distances(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return distances of some points from all, float32[len(rows), n], with the same ties as in scikit-learn.

        The other points are converted to float64 one tile at a time, so that they are never copied as a whole.
        """
        own = self._taken(self.points[rows])
        squares = np.einsum("ij,ij->i", own, own)
        out = np.empty((len(rows), len(self.points)), np.float32)
        for tile in row_blocks(*self.points.shape, values=0, fewest=_TILE):
            others = self._taken(self.points[tile])
            found = own @ others.T
            match self.metric:
                case "euclidean":
                    found *= -2
                    found += squares[:, None]
                    found += np.einsum("ij,ij->i", others, others)
                    np.maximum(found, 0, out=found)
                    out[:, tile] = np.sqrt(found, out=found)
                case "cosine":
                    out[:, tile] = np.maximum(1 - found, 0)
                case _:
                    assert_never(self.metric)
        return out

    def _taken(self, points: Points) -> NDArray[np.float64]:
        taken = points.astype(np.float64)
        if self.metric == "cosine":
            lengths = np.linalg.norm(taken, axis=1, keepdims=True)
            taken /= np.where(lengths > 0, lengths, 1)
        return taken


def _nearest(distances: NDArray[np.float32], own: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    found = np.empty((len(own), k), np.int64)
    _nearest_of(distances, own, found)
    return found


def _ranks(distances: NDArray[np.float32], own: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of the distance of each of ``others`` from its point, 1 for the nearest of all other points.

    Ranks are counted, which is much faster than sorting.
    """
    distances[np.arange(len(own)), own] = np.inf
    ranks = np.empty(others.shape, np.int64)
    _count_nearer(distances, others, ranks)
    return ranks


@kernel()
def _nearest_of(distances: NDArray[Any], own: NDArray[Any], found: NDArray[Any]) -> None:
    """Write the columns of the k smallest values of each row but its own, the smallest first; equal ones by column."""
    k = found.shape[1]
    best = np.empty(k, distances.dtype)
    for row in range(len(own)):
        best[:] = np.inf
        found[row] = -1
        for column in range(distances.shape[1]):
            value = distances[row, column]
            if column == own[row] or (value >= best[k - 1] and found[row, k - 1] >= 0):
                continue
            at = k - 1
            while at > 0 and (found[row, at - 1] < 0 or best[at - 1] > value):
                best[at], found[row, at] = best[at - 1], found[row, at - 1]
                at -= 1
            best[at], found[row, at] = value, column


@kernel()
def _count_nearer(distances: NDArray[Any], others: NDArray[Any], ranks: NDArray[Any]) -> None:
    """Write 1 + the number of distances that are smaller, or equal and in an earlier column."""
    for row in range(others.shape[0]):
        values = distances[row]
        for at in range(others.shape[1]):
            other = others[row, at]
            limit = values[other]
            nearer = np.int32(1)
            for column in range(other):
                nearer += np.int32(values[column] <= limit)
            for column in range(other + 1, len(values)):
                nearer += np.int32(values[column] < limit)
            ranks[row, at] = nearer
