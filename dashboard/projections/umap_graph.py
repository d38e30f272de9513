"""The graph that UMAP lays out: from nearest neighbors to the strengths of edges, and to the epochs when each is due.

Source: McInnes, Healy, Melville 2018, "UMAP: Uniform Manifold Approximation and Projection", algorithms 1 to 3; where
the paper leaves a choice, as in umap-learn 0.5, with whose graph the tests compare.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import bounded
from stepscope.dashboard.projections.neighbor_graph import NeighborGraph, neighbor_steps
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.sparse_rows import SparseRows
from stepscope.dashboard.projections.umap_layout import Curve, Edges
from stepscope.summary.kernels import kernel

_LABEL_WEIGHT: Final = 2.5
_APART: Final = 1e12
_UNKNOWN: Final = 1.0
"""Distance between labels if one is unknown."""
_ROWS: Final = 8192
_TRIES: Final = 64
_TOLERANCE: Final = 1e-5
_NARROWEST: Final = 1e-3
"""Minimum width of a point's neighborhood, as a fraction of the mean distance."""
_CURVE_POINTS: Final = 300
_FIT_STEPS: Final = 200
_FIT_TOLERANCE: Final = 1e-12


@dataclass(frozen=True)
class Prepared:
    """Input of the layout."""

    edges: Edges
    curve: Curve
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """Options of the graph, named like the settings."""

    neighbors: int
    metric: Literal["euclidean", "cosine"]
    minimum_distance: float
    spread: float
    epochs: int
    supervision: float
    negative_samples: int
    seed: int


Steps = Generator[tuple[str, int, int], None, Prepared]
"""Work in pieces: yields the current phase and its finished and total counts after each, then returns the graph."""


def preparation_steps(
    points: Points,
    wanted: Wanted,
    labels: NDArray[np.int32] | None,
    workers: Workers,
    *,
    epoch: int = 0,
    random: NDArray[np.int64] | None = None,
) -> Steps:
    """Compute the graph of at least two points, and the curve of the picture, in pieces.

    Args:
        points: float32[n, d].
        wanted: the options.
        labels: int32[n], -1 where unknown; pull points of the same label together if supervision is above 0.
        workers: threads.
        epoch: the edges are as before this epoch, if some epochs are already done.
        random: int64[n, 3], the generators at that epoch; by default as at the beginning.
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
    graph = SparseRows.of_rows(found.rows, found.distances).either()
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

    The nearest one at a different place has strength 1, and the sum is the base-2 logarithm of their number, including
    the point itself. ``overall`` is the mean distance, including those of points to themselves.
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


def _supervised(graph: SparseRows, labels: NDArray[np.int32], far: float) -> SparseRows:
    """Return the graph with weaker edges between different labels, with each point's strongest edge scaled to 1."""
    heads = graph.rows
    of_heads, of_tails = labels[heads], labels[graph.columns]
    known = (of_heads >= 0) & (of_tails >= 0)
    strengths = graph.values.copy()
    strengths[~known] *= np.float32(np.exp(-_UNKNOWN))
    strengths[known & (of_heads != of_tails)] *= np.float32(np.exp(-far))
    strongest = np.zeros(len(labels), np.float32)
    np.maximum.at(strongest, heads, strengths)
    np.divide(strengths, strongest[heads], out=strengths, where=strengths > 0)
    return replace(graph, values=strengths).without_zeros().either()


def _curve(wanted: Wanted) -> Curve:
    """Return the curve closest to one that is 1 up to the minimum distance and falls exponentially from there."""
    # The fit does not converge for every spread. The one for 1 is stretched instead, which gives the same curve.
    least = wanted.minimum_distance / wanted.spread
    lengths = np.linspace(0, 3, _CURVE_POINTS)[1:]
    strengths = np.where(lengths < least, 1.0, np.exp(least - lengths))
    a, b = _fitted(lengths, strengths)
    return Curve(a * wanted.spread ** (-2 * b), b)


def _fitted(lengths: NDArray[np.float64], strengths: NDArray[np.float64]) -> tuple[float, float]:
    """Return a and b for which ``1 / (1 + a length^(2 b))`` is closest to the strengths, by least squares.

    Levenberg and Marquardt's method: Marquardt 1963, "An Algorithm for Least-Squares Estimation of Nonlinear
    Parameters".
    """
    found, damping = np.ones(2), 1e-3
    errors, slopes = _curve_errors(found, lengths, strengths)
    for _ in range(_FIT_STEPS):
        squares = slopes.T @ slopes
        step = np.linalg.solve(squares + damping * np.diag(np.diag(squares)), -slopes.T @ errors)
        new_errors, new_slopes = _curve_errors(found + step, lengths, strengths)
        if (found + step > 0).all() and new_errors @ new_errors <= errors @ errors:
            found, errors, slopes, damping = found + step, new_errors, new_slopes, damping / 10
            if (np.abs(step) <= _FIT_TOLERANCE * found).all():
                break
        else:
            damping *= 10
    return float(found[0]), float(found[1])


def _curve_errors(
    parameters: NDArray[np.float64], lengths: NDArray[np.float64], strengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the differences of the curve from the strengths, and their derivatives by a and b."""
    a, b = parameters
    raised = lengths ** (2 * b)
    curve = 1 / (1 + a * raised)
    by_a = -raised * curve**2
    return curve - strengths, np.stack([by_a, 2 * a * np.log(lengths) * by_a], axis=1)


def _edges(graph: SparseRows, wanted: Wanted, epoch: int, random: NDArray[np.int64]) -> Edges:
    strengths = graph.values
    strongest = np.float64(strengths.max(initial=0))
    # Edges that would never be drawn are left out, as in umap-learn.
    drawn = (strengths >= strongest / wanted.epochs) & (strengths > 0)
    ends = graph.rows[drawn], graph.columns[drawn]
    return Edges.at(epoch, ends, strongest / strengths[drawn], wanted.negative_samples, random)


def _notes(found: NeighborGraph, wanted: Wanted) -> tuple[str, ...]:
    notes = []
    have = found.rows.shape[1] + 1
    if have < wanted.neighbors:
        notes.append(f"{have} neighbors instead of {wanted.neighbors}: there are only {len(found.rows)} points.")
    if found.recall is not None:
        notes.append(f"Neighbors are approximate: {found.recall:.1%} of the true ones were found in a sample.")
    return tuple(notes)
