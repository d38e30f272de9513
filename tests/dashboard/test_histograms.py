import base64
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from plotly.graph_objects import Figure

from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.cards import pair_key
from stepscope.dashboard.panels.histograms.buckets import (
    clean,
    join_narrow,
    outline,
    rebin,
    span,
    statistics,
    typical_width,
)
from stepscope.dashboard.panels.histograms.figures import histogram_chart, runs_chart
from stepscope.dashboard.panels.histograms.moments import Axis, ChartSettings, Mode, Moment, RunMoment, moment_axis
from stepscope.dashboard.panels.histograms.panel import runs_key, runs_tag
from stepscope.dashboard.panels.histograms.reading import StepRange, read, read_at, read_some
from stepscope.dashboard.panels.histograms.settings import FIRST
from stepscope.dashboard.panels.histograms.shapes import log_ticks
from stepscope.dashboard.server.arrays import TypedArray
from stepscope.dashboard.tensorboard.compressor import compress
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from stepscope.summary.series import Series
from tests.dashboard.media import client_of

ANY_BUCKETS = arrays(
    np.float64, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(allow_nan=True, allow_infinity=True)
)
ANY_STEP = StepRange()
SETTINGS = [
    change
    for mode in get_args(Mode)
    for change in (
        ChartSettings(mode),
        ChartSettings(mode, "relative", "even", height="density", log=True),
        ChartSettings(mode, "wall", log=True),
    )
]


def values(spec: TypedArray) -> list[float]:
    """The numbers of a base64 typed array."""
    found: list[float] = np.frombuffer(base64.b64decode(spec["bdata"]), spec["dtype"]).tolist()
    return found


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
    # The buckets that TensorFlow and PyTorch write are narrow near zero; raw counts once drew a valley there.
    x, y = outline(rows((-4, -1, 30), (-1, 0, 20), (0, 1, 20), (1, 4, 30)), typical=1, finest=0.1)
    assert x.tolist() == [-4, -4, -1, -1, 0, 0, 1, 1, 4, 4]
    assert y.tolist() == [0, 10, 10, 20, 20, 20, 20, 10, 10, 0]
    assert typical_width([rows((-4, -1, 30), (-1, 0, 20), (0, 1, 20))], 0.1) == 1
    assert typical_width([rows((3, 3, 10)), np.empty((0, 3))], 0.1) == 0.1
    assert typical_width([], 0.1) == 0.1


def test_neighbors_too_narrow_to_be_told_apart_are_joined_and_nothing_is_lost() -> None:
    narrow = rows((0, 5, 9), (5, 5.2, 1), (5.2, 5.5, 2), (5.5, 5.9, 3), (6.1, 6.2, 4), (6.2, 6.3, 5), (8, 12, 6))
    assert join_narrow(narrow, 1.0).tolist() == [[0, 5, 9], [5, 5.9, 6], [6.1, 6.3, 9], [8, 12, 6]]
    assert join_narrow(narrow, 1e-6).tolist() == narrow.tolist()
    assert join_narrow(np.empty((0, 3)), 1.0).shape == (0, 3)


def test_rebin_spreads_counts_over_their_width() -> None:
    assert rebin(rows((0, 4, 8), (4, 6, 2)), np.array([0.0, 1.0, 3.0, 5.0, 6.0])).tolist() == [2, 4, 3, 1]


def test_rebin_of_buckets_that_overlap_or_leave_room() -> None:
    edges = np.array([0.0, 2.0, 4.0, 8.0])
    assert rebin(rows((0, 4, 8), (2, 4, 2)), edges).tolist() == [4, 6, 0]
    assert rebin(rows((0, 1, 8), (3, 5, 2)), edges).tolist() == [8, 1, 1]


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
    # A percentile near zero between edges far from zero is rounded as the edges are.
    rounding = 1e-11 * max(1.0, float(np.abs(cleaned[:, :2]).max(initial=0.0)))
    with np.errstate(all="ignore"):
        assert np.array(compress(cleaned)) == pytest.approx(
            np.array(compressor.compress_histogram(cleaned.tolist())), abs=rounding, nan_ok=True
        )


@pytest.mark.parametrize("settings", SETTINGS)
@hypothesis.settings(max_examples=30)
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
        "4 of 500 steps shown, evenly spaced, including the first and last · 1 damaged step left out"
        " · empty at 1 step · 1 bin not finite, not drawn"
    )


def test_notes_say_what_no_bin_holds() -> None:
    moments = [
        Moment(10, 100.0, rows((0, 1, 5)), {"NaN": 5}),
        Moment(20, 101.0, rows((0, 1, 5))),
        Moment(3000, 102.0, rows((0, 1, 900), (1, 2, 87)), {"NaN": 12, "+inf": 1}),
    ]
    chart = histogram_chart(moments, 3, 100.0, PALETTE[0], ChartSettings(), "light")
    assert chart.note == "step 3,000: 12 NaN, 1 +inf of 1,000 values, some at 1 other step"
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


