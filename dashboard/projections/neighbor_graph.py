"""The nearest neighbors of every point, exact by blocks or approximate by an inverted file; never n x n in memory."""

import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.neighbor_loops import METRICS, Metric, add_rows, keep, measure
from stepscope.dashboard.projections.parallel import Workers

EXACT_POINTS: Final = 30_000
"""Number of points above which the graph is approximate by default."""
_QUERIES: Final = 512
_CANDIDATES: Final = 2048
_SAMPLE: Final = 256
_TRAINING_ROUNDS: Final = 6
_POINTS_PER_CENTER: Final = 64
_LEAST_PROBED: Final = 8
"""Minimum number of lists searched for a point."""
_WANTED_RECALL: Final = 0.95
_EXACT_SHARE: Final = 4
"""If more than one in this many lists must be searched, searching all of them in order is as fast."""
_DOUBT: Final = 800 * float(np.finfo(np.float32).eps)
"""Squared distances below this fraction of the squared lengths are computed in double precision."""


@dataclass(frozen=True)
class NeighborGraph:
    """The nearest other points of every point, in ascending order of distance."""

    rows: NDArray[np.int32]
    """``[n, k]``; k is less than requested if there are not enough other points."""
    distances: NDArray[np.float32]
    """``[n, k]``, in the metric's own unit; Euclidean distances are not squared."""
    exact: bool
    recall: float | None
    """For an approximate graph, the fraction of true neighbors found, measured on a sample."""


Steps = Generator[tuple[int, int], None, NeighborGraph]
"""Work in small pieces: yields the number of finished rows and of all rows after each, then returns the graph."""


def neighbor_graph(
    points: Points, count: int, metric: Metric = "euclidean", *, approximate: bool | None = None, seed: int = 0
) -> NeighborGraph:
    """Return the ``count`` nearest other points of every point.

    Args:
        points: float32 ``[n, d]``.
        count: neighbors per point, limited to the number of other points.
        metric: the distance measure.
        approximate: whether to search an inverted file; None: above `EXACT_POINTS` points. The graph is exact in any
            case if that is not slower: for few points, and for points without any clusters.
        seed: seed of the inverted file's centers and of the sample for measuring recall.
    """
    steps = neighbor_steps(points, count, metric, approximate=approximate, seed=seed)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            graph: NeighborGraph = end.value
            return graph


def neighbor_steps(
    points: Points,
    count: int,
    metric: Metric = "euclidean",
    *,
    approximate: bool | None = None,
    seed: int = 0,
    workers: Workers | None = None,
) -> Steps:
    """Compute `neighbor_graph` in pieces between which the caller may stop.

    Raises:
        ValueError: ``count`` is less than 1.
    """
    if count < 1:
        raise ValueError(f"The number of neighbors must be at least 1, not {count}.")
    n = len(points)
    count = min(count, n - 1)
    if count < 1:
        empty = (n, 0)
        return NeighborGraph(np.empty(empty, np.int32), np.empty(empty, np.float32), exact=True, recall=None)
    search = _Search(points, metric, count, workers or Workers())
    lists = round(math.sqrt(n))
    if approximate is None:
        approximate = n > EXACT_POINTS
    # Searching nearly all of an inverted file is only a slower way to search everything.
    if approximate and lists >= _EXACT_SHARE * _LEAST_PROBED:
        return (yield from _approximate(search, lists, seed))
    return (yield from _exact(search))


Batches = Callable[[], Iterable[NDArray[np.int32]]]
"""Rows to search, in batches; called again if single precision was not enough."""


