import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.dashboard.page.colors import assign_colors
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.hparams.analysis import Analysis, Correlation, Forest
from stepscope.dashboard.panels.hparams.importance import bars, warnings
from stepscope.dashboard.panels.hparams.panel import HParamsPanel
from stepscope.dashboard.panels.hparams.sessions import first_folder, folders, read_sessions, runs_of_sessions, text_of
from stepscope.dashboard.panels.hparams.settings import SETTINGS, Interval, TableRequest, parse_ranges, parse_values
from stepscope.dashboard.panels.hparams.table import Table, build_table, payload
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import HParamValue, checked_hparams, session_start, start_info
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.series import Run
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from tests.dashboard.hparams_logs import write_experiment, write_sessions
from tests.dashboard.media import client_of
from tests.dashboard.runs.tiny import snapshot

THIRD = float(np.float32(1 / 3))
"""As a scalar is written."""


def table(path: Path, query: str = "hparams.rows=sessions") -> Table:
    requested = TableRequest.of(decode(query))
    return build_table(read_sessions(open_logdir(path), requested.folder), requested)


def names(found: Table) -> list[str]:
    return [row.name for row in found.rows]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "true"), (False, "false"), (64.0, "64"), (-0.5, "-0.5"), (1e-5, "1e-05"), (1e300, "1e+300"),
        (math.nan, "nan"), (math.inf, "inf"), ("adam", "adam"),
    ],
)  # fmt: skip
def test_text_of_a_value(value: HParamValue | None, text: str) -> None:
    assert text_of(value) == text


