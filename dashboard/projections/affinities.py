"""How much points attract each other in t-SNE: Gaussian weights of their nearest neighbours, made symmetric.

Van der Maaten and Hinton, "Visualizing Data using t-SNE" (2008): the Gaussian around a point is as wide as gives its
neighbours the wanted perplexity, and p_ij = (p_j|i + p_i|j) / 2n. Van der Maaten (2014): only the 3 * perplexity
nearest neighbours have a weight.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from dashboard.projections.neighbour_graph import NeighbourGraph
from dashboard.projections.parallel import Workers

_ROWS: Final = 8192
_TOLERANCE: Final = 1e-5
_TRIES: Final = 100
_LEAST_FACTOR: Final = 1e-7


@dataclass(frozen=True)
class Rows:
    """A sparse matrix, row by row."""

    starts: NDArray[np.int64]
    """``[n + 1]``: where each row begins in the two others."""
    columns: NDArray[np.int32]
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Affinities:
    """A symmetric sparse matrix whose weights have the sum 1, as the sum of two.

    The first has the memory of the neighbour graph that it is made of, so that there are never both.
    """

    own: Rows
    """Each point's own neighbours."""
    others: Rows
    """Points that have a point as neighbour without being its own."""

    @property
    def parts(self) -> tuple[Rows, Rows]:
        """Both."""
        return self.own, self.others

    @property
    def entropy(self) -> float:
        """The sum of p log p."""
        total = 0.0
        for part in self.parts:
            for begin in range(0, len(part.weights), 1 << 20):
                some = part.weights[begin : begin + (1 << 20)].astype(np.float64)
                total += float((some * np.log(some, where=some > 0, out=np.zeros_like(some))).sum())
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that they are, by name."""
        return {f"{name}.{field}": array for name, part in vars(self).items() for field, array in vars(part).items()}

    @staticmethod
    def of(arrays: Mapping[str, NDArray[Any]]) -> "Affinities | None":
        """What `arrays` gave, also among others; None where that is not there."""
        if "others.weights" not in arrays:
            return None
        own, others = (
            Rows(*(arrays[f"{name}.{field}"] for field in ("starts", "columns", "weights")))
            for name in ("own", "others")
        )
        return Affinities(own, others)


Steps = Generator[tuple[int, int], None, Affinities]


def neighbours_for(perplexity: float, n: int) -> int:
    """How many neighbours have a weight, as in scikit-learn."""
    return min(n - 1, int(3 * perplexity + 1))


def affinity_steps(graph: NeighbourGraph, perplexity: float, workers: Workers, *, cosine: bool = False) -> Steps:
    """Affinities of a graph, in pieces: after each, how many rows are done and how many there are.

    Args:
        graph: nearest neighbours. Its distances are overwritten with weights, and the affinities keep its arrays.
        perplexity: the wanted number of neighbours that count.
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
        part = weights[begin:end]
        workers.over(len(part), lambda first, last, part=part: _widths(part, goal, first, last), least=64)  # type: ignore[misc]
        yield end // 2, n
    sizes = np.zeros(n + 1, np.int64)
    for begin in range(0, n, _ROWS):
        _count(rows, sizes, begin, min(begin + _ROWS, n))
        yield (n + begin // 2) // 2, n
    starts = np.cumsum(sizes)
    others = Rows(starts, np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32))
    free = starts[:-1].copy()
    for begin in range(0, n, _ROWS):
        _merge(rows, weights, free, others.columns, others.weights, begin, min(begin + _ROWS, n))
        yield (n + n // 2 + begin // 2) // 2, n
    count = rows.shape[1]
    return Affinities(Rows(np.arange(n + 1, dtype=np.int64) * count, rows.reshape(-1), weights.reshape(-1)), others)


def supervise(affinities: Affinities, labels: NDArray[np.int32], percent: float) -> Affinities:
    """Weights that draw points of one label together and let others go, as TensorBoard's t-SNE does.

    With o = percent / 100, n points, s of a point's own label and m of other labels (points without one left out), a
    weight is multiplied by 1/n where either point has no label, by 1/n + o/s where both have the same, and by
    1/n - o/m where they differ (at least 1e-7); then the sum is made 1 again. Where m differs between the two points
    their mean is taken, so that weights stay symmetric. Source: TensorBoard's projector, bh_tsne.ts, `costGrad`.

    Args:
        affinities: not changed.
        labels: int32 ``[n]``, -1 for none.
        percent: 0 to 100.
    """
    n = len(labels)
    labelled = labels[labels >= 0]
    counts = np.bincount(labelled, minlength=1).astype(np.float64)
    same = np.clip(1 / n + percent / 100 / np.maximum(counts, 1), 0, 1 - _LEAST_FACTOR)
    others = np.maximum(1 / n - percent / 100 / np.maximum(len(labelled) - counts, 1), _LEAST_FACTOR)
    parts, total = [], 0.0
    for part in affinities.parts:
        weights = np.empty_like(part.weights)
        total += _supervised(part.starts, part.columns, part.weights, labels, same, others, 1 / n, weights)
        parts.append(Rows(part.starts, part.columns, weights))
    if total > 0:
        for part in parts:
            np.multiply(part.weights, np.float32(1 / total), out=part.weights)
    return Affinities(*parts)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _widths(squares: NDArray[np.float32], goal: float, begin: int, end: int) -> None:
    """Turns squared distances into weights with the sum 1 and the wanted entropy, in nats, by halving."""
    count = squares.shape[1]
    exponents = np.empty(count)
    for i in range(begin, end):
        # The nearest has the weight 1 before they are normed, so the sum is never 0.
        nearest = squares[i].min()
        farthest = np.float64(squares[i].max() - nearest)
        for k in range(count):
            exponents[k] = squares[i, k] - nearest
        # In units of the farthest, so that a first guess of 1 is never far off.
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


@numba.njit(nogil=True, cache=True)
def _place(row: NDArray[np.int32], wanted: int) -> int:
    """Where a row has a number, or -1. All are looked at, which the compiler does many at once."""
    place = -1
    for k in range(len(row)):
        place = max(place, k if row[k] == wanted else -1)
    return place


@numba.njit(nogil=True, cache=True)
def _count(rows: NDArray[np.int32], sizes: NDArray[np.int64], begin: int, end: int) -> None:
    """Adds to ``sizes[1 + j]`` how many of these points have j as neighbour without being its own."""
    for i in range(begin, end):
        for k in range(rows.shape[1]):
            j = rows[i, k]
            if _place(rows[j], i) < 0:
                sizes[j + 1] += 1


@numba.njit(nogil=True, cache=True)
def _merge(
    rows: NDArray[np.int32],
    weights: NDArray[np.float32],
    free: NDArray[np.int64],
    other_columns: NDArray[np.int32],
    other_weights: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Makes the weights symmetric in their place; those of points that are neighbours one way go to the others too."""
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
                # Of two that are neighbours of each other, the first in line makes both.
                both = (np.float64(weights[i, k]) + weights[j, place]) * half
                weights[i, k] = both
                weights[j, place] = both


@numba.njit(nogil=True, cache=True)
def _supervised(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    labels: NDArray[np.int32],
    same: NDArray[np.float64],
    others: NDArray[np.float64],
    unlabelled: float,
    out: NDArray[np.float32],
) -> float:
    """Weights times their factors, and the sum of them."""
    total = 0.0
    for i in range(len(labels)):
        own = labels[i]
        for k in range(starts[i], starts[i + 1]):
            other = labels[columns[k]]
            if own < 0 or other < 0:
                factor = unlabelled
            elif own == other:
                factor = same[own]
            else:
                factor = (others[own] + others[other]) / 2
            # Small numbers of many points would leave single precision: in units of 1/n.
            out[k] = weights[k] * (factor / unlabelled)
            total += out[k]
    return total
