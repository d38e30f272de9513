"""The panel's tables for other tools' traces are, number for number, those of the analyses.

The other tests in this folder check that the analyses' figures match those of the other tools.
"""

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

import polars as pl
import pytest
from plotly.utils import PlotlyJSONEncoder
from polars.testing import assert_frame_equal

from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.profile.request import Answer, answer_of
from stepscope.dashboard.panels.profile.rows import rows, total_row
from stepscope.dashboard.panels.profile.settings import PAGES, Page, PageRequest
from stepscope.dashboard.panels.profile.table import FIRST_ROWS, MOST_ROWS, Table
from stepscope.dashboard.panels.profile.views import options_of, page_lead, page_tables, trace_line
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTraces
from stepscope.dashboard.traces.sources import OpenedTrace, TraceCache, TraceSource
from stepscope.profiler.analysis import report
from stepscope.profiler.analysis.classify import is_profilers_own
from stepscope.profiler.analysis.compare import CHANGES, compare
from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.members import BUCKETS
from stepscope.profiler.analysis.operators import operators
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.slices import slices_by_category
from stepscope.profiler.lod import LevelOfDetail, span_ns
from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import load_trace
from stepscope.summary.contents import Companion
from tests.dashboard.test_profile_panel import client_of, requested

pytestmark = pytest.mark.peers
Peer = Callable[[str], Path]

PACKED_XSPACE = "pack/tensorflow2/keras/train/plugins/profile/2026_11_24_04_17_28/vm.xplane.pb"
TRACES = [
    *(f"hta/{name}.json.gz" for name in ("a100_rank0_108936_events", "amd_mi250", "diff_control", "diff_test")),
    *(f"hta/{name}.json.gz" for name in ("sampled_rank-0", "sampled_rank-1", "simple_add")),
    "kineto/resnet50_num_workers_0.pt.trace.json.gz",
    "torch_profiler/cpu.1795227341401647509.pt.trace.json.gz",
    *(f"timeline/gen{generation}_{number}.step_stats.pb" for generation in (1, 2, 3) for number in (0, 1)),
    *(f"pack/timeline/gen{generation}_1.step_stats.pb" for generation in (1, 2, 3)),
    "pack/kineto/rank-0.json.gz",
    "pack/gpu/training.json.gz",
    "pack/gpu/jax.xplane.pb",
    "pack/torch_profiler/cpu.pt.trace.json.gz",
    "pack/tensorflow1/rm_4.pb",
    PACKED_XSPACE,
    "tensorflow1/rm_4.pb",
    "tensorflow1/rm_9.pb",
    "tensorflow2/keras/train/plugins/profile/2026_11_21_01_47_37/vm.xplane.pb",
]


def _shown_roofline(trace: Trace) -> pl.DataFrame:
    """Without the columns that are empty when the device's peaks are not known."""
    frame = roofline(trace)
    return frame.drop("efficiency_percent", "bound_by") if frame["bound_by"].is_null().all() else frame


OWN: dict[str, Callable[[PageRequest, Trace], pl.DataFrame]] = {
    "operators": lambda question, trace: operators(trace, by=question.by),
    "roofline": lambda question, trace: _shown_roofline(trace),
}
"""Tables that depend on what the page is asked for."""


def source_of(path: Path) -> TraceSource:
    place = PurePosixPath("run", "x", path.name)
    kind: Any = "run_metadata" if "tensorflow1" in path.parts or "timeline" in path.parts else "file"
    origin = Companion("run", place, str(path), path.stat().st_size, 1)
    return TraceSource(f"run|file|{path}", "run", path.name, kind, None, path.stat().st_size, 1.0, (1,), origin)


def opened(source: TraceSource) -> OpenedTrace:
    assert isinstance(source.origin, Companion)
    trace = load_trace(source.origin.path)
    start, end = span_ns(trace) if len(trace) else (0, 0)
    return OpenedTrace(source, trace, LevelOfDetail(trace), start, end, 1)


@pytest.fixture(scope="module")
def analyzed_traces() -> AnalyzedTraces:
    return AnalyzedTraces(TraceCache(opener=opened), most=2)


@pytest.fixture(scope="module", params=TRACES, ids=lambda name: Path(name).name.split(".")[0])
def source(request: pytest.FixtureRequest, peer: Peer) -> TraceSource:
    return source_of(peer(request.param))


