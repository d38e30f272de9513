import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from plotly.graph_objects import Figure

from dashboard.colors import PALETTE
from dashboard.panels.histograms.buckets import clean, join_narrow, outline, pick, rebin, span, typical_width
from dashboard.panels.histograms.compressor import compress
from dashboard.panels.histograms.figures import Axis, Bins, ChartSettings, Mode, Moment, histogram_chart
from dashboard.panels.histograms.panel import read
from summary import SummaryWriter
from summary.logdir import open_logdir
from tests.dashboard.media import client_of

ANY_BUCKETS = arrays(
    np.float64, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(allow_nan=True, allow_infinity=True)
)
SETTINGS = [
    ChartSettings(mode, axis, bins) for mode in get_args(Mode) for axis in get_args(Axis) for bins in get_args(Bins)
]


def rows(*buckets: tuple[float, float, float]) -> NDArray[np.float64]:
    return np.array(buckets, dtype=np.float64).reshape(-1, 3)


def test_clean_leaves_out_what_is_not_finite_and_orders_the_rest() -> None:
    cleaned = clean(rows((1, 2, 3), (math.nan, 1, 1), (0, 1, 4), (2, math.inf, 1), (3, 2, 5), (3, 4, -1)))
    assert cleaned.buckets.tolist() == [[0, 1, 4], [1, 2, 3], [2, 3, 5]]
    assert (cleaned.dropped, cleaned.total) == (3, 12)


def test_a_histogram_of_nothing_is_empty() -> None:
    cleaned = clean(np.zeros((30, 3)))
    assert (len(cleaned.buckets), cleaned.dropped, cleaned.total) == (0, 0, 0)


def test_outline_is_stairs_with_gaps_and_joined_empty_buckets() -> None:
    x, y = outline(rows((0, 1, 2), (1, 2, 0), (2, 3, 0), (3, 4, 5), (6, 7, 1)), typical=1, finest=0.1)
    assert x.tolist() == [0, 0, 1, 1, 3, 3, 4, 4, 6, 6, 7, 7]
    assert y.tolist() == [0, 2, 2, 0, 0, 5, 5, 0, 0, 1, 1, 0]


def test_a_single_value_is_a_needle() -> None:
    needle = rows((3, 3, 10))
    assert [part.tolist() for part in outline(needle, typical=1, finest=1)] == [[3, 3, 3, 3], [0, 10, 10, 0]]
    assert span([needle]) == (2.85, 3.15)
    assert rebin(needle, np.array([2.0, 3.0, 4.0])).tolist() == [0, 10]


def test_equal_areas_are_equal_counts() -> None:
    # Buckets as TensorFlow and PyTorch write them are narrow near zero; bare counts once drew a valley there.
    x, y = outline(rows((-4, -1, 30), (-1, 0, 20), (0, 1, 20), (1, 4, 30)), typical=1, finest=0.1)
    assert x.tolist() == [-4, -4, -1, -1, 0, 0, 1, 1, 4, 4]
    assert y.tolist() == [0, 10, 10, 20, 20, 20, 20, 10, 10, 0]
    assert typical_width([rows((-4, -1, 30), (-1, 0, 20), (0, 1, 20))], 0.1) == 1
    assert typical_width([rows((3, 3, 10)), np.empty((0, 3))], 0.1) == 0.1
    assert typical_width([], 0.1) == 0.1


def test_neighbours_too_narrow_to_be_told_apart_are_joined_and_nothing_is_lost() -> None:
    narrow = rows((0, 5, 9), (5, 5.2, 1), (5.2, 5.5, 2), (5.5, 5.9, 3), (6.1, 6.2, 4), (6.2, 6.3, 5), (8, 12, 6))
    assert join_narrow(narrow, 1.0).tolist() == [[0, 5, 9], [5, 5.9, 6], [6.1, 6.3, 9], [8, 12, 6]]
    assert join_narrow(narrow, 1e-6).tolist() == narrow.tolist()
    assert join_narrow(np.empty((0, 3)), 1.0).shape == (0, 3)


def test_rebin_spreads_counts_over_their_width() -> None:
    assert rebin(rows((0, 4, 8), (4, 6, 2)), np.array([0.0, 1.0, 3.0, 5.0, 6.0])).tolist() == [2, 4, 3, 1]


def test_pick_spreads_and_keeps_both_ends() -> None:
    assert pick(3).tolist() == [0, 1, 2]
    assert pick(11, 3).tolist() == [0, 5, 10]
    assert (len(set(pick(500).tolist())), pick(500)[-1]) == (50, 499)


def test_compress_gives_tensorboards_percentiles() -> None:
    assert compress(rows((0, 1, 1), (1, 2, 0), (2, 3, 1))) == [
        (0, 0.0),
        (668, pytest.approx(0.1336)),
        (1587, pytest.approx(0.3174)),
        (3085, pytest.approx(0.617)),
        (5000, 2.0),
        (6915, pytest.approx(2.383)),
        (8413, pytest.approx(2.6826)),
        (9332, pytest.approx(2.8664)),
        (10000, 3.0),
    ]
    assert [value for _, value in compress(rows())] == [0.0] * 9


@given(arrays(np.float64, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(-1e9, 1e9)))
def test_compress_is_tensorboards_function(buckets: NDArray[np.float64]) -> None:
    compressor = pytest.importorskip("tensorboard.plugins.distribution.compressor")
    cleaned = clean(buckets).buckets
    # A percentile near zero between edges far from it is rounded as they are.
    rounding = 1e-11 * max(1.0, float(np.abs(cleaned[:, :2]).max(initial=0.0)))
    with np.errstate(all="ignore"):
        assert np.array(compress(cleaned)) == pytest.approx(
            np.array(compressor.compress_histogram(cleaned.tolist())), abs=rounding, nan_ok=True
        )


