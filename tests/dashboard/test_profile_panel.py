import gc
import json
import re
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import pytest
from dash import html
from dash.dcc import Graph, Store
from fastapi.testclient import TestClient
from plotly.utils import PlotlyJSONEncoder
from polars.testing import assert_frame_equal

from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.profile import device_figures, figures, known_ranks, texts
from stepscope.dashboard.panels.profile.analysis_tables import tables_of
from stepscope.dashboard.panels.profile.columns import columns
from stepscope.dashboard.panels.profile.figures import _label_places
from stepscope.dashboard.panels.profile.finding_links import _PLACES, EVIDENCE_PAGES, evidence_links
from stepscope.dashboard.panels.profile.links import timeline_link
from stepscope.dashboard.panels.profile.overview import MOST_FACTS
from stepscope.dashboard.panels.profile.panel import PANEL, _keys
from stepscope.dashboard.panels.profile.presence import absent_pages, shown_pages
from stepscope.dashboard.panels.profile.request import answer_of, rank_sources
from stepscope.dashboard.panels.profile.rows import chosen_id, cut_note, found_note, rows, total_row
from stepscope.dashboard.panels.profile.run_facts import run_facts, versions
from stepscope.dashboard.panels.profile.settings import BY, PAGES, RANKS, Page, PageRequest, without_comma
from stepscope.dashboard.panels.profile.table import FIRST_ROWS, MOST_LETTERS, MOST_ROWS, Place, Places, Table
from stepscope.dashboard.panels.profile.views import (
    absent_menu,
    options_of,
    page_lead,
    page_tables,
    shown_device,
    trace_line,
)
from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.analyzed_traces import MOST_RESULTS, AnalyzedTrace, AnalyzedTraces, Progress
from stepscope.dashboard.traces.choices import newest
from stepscope.dashboard.traces.gathered_ranks import GatheredRanks
from stepscope.dashboard.traces.headings import heading, headings
from stepscope.dashboard.traces.sources import (
    OpenedTrace,
    TraceCache,
    TraceSource,
    TraceUnavailableError,
    trace_sources,
)
from stepscope.profiler.analysis import report, tfprof
from stepscope.profiler.analysis.compare import compare
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.metrics import DEFINITIONS
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.queue import launch_delays
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.steps import CATEGORIES
from stepscope.profiler.lod import LevelOfDetail, span_ns
from stepscope.profiler.ranks import store
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace
from stepscope.summary.contents import Companion
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower
from tests.other_builds import last_of_equals_first
from tests.profiler.analysis.kineto import activity, event, launch, operator, step, trace
from tests.profiler.analysis.test_device import events
from tests.profiler.analysis.test_every_table import ODD
from tests.profiler.analysis.test_memory import change
from tests.profiler.ranks.jobs import write_job

REPOSITORY = Path(__file__).resolve().parents[2]
EVENTS = [
    step(1, 0, 100),
    operator("aten::mm", 10, 30, Input_Dims=[[2, 3], [3, 4]], Input_type=["float", "float"], Call_stack="a.py(1): f"),
    launch(12, 5, 1),
    activity("gemm<a & b>", 20, 40, 1, more={"blocks per SM": 0.5, "est. achieved occupancy %": 25}),
    operator("aten::mm", 50, 10, Input_Dims=[[2, 3], [3, 4]], Input_type=["float", "float"], Call_stack="a.py(2): g"),
    launch(52, 3, 2),
    activity("gemm<a & b>", 62, 8, 2),
    step(2, 100, 60),
    operator("aten::add", 110, 20),
    launch(112, 3, 3),
    activity("add", 120, 5, 3),
    operator("aten::add", 140, 5),
    launch(141, 2, 4),
    activity("add", 144, 2, 4),
]


def tiny() -> Trace:
    return trace(*EVENTS, deviceProperties=[{"id": 0, "name": "A GPU", "totalGlobalMem": 8 * 10**9, "numSms": 4}])


def source(run: str = "r", name: str = "a.trace.json", *, folder: str = "x", version: int = 1) -> TraceSource:
    path = PurePosixPath(run) / folder / name
    origin = Companion(run, path, f"/nowhere/{path}", 5_000_000, version)
    return TraceSource(f"{run}|file|{path}", run, name, "file", None, 5_000_000, float(version), (version,), origin)


def opened(found: TraceSource, content: Trace) -> OpenedTrace:
    start, end = span_ns(content) if len(content) else (0, 0)
    return OpenedTrace(found, content, LevelOfDetail(content), start, end, 1)


def analyzed_traces_of(contents: Mapping[str, Trace], most: int = 4) -> AnalyzedTraces:
    return AnalyzedTraces(TraceCache(opener=lambda found: opened(found, contents[found.id])), most)


def analyzed_of(content: Trace) -> AnalyzedTrace:
    return AnalyzedTrace(opened(source(), content), Progress())


def requested(page: Page, **more: Any) -> PageRequest:
    return replace(PageRequest.of(View()), page=page, **more)


def tables(content: Trace, page: Page, **more: Any) -> dict[str, Table]:
    found = source()
    answer = answer_of(analyzed_traces_of({found.id: content}), requested(page, **more), None, [found])
    return {table.name: table for table in answer.tables}


def words(component: Any) -> str:
    """All text of a component, with spaces between its parts."""
    if component is None:
        return ""
    if isinstance(component, (list, tuple)):
        return " ".join(filter(None, map(words, component)))
    return words(component.children) if hasattr(component, "children") else str(component)


def find(component: Any, kind: type) -> list[Any]:
    if isinstance(component, (list, tuple)):
        return [found for each in component for found in find(each, kind)]
    own = [component] if isinstance(component, kind) else []
    return own + (find(component.children, kind) if getattr(component, "children", None) is not None else [])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("odd", ODD)
