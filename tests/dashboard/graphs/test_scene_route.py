"""The route to a placed scene, for a tiny graph in a log directory."""

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.graphs.measures import MEASURES
from stepscope.dashboard.panels.graph import routes_scene
from stepscope.dashboard.panels.graph.routes_scene import make_router
from stepscope.dashboard.server.live import Live
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.graph import graph as graph_event
from stepscope.summary.logdir import Logdir
from tests.dashboard.graphs.build import function, graph
from tests.dashboard.media import NoFollower

MATRIX = {"tensors": 1, "bytes": 24, "label": "float32 2×3"}
ID = "r|graph|__run_graph__"
GRAPH = """
x Placeholder | FLOAT 2,3
layer/mul Mul: x x | FLOAT 2,3
layer/out Neg: layer/mul ^x
lost Neg: nobody layer/out
"""


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    made = graph(GRAPH)
    made.library.function.append(function("half", ["a"], {"b": "n:y:0"}, "n Neg: a"))
    writer = EventFileWriter(tmp_path / "r")
    writer.add_event(graph_event(made), 1.0)
    writer.close()
    live = Live("logs", lambda publish: NoFollower())
    live.publish(Logdir(tmp_path).update())
    app = FastAPI()
    app.include_router(make_router(live), prefix="/api/graph")
    return TestClient(app)


def ask(client: TestClient, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/api/graph/scene", params={"id": ID, **parameters})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def places(scene: dict[str, Any]) -> dict[str, tuple[float, ...]]:
    return {row["id"]: (row["x"], row["y"], row["w"], row["h"]) for row in scene["nodes"]}


def edge(source: str, target: str, points: list[float], **facts: Any) -> dict[str, Any]:
    unknown = {"control": False, "reference": False, "tensors": 0, "bytes": None, "label": ""}
    return {"source": source, "target": target, "points": points, **unknown, **facts}


def test_a_scene(client: TestClient) -> None:
    found = ask(client, expanded="layer")
    assert places(found) == {
        "x": (36.0, 16.0, 70, 26.0),
        "layer": (16.0, 72.0, 120.0, 161.9),
        "layer/mul": (36.0, 134.7, 70, 26.0),
        "layer/out": (36.0, 191.9, 70, 26.0),
        "lost": (36.0, 263.9, 70, 26.0),
    }
    assert found["edges"] == [
        edge("x", "layer/mul", [71.0, 42.0, 71.0, 134.7], **MATRIX),
        edge("x", "layer/out", [71.0, 42.0, 71.0, 102.0, 116.0, 134.7, 116.0, 160.7, 96.0, 191.9], control=True),
        edge("layer/mul", "layer/out", [71.0, 160.7, 71.0, 191.9], **MATRIX),
        edge("layer/out", "lost", [71.0, 217.9, 71.0, 263.9], tensors=1),
    ]
    assert found["nodes"][2] == {
        "id": "layer/mul",
        "label": "mul",
        "kind": "op",
        "op": "Mul",
        "parent": "layer",
        "expanded": False,
        "count": 1,
        "aux": [],
        "structure": 2,
        "device": "",
        "xla": "",
        "parameters": 0,
        "flops": 6.0,
        "problems": 0,
        "aside": False,
        "members": [],
        "x": 36.0,
        "y": 134.7,
        "w": 70,
        "h": 26.0,
    }
    assert (found["width"], found["height"], found["x"], found["y"]) == (152.0, 305.9, 0.0, 0.0)


def test_sums_are_those_of_the_whole_graph(client: TestClient) -> None:
    found = ask(client)
    assert found["total"] == {"nodes": 4, "edges": 5, "parameters": 0, "bytes": 0, "flops": 6.0}
    assert [(problem["kind"], problem["count"]) for problem in found["problems"]] == [("dangling input", 1)]
    assert found["measures"] == MEASURES.as_json()


def test_the_anchor_keeps_its_place_and_everything_moves_with_it(client: TestClient) -> None:
    still, moved = ask(client, expanded="layer"), ask(client, expanded="layer", anchor="layer,-100.5,7")
    x, y = places(moved)["layer"][:2]
    assert (x, y) == (-100.5, 7.0)
    by = x - places(still)["layer"][0], y - places(still)["layer"][1]
    for id, (left, top, width, height) in places(still).items():
        assert places(moved)[id] == pytest.approx((left + by[0], top + by[1], width, height))
    assert (moved["x"], moved["y"], moved["width"], moved["key"]) == (*by, still["width"], still["key"])
    for edge, other in zip(moved["edges"], still["edges"], strict=True):
        assert edge["points"] == pytest.approx([n + by[i % 2] for i, n in enumerate(other["points"])])


def test_an_anchor_that_is_not_shown_moves_nothing(client: TestClient) -> None:
    assert ask(client, anchor="layer/mul,5,5") == ask(client)


def test_a_small_graph_is_unfolded_at_first(client: TestClient) -> None:
    assert set(places(ask(client, first="true"))) == {"x", "layer", "layer/mul", "layer/out", "lost"}
    assert set(places(ask(client))) == {"x", "layer", "lost"}


def test_what_is_set_aside_stands_apart_without_a_place(client: TestClient) -> None:
    found = ask(client, aside="x")
    assert [(row["id"], "x" in row) for row in found["aside"]] == [("x", False)]
    assert set(places(found)) == {"layer", "lost"}
    assert [(edge["source"], edge["target"]) for edge in found["edges"]] == [("layer", "lost")]


def test_a_function_of_the_graph(client: TestClient) -> None:
    found = ask(client, function="half")
    assert list(places(found)) == ["a", "n", "b_RetVal"]


def test_expanding_goes_back_to_the_same_places(client: TestClient) -> None:
    before = ask(client)
    ask(client, expanded="layer")
    assert ask(client) == before
    assert ask(client, expanded="nowhere") == before


@pytest.mark.parametrize(
    ("parameters", "status", "detail"),
    [
        ({"id": "r|graph|nothing"}, 404, "There is no graph 'r|graph|nothing' in the log directory"),
        ({"id": ID, "function": "nothing"}, 404, "The graph has no function 'nothing'"),
        ({"id": ID, "anchor": "layer"}, 422, "Parameter 'anchor' must be PATH,X,Y with two numbers of pixels"),
        ({"id": ID, "anchor": "layer,1e300,0"}, 422, "Parameter 'anchor' must be PATH,X,Y"),
        ({"id": ID, "anchor": "layer,-,0"}, 422, "Parameter 'anchor' must be PATH,X,Y"),
        ({"id": ID, "expanded": ["a"] * (routes_scene.MOST_PATHS + 1)}, 422, "Parameter 'expanded': "),
        ({}, 422, "Parameter 'id': Field required."),
    ],
)
def test_what_a_caller_got_wrong(client: TestClient, parameters: dict[str, Any], status: int, detail: str) -> None:
    answer = client.get("/api/graph/scene", params=parameters)
    assert (answer.status_code, answer.json()["detail"][: len(detail)]) == (status, detail)


def test_too_much_at_once_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_scene, "MOST_VISIBLE", 4)
    answer = client.get("/api/graph/scene", params={"id": ID, "expanded": "layer"})
    assert answer.status_code == 422
    assert answer.json() == {"detail": "5 nodes would be visible, at most 4 can be. Expand fewer scopes."}
