"""The graph that UMAP lays out: from nearest neighbours to the strengths of edges, with umap-learn's own functions."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.projections.base import Points
from dashboard.projections.blocks import bounded
from dashboard.projections.neighbour_graph import NeighbourGraph, neighbour_steps
from dashboard.projections.umap_layout import Curve, Edges

_LABEL_WEIGHT: Final = 2.5
_APART: Final = 1e12


def available() -> bool:
    """Whether umap-learn is installed; it is not imported for that."""
    return find_spec("umap") is not None


@dataclass(frozen=True)
class Prepared:
    """What the layout needs."""

    edges: Edges
    curve: Curve
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """How the graph is made; the names are those of the settings."""

    neighbours: int
    metric: Literal["euclidean", "cosine"]
    minimum_distance: float
    spread: float
    epochs: int
    supervision: float
    negative_samples: int
    seed: int


def prepare(points: Points, wanted: Wanted, labels: NDArray[np.int32] | None, tell: Callable[[str], None]) -> Prepared:
    """The graph of at least two points, and the curve of the picture.

    Source: McInnes, Healy, Melville 2018, "UMAP: Uniform Manifold Approximation and Projection", algorithms 1 to 3.

    Args:
        points: float32[n, d].
        wanted: how.
        labels: int32[n], -1 where unknown; what draws points of a label together if supervision is above 0.
        tell: is given the name of what is begun, for a person.

    Raises:
        ImportError: umap-learn is not installed.
    """
    tell("neighbours")
    found = _neighbours(bounded(points), wanted)
    tell("loading UMAP")
    # By name: the library is an extra, and takes seconds to import.
    library: Any = import_module("umap.umap_")
    tell("graph")
    graph = _graph(library, found, wanted)
    if labels is not None and wanted.supervision > 0 and bool((labels >= 0).any()):
        weight = wanted.supervision / 100
        far = _LABEL_WEIGHT / (1 - weight) if weight < 1 else _APART
        known = np.where(labels < 0, -1, labels)
        graph = library.discrete_metric_simplicial_set_intersection(graph, known, far_dist=far)
    return Prepared(_edges(graph.tocsr(), wanted), _curve(library, wanted), _notes(found, wanted))


def _neighbours(points: Points, wanted: Wanted) -> NeighbourGraph:
    # UMAP counts a point among its own neighbours.
    steps = neighbour_steps(points, wanted.neighbours - 1, wanted.metric, seed=wanted.seed)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            graph: NeighbourGraph = end.value
            return graph


def _graph(library: Any, found: NeighbourGraph, wanted: Wanted) -> Any:
    count = len(found.rows)
    own = np.arange(count, dtype=np.int32)[:, None]
    rows = np.ascontiguousarray(np.hstack([own, found.rows]))
    distances = np.ascontiguousarray(np.hstack([np.zeros((count, 1), np.float32), found.distances]))
    graph, _, _ = library.fuzzy_simplicial_set(
        # Of the points only their number is asked, as the neighbours are known.
        np.empty((count, 0), np.float32),
        rows.shape[1],
        np.random.RandomState(wanted.seed),
        wanted.metric,
        knn_indices=rows,
        knn_dists=distances,
    )
    return graph


def _curve(library: Any, wanted: Wanted) -> Curve:
    # The fit does not converge for every spread. That of 1 is stretched instead, which is the same curve.
    a, b = library.find_ab_params(1.0, wanted.minimum_distance / wanted.spread)
    return Curve(float(a * wanted.spread ** (-2 * b)), float(b))


def _edges(graph: Any, wanted: Wanted) -> Edges:
    graph.sum_duplicates()
    strengths = graph.data.astype(np.float64)
    heads = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    # An edge that would not be drawn once is left out, as umap-learn does.
    drawn = strengths >= strengths.max(initial=0) / wanted.epochs
    drawn &= strengths > 0
    every = strengths.max(initial=0) / strengths[drawn]
    away = every / wanted.negative_samples
    generator = np.random.default_rng(wanted.seed)
    random = generator.integers(1 << 16, 1 << 31, (graph.shape[0], 3), dtype=np.int64)
    return Edges(heads[drawn], graph.indices[drawn].astype(np.int32), every, every.copy(), away, random)


def _notes(found: NeighbourGraph, wanted: Wanted) -> tuple[str, ...]:
    notes = []
    have = found.rows.shape[1] + 1
    if have < wanted.neighbours:
        notes.append(f"{have} neighbours instead of {wanted.neighbours}: there are only {len(found.rows)} points.")
    if found.recall is not None:
        notes.append(f"Neighbours are approximate: {found.recall:.1%} of the true ones were found in a sample.")
    return tuple(notes)
