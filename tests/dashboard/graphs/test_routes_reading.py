from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.graphs.sources import (
    GraphCache,
    GraphUnavailableError,
    OpenGraph,
    graph_sources,
    has_graphs,
    open_graph,
)
from stepscope.dashboard.panels.graph.routes_reading import make_router
from stepscope.dashboard.server.live import Live
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.snapshot import EMPTY_SNAPSHOT
from tests.dashboard.graphs.build import call, function, graph
from tests.dashboard.media import NoFollower

NET = "x Placeholder: | FLOAT 2,3\nnet/y Neg: x | FLOAT 2,3\nnet/z Relu: net/y | FLOAT 2,3"


def written(path: Path, **runs: GraphDef) -> Live:
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/device:CPU:0")
    device.node_stats.add(node_name="net/y", all_start_micros=10, all_end_rel_micros=5)
    for run, graph_def in runs.items():
        with SummaryWriter(str(path / run)) as writer:
            writer.add_graph(graph_def)
            writer.add_run_metadata(metadata, "step4", 4)
    live = Live(str(path), lambda publish: NoFollower())
    live.publish(Logdir(path).update())
    return live


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    other = graph(NET.replace("z Relu", "z Tanh"))
    call(other, "f", "PartitionedCall", ["x"], f="double")
    other.library.function.append(function("double", ["a"], {"r": "a"}, ""))
    app = FastAPI()
    app.include_router(make_router(written(tmp_path, a=graph(NET), b=other)), prefix="/api/graph")
    return TestClient(app)


A, B = "a|graph|__run_graph__", "b|graph|__run_graph__"


def ask(client: TestClient, route: str, **parameters: Any) -> Any:
    response = client.get(f"/api/graph/{route}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_graphs_are_listed_by_run(client: TestClient) -> None:
    rows = ask(client, "graphs")

    assert [(r["id"], r["run"], r["kind"], r["label"], r["functions"], r["opened"]) for r in rows] == [
        (A, "a", "op", "graph of the run", [], False),
        (B, "b", "op", "graph of the run", ["double"], False),
    ]
    assert ask(client, "graph", id=A)["total"] == {"nodes": 3, "edges": 2}
    assert [r["opened"] for r in ask(client, "graphs")] == [True, False]


def test_cards_attributes_searches_and_walks(client: TestClient) -> None:
    card = ask(client, "node", id=A, node="net/y")
    assert (card["op"], card["inputs"][0]["node"], card["inputs_total"]) == ("Neg", "x", 1)
    assert card["attributes"]["T"] == {"kind": "type", "text": "float32", "bytes": 2, "truncated": False}
    assert ask(client, "attribute", id=A, node="net/y", name="T")["text"] == "float32"
    found = ask(client, "search", id=A, q="^net/.$", match="regex", **{"in": "name"})
    assert [(r["id"], r["expand"]) for r in found["results"]] == [("net/y", ["net"]), ("net/z", ["net"])]
    assert ask(client, "trace", id=A, node="net/z", way="inputs")["nodes"] == ["x", "net/y"]
    assert ask(client, "path", id=A, **{"from": "x", "to": "net"})["nodes"] == ["x", "net/y", "net/z"]
    assert ask(client, "node", id=B, function="double", node="r_RetVal")["op"] == "_Retval"


def test_costs_comparisons_and_exports(client: TestClient) -> None:
    costs = ask(client, "costs", id=A, trace="a|tag|step4|0")
    row = {"time_ns": 5_000, "bytes": 0, "ran": True, "ran_count": 1, "calls": 1}
    assert costs["costs"] == {"net": row, "net/y": row}
    assert "problem" not in costs
    nothing = ask(client, "costs", id=B, function="double", trace="a|tag|step4|0")
    assert (nothing["costs"], nothing["problem"][:36]) == ({}, "None of the 1 executions in this tra")
    compared = ask(client, "compare", id=[A, B])
    assert (compared["removed"], [(c["node"], c["attribute"]) for c in compared["changed"]]) == ([], [("net/z", "op")])
    assert compared["added"] == ["f", "f/a", "f/r_RetVal"]
    text = client.get("/api/graph/export", params={"id": A})
    assert text.text.startswith('node {\n  name: "x"\n')
    assert 'filename="a___run_graph__.pbtxt"' in text.headers["content-disposition"]
    binary = client.get("/api/graph/export", params={"id": A, "format": "pb"})
    assert [node.name for node in GraphDef.FromString(binary.content).node] == ["x", "net/y", "net/z"]
    # It is sent while it is written.
    assert "content-length" not in binary.headers


@pytest.mark.parametrize(
    ("route", "parameters", "status", "sentence"),
    [
        ("graph", {"id": "gone"}, 404, "There is no graph 'gone' in the log directory"),
        ("node", {"id": A, "node": "gone"}, 404, "The graph has no node 'gone'"),
        ("node", {"id": A, "node": ""}, 404, "The graph has no node ''"),
        ("node", {"id": A, "node": "x", "function": "gone"}, 404, "The graph has no function 'gone'"),
        ("attribute", {"id": A, "node": "x", "name": "gone"}, 404, "'x' has no attribute 'gone'."),
        ("attribute", {"id": A, "node": "net", "name": "T"}, 404, "'net' has no attribute 'T'."),
        ("search", {"id": A, "q": "(", "match": "regex"}, 422, "Parameter 'q' cannot be searched for"),
        ("search", {"id": A, "q": "x", "in": "place"}, 422, "Parameter 'in' has 'place'"),
        ("trace", {"id": A, "node": "x", "way": "up"}, 422, "Parameter 'way'"),
        ("costs", {"id": A, "trace": "gone"}, 404, "There is no trace 'gone'"),
        ("compare", {"id": [A]}, 422, "Parameter 'id'"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    client: TestClient, route: str, parameters: dict[str, Any], status: int, sentence: str
) -> None:
    response = client.get(f"/api/graph/{route}", params=parameters)

    assert response.status_code == status
    assert response.json()["detail"].startswith(sentence)


def test_graphs_are_opened_once_and_few_are_kept(tmp_path: Path) -> None:
    snapshot = written(tmp_path, a=graph(NET), b=graph(NET), c=graph(NET)).snapshot()
    sources = graph_sources(snapshot)
    read: list[str] = []

    def opener(source: Any) -> OpenGraph:
        read.append(source.run)
        return open_graph(source)

    cache = GraphCache(max_graphs=2, opener=opener)
    assert cache.get(sources[0]) is cache.get(sources[0])
    cache.get(sources[1])
    cache.get(sources[2])
    assert (cache.peek(sources[0]), cache.peek(sources[2]) is not None) == (None, True)
    cache.get(sources[0])
    assert read == ["a", "b", "c", "a"]
    assert has_graphs(snapshot)
    assert not has_graphs(EMPTY_SNAPSHOT)


def test_a_graph_that_cannot_be_read_says_so_each_time(tmp_path: Path) -> None:
    (source,) = graph_sources(written(tmp_path, a=graph(NET)).snapshot())
    for file in (tmp_path / "a").iterdir():
        file.write_bytes(b"")
    cache = GraphCache()

    for _ in range(2):
        with pytest.raises(GraphUnavailableError, match="The graph 'graph of the run' of run 'a' cannot be read"):
            cache.get(source)
