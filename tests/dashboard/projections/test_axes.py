import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dashboard.projections.custom_axes import CustomAxis, project
from dashboard.projections.random_axes import random_projection


def rows(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


POINTS = np.array([[0, 0], [0, 2], [4, 0], [4, 2], [2, 9]], np.float32)


def test_an_axis_goes_from_the_mean_of_one_end_to_that_of_the_other() -> None:
    found = project(POINTS, [CustomAxis(rows(0, 1), rows(2, 3)), CustomAxis(rows(2), rows(3))])
    # Left and right are 4 apart, around x = 2; down and up 2 apart, around y = 1.
    assert found.tolist() == [[-2, -1], [-2, 1], [2, -1], [2, 1], [0, 8]]
    assert found.flags.c_contiguous


def test_an_axis_need_not_be_parallel_to_another() -> None:
    points = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
    found = project(points, [CustomAxis(rows(0), rows(1)), CustomAxis(rows(1), rows(0))])
    assert found.tolist() == [[-2.5, 2.5], [2.5, -2.5], [7.5, -7.5]]


def test_an_end_without_points_is_the_middle_of_all() -> None:
    points = np.array([[0, 1], [2, 1], [4, 1]], np.float32)
    assert project(points, [CustomAxis(rows(), rows(2))]).tolist() == [[-3], [-1], [1]]


def test_an_axis_without_a_direction_is_zero() -> None:
    same = CustomAxis(rows(0, 3), rows(1, 2))
    assert project(POINTS, [same]).tolist() == [[0]] * 5
    assert project(POINTS, [CustomAxis(rows(), rows())]).tolist() == [[0]] * 5
    assert project(POINTS, []).shape == (5, 0)
    assert project(POINTS[:0], [CustomAxis(rows(), rows())]).shape == (0, 1)


@pytest.mark.parametrize("wrong", [-1, 5])
def test_says_which_row_there_is_not(wrong: int) -> None:
    with pytest.raises(ValueError, match=f"there is no point {wrong}; expected rows 0 to 4"):
        project(POINTS, [CustomAxis(rows(0, wrong), rows(1))])


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