@dataclass(frozen=True)
class _Search:
    """A search for neighbors among points."""

    points: Points
    metric: Metric
    count: int
    workers: Workers

    def among(
        self, queries: NDArray[np.int32], batches: Batches, center: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the nearest neighbors of some points among others.

        Args:
            queries: int32 ``[q]``, rows.
            batches: rows to search.
            center: float32 ``[d]``, near the queries: Euclidean distances are computed relative to it, to reduce
                cancellation in the difference of squares.

        Returns:
            Rows int32 and distances float32, both ``[q, count]``, the nearest first.
        """
        rows, values, doubtful = self._kept(queries, batches, center, np.float32)
        if len(doubtful):
            again = self._kept(queries[doubtful], batches, center, np.float64)
            rows[doubtful], values[doubtful] = again[:2]
        metric = METRICS[self.metric]
        self.workers.over(
            len(queries),
            lambda begin, end: measure(self.points, queries, metric, rows, values, begin, end),
            least=16,
        )
        return rows, values

    def _kept(
        self, queries: NDArray[np.int32], batches: Batches, center: NDArray[np.float32], dtype: type[np.floating[Any]]
    ) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.intp]]:
        """Return heaps of rows and values, and the queries that need more than single precision."""
        rows = np.zeros((len(queries), self.count), np.int32)
        values = np.full((len(queries), self.count), np.inf, dtype)
        euclidean = self.metric == "euclidean"
        requested = self._taken(queries, center, dtype)
        farthest = 0.0
        for ids in batches():
            candidates = self._taken(ids, center, dtype)
            add, factor = self._terms(candidates)
            farthest = max(farthest, float(add.max()))
            self._keep(requested @ candidates.T, add, factor, ids, queries, rows, values)
        if not euclidean or dtype is np.float64:
            return rows, values, np.empty(0, np.intp)
        own = np.einsum("ij,ij->i", requested, requested)
        # Rounding errors are relative to the squares, whose difference is the small squared distance.
        return rows, values, np.flatnonzero(values[:, 0] + own < _DOUBT * (own + farthest))

    def _taken(
        self, rows: NDArray[np.int32], center: NDArray[np.float32], dtype: type[np.floating[Any]]
    ) -> NDArray[np.floating[Any]]:
        taken = self.points[rows].astype(dtype, copy=False)
        if self.metric == "euclidean":
            taken -= center
        return taken

    def _terms(self, candidates: NDArray[np.floating[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the term added to a candidate's product, and the factor of the product: less is nearer."""
        match self.metric:
            case "euclidean":
                return np.einsum("ij,ij->i", candidates, candidates), np.full(len(candidates), -2, candidates.dtype)
            case "cosine":
                return np.zeros(len(candidates), candidates.dtype), -_inverse_norms(candidates)
            case "inner":
                return np.zeros(len(candidates), candidates.dtype), np.full(len(candidates), -1, candidates.dtype)
            case _:
                assert_never(self.metric)

    def _keep(self, *arrays: NDArray[Any]) -> None:
        """Put sufficiently near candidates into the heaps; the arrays are those of `keep`."""
        keep_rows: Callable[..., None] = keep
        self.workers.over(len(arrays[0]), lambda begin, end: keep_rows(*arrays, begin, end), least=16)


def _exact(search: _Search) -> Steps:
    n = len(search.points)
    rows, distances = np.empty((n, search.count), np.int32), np.empty((n, search.count), np.float32)
    for begin in range(0, n, _QUERIES):
        some = np.arange(begin, min(begin + _QUERIES, n), dtype=np.int32)
        rows[some], distances[some] = _exactly(search, some)
        yield int(some[-1]) + 1, n
    return NeighborGraph(rows, distances, exact=True, recall=None)


def _exactly(search: _Search, queries: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    n = len(search.points)
    starts = range(0, n, _CANDIDATES)
    return search.among(
        queries,
        lambda: (np.arange(begin, min(begin + _CANDIDATES, n), dtype=np.int32) for begin in starts),
        search.points[queries].mean(axis=0),
    )


def _approximate(search: _Search, lists: int, seed: int) -> Steps:
    """Put points into the list of their nearest center, and search the surrounding lists for the points of each list.

    Yields as `Steps` do.
    """
    points, n = search.points, len(search.points)
    rows, distances = np.empty((n, search.count), np.int32), np.empty((n, search.count), np.float32)
    # For inner products, lists are by direction, as for cosines: large products usually lie in such a direction.
    spherical = search.metric != "euclidean"
    centers = yield from _centers(points, lists, spherical, seed)
    labels = yield from _assigned(points, centers, spherical)
    near = _nearest_centers(centers)
    sample = np.sort(np.random.default_rng(seed).choice(n, min(n, _SAMPLE), replace=False)).astype(np.int32)
    true_rows, true_distances = _exactly(search, sample)
    yield 0, n
    # How many lists, counted outward from a point's own list, hold the true neighbors of the sample.
    ranks = np.argsort(near, axis=1)[labels[sample][:, None], labels[true_rows]]
    probed = max(int(np.quantile(ranks, _WANTED_RECALL)) + 1, _LEAST_PROBED)
    if _EXACT_SHARE * probed > lists:
        return (yield from _exact(search))
    order = np.argsort(labels, kind="stable").astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=lists))])
    done = 0
    for own in range(len(centers)):
        queries = order[bounds[own] : bounds[own + 1]]
        ids = _enough(order, bounds, near[own], probed, search.count)
        for begin in range(0, len(queries), _QUERIES):
            some = queries[begin : begin + _QUERIES]
            rows[some], distances[some] = search.among(some, partial(_cut, ids), centers[own])
            done += len(some)
            yield done, n
    recall = _recall(distances[sample], true_distances, search.metric)
    return NeighborGraph(rows, distances, exact=False, recall=recall)


