"""Cards that ``curves/web/cards.ts`` fills with curves."""

from collections.abc import Sequence

from dash import ClientsideFunction, Dash, Input, Output, State, html

from stepscope.dashboard.curves.settings import CurveParameters
from stepscope.dashboard.page.controls import revision_input, scheme_input, setting_id, toggle_id, view_input
from stepscope.dashboard.panels.cards import FULL_WIDTH, Action, titled_card


def curve_card(
    panel: str, key: str, title: str, wide: bool, actions: Sequence[Action] = (), tags: Sequence[str] = ()
) -> html.Article:
    """Return a card without its chart, which the page adds.

    Args:
        panel: the panel's name.
        key: the chart's key in the panel's route.
        title: the card's title.
        wide: whether the card takes a whole row.
        actions: buttons besides those that every chart has.
        tags: the tags that the title consists of, if there are several.
    """
    body = html.Div(className="curve", tabIndex=-1)
    buttons = [
        Action("zoom_all", "Apply this zoom to all cards (Z)"),
        Action("reset", "Reset the zoom (double click)"),
        *actions,
        FULL_WIDTH,
        Action("full", "Fill the window"),
        Action("menu", "Settings, limits and downloads"),
    ]
    return titled_card(key, title, panel, wide, body, actions=buttons, tags=tags)


def register_curve_cards(app: Dash, panel: str, parameters: CurveParameters) -> None:
    """Register what the page's cards follow: the view, new data, and the color scheme."""
    app.clientside_callback(
        ClientsideFunction("stepscope", "curveNews"),
        Output(f"{panel}-drawn", "data"),
        view_input(panel),
        revision_input(panel),
        scheme_input(panel),
    )
    app.clientside_callback(
        ClientsideFunction("stepscope", "curveAxisChanged"),
        Output(f"{panel}-axis-tag", "style"),
        Input(setting_id(parameters.x_axis.name), "value"),
        Input(setting_id(parameters.x_tag.name), "value"),
        Input(setting_id(parameters.x_scale.name), "value"),
        Input(setting_id(parameters.y_scale.name), "value"),
        Input(toggle_id(parameters.outliers.name), "checked"),
        State(f"{panel}-axis-tag", "style"),
    )
