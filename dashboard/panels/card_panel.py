"""Panels whose cards the server draws: a toolbar, a grid of cards, and the page's functions that fill them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, Output, html
from fastapi import APIRouter

from stepscope.dashboard.page.controls import view_input
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.card_grid import CardGrid
from stepscope.dashboard.panels.cards import Draw, Shown
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


class CardPanel(Panel):
    """A panel of cards; each one has its own subclass with its name and title.

    The page has two functions for it: ``draw<Called>``, which is given what was drawn into all cards, and
    ``adjust<Called>``, which is called when the view has changed.

    Args:
        kind: the kind of series that the cards show.
        called: name of the page's functions, after "draw" and "adjust".
        keys: where each card belongs and its key, in order.
        card: the card of a key, without data.
        depends: what ``draw`` reads; while it is equal, a card is not redrawn.
        draw: draws a card.
        toolbar: what is above the cards.
        settings: what the panel keeps in the URL in addition to the grid's settings.
        routes: the panel's own HTTP routes.
        nothing: message for when no visible run has such data.
        target: the property that a card is drawn into: "data", or the "figure" of a chart.
        marks: attributes of the panel's element that its styles use; the element then has the id ``<name>-panel``.
        follows: what else ``adjust<Called>`` is called on, besides the view.
    """

    def __init__(
        self,
        *,
        kind: str,
        called: str,
        keys: Callable[[Snapshot, View], Sequence[tuple[Place, str]]],
        card: Callable[[str, bool, Shown], Any],
        depends: Callable[[str, Draw], object],
        draw: Callable[[str, Draw], Any],
        toolbar: Callable[[Snapshot, View], html.Div],
        settings: Sequence[Setting[Any]],
        routes: Callable[[Live], APIRouter],
        nothing: str,
        target: str = "data",
        marks: Callable[[View], Mapping[str, str]] | None = None,
        follows: Sequence[Callable[[str], Input]] = (),
    ) -> None:
        self._kind: Final = kind
        self._called: Final = called
        self._toolbar: Final = toolbar
        self._routes: Final = routes
        self._marks: Final = marks
        self._follows: Final = follows
        self._grid: Final = CardGrid(
            panel=self.name, keys=keys, card=card, target=target, depends=depends, draw=draw, nothing=nothing
        )
        self.settings: tuple[Setting[Any], ...] = (*settings, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return self._kind in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        marks = {} if self._marks is None else {"id": f"{self.name}-panel", **self._marks(view)}
        return html.Div(
            [self._toolbar(snapshot, view), *self._grid.layout(snapshot, view)],
            className=f"panel {self.name}",
            **marks,
        )

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        # Neither function returns anything, but Dash requires a separate output for each; two are the grid's.
        app.clientside_callback(
            ClientsideFunction("stepscope", f"draw{self._called}"),
            Output(f"{self.name}-visible", "id"),
            Input(self._grid.data_id_pattern, self._grid.target),
            prevent_initial_call=True,
        )
        app.clientside_callback(
            ClientsideFunction("stepscope", f"adjust{self._called}"),
            Output(f"{self.name}-kept", "id"),
            view_input(self.name),
            *(follow(self.name) for follow in self._follows),
        )

    def router(self, live: Live) -> APIRouter | None:
        return self._routes(live)
