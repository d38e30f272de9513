"""Which tables each page of the panel has, and why one may be empty."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from stepscope.dashboard.panels.profile import slices, texts
from stepscope.dashboard.panels.profile.settings import KEYS, PageRequest
from stepscope.dashboard.panels.profile.table import Groups, Places, Table, places_of, row_named
from stepscope.dashboard.server.numbers import counted
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.compare import basis_of, compare
from stepscope.profiler.analysis.kernels import KernelKey, kernel_key, kernels
from stepscope.profiler.analysis.memcpys import direction_of, memory_of
from stepscope.profiler.analysis.operators import Key, operators
from stepscope.profiler.analysis.report import RANK_TABLES
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.slices import slices_by_category
from stepscope.profiler.traces.losses import arrows_with_one_end, events_not_as_stored, examples_since, explain

if TYPE_CHECKING:
    import polars as pl

NO_DEVICE: Final = (
    "No device activity was recorded. Record with CUDA or ROCm activities "
    "(torch.profiler: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])."
)
NO_OPERATORS: Final = (
    "The trace has no operators. Record with the host's activities (torch.profiler: ProfilerActivity.CPU). "
    "What it has is under Slices."
)
NO_MEMORY: Final = (
    "No allocations were recorded. Record with profile_memory=True, or with StepStats' memory statistics."
)
NO_STACKS: Final = "No call stacks were recorded. Record with with_stack=True, or record Python functions."
NO_FLOPS: Final = (
    "No FLOPs are known. Record with record_shapes=True: those of matrix products and sums follow from their shapes."
)
NO_STEPS: Final = "The trace has no slices, so there are no steps."
NO_COPIES: Final = "No copies were recorded. " + NO_DEVICE
NO_STEP_STATS: Final = (
    "These views need TensorFlow's StepStats. Choose a trace that an event file holds as RunMetadata."
)
OUTPUT_TENSORS: Final = (
    "Output tensors are counted from producer to last consumer; the Timeline shows what the allocators report."
)
NO_COLLECTIVES: Final = "No collective ran on all of these ranks, so none waited for another."

TABLE_TITLES: Final[Mapping[str, tuple[str, str]]] = {
    "kernels": ("Kernels", "Device activity by name."),
    "memcpys": ("By direction", "Copies and memsets by direction and host memory."),
    "copy_sizes": ("By size", "Many small copies cost more than one large one: each has to be launched."),
    "bandwidth": ("Bandwidth", "Of the copies that ran, in GB/s, over its changes."),
    "utilization": ("Utilization", "Over the time from the first step's start to the last one's end."),
    "temporal": ("Busy and idle", "A device's time from its first activity to its last."),
    "work": ("What ran at once", "Busy time by which kinds of work ran together."),
    "idle": (
        "Idle time of streams by cause",
        "Host wait: the next activity was not launched yet. Kernel wait: what starting a kernel costs. "
        "Other: usually waiting for another stream.",
    ),
    "overlap": ("Communication behind computation", "How much of the communication nothing waited for."),
    "queue": ("Queue", "Launches that were pending on each stream, over the changes of that number."),
    "launches": (
        "Launches",
        "Delays from a launch's end to its activity's start. Short: shorter than its launch. Late, slow: over 100 µs.",
    ),
    "memory": ("Peaks", "Maximum memory of each device."),
    "memory_at_peak": ("Alive at the peak", "What the trace saw allocated; the rest of the peak is older."),
    "memory_by_module": (
        "By module",
        "What the operators of each module (layer) allocated themselves, and what of it was alive at the peak.",
    ),
    "memory_by_operator": ("By operator", "Bytes that operators allocated themselves."),
    "critical_path": ("What bounds the time", "The chain of work and waits that determined how long the trace took."),
    "critical_path_parts": ("Part by part", "The critical path in order of time."),
    "steps": ("Steps", "Time of each step by category; if several overlap, time counts for the first."),
    "input": ("Verdict", "Data loading counts only where nothing else runs."),
    "code": ("By line of the program", "A frame's own time is that of the operators it calls itself."),
    "advice": ("Advice", "The checks of tfprof's advisor."),
    "ranks": ("Ranks", "The mean step of each rank: every time is a mean per step, of the rank's complete steps."),
    "stragglers": (
        "Stragglers",
        "Which ranks reached collectives last, and how long the others waited: sums over all steps.",
    ),
    "collectives": ("Collectives", "Wait and transfer of each rank in each collective that all took part in."),
}
EMPTY: Final[Mapping[str, str]] = {
    "memcpys": NO_COPIES,
    "copy_sizes": "No copy reports how many bytes it moved.",
    "bandwidth": "No copy reports its bandwidth.",
    "memory": NO_MEMORY,
    "memory_at_peak": "Allocations are not known one by one. " + NO_MEMORY,
    "memory_by_module": "Which modules allocate is not known: record with with_stack=True or with_modules=True.",
    "memory_by_operator": "Allocations are not known one by one. " + NO_MEMORY,
    "critical_path": "The trace has no host and device activity to make a path of.",
    "critical_path_parts": "The trace has no host and device activity to make a path of.",
    "steps": NO_STEPS,
    "code": NO_STACKS,
    "advice": NO_STEP_STATS,
    "ranks": "Choose the traces of the other ranks above.",
    "stragglers": NO_COLLECTIVES,
    "collectives": NO_COLLECTIVES,
    "queue": "No launch is linked to what it launched. " + NO_DEVICE,
}
TOTALS: Final[Mapping[str, tuple[str, ...]]] = {
    "memcpys": ("count", "bytes", "total_ns"),
    "copy_sizes": ("count", "total_ns"),
    "work": (),
    "kernels": ("count", "total_ns", "percent"),
    "memory_at_peak": (),
    "memory_by_module": ("allocations", "bytes", "peak_bytes", "kept_bytes"),
    "memory_by_operator": ("allocations", "bytes", "kept_bytes"),
    "critical_path": ("duration_ns", "parts", "percent"),
    "code": ("calls", "cpu_ns", "accelerator_ns", "self_ns"),
    "stragglers": ("last", "caused_waiting_ns", "own_waiting_ns"),
    "collectives": ("duration_ns", "transfer_ns", "waiting_ns"),
}
OPERATOR_TOTALS: Final = ("calls", "host_self_ns", "device_self_ns")
TFPROF_TOTALS: Final = ("occurrences", "bytes", "cpu_ns", "accelerator_ns", "self_ns")


def tables_of(
    requested: PageRequest, analyzed: AnalyzedTrace, ranks: Mapping[int, AnalyzedTrace], before: AnalyzedTrace | None
) -> list[Table]:
    """Return the tables of a page, in order; the first that has the row that is asked for has it selected.

    Args:
        requested: the page and its settings.
        analyzed: the open trace.
        ranks: traces of one job by rank; used by "ranks" only.
        before: what the open trace is compared with; used by "diff" only.
    """
    found = _tables_of(requested, analyzed, ranks, before)
    for place, table in enumerate(found):
        chosen = row_of(table, requested.row)
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


def _tables_of(
    requested: PageRequest, analyzed: AnalyzedTrace, ranks: Mapping[int, AnalyzedTrace], before: AnalyzedTrace | None
) -> list[Table]:
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
            return rank_tables(analyzed, ranks)
        case "diff":
            return [] if before is None else [change_table(before, analyzed, requested)]
        case _:
            assert_never(requested.page)


def is_step_stats(analyzed: AnalyzedTrace) -> bool:
    """Return whether the trace is TensorFlow's StepStats."""
    return analyzed.source.kind == "run_metadata"


