"""The overview of a trace: steps, findings, what took longest, the recording system, and losses."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dash import dcc, html

from stepscope.dashboard.page.colors import Scheme
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.theme import GRAPH_CONFIG
from stepscope.dashboard.panels.profile import figures, texts
from stepscope.dashboard.panels.profile.cards import card, chart_id, hint, nothing, save_button
from stepscope.dashboard.panels.profile.finding_links import evidence_links
from stepscope.dashboard.panels.profile.links import page_link, timeline_link
from stepscope.dashboard.panels.profile.losses import losses_table, losses_words
from stepscope.dashboard.panels.profile.run_facts import run_facts
from stepscope.dashboard.panels.profile.settings import Page
from stepscope.dashboard.panels.profile.slices import kernels_of, named_places, places
from stepscope.dashboard.panels.profile.table import Places, places_of
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.metrics import DEFINITIONS, label_of
from stepscope.profiler.analysis.steps import CATEGORIES
from stepscope.profiler.traces.losses import counted_reason, events_not_as_stored
from stepscope.summary.counts import counted

if TYPE_CHECKING:
    import polars as pl

TOP: Final = 10
MOST_FACTS: Final = 60
MOST_COLUMNS: Final = 7
"""Maximum number of figures in one row at the top."""
_TILES: Final = {
    "step_time": ("Mean step", "of the complete steps"),
    "step_time_max": ("Slowest step", "of the complete steps"),
    "steps": ("Steps", "complete steps only"),
    "gpu_utilization": ("GPU utilization", "share of step time with a kernel running"),
    "gpu_idle": ("GPU idle", "from first to last activity; copies count as busy"),
    "mfu": ("MFU", "of the peak FLOP/s, over the steps"),
    "sm_efficiency": ("SM efficiency", "estimate, over step time"),
    "occupancy": ("Occupancy", "estimate, while kernels run"),
    "tensor_cores": ("Tensor cores", "of the kernels' time"),
    "memory_peak": ("Memory peak", "allocated at once"),
}
"""Figures at the top of the overview, if the trace has them: the label of each, and what it refers to."""
_TILES_OF_ONE: Final = {"step_time": ("Whole trace", "it has no step markers")} | {
    name: (label, of.replace("step time", "the trace").replace("the steps", "the trace"))
    for name, (label, of) in _TILES.items()
    if name not in ("step_time", "step_time_max", "steps")
}
"""Figures for a trace that marks no steps."""
_WHOLE: Final = "from the first to the last of what was recorded"


def overview_page(analyzed: AnalyzedTrace, scheme: Scheme, workers: int = 1) -> html.Div:
    """Return the whole overview; ``workers`` is the number of traces in the trace's folder."""
    if not len(analyzed.facts.trace):
        words = "The trace has no slices: nothing was recorded, or nothing could be read."
        empty = html.P(words + " Choose another trace, or record again.", className="profile-words")
        parts = [each for each in (losses_card(analyzed), facts_card(analyzed, workers)) if each is not None]
        rest = html.Div(parts, className="profile-row")
        return html.Div([empty, rest], className="profile-overview")
    steps = analyzed.table("steps")
    if analyzed.table("operators").is_empty():
        tops = [slices_card(analyzed)]
    else:
        # A host does more than run its operators.
        on_host = analyzed.table("kernels").is_empty()
        tops = [operators_card(analyzed), slices_card(analyzed) if on_host else kernels_card(analyzed)]
    missing = [each for each in [losses_card(analyzed)] if each is not None]
    lost = bool(events_not_as_stored(analyzed.facts.trace.losses) or analyzed.facts.trace.losses.notes)
    return html.Div(
        [
            tiles(analyzed),
            html.Div(
                [steps_card(analyzed, steps, scheme), mean_card(analyzed, scheme)], className="profile-row wide-first"
            ),
            # Missing data concerns all figures; a missing arrow end is no news.
            *([*missing, findings_card(analyzed)] if lost else [findings_card(analyzed), *missing]),
            html.Div(
                [*tops, figures_card(analyzed), facts_card(analyzed, workers)],
                className="profile-row",
            ),
        ],
        className="profile-overview",
    )


