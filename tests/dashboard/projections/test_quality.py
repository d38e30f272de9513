from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

from stepscope.dashboard.projections import quality as quality_module
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.quality import Quality, quality


def digits(count: int = 1797) -> tuple[Points, NDArray[np.float32], NDArray[np.int32]]:
    """Images with many equal distances, their first two components, and the digits shown."""
    data = load_digits()
    points = data.data[:count].astype(np.float32)
    return points, pca(points, 2).coordinates, data.target[:count].astype(np.int32)


def distances(values: NDArray[np.float32], by_angle: bool) -> NDArray[np.float64]:
    """Distances of all points in double precision; infinite from each to itself."""
    exact = values.astype(np.float64)
    if by_angle:
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
        apart: NDArray[np.float64] = 1 - unit @ unit.T
    else:
        apart = np.linalg.norm(exact[:, None] - exact, axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart


def by_hand(points: Points, picture: NDArray[np.float32], k: int, cosine: bool = False) -> dict[str, list[float]]:
    """Each point's trustworthiness, continuity and share of neighbors kept, by sorting everything."""
    n = len(points)
    data, seen = (
        [list(np.argsort(row, kind="stable")[: n - 1]) for row in distances(values, by_angle)]
        for values, by_angle in ((points, cosine), (picture, False))
    )
    worst = k * (2 * n - 3 * k - 1) / 2

    def without(ranked: list[int], near: list[int]) -> float:
        return 1 - sum(max(0, ranked.index(j) + 1 - k) for j in near[:k]) / worst

    return {
        "trustworthiness": [without(data[i], seen[i]) for i in range(n)],
        "continuity": [without(seen[i], data[i]) for i in range(n)],
        "neighbors_kept": [len({*data[i][:k]} & {*seen[i][:k]}) / k for i in range(n)],
    }


@pytest.mark.parametrize(("n", "d", "k"), [(200, 5, 12), (200, 40, 7), (31, 3, 15), (3, 2, 1), (700, 20, 12)])
def test_equals_scikit_learns(n: int, d: int, k: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, d)).astype(np.float32)
    picture = pca(points, 2).coordinates
    found = quality(points, picture, k)
    assert found.trustworthiness == pytest.approx(trustworthiness(points, picture, n_neighbors=k), abs=1e-6)
    assert found.continuity == pytest.approx(trustworthiness(picture, points, n_neighbors=k), abs=1e-6)
    assert (found.count, found.sampled) == (k, n)


def test_equals_scikit_learns_on_real_data_and_by_angle() -> None:
    points, picture, _ = digits()
    for metric in ("euclidean", "cosine"):
        found = quality(points, picture, 12, metric=metric)
        theirs = trustworthiness(points, picture, n_neighbors=12, metric=metric)
        # Several points are equally far, and scikit-learn orders them differently.
        assert found.trustworthiness == pytest.approx(theirs, abs=1e-5)
    theirs = trustworthiness(picture, points, n_neighbors=12)
    assert quality(points, picture, 12).continuity == pytest.approx(theirs, abs=1e-5)


GRID = hnp.arrays(np.float32, st.tuples(st.integers(3, 24), st.just(3)), elements=st.integers(0, 3).map(float))


