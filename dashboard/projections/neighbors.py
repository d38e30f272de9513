"""The nearest neighbors of one point; for those of all points, see `neighbor_graph`."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.blocks import divided, harmful_exponent, largest_of
from stepscope.dashboard.projections.neighbor_graph import NeighborGraph, neighbor_graph, neighbor_steps
from stepscope.dashboard.projections.neighbor_loops import METRICS, Metric, distances_to
from stepscope.dashboard.projections.parallel import Workers

__all__ = ["Metric", "NeighborGraph", "Neighbors", "neighbor_graph", "neighbor_steps", "neighbors_of"]


_DEGREES: Final[dict[Metric, int]] = {"euclidean": 1, "cosine": 0, "inner": 2}
"""To which power of the points' scale the distances of each metric grow."""


@dataclass(frozen=True)
class Neighbors:
    """The points nearest to one, in ascending order of distance; equal ones by row."""

    rows: NDArray[np.int64]
    """``[k]``"""
    distances: NDArray[np.float32]
    """``[k]``, in the metric's own unit: the inner products themselves for "inner"."""


def neighbors_of(
    points: NDArray[np.float32], of: int | NDArray[np.float32], count: int, metric: Metric = "cosine"
) -> Neighbors:
    """Return the ``count`` points nearest to a point or a vector, by exhaustive search; of equal ones, the first.

    Args:
        points: float32 ``[n, d]``, C-contiguous.
        of: a row, which is not its own neighbor, or a vector float32 ``[d]``.
        count: number of neighbors, limited to the number of points.
        metric: cosine is 1 - cos, and 1 for a vector of zeros; for inner products, the largest are the nearest.

    Raises:
        ValueError: ``of`` is not a row of ``points``, or a vector of another length.
    """
    n, d = points.shape
    own = of if isinstance(of, int | np.integer) else None
    if own is not None and not 0 <= own < n:
        raise ValueError(f"There is no row {own}: there are {n} points.")
    vector = points[own] if own is not None else np.ascontiguousarray(of, dtype=np.float32)
    if vector.shape != (d,):
        raise ValueError(f"Expected a vector of {d} numbers, as each point has, got the shape {vector.shape}.")
    distances = np.empty(n, np.float32)
    workers = Workers()
    largest = workers.over(n, lambda begin, end: largest_of(points[begin:end]), least=4096)
    exponent = harmful_exponent(max([*largest, largest_of(vector)]))
    points, vector = divided(points, exponent), divided(vector, exponent)
    workers.over(n, lambda begin, end: distances_to(points, vector, METRICS[metric], distances, begin, end), least=4096)
    order = -distances if metric == "inner" else distances
    if own is not None:
        order[own] = np.inf
    count = max(min(count, n - (own is not None)), 0)
    near = np.arange(n)
    if 0 < count < n:
        # With all ties with the last: which of them a partition takes differs between processors.
        near = near[~(order > np.partition(order, count - 1)[count - 1])]
    near = near[np.lexsort((near, order[near]))][:count]
    with np.errstate(over="ignore", under="ignore"):
        in_unit = np.ldexp(distances[near], _DEGREES[metric] * exponent)
    return Neighbors(near.astype(np.int64), in_unit)
