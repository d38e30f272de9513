"""Which tables each page of the panel has, and why one may be empty."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from stepscope.dashboard.panels.profile import slices, texts
from stepscope.dashboard.panels.profile.settings import KEYS, Asked
from stepscope.dashboard.panels.profile.table import Groups, Places, Table, places_of, row_named
from stepscope.dashboard.server.numbers import counted
from stepscope.dashboard.traces.sources import TraceUnavailableError
from stepscope.dashboard.traces.studies import Study
from stepscope.profiler.analysis.compare import CHANGES, basis_of
from stepscope.profiler.analysis.kernels import KernelKey, kernel_key, kernels
from stepscope.profiler.analysis.memcpys import direction_of, memory_of
from stepscope.profiler.analysis.operators import Key, columns_by, operators
from stepscope.profiler.analysis.records import Analysis
from stepscope.profiler.analysis.report import OTHERS, analyses, is_of_others
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.slices import slices_by_category
from stepscope.profiler.traces.losses import arrows_with_one_end, events_not_as_stored, examples_since, explain
from stepscope.summary.cancellation import Cancelled

if TYPE_CHECKING:
    import polars as pl

OUTPUT_TENSORS: Final = (
    "Output tensors count, from their maker to their last user; the Timeline has what the allocators say."
)


def tables_of(asked: Asked, study: Study, ranks: Mapping[int, Study], before: Study | None) -> list[Table]:
    """Return the tables of a page, in order; the first that has the row that is asked for has it selected.

    Args:
        asked: the page, and what it is asked for.
        study: the open trace.
        ranks: traces of one job by rank; used by "ranks" only.
        before: what the open trace is compared with; used by "diff" only.
    """
    found = _tables_of(asked, study, ranks, before)
    for place, table in enumerate(found):
        chosen = row_of(table, asked.row)
        if chosen is not None:
            return [*found[:place], replace(table, chosen=chosen), *found[place + 1 :]]
    return found


def row_of(table: Table, name: str) -> int | None:
    """Return the row of a table that is of a name, or that slices of the name are counted in.

    None where there is none.
    """
    import polars as pl

    found = row_named(table, name)
    if found is None and name and table.name == "memcpys":
        same = (pl.col("direction") == direction_of(name)) & (pl.col("memory") == memory_of(name))
        numbers = table.frame.with_row_index("#").filter(same)["#"]
        found = numbers[0] if len(numbers) else None
    return found


def _tables_of(asked: Asked, study: Study, ranks: Mapping[int, Study], before: Study | None) -> list[Table]:
    match asked.page:
        case "overview":
            return [_plain(study, "steps"), losses_table(study)]
        case "operators":
            return [operator_table(study, asked)]
        case "slices":
            return [slice_table(study, asked)]
        case "kernels":
            return [kernel_table(study, asked)]
        case "copies":
            return [copy_table(study), *(_plain(study, name) for name in ("copy_sizes", "bandwidth"))]
        case "idle":
            names = ("idle", "temporal", "work", "utilization", "overlap", "queue", "launches")
            return [_plain(study, name) for name in names]
        case "memory":
            return [
                _plain(study, name) for name in ("memory", "memory_by_module", "memory_at_peak", "memory_by_operator")
            ]
        case "path":
            return [_plain(study, name) for name in ("critical_path", "critical_path_parts")]
        case "input":
            return [_plain(study, "steps")]
        case "code":
            return [_plain(study, "code")]
        case "tfprof":
            return [tfprof_table(study, asked), _plain(study, "advice", step_stats_only=True)]
        case "roofline":
            return [roofline_table(study, asked)]
        case "ranks":
            return rank_tables(study, ranks)
        case "diff":
            return [] if before is None else [change_table(before, study, asked), *_other_changes(before, study, asked)]
        case "plugins":
            return [other_table(study, analysis) for analysis in OTHERS.records() if analysis.of == "trace"]
        case _:
            assert_never(asked.page)


def is_step_stats(study: Study) -> bool:
    """Return whether the trace is TensorFlow's StepStats."""
    return study.source.kind == "run_metadata"


