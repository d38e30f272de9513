"""The charts of a layout: pure functions from the declarations of runs to cards and lines."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.dashboard.curves.spec import ChartSpec, LineSpec
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.patterns import exact_case
from stepscope.dashboard.tensorboard.custom_scalars import merged_layout
from stepscope.summary.proto.custom_scalars_pb2 import Chart, Layout
from stepscope.summary.safe_regex import PatternError
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot

UNTITLED = "(untitled)"


@dataclass(frozen=True)
class Card:
    """One chart of the layout."""

    category: str
    title: str
    closed: bool
    """Whether its category is collapsed by default."""
    chart: Chart

    @property
    def key(self) -> str:
        return json.dumps([self.category, self.title], ensure_ascii=False)


def cards(layout: Layout | None) -> list[Card]:
    """Return the charts by category; if several in a category have the same title, only the first.

    Layouts are merged in order of run name, so the layout of the log directory itself, which the editor writes, comes
    first.
    """
    found: dict[tuple[str, str], Card] = {}
    for category in layout.category if layout is not None else ():
        for index, chart in enumerate(category.chart):
            title = chart.title or f"{UNTITLED} {index + 1}"
            card = Card(category.title or UNTITLED, title, category.closed, chart)
            found.setdefault((card.category, title), card)
    return list(found.values())


def card_keys(snapshot: Snapshot, view: View) -> list[tuple[Place, str]]:
    """Return the category and key of every chart whose title passes the filter."""
    all_cards = cards(merged_layout(snapshot))
    titles = set(view.shown_tags(dict.fromkeys(card.title for card in all_cards)))
    return [(card.category, card.key) for card in all_cards if card.title in titles]


def closed_categories(snapshot: Snapshot, _view: View) -> frozenset[str]:
    """Return the categories that the layout collapses."""
    return frozenset(card.category for card in cards(merged_layout(snapshot)) if card.closed)


def spec_of(key: str, snapshot: Snapshot, view: View) -> ChartSpec:
    """Return the lines of a chart: all tags of the shown runs that its expressions match, or its values with their
    margins.
    """
    card = next((card for card in cards(merged_layout(snapshot)) if card.key == key), None)
    if card is None:
        return ChartSpec((), ("This chart was removed from the layout",))
    tags = RunTable(snapshot, view).shown_tags(SCALARS)
    match card.chart.WhichOneof("content"):
        case "multiline":
            return _multiline(list(card.chart.multiline.tag), tags)
        case "margin":
            return _margin(card.chart, tags)
        case _:
            return ChartSpec((), ("The layout defines no tags or margins for this chart",))


def matched_tags(pattern: str, tags: Sequence[str]) -> list[str]:
    """Return the tags that a regular expression matches from their beginning, as TensorBoard matches them.

    Raises:
        PatternError: if ``pattern`` is not a valid regular expression, or takes too long.
    """
    matches = exact_case(pattern, from_beginning=True).matches(tags)
    return [tag for tag, fits in zip(tags, matches, strict=True) if fits]


def _multiline(patterns: Sequence[str], tags: Sequence[str]) -> ChartSpec:
    found: dict[str, None] = {}
    problems: list[str] = []
    for pattern in patterns:
        try:
            matched = matched_tags(pattern, tags)
        except PatternError as error:
            problems.append(f"{pattern!r} is not a regular expression: {error}")
            continue
        if not matched:
            problems.append(f"no tag of the visible runs matches {pattern!r}")
        found |= dict.fromkeys(matched)
    return ChartSpec(tuple(LineSpec(tag) for tag in found), tuple(problems))


def _margin(chart: Chart, tags: Sequence[str]) -> ChartSpec:
    known = set(tags)
    series = list(chart.margin.series)
    problems = [
        f"no visible run has {tag!r}" for one in series for tag in (one.value, one.lower, one.upper) if tag not in known
    ]
    lines = tuple(LineSpec(one.value, "left", one.lower, one.upper) for one in series)
    return ChartSpec(lines, tuple(problems))


def card_title(key: str) -> str:
    """Return the title of the chart with this key."""
    return str(json.loads(key)[1])
