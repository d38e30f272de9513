"""Builds the dashboard: one FastAPI application with the data routes and the Dash page."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import dash
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, no_update
from dash.exceptions import DependencyException
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.middleware import Middleware

from stepscope.dashboard.page import layout
from stepscope.dashboard.page.controls import panel_stores, setting_id
from stepscope.dashboard.page.document import make_page
from stepscope.dashboard.page.front import Front
from stepscope.dashboard.page.health_badge import health_badge, register_progress
from stepscope.dashboard.page.plugin_files import NO_ICON, PluginFiles, icon_properties, plugin_router, sheet_address
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.plugin_panel import FAILURES_ID, PluginPanel
from stepscope.dashboard.panels.registry import all_panels, uploads
from stepscope.dashboard.runs import routes as run_routes
from stepscope.dashboard.runs.listing import Listings
from stepscope.dashboard.runs.settings import RUN_SETTINGS
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server import revision
from stepscope.dashboard.server.access import Access, page_policy
from stepscope.dashboard.server.answers import once_per_revision
from stepscope.dashboard.server.callbacks import PATH as CALLBACKS
from stepscope.dashboard.server.callbacks import CallbackErrors, CallbackGuard
from stepscope.dashboard.server.compression import Compression
from stepscope.dashboard.server.fingerprint import lasting_fingerprint
from stepscope.dashboard.server.guard import Guard
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.server.plugin_errors import PluginErrors
from stepscope.dashboard.server.work import RequestAtHand, light
from stepscope.dashboard.tensorboard import core, other_kinds, runs
from stepscope.dashboard.tensorboard.registry import PLUGINS
from stepscope.dashboard.traces import capture, drop_route, live_tensors
from stepscope.dashboard.traces.capture import CaptureRules
from stepscope.plugins import is_any_installed
from stepscope.profiler.client import Address

DATA_ROUTES: Final = (
    core.router,
    runs.router,
    run_routes.router,
    revision.router,
    *(plugin.router for plugin in PLUGINS if plugin.router is not None),
    # After the routes of TensorBoard's plugins, whose paths these would take.
    other_kinds.router,
    drop_route.router,
)
"""Functions that make the routes of the log directory."""

EMPTY_PAGE = "@empty"
LOADING_PAGE = "@loading"
LOCAL = Access()


def build_app(
    live: Live,
    *,
    access: Access = LOCAL,
    captures: Sequence[Address] = (),
    panels: Sequence[Panel] | None = None,
    front: Front | None = None,
) -> FastAPI:
    """Return the complete server for one log directory.

    Args:
        live: the log directory; the caller starts and stops it.
        access: who may use it.
        captures: programs that pages may record, in addition to those on this machine.
        panels: the tabs, in order; all available ones by default.
        front: what has answered for the page until now, if anything.
    """
    front = Front(access, live.title) if front is None else front
    panels = all_panels() if panels is None else panels
    plugins = [panel for panel in panels if isinstance(panel, PluginPanel)]
    server = FastAPI(title="Stepscope", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    for make_router in DATA_ROUTES:
        join(server, make_router(live))
    rules = CaptureRules.of(access.bound_host, captures)
    join(server, capture.router(live, rules))
    join(server, live_tensors.router(rules))
    for panel in panels:
        routes = panel.router(live)
        if routes is not None:
            join(server, routes, f"/api/{panel.name}", (panel.name,))
    join(server, front.assets.router())
    files = {panel.name: panel.files() for panel in plugins}
    brought = [one for one in files.values() if one is not None]
    sheet = icon_properties({panel.name: _icon(files[panel.name]) for panel in plugins})
    join(server, plugin_router(brought, sheet))
    sheet_link = f'<link rel="stylesheet" href="{sheet_address(sheet)}">' if plugins else ""
    app = make_page(server, access, front.assets, live.title, sheet_link)
    told = [panel.told(files[panel.name]) for panel in plugins]
    server.state.has_plugins = bool(told) or is_any_installed()
    register_page(app, live, panels)
    if plugins:
        register_plugins(app)
    register_progress(app, live)
    for panel in panels:
        panel.register(app, live)
    # Elements that no callback names become markup, so the callbacks come first.
    app.layout = app.markup.of(layout.page(RUN_SETTINGS, panels, told if server.state.has_plugins else None))
    look_at_first(server, CALLBACKS)
    server.add_exception_handler(DependencyException, no_such_file)
    # The innermost, so that errors do not reach Dash's middleware unheard.
    server.user_middleware.append(Middleware(CallbackErrors))
    server.add_middleware(CallbackGuard, callbacks=app.callback_map)
    if plugins:
        server.add_middleware(PluginErrors, reports={f"/api/{panel.name}": panel.report for panel in plugins})
    server.add_middleware(RequestAtHand)
    server.add_middleware(Compression)
    # The middleware added last is the first that a request meets.
    server.state.scripts = app.csp_hashes()
    policy = page_policy(access.frames, server.state.scripts)
    server.add_middleware(
        Guard,
        access=access,
        policy=policy,
        uploads=uploads(panels),
    )
    return server


def look_at_first(server: FastAPI, path: str) -> None:
    """Put a route before all others, each of which would otherwise be asked whether a request is its own.

    While runs grow, nearly all requests of open pages are for Dash's single callback route.
    """
    routes = server.router.routes
    found = next(route for route in routes if getattr(route, "path", None) == path)
    routes.remove(found)
    routes.insert(0, found)


def _icon(files: PluginFiles | None) -> str:
    return NO_ICON if files is None else files.icon


async def no_such_file(request: Request, error: Exception) -> Response:
    """Return the response for a requested file that none of Dash's packages provides."""
    return JSONResponse({"detail": f"There is no file {request.url.path!r}."}, 404)


