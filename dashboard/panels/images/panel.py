"""The images panel: one card per tag, with a picture of every shown run at one step."""

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from fastapi import APIRouter

from dashboard.arrays import typed
from dashboard.colors import RunColor
from dashboard.controls import segmented, setting_id, switch, tag_filter_input, view_input
from dashboard.icons import icon
from dashboard.live import Live
from dashboard.panels.cards import CardGrid, Draw, frame, tag_keys
from dashboard.panels.images.routes import make_router
from dashboard.state import Setting, View, choice, flag, names, number
from summary.kinds.image import PLUGIN_NAME
from summary.snapshot import Snapshot

BRIGHTNESS = number("images.brightness", 1.0, 0.0, 2.0)
CONTRAST = number("images.contrast", 1.0, 0.0, 5.0)
SIZE = choice("images.size", "fit", ("fit", "actual"))
LINK = flag("images.link", False)
STEPS = names("images.step")
"""``TAG:STEP`` for every card whose slider is not at the end."""


class ImagesPanel:
    """Pictures over steps."""

    name = "images"
    title = "Images"
    icon = "images"

    def __init__(self) -> None:
        self._grid = CardGrid(
            panel=self.name,
            keys=lambda snapshot, view: tag_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            target="data",
            depends=depends,
            draw=draw,
            nothing="No shown run has images",
        )
        self.settings: tuple[Setting[Any], ...] = (BRIGHTNESS, CONTRAST, SIZE, LINK, STEPS, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return PLUGIN_NAME in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div([toolbar(view), *self._grid.layout(snapshot, view)], className="panel images")

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        app.clientside_callback(
            ClientsideFunction("stepscope", "drawImages"),
            Output("images-drawn", "id"),
            Input(self._grid.data_id_pattern, "data"),
            prevent_initial_call=True,
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "adjustImages"),
            Output("images-visible", "id"),
            view_input(self.name),
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", "resetAdjustments"),
            Output(setting_id(BRIGHTNESS.name), "value"),
            Output(setting_id(CONTRAST.name), "value"),
            Input("images-reset", "n_clicks"),
            prevent_initial_call=True,
        )

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def toolbar(view: View) -> html.Div:
    """Tag filter, brightness, contrast, size, link."""
    return html.Div(
        [
            tag_filter_input(view),
            adjustment(BRIGHTNESS, view, "Brightness", 2.0),
            adjustment(CONTRAST, view, "Contrast", 5.0),
            html.Button(
                icon("reset", 14),
                id="images-reset",
                className="icon-button",
                title="Brightness and contrast as in the pictures",
            ),
            segmented(SIZE, view, {"fit": "Fit", "actual": "Actual size"}, "Size of pictures"),
            switch(LINK, view, "Link steps of all cards"),
        ],
        className="toolbar",
    )


def adjustment(setting: Setting[float], view: View, label: str, most: float) -> html.Label:
    """A slider for a factor, 1 in the pictures themselves; its value stands beside it in percent."""
    slider = dmc.Slider(
        id=setting_id(setting.name),
        value=setting.of(view),
        min=0,
        max=most,
        step=0.01,
        precision=2,
        size="xs",
        updatemode="drag",
        label=None,
        className="adjust",
        **{"aria-label": label},
    )
    shown = html.Output(f"{setting.of(view):.0%}", className="adjusted", **{"data-setting": setting.name})
    return html.Label([html.Span(label), slider, shown], className="field")


def card(tag: str, wide: bool, colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag, which ``assets/images.js`` fills."""
    data = dcc.Store(id={"type": "images-data", "key": tag})
    return frame(tag, tag, "images", wide, html.Div([data, html.Div(className="fill")], className="card-body"))


def depends(tag: str, on: Draw) -> object:
    """What a card is made of."""
    return [(series.run, series.version) for series in on.series_of_tag(tag, PLUGIN_NAME)]


def draw(tag: str, on: Draw) -> dict[str, Any]:
    """Runs of a card with their colours, steps and wall times; the pictures are asked for when they are looked at."""
    return {
        "tag": tag,
        "runs": [
            {
                "run": series.run,
                "light": on.colors[series.run].light,
                "dark": on.colors[series.run].dark,
                "steps": typed(series.steps),
                "walls": typed(series.wall_times),
            }
            for series in on.series_of_tag(tag, PLUGIN_NAME)
        ],
    }
