"""The tables of each page of the panel, and why one may be empty."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from stepscope.dashboard.panels.profile import slices, texts
from stepscope.dashboard.panels.profile.known_ranks import KnownRanks
from stepscope.dashboard.panels.profile.losses import losses_table
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.panels.profile.slice_tables import kernel_table, operator_table, slice_table
from stepscope.dashboard.panels.profile.table import Places, RowNumbers, Table, nowhere, places_of, row_named
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.dashboard.traces.sources import TraceUnavailableError
from stepscope.plugins import ERRORS_OF_OTHERS
from stepscope.profiler.analysis.compare import CHANGES, basis_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.memcpys import direction_of, memory_of
from stepscope.profiler.analysis.records import Analysis
from stepscope.profiler.analysis.report import OTHERS, analyses, is_of_others
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.traces.simple import trace_of_slices
from stepscope.summary.cancellation import Cancelled

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

OUTPUT_TENSORS: Final = (
    "Output tensors are counted from producer to last consumer; the Timeline shows what the allocators report."
)


def tables_of(requested: PageRequest, analyzed: AnalyzedTrace, before: AnalyzedTrace | None) -> list[Table]:
    """Return the tables of a page of one trace or two, in order.

    The first table that has the requested row has it selected.

    Args:
        requested: the page and its settings.
        analyzed: the open trace.
        before: the trace that the open trace is compared with; used by "diff" only.
    """
    found = _tables_of(requested, analyzed, before)
    for place, table in enumerate(found):
        chosen = row_of(table, requested.row)
        if chosen is not None:
            return [*found[:place], replace(table, chosen=chosen), *found[place + 1 :]]
    return found


def row_of(table: Table, name: str) -> int | None:
    """Return the row of a table that has a name, or that counts slices with the name.

    Return None if there is none.
    """
    import polars as pl

    found = row_named(table, name)
    if found is None and name and table.name == "memcpys":
        same = (pl.col("direction") == direction_of(name)) & (pl.col("memory") == memory_of(name))
        numbers = table.frame.with_row_index("#").filter(same)["#"]
        found = numbers[0] if len(numbers) else None
    return found


def _tables_of(requested: PageRequest, analyzed: AnalyzedTrace, before: AnalyzedTrace | None) -> list[Table]:
    match requested.page:
        case "overview":
            return [_plain(analyzed, "steps"), losses_table(analyzed)]
        case "operators":
            return [operator_table(analyzed, requested)]
        case "slices":
            return [slice_table(analyzed, requested)]
        case "kernels":
            return [kernel_table(analyzed, requested)]
        case "copies":
            return [copy_table(analyzed), *(_plain(analyzed, name) for name in ("copy_sizes", "bandwidth"))]
        case "idle":
            names = ("idle", "temporal", "work", "utilization", "overlap", "queue", "launches")
            return [_plain(analyzed, name) for name in names]
        case "memory":
            return [
                _plain(analyzed, name)
                for name in ("memory", "memory_by_module", "memory_at_peak", "memory_by_operator")
            ]
        case "path":
            return [_plain(analyzed, name) for name in ("critical_path", "critical_path_parts")]
        case "input":
            return [_plain(analyzed, "steps")]
        case "code":
            return [_plain(analyzed, "code")]
        case "tfprof":
            return [tfprof_table(analyzed, requested), _plain(analyzed, "advice", step_stats_only=True)]
        case "roofline":
            return [roofline_table(analyzed, requested)]
        case "ranks":
            # See `rank_tables`.
            return []
        case "diff":
            return (
                []
                if before is None
                else [change_table(before, analyzed, requested), *_other_changes(before, analyzed, requested)]
            )
        case "plugins":
            return [other_table(analyzed, analysis) for analysis in OTHERS.records() if analysis.of == "trace"]
        case _:
            assert_never(requested.page)


def is_step_stats(analyzed: AnalyzedTrace) -> bool:
    """Return whether the trace is TensorFlow's StepStats."""
    return analyzed.source.kind == "run_metadata"


def _of_step_stats(analyzed: AnalyzedTrace, name: str) -> "pl.DataFrame":
    """Return a table of StepStats; for other traces, a table without rows, for which nothing is computed."""
    if is_step_stats(analyzed):
        return analyzed.table(name)
    return analyses("trace")[name].table(Facts(trace_of_slices([]))).clear()