def shown(analyzed_traces: AnalyzedTraces, question: PageRequest, *sources: TraceSource) -> Answer:
    """What a page shows, built the way the page builds it."""
    answer = answer_of(analyzed_traces, question, sources[0].id, sources)
    parts: Sequence[Any] = [
        page_lead(question, answer.analyzed, answer.tables, "light"),
        page_tables(question, answer.tables),
        options_of(question.page, View(), answer.analyzed, []),
        trace_line(answer.analyzed),
    ]
    assert json.loads(json.dumps(parts, cls=PlotlyJSONEncoder, allow_nan=False))
    return answer


def check_rows(table: Table) -> None:
    """Checks the rows that the grid gets, number for number."""
    listed = {row["@row"]: row for row in rows(table)}
    whole = table.frame.head(FIRST_ROWS if table.is_cut else MOST_ROWS)
    spread = None if table.spread is None else table.spread(range(len(whole)))
    for number, row in enumerate(report.plain(whole)):
        found = listed[str(number)]
        for name, value in row.items():
            if isinstance(value, str):
                assert found[name][:2000] == value[:2000]
            elif name in table.moments and value is not None:
                assert found[name] == value - table.start_ns
            else:
                assert found[name] == value
        if spread is not None:
            counted = row["calls" if "calls" in row else "count"]
            assert spread.counts[number].sum() == counted
            assert ("@spread" in found) == (counted > 1)
            if counted > 1:
                assert len(found["@spread"]) == 2 + BUCKETS
    for sums in total_row(table):
        for name in table.totals:
            assert name not in sums or sums[name] == table.frame[name].sum()


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ("ranks", "diff")])
def test_tables_are_the_analyses(analyzed_traces: AnalyzedTraces, source: TraceSource, page: Page) -> None:
    question = requested(page)
    answer = shown(analyzed_traces, question, source)
    trace = answer.analyzed.facts.trace
    for table in answer.tables:
        if table.name == "losses":
            found = dict(zip(table.frame["reason"].to_list(), table.frame["count"].to_list(), strict=True))
            assert found == dict(trace.losses.counts)
            continue
        make = OWN.get(table.name)
        # From a trace for which nothing has been computed before.
        expected = report.table(trace, table.name) if make is None else make(question, trace)
        if source.kind != "run_metadata" and table.name.startswith(("tfprof", "advice")):
            expected = expected.clear()
        assert_frame_equal(table.frame, expected)
        check_rows(table)


def test_operators_are_those_of_each_grouping(analyzed_traces: AnalyzedTraces, source: TraceSource) -> None:
    for by in (("name", "shape"), ("name", "stack"), ("module",), ("annotation", "op_type")):
        (table,) = shown(analyzed_traces, requested("operators", by=by), source).tables
        facts = analyzed_traces.get(source).facts
        assert_frame_equal(table.frame, operators(facts.trace, by=by))
        check_rows(table)
        if table.groups is not None:
            assert_frame_equal(table.groups.frame, operators(facts.trace, by=by[:1]))
            check_groups(table, ("calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns"))


def check_groups(table: Table, sums: Sequence[str]) -> None:
    """Checks that each group is the sum of its rows."""
    groups = table.groups
    assert groups is not None
    inside = (
        table.frame.with_columns(pl.Series("@in", groups.of, dtype=pl.Int64)).group_by("@in").agg(pl.col(sums).sum())
    )
    assert inside.sort("@in").select(sums).rows() == groups.frame.select(sums).rows()


def test_kernels_and_slices_are_those_of_each_grouping(analyzed_traces: AnalyzedTraces, source: TraceSource) -> None:
    facts = analyzed_traces.get(source).facts
    for by in ("stem", "category"):
        (table,) = shown(analyzed_traces, requested("kernels", group=by), source).tables
        assert table.groups is not None
        assert_frame_equal(table.frame, report.table(facts, "kernels"))
        assert_frame_equal(table.groups.frame, kernels(facts.trace, by=by))
        check_groups(table, ("count", "total_ns"))
    (table,) = shown(analyzed_traces, requested("slices", group="category"), source).tables
    assert table.groups is not None
    assert_frame_equal(table.groups.frame, slices_by_category(table.frame))
    check_groups(table, ("count", "self_ns", "total_ns"))
    own = is_profilers_own(facts.trace, facts.trace.name_id, facts.trace.category_id)
    assert table.frame["count"].sum() == (~own).sum()


