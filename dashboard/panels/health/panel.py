"""The health panel: a table of all event files, and what was skipped in the selected one."""

from collections.abc import Sequence
from typing import Any

import dash
import dash_ag_grid as dag
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from stepscope.dashboard.page.controls import pattern_input, revision_input, segmented, setting_id, view_input
from stepscope.dashboard.page.health_badge import progress, reading_texts
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View, decode, pattern_error
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.health.columns import DEFAULT_COLUMN, GRID_OPTIONS, ROW_CLASSES, columns
from stepscope.dashboard.panels.health.details import details
from stepscope.dashboard.panels.health.messages import FileRow
from stepscope.dashboard.panels.health.report import table_row, verdict, worst_first
from stepscope.dashboard.panels.health.routes import make_router
from stepscope.dashboard.panels.health.selection import files_of
from stepscope.dashboard.panels.health.settings import FILE, FILTER, SETTINGS, SHOW
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.server.work import light
from stepscope.summary.contents import FileHealth
from stepscope.summary.counts import counted
from stepscope.summary.snapshot import Snapshot

MOST_ROWS = 5_000
"""Maximum number of files that the table lists; this keeps the page fast, and bad files come first."""


class HealthPanel(Panel):
    """Every event file: how much of it was read, and what was skipped."""

    name = "health"
    title = "Health"
    follows_runs = False
    settings = SETTINGS

    def has_data(self, snapshot: Snapshot) -> bool:
        # While the first files are read, the page reports it; this tab would be the only one, and thus the open one.
        return bool(snapshot.health) and not (snapshot.loading and not snapshot.kinds)

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        parts = panel_parts(snapshot, view)
        return html.Div(
            [
                toolbar(view, parts["count"]),
                html.Div(parts["banner"], id="health-banner"),
                html.Div(parts["nothing"], id="health-nothing"),
                html.Div(table(parts["rows"], FILE.of(view)), className="health-table"),
                html.Div(parts["details"], id="health-details"),
                dcc.Store(id="health-keys", data=_keys(parts)),
            ],
            className="panel health-panel",
        )

    def register(self, app: Dash, live: Live) -> None:
        app.clientside_callback(
            ClientsideFunction("stepscope", "openHealthFile"),
            Output("health-keys", "id"),
            Input("health-grid", "selectedRows"),
            State({"type": "panel-made", "panel": self.name}, "data"),
            prevent_initial_call=True,
        )

        @app.callback(
            Output("health-grid", "rowData"),
            Output("health-grid", "columnDefs"),
            Output("health-banner", "children"),
            Output("health-nothing", "children"),
            Output("health-count", "children"),
            Output(setting_id(FILTER.name), "error"),
            Output("health-details", "children"),
            Output("health-keys", "data"),
            view_input(self.name),
            revision_input(self.name),
            State("health-keys", "data"),
            prevent_initial_call=True,
        )
        @light
        def update_health(query: str | None, _revision: int | None, known: dict[str, str]) -> Any:
            """Update the panel; parts that the page already has are not sent again."""
            if query is None:
                raise dash.exceptions.PreventUpdate
            parts = panel_parts(live.snapshot(), decode(query))
            keys = _keys(parts)
            if keys == known:
                raise dash.exceptions.PreventUpdate
            return *(value if keys[part] != known.get(part) else no_update for part, value in parts.items()), keys

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def panel_parts(snapshot: Snapshot, view: View) -> dict[str, Any]:
    """Return the parts of the panel, in the order of the callback's outputs."""
    found = worst_first(files_of(snapshot, view))
    error = pattern_error(FILTER.of(view), [file.path for file in snapshot.health])
    rows = [table_row(file) for file in found[:MOST_ROWS]]
    return {
        "rows": rows,
        "columns": columns(rows),
        "banner": banner(snapshot),
        "nothing": None if found else nothing(view),
        "count": count_text(len(found), len(snapshot.health)),
        "filter_error": error and f"Not a valid regular expression: {error}",
        "details": selected(snapshot.health, FILE.of(view)),
    }


def _keys(parts: dict[str, Any]) -> dict[str, str]:
    return {part: fingerprint(value) for part, value in parts.items()}


def toolbar(view: View, files: str) -> html.Div:
    """Return the controls: filter, choice of files, number of files, and downloads."""
    buttons = [
        _button("copy", "Copy", "health-copy", "files", "Copy the table of files as CSV"),
        _button("download", "Files CSV", "health-save", "files", "Download the table of files as CSV"),
        _button(
            "download", "Skipped CSV", "health-save", "damages", "Download the skipped stretches of all these files"
        ),
    ]
    return html.Div(
        [
            pattern_input(FILTER.name, FILTER.of(view), "Filter files (regex)", "Filter files by regular expression"),
            segmented(SHOW, view, {"all": "All files", "bad": "With damage"}, "Which files are listed"),
            html.Span(files, id="health-count", className="count"),
            html.Div(buttons, className="health-actions"),
        ],
        className="toolbar",
    )


def _button(sign: str, label: str, action: str, table: str, title: str) -> html.Button:
    parts = [icon(sign, 14), html.Span(label)]
    return html.Button(parts, className=f"quiet with-icon {action}", title=title, **{"data-table": table})


def banner(snapshot: Snapshot) -> html.Div:
    """Return the verdict on all files."""
    found = verdict(snapshot.health, snapshot.superseded, snapshot.written_at_once, loading=snapshot.loading)
    at = progress(snapshot)
    facts = list(found.facts) if at is None else [", ".join(reading_texts(at)), *found.facts[1:]]
    sign = {"bad": "alert", "open": "health", "good": "check"}[found.severity]
    return html.Div(
        [
            icon(sign, 22),
            html.Div([html.H2(found.sentence), html.Ul([html.Li(fact) for fact in facts])]),
        ],
        className=f"health-verdict {found.severity}",
        role="status",
    )


def nothing(view: View) -> html.Div:
    """Return a message that explains why the table is empty and what to do."""
    if SHOW.of(view) == "bad" and not FILTER.of(view):
        return html.Div(
            [html.Strong("No damaged files"), html.Span("To list every file, choose All files.")],
            className="notice none",
        )
    return html.Div(
        [html.Strong("No file matches the filter"), html.Span("The filter is matched against the path of each file.")],
        className="notice none",
    )


def count_text(found: int, total: int) -> str:
    """Return the number of files in the table, as text."""
    if found > MOST_ROWS:
        return f"the first {count(MOST_ROWS)} of {count(found)} files, damaged files first; filter for others"
    return counted(total, "file") if found == total else f"{count(found)} of {counted(total, 'file')}"


def selected(files: Sequence[FileHealth], path: str) -> Any:
    """Return the details of the selected file; nothing if none is selected."""
    if not path:
        return None
    return details(next((file for file in files if file.path == path), None), path)


def table(rows: list[FileRow], path: str) -> dag.AgGrid:
    """Return the table of files."""
    return dag.AgGrid(
        id="health-grid",
        rowData=rows,
        getRowId="params.data.path",
        selectedRows={"ids": [path]} if path else [],
        columnDefs=columns(rows),
        defaultColDef=DEFAULT_COLUMN,
        dashGridOptions=GRID_OPTIONS,
        rowClassRules=ROW_CLASSES,
        className="health-grid",
        style={"height": "100%", "width": "100%"},
    )


PANEL = HealthPanel()
