"""The routes of TensorBoard's debugger, compared with TensorBoard's own answers about real dumps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.dashboard.media import client_of

pytestmark = pytest.mark.peers

Peer = Callable[[str], Path]
RUN = "__default_debugger_run__"
ANSWERED = ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE"]
FOLDERS = ["debugger", "pack/debugger"]
STRETCHES = {
    "execution/digests": "execution_digests",
    "execution/data": "executions",
    "graph_execution/digests": "graph_execution_digests",
    "graph_execution/data": "graph_executions",
}


def get(client: TestClient, route: str, **query: Any) -> Any:
    answer = client.get(f"/data/plugin/debugger-v2/{route}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(params=[f"{folder}/{mode}" for folder in FOLDERS for mode in ANSWERED], scope="module")
def both(request: pytest.FixtureRequest, peer: Peer) -> tuple[TestClient, Any]:
    """A server over a dump, and TensorBoard's answers about it, by route."""
    theirs = json.loads(peer(f"{request.param}.tensorboard.json").read_text())
    return client_of(peer(request.param)), theirs


Both = tuple[TestClient, Any]


def test_runs(both: Both) -> None:
    assert get(both[0], "runs") == both[1]["runs"]


def test_alerts(both: Both) -> None:
    client, theirs = both
    assert get(client, "alerts", run=RUN) == theirs[RUN]["alerts"]
    if "alerts/InfNanAlert" in theirs[RUN]:
        assert get(client, "alerts", run=RUN, alert_type="InfNanAlert") == theirs[RUN]["alerts/InfNanAlert"]
        some = get(client, "alerts", run=RUN, begin=1, end=3)
        assert some["alerts"] == theirs[RUN]["alerts"]["alerts"][1:3]


@pytest.mark.parametrize("route", STRETCHES)
def test_executions_of_python_and_of_graphs(both: Both, route: str) -> None:
    client, theirs = both
    assert get(client, route, run=RUN, begin=0, end=-1) == theirs[RUN][route]
    some = get(client, route, run=RUN, begin=3, end=7)
    assert some[STRETCHES[route]] == theirs[RUN][route][STRETCHES[route]][3:7]
    assert (some["begin"], some["end"]) == (3, 7)


def test_graphs_and_their_operations(both: Both) -> None:
    client, theirs = both
    graphs = theirs[RUN]["graphs/graph_info"]
    assert {graph: get(client, "graphs/graph_info", run=RUN, graph_id=graph) for graph in graphs} == graphs
    operations = theirs[RUN]["graphs/op_info"]
    assert len(operations) > 10
    for key, expected in operations.items():
        graph, name = key.split("|", 1)
        assert get(client, "graphs/op_info", run=RUN, graph_id=graph, op_name=name) == expected


def test_code_and_stacks(both: Both) -> None:
    client, theirs = both
    files = theirs[RUN]["source_files/list"]
    assert get(client, "source_files/list", run=RUN) == files
    lines = theirs[RUN]["source_files/file"]
    assert [get(client, "source_files/file", run=RUN, index=index) for index in range(len(lines))] == lines
    for ids, frames in theirs[RUN]["stack_frames"].items():
        assert get(client, "stack_frames/stack_frames", run=RUN, stack_frame_ids=ids) == frames


def test_what_is_refused(both: Both) -> None:
    client, theirs = both
    asked = {
        "digests_out_of_range": ("execution/digests", {"run": RUN, "begin": 0, "end": 1000000}),
        "alert_unknown": ("alerts", {"run": RUN, "alert_type": "nope"}),
        "no_run": ("alerts", {}),
    }
    assert asked.keys() == theirs[RUN]["errors"].keys()
    for name, (route, query) in asked.items():
        answer = client.get(f"/data/plugin/debugger-v2/{route}", params=query)
        expected = theirs[RUN]["errors"][name]
        assert (answer.status_code, answer.json()) == (expected["http_error"], json.loads(expected["body"]))


@pytest.mark.parametrize("folder", FOLDERS)
def test_whole_tensors_are_answered_as_those_of_other_modes(peer: Peer, folder: str) -> None:
    """TensorBoard never answers about this dump, which comes from the same program as the others."""
    client = client_of(peer(f"{folder}/FULL_TENSOR"))
    counts = [get(client, route, run=RUN)["num_digests"] for route in ("execution/digests", "graph_execution/digests")]
    shapes = json.loads(peer(f"{folder}/SHAPE.tensorboard.json").read_text())[RUN]
    assert counts == [shapes[f"{kind}/digests"]["num_digests"] for kind in ("execution", "graph_execution")]
    found = get(client, "graph_execution/data", run=RUN)["graph_executions"]
    assert {each["debug_tensor_value"] is None for each in found} == {True}
    health = json.loads(peer(f"{folder}/FULL_HEALTH.tensorboard.json").read_text())[RUN]["alerts"]["alerts"]
    first = get(client, "alerts", run=RUN)["alerts"][0]
    index = first.pop("graph_execution_trace_index")
    assert first == {key: value for key, value in health[0].items() if key != "graph_execution_trace_index"}
    assert found[index]["op_name"] == "Exp"


@pytest.mark.parametrize("folder", FOLDERS)
def test_several_dumps_are_runs_of_a_log_directory(peer: Peer, folder: str) -> None:
    client = client_of(peer(folder))
    modes = [*ANSWERED, "FULL_TENSOR"]
    assert set(get(client, "runs")) == set(modes)
    assert set(client.get("/data/runs").json()) == set(modes)
    assert client.get("/data/plugins_listing").json()["debugger-v2"]["enabled"]
    for mode in ANSWERED:
        theirs = json.loads(peer(f"{folder}/{mode}.tensorboard.json").read_text())[RUN]
        assert get(client, "execution/data", run=mode) == theirs["execution/data"]
