"""Which cards are on the page: tags in groups by prefix, closed and paged so that the page stays quick."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.icons import icon
from dashboard.numbers import count
from dashboard.theme import GRAPH_CONFIG

CARDS_PER_PAGE: Final = 12
MOST_CARDS: Final = 24
"""Cards that open by themselves; the user may open more."""
NO_PREFIX: Final = "(no prefix)"
"""Group of the tags that have no "/"."""


@dataclass(frozen=True)
class Group:
    """Tags with the same prefix."""

    name: str
    tags: tuple[str, ...]
    open: bool
    page: int
    """Counted from 1."""

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.tags) // CARDS_PER_PAGE))

    @property
    def on_page(self) -> tuple[str, ...]:
        """Tags whose cards are mounted while the group is open."""
        start = (self.page - 1) * CARDS_PER_PAGE
        return self.tags[start : start + CARDS_PER_PAGE]


def prefix(tag: str) -> str:
    """The part before the first "/"."""
    head, slash, _ = tag.partition("/")
    return head if slash else NO_PREFIX


def arrange(tags: Iterable[str], opened: Sequence[str], closed: Sequence[str], pages: Mapping[str, int]) -> list[Group]:
    """Groups the tags by prefix, in order of first appearance.

    Groups are open from the top until `MOST_CARDS` cards are; ``opened`` and ``closed`` say what the user did about it.
    """
    by_prefix: dict[str, list[str]] = {}
    for tag in tags:
        by_prefix.setdefault(prefix(tag), []).append(tag)
    groups: list[Group] = []
    mounted = 0
    for name, members in by_prefix.items():
        group = Group(name, tuple(members), False, 1)
        page = min(max(pages.get(name, 1), 1), group.pages)
        group = Group(name, tuple(members), False, page)
        fits = mounted + len(group.on_page) <= MOST_CARDS
        is_open = name in opened or (fits and name not in closed)
        mounted += len(group.on_page) if is_open else 0
        groups.append(Group(name, tuple(members), is_open, page))
    return groups


def parse_pages(raw: Sequence[str]) -> dict[str, int]:
    """Reads "group:2"; what is not of that form is left out."""
    pages: dict[str, int] = {}
    for entry in raw:
        name, colon, number = entry.rpartition(":")
        if colon and number.isdecimal() and len(number) < 6:
            pages[name] = int(number)
    return pages


def card(tag: str, wide: bool) -> html.Article:
    """The card of one tag, still without its figure."""
    head, slash, rest = tag.partition("/")
    label = [html.Span(head + slash, className="dim"), rest] if slash and rest else tag
    return html.Article(
        [
            html.Header(
                [
                    html.H3(label, title=tag),
                    html.Span(id={"type": "scalars-note", "tag": tag}, className="note"),
                    html.Div(
                        [
                            html.Button(icon("reset", 14), className="icon-button act-reset", title="Reset the zoom"),
                            html.Button(icon("wide", 14), className="icon-button act-wide", title="Full width"),
                            html.Button(icon("download", 14), className="icon-button act-download", title="Download"),
                        ],
                        className="actions",
                    ),
                ]
            ),
            html.Div(
                dcc.Graph(id={"type": "scalars-graph", "tag": tag}, config=GRAPH_CONFIG, style={"height": "100%"}),
                className="chart",
            ),
        ],
        className="card scalar-card wide" if wide else "card scalar-card",
        **{"data-tag": tag},
    )


def section(group: Group, wide: frozenset[str]) -> html.Section:
    """A group with its header; its cards only if it is open."""
    tags = group.on_page if group.open else ()
    pager = (
        [
            dmc.Pagination(
                id={"type": "scalars-page", "group": group.name}, total=group.pages, value=group.page, size="xs"
            )
        ]
        if group.pages > 1 and group.open
        else []
    )
    return html.Section(
        [
            html.Div(
                [
                    html.Button(
                        [
                            icon("chevron", 14),
                            html.Span(group.name, className="group-name"),
                            html.Span(count(len(group.tags)), className="count"),
                        ],
                        className="group-toggle",
                        **{"aria-expanded": "true" if group.open else "false"},
                    ),
                    *pager,
                ],
                className="group-head",
            ),
            html.Div([card(tag, tag in wide) for tag in tags], className="cards"),
        ],
        className="group open" if group.open else "group",
        **{"data-group": group.name, "data-span": str(min(len(tags), 4)) if group.open else "full"},
    )


def download_url(tag: str, runs: Sequence[str], file_format: str) -> str:
    """Where the points of a card's runs are, as a file."""
    return "/api/scalars/download?" + urlencode([("tag", tag), ("format", file_format), *(("run", r) for r in runs)])
