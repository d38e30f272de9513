"""The Graph panel: which graph is open and what it is compared with; the canvas itself is in ``web/``."""

from typing import Any, Final

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, html, no_update
from fastapi import APIRouter

from stepscope.dashboard.graphs.sources import graph_sources, has_graphs
from stepscope.dashboard.page.controls import long_select, revision_input, setting_id
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.graph import routes_reading, routes_scene
from stepscope.dashboard.panels.graph.choices import compared_choices, first_graph, graph_choices
from stepscope.dashboard.panels.graph.settings import COMPARE, COSTS, FUNCTION, GRAPH, SETTINGS
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import heavy
from stepscope.dashboard.traces.choices import choices
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.summary.snapshot import Snapshot

EXAMPLE: Final = """from stepscope import SummaryWriter

with SummaryWriter("logs/run") as writer:
    writer.add_graph(model, example_input)"""
COMMAND: Final = "stepscope graph model.onnx --logdir logs"


class GraphPanel(Panel):
    """Operations and layers of a model by scope, with the data that flows between them."""

    name = "graph"
    title = "Graph"
    follows_runs = False
    kinds = (
        "graphs",
        "graph_keras_model",
        "graph_run_metadata_graph",
    )
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_graphs(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        if not self.has_data(snapshot):
            return _empty()
        sources = graph_sources(snapshot)
        graph = GRAPH.of(view) or first_graph(sources) or ""
        compared = COMPARE.of(view)
        costs = COSTS.of(view)
        called = FUNCTION.of(view)
        functions = [{"value": called, "label": called}] if called else []
        traces = [{"value": "", "label": "No costs"}, *choices(trace_sources(snapshot), costs or None)]
        return html.Div(
            [
                html.Div(
                    [
                        _select(GRAPH, graph, graph_choices(sources, graph), "Graph", "Choose a graph"),
                        _select(FUNCTION, called, functions, "Function of the graph", "Function", disabled=not called),
                        _select(COSTS, costs, traces, "Costs from a trace", "Costs from"),
                        _select(
                            COMPARE,
                            compared,
                            compared_choices(sources, compared),
                            "Compare with another graph",
                            "Compare with",
                        ),
                        html.Div(id="graph-tools", className="graph-tools"),
                    ],
                    className="graph-toolbar",
                ),
                html.Div(id="graph-host", className="graph-host"),
            ],
            className="panel graph-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscopeGraph", "open"),
            Output("graph-host", "data-opened"),
            *(Input(setting_id(setting.name), "value") for setting in (GRAPH, FUNCTION, COSTS, COMPARE)),
        )
        # A graph that could not be shown may exist by now.
        app.clientside_callback(
            ClientsideFunction("stepscopeGraph", "listed"),
            Output("graph-host", "data-listed"),
            Input(setting_id(GRAPH.name), "data"),
            prevent_initial_call=True,
        )

        @app.callback(
            Output(setting_id(GRAPH.name), "data"),
            Output(setting_id(COMPARE.name), "data"),
            revision_input("graph"),
            State(setting_id(GRAPH.name), "value"),
            State(setting_id(COMPARE.name), "value"),
            State(setting_id(GRAPH.name), "data"),
            prevent_initial_call=True,
        )
        @heavy
        def update_choices(_revision: int | None, graph: str | None, compared: str | None, shown: list[Any]) -> Any:
            """List graphs that have arrived; the open one stays open."""
            sources = graph_sources(live.snapshot())
            current = graph_choices(sources, graph)
            return (no_update, no_update) if current == shown else (current, compared_choices(sources, compared))

    def router(self, live: Live) -> APIRouter | None:
        routes = routes_reading.make_router(live)
        join(routes, routes_scene.make_router(live))
        return routes


def _select(
    setting: Setting[str],
    value: str,
    data: list[dict[str, Any]],
    label: str,
    placeholder: str,
    *,
    disabled: bool = False,
) -> dmc.Select:
    return long_select(setting, value or None, data, label, "graph-choice", placeholder=placeholder, disabled=disabled)


def _empty() -> html.Div:
    return html.Div(
        html.Div(
            [
                icon("graph", 28),
                html.H1("No graphs yet"),
                html.P("Log the graph of a model:"),
                html.Div(html.Pre(html.Code(EXAMPLE)), className="example"),
                html.P(
                    "Or write the graph of a model file (ONNX, Keras, SavedModel, GraphDef) into the log directory:"
                ),
                html.Div(html.Pre(html.Code(COMMAND)), className="example"),
            ],
            className="empty graph-empty",
        ),
        className="panel graph-panel",
    )


PANEL = GraphPanel()
