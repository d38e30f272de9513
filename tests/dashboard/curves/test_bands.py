import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stepscope.dashboard.curves.bands import MOST_PLACES, GroupCurve, group_curve, student_t
from stepscope.dashboard.runs.settings import Alignment, BandStatistic, LineStatistic


def curve(values: list[float], x: list[float] | None = None) -> tuple[np.ndarray, np.ndarray]:
    places = range(len(values)) if x is None else x
    return np.array(places, np.float64), np.array(values, np.float64)


def rows(joined: GroupCurve) -> list[tuple[float, ...]]:
    low = joined.y if joined.low is None else joined.low
    high = joined.y if joined.high is None else joined.high
    return list(
        zip(joined.x.tolist(), low.tolist(), joined.y.tolist(), high.tolist(), joined.members.tolist(), strict=True)
    )


THREE = [curve([1.0, 2.0]), curve([3.0, 2.0]), curve([8.0, 5.0])]


@pytest.mark.parametrize(
    ("line", "expected"), [("mean", [4.0, 3.0]), ("median", [3.0, 2.0]), ("min", [1.0, 2.0]), ("max", [8.0, 5.0])]
)
def test_the_line_is_what_was_asked_for(line: LineStatistic, expected: list[float]) -> None:
    assert group_curve(THREE, line, "none", "interpolate").y.tolist() == expected


@pytest.mark.parametrize(
    ("band", "width"),
    [
        ("std", np.std([1.0, 3.0, 8.0], ddof=1)),
        ("stderr", stats.sem([1.0, 3.0, 8.0])),
        ("ci95", stats.sem([1.0, 3.0, 8.0]) * stats.t.ppf(0.975, 2)),
    ],
)
def test_the_band_is_around_the_mean(band: BandStatistic, width: float) -> None:
    joined = group_curve(THREE, "median", band, "interpolate")
    assert joined.low is not None
    assert joined.high is not None
    assert joined.y[0] == 3.0
    assert (joined.low[0], joined.high[0]) == (
        pytest.approx(4.0 - width, rel=1e-4),
        pytest.approx(4.0 + width, rel=1e-4),
    )


def test_least_to_greatest() -> None:
    assert rows(group_curve(THREE, "mean", "minmax", "interpolate")) == [
        (0.0, 1.0, 4.0, 8.0, 3),
        (1.0, 2.0, 3.0, 5.0, 3),
    ]


def test_curves_of_other_steps_are_interpolated_within_their_extent() -> None:
    joined = group_curve([curve([0.0, 4.0], [0, 4]), curve([10.0, 20.0], [2, 6])], "mean", "minmax", "interpolate")
    assert rows(joined) == [
        (0.0, 0.0, 0.0, 0.0, 1),
        (2.0, 2.0, 6.0, 10.0, 2),
        (4.0, 4.0, 9.5, 15.0, 2),
        (6.0, 20.0, 20.0, 20.0, 1),
    ]


def test_buckets_take_the_mean_of_each_curve() -> None:
    x = np.arange(400.0)
    joined = group_curve([(x, x), (x, x + 10)], "mean", "minmax", "bucket")
    assert rows(joined)[:2] == [(0.9975, 0.5, 5.5, 10.5, 2), (2.9925, 2.5, 7.5, 12.5, 2)]
    assert len(joined.x) == 200


def test_buckets_reach_as_far_as_numbers_do() -> None:
    far = np.finfo(np.float64).max
    joined = group_curve([(np.array([-far, 0, far]), np.array([1.0, 2.0, 3.0]))], "mean", "none", "bucket")
    assert joined.y.tolist() == [1, 2, 3]
    assert joined.x / far == pytest.approx([-0.995, 0.005, 0.995])


def test_what_is_not_finite_takes_no_part() -> None:
    joined = group_curve([curve([1.0, np.nan, 3.0]), curve([5.0, 7.0, np.inf])], "mean", "std", "interpolate")
    # The first curve is interpolated over its gap; the second ends before the last place.
    assert (joined.x.tolist(), joined.y.tolist(), joined.members.tolist()) == ([0, 1, 2], [3.0, 4.5, 3.0], [2, 2, 1])


def test_of_points_at_one_step_the_last_counts() -> None:
    assert rows(group_curve([curve([1.0, 2.0, 3.0], [0, 0, 1])], "mean", "std", "interpolate")) == [
        (0.0, 2.0, 2.0, 2.0, 1),
        (1.0, 3.0, 3.0, 3.0, 1),
    ]


@pytest.mark.parametrize("align", ["interpolate", "bucket"])
@pytest.mark.parametrize("curves", [[], [curve([])], [curve([np.nan])]])
def test_nothing_makes_nothing(curves: list[tuple[np.ndarray, np.ndarray]], align: Alignment) -> None:
    assert rows(group_curve(curves, "median", "ci95", align)) == []


def test_places_are_bounded() -> None:
    curves = [(np.arange(9000.0) + shift, np.zeros(9000)) for shift in (0.0, 0.5)]
    joined = group_curve(curves, "mean", "none", "interpolate")
    assert (len(joined.x), joined.x[0], joined.x[-1]) == (MOST_PLACES, 0.0, 8999.5)


def test_students_t_is_that_of_scipy() -> None:
    freedom = np.arange(1, 500)
    assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-3)


finite = st.floats(-1e6, 1e6)


@given(
    st.lists(st.lists(st.tuples(finite, finite), max_size=8), max_size=4), st.sampled_from(["interpolate", "bucket"])
)
def test_the_line_stays_within_what_there_is(points: list[list[tuple[float, float]]], align: Alignment) -> None:
    curves = [curve([y for _, y in one], [x for x, _ in one]) for one in points]
    joined = group_curve(curves, "mean", "minmax", align)
    if not len(joined.x):
        assert not any(points)
        return
    values = [y for one in points for _, y in one]
    slack = 1e-6 * (1 + max(map(abs, values)))
    assert joined.low is not None
    assert joined.high is not None
    assert (joined.low <= joined.y + slack).all()
    assert (joined.y <= joined.high + slack).all()
    assert min(values) - slack <= joined.low.min()
    assert joined.high.max() <= max(values) + slack
