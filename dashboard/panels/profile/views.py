"""The pages of the panel as components: their texts, charts and tables."""

from collections.abc import Mapping
from typing import Any, assert_never

import dash_mantine_components as dmc
from dash import html

from stepscope.dashboard.page.colors import Scheme
from stepscope.dashboard.page.controls import long_select, segmented, setting_id
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.profile import device_figures, figures, texts
from stepscope.dashboard.panels.profile.cards import chart_card, chart_id, nothing, table_card
from stepscope.dashboard.panels.profile.known_ranks import KnownRanks
from stepscope.dashboard.panels.profile.links import page_address, page_link, timeline_link
from stepscope.dashboard.panels.profile.losses import losses_words
from stepscope.dashboard.panels.profile.overview import overview_page, steps_card
from stepscope.dashboard.panels.profile.presence import LOADERS
from stepscope.dashboard.panels.profile.rank_page import rank_charts
from stepscope.dashboard.panels.profile.run_facts import device_names
from stepscope.dashboard.panels.profile.settings import (
    BEFORE,
    BY,
    CHANGED,
    CHANGES,
    DEVICE,
    GROUP,
    GROUPINGS,
    KEYS,
    PAGES,
    PEAK_GBPS,
    PEAK_TFLOPS,
    PER,
    PERS,
    TFPROF,
    TFPROF_VIEWS,
    Page,
    PageRequest,
)
from stepscope.dashboard.panels.profile.slices import places
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.server.numbers import count
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.dashboard.traces.peaks import peaks_words
from stepscope.profiler.analysis.device_peaks import PRECISIONS
from stepscope.profiler.analysis.kernels import tensor_core_share
from stepscope.profiler.analysis.memcpys import each_copy
from stepscope.profiler.analysis.queue import launch_delays, queue_length
from stepscope.profiler.analysis.roofline import device_peaks, peaks_in_use, unknown_flops
from stepscope.summary.counts import counted


def page_lead(
    requested: PageRequest,
    analyzed: AnalyzedTrace,
    tables: list[Table],
    scheme: Scheme,
    workers: int = 1,
    ranks: KnownRanks | None = None,
) -> list[Any]:
    """Return the content of a page between its options and its tables.

    Args:
        requested: the page and its settings.
        analyzed: the open trace.
        tables: the tables of the page.
        scheme: light or dark.
        workers: the number of traces in the trace's folder.
        ranks: on the page of ranks, what is known about them.
    """
    if requested.page == "overview":
        return [overview_page(analyzed, scheme, workers)]
    more = lead(requested, analyzed, scheme) if ranks is None else rank_charts(requested, analyzed, ranks, scheme)
    return [*missing_row(requested, analyzed, tables), *more]


def page_tables(requested: PageRequest, tables: list[Table]) -> list[Any]:
    """Return the tables of a page that have rows, and remarks about the others."""
    if requested.page == "overview":
        return []
    filled = [table for table in tables if not table.frame.is_empty()]
    failed = [table for table in tables if table.failure]
    empty = [table for table in tables if table.frame.is_empty() and not table.failure]
    return [
        *(
            _table_card(table, alone=len(filled) == 1 and requested.page != "code", folds=requested.page == "code")
            for table in filled
        ),
        *(_failed(table, table.failure) for table in failed),
        # Whoever looks at tables of others needs to know whose is empty.
        *_nothing_in(empty, alone=not filled and not failed and requested.page != "plugins"),
    ]


def _table_card(table: Table, *, alone: bool, folds: bool) -> Any:
    try:
        return table_card(table, alone=alone, folds=folds)
    except Exception as error:
        if table.fail is None:
            raise
        return _failed(table, table.fail(error))


def _failed(table: Table, failure: object) -> html.Div:
    return html.Div(f"{table.title}: {failure}", className="notice plugin-failed", role="alert")


def _nothing_in(tables: list[Table], *, alone: bool) -> list[Any]:
    """Return what is missing and why, listing each reason once."""
    reasons: dict[str, list[str]] = {}
    for table in tables:
        reasons.setdefault(table.empty, []).append(table.title)
    return [
        nothing(reason if alone else f"Not in this trace: {', '.join(titles)}. {reason}")
        for reason, titles in reasons.items()
    ]