def _cut(ids: NDArray[np.int32]) -> Iterable[NDArray[np.int32]]:
    return (ids[begin : begin + _CANDIDATES] for begin in range(0, len(ids), _CANDIDATES))


def _enough(
    order: NDArray[np.int32], bounds: NDArray[np.int64], near: NDArray[np.intp], probed: int, count: int
) -> NDArray[np.int32]:
    """Return the rows in the lists around one; more lists than usual if these have fewer rows than requested."""
    sizes = np.cumsum(bounds[near + 1] - bounds[near])
    lists = max(probed, int(np.searchsorted(sizes, count + 1)) + 1)
    return np.concatenate([order[bounds[other] : bounds[other + 1]] for other in near[:lists]])


def _centers(
    points: Points, count: int, spherical: bool, seed: int
) -> Generator[tuple[int, int], None, NDArray[np.float32]]:
    """Run a few rounds of k-means on a sample: the lists need to be near, not optimal."""
    generator = np.random.default_rng(seed)
    n = len(points)
    chosen = generator.choice(n, min(n, count * _POINTS_PER_CENTER), replace=False)
    sample = points[np.sort(chosen)]
    if spherical:
        sample = sample * _inverse_norms(sample)[:, None]
    centers = sample[generator.choice(len(sample), count, replace=False)]
    for _ in range(_TRAINING_ROUNDS):
        labels = _closest(sample, centers)
        sums = np.zeros_like(centers)
        add_rows(sample, labels, sums)
        sizes = np.bincount(labels, minlength=count)
        filled = sizes > 0
        centers[filled] = sums[filled] / sizes[filled, None].astype(np.float32)
        centers[~filled] = sample[generator.choice(len(sample), int((~filled).sum()), replace=False)]
        yield 0, n
    return centers


def _assigned(
    points: Points, centers: NDArray[np.float32], spherical: bool
) -> Generator[tuple[int, int], None, NDArray[np.int32]]:
    """Return the list of each point."""
    labels = np.empty(len(points), np.int32)
    for begin in range(0, len(points), 4 * _CANDIDATES):
        block = points[begin : begin + 4 * _CANDIDATES]
        labels[begin : begin + len(block)] = _closest(
            block * _inverse_norms(block)[:, None] if spherical else block, centers
        )
        yield 0, len(points)
    return labels


def _closest(points: Points, centers: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the nearest center of each point."""
    middle = centers.mean(axis=0)
    shifted = centers - middle
    squares = np.einsum("ij,ij->i", shifted, shifted)
    closest = np.empty(len(points), np.int32)
    for begin in range(0, len(points), _CANDIDATES):
        scores = (points[begin : begin + _CANDIDATES] - middle) @ shifted.T
        scores -= squares / 2
        closest[begin : begin + _CANDIDATES] = scores.argmax(axis=1)
    return closest


def _nearest_centers(centers: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return all centers sorted by their distance from each, itself first."""
    shifted = centers - centers.mean(axis=0)
    squares = np.einsum("ij,ij->i", shifted, shifted)
    distances = squares - 2 * shifted @ shifted.T
    np.fill_diagonal(distances, -np.inf)
    nearest: NDArray[np.intp] = np.argsort(distances, axis=1, kind="stable")
    return nearest


def _recall(found: NDArray[np.float32], true: NDArray[np.float32], metric: Metric) -> float:
    """Return the fraction of found neighbors that are as near as the farthest true neighbor.

    Equal distances count as found.
    """
    limit, slack = true[:, -1:], np.abs(true[:, -1:]) * np.float32(1e-5)
    return float((found >= limit - slack).mean() if metric == "inner" else (found <= limit + slack).mean())


def _inverse_norms(points: NDArray[Any]) -> NDArray[Any]:
    """Return 1 over each row's length, 0 for rows of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    inverse: NDArray[Any] = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    return inverse
