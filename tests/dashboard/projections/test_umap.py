from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from stepscope.dashboard.projections.base import Points, Progress
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.quality import quality
from stepscope.dashboard.projections.umap import UmapRun, start
from stepscope.dashboard.projections.umap_graph import Prepared, Wanted, _fitted, preparation_steps
from stepscope.dashboard.projections.umap_layout import run_epoch
from stepscope.dashboard.projections.umap_settings import UmapSettings
from tools.peer_pack import umap_answers
from tools.peer_pack.umap_answers import digits

Peer = Callable[[str], Path]


def begun(*arguments: Any, **options: Any) -> UmapRun:
    """A run whose graph is ready and whose first epoch is done."""
    run = start(*arguments, **options)
    while run.advance(0).iteration == 0:
        run.advance(0.05)
    return run


def finished(run: UmapRun) -> Progress:
    while not (progress := run.advance(10)).done:
        pass
    return progress


def prepared(points: Points, wanted: Wanted, labels: NDArray[np.int32] | None = None, **options: Any) -> Prepared:
    steps = preparation_steps(points, wanted, labels, Workers(), **options)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Prepared = end.value
            return found


def picture(progress: Progress) -> NDArray[np.float32]:
    assert progress.coordinates is not None
    return progress.coordinates


@pytest.mark.parametrize("least", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_the_curve_is_fitted_as_scipys_fits_it(least: float) -> None:
    lengths = np.linspace(0, 3, 300)[1:]
    strengths = np.where(lengths < least, 1.0, np.exp(least - lengths))
    theirs, _ = curve_fit(lambda length, a, b: 1 / (1 + a * length ** (2 * b)), lengths, strengths)
    assert _fitted(lengths, strengths) == pytest.approx(theirs.tolist(), rel=1e-4)


def test_tells_how_far_it_is() -> None:
    points, _ = digits(120)
    run = start(points, UmapSettings(epochs=30))
    reported = [run.advance(0)]
    while not reported[-1].done:
        reported.append(run.advance(0))
    phases = list(dict.fromkeys(progress.phase for progress in reported))
    assert phases == ["neighbors (100%)", "graph (0%)", "iterations", "done"]
    iterations = [progress.iteration for progress in reported]
    assert iterations == sorted(iterations)
    for progress in reported:
        assert picture(progress).shape == (120, 2)
        assert picture(progress).dtype == np.float32
        assert np.isfinite(picture(progress)).all()
        assert progress.total == 30
        assert (progress.loss is None) == (progress.iteration == 0)
    losses = [progress.loss for progress in reported if progress.loss is not None]
    assert losses[-1] < losses[0]
    assert reported[-1].coordinates is not run.advance(0).coordinates


@pytest.mark.peers
@pytest.mark.parametrize("metric", umap_answers.METRICS)
def test_is_as_good_as_umap_learn(metric: Any, peer: Peer) -> None:
    points, labels = digits()
    ours = picture(finished(start(points, UmapSettings(metric=metric, epochs=umap_answers.EPOCHS))))
    theirs = np.load(peer(f"pack/{umap_answers.ANSWERS}"))[f"picture_{metric}"]
    own, other = (quality(points, found, metric=metric, labels=labels) for found in (ours, theirs))
    assert own.trustworthiness > other.trustworthiness - 0.01
    assert own.continuity > other.continuity - 0.01
    assert own.hit is not None
    assert other.hit is not None
    assert own.hit > other.hit - 0.02


@pytest.mark.peers
def test_the_graph_is_umap_learns(peer: Peer) -> None:
    points, labels = umap_answers.uneven_digits()
    distances, _ = umap_answers.nearest(points)
    assert (np.diff(distances, axis=1) > 1e-3).all()
    wanted = Wanted(umap_answers.NEIGHBORS, "euclidean", 0.1, 1.0, 100_000, 50.0, umap_answers.FAR, 0)
    found = prepared(points, wanted, labels)
    answers = np.load(peer(f"pack/{umap_answers.ANSWERS}"))
    heads, tails, strengths = answers["graph"]
    theirs, ours = np.zeros((2, 200, 200))
    theirs[heads.astype(int), tails.astype(int)] = strengths
    ours[found.edges.heads, found.edges.tails] = strengths.max() / found.edges.every
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert (found.curve.a, found.curve.b) == pytest.approx(answers["curves"][0])


def test_the_same_seed_gives_the_same_picture() -> None:
    points, _ = digits(150)
    first, second, other = (
        picture(finished(start(points, UmapSettings(epochs=20, seed=seed, dimensions=3)))) for seed in (1, 1, 2)
    )
    assert first.shape == (150, 3)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_goes_on_from_its_state_as_if_it_had_not_stopped() -> None:
    points, _ = digits(150)
    settings = UmapSettings(epochs=25)
    run = begun(points, settings)
    kept = {name: values.copy() for name, values in run.state().items()}
    again = start(points, settings, state=kept)
    assert np.array_equal(picture(finished(again)), picture(finished(run)))
    assert set(run.state()) == set(kept)
    assert {values.dtype.kind for values in kept.values()} <= set("fiu")
    resumed = start(points, settings, state=run.state())
    assert resumed.advance(0).done
    assert np.array_equal(picture(resumed.advance(0)), picture(run.advance(0)))


def test_has_no_state_before_the_graph_and_begins_anew_from_it() -> None:
    points, _ = digits(50)
    run = start(points, UmapSettings(epochs=5))
    if run.advance(0).iteration == 0:
        assert run.state() == {}
    assert finished(start(points, UmapSettings(epochs=5), state={})).iteration == 5


@pytest.mark.parametrize("epoch", [0, 1, 2, 7, 24, 60])
def test_edges_are_made_again_as_they_were_at_an_epoch(epoch: int) -> None:
    points, _ = digits(150)
    wanted = Wanted(10, "euclidean", 0.1, 1.0, 60, 0.0, 5, 0)
    passed = prepared(points, wanted)
    places = points[:, :2].copy()
    for number in range(epoch):
        run_epoch(places, passed.edges, passed.curve, epoch=number, step=0.5, repulsions=5)
    again = prepared(points, wanted, epoch=epoch, random=passed.edges.random)
    for name, values in vars(passed.edges).items():
        np.testing.assert_allclose(getattr(again.edges, name), values, rtol=1e-12, err_msg=name)


def test_goes_on_without_the_edges() -> None:
    points, _ = digits(150)
    settings = UmapSettings(epochs=25)
    run = begun(points, settings)
    small = run.state(most_bytes=1_000)
    assert set(small) == {"coordinates", "iterations", "random"}
    assert set(run.state(most_bytes=1 << 20)) == set(run.state())
    again = start(points, settings, state=small)
    assert {name: values.tolist() for name, values in again.state().items()} == {
        name: values.tolist() for name, values in small.items()
    }
    np.testing.assert_allclose(picture(finished(again)), picture(finished(run)), atol=1e-3)


def test_can_be_extended_and_perturbed() -> None:
    points, _ = digits(150)
    run = start(points, UmapSettings(epochs=10))
    end = picture(finished(run))
    run.perturb()
    moved = run.advance(0)
    assert moved.done
    shift = np.abs(picture(moved) - end)
    assert shift.max() < float(end.std())
    assert (shift > 0).any(axis=1).all()
    run.extend(7)
    assert not run.advance(0).done
    last = finished(run)
    assert (last.iteration, last.total) == (17, 17)


def test_labels_draw_points_together() -> None:
    points, _ = digits(300)
    labels = np.random.default_rng(0).integers(0, 3, 300).astype(np.int32)

    def hit(supervision: float, given: NDArray[np.int32] | None) -> float:
        run = start(points, UmapSettings(epochs=100, supervision=supervision), labels=given)
        found = quality(points, picture(finished(run)), labels=labels).hit
        assert found is not None
        return found

    plain = hit(0, labels)
    assert hit(50, np.full(300, -1, np.int32)) == plain
    assert hit(50, None) == plain
    assert hit(50, labels) > plain + 0.1
    assert hit(100, labels) > plain + 0.3


def test_begins_where_it_is_told() -> None:
    points, _ = digits(100)
    places = np.random.default_rng(0).uniform(-8, 8, (100, 2)).astype(np.float32)
    near = start(points, UmapSettings(epochs=5), init=places).advance(0)
    if near.iteration == 0:
        np.testing.assert_allclose(picture(near), places, atol=1e-3)
    tiny = start(points, UmapSettings(epochs=5), init=places * np.float32(1e-6)).advance(0)
    assert float(np.ptp(picture(tiny))) > 1


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 3)),
        np.ones((1, 3)),
        np.array([[0, 0], [1, 1]]),
        np.array([[0, 0], [1, 1], [5, 0]]),
        np.zeros((20, 2)),
        np.repeat(np.eye(3), 10, axis=0),
        np.arange(12).reshape(12, 1),
        np.array([[3e38, 0], [-3e38, 1], [0, 3e38], [1, 1]]),
    ],
    ids=["none", "one", "two", "three", "equal", "duplicates", "line", "huge"],
)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_odd_points(points: NDArray[np.float64], metric: Any) -> None:
    n = len(points)
    labels = (np.arange(n) % 2).astype(np.int32)
    settings = UmapSettings(epochs=12, dimensions=3, metric=metric, supervision=50)
    run = start(points.astype(np.float32), settings, labels=labels)
    run.perturb()
    end = finished(run)
    assert picture(end).shape == (n, 3)
    assert np.isfinite(picture(end)).all()
    assert end.iteration == end.total == 12
    run.extend(2)
    assert np.isfinite(picture(finished(run))).all()
    if 2 <= n < 15:
        assert run.notes == (f"{n} neighbors instead of 15: there are only {n} points.",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dimensions": 4}, "dimensions is 4; expected 2 or 3"),
        ({"metric": "inner"}, "metric is 'inner'; expected euclidean or cosine"),
        ({"neighbors": 1}, "neighbors is 1; expected 2 to 500"),
        ({"minimum_distance": 1.5}, r"minimum_distance is 1.5; expected 0 to 1.0"),
        ({"spread": float("nan")}, "spread is nan; expected 0.05 to 10"),
        ({"epochs": 0}, "epochs is 0; expected 1 to 100000"),
        ({"supervision": 101}, "supervision is 101; expected 0 to 100"),
        ({"learning_rate": 0}, "learning_rate is 0; expected 1e-06 to 100"),
        ({"negative_samples": 0}, "negative_samples is 0; expected 1 to 100"),
        ({"seed": -1}, "seed is -1; expected 0 to 4294967295"),
    ],
)
def test_settings_have_ranges(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UmapSettings(**values)


def test_says_what_does_not_fit() -> None:
    points, labels = digits(20)
    with pytest.raises(ValueError, match=r"labels have shape \(19,\); expected \(20,\)"):
        start(points, UmapSettings(), labels=labels[:19])
    with pytest.raises(ValueError, match=r"init has shape \(20, 3\); expected \(20, 2\)"):
        start(points, UmapSettings(), init=np.zeros((20, 3), np.float32))
    with pytest.raises(ValueError, match=r"state has shape \(4, 2\); expected \(20, 2\)"):
        start(points, UmapSettings(), state={"coordinates": np.zeros((4, 2), np.float32)})


@pytest.mark.parametrize(("spread", "distance"), [(0.05, 0.0), (0.05, 0.05), (2.0, 0.1), (10.0, 10.0)])
def test_the_curve_falls_from_the_minimum_distance_on(spread: float, distance: float, peer: Peer) -> None:
    wanted = Wanted(2, "euclidean", distance, spread, 1, 0.0, 5, 0)
    curve = prepared(np.eye(2, dtype=np.float32), wanted).curve
    lengths = np.linspace(0, 3 * spread, 200)
    strengths = 1 / (1 + curve.a * lengths ** (2 * curve.b))
    requested = np.where(lengths < distance, 1, np.exp(-(lengths - distance) / spread))
    np.testing.assert_allclose(strengths, requested, atol=0.12)
    if (spread, distance) in umap_answers.SPREADS:
        theirs = np.load(peer(f"pack/{umap_answers.ANSWERS}"))["curves"][umap_answers.SPREADS.index((spread, distance))]
        assert (curve.a, curve.b) == pytest.approx(theirs, rel=1e-4)