def test_columns_are_of_all_sessions_and_the_constant_is_folded_away(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with SummaryWriter(str(tmp_path / "more")) as writer:
        writer.add_scalar("other", 1.0, 0)
    found = table(tmp_path)
    assert [(column.key, column.kind, column.type, column.values) for column in found.columns] == [
        ("lr", "hparam", "number", ("1e-05", "0.01", "0.05", "0.1")),
        ("mixed", "hparam", "text", ("1", "one", "")),
        ("norm", "hparam", "text", ("false", "true", "")),
        ("opt", "hparam", "text", ("50%_Adam", "adam", "sgd")),
        ("accuracy", "metric", "number", ()),
        ("val/loss", "metric", "number", ()),
    ]
    assert found.constant == ()
    assert table(tmp_path, "hparams.values=lr:0.1").constant == ()
    assert (found.target and found.target.key, found.lower_is_better) == ("accuracy", False)


def test_experiments_that_say_different_things_are_joined(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    write_experiment(tmp_path, "one", {"lr": 1.0}, ["accuracy"])
    write_experiment(tmp_path, "two", {"wd": 1.0}, ["never"])
    found = read_sessions(open_logdir(tmp_path))
    assert [(column.key, column.default) for column in found.columns] == [
        ("lr", True), ("mixed", True), ("norm", True), ("opt", True), ("wd", False),
        ("accuracy", True), ("never", False), ("val/loss", False),
    ]  # fmt: skip


def test_metric_values_are_the_last_the_least_or_the_greatest_with_their_step(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with SummaryWriter(str(tmp_path / "a0")) as writer:
        for step, value in ((3, 4.0), (4, math.nan), (5, -1.0), (6, math.nan)):
            writer.add_scalar("odd", value, step)
    reached = {
        which: table(tmp_path, f"hparams.metrics=odd&hparams.value={which}").rows[0].metrics["odd"]
        for which in ("last", "min", "max")
    }
    assert math.isnan(reached["last"][0])
    assert (reached["last"][1], reached["min"], reached["max"]) == (6, (-1.0, 5), (4.0, 3))


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        ("", ["a0", "a1", "alone", "b0", "b1", "failed"]),
        ("hparams.status=failure", ["failed"]),
        ("hparams.status=running&hparams.status=failure", ["b1", "failed"]),
        ("hparams.values=opt:sgd", ["a0", "a1", "failed"]),
        ("hparams.values=opt:sgd&hparams.values=opt:adam", ["a0", "a1", "b0", "b1", "failed"]),
        ("hparams.values=opt:50%2525_Adam", ["alone"]),
        ("hparams.values=norm:", ["alone"]),
        ("hparams.without=opt:sgd&hparams.without=opt:50%2525_Adam", ["b0", "b1"]),
        ("hparams.without=norm:&hparams.without=gone:1", ["a0", "a1", "b0", "b1", "failed"]),
        ("hparams.range=lr:0.01:0.09", ["alone", "b0", "b1"]),
        ("hparams.range=lr::0.01&hparams.values=opt:adam", ["b0", "b1"]),
        ("hparams.range=accuracy:0.7:", ["a1", "b0"]),
        ("hparams.range=val/loss::", ["a0", "alone", "b0"]),
        ("hparams.range=lr:nonsense", ["a0", "a1", "alone", "b0", "b1", "failed"]),
        ("hparams.range=gone:1:2&hparams.values=mixed", ["a0", "a1", "alone", "b0", "b1", "failed"]),
    ],
)
def test_filters(tmp_path: Path, query: str, runs: list[str]) -> None:
    found = table(write_sessions(tmp_path), f"hparams.rows=sessions&{query}")
    assert names(found) == runs
    assert len(found.passing.metric) == len(runs)


def test_a_session_whose_points_can_no_longer_be_read_has_no_duration_and_no_metrics() -> None:
    runs = snapshot({"gone": ({"lr": 1}, {"loss": None}), "whole": ({"lr": 2}, {"loss": [3.0, 2.0]})}).runs
    shot = Snapshot(1, {name: Run(name, 0.0, run.series) for name, run in runs.items()})
    found = build_table(read_sessions(shot), TableRequest.of(decode("hparams.rows=sessions")))
    assert [(row.name, row.duration, row.metrics) for row in found.rows] == [
        ("gone", None, {}),
        ("whole", 1.0, {"loss": (2.0, 1)}),
    ]


def test_groups_are_one_row(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    mean = {row.name: row for row in table(tmp_path, "hparams.rows=avg").rows}
    assert list(mean) == ["small", "alone", "large", "failed"]
    assert (mean["small"].sessions, mean["small"].runs) == (2, ("a0", "a0/val", "a1"))
    assert mean["small"].metrics["accuracy"] == (0.625, 2)
    assert mean["large"].status == "running"
    best = {row.name: row for row in table(tmp_path, "hparams.rows=max").rows}
    assert best["large"].metrics == {"accuracy": (0.875, 4), "val/loss": (THIRD, 7)}
    worst = {row.name: row for row in table(tmp_path, "hparams.rows=min").rows}
    assert worst["large"].metrics == {"accuracy": (0.25, 5)}
    middle = {row.name: row for row in table(tmp_path, "hparams.rows=median").rows}
    assert middle["small"].metrics["accuracy"] == (0.5, 2)


def test_seeds_of_one_training_are_a_group_with_mean_and_deviation(tmp_path: Path) -> None:
    losses = {0.1: (0.5, 0.7, 0.9), 0.01: (0.625, 0.625)}
    for rate, values in losses.items():
        for seed, loss in enumerate(values):
            with SummaryWriter(str(tmp_path / f"lr{rate}" / f"seed_{seed}")) as writer:
                start = start_info(checked_hparams({"lr": rate, "seed": seed}))
                writer.add_summary(Summary(value=[session_start(start)]), 0)
                writer.add_scalar("loss", loss, 1)
    with SummaryWriter(str(tmp_path / "torch_seed_1")) as writer:
        writer.add_scalar("loss", 0.25, 1)
        writer.add_hparams({"lr": 1.0, "seed": 1}, {"final": 1.0}, run_name="1795379229.35322")
    found = {row.name: row for row in table(tmp_path, "hparams.metrics=loss").rows}
    assert {name: row.sessions for name, row in found.items()} == {
        "lr0.1/seed_*": 3,
        "lr0.01/seed_*": 2,
        "torch_seed_1/1795379229.35322": 1,
    }
    many = found["lr0.1/seed_*"]
    assert many.metrics["loss"][0] == pytest.approx(0.7)
    assert dict(many.deviations) == {"loss": pytest.approx(0.2)}
    assert (dict(many.hparams), dict(many.several)) == ({"lr": 0.1}, {"seed": ("0", "1", "2")})
    assert dict(found["lr0.01/seed_*"].deviations) == {"loss": 0.0}
    assert len(table(tmp_path).rows) == 6

    body = {"view": "hparams.metrics=loss", "columns": ["@run", "loss"], "rows": ["lr0.01/seed_*"]}
    assert list(csv.reader(io.StringIO(client_of(tmp_path).post("/api/hparams/table.csv", json=body).text))) == [
        ["run", "loss", "loss (standard deviation)"],
        ["lr0.01/seed_*", "0.625", "0.0"],
    ]


def test_seeds_that_diverge_both_ways_have_no_mean_or_deviation(tmp_path: Path) -> None:
    for seed, sign in enumerate((1, -1)):
        with SummaryWriter(str(tmp_path / f"seed_{seed}")) as writer:
            writer.add_hparams({"seed": seed}, {"elbo": sign * math.inf}, run_name=".")
            writer.add_scalar("loss", sign * 1.7e308, 0, double_precision=True)
    (row,) = table(tmp_path, "hparams.metrics=elbo&hparams.metrics=loss").rows
    assert (row.name, row.sessions) == ("seed_*", 2)
    assert str(dict(row.metrics)) == "{'elbo': (nan, 0), 'loss': (0.0, 0)}"
    assert dict(row.deviations) == {}


def test_sessions_of_a_group_that_differ_say_so(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with SummaryWriter(str(tmp_path / "c")) as writer:
        start = start_info(checked_hparams({"lr": 0.7, "opt": "sgd", "norm": 1}))
        start.group_name = "small"
        writer.add_summary(Summary(value=[session_start(start)]), 0)
    small = table(tmp_path, "hparams.rows=avg").rows[0]
    assert dict(small.hparams) == {"opt": "sgd"}
    assert dict(small.several) == {"lr": ("0.1", "0.7"), "mixed": ("1", "not set"), "norm": ("true", "1")}


def test_runs_that_belong_to_a_session(tmp_path: Path) -> None:
    for run in ("a", "a/val", "a/deep/er", "b", "torch", "torch/123", "two", "two/1", "two/2"):
        with SummaryWriter(str(tmp_path / run)) as writer:
            writer.add_scalar("x", 1, 0)
    snapshot = open_logdir(tmp_path)
    found = runs_of_sessions(snapshot, ["a", "torch/123", "two/1", "two/2"])
    assert {session: (runs[0], *sorted(runs[1:])) for session, runs in found.items()} == {
        "a": ("a", "a/deep/er", "a/val"),
        "torch/123": ("torch/123", "torch"),
        "two/1": ("two/1",),
        "two/2": ("two/2",),
    }


def test_folders_tell_experiments_apart(tmp_path: Path) -> None:
    write_sessions(tmp_path / "one")
    assert folders(open_logdir(tmp_path)) == []
    write_sessions(tmp_path / "two", lone_rate=7.0)
    assert folders(open_logdir(tmp_path)) == ["one", "two"]
    assert len(table(tmp_path).rows) == 12
    assert names(table(tmp_path, "hparams.rows=sessions&hparams.folder=two"))[:2] == ["two/a0", "two/a1"]
    assert first_folder("plain") == ""


def test_payload_is_what_the_page_draws(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    sent = payload(table(tmp_path, "hparams.status=failure"), assign_colors(open_logdir(tmp_path).runs), [], "")
    colors = assign_colors(open_logdir(tmp_path).runs)["failed"]
    assert sent["rows"] == [
        {
            "id": "failed", "runs": ("failed",), "group": "failed", "n": 1, "status": "failure", "start": 1005.0,
            "duration": 200.0, "light": colors.light, "dark": colors.dark,
            "v": [1e-5, None, "true", "sgd", 0.125, None], "s": [None, None, None, None, 7, None],
            "deviations": {}, "several": {},
        }
    ]  # fmt: skip
    assert sent["columns"] == ["lr", "mixed", "norm", "opt", "accuracy", "val/loss"]
    assert (sent["sessions"], sent["passing"], sent["groups"]) == (6, 1, 4)
    assert sent["statuses"] == {"running": 1, "success": 4, "failure": 1}


def test_infinity_and_nan_reach_the_page_as_text(tmp_path: Path) -> None:
    write_sessions(tmp_path, lone_rate=math.nan)
    found = table(tmp_path)
    sent = payload(found, assign_colors(open_logdir(tmp_path).runs), [], "")
    assert [row["v"][0] for row in sent["rows"] if row["id"] == "alone"] == ["NaN"]
    assert [row["v"][5] for row in sent["rows"] if row["id"] == "alone"] == ["Infinity"]


def test_table_as_files(tmp_path: Path) -> None:
    client = client_of(write_sessions(tmp_path))
    body = {
        "view": "tab=hparams&hparams.rows=sessions&hparams.status=success",
        "columns": ["@run", "opt", "val/loss", "@duration", "gone", "norm", "lr", "@sessions", "big"],
        "rows": ["b0", "alone", "failed", "nobody"],
    }
    answer = client.post("/api/hparams/table.csv", json=body)
    assert list(csv.reader(io.StringIO(answer.text))) == [
        ["run", "opt", "val/loss", "duration", "norm", "lr", "sessions"],
        ["b0", "adam", str(THIRD), "200.0", "false", "0.01", "1"],
        ["alone", "50%_Adam", "inf", "200.0", "", "0.05", "1"],
    ]
    repeated = {"view": body["view"], "columns": [*body["columns"], "@run", "lr"], "rows": [*body["rows"], "b0"]}
    assert client.post("/api/hparams/table.csv", json=repeated).text == answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="hparams.csv"'
    assert client.post("/api/hparams/table.json", json=body).json()["rows"][1][2] == "Infinity"
    assert r"50\%\_Adam" in client.post("/api/hparams/table.tex", json=body).text
    assert client.post("/api/hparams/table.csv", content=b"{").status_code == 422
    assert client.post("/api/hparams/table.csv", json={"view": ""}).status_code == 422
    assert client.post("/api/hparams/table.exe", json=body).status_code == 422


def test_tab_is_shown_where_there_are_sessions(tmp_path: Path) -> None:
    panel = HParamsPanel()
    assert not panel.has_data(EMPTY_SNAPSHOT)
    with SummaryWriter(str(tmp_path / "plain")) as writer:
        writer.add_scalar("x", 1, 0)
    assert not panel.has_data(open_logdir(tmp_path))
    assert panel.has_data(open_logdir(write_sessions(tmp_path)))


def test_settings_are_the_panels_own() -> None:
    keys = [setting.name for setting in SETTINGS]
    assert all(key.startswith("hparams.") and key.count(".") == 1 for key in keys)
    assert len(set(keys)) == len(keys)


def test_lists_in_the_address_bar() -> None:
    assert parse_values(["a%3Ab:x%3Ay", "a%3Ab:", "bare"]) == {"a:b": {"x:y", ""}}
    assert parse_ranges(["lr:1:", "b::2", "c:x:1", "d:nan:1", "e:1"]) == {
        "lr": Interval(1.0, math.inf),
        "b": Interval(-math.inf, 2.0),
    }


def test_bars_are_sorted_by_either() -> None:
    rho, eta = Correlation("spearman", -0.9, 20), Correlation("eta", 0.5, 20)
    found = Analysis(20, 0, Forest({"a": 0.1, "b": 0.7}, 0.8), {"a": rho, "b": eta})
    assert [bar.name for bar in bars(found, "importance", {})] == ["b", "a"]
    assert [bar.name for bar in bars(found, "correlation", {"a": "Rate"})] == ["Rate", "b"]
    assert warnings(found) == []


@pytest.mark.parametrize(
    ("found", "begins"),
    [
        (Analysis(3, 0, None, {}), ["Too few sessions: 3 sessions"]),
        (Analysis(20, 1, None, {}), ["Nothing to explain", "Left out: 1 session without a finite value"]),
        (Analysis(20, 0, None, {}, "Importance needs scikit-learn."), ["Importance needs scikit-learn."]),
        (Analysis(20, 0, Forest({"a": 0.1}, 0.1), {}), ["The forest explains little (out-of-bag R\u00b2 0.10)"]),
    ],
)
def test_what_cannot_be_trusted_is_said(found: Analysis, begins: list[str]) -> None:
    said: list[Any] = warnings(found)
    assert len(said) == len(begins)
    assert all(text.startswith(begin) for text, begin in zip(said, begins, strict=True))
