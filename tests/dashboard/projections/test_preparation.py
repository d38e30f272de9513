import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from stepscope.dashboard.projections.blocks import bounded, row_blocks
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.preparation import reduced, sphered


def test_sphered_points_are_around_their_centroid() -> None:
    points = np.array([[0, 0], [6, 0], [3, 3], [3, -3], [3, 0]], np.float32)
    assert sphered(points).tolist() == [[-1, 0], [1, 0], [0, 1], [0, -1], [0, 0]]
    assert points[1].tolist() == [6, 0]


def test_equal_points_have_no_direction_however_their_mean_is_rounded() -> None:
    points = np.full((7, 3), 0.1, np.float32)
    assert not sphered(points).any()


@given(
    hnp.arrays(
        np.float32, st.tuples(st.integers(0, 8), st.integers(0, 5)), elements=st.floats(-(2.0**127), 2.0**127, width=32)
    )
)
def test_sphered_rows_have_length_one_or_none(points: NDArray[np.float32]) -> None:
    lengths = np.linalg.norm(sphered(points).astype(np.float64), axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()


def test_only_points_that_are_too_wide_are_reduced() -> None:
    points = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    assert reduced(points, 6) is points
    assert np.array_equal(reduced(points, 2), pca(points, 2).coordinates)


def test_blocks_cover_every_row_once() -> None:
    found = list(row_blocks(10, 4, values=12, fewest=1))
    assert found == [slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 10)]
    assert list(row_blocks(3, 0)) == [slice(0, 3)]
    assert list(row_blocks(0, 4)) == []


def test_points_whose_squares_vanish_are_made_larger() -> None:
    assert bounded(np.array([[2**-100, 0], [0, -(2**-101)]], np.float32)).tolist() == [[1, 0], [0, -0.5]]
    zeros = np.zeros((2, 2), np.float32)
    assert bounded(zeros) is zeros


@pytest.mark.parametrize("largest", [3e38, -3e38])
def test_large_points_are_made_smaller_and_keep_their_proportions(largest: float) -> None:
    points = np.array([[largest, 1e38], [0, -1e38]], np.float32)
    small = bounded(points)
    assert float(np.abs(small).max()) <= 1
    np.testing.assert_allclose(small / small[0, 0], points / points[0, 0], rtol=1e-6)
    assert bounded(small) is small
