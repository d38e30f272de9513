"""The graph that UMAP lays out: from nearest neighbors to the strengths of edges, and to when each is due.

Source: McInnes, Healy, Melville 2018, "UMAP: Uniform Manifold Approximation and Projection", algorithms 1 to 3; where
the paper leaves a choice, that of umap-learn 0.5, with whose graph the tests compare.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import bounded
from stepscope.dashboard.projections.neighbor_graph import NeighborGraph, neighbor_steps
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.umap_layout import Curve, Edges
from stepscope.summary.kernels import kernel

_LABEL_WEIGHT: Final = 2.5
_APART: Final = 1e12
_UNKNOWN: Final = 1.0
"""How far apart labels are of which one is not known."""
_ROWS: Final = 8192
_TRIES: Final = 64
_TOLERANCE: Final = 1e-5
_NARROWEST: Final = 1e-3
"""Of the mean distance, how narrow a point's surroundings may be."""
_CURVE_POINTS: Final = 300


@dataclass(frozen=True)
class Prepared:
    """What the layout needs."""

    edges: Edges
    curve: Curve
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """How the graph is made; the names are those of the settings."""

    neighbors: int
    metric: Literal["euclidean", "cosine"]
    minimum_distance: float
    spread: float
    epochs: int
    supervision: float
    negative_samples: int
    seed: int


Steps = Generator[tuple[str, int, int], None, Prepared]
"""Work in pieces: after each, what is being done, how far that is and how much it is; then the graph."""


def preparation_steps(
    points: Points,
    wanted: Wanted,
    labels: NDArray[np.int32] | None,
    workers: Workers,
    *,
    epoch: int = 0,
    random: NDArray[np.int64] | None = None,
) -> Steps:
    """Yield the graph of at least two points, and the curve of the picture.

    Args:
        points: float32[n, d].
        wanted: how.
        labels: int32[n], -1 where unknown; what draws points of a label together if supervision is above 0.
        workers: threads.
        epoch: before which the edges are to be, where some were done already.
        random: int64[n, 3], the generators as they are then; by default as they are at the beginning.
    """
    # UMAP counts a point among its own neighbors.
    neighbors = neighbor_steps(bounded(points), wanted.neighbors - 1, wanted.metric, seed=wanted.seed, workers=workers)
    while True:
        try:
            done, total = next(neighbors)
        except StopIteration as end:
            found: NeighborGraph = end.value
            break
        yield "neighbors", done, total
    n = len(found.rows)
    overall = float(found.distances.mean(dtype=np.float64)) * found.rows.shape[1] / (found.rows.shape[1] + 1)
    for begin in range(0, n, _ROWS):
        part = found.distances[begin : begin + _ROWS]
        workers.over(len(part), lambda first, last, part=part: _strengths(part, overall, first, last), least=64)  # type: ignore[misc]
        yield "graph", begin, n
    graph = _united(_directed(found))
    notes = _notes(found, wanted)
    del found
    if labels is not None and wanted.supervision > 0 and bool((labels >= 0).any()):
        weight = wanted.supervision / 100
        far = _LABEL_WEIGHT / (1 - weight) if weight < 1 else _APART
        graph = _supervised(graph, labels, far)
    if random is None:
        random = np.random.default_rng(wanted.seed).integers(1 << 16, 1 << 31, (n, 3), dtype=np.int64)
    return Prepared(_edges(graph, wanted, epoch, random), _curve(wanted), notes)


