import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.dashboard.curves.chart import chart, chart_version, values_at
from stepscope.dashboard.curves.settings import CurveSettings, XAxis
from stepscope.dashboard.curves.smoothing import smooth
from stepscope.dashboard.curves.spec import ChartSpec, LineSpec
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.binary import ColumnPack, unpack
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import source_of
from stepscope.summary.series import SCALARS, Columns, Series
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.curves.snapshots import losses, scalar, snapshot
from tests.dashboard.runs.tiny import unreadable

PLAIN = CurveSettings(smoothing=0)
LOSS = ChartSpec((LineSpec("loss"),))


def drawn(
    found: Snapshot,
    settings: CurveSettings = PLAIN,
    *,
    spec: ChartSpec = LOSS,
    view: str = "",
    window: tuple[float, float] | None = None,
    most: int = 1000,
) -> dict[str, Any]:
    """The chart as the page gets it, with every line's columns as lists."""
    pack = ColumnPack()
    made = chart(spec, RunTable(found, decode(view)), settings, window, most, pack)
    header, arrays = unpack(pack.body(made))
    for line in header["lines"]:
        line["columns"] = {name: arrays[at].tolist() for name, at in line["columns"].items()}
    return header


def columns(made: dict[str, Any], index: int = 0) -> dict[str, list[float]]:
    found: dict[str, list[float]] = made["lines"][index]["columns"]
    return found


def test_a_run_is_a_line_with_all_that_the_cursor_tells() -> None:
    made = drawn(losses(a=[3.0, 1.0]))
    shades = {name: made["lines"][0].pop(name) for name in ("light", "dark")}
    assert all(shade.startswith("#") for shade in shades.values())
    assert made["lines"] == [
        {
            "id": "0:run:a", "kind": "run", "run": "a", "label": "a", "tag": "loss", "side": "left", "dash": 0,
            "first": 1000.0, "total": 2, "visible": 2,
            "columns": {"x": [0.0, 1.0], "y": [3.0, 1.0], "seconds": [0.0, 10.0]},
        }
    ]  # fmt: skip
    assert (made["marks"], made["best"], made["note"], made["empty"]) == ([], [], "", "")


def test_an_empty_tag_is_a_line_and_no_band_of_others() -> None:
    found = snapshot({"a": [scalar("a", "", [1.0, 2.0]), scalar("a", "loss", [3.0, 4.0])]})
    assert columns(drawn(found, spec=ChartSpec((LineSpec(""),))))["y"] == [1.0, 2.0]
    assert columns(drawn(found)).keys() == {"x", "y", "seconds"}


def test_no_run_has_it() -> None:
    assert (
        drawn(losses(a=[1.0]), spec=ChartSpec((LineSpec("other"),)))["empty"] == "None of the visible runs has this tag"
    )
    assert drawn(losses(a=[1.0]), view="runs=none")["lines"] == []
    assert drawn(losses(a=[math.nan]))["empty"] == "No finite value"


@pytest.mark.parametrize(
    ("seconds", "suffix", "last"),
    [(1.0, " s", 1.0), (600.0, " min", 10.0), (36_000.0, " h", 10.0), (864_000.0, " d", 10.0)],
)
def test_relative_time_has_a_unit_that_fits(seconds: float, suffix: str, last: float) -> None:
    found = snapshot({"a": [scalar("a", "loss", [1.0, 2.0], seconds=seconds)]})
    made = drawn(found, replace(PLAIN, x_axis="relative"))
    assert (made["x"]["suffix"], columns(made)["x"], columns(made)["step"]) == (suffix, [0.0, last], [0.0, 1.0])


def test_wall_time_is_seconds() -> None:
    made = drawn(losses(a=[1.0, 2.0]), replace(PLAIN, x_axis="wall"))
    assert (made["x"]["scale"], columns(made)["x"]) == ("time", [1000.0, 1010.0])


