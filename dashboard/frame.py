"""The frame around the panels: header, run list, and the place where the open panel is."""

from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.controls import pattern_input, setting_id
from dashboard.health import READING_ID
from dashboard.icons import icon
from dashboard.panels.base import Panel
from dashboard.theme import MANTINE

EXAMPLE = """from summary import SummaryWriter

with SummaryWriter({path!r}) as writer:
    for step in range(100):
        writer.add_scalar("train/loss", 0.95**step, step)
"""

GRID_OPTIONS: dict[str, Any] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 28,
    "headerHeight": 28,
    "animateRows": False,
    "suppressCellFocus": False,
    "suppressMovableColumns": True,
    "suppressColumnMoveAnimation": True,
    "localeText": {"noRowsToShow": "No runs"},
    "tooltipShowDelay": 400,
}


def header_buttons() -> html.Div:
    """Select all, select none."""
    return html.Div(
        [
            html.Button("All", id="runs-all", className="quiet", title="Show every run that the filter lets through"),
            html.Button("None", id="runs-none", className="quiet", title="Hide every run that the filter lets through"),
        ],
        className="run-buttons",
    )


def run_list() -> dag.AgGrid:
    """The list of runs; rows come with the first callback."""
    return dag.AgGrid(
        id="runs-grid",
        rowData=[],
        getRowId="params.data.run",
        columnDefs=[
            {
                "field": "on", "headerName": "", "width": 34, "maxWidth": 34, "minWidth": 34, "resizable": False,
                "cellRenderer": "RunSwatch", "cellClass": "swatch-cell", "headerTooltip": "Shown in the charts",
            },
            {
                "field": "run", "headerName": "Run", "flex": 1, "minWidth": 80,
                "cellRenderer": "RunName", "tooltipField": "run", "cellClass": "name-cell",
            },
            {
                "field": "started", "headerName": "Started", "width": 92, "cellClass": "started-cell",
                "valueFormatter": {"function": "stepscopeWhen(params.value)"},
                "tooltipValueGetter": {"function": "stepscopeWhenLong(params.value)"},
            },
        ],
        defaultColDef={"sortable": True, "resizable": True, "suppressHeaderMenuButton": True},
        dashGridOptions=GRID_OPTIONS,
        className="run-grid",
        style={"height": "100%", "width": "100%"},
    )  # fmt: skip


def sidebar() -> html.Aside:
    """The run list with its filter and counts."""
    return html.Aside(
        [
            html.Div(
                [
                    html.H2("Runs"),
                    html.Span(id="run-count", className="count"),
                    header_buttons(),
                ],
                className="sidebar-head",
            ),
            html.Div(pattern_input("run_filter", "", "Filter runs (regex)", "Filter runs by regular expression")),
            html.Div(run_list(), className="run-grid-box"),
            html.Div(id="sidebar-grip", className="grip", title="Drag to resize, double click to reset"),
        ],
        id="sidebar",
        **{"aria-label": "Runs"},
    )


def theme_switch() -> dmc.SegmentedControl:
    """Light, as the system, dark."""
    return dmc.SegmentedControl(
        id="theme",
        value="auto",
        size="xs",
        className="theme-switch",
        data=[
            {"value": value, "label": dmc.Tooltip(icon(name, 14), label=text, openDelay=400, withinPortal=True)}
            for value, name, text in (
                ("light", "sun", "Light"),
                ("auto", "auto", "As the system"),
                ("dark", "moon", "Dark"),
            )
        ],
        **{"aria-label": "Theme"},
    )


def header() -> html.Header:
    """Logo, tabs, health, live indicator, theme."""
    return html.Header(
        [
            html.Button(
                icon("sidebar", 18), id="sidebar-toggle", className="icon-button", title="Hide or show the run list"
            ),
            html.Div([icon("logo", 22), html.Span("stepscope", className="wordmark")], className="logo"),
            dmc.Tabs(id=setting_id("tab"), value=None, children=[], className="tabs"),
            html.Div([], id=READING_ID, className="spacer"),
            html.Div(id="health"),
            html.Button(
                [html.Span(className="dot"), html.Span("connecting", id="live-text")],
                id="live",
                **{"data-state": "connecting", "aria-live": "polite"},
            ),
            theme_switch(),
        ]
    )


def stores(defaults: dict[str, list[str]]) -> list[dcc.Store]:
    """What the page remembers; see `dashboard.state` for "view"."""
    return [
        dcc.Store(id="view"),
        dcc.Store(id="defaults", data=defaults),
        dcc.Store(id="revision"),
        dcc.Store(id="scheme"),
        dcc.Store(id="panel-name"),
        dcc.Store(id="frame-key", data={}),
    ]


def page(defaults: dict[str, list[str]]) -> dmc.MantineProvider:
    """The whole page, before any data."""
    return dmc.MantineProvider(
        [
            *stores(defaults),
            html.Div(
                [header(), sidebar(), html.Main(id="panel", children=loading("Connecting"))],
                id="frame",
            ),
        ],
        id="mantine",
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def tab_list(panels: list[Panel]) -> dmc.TabsList:
    """One tab for every panel given."""
    return dmc.TabsList(
        [dmc.TabsTab(panel.title, value=panel.name, leftSection=icon(panel.icon, 15)) for panel in panels]
    )


def loading(text: str) -> html.Div:
    """Something is on its way."""
    return html.Div([dmc.Loader(size="sm"), html.Span(text)], className="notice loading")


def empty(path: str) -> html.Div:
    """There is no data yet: where this looks, and how to make some."""
    example = EXAMPLE.format(path=path)
    return html.Div(
        html.Div(
            [
                icon("logo", 44),
                html.H1("Waiting for the first event file"),
                html.P(["Watching ", html.Code(path), ". Runs appear here as soon as something is written there."]),
                html.Div(
                    [
                        html.Pre(html.Code(example)),
                        dmc.CopyButton(
                            value=example, children="Copy", copiedChildren="Copied", size="compact-xs", variant="light"
                        ),
                    ],
                    className="example",
                ),
                html.Ul(
                    [
                        html.Li("Event files of TensorBoard, PyTorch, TensorFlow, Keras and Lightning work unchanged."),
                        html.Li(["Their names contain ", html.Code("tfevents"), "; each directory with one is a run."]),
                        html.Li(["Another place? Start again with ", html.Code("stepscope --logdir DIR"), "."]),
                    ]
                ),
            ],
            className="empty",
        ),
        className="notice",
    )
