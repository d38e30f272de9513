"""The live tensors panel: arrays of a running program, drawn in ``web/``; the route is ``/api/capture/live``."""

from typing import Any

from dash import ClientsideFunction, Dash, Output, dcc, html

from stepscope.dashboard.page.controls import view_input
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.live_tensors.settings import SETTINGS
from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


class LiveTensorsPanel(Panel):
    """Arrays that a running program shows with `stepscope.debug.show`."""

    name = "live_tensors"
    title = "Live tensors"
    follows_runs = False
    settings = SETTINGS
    opens_without_data = True

    def has_data(self, snapshot: Snapshot) -> bool:
        # Its content is in no file: a command and links open the panel.
        return False

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div(
            [html.Div(id="live-tensors-host"), dcc.Store(id="live-tensors-shown")], className="panel live-tensors"
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscopeLiveTensors", "show"),
            Output("live-tensors-shown", "data"),
            view_input(self.name),
        )


PANEL = LiveTensorsPanel()
