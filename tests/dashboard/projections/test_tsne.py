from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, trustworthiness

from stepscope.dashboard.projections.base import Progress
from stepscope.dashboard.projections.tsne import TsneRun, start
from stepscope.dashboard.projections.tsne_settings import TsneSettings
from tests.dashboard.projections.test_tsne_parts import affinities_of, dense

SHORT = TsneSettings(iterations=60, exaggeration_iterations=20)
APPROXIMATE = replace(SHORT, approximate=True)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    loaded = load_digits()
    return loaded.data.astype(np.float32), loaded.target.astype(np.int32)


def finished(run: TsneRun) -> Progress:
    while not (progress := run.advance(10)).done:
        pass
    return progress


def picture_of(progress: Progress) -> np.ndarray:
    assert progress.coordinates is not None
    return progress.coordinates


def divergence(affinities: np.ndarray, picture: np.ndarray) -> float:
    squares = ((picture[:, None].astype(np.float64) - picture) ** 2).sum(axis=2)
    q = 1 / (1 + squares)
    np.fill_diagonal(q, 0)
    q /= q.sum()
    some = affinities > 0
    return float((affinities[some] * np.log(affinities[some] / q[some])).sum())


def test_the_first_step_goes_down_the_gradient() -> None:
    points = digits()[0][:80]
    init = np.random.default_rng(0).standard_normal((80, 2)).astype(np.float32)
    one = replace(SHORT, perplexity=10, iterations=1, exaggeration_iterations=0, learning_rate=1.0)
    progress = finished(start(points, one, init=init))
    affinities = dense(affinities_of(points, 10))
    centered = init.astype(np.float64) - init.mean(axis=0)
    assert progress.loss == pytest.approx(divergence(affinities, centered), rel=1e-5)
    differences = centered[:, None] - centered
    q = 1 / (1 + (differences**2).sum(axis=2))
    np.fill_diagonal(q, 0)
    gradient = 4 * (((affinities - q / q.sum()) * q)[:, :, None] * differences).sum(axis=1)
    # The gain of the first step, which has no direction to keep, is 0.8.
    np.testing.assert_allclose(picture_of(progress) - centered, -0.8 * gradient, atol=1e-6)


def test_digits_are_as_good_as_those_of_scikit_learn() -> None:
    points = digits()[0][:700]
    progress = finished(start(points, TsneSettings(iterations=500)))
    other = TSNE(max_iter=500, random_state=0).fit_transform(points)
    affinities = dense(affinities_of(points, 30))
    ours = divergence(affinities, picture_of(progress))
    assert progress.loss == pytest.approx(ours, rel=2e-3)
    assert ours < 1.02 * divergence(affinities, other)
    assert trustworthiness(points, picture_of(progress)) > trustworthiness(points, other) - 0.02


@pytest.mark.parametrize("dimensions", [2, 3])
def test_approximate_pictures_are_nearly_as_good_as_exact_ones(dimensions: Any) -> None:
    points = digits()[0][:900]
    affinities = dense(affinities_of(points, 30))
    exact, other = (
        divergence(affinities, picture_of(finished(start(points, TsneSettings(dimensions, approximate=how)))))
        for how in (False, True)
    )
    # Rounding, which differs between versions of NumPy, decides in which of many minima each of them ends.
    assert other < 1.06 * exact


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("approximate", [False, True])
def test_a_stopped_run_goes_on_as_if_it_had_not(dimensions: Any, approximate: bool) -> None:
    points = digits()[0][:400]
    settings = replace(SHORT, dimensions=dimensions, approximate=approximate)
    through = start(points, settings)
    stopped = start(points, settings)
    while stopped.advance(0).iteration < 31:
        pass
    while through.advance(0).iteration < 31:
        pass
    through.perturb()
    stopped.perturb()
    state = {name: np.array(array) for name, array in stopped.state().items()}
    without = {name: np.array(array) for name, array in stopped.state(most_bytes=1_000).items()}
    assert set(state) - set(without) == {"starts", "columns", "weights"}
    assert set(stopped.state(most_bytes=1 << 20)) == set(state)
    finished(stopped)
    resumed = start(points, settings, state=state)
    np.testing.assert_array_equal(picture_of(finished(resumed)), picture_of(finished(through)))
    again = finished(start(points, settings, state=without))
    np.testing.assert_array_equal(picture_of(again), picture_of(through.advance(0)))
    assert again.loss == through.advance(0).loss