def test_another_metric_is_the_axis() -> None:
    found = snapshot(
        {
            "a": [
                scalar("a", "loss", [5.0, 4.0, 3.0, 2.0], [0, 10, 15, 20]),
                scalar("a", "samples", [100.0, 200.0], [10, 20]),
            ],
            "b": [scalar("b", "loss", [1.0])],
        }
    )
    made = drawn(found, replace(PLAIN, x_axis="metric", x_tag="samples"))
    # Step 0 precedes the axis's first value; step 15 takes the last value before it; run b has none.
    assert columns(made)["x"] == [100.0, 100.0, 200.0]
    assert columns(made)["y"] == [4.0, 3.0, 2.0]
    assert columns(made, 1)["x"] == []
    assert made["note"] == "2 points have no value on this axis"
    nowhere = drawn(found, replace(PLAIN, x_axis="metric", x_tag="x"))
    assert nowhere["empty"] == "None of the visible runs has 'x' for the horizontal axis"


def test_points_of_writers_at_once_are_drawn_along_every_axis() -> None:
    # Two ranks, the second 5 s behind, in the order of their steps.
    slow = scalar("a", "loss", [1.0, 10.0, 2.0, 20.0], [0, 0, 1, 1], seconds=0.0)
    times = np.array([0.0, 25.0, 10.0, 35.0])
    together = Series(
        "a", "loss", SCALARS, "", "", b"", 1, 0, lambda: Columns(slow.steps, times, slow.values), slow.read, writers=2
    )
    found = snapshot({"a": [together]})
    assert columns(drawn(found))["y"] == [1.0, 10.0, 2.0, 20.0]
    by_time = drawn(found, replace(PLAIN, x_axis="wall"))
    assert columns(by_time)["y"] == [1.0, 2.0, 10.0, 20.0]
    assert columns(by_time)["step"] == [0.0, 1.0, 0.0, 1.0]
    assert by_time["note"] == "2 writers at once: every point is shown"


def test_what_is_not_finite_is_marked_and_counted() -> None:
    made = drawn(losses(a=[1.0, math.nan, math.inf, -math.inf, 2.0]))
    assert made["marks"] == [[0, 1.0, "NaN"], [0, 2.0, "+Inf"], [0, 3.0, "-Inf"]]
    assert made["note"] == "1 NaN · 2 infinite"
    assert columns(made)["y"] == pytest.approx([1.0, math.nan, math.nan, math.nan, 2.0], nan_ok=True)


@pytest.mark.parametrize(("best", "expected"), [("none", []), ("min", [[0, 1.0, 1.0]]), ("max", [[0, 2.0, 7.0]])])
def test_the_best_point_is_marked(best: Any, expected: list[list[float]]) -> None:
    assert drawn(losses(a=[3.0, 1.0, 7.0, math.inf]), replace(PLAIN, best=best))["best"] == expected


def test_all_points_come_as_they_are_and_the_page_smooths_them() -> None:
    assert "smooth" not in columns(drawn(losses(a=[3.0, 1.0]), CurveSettings(smoothing=0.9)))


def test_left_out_points_count_as_their_mean_and_smoothing_is_exact_where_drawn() -> None:
    values = [math.sin(step / 50) for step in range(5000)]
    values[7] = math.nan
    made = drawn(losses(a=values), CurveSettings(smoothing=0.9))
    sent = columns(made)
    assert made["note"] == "Showing 1,001 of 5,000 points per line · 1 NaN"
    assert (sum(sent["count"]), sent["x"][-1]) == (4999, 4999.0)
    weighted = sum(m * n for m, n in zip(sent["mean"], sent["count"], strict=True))
    assert weighted == pytest.approx(sum(v for v in values if not math.isnan(v)), abs=1e-3)
    chosen = np.array(sent["x"], np.int64)
    assert sent["smooth"] == pytest.approx(smooth(np.array(values), 0.9)[chosen].tolist(), abs=1e-6, nan_ok=True)


def test_a_zoom_draws_the_visible_points_in_full_and_one_beyond_each_edge() -> None:
    found = losses(a=[math.sin(step) for step in range(5000)])
    assert columns(drawn(found, window=(100.5, 110.5)))["x"] == list(range(100, 112))


def test_a_zoom_between_two_points_still_shows_the_line_through_it() -> None:
    assert columns(drawn(losses(a=[1.0, 2.0, 3.0]), window=(1.2, 1.3)))["x"] == [1.0, 2.0]


