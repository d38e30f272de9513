"""The layout of one epoch, against umap-learn's."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stepscope.dashboard.projections.umap_layout import Curve, Edges, loss, run_epoch
from tools.peer_pack import umap_answers

CURVE = Curve(*umap_answers.CURVE)


@pytest.mark.parametrize("dimensions", umap_answers.DIMENSIONS)
def test_moves_points_as_umap_learn_does(dimensions: int, peer: Callable[[str], Path]) -> None:
    begin, heads, tails, every, state = umap_answers.layout_input(dimensions)
    theirs = np.load(peer(f"pack/{umap_answers.ANSWERS}"))[f"layout_{dimensions}"]
    assert not np.allclose(theirs, begin, atol=0.1)
    ours = begin.copy()
    random = state + begin[:, 0].astype(np.float64).view(np.int64).reshape(-1, 1)
    edges = Edges(heads, tails, every, every.copy(), every / umap_answers.REPULSIONS, random)
    for epoch in range(umap_answers.LAYOUT_EPOCHS):
        # umap-learn uses the learning rate of the previous epoch.
        step = umap_answers.RATE * (1 - max(epoch - 1, 0) / umap_answers.LAYOUT_EPOCHS)
        run_epoch(ours, edges, CURVE, epoch=epoch, step=step, repulsions=umap_answers.REPULSIONS)
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
    heads, tails, every = umap_answers.edges(10, 3)
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