def test_newest_histogram_has_the_runs_own_color_and_lies_in_front() -> None:
    moments = [Moment(step, 100.0 + step, rows((0, 1, 1))) for step in (0, 10, 20)]
    figure = histogram_chart(moments, 3, 100.0, PALETTE[0], ChartSettings(), "light").figure
    assert [trace["meta"]["step"] for trace in figure["data"]] == [0, 10, 20]
    assert figure["data"][-1]["fillcolor"] == PALETTE[0].light
    assert figure["layout"]["yaxis"]["ticktext"] == ["0", "10", "20"]


def test_one_histogram_has_the_height_of_the_chart() -> None:
    figure = histogram_chart([Moment(0, 100.0, rows((0, 1, 4)))], 1, 100.0, PALETTE[0], ChartSettings(), "light").figure
    _, top = figure["layout"]["yaxis"]["range"]
    assert min(values(figure["data"][0]["y"])) / top == pytest.approx(0.9)


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


def overlay(settings: ChartSettings, *buckets: NDArray[np.float64]) -> dict[str, Any]:
    moments = [Moment(step, 100.0 + step, one) for step, one in enumerate(buckets)]
    return histogram_chart(moments, len(moments), 100.0, PALETTE[0], settings, "light").figure


def test_densities_have_areas_of_one_whatever_the_counts() -> None:
    figure = overlay(ChartSettings("overlay", height="density"), rows((0, 2, 6), (2, 4, 2)), rows((0, 4, 80)))
    assert values(figure["data"][0]["y"]) == pytest.approx([0, 0.375, 0.375, 0.125, 0.125, 0])
    assert values(figure["data"][1]["y"]) == pytest.approx([0, 0.25, 0.25, 0])


def test_log_heights_tell_nothing_from_a_single_value() -> None:
    figure = overlay(ChartSettings("overlay", log=True), rows((0, 1, 1), (1, 2, 0), (2, 3, 100)))
    assert values(figure["data"][0]["y"]) == pytest.approx([0, 1, 1, 0, 0, 3, 3, 0])
    axis = figure["layout"]["yaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == ([0, 1, 2, 3], ["0", "1", "10", "100"])
    assert values(figure["data"][0]["meta"]["counts"]) == [1, 0, 100]


def test_log_ticks_are_few_and_powers_of_ten() -> None:
    assert log_ticks(1e-3, 10.5) == {
        "tickvals": pytest.approx([0, 1, 3, 5, 7, 9]),
        "ticktext": ["0", "0.001", "0.1", "10", "1000", "1e5"],
    }


@pytest.mark.parametrize(
    ("at", "direction", "labels"),
    [
        ([], "down", []),
        ([7], "down", ["7"]),
        (range(11), "across", ["0", "2", "4", "6", "8", "10"]),
        ([0, 1, 2, 3, 1_000], "down", ["0", "1,000"]),
        # A row has the height of a line of text, a column the width of several.
        ([0, 100, 210, 320, 900, 1_000], "down", ["0", "100", "210", "320", "900", "1,000"]),
        ([0, 100, 210, 320, 900, 1_000], "across", ["0", "210", "1,000"]),
    ],
)
def test_ticks_are_moments_as_far_apart_as_their_labels_need(
    at: Sequence[float], direction: Literal["across", "down"], labels: list[str]
) -> None:
    assert moment_axis(at, ChartSettings("offset"), "", direction)["ticktext"] == labels


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [
        ((0,), "%H:%M:%S\n%d %b %Y"),
        ((0, 9), "%M:%S.%2f"),
        ((0, 60), "%H:%M:%S"),
        ((0, 200_000), "%a %H:%M"),
        ((0, 2_000_000), "%d %b"),
    ],
)
def test_wall_times_have_the_digits_that_tell_them_apart(seconds: Sequence[float], clock: str) -> None:
    at = [1e12 + 1000 * each for each in seconds]
    assert moment_axis(at, ChartSettings("offset", axis="wall"), "", "down") == {
        "type": "date",
        "tickvals": at,
        "tickformat": clock,
        "tickangle": 0,
    }


@pytest.mark.parametrize(
    ("axis", "marked"),
    [
        ("step", [0, 2_000, 4_000, 6_000, 8_000, 10_000]),
        ("relative", [0, 3_000, 7_000, 10_000]),
        ("wall", [0, 3_000, 7_000, 10_000]),
    ],
)
def test_times_side_by_side_are_fewer_than_steps(axis: Axis, marked: list[float]) -> None:
    at = range(0, 11_000, 1_000)
    assert moment_axis(at, ChartSettings("heatmap", axis=axis), "s", "across")["tickvals"] == marked


