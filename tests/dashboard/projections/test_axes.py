import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from stepscope.dashboard.projections.custom_axes import CustomAxis, along, directions_of
from stepscope.dashboard.projections.random_axes import random_projection


def rows(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


POINTS = np.array([[0, 0], [0, 2], [4, 0], [4, 2], [2, 9]], np.float32)


def project(points: NDArray[np.float32], *axes: CustomAxis) -> NDArray[np.float32]:
    return along(points, directions_of(points, axes))


def test_an_axis_goes_from_the_mean_of_one_end_to_that_of_the_other() -> None:
    found = project(POINTS, CustomAxis(rows(0, 1), rows(2, 3)), CustomAxis(rows(2), rows(3)))
    # Left and right are 4 apart, around x = 2; down and up 2 apart, around y = 1.
    assert found.tolist() == [[-2, -1], [-2, 1], [2, -1], [2, 1], [0, 8]]
    assert found.flags.c_contiguous


def test_an_axis_need_not_be_parallel_to_another() -> None:
    points = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
    found = project(points, CustomAxis(rows(0), rows(1)), CustomAxis(rows(1), rows(0)))
    assert found.tolist() == [[-2.5, 2.5], [2.5, -2.5], [7.5, -7.5]]


def test_an_end_without_points_is_the_middle_of_all() -> None:
    points = np.array([[0, 1], [2, 1], [4, 1]], np.float32)
    assert project(points, CustomAxis(rows(), rows(2)))[:, 0].tolist() == [-3, -1, 1]


def test_a_single_axis_is_joined_by_what_varies_most_besides() -> None:
    random = np.random.default_rng(2)
    points = (random.normal(size=(200, 5)) * [1, 9, 2, 30, 1] + 100).astype(np.float32)
    points[0, 3], points[1, 3] = 0, 1000
    points[:2, [0, 1, 2, 4]] = 100
    drawn = project(points, CustomAxis(rows(0), rows(1)))
    # The axis is the fourth column; the second varies most of the others.
    besides = np.delete(points.astype(np.float64), 3, axis=1)
    expected = PCA(1).fit_transform(besides)[:, 0]
    np.testing.assert_allclose(drawn[:, 0], points[:, 3] - 500, atol=1e-3)
    np.testing.assert_allclose(np.abs(drawn[:, 1]), np.abs(expected), atol=1e-2)
    assert np.corrcoef(drawn[:, 1], points[:, 1])[0, 1] > 0.99


def test_where_nothing_varies_besides_the_second_axis_is_zero() -> None:
    points = np.outer(np.arange(5), [3, 4, 1]).astype(np.float32) + 1000
    drawn = project(points, CustomAxis(rows(0), rows(4)))
    np.testing.assert_allclose(drawn[:, 0], (np.arange(5) - 2) * np.sqrt(26), rtol=1e-5)
    np.testing.assert_allclose(drawn[:, 1], 0, atol=1e-3)


def test_an_axis_without_a_direction_is_zero() -> None:
    same = CustomAxis(rows(0, 3), rows(1, 2))
    assert project(POINTS, same)[:, 0].tolist() == [0] * 5
    assert project(POINTS, CustomAxis(rows(), rows()))[:, 0].tolist() == [0] * 5
    assert project(POINTS).shape == (5, 0)
    assert project(POINTS[:0], CustomAxis(rows(), rows())).shape == (0, 2)
    assert project(POINTS[:1], CustomAxis(rows(0), rows(0))).tolist() == [[0, 0]]


@pytest.mark.parametrize("wrong", [-1, 5])
def test_says_which_row_there_is_not(wrong: int) -> None:
    with pytest.raises(ValueError, match=f"there is no point {wrong}; expected rows 0 to 4"):
        directions_of(POINTS, [CustomAxis(rows(0, wrong), rows(1))])


@given(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4))
def test_random_axes_are_those_of_their_seed(n: int, d: int, components: int) -> None:
    points = np.random.default_rng(1).normal(size=(n, d)).astype(np.float32)
    found = random_projection(points, components, seed=4)
    assert found.shape == (n, components)
    assert np.array_equal(found, random_projection(points, components, seed=4))
    assert np.isfinite(found).all()


def test_random_axes_keep_squared_distances_on_average() -> None:
    points = np.random.default_rng(1).normal(size=(2, 50)).astype(np.float32)
    true = float(np.square(points[0] - points[1]).sum())
    found = [random_projection(points, 3, seed=seed) for seed in range(400)]
    mean = np.mean([np.square(picture[0] - picture[1]).sum() for picture in found])
    assert mean == pytest.approx(true, rel=0.15)
    assert len({float(picture[0, 0]) for picture in found}) == 400


def test_random_axes_need_one() -> None:
    with pytest.raises(ValueError, match="components is 0; expected at least 1"):
        random_projection(POINTS, 0)
