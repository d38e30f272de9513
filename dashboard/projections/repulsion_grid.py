"""Repulsion between points of a two-dimensional t-SNE picture, by interpolation on a grid and a Fourier transform.

After Linderman et al., "Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq data" (2019):
points are spread onto a grid, the grid is convolved with the kernel, and the result is read at the points. Here the
interpolation uses cubic B-splines, which match the kernel's values at the nodes because the transformed kernel is
divided by the splines' own transform. With phi = sum_j 1 / (1 + |y - y_j|^2), Z is the sum of phi at the points
minus n, and the forces are minus half of phi's gradient: the splines' slopes provide it, so that one transform and its
inverse are enough.
"""

import math
from bisect import bisect_left
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.repulsion import Picture
from stepscope.summary.kernels import kernel

_WIDEST: Final = 0.3
"""Maximum distance between nodes. The kernel has width 1. With 0.42, the divergence ends 3% above the exact one."""
_NARROWEST: Final = 0.1
"""Minimum distance between nodes: with less, the slope is lost in rounding."""
_WANTED: Final = 128
"""Nodes per side for a picture that is not much wider than the kernel."""
_MOST: Final = 3_000
"""Maximum nodes per side; in wider pictures they are farther apart, and short distances less exact."""
_MARGIN: Final = 5
_ROUND: Final = 16
_LENGTHS: Final = sorted(
    2 ** (two + 1) * 3**three * 5**five for two in range(13) for three in range(9) for five in range(6)
)
"""Even lengths that are transformed fast."""


class Grid:
    """Forces by a grid, with node distances adapted to the picture's width."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._ring: Ring | None = None

    def __call__(self, picture: Picture, forces: Picture) -> float:
        """Write each point's force and return Z."""
        low = picture.min(axis=1)
        step, nodes = _spacing(float((picture.max(axis=1) - low).max()))
        if self._ring is None or (self._ring.nodes, self._ring.step) != (nodes, step):
            self._ring = Ring(nodes, step)
        inverse = np.float32(1 / step)
        origin = low - np.float32(step)
        self._ring.grid.fill(0)
        _spread(picture, origin, inverse, self._ring.grid)
        potential = self._ring.convolved(self._workers)
        parts = self._workers.over(
            picture.shape[1],
            lambda begin, end: _read(picture, origin, inverse, potential, forces, begin, end),
            least=512,
        )
        return float(sum(parts))


