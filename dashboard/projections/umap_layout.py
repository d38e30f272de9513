"""UMAP's layout: one epoch of its stochastic gradient descent, and the loss that it minimizes.

UMAP-learn runs all epochs in one call; here each is a separate call, so that pictures can be shown in between. The
rule is that of ``umap.layouts.optimize_layout_euclidean`` (BSD-3), step by step and with its random numbers, which the
tests compare.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel


@dataclass
class Edges:
    """Edges of the graph in the order of their heads, and the epochs when each is due; modified by every epoch."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    every: NDArray[np.float64]
    """Epochs between attractions: 1 for the strongest edge, inversely proportional to the strength."""
    due: NDArray[np.float64]
    """The epoch of the next attraction."""
    due_away: NDArray[np.float64]
    """The epoch of the next repulsion."""
    random: NDArray[np.int64]
    """``[n, 3]``, a random generator for each point."""

    @staticmethod
    def at(
        epoch: int,
        ends: tuple[NDArray[np.int32], NDArray[np.int32]],
        every: NDArray[np.float64],
        repulsions: int,
        random: NDArray[np.int64],
    ) -> "Edges":
        """Return the edges as before an epoch, except for rounding.

        Args:
            epoch: its number, from 0.
            ends: heads, in order, and tails.
            every: epochs between attractions.
            repulsions: random points per attraction.
            random: ``[n, 3]``, the generators at that epoch.
        """
        if epoch == 0:
            return Edges(*ends, every, every.copy(), every / repulsions, random)
        drawn = np.floor(np.maximum(epoch - 1, 0) / every)
        away = every / repulsions
        # Repulsions catch up at each attraction, which happens in the first epoch at or after its due time.
        caught_up = np.floor(np.ceil(drawn * every) / away)
        return Edges(*ends, every, every * (drawn + 1), away * np.maximum(caught_up, 1), random)


@dataclass(frozen=True)
class Curve:
    """Strength of an edge of length d in the projection: ``1 / (1 + a d^(2 b))``."""

    a: float
    b: float


def run_epoch(
    places: NDArray[np.float32], edges: Edges, curve: Curve, *, epoch: int, step: float, repulsions: int
) -> None:
    """Move the points once.

    An edge that is due pulls its two ends together, and pushes its head away from some random points.

    Args:
        places: float32 ``[n, 2 or 3]``, modified.
        edges: also modified.
        curve: strength by distance.
        epoch: number of this epoch, from 0.
        step: the learning rate in this epoch.
        repulsions: random points per attraction.
    """
    _epoch(
        places,
        edges.heads,
        edges.tails,
        edges.every,
        edges.due,
        edges.due_away,
        edges.random,
        curve.a,
        curve.b,
        step,
        float(repulsions),
        epoch,
    )


def loss(
    places: NDArray[np.float32],
    curve: Curve,
    drawn: tuple[NDArray[np.int32], NDArray[np.int32]],
    strengths: NDArray[np.float64],
    apart: tuple[NDArray[np.int32], NDArray[np.int32]],
    repulsions: int,
) -> float:
    """Return the cross entropy per attraction that the sampling minimizes, estimated on some edges and some random
    pairs.

    ``-sum(w log q) / sum(w) - repulsions mean(log(1 - q))`` with the strengths ``w`` of edges in the data and ``q`` in
    the picture. Source: Damrich and Hamprecht 2021, "On UMAP's true loss function".
    """
    near, far = _raised(places, curve, *drawn), _raised(places, curve, *apart)
    attraction = float(strengths @ np.log1p(near) / strengths.sum())
    return attraction + repulsions * float(np.mean(np.log1p(1 / np.maximum(far, 1e-4))))


def _raised(
    places: NDArray[np.float32], curve: Curve, heads: NDArray[np.int32], tails: NDArray[np.int32]
) -> NDArray[np.float64]:
    squares = np.square(places[heads] - places[tails], dtype=np.float64).sum(axis=1)
    return np.asarray(curve.a * squares**curve.b)


@kernel()
def _random(state: NDArray[np.int64]) -> np.int32:
    """Return the next number of Tausworthe's generator, as ``umap.utils.tau_rand_int`` does."""
    state[0] = (((state[0] & 4294967294) << 12) & 0xFFFFFFFF) ^ ((((state[0] << 13) & 0xFFFFFFFF) ^ state[0]) >> 19)
    state[1] = (((state[1] & 4294967288) << 4) & 0xFFFFFFFF) ^ ((((state[1] << 2) & 0xFFFFFFFF) ^ state[1]) >> 25)
    state[2] = (((state[2] & 4294967280) << 17) & 0xFFFFFFFF) ^ ((((state[2] << 3) & 0xFFFFFFFF) ^ state[2]) >> 11)
    return np.int32(state[0] ^ state[1] ^ state[2])


@kernel()
def _clipped(value: np.float32) -> np.float32:
    return min(max(value, np.float32(-4)), np.float32(4))


@kernel()
def _square(places: NDArray[np.float32], j: int, k: int) -> np.float32:
    total = np.float32(0)
    for d in range(places.shape[1]):
        difference = places[j, d] - places[k, d]
        total += difference * difference
    return total


@kernel(fastmath={"contract", "reassoc", "arcp"})
def _epoch(
    places: NDArray[np.float32],
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    every: NDArray[np.float64],
    due: NDArray[np.float64],
    due_away: NDArray[np.float64],
    random: NDArray[np.int64],
    a: float,
    b: float,
    step: float,
    repulsions: float,
    epoch: int,
) -> None:
    points, dimensions = places.shape
    # Single precision throughout: powers take half the time.
    a32, b32, step32 = np.float32(a), np.float32(b), np.float32(step)
    one, small = np.float32(1), np.float32(0.001)
    for edge in range(len(heads)):
        if due[edge] > epoch:
            continue
        j, k = heads[edge], tails[edge]
        square = _square(places, j, k)
        if square > 0:
            # One power is enough: d^(2 (b - 1)) = d^(2 b) / d^2.
            raised = a32 * square**b32
            pull = np.float32(-2) * b32 * raised / (square * (raised + one))
            for d in range(dimensions):
                move = _clipped(pull * (places[j, d] - places[k, d])) * step32
                places[j, d] += move
                places[k, d] -= move
        due[edge] += every[edge]
        every_away = every[edge] / repulsions
        times = int((epoch - due_away[edge]) / every_away)
        for _ in range(times):
            k = _random(random[j]) % points
            square = _square(places, j, k)
            if square > 0:
                push = np.float32(2) * b32 / ((small + square) * (a32 * square**b32 + one))
                for d in range(dimensions):
                    places[j, d] += _clipped(push * (places[j, d] - places[k, d])) * step32
        due_away[edge] += times * every_away
