"""The Debugger panel: which recording and which sub-view are open; their content is drawn in ``web/``."""

from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from stepscope.dashboard.debugger.sources import DebugSource, debug_sources, has_debug_data
from stepscope.dashboard.page.controls import (
    long_select,
    revision_input,
    scheme_input,
    segmented,
    setting_id,
    side_scroll,
    view_input,
)
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.debugger.routes import make_router
from stepscope.dashboard.panels.debugger.settings import PAGE, PAGES, RECORDING, SETTINGS
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import light
from stepscope.summary.snapshot import Snapshot

PYTORCH: Final = """from stepscope import debug

with debug.watch(model, "runs/first", every=10):
    train()"""
TENSORFLOW: Final = """import tensorflow as tf

tf.debugging.experimental.enable_dump_debug_info(
    "runs/first", tensor_debug_mode="FULL_HEALTH", circular_buffer_size=-1
)"""


class DebuggerPanel(Panel):
    """The tensors of a training run: which one went bad first, and where it was created."""

    name = "debugger"
    title = "Debugger"
    group = "Checks"
    follows_runs = False
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_debug_data(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        sources = debug_sources(snapshot)
        if not sources:
            return _empty()
        chosen = RECORDING.of(view) or newest(sources)
        return html.Div(
            [
                html.Div(
                    [
                        # Grouped, since anything without room moves behind a button, and these must not.
                        html.Div(
                            [
                                long_select(
                                    RECORDING,
                                    chosen,
                                    choices(sources, chosen),
                                    "Recording",
                                    "debugger-choice",
                                    placeholder="Choose a recording",
                                ),
                                side_scroll(segmented(PAGE, view, dict(PAGES), "View"), "debugger-views"),  # type: ignore[arg-type]
                            ],
                            className="debugger-head",
                        ),
                        html.Div(id="debugger-tools", className="debugger-tools"),
                    ],
                    className="toolbar debugger-toolbar",
                ),
                html.Div(id="debugger-host", className="debugger-host"),
                dcc.Store(id="debugger-shown"),
            ],
            className="panel debugger-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscopeDebugger", "show"),
            Output("debugger-shown", "data"),
            Input(setting_id(RECORDING.name), "value"),
            view_input(self.name),
            revision_input(self.name),
            scheme_input(self.name),
        )

        @app.callback(
            Output(setting_id(RECORDING.name), "data"),
            revision_input(self.name),
            State(setting_id(RECORDING.name), "value"),
            State(setting_id(RECORDING.name), "data"),
            prevent_initial_call=True,
        )
        @light
        def update_choices(_revision: int | None, chosen: str | None, shown: list[Any]) -> Any:
            """List recordings that have arrived; the open one stays open."""
            current = choices(debug_sources(live.snapshot()), chosen)
            return no_update if current == shown else current

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def newest(sources: tuple[DebugSource, ...]) -> str:
    """Return the id of the most recently written recording."""
    return max(sources, key=lambda source: source.modified).id


def choices(sources: tuple[DebugSource, ...], chosen: str | None) -> list[dict[str, str]]:
    """Return the options of the selector; the open recording stays among them even if it is gone."""
    found = [{"value": source.id, "label": source.label} for source in sources]
    if chosen and all(source.id != chosen for source in sources):
        found.append({"value": chosen, "label": f"{chosen} (gone)"})
    return found


def _empty() -> html.Div:
    return html.Div(
        html.Div(
            [
                icon("debugger", 28),
                html.H1("No tensors recorded yet"),
                html.P("Record the health of every tensor of a PyTorch model, and which operation and line made it:"),
                html.Div(html.Pre(html.Code(PYTORCH)), className="example"),
                html.P("Or have TensorFlow dump it:"),
                html.Div(html.Pre(html.Code(TENSORFLOW)), className="example"),
                html.P("Findings appear here while training runs."),
            ],
            className="empty debugger-empty",
        ),
        className="panel debugger-panel",
    )


PANEL = DebuggerPanel()
