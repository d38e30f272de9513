"""Builds the dashboard: one FastAPI application with the data routes and the Dash page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dash
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, no_update
from fastapi import FastAPI

from dashboard import frame
from dashboard.api import (
    audio,
    core,
    custom_scalars,
    graphs,
    histograms,
    images,
    mesh,
    pr_curves,
    projector,
    revision,
    runs,
    scalars,
    text,
    timeseries,
)
from dashboard.api.guard import HostGuard
from dashboard.api.hparams import routes as hparams
from dashboard.colors import assign_colors
from dashboard.controls import fingerprint, off_loop, panel_stores, setting_id
from dashboard.health import health_badge, register_progress
from dashboard.live import Live
from dashboard.numbers import count
from dashboard.panels import PANELS
from dashboard.panels.base import Panel
from dashboard.state import View, decode, matching, pattern_error
from summary.snapshot import Snapshot

DATA_ROUTES = (
    core,
    runs,
    revision,
    scalars,
    timeseries,
    images,
    audio,
    histograms,
    text,
    pr_curves,
    custom_scalars,
    hparams,
    graphs,
    mesh,
    projector,
)
"""Modules of `dashboard.api` with a ``router``."""

EMPTY_PAGE = "@empty"
LOADING_PAGE = "@loading"

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
<link rel="icon" type="image/svg+xml" href="/assets/icons/favicon.svg">
{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


def build_app(live: Live, *, bound_host: str = "localhost", panels: Sequence[Panel] = PANELS) -> FastAPI:
    """The whole server over one log directory.

    Args:
        live: the log directory; the caller starts and stops it.
        bound_host: the address that the server listens on, which requests must name (`HostGuard`).
        panels: the tabs, in order.
    """
    server = FastAPI(title="Stepscope", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    for module in DATA_ROUTES:
        server.include_router(module.router(live))
    for panel in panels:
        routes = panel.router(live)
        if routes is not None:
            server.include_router(routes, prefix=f"/api/{panel.name}", tags=[panel.name])
    defaults = {setting.name: list(setting.format(setting.default)) for panel in panels for setting in panel.settings}
    app = Dash(
        "stepscope",
        server=server,
        backend="fastapi",
        assets_folder=str(Path(__file__).parent / "assets"),
        title=f"{Path(live.path).name or live.path} · Stepscope",
        update_title="",
        suppress_callback_exceptions=True,
        index_string=INDEX,
        serve_locally=True,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        add_log_handler=False,
    )
    app.layout = frame.page(defaults)
    register_frame(app, live, panels)
    register_progress(app, live)
    for panel in panels:
        panel.register(app, live)
    server.add_middleware(HostGuard, bound_host=bound_host)
    return server


def register_frame(app: Dash, live: Live, panels: Sequence[Panel]) -> None:
    """The frame's callbacks: two on the server, four in ``assets/``."""
    by_name = {panel.name: panel for panel in panels}

    app.clientside_callback(
        ClientsideFunction("stepscope", "boot"),
        Output("view", "data"),
        Output(setting_id("run_filter"), "value"),
        Output("theme", "value"),
        Input("defaults", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "collect"),
        Output("view", "data", allow_duplicate=True),
        Input({"type": "setting", "name": ALL}, "value"),
        Input({"type": "toggle", "name": ALL}, "checked"),
        State("panel-name", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "tellPanel"),
        Output({"type": "panel-view", "panel": ALL}, "data"),
        Output({"type": "panel-revision", "panel": ALL}, "data"),
        Output({"type": "panel-scheme", "panel": ALL}, "data"),
        Input("view", "data"),
        Input("revision", "data"),
        Input("scheme", "data"),
        Input("panel", "children"),
        State({"type": "panel-view", "panel": ALL}, "data"),
        State({"type": "panel-revision", "panel": ALL}, "data"),
        State({"type": "panel-scheme", "panel": ALL}, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "applyTheme"),
        Output("mantine", "forceColorScheme"),
        Output("scheme", "data"),
        Input("theme", "value"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("runs-grid", "rowData"),
        Output("run-count", "children"),
        Output(setting_id("run_filter"), "error"),
        Output(setting_id("tab"), "children"),
        Output(setting_id("tab"), "value"),
        Output("panel-name", "data"),
        Output("health", "children"),
        Output("frame-key", "data"),
        Input("view", "data"),
        Input("revision", "data"),
        State("frame-key", "data"),
        prevent_initial_call=True,
    )
    @off_loop
    def update_frame(query: str | None, _revision: int | None, known: dict[str, str]) -> Any:
        """Brings the frame up to date; what is as the page has it already is not sent again."""
        if query is None:
            raise dash.exceptions.PreventUpdate
        snapshot = live.snapshot()
        parts, name = frame_parts(snapshot, decode(query), panels, reading=live.reading)
        keys = {part: fingerprint(value) for part, value in parts.items()}
        changed = {part: value if keys[part] != known.get(part) else no_update for part, value in parts.items()}
        tabs = changed["tabs"]
        return (
            changed["rows"],
            changed["count"],
            changed["filter_error"],
            no_update if tabs is no_update else frame.tab_list([by_name[tab] for tab in parts["tabs"]]),
            changed["panel"] if name in by_name else no_update,
            changed["panel"],
            health_badge(snapshot) if changed["health"] is not no_update else no_update,
            keys,
        )

    @app.callback(
        Output("panel", "children"),
        Input("panel-name", "data"),
        State("view", "data"),
        State("revision", "data"),
        State("scheme", "data"),
        prevent_initial_call=True,
    )
    @off_loop
    def open_panel(name: str | None, query: str | None, revision: int | None, scheme: str | None) -> Any:
        """Puts the open tab's content on the page."""
        if name is None or query is None:
            raise dash.exceptions.PreventUpdate
        if name == EMPTY_PAGE:
            return frame.empty(live.path)
        if name == LOADING_PAGE or name not in by_name:
            return frame.loading("Reading the log directory")
        content = by_name[name].layout(live.snapshot(), decode(query))
        return [*panel_stores(name, query, revision, scheme), content]


def frame_parts(
    snapshot: Snapshot, view: View, panels: Sequence[Panel], *, reading: bool
) -> tuple[dict[str, Any], str]:
    """What the frame shows, by part, and the name of the open panel."""
    with_data = [panel.name for panel in panels if panel.has_data(snapshot)]
    if view.tab in with_data:
        name = view.tab
    elif with_data:
        name = with_data[0]
    else:
        name = LOADING_PAGE if reading else EMPTY_PAGE
    filter_error = pattern_error(view.run_filter, snapshot.runs)
    shown = len(view.shown_runs(snapshot.runs))
    total = len(snapshot.runs)
    return {
        "rows": run_rows(snapshot, view),
        "count": f"{count(shown)} of {count(total)} shown" if total else "",
        "filter_error": filter_error and f"No regular expression: {filter_error}",
        "tabs": with_data,
        "panel": name,
        "health": [(h.path, h.damage_count, h.error) for h in snapshot.health if h.damage_count or h.error]
        + [snapshot.superseded],
    }, name


def run_rows(snapshot: Snapshot, view: View) -> list[dict[str, Any]]:
    """Rows of the run list: the runs that pass the filter, in order of their first event."""
    ordered = list(snapshot.runs)
    colors = assign_colors(ordered)
    checked = view.checked_runs(ordered)
    base = View(runs=view.runs).checked_runs(ordered)
    return [
        {
            "run": name,
            "on": name in checked,
            "base": name in base,
            "light": colors[name].light,
            "dark": colors[name].dark,
            "started": snapshot.runs[name].first_wall_time,
        }
        for name in matching(view.run_filter, ordered)
    ]
