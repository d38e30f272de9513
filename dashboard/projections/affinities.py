"""Attraction between points in t-SNE: Gaussian weights of their nearest neighbors, made symmetric.

Van der Maaten and Hinton, "Visualizing Data using t-SNE" (2008): the width of the Gaussian around a point is chosen so
that its neighbors have the wanted perplexity, and p_ij = (p_j|i + p_i|j) / 2n. Van der Maaten (2014): only the
3 * perplexity nearest neighbors have a weight.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.neighbor_graph import NeighborGraph
from stepscope.dashboard.projections.parallel import Workers
from stepscope.summary.kernels import kernel

_ROWS: Final = 8192
_TOLERANCE: Final = 1e-5
_TRIES: Final = 100
_LEAST_FACTOR: Final = 1e-7


@dataclass(frozen=True)
class Affinities:
    """A symmetric sparse matrix, stored by rows, whose weights sum to 1."""

    starts: NDArray[np.int64]
    """``[n + 1]``: the start of each row in the other two arrays."""
    columns: NDArray[np.int32]
    weights: NDArray[np.float32]

    @property
    def entropy(self) -> float:
        """The sum of p log p."""
        total = 0.0
        for begin in range(0, len(self.weights), 1 << 20):
            some = self.weights[begin : begin + (1 << 20)].astype(np.float64)
            total += float((some * np.log(some, where=some > 0, out=np.zeros_like(some))).sum())
        return total


Steps = Generator[tuple[int, int], None, Affinities]


def affinity_steps(graph: NeighborGraph, perplexity: float, workers: Workers, *, cosine: bool = False) -> Steps:
    """Compute the affinities of a graph in pieces; after each, yield the number of finished rows and of all rows.

    Args:
        graph: nearest neighbors, whose arrays are reused for the affinities, so that both never exist at once; it must
            not be used afterwards.
        perplexity: the wanted effective number of neighbors.
        workers: threads.
        cosine: whether distances are 1 - cos, which is half the squared distance on the unit sphere; otherwise they
            are squared.
    """
    rows, weights = graph.rows, graph.distances
    n = len(rows)
    if not cosine:
        np.square(weights, out=weights)
    goal = np.log(max(perplexity, 1.0))
    for begin in range(0, n, _ROWS):
        end = min(begin + _ROWS, n)
        _widths_of(weights[begin:end], float(goal), workers)
        yield end // 2, n
    sizes = np.zeros(n + 1, np.int64)
    for begin in range(0, n, _ROWS):
        _count(rows, sizes, begin, min(begin + _ROWS, n))
        yield (n + begin // 2) // 2, n
    others = np.cumsum(sizes)
    other_columns, other_weights = np.empty(others[-1], np.int32), np.empty(others[-1], np.float32)
    free = others[:-1].copy()
    for begin in range(0, n, _ROWS):
        _merge(rows, weights, free, other_columns, other_weights, begin, min(begin + _ROWS, n))
        yield (n + n // 2 + begin // 2) // 2, n
    own = rows.shape[1]
    starts = others + own * np.arange(n + 1, dtype=np.int64)
    for values, more in ((rows, other_columns), (weights, other_weights)):
        # In place: large arrays grow without being copied.
        values.resize(starts[-1], refcheck=False)
        _insert(values, more, others, own)
    return Affinities(starts, rows, weights)


def _widths_of(squares: NDArray[np.float32], goal: float, workers: Workers) -> None:
    workers.over(len(squares), lambda begin, end: _widths(squares, goal, begin, end), least=64)


def supervise(affinities: Affinities, labels: NDArray[np.int32], percent: float) -> Affinities:
    """Return weights that pull points of the same label together and release others, as TensorBoard's t-SNE does.

    With o = percent / 100, n points, s points with a point's own label and m with other labels (unlabeled points
    excluded), a weight is multiplied by 1/n if either point has no label, by 1/n + o/s if both labels are equal, and by
    1/n - o/m if they differ (at least 1e-7); then the sum is made 1 again. If m differs between the two
    points, the mean is used, so that weights stay symmetric. Source: TensorBoard's projector, bh_tsne.ts, `costGrad`.

    Args:
        affinities: not modified.
        labels: int32 ``[n]``, -1 for none.
        percent: 0 to 100.
    """
    n = len(labels)
    labeled = labels[labels >= 0]
    counts = np.bincount(labeled, minlength=1).astype(np.float64)
    same = np.clip(1 / n + percent / 100 / np.maximum(counts, 1), 0, 1 - _LEAST_FACTOR)
    others = np.maximum(1 / n - percent / 100 / np.maximum(len(labeled) - counts, 1), _LEAST_FACTOR)
    weights = np.empty_like(affinities.weights)
    total = _supervised(affinities.starts, affinities.columns, affinities.weights, labels, same, others, 1 / n, weights)
    if total > 0:
        weights *= np.float32(1 / total)
    return Affinities(affinities.starts, affinities.columns, weights)


@kernel(error_model="numpy")
def _widths(squares: NDArray[np.float32], goal: float, begin: int, end: int) -> None:
    """Turn squared distances into weights with the sum 1 and the wanted entropy, in nats, by bisection."""
    count = squares.shape[1]
    exponents = np.empty(count)
    for i in range(begin, end):
        # The nearest has the weight 1 before normalization, so the sum is never 0.
        nearest = squares[i].min()
        farthest = np.float64(squares[i].max() - nearest)
        for k in range(count):
            exponents[k] = squares[i, k] - nearest
        # Relative to the farthest, so that a first guess of 1 is never far off.
        beta = 1.0 / farthest if farthest > 0 else 1.0
        low, high = 0.0, np.inf
        total = 1.0
        for _ in range(_TRIES):
            total, weighted = 0.0, 0.0
            for k in range(count):
                weight = np.exp(-exponents[k] * beta)
                total += weight
                weighted += weight * exponents[k]
            excess = np.log(total) + beta * weighted / total - goal
            if abs(excess) <= _TOLERANCE:
                break
            if excess > 0:
                low = beta
                beta = beta * 2 if high == np.inf else (beta + high) / 2
            else:
                high = beta
                beta = (beta + low) / 2
        for k in range(count):
            squares[i, k] = np.exp(-exponents[k] * beta) / total


@kernel()
def _place(row: NDArray[np.int32], wanted: int) -> int:
    """Return the index of a number in a row, or -1. All numbers are compared, which the compiler vectorizes."""
    place = -1
    for k in range(len(row)):
        place = max(place, k if row[k] == wanted else -1)
    return place


@kernel()
def _count(rows: NDArray[np.int32], sizes: NDArray[np.int64], begin: int, end: int) -> None:
    """Add to ``sizes[1 + j]`` the number of these points that have j as neighbor without being a neighbor of j."""
    for i in range(begin, end):
        for k in range(rows.shape[1]):
            j = rows[i, k]
            if _place(rows[j], i) < 0:
                sizes[j + 1] += 1


@kernel()
def _merge(
    rows: NDArray[np.int32],
    weights: NDArray[np.float32],
    free: NDArray[np.int64],
    other_columns: NDArray[np.int32],
    other_weights: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Make the weights symmetric in place; weights of one-way neighbors are also added to the other point."""
    half = 0.5 / len(rows)
    for i in range(begin, end):
        for k in range(rows.shape[1]):
            j = rows[i, k]
            place = _place(rows[j], i)
            if place < 0:
                weight = weights[i, k] * half
                weights[i, k] = weight
                other_columns[free[j]], other_weights[free[j]] = i, weight
                free[j] += 1
            elif i < j:
                # If two points are neighbors of each other, the first in line sets both weights.
                both = (np.float64(weights[i, k]) + weights[j, place]) * half
                weights[i, k] = both
                weights[j, place] = both