def _plain(study: Study, name: str, *, step_stats_only: bool = False) -> Table:
    frame = study.table(name)
    if step_stats_only and not is_step_stats(study):
        frame = frame.clear()
    analysis = analyses("trace")[name]
    about = analysis.description
    if name == "memory" and is_step_stats(study):
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
        at=_places(study, name, frame),
        trace=study.source.id,
        start_ns=study.start_ns,
        columns=analysis.by_name,
        bars=name != "steps",
        hidden=("value",) if name == "advice" else (),
        tree=name == "code",
    )


def other_table(study: Study, analysis: Analysis) -> Table:
    """Return the table of another distribution's analysis of a trace."""
    return _of_others(study, analysis, analysis.name, study.facts)


def _of_others(study: Study, analysis: Analysis, key: object, *given: object) -> Table:
    """Return the table that another distribution's analysis makes of what it is given, or why it makes none."""
    import polars as pl

    frame, empty = pl.DataFrame(), analysis.empty
    try:
        made = study.kept(("of others", key), analysis.about, lambda: analysis.table(*given))
        # What has no column is no table.
        frame = made if made.columns else frame
    except (Cancelled, TraceUnavailableError):
        raise
    except Exception as error:
        empty = f"{OTHERS.fail(analysis, error)}."
    return Table(
        name=analysis.name,
        title=analysis.title or analysis.about[:1].upper() + analysis.about[1:],
        about=analysis.description,
        frame=frame,
        empty=empty,
        totals=analysis.totals,
        trace=study.source.id if analysis.of == "trace" else "",
        start_ns=study.start_ns,
        columns=analysis.by_name,
    )


def _explained(summary: "pl.DataFrame") -> str:
    """Return how much of the time the critical path explains, as a sentence; empty where there is none."""
    if summary.is_empty():
        return ""
    whole, known = int(summary["duration_ns"].sum()), int(summary.filter("explained")["duration_ns"].sum())
    share = texts.percent(100 * known / max(1, whole))
    return f"It explains {texts.duration(known)} of {texts.duration(whole)} ({share})."


def _places(study: Study, name: str, frame: "pl.DataFrame") -> Places:
    """Return where rows are on the Timeline; nothing for tables whose rows are nowhere in particular."""
    match name:
        case "steps":
            return places_of(frame, "start_ns", "total_ns", study.start_ns)
        case "critical_path_parts":
            return places_of(frame, "start_ns", "duration_ns", study.start_ns)
        case "memory_at_peak":
            return slices.places(study, frame["slice"].to_list())
        case "memory_by_operator":
            return slices.named_places(study, study.facts.operator_slices, frame, "operator")
        case _:
            return ()


def operator_table(study: Study, asked: Asked) -> Table:
    """Return operators, grouped by what is asked for; by several things, those of one of the first are put together."""
    frame = _operators(study, asked.by)

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.operator_members(study, frame, asked.by)
        names = None if "name" in asked.by else [""] * len(frame)
        found = slices.evidence_of(study, members, len(frame), names)
        if len(asked.by) == 1:
            return found, None
        first = asked.by[0]
        groups = _operators(study, (first,))
        of = _numbers(groups, first, frame[first].to_list())
        return found, slices.groups_of(study, groups, of, members, same=first == "name", alone=False)

    analysis = analyses("trace")["operators"]
    found, groups = study.kept(("operator evidence", asked.by), "their calls", work_out)
    return Table(
        name="operators",
        title=analysis.title,
        about=analysis.description,
        frame=frame,
        empty=analysis.empty,
        totals=analysis.totals,
        columns={column.name: column for column in columns_by(asked.by)},
        at=found.at,
        trace=study.source.id,
        start_ns=study.start_ns,
        spread=found.spread,
        groups=groups,
    )


def _operators(study: Study, by: tuple[Key, ...]) -> "pl.DataFrame":
    what = "operators by " + ", ".join(KEYS[key].lower() for key in by)
    if by == ("name",):
        # The overview has these already.
        return study.table("operators")
    return study.kept(("operators", by), what, lambda: operators(study.facts, by=by))


