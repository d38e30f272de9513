import base64
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from plotly.graph_objects import Figure
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
)

from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.cards import Draw
from stepscope.dashboard.panels.pr_curves.curves import MOST_THRESHOLDS, Curve, check
from stepscope.dashboard.panels.pr_curves.figures import RunCurve, RunTrack, pr_chart, roc_chart, track_chart
from stepscope.dashboard.panels.pr_curves.panel import TRACKED, compact, depends, draw, read_curve, track
from stepscope.dashboard.server.arrays import TypedArray
from stepscope.dashboard.tensorboard.pr_curves import shown_thresholds
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.pr_curve import PrCurve, decode_pr_curve, pr_curve
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.media import client_of

THRESHOLDS = 129
"""Predictions are whole 128ths, so that each is a threshold: the counts then lose nothing."""


def samples(seed: int, count: int = 400) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    labels = random.random(count) < 0.3
    labels[:2] = (True, False)
    predictions = np.clip(np.round(128 * random.beta(2, 3, count) + 30 * labels), 0, 128) / 128
    return labels, predictions


def curve_of(labels: Any, predictions: Any, thresholds: int = THRESHOLDS) -> Curve:
    return check(decode_pr_curve(pr_curve("c", labels, predictions, thresholds)))


def table(*rows: list[float]) -> Curve:
    return check(PrCurve(np.array(rows, np.float64)))


def shown(curve: Curve, run: str = "a", slot: int = 0, said: str = "") -> RunCurve:
    return RunCurve(run, PALETTE[slot], curve, said)


def values(spec: TypedArray) -> list[float]:
    found: list[float] = np.frombuffer(base64.b64decode(spec["bdata"]), spec["dtype"]).tolist()
    return found


@pytest.mark.parametrize("seed", range(5))
def test_areas_are_scikit_learns_on_the_same_counts(seed: int) -> None:
    labels, predictions = samples(seed)
    curve = curve_of(labels, predictions)
    # The payload is float32.
    assert curve.average_precision == pytest.approx(average_precision_score(labels, predictions), abs=1e-6)
    assert curve.roc_auc == pytest.approx(roc_auc_score(labels, predictions), abs=1e-6)
    assert curve.baseline == pytest.approx(labels.mean())


@pytest.mark.parametrize("index", [0, 1, 40, 64, 100, 128])
def test_numbers_at_a_threshold_are_scikit_learns(index: int) -> None:
    labels, predictions = samples(7)
    curve = curve_of(labels, predictions)
    predicted = predictions >= curve.thresholds[index]
    own = [row[index] for row in (curve.f1, curve.accuracy, curve.mcc, curve.precision, curve.recall)]
    theirs = [
        f1_score(labels, predicted),
        accuracy_score(labels, predicted),
        matthews_corrcoef(labels, predicted),
        precision_score(labels, predicted, zero_division=0),
        recall_score(labels, predicted),
    ]
    assert own == pytest.approx(theirs, abs=1e-6)


def test_thresholds_at_which_nothing_is_positive_are_cut_off_as_tensorboard_does() -> None:
    labels, predictions = samples(3)
    found = decode_pr_curve(pr_curve("c", labels, predictions * 0.5, THRESHOLDS))
    curve = check(found)
    assert (curve.shown, len(curve.thresholds)) == (shown_thresholds(found.table), THRESHOLDS)
    assert curve.shown < THRESHOLDS


def test_weights_that_sum_up_to_less_than_one_are_a_curve_too() -> None:
    curve = table([0.4, 0.2, 0], [0.2, 0.1, 0], [0, 0.1, 0.2], [0, 0.2, 0.4], [2 / 3, 2 / 3, 0], [1, 0.5, 0])
    assert (curve.shown, curve.contradicts) == (2, False)
    assert curve.average_precision == pytest.approx(2 / 3)


def test_best_f1_is_the_lowest_of_the_best_thresholds() -> None:
    curve = curve_of([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], 11)
    assert curve.best is not None
    assert (curve.thresholds[curve.best], curve.f1[curve.best]) == (pytest.approx(0.3), 1.0)


