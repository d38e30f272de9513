from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from stepscope.dashboard.projections import pca as pca_module
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.pca import pca, projected

odd_points = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
    elements=st.sampled_from([0.0, -0.0, 0.1, 1.0, -1.0, 1e-30, 7.0, 3e38, -3e38]),
)


def made(n: int, d: int, rank: int | None = None, seed: int = 0) -> Points:
    """Correlated columns around a nonzero mean, in ``rank`` directions."""
    generator = np.random.default_rng(seed)
    rank = min(rank or d, d)
    scales = np.linspace(3, 0.5, rank)
    points = (generator.normal(size=(n, rank)) * scales) @ np.linalg.qr(generator.normal(size=(d, rank)))[0].T
    return np.ascontiguousarray(points + generator.normal(size=d) * 5, np.float32)


@pytest.mark.parametrize(("n", "d"), [(2000, 12), (500, 40), (30, 30), (20, 90), (5, 3)])
def test_equals_scikit_learns(n: int, d: int) -> None:
    points = made(n, d)
    k = min(4, n - 1, d)
    theirs = PCA(k, svd_solver="full").fit(points.astype(np.float64))
    ours = pca(points, k)
    assert ours.exact
    np.testing.assert_allclose(ours.mean, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.variances, theirs.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(ours.ratios, theirs.explained_variance_ratio_, rtol=1e-8)
    np.testing.assert_allclose(ours.axes, theirs.components_, atol=1e-6)
    np.testing.assert_allclose(ours.coordinates, theirs.transform(points.astype(np.float64)), atol=1e-4)
    assert ours.coordinates.dtype == np.float32
    assert ours.coordinates.flags.c_contiguous


def test_approximates_where_both_sides_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    points = made(300, 200, rank=12)
    exact = pca(points, 5)
    monkeypatch.setattr(pca_module, "WIDEST", 100)
    near = pca(points, 5, seed=3)
    assert (exact.exact, near.exact) == (True, False)
    np.testing.assert_allclose(near.variances, exact.variances, rtol=1e-3)
    np.testing.assert_allclose(near.ratios, exact.ratios, rtol=1e-3)
    np.testing.assert_allclose(near.coordinates, exact.coordinates, atol=0.02)
    again = pca(points, 5, seed=3)
    assert np.array_equal(near.coordinates, again.coordinates)


def test_signs_do_not_depend_on_the_way_it_is_worked_out() -> None:
    points = made(60, 60)
    wide, tall = pca(points[:40], 3), pca(points, 3)
    for found in (wide, tall):
        peaks = np.abs(found.axes).argmax(axis=1)
        assert (found.axes[np.arange(3), peaks] > 0).all()


def test_components_beyond_the_rank_are_zero() -> None:
    found = pca(np.array([[1, 5, 2], [3, 5, 2], [5, 5, 2]], np.float32), 4)
    assert found.variances.tolist() == pytest.approx([4, 0, 0, 0])
    assert found.ratios.tolist() == pytest.approx([1, 0, 0, 0])
    assert found.coordinates.tolist() == [[-2, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
    assert found.axes.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("points", [[], [[0.1, 7]], [[0.1, 7]] * 3, [[0.1] * 40] * 3], ids=["0", "1", "3", "wide"])
def test_equal_points_are_at_the_origin(points: list[list[float]]) -> None:
    given = np.array(points, np.float32).reshape(len(points), -1 if points else 5)
    found = pca(given, 2)
    assert found.coordinates.tolist() == [[0, 0]] * len(points)
    assert found.variances.tolist() == found.ratios.tolist() == [0, 0]


@given(odd_points, st.integers(1, 8))
def test_nothing_is_not_a_number(points: NDArray[np.float32], components: int) -> None:
    found = pca(points, components)
    assert found.coordinates.shape == (len(points), components)
    assert found.axes.shape == (components, points.shape[1])
    for values in (found.coordinates, found.axes, found.variances, found.ratios):
        assert np.isfinite(values).all()
    assert float(found.ratios.sum()) <= 1 + 1e-9


def test_large_means_cost_no_precision() -> None:
    points = made(400, 3)
    far = pca(points + np.float32(4096), 3)
    np.testing.assert_allclose(far.variances, pca(points, 3).variances, rtol=1e-3)


def test_reads_points_that_cannot_be_written() -> None:
    points = made(50, 4)
    points.setflags(write=False)
    assert pca(points, 2).coordinates.shape == (50, 2)


def test_calls_from_many_threads_leave_linear_algebra_its_threads() -> None:
    before = threadpool_info()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(pca, [made(30, 3)] * 100))
    assert threadpool_info() == before


class SlowPoints(np.ndarray[Any, np.dtype[np.float32]]):
    """Points that are read only after they may be."""

    reading, may_be_read = Event(), Event()

    def __getitem__(self, rows: Any) -> Any:
        self.reading.set()
        self.may_be_read.wait()
        return np.asarray(self)[rows]


def test_calls_at_once_do_not_wait_for_each_other_and_share_a_limit() -> None:
    before = threadpool_info()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(projected, made(30, 3).view(SlowPoints), np.zeros(3), np.eye(3))
        SlowPoints.reading.wait()
        try:
            assert pool.submit(pca, made(30, 3), 2).result(timeout=60).exact
            assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} <= {1}
        finally:
            SlowPoints.may_be_read.set()
        np.testing.assert_allclose(slow.result(), made(30, 3))
    assert threadpool_info() == before


def test_says_which_number_is_wrong() -> None:
    with pytest.raises(ValueError, match="components is 0; expected at least 1"):
        pca(made(3, 3), 0)
