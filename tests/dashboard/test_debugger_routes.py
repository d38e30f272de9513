"""TensorBoard's debugger routes for a small dump; tests/peers compares them with TensorBoard's answers."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.tensorboard.dumps import DumpCache
from stepscope.summary.debugger.listing import dump_sources
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.dashboard.media import client_of, live_of
from tests.dashboard.test_hostile_requests import VALUES
from tests.summary.debugger.dumps import LINES, START, write_dump

BASE = "/data/plugin/debugger-v2"
RUN = "__default_debugger_run__"
ROUTES = {
    "runs": (),
    "alerts": ("run", "begin", "end", "alert_type"),
    "execution/digests": ("run", "begin", "end"),
    "execution/data": ("run", "begin", "end"),
    "graph_execution/digests": ("run", "begin", "end"),
    "graph_execution/data": ("run", "begin", "end"),
    "graphs/graph_info": ("run", "graph_id"),
    "graphs/op_info": ("run", "graph_id", "op_name"),
    "source_files/list": ("run",),
    "source_files/file": ("run", "index"),
    "stack_frames/stack_frames": ("run", "stack_frame_ids"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("dump")
    write_dump(folder)
    return client_of(folder)


def get(client: TestClient, route: str, **query: Any) -> Any:
    answer = client.get(f"{BASE}/{route}", params={"run": RUN, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, route: str, **query: Any) -> tuple[int, Any]:
    answer = client.get(f"{BASE}/{route}", params=query)
    return answer.status_code, answer.json()


def test_runs_and_alerts(client: TestClient) -> None:
    assert get(client, "runs") == {RUN: {"start_time": START + 1}}
    first = {
        "alert_type": "InfNanAlert",
        "op_type": "Log",
        "output_slot": 0,
        "size": 3,
        "num_neg_inf": 1,
        "num_pos_inf": 0,
        "num_nan": 1,
        "execution_index": None,
        "graph_execution_trace_index": 2,
    }
    second = first | {"op_type": "Sum", "size": 1, "num_neg_inf": 0, "graph_execution_trace_index": 3}
    assert get(client, "alerts") == {
        "begin": 0,
        "end": 2,
        "alert_type": None,
        "num_alerts": 2,
        "alerts_breakdown": {"InfNanAlert": 2},
        "per_type_alert_limit": 1000,
        "alerts": [first, second],
    }
    assert get(client, "alerts", alert_type="InfNanAlert", begin=1)["alerts"] == [second]


def test_executions_and_traces(client: TestClient) -> None:
    digests = get(client, "execution/digests")
    assert (digests["begin"], digests["end"], digests["num_digests"]) == (0, 2, 2)
    first = {"wall_time": START + 13, "op_type": "Identity", "output_tensor_device_ids": [1]}
    assert digests["execution_digests"][0] == first
    (second,) = get(client, "execution/data", begin=1)["executions"]
    (frame,) = second.pop("stack_frame_ids")
    assert second == {
        "wall_time": START + 16,
        "op_type": "Identity",
        "output_tensor_device_ids": [1],
        "host_name": "worker",
        "tensor_debug_mode": 4,
        "graph_id": "",
        "input_tensor_ids": [10],
        "output_tensor_ids": [11],
        "debug_tensor_values": [[-1, -1, 1, 1, 3, 0, 0, 0, 1, 1, 1]],
    }
    assert get(client, "stack_frames/stack_frames", stack_frame_ids=f"{frame},{frame}") == {
        "stack_frames": [["worker", "train.py", 5, "<module>"]] * 2
    }
    trace = {
        "wall_time": START + 17,
        "op_type": "Log",
        "op_name": "Log",
        "output_slot": 0,
        "graph_id": "inner",
    }
    assert get(client, "graph_execution/digests", begin=2, end=3) == {
        "begin": 2,
        "end": 3,
        "num_digests": 4,
        "graph_execution_digests": [trace],
    }
    assert get(client, "graph_execution/data", begin=2, end=3)["graph_executions"] == [
        trace
        | {
            "graph_ids": ["outer", "inner"],
            "tensor_debug_mode": 4,
            "debug_tensor_value": [2, -1, 1, 1, 3, 1, 0, 1, 0, 1, 0],
            "device_name": "/device:CPU:0",
        }
    ]


def test_graphs_and_operations(client: TestClient) -> None:
    assert get(client, "graphs/graph_info", graph_id="inner") == {
        "name": "loss",
        "graph_id": "inner",
        "outer_graph_id": "outer",
        "inner_graph_ids": [],
    }
    assert get(client, "graphs/graph_info", graph_id="outer")["inner_graph_ids"] == ["inner"]
    found = get(client, "graphs/op_info", graph_id="inner", op_name="Log")
    (source,), ((consumer,),) = found["inputs"], found["consumers"]
    assert (source["op_name"], source["data"]["op_type"]) == ("x", "Placeholder")
    assert source["data"]["consumers"] == [[{"op_name": "Log", "input_slot": 0}]]
    assert (consumer["op_name"], consumer["input_slot"]) == ("Sum", 0)
    assert consumer["data"]["inputs"] == [
        {"op_name": "Log", "output_slot": 0},
        {"op_name": "missing", "output_slot": 0},
    ]
    total = get(client, "graphs/op_info", graph_id="inner", op_name="Sum")
    assert [list(each) for each in total["inputs"]] == [["op_name", "output_slot", "data"], ["op_name", "output_slot"]]
    assert (total["consumers"], total["num_outputs"], total["output_tensor_ids"]) == ([[]], 1, [3])


def test_code(client: TestClient) -> None:
    files = [["worker", "train.py"], ["worker", "/lib/site-packages/tensorflow/math.py"]]
    assert get(client, "source_files/list") == files
    assert get(client, "source_files/file", index=0) == {
        "host_name": "worker",
        "file_path": "train.py",
        "lines": list(LINES),
    }


def test_what_is_refused_says_why(client: TestClient) -> None:
    for route, query, sentence in (
        ("execution/digests", {"begin": -1}, "Invalid argument: Invalid begin index (-1)"),
        ("execution/data", {"end": 3}, "Invalid argument: end index (3) out of bounds (2)"),
        (
            "graph_execution/digests",
            {"begin": 2, "end": 1},
            "Invalid argument: end index (1) is unexpectedly less than begin index (2)",
        ),
        ("alerts", {"alert_type": "x"}, "Invalid argument: Filtering of alerts failed: alert type x does not exist"),
        ("graphs/graph_info", {"graph_id": "x"}, 'Not found: There is no graph with ID "x"'),
        (
            "graphs/op_info",
            {"graph_id": "inner", "op_name": "y"},
            'Not found: There is no op named "y" in graph with ID "inner"',
        ),
        ("source_files/file", {}, "index is not provided for source file content"),
        ("source_files/file", {"index": 2}, "Not found: There is no source-code file at index 2"),
        ("stack_frames/stack_frames", {}, "Missing stack_frame_ids parameter"),
        ("stack_frames/stack_frames", {"stack_frame_ids": ""}, "Empty stack_frame_ids parameter"),
        ("stack_frames/stack_frames", {"stack_frame_ids": "x"}, "Not found: Cannot find stack frame with ID x"),
    ):
        assert refused(client, route, run=RUN, **query) == (400, {"error": sentence})
    for route in ("alerts", "execution/digests", "execution/data", "graph_execution/digests", "graph_execution/data"):
        assert refused(client, route, run=RUN, begin=1 << 64)[0] == 422
    assert refused(client, "source_files/list") == (400, {"error": "run parameter is not provided"})
    status, answer = refused(client, "source_files/list", run="other")
    assert status == 404
    assert answer["detail"].endswith("See /data/plugin/debugger-v2/runs.")


@pytest.mark.parametrize("route", ROUTES)
def test_no_request_makes_the_server_fail(client: TestClient, route: str) -> None:
    good = {"run": RUN, "graph_id": "inner", "op_name": "Log", "stack_frame_ids": "a", "index": "0"}
    for name, value in itertools.product(ROUTES[route], VALUES):
        query = {key: good[key] for key in ROUTES[route] if key in good} | {name: value}
        assert client.get(f"{BASE}/{route}", params=query).status_code < 500, (name, value)


def test_dumps_are_runs_beside_others_and_are_followed(tmp_path: Path) -> None:
    logdir = Logdir(tmp_path)
    live = live_of(tmp_path)
    live.publish(logdir.update())
    client = TestClient(build_app(live), base_url="http://localhost:6006")
    assert get(client, "runs") == {}
    assert not client.get("/data/plugins_listing").json()["debugger-v2"]["enabled"]
    write_dump(tmp_path / "a" / "b")
    with TfdbgWriter(tmp_path / "c") as writer:
        writer.flush()
        live.publish(logdir.update())
        assert set(get(client, "runs")) == set(client.get("/data/runs").json()) == {"a/b", "c"}
        assert client.get("/data/plugins_listing").json()["debugger-v2"]["enabled"]
        assert get(client, "execution/digests", run="c")["num_digests"] == 0
        writer.add_execution("Add", tfdbg.NO_TENSOR, [], output_ids=[1])
        writer.flush()
        live.publish(logdir.update())
        assert get(client, "execution/digests", run="c")["num_digests"] == 1
    for path in (tmp_path / "c").iterdir():
        path.unlink()
    status, answer = refused(client, "execution/data", run="c")
    assert status == 422
    assert answer["detail"].startswith("The dump of run 'c' can no longer be read: tfdbg_events.")
    live.publish(logdir.update())
    assert refused(client, "alerts", run="c")[0] == 404
    assert get(client, "alerts", run="a/b")["num_alerts"] == 2


def test_a_late_request_with_an_older_listing_gets_what_is_read_by_now(tmp_path: Path) -> None:
    with TfdbgWriter(tmp_path) as writer:
        writer.flush()
        (older,) = dump_sources(open_logdir(tmp_path))
        writer.add_execution("Add", tfdbg.NO_TENSOR, [], output_ids=[1])
        writer.flush()
        (newer,) = dump_sources(open_logdir(tmp_path))
    cache = DumpCache()
    dump = cache.get(newer)
    assert dump.execution_count == 1
    assert cache.get(older).execution_count == 1
    assert list(cache.get(older).data().problems) == []
