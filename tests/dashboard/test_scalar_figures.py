import math
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.colors import PALETTE
from dashboard.panels.charts import Chart
from dashboard.panels.scalars.figures import ChartSettings, RunCurve, XAxis, Zoom, scalar_chart
from dashboard.panels.scalars.panel import parse_zoom
from summary.snapshot import Columns

PLAIN = ChartSettings(smoothing=0)


def curve(values: list[float], steps: list[int] | None = None, seconds: float = 10.0, run: str = "a") -> RunCurve:
    n = len(values)
    return RunCurve(
        run,
        PALETTE[0],
        Columns(
            steps=np.array(range(n) if steps is None else steps, dtype=np.int64),
            wall_times=1000.0 + np.arange(n, dtype=np.float64) * seconds,
            values=np.array(values, dtype=np.float64),
        ),
    )


def numbers(array: Any) -> list[float]:
    decoded: list[float] = np.frombuffer(b64decode(array["bdata"]), dtype=np.dtype(array["dtype"])).tolist()
    return decoded


def traces(chart: Chart, role: str) -> list[dict[str, Any]]:
    return [trace for trace in chart.figure["data"] if trace["meta"]["role"] == role]


def test_no_runs_make_an_empty_chart() -> None:
    assert scalar_chart([], ChartSettings(), "light").figure["data"] == []
    assert scalar_chart([curve([])], ChartSettings(), "dark").figure["data"] == []


def test_line_has_steps_and_values() -> None:
    chart = scalar_chart([curve([3.0, 1.0], [0, 5])], PLAIN, "light")
    (line,) = chart.figure["data"]
    assert (numbers(line["x"]), numbers(line["y"])) == ([0, 5], [3.0, 1.0])
    assert line["line"]["color"] == PALETTE[0].light
    assert chart.note == ""


def test_smoothing_puts_the_raw_line_behind() -> None:
    chart = scalar_chart([curve([3.0, 1.0])], ChartSettings(smoothing=0.5), "dark")
    assert [trace["meta"]["role"] for trace in chart.figure["data"]] == ["raw", "line"]
    assert numbers(traces(chart, "raw")[0]["y"]) == [3.0, 1.0]
    assert numbers(traces(chart, "line")[0]["y"]) == pytest.approx([3.0, (0.75 + 0.5) / 0.75])
    assert numbers(traces(chart, "line")[0]["meta"]["values"]) == [3.0, 1.0]


@pytest.mark.parametrize(
    ("seconds", "unit", "x"),
    [(10.0, "s", [0, 10]), (600.0, "min", [0, 10]), (7200.0, "h", [0, 2]), (864000.0, "d", [0, 10])],
)
def test_relative_time_has_a_unit_that_fits(seconds: float, unit: str, x: list[float]) -> None:
    chart = scalar_chart([curve([1.0, 2.0], seconds=seconds)], ChartSettings(0, "relative"), "light")
    assert chart.figure["layout"]["xaxis"]["ticksuffix"] == f" {unit}"
    assert numbers(chart.figure["data"][0]["x"]) == x


def test_wall_time_is_local_milliseconds() -> None:
    chart = scalar_chart([curve([1.0, 2.0])], ChartSettings(0, "wall", utc_offset=3600.0), "light")
    assert numbers(chart.figure["data"][0]["x"]) == [4_600_000.0, 4_610_000.0]
    assert chart.figure["layout"]["xaxis"]["type"] == "date"


def test_log_scale_draws_no_values_below_zero_and_says_so() -> None:
    chart = scalar_chart([curve([-1.0, 0.0, 2.0])], ChartSettings(0, y_scale="log"), "light")
    assert numbers(traces(chart, "line")[0]["y"]) == pytest.approx([math.nan, math.nan, 2.0], nan_ok=True)
    assert chart.note == "2 not positive, not drawn"


def test_outliers_are_ignored_by_tensorboards_ranks() -> None:
    values = [float(value) for value in range(100)] + [1e6]
    layout = scalar_chart([curve(values)], ChartSettings(0, ignore_outliers=True), "light").figure["layout"]
    # Sorted 0..99 and 1e6: ranks ceil(0.05 * 100) = 5 and floor(0.95 * 100) = 95, and a margin of 5 percent.
    assert layout["yaxis"]["range"] == [5 - 4.5, 95 + 4.5]


def test_one_point_has_a_marker() -> None:
    chart = scalar_chart([curve([0.5], [7])], PLAIN, "light")
    (single,) = traces(chart, "single")
    assert (single["x"], single["y"]) == ([7.0], [0.5])


