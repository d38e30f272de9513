"""The scalars panel: one card per tag, with a curve of every shown run."""

from collections.abc import Mapping
from math import inf
from typing import Any, cast

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, html
from fastapi import APIRouter

from dashboard.colors import RunColor
from dashboard.controls import segmented, setting_id, switch, tag_filter_input, toggle_id
from dashboard.live import Live
from dashboard.panels.cards import CardGrid, Draw, action, frame, full_width, tag_keys
from dashboard.panels.charts import chart_body, utc_offset
from dashboard.panels.scalars.figures import ChartSettings, RunCurve, XAxis, YScale, Zoom, scalar_chart
from dashboard.state import Setting, View, choice, flag, number
from summary.snapshot import SCALARS, Snapshot

SMOOTHING = number("scalars.smoothing", 0.6, 0.0, 0.999)
X_AXIS = choice("scalars.axis", "step", ("step", "relative", "wall"))
Y_SCALE = choice("scalars.y", "linear", ("linear", "log"))
OUTLIERS = flag("scalars.ignore_outliers", False)


class ScalarsPanel:
    """Curves of numbers over steps or time."""

    name = "scalars"
    title = "Scalars"
    icon = "scalars"

    def __init__(self) -> None:
        self._grid = CardGrid(
            panel=self.name,
            keys=lambda snapshot, view: tag_keys(snapshot, view, SCALARS),
            card=card,
            target="figure",
            depends=depends,
            draw=draw,
            nothing="No shown run has scalars",
        )
        self.settings: tuple[Setting[Any], ...] = (SMOOTHING, X_AXIS, Y_SCALE, OUTLIERS, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return SCALARS in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div([toolbar(view), *self._grid.layout(snapshot, view)], className="panel scalars")

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        app.clientside_callback(
            ClientsideFunction("stepscope", "showSmoothing"),
            Output("smoothing-value", "children"),
            Input(setting_id(SMOOTHING.name), "value"),
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "dropZoom"),
            Output("scalars-kept", "data"),
            Input(setting_id(X_AXIS.name), "value"),
            Input(setting_id(Y_SCALE.name), "value"),
            Input(toggle_id(OUTLIERS.name), "checked"),
            prevent_initial_call=True,
        )

    def router(self, live: Live) -> APIRouter | None:
        return None


def toolbar(view: View) -> html.Div:
    """Tag filter, smoothing, axes."""
    return html.Div(
        [
            tag_filter_input(view),
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


def card(tag: str, wide: bool, _colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag, still without its chart."""
    actions = [action("reset", "Reset the zoom"), full_width(), action("download", "Download")]
    return frame(tag, tag, "scalars", wide, chart_body({"type": "scalars-data", "key": tag}), actions=actions)


def depends(tag: str, on: Draw) -> object:
    """What the chart of a card is made of."""
    versions = [(s.run, s.version, on.colors[s.run].light) for s in on.series_of_tag(tag, SCALARS)]
    return (chart_settings(on.view), on.scheme, parse_zoom(on.kept.get(tag)), versions)


def draw(tag: str, on: Draw) -> dict[str, Any]:
    """The figure of a card."""
    curves = [RunCurve(s.run, on.colors[s.run], s.columns) for s in on.series_of_tag(tag, SCALARS)]
    zoom = parse_zoom(on.kept.get(tag))
    return scalar_chart(curves, chart_settings(on.view), on.scheme, zoom).with_meta()


def chart_settings(view: View) -> ChartSettings:
    """The view's settings for charts; wall time is printed in the server's time zone."""
    return ChartSettings(
        smoothing=SMOOTHING.of(view),
        x_axis=cast(XAxis, X_AXIS.of(view)),
        y_scale=cast(YScale, Y_SCALE.of(view)),
        ignore_outliers=OUTLIERS.of(view),
        utc_offset=utc_offset(),
    )


def parse_zoom(raw: Any) -> Zoom | None:
    """The visible part of a chart as the page reports it, [x0, x1, y0, y1]; None where that makes no sense."""
    if not (isinstance(raw, list) and len(raw) == 4 and all(isinstance(edge, (int, float)) for edge in raw)):
        return None
    try:
        x0, x1, y0, y1 = (float(edge) for edge in raw)
    except OverflowError:
        return None
    return Zoom((x0, x1), (y0, y1)) if -inf < x0 < x1 < inf and -inf < y0 < y1 < inf else None
