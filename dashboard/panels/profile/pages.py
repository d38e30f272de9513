"""The pages of the panel as components: what a page says, its charts and its tables."""

from typing import Any, Final, assert_never

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.colors import Scheme
from dashboard.controls import segmented, setting_id
from dashboard.icons import icon
from dashboard.numbers import count, counted
from dashboard.panels.profile import figures, texts
from dashboard.panels.profile.columns import Table, columns, cut_note, rows, total_row
from dashboard.panels.profile.links import timeline_link
from dashboard.panels.profile.overview import card, overview_page, steps_card
from dashboard.panels.profile.settings import (
    BEFORE,
    BY,
    CHANGED,
    CHANGES,
    DEVICE,
    KEYS,
    PEAK_GBPS,
    PEAK_TFLOPS,
    RANKS,
    TFPROF,
    TFPROF_VIEWS,
    Asked,
    Page,
    without_comma,
)
from dashboard.state import Setting, View
from dashboard.theme import GRAPH_CONFIG
from dashboard.traces.studies import Study
from profiler.analysis.kernels import tensor_core_share

SHORT: Final = 12
"""Rows up to which a table is as high as it needs to be."""
GRID_OPTIONS: Final[dict[str, Any]] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 26,
    "headerHeight": 36,
    "animateRows": False,
    "suppressColumnMoveAnimation": True,
    "suppressDragLeaveHidesColumns": True,
    "suppressFieldDotNotation": True,
    "tooltipShowDelay": 300,
    "enableCellTextSelection": True,
    "localeText": {"noRowsToShow": "No rows", "noMatchingRows": "No row passes the search and the filters"},
}
DEFAULT_COLUMN: Final[dict[str, Any]] = {
    "sortable": True,
    "resizable": True,
    "suppressHeaderMenuButton": True,
    "wrapHeaderText": True,
    "cellDataType": False,
}


def page_content(asked: Asked, study: Study, tables: list[Table], scheme: Scheme) -> Any:
    """What a page shows, below its options."""
    if asked.page == "overview":
        return overview_page(study, scheme)
    parts = [*lead(asked, study, scheme), *(table_card(table, alone=len(tables) == 1) for table in tables)]
    return html.Div(parts, className="profile-page")


def lead(asked: Asked, study: Study, scheme: Scheme) -> list[Any]:
    """What stands above the tables of a page: a sentence, a verdict, or a chart."""
    match asked.page:
        case "kernels":
            return _kernel_words(study)
        case "memory":
            return _memory_chart(study, asked.device, scheme)
        case "input":
            return [_verdict(study), steps_card(study, study.table("steps"), scheme)]
        case "roofline":
            return _roofline_chart(study, asked, scheme)
        case "overview" | "operators" | "slices" | "copies" | "idle" | "path" | "code" | "tfprof" | "ranks" | "diff":
            return []
        case _:
            assert_never(asked.page)


def _kernel_words(study: Study) -> list[Any]:
    table = study.table("kernels")
    if table.is_empty():
        return []
    share = tensor_core_share(study.facts)
    words = (
        f"{counted(int(table['count'].sum()), 'kernel')} of {counted(len(table), 'name')} ran for "
        f"{texts.duration(float(table['total_ns'].sum()))} in all; {texts.percent(100 * share)} of that in kernels "
        "that use tensor cores."
    )
    return [html.P(words, className="profile-words")]


def _memory_chart(study: Study, device: str, scheme: Scheme) -> list[Any]:
    import polars as pl

    timeline = study.table("memory_timeline")
    if timeline.is_empty():
        return []
    name = shown_device(study, device)
    figure = figures.memory_chart(timeline.filter(pl.col("device") == name), study.start_ns, scheme)
    graph = dcc.Graph(id="profile-memory", figure=figure, config=GRAPH_CONFIG, style={"height": "100%"})
    return [card(f"Memory of {name}", html.Div(graph, className="profile-chart"))]


