"""Base of the panels of scalars: controls of curves, a grid of cards that the page fills, and the data of both."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from dash import Dash, html
from fastapi import APIRouter

from stepscope.dashboard.curves.cards import register_curve_cards
from stepscope.dashboard.curves.routes import curve_routes
from stepscope.dashboard.curves.settings import CurveParameters
from stepscope.dashboard.curves.spec import ChartSpec
from stepscope.dashboard.curves.table_routes import scalar_routes
from stepscope.dashboard.curves.toolbar import curve_controls
from stepscope.dashboard.page.controls import tag_filter_input
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.card_grid import CardGrid
from stepscope.dashboard.panels.cards import Shown
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.server.late_routes import join
from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


class CurvePanel(Panel):
    """A panel of charts of scalars; a subclass has the panel's name and title.

    Args:
        kind: the kind of series that the panel requires.
        keys: the place and the key of every card, in order.
        card: makes the card of a key, without curves.
        spec_of: returns the lines of a card.
        settings: URL parameters of the panel besides those of curves and the grid.
        button: the element at the end of the toolbar.
        **grid: further arguments of the `CardGrid`.
    """

    def __init__(
        self,
        *,
        kind: str,
        keys: Callable[[Snapshot, View], Sequence[tuple[Place, str]]],
        card: Callable[[str, bool, Shown], Any],
        spec_of: Callable[[str, Snapshot, View], ChartSpec],
        settings: Sequence[Setting[Any]],
        button: Callable[[], html.Button],
        **grid: Any,
    ) -> None:
        self._kind: Final = kind
        self._spec_of: Final = spec_of
        self._button: Final = button
        self._curves: Final = CurveParameters(self.name)
        self._grid: Final = CardGrid(panel=self.name, keys=keys, card=card, **grid)
        self.settings: tuple[Setting[Any], ...] = (*self._curves.settings, *settings, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return self._kind in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        controls = [tag_filter_input(view), *curve_controls(self._curves, snapshot, view), self._button()]
        return html.Div(
            [
                html.Div(controls, className="toolbar"),
                *self._grid.layout(snapshot, view),
                html.Div(id="curve-dock"),
            ],
            className=f"panel {self.name.replace('_', '-')}",
        )

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        register_curve_cards(app, self.name, self._curves)

    def router(self, live: Live) -> APIRouter | None:
        routes = curve_routes(live, self._curves, self._spec_of, self._grid.first_keys)
        join(routes, scalar_routes(live, self._spec_of))
        return routes
