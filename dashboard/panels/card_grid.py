"""A grid of cards that any panel can use: which cards exist, and the parts of the page around them.

``web/cards/grid.ts`` does what must respond instantly: collapsing and expanding sections, pages, full width, columns,
and which cards are on the screen.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, cast, get_args

import dash
import dash_mantine_components as dmc
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from stepscope.dashboard.page.colors import Scheme
from stepscope.dashboard.page.controls import revision_input, scheme_input, setting_id, short_select, view_input
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View, choice, data_choice, decode, names, pattern_error
from stepscope.dashboard.panels.cards import Draw, Shown, action
from stepscope.dashboard.panels.groups import (
    Arrangement,
    Fold,
    Group,
    Place,
    arrange,
    mounted_keys,
    parse_pages,
    still_fits,
    structure,
)
from stepscope.dashboard.server.answers import once_per_revision
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import count
from stepscope.summary.snapshot import Snapshot

COLUMNS: Final = {"auto": "Auto", "1": "1 column"} | {str(n): f"{n} columns" for n in range(2, 7)}
"""Cards side by side: as many as fit, or a fixed number."""


class GridParameters:
    """The URL parameters of a panel of cards."""

    def __init__(self, panel: str) -> None:
        self.opened: Final = names(f"{panel}.open")
        """Sections that the user opened."""
        self.closed: Final = names(f"{panel}.closed")
        self.pages: Final = names(f"{panel}.page")
        """SECTION:PAGE, if it is not the first page."""
        self.wide: Final = names(f"{panel}.wide")
        """Keys of the cards at full width."""
        self.fold: Final = data_choice(f"{panel}.fold", get_args(Fold))
        """Which other sections are open."""
        self.sections: Final = names(f"{panel}.sections")
        """Sections in the order that the user gave them, before the others at their level."""
        self.columns: Final = choice(f"{panel}.columns", "auto", list(COLUMNS))

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        """All parameters."""
        return self.opened, self.closed, self.pages, self.wide, self.fold, self.sections, self.columns


@dataclass(frozen=True)
class CardGrid:
    """The cards of one panel.

    A card's key is a tag, or the `pair_key` of a tag and a run.
    """

    panel: str
    keys: Callable[[Snapshot, View], Sequence[tuple[Place, str]]]
    """Where each card belongs and its key, in order."""
    card: Callable[[str, bool, Shown], Any]
    """Makes the card of a key, without data but with room for the data, given whether it takes the full width."""
    nothing: str
    """Message for when no visible run has such data."""
    remedy: str = "Click the color of a run in the list to show it."
    """What to do about it."""
    closed_at_first: Callable[[Snapshot, View], frozenset[str]] = lambda _snapshot, _view: frozenset()
    """Sections that are closed until the user opens them."""
    card_order: Callable[[View], Sequence[str]] = lambda _view: ()
    """Keys of cards in the order that the user gave them within their sections."""
    target: str = "data"
    """Property of the component `data_id` that a card is drawn into: the "figure" of a chart, or "data"."""
    depends: Callable[[str, Draw], object] | None = None
    """What `draw` reads; while it is equal, the card is not redrawn."""
    draw: Callable[[str, Draw], Any] | None = None
    """Draws a card; None if the page itself fetches what its cards show."""

    @cached_property
    def parameters(self) -> GridParameters:
        """What the grid keeps in the URL."""
        return GridParameters(self.panel)

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        """All settings of `parameters`."""
        return self.parameters.settings

    def data_id(self, key: str) -> dict[str, str]:
        """Return the id of the component that a card is drawn into."""
        return {"type": f"{self.panel}-data", "key": key}

    @property
    def data_id_pattern(self) -> dict[str, Any]:
        """Pattern that matches the `data_id` of every card."""
        return {"type": f"{self.panel}-data", "key": ALL}

    def groups(self, snapshot: Snapshot, view: View) -> list[Group]:
        """Return the sections of cards that the view asks for."""
        kept = self.parameters
        fold = cast(Fold, kept.fold.of(view))
        return arrange(
            self.keys(snapshot, view),
            Arrangement(
                opened=kept.opened.of(view),
                closed=(*kept.closed.of(view), *(self.closed_at_first(snapshot, view) if fold == "auto" else ())),
                pages=parse_pages(kept.pages.of(view)),
                fold=fold,
                sections=kept.sections.of(view),
                cards=self.card_order(view),
            ),
        )

    def first_keys(self, snapshot: Snapshot, view: View) -> list[str]:
        """Return the keys of the mounted cards, in order."""
        return [key for group in self.groups(snapshot, view) for key in group.mounted()]

    def layout(self, snapshot: Snapshot, view: View) -> list[Any]:
        """Return the grid and its stores."""
        groups = self.groups(snapshot, view)
        return [
            dcc.Store(id=f"{self.panel}-arranged", data=mounted_as(groups, self._notice(groups, view), 0)),
            dcc.Store(id=f"{self.panel}-visible", data=[]),
            dcc.Store(id=f"{self.panel}-kept", data={}),
            dcc.Store(id=f"{self.panel}-drawn", data={}),
            html.Div(
                [
                    action("collapse", "Collapse all sections"),
                    action("expand", "Expand all sections"),
                    short_select(
                        self.parameters.columns,
                        view,
                        COLUMNS,
                        "Columns of cards",
                        leftSection=icon("columns", 14),
                        comboboxProps={"width": "max-content", "position": "bottom-end"},
                        className="columns-select",
                    ),
                ],
                className="grid-bar",
            ),
            html.Div(
                self._sections(groups, snapshot, view),
                id=f"{self.panel}-groups",
                className="groups",
                style=column_style(groups),
                **{"data-panel": self.panel, "data-columns": self.parameters.columns.of(view)},
            ),
        ]

    def register(self, app: Dash, live: Live) -> None:
        """Add the callbacks that mount and draw the cards."""
        self._register_arrange(app, live)
        if self.draw is not None and self.depends is not None:
            self._register_draw(app, live, self.draw, self.depends)
        app.clientside_callback(
            ClientsideFunction("stepscope", "cardPage"),
            Output(f"{self.panel}-arranged", "id"),
            Input({"type": "card-page", "panel": self.panel, "group": ALL}, "value"),
            prevent_initial_call=True,
        )
        if self.target == "figure":
            app.clientside_callback(
                ClientsideFunction("stepscope", "noteCharts"),
                Output(f"{self.panel}-drawn", "id"),
                Input(self.data_id_pattern, "figure"),
                prevent_initial_call=True,
            )

    def _notice(self, groups: Sequence[Group], view: View) -> tuple[str, ...]:
        """Return why there are no cards, and what to do about it; empty where there are some."""
        if groups:
            return ()
        if view.tag_filter:
            return "No tag matches the filter", "Change the filter above, or show more runs."
        if view.run_filter:
            return self.nothing, "Change the run search, or show more runs."
        return self.nothing, self.remedy

    def _sections(self, groups: Sequence[Group], snapshot: Snapshot, view: View) -> list[Any]:
        if not groups:
            why, change = self._notice(groups, view)
            return [html.Div([html.Strong(why), html.Span(change)], className="notice none")]
        on = Shown(snapshot, view)
        return [html.Div(self._section(group, on), id=self._section_id(group.name)) for group in groups]

    def _section_id(self, name: Any) -> dict[str, Any]:
        """Return the id of an outermost section's element."""
        return {"type": "card-section", "panel": self.panel, "name": name}

    def _section(self, group: Group, on: Shown) -> html.Section:
        wide = frozenset(self.parameters.wide.of(on.view))
        keys, inner = (group.on_page, group.groups) if group.open else ((), ())
        page = {"type": "card-page", "panel": self.panel, "group": group.name}
        pager = [dmc.Pagination(id=page, total=group.pages, value=group.page, size="xs")] if group.pages > 1 else []
        toggle = html.Button(
            [
                icon("chevron", 14),
                html.Span(section_title(group), className="group-name", title=group.name),
                html.Span(count(group.count), className="count"),
            ],
            className="group-toggle",
            **{"aria-expanded": "true" if group.open else "false"},
        )
        head = [toggle, action("section", "Move this section"), *(pager if group.open else [])]
        return html.Section(
            [
                html.Div(head, className="group-head"),
                html.Div([self.card(key, key in wide, on) for key in keys], className="cards"),
                html.Div([self._section(one, on) for one in inner], className="inner-groups"),
            ],
            className="group open" if group.open else "group",
            **{"data-group": group.name},
            **({"data-earlier": json.dumps(group.earlier)} if group.open and group.earlier else {}),
        )

    def _register_arrange(self, app: Dash, live: Live) -> None:
        @app.callback(
            Output(f"{self.panel}-groups", "children"),
            Output(f"{self.panel}-groups", "style"),
            Output(self._section_id(ALL), "children"),
            Output(f"{self.panel}-arranged", "data"),
            Output(setting_id("tag_filter"), "error", allow_duplicate=True),
            view_input(self.panel),
            revision_input(self.panel),
            State(f"{self.panel}-arranged", "data"),
            State(self._section_id(ALL), "id"),
            prevent_initial_call=True,
        )
        @partial(once_per_revision, live)
        def arrange_cards(query: str, _revision: int | None, mounted: dict[str, Any], ids: list[dict[str, str]]) -> Any:
            view = decode(query)
            error = pattern_error(view.tag_filter)
            snapshot = live.snapshot()
            groups = self.groups(snapshot, view)
            same: list[Any] = [no_update] * len(ids)
            wanted = mounted_as(groups, self._notice(groups, view), mounted["mount"] + 1)
            style = column_style(groups)
            before, now = mounted["sections"], wanted["sections"]
            order = [one["of"]["name"] for one in before]
            if order != [group.name for group in groups] or mounted["notice"] != wanted["notice"]:
                return self._sections(groups, snapshot, view), style, same, wanted, error
            changed: dict[str, Any] = {}
            on = Shown(snapshot, view)
            for at, group in enumerate(groups):
                if still_fits(before[at]["of"], now[at]["of"]):
                    now[at] = before[at]
                else:
                    changed[group.name] = self._section(group, on)
            if not changed:
                return no_update, no_update, same, no_update, error
            return no_update, style, [changed.get(one["name"], no_update) for one in ids], wanted, error

    def _register_draw(
        self, app: Dash, live: Live, draw: Callable[[str, Draw], Any], depends: Callable[[str, Draw], object]
    ) -> None:
        @app.callback(
            Output(self.data_id_pattern, self.target),
            Output(f"{self.panel}-drawn", "data"),
            view_input(self.panel),
            revision_input(self.panel),
            scheme_input(self.panel),
            Input(f"{self.panel}-visible", "data"),
            Input(f"{self.panel}-kept", "data"),
            Input(f"{self.panel}-arranged", "data"),
            State(self.data_id_pattern, "id"),
            State(f"{self.panel}-drawn", "data"),
        )
        @partial(once_per_revision, live)
        def draw_cards(
            query: str | None,
            _revision: int | None,
            scheme: Scheme | None,
            visible: list[str],
            kept: dict[str, Any],
            mounted: dict[str, Any],
            ids: list[dict[str, str]],
            drawn: dict[str, str],
        ) -> Any:
            if query is None or scheme is None or not ids:
                raise dash.exceptions.PreventUpdate
            on = Draw(live.snapshot(), decode(query), scheme, kept)
            epochs = {
                key: fingerprint(section) for section in mounted["sections"] for key in mounted_keys(section["of"])
            }
            on_screen = set(visible)
            pieces: list[Any] = []
            prints: dict[str, str] = {}
            for key in (entry["key"] for entry in ids):
                before = drawn.get(key, "")
                now = fingerprint((epochs.get(key), depends(key, on))) if key in on_screen else before
                pieces.append(no_update if now == before else draw(key, on))
                prints[key] = now
            if prints == drawn:
                raise dash.exceptions.PreventUpdate
            return pieces, prints


def column_style(groups: Iterable[Group]) -> dict[str, Any]:
    """Return a style with the number of cards in the largest section: more columns would stay empty."""
    return {"--most": max((len(group.keys) for one in groups for group in one.all()), default=1)}


def section_title(group: Group) -> list[Any]:
    """Return a section's title; what the enclosing sections already say is dimmed."""
    around = group.name.removesuffix(group.label)
    return [html.Span(around, className="dim"), group.label] if around not in ("", group.name) else [group.label]


def mounted_as(groups: Sequence[Group], notice: Sequence[str], mount: int) -> dict[str, Any]:
    """Return what is mounted, and in which mount: the same cards mounted again are empty again."""
    return {
        "mount": mount,
        "notice": list(notice),
        "sections": [{"mount": mount, "of": structure(group)} for group in groups],
    }