def _plain(analyzed: AnalyzedTrace, name: str, *, step_stats_only: bool = False) -> Table:
    frame = _of_step_stats(analyzed, name) if step_stats_only else analyzed.table(name)
    analysis = analyses("trace")[name]
    about = analysis.description
    if name == "memory" and is_step_stats(analyzed):
        about = f"{about} {OUTPUT_TENSORS}"
    if name == "critical_path":
        about = f"{about} {_explained(frame)}".rstrip()
    return Table(
        name=name,
        title=analysis.title,
        about=about,
        frame=frame,
        empty=analysis.empty,
        totals=analysis.totals,
        at=lambda numbers: _places(analyzed, name, frame[numbers]),
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        columns=analysis.by_name,
        bars=name != "steps",
        hidden=("value",) if name == "advice" else (),
        tree=name == "code",
    )


def other_table(analyzed: AnalyzedTrace, analysis: Analysis) -> Table:
    """Return the table of an analysis of a trace by another distribution."""
    return _of_others(analyzed, analysis, analysis.name, analyzed.facts)


def _of_others(analyzed: AnalyzedTrace, analysis: Analysis, key: object, *given: object) -> Table:
    """Return the table that another distribution's analysis makes from its arguments, or why it makes none."""
    import polars as pl

    frame, failure = pl.DataFrame(), ""
    try:
        made = analyzed.kept(("of others", key), analysis.about, lambda: analysis.table(*given))
        # A frame without columns is not a table.
        frame = made if made.columns else frame
    except (Cancelled, TraceUnavailableError):
        raise
    except ERRORS_OF_OTHERS as error:
        failure = str(OTHERS.fail(analysis, error))
    return Table(
        name=analysis.name,
        title=analysis.title or analysis.about[:1].upper() + analysis.about[1:],
        about=analysis.description,
        frame=frame,
        empty=analysis.empty,
        failure=failure,
        fail=partial(OTHERS.fail, analysis),
        totals=analysis.totals,
        trace=analyzed.source.id if analysis.of == "trace" else "",
        start_ns=analyzed.start_ns,
        columns=analysis.by_name,
    )


def _explained(summary: "pl.DataFrame") -> str:
    """Return how much of the time the critical path explains, as a sentence; empty if there is no critical path."""
    if summary.is_empty():
        return ""
    whole, known = int(summary["duration_ns"].sum()), int(summary.filter("explained")["duration_ns"].sum())
    share = texts.percent(100 * known / max(1, whole))
    return f"It explains {texts.duration(known)} of {texts.duration(whole)} ({share})."


def _places(analyzed: AnalyzedTrace, name: str, frame: "pl.DataFrame") -> Places:
    """Return the places of rows on the Timeline; None for rows without a particular place."""
    match name:
        case "steps":
            return places_of(frame, "start_ns", "total_ns", analyzed.start_ns)
        case "critical_path_parts":
            return places_of(frame, "start_ns", "duration_ns", analyzed.start_ns)
        case "memory_at_peak":
            return slices.places(analyzed, frame["slice"].to_list())
        case "memory_by_operator":
            return slices.named_places(analyzed, analyzed.facts.operator_slices, frame, "operator")
        case _:
            return (None,) * len(frame)


def _named_places(
    analyzed: AnalyzedTrace, of: "NDArray[np.int64]", frame: "pl.DataFrame"
) -> Callable[[RowNumbers], Places]:
    """Return a function that returns the places of rows whose names some slices have."""
    return lambda numbers: slices.named_places(analyzed, of, frame[numbers])


def copy_table(analyzed: AnalyzedTrace) -> Table:
    """Return the table of copies by direction and host memory."""
    table = _plain(analyzed, "memcpys")

    def work_out() -> slices.Evidence:
        members = slices.copy_members(analyzed, table.frame)
        return slices.evidence_of(members, len(table.frame), named=False)

    found = analyzed.kept("copy evidence", "the copies", work_out)
    return replace(table, at=partial(found.at, analyzed), spread=found.spread)


