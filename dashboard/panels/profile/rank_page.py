"""The Distributed page: its options, its charts, and the progress of reading its ranks."""

import re
from typing import Any, Final

import dash_mantine_components as dmc
from dash import html

from stepscope.dashboard.page.colors import Scheme
from stepscope.dashboard.page.controls import setting_id
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.profile import rank_figures
from stepscope.dashboard.panels.profile.cards import chart_card
from stepscope.dashboard.panels.profile.known_ranks import MOST_FAILURES, KnownRanks
from stepscope.dashboard.panels.profile.rank_figures import MOST_BARS, MOST_MAP_COLUMNS, MOST_MAP_ROWS
from stepscope.dashboard.panels.profile.settings import (
    ONLY_RANKS,
    RANKS,
    RANKS_BY,
    PageRequest,
    without_comma,
)
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.rank_groups import HOST
from stepscope.profiler.analysis.rank_map import heat_map, rows_of_ranks, single_steps
from stepscope.profiler.analysis.ranks import rank_summary, stragglers
from stepscope.summary.counts import counted

MOST_LISTED: Final = 8
"""Maximum number of traces of a folder that are listed individually."""
MAP_ROOM: Final = 80
"""Height of the map in addition to its rows, in pixels."""
MAP_ROW: Final = 15
"""Height of a row in pixels."""


def rank_options(view: View, known: KnownRanks, traces: list[dict[str, Any]], ranks: list[str]) -> list[Any]:
    """Return the page's options; ``ranks`` are the ids of its traces."""
    few = len(ranks) <= MOST_LISTED or RANKS.of(view)
    choice = _traces(traces, ranks) if few else html.Span(f"{count(len(ranks))} traces in its folder")
    options: list[Any] = [_field("Ranks", choice)]
    options.append(_field("Show", _only(view, known)))
    if known.groupings:
        options.append(_field("Group by", _divided(view, known)))
    return options


def _field(label: str, control: Any) -> html.Div:
    return html.Div([html.Span(label), control], className="field")


def _only(view: View, known: KnownRanks) -> dmc.TextInput:
    example = "3, 8-15, node-2" if HOST in known.groupings else "3, 8-15"
    return dmc.TextInput(
        id=setting_id(ONLY_RANKS.name),
        value=ONLY_RANKS.of(view),
        placeholder=f"All ranks, or {example}",
        debounce=400,
        size="xs",
        w=210,
        **{"aria-label": "Ranks that are shown"},
    )


def _divided(view: View, known: KnownRanks) -> dmc.Select:
    return dmc.Select(
        id=setting_id(RANKS_BY.name),
        value=RANKS_BY.of(view),
        data=[
            {"value": RANKS_BY.default, "label": "Rank"},
            *({"value": name, "label": "Host" if name == HOST else name} for name in known.groupings),
        ],
        allowDeselect=False,
        size="xs",
        w=150,
        **{"aria-label": "How ranks are grouped"},
    )


def _traces(traces: list[dict[str, Any]], ranks: list[str]) -> dmc.MultiSelect:
    # Chosen values come back separated by commas, so they must not contain any themselves.
    data = [
        group | {"items": [item | {"value": without_comma(item["value"])} for item in group["items"]]}
        for group in traces
    ]
    return dmc.MultiSelect(
        id=setting_id(RANKS.name),
        value=[without_comma(each) for each in ranks],
        data=data,
        placeholder="Traces of the other ranks",
        searchable=True,
        clearable=True,
        size="xs",
        maxDropdownHeight=420,
        nothingFoundMessage="No matches",
        className="profile-ranks",
        **{"aria-label": "Traces of one job"},
    )


def rank_charts(requested: PageRequest, analyzed: AnalyzedTrace, known: KnownRanks, scheme: Scheme) -> list[Any]:
    """Return the content above the tables: what is shown, the means, who waited, and which ranks were slow when."""
    shown = known.selected(requested.only_ranks)
    if not shown:
        words = f"No rank matches {requested.only_ranks!r}. Enter numbers, ranges such as 8-15, or part of a host name."
        return [html.P(words, className="profile-words missing", role="status")]
    by = requested.ranks_by if requested.ranks_by in known.groupings else ""
    summary = analyzed.kept(("ranks", known.content), "ranks", lambda: rank_summary(known.ranks))
    waits = analyzed.kept(("stragglers", known.content), "stragglers", lambda: stragglers(known.ranks))
    # A bar is one rank, several if there are many, or a group if ranks are divided.
    bars = rows_of_ranks(known.ranks, shown, by, MOST_BARS, whole_groups=True)
    of = "of each rank" if all(len(ranks) == 1 for _, ranks in bars) else "mean of the ranks that share a bar"
    mean = rank_figures.rank_chart(summary, bars, scheme, by or "rank")
    waiting = rank_figures.straggler_chart(waits, bars, scheme, by or "rank")
    about = "in collectives that all ranks took part in, over all steps"
    cards = [
        chart_card("Mean step", mean, "profile-rank-steps", of) if mean else None,
        chart_card("Wait time between ranks", waiting, "profile-rank-waits", about) if waiting else None,
    ]
    return [
        *_words(requested, known, shown),
        html.Div([each for each in cards if each is not None], className="profile-row"),
        *_map(requested, known, shown, by, scheme),
    ]


def _words(requested: PageRequest, known: KnownRanks, shown: tuple[int, ...]) -> list[Any]:
    """Return how much of everything is shown, and what cannot be, as text."""
    parts = []
    if requested.only_ranks:
        parts.append(f"Showing {counted(len(shown), 'rank')}; medians are of {known.words}.")
    elif known.running or known.failures:
        parts.append(f"{'So far based on' if known.running else 'Based on'} {known.words}.")
    if known.problem:
        parts.append(known.problem)
    failures = [f"{address}: {reason}" for address, reason in known.failures.items()]
    told: list[Any] = [html.P(" ".join(parts), className="profile-words")] if parts else []
    if failures:
        more = len(failures) - MOST_FAILURES
        listed = [*failures[:MOST_FAILURES], *([f"and {count(more)} more"] if more > 0 else [])]
        summary = html.Summary(f"{counted(len(failures), 'trace')} cannot be read")
        told.append(html.Details([summary, html.Ul(list(map(html.Li, listed)))], className="profile-words missing"))
    return told


def _steps(words: str) -> tuple[int, int] | None:
    """Return the first and last step of a text such as "3-7" or "3"; None for all steps or any other text."""
    found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", words)
    return (int(found[1]), int(found[2] or found[1])) if found is not None else None


def _map(requested: PageRequest, known: KnownRanks, shown: tuple[int, ...], by: str, scheme: Scheme) -> list[Any]:
    found = heat_map(
        known.ranks,
        most_rows=MOST_MAP_ROWS,
        most_columns=MOST_MAP_COLUMNS,
        only=frozenset(shown),
        steps=_steps(requested.only_steps),
        by=by,
    )
    picture = rank_figures.rank_map_chart(found, known.steps(single_steps(found)), scheme)
    if picture is None:
        return []
    about = "extra step time over the median rank, excluding waits; click a cell to zoom in"
    chart = {"type": "profile-chart", "chart": "rank-map", "trace": ""}
    whole = html.Button(
        "All ranks and steps",
        className="quiet profile-all-ranks",
        type="button",
        title="Show the whole map again",
        hidden=not requested.only_ranks and not requested.only_steps,
    )
    return [
        chart_card(
            "Step times by rank",
            picture,
            chart,
            about,
            below=[whole],
            height=MAP_ROOM + MAP_ROW * max(6, len(found.rows)),
        )
    ]
