"""The scalars panel: one card per tag, with a curve of every shown run."""

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
from dashboard.panels.cards import CardGrid, action
from dashboard.panels.scalars.arrangement import card_keys, combined_tags, spec_of
from dashboard.panels.scalars.settings import CURVES, SETTINGS
from dashboard.server.live import Live
from summary.series import SCALARS
from summary.snapshot import Snapshot


class ScalarsPanel(Panel):
    """Curves of numbers over steps or time."""

    name = "scalars"
    title = "Scalars"
    kinds = ("scalars",)

    def __init__(self) -> None:
        self._grid = CardGrid(panel=self.name, keys=card_keys, card=card, nothing="No shown run has scalars")
        self.settings: tuple[Setting[Any], ...] = (*SETTINGS, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return SCALARS in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        lay_out = html.Button("Layout", className="quiet act-layout", title="Lay out charts of several tags for good")
        controls = [tag_filter_input(view), *curve_controls(CURVES, snapshot, view), lay_out]
        toolbar = html.Div(controls, className="toolbar")
        return html.Div(
            [toolbar, *self._grid.layout(snapshot, view), html.Div(id="curve-dock")], className="panel scalars"
        )

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        register_curve_cards(app, self.name, CURVES)

    def router(self, live: Live) -> APIRouter | None:
        routes = curve_routes(live, CURVES, spec_of, self._grid.first_keys)
        routes.include_router(scalar_routes(live, spec_of))
        return routes


def card(key: str, wide: bool, _colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag, or of several combined, still without its chart."""
    combined = combined_tags(key)
    title = key if combined is None else " + ".join((*combined[0], *combined[1]))
    actions = [action("pin", "Pin to the top"), action("combine", "Combine with other tags")]
    return curve_card("scalars", key, title, wide, actions)


PANEL = ScalarsPanel()