def _numbers(groups: "pl.DataFrame", column: str, labels: Sequence[str]) -> list[int]:
    """For each label the number of the group that has it."""
    known = {label: number for number, label in enumerate(groups[column].to_list())}
    return [known[label] for label in labels]


def slice_table(study: Study, asked: Asked) -> Table:
    """Return all slices by name, put together by category if asked."""
    frame = study.table("slices")
    by_category = asked.grouping == "category"

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.slice_members(study, frame)
        found = slices.evidence_of(study, members, len(frame))
        if not by_category:
            return found, None
        groups = slices_by_category(frame)
        of = _numbers(groups, "category", frame["category"].to_list())
        return found, slices.groups_of(study, groups, of, members, same=False, alone=True)

    analysis = analyses("trace")["slices"]
    found, groups = study.kept(("slice evidence", by_category), "the slices of each name", work_out)
    return Table(
        name="slices",
        title=analysis.title,
        about=analysis.description,
        frame=frame,
        empty=analysis.empty,
        totals=analysis.totals,
        columns=analysis.by_name,
        at=found.at,
        trace=study.source.id,
        start_ns=study.start_ns,
        spread=found.spread,
        groups=groups,
        hidden=("category",) if by_category else (),
    )


def kernel_table(study: Study, asked: Asked) -> Table:
    """Return kernels by name, put together by stem or by category if asked."""
    frame = study.table("kernels")
    analysis = analyses("trace")["kernels"]
    by: KernelKey = "name" if asked.grouping == "none" else asked.grouping

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.kernel_members(study, frame)
        found = slices.evidence_of(study, members, len(frame))
        if by == "name":
            return found, None
        groups = kernels(study.facts, by=by)
        of = _numbers(groups, "name", [kernel_key(name, by) for name in frame["name"].to_list()])
        return found, slices.groups_of(study, groups, of, members, same=False, alone=by == "category")

    found, groups = study.kept(("kernel evidence", by), "their calls", work_out)
    return Table(
        name="kernels",
        title=analysis.title,
        about=analysis.description,
        frame=frame,
        empty=analysis.empty,
        totals=analysis.totals,
        columns=analysis.by_name,
        at=found.at,
        trace=study.source.id,
        start_ns=study.start_ns,
        spread=found.spread,
        groups=groups,
    )


def copy_table(study: Study) -> Table:
    """Copy by direction and host memory."""
    table = _plain(study, "memcpys")

    def work_out() -> slices.Evidence:
        members = slices.copy_members(study, table.frame)
        return slices.evidence_of(study, members, len(table.frame), [""] * len(table.frame))

    found = study.kept("copy evidence", "the copies", work_out)
    return replace(table, at=found.at, spread=found.spread)


def losses_table(study: Study) -> Table:
    """Return what could not be shown as it was stored, by reason, most first; arrows with one end come last."""
    import polars as pl

    losses = study.facts.trace.losses
    events = events_not_as_stored(losses)
    arrows = {reason: count for reason, count in losses.counts.items() if count and reason not in events}
    counts = events | dict(sorted(arrows.items(), key=lambda pair: (-pair[1], pair[0])))
    examples = examples_since(losses, study.start_ns)
    columns = {
        "reason": list(counts),
        "count": list(counts.values()),
        "meaning": [explain(reason) for reason in counts],
        "example": [examples.get(reason, "") for reason in counts],
    }
    schema = {"reason": pl.String, "count": pl.Int64, "meaning": pl.String, "example": pl.String}
    return Table("losses", "Not shown as stored", pl.DataFrame(columns, schema=schema), "All events were read.")


def losses_words(study: Study) -> list[str]:
    """Return how much could not be shown as it was stored, in the Timeline's words; empty where everything was."""
    losses = study.facts.trace.losses
    events, arrows = sum(events_not_as_stored(losses).values()), arrows_with_one_end(losses)
    return [
        *([f"{counted(events, 'event')} could not be shown as stored"] if events else []),
        *([f"{counted(arrows, 'arrow')} {'has' if arrows == 1 else 'have'} only one end"] if arrows else []),
    ]