def _plain(analyzed: AnalyzedTrace, name: str, *, step_stats_only: bool = False) -> Table:
    frame = analyzed.table(name)
    if step_stats_only and not is_step_stats(analyzed):
        frame = frame.clear()
    title, about = TABLE_TITLES[name]
    if name == "memory" and is_step_stats(analyzed):
        about = f"{about} {OUTPUT_TENSORS}"
    if name == "critical_path":
        about = f"{about} {_explained(frame)}".rstrip()
    totals = TOTALS.get(name, ())
    if name == "steps":
        totals = tuple(column for column in frame.columns if column.endswith("_ns") and column != "start_ns")
    return Table(
        name=name,
        title=title,
        about=about,
        frame=frame,
        empty=EMPTY.get(name, NO_DEVICE),
        totals=totals,
        at=_places(analyzed, name, frame),
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        bars=name != "steps",
        hidden=("value",) if name == "advice" else (),
        tree=name == "code",
    )


def _explained(summary: "pl.DataFrame") -> str:
    """Return how much of the time the critical path explains, as a sentence; empty where there is none."""
    if summary.is_empty():
        return ""
    whole, known = int(summary["duration_ns"].sum()), int(summary.filter("explained")["duration_ns"].sum())
    share = texts.percent(100 * known / max(1, whole))
    return f"It explains {texts.duration(known)} of {texts.duration(whole)} ({share})."


def _places(analyzed: AnalyzedTrace, name: str, frame: "pl.DataFrame") -> Places:
    """Return where rows are on the Timeline; nothing for tables whose rows are nowhere in particular."""
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
            return ()


