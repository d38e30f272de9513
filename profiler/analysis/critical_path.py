"""The chain of work and waiting that decided how long a stretch of a trace took.

The graph is HolisticTraceAnalysis': a node at the start and the end of each slice, and edges

- along each host thread, from boundary to boundary, as long as the time between them inside a slice, 0 between slices;
- from start to end of each device activity, as long as it;
- to the start of a device activity: from the call that launched it, if its stream had nothing left to do then (launch
  delay), else from the end of the activity before it on the stream (gap between kernels);
- of length 0 from the device activity that a synchronising call waited for to that call's end, and to the first
  activity behind a stream's wait for an event. What the waiting call itself took then counts 0.

The critical path is the longest one. What differs: a synchronising call is recognised by its name where the trace has
no ``cuda_sync`` events, and then waits for what ended last before it returned; edges that would go back in time are
left out; parts of slices outside the stretch are cut off.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from profiler.analysis.classify import KINDS, Kind
from profiler.analysis.facts import Device, Facts, facts_of
from profiler.trace import Trace
from profiler.traces.kernel import kernel

if TYPE_CHECKING:
    import polars as pl

Bound = Literal["host", "launch_delay", "kernel", "memory", "communication", "kernel_gap", "dependency"]
BOUNDS: Final[tuple[Bound, ...]] = get_args(Bound)
_WAITS: Final = re.compile(r"(cuda|cu|hip)\w*Synchronize$", re.I)
_WHOLE_DEVICE: Final = re.compile(r"(Device|Ctx|Context)Synchronize", re.I)


class Path(NamedTuple):
    """The parts of a critical path in order of time, as parallel columns; neighbouring parts of one slice are one."""

    bound: NDArray[np.int64]
    """Indices into `BOUNDS`."""
    slice: NDArray[np.int64]
    """What the part belongs to: of a delay, a gap or a dependency the slice that it led to."""
    origin: NDArray[np.int64]
    """The slice at whose start or end the part begins."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    """When the path goes on: after a dependency, which takes no time of its own, when it had been met."""
    weight: NDArray[np.int64]
    """Nanoseconds that count; 0 for dependencies."""


@dataclass
class _Graph:
    """Edges as they are made; nodes are 2 x (place in the slices) for a start, and one more for an end."""

    source: list[NDArray[np.int64]] = field(default_factory=list)
    target: list[NDArray[np.int64]] = field(default_factory=list)
    weight: list[NDArray[np.int64]] = field(default_factory=list)
    bound: list[NDArray[np.int64]] = field(default_factory=list)
    slice: list[NDArray[np.int64]] = field(default_factory=list)

    def add(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        weight: NDArray[np.int64],
        bound: NDArray[np.int64] | Bound,
        slices: NDArray[np.int64],
    ) -> None:
        self.source.append(source)
        self.target.append(target)
        self.weight.append(weight)
        self.bound.append(np.full(len(source), BOUNDS.index(bound)) if isinstance(bound, str) else bound)
        self.slice.append(slices)


@kernel
def _longest(
    source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Length of the longest path to each node, and the edge it comes by (-1 for none).

    Edges are sorted so that all that reach a node come before all that leave it.
    """
    length = np.zeros(nodes, np.int64)
    edge = np.full(nodes, -1, np.int64)
    for index in range(source.size):
        reached = length[source[index]] + weight[index]
        goal = target[index]
        if edge[goal] < 0 or reached > length[goal]:
            length[goal] = reached
            edge[goal] = index
    return length, edge


def path_of(trace: Trace | Facts, *, step: int | None = None) -> Path:
    """The critical path of a step, or of the whole trace, as columns.

    A step is what the host did between its marks, with all that was launched there, as in
    HolisticTraceAnalysis' ``critical_path_analysis(annotation="ProfilerStep", instance_id=...)``.

    Raises:
        ValueError: the trace has no such step.
    """
    facts = facts_of(trace)
    begin, end = _stretch(facts, step)
    host = _host_slices(facts, begin, end)
    device = _device_part(facts, host)
    graph = _Graph()
    times = _node_times(facts)
    _add_threads(graph, facts, host, device, times)
    _add_streams(graph, facts, device)
    _add_waits(graph, facts, host, device, times)
    return _walk(graph, times)


def critical_path(trace: Trace | Facts, *, step: int | None = None) -> "pl.DataFrame":
    """The critical path of a step, or of the whole trace, in order of time; see `path_of`.

    Columns: bound ("host", "launch_delay", "kernel", "memory", "communication", "kernel_gap", "dependency"), name
    (text, of the slice), slice, start_ns, duration_ns (int64; 0 for dependencies). Neighbouring parts of one slice
    are one row.

    Raises:
        ValueError: the trace has no such step.
    """
    import polars as pl

    facts = facts_of(trace)
    path = path_of(facts, step=step)
    return pl.DataFrame(
        {
            "bound": pl.Series([BOUNDS[index] for index in path.bound.tolist()], dtype=pl.String),
            "name": pl.Series(facts.names_of(path.slice), dtype=pl.String),
            "slice": path.slice,
            "start_ns": path.start,
            "duration_ns": path.weight,
        }
    )