def register_plugins(app: Dash) -> None:
    """Register the callback that notifies plug-in modules of new data, and the page of plug-in callback failures."""
    app.clientside_callback(
        ClientsideFunction("stepscope", "tellPlugins"),
        Output(FAILURES_ID, "id"),
        Input("revision", "data"),
        Input(FAILURES_ID, "data"),
        prevent_initial_call=True,
    )


def register_page(app: Dash, live: Live, panels: Sequence[Panel]) -> None:
    """Register the page's callbacks: two on the server, six in ``web/page``."""
    by_name = {panel.name: panel for panel in panels}
    listings = Listings()

    app.clientside_callback(
        ClientsideFunction("stepscope", "boot"),
        Output("view", "data"),
        Output(setting_id("run_filter"), "value"),
        Output("theme", "data"),
        Input("defaults", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "collect"),
        Output("view", "data", allow_duplicate=True),
        Input({"type": "setting", "name": ALL}, "value"),
        Input({"type": "toggle", "name": ALL}, "checked"),
        State({"type": "panel-made", "panel": ALL}, "data"),
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
        State({"type": "panel-made", "panel": ALL}, "data"),
        State({"type": "panel-view", "panel": ALL}, "data"),
        State({"type": "panel-revision", "panel": ALL}, "data"),
        State({"type": "panel-scheme", "panel": ALL}, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "applyTheme"),
        Output("mantine", "forceColorScheme"),
        Output("scheme", "data"),
        Input("theme", "data"),
        prevent_initial_call=True,
    )

    app.clientside_callback(
        ClientsideFunction("stepscope", "startLive"),
        Output("frame-key", "id"),
        Input("frame-key", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "listRuns"),
        Output("runs-listing", "id"),
        Input("runs-listing", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("runs-listing", "data"),
        Output("run-count", "children"),
        Output(setting_id("run_filter"), "error"),
        Output("tabs", "children"),
        Output("tabs", "value"),
        Output("panel-name", "data"),
        Output("health", "children"),
        Output("panel", "children"),
        Output("frame-key", "data"),
        Input("view", "data"),
        Input("revision", "data"),
        Input("runs-wanted", "data"),
        State("frame-key", "data"),
        State("scheme", "data"),
        State("tabs", "value"),
        prevent_initial_call=True,
    )
    @partial(once_per_revision, live, question=page_question)
    def update_page(
        query: str | None,
        revision: int | None,
        wanted: int,
        known: dict[str, str],
        scheme: str | None,
        chosen: str | None,
    ) -> Any:
        """Update what surrounds the panels; parts that the page already has are not sent again.

        ``chosen`` is the tab that was selected when the request was made. It is left alone if it is the open one: the
        user may have selected another since. ``wanted`` is the number of rows of runs that the page wants.
        """
        if query is None:
            raise dash.exceptions.PreventUpdate
        snapshot = live.snapshot()
        table = RunTable(snapshot, decode(query))
        live.heed(table.shown)
        parts, name = page_parts(table, panels, reading=live.reading)
        keys = {part: lasting_fingerprint(value) for part, value in parts.items()}
        news, keys["rows"] = listings.news(table, known.get("rows", ""), wanted)
        # The page is told of every answer, even if nothing changed: it holds back the next revision until then.
        keys["revision"] = str(revision)
        changed = {part: value if keys[part] != known.get(part) else no_update for part, value in parts.items()}
        tabs = changed["tabs"]
        requested = changed["panel"] is not no_update or "view.data" in dash.ctx.triggered_prop_ids
        # The page learns the revision a moment later: to a panel made from that revision, it is not news.
        made_of = snapshot.revision if revision is None else revision
        return (
            no_update if news is None else news,
            changed["count"],
            changed["filter_error"],
            no_update if tabs is no_update else layout.tab_list([by_name[tab] for tab in parts["tabs"]]),
            name if requested and name in by_name and name != chosen else no_update,
            changed["panel"],
            health_badge(snapshot) if changed["health"] is not no_update else no_update,
            panel_content(name, query, made_of, scheme) if changed["panel"] is not no_update else no_update,
            keys,
        )

    @app.callback(
        Output("panel", "children", allow_duplicate=True),
        Input("panel-again", "data"),
        State("panel-name", "data"),
        State("view", "data"),
        State("revision", "data"),
        State("scheme", "data"),
        prevent_initial_call=True,
    )
    @light
    def mount_again(_again: int, name: str | None, query: str | None, revision: int | None, scheme: str | None) -> Any:
        """Put the open tab's content on the page again, because its controls must follow the view."""
        if name is None or query is None:
            raise dash.exceptions.PreventUpdate
        return panel_content(name, query, revision, scheme)

    def panel_content(name: str, query: str, revision: int | None, scheme: str | None) -> Any:
        if name == EMPTY_PAGE:
            return layout.empty(live.shown_path, missing="://" not in live.path and not Path(live.path).exists())
        if name == LOADING_PAGE or name not in by_name:
            return layout.loading("Reading the log directory")
        content = by_name[name].layout(live.snapshot(), decode(query))
        return [*panel_stores(name, query, revision, scheme), *layout.mounted(by_name[name]), content]


def page_question(
    query: str | None,
    revision: int | None,
    wanted: int,
    known: dict[str, str],
    scheme: str | None,
    chosen: str | None,
) -> object:
    """Return what an answer to a page depends on, which excludes the page's previous revision."""
    return query, revision, wanted, {part: key for part, key in known.items() if part != "revision"}, scheme, chosen


def page_parts(table: RunTable, panels: Sequence[Panel], *, reading: bool) -> tuple[dict[str, Any], str]:
    """Return the page's parts around the panels by name, without the rows of runs, and the open panel's name."""
    snapshot, view = table.snapshot, table.view
    with_data = [panel.name for panel in panels if panel.has_data(snapshot)]
    opens_without_data = any(panel.name == view.tab and panel.opens_without_data for panel in panels)
    if opens_without_data and view.tab not in with_data and not reading:
        with_data.append(view.tab)
    if view.tab in with_data:
        name = view.tab
    elif with_data:
        name = with_data[0]
    else:
        name = LOADING_PAGE if reading else EMPTY_PAGE
    total = len(table.facts.trainings)
    shown = sum(run not in table.facts.helpers for run in table.shown)
    return {
        "count": f"{count(shown)} of {count(total)} shown" if total else "",
        "filter_error": table.filter_error,
        "tabs": with_data,
        "panel": name,
        "health": [(h.path, h.damage_count, h.error) for h in snapshot.health if h.damage_count or h.error]
        + table.facts.once("restarts", lambda: [snapshot.superseded, snapshot.written_at_once]),
    }, name
