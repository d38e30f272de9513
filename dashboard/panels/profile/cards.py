"""Cards of the panel's pages, including those with a table."""

import json
from collections.abc import Sequence
from typing import Any, Final

import dash_ag_grid as dag
from dash import dcc, html

from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.theme import GRAPH_CONFIG
from stepscope.dashboard.panels.profile.columns import columns
from stepscope.dashboard.panels.profile.rows import chosen_id, cut_note, rows, size_note, total_row
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace

SHORT: Final = 12
"""Number of rows up to which a table is as high as its content."""
GRID_OPTIONS: Final[dict[str, Any]] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 26,
    "headerHeight": 36,
    "animateRows": False,
    "suppressColumnMoveAnimation": True,
    "suppressDragLeaveHidesColumns": True,
    "suppressFieldDotNotation": True,
    "tooltipShowDelay": 300,
    "enableCellTextSelection": True,
    "ensureDomOrder": True,
    "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
    "localeText": {"noRowsToShow": "No rows", "noMatchingRows": "No row matches the search and the filters"},
}
TREE_OPTIONS: Final[dict[str, Any]] = {
    "isExternalFilterPresent": {"function": "true"},
    "doesExternalFilterPass": {"function": "stepscopeProfileTreeShown(params)"},
    "postSortRows": {"function": "stepscopeProfileTreeOrder(params)"},
}
"""The grid does not nest rows: rows of collapsed groups are filtered out, and sorting keeps groups together."""
DEFAULT_COLUMN: Final[dict[str, Any]] = {
    "sortable": True,
    "resizable": True,
    "suppressHeaderMenuButton": True,
    "wrapHeaderText": True,
    "cellDataType": False,
}


def card(title: str, *content: Any, aside: Any = None, name: str = "") -> html.Section:
    """Return a titled section of the page."""
    head = html.Header([html.H3(title), aside] if aside is not None else [html.H3(title)])
    return html.Section([head, *content], className=f"profile-card {name}".strip(), **{"aria-label": title})


def chart_id(analyzed: AnalyzedTrace, chart: str) -> dict[str, str]:
    """Return the id of a chart whose points link to the Timeline on click."""
    return {"type": "profile-chart", "chart": chart, "trace": analyzed.source.id}


def chart_card(
    title: str, figure: dict[str, Any], graph: Any, about: str = "", below: Sequence[Any] = (), height: int = 0
) -> html.Section:
    """Return a card with a chart, whose id is ``graph``, and notes below; ``height`` in pixels, 0 for the default."""
    style = {"flexBasis": height, "minHeight": height} if height else None
    chart = dcc.Graph(id=graph, figure=figure, config=GRAPH_CONFIG, style={"height": "100%"})
    return card(
        title, html.Div(chart, className="profile-chart", style=style), *below, aside=hint(about) if about else None
    )


def hint(words: str) -> html.Span:
    """Return a few words beside a title."""
    return html.Span(words, className="profile-hint", title=words)


def nothing(words: str) -> html.P:
    """Return a message that explains why there is nothing here."""
    return html.P(words, className="profile-none")


def table_card(table: Table, *, alone: bool, folds: bool = False) -> html.Section:
    """Return a table with its search, column choice and download; one that folds can be collapsed."""
    head: list[Any] = [html.H3(table.title), html.Span(size_note(table), className="count")]
    if table.frame.is_empty():
        return html.Section(
            [html.Header(head[:1]), nothing(table.empty)], className="profile-card", **{"data-table": table.name}
        )
    listed = rows(table)
    high = len(listed) > SHORT
    note = cut_note(table)
    head += [hint(table.about), html.Span(className="spacer"), *_tools(table, high=high)]
    body = html.Div(grid(table, listed, high=high), className="profile-grid-box")
    return html.Section(
        [
            html.Header(head),
            html.P(note, className="profile-note cut") if note else None,
            *([html.Details([html.Summary("Table"), body], open=True, className="profile-fold")] if folds else [body]),
        ],
        className="profile-card table" + (" high" if high else "") + (" alone" if alone and high else ""),
        **{"data-table": table.name, "data-chosen": chosen_id(table), **({"data-cut": ""} if table.is_cut else {})},
    )


def _tools(table: Table, *, high: bool) -> list[Any]:
    search = dcc.Input(
        type="search",
        placeholder="Search",
        className="text-field profile-search",
        debounce=False,
        autoComplete="off",
        id={"type": "profile-search", "table": table.name},
    )
    return [
        html.Label(search, title="Search this table", **{"aria-label": f"Search {table.title}"}) if high else None,
        html.Button(
            [icon("chevron", 13), html.Span("Expand all")],
            className="quiet with-icon profile-expand",
            title="Expand or collapse all groups",
            **{"aria-pressed": "false"},
        )
        if table.groups is not None
        else None,
        html.Button(
            [icon("columns", 13), html.Span("Columns")],
            className="quiet with-icon profile-columns",
            title="Which columns are shown",
            **{"aria-haspopup": "dialog"},
        ),
        save_button(),
    ]


def save_button() -> html.Button:
    """Return the button that downloads the table of its card."""
    return html.Button(
        [icon("download", 13), html.Span("CSV")],
        className="quiet with-icon profile-save",
        title="Download all rows of this table as CSV, times in nanoseconds",
    )


def grid(table: Table, listed: list[dict[str, Any]], *, high: bool) -> dag.AgGrid:
    """Return the table itself; ``profile/web`` renders its cells."""
    options = GRID_OPTIONS | {"pinnedBottomRowData": total_row(table)}
    if not high:
        options |= {"domLayout": "autoHeight"}
    if table.groups is not None:
        options |= TREE_OPTIONS
    listeners = {"cellKeyDown": ["stepscopeProfileKey(params)"]}
    if table.is_cut:
        choose = f"stepscopeProfileChoose({json.dumps(table.name)})"
        listeners |= {"sortChanged": [choose], "filterChanged": [choose]}
    return dag.AgGrid(
        id={"type": "profile-grid", "table": table.name},
        rowData=listed,
        columnDefs=columns(table, listed),
        defaultColDef=DEFAULT_COLUMN,
        selectedRows={"ids": [chosen_id(table)] if table.chosen is not None else []},
        getRowId="params.data['@row']",
        dashGridOptions=options,
        eventListeners=listeners,
        className="profile-grid",
        style={"height": "100%" if high else None, "width": "100%"},
    )