def absent_menu(absent: Mapping[Page, str], trace: str) -> Any:
    """Return the pages without content behind one button, each with its reason."""
    if not absent:
        return None
    label = f"Views without data ({len(absent)})"
    entries = [
        html.A(
            [html.Strong(PAGES[page]), html.Span(reason)],
            href=page_address(page, trace),
            className="profile-absent-page",
            **{"data-page": page},
        )
        for page, reason in absent.items()
    ]
    summary = html.Summary([label, icon("chevron", 12)], className="quiet with-icon")
    return html.Details([summary, html.Div(entries, className="profile-absent")])


def missing_row(requested: PageRequest, analyzed: AnalyzedTrace, tables: list[Table]) -> list[Any]:
    """Return a notice that a requested row is not here, and where it may be; nothing if it is or none is requested."""
    if not requested.row or any(table.chosen is not None for table in tables):
        return []
    name = requested.row if len(requested.row) <= 120 else requested.row[:119] + "…"
    words: list[Any] = [f"“{name}” has no row here. "]
    if requested.page != "slices" and requested.row in analyzed.table("slices")["name"]:
        words.append(page_link("slices", analyzed.source.id, "Find it in Slices", requested.row))
    return [html.P(words, className="profile-words missing", role="status")]


def lead(requested: PageRequest, analyzed: AnalyzedTrace, scheme: Scheme) -> list[Any]:
    """Return the content above the tables of a page of one trace: a sentence, a verdict, or charts."""
    match requested.page:
        case "kernels":
            return _kernel_words(analyzed)
        case "copies":
            return _copy_chart(analyzed, scheme)
        case "idle":
            return _launch_charts(analyzed, scheme)
        case "memory":
            return _memory_chart(analyzed, requested.device, scheme)
        case "input":
            return [_verdict(analyzed), steps_card(analyzed, analyzed.table("steps"), scheme, legend=True)]
        case "roofline":
            return _roofline_chart(analyzed, requested, scheme)
        case "code":
            return _flame_chart(analyzed, scheme)
        case "overview" | "operators" | "slices" | "path" | "tfprof" | "ranks" | "diff" | "plugins":
            return []
        case _:
            assert_never(requested.page)


def _kernel_words(analyzed: AnalyzedTrace) -> list[Any]:
    table = analyzed.table("kernels")
    if table.is_empty():
        return []
    share = tensor_core_share(analyzed.facts)
    words = (
        f"{counted(int(table['count'].sum()), 'kernel')} of {counted(len(table), 'name')} ran for "
        f"{texts.duration(float(table['total_ns'].sum()))} in all; {texts.percent(100 * share)} of that in kernels "
        "that use tensor cores."
    )
    return [html.P(words, className="profile-words")]


def _memory_chart(analyzed: AnalyzedTrace, device: str, scheme: Scheme) -> list[Any]:
    import polars as pl

    timeline = analyzed.table("memory_timeline")
    if timeline.is_empty():
        return []
    name = shown_device(analyzed, device)
    figure = figures.memory_chart(timeline.filter(pl.col("device") == name), analyzed.start_ns, scheme)
    return [chart_card(f"Memory of {name}", figure, "profile-memory")]


def shown_device(analyzed: AnalyzedTrace, device: str) -> str:
    """Return the device whose memory is drawn: the requested one, else the one that held the most."""
    peaks = analyzed.table("memory").sort("peak_bytes", descending=True, maintain_order=True)["device"].to_list()
    return device if device in peaks else peaks[0] if peaks else ""


def _roofline_chart(analyzed: AnalyzedTrace, requested: PageRequest, scheme: Scheme) -> list[Any]:
    roofs, gbps = _roofs(analyzed, requested)
    figure = figures.roofline_chart(analyzed.table("roofline"), roofs, gbps, scheme)
    about = "log scales; an operator below the slope is memory-bound, one below the flat ceiling compute-bound"
    notes = [
        html.P(words, className="profile-note")
        for words in (_peaks_note(analyzed, requested), _unknown_note(analyzed))
        if words
    ]
    return (
        [chart_card("Throughput vs. arithmetic intensity", figure, "profile-roofline", about, below=notes)]
        if figure
        else notes
    )


