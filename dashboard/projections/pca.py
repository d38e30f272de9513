"""Principal component analysis."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.blocks import as_float32, largest_of, row_blocks
from stepscope.dashboard.projections.parallel import Workers

T = TypeVar("T")
WIDEST: Final = 2048
"""Maximum size of the matrix of products whose eigenvectors are computed; larger ones are approximated."""
_NARROW: Final = 512
"""Maximum dimensions at which blocks are distributed among threads, each with its own products. The threads of the
linear algebra library would instead share each product, which is too short: waiting for each other, they are several
times slower than a single thread as soon as the machine has anything else to do."""
_MORE_DIRECTIONS: Final = 10
"""Number of random directions in addition to the components."""
_POWERS: Final = 7
_PARTS: Final = 8
_FEWEST_ROWS: Final = 2048
"""Minimum rows of a part that is worth a thread."""
_NOISE: Final = 1e-28
"""Fraction of the squared mean: the variance that rounding in float64 leaves in a constant column."""


class _OneThread:
    """Limit linear algebra to one thread while any computation is inside.

    One limit serves all: of limits that overlap, the last to end would restore the other's limit. It is set and lifted
    by a thread of its own, because threadpoolctl lets only the thread that set a limit lift it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._owner = ThreadPoolExecutor(1)
                self._owner.submit(lambda: self._limit.enter_context(threadpool_limits(1, user_api="blas"))).result()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._owner.submit(self._limit.close)
                self._owner.shutdown()


_ONE_THREAD: Final = _OneThread()


@dataclass(frozen=True)
class Pca:
    """Principal components; those beyond the rank of the data are all zeros."""

    mean: NDArray[np.float64]
    """[d]"""
    axes: NDArray[np.float64]
    """[k, d], of unit length, in descending order of variance; the largest value of each is positive."""
    variances: NDArray[np.float64]
    """[k], variances of the coordinates along each axis, with n - 1 in the denominator."""
    ratios: NDArray[np.float64]
    """[k], fractions of the total variance of all columns."""
    coordinates: NDArray[np.float32]
    """[n, k]"""
    exact: bool
    """Whether the components are exact up to rounding, not approximated by random projections."""


def pca(points: Points, components: int = 10, *, seed: int = 0) -> Pca:
    """Return principal components, from the eigenvectors of the covariance matrix.

    ``C = (X - m)' (X - m) / (n - 1) = A' diag(variances) A`` and ``coordinates = (X - m) A'``. The products are summed
    in float64 over blocks of rows, so the data are neither copied nor squared in float32. With more columns than
    rows, the eigenvectors of the products of rows are used instead. If both exceed 2,048, randomized singular values
    are used, over one centered copy of the data. Signs are as in scikit-learn.
    Sources: Pearson 1901; Halko, Martinsson, Tropp 2011, "Finding structure with randomness", algorithm 4.4;
    ``sklearn.utils.extmath.svd_flip``.

    Args:
        points: float32[n, d].
        components: k, at least 1; may exceed the number of columns.
        seed: seed for the randomized case only.

    Raises:
        ValueError: ``components`` is below 1.
    """
    if components < 1:
        raise ValueError(f"components is {components}; expected at least 1")
    n, d = points.shape
    k = min(components, n, d)
    exact = min(n, d) <= WIDEST
    shared = min(n, d) <= _NARROW
    with _ONE_THREAD if shared else nullcontext():
        mean = mean_of(points)
        if k == 0:
            sums, axes, total = np.zeros(0), np.zeros((0, d)), 0.0
        elif d <= min(n, WIDEST):
            sums, axes, total = _by_columns(points, mean, k)
        elif n <= WIDEST:
            sums, axes, total = _by_rows(points, mean, k)
        else:
            sums, axes, total = _approximated(points, mean, k, seed)
        sums, axes = _without_noise(sums, axes, float(mean @ mean), components)
        coordinates = projected(points, mean, axes)
    variances = sums / max(n - 1, 1)
    ratios = np.minimum(sums / total, 1.0) if total > 0 else np.zeros(components)
    return Pca(mean, axes, variances, np.where(sums > 0, ratios, 0.0), coordinates, exact)


def mean_of(points: Points) -> NDArray[np.float64]:
    """Return the mean of each column, summed in float64; zeros if there are no points."""
    n, d = points.shape
    sums = _by_parts(n, lambda begin, end: points[begin:end].sum(axis=0, dtype=np.float64))
    return np.sum(sums, axis=0) / n if sums else np.zeros(d)


