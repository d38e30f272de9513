"""The hparams routes compared with TensorBoard's answers, for sessions of several groups, types and endings."""

import json
import math
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.dashboard.hparams_logs import write_experiment, write_sessions
from tests.dashboard.routes import client_with_companions
from tests.peers.tensorboard_server import TensorBoard

pytestmark = pytest.mark.peers

Both = tuple[TestClient, TensorBoard]

ALL: dict[str, Any] = {
    "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
    "sliceSize": 100,
}
ACCURACY = {"tag": "accuracy"}
LOSS = {"tag": "loss", "group": "val"}


def by(*columns: dict[str, Any]) -> dict[str, Any]:
    return {**ALL, "colParams": columns}


REQUESTS = {
    "nothing": {},
    "all": ALL,
    "only those that succeeded": {**ALL, "allowedStatuses": ["STATUS_SUCCESS"]},
    "second page": {**ALL, "startIndex": 1, "sliceSize": 2},
    "beyond the last": {**ALL, "startIndex": 9},
    "without metrics": {**ALL, "includeMetrics": False},
    "average": {**ALL, "aggregationType": "AGGREGATION_AVG"},
    "median": {**ALL, "aggregationType": "AGGREGATION_MEDIAN", "aggregationMetric": ACCURACY},
    "least": {**ALL, "aggregationType": "AGGREGATION_MIN", "aggregationMetric": ACCURACY},
    "most": {**ALL, "aggregationType": "AGGREGATION_MAX", "aggregationMetric": ACCURACY},
    "by rate": by({"hparam": "lr", "order": "ORDER_ASC"}),
    "by rate, down": by({"hparam": "lr", "order": "ORDER_DESC"}),
    "by rate, missing first": by({"hparam": "lr", "order": "ORDER_ASC", "missingValuesFirst": True}),
    "by rate, down, missing first": by({"hparam": "lr", "order": "ORDER_DESC", "missingValuesFirst": True}),
    "by optimizer, then accuracy down": by(
        {"hparam": "opt", "order": "ORDER_ASC"}, {"metric": ACCURACY, "order": "ORDER_DESC"}
    ),
    "by loss": by({"metric": LOSS, "order": "ORDER_ASC"}),
    "optimizer matches": by({"hparam": "opt", "filterRegexp": "[Aa]d"}),
    "optimizer matches, case": by({"hparam": "opt", "filterRegexp": "adam"}),
    "rate within": by({"hparam": "lr", "filterInterval": {"minValue": 0.01, "maxValue": "Infinity"}}),
    "rate within, missing out": by(
        {"hparam": "lr", "filterInterval": {"minValue": 0.01, "maxValue": 1}, "excludeMissingValues": True}
    ),
    "norm is": by({"hparam": "norm", "filterDiscrete": [True]}),
    "mixed is": by({"hparam": "mixed", "filterDiscrete": ["one", 1.0], "excludeMissingValues": True}),
    "norm is there": by({"hparam": "norm", "excludeMissingValues": True}),
    "accuracy within": by({"metric": ACCURACY, "filterInterval": {"minValue": 0.5, "maxValue": 0.7}}),
    "loss is there": by({"metric": LOSS, "excludeMissingValues": True}),
    "some columns": by({"hparam": "lr", "includeInResult": True}, {"hparam": "opt", "includeInResult": False}),
}


@pytest.fixture(scope="module", params=["sessions alone", "with an experiment"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    if request.param == "sessions alone":
        # For rates that are not all numbers, TensorBoard computes a wrong interval.
        logdir = write_sessions(tmp_path_factory.mktemp("sessions"))
    else:
        logdir = write_sessions(tmp_path_factory.mktemp("sessions"), lone_rate=math.nan)
        write_experiment(logdir, "a0", {"opt": "sgd", "lr": 0.1, "norm": True}, ["accuracy", "gone"], "tried *twice*")
    return client_with_companions(logdir), TensorBoard(logdir)


def answers(both: Both, path: str, request: dict[str, Any], **query: Any) -> tuple[Any, Any]:
    client, tensorboard = both
    query = {"request": json.dumps(request), **query}
    theirs = tensorboard.get(f"plugin/hparams/{path}", **query)
    ours = client.get(f"/data/plugin/hparams/{path}", params=query)
    assert ours.status_code == theirs.status_code
    return ours, theirs


def in_order(experiment: dict[str, Any]) -> dict[str, Any]:
    """Sorts the texts of a domain, because TensorBoard lists them in any order."""
    for info in experiment["hparamInfos"]:
        if "domainDiscrete" in info:
            info["domainDiscrete"].sort(key=str)
    return experiment


@pytest.mark.parametrize("request_", [{}, {"includeMetrics": False}, {"hparamsLimit": 2}], ids=str)
def test_experiment(both: Both, request_: dict[str, Any]) -> None:
    ours, theirs = answers(both, "experiment", request_)
    assert in_order(ours.json()) == in_order(json.loads(theirs.get_data()))


@pytest.mark.parametrize("name", REQUESTS)
def test_session_groups(both: Both, name: str) -> None:
    client, _ = both
    ours, theirs = answers(both, "session_groups", REQUESTS[name])
    expected = json.loads(theirs.get_data())
    assert ours.json() == expected
    posted = client.post("/data/plugin/hparams/session_groups", content=json.dumps(REQUESTS[name]))
    assert posted.json() == expected
    assert expected["totalSize"] == 4 or name != "all"


@pytest.mark.parametrize(
    "request_",
    [
        by({"hparam": "lr", "filterRegexp": "a"}),
        by({"hparam": "opt", "filterInterval": {"minValue": 0, "maxValue": 1}}),
        by({"order": "ORDER_ASC"}),
        {"allowedStatuses": ["STATUS_NONE"]},
        {"gone": 1},
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused(both: Both, request_: dict[str, Any]) -> None:
    ours, theirs = answers(both, "session_groups", request_)
    assert ours.status_code == theirs.status_code == 400


def test_metric_evals(both: Both) -> None:
    for session, metric in (("a0", ACCURACY), ("a0", LOSS), ("alone", LOSS)):
        ours, theirs = answers(both, "metric_evals", {"sessionName": session, "metricName": metric})
        assert ours.json() == json.loads(theirs.get_data())
    ours, _ = answers(both, "metric_evals", {"sessionName": "a1", "metricName": LOSS})
    assert ours.status_code == 404


@pytest.mark.parametrize("file_format", ["json", "csv", "latex"])
@pytest.mark.parametrize("columns", [[True] * 9, [True, False, True, False, True, True]], ids=str)
def test_download(both: Both, file_format: str, columns: list[bool]) -> None:
    ours, theirs = answers(both, "download_data", ALL, format=file_format, columnsVisibility=json.dumps(columns))
    if file_format == "json":
        assert ours.json() == json.loads(theirs.get_data())
    else:
        assert ours.text == theirs.get_data(as_text=True)
        assert ours.headers["content-type"].partition(";")[0] == theirs.mimetype
