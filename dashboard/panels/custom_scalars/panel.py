"""The custom scalars panel: charts of several tags, as defined by layouts in the log directory."""

from dash import html
from fastapi import APIRouter

from stepscope.dashboard.curves.cards import curve_card
from stepscope.dashboard.curves.panel import CurvePanel
from stepscope.dashboard.panels.cards import Shown
from stepscope.dashboard.panels.custom_scalars.charts import card_keys, card_title, closed_categories, spec_of
from stepscope.dashboard.panels.custom_scalars.routes import layout_routes
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.summary.kinds.custom_scalars import PLUGIN_NAME


class CustomScalarsPanel(CurvePanel):
    """Charts arranged by a layout."""

    name = "custom_scalars"
    title = "Custom scalars"

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            keys=card_keys,
            card=card,
            spec_of=spec_of,
            settings=(),
            button=edit_button,
            nothing="No custom charts yet",
            remedy="Add one with Edit charts.",
            closed_at_first=closed_categories,
        )

    def router(self, live: Live) -> APIRouter | None:
        routes = super().router(live)
        if routes is not None:
            join(routes, layout_routes(live))
        return routes


def edit_button() -> html.Button:
    """Return the button that opens the layout editor."""
    return html.Button("Edit charts", className="quiet act-layout", title="Build and save custom charts")


def card(key: str, wide: bool, _on: Shown) -> html.Article:
    """Return the card of one chart, without its curves."""
    return curve_card("custom_scalars", key, card_title(key), wide)


PANEL = CustomScalarsPanel()