@given(GRID, st.integers(1, 11))
def test_points_at_equal_distances_are_in_the_order_of_their_rows(points: Points, k: int) -> None:
    k = min(k, (len(points) - 1) // 2)
    picture = points[:, :2].copy()
    found = quality(points, picture, k)
    for name, values in by_hand(points, picture, k).items():
        np.testing.assert_allclose(getattr(found, f"{name}_each"), values, atol=1e-6, err_msg=name)


def test_points_in_one_place_are_kept_as_they_are() -> None:
    found = quality(np.ones((9, 3), np.float32), np.zeros((9, 2), np.float32), 3)
    assert (found.trustworthiness, found.continuity, found.neighbors_kept) == (1, 1, 1)


@pytest.mark.parametrize("cosine", [False, True])
@given(seed=st.integers(0, 1 << 20), n=st.integers(3, 30), k=st.integers(1, 14))
@settings(max_examples=30)
def test_each_point_is_rated_as_by_sorting(cosine: bool, seed: int, n: int, k: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, 4)).astype(np.float32)
    picture = generator.normal(size=(n, 2)).astype(np.float32)
    # Single precision cannot tell which of two points is nearer when their distances agree to its last digits.
    for each, by_angle in ((points, cosine), (picture, False)):
        assume(np.diff(np.sort(distances(each, by_angle), axis=1)[:, : n - 1], axis=1).min(initial=1) > 1e-5)
    k = min(k, (n - 1) // 2)
    found = quality(points, picture, k, metric="cosine" if cosine else "euclidean")
    for name, values in by_hand(points, picture, k, cosine).items():
        np.testing.assert_allclose(getattr(found, f"{name}_each"), values, atol=1e-6)
        assert getattr(found, name) == pytest.approx(np.mean(values), abs=1e-6)


def test_blocks_and_tiles_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    points, picture, labels = digits(300)
    whole = quality(points, picture, labels=labels)
    monkeypatch.setattr(quality_module, "_MOST_ROWS", 7)
    monkeypatch.setattr(quality_module, "_TILE", 11)
    reported: list[tuple[int, int]] = []
    parts = quality(points, picture, labels=labels, reported=lambda done, total: reported.append((done, total)))
    assert_same(parts, whole)
    assert reported[0] == (7, 300)
    assert reported[-1] == (300, 300)
    assert all(after[0] > before[0] for before, after in pairwise(reported))


def assert_same(ours: Quality, theirs: Quality) -> None:
    for name, value in vars(theirs).items():
        np.testing.assert_allclose(getattr(ours, name), value, atol=1e-6, err_msg=name)


def test_a_sample_rates_some_points_as_all_would() -> None:
    points, picture, labels = digits(400)
    whole = quality(points, picture, labels=labels)
    some = quality(points, picture, labels=labels, sample=120, seed=5)
    rated = np.isfinite(some.trustworthiness_each)
    assert some.sampled == int(rated.sum()) == 120
    for name in ("trustworthiness", "continuity", "hit", "neighbors_kept"):
        each, all_of_them = getattr(some, f"{name}_each"), getattr(whole, f"{name}_each")
        np.testing.assert_allclose(each[rated], all_of_them[rated], atol=1e-6)
        assert np.isnan(each[~rated]).all()
        assert getattr(some, name) == pytest.approx(float(each[rated].mean()), abs=1e-6)
    assert_same(quality(points, picture, labels=labels, sample=120, seed=5), some)
    assert quality(points, picture, sample=1000).sampled == 400


def test_many_points_are_sampled_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    points, picture, _ = digits(300)
    monkeypatch.setattr(quality_module, "EXACT_POINTS", 299)
    monkeypatch.setattr(quality_module, "SAMPLE", 50)
    assert quality(points, picture).sampled == 50
    assert quality(points, picture, sample=300).sampled == 300


def test_hits_are_neighbors_with_the_own_label() -> None:
    line = np.arange(6, dtype=np.float32)[:, None] ** 1.1
    found = quality(line, line, 2, labels=np.array([0, 0, 0, 1, 1, -1], np.int32))
    assert found.hit_each is not None
    assert found.hit_each[:5].tolist() == [1, 1, 0.5, 0.5, 0.5]
    assert np.isnan(found.hit_each[5])
    assert found.hit == pytest.approx(0.7)
    assert found.trustworthiness == found.continuity == found.neighbors_kept == 1
    unknown = quality(line, line, 2, labels=np.full(6, -1, np.int32))
    assert unknown.hit is None
    assert quality(line, line, 2).hit_each is None


@pytest.mark.parametrize("n", [0, 1, 2])
def test_so_few_points_are_always_in_place(n: int) -> None:
    found = quality(np.ones((n, 3), np.float32), np.zeros((n, 2), np.float32), labels=np.zeros(n, np.int32))
    assert (found.trustworthiness, found.continuity, found.neighbors_kept, found.hit) == (1, 1, 1, None)
    assert (found.count, found.sampled) == (0, n)
    assert found.trustworthiness_each.tolist() == [1] * n


@given(
    hnp.arrays(
        np.float32, st.tuples(st.integers(0, 9), st.integers(1, 3)), elements=st.floats(-(2.0**127), 2.0**127, width=32)
    ),
    st.sampled_from(["euclidean", "cosine"]),
    st.none() | st.integers(1, 9),
)
def test_numbers_are_always_shares(points: NDArray[np.float32], metric: quality_module.Metric, sample: int) -> None:
    found = quality(points, np.zeros((len(points), 2), np.float32), metric=metric, sample=sample)
    for value in (found.trustworthiness, found.continuity, found.neighbors_kept):
        assert 0 <= value <= 1


def test_says_what_does_not_fit() -> None:
    points = np.zeros((4, 2), np.float32)
    with pytest.raises(ValueError, match="4 points, but 3 in the projection"):
        quality(points, points[:3])
    with pytest.raises(ValueError, match="count is 0; expected at least 1"):
        quality(points, points, 0)