def _roofs(analyzed: AnalyzedTrace, requested: PageRequest) -> tuple[dict[str, float], float]:
    """Return the peaks of the chart: TFLOP/s by kind, and GB/s; entered values take precedence over known ones."""
    peaks = device_peaks(analyzed.facts)
    known = {PRECISIONS[precision]: peak / 1e12 for precision, peak in peaks_in_use(analyzed.facts).items()}
    typed = {"": requested.peak_tflops} if requested.peak_tflops else known
    return typed, requested.peak_gbps or (peaks.gb_per_s if peaks else 0.0)


def _peaks_note(analyzed: AnalyzedTrace, requested: PageRequest) -> str:
    """Return a note on whose peaks these are, or that none are known."""
    peaks = device_peaks(analyzed.facts)
    if peaks is None:
        return (
            ""
            if requested.peak_tflops and requested.peak_gbps
            else f"No peaks are known for {device_names(analyzed)}: enter them above."
        )
    return f"{peaks_words(analyzed.facts)}."


def _unknown_note(analyzed: AnalyzedTrace) -> str:
    """Return which matrix products and convolutions are missing because their FLOPs are unknown; empty if none."""
    missing = analyzed.kept("unknown FLOPs", "operators without FLOPs", lambda: unknown_flops(analyzed.facts))
    if missing.is_empty():
        return ""
    names = missing["name"].to_list()
    listed = ", ".join(name if len(name) <= 60 else f"{name[:59]}…" for name in names[:4])
    more = f" and {counted(len(names) - 4, 'other')}" if len(names) > 4 else ""
    return (
        f"Not shown: {listed}{more}, with {texts.percent(float(missing['percent'].sum()))} of the device time of "
        "matrix products and convolutions. Their FLOPs are not in the trace: record with with_flops=True."
    )


def _flame_chart(analyzed: AnalyzedTrace, scheme: Scheme) -> list[Any]:
    tree = analyzed.table("code")
    figure = figures.flame_chart(tree, scheme)
    about = "as wide as the time of the operators below a frame; click one to zoom in"
    if len(tree) > figures.MOST_FRAMES:
        about = f"the longest {count(figures.MOST_FRAMES)} of {counted(len(tree), 'frame')}, {about}"
    high = 110 + 24 * min(20, int(tree["depth"].max() or 0) + 2) if figure else 0  # type: ignore[arg-type]
    return [chart_card("Flame graph", figure, "profile-flame", about, height=high)] if figure else []


def _copy_chart(analyzed: AnalyzedTrace, scheme: Scheme) -> list[Any]:
    import polars as pl

    every = analyzed.kept("every copy", "the copies", lambda: each_copy(analyzed.facts))
    known = every.filter(pl.col("gb_per_s").is_not_null())
    shown = known.top_k(device_figures.MOST_POINTS, by=("duration_ns", "slice"), reverse=(False, True))
    at = places(analyzed, shown["slice"].to_list())
    figure = device_figures.copy_chart(shown, at, scheme)
    about = "each point is a copy; click one to see it on the Timeline"
    if len(shown) < len(known):
        about = f"the longest {count(len(shown))} of {count(len(known))} copies; {about}"
    return [chart_card("Bandwidth vs. size", figure, chart_id(analyzed, "copies"), about)] if figure else []


def _launch_charts(analyzed: AnalyzedTrace, scheme: Scheme) -> list[Any]:
    queue = analyzed.kept("queue length", "launches waiting on streams", lambda: queue_length(analyzed.facts))
    delays = analyzed.kept("launch delays", "delays from launch to start", lambda: launch_delays(analyzed.facts))
    waiting = device_figures.queue_chart(queue, analyzed.start_ns, scheme)
    late = device_figures.delay_chart(delays, scheme)
    if waiting is None or late is None:
        return []
    about = "pending launches on each stream, over time"
    streams = queue.select("device", "stream").n_unique()
    if streams > device_figures.MOST_STREAMS:
        about = f"{about}; the {device_figures.MOST_STREAMS} of {count(streams)} streams with the most"
    cards = [
        chart_card("Queue", waiting, "profile-queue", about),
        chart_card("Launch delays", late, "profile-delays", "from a launch's end to its activity's start"),
    ]
    return [html.Div(cards, className="profile-row")]