class Ring:
    """The ring on which a grid is convolved with the kernel, and its memory, which is reused for the same size."""

    def __init__(self, nodes: int, step: float) -> None:
        self.nodes: Final = nodes
        self.step: Final = step
        # Twice as wide as the picture, so that its ends do not affect each other around the edge.
        size = _LENGTHS[bisect_left(_LENGTHS, 2 * nodes)]
        half = size // 2 + 1
        self.grid: Final = np.zeros((nodes, size), np.float32)
        """The non-empty rows of the ring."""
        self._kernel: Final = transformed_kernel(size, step)
        self._rows: Final = np.empty((nodes, half), np.complex64)
        # NumPy takes four times as long if it adds the zeros after the nodes itself.
        self._columns: Final = np.zeros((half, size), np.complex64)
        self._transformed: Final = np.empty((half, size), np.complex64)
        self._potential: Final = np.empty((nodes, size), np.float32)

    def convolved(self, workers: Workers) -> NDArray[np.float32]:
        """Return the part of the convolved grid that is read: float32[nodes, size], valid until the next call.

        Args:
            workers: threads; NumPy releases the interpreter lock during transforms.
        """
        # Lines are transformed independently, so each thread can take its whole share at once.
        steps = (
            (self.nodes, self._transform_rows),
            (len(self._columns), self._convolve_columns),
            (self.nodes, self._transform_back),
        )
        for lines, step in steps:
            workers.over(lines, step, least=-(-lines // workers.threads))
        return self._potential

    def _transform_rows(self, begin: int, end: int) -> None:
        out: Any = self._rows[begin:end]
        np.fft.rfft(self.grid[begin:end], axis=1, out=out)

    def _convolve_columns(self, begin: int, end: int) -> None:
        columns, transformed = self._columns[begin:end], self._transformed[begin:end]
        columns[:, : self.nodes] = self._rows[:, begin:end].T
        out: Any = transformed
        np.fft.fft(columns, axis=1, out=out)
        transformed *= self._kernel[begin:end]
        np.fft.ifft(transformed, axis=1, out=out)
        self._rows[:, begin:end] = transformed[:, : self.nodes].T

    def _transform_back(self, begin: int, end: int) -> None:
        out: Any = self._potential[begin:end]
        np.fft.irfft(self._rows[begin:end], self._potential.shape[1], axis=1, out=out)


def _spacing(span: float) -> tuple[float, int]:
    """Return the distance between nodes and their number per side, for a picture of some width.

    Both are rounded, so that one kernel serves many pictures of growing width.
    """
    step = min(max(span / _WANTED, _NARROWEST), _WIDEST)
    step = max(step, 1.2 * span / (_MOST - 2 * _ROUND))
    step = 2 ** (math.floor(4 * math.log2(step)) / 4)
    return step, -(-(int(span / step) + _MARGIN) // _ROUND) * _ROUND


def transformed_kernel(size: int, step: float) -> NDArray[np.float32]:
    """Return the real transform of 1 / (1 + distance^2) on a ring of nodes, divided by the splines' of both ends.

    float32[size // 2 + 1, size]: the halved axis comes first.
    """
    nodes = np.arange(size)
    squares = ((np.minimum(nodes, size - nodes) * step) ** 2).astype(np.float32)
    kernel = np.fft.rfft2(1 / (1 + squares[:, None] + squares)).real.astype(np.float32)
    ends = (((2 + np.cos(2 * np.pi * nodes / size)) / 3) ** -2).astype(np.float32)
    return np.ascontiguousarray((kernel * ends[:, None] * ends[: kernel.shape[1]]).T)


@kernel(fastmath=True)
def _weights(t: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return the values of the cubic B-splines of four nodes at t between the second and the third."""
    a = np.float32(1) - t
    sixth, half, most = np.float32(1 / 6), np.float32(0.5), np.float32(2 / 3)
    return a * a * a * sixth, most - t * t + half * t * t * t, most - a * a + half * a * a * a, t * t * t * sixth


@kernel(fastmath=True)
def _slopes(t: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return the derivatives of `_weights`."""
    a = np.float32(1) - t
    half, two, more = np.float32(0.5), np.float32(2), np.float32(1.5)
    return -half * a * a, -two * t + more * t * t, two * a - more * a * a, half * t * t


@kernel(fastmath=True)
def _spread(picture: Picture, origin: NDArray[np.float32], inverse: np.float32, grid: NDArray[np.float32]) -> None:
    for i in range(picture.shape[1]):
        x, y = (picture[0, i] - origin[0]) * inverse, (picture[1, i] - origin[1]) * inverse
        a, b = int(x), int(y)
        us, vs = _weights(x - np.float32(a)), _weights(y - np.float32(b))
        for k in range(4):
            for m in range(4):
                grid[a + k, b + m] += us[k] * vs[m]


@kernel(fastmath=True)
def _read(
    picture: Picture,
    origin: NDArray[np.float32],
    inverse: np.float32,
    potential: NDArray[np.float32],
    forces: Picture,
    begin: int,
    end: int,
) -> float:
    scale = np.float32(-0.5) * inverse
    total = 0.0
    for i in range(begin, end):
        x, y = (picture[0, i] - origin[0]) * inverse, (picture[1, i] - origin[1]) * inverse
        a, b = int(x), int(y)
        us, vs = _weights(x - np.float32(a)), _weights(y - np.float32(b))
        dus, dvs = _slopes(x - np.float32(a)), _slopes(y - np.float32(b))
        value, fx, fy = np.float32(0), np.float32(0), np.float32(0)
        for k in range(4):
            line, slope = np.float32(0), np.float32(0)
            for m in range(4):
                line += potential[a + k, b + m] * vs[m]
                slope += potential[a + k, b + m] * dvs[m]
            value += us[k] * line
            fx += dus[k] * line
            fy += us[k] * slope
        forces[0, i], forces[1, i] = scale * fx, scale * fy
        total += float(value - np.float32(1))
    return total
