from pathlib import PurePosixPath

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from stepscope.summary.points import Rows, TagPoints
from stepscope.summary.scan import ROW


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