def _verdict(analyzed: AnalyzedTrace) -> html.Section:
    (row,) = analyzed.table("input").to_dicts()
    words = {
        "input_bound": ("bad", "Input-bound"),
        "moderately_input_bound": ("warn", "Moderately input-bound"),
        "not_input_bound": ("good", "Not input-bound"),
        "unknown": ("unknown", "Not enough data: no data-loading events in this trace"),
    }
    severity, title = words[row["verdict"]]
    facts = [row["explanation"]]
    if row["input_percent"] is not None:
        facts.append(
            f"For {texts.percent(row['input_percent'])} of step time ({texts.duration(row['input_ns'])} in total), "
            "nothing but data loading runs. From 5% is moderate, from 20% high."
        )
    if row["worst_step"] is not None and row["worst_step_ns"]:
        facts.append(f"Most in step {row['worst_step']}: {texts.duration(row['worst_step_ns'])}.")
    if row["verdict"] == "unknown":
        facts.append(LOADERS)
    return html.Section(
        [icon("check" if severity == "good" else "alert", 18), html.Div([html.H3(title), *map(html.P, facts)])],
        className=f"profile-verdict {severity}",
    )


def options_of(page: Page, view: View, analyzed: AnalyzedTrace, traces: list[dict[str, Any]]) -> list[Any]:
    """Return the controls of one page in addition to the common ones."""
    match page:
        case "operators":
            chips = [dmc.Chip(label, value=key, size="xs") for key, label in KEYS.items()]
            group = dmc.ChipGroup(chips, id=setting_id(BY.name), value=list(BY.of(view)), multiple=True)
            return [_field("Group by", html.Div(group, className="profile-chips"))]
        case "kernels" | "slices":
            names = {str(each): label for each, label in GROUPINGS[page].items()}
            return [_field("Group by", segmented(GROUP, view, names, "Group by"))]
        case "memory":
            devices = analyzed.table("memory")["device"].to_list()
            if len(devices) < 2:
                return []
            return [_select(DEVICE, "Device", shown_device(analyzed, DEVICE.of(view)), devices)]
        case "tfprof":
            return [
                segmented(TFPROF, view, {str(each): label for each, label in TFPROF_VIEWS.items()}, "tfprof's view")
            ]
        case "roofline":
            peaks, used = device_peaks(analyzed.facts), peaks_in_use(analyzed.facts)
            tflops = max(used.values(), default=0) / 1e12
            memory = "The peak bandwidth of the device's memory"
            about = "The device's peak for the data type in use; leave empty for the data sheet's value"
            return [
                _peak(PEAK_TFLOPS, view, "Peak TFLOP/s", about, tflops),
                _peak(PEAK_GBPS, view, "Peak GB/s", memory, peaks.gb_per_s if peaks else 0),
            ]
        case "diff":
            before = _select(BEFORE, "Before", BEFORE.of(view) or None, traces, "Choose the earlier trace")
            return [
                before,
                segmented(CHANGED, view, {str(each): label for each, label in CHANGES.items()}, "What is compared"),
                segmented(
                    PER,
                    view,
                    {str(each): label for each, label in PERS.items()},
                    "Per step, per call, or totals",
                ),
            ]
        case "overview" | "copies" | "idle" | "path" | "input" | "code" | "ranks" | "plugins":
            return []
        case _:
            assert_never(page)


def _field(label: str, control: Any) -> html.Div:
    return html.Div([html.Span(label), control], className="field")


def _select(setting: Setting[str], label: str, value: str | None, data: list[Any], placeholder: str = "") -> html.Div:
    select = long_select(setting, value, data, label, "profile-choice", placeholder=placeholder)
    return _field(label, select)


def _peak(setting: Setting[float], view: View, label: str, title: str, known: float) -> html.Div:
    field = dmc.NumberInput(
        id=setting_id(setting.name),
        value=setting.of(view) or "",
        min=0,
        max=1_000_000,
        hideControls=True,
        debounce=400,
        placeholder=f"{known:g}" if known else "unknown",
        size="xs",
        w=84,
        **{"aria-label": label},
    )
    return html.Div([html.Span(label), field], className="field", title=title)


def trace_line(analyzed: AnalyzedTrace) -> list[Any]:
    """Return a one-line description of the open trace, with a link to it on the Timeline."""
    trace = analyzed.facts.trace
    steps = counted(len(trace.steps), "step") if trace.steps else "no steps marked"
    words = " · ".join([counted(len(trace), "slice"), steps, *losses_words(analyzed)])
    link = timeline_link(analyzed.source.id, None, "Timeline")
    link.id = "profile-to-timeline"
    link.title = "Show this trace on the Timeline"
    return [html.Span(words, className="count"), link]
