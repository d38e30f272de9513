"""A grid of cards that any panel can use: which cards there are, and the parts of the page around them.

``web/cards/grid.ts`` does what must run at the speed of the hand: groups that open and close, pages, full width, and
which cards are on the screen.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import dash
import dash_mantine_components as dmc
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from dashboard.page.colors import RunColor, Scheme
from dashboard.page.controls import revision_input, scheme_input, setting_id, view_input
from dashboard.page.icons import icon
from dashboard.page.state import Setting, View, decode, names, pattern_error
from dashboard.panels.groups import Group, arrange, parse_pages, prefix, shown_tag, still_fits, structure
from dashboard.runs.table import RunTable
from dashboard.server.answers import once_per_revision
from dashboard.server.fingerprint import fingerprint
from dashboard.server.live import Live
from dashboard.server.numbers import count
from summary.series import Series
from summary.snapshot import Snapshot


@dataclass(frozen=True)
class Draw:
    """What a card's drawing depends on."""

    snapshot: Snapshot
    view: View
    scheme: Scheme
    kept: Mapping[str, Any]
    """By key, what a panel's page keeps of its cards while it is open, such as how far one is zoomed in."""

    @cached_property
    def table(self) -> RunTable:
        """The runs as the view shows them."""
        return RunTable(self.snapshot, self.view)

    @property
    def shown_runs(self) -> list[str]:
        """Runs that are drawn, in order."""
        return self.table.shown

    @property
    def colors(self) -> Mapping[str, RunColor]:
        """Colours of all runs."""
        return self.table.colors

    def series_of_tag(self, tag: str, kind: str) -> list[Series]:
        """The series of a tag in the shown runs."""
        found = (self.snapshot.series(run, tag) for run in self.shown_runs)
        return [series for series in found if series is not None and series.kind == kind]


@dataclass(frozen=True)
class CardGrid:
    """The cards of one panel.

    Keys name the cards: a tag, or `pair_key` of a tag and a run.
    """

    panel: str
    keys: Callable[[Snapshot, View], Sequence[tuple[str, str]]]
    """Group and key of every card, in order."""
    card: Callable[[str, bool, Mapping[str, RunColor]], Any]
    """The card of a key, still without data, given whether it takes the full width, and the colours of all runs."""
    nothing: str
    """What is said where no shown run has such data."""
    remedy: str = "Click the colour of a run in the list to show it."
    """What to do about that."""
    closed_at_first: Callable[[Snapshot, View], frozenset[str]] = lambda _snapshot, _view: frozenset()
    """Groups that are closed until the user opens them."""
    target: str = "data"
    """Property of the component `data_id` that a card is drawn into: the "figure" of a chart, or "data"."""
    depends: Callable[[str, Draw], object] | None = None
    """What `draw` reads; while equal, the card is not drawn again."""
    draw: Callable[[str, Draw], Any] | None = None
    """Draws a card; None where the page fetches what its cards show by itself."""

    @property
    def settings(self) -> tuple[Setting[tuple[str, ...]], ...]:
        """What the grid keeps in the URL: groups opened and closed by hand, their pages, cards at full width."""
        return tuple(names(f"{self.panel}.{part}") for part in ("open", "closed", "page", "wide"))

    def data_id(self, key: str) -> dict[str, str]:
        """Id of the component that a card is drawn into."""
        return {"type": f"{self.panel}-data", "key": key}

    @property
    def data_id_pattern(self) -> dict[str, Any]:
        """Matches `data_id` of every card."""
        return {"type": f"{self.panel}-data", "key": ALL}

    def groups(self, snapshot: Snapshot, view: View) -> list[Group]:
        """The groups of cards that the view asks for."""
        opened, closed, pages, _ = (setting.of(view) for setting in self.settings)
        shut = {*closed, *self.closed_at_first(snapshot, view)}
        return arrange(self.keys(snapshot, view), opened, tuple(shut), parse_pages(pages))

    def first_keys(self, snapshot: Snapshot, view: View) -> list[str]:
        """The cards that are mounted, in order."""
        return [key for group in self.groups(snapshot, view) if group.open for key in group.on_page]

    def layout(self, snapshot: Snapshot, view: View) -> list[Any]:
        """The grid and its stores."""
        groups = self.groups(snapshot, view)
        return [
            dcc.Store(id=f"{self.panel}-arranged", data=structure(groups) | {"mount": 0}),
            dcc.Store(id=f"{self.panel}-visible", data=[]),
            dcc.Store(id=f"{self.panel}-kept", data={}),
            dcc.Store(id=f"{self.panel}-drawn", data={}),
            html.Div(
                self._sections(groups, snapshot, view),
                id=f"{self.panel}-groups",
                className="groups",
                **{"data-panel": self.panel},
            ),
        ]

    def register(self, app: Dash, live: Live) -> None:
        """Adds the callbacks that mount and draw the cards."""
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

    def _sections(self, groups: Sequence[Group], snapshot: Snapshot, view: View) -> list[Any]:
        if not groups:
            if view.tag_filter:
                why, change = "No tag matches the filter", "Change the filter above, or show more runs."
            elif view.run_filter:
                why, change = self.nothing, "Change the search over the runs, or show more of them."
            else:
                why, change = self.nothing, self.remedy
            return [html.Div([html.Strong(why), html.Span(change)], className="notice none")]
        wide = frozenset(self.settings[3].of(view))
        colors = RunTable(snapshot, view).colors
        return [self._section(group, wide, colors) for group in groups]

    def _section(self, group: Group, wide: frozenset[str], colors: Mapping[str, RunColor]) -> html.Section:
        keys = group.on_page if group.open else ()
        span = str(min(len(keys), 4)) if group.open else "full"
        page = {"type": "card-page", "panel": self.panel, "group": group.name}
        pager = [dmc.Pagination(id=page, total=group.pages, value=group.page, size="xs")] if group.pages > 1 else []
        toggle = html.Button(
            [
                icon("chevron", 14),
                html.Span(group.name, className="group-name", title=group.name),
                html.Span(count(len(group.keys)), className="count"),
            ],
            className="group-toggle",
            **{"aria-expanded": "true" if group.open else "false"},
        )
        return html.Section(
            [
                html.Div([toggle, *(pager if group.open else [])], className="group-head"),
                html.Div([self.card(key, key in wide, colors) for key in keys], className="cards"),
            ],
            className="group open" if group.open else "group",
            **{"data-group": group.name, "data-span": span},
        )

    def _register_arrange(self, app: Dash, live: Live) -> None:
        @app.callback(
            Output(f"{self.panel}-groups", "children"),
            Output(f"{self.panel}-arranged", "data"),
            Output(setting_id("tag_filter"), "error", allow_duplicate=True),
            view_input(self.panel),
            revision_input(self.panel),
            State(f"{self.panel}-arranged", "data"),
            prevent_initial_call=True,
        )
        @partial(once_per_revision, live)
        def arrange_cards(query: str, _revision: int | None, mounted: dict[str, Any]) -> Any:
            view = decode(query)
            error = pattern_error(view.tag_filter)
            snapshot = live.snapshot()
            groups = self.groups(snapshot, view)
            wanted = structure(groups)
            if still_fits(mounted, wanted):
                return no_update, no_update, error
            # The same cards mounted once more are empty once more: what was drawn before counts no longer.
            return self._sections(groups, snapshot, view), wanted | {"mount": mounted["mount"] + 1}, error

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
            epoch = fingerprint(mounted)
            on_screen = set(visible)
            pieces: list[Any] = []
            prints: dict[str, str] = {}
            for key in (entry["key"] for entry in ids):
                before = drawn.get(key, "")
                now = fingerprint((epoch, depends(key, on))) if key in on_screen else before
                pieces.append(no_update if now == before else draw(key, on))
                prints[key] = now
            if prints == drawn:
                raise dash.exceptions.PreventUpdate
            return pieces, prints


