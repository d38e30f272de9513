"""The overview of a trace: steps, what stands out, what took longest, what it was recorded on, and what was lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dash import dcc, html

from dashboard.colors import Scheme
from dashboard.icons import icon
from dashboard.numbers import count, counted
from dashboard.panels.profile import figures, texts
from dashboard.panels.profile.columns import spans_of
from dashboard.panels.profile.links import page_link, timeline_link
from dashboard.panels.profile.settings import PAGES, Page
from dashboard.panels.profile.slices import longest_kernels, longest_named
from dashboard.panels.profile.tables import slice_table
from dashboard.theme import GRAPH_CONFIG
from dashboard.traces.studies import Study
from profiler.analysis.metrics import DEFINITIONS
from profiler.analysis.steps import CATEGORIES
from profiler.traces.losses import explain

if TYPE_CHECKING:
    import polars as pl

TOP: Final = 10
MOST_FACTS: Final = 60
_TILES: Final = {
    "step_time": "Mean step",
    "step_time_max": "Slowest step",
    "steps": "Steps",
    "gpu_utilisation": "GPU utilisation",
    "sm_efficiency": "SM efficiency",
    "occupancy": "Occupancy",
    "gpu_idle": "GPU idle",
    "tensor_cores": "Tensor cores",
    "memory_peak": "Memory peak",
}
"""Figures at the top of the overview, where the trace tells them."""
_TILES_OF_ONE: Final = {"step_time": "Whole trace"} | {
    name: label for name, label in _TILES.items() if name not in ("step_time", "step_time_max", "steps")
}
"""Those of a trace that marks no steps."""
EVIDENCE_PAGES: Final[Mapping[str, Page]] = {
    "dataloader": "input",
    "gpu_utilisation": "idle",
    "host_wait": "idle",
    "short_kernels": "idle",
    "communication": "idle",
    "communication_overlap": "idle",
    "sm_efficiency": "kernels",
    "memcpy": "copies",
    "tensor_cores": "operators",
    "memory_peak": "memory",
}
"""The page whose tables show what a finding's metric is about; others are on the overview itself."""


def overview_page(study: Study, scheme: Scheme) -> html.Div:
    """All of it."""
    if not len(study.facts.trace):
        words = "The trace has no slices: nothing was recorded in it, or nothing of it could be read."
        empty = html.P(words + " Choose another trace, or record again.", className="profile-words")
        rest = html.Div([losses_card(study), facts_card(study)], className="profile-row")
        return html.Div([empty, rest], className="profile-overview")
    steps = study.table("steps")
    kernels = [] if study.table("kernels").is_empty() else [kernels_card(study)]
    return html.Div(
        [
            tiles(study),
            html.Div([steps_card(study, steps, scheme), mean_card(study, scheme)], className="profile-row wide-first"),
            html.Div([findings_card(study), losses_card(study)], className="profile-row wide-first"),
            html.Div(
                [operators_card(study), *kernels, figures_card(study), facts_card(study)], className="profile-row"
            ),
        ],
        className="profile-overview",
    )


def card(title: str, *content: Any, aside: Any = None, name: str = "") -> html.Section:
    """A titled part of the page."""
    head = html.Header([html.H3(title), aside] if aside is not None else [html.H3(title)])
    return html.Section([head, *content], className=f"profile-card {name}".strip(), **{"aria-label": title})


def tiles(study: Study) -> html.Div:
    """The figures that one looks for first."""
    known = {row["name"]: row for row in study.table("overview").to_dicts()}
    labels = _TILES if study.facts.trace.steps else _TILES_OF_ONE
    return html.Div(
        [
            html.Div(
                [html.Span(label), html.Strong(texts.of_unit(known[name]["value"], known[name]["unit"]))],
                className="profile-tile",
                title=known[name]["meaning"],
                **{"data-metric": name},
            )
            for name, label in labels.items()
            if name in known
        ],
        className="profile-tiles",
    )


def steps_card(study: Study, steps: "pl.DataFrame", scheme: Scheme) -> html.Section:
    """Time of each step by category, as bars that lead to the step on the Timeline."""
    import polars as pl

    if steps.is_empty():
        return card("Time of each step", _none("The trace has no slices, so there are no steps."))
    shown = figures.shown_steps(steps)
    at = [
        "" if span is None else f"{span[0]}:{span[1]}"
        for span in spans_of(shown, "start_ns", "total_ns", study.start_ns)
    ]
    figure = figures.step_chart(shown.with_columns(pl.Series("at", at, dtype=pl.String)), scheme)
    note = "click a bar to see the step on the Timeline"
    if len(shown) < len(steps):
        note = f"the slowest {len(shown):,} of {len(steps):,} steps; " + note
    if not study.facts.trace.steps:
        note = "the trace marks no steps: all of it counts as one"
    left = len(study.facts.trace.steps) - len(steps)
    words = f"{counted(left, 'last step')} left out: the profiler seems to have stopped before its kernels had run."
    graph = dcc.Graph(
        id={"type": "profile-steps", "trace": study.source.id},
        figure=figure,
        config=GRAPH_CONFIG,
        style={"height": "100%"},
    )
    below = html.P(words, className="profile-note") if left > 0 else None
    return card("Time of each step", html.Div(graph, className="profile-chart"), below, aside=_hint(note))


