"""The hparams panel: a table of sessions, parallel coordinates, a scatter matrix, and importances for a metric."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

import dash
import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from fastapi import APIRouter

from stepscope.dashboard.page.controls import revision_input, segmented, setting_id, switch, view_input
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.cards import Draw
from stepscope.dashboard.panels.hparams.analysis import Analysis
from stepscope.dashboard.panels.hparams.importance import analysis_of, importance_view
from stepscope.dashboard.panels.hparams.routes import make_router
from stepscope.dashboard.panels.hparams.sessions import Sessions, folders, has_sessions, read_sessions
from stepscope.dashboard.panels.hparams.settings import CHART, HEAT, RANKED, SEARCH, SETTINGS, TableRequest
from stepscope.dashboard.panels.hparams.table import MOST_ROWS, Table, build_table, payload
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import heavy, light
from stepscope.summary.counts import counted
from stepscope.summary.snapshot import Snapshot

T = TypeVar("T")

GRID_OPTIONS: dict[str, Any] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 27,
    # Room for two lines of a name.
    "headerHeight": 42,
    "animateRows": False,
    "suppressColumnMoveAnimation": True,
    "suppressDragLeaveHidesColumns": True,
    "rowSelection": {"mode": "multiRow", "enableClickSelection": True, "headerCheckbox": False},
    "selectionColumnDef": {
        "headerName": "Selected",
        "headerClass": "heard-head",
        "width": 34,
        "minWidth": 34,
        "maxWidth": 34,
        "pinned": "left",
        "resizable": False,
    },
    # What is selected is up to the address: the component would keep its own copy and restore it with new rows.
    "onSelectionChanged": None,
    "tooltipShowDelay": 300,
    "localeText": {"noRowsToShow": "No session matches the filters", "noMatchingRows": "No session matches the search"},
}


class Latest(Generic[T]):
    """The most recently made value, with the key that it was made from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entry: tuple[object, T] | None = None

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return the value for ``key``; make it if the last one was made for a different key.

        Concurrent callers wait for it.
        """
        with self._lock:
            if self._entry is None or self._entry[0] != key:
                self._entry = (key, make())
            return self._entry[1]


TableOf: TypeAlias = Callable[[Snapshot, TableRequest, Sessions], Table]


class HParamsPanel(Panel):
    """Sessions with their hyperparameters and metrics."""

    name = "hparams"
    title = "HParams"
    follows_runs = False
    kinds = ("hparams",)
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        return has_sessions(snapshot)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        # The content comes with the first callback, because the page draws it.
        return html.Div(
            [
                toolbar(view),
                html.Div(
                    [
                        html.Aside(id="hparams-controls", **{"aria-label": "Columns and filters"}),
                        html.Div(
                            [
                                html.Div(
                                    [
                                        html.Div(id="hparams-facts"),
                                        html.Div(id="hparams-selection", **{"aria-live": "polite"}),
                                    ],
                                    className="hparams-line",
                                ),
                                html.Div(id="hparams-chart"),
                                html.Div(id="hparams-importance"),
                                html.Div(grid(len(snapshot.runs)), className="hparams-table"),
                            ],
                            className="hparams-main",
                        ),
                    ],
                    className="hparams-body",
                ),
                dcc.Store(id="hparams-data"),
                dcc.Store(id="hparams-known", data=""),
                dcc.Store(id="hparams-ranked", data=""),
            ],
            className="panel hparams-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscope", "hparamsData"),
            Output("hparams-grid", "rowData"),
            Output("hparams-grid", "columnDefs"),
            Input("hparams-data", "data"),
            State("hparams-grid", "columnDefs"),
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "hparamsView"), Output("hparams-known", "id"), view_input(self.name)
        )
        latest: Latest[Table] = Latest()

        def table_of(snapshot: Snapshot, requested: TableRequest, found: Sessions) -> Table:
            return latest.get((live.id, snapshot.revision, requested), lambda: build_table(found, requested))

        self._register_table(app, live, table_of)
        self._register_importance(app, live, table_of)

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)

    def _register_table(self, app: Dash, live: Live, table_of: TableOf) -> None:
        @app.callback(
            Output("hparams-data", "data"),
            Output("hparams-known", "data"),
            view_input(self.name),
            revision_input(self.name),
            State("hparams-known", "data"),
        )
        @light
        def update_hparams(query: str | None, _revision: int | None, known: str) -> Any:
            """Send the table, unless the page has it: the page itself handles most changes of the view."""
            if query is None:
                raise dash.exceptions.PreventUpdate
            view = decode(query)
            snapshot = live.snapshot()
            colors = Draw(snapshot=snapshot, view=view, scheme="light", kept={}).colors
            found, requested = asked_for(snapshot, view)
            now = fingerprint((snapshot.revision, requested, [color.light for color in colors.values()]))
            if now == known:
                raise dash.exceptions.PreventUpdate
            return payload(table_of(snapshot, requested, found), colors, folders(snapshot), requested.folder), now

    def _register_importance(self, app: Dash, live: Live, table_of: TableOf) -> None:
        latest: Latest[Analysis | None] = Latest()

        @app.callback(
            Output("hparams-importance", "children"),
            Output("hparams-ranked", "data"),
            view_input(self.name),
            revision_input(self.name),
            State("hparams-ranked", "data"),
            running=[(Output("hparams-importance", "className"), "busy", "")],
        )
        @heavy
        def update_importance(query: str | None, _revision: int | None, known: str) -> Any:
            """Rank the hyperparameters while the user views the ranking."""
            view = decode(query or "")
            if query is None or CHART.of(view) != "importance":
                raise dash.exceptions.PreventUpdate
            snapshot = live.snapshot()
            found, requested = asked_for(snapshot, view)
            table = table_of(snapshot, requested, found)
            analysis = latest.get((table.columns, table.passing), lambda: analysis_of(table))
            now = fingerprint((table.target, table.lower_is_better, table.columns, analysis, RANKED.of(view)))
            if now == known:
                raise dash.exceptions.PreventUpdate
            by = segmented(RANKED, view, {"importance": "Importance", "correlation": "Correlation"}, "Bars sorted by")
            return importance_view(table, analysis, RANKED.of(view), by), now


def asked_for(snapshot: Snapshot, view: View) -> tuple[Sessions, TableRequest]:
    """Return the sessions and the table request; a page sorts and searches by itself if it can hold all sessions."""
    requested = TableRequest.of(view)
    found = read_sessions(snapshot, requested.folder)
    return found, requested if len(found.sessions) > MOST_ROWS else replace(requested, search="", sort=())


def toolbar(view: View) -> html.Div:
    """Return the controls: choice of chart, selection, search, and downloads."""
    charts = {"parallel": "Parallel", "scatter": "Scatter", "importance": "Importance", "none": "Table"}
    return html.Div(
        [
            html.Button(
                icon("filter", 15),
                id="hparams-toggle",
                className="icon-button",
                title="Show or hide columns and filters",
            ),
            segmented(CHART, view, charts, "The view above the table"),
            html.Span(className="spacer"),
            dmc.TextInput(
                id=setting_id(SEARCH.name),
                value=SEARCH.of(view),
                placeholder="Search the table",
                size="xs",
                debounce=150,
                spellCheck="false",
                autoComplete="off",
                leftSection=icon("search", 14),
                className="pattern",
                **{"aria-label": "Search the table"},
            ),
            switch(HEAT, view, "Heat map"),
            html.Div(
                [
                    _button("copy", "Copy", "csv", "Copy what the table shows, as CSV"),
                    *(
                        _button("download", label, extension, f"Download what the table shows, as {label}")
                        for extension, label in (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"))
                    ),
                ],
                className="hparams-files",
            ),
        ],
        className="toolbar",
    )


def _button(sign: str, label: str, extension: str, title: str) -> html.Button:
    action = "hparams-copy" if sign == "copy" else "hparams-save"
    return html.Button(
        [icon(sign, 14), html.Span(label)],
        className=f"quiet with-icon {action}",
        title=title,
        **{"data-extension": extension},
    )


def grid(runs: int) -> dag.AgGrid:
    """Return the empty table, which shows for how many runs it awaits the sessions.

    Its columns are made by ``hparams/web/table.ts``.
    """
    texts = {**GRID_OPTIONS["localeText"], "loadingOoo": f"Reading the sessions of {counted(runs, 'run')}"}
    return dag.AgGrid(
        id="hparams-grid",
        rowData=[],
        columnDefs=[],
        selectedRows=None,
        getRowId="params.data.id",
        defaultColDef={
            "sortable": True,
            "resizable": True,
            "suppressHeaderMenuButton": True,
            "minWidth": 60,
            "wrapHeaderText": True,
        },
        dashGridOptions={**GRID_OPTIONS, "localeText": texts, "loading": True},
        className="hparams-grid",
        style={"height": "100%", "width": "100%"},
    )


PANEL = HParamsPanel()
