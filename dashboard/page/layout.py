"""The layout around the panels: header, run list, and the place of the open panel."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Protocol

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from stepscope.dashboard.page.controls import example, pattern_input
from stepscope.dashboard.page.health_badge import READING_ID
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.markup import Later
from stepscope.dashboard.page.messages import Declared, PluginPage
from stepscope.dashboard.page.state import Setting
from stepscope.dashboard.page.theme import MANTINE


@cache
def own_ids() -> frozenset[str]:
    """Return the ids of the page's own elements, which no element of a panel may have."""
    parts = page((), (), None)._traverse()
    return frozenset(part.id for part in parts if isinstance(getattr(part, "id", None), str))


class Tab(Protocol):
    """A panel, as far as the page knows it."""

    @property
    def name(self) -> str:
        """The tab's value in the URL."""

    @property
    def title(self) -> str:
        """The tab's label."""

    @property
    def settings(self) -> Sequence[Setting[Any]]:
        """The settings that the panel keeps in the URL."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of data whose tags it shows."""

    @property
    def tag_ending(self) -> str:
        """A regular expression for the end of a stored tag that no card shows."""

    @property
    def group(self) -> str:
        """The title of the menu that it shares with other tabs if there is no room; empty for none."""

    @property
    def follows_runs(self) -> bool:
        """Whether the list of runs determines what the panel shows."""


