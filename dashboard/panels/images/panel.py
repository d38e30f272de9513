"""The images panel: galleries of images by tag, by run, or as film strips of steps."""

from typing import Final, cast

from dash import ClientsideFunction, Dash, Input, Output, dcc, html

from stepscope.dashboard.page.controls import setting_id
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import Draw, Shown, expected, shown_series, tag_keys, titled_card
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.panels.images.messages import CardData, CardSeries
from stepscope.dashboard.panels.images.routes import make_router
from stepscope.dashboard.panels.images.settings import BRIGHTNESS, CONTRAST, GROUP, SETTINGS, Group
from stepscope.dashboard.panels.images.toolbar import toolbar
from stepscope.dashboard.panels.steps import epoch
from stepscope.dashboard.server.arrays import TypedArray, typed
from stepscope.dashboard.server.live import Live
from stepscope.summary.kinds.image import PLUGIN_NAME
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

_RUN = "run:"
_TAG = "tag:"
MOST_EXPECTED: Final = 60
"""Maximum number of tiles with reserved space before their content is known."""


class ImagesPanel(CardPanel):
    """Images over steps."""

    name = "images"
    title = "Images"
    group = "Media"
    kinds = ("images",)

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="Images",
            keys=keys,
            card=card,
            depends=depends,
            draw=draw,
            toolbar=lambda _snapshot, view: toolbar(view),
            settings=SETTINGS,
            routes=make_router,
            nothing="No images in the visible runs",
        )

    def register(self, app: Dash, live: Live) -> None:
        super().register(app, live)
        app.clientside_callback(
            ClientsideFunction("stepscope", "resetAdjustments"),
            Output(setting_id(BRIGHTNESS.name), "value"),
            Output(setting_id(CONTRAST.name), "value"),
            Input("images-reset", "n_clicks"),
            prevent_initial_call=True,
        )


def keys(snapshot: Snapshot, view: View) -> list[tuple[Place, str]]:
    """Return a card for every tag, or for every run that has images."""
    if GROUP.of(view) == "run":
        runs = dict.fromkeys(series.run for series in shown_series(snapshot, view, PLUGIN_NAME))
        return [("Runs", _RUN + run) for run in runs]
    return [(group, _TAG + tag) for group, tag in tag_keys(snapshot, view, PLUGIN_NAME)]


def series_of(key: str, on: Shown) -> list[Series]:
    """Return the series that a card shows: those of its tag, or those of its run whose tags pass the filter."""
    if key.startswith(_TAG):
        return on.series_of_tag(key.removeprefix(_TAG), PLUGIN_NAME)
    run = key.removeprefix(_RUN)
    return [series for series in shown_series(on.snapshot, on.view, PLUGIN_NAME) if series.run == run]


def card(key: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of one tag or run, which ``images/web/mount.ts`` fills."""
    data = dcc.Store(id={"type": "images-data", "key": key})
    count = len(series_of(key, on))
    rows = (
        html.Div(className="room-strip", style={"--rows": count})
        if GROUP.of(on.view) == "step"
        else html.Div([html.I() for _ in range(min(count, MOST_EXPECTED))], className="room-tiles")
    )
    room = expected(rows)
    body = html.Div([data, room, html.Div(className="fill")], className="card-body")
    return titled_card(key, key.removeprefix(_TAG).removeprefix(_RUN), "images", wide, body)


def depends(key: str, on: Draw) -> object:
    """Return what a card depends on."""
    return GROUP.of(on.view), [(s.run, s.tag, s.version, on.colors[s.run]) for s in series_of(key, on)]


def draw(key: str, on: Draw) -> CardData:
    """Return the series of a card with their colors and steps; images are requested when they are viewed.

    Runs of one program mostly log at the same steps, so steps are sent once for all series that share them.
    """
    places: dict[bytes, int] = {}
    steps: list[TypedArray] = []
    drawn: list[CardSeries] = []
    for series in series_of(key, on):
        content = series.steps.tobytes()
        if content not in places:
            places[content] = len(steps)
            steps.append(typed(series.steps))
        color = on.colors[series.run]
        drawn.append(
            {
                "run": series.run,
                "tag": series.tag,
                "light": color.light,
                "dark": color.dark,
                "steps": places[content],
                "epoch": epoch(series),
            }
        )
    return {"key": key, "group": cast(Group, GROUP.of(on.view)), "series": drawn, "steps": steps}


PANEL = ImagesPanel()
