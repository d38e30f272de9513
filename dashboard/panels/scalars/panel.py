"""The scalars panel: one card per tag, all cards drawn by one callback."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import dash
import dash_mantine_components as dmc
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from fastapi import APIRouter

from dashboard.colors import Scheme, assign_colors
from dashboard.controls import (
    fingerprint,
    off_loop,
    pattern_input,
    revision_input,
    scheme_input,
    segmented,
    setting_id,
    switch,
    toggle_id,
    view_input,
)
from dashboard.live import Live
from dashboard.panels.scalars.cards import Group, arrange, parse_pages, section
from dashboard.panels.scalars.figures import Chart, ChartSettings, RunCurve, XAxis, YScale, Zoom, scalar_chart
from dashboard.state import View, choice, decode, flag, names, number, pattern_error
from summary.snapshot import SCALARS, Snapshot

SMOOTHING = number("scalars.smoothing", 0.6, 0.0, 0.999)
X_AXIS = choice("scalars.axis", "step", ("step", "relative", "wall"))
Y_SCALE = choice("scalars.y", "linear", ("linear", "log"))
OUTLIERS = flag("scalars.ignore_outliers", False)
OPENED = names("scalars.open")
CLOSED = names("scalars.closed")
PAGES = names("scalars.page")
WIDE = names("scalars.wide")


class ScalarsPanel:
    """Curves of numbers over steps or time."""

    name = "scalars"
    title = "Scalars"
    icon = "scalars"
    settings = (SMOOTHING, X_AXIS, Y_SCALE, OUTLIERS, OPENED, CLOSED, PAGES, WIDE)

    def has_data(self, snapshot: Snapshot) -> bool:
        return SCALARS in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        groups = arranged(snapshot, view)
        return html.Div(
            [
                dcc.Store(id="scalars-arranged", data=structure(groups)),
                dcc.Store(id="scalars-visible", data=[]),
                dcc.Store(id="scalars-zoom", data={}),
                dcc.Store(id="scalars-drawn", data={}),
                toolbar(view),
                html.Div(sections(groups, view), id="scalars-groups", className="groups"),
            ],
            className="panel scalars",
        )

    def register(self, app: Dash, live: Live) -> None:
        register_arrange(app, live)
        register_draw(app, live)
        app.clientside_callback(
            ClientsideFunction("stepscope", "showSmoothing"),
            Output("smoothing-value", "children"),
            Input(setting_id(SMOOTHING.name), "value"),
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "dropZoom"),
            Output("scalars-zoom", "data"),
            Input(setting_id(X_AXIS.name), "value"),
            Input(setting_id(Y_SCALE.name), "value"),
            Input(toggle_id(OUTLIERS.name), "checked"),
            prevent_initial_call=True,
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "page"),
            Output("scalars-arranged", "id"),
            Input({"type": "scalars-page", "group": ALL}, "value"),
            prevent_initial_call=True,
        )

    def router(self, live: Live) -> APIRouter | None:
        return None


def toolbar(view: View) -> html.Div:
    """Tag filter, smoothing, axes."""
    return html.Div(
        [
            pattern_input("tag_filter", view.tag_filter, "Filter tags (regex)", "Filter tags by regular expression"),
            html.Label(
                [
                    html.Span("Smoothing"),
                    dmc.Slider(
                        id=setting_id(SMOOTHING.name),
                        value=SMOOTHING.of(view),
                        min=0,
                        max=0.999,
                        step=0.001,
                        precision=3,
                        size="xs",
                        updatemode="drag",
                        label=None,
                        className="smoothing",
                        attributes={"thumb": {"aria-label": "Smoothing"}},
                    ),
                    html.Output(f"{SMOOTHING.of(view):.3g}", id="smoothing-value"),
                ],
                className="field",
            ),
            segmented(X_AXIS, view, {"step": "Step", "relative": "Relative", "wall": "Wall"}, "Horizontal axis"),
            segmented(Y_SCALE, view, {"linear": "Linear", "log": "Log"}, "Vertical scale"),
            switch(OUTLIERS, view, "Ignore outliers"),
        ],
        className="toolbar",
    )


def scalar_tags(snapshot: Snapshot, runs: Sequence[str]) -> list[str]:
    """Tags of all runs together: those with a common prefix stay in order of first appearance."""
    seen: dict[str, None] = {}
    for run in runs:
        for series in snapshot.runs[run].of_kind(SCALARS):
            seen.setdefault(series.tag)
    return list(seen)


def arranged(snapshot: Snapshot, view: View) -> list[Group]:
    """The groups of cards that the view asks for; tags of runs that are not shown have no card."""
    tags = view.shown_tags(scalar_tags(snapshot, view.shown_runs(snapshot.runs)))
    return arrange(tags, OPENED.of(view), CLOSED.of(view), parse_pages(PAGES.of(view)))


def sections(groups: Sequence[Group], view: View) -> list[Any]:
    """The groups, or why there are none."""
    if not groups:
        why = "No tag matches the filter" if view.tag_filter else "No shown run has scalars"
        return [
            html.Div([html.Strong(why), html.Span("Change the filter or show more runs.")], className="notice none")
        ]
    wide = frozenset(WIDE.of(view))
    return [section(group, wide) for group in groups]


def structure(groups: Sequence[Group]) -> dict[str, Any]:
    """What is mounted, small enough to travel: when it is unchanged the cards stay as they are."""
    return {
        "order": [group.name for group in groups],
        "counts": [len(group.tags) for group in groups],
        "cards": {group.name: list(group.on_page) if group.open else [] for group in groups},
    }


def still_fits(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the mounted cards serve the new structure: closing a group only hides its cards."""
    if old.get("order") != new["order"] or old.get("counts") != new["counts"]:
        return False
    return all(not tags or old["cards"].get(name) == tags for name, tags in new["cards"].items())