def shown_series(snapshot: Snapshot, view: View, kind: str) -> list[Series]:
    """Series of one kind of the shown runs whose tags pass the filter: by tag as they first appear, then by run."""
    by_tag: dict[str, list[Series]] = {}
    for run in RunTable(snapshot, view).shown:
        for series in snapshot.runs[run].of_kind(kind):
            by_tag.setdefault(series.tag, []).append(series)
    return [series for tag in view.shown_tags(by_tag) for series in by_tag[tag]]


def tag_keys(snapshot: Snapshot, view: View, kind: str) -> list[tuple[str, str]]:
    """A card for every tag, whichever shown runs have it, grouped by the tag's prefix."""
    return [(prefix(tag), tag) for tag in dict.fromkeys(s.tag for s in shown_series(snapshot, view, kind))]


def pair_key(tag: str, run: str) -> str:
    """Key of a card for one tag of one run."""
    return json.dumps([tag, run], ensure_ascii=False)


def pair_of(key: str) -> tuple[str, str]:
    """Tag and run of a `pair_key`."""
    tag, run = json.loads(key)
    return tag, run


def pair_keys(snapshot: Snapshot, view: View, kind: str) -> list[tuple[str, str]]:
    """A card for every tag of every shown run, grouped by the tag's prefix."""
    return [(prefix(s.tag), pair_key(s.tag, s.run)) for s in shown_series(snapshot, view, kind)]


def action(name: str, title: str) -> html.Button:
    """A button of a card's head, with the icon ``name``; the page acts on its class ``act-<name>``."""
    return html.Button(icon(name, 14), className=f"icon-button act-{name}", title=title)


def full_width() -> html.Button:
    """The button that gives a card a row of its own."""
    return action("wide", "Full width")


def titled_card(
    key: str,
    tag: str,
    panel: str,
    wide: bool,
    body: Any,
    *,
    run: str = "",
    color: RunColor | None = None,
    actions: Sequence[html.Button] = (),
) -> html.Article:
    """A card: title, what is said about it, buttons, the run where it shows one only, and its body.

    ``actions`` are the buttons; without any there is the one for the full width.
    """
    shown = shown_tag(tag)
    head, slash, rest = shown.partition("/")
    label = [html.Span(head + slash, className="dim"), rest] if slash and rest else shown
    buttons = html.Div(list(actions) or [full_width()], className="actions")
    run_line = [] if color is None else [html.Div(run_label(run, color), className="card-run")]
    return html.Article(
        [html.Header([html.H3(label, title=tag), html.Span(className="note"), buttons]), *run_line, body],
        className=f"card {panel}-card wide" if wide else f"card {panel}-card",
        **{"data-key": key},
    )


def run_label(run: str, color: RunColor) -> html.Span:
    """A run's name with its colour."""
    dot = html.I(className="run-dot", style={"--light": color.light, "--dark": color.dark})
    return html.Span(
        [dot, html.Bdi(". (the log directory)" if run == "." else run)],
        className="run-label",
        title=run,
    )