@kernel()
def _insert(values: NDArray[Any], others: NDArray[Any], starts: NDArray[np.int64], own: int) -> None:
    """Append the others of each row, which begin at ``starts``, to its ``own`` values, of which the array is full."""
    for i in range(len(starts) - 2, -1, -1):
        at = own * (i + 1) + starts[i + 1]
        for other in range(starts[i + 1] - 1, starts[i] - 1, -1):
            at -= 1
            values[at] = others[other]
        for k in range(own * (i + 1) - 1, own * i - 1, -1):
            at -= 1
            values[at] = values[k]


@kernel()
def _supervised(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    labels: NDArray[np.int32],
    same: NDArray[np.float64],
    others: NDArray[np.float64],
    unlabeled: float,
    out: NDArray[np.float32],
) -> float:
    """Write weights times their factors, and return the sum."""
    total = 0.0
    for i in range(len(labels)):
        own = labels[i]
        for k in range(starts[i], starts[i + 1]):
            other = labels[columns[k]]
            if own < 0 or other < 0:
                factor = unlabeled
            elif own == other:
                factor = same[own]
            else:
                factor = (others[own] + others[other]) / 2
            # In units of 1/n, as the small numbers of many points would leave the range of single precision.
            out[k] = weights[k] * (factor / unlabeled)
            total += out[k]
    return total