def test_a_zoom_smooths_as_the_whole_does() -> None:
    values = [math.sin(step) for step in range(500)]
    sent = columns(drawn(losses(a=values), CurveSettings(smoothing=0.9), window=(200.0, 210.0)))
    assert sent["smooth"] == pytest.approx(smooth(np.array(values), 0.9)[199:212].tolist(), abs=1e-6)


def test_points_without_a_time_leave_the_relative_axis_whole() -> None:
    # The unit came from the range of finite times; when there were none, the whole panel stayed empty.
    found = snapshot(
        {"a": [scalar("a", "loss", [1.0], seconds=math.nan)], "b": [scalar("b", "loss", [1.0, 2.0], seconds=7200)]}
    )
    made = drawn(found, replace(PLAIN, x_axis="relative"))
    assert (made["x"]["suffix"], columns(made, 1)["x"]) == (" h", [0.0, 2.0])


@pytest.mark.parametrize("steps", [[-(2**63), 3], [2**40, 2**40 + 1]])
def test_every_step_keeps_its_digits(steps: list[int]) -> None:
    found = snapshot({"a": [scalar("a", "loss", [1.0, 2.0], steps)]})
    assert columns(drawn(found))["x"] == [float(step) for step in steps]


@pytest.mark.parametrize("values", [[1e9, 1e9 + 0.25, 1e9 + 0.5], [1e-50, 1.0]])
def test_values_that_need_it_come_in_double_precision(values: list[float]) -> None:
    # As float32, 1e-50 is 0, so a log scale silently dropped the point.
    assert columns(drawn(losses(a=values)))["y"] == values


def test_a_log_scale_says_what_it_cannot_show() -> None:
    made = drawn(losses(a=[-1.0, 0.0, 2.0]), replace(PLAIN, y_scale="log", x_scale="log"))
    assert made["note"] == "2 not positive, not drawn · 1 not positive in x, not drawn"


def test_superseded_points_are_said() -> None:
    found = snapshot({"a": [scalar("a", "loss", [1.0], superseded=3)]})
    assert drawn(found)["note"] == "3 points superseded by a restart"


def test_a_group_is_one_line_with_its_members_on_demand() -> None:
    found = losses(**{"x/seed_0": [1.0, 2.0], "x/seed_1": [3.0, 4.0], "y/seed_0": [5.0]})
    made = drawn(found, replace(PLAIN, band="minmax"), view="runs.group=seeds")
    assert [(line["kind"], line["label"], line.get("runs")) for line in made["lines"]] == [
        ("group", "x/seed_*", ["x/seed_0", "x/seed_1"]),
        ("run", "y/seed_0", None),
    ]
    assert columns(made) == {
        "x": [0.0, 1.0], "y": [2.0, 3.0], "low": [1.0, 2.0], "high": [3.0, 4.0], "members": [2, 2],
    }  # fmt: skip
    assert made["note"] == "mean of each group, band: minimum to maximum"
    members = drawn(found, replace(PLAIN, members=True), view="runs.group=seeds&hide=x/seed_1")
    assert [(line["kind"], line["label"]) for line in members["lines"]] == [
        ("member", "x/seed_0"), ("group", "x/seed_*"), ("run", "y/seed_0"),
    ]  # fmt: skip
    assert members["lines"][0]["light"] == members["lines"][1]["light"]


def test_a_group_of_one_run_has_no_band() -> None:
    made = drawn(losses(**{"a/seed_0": [1.0, 3.0]}), view="runs.group=path:1")
    assert made["lines"][0]["kind"] == "group"
    assert sorted(columns(made)) == ["members", "x", "y"]


def test_runs_of_equal_steps_are_read_at_one_step_whichever_points_are_drawn() -> None:
    values = {name: [math.sin(step * factor) for step in range(5_000)] for name, factor in (("a", 0.7), ("b", 1.3))}
    found = losses(**values)
    drawn_steps = [line["columns"]["x"] for line in drawn(found, most=200)["lines"]]
    place = next(step for step in drawn_steps[0] if step not in drawn_steps[1])
    smoothing = replace(PLAIN, smoothing=0.5)
    at = int(place)
    assert values_at(LOSS, RunTable(found, decode("")), smoothing, place + 0.3) == {
        f"0:run:{name}": {
            "x": place, "step": place, "value": values[name][at], "seconds": 10.0 * at,
            "y": pytest.approx(float(smooth(np.array(values[name]), 0.5)[at])),
        }
        for name in ("a", "b")
    }  # fmt: skip