def test_even_bins_are_as_many_as_asked_for() -> None:
    settings = ChartSettings("overlay", bins="even", bin_count=4)
    chart = histogram_chart([Moment(0, 100.0, rows((0, 8, 8)))], 1, 100.0, PALETTE[0], settings, "light")
    assert values(chart.figure["data"][0]["x"]) == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
    assert chart.note == ""


def heat(settings: ChartSettings) -> list[list[float]]:
    trace = overlay(settings, rows((0, 1, 3), (1, 2, 1)), rows(), rows((0, 2, 8)))["data"][0]
    assert trace["z"]["shape"] == "2, 3"
    found: list[list[float]] = np.reshape(values(trace["z"]), (2, 3)).tolist()
    return found


def test_a_heat_map_has_counts_or_densities_and_nothing_where_there_is_no_value() -> None:
    even = ChartSettings("heatmap", bins="even", bin_count=2)
    nan = math.nan
    counts, densities, logs = (heat(replace(even, **change)) for change in ({}, {"height": "density"}, {"log": True}))
    assert counts == [pytest.approx([3, nan, 4], nan_ok=True), pytest.approx([1, nan, 4], nan_ok=True)]
    assert densities == [pytest.approx([0.75, nan, 0.5], nan_ok=True), pytest.approx([0.25, nan, 0.5], nan_ok=True)]
    assert logs[1] == pytest.approx([1, nan, 1 + math.log10(4)], nan_ok=True)


def test_bands_are_tensorboards_percentiles_and_skip_empty_steps() -> None:
    compressor = pytest.importorskip("tensorboard.plugins.distribution.compressor")
    some = [rows((0, 1, 1), (1, 3, 5)), rows(), rows((-2, 2, 9))]
    moments = [Moment(10 * i, 100.0 + i, one) for i, one in enumerate(some)]
    chart = histogram_chart(moments, 3, 100.0, PALETTE[0], ChartSettings("bands"), "light")
    assert chart.note == "empty at 1 step"
    theirs = [[value for _, value in compressor.compress_histogram(one.tolist())] for one in (some[0], some[2])]
    *edges, median = chart.figure["data"]
    assert values(median["meta"]["values"]) == pytest.approx(np.concatenate(theirs))
    assert values(median["x"]) == [0, 20]
    drawn = np.array([values(edge["y"]) for edge in edges] + [values(median["y"])])
    assert drawn == pytest.approx(np.array(theirs).T[[0, 8, 1, 7, 2, 6, 3, 5, 4]])
    assert [edge.get("fill") for edge in edges] == [None, "tonexty"] * 4


def test_bands_of_one_step_have_a_width() -> None:
    figure = overlay(ChartSettings("bands"), rows((0, 1, 1)))
    assert values(figure["data"][-1]["x"]) == [-0.5, 0.5]


def test_statistics_are_those_of_the_buckets() -> None:
    found = statistics(clean(rows((-5, -4, 0), (0, 2, 3), (2, 6, 1), (6, 9, 0))))
    assert [found.count, found.smallest, found.largest, found.mean] == pytest.approx([4, 0, 6, 7 / 4])
    nothing = statistics(clean(rows()))
    assert nothing.count == 0
    assert math.isnan(nothing.mean)


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """Run "a" with steps 0, 10, 20, the second with a NaN; run "b" with step 5."""
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for step, extra in ((0, 1.0), (10, math.nan), (20, 3.0)):
            writer.add_histogram("w", [0.5, 1.5, extra], step, bins=[0.0, 1.0, 4.0], walltime=100.0 + step)
    with SummaryWriter(str(tmp_path / "b")) as writer:
        writer.add_histogram("w", [0.5], 5, bins=[0.0, 1.0, 4.0], walltime=105.0)
    return tmp_path


def series(path: Path, run: str) -> Series:
    found = open_logdir(path).series(run, "w")
    assert found is not None
    return found


def test_a_range_of_steps_bounds_what_is_read(two_runs: Path) -> None:
    def steps(first: int | None, last: int | None, most: int = 9) -> tuple[list[int], int]:
        moments, total = read_some(series(two_runs, "a"), StepRange(first, last), most)
        return [moment.step for moment in moments], total

    assert steps(None, None) == ([0, 10, 20], 3)
    assert steps(5, None) == ([10, 20], 2)
    assert steps(None, 10) == ([0, 10], 2)
    assert steps(11, 12) == ([], 0)
    assert steps(None, None, most=2) == ([0, 20], 3)