def operator_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return operators, grouped by what is asked for; by several things, those of one of the first are put together."""
    frame = _operators(analyzed, requested.by)

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.operator_members(analyzed, frame, requested.by)
        names = None if "name" in requested.by else [""] * len(frame)
        found = slices.evidence_of(analyzed, members, len(frame), names)
        if len(requested.by) == 1:
            return found, None
        first = requested.by[0]
        groups = _operators(analyzed, (first,))
        of = _numbers(groups, first, frame[first].to_list())
        return found, slices.groups_of(analyzed, groups, of, members, same=first == "name", alone=False)

    found, groups = analyzed.kept(("operator evidence", requested.by), "their calls", work_out)
    return Table(
        name="operators",
        title="Operators",
        about="Self times add up to the time of all operators; totals count nested ones again.",
        frame=frame,
        empty=NO_OPERATORS,
        totals=OPERATOR_TOTALS,
        at=found.at,
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        spread=found.spread,
        groups=groups,
    )


def _operators(analyzed: AnalyzedTrace, by: tuple[Key, ...]) -> "pl.DataFrame":
    what = "operators by " + ", ".join(KEYS[key].lower() for key in by)
    if by == ("name",):
        # The overview has these already.
        return analyzed.table("operators")
    return analyzed.kept(("operators", by), what, lambda: operators(analyzed.facts, by=by))


def _numbers(groups: "pl.DataFrame", column: str, labels: Sequence[str]) -> list[int]:
    """For each label the number of the group that has it."""
    known = {label: number for number, label in enumerate(groups[column].to_list())}
    return [known[label] for label in labels]


def slice_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return all slices by name, put together by category if asked."""
    frame = analyzed.table("slices")
    by_category = requested.grouping == "category"

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.slice_members(analyzed, frame)
        found = slices.evidence_of(analyzed, members, len(frame))
        if not by_category:
            return found, None
        groups = slices_by_category(frame)
        of = _numbers(groups, "category", frame["category"].to_list())
        return found, slices.groups_of(analyzed, groups, of, members, same=False, alone=True)

    found, groups = analyzed.kept(("slice evidence", by_category), "the slices of each name", work_out)
    return Table(
        name="slices",
        title="Slices",
        about="Whatever they are: annotations, functions, operators, kernels. Own times exclude nested slices.",
        frame=frame,
        empty="The trace has no slices. Choose another trace, or record again.",
        totals=("count", "self_ns"),
        at=found.at,
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        spread=found.spread,
        groups=groups,
        hidden=("category",) if by_category else (),
    )


def kernel_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return kernels by name, put together by stem or by category if asked."""
    frame = analyzed.table("kernels")
    title, about = TABLE_TITLES["kernels"]
    by: KernelKey = "name" if requested.grouping == "none" else requested.grouping

    def work_out() -> tuple[slices.Evidence, Groups | None]:
        members = slices.kernel_members(analyzed, frame)
        found = slices.evidence_of(analyzed, members, len(frame))
        if by == "name":
            return found, None
        groups = kernels(analyzed.facts, by=by)
        of = _numbers(groups, "name", [kernel_key(name, by) for name in frame["name"].to_list()])
        return found, slices.groups_of(analyzed, groups, of, members, same=False, alone=by == "category")

    found, groups = analyzed.kept(("kernel evidence", by), "their calls", work_out)
    return Table(
        name="kernels",
        title=title,
        about=about,
        frame=frame,
        empty=NO_DEVICE,
        totals=TOTALS["kernels"],
        at=found.at,
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        spread=found.spread,
        groups=groups,
    )


def copy_table(analyzed: AnalyzedTrace) -> Table:
    """Copy by direction and host memory."""
    table = _plain(analyzed, "memcpys")

    def work_out() -> slices.Evidence:
        members = slices.copy_members(analyzed, table.frame)
        return slices.evidence_of(analyzed, members, len(table.frame), [""] * len(table.frame))

    found = analyzed.kept("copy evidence", "the copies", work_out)
    return replace(table, at=found.at, spread=found.spread)


def losses_table(analyzed: AnalyzedTrace) -> Table:
    """Return what could not be shown as it was stored, by reason, most first; arrows with one end come last."""
    import polars as pl

    losses = analyzed.facts.trace.losses
    events = events_not_as_stored(losses)
    arrows = {reason: count for reason, count in losses.counts.items() if count and reason not in events}
    counts = events | dict(sorted(arrows.items(), key=lambda pair: (-pair[1], pair[0])))
    examples = examples_since(losses, analyzed.start_ns)
    columns = {
        "reason": list(counts),
        "count": list(counts.values()),
        "meaning": [explain(reason) for reason in counts],
        "example": [examples.get(reason, "") for reason in counts],
    }
    schema = {"reason": pl.String, "count": pl.Int64, "meaning": pl.String, "example": pl.String}
    return Table("losses", "Not shown as stored", pl.DataFrame(columns, schema=schema), "All events were read.")


def losses_words(analyzed: AnalyzedTrace) -> list[str]:
    """Return how much could not be shown as it was stored, in the Timeline's words; empty where everything was."""
    losses = analyzed.facts.trace.losses
    events, arrows = sum(events_not_as_stored(losses).values()), arrows_with_one_end(losses)
    return [
        *([f"{counted(events, 'event')} could not be shown as stored"] if events else []),
        *([f"{counted(arrows, 'arrow')} {'has' if arrows == 1 else 'have'} only one end"] if arrows else []),
    ]