def tiles(analyzed: AnalyzedTrace) -> html.Div:
    """Return the most important figures."""
    known = {row["name"]: row for row in analyzed.table("overview").to_dicts()}
    numbered = bool(analyzed.facts.trace.steps)
    labels = _TILES if numbered else _TILES_OF_ONE
    shown = max(1, sum(name in known for name in labels))
    return html.Div(
        [
            html.Div(
                [
                    html.Span(label),
                    html.Strong(texts.of_unit(known[name]["value"], known[name]["unit"])),
                    html.Small(of),
                ],
                className="profile-tile",
                title=_sentence(_WHOLE if name == "step_time" and not numbered else known[name]["meaning"]),
                **{"data-metric": name},
            )
            for name, (label, of) in labels.items()
            if name in known
        ],
        className="profile-tiles",
        style={"--columns": -(-shown // -(-shown // MOST_COLUMNS))},
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def steps_card(analyzed: AnalyzedTrace, steps: "pl.DataFrame", scheme: Scheme, *, legend: bool = False) -> html.Section:
    """Return the time of each step by category, as bars that link to the step on the Timeline."""
    import polars as pl

    title = "Time of each step" if analyzed.facts.trace.steps else "Whole trace"
    if steps.is_empty():
        return card(title, nothing("The trace has no slices, so there are no steps."))
    shown = figures.shown_steps(steps)
    at = ["" if place is None else place.range for place in places_of(shown, "start_ns", "total_ns", analyzed.start_ns)]
    numbered = bool(analyzed.facts.trace.steps)
    figure = figures.step_chart(
        shown.with_columns(pl.Series("at", at, dtype=pl.String)), scheme, numbered=numbered, legend=legend
    )
    note = "until the last kernel of the step has ended; click a bar to see it on the Timeline"
    if len(shown) < len(steps):
        note = f"the slowest {len(shown):,} of {len(steps):,} steps; " + note
    if not analyzed.facts.trace.steps:
        note = "the trace has no step markers and counts as one step"
    left = len(analyzed.facts.trace.steps) - len(steps)
    words = f"{counted(left, 'last step')} left out: the profiler seems to have stopped before its kernels had run."
    graph = dcc.Graph(
        id=chart_id(analyzed, "steps"),
        figure=figure,
        config=GRAPH_CONFIG,
        style={"height": "100%"},
    )
    below = html.P(words, className="profile-note") if left > 0 else None
    return card(title, html.Div(graph, className="profile-chart"), below, aside=hint(note))


def mean_card(analyzed: AnalyzedTrace, scheme: Scheme) -> html.Section:
    """Return the mean step by category: the legend of the bars, and their shares."""
    rows = {row["category"]: row for row in analyzed.table("mean_step").to_dicts()}
    lines = [
        html.Div(
            [
                html.I(style={"background": figures.category_color(category, scheme)}),
                html.Span(figures.LABELS[category]),
                html.Span(texts.duration(rows[category]["mean_ns"]), className="number"),
                html.Span(texts.percent(rows[category]["percent"]), className="number"),
                html.Span(
                    style={
                        "width": f"{rows[category]['percent']:.2f}%",
                        "background": figures.category_color(category, scheme),
                    },
                    className="bar",
                ),
            ],
            **{"data-category": category},
        )
        for category in CATEGORIES
        if rows[category]["percent"]
    ]
    content = html.Div(lines, className="profile-shares") if lines else nothing("No step took any time.")
    about = "Where several overlap, time counts toward the first in this list."
    title = "Mean step" if analyzed.facts.trace.steps else "Whole trace by category"
    return card(title, content, html.P(about, className="profile-note") if lines else None)


def findings_card(analyzed: AnalyzedTrace) -> html.Section:
    """Return the findings, each with its evidence and a link to it."""
    found = analyzed.table("findings").to_dicts()
    if not found:
        return card("Findings", nothing("No findings."))
    entries = [html.Li(_finding(analyzed, finding), **{"data-severity": finding["severity"]}) for finding in found]
    return card("Findings", html.Ul(entries, className="profile-findings"))


def _finding(analyzed: AnalyzedTrace, finding: Mapping[str, Any]) -> list[Any]:
    links = evidence_links(analyzed, finding["metric"])
    if finding["metric"] == "losses":
        links = [html.A("Show the events", href="#profile-lost", className="profile-link profile-to-lost")]
    evidence = finding["evidence"][:1].upper() + finding["evidence"][1:]
    return [
        icon("alert", 15),
        html.Div(
            [
                html.Strong(finding["title"]),
                html.P([evidence, ". ", html.Span(_figure(finding), className="dim")]),
                html.P(finding["advice"], className="advice"),
                html.P(links, className="evidence") if links else None,
            ]
        ),
    ]


def _figure(finding: Mapping[str, Any]) -> str:
    """Return the metric behind a finding, its value, and the limit that it exceeds, unless the limit is 0."""
    name = finding["metric"]
    # Memory is judged by the share in use.
    unit = "percent" if name == "memory_peak" else DEFINITIONS[name].unit
    limit = f", limit {texts.of_unit(finding['limit'], unit)}" if finding["limit"] else ""
    return f"{label_of(name)} {texts.of_unit(finding['value'], unit)}{limit}"


def operators_card(analyzed: AnalyzedTrace) -> html.Section:
    """Return the operators with the longest self time."""
    frame = analyzed.table("operators").head(TOP)
    on_device = bool(len(frame)) and frame["device_self_ns"].sum() > 0
    column = "device_self_ns" if on_device else "host_self_ns"
    whole = analyzed.table("operators")
    at = analyzed.kept(
        "longest by name", "their longest calls", lambda: named_places(analyzed, analyzed.facts.operator_slices, frame)
    )
    title = "Top operators by self time on the " + ("device" if on_device else "host")
    rows = _top_rows(analyzed, frame["name"], frame["calls"], whole[column], at)
    return _top(analyzed, title, rows, len(whole), "The trace has no operators.", "operators", "Calls")


def slices_card(analyzed: AnalyzedTrace) -> html.Section:
    """Return the slices of any kind with the longest self time."""
    import polars as pl

    whole = analyzed.table("slices")
    # Lifetimes of tensors and the profiler's own notes are not work either, unless there is nothing else.
    work = analyzed.facts.kinds[whole["slice"].to_numpy()] != KINDS.index("other")
    whole = whole.filter(pl.Series(work, dtype=pl.Boolean)) if work.any() else whole
    frame = whole.head(TOP)
    rows = _top_rows(
        analyzed, frame["name"], frame["count"], whole["self_ns"], places(analyzed, frame["slice"].to_list())
    )
    empty = "The trace has no slices other than its steps."
    return _top(analyzed, "Top slices by self time", rows, len(whole), empty, "slices", "Count")


def kernels_card(analyzed: AnalyzedTrace) -> html.Section:
    """Return the kernels that took longest."""
    whole = analyzed.table("kernels")
    frame = whole.head(TOP)
    at = named_places(analyzed, kernels_of(analyzed.facts).slice, frame)
    rows = _top_rows(analyzed, frame["name"], frame["count"], whole["total_ns"], at)
    empty = "No kernel ran: the trace has no device activity."
    return _top(analyzed, "Top kernels", rows, len(whole), empty, "kernels", "Count")


def _top_rows(
    analyzed: AnalyzedTrace, names: "pl.Series", counts: "pl.Series", times: "pl.Series", at: Places
) -> list[html.Tr]:
    """Return rows for the first of ``times``, which has all of them; shares are relative to their sum."""
    found = times.to_list()
    whole = sum(found) or 1
    short = texts.short_names(names.to_list())
    return [
        html.Tr(
            [
                html.Td(
                    timeline_link(analyzed.source.id, place, _cut(words, name)) if place else _cut(words, name),
                    className="name",
                    title=name,
                ),
                html.Td(count(calls), className="number"),
                html.Td(texts.duration(ns), className="number", title=f"{ns:,} ns"),
                html.Td(
                    [
                        html.Span(style={"width": f"{100 * ns / whole:.2f}%"}, className="bar"),
                        html.Span(texts.percent(100 * ns / whole), className="number"),
                    ],
                    className="share",
                ),
            ]
        )
        for name, words, calls, ns, place in zip(names.to_list(), short, counts.to_list(), found, at, strict=False)
    ]


def _cut(words: str, name: str) -> html.Span:
    """Return a name that is cut in the middle if there is no room; copying it gives the whole name."""
    head, tail = texts.middle_cut(words)
    parts = [html.Span(head, className="head"), *([html.Span(tail, className="tail")] if tail else [])]
    return html.Span(parts, className="cut-name", **{"data-name": name})


def _top(
    analyzed: AnalyzedTrace, title: str, rows: list[html.Tr], whole: int, empty: str, page: Page, counted_as: str
) -> html.Section:
    if not rows:
        return card(title, nothing(empty))
    head = html.Tr([html.Th("Name"), html.Th(counted_as), html.Th("Time"), html.Th("Share")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="profile-top")
    return card(title, table, aside=page_link(page, analyzed.source.id, f"All {count(whole)}"))


def facts_card(analyzed: AnalyzedTrace, workers: int) -> html.Section:
    """Return the trace's facts about the run, the host and the devices."""
    pairs = list(run_facts(analyzed, workers))
    if len(pairs) > MOST_FACTS:
        pairs[MOST_FACTS:] = [("Not shown", f"{count(len(pairs) - MOST_FACTS)} more")]
    parts = [part for name, value in pairs for part in (html.Dt(name), html.Dd(value))]
    return card("Run and devices", html.Dl(parts, className="profile-facts"))


def figures_card(analyzed: AnalyzedTrace) -> html.Section:
    """Return all metrics of the trace, collapsed by default."""
    rows = [
        html.Tr(
            [
                html.Td([label_of(row["name"]), html.Code(row["name"])]),
                html.Td(texts.of_unit(row["value"], row["unit"]), className="number", title=f"{row['value']!r}"),
                html.Td(row["meaning"], className="meaning"),
            ],
            **{"data-metric": row["name"]},
        )
        for row in analyzed.table("overview").to_dicts()
    ]
    note = "Use these names in stepscope analyze --fail-if conditions."
    table = html.Table(html.Tbody(rows), className="profile-metrics")
    return card(
        "All metrics",
        html.Div(table, className="profile-scroll", tabIndex=0, **{"aria-label": "All metrics", "role": "group"}),
        aside=hint(note),
    )


def losses_card(analyzed: AnalyzedTrace) -> html.Section | None:
    """Return what could not be shown as stored: a line that opens a table; None if everything could be shown."""
    losses = analyzed.facts.trace.losses
    table = losses_table(analyzed).frame.to_dicts()
    if not table and not losses.notes:
        return None
    notes = html.Ul([html.Li(note) for note in losses.notes], className="profile-losses") if losses.notes else None
    if not table:
        return card("Skipped or altered events", notes, name="lost")
    reasons = ", ".join(counted_reason(row["reason"], row["count"]) for row in table[:3])
    more = f", and {counted(len(table) - 3, 'reason')} more" if len(table) > 3 else ""
    line = [html.Strong(" · ".join(losses_words(analyzed))), html.Span(f"{reasons}{more}")]
    head = html.Tr([html.Th(title) for title in ("Reason", "Count", "What it means", "For example")])
    body = [
        html.Tr(
            [
                html.Td(row["reason"]),
                html.Td(count(row["count"]), className="number"),
                html.Td(row["meaning"]),
                html.Td(row["example"], className="example"),
            ]
        )
        for row in table
    ]
    opened = html.Div([html.Table([html.Thead(head), html.Tbody(body)], className="profile-lost-table"), save_button()])
    details = html.Details(
        [html.Summary(line, title="What was skipped or altered, and why"), opened], id="profile-lost"
    )
    found = card("Skipped or altered events", notes, details, name="lost")
    setattr(found, "data-table", "losses")
    return found