def register_arrange(app: Dash, live: Live) -> None:
    """Mounts cards when groups, pages or tags changed."""

    @app.callback(
        Output("scalars-groups", "children"),
        Output("scalars-arranged", "data"),
        Output(setting_id("tag_filter"), "error"),
        view_input(ScalarsPanel.name),
        revision_input(ScalarsPanel.name),
        State("scalars-arranged", "data"),
        prevent_initial_call=True,
    )
    @off_loop
    def update_cards(query: str, _revision: int | None, mounted: dict[str, Any]) -> Any:
        view = decode(query)
        error = pattern_error(view.tag_filter)
        groups = arranged(live.snapshot(), view)
        wanted = structure(groups)
        if still_fits(mounted, wanted):
            return no_update, no_update, error
        return sections(groups, view), wanted, error


def register_draw(app: Dash, live: Live) -> None:
    """Draws every card that is on the screen and out of date, all at once."""

    @app.callback(
        Output({"type": "scalars-graph", "tag": ALL}, "figure"),
        Output({"type": "scalars-note", "tag": ALL}, "children"),
        Output("scalars-drawn", "data"),
        view_input(ScalarsPanel.name),
        revision_input(ScalarsPanel.name),
        scheme_input(ScalarsPanel.name),
        Input("scalars-visible", "data"),
        Input("scalars-zoom", "data"),
        Input("scalars-arranged", "data"),
        State({"type": "scalars-graph", "tag": ALL}, "id"),
        State("scalars-drawn", "data"),
    )
    @off_loop
    def draw(
        query: str | None,
        _revision: int | None,
        scheme: Scheme | None,
        visible: list[str],
        zoom: dict[str, list[float]],
        mounted: dict[str, Any],
        ids: list[dict[str, str]],
        drawn: dict[str, str],
    ) -> Any:
        if query is None or scheme is None or not ids:
            raise dash.exceptions.PreventUpdate
        view = decode(query)
        snapshot = live.snapshot()
        settings = chart_settings(view)
        colors = assign_colors(snapshot.runs)
        shown = view.shown_runs(snapshot.runs)
        epoch = fingerprint(mounted)
        on_screen = set(visible)
        figures: list[Any] = []
        notes: list[Any] = []
        keys: dict[str, str] = {}
        for tag in (entry["tag"] for entry in ids):
            before = drawn.get(tag, "")
            found = [s for s in (snapshot.series(run, tag) for run in shown) if s is not None and s.kind == SCALARS]
            zoomed = parse_zoom(zoom.get(tag))
            versions = [(s.run, s.version, colors[s.run].light) for s in found]
            key = fingerprint((epoch, settings, scheme, zoomed, versions))
            if key == before or tag not in on_screen:
                figures.append(no_update)
                notes.append(no_update)
                keys[tag] = before
                continue
            curves = [RunCurve(s.run, colors[s.run], s.columns) for s in found]
            chart: Chart = scalar_chart(curves, settings, scheme, zoomed)
            figures.append(chart.figure)
            notes.append(chart.note)
            keys[tag] = key
        if keys == drawn:
            raise dash.exceptions.PreventUpdate
        return figures, notes, keys


def chart_settings(view: View) -> ChartSettings:
    """The view's settings for charts; wall time is printed in the server's time zone."""
    return ChartSettings(
        smoothing=SMOOTHING.of(view),
        x_axis=cast(XAxis, X_AXIS.of(view)),
        y_scale=cast(YScale, Y_SCALE.of(view)),
        ignore_outliers=OUTLIERS.of(view),
        utc_offset=float(time.localtime().tm_gmtoff),
    )


def parse_zoom(raw: Any) -> Zoom | None:
    """The visible part of a chart as the page reports it, [x0, x1, y0, y1]; None where that makes no sense."""
    if not (isinstance(raw, list) and len(raw) == 4 and all(isinstance(edge, (int, float)) for edge in raw)):
        return None
    x0, x1, y0, y1 = (float(edge) for edge in raw)
    return Zoom((x0, x1), (y0, y1)) if x0 < x1 and y0 < y1 else None