def test_a_run_stopped_before_its_first_iteration_begins_again() -> None:
    points = digits()[0][:300]
    run = start(points, SHORT)
    first = run.advance(0)
    assert (first.iteration, first.phase, first.loss, first.done) == (0, "initialization", None, False)
    assert picture_of(first)[:, 0].std() == pytest.approx(1e-4, rel=1e-3)
    assert "neighbors" in run.advance(0).phase
    np.testing.assert_array_equal(
        picture_of(finished(start(points, SHORT, state=run.state()))), picture_of(finished(run))
    )


def test_the_same_seed_gives_the_same_picture() -> None:
    points = digits()[0][:300]
    one, other = (picture_of(finished(start(points, replace(APPROXIMATE, seed=1)))) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_phases_follow_each_other() -> None:
    run = start(digits()[0][:200], SHORT)
    phases = []
    while not (progress := run.advance(0)).done:
        phases.append(progress.phase.partition(" (")[0])
    assert list(dict.fromkeys(phases)) == [
        "initialization",
        "neighbors",
        "perplexity",
        "early exaggeration",
        "iterations",
    ]
    assert (progress.phase, progress.iteration, progress.total) == ("done", 60, 60)


def test_an_extended_run_is_a_longer_one() -> None:
    points = digits()[0][:200]
    run = start(points, SHORT)
    finished(run)
    run.extend(15)
    assert not run.advance(0).done
    progress = finished(run)
    assert (progress.iteration, progress.total) == (75, 75)
    np.testing.assert_array_equal(
        picture_of(progress), picture_of(finished(start(points, replace(SHORT, iterations=75))))
    )
    with pytest.raises(ValueError, match="not by -1"):
        run.extend(-1)


def test_coordinates_are_copies() -> None:
    run = start(digits()[0][:100], SHORT)
    coordinates = picture_of(run.advance(0))
    before = coordinates.copy()
    finished(run)
    np.testing.assert_array_equal(coordinates, before)


def test_perturbed_points_move_a_little_and_stay_in_the_circle() -> None:
    run = start(digits()[0][:300], SHORT)
    run.perturb()
    before = picture_of(finished(run))
    radius = np.sqrt((before**2).sum(axis=1)).max()
    run.perturb()
    after = picture_of(run.advance(0))
    moved = np.abs(after - before).max(axis=1)
    assert (moved > 0).mean() > 0.99
    assert moved.max() < 0.06 * radius
    assert np.sqrt((after**2).sum(axis=1)).max() < 1.02 * radius


def test_supervision_brings_labels_together() -> None:
    points, labels = digits()
    points, labels = points[:600] + 12 * np.random.default_rng(0).standard_normal((600, 64)).astype("f"), labels[:600]
    hits = []
    for supervision in (0, 50):
        picture = picture_of(
            finished(start(points, TsneSettings(iterations=400, supervision=supervision), labels=labels))
        )
        squares = ((picture[:, None] - picture) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        hits.append((labels[np.argsort(squares, axis=1)[:, :10]] == labels[:, None]).mean())
    assert hits[1] > hits[0] + 0.1


def test_cosine_does_not_heed_lengths() -> None:
    points = digits()[0][:200]
    settings = replace(SHORT, metric="cosine")
    lengths = 2.0 ** np.random.default_rng(0).integers(-3, 4, (200, 1)).astype(np.float32)
    init = np.random.default_rng(0).standard_normal((200, 2)).astype(np.float32)
    np.testing.assert_allclose(
        picture_of(finished(start(points * lengths, settings, init=init))),
        picture_of(finished(start(points, settings, init=init))),
        rtol=1e-2,
        atol=1e-2,
    )


def test_a_perplexity_too_large_is_lowered_and_said() -> None:
    run = start(digits()[0][:10], SHORT)
    assert run.notes == ("The perplexity is 3 instead of 30: it can be at most a third of the 9 other points.",)
    assert np.isfinite(picture_of(finished(run))).all()


def test_what_is_approximate_is_said() -> None:
    generator = np.random.default_rng(0)
    points = (generator.integers(0, 9, (2500, 1)) * 10 + generator.random((2500, 4))).astype(np.float32)
    run = start(points, replace(APPROXIMATE, iterations=0))
    finished(run)
    assert run.notes[0].startswith("Neighbors are approximate: ")
    assert run.notes[1] == "Repulsion is interpolated on a grid."


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("approximate", [None, True])
@pytest.mark.parametrize(
    "points",
    [
        *(np.arange(6, dtype=np.float32).reshape(3, 2)[:n] for n in range(4)),
        np.ones((30, 3), np.float32),
        np.repeat(np.eye(4, dtype=np.float32), 12, axis=0),
        np.concatenate([np.ones((40, 5)), np.arange(40)[:, None]], axis=1).astype(np.float32),
        np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32) * np.float32(1e30),
        np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32) * np.float32(1e-30),
        np.repeat(np.eye(4, dtype=np.float32), 100, axis=0),
    ],
    ids=["none", "one", "two", "three", "equal", "duplicates", "constant columns", "huge", "tiny", "many duplicates"],
)
def test_odd_points_have_finite_places(points: np.ndarray, dimensions: Any, approximate: bool | None) -> None:
    progress = finished(start(points, TsneSettings(dimensions, iterations=120, approximate=approximate)))
    assert picture_of(progress).shape == (len(points), dimensions)
    assert np.isfinite(picture_of(progress)).all()
    assert progress.loss is not None
    assert np.isfinite(progress.loss)