@pytest.mark.parametrize("settings", SETTINGS)
@given(st.lists(st.one_of(st.none(), ANY_BUCKETS), max_size=4))
def test_any_buckets_make_a_figure(settings: ChartSettings, some: list[NDArray[np.float64] | None]) -> None:
    moments = [Moment(step, 100.0 + step, buckets) for step, buckets in enumerate(some)]
    with np.errstate(all="ignore"):
        chart = histogram_chart(moments, len(moments), 100.0, PALETTE[0], settings, "dark")
    Figure(chart.figure)


def test_notes_say_what_is_not_as_written() -> None:
    moments = [
        Moment(0, 100.0, rows((0, 1, 1), (1, 2, 1))),
        Moment(1, 101.0, None),
        Moment(2, 102.0, np.zeros((30, 3))),
        Moment(3, 103.0, rows((0, 1, 1), (1, math.inf, 1))),
    ]
    chart = histogram_chart(moments, 500, 100.0, PALETTE[0], ChartSettings(), "light")
    assert chart.note == (
        "4 of 500 steps shown · 1 to 2 bins · 1 damaged step left out · empty at 1 step · 1 bin not finite, not drawn"
    )
    even = histogram_chart(moments[:1], 1, 100.0, PALETTE[0], ChartSettings(bins="even"), "light")
    assert even.note == "spread over 30 even bins"


def test_notes_say_what_no_bin_holds() -> None:
    moments = [
        Moment(10, 100.0, rows((0, 1, 5)), {"NaN": 5}),
        Moment(20, 101.0, rows((0, 1, 5))),
        Moment(3000, 102.0, rows((0, 1, 900), (1, 2, 87)), {"NaN": 12, "+inf": 1}),
    ]
    chart = histogram_chart(moments, 3, 100.0, PALETTE[0], ChartSettings(), "light")
    assert chart.note == "step 3,000: 12 NaN, 1 +inf of 1,000 values, some at 1 other step · 1 to 2 bins"
    diverged = [Moment(7, 100.0, rows(), {"NaN": 1})]
    chart = histogram_chart(diverged, 1, 100.0, PALETTE[0], ChartSettings(), "light")
    assert chart.note == "step 7: 1 NaN of 1 value · empty at 1 step"


def test_each_histogram_is_read_with_its_own_counts_of_what_no_bucket_holds(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_histogram("w", [1.0, 2.0], 0, walltime=100.0)
        writer.add_histogram("w", [math.nan, math.inf, math.inf, -math.inf], 1, walltime=101.0)
        writer.add_histogram("w", [-1.0, 0.5, 7.0, 8.0], 2, bins=[0.0, 1.0], walltime=102.0)
    series = open_logdir(tmp_path).series(".", "w")
    assert series is not None
    assert [(moment.step, moment.wall_time, moment.left_out) for moment in (read(series, i) for i in range(3))] == [
        (0, 100.0, {}),
        (1, 101.0, {"NaN": 1, "+inf": 2, "-inf": 1}),
        (2, 102.0, {"below the edges": 1, "above the edges": 2}),
    ]


def test_newest_histogram_has_the_runs_own_colour_and_lies_in_front() -> None:
    moments = [Moment(step, 100.0 + step, rows((0, 1, 1))) for step in (0, 10, 20)]
    figure = histogram_chart(moments, 3, 100.0, PALETTE[0], ChartSettings(), "light").figure
    assert [trace["meta"]["step"] for trace in figure["data"]] == [0, 10, 20]
    assert figure["data"][-1]["fillcolor"] == PALETTE[0].light
    assert figure["layout"]["yaxis"]["ticktext"] == ["0", "10", "20"]


def test_one_histogram_has_the_height_of_the_chart() -> None:
    figure = histogram_chart([Moment(0, 100.0, rows((0, 1, 4)))], 1, 100.0, PALETTE[0], ChartSettings(), "light").figure
    _, top = figure["layout"]["yaxis"]["range"]
    trace = figure["data"][0]
    highest = trace["meta"]["at"] - 4 * trace["meta"]["scale"]
    assert highest / top == pytest.approx(0.9)


def test_equal_values_are_a_needle_that_can_be_seen() -> None:
    moments = [Moment(0, 100.0, rows((1, 1, 4)))]
    figure = histogram_chart(moments, 1, 100.0, PALETTE[0], ChartSettings(), "light").figure
    assert figure["data"][0]["line"] == {"color": PALETTE[0].light, "width": 3}


def test_routes_give_the_buckets_and_their_percentiles(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_histogram("w", [1.0, 1.0, 3.0], 5, bins=[0.0, 2.0, 4.0], walltime=100.0)
    client = client_of(tmp_path)
    where = {"run": "a", "tag": "w"}
    assert client.get("/data/plugin/histograms/histograms", params=where).json() == [
        [100.0, 5, [[1.0, 2.0, 2.0], [2.0, 3.0, 1.0]]]
    ]
    points = client.get("/data/plugin/distributions/distributions", params=where).json()[0][2]
    assert (points[0], points[4], points[-1]) == ([0, 1.0], [5000, 1.75], [10000, 3.0])
    tags = {"a": {"w": {"displayName": "w", "description": ""}}}
    assert client.get("/data/plugin/histograms/tags").json() == tags
    assert client.get("/data/plugin/distributions/tags").json() == tags
    assert client.get("/data/plugin/histograms/histograms", params={"run": "a", "tag": "v"}).status_code == 404