def shown_device(study: Study, device: str) -> str:
    """The device whose memory is drawn: the one asked for, else the one that held most."""
    peaks = study.table("memory").sort("peak_bytes", descending=True)["device"].to_list()
    return device if device in peaks else peaks[0] if peaks else ""


def _roofline_chart(study: Study, asked: Asked, scheme: Scheme) -> list[Any]:
    figure = figures.roofline_chart(study.table("roofline"), asked.peak_tflops, asked.peak_gbps, scheme)
    if figure is None:
        return []
    graph = dcc.Graph(id="profile-roofline", figure=figure, config=GRAPH_CONFIG, style={"height": "100%"})
    return [card("Throughput over intensity", html.Div(graph, className="profile-chart"))]


def _verdict(study: Study) -> html.Section:
    (row,) = study.table("input").to_dicts()
    words = {
        "input_bound": ("bad", "Input-bound"),
        "moderately_input_bound": ("warn", "Moderately input-bound"),
        "not_input_bound": ("good", "Not input-bound"),
        "unknown": ("unknown", "The trace does not tell"),
    }
    severity, title = words[row["verdict"]]
    facts = [row["explanation"]]
    if row["input_percent"] is not None:
        facts.append(
            f"Loading data is all that goes on in {texts.percent(row['input_percent'])} of the steps' time, "
            f"{texts.duration(row['input_ns'])} in all. 5% is moderate, 20% high."
        )
    if row["worst_step"] is not None and row["worst_step_ns"]:
        facts.append(f"Most in step {row['worst_step']}: {texts.duration(row['worst_step_ns'])}.")
    if row["verdict"] == "unknown":
        facts.append("PyTorch's DataLoader and torch.profiler's records of it are recognised by their names.")
    return html.Section(
        [icon("check" if severity == "good" else "alert", 18), html.Div([html.H3(title), *map(html.P, facts)])],
        className=f"profile-verdict {severity}",
    )


def table_card(table: Table, *, alone: bool) -> html.Section:
    """A table with its search, its columns and its file."""
    number = len(table.frame)
    head: list[Any] = [html.H3(table.title), html.Span(counted(number, "row"), className="count")]
    if not number:
        empty = html.P(table.empty, className="profile-none")
        return html.Section([html.Header(head[:1]), empty], className="profile-card", **{"data-table": table.name})
    note = cut_note(table)
    head += [
        html.Span(table.about, className="profile-hint", title=table.about),
        html.Span(className="spacer"),
        *_tools(table),
    ]
    high = number > SHORT
    return html.Section(
        [
            html.Header(head),
            html.P(note, className="profile-note cut") if note else None,
            html.Div(grid(table, high=high), className="profile-grid-box"),
        ],
        className="profile-card table" + (" high" if high else "") + (" alone" if alone and high else ""),
        **{"data-table": table.name},
    )


def _tools(table: Table) -> list[Any]:
    search = dcc.Input(
        type="search",
        placeholder="Search",
        className="text-field profile-search",
        debounce=False,
        autoComplete="off",
        id={"type": "profile-search", "table": table.name},
    )
    return [
        html.Label(search, title="Search this table", **{"aria-label": f"Search {table.title}"})
        if len(table.frame) > SHORT
        else None,
        html.Button(
            [icon("columns", 13), html.Span("Columns")],
            className="quiet with-icon profile-columns",
            title="Which columns are shown",
            **{"aria-haspopup": "dialog"},
        ),
        html.Button(
            [icon("download", 13), html.Span("CSV")],
            className="quiet with-icon profile-save",
            title="Download all rows of this table as CSV, times in nanoseconds",
        ),
    ]


def grid(table: Table, *, high: bool) -> dag.AgGrid:
    """The table itself; ``assets/profile.js`` writes its cells."""
    options = GRID_OPTIONS | {"pinnedBottomRowData": total_row(table)}
    if not high:
        options |= {"domLayout": "autoHeight"}
    return dag.AgGrid(
        id={"type": "profile-grid", "table": table.name},
        rowData=rows(table),
        columnDefs=columns(table),
        defaultColDef=DEFAULT_COLUMN,
        getRowId="String(params.data['@row'])",
        dashGridOptions=options,
        className="profile-grid",
        style={"height": "100%" if high else None, "width": "100%"},
    )


