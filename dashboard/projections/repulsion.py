"""Repulsion between points of a t-SNE picture: all pairs, exactly.

With q_ij = 1 / (1 + |y_i - y_j|^2), the forces are sum_j q_ij^2 (y_i - y_j), and Z is the sum of all q_ij.
"""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.parallel import Workers
from stepscope.summary.kernels import kernel

Picture = NDArray[np.float32]
"""``[2 or 3, n]``: one row per dimension, so that loops over points read memory in order."""

EXACT_POINTS: Final = 5_000
"""Number of points up to which all pairs are about as fast as a grid or a tree."""


class Repulsion(Protocol):
    """Computes forces, and keeps data that it needs repeatedly."""

    def __call__(self, picture: Picture, forces: Picture) -> float:
        """Write each point's force and return Z."""
        ...


class AllPairs:
    """All pairs, in single precision; Z is summed in double precision."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def __call__(self, picture: Picture, forces: Picture) -> float:
        loop = _pairs_2d if len(picture) == 2 else _pairs_3d
        parts = self._workers.over(picture.shape[1], lambda begin, end: loop(picture, forces, begin, end), least=32)
        return float(sum(parts))


# Divisions like NumPy's, without an error for 0, let the compiler process many pairs at once.
@kernel(fastmath=True, error_model="numpy")
def _pairs_2d(picture: Picture, forces: Picture, begin: int, end: int) -> float:
    xs, ys = picture[0], picture[1]
    one = np.float32(1)
    total = 0.0
    for i in range(begin, end):
        x, y = xs[i], ys[i]
        fx, fy, z = np.float32(0), np.float32(0), np.float32(0)
        for j in range(len(xs)):
            dx, dy = x - xs[j], y - ys[j]
            q = one / (one + dx * dx + dy * dy)
            z += q
            q *= q
            fx += q * dx
            fy += q * dy
        forces[0, i], forces[1, i] = fx, fy
        total += float(z - one)
    return total


@kernel(fastmath=True, error_model="numpy")
def _pairs_3d(picture: Picture, forces: Picture, begin: int, end: int) -> float:
    xs, ys, zs = picture[0], picture[1], picture[2]
    one = np.float32(1)
    total = 0.0
    for i in range(begin, end):
        x, y, z = xs[i], ys[i], zs[i]
        fx, fy, fz, sum_q = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for j in range(len(xs)):
            dx, dy, dz = x - xs[j], y - ys[j], z - zs[j]
            q = one / (one + dx * dx + dy * dy + dz * dz)
            sum_q += q
            q *= q
            fx += q * dx
            fy += q * dy
            fz += q * dz
        forces[0, i], forces[1, i], forces[2, i] = fx, fy, fz
        total += float(sum_q - one)
    return total