def test_every_page_of_every_odd_trace_can_be_shown(odd: str, page: Page) -> None:
    one, other = source(), source(name="b.trace.json")
    analyzed_traces = analyzed_traces_of({one.id: ODD[odd](), other.id: ODD[odd]()})
    question = requested(
        page, trace=one.id, before=other.id, by=("name", "shape", "stack", "module", "annotation", "op_type")
    )
    answer = answer_of(analyzed_traces, question, one.id, [one, other])
    content = [
        page_lead(question, answer.analyzed, answer.tables, "dark"),
        page_tables(question, answer.tables),
        options_of(page, View(), answer.analyzed, []),
        trace_line(answer.analyzed),
    ]
    assert json.loads(json.dumps(content, cls=PlotlyJSONEncoder))


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("kernels", ["kernels"]),
        ("copies", ["memcpys", "copy_sizes", "bandwidth"]),
        ("idle", ["idle", "temporal", "work", "utilization", "overlap", "queue", "launches"]),
        ("memory", ["memory", "memory_by_module", "memory_at_peak", "memory_by_operator"]),
        ("path", ["critical_path", "critical_path_parts"]),
        ("input", ["steps"]),
        ("code", ["code"]),
    ],
)
@pytest.mark.parametrize("content", ["tiny", "sample", "small step"])
def test_the_pages_show_what_the_analyses_say(page: Page, names: list[str], content: str) -> None:
    made: dict[str, Callable[[], Trace]] = {
        "tiny": tiny,
        "sample": lambda: load_trace(str(next((REPOSITORY / "sample_logs").rglob("*.trace.json.gz")))),
        "small step": lambda: trace(*events()),
    }
    found = made[content]()
    shown = tables(found, page)
    assert list(shown) == names
    for name, table in shown.items():
        expected = report.table(found, name)
        assert_frame_equal(table.frame, expected)
        for row, whole in zip(rows(table), report.plain(expected), strict=True):
            moments = {key: value for key, value in row.items() if key in table.moments}
            assert {key: value for key, value in row.items() if key[0] != "@" and key not in moments} == {
                key: value for key, value in whole.items() if key not in moments
            }
            assert moments == {
                key: None if whole[key] is None else whole[key] - table.start_ns for key in whole if key in moments
            }


