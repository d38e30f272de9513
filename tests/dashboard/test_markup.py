"""Elements as markup: which become one component, and which stay separate for callbacks."""

from pathlib import Path
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component
from fastapi.testclient import TestClient

from stepscope.dashboard.page.markup import HTML, MarkupMaker
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from tests.dashboard.media import NoFollower

MARKUP = MarkupMaker(
    [
        {"output": "..said.children...kept.data..", "inputs": [{"id": "button", "property": "n_clicks"}], "state": []},
        {"output": "count.children", "inputs": [], "state": [{"id": "host", "property": "data-opened"}]},
    ]
)


def plain(content: Any) -> Any:
    """Components as tuples of their types, properties and children."""
    if isinstance(content, Component):
        properties = content.to_plotly_json()["props"]
        children = properties.pop("children", None)
        return (content._type, properties, plain(children))
    return [plain(one) for one in content] if isinstance(content, list) else content


def test_elements_that_no_callback_names_are_one_component() -> None:
    content = html.Div(
        [
            html.H1("Title", id="unnamed"),
            None,
            False,
            ["text ", 3],
            html.Button(html.I(), className="b", **{"data-of": "a"}),
        ],
        style={"--size": "3px"},
    )
    tree = [
        "div",
        {"style": {"--size": "3px"}},
        ["h1", {"id": "unnamed"}, "Title"],
        "text ",
        "3",
        ["button", {"className": "b", "data-of": "a"}, ["i", {}]],
    ]
    assert plain(MARKUP.of(content)) == ("Markup", {"tree": [tree]}, [])


def test_what_callbacks_read_and_write_stays_in_its_place() -> None:
    content = html.Div(
        [
            html.P("before"),
            html.Span(id="said"),
            html.Ul([html.Li(dcc.Store(id="kept")), html.Li(html.B(id="count"))]),
            html.Div(html.Div(id={"of": "pattern"}), id="host"),
            html.Button("Press", id="button"),
        ]
    )
    tree = ["div", {}, ["p", {}, "before"], 0, ["ul", {}, ["li", {}, 1], ["li", {}, 2]], 3, 4]
    slots = [
        ("Span", {"id": "said"}, None),
        ("Store", {"id": "kept"}, None),
        ("B", {"id": "count"}, None),
        ("Div", {"id": "host"}, ("Div", {"id": {"of": "pattern"}}, None)),
        ("Button", {"id": "button"}, "Press"),
    ]
    assert plain(MARKUP.of(content)) == ("Markup", {"tree": [tree]}, slots)


def test_inside_of_what_stays_neighbors_are_one_component() -> None:
    content = html.Div([html.I(), "text", dcc.Store(id="kept"), "alone"], id="host")
    inside = [("Markup", {"tree": [["i", {}], "text"]}, []), ("Store", {"id": "kept"}, None), "alone"]
    assert plain(MARKUP.of(content)) == ("Div", {"id": "host"}, inside)
    assert plain(content)[2][0] == ("I", {}, None), "what is given stays as it is"


def test_of_answers_each_component_stays_one() -> None:
    rows = [{"run": "a"}, {"run": "b"}]
    first, second, told, data = MARKUP.of_answer([html.P("one"), [html.P("two"), "text"], None, rows])
    assert plain(first) == ("Markup", {"tree": [["p", {}, "one"]]}, [])
    assert plain(second) == [("Markup", {"tree": [["p", {}, "two"]]}, []), "text"]
    assert (told, data) == (None, rows)
    assert MARKUP.of_answer("text") == "text"


def test_no_element_of_the_frame_is_a_component_without_a_callback(tmp_path: Path) -> None:
    live = Live(str(tmp_path), lambda publish: NoFollower())
    client = TestClient(build_app(live), base_url="http://localhost")
    elements: list[str] = []

    def look(at: Any) -> None:
        if isinstance(at, dict):
            if at.get("namespace") == HTML:
                elements.append(at["props"].get("id", at["type"]))
            at = list(at.values())
        if isinstance(at, list):
            for part in at:
                look(part)

    look(client.get("/_dash-layout").json())
    assert sorted(elements) == ["health", "panel", "reading", "run-count"]
