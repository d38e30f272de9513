import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from stepscope.dashboard.projections import clusters
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.clusters import hdbscan, kmeans, notes


def heaps(sizes: list[int], d: int, seed: int = 0) -> tuple[Points, NDArray[np.int32]]:
    """Heaps far from each other, and the heap of each point."""
    generator = np.random.default_rng(seed)
    true = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    centers = generator.normal(size=(len(sizes), d)) * 50
    order = generator.permutation(len(true))
    points = (centers[true] + generator.normal(size=(len(true), d)))[order]
    return points.astype(np.float32), true[order]


@pytest.mark.parametrize("d", [2, 40, 300])
def test_both_find_heaps_and_number_them_by_size(d: int) -> None:
    points, true = heaps([80, 50, 30], d)
    assert np.array_equal(kmeans(points, 3), true)
    assert np.array_equal(hdbscan(points, 10), true)


def test_what_is_far_from_everything_is_in_no_cluster() -> None:
    points, true = heaps([60, 40], 2)
    points[7] = 1e4
    true[7] = -1
    assert np.array_equal(hdbscan(points, 10), true)


def test_many_points_are_clustered_by_batches_and_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    points, true = heaps([400, 300, 200], 5)
    monkeypatch.setattr(clusters, "EXACT_POINTS", 100)
    monkeypatch.setattr(clusters, "DENSITY_POINTS", 300)
    assert adjusted_rand_score(true, kmeans(points, 3, seed=1)) == 1
    found = hdbscan(points, 60)
    assert np.array_equal(found, true)
    assert np.array_equal(found, hdbscan(points, 60))
    assert notes("kmeans", 900, 5) == ("Centers were found on batches of points, so they are approximate.",)
    assert notes("hdbscan", 900, 40) == (
        "The 40 dimensions were reduced to 16 by PCA first.",
        "Clusters were found on 300 of 900 points; each other point joins the cluster of its nearest one among those.",
    )


def test_nothing_is_said_of_what_is_by_the_book() -> None:
    assert notes("kmeans", 100, 64) == notes("hdbscan", 100, 16) == ()


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(0, 6), st.integers(0, 4)),
        elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, 3e38, -3e38]),
    ),
    st.integers(1, 9),
)
@settings(max_examples=40)
@pytest.mark.filterwarnings("error")
def test_odd_points(points: NDArray[np.float32], count: int) -> None:
    found = kmeans(points, count)
    assert found.dtype == np.int32
    assert found.shape == (len(points),)
    assert set(found.tolist()) == set(range(len(set(found.tolist()))))
    assert len(set(found.tolist())) <= count
    # Equal points are in one cluster.
    for row in range(len(points)):
        assert set(found[(points == points[row]).all(axis=1)].tolist()) == {found[row]}
    dense = hdbscan(points, 2)
    assert dense.shape == (len(points),)
    assert dense.min(initial=-1) == -1


def test_no_more_clusters_than_different_points() -> None:
    points = np.array([[0, 1], [0, 1], [5, 5], [-0.0, 1]], np.float32)
    assert kmeans(points, 8).tolist() == [0, 0, 1, 0]


def test_says_which_number_is_wrong() -> None:
    points = np.zeros((3, 2), np.float32)
    with pytest.raises(ValueError, match="count is 0; expected at least 1"):
        kmeans(points, 0)
    with pytest.raises(ValueError, match="minimum_size is 1; expected at least 2"):
        hdbscan(points, 1)
    with pytest.raises(ValueError, match="minimum_samples is 0; expected at least 1"):
        hdbscan(points, 2, 0)
