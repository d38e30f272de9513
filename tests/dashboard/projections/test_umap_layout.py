"""The layout of one epoch, against umap-learn's where that is installed."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from stepscope.dashboard.projections.umap_layout import Curve, Edges, loss, run_epoch

CURVE = Curve(1.577, 0.895)


def graph(points: int, degree: int, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Heads, tails and epochs from one attraction to the next; the strongest edge is due in each."""
    generator = np.random.default_rng(seed)
    heads = np.repeat(np.arange(points, dtype=np.int32), degree)
    tails = ((heads + generator.integers(1, points, len(heads))) % points).astype(np.int32)
    every = 1 / generator.uniform(0.2, 1, len(heads))
    return heads, tails, every / every.min()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_moves_points_as_umap_learn_does(dimensions: int) -> None:
    layouts = pytest.importorskip("umap.layouts")
    heads, tails, every = graph(80, 6)
    begin = np.random.default_rng(1).uniform(0, 10, (80, dimensions)).astype(np.float32)
    state = np.array([123456789, 987654321, 555555555], np.int64)
    # Small steps: large ones make of a difference in rounding another picture.
    epochs, repulsions, rate = 8, 5, 0.1
    theirs = begin.copy()
    layouts.optimize_layout_euclidean(
        theirs,
        theirs,
        heads,
        tails,
        epochs,
        80,
        every,
        CURVE.a,
        CURVE.b,
        state,
        initial_alpha=rate,
        negative_sample_rate=float(repulsions),
        move_other=True,
    )
    assert not np.allclose(theirs, begin, atol=0.1)
    ours = begin.copy()
    random = state + begin[:, 0].astype(np.float64).view(np.int64).reshape(-1, 1)
    edges = Edges(heads, tails, every, every.copy(), every / repulsions, random)
    for epoch in range(epochs):
        # There the learning rate of an epoch is that of the epoch before.
        step = rate * (1 - max(epoch - 1, 0) / epochs)
        run_epoch(ours, edges, CURVE, epoch=epoch, step=step, repulsions=repulsions)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_an_edge_draws_its_ends_together_when_it_is_due() -> None:
    places = np.array([[0, 0], [4, 0]], np.float32)
    edges = Edges(
        np.array([0], np.int32),
        np.array([1], np.int32),
        np.array([2.0]),
        np.array([1.0]),
        np.array([100.0]),
        np.ones((2, 3), np.int64),
    )
    run_epoch(places, edges, Curve(1.0, 1.0), epoch=0, step=1.0, repulsions=1)
    assert places.tolist() == [[0, 0], [4, 0]]
    run_epoch(places, edges, Curve(1.0, 1.0), epoch=1, step=0.5, repulsions=1)
    # 2 a b d^(2b-2) / (1 + a d^2b) = 2 / 17 of the 4 between them, times the step, for each end.
    assert places.ravel().tolist() == pytest.approx([4 / 17, 0, 4 - 4 / 17, 0])
    assert edges.due.tolist() == [3]


def test_points_in_one_place_stay_and_nothing_is_not_a_number() -> None:
    heads, tails, every = graph(10, 3)
    places = np.full((10, 2), 3, np.float32)
    random = np.random.default_rng(0).integers(1 << 16, 1 << 31, (10, 3), dtype=np.int64)
    edges = Edges(heads, tails, every, every.copy(), every / 5, random)
    for epoch in range(5):
        run_epoch(places, edges, CURVE, epoch=epoch, step=1.0, repulsions=5)
    assert places.tolist() == [[3, 3]] * 10


def test_the_loss_is_its_formula() -> None:
    places = np.array([[0, 0], [1, 0], [0, 2]], np.float32)
    drawn = (np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    apart = (np.array([0], np.int32), np.array([2], np.int32))
    found = loss(places, Curve(2.0, 1.0), drawn, np.array([1.0, 0.5]), apart, 3)
    # q is 1/3 and 1/11 on the edges, 1/9 on the pair.
    wanted = (math.log(3) + 0.5 * math.log(11)) / 1.5 - 3 * math.log(8 / 9)
    assert found == pytest.approx(wanted)
    same = (np.array([1], np.int32), np.array([1], np.int32))
    assert math.isfinite(loss(places, CURVE, drawn, np.array([1.0, 1.0]), same, 5))