def test_several_tags_have_their_sides_and_dashes() -> None:
    found = snapshot({run: [scalar(run, "loss", [1.0]), scalar(run, "lr", [0.1])] for run in ("a", "b")})
    made = drawn(found, spec=ChartSpec((LineSpec("loss"), LineSpec("lr", "right"))))
    assert [(line["id"], line["tag"], line["side"], line["dash"]) for line in made["lines"]] == [
        ("0:run:a", "loss", "left", 0),
        ("0:run:b", "loss", "left", 0),
        ("1:run:a", "lr", "right", 1),
        ("1:run:b", "lr", "right", 1),
    ]
    assert [line["light"] for line in made["lines"][:2]] == [line["light"] for line in made["lines"][2:]]


def test_tags_of_one_run_have_colors_of_their_own() -> None:
    found = snapshot({"a": [scalar("a", "loss", [1.0]), scalar("a", "lr", [0.1])]})
    lines = drawn(found, spec=ChartSpec((LineSpec("loss"), LineSpec("lr"))))["lines"]
    assert [line["dash"] for line in lines] == [0, 0]
    assert lines[0]["light"] != lines[1]["light"]


def test_a_resumed_run_has_a_rule_where_it_went_on(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for time, step in enumerate((0, 1, 2, 3, 2, 3)):
            writer.add_scalar("loss", 1.0, step, walltime=100.0 + 30 * time)
    found = Logdir(source_of(tmp_path)).update()
    axes: tuple[tuple[XAxis, float], ...] = (("step", 2.0), ("relative", 120.0), ("wall", 220.0))
    for axis, x in axes:
        made = drawn(found, replace(PLAIN, x_axis=axis))
        (rule,) = made["rules"]
        scale = 60.0 if made["x"]["suffix"] == " min" else 1.0
        assert (rule["x"] * scale, rule["title"]) == (x, "a resumed at step 2: 2 points superseded")
    assert drawn(found)["note"] == "2 points superseded by a restart"


def test_a_band_may_be_two_other_scalars() -> None:
    found = snapshot(
        {
            "a": [
                scalar("a", "mean", [2.0, 3.0, 4.0]),
                scalar("a", "low", [1.0, 2.5], [0, 2]),
                scalar("a", "high", [5.0, 6.0, 7.0]),
            ]
        }
    )
    sent = columns(drawn(found, spec=ChartSpec((LineSpec("mean", "left", "low", "high"),))))
    assert sent["low"] == pytest.approx([1.0, math.nan, 2.5], nan_ok=True)
    assert sent["high"] == [5.0, 6.0, 7.0]


def test_a_scalar_that_can_no_longer_be_read_is_no_axis_and_no_edge_and_the_chart_says_so() -> None:
    found = snapshot({"a": [scalar("a", "mean", [2.0, 3.0]), unreadable("a", "gone")]})
    lost = "the points of 'gone' of 'a' cannot be read: No such file or directory"
    banded = drawn(found, spec=ChartSpec((LineSpec("mean", "left", "gone", "gone"),)))
    assert (columns(banded)["y"], banded["note"]) == ([2.0, 3.0], lost)
    along = drawn(found, replace(PLAIN, x_axis="metric", x_tag="gone"), spec=ChartSpec((LineSpec("mean"),)))
    assert (columns(along)["x"], along["note"]) == ([], f"2 points have no value on this axis · {lost}")


def test_a_version_tells_whether_a_chart_changed() -> None:
    found = losses(a=[1.0], b=[2.0])

    def version(view: str, settings: CurveSettings = PLAIN) -> str:
        return chart_version(LOSS, RunTable(found, decode(view)), settings, None, 1000)

    assert version("") == version("tab=images&scalars.open=x")
    others = [
        version("hide=a"),
        version("runs.name=a:best"),
        version("runs.group=path:1"),
        version("", CurveSettings(0.1)),
    ]
    assert len({version(""), *others}) == 5