def tfprof_table(study: Study, asked: Asked) -> Table:
    """Return one of tfprof's views, of StepStats only."""
    frame = study.table(f"tfprof_{asked.tfprof}")
    analysis = analyses("trace")[f"tfprof_{asked.tfprof}"]
    frame = frame if is_step_stats(study) else frame.clear()
    at = slices.named_places(study, study.facts.operator_slices, frame)
    return Table(
        analysis.name,
        analysis.title,
        frame,
        analysis.empty,
        analysis.description,
        analysis.totals,
        at,
        study.source.id,
        study.start_ns,
        columns=analysis.by_name,
    )


def roofline_table(study: Study, asked: Asked) -> Table:
    """Return throughput and intensity, with efficiency where the peaks are given."""
    flops = asked.peak_tflops * 1e12 or None
    moved = asked.peak_gbps * 1e9 or None
    frame = study.kept(
        ("roofline", flops, moved),
        "throughput and intensity",
        lambda: roofline(study.facts, peak_flops=flops, peak_bytes_per_s=moved),
    )
    if frame["bound_by"].is_null().all():
        frame = frame.drop("efficiency_percent", "bound_by")
    at = slices.named_places(study, study.facts.operator_slices, frame)
    analysis = analyses("trace")["roofline"]
    return Table(
        name="roofline",
        title=analysis.title,
        frame=frame,
        empty=analysis.empty,
        about=analysis.description,
        totals=analysis.totals,
        at=at,
        trace=study.source.id,
        start_ns=study.start_ns,
        columns=analysis.by_name,
    )


def rank_tables(study: Study, ranks: Mapping[int, Study]) -> list[Table]:
    """Return what the ranks of a job tell together."""
    if len(ranks) < 2:
        return []
    facts = {rank: each.facts for rank, each in ranks.items()}
    key = tuple((rank, each.source.id, each.source.version) for rank, each in ranks.items())
    made = []
    for name, analysis in analyses("ranks").items():
        if is_of_others(analysis):
            made.append(_of_others(study, analysis, (name, key), facts))
            continue
        frame = study.kept((name, key), analysis.about, partial(analysis.table, facts))
        made.append(
            Table(
                name,
                analysis.title,
                frame,
                analysis.empty,
                analysis.description,
                analysis.totals,
                columns=analysis.by_name,
            )
        )
    return made


def _other_changes(before: Study, after: Study, asked: Asked) -> list[Table]:
    """Return what other distributions' analyses say of what changed from one trace to another."""
    key = (asked.per, before.source.id, before.source.version)
    return [
        _of_others(after, analysis, (analysis.name, key), before.facts, after.facts, asked.per)
        for analysis in OTHERS.records()
        if analysis.of == "changes"
    ]


def change_table(before: Study, after: Study, asked: Asked) -> Table:
    """Return what changed from one trace to another."""
    key = ("changed", asked.changed, asked.per, before.source.id, before.source.version)
    analysis = CHANGES[asked.changed]
    frame = after.kept(key, "what changed", lambda: analysis.table(before.facts, after.facts, asked.per))
    at: Places = ()
    match asked.changed:
        case "operators":
            at = slices.named_places(after, after.facts.operator_slices, frame)
        case "kernels":
            at = slices.named_places(after, slices.kernels_of(after.facts).slice, frame)
        case "steps":
            pass
        case _:
            assert_never(asked.changed)
    basis = basis_of(before.facts, after.facts, asked.per)
    return Table(
        analysis.name,
        analysis.title,
        frame,
        analysis.empty,
        f"{analysis.description}. Compared: {basis.words}.",
        # Means of calls add up to nothing.
        () if basis.per == "call" else analysis.totals,
        at,
        after.source.id,
        after.start_ns,
        columns=analysis.by_name,
    )
