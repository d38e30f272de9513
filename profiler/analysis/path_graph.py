"""The graph in which a critical path is found: starts and ends of slices, and the edges between them."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Device, Facts
from stepscope.profiler.analysis.handovers import forward_backward, handovers
from stepscope.profiler.analysis.latest import latest
from stepscope.profiler.analysis.stream_waits import named, released_by, stream_numbers
from stepscope.profiler.analysis.stretches import furthest
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.distinct import distinct_values, running_count

Column = NDArray[np.int64]
Explained = Literal["host", "kernel", "memory", "communication", "launch_delay", "kernel_gap", "backlog"]
Unexplained = Literal["python", "idle", "wait", "dependency"]
Bound = Explained | Unexplained
EXPLAINED: Final[tuple[Explained, ...]] = get_args(Explained)
BOUNDS: Final[tuple[Bound, ...]] = (*EXPLAINED, *get_args(Unexplained))
"""What a part of a critical path is; time in those after `EXPLAINED` is not explained."""

_WAITS: Final = re.compile(r"(cuda|cu|hip)\w*Synchronize$", re.I)
_WHOLE_DEVICE: Final = re.compile(r"(Device|Ctx|Context)Synchronize", re.I)
_COPIES: Final = re.compile(r"mem(cpy|set)", re.I)


class Edges(NamedTuple):
    """Edges as parallel columns; node ``2 * i`` is the start of slice ``i``, node ``2 * i + 1`` its end."""

    source: Column
    target: Column
    bound: Column
    """Indices into `BOUNDS`."""
    slice: Column
    """The slice that the time between belongs to; for delays, gaps and unexplained time, the slice that they led to."""


@dataclass
class _Graph:
    parts: list[Edges] = field(default_factory=list)

    def add(self, source: Column, target: Column, bound: Column | Bound, slices: Column) -> None:
        bounds = np.full(len(source), BOUNDS.index(bound), np.int64) if isinstance(bound, str) else bound
        self.parts.append(Edges(source, target, bounds, slices))


def edges_of(facts: Facts, host: Column, device: Device, *, inferred: bool) -> Edges:
    """Return the edges between points in time; see `stepscope.profiler.analysis.critical_path`.

    Args:
        facts: the trace.
        host: slices of host threads, in the trace's order.
        device: the device activities that these launched.
        inferred: whether to follow waits that are not recorded as such.
    """
    graph = _Graph()
    waiting = np.zeros(len(facts.trace), np.bool_)
    _add_synchronization(graph, facts, host, device, waiting)
    if inferred:
        _add_copies(graph, facts, device, waiting)
        check_cancelled()
        _add_handovers(graph, facts, host)
    check_cancelled()
    _add_threads(graph, facts, host, waiting)
    check_cancelled()
    _add_streams(graph, facts, device, inferred)
    return Edges(*(np.concatenate(columns) for columns in zip(*graph.parts, strict=True)))


def node_times(facts: Facts) -> Column:
    """Return the time of each node."""
    times = np.empty(2 * len(facts.trace), np.int64)
    times[0::2] = facts.trace.start_ns
    times[1::2] = facts.end_ns
    return times


def _add_synchronization(graph: _Graph, facts: Facts, host: Column, device: Device, waiting: NDArray[np.bool_]) -> None:
    """Add edges from what a call waited for to the call's end, and mark the calls that wait."""
    trace = facts.trace
    synchronizing = named(facts, _WAITS)[trace.name_id[host]]
    calls = host[(facts.kinds[host] == KINDS.index("synchronization")) & synchronizing]
    waiting[calls] = True
    waits = facts.every_device_activity
    waits = waits.where(waits.of("synchronization"))
    device_of, stream_of = np.full((2, len(trace) + 1), -1, np.int64)
    device_of[waits.launch], stream_of[waits.launch] = waits.device, waits.stream
    asked, until = device_of[calls], facts.end_ns[calls]
    stream = np.where(named(facts, _WHOLE_DEVICE)[trace.name_id[calls]], -1, stream_of[calls])
    streams, asked_streams = stream_numbers(device, asked, stream)
    of_stream = latest(streams, device.end, asked_streams, until)
    of_device = latest(device.device, device.end, asked, until)
    of_all = latest(np.zeros_like(device.end), device.end, np.zeros_like(calls), until)
    ended = np.where(stream >= 0, of_stream, np.where(asked >= 0, of_device, of_all))
    known = np.flatnonzero(ended >= 0)
    known = known[device.end[ended[known]] > trace.start_ns[calls[known]]]
    graph.add(2 * device.slice[ended[known]] + 1, 2 * calls[known] + 1, "dependency", calls[known])


def _add_copies(graph: _Graph, facts: Facts, device: Device, waiting: NDArray[np.bool_]) -> None:
    """Block the call of a copy from or to memory that is not pinned until the copy is done."""
    launch = np.maximum(device.launch, 0)
    copies = (device.launch >= 0) & device.of("memcpy", "memset") & named(facts, _COPIES)[facts.trace.name_id[launch]]
    copies &= (device.end <= facts.end_ns[launch]) & (device.start >= facts.trace.start_ns[launch])
    calls = device.launch[copies]
    waiting[calls] = True
    graph.add(2 * device.slice[copies] + 1, 2 * calls + 1, "dependency", calls)


