"""Routes where TensorBoard has no answer, or a different one at every start."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.tensorboard.hparams import experiment as experiment_of_sessions
from stepscope.dashboard.tensorboard.hparams import groups as groups_of_sessions
from stepscope.dashboard.tensorboard.hparams.experiment import experiment
from stepscope.dashboard.tensorboard.hparams.groups import session_groups
from stepscope.dashboard.tensorboard.hparams.sessions import FoundSession, metric_values, session_message
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.hparams_pb2 import ORDER_DESC, ListSessionGroupsRequest, MetricInfo, MetricName, Status
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.hparams_logs import write_experiment, write_sessions
from tests.dashboard.routes import client_with_companions
from tests.dashboard.runs.tiny import snapshot

ALL = {"allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE"], "sliceSize": 100}


def ask(client: TestClient, route: str, request: dict[str, Any]) -> Any:
    answer = client.get(f"/data/plugin/hparams/{route}", params={"request": json.dumps(request)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def groups(client: TestClient, **request: Any) -> list[str]:
    return [group["name"] for group in ask(client, "session_groups", {**ALL, **request})["sessionGroups"]]


def columns(client: TestClient) -> dict[str, Any]:
    return {info["name"]: info["type"] for info in ask(client, "experiment", {})["hparamInfos"]}


def test_several_experiments_are_joined(tmp_path: Path) -> None:
    write_experiment(tmp_path, "z", {"lr": 0.1, "opt": "sgd"}, ["loss"], "the later by name")
    write_experiment(tmp_path, "a", {"lr": "auto", "depth": 3}, ["loss", "accuracy"], "the first by name")
    found = ask(client_with_companions(tmp_path), "experiment", {})
    assert found["description"] == "the first by name"
    assert {info["name"]: info["type"] for info in found["hparamInfos"]} == {
        "depth": "DATA_TYPE_FLOAT64",
        "lr": "DATA_TYPE_STRING",
        "opt": "DATA_TYPE_STRING",
    }
    assert [info["name"]["tag"] for info in found["metricInfos"]] == ["loss", "accuracy"]


def test_rates_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    client = client_with_companions(write_sessions(tmp_path, lone_rate=math.nan))
    rate = ask(client, "experiment", {})["hparamInfos"][0]
    assert (rate["name"], rate["domainInterval"]) == ("lr", {"minValue": 1e-5, "maxValue": 0.1})
    order = [{"hparam": "lr", "order": "ORDER_ASC"}]
    assert groups(client, colParams=order) == ["failed", "large", "small", "alone"]


def test_values_of_two_types_are_sorted_numbers_first(tmp_path: Path) -> None:
    client = client_with_companions(write_sessions(tmp_path))
    order = {"hparam": "mixed", "order": "ORDER_ASC"}
    assert groups(client, colParams=[order]) == ["small", "large", "alone", "failed"]
    order = {"hparam": "mixed", "order": "ORDER_DESC"}
    assert groups(client, colParams=[order]) == ["large", "small", "alone", "failed"]


def test_the_best_session_by_a_metric_that_none_has(tmp_path: Path) -> None:
    client = client_with_companions(write_sessions(tmp_path))
    request = {**ALL, "aggregationType": "AGGREGATION_MIN", "aggregationMetric": {"tag": "gone"}}
    found = ask(client, "session_groups", request)["sessionGroups"]
    assert [group["metricValues"] for group in found] == [[]] * 4


def test_the_mean_of_infinities_of_both_signs(tmp_path: Path) -> None:
    for run, loss in (("a", math.inf), ("b", -math.inf)):
        with SummaryWriter(str(tmp_path / run)) as writer:
            start = start_info(checked_hparams({"lr": 0.1}))
            start.group_name = "both"
            writer.add_summary(Summary(value=[session_start(start)]), 0)
            writer.add_scalar("loss", loss, 1)
    write_experiment(tmp_path, ".", {"lr": 0.1}, ["loss"])
    (group,) = ask(client_with_companions(tmp_path), "session_groups", ALL)["sessionGroups"]
    assert [value["value"] for value in group["metricValues"]] == ["NaN"]


def test_a_session_whose_points_can_no_longer_be_read_has_no_metrics() -> None:
    shot = snapshot({"gone": ({"lr": 1}, {"loss": None}), "whole": ({"lr": 2}, {"loss": [3.0, 2.0]})})
    metrics = [MetricInfo(name=MetricName(tag="loss"))]
    found = {run: metric_values(shot, run, metrics) for run in shot.runs}
    assert {run: [value.value for value in values] for run, values in found.items()} == {"gone": [], "whole": [2.0]}


def test_a_session_in_the_log_directory_itself(tmp_path: Path) -> None:
    write_sessions(tmp_path / "below")
    # The run "a0" becomes the log directory itself, and "a0/val" a run below it.
    client = client_with_companions(tmp_path / "below" / "a0")
    metrics = ask(client, "experiment", {})["metricInfos"]
    assert [info["name"] for info in metrics] == [{"group": "", "tag": "accuracy"}, {"group": "val", "tag": "loss"}]
    found = ask(client, "session_groups", ALL)["sessionGroups"]
    assert [(group["name"], [value["value"] for value in group["metricValues"]]) for group in found] == [
        ("small", [0.5, 1.0])
    ]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"startIndex": -1}, "Expected startIndex and sliceSize of at least 0"),
        ({"colParams": [{"hparam": "opt", "filterRegexp": "("}]}, "is not a regular expression"),
        ({"colParams": [{"hparam": "opt", "filterRegexp": "x" * 1000}]}, "is not a regular expression: longer than"),
        ({"colParams": [{"hparam": "opt", "order": 7}]}, "must be ORDER_ASC or ORDER_DESC, got 7"),
        ({"aggregationType": 9}, "got number 9"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(tmp_path: Path, request_: dict[str, Any], reason: str) -> None:
    client = client_with_companions(write_sessions(tmp_path))
    query = {"request": json.dumps({**ALL, **request_})}
    answer = client.get("/data/plugin/hparams/session_groups", params=query)
    assert answer.status_code == 400
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize("visible", ["", "1", "[1]", "[", json.dumps([True] * 5_001)], ids=len)
def test_which_columns_must_be_said(tmp_path: Path, visible: str) -> None:
    client = client_with_companions(write_sessions(tmp_path))
    query = {"request": json.dumps(ALL), "columnsVisibility": visible}
    assert client.get("/data/plugin/hparams/download_data", params=query).status_code == 400


def test_a_log_directory_without_sessions(tmp_path: Path) -> None:
    client = client_with_companions(tmp_path)
    assert columns(client) == {}
    assert groups(client) == []


def test_messages_are_made_of_the_groups_that_are_sent_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred thousand messages, none waits for anybody or keeps anybody waiting."""
    made: list[str] = []

    def counting(snapshot: Snapshot, found: FoundSession, metrics: Any) -> Any:
        made.append(found.run)
        return session_message(snapshot, found, metrics)

    monkeypatch.setattr(groups_of_sessions, "session_message", counting)
    snapshot = open_logdir(write_sessions(tmp_path))
    request = ListSessionGroupsRequest(slice_size=2, start_index=1, allowed_statuses=Status.keys())
    request.col_params.add(hparam="lr", order=ORDER_DESC)
    page = session_groups(snapshot, request)
    assert (page.total, made) == (4, [])
    first = next(page.groups)
    assert (first.name, made) == ("alone", ["alone"])
    assert len(list(page.groups)) == 1


def test_the_experiment_of_a_snapshot_is_found_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = open_logdir(write_sessions(tmp_path))
    whole = experiment(snapshot)
    monkeypatch.setattr(experiment_of_sessions, "sessions", None)
    monkeypatch.setattr(experiment_of_sessions, "experiments", None)
    assert not experiment(snapshot, include_metrics=False, limit=1).metric_infos
    assert experiment(snapshot) == whole