def test_nothing_is_worked_out_for_tfprof_but_of_step_stats(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a large trace it would take minutes and gigabytes, and nothing of it is shown."""
    looked_at: list[int] = []
    own_times = tfprof._own_times

    def counted(facts: Facts) -> Any:
        looked_at.append(len(facts.trace))
        return own_times(facts)

    monkeypatch.setattr(tfprof, "_own_times", counted)
    shown = tables(tiny(), "tfprof")
    assert {name: len(table.frame) for name, table in shown.items()} == {"tfprof_scope": 0, "advice": 0}
    assert sum(looked_at) == 0


def test_operators_are_grouped_by_what_is_asked_for() -> None:
    facts = Facts(tiny())
    for by in (("name",), ("name", "stack"), ("op_type",), ("name", "shape", "module", "annotation")):
        (table,) = tables(tiny(), "operators", by=by).values()
        assert_frame_equal(table.frame, operators(facts, by=by))
    assert len(tables(tiny(), "operators", by=("name", "stack"))["operators"].frame) == 3


def test_pages_without_anything_to_show_are_apart_with_their_reasons() -> None:
    analyzed = analyzed_of(tiny())
    absent = absent_pages(analyzed, 1, 1)
    assert list(absent) == ["memory", "input", "copies", "ranks", "diff", "tfprof"]
    assert [each["value"] for each in shown_pages(absent, "copies")][:4] == ["overview", "operators", "kernels", "idle"]
    assert "copies" in [each["value"] for each in shown_pages(absent, "copies")]
    assert "ranks" not in absent_pages(analyzed, 2, 1)
    assert "diff" not in absent_pages(analyzed, 1, 2)
    assert words(absent_menu(absent, "t")).startswith("Views without data (6)")


def test_reasons_of_empty_tables_are_said_once() -> None:
    lonely = trace(operator("a", 0, 1))
    page = words(page_tables(requested("copies"), [*tables(lonely, "copies").values()]))
    assert page.count("No device activity was recorded") == 1
    some = trace(activity("k", 0, 5, 1))
    page = words(page_tables(requested("idle"), [*tables(some, "idle").values()]))
    assert page.count("Not in this trace: ") == 1


def test_a_known_device_has_its_roof_and_what_is_missing_is_named() -> None:
    device = {"id": 0, "name": "Tesla V100-SXM2-16GB"}
    shapes: Any = {"Input_Dims": [[64, 64], [64, 64]], "Input_type": ["float", "float"]}
    found = trace(
        operator("aten::mm", 0, 20, **shapes),
        launch(2, 3, 1),
        activity("gemm", 10, 10, 1),
        operator("aten::cudnn_convolution", 30, 20),
        launch(32, 3, 2),
        activity("conv", 40, 30, 2),
        deviceProperties=[device],
    )
    question = requested("roofline")
    page = page_lead(question, analyzed_of(found), [*tables(found, "roofline").values()], "light")
    (graph,) = find(page, Graph)
    roof, marks = graph.figure["data"]
    assert max(roof["y"]) == 15_700
    assert roof["text"][-1] == "FP32 peak 15.7 TFLOP/s"
    assert marks["text"] == ["aten::mm"]
    assert "Peaks of V100 SXM2: 15.7 TFLOP/s (FP32), 900 GB/s. Source: NVIDIA V100" in words(page)
    assert "Not shown: aten::cudnn_convolution, with 75.0% of the device time" in words(page)
    assert "efficiency_percent" in tables(found, "roofline")["roofline"].frame.columns


def test_the_flame_graph_has_every_frame_below_its_caller() -> None:
    analyzed = analyzed_of(tiny())
    tree = analyzed.table("code")
    figure = figures.flame_chart(tree, "light")
    assert figure is not None
    (icicle,) = figure["data"]
    assert icicle["ids"] == ["all", *(str(number) for number in range(len(tree)))]
    totals = dict(zip(icicle["ids"], icicle["values"], strict=True))
    below: dict[str, int] = {}
    for parent, value in zip(icicle["parents"], icicle["values"], strict=True):
        below[parent] = below.get(parent, 0) + value
    # Plotly draws nothing if a frame is shorter than its contents.
    assert all(totals[parent] >= value for parent, value in below.items() if parent)
    assert [icicle["parents"][1 + number] == "all" for number in range(len(tree))] == (tree["depth"] == 0).to_list()
    assert figures.flame_chart(tree.clear(), "light") is None


def test_names_beside_points_do_not_overlap() -> None:
    both = [(10.0, 5.0), (10.0, 5.0)]
    ranges = {"x": (0.0, 2.0), "y": (0.0, 1.0)}
    assert _label_places(["aten::add", "aten::add_"], both, [], ranges) == ["top center", "bottom center"]
    assert _label_places(["a" * 200], both, [], ranges) == [""]


def test_peaks_give_the_roofline_its_efficiency() -> None:
    unknown = tables(tiny(), "roofline")["roofline"].frame
    known = tables(tiny(), "roofline", peak_tflops=1e-6, peak_gbps=2.0)["roofline"].frame
    assert "efficiency_percent" not in unknown.columns
    assert_frame_equal(known, roofline(tiny(), peak_flops=1e6, peak_bytes_per_s=2e9))


def test_changes_are_those_of_compare() -> None:
    before, after = source(name="before.trace.json"), source(name="after.trace.json")
    old, new = trace(*EVENTS[:4]), tiny()
    analyzed_traces = analyzed_traces_of({before.id: old, after.id: new})
    for what in ("steps", "operators", "kernels"):
        question = requested("diff", before=before.id, changed=what)
        (table,) = answer_of(analyzed_traces, question, after.id, [before, after]).tables
        expected = compare(old, new, what=what)
        assert_frame_equal(table.frame, expected)
    # Twice as many steps: longer in total is shorter per step.
    assert {row["state"] for row in rows(table)} == {"added", "shorter"}
    assert "Compared: per step, of 1 step before and 2 steps after." in table.about
    (table,) = answer_of(analyzed_traces, replace(question, per="total"), after.id, [before, after]).tables
    assert {row["state"] for row in rows(table)} == {"added", "longer"}
    assert "Compared: total, of 1 step before and 2 steps after." in table.about


def test_a_row_leads_to_its_longest_call() -> None:
    kernels = rows(tables(tiny(), "kernels")["kernels"])
    # From 20 to 60 us, with half of that on both sides.
    assert [(row["name"], row["@at"]) for row in kernels] == [
        ("gemm<a & b>", "0:80000"),
        ("add", "117500:127500"),
    ]
    found = rows(tables(tiny(), "operators", by=("name", "stack"))["operators"])
    assert [(row["name"], row.get("stack"), row["@at"]) for row in found] == [
        ("aten::mm", None, "-5000:55000"),
        ("aten::mm", "a.py(1): f", "-5000:55000"),
        ("aten::mm", "a.py(2): g", "45000:65000"),
        ("aten::add", "", "100000:140000"),
    ]
    assert [(row["@slice"], row.get("@search")) for row in kernels] == [(0, None), (2, None)]
    shown = tiny()
    assert [(shown.names[shown.name_id[row["@slice"]]], int(shown.start_ns[row["@slice"]])) for row in kernels] == [
        ("gemm<a & b>", 20_000),
        ("add", 120_000),
    ]


def test_a_row_of_several_names_searches_for_none_and_a_copy_for_itself() -> None:
    by_type = rows(tables(tiny(), "operators", by=("op_type",))["operators"])
    assert [(row["@search"], row["@at"]) for row in by_type] == [("", "-5000:55000")]
    link = timeline_link("t", Place(1, 5, 7, "x" * 400), "words", "title")
    data = {name: value for name, value in link.to_plotly_json()["props"].items() if name.startswith("data-")}
    assert data == {"data-trace": "t", "data-range": "1:5", "data-slice": "7", "data-search": "x" * 300}
    assert (
        link.href == f"?tab=timeline&timeline.trace=t&timeline.range=1%3A5&timeline.slice=7&timeline.search={'x' * 300}"
    )


def test_groups_have_the_sums_of_what_is_in_them() -> None:
    found = rows(tables(tiny(), "operators", by=("name", "stack"))["operators"])
    group, *members, alone = found
    assert (group["@row"], group["@group"], group["@size"], group["calls"]) == ("group 0", 0, 2, 2)
    assert [(row["@in"], row["calls"]) for row in members] == [(0, 1), (0, 1)]
    for name in ("host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns"):
        assert group[name] == sum(row[name] for row in members)
    # A group of one is just its member.
    assert {"@in", "@group"}.isdisjoint(alone)


def templates() -> Trace:
    names = ["void ns::add<float>(int)", "void ns::add<double>(int)", "ampere_sgemm_64x32", "ncclDevKernel_AllReduce"]
    return trace(
        step(1, 0, 100),
        *(launch(number, 1, number + 1) for number in range(4)),
        *(activity(name, 10 * number + 10, number + 1, number + 1) for number, name in enumerate(names)),
    )


def test_kernels_are_put_together_by_stem_and_by_category() -> None:
    flat = tables(templates(), "kernels", group="none")["kernels"]
    assert flat.groups is None
    by_stem = rows(tables(templates(), "kernels", group="stem")["kernels"])
    assert [(row["name"], row["total_ns"], row.get("@size"), row.get("@in")) for row in by_stem] == [
        ("ncclDevKernel_AllReduce", 4_000, None, None),
        ("ns::add", 3_000, 2, None),
        ("void ns::add<double>(int)", 2_000, None, 1),
        ("void ns::add<float>(int)", 1_000, None, 1),
        ("ampere_sgemm_64x32", 3_000, None, None),
    ]
    assert [row["@search"] for row in by_stem if "@group" in row] == [""]
    by_category = rows(tables(templates(), "kernels", group="category")["kernels"])
    assert [(row["name"], row["total_ns"]) for row in by_category if "@group" in row] == [
        ("communication", 4_000),
        ("other", 3_000),
        ("matmul", 3_000),
    ]


def test_slices_are_put_together_by_category() -> None:
    table = tables(templates(), "slices", group="category")["slices"]
    found = rows(table)
    groups = {row["@group"]: row for row in found if "@group" in row}
    assert {row["name"]: row["@size"] for row in groups.values()} == {
        "cuda_runtime": 1,
        "kernel": 4,
    }
    for number, group in groups.items():
        inside = [row for row in found if row.get("@in") == number]
        for name in ("count", "self_ns", "total_ns"):
            assert group[name] == sum(row[name] for row in inside)
        assert group["max_ns"] == max(row["max_ns"] for row in inside)
        assert group["mean_ns"] == group["total_ns"] / group["count"]


def test_distributions_count_every_slice_of_a_row_with_several() -> None:
    pages: tuple[Page, ...] = ("operators", "kernels", "slices")
    for page in pages:
        for row in rows(tables(tiny(), page)[page]):
            number = row["calls" if page == "operators" else "count"]
            assert ("@spread" in row) == (number > 1)
            if number > 1:
                low, high, *counts = row["@spread"]
                assert sum(counts) == number
                assert 0 < low < high
    (row, _) = rows(tables(tiny(), "kernels")["kernels"])
    # 8 and 40 us.
    assert (row["@spread"][:2], row["@spread"][2], row["@spread"][-1]) == ([8_000.0, 40_000.0], 1, 1)


def test_copies_are_found_by_the_names_of_slices() -> None:
    copies = trace(
        activity("Memcpy HtoD (Pinned -> Device)", 0, 4, 1, category="gpu_memcpy", bytes=4_000),
        activity("Memcpy HtoD (Pageable -> Device)", 10, 8, 2, category="gpu_memcpy", bytes=4_000),
        activity("Memcpy HtoD (Pinned -> Device)", 20, 2, 3, category="gpu_memcpy", bytes=0),
    )
    table = tables(copies, "copies", row="Memcpy HtoD (Pinned -> Device)")["memcpys"]
    assert [(row["memory"], row["count"]) for row in rows(table)] == [("pageable", 1), ("pinned", 2)]
    assert table.chosen == 1
    assert tables(copies, "copies", row="memset")["memcpys"].chosen is None
    analyzed = analyzed_of(copies)
    (chart,) = find(page_lead(requested("copies"), analyzed, [], "light"), Graph)
    drawn = [(each["name"], each["x"], each["y"], each["customdata"]) for each in chart.figure["data"]]
    assert drawn == [
        ("HtoD pageable", [4_000], [0.5], [["6000:22000", "1", "4 kB", "8 µs"]]),
        ("HtoD pinned", [4_000], [1.0], [["-2000:6000", "0", "4 kB", "4 µs"]]),
    ]


def test_the_row_that_is_asked_for_is_selected_and_its_absence_said() -> None:
    found = tables(tiny(), "kernels", row="add")["kernels"]
    assert (found.chosen, chosen_id(found)) == (1, "1")
    grouped = tables(tiny(), "operators", by=("name", "stack"), row="aten::mm")["operators"]
    assert chosen_id(grouped) == "group 0"
    analyzed = analyzed_of(tiny())
    cases: tuple[tuple[Page, str, str], ...] = (
        ("kernels", "aten::mm", "“aten::mm” has no row here.  Find it in Slices"),
        ("kernels", "gone", "“gone” has no row here."),
        ("slices", "gone", "“gone” has no row here."),
    )
    for page, name, expected in cases:
        question = requested(page, row=name)
        content = page_lead(question, analyzed, list(tables(tiny(), page, row=name).values()), "light")
        assert [words(each).strip() for each in find(content, html.P) if getattr(each, "role", "") == "status"] == [
            expected
        ]
    assert tables(tiny(), "kernels", row="")["kernels"].chosen is None


def test_a_row_beyond_those_of_the_page_is_sent_if_it_is_asked_for() -> None:
    many = Table("t", "T", pl.DataFrame({"name": [f"n{each}" for each in range(MOST_ROWS + 9)]}), "")
    assert len(rows(many)) == FIRST_ROWS
    last = rows(replace(many, chosen=MOST_ROWS + 7))[-1]
    assert last == {"name": f"n{MOST_ROWS + 7}", "@row": str(MOST_ROWS + 7)}


def test_times_are_since_the_beginning_of_the_trace() -> None:
    later = [{**each, "ts": each["ts"] + 1_700_000_000_000_000} for each in EVENTS]
    early, late = (rows(tables(trace(*each), "input")["steps"]) for each in (EVENTS, later))
    assert early == late
    assert [row["start_ns"] for row in early] == [0, 100_000]


def test_a_file_has_what_the_page_has_not() -> None:
    long = "x" * (MOST_LETTERS + 5)
    many = Table("t", "T", pl.DataFrame({"name": [long] * (MOST_ROWS + 1), "total_ns": 2}), "", totals=("total_ns",))
    shown = rows(many)
    assert len(shown) == FIRST_ROWS
    assert shown[0]["name"] == long[:MOST_LETTERS] + "…"
    looked = "sorting, search and filters apply to all rows; the download contains all rows."
    assert cut_note(many) == f"The first 1,000 of 5,001 rows; {looked}"
    assert cut_note(replace(many, tree=True)) == "The first 5,000 of 5,001 rows; the download contains all rows."
    assert found_note(many, 7) == f"7 rows found among 5,001; {looked}"
    assert total_row(many) == [{"name": "Total of 5,001 rows", "@row": "total", "total_ns": 10_002}]


def test_columns_are_of_what_they_hold() -> None:
    table = tables(tiny(), "kernels")["kernels"]
    found = {column["field"]: column for column in columns(table, rows(table))}
    assert list(found)[:4] == ["name", "count", "@spread", "total_ns"]
    assert set(found) == {*table.frame.columns, "@spread"}
    assert found["total_ns"]["headerName"] == "Total"
    assert found["total_ns"]["valueFormatter"] == {"function": "stepscopeProfileTime(params.value)"}
    assert found["total_ns"]["cellStyle"] == {"function": "stepscopeProfileBar(params, 55000)"}
    assert found["percent"]["valueFormatter"] == {"function": "stepscopeProfilePercent(params.value)"}
    assert found["blocks_per_sm"]["headerName"] == "Blocks per SM"
    assert heading("caused_waiting_ns") == "Caused waiting"


def test_the_roofline_has_durations_and_no_moments() -> None:
    (row,) = rows(tables(tiny(), "roofline")["roofline"])
    assert row["time_ns"] == 48_000


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_234, "1.234 µs"),
        (-1_500_000, "-1.5 ms"),
        (12_345_678_900, "12.35 s"),
        (4_321_000_000_000, "4,321 s"),
        (999_949, "999.9 µs"),
        (999_999, "1 ms"),
    ],
)
def test_durations_as_text(ns: float | None, text: str) -> None:
    assert texts.duration(ns) == text


def test_names_of_cpp_are_short_where_they_stay_apart() -> None:
    add = "void at::native::vectorized<4, at::native::Add<float> >(int, at::native::Add<float>)"
    assert texts.short_names([add, "aten::add", "gemm<a & b>"]) == [
        "vectorized<4, Add<float> >",
        "aten::add",
        "gemm<a & b>",
    ]
    assert texts.short_names(["void a::f<int>(int)", "void b::f<int>(int)"]) == [
        "void a::f<int>(int)",
        "void b::f<int>(int)",
    ]
    assert texts.middle_cut("x" * 40 + "0123456789abcd") == ("x" * 40, "0123456789abcd")
    assert texts.middle_cut("aten::add") == ("aten::add", "")


def test_columns_of_zeros_are_hidden_and_names_take_what_they_need() -> None:
    operators = tables(tiny(), "operators")["operators"]
    found = {column["colId"]: column for column in columns(operators, rows(operators))}
    assert found["tensor_core_self_percent"]["hide"]
    assert "hide" not in found["host_self_ns"]
    assert found["name"]["maxWidth"] < 200
    table = tables(tiny(), "input")["steps"]
    steps = {column["colId"]: column for column in columns(table, rows(table))}
    assert "type" not in steps["step"]
    assert steps["total_ns"]["type"] == "rightAligned"


def test_the_column_of_short_names_has_room_for_what_stands_before_their_sums() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "total_ns": [1, 2]})
    widths = [
        columns(table, rows(table))[0]["maxWidth"]
        for table in (Table("t", "T", frame, ""), Table("t", "T", frame, "", totals=("total_ns",)))
    ]
    assert widths[1] - widths[0] == round(15 * 6.9) - round(6 * 6.9)
    assert total_row(Table("t", "T", frame, "", totals=("total_ns",)))[0]["name"] == "Total of 2 rows"


def test_numbers_as_text() -> None:
    assert [texts.digits(each) for each in (0.0, 0.00001234, 0.5, 999.96, 1234.5, 1_234_567.0, 3e12)] == [
        "0",
        "1.23e-05",
        "0.5",
        "1,000",
        "1,234",
        "1.235 M",
        "3 T",
    ]
    assert [texts.of_unit(12.34, unit) for unit in ("percent", "ns", "bytes", "count")] == [
        "12.3%",
        "12.34 ns",
        "12 B",
        "12.34",
    ]


def test_the_step_chart_has_the_breakdown_in_it() -> None:
    steps = report.table(tiny(), "steps").with_columns(pl.Series("at", ["0:1", "1:2"]))
    figure = figures.step_chart(steps, "light")
    assert figure["layout"]["yaxis"]["title"]["text"] == "µs"
    bars = {bar["name"]: [round(y * 1e3) for y in bar["y"]] for bar in figure["data"]}
    assert bars == {
        figures.LABELS[category]: steps[f"{category}_ns"].to_list()
        for category in CATEGORIES
        if steps[f"{category}_ns"].sum()
    }
    assert figure["data"][0]["customdata"][0] == ["0:1", "", "48 µs", "100 µs"]


def test_many_steps_leave_the_slowest_in_their_order() -> None:
    many = pl.DataFrame({"step": range(1000), "total_ns": [step % 7 for step in range(1000)]})
    shown = figures.shown_steps(many)
    assert len(shown) == figures.MOST_STEPS
    assert shown["step"].is_sorted()
    assert shown["total_ns"].min() == many["total_ns"].sort(descending=True)[figures.MOST_STEPS - 1]


def test_of_what_is_equally_slow_the_first_is_shown() -> None:
    steps = pl.DataFrame({"step": range(1000), "total_ns": [1] * 1000})
    assert figures.shown_steps(steps)["step"].to_list() == list(range(figures.MOST_STEPS))
    busy = [operator("a", 10 * number, 9) for number in range(300)]
    analyzed = analyzed_of(trace(*(step(number, 10 * number, 10) for number in range(300)), *busy))
    assert [words(each) for each in evidence_links(analyzed, "step_time_spread")][-1] == "Show step 0 on the Timeline"
    streams = pl.DataFrame({"device": [0] * 100, "stream": range(100), "time_ns": [0] * 100, "length": [1] * 100})
    chart = device_figures.queue_chart(streams, 0, "light")
    assert chart is not None
    assert [line["name"] for line in chart["data"]] == [f"stream {number}" for number in range(8)]


def test_of_copies_that_take_as_long_the_first_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_figures, "MOST_POINTS", 10)
    copies = [
        activity("Memcpy HtoD", 10 * number, 5, number, category="gpu_memcpy", bytes=1000 + number)
        for number in range(30)
    ]
    with last_of_equals_first():
        chart = find(page_lead(requested("copies"), analyzed_of(trace(*copies)), [], "light"), Graph)[0]
    (drawn,) = chart.figure["data"]
    assert sorted(drawn["x"]) == [1000 + number for number in range(10)]


def test_of_devices_that_held_as_much_the_first_is_shown() -> None:
    events = [change(1_000 * number, 100, 1, **{"Device Id": number}) for number in range(3)]
    analyzed = analyzed_of(trace(operator("a", 0, 3_000), *events))
    first = analyzed.table("memory").row(0, named=True)
    assert (first["device"], first["time_ns"]) == ("GPU 0", 0)
    with last_of_equals_first():
        assert shown_device(analyzed, "") == "GPU 0"
        ((_, place),) = _PLACES["memory_peak"](analyzed)
    assert place is not None
    assert place.start + place.end == 0


def test_the_memory_chart_keeps_the_peak() -> None:
    held = [number % 1000 for number in range(5000)]
    held[3333] = 10**9
    line = pl.DataFrame({"time_ns": [10 + i for i in range(5000)], "bytes": held, "reserved_bytes": [2 * 10**9] * 5000})
    figure = figures.memory_chart(line, 10, "dark")
    assert [each["name"] for each in figure["data"]] == ["Reserved", "Allocated"]
    (peak,) = figure["layout"]["annotations"]
    assert (peak["text"], round(peak["x"] * 1e3), peak["y"]) == ("peak 1 GB", 3333, 1e9)


def test_the_overview_says_what_the_analyses_say() -> None:
    analyzed = analyzed_of(tiny())
    page = page_lead(requested("overview"), analyzed, [], "light")
    tiles = {
        tile.children[0].children: tile.children[1].children
        for tile in find(page, html.Div)
        if getattr(tile, "className", "") == "profile-tile"
    }
    known = {row["name"]: row["value"] for row in report.table(tiny(), "overview").to_dicts()}
    assert tiles["Mean step"] == texts.duration(known["step_time"])
    assert tiles["GPU utilization"] == texts.percent(known["gpu_utilization"])
    assert tiles["Steps"] == f"{known['steps']:.0f}"
    titles = [each.children[1].children[0].children for each in find(page, html.Li) if hasattr(each, "data-severity")]
    assert titles == report.table(tiny(), "findings")["title"].to_list()
    assert dict(run_facts(analyzed))["Device 0"] == "A GPU, 8 GB memory, 4 multiprocessors"
    assert dict(run_facts(analyzed))["Events"] == "all were read"
    assert "Skipped or altered events" not in words(page)


def test_each_figure_of_the_overview_says_what_it_is_a_share_of_and_what_it_means() -> None:
    shown = page_lead(requested("overview"), analyzed_of(tiny()), [], "light")
    tiles = [tile for tile in find(shown, html.Div) if getattr(tile, "className", "") == "profile-tile"]
    about = {tile.children[0].children: (tile.children[2].children, tile.title) for tile in tiles}
    meanings = {row["name"]: row["meaning"] for row in report.table(tiny(), "overview").to_dicts()}
    assert len(about) >= 4
    assert all(of and title.endswith(".") for of, title in about.values())
    assert about["GPU utilization"][1][1:-1] == meanings["gpu_utilization"][1:]


def test_the_steps_of_the_input_page_have_a_legend() -> None:
    shown = page_lead(requested("input"), analyzed_of(tiny()), [*tables(tiny(), "input").values()], "light")
    graphs = [graph for graph in find(shown, Graph) if graph.id["chart"] == "steps"]
    assert [graph.figure["layout"]["showlegend"] for graph in graphs] == [True]
    assert all(trace["name"] for trace in graphs[0].figure["data"])


def test_losses_are_counted_and_explained() -> None:
    lost = trace(operator("a", 0, 10), {"ph": "f", "id": 3, "name": "x", "cat": "y", "pid": 100, "tid": 1, "ts": 5})
    page = words(page_lead(requested("overview"), analyzed_of(lost), [], "light"))
    assert "1 arrow without a start" in page
    assert "1 arrow has only one end" in page
    assert "An arrow ends here, but the file has no beginning" in page
    assert "events lost" not in page
    assert "1 arrow has only one end" in words(trace_line(analyzed_of(lost)))
    assert page.index("Findings") < page.index("Skipped or altered events")
    more = trace(operator("a", 10**9, 10), operator("b", 10**9 + 5, -1))
    page = words(page_lead(requested("overview"), analyzed_of(more), [], "light"))
    assert "1 event skipped or altered" in page
    assert "“b” on process 100, thread 1 at 0.005000 ms" in page
    assert page.index("Skipped or altered events") < page.index("Findings")


def test_every_metric_that_findings_name_has_a_unit_and_leads_to_a_page() -> None:
    assert set(EVIDENCE_PAGES) <= set(DEFINITIONS)
    assert set(EVIDENCE_PAGES.values()) <= set(PAGES)


def test_findings_lead_to_what_proves_them() -> None:
    analyzed = analyzed_of(trace(*events()))
    links = {metric: [(words(each), each.href) for each in evidence_links(analyzed, metric)] for metric in DEFINITIONS}
    assert all(links[metric] for metric in report.table(analyzed.facts, "findings")["metric"].to_list())
    for metric in (*EVIDENCE_PAGES, *_PLACES):
        for _, href in links[metric]:
            assert re.match(r"\?tab=(profile&profile.view=|timeline&timeline.trace=)", href)
    (page, place) = links["memcpy"]
    assert page[0] == "See Copies"
    assert place[0] == "Show the longest copy on the Timeline"
    index = int(re.findall(r"timeline.slice=([0-9]+)", place[1])[0])
    assert analyzed.facts.trace.names[analyzed.facts.trace.name_id[index]].startswith("Memcpy")


def test_versions_are_those_that_the_trace_states() -> None:
    known = {
        "schemaVersion": 1,
        "cuda_runtime_version": 12040,
        "cupti_version": 24,
        "pytorchVersion": "2.6.0",
        "nccl_version": "",
        "conversion": "x",
    }
    assert dict(versions(known)) == {"CUDA runtime version": "12.4", "CUPTI version": "24", "Pytorch version": "2.6.0"}


def test_facts_name_hosts_time_and_workers() -> None:
    found = dict(run_facts(analyzed_of(replace(tiny(), epoch_ns=1_700_000_000 * 10**9)), workers=2))
    assert found["Recorded at"] == "2023-11-14 22:13:20 UTC"
    assert found["Workers"] == "2 traces in this folder"
    hosted = trace(operator("a", 0, 1), otherData={"host": "one", "producer": "p"}, hostnames=["one", "two"])
    facts = dict(run_facts(analyzed_of(hosted)))
    assert (facts["Hosts"], facts["Recorded by"]) == ("one, two", "p")


def test_what_the_overview_leaves_out_is_counted() -> None:
    versions_of_much = {f"part{number}_version": number + 1 for number in range(MOST_FACTS)}
    many = trace(
        *(operator(f"op{number}", 10 * number, 5) for number in range(12)),
        hostnames=[f"host{number}" for number in range(10)],
        **versions_of_much,
    )
    analyzed = analyzed_of(many)
    assert dict(run_facts(analyzed))["Hosts"].endswith("host6, host7, and 2 more")
    page = page_lead(requested("overview"), analyzed, [], "light")
    links = [link.children for link in find(page, html.A) if link.children and str(link.children).startswith("All")]
    assert links == ["All 12", "All 12"]
    facts = [entry.children for entry in find(page, html.Dl)[0].children]
    assert len(facts) == 2 * (MOST_FACTS + 1)
    assert facts[-2:] == ["Not shown", f"{len(list(run_facts(analyzed))) - MOST_FACTS} more"]


def test_streams_that_the_queue_leaves_out_are_counted() -> None:
    streams = range(device_figures.MOST_STREAMS + 2)
    launched = [launch(10 * stream, 2, stream + 1) for stream in streams]
    ran = [activity(f"k{stream}", 200 + stream, 5, stream + 1, stream=stream + 7) for stream in streams]
    page = page_lead(requested("idle"), analyzed_of(trace(*launched, *ran)), [], "light")
    assert "pending launches on each stream, over time; the 8 of 10 streams with the most" in words(page)


def test_the_queue_and_the_delays_are_those_of_the_analyses() -> None:
    analyzed = analyzed_of(tiny())
    charts = {each.id: each.figure for each in find(page_lead(requested("idle"), analyzed, [], "light"), Graph)}
    assert list(charts) == ["profile-queue", "profile-delays"]
    (line,) = charts["profile-queue"]["data"]
    assert line["name"] == "stream 7"
    (bars,) = charts["profile-delays"]["data"]
    assert sum(bars["y"]) == len(launch_delays(tiny()))
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {"2 µs": 1, "5 µs": 1}
    assert find(page_lead(requested("idle"), analyzed_of(trace(operator("a", 0, 1))), [], "light"), Graph) == []


def test_an_empty_table_says_why() -> None:
    page = words(page_tables(requested("kernels"), [*tables(trace(operator("a", 0, 1)), "kernels").values()]))
    assert "No device activity was recorded. Record with CUDA" in page


def test_ranks_are_those_beside_the_open_trace_or_those_asked_for() -> None:
    one, two, elsewhere = source(name="0.trace.json"), source(name="1.trace.json"), source(folder="y")
    everything = [two, elsewhere, one]
    assert rank_sources(requested("ranks"), one.id, everything) == [one, two]
    assert rank_sources(requested("ranks", ranks=(elsewhere.id, "gone")), one.id, everything) == [elsewhere]
    assert rank_sources(requested("kernels"), one.id, everything) == []


def test_ranks_are_numbered_as_they_state_or_in_order() -> None:
    stated = [analyzed_of(trace(operator("a", 0, 1), distributedInfo={"rank": rank})) for rank in (5, 3)]
    assert list(report.by_rank(stated, lambda each: each.facts)) == [3, 5]
    assert list(report.by_rank([*stated, stated[0]], lambda each: each.facts)) == [0, 1, 2]


def test_rank_tables_are_the_analyses() -> None:
    sources = [source(name=f"{rank}.trace.json") for rank in (0, 1)]
    contents = {
        each.id: trace(
            step(1, 0, 100),
            launch(5, 2, 1),
            activity("ncclDevKernel_AllReduce", 10, 20 + 10 * rank, 1),
            distributedInfo={"rank": rank},
        )
        for rank, each in enumerate(sources)
    }
    answer = answer_of(analyzed_traces_of(contents), requested("ranks"), sources[0].id, sources)
    facts = {rank: Facts(content) for rank, content in enumerate(contents.values())}
    for table in answer.tables:
        assert_frame_equal(table.frame, report.analyses("ranks")[table.name].table(facts))
    (collectives,) = (table for table in answer.tables if table.name == "collectives")
    assert [row["waiting_ns"] for row in rows(collectives)] == [0, 10_000]


def test_what_is_missing_is_said() -> None:
    found = source()
    analyzed_traces = analyzed_traces_of({found.id: tiny()})
    assert answer_of(analyzed_traces, requested("diff"), None, [found]).missing == (
        "Choose a trace to compare with",
        "Choose the earlier trace above: operators and kernels are compared by name.",
    )
    alone = answer_of(analyzed_traces, requested("ranks"), found.id, [found]).missing
    assert alone is not None
    assert alone[0] == "Only one rank"
    with pytest.raises(TraceUnavailableError, match="There is no trace 'gone'"):
        answer_of(analyzed_traces, requested("diff", before="gone"), None, [found])


def test_views_that_are_not_understood_are_the_defaults() -> None:
    view = decode("?profile.view=nothing&profile.by=color,&profile.tflops=-1&profile.changed=x")
    assert PageRequest.of(view) == PageRequest.of(View())
    assert BY.of(decode("profile.by=stack,name")) == ("name", "stack")


def test_commas_in_ids_separate_nothing() -> None:
    ids = ("a,b|file|x y/ä%2C.trace.json", "c")
    assert RANKS.parse((",".join(map(without_comma, ids)),)) == ids
    assert RANKS.parse(RANKS.format(ids)) == ids


def test_a_page_depends_on_its_own_settings_only() -> None:
    one, other = requested("kernels", by=("name",)), requested("kernels", by=("stack",), before="x")
    assert one.relevant() == other.relevant()
    assert replace(one, page="operators").relevant() != replace(other, page="operators").relevant()


def test_analyzed_traces_are_bounded_and_follow_new_versions() -> None:
    sources = [source(name=f"{number}.trace.json") for number in range(3)]
    analyzed_traces = analyzed_traces_of({each.id: tiny() for each in sources}, most=2)
    first = analyzed_traces.get(sources[0])
    assert analyzed_traces.get(sources[0]) is first
    assert analyzed_traces.get(replace(sources[0], version=(2,))) is not first
    analyzed_traces.get(sources[1])
    analyzed_traces.get(sources[2])
    assert analyzed_traces.get(sources[0]) is not first


def test_results_are_kept_and_bounded() -> None:
    analyzed = analyzed_of(tiny())
    assert analyzed.table("kernels") is analyzed.table("kernels")
    first = analyzed.table("kernels")
    for number in range(MOST_RESULTS):
        analyzed.kept(number, "numbers", lambda: 1)
    assert analyzed.table("kernels") is not first


def test_several_threads_share_one_result() -> None:
    analyzed, made, barrier = analyzed_of(tiny()), [], threading.Barrier(4)

    def ask(_: int) -> int:
        barrier.wait()
        return analyzed.kept("key", "it", lambda: made.append(1) or len(made))  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [1, 1, 1, 1]
    assert made == [1]


def test_progress_says_what_goes_on_and_for_how_long() -> None:
    times = iter([10.0, 12.0, 15.5, 16.0])
    progress = Progress(lambda: next(times))
    with progress.doing("reading"):
        with progress.doing("working"):
            assert progress.now() == [("working", 3.5), ("reading", 5.5)]
        assert progress.now() == [("reading", 6.0)]


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / "run" / "plugins" / "profile" / "x" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def client_of(path: Path) -> TestClient:
    live = Live(str(path), lambda publish: NoFollower())
    live.publish(Logdir(path, companion_patterns=companion_patterns()).update())
    return TestClient(build_app(live), base_url="http://localhost:6006")


def test_a_page_that_opens_has_the_list_of_traces_once(tmp_path: Path) -> None:
    """Ten thousand traces make up most of the page."""
    write(tmp_path, "a.trace.json", {"schemaVersion": 1, "traceEvents": EVENTS})
    snapshot = Logdir(tmp_path, companion_patterns=companion_patterns()).update()
    sources = trace_sources(snapshot)
    (known,) = [each.data for each in find(PANEL.layout(snapshot, View()), Store) if each.id == "profile-keys"]
    keys = _keys(PageRequest.of(View()), newest(sources), sources, "light", None, None)
    assert known == {"choices": keys["choices"]}


def test_what_a_table_says_of_its_columns_is_worked_out_once() -> None:
    (kernels,) = tables(tiny(), "kernels").values()
    assert kernels.first == "name"
    assert vars(kernels)["first"] == "name"
    assert kernels.moments is kernels.moments


def test_tables_are_served_whole(tmp_path: Path) -> None:
    write(tmp_path, "a.trace.json", {"schemaVersion": 1, "traceEvents": EVENTS})
    client = client_of(tmp_path)
    answer = client.get("/api/profile/table.csv", params={"name": "kernels", "view": "profile.view=kernels"})
    assert answer.headers["content-disposition"] == 'attachment; filename="run_kernels.csv"'
    assert answer.text == report.table(tiny(), "kernels").write_csv()
    found = client.get(
        "/api/profile/table.json", params={"name": "operators", "view": "profile.view=operators&profile.by=stack"}
    )
    assert [row["stack"] for row in found.json()] == ["a.py(1): f", "a.py(2): g", ""]
    assert client.get("/api/profile/progress").json() == []
    assert client.get("/api/profile/ranks", params={"job": "unknown"}).json() is None


def test_rows_of_a_long_table_are_served_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.dashboard.panels.profile.table.MOST_ROWS", 1)
    write(tmp_path, "a.trace.json", {"schemaVersion": 1, "traceEvents": EVENTS})
    client = client_of(tmp_path)
    where = {"name": "kernels", "view": "profile.view=kernels"}
    whole = rows(tables(tiny(), "kernels")["kernels"])
    asked = {"order": [{"colId": "total_ns", "sort": "asc"}]}
    answer = client.post("/api/profile/rows", params=where, json=asked).json()
    assert answer["rows"] == sorted(whole, key=lambda row: row["total_ns"])
    assert answer["note"].startswith("2 rows; ")
    answer = client.post("/api/profile/rows", params=where, json={"search": "nothing is called so"}).json()
    assert (answer["rows"], answer["note"][:24]) == ([], "0 rows found among 2; so")
    wrong = {"filters": {"name": {"filterType": "text", "type": "resembles", "filter": ""}}}
    assert client.post("/api/profile/rows", params=where, json=wrong).status_code == 422


def test_a_trace_goes_when_nobody_has_it_any_more() -> None:
    """Traces of ten million slices would stay until a garbage collection finds them."""
    analyzed = analyzed_of(tiny())
    for page in PAGES:
        assert all(rows(table) for table in tables_of(requested(page), analyzed, None) if len(table.frame))
    gone = weakref.ref(analyzed)
    gc.disable()
    try:
        del analyzed
        assert gone() is None
    finally:
        gc.enable()


def test_files_have_all_ranks_and_those_of_ranks_that_are_being_read_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "default_store", lambda: str(tmp_path / "facts"))
    # Not all ranks can be open at once.
    monkeypatch.setattr(known_ranks, "MOST_IN_MEMORY", 2)
    monkeypatch.setattr(known_ranks, "FIRST_SECONDS", 60.0)
    write_job(tmp_path / "logs" / "job", 20)
    client = client_of(tmp_path / "logs")
    where = {"name": "ranks", "view": "profile.view=ranks"}
    answer = client.get("/api/profile/table.json", params=where)
    assert [row["rank"] for row in answer.json()] == list(range(20))
    assert answer.headers["content-disposition"] == 'attachment; filename="job_ranks.json"'
    monkeypatch.setattr(GatheredRanks, "running", property(lambda _: True))
    answer = client.get("/api/profile/table.csv", params=where)
    assert answer.headers["content-disposition"] == 'attachment; filename="job_ranks_so_far.csv"'


def test_what_a_caller_got_wrong_is_said(tmp_path: Path) -> None:
    write(tmp_path, "a.trace.json", {"schemaVersion": 1, "traceEvents": EVENTS})
    write(tmp_path, "broken.trace.json", 7)
    client = client_of(tmp_path)
    view = "profile.view=kernels&profile.trace=run|file|run/plugins/profile/x/"
    answer = client.get("/api/profile/table.csv", params={"name": "steps", "view": view + "a.trace.json"})
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "Page 'kernels' has no table 'steps'. It has: kernels.",
    )
    for name in ("broken.trace.json", "gone.trace.json", "../../../../../etc/passwd"):
        answer = client.get("/api/profile/table.csv", params={"name": "kernels", "view": view + name})
        assert answer.status_code == 404
        assert name.rpartition("/")[2] in answer.json()["detail"]


def test_slices_have_their_own_time_and_that_of_what_lies_inside() -> None:
    annotated = trace(
        step(1, 0, 100), event("user_annotation", "forward", 10, 40), event("user_annotation", "hidden", 20, 5)
    )
    table = tables(annotated, "slices")["slices"]
    assert [(row["name"], row["count"], row["self_ns"], row["total_ns"], row["@at"]) for row in rows(table)] == [
        ("forward", 1, 35_000, 40_000, "-10000:70000"),
        ("hidden", 1, 5_000, 5_000, "17500:27500"),
    ]
    assert total_row(table) == [{"name": "Total of 2 rows", "@row": "total", "count": 2, "self_ns": 40_000}]
    overview = page_lead(requested("overview"), analyzed_of(annotated), [], "light")
    assert "Top slices by self time" in words(overview)
    (top,) = [each for each in find(overview, html.Table) if each.className == "profile-top"]
    assert [words(each) for each in find(top, html.A)] == ["forward", "hidden"]


def test_hostile_names_stay_names() -> None:
    hostile = "<img src=x onerror=alert(1)> %{customdata} {{7*7}}"
    content = trace(
        step(1, 0, 10), operator(hostile, 1, 5), launch(2, 1, 1), activity(hostile, 4, 2, 1), event("x", "y", 0, 1)
    )
    (row,) = rows(tables(content, "kernels")["kernels"])
    assert row["name"] == hostile
    flops = pl.DataFrame({"name": [hostile], "intensity": [1.0], "gflops_per_s": [2.0]})
    figure = figures.roofline_chart(flops, {}, 0, "light")
    assert figure is not None
    assert "<img" not in figure["data"][0]["hovertext"][0]


def test_no_two_columns_of_a_table_have_one_heading() -> None:
    for name, analysis in report.analyses().items():
        found = list(headings(list(analysis.by_name), analysis.by_name).values())
        assert sorted(found) == sorted(set(found)), name
    assert headings(["change_ns", "change_percent", "percent"]) == {
        "change_ns": "Change",
        "change_percent": "Change %",
        "percent": "Percent",
    }


def test_places_on_the_timeline_are_worked_out_for_the_rows_that_the_page_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(tables(tiny(), "path")["critical_path_parts"])
    assert len(whole) > 2
    asked: list[int] = []

    def places(frame: pl.DataFrame, *_: object) -> Places:
        asked.append(len(frame))
        return (None,) * len(frame)

    monkeypatch.setattr("stepscope.dashboard.panels.profile.analysis_tables.places_of", places)
    monkeypatch.setattr("stepscope.dashboard.panels.profile.table.MOST_ROWS", 2)
    monkeypatch.setattr("stepscope.dashboard.panels.profile.rows.FIRST_ROWS", 2)
    assert len(rows(tables(tiny(), "path")["critical_path_parts"])) == 2
    assert asked == [2]