def _add_threads(graph: _Graph, facts: Facts, host: Column, waiting: NDArray[np.bool_]) -> None:
    """Add edges from boundary to boundary of each host thread."""
    trace, times = facts.trace, node_times(facts)
    depth, empty = trace.depth[host].astype(np.int64), trace.duration_ns[host] == 0
    node = np.concatenate([2 * host, 2 * host + 1])
    lane = np.tile(trace.lane[host], 2)
    # At equal times: ends, inner ones first, then starts, outer ones first; an empty slice ends at once.
    phase = np.concatenate([np.ones(len(host), np.int64), np.where(empty, 1, 0)])
    inner = np.concatenate([2 * depth, np.where(empty, 2 * depth + 1, -depth)])
    order = np.lexsort((inner, phase, times[node], lane))
    node, lane = node[order], lane[order]
    within = np.zeros(len(trace), np.bool_)
    within[host] = True
    outer = facts.nearest(within)
    inside = np.where(node % 2 == 0, node // 2, outer[node // 2])
    # Where slices partly overlap, the one that runs longest continues when another ends that is in no other slice.
    longest = node[furthest(lane.astype(np.int64), facts.end_ns[node // 2])] // 2
    inside = np.where((inside < 0) & (facts.end_ns[longest] > times[node]), longest, inside)[:-1]
    same = lane[1:] == lane[:-1]
    bound = np.full(len(inside), BOUNDS.index("host"))
    bound[waiting[np.maximum(inside, 0)]] = BOUNDS.index("wait")
    bound[inside < 0] = BOUNDS.index("idle")
    blame = np.where(inside >= 0, inside, node[1:] // 2)
    graph.add(node[:-1][same], node[1:][same], bound[same], blame[same])


def _add_handovers(graph: _Graph, facts: Facts, host: Column) -> None:
    """Add edges between threads: where one continues as another has ended, and from forward to backward operators."""
    found = handovers(facts, host)
    graph.add(2 * found.source + 1, 2 * found.target, "dependency", found.target)
    source, target = forward_backward(facts)
    chosen = np.zeros(len(facts.trace), np.bool_)
    chosen[host] = True
    both = chosen[source] & chosen[target]
    graph.add(2 * source[both] + 1, 2 * target[both], "dependency", target[both])


def _add_streams(graph: _Graph, facts: Facts, device: Device, inferred: bool) -> None:
    """Add the device activities, and edges from what each of them follows, even if launched outside the stretch."""
    every, previous = _by_stream(facts)
    chosen = np.isin(every.slice, device.slice)
    bound = np.full(len(chosen), BOUNDS.index("kernel"))
    bound[every.of("memcpy", "memset")] = BOUNDS.index("memory")
    bound[every.of("communication")] = BOUNDS.index("communication")
    start, end = 2 * every.slice, 2 * every.slice + 1
    graph.add(start[chosen], end[chosen], bound[chosen], every.slice[chosen])
    has_launch = every.launch >= 0
    launched = np.where(has_launch, facts.trace.start_ns[every.launch], np.iinfo(np.int64).min)
    previous_end = np.where(previous >= 0, every.end[previous], np.iinfo(np.int64).min)
    released = released_by(facts, every, previous, np.maximum(launched, previous_end), inferred)
    early = _begins_early(every) & (released < 0)
    free = has_launch & (launched >= previous_end) & ~early

    def come(from_nodes: Column, places: Column, bound: Bound) -> None:
        bounds = np.where(released[places] >= 0, BOUNDS.index("wait"), BOUNDS.index(bound))
        graph.add(from_nodes, start[places], bounds, every.slice[places])

    by_launch = np.flatnonzero(chosen & free)
    come(2 * every.launch[by_launch], by_launch, "launch_delay")
    follows = np.flatnonzero(chosen & ~free & ~early & (previous >= 0))
    come(end[previous[follows]], follows, "kernel_gap")
    overlapping = np.flatnonzero(chosen & early)
    before = overlapping - 1
    inside, kept = chosen[before], ~chosen[before] & has_launch[overlapping]
    graph.add(start[before[inside]], start[overlapping[inside]], bound[before[inside]], every.slice[before[inside]])
    graph.add(2 * every.launch[overlapping[kept]], start[overlapping[kept]], "backlog", every.slice[before[kept]])
    behind = np.flatnonzero(chosen & (released >= 0))
    graph.add(end[released[behind]], start[behind], "dependency", every.slice[behind])
    # Work launched before the stretch that had to finish first: on the same stream, or on another that was waited for.
    later, before = np.concatenate([follows, behind]), np.concatenate([previous[follows], released[behind]])
    outside = ~chosen[before] & has_launch[later]
    call, last = every.launch[later[outside]], before[outside]
    graph.add(2 * call, end[last], "backlog", every.slice[last])


def _begins_early(every: Device) -> NDArray[np.bool_]:
    """Return which activities begin while the previous one on the stream still runs, and do not end before it.

    Kernels that are launched to prepare while others finish do this (CUDA: programmatic dependent launch). An activity
    that ends before the previous one is a separate branch of a graph.
    """
    early = np.zeros(len(every.slice), np.bool_)
    early[1:] = (every.device[1:] == every.device[:-1]) & (every.stream[1:] == every.stream[:-1])
    early[1:] &= (every.start[1:] < every.end[:-1]) & (every.end[1:] >= every.end[:-1])
    return early


def _by_stream(facts: Facts) -> tuple[Device, Column]:
    """Return device activities by device, stream and start, and for each the last to end before it on its stream.

    The latter is the previous one, unless activities of a stream ran at the same time, such as branches of a graph; -1
    for none.
    """
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    every = every.where(np.lexsort((every.start, every.stream, every.device)))
    begins = (every.device[1:] != every.device[:-1]) | (every.stream[1:] != every.stream[:-1])
    stream = running_count(np.concatenate([[False], begins])[: len(every.slice)])
    before = np.arange(len(stream)) - 1
    before[np.searchsorted(stream, distinct_values(stream))] = -1
    return every, np.where(every.duration > 0, latest(stream, every.end, stream, every.start), before)
