from pathlib import PurePosixPath

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from summary.points import Restart, Rows, TagPoints, kept_points, resumptions
from summary.scan import ROW


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


@pytest.mark.parametrize(
    ("steps", "restarts", "expected"),
    [
        ([0, 1, 2], [], []),
        ([0, 1, 2, 3, 4, 2, 3], [], [(2, 3)]),
        ([0, 1, 2, 3, 4, 2, 3, 4, 1, 2], [], [(2, 3), (1, 4)]),
        # The second start overwrites nothing that is left, and one behind all points has nowhere to go on.
        ([0, 1, 2, 1, 2], [Restart(3, 1), Restart(3, 2), Restart(5, 0)], [(1, 2)]),
    ],
)
def test_resumptions_tell_what_each_restart_overwrote(
    steps: list[int], restarts: list[Restart], expected: list[tuple[int, int]]
) -> None:
    array = np.array(steps, np.int64)
    found = resumptions(array, np.arange(len(steps), dtype=np.float64), restarts)
    assert [(one.step, one.superseded) for one in found] == expected
    behind = np.count_nonzero(~kept_points(array, restarts)) - sum(one.superseded for one in found)
    assert behind == sum(restart.position >= len(steps) for restart in restarts) * (
        len(steps) - sum(n for _, n in expected)
    )


def test_points_that_were_given_out_never_change() -> None:
    def rows(begin: int, end: int) -> Rows:
        numbers = np.arange(begin, end)
        floats = numbers.astype(np.float64)
        found = np.zeros(end, ROW)
        found["offset"] = np.arange(end)
        return Rows(numbers, floats, floats / 2, found, numbers.astype(np.int32), False)

    for kind, kept in (("scalars", "values"), ("images", "offsets")):
        points = TagPoints("t", kind)
        points.extend(rows(0, 3))
        first = points.part(PurePosixPath("file"))
        points.extend(rows(3, 100))
        points.extend(rows(100, 101))
        assert_array_equal(first.steps, [0, 1, 2])
        assert_array_equal(getattr(points.part(PurePosixPath("file")), kept), getattr(rows(0, 101), kept))
        with pytest.raises(ValueError, match="read-only"):
            first.steps[0] = 9


def test_points_that_go_back_are_noticed_within_and_between_windows() -> None:
    def rows(*steps: int, goes_back: bool = False) -> Rows:
        column = np.array(steps)
        floats = column.astype(np.float64)
        return Rows(
            column, floats, floats, np.zeros(len(column), ROW), np.arange(len(column), dtype=np.int32), goes_back
        )

    noticed = []
    points = TagPoints("t", "scalars")
    for window in (rows(1, 2), rows(2, 3), rows(2), rows(4, 5)):
        points.extend(window)
        noticed.append(points.goes_back)
    assert noticed == [False, False, True, True]
    other = TagPoints("t", "scalars")
    other.extend(rows(1, 0, goes_back=True))
    assert other.goes_back
