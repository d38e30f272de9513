"""All tables of a trace by name, for the command and for JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from stepscope.profiler.analysis.code import code_view
from stepscope.profiler.analysis.compare import Per, What, compare
from stepscope.profiler.analysis.critical_path import critical_path, critical_path_summary
from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.findings import findings
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.input_pipeline import input_pipeline
from stepscope.profiler.analysis.kernels import kernels
from stepscope.profiler.analysis.memcpys import bandwidth_summary, memcpys, size_histogram
from stepscope.profiler.analysis.memory import (
    alive_at_peak,
    memory_by_module,
    memory_by_operator,
    memory_peaks,
    memory_timeline,
)
from stepscope.profiler.analysis.metrics import overview
from stepscope.profiler.analysis.operators import Key, operators
from stepscope.profiler.analysis.queue import launch_summary, queue_summary
from stepscope.profiler.analysis.ranks import collectives, rank_of, rank_summary, stragglers
from stepscope.profiler.analysis.roofline import roofline
from stepscope.profiler.analysis.slices import slices_by_name
from stepscope.profiler.analysis.steps import mean_step, step_breakdown
from stepscope.profiler.analysis.temporal import (
    communication_overlap,
    gpu_utilization,
    temporal_breakdown,
    work_breakdown,
)
from stepscope.profiler.analysis.tfprof import advice, tfprof
from stepscope.profiler.lod import span_ns
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


def _operators_by(*keys: Key) -> "Callable[[Facts], pl.DataFrame]":
    return lambda facts: operators(facts, by=keys)


TABLES: "Final[Mapping[str, tuple[str, Callable[[Facts], pl.DataFrame]]]]" = {
    "overview": ("figures of the whole trace", overview),
    "findings": ("what stands out", findings),
    "steps": ("time of each step by category", step_breakdown),
    "mean_step": ("the mean step by category", mean_step),
    "operators": ("operators by name", _operators_by("name")),
    "operators_by_shape": ("operators by name and input shape", _operators_by("name", "shape")),
    "operators_by_stack": ("operators by name and call stack", _operators_by("name", "stack")),
    "modules": ("operators by module", _operators_by("module")),
    "annotations": ("operators by annotation", _operators_by("annotation")),
    "slices": ("all slices by name", slices_by_name),
    "kernels": ("kernels by name", kernels),
    "memcpys": ("copies by direction and host memory", memcpys),
    "copy_sizes": ("copies by size", size_histogram),
    "bandwidth": ("bandwidth of copies", bandwidth_summary),
    "utilization": ("utilization, SM efficiency and occupancy", gpu_utilization),
    "temporal": ("busy, idle and computing time of devices", temporal_breakdown),
    "work": ("busy time by which kinds of work ran at once", work_breakdown),
    "idle": ("idle time of streams by cause", idle_time),
    "overlap": ("communication behind computation", communication_overlap),
    "queue": ("launches that wait on streams", queue_summary),
    "launches": ("delays from launch to start", launch_summary),
    "memory": ("peaks of memory", memory_peaks),
    "memory_timeline": ("memory over time", memory_timeline),
    "memory_at_peak": ("what was alive at the peak", alive_at_peak),
    "memory_by_module": ("bytes that modules allocated, and held at the peak", memory_by_module),
    "memory_by_operator": ("bytes that operators allocated", memory_by_operator),
    "critical_path": ("the critical path by what bounds it", critical_path_summary),
    "critical_path_parts": ("the critical path, part by part", critical_path),
    "input": ("verdict on the input pipeline", input_pipeline),
    "roofline": ("throughput and intensity of operators", roofline),
    "tfprof_scope": ("time by name scope (StepStats)", lambda facts: tfprof(facts, view="scope")),
    "tfprof_graph": ("time by node and what it needs (StepStats)", lambda facts: tfprof(facts, view="graph")),
    "code": ("time by line of the program, where stacks are known", code_view),
    "tfprof_op": ("time by op type (StepStats)", lambda facts: tfprof(facts, view="op")),
    "advice": ("checks of tfprof's advisor (StepStats)", advice),
}
"""Tables of one trace: what each is, and what makes it."""
RANK_TABLES: "Final[Mapping[str, tuple[str, Callable[[Mapping[int, Trace | Facts]], pl.DataFrame]]]]" = {
    "ranks": ("the mean step of each rank", rank_summary),
    "stragglers": ("which ranks make others wait", stragglers),
    "collectives": ("wait and transfer of each collective", collectives),
}
"""Tables of several ranks of one job."""
CHANGES: Final[tuple[What, ...]] = ("steps", "operators", "kernels")
"""What two traces are compared in: tables called ``changed_<what>``."""
DIGEST: Final = ("findings", "overview", "mean_step", "operators", "kernels")
"""Tables that the command prints unless told otherwise."""


def by_rank(traces: Sequence[T], facts: Callable[[T], Facts]) -> dict[int, T]:
    """Return traces by the rank that each states, or in order where these are not all stated and distinct."""
    stated = [rank_of(facts(trace)) for trace in traces]
    known = [rank for rank in stated if rank is not None]
    if len(set(known)) == len(traces):
        return dict(sorted(zip(known, traces, strict=True), key=lambda pair: pair[0]))
    return dict(enumerate(traces))


def are_ranks(traces: Sequence[Facts]) -> bool:
    """Return whether traces are of one job: they state different ranks, or none and were recorded at once."""
    stated = [rank_of(facts) for facts in traces]
    if any(rank is not None for rank in stated):
        return None not in stated and len(set(stated)) == len(stated)
    spans = [_wall_span(facts.trace) for facts in traces]
    known = [span for span in spans if span is not None]
    return len(known) == len(spans) and max(start for start, _ in known) < min(end for _, end in known)


def _wall_span(trace: Trace) -> tuple[int, int] | None:
    """When a trace begins and ends, in nanoseconds since 1970; None where it does not say, or has nothing."""
    if trace.epoch_ns is None or not len(trace):
        return None
    start, end = span_ns(trace)
    return trace.epoch_ns + start, trace.epoch_ns + end


def table(trace: Trace | Facts, name: str) -> "pl.DataFrame":
    """Return a table of a trace by its name in `TABLES`.

    Raises:
        KeyError: there is no such table.
    """
    return TABLES[name][1](facts_of(trace))


def change(before: Trace | Facts, after: Trace | Facts, name: str, per: Per = "step") -> "pl.DataFrame":
    """Return what changed: ``name`` is "changed_steps", "changed_operators" or "changed_kernels"; ``per`` as `compare`.

    Raises:
        KeyError: it is none of these.
    """
    found: dict[str, What] = {f"changed_{what}": what for what in CHANGES}
    return compare(before, after, what=found[name], per=per)


def plain(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    """Return a table as a list of mappings in which what is not a finite number is None, as JSON needs."""
    import polars as pl

    floats = [name for name, kind in frame.schema.items() if kind == pl.Float64]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return frame.with_columns(finite).to_dicts()