def mean_card(study: Study, scheme: Scheme) -> html.Section:
    """The mean step by category: the legend of the bars, and their shares."""
    rows = {row["category"]: row for row in study.table("mean_step").to_dicts()}
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
    content = html.Div(lines, className="profile-shares") if lines else _none("No step took any time.")
    about = "An instant belongs to the first of these that is active."
    return card("Mean step", content, html.P(about, className="profile-note") if lines else None)


def findings_card(study: Study) -> html.Section:
    """What stands out, each with its evidence and a way to it."""
    found = study.table("findings").to_dicts()
    if not found:
        return card("Findings", _none("Nothing stands out."))
    entries = [html.Li(_finding(study, finding), **{"data-severity": finding["severity"]}) for finding in found]
    return card("Findings", html.Ul(entries, className="profile-findings"))


def _finding(study: Study, finding: Mapping[str, Any]) -> list[Any]:
    link = _evidence_link(study, finding["metric"])
    evidence = finding["evidence"][:1].upper() + finding["evidence"][1:]
    return [
        icon("alert", 15),
        html.Div(
            [
                html.Strong(finding["title"]),
                html.P([evidence, ". ", html.Span(_figure(finding), className="dim")]),
                html.P([finding["advice"], *([" ", link] if link is not None else [])], className="advice"),
            ]
        ),
    ]


def _figure(finding: Mapping[str, Any]) -> str:
    """The metric behind a finding, its value, and the limit that it is beyond, if that is not nothing at all."""
    name = finding["metric"]
    # A full memory is judged by its share.
    unit = "percent" if name == "memory_peak" else DEFINITIONS[name].unit
    limit = f", limit {texts.of_unit(finding['limit'], unit)}" if finding["limit"] else ""
    return f"{name} {texts.of_unit(finding['value'], unit)}{limit}"


def _evidence_link(study: Study, metric: str) -> Any:
    page = EVIDENCE_PAGES.get(metric)
    if page is not None:
        return page_link(page, study.source.id, f"See {PAGES[page]}")
    if metric == "step_time_spread":
        slowest = study.table("steps").top_k(1, by="total_ns")
        (span,) = spans_of(slowest, "start_ns", "total_ns", study.start_ns)
        return timeline_link(study.source.id, span, f"See step {slowest['step'][0]} on the Timeline")
    return None


def operators_card(study: Study) -> html.Section:
    """The operators that took longest themselves; without any, the slices that did."""
    if study.table("operators").is_empty():
        return slices_card(study)
    frame = study.table("operators").head(TOP)
    on_device = bool(len(frame)) and frame["device_self_ns"].sum() > 0
    column = "device_self_ns" if on_device else "host_self_ns"
    whole = study.table("operators")
    spans = study.kept(
        "longest by name",
        "their longest calls",
        lambda: longest_named(study, study.facts.operator_slices, frame["name"].to_list()),
    )
    title = "Top operators by time on the " + ("device" if on_device else "host")
    rows = _top_rows(study, frame["name"], frame["calls"], whole[column], spans)
    return _top(study, title, rows, "The trace has no operators.", "operators", "Calls")


def slices_card(study: Study) -> html.Section:
    """The slices that took longest themselves, where none is an operator."""
    table = slice_table(study)
    names, counts, own = (table.frame[column] for column in ("name", "count", "self_ns"))
    rows = _top_rows(study, names.head(TOP), counts.head(TOP), own, table.at[:TOP])
    return _top(study, "Top slices by own time", rows, "The trace has no slices.", "slices", "Count")


def kernels_card(study: Study) -> html.Section:
    """The kernels that took longest."""
    whole = study.table("kernels")
    frame = whole.head(TOP)
    spans = longest_kernels(study, frame["name"].to_list())
    rows = _top_rows(study, frame["name"], frame["count"], whole["total_ns"], spans)
    return _top(study, "Top kernels", rows, "No kernel ran: the trace has no device activity.", "kernels", "Count")