def projected(points: Points, mean: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return ``(points - mean) axes'``, computed in float64: float32[n, k]."""
    out = np.zeros((len(points), len(axes)), np.float32)

    def project(begin: int, end: int) -> None:
        for rows in row_blocks(end - begin, points.shape[1], begin=begin):
            out[rows] = as_float32((points[rows] - mean) @ axes.T)

    with _ONE_THREAD:
        _by_parts(len(points), project)
    return out


def _by_parts(count: int, work: Callable[[int, int], T]) -> list[T]:
    """Return the results for a few parts of the rows; the parts do not depend on the number of cores."""
    return Workers().over(count, work, least=max(-(-count // _PARTS), _FEWEST_ROWS))


_Found = tuple[NDArray[np.float64], NDArray[np.float64], float]
"""Sums of squares along the axes [k], the axes [k, d], the sum of squares of everything."""


def _by_columns(points: Points, mean: NDArray[np.float64], k: int) -> _Found:
    n, d = points.shape

    def multiply(begin: int, end: int) -> NDArray[np.float64]:
        products = np.zeros((d, d))
        for rows in row_blocks(end - begin, d, begin=begin):
            block = points[rows] - mean
            products += block.T @ block
        return products

    # For wide points, the products of several parts would be many times as large as a block.
    parts = _by_parts(n, multiply) if d <= _NARROW else [multiply(0, n)]
    products = np.asarray(sum(parts[1:], start=parts[0]))
    total = float(np.trace(products))
    sums, vectors = _leading(products, k)
    return sums, vectors.T.copy(), total


def _by_rows(points: Points, mean: NDArray[np.float64], k: int) -> _Found:
    n, d = points.shape
    products = np.zeros((n, n))
    blocks = list(row_blocks(d, n))
    for columns in blocks:
        block = points[:, columns] - mean[columns]
        products += block @ block.T
    total = float(np.trace(products))
    sums, vectors = _leading(products, k)
    axes = np.zeros((k, d))
    for columns in blocks:
        axes[:, columns] = vectors.T @ (points[:, columns] - mean[columns])
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    return sums, np.divide(axes, lengths, out=np.zeros_like(axes), where=lengths > 0), total


def _leading(products: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k largest eigenvalues in descending order, and their vectors as columns."""
    sums, vectors = np.linalg.eigh(products)
    return sums[: -k - 1 : -1].copy(), vectors[:, : -k - 1 : -1]


def _approximated(points: Points, mean: NDArray[np.float64], k: int, seed: int) -> _Found:
    centered = np.empty(points.shape, np.float32)
    # Their products are summed in float32 here: numbers that are too large for that are scaled down.
    scale = max(largest_of(points), 1.0)
    total = 0.0
    for rows in row_blocks(*points.shape):
        block = (points[rows] - mean) / scale
        total += float(np.vdot(block, block))
        centered[rows] = block
    values, axes = _randomized(centered, k, seed)
    return (values.astype(np.float64) * scale) ** 2, axes.astype(np.float64), total * scale**2


def _randomized(matrix: Points, k: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the k largest singular values and their right vectors as rows: algorithms 4.4 and 5.1 of Halko et al."""
    n, d = matrix.shape
    width = min(k + _MORE_DIRECTIONS, n, d)
    directions = np.random.default_rng(seed).standard_normal((d, width), np.float32)
    basis = np.linalg.qr(matrix @ directions).Q
    for _ in range(_POWERS):
        directions = np.linalg.qr(matrix.T @ basis).Q
        basis = np.linalg.qr(matrix @ directions).Q
    _, values, axes = np.linalg.svd(basis.T @ matrix, full_matrices=False)
    return values[:k], axes[:k]


def _without_noise(
    sums: NDArray[np.float64], axes: NDArray[np.float64], squared_mean: float, components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and axes for ``components`` components; zero if there is only rounding noise."""
    k, d = axes.shape
    kept_sums, kept_axes = np.zeros(components), np.zeros((components, d))
    if k:
        smallest = max(10 * d * float(np.finfo(np.float64).eps) * float(sums[0]), _NOISE * squared_mean)
        real = sums > smallest
        kept_sums[:k][real] = sums[real]
        peaks = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        kept_axes[:k][real] = (axes * np.where(peaks < 0, -1.0, 1.0))[real]
    return kept_sums, kept_axes