@kernel()
def _strengths(distances: NDArray[np.float32], overall: float, begin: int, end: int) -> None:
    """Turn the distances of each point's neighbors into strengths from 0 to 1.

    The nearest one that is not in the same place has the strength 1, and the sum is the logarithm of base 2 of how
    many there are, the point itself included. ``overall`` is the mean distance, points to themselves included.
    """
    count = distances.shape[1]
    goal = np.log2(count + 1.0)
    for i in range(begin, end):
        nearest, total = 0.0, 0.0
        for k in range(count):
            distance = np.float64(distances[i, k])
            total += distance
            if distance > 0 and (nearest == 0 or distance < nearest):
                nearest = distance
        low, high, width = 0.0, np.inf, 1.0
        for _ in range(_TRIES):
            found = 0.0
            for k in range(count):
                beyond = distances[i, k] - nearest
                found += np.exp(-beyond / width) if beyond > 0 else 1.0
            if abs(found - goal) < _TOLERANCE:
                break
            if found > goal:
                high = width
                width = (low + high) / 2
            else:
                low = width
                width = width * 2 if high == np.inf else (low + high) / 2
        width = max(width, _NARROWEST * (total / (count + 1) if nearest > 0 else overall))
        for k in range(count):
            beyond = distances[i, k] - nearest
            distances[i, k] = np.exp(-beyond / width) if beyond > 0 else 1.0


def _directed(found: NeighborGraph) -> Any:
    """Return row by row the strengths of a point's neighbors."""
    n, count = found.rows.shape
    # Of the width of the columns, or SciPy makes both wide.
    starts = np.arange(0, n * count + 1, count, dtype=np.int32 if n * count < 1 << 30 else np.int64)
    graph = csr_array((found.distances.reshape(-1), found.rows.reshape(-1), starts), (n, n))
    graph.eliminate_zeros()
    return graph


def _united(graph: Any) -> Any:
    """Return edges that are there in either direction: ``a + b - a b``, the probability that one of the two is."""
    back = graph.T.tocsr()
    both = graph.multiply(back)
    united = graph + back
    del back
    united = (united - both).tocsr()
    united.eliminate_zeros()
    united.sort_indices()
    return united


def _supervised(graph: Any, labels: NDArray[np.int32], far: float) -> Any:
    """Return the graph with weaker edges between points of different labels, whose strongest edge is made 1 again."""
    of_heads, of_tails = labels[_heads(graph)], labels[graph.indices]
    known = (of_heads >= 0) & (of_tails >= 0)
    graph.data[~known] *= np.float32(np.exp(-_UNKNOWN))
    graph.data[known & (of_heads != of_tails)] *= np.float32(np.exp(-far))
    graph.eliminate_zeros()
    strongest = graph.max(axis=1).toarray().reshape(-1)
    graph.data /= strongest[_heads(graph)]
    return _united(graph)


def _heads(graph: Any) -> NDArray[np.int32]:
    return np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))


def _curve(wanted: Wanted) -> Curve:
    """Return the curve that is 1 up to the minimum distance and falls exponentially from there, as near as can be."""
    # For this alone, and of what a worker imports among the largest.
    from scipy.optimize import curve_fit

    # The fit does not converge for every spread. That of 1 is stretched instead, which is the same curve.
    least = wanted.minimum_distance / wanted.spread
    lengths = np.linspace(0, 3, _CURVE_POINTS)
    strengths = np.where(lengths < least, 1.0, np.exp(least - lengths))
    (a, b), _ = curve_fit(lambda length, a, b: 1 / (1 + a * length ** (2 * b)), lengths, strengths)
    return Curve(float(a * wanted.spread ** (-2 * b)), float(b))


def _edges(graph: Any, wanted: Wanted, epoch: int, random: NDArray[np.int64]) -> Edges:
    strengths = graph.data
    strongest = np.float64(strengths.max(initial=0))
    # An edge that would not be drawn once is left out, as umap-learn does.
    drawn = (strengths >= strongest / wanted.epochs) & (strengths > 0)
    ends = _heads(graph)[drawn], graph.indices[drawn].astype(np.int32)
    return Edges.at(epoch, ends, strongest / strengths[drawn], wanted.negative_samples, random)


def _notes(found: NeighborGraph, wanted: Wanted) -> tuple[str, ...]:
    notes = []
    have = found.rows.shape[1] + 1
    if have < wanted.neighbors:
        notes.append(f"{have} neighbors instead of {wanted.neighbors}: there are only {len(found.rows)} points.")
    if found.recall is not None:
        notes.append(f"Neighbors are approximate: {found.recall:.1%} of the true ones were found in a sample.")
    return tuple(notes)
