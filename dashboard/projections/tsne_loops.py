"""Compiled loops of t-SNE, except for the repulsion (see `repulsion`)."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.repulsion import Picture
from stepscope.summary.kernels import kernel

_LEAST_GAIN: Final = 0.01


@kernel(fastmath=True, error_model="numpy")
def attract_2d(
    picture: Picture,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    out: Picture,
    begin: int,
    end: int,
) -> None:
    """Write the sums of p_ij q_ij (y_i - y_j)."""
    xs, ys = picture[0], picture[1]
    one = np.float32(1)
    for i in range(begin, end):
        fx, fy = np.float32(0), np.float32(0)
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            dx, dy = xs[i] - xs[j], ys[i] - ys[j]
            force = weights[k] / (one + dx * dx + dy * dy)
            fx += force * dx
            fy += force * dy
        out[0, i], out[1, i] = fx, fy


@kernel(fastmath=True, error_model="numpy")
def attract_3d(
    picture: Picture,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    out: Picture,
    begin: int,
    end: int,
) -> None:
    """Write the same sums as `attract_2d`, in three dimensions."""
    xs, ys, zs = picture[0], picture[1], picture[2]
    one = np.float32(1)
    for i in range(begin, end):
        fx, fy, fz = np.float32(0), np.float32(0), np.float32(0)
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            dx, dy, dz = xs[i] - xs[j], ys[i] - ys[j], zs[i] - zs[j]
            force = weights[k] / (one + dx * dx + dy * dy + dz * dz)
            fx += force * dx
            fy += force * dy
            fz += force * dz
        out[0, i], out[1, i], out[2, i] = fx, fy, fz


@kernel()
def weighted_logs(
    picture: Picture,
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    begin: int,
    end: int,
) -> float:
    """Return the sum of p_ij log(1 + |y_i - y_j|^2): with log Z and the sum of p log p, this is the KL divergence."""
    total = 0.0
    for i in range(begin, end):
        for k in range(starts[i], starts[i + 1]):
            square = np.float32(0)
            for line in range(len(picture)):
                difference = picture[line, i] - picture[line, columns[k]]
                square += difference * difference
            total += weights[k] * np.log1p(square)
    return total


@kernel()
def step(
    picture: Picture,
    attraction: Picture,
    repulsion: Picture,
    velocity: Picture,
    gains: Picture,
    attracting: np.float32,
    repelling: np.float32,
    rate: np.float32,
    momentum: np.float32,
) -> None:
    """Take one step down the gradient, in place: each coordinate has a gain that grows while its direction stays."""
    n = picture.shape[1]
    for line in range(len(picture)):
        total = 0.0
        for i in range(n):
            gradient = attracting * attraction[line, i] - repelling * repulsion[line, i]
            if velocity[line, i] * gradient < 0:
                gains[line, i] += np.float32(0.2)
            else:
                gains[line, i] = max(gains[line, i] * np.float32(0.8), np.float32(_LEAST_GAIN))
            velocity[line, i] = momentum * velocity[line, i] - rate * gains[line, i] * gradient
            picture[line, i] += velocity[line, i]
            total += picture[line, i]
        mean = np.float32(total / n)
        for i in range(n):
            picture[line, i] -= mean