def test_a_run_without_the_step_shows_its_nearest_earlier_one_and_says_so(two_runs: Path) -> None:
    def at(run: str, step: int | None, within: StepRange = ANY_STEP) -> tuple[int | None, str]:
        found = read_at(series(two_runs, run), PALETTE[0], step, within)
        return None if found.moment is None else found.moment.step, found.said

    assert at("a", 20) == (20, "")
    assert at("a", 15) == (10, "step 10 · 1 NaN")
    assert at("b", 3) == (None, "begins at step 5")
    assert at("b", 9) == (5, "step 5")
    assert at("a", 20, StepRange(None, 9)) == (0, "step 0")
    assert at("b", None, StepRange(6)) == (None, "no histogram in the range of steps")


def test_runs_lie_over_each_other_in_their_colors(two_runs: Path) -> None:
    runs = [read_at(series(two_runs, run), PALETTE[i], 5, StepRange()) for i, run in enumerate("ab")]
    runs.append(RunMoment("c", PALETTE[2], None, "begins at step 9"))
    chart = runs_chart(runs, ChartSettings("runs"), "dark")
    assert [(t["meta"]["run"], t["meta"]["step"], t["line"]["color"]) for t in chart.figure["data"]] == [
        ("a", 0, PALETTE[0].dark),
        ("b", 5, PALETTE[1].dark),
    ]
    assert chart.note == "1 of 3 runs not drawn, see below"
    Figure(chart.figure)


def test_a_point_has_its_outline_and_statistics(two_runs: Path) -> None:
    client = client_of(two_runs)
    query: dict[str, Any] = {"run": "a", "tag": "w", "index": 1}
    found = client.get("/api/histograms/point", params=query).json()
    assert (values(found["x"]), values(found["counts"])) == ([0.5, 0.5, 1, 1, 1.5, 1.5], [1, 1])
    assert {name: found[name] for name in ("index", "points", "step", "wall", "error", "bins", "dropped")} == {
        "index": 1,
        "points": 3,
        "step": 10,
        "wall": 110.0,
        "error": "",
        "bins": 2,
        "dropped": 0,
    }
    assert found["statistics"] == {"count": 2, "smallest": 0.5, "largest": 1.5, "mean": 1.0}
    assert found["left_out"] == {"NaN": 1}
    assert client.get("/api/histograms/point", params=query | {"index": 3}).status_code == 404
    assert client.get("/api/histograms/point", params=query | {"height": "tall"}).status_code == 422


def test_a_card_is_downloaded_as_written(two_runs: Path) -> None:
    client = client_of(two_runs)
    query: dict[str, Any] = {"tag": "w", "run": ["a", "b"], "first": 5, "last": 10}
    answer = client.get("/api/histograms/download", params=query)
    assert answer.text.splitlines() == [
        "run,step,wall_time,left,right,count,error",
        "a,10,110.0,0.5,1.0,1.0,",
        "a,10,110.0,1.0,1.5,1.0,",
        "b,5,105.0,0.5,0.5,1.0,",
    ]
    assert json.loads(client.get("/api/histograms/download", params=query | {"format": "json"}).text) == [
        {"run": "a", "step": 10, "wall_time": 110.0, "buckets": [[0.5, 1, 1], [1, 1.5, 1]], "left_out": {"NaN": 1}},
        {"run": "b", "step": 5, "wall_time": 105.0, "buckets": [[0.5, 0.5, 1]], "left_out": {}},
    ]
    nothing = client.get("/api/histograms/download", params=query | {"format": "json", "first": 99})
    assert json.loads(nothing.text) == []


def test_a_download_says_what_cannot_be_read(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        broken = HistogramProto(bucket=[1.0, 2.0], bucket_limit=[1.0])
        writer.add_summary(Summary(value=[Summary.Value(tag="w", histo=broken)]), 4)
    client = client_of(tmp_path)
    query = {"run": "a", "tag": "w"}
    line = client.get("/api/histograms/download", params=query).text.splitlines()[1]
    assert line.startswith("a,4,")
    assert line.endswith('expected as many bucket limits as buckets, got 1 and 2"')
    assert client.get("/api/histograms/point", params=query | {"index": "0"}).json()["error"].endswith("got 1 and 2")


def test_settings_that_are_no_steps_are_without_a_bound() -> None:
    for raw, step in (("12", 12), ("-3", -3), ("", None), ("1e3", None), ("9" * 40, None)):
        assert FIRST.of(View(settings={"histograms.first": (raw,)})) == step


def test_keys_of_cards_tell_tags_from_pairs() -> None:
    assert runs_tag(runs_key('a "quoted" tag')) == 'a "quoted" tag'
    assert runs_tag(pair_key("tag", "run")) is None
