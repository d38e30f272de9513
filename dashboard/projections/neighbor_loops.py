"""Compiled loops for neighbor searches."""

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points
from stepscope.summary.kernels import kernel

Metric = Literal["cosine", "euclidean", "inner"]
"""Cosine: 1 - cos, and 1 for a vector of zeros. Inner: the inner product; the largest are the nearest."""
METRICS: Final[dict[Metric, int]] = {"euclidean": 0, "cosine": 1, "inner": 2}
"""The number of each metric in the loops."""


@kernel()
def _put(values: NDArray[Any], rows: NDArray[np.int32], value: np.floating[Any], row: np.int32) -> None:
    """Replace the largest value of a heap."""
    at, size = 0, len(values)
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at], rows[at] = values[child], rows[child]
        at = child
    values[at], rows[at] = value, row


@kernel()
def keep(
    products: NDArray[Any],
    add: NDArray[Any],
    factor: NDArray[Any],
    ids: NDArray[np.int32],
    queries: NDArray[np.int32],
    rows: NDArray[np.int32],
    values: NDArray[Any],
    begin: int,
    end: int,
) -> None:
    """Replace the farthest kept values with nearer candidates; values are heaps, the farthest first."""
    for i in range(begin, end):
        worst = values[i, 0]
        for j in range(len(ids)):
            value = add[j] + factor[j] * products[i, j]
            if value < worst and ids[j] != queries[i]:
                _put(values[i], rows[i], value, ids[j])
                worst = values[i, 0]


@kernel(fastmath=True)
def _squared(a: NDArray[np.float32], b: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for k in range(len(a)):
        difference = a[k] - b[k]
        total += difference * difference
    return total


@kernel(fastmath=True)
def _products(a: NDArray[np.float32], b: NDArray[np.float32]) -> tuple[np.float32, np.float32, np.float32]:
    ab, aa, bb = np.float32(0), np.float32(0), np.float32(0)
    for k in range(len(a)):
        ab += a[k] * b[k]
        aa += a[k] * a[k]
        bb += b[k] * b[k]
    return ab, aa, bb


@kernel(error_model="numpy")
def distance(a: NDArray[np.float32], b: NDArray[np.float32], metric: int) -> np.float32:
    """Return the distance of two vectors; metric as in `METRICS`."""
    if metric == 0:
        root: np.float32 = np.sqrt(_squared(a, b))
        return root
    products: tuple[np.float32, np.float32, np.float32] = _products(a, b)
    ab, aa, bb = products
    if metric == 2:
        return ab
    if aa == 0 or bb == 0:
        return np.float32(1)
    cosine: np.float32 = ab / (np.sqrt(aa) * np.sqrt(bb))
    return max(np.float32(0), np.float32(1) - cosine)


@kernel()
def measure(
    points: Points,
    queries: NDArray[np.int32],
    metric: int,
    rows: NDArray[np.int32],
    values: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Compute the distances of the kept rows, sorted; equal ones by row."""
    count = rows.shape[1]
    sign = np.float32(-1) if metric == 2 else np.float32(1)
    for i in range(begin, end):
        near, far = rows[i], values[i]
        for k in range(count):
            row = near[k]
            value = distance(points[queries[i]], points[row], metric) * sign
            at = k
            while at > 0 and (far[at - 1] > value or (far[at - 1] == value and near[at - 1] > row)):
                far[at], near[at] = far[at - 1], near[at - 1]
                at -= 1
            far[at], near[at] = value, row
        for k in range(count):
            far[k] *= sign


@kernel()
def add_rows(points: Points, labels: NDArray[np.int32], sums: NDArray[np.float32]) -> None:
    """Add each row to the sum of its label."""
    for i in range(len(points)):
        for k in range(points.shape[1]):
            sums[labels[i], k] += points[i, k]


@kernel()
def distances_to(
    points: Points, vector: NDArray[np.float32], metric: int, out: NDArray[np.float32], begin: int, end: int
) -> None:
    """Compute the distances of a vector from the points in rows ``begin`` to ``end``; metric as in `METRICS`."""
    for i in range(begin, end):
        out[i] = distance(points[i], vector, metric)