def _top_rows(
    study: Study, names: "pl.Series", counts: "pl.Series", times: "pl.Series", spans: Sequence[Any]
) -> list[html.Tr]:
    """Rows of the first of ``times``, which has all of them: shares are of their sum."""
    found = times.to_list()
    whole = sum(found) or 1
    return [
        html.Tr(
            [
                html.Td(timeline_link(study.source.id, span, name) if span else name, className="name", title=name),
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
        for name, calls, ns, span in zip(names.to_list(), counts.to_list(), found, spans, strict=False)
    ]


def _top(study: Study, title: str, rows: list[html.Tr], empty: str, page: Page, counted_as: str) -> html.Section:
    if not rows:
        return card(title, _none(empty))
    head = html.Tr([html.Th("Name"), html.Th(counted_as), html.Th("Time"), html.Th("Share")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="profile-top")
    return card(title, table, aside=page_link(page, study.source.id, "All"))


def facts_card(study: Study) -> html.Section:
    """What the trace says of the run, the host and the devices."""
    pairs = list(run_facts(study))[:MOST_FACTS]
    parts = [part for name, value in pairs for part in (html.Dt(name), html.Dd(value))]
    return card("Run and devices", html.Dl(parts, className="profile-facts"))


def run_facts(study: Study) -> Iterator[tuple[str, str]]:
    """Facts of the run, the host and the devices, as name and text."""
    trace = study.facts.trace
    known = trace.metadata
    yield "Run", study.source.run
    yield "Trace", study.source.label
    yield "Slices", count(len(trace))
    yield "Lanes", count(len(trace.lanes))
    for key, label in (("host_name", "Host"), ("hostname", "Host"), ("traceName", "Recorded as"), ("trace_id", "Id")):
        if isinstance(known.get(key), str) and known[key]:
            yield label, str(known[key])[:200]
    distributed = known.get("distributedInfo")
    if isinstance(distributed, Mapping):
        for key, label in (("backend", "Backend"), ("rank", "Rank"), ("world_size", "World size")):
            if isinstance(distributed.get(key), (int, str)):
                yield label, str(distributed[key])[:200]
    flags = [key for key in ("record_shapes", "with_stack", "profile_memory", "with_flops") if known.get(key)]
    if flags:
        yield "Recorded with", ", ".join(flags)
    devices = known.get("deviceProperties")
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, Mapping):
            yield f"Device {device.get('id', '')}".strip(), device_text(device)


def device_text(device: Mapping[str, Any]) -> str:
    """A device in one line."""
    parts = [str(device.get("name", "unnamed"))[:120]]
    total = device.get("totalGlobalMem")
    if isinstance(total, int) and total > 0:
        parts.append(f"{texts.size(total)} memory")
    if isinstance(device.get("computeMajor"), int):
        parts.append(f"compute capability {device['computeMajor']}.{device.get('computeMinor', 0)}")
    if isinstance(device.get("numSms"), int):
        parts.append(counted(device["numSms"], "multiprocessor"))
    return ", ".join(parts)


def figures_card(study: Study) -> html.Section:
    """All metrics that the trace tells, folded until somebody asks."""
    rows = [
        html.Tr(
            [
                html.Td(html.Code(row["name"])),
                html.Td(texts.of_unit(row["value"], row["unit"]), className="number", title=f"{row['value']!r}"),
                html.Td(row["meaning"], className="meaning"),
            ],
            **{"data-metric": row["name"]},
        )
        for row in study.table("overview").to_dicts()
    ]
    note = "Conditions of stepscope analyze --fail-if compare these."
    table = html.Table(html.Tbody(rows), className="profile-metrics")
    return card("All figures", html.Div(table, className="profile-scroll"), aside=_hint(note))


def losses_card(study: Study) -> html.Section:
    """What the reader could not take as it was."""
    losses = study.facts.trace.losses
    if not losses.counts and not losses.notes:
        return card("Lost", _none("Nothing: all of the file was used."), name="lost")
    entries = [
        html.Li(
            [
                html.Strong(f"{count(number)} × {reason}"),
                html.P(explain(reason)) if explain(reason) else None,
                html.P(f"For example: {losses.examples[reason]}", className="dim")
                if reason in losses.examples
                else None,
            ]
        )
        for reason, number in sorted(losses.counts.items(), key=lambda pair: -pair[1])
    ]
    notes = [html.Li(note) for note in losses.notes]
    return card("Lost", html.Ul([*notes, *entries], className="profile-losses"), name="lost")


def _hint(words: str) -> html.Span:
    return html.Span(words, className="profile-hint")


def _none(words: str) -> html.P:
    return html.P(words, className="profile-none")