def options_of(page: Page, view: View, study: Study, traces: list[dict[str, Any]], ranks: list[str]) -> list[Any]:
    """The controls that one page has beside those of all."""
    match page:
        case "operators":
            chips = [dmc.Chip(label, value=key, size="xs") for key, label in KEYS.items()]
            group = dmc.ChipGroup(chips, id=setting_id(BY.name), value=list(BY.of(view)), multiple=True)
            return [_field("Group by", html.Div(group, className="profile-chips"))]
        case "memory":
            devices = study.table("memory")["device"].to_list()
            if len(devices) < 2:
                return []
            return [_select(DEVICE, "Device", shown_device(study, DEVICE.of(view)), devices)]
        case "tfprof":
            return [
                segmented(TFPROF, view, {str(each): label for each, label in TFPROF_VIEWS.items()}, "tfprof's view")
            ]
        case "roofline":
            return [
                _peak(PEAK_TFLOPS, view, "Peak TFLOP/s", "The device's peak for the type of numbers in use"),
                _peak(PEAK_GBPS, view, "Peak GB/s", "The peak of the device's memory"),
            ]
        case "ranks":
            return [_rank_choice(traces, ranks)]
        case "diff":
            before = _select(BEFORE, "Before", BEFORE.of(view) or None, traces, "Choose the earlier trace")
            return [
                before,
                segmented(CHANGED, view, {str(each): label for each, label in CHANGES.items()}, "What is compared"),
            ]
        case "overview" | "slices" | "kernels" | "copies" | "idle" | "path" | "input" | "code":
            return []
        case _:
            assert_never(page)


def _field(label: str, control: Any) -> html.Div:
    return html.Div([html.Span(label), control], className="field")


def _select(setting: Setting[str], label: str, value: str | None, data: list[Any], placeholder: str = "") -> html.Div:
    select = dmc.Select(
        id=setting_id(setting.name),
        value=value,
        data=data,
        placeholder=placeholder,
        searchable=True,
        allowDeselect=False,
        size="xs",
        maxDropdownHeight=420,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
        nothingFoundMessage="Nothing of that name",
        className="profile-choice",
        **{"aria-label": label},
    )
    return _field(label, select)


def _rank_choice(traces: list[dict[str, Any]], ranks: list[str]) -> html.Div:
    # What is chosen comes back with commas between, so that the values must have none themselves.
    data = [
        group | {"items": [item | {"value": without_comma(item["value"])} for item in group["items"]]}
        for group in traces
    ]
    select = dmc.MultiSelect(
        id=setting_id(RANKS.name),
        value=[without_comma(each) for each in ranks],
        data=data,
        placeholder="Traces of the other ranks",
        searchable=True,
        clearable=True,
        size="xs",
        maxDropdownHeight=420,
        nothingFoundMessage="No trace of that name",
        className="profile-ranks",
        **{"aria-label": "Traces of one job"},
    )
    return _field("Ranks", select)


def _peak(setting: Setting[float], view: View, label: str, title: str) -> html.Div:
    field = dmc.NumberInput(
        id=setting_id(setting.name),
        value=setting.of(view) or "",
        min=0,
        max=1_000_000,
        hideControls=True,
        debounce=400,
        placeholder="unknown",
        size="xs",
        w=84,
        **{"aria-label": label},
    )
    return html.Div([html.Span(label), field], className="field", title=title)


def trace_line(study: Study) -> list[Any]:
    """What the open trace is, in a line, and the way to it on the Timeline."""
    trace = study.facts.trace
    lost = sum(trace.losses.counts.values())
    parts = [counted(len(trace), "slice"), counted(len(trace.steps), "step")]
    words = " · ".join([*parts, *([f"{count(lost)} lost or changed"] if lost else [])])
    link = timeline_link(study.source.id, None, "Timeline")
    link.id = "profile-to-timeline"
    link.title = "Show this trace on the Timeline"
    return [html.Span(words, className="count"), link]
