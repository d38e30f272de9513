"""Cards that panels show: their contents, keys, and parts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from dash import html

from stepscope.dashboard.page.colors import RunColor, Scheme
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.groups import (
    OfTag,
    Place,
)
from stepscope.dashboard.panels.tag_order import shown_tag, tag_order
from stepscope.dashboard.runs.table import RunTable
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot


@dataclass(frozen=True)
class Shown:
    """What cards show: the runs, as in the view."""

    snapshot: Snapshot
    view: View

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
        """Colors of all runs."""
        return self.table.colors

    def series_of_tag(self, tag: str, kind: str) -> list[Series]:
        """Return the series of a tag in the shown runs."""
        found = (self.snapshot.series(run, tag) for run in self.shown_runs)
        return [series for series in found if series is not None and series.kind == kind]


@dataclass(frozen=True)
class Draw(Shown):
    """What the drawing of a card depends on."""

    scheme: Scheme
    kept: Mapping[str, Any]
    """What a panel's page keeps of each card while it is open, by key, such as the zoom."""


def shown_series(snapshot: Snapshot, view: View, kind: str) -> list[Series]:
    """Return the series of one kind in the shown runs whose tags pass the filter, by `tag_order`, then by run."""
    by_tag: dict[str, list[Series]] = {}
    for run in RunTable(snapshot, view).shown:
        for series in snapshot.runs[run].of_kind(kind):
            by_tag.setdefault(series.tag, []).append(series)
    return [series for tag in sorted(view.shown_tags(by_tag), key=tag_order) for series in by_tag[tag]]


def tag_keys(snapshot: Snapshot, view: View, kind: str) -> list[tuple[Place, str]]:
    """Return a card for every tag of any shown run, in the sections of its name."""
    return [(OfTag(tag), tag) for tag in dict.fromkeys(s.tag for s in shown_series(snapshot, view, kind))]


def pair_key(tag: str, run: str) -> str:
    """Return the key of a card for one tag of one run."""
    return json.dumps([tag, run], ensure_ascii=False)


def pair_of(key: str) -> tuple[str, str]:
    """Return the tag and run of a `pair_key`."""
    tag, run = json.loads(key)
    return tag, run


def pair_keys(snapshot: Snapshot, view: View, kind: str) -> list[tuple[Place, str]]:
    """Return a card for every tag of every shown run, in the sections of the tag's name."""
    return [(OfTag(s.tag), pair_key(s.tag, s.run)) for s in shown_series(snapshot, view, kind)]


def expected(*parts: Any, **attributes: Any) -> html.Div:
    """Return a placeholder of about the size of the content that the page puts into ``fill``, visible until then."""
    return html.Div(list(parts), className="expected", **{"aria-hidden": "true"}, **attributes)


def action(name: str, title: str) -> html.Button:
    """Return a button with the icon ``name``; the page acts on its class ``act-<name>``."""
    return html.Button(icon(name, 14), className=f"icon-button act-{name}", title=title)


class Action(NamedTuple):
    """A button in a card's head, made by the page as by `action`: it would be most of the data sent for a card."""

    name: str
    title: str


FULL_WIDTH: Final = Action("wide", "Full width")
"""Gives a card a row of its own."""


def titled_card(
    key: str,
    tag: str,
    panel: str,
    wide: bool,
    body: Any,
    *,
    run: str = "",
    color: RunColor | None = None,
    actions: Sequence[Action] = (FULL_WIDTH,),
    tags: Sequence[str] = (),
) -> html.Article:
    """Return a card: title, note, buttons, the run if it shows only one, and its body.

    ``tags`` are the tags that make up the title ``tag``, if there are several.
    """
    label = _joined([_tag_label(one) for one in tags or (tag,)])
    buttons = html.Div(className="actions", **{"data-actions": json.dumps(dict(actions))})
    run_line = [] if color is None else [html.Div(run_label(run, color), className="card-run")]
    return html.Article(
        [html.Header([html.H3(label, title=tag), html.Span(className="note"), buttons]), *run_line, body],
        className=f"card {panel}-card wide" if wide else f"card {panel}-card",
        **{"data-key": key, "aria-busy": "true"},
    )


def _tag_label(tag: str) -> list[Any]:
    """Return a tag with its prefix dimmed."""
    shown = shown_tag(tag)
    head, slash, rest = shown.partition("/")
    return [html.Span(head + slash, className="dim"), rest] if slash and rest else [shown]


def _joined(labels: Sequence[list[Any]]) -> list[Any]:
    return [part for index, label in enumerate(labels) for part in ([" + "] if index else []) + label]


def run_label(run: str, color: RunColor) -> html.Span:
    """Return a run's name with its color; the page replaces it with the run's display name."""
    dot = html.I(className="run-dot", style={"--light": color.light, "--dark": color.dark})
    return html.Span(
        [dot, html.Bdi(run)],
        className="run-label",
        title=run,
    )
