import numpy as np
import pytest
from numpy.testing import assert_array_equal

from summary.points import GrowingColumn, Restart, kept_points


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([], []),
        ([7], [7]),
        ([0, 1, 2], [0, 1, 2]),
        # Several points of one step are not a restart.
        ([0, 1, 1, 1, 2], [0, 1, 1, 1, 2]),
        # A step that goes back overwrites what it repeats.
        ([0, 1, 2, 3, 4, 2, 3], [0, 1, 2, 3]),
        ([0, 1, 2, 3, 4, 2, 3, 4, 1, 2], [0, 1, 2]),
        ([5, 0], [0]),
        # The largest step once stood for "no restart follows", and was lost where another step went back.
        ([5, 3, 2**63 - 1, 2**63 - 1], [3, 2**63 - 1, 2**63 - 1]),
    ],
)
def test_a_step_that_goes_back_supersedes_the_points_it_repeats(steps: list[int], kept: list[int]) -> None:
    array = np.array(steps, np.int64)
    assert array[kept_points(array, [])].tolist() == kept


def test_a_session_start_supersedes_from_its_step_on_and_nothing_after_it() -> None:
    steps = np.array([0, 1, 2, 3, 4, 2, 3], np.int64)
    assert steps[kept_points(steps, [Restart(position=5, step=2)])].tolist() == [0, 1, 2, 3]
    # With session starts the run says itself where it restarted: other steps that go back are left alone.
    steps = np.array([0, 1, 2, 0, 1], np.int64)
    assert kept_points(steps, [Restart(position=0, step=0)]).all()
    # Of several starts in one place the lowest decides, and each supersedes only what came before it.
    steps = np.array([0, 5, 1, 5, 0], np.int64)
    restarts = [Restart(position=2, step=3), Restart(position=2, step=1), Restart(position=4, step=5)]
    assert kept_points(steps, restarts).tolist() == [True, False, True, False, True]


def test_views_of_a_growing_column_never_change() -> None:
    column = GrowingColumn(np.int64)
    column.extend(np.arange(3))
    first = column.view()
    column.extend(np.arange(3, 100))
    assert_array_equal(first, [0, 1, 2])
    assert_array_equal(column.view(), np.arange(100))
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 9