@pytest.mark.parametrize(
    ("axis", "expected"), [("step", [6.0, 8.0]), ("relative", [-1.0, 1.0]), ("wall", [999_000.0, 1_001_000.0])]
)
def test_one_point_stands_in_the_middle(axis: XAxis, expected: list[float]) -> None:
    chart = scalar_chart([curve([0.5], [7])], ChartSettings(0, x_axis=axis), "light")
    assert chart.figure["layout"]["xaxis"]["range"] == expected


def test_what_is_not_finite_has_a_triangle() -> None:
    chart = scalar_chart([curve([1.0, math.nan, math.inf, -math.inf, 2.0])], PLAIN, "light")
    (marks,) = traces(chart, "non-finite")
    assert marks["x"] == [1.0, 2.0, 3.0]
    assert marks["text"] == ["NaN", "+Inf", "-Inf"]
    assert chart.note == "1 NaN · 2 infinite"
    assert marks["marker"]["symbol"] == ["triangle-up-open", "triangle-up", "triangle-down"]


def test_downsampling_is_said() -> None:
    values = [math.sin(step) for step in range(5000)]
    chart = scalar_chart([curve(values)], PLAIN, "light")
    assert len(numbers(chart.figure["data"][0]["x"])) == 1000
    assert chart.note == "1,000 of 5,000 points a run shown"


def test_zoom_draws_the_visible_points_in_full_and_one_beyond_each_edge() -> None:
    values = [math.sin(step) for step in range(5000)]
    chart = scalar_chart([curve(values)], PLAIN, "light", Zoom((100.5, 110.5), (-1.0, 1.0)))
    assert numbers(chart.figure["data"][0]["x"]) == list(range(100, 112))
    assert chart.figure["layout"]["xaxis"]["range"] == [100.5, 110.5]
    assert chart.figure["layout"]["yaxis"]["range"] == [-1.0, 1.0]
    assert chart.note == ""


def test_zoom_smooths_as_without_zoom() -> None:
    values = [math.sin(step) for step in range(500)]
    whole = scalar_chart([curve(values)], ChartSettings(0.9), "light")
    part = scalar_chart([curve(values)], ChartSettings(0.9), "light", Zoom((200.0, 210.0)))
    assert numbers(traces(part, "line")[0]["y"]) == numbers(traces(whole, "line")[0]["y"])[199:212]


def test_points_without_a_time_leave_the_relative_axis_whole() -> None:
    # The unit came from the range of the finite times, of which there may be none; the whole panel stayed empty.
    timeless = RunCurve("b", PALETTE[0], Columns(np.array([0]), np.array([math.nan]), np.array([1.0])))
    chart = scalar_chart([timeless, curve([1, 2], seconds=7200)], replace(PLAIN, x_axis="relative"), "light")
    assert [numbers(trace["x"]) for trace in traces(chart, "line")][1] == [0.0, 2.0]


def test_the_smallest_step_there_is_stays_itself() -> None:
    # The absolute value of -2**63 is negative in 64 bits: it was taken to fit 32, and drawn at step 0.
    chart = scalar_chart([curve([1, 2], steps=[-(2**63), 3])], PLAIN, "light")
    assert numbers(traces(chart, "line")[0]["x"]) == [-(2.0**63), 3.0]


def test_tiny_values_are_not_drawn_as_zero() -> None:
    # Beside 1, 1e-50 was sent as float32, which is 0, and a log scale left the point out without a word.
    chart = scalar_chart([curve([1e-50, 1])], replace(PLAIN, y_scale="log"), "light")
    assert numbers(traces(chart, "line")[0]["y"]) == [1e-50, 1.0]


@pytest.mark.parametrize("raw", [[0, 10**400, 0, 1], [0, math.inf, 0, 1], [math.nan, 1, 0, 1], [1, 0, 0, 1], "x", None])
def test_zoom_that_makes_no_sense_is_none(raw: Any) -> None:
    # What the page reports is any JSON; a whole number beyond float64 was an error 500.
    assert parse_zoom(raw) is None


def test_large_steps_keep_every_digit() -> None:
    chart = scalar_chart([curve([1.0, 2.0], [2**40, 2**40 + 1])], PLAIN, "light")
    assert numbers(chart.figure["data"][0]["x"]) == [2**40, 2**40 + 1]


def test_small_differences_of_large_values_are_drawn_in_double_precision() -> None:
    values = [1e9, 1e9 + 0.25, 1e9 + 0.5]
    chart = scalar_chart([curve(values)], PLAIN, "light")
    assert numbers(chart.figure["data"][0]["y"]) == values