EXAMPLE = """from stepscope import SummaryWriter

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
    "suppressDragLeaveHidesColumns": True,
    # Screen readers follow the order of the page.
    "ensureDomOrder": True,
    "localeText": {"noRowsToShow": "No run matches the search"},
    # Screen readers would be told that there are no rows before the first are here, which ``runs/web/table.ts`` tells.
    "loading": True,
    "suppressOverlays": ["loading", "noMatchingRows"],
    "tooltipShowDelay": 400,
}


def run_buttons() -> html.Div:
    """Return the buttons that switch runs on and off together."""
    return html.Div(
        [
            html.Button("All", id="runs-all", className="quiet", title="Show every run that matches the search"),
            html.Button("None", id="runs-none", className="quiet", title="Hide every run that matches the search"),
            html.Button(
                "Selected", id="runs-selected", className="quiet", title="Show only the selected runs", hidden=True
            ),
        ],
        className="run-buttons",
    )


def run_tools() -> html.Div:
    """Return the tools beside the run list; ``runs/web/settings.ts`` fills them and shows settings in their buttons."""
    return html.Div(
        [
            _opener("runs-group", "group", "Group", "Group runs and choose how groups are drawn"),
            _opener("runs-color", "droplet", "Color", "Choose what run colors represent"),
            _opener("runs-columns", "columns", "Columns", "Choose the columns of the runs table"),
            html.Button(
                icon("wide", 14),
                id="runs-widen",
                className="icon-button",
                title="Widen or narrow the table",
                **{"aria-label": "Widen the table of runs", "aria-pressed": "false"},
            ),
        ],
        className="run-tools",
    )


def _opener(name: str, icon_name: str, text: str, title: str) -> html.Button:
    return html.Button(
        [icon(icon_name, 13), html.Span(text)],
        id=name,
        className="quiet opener",
        title=title,
        **{"aria-haspopup": "dialog"},
    )


def run_list() -> dag.AgGrid:
    """Return the table of runs; ``runs/web/table.ts`` provides its columns and rows."""
    return dag.AgGrid(
        id="runs-grid",
        rowData=[],
        getRowId="params.data.id",
        columnDefs=[],
        dashGridOptions=GRID_OPTIONS,
        className="run-grid",
        style={"height": "100%", "width": "100%"},
    )


def run_search() -> html.Div:
    """Return the search over runs, and the button that explains it."""
    return html.Div(
        [
            pattern_input("run_filter", "", "Search runs", "Search runs by regular expression or condition"),
            html.Button(
                icon("help", 15),
                id="runs-help",
                className="icon-button",
                title="Search syntax",
                **{"aria-haspopup": "dialog", "aria-label": "Search syntax"},
            ),
        ],
        id="runs-search",
    )


def sidebar() -> html.Aside:
    """Return the table of runs with its search, tools, counts and legend."""
    return html.Aside(
        [
            html.Div(
                [html.H2("Runs"), html.Span(id="run-count", className="count"), run_buttons()],
                className="sidebar-head",
            ),
            run_search(),
            run_tools(),
            html.Div(id="runs-notes"),
            html.Div(Later(run_list()), className="run-grid-box"),
            html.Div(id="runs-legend"),
            html.Div(id="sidebar-grip", className="grip", title="Drag to resize, double-click to reset"),
        ],
        id="sidebar",
        tabIndex=-1,
        **{"aria-label": "Runs"},
    )


def theme_button() -> html.Button:
    """Return the button for the choice of light, system or dark; ``web/page/theme.ts`` shows the choice in it."""
    return html.Button(
        [icon(name, 15) for name in ("sun", "auto", "moon")],
        id="theme-button",
        className="icon-button",
        title="Theme",
        **{"aria-label": "Theme", "aria-haspopup": "menu"},
    )


def header() -> html.Header:
    """Return the header: logo, tabs, health, live indicator, theme."""
    return html.Header(
        [
            html.Button(
                icon("sidebar", 18),
                id="sidebar-toggle",
                className="icon-button",
                title="Hide or show the runs ([)",
                **{"aria-label": "Runs", "aria-controls": "sidebar"},
            ),
            html.Div([icon("logo", 22), html.H1("stepscope", className="wordmark")], className="logo"),
            dmc.Tabs(id="tabs", value=None, children=[], className="tabs"),
            html.Button(
                [html.Span(className="tab-names"), html.Span(className="count"), icon("chevron", 12)],
                id="tabs-more",
                className="quiet",
                hidden=True,
                title="More tabs",
                **{"aria-haspopup": "menu"},
            ),
            html.Div([], id=READING_ID, className="spacer"),
            html.Div(id="health"),
            html.Button(
                icon("search", 15),
                id="palette-open",
                className="icon-button",
                title="Find runs, tags and commands (Ctrl+K)",
                **{"aria-label": "Find runs, tags and commands"},
            ),
            html.Button(
                icon("link", 15),
                id="copy-link",
                className="icon-button",
                title="Copy a link to exactly this view",
                **{"aria-label": "Copy a link to exactly this view"},
            ),
            html.Button(
                [html.Span(className="dot"), html.Span("connecting", id="live-text")],
                id="live",
                **{"data-state": "connecting", "aria-live": "polite"},
            ),
            theme_button(),
        ]
    )


def _tag_setting(panel: Tab, others: Collection[str]) -> str:
    """Return the setting that a tag chosen in the palette is written to: panels of others have no tag filter."""
    if panel.name not in others:
        return "tag_filter"
    own = f"{panel.name}.tag"
    return own if any(setting.name == own for setting in panel.settings) else ""


def stores(
    settings: Sequence[Setting[Any]], panels: Sequence[Tab], plugins: list[PluginPage] | None
) -> list[dcc.Store]:
    """Return the stores of the page; see `stepscope.dashboard.page.state` for "view"."""
    others = {plugin["name"] for plugin in plugins or ()}
    declared: Declared = {
        "panels": [
            {
                "name": panel.name,
                "kinds": panel.kinds,
                "ending": panel.tag_ending,
                "tag_setting": _tag_setting(panel, others),
                "follows_runs": panel.follows_runs,
            }
            for panel in panels
        ],
        "values": {setting.name: list(setting.format(setting.default)) for setting in settings},
        "personal": [setting.name for setting in settings if setting.personal],
        "plugins": plugins,
        "former_names": {former: setting.name for setting in settings for former in setting.former_names},
        "former_values": {setting.name: dict(setting.former_values) for setting in settings if setting.former_values},
    }
    return [
        dcc.Store(id="view"),
        dcc.Store(id="defaults", data=declared),
        dcc.Store(id="runs-listing"),
        dcc.Store(id="runs-wanted", data=0),
        dcc.Store(id="revision"),
        dcc.Store(id="theme"),
        dcc.Store(id="scheme"),
        dcc.Store(id="panel-name"),
        dcc.Store(id="panel-again"),
        dcc.Store(id="frame-key", data={}),
        dcc.Store(id="plugin-failures"),
    ]


def page(
    settings: Sequence[Setting[Any]], panels: Sequence[Tab], plugins: list[PluginPage] | None = None
) -> dmc.MantineProvider:
    """Return the whole page, before any data.

    Args:
        settings: the settings that the page itself keeps in the URL; panels have their own.
        panels: the tabs.
        plugins: the panels of other distributions; None if none of them adds anything.
    """
    return dmc.MantineProvider(
        [
            *stores([*settings, *(setting for panel in panels for setting in panel.settings)], panels, plugins),
            html.Div(
                [
                    html.A("Skip to charts", id="skip", href="#panel"),
                    header(),
                    sidebar(),
                    html.Div(id="sidebar-scrim"),
                    html.Main(id="panel", children=loading("Connecting"), tabIndex=-1),
                ],
                id="frame",
            ),
        ],
        id="mantine",
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def tab_list(panels: Sequence[Tab]) -> dmc.TabsList:
    """Return one tab per panel; before the first of a group, the tab that replaces the group if room is short."""
    members = Counter(panel.group for panel in panels)
    begun = {""}
    tabs: list[Any] = []
    for panel in panels:
        grouped = members[panel.group] > 1 and panel.group != ""
        if grouped and panel.group not in begun:
            begun.add(panel.group)
            tabs.append(_group_tab(panel.group, [other.title for other in panels if other.group == panel.group]))
        tabs.append(
            dmc.TabsTab(
                panel.title,
                value=panel.name,
                leftSection=icon(panel.name, 15),
                className="in-group" if grouped else "",
            )
        )
    return dmc.TabsList(tabs)


def _group_tab(title: str, members: Sequence[str]) -> html.Button:
    """Return the tab that shows the open member, else the group, as wide as the longest label: ``web/page/tabs.ts``."""
    return html.Button(
        [html.Span([html.Span(text) for text in (title, *members)], className="tab-names"), icon("chevron", 12)],
        className="tab-group",
        role="tab",
        tabIndex=-1,
        title=f"{title}: {', '.join(members)}",
        **{"aria-haspopup": "menu", "aria-selected": "false"},
    )


def mounted(panel: Tab) -> list[Component]:
    """Return the elements that tell the page which panel is in it, and whether the run list belongs beside it."""
    return [
        html.Div(
            className="mounted" if panel.follows_runs else "mounted without-runs",
            hidden=True,
            **{"data-panel": panel.name},
        ),
        html.H2(panel.title, className="heard"),
    ]


def loading(text: str) -> html.Div:
    """Return a loading indicator."""
    return html.Div([dmc.Loader(size="sm"), html.Span(text)], className="notice loading")


def empty(path: str, missing: bool = False) -> html.Div:
    """Return the notice that there is no data yet: where the dashboard looks, and how to write some.

    Args:
        path: the log directory.
        missing: whether the directory does not exist yet.
    """
    where = ", which does not exist yet. Runs appear here" if missing else ". Runs appear here"
    return html.Div(
        html.Div(
            [
                icon("logo", 44),
                html.H1("Waiting for the first event file or trace"),
                html.P(["Watching ", html.Code(path), f"{where} as soon as something is written there."]),
                example(EXAMPLE.format(path=path)),
                html.Ul(
                    [
                        html.Li("Event files of TensorBoard, PyTorch, TensorFlow, Keras and Lightning work unchanged."),
                        html.Li(["Their names contain ", html.Code("tfevents"), "; each directory with one is a run."]),
                        html.Li(
                            [
                                "Traces are recognized by content, not by name. ",
                                html.Button("Open a trace", className="link open-trace", type="button"),
                                " of your own, or drop it here.",
                            ]
                        ),
                        html.Li(["Wrong folder? Restart with ", html.Code("stepscope --logdir DIR"), "."]),
                    ]
                ),
            ],
            className="empty",
        ),
        className="notice",
    )