def test_impossible_thresholds_are_left_out_and_counted() -> None:
    curve = table(
        [4, 3, math.nan, 1, 0],
        [4, 2, 1, -1, 0],
        [0, 2, 3, 4, 4],
        [0, 1, 2, 3, 4],
        [0.5, 0.6, 0.7, 1, 1.5],
        [1, 0.75, 0.5, 0.25, 0],
    )
    assert (curve.thresholds.tolist(), curve.left_out, curve.shown) == ([0, 0.25], 3, 2)
    assert pr_chart([shown(curve)], "light", iso_lines=False).note == (
        "3 thresholds with NaN or impossible numbers left out"
    )


def test_ratios_that_are_not_those_of_the_counts_are_said() -> None:
    curve = table([4, 2], [4, 0], [0, 4], [0, 2], [0.5, 0.9], [1, 0.5])
    assert curve.contradicts
    assert (
        pr_chart([shown(curve)], "light", iso_lines=False).note
        == "precision or recall as logged differs from the counts"
    )


@pytest.mark.parametrize(
    ("rows", "average_precision", "roc_auc"),
    [
        ([[], [], [], [], [], []], math.nan, math.nan),
        ([[2], [2], [0], [0], [0.5], [1]], math.nan, math.nan),
        ([[0, 0], [4, 1], [0, 3], [0, 0], [0, 0], [0, 0]], math.nan, math.nan),
        ([[4, 1], [0, 0], [0, 0], [0, 3], [1, 1], [1, 0.25]], 1.0, math.nan),
        ([[0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], math.nan, math.nan),
    ],
    ids=["no threshold", "one threshold", "no positives", "no negatives", "no samples"],
)
def test_there_is_no_area_without_both_classes(
    rows: list[list[float]], average_precision: float, roc_auc: float
) -> None:
    curve = table(*rows)
    assert [curve.average_precision, curve.roc_auc] == pytest.approx([average_precision, roc_auc], nan_ok=True)


@given(arrays(np.float64, st.tuples(st.just(6), st.integers(0, 5)), elements=st.floats(allow_nan=True)))
def test_any_table_makes_figures(rows: NDArray[np.float64]) -> None:
    with np.errstate(all="ignore"):
        curve = check(PrCurve(rows))
        Figure(pr_chart([shown(curve)], "dark", iso_lines=True).figure)
        Figure(roc_chart([shown(curve)], "light").figure)


def test_charts_of_no_run_are_figures() -> None:
    Figure(pr_chart([], "light", iso_lines=False).figure)
    Figure(roc_chart([], "light").figure)
    Figure(track_chart([], "ap", "wall", "light").figure)


def roles(figure: dict[str, Any]) -> list[str]:
    return [trace["meta"]["role"] for trace in figure["data"]]


def test_a_pr_chart_has_lines_of_equal_f1_a_baseline_the_curves_and_their_best_f1() -> None:
    curve = curve_of([1, 1, 0, 0], [0.9, 0.3, 0.4, 0.1], 3)
    figure = pr_chart([shown(curve), shown(curve, "b", 1)], "light", iso_lines=True).figure
    assert roles(figure) == ["iso"] * 4 + ["baseline", "curve", "curve", "best"]
    line = figure["data"][5]
    assert (values(line["x"]), values(line["y"])) == ([1, 0.5], [0.5, 1])
    assert figure["data"][4]["y"] == [0.5, 0.5]
    assert figure["data"][7]["x"] == pytest.approx([1, 1])
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["F1 0.2", "F1 0.4", "F1 0.6", "F1 0.8"]
    iso = figure["data"][0]
    precision, recall = np.array(values(iso["y"])), np.array(values(iso["x"]))
    assert 2 * precision * recall / (precision + recall) == pytest.approx(np.full(60, 0.2), rel=1e-5)


def test_runs_with_other_shares_of_positives_have_their_own_baselines() -> None:
    runs = [shown(curve_of([1, 0], [0.9, 0.1], 3)), shown(curve_of([1, 0, 0], [0.9, 0.1, 0.1], 3), "b", 1)]
    figure = pr_chart(runs, "light", iso_lines=False).figure
    lines = [trace for trace in figure["data"] if trace["meta"]["role"] == "baseline"]
    assert [(line["y"][0], line["line"]["color"]) for line in lines] == [
        (0.5, PALETTE[0].light),
        (pytest.approx(1 / 3), PALETTE[1].light),
    ]


def test_a_roc_chart_goes_from_corner_to_corner_and_leaves_out_runs_of_one_class() -> None:
    both, one = curve_of([1, 1, 0, 0], [0.9, 0.3, 0.4, 0.1], 3), curve_of([1, 1], [0.9, 0.3], 3)
    chart = roc_chart([shown(both), shown(one, "b", 1)], "light")
    assert roles(chart.figure) == ["baseline", "curve", "best"]
    assert values(chart.figure["data"][1]["x"]) == [1, 1, 0, 0, 0]
    assert values(chart.figure["data"][1]["y"]) == [1, 1, 0.5, 0, 0]
    assert chart.note == "1 run without an ROC curve: one class only"


def test_of_many_thresholds_some_are_drawn_and_the_best_is_among_them() -> None:
    labels, predictions = samples(1)
    curve = curve_of(labels, predictions, 4 * MOST_THRESHOLDS)
    thinned = curve.thinned()
    assert curve.best in thinned
    assert MOST_THRESHOLDS <= len(thinned) <= MOST_THRESHOLDS + 1
    assert pr_chart([shown(curve)], "light", iso_lines=False).note == "1,001 of 4,004 thresholds drawn"


def test_numbers_for_the_page_are_float32_where_that_changes_none() -> None:
    assert compact(np.array([1.0, math.nan, 0.5]))["dtype"] == "f4"
    assert compact(np.array([0.1]))["dtype"] == "f8"
    assert compact(np.array([1e300]))["dtype"] == "f8"


def snapshot_of(path: Path) -> Snapshot:
    """Runs "a" with steps 0, 10 and 20, and "b" with 5 and 15."""
    for run, steps in {"a": (0, 10, 20), "b": (5, 15)}.items():
        with SummaryWriter(str(path / run)) as writer:
            for step in steps:
                writer.add_pr_curve("c", [1, 0], [0.9, step / 25], step, num_thresholds=3, walltime=100.0 + step)
    return open_logdir(path)


def drawn(snapshot: Snapshot, **settings: str) -> dict[str, Any]:
    view = View(settings={f"pr_curves.{name}": (value,) for name, value in settings.items()})
    meta: dict[str, Any] = draw("c", Draw(snapshot, view, "light", {}))["layout"]["meta"]
    return meta


def test_every_run_is_at_the_chosen_step_or_the_nearest_earlier_one_and_says_so(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)

    def places(**settings: str) -> list[tuple[str, int | None, str]]:
        return [(run["run"], run["step"], run["said"]) for run in drawn(snapshot, **settings)["runs"]]

    assert places() == [("a", 20, ""), ("b", 15, "step 15")]
    assert places(step="c:10") == [("a", 10, ""), ("b", 5, "step 5")]
    assert places(step="c:0") == [("a", 0, ""), ("b", None, "begins at step 5")]
    assert places(slider="run") == [("a", 20, ""), ("b", 15, "")]
    assert places(slider="run", run_step='["c", "a"]:10') == [("a", 10, ""), ("b", 15, "")]
    assert values(drawn(snapshot)["slider"]["steps"]) == [0, 5, 10, 15, 20]
    assert [values(run["slider"]["steps"]) for run in drawn(snapshot, slider="run")["runs"]] == [[0, 10, 20], [5, 15]]


def test_a_card_is_drawn_again_only_for_what_it_shows(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)

    def seen(**settings: str) -> object:
        view = View(settings={f"pr_curves.{name}": (value,) for name, value in settings.items()})
        return depends("c", Draw(snapshot, view, "light", {}))

    assert seen() == seen(threshold="c:0.7") == seen(step="other:5") == seen(axis="wall")
    assert seen() != seen(step="c:5")
    assert seen(view="steps") == seen(view="steps", step="c:5")
    assert seen(view="steps") != seen(view="steps", axis="wall")


def test_what_cannot_be_read_is_said_of_its_run(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        value = pr_curve("c", [1, 0], [0.9, 0.1], 3)
        value.tensor.CopyFrom(numbers_tensor(np.zeros((5, 3), np.float32)))
        writer.add_summary(Summary(value=[value]), 3)
    run = drawn(open_logdir(tmp_path))["runs"][0]
    assert (run["step"], "thresholds" in run) == (3, False)
    assert run["said"].startswith("cannot be read: ")
    assert run["said"].endswith("expected a PR curve of shape [6, n], got shape [5, 3]")


def test_one_threshold_and_repeated_steps_are_said(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        ones = np.ones(1)
        writer.add_pr_curve_raw("c", ones, ones, ones, ones, ones / 2, ones / 2, 3)
    found = open_logdir(tmp_path).series("a", "c")
    assert found is not None
    curve, index = read_curve(found, PALETTE[0], None)
    assert (curve.said, index) == ("one threshold: a point, no curve", 0)


def series_over_steps(path: Path, count: int) -> Series:
    with SummaryWriter(str(path / "a")) as writer:
        for step in range(count):
            writer.add_pr_curve("c", [1, 0, 1], [0.9, 0.5, step % 2], step, num_thresholds=5, walltime=100.0 + step)
    found = open_logdir(path).series("a", "c")
    assert found is not None
    return found


@pytest.mark.parametrize(("metric", "wanted"), [("ap", [5 / 6, 1]), ("auc", [0.5, 1]), ("f1", [0.8, 1])])
def test_a_number_over_steps(tmp_path: Path, metric: Any, wanted: list[float]) -> None:
    found = track(series_over_steps(tmp_path, 2), PALETTE[0], metric)
    assert found.values.tolist() == pytest.approx(wanted, abs=1e-6)


def test_of_many_curves_some_are_read_for_a_line_over_steps(tmp_path: Path) -> None:
    found = track(series_over_steps(tmp_path, TRACKED + 20), PALETTE[0], "ap")
    assert (len(found.steps), found.steps[0], found.steps[-1]) == (TRACKED, 0, TRACKED + 19)
    chart = track_chart([found], "ap", "step", "light")
    assert chart.note == "100 of 120 curves, evenly spaced, including the first and last"


def test_a_track_says_where_there_is_no_number() -> None:
    steps = np.array([0, 3600])
    lost = RunTrack("a", PALETTE[0], steps, 100.0 + steps, np.array([0.5, math.nan]), 2)
    chart = track_chart([lost], "auc", "relative", "light")
    assert chart.note == "no value at 1 step"
    assert values(chart.figure["data"][0]["x"]) == [0, 60]
    assert chart.figure["layout"]["xaxis"]["title"]["text"] == "Time since the run's first curve (min)"


def test_shown_curves_are_downloaded_as_written(tmp_path: Path) -> None:
    snapshot_of(tmp_path)
    client = client_of(tmp_path)
    query: dict[str, Any] = {"tag": "c", "run": ["a", "b"], "index": [0, 1]}
    answer = client.get("/api/pr_curves/download", params=query)
    assert answer.headers["content-disposition"] == 'attachment; filename="c.csv"'
    assert answer.text.splitlines() == [
        "run,step,wall_time,threshold,true_positives,false_positives,true_negatives,false_negatives,precision,recall",
        "a,0,100.0,0.0,1.0,1.0,0.0,0.0,0.5,1.0",
        "a,0,100.0,0.5,1.0,0.0,1.0,0.0,1.0,1.0",
        "a,0,100.0,1.0,0.0,0.0,1.0,1.0,0.0,0.0",
        "b,15,115.0,0.0,1.0,1.0,0.0,0.0,0.5,1.0",
        "b,15,115.0,0.5,1.0,1.0,0.0,0.0,0.5,1.0",
        "b,15,115.0,1.0,0.0,0.0,1.0,1.0,0.0,0.0",
    ]
    rows = json.loads(client.get("/api/pr_curves/download", params=query | {"format": "json"}).text)
    assert len(rows) == 6
    assert rows[1] == {
        "run": "a",
        "step": 0,
        "wall_time": 100.0,
        "threshold": 0.5,
        "true_positives": 1.0,
        "false_positives": 0.0,
        "true_negatives": 1.0,
        "false_negatives": 0.0,
        "precision": 1.0,
        "recall": 1.0,
    }


def test_a_download_of_what_is_not_there_says_so(tmp_path: Path) -> None:
    snapshot_of(tmp_path)
    client = client_of(tmp_path)

    def status(**query: Any) -> int:
        answer = client.get("/api/pr_curves/download", params={"tag": "c", "run": "a", "index": 0} | query)
        return int(answer.status_code)

    assert [status(tag="x"), status(index=9), status(run=["a", "b"]), status(index=-1), status(format="exe")] == [
        404,
        404,
        422,
        422,
        422,
    ]


def test_colors_are_those_of_the_runs(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path)
    colors = Draw(snapshot, View(), "light", {}).colors
    assert [(run["run"], run["light"]) for run in drawn(snapshot)["runs"]] == [
        (name, colors[name].light) for name in ("a", "b")
    ]