@settings(max_examples=15)
@given(
    arrays(np.float32, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.floats(-1e6, 1e6, width=32)),
    st.floats(1, 50),
    st.sampled_from([0.001, 10.0, 1e4, None]),
)
def test_any_points_have_finite_places(points: np.ndarray, perplexity: float, rate: float | None) -> None:
    run = start(points, TsneSettings(perplexity=perplexity, learning_rate=rate, iterations=80))
    progress = finished(run)
    assert np.isfinite(picture_of(progress)).all()
    np.testing.assert_allclose(picture_of(progress).mean(axis=0), 0, atol=1e-3 * np.ptp(picture_of(progress)) + 1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 4}, "The dimensions of t-SNE must be 2 or 3, not 4."),
        ({"perplexity": 0.5}, "The perplexity of t-SNE must be from 1 to 1000, not 0.5."),
        ({"perplexity": float("nan")}, "The perplexity of t-SNE must be from 1 to 1000, not nan."),
        ({"learning_rate": 0.0}, "The learning rate of t-SNE must be above 0 and at most 1000000, not 0.0."),
        ({"exaggeration": 0.0}, "The exaggeration of t-SNE must be from 1 to 1000, not 0.0."),
        ({"iterations": -1}, "The iterations of t-SNE must be from 0 to 1000000, not -1."),
        ({"supervision": 101}, "The supervision of t-SNE must be from 0 to 100, not 101."),
        ({"metric": "inner"}, "The metric of t-SNE must be euclidean or cosine, not inner."),
        ({"seed": -1}, "The seed of t-SNE must be from 0 to 4294967295, not -1."),
    ],
)
def test_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace(".", r"\.") + "$"):
        TsneSettings(**options)


def test_arrays_of_another_shape() -> None:
    points = np.zeros((5, 3), np.float32)
    with pytest.raises(ValueError, match=r"The labels of t-SNE must have the shape \(5,\), not \(4,\)."):
        start(points, labels=np.zeros(4, np.int32))
    with pytest.raises(ValueError, match=r"The initialization of t-SNE must have the shape \(5, 2\), not \(5, 3\)."):
        start(points, init=np.zeros((5, 3), np.float32))
    with pytest.raises(ValueError, match=r"The state of t-SNE must have the shape \(2, 5\), not \(2, 4\)."):
        start(points, state=start(points[:4]).state())