def critical_path_summary(trace: Trace | Facts, *, step: int | None = None) -> "pl.DataFrame":
    """The critical path by what bounds it, longest first.

    Columns: bound (text), duration_ns, parts (int64), percent of the path (float64).
    """
    import polars as pl

    grouped = (
        critical_path(trace, step=step)
        .group_by("bound")
        .agg(pl.col("duration_ns").sum(), pl.len().cast(pl.Int64).alias("parts"))
    )
    whole = pl.col("duration_ns").sum()
    percent = pl.when(whole > 0).then(100 * pl.col("duration_ns") / whole).otherwise(0.0)
    return grouped.with_columns(percent.alias("percent")).sort("duration_ns", "bound", descending=[True, False])


def _stretch(facts: Facts, step: int | None) -> tuple[int, int]:
    if step is None:
        ends = facts.end_ns
        return (int(facts.trace.start_ns.min()), int(ends.max())) if len(ends) else (0, 0)
    for each in facts.trace.steps:
        if each.number == step:
            return each.start_ns, each.start_ns + each.duration_ns
    known = ", ".join(str(each.number) for each in facts.trace.steps) or "none"
    raise ValueError(f"The trace has no step {step}. It has: {known}.")


def _host_slices(facts: Facts, begin: int, end: int) -> NDArray[np.int64]:
    kinds: tuple[Kind, ...] = ("operator", "runtime", "synchronisation", "communication", "data_loading")
    chosen = facts.slices(*kinds, on_device=False)
    return chosen[(facts.trace.start_ns[chosen] >= begin) & (facts.end_ns[chosen] <= end)]


def _device_part(facts: Facts, host: NDArray[np.int64]) -> Device:
    """Device activities that the host slices launched; all of them where no launch is known."""
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    if not (every.launch >= 0).any():
        return every
    return every.where(np.isin(every.launch, host))


def _node_times(facts: Facts) -> NDArray[np.int64]:
    times = np.empty(2 * len(facts.trace), np.int64)
    times[0::2] = facts.trace.start_ns
    times[1::2] = facts.end_ns
    return times