def tfprof_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return one of tfprof's views, for StepStats only."""
    frame = _of_step_stats(analyzed, f"tfprof_{requested.tfprof}")
    analysis = analyses("trace")[f"tfprof_{requested.tfprof}"]
    return Table(
        analysis.name,
        analysis.title,
        frame,
        analysis.empty,
        analysis.description,
        analysis.totals,
        _named_places(analyzed, analyzed.facts.operator_slices, frame),
        analyzed.source.id,
        analyzed.start_ns,
        columns=analysis.by_name,
    )


def roofline_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return throughput and intensity, with efficiency if the peaks are given."""
    flops = requested.peak_tflops * 1e12 or None
    moved = requested.peak_gbps * 1e9 or None
    frame = analyzed.kept(
        ("roofline", flops, moved),
        "throughput and intensity",
        lambda: roofline(analyzed.facts, peak_flops=flops, peak_bytes_per_s=moved),
    )
    if frame["bound_by"].is_null().all():
        frame = frame.drop("efficiency_percent", "bound_by")
    analysis = analyses("trace")["roofline"]
    return Table(
        name="roofline",
        title=analysis.title,
        frame=frame,
        empty=analysis.empty,
        about=analysis.description,
        totals=analysis.totals,
        at=_named_places(analyzed, analyzed.facts.operator_slices, frame),
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        columns=analysis.by_name,
    )


def rank_tables(requested: PageRequest, analyzed: AnalyzedTrace, known: KnownRanks) -> list[Table]:
    """Return the joint tables of the requested ranks of a job, compared to the median of all ranks."""
    if len(known.numbers) < 2:
        return []
    made = []
    only = known.selected(requested.only_ranks) if requested.only_ranks else None
    for name, analysis in analyses("ranks").items():
        if is_of_others(analysis):
            made.append(_of_others(analyzed, analysis, (name, known.content), known.ranks))
            continue
        frame = analyzed.kept((name, known.content), analysis.about, partial(analysis.table, known.ranks))
        if only is not None and "rank" in frame.columns:
            frame = frame.filter(frame["rank"].is_in(only))
        table = Table(
            name,
            analysis.title,
            frame,
            analysis.empty,
            analysis.description,
            analysis.totals,
            columns=analysis.by_name,
        )
        made.append(_with_places(table, known))
    return made


def _with_places(table: Table, known: KnownRanks) -> Table:
    """Return a table of ranks with links to each rank's Timeline, to the step if a row is for one step."""
    columns = table.frame.columns
    rank = "rank" if "rank" in columns else "slowest_rank"
    if rank not in columns:
        return table

    def at(numbers: RowNumbers) -> Places:
        ranks = table.frame[rank][numbers].to_list()
        if "step" not in columns:
            return tuple(map(known.whole.get, ranks))
        steps = list(zip(ranks, table.frame["step"][numbers].to_list(), strict=True))
        return tuple(map(known.steps(steps).get, steps))

    return replace(table, at=at, named_by="rank" if columns[0] == "rank" else "")


def _other_changes(before: AnalyzedTrace, after: AnalyzedTrace, requested: PageRequest) -> list[Table]:
    """Return the results of other distributions' analyses of the changes from one trace to another."""
    key = (requested.per, before.source.id, before.source.version)
    return [
        _of_others(after, analysis, (analysis.name, key), before.facts, after.facts, requested.per)
        for analysis in OTHERS.records()
        if analysis.of == "changes"
    ]


def change_table(before: AnalyzedTrace, after: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return the changes from one trace to another."""
    key = ("changed", requested.changed, requested.per, before.source.id, before.source.version)
    analysis = CHANGES[requested.changed]
    frame = after.kept(key, "what changed", lambda: analysis.table(before.facts, after.facts, requested.per))
    at: Callable[[RowNumbers], Places] = nowhere
    match requested.changed:
        case "operators":
            at = _named_places(after, after.facts.operator_slices, frame)
        case "kernels":
            at = _named_places(after, slices.kernels_of(after.facts).slice, frame)
        case "steps":
            pass
        case _:
            assert_never(requested.changed)
    basis = basis_of(before.facts, after.facts, requested.per)
    return Table(
        analysis.name,
        analysis.title,
        frame,
        analysis.empty,
        f"{analysis.description}. Compared: {basis.words}.",
        # Means of calls have no meaningful sum.
        () if basis.per == "call" else analysis.totals,
        at,
        after.source.id,
        after.start_ns,
        columns=analysis.by_name,
    )