def tfprof_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return one of tfprof's views, of StepStats only."""
    frame = analyzed.table(f"tfprof_{requested.tfprof}")
    about = {
        "scope": "A row per name scope and node; the total includes nested scopes.",
        "graph": "A row per node; the total includes everything that the node needs.",
        "op": "A row per op type.",
    }[requested.tfprof]
    frame = frame if is_step_stats(analyzed) else frame.clear()
    at = slices.named_places(analyzed, analyzed.facts.operator_slices, frame)
    totals = () if requested.tfprof == "scope" else TFPROF_TOTALS
    return Table(
        f"tfprof_{requested.tfprof}",
        "Nodes" if requested.tfprof == "graph" else "Scopes" if requested.tfprof == "scope" else "Op types",
        frame,
        NO_STEP_STATS,
        about,
        totals,
        at,
        analyzed.source.id,
        analyzed.start_ns,
    )


def roofline_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return throughput and intensity, with efficiency where the peaks are given."""
    flops = requested.peak_tflops * 1e12 or None
    moved = requested.peak_gbps * 1e9 or None
    frame = analyzed.kept(
        ("roofline", flops, moved),
        "throughput and intensity",
        lambda: roofline(analyzed.facts, peak_flops=flops, peak_bytes_per_s=moved),
    )
    if frame["bound_by"].is_null().all():
        frame = frame.drop("efficiency_percent", "bound_by")
    at = slices.named_places(analyzed, analyzed.facts.operator_slices, frame)
    about = "Operators whose FLOPs are known; of nested ones the outermost. Efficiency is of the nearer of both peaks."
    return Table(
        name="roofline",
        title="Operators",
        frame=frame,
        empty=NO_FLOPS,
        about=about,
        totals=("flops", "time_ns"),
        at=at,
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        moments=(),
    )


def rank_tables(analyzed: AnalyzedTrace, ranks: Mapping[int, AnalyzedTrace]) -> list[Table]:
    """Return what the ranks of a job tell together."""
    if len(ranks) < 2:
        return []
    facts = {rank: each.facts for rank, each in ranks.items()}
    key = tuple((rank, each.source.id, each.source.version) for rank, each in ranks.items())
    made = []
    for name, (what, make) in RANK_TABLES.items():
        frame = analyzed.kept((name, key), what, partial(make, facts))
        title, about = TABLE_TITLES[name]
        made.append(Table(name, title, frame, EMPTY[name], about, TOTALS.get(name, ())))
    return made


def change_table(before: AnalyzedTrace, after: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return what changed from one trace to another."""
    key = ("changed", requested.changed, requested.per, before.source.id, before.source.version)
    frame = after.kept(
        key, "what changed", lambda: compare(before.facts, after.facts, what=requested.changed, per=requested.per)
    )
    at: Places = ()
    match requested.changed:
        case "operators":
            at = slices.named_places(after, after.facts.operator_slices, frame)
        case "kernels":
            at = slices.named_places(after, slices.kernels_of(after.facts).slice, frame)
        case "steps":
            pass
        case _:
            assert_never(requested.changed)
    about = {
        "steps": "Time of the steps by category",
        "operators": "Host time by name; rows lead to the longest call in the later trace",
        "kernels": "Time by name; rows lead to the longest call in the later trace",
    }[requested.changed]
    basis = basis_of(before.facts, after.facts, requested.per)
    # Times of operators count nested ones again, and means of calls add up to nothing.
    adds_up = requested.changed != "operators" and basis.per != "call"
    return Table(
        f"changed_{requested.changed}",
        "Largest changes first",
        frame,
        "Neither trace has any of these.",
        f"{about}. Compared: {basis.words}.",
        ("before_ns", "after_ns", "change_ns") if adds_up else (),
        at,
        after.source.id,
        after.start_ns,
        hidden=("basis",),
    )