def _add_threads(
    graph: _Graph, facts: Facts, host: NDArray[np.int64], device: Device, times: NDArray[np.int64]
) -> None:
    """Edges from boundary to boundary of each host thread."""
    trace = facts.trace
    depth, empty = trace.depth[host].astype(np.int64), trace.duration_ns[host] == 0
    node = np.concatenate([2 * host, 2 * host + 1])
    lane = np.tile(trace.lane[host], 2)
    # Among boundaries of one time: ends, inner ones first, then starts, outer ones first; an empty slice ends at once.
    phase = np.concatenate([np.ones(len(host), np.int64), np.where(empty, 1, 0)])
    inner = np.concatenate([2 * depth, np.where(empty, 2 * depth + 1, -depth)])
    order = np.lexsort((inner, phase, times[node], lane))
    node, lane = node[order], lane[order]
    within = np.zeros(len(trace), np.bool_)
    within[host] = True
    outer = facts.nearest(within) if len(trace) else host
    inside = np.where(node % 2 == 0, node // 2, outer[node // 2])[:-1]
    same = lane[1:] == lane[:-1]
    gap = times[node[1:]] - times[node[:-1]]
    waiting = facts.kinds[np.maximum(inside, 0)] == KINDS.index("synchronisation")
    weight = np.where((inside >= 0) & ~waiting, gap, 0)
    bound = np.where(inside >= 0, BOUNDS.index("host"), BOUNDS.index("dependency"))
    blame = np.where(inside >= 0, inside, node[1:] // 2)
    graph.add(node[:-1][same], node[1:][same], weight[same], bound[same], blame[same])


def _add_streams(graph: _Graph, facts: Facts, device: Device) -> None:
    """Edges of device activities: themselves, and what each follows."""
    order = np.lexsort((device.start, device.stream, device.device))
    ordered = device.where(order)
    bound = np.full(len(order), BOUNDS.index("kernel"))
    bound[ordered.of("memcpy", "memset")] = BOUNDS.index("memory")
    bound[ordered.of("communication")] = BOUNDS.index("communication")
    nodes = 2 * ordered.slice
    graph.add(nodes, nodes + 1, ordered.duration, bound, ordered.slice)
    if not len(order):
        return
    same = (ordered.device[1:] == ordered.device[:-1]) & (ordered.stream[1:] == ordered.stream[:-1])
    has_previous = np.concatenate([[False], same])
    previous_end = np.concatenate([[0], ordered.end[:-1]])
    launched = facts.trace.start_ns[np.maximum(ordered.launch, 0)]
    by_launch = (ordered.launch >= 0) & (~has_previous | (launched >= previous_end))
    calls = ordered.launch[by_launch]
    delay = ordered.start[by_launch] - launched[by_launch]
    graph.add(2 * calls, nodes[by_launch], delay, "launch_delay", ordered.slice[by_launch])
    follows = np.flatnonzero(has_previous & ~by_launch)
    gap = ordered.start[follows] - previous_end[follows]
    graph.add(nodes[follows - 1] + 1, nodes[follows], np.maximum(gap, 0), "kernel_gap", ordered.slice[follows])


def _add_waits(graph: _Graph, facts: Facts, host: NDArray[np.int64], device: Device, times: NDArray[np.int64]) -> None:
    """Edges of length 0 from what was waited for to what waited."""
    trace = facts.trace
    every = facts.every_device_activity
    waits = every.where(every.of("synchronisation"))
    stream_of_call = dict(zip(waits.launch.tolist(), waits.stream.tolist(), strict=True))
    by_end = np.argsort(device.end, kind="stable")
    ends = device.end[by_end]
    source: list[int] = []
    target: list[int] = []
    for call in host[facts.kinds[host] == KINDS.index("synchronisation")].tolist():
        name = trace.names[int(trace.name_id[call])]
        if not _WAITS.match(name):
            continue
        stream = -1 if _WHOLE_DEVICE.search(name) else stream_of_call.get(call, -1)
        index = int(np.searchsorted(ends, facts.end_ns[call], side="right")) - 1
        while index >= 0 and stream >= 0 and device.stream[by_end[index]] != stream:
            index -= 1
        if index >= 0:
            source.append(2 * int(device.slice[by_end[index]]) + 1)
            target.append(2 * call + 1)
    _stream_waits(facts.decoded(waits.slice), waits, device, source, target)
    zeros = np.zeros(len(source), np.int64)
    goals = np.array(target, np.int64)
    graph.add(np.array(source, np.int64), goals, zeros, "dependency", goals // 2)


def _stream_waits(
    decoded: Sequence[Mapping[str, Any]], waits: Device, device: Device, source: list[int], target: list[int]
) -> None:
    """A stream's wait for an event: from the last activity of the other stream to the next one on this."""
    for stream, at, arguments in zip(waits.stream.tolist(), waits.start.tolist(), decoded, strict=True):
        other = arguments.get("wait_on_stream")
        if not isinstance(other, int):
            continue
        behind = np.flatnonzero((device.stream == stream) & (device.start >= at))
        if not len(behind):
            continue
        first = behind[np.argmin(device.start[behind])]
        before = np.flatnonzero((device.stream == other) & (device.end <= device.start[first]))
        if len(before):
            source.append(2 * int(device.slice[before[np.argmax(device.end[before])]]) + 1)
            target.append(2 * int(device.slice[first]))


def _walk(graph: _Graph, times: NDArray[np.int64]) -> Path:
    """The longest path's edges, in order, neighbours of one slice and bound as one."""
    source, target = np.concatenate(graph.source), np.concatenate(graph.target)
    weight, bound = np.concatenate(graph.weight), np.concatenate(graph.bound)
    slices = np.concatenate(graph.slice)
    forward = np.flatnonzero(times[source] <= times[target])
    source, target, weight, bound, slices = (column[forward] for column in (source, target, weight, bound, slices))
    order = np.argsort(_order(source, target, times)[target], kind="stable")
    length, edge = _longest(source[order], target[order], weight[order], len(times))
    backwards: list[int] = []
    node = int(np.argmax(length)) if len(forward) else -1
    while node >= 0 and (index := int(edge[node])) >= 0:
        backwards.append(int(order[index]))
        node = int(source[backwards[-1]])
    edges = np.array(backwards[::-1], np.int64)
    bounds, blamed = bound[edges], slices[edges]
    changes = np.flatnonzero((np.diff(bounds) != 0) | (np.diff(blamed) != 0)) + 1
    first = np.concatenate([[0], changes])[: len(edges)].astype(np.int64)
    last = np.concatenate([changes, [len(edges)]])[: len(edges)].astype(np.int64) - 1
    taken = np.add.reduceat(weight[edges], first) if len(edges) else edges
    keep = (taken > 0) | (bounds[first] == BOUNDS.index("dependency"))
    first, last = edges[first[keep]], edges[last[keep]]
    return Path(bound[first], slices[first], source[first] // 2, times[source[first]], times[target[last]], taken[keep])


def _order(source: NDArray[np.int64], target: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number per node that grows along every edge: the order of time, and of edges among equal times."""
    rank = np.argsort(np.argsort(times, kind="stable"), kind="stable").astype(np.int64)
    within = np.zeros(len(times), np.int64)
    tied = np.flatnonzero(times[source] == times[target])
    for _ in range(len(tied)):
        needed = within[source[tied]] + 1
        if (within[target[tied]] >= needed).all():
            break
        np.maximum.at(within, target[tied], needed)
        if within.max(initial=0) > len(tied):
            break
    order = np.lexsort((rank, within, times))
    result = np.empty(len(times), np.int64)
    result[order] = np.arange(len(times))
    return result