def test_every_row_leads_to_a_slice_of_its_own(analyzed_traces: AnalyzedTraces, source: TraceSource) -> None:
    cases: tuple[tuple[Page, str], ...] = (("kernels", "name"), ("slices", "name"), ("copies", ""))
    for page, column in cases:
        table = shown(analyzed_traces, requested(page), source).tables[0]
        trace = analyzed_traces.get(source).facts.trace
        places = table.at(range(min(len(table.frame), MOST_ROWS)))
        for row, place in zip(table.frame.head(MOST_ROWS).to_dicts(), places, strict=True):
            assert place is not None
            assert int(trace.duration_ns[place.slice]) == row["max_ns"]
            start = int(trace.start_ns[place.slice]) - table.start_ns
            assert place.start < start <= start + row["max_ns"] < place.end
            if column:
                assert place.search == row[column] == trace.names[trace.name_id[place.slice]]


def test_the_row_of_every_kernel_and_operator_is_found_by_its_name(
    analyzed_traces: AnalyzedTraces, source: TraceSource
) -> None:
    pages: tuple[Page, ...] = ("operators", "kernels", "slices")
    for page in pages:
        names = shown(analyzed_traces, requested(page), source).tables[0].frame["name"].head(20).to_list()
        for name in dict.fromkeys(names):
            (table,) = answer_of(analyzed_traces, requested(page, row=name), source.id, [source]).tables
            assert table.chosen is not None
            assert table.frame["name"][table.chosen] == name


@pytest.mark.parametrize("trace", ["hta/sampled_rank", "pack/kineto/rank"])
def test_ranks_are_the_analyses(analyzed_traces: AnalyzedTraces, peer: Peer, trace: str) -> None:
    sources = [source_of(peer(f"{trace}-{rank}.json.gz")) for rank in (0, 1)]
    answer = shown(analyzed_traces, requested("ranks"), *sources)
    facts = {rank: analyzed_traces.get(each).facts for rank, each in enumerate(sources)}
    assert [table.name for table in answer.tables] == list(report.analyses("ranks"))
    for table in answer.tables:
        assert_frame_equal(table.frame, report.analyses("ranks")[table.name].table(facts))
        check_rows(table)


@pytest.mark.parametrize("pair", [("hta/diff_control", "hta/diff_test"), ("pack/kineto/rank-0", "pack/kineto/rank-1")])
@pytest.mark.parametrize("what", CHANGES)
def test_changes_are_the_analyses(
    analyzed_traces: AnalyzedTraces, peer: Peer, what: Any, pair: tuple[str, str]
) -> None:
    before, after = (source_of(peer(f"{name}.json.gz")) for name in pair)
    (table,) = shown(analyzed_traces, requested("diff", before=before.id, changed=what), after, before).tables
    expected = compare(analyzed_traces.get(before).facts, analyzed_traces.get(after).facts, what=what)
    assert_frame_equal(table.frame, expected)
    check_rows(table)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("kineto/resnet50_num_workers_0.pt.trace.json.gz", "a.trace.json.gz"),
        ("tensorflow2/keras/train/plugins/profile/2026_11_21_01_47_37/vm.xplane.pb", "vm.xplane.pb"),
        ("pack/kineto/rank-0.json.gz", "a.trace.json.gz"),
        (PACKED_XSPACE, "vm.xplane.pb"),
    ],
)
def test_files_have_what_the_page_has(peer: Peer, tmp_path: Path, name: str, files: str) -> None:
    folder = tmp_path / "run" / "plugins" / "profile" / "x"
    folder.mkdir(parents=True)
    shutil.copy(peer(name), folder / files)
    trace = load_trace(str(peer(name)))
    client = client_of(tmp_path)
    for page, table in (("kernels", "kernels"), ("operators", "operators"), ("slices", "slices"), ("memory", "memory")):
        query = {"name": table, "view": urlencode({"profile.view": page})}
        expected = report.table(trace, table)
        answer = client.get("/api/profile/table.json", params=query)
        assert answer.json() == report.plain(expected)
        text = client.get("/api/profile/table.csv", params=query).text
        assert text == expected.write_csv()
        assert len(list(csv.reader(io.StringIO(text)))) == len(expected) + 1
