"""The custom scalars panel: charts of several tags, as layouts in the log directory say."""

from collections.abc import Mapping
from typing import Any

from dash import Dash, html
from fastapi import APIRouter

from dashboard.curves.cards import curve_card, register_curve_cards
from dashboard.curves.routes import curve_routes
from dashboard.curves.table_routes import scalar_routes
from dashboard.curves.toolbar import curve_controls
from dashboard.page.colors import RunColor
from dashboard.page.controls import tag_filter_input
from dashboard.page.state import Setting, View
from dashboard.panels.base import Panel
from dashboard.panels.cards import CardGrid
from dashboard.panels.custom_scalars.charts import card_keys, card_title, closed_categories, spec_of
from dashboard.panels.custom_scalars.routes import layout_routes
from dashboard.panels.custom_scalars.settings import CURVES, SETTINGS
from dashboard.server.live import Live
from summary.kinds.custom_scalars import PLUGIN_NAME
from summary.snapshot import Snapshot


class CustomScalarsPanel(Panel):
    """Charts that somebody laid out."""

    name = "custom_scalars"
    title = "Custom scalars"

    def __init__(self) -> None:
        self._grid = CardGrid(
            panel=self.name,
            keys=card_keys,
            card=card,
            nothing="No layout has a chart",
            remedy="Edit layout adds one.",
            closed_at_first=closed_categories,
        )
        self.settings: tuple[Setting[Any], ...] = (*SETTINGS, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return PLUGIN_NAME in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        edit = html.Button("Edit layout", className="quiet act-layout", title="Change the charts and save the layout")
        controls = [tag_filter_input(view), *curve_controls(CURVES, snapshot, view), edit]
        return html.Div(
            [
                html.Div(controls, className="toolbar"),
                *self._grid.layout(snapshot, view),
                html.Div(id="curve-dock"),
            ],
            className="panel custom-scalars",
        )

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        register_curve_cards(app, self.name, CURVES)

    def router(self, live: Live) -> APIRouter | None:
        routes = curve_routes(live, CURVES, spec_of, self._grid.first_keys)
        routes.include_router(scalar_routes(live, spec_of))
        routes.include_router(layout_routes(live))
        return routes


def card(key: str, wide: bool, _colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one chart, still without its curves."""
    return curve_card("custom_scalars", key, card_title(key), wide)


PANEL = CustomScalarsPanel()
