"""The graph that a critical path is found in: starts and ends of slices, and what leads from one to another."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from profiler.analysis.classify import KINDS
from profiler.analysis.facts import Device, Facts
from profiler.analysis.handovers import forward_backward, handovers
from profiler.analysis.latest import earliest, latest
from summary.cancellation import check_cancelled

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
    """What the time between belongs to: of delays, gaps and what is not explained the slice that it led to."""


@dataclass
class _Graph:
    parts: list[Edges] = field(default_factory=list)

    def add(self, source: Column, target: Column, bound: Column | Bound, slices: Column) -> None:
        bounds = np.full(len(source), BOUNDS.index(bound), np.int64) if isinstance(bound, str) else bound
        self.parts.append(Edges(source, target, bounds, slices))


def edges_of(facts: Facts, host: Column, device: Device) -> Edges:
    """What leads from one moment to another, see `profiler.analysis.critical_path`.

    Args:
        facts: the trace.
        host: slices of host threads, in the trace's order.
        device: what ran on devices of what these launched.
    """
    graph = _Graph()
    waiting = np.zeros(len(facts.trace), np.bool_)
    _add_waits(graph, facts, host, device, waiting)
    check_cancelled()
    _add_threads(graph, facts, host, waiting)
    check_cancelled()
    _add_handovers(graph, facts, host)
    check_cancelled()
    _add_streams(graph, facts, device)
    return Edges(*(np.concatenate(columns) for columns in zip(*graph.parts, strict=True)))


def node_times(facts: Facts) -> Column:
    """When each node is."""
    times = np.empty(2 * len(facts.trace), np.int64)
    times[0::2] = facts.trace.start_ns
    times[1::2] = facts.end_ns
    return times


def _add_waits(graph: _Graph, facts: Facts, host: Column, device: Device, waiting: NDArray[np.bool_]) -> None:
    """What was waited for leads to what waited; marks the calls that did."""
    trace = facts.trace
    synchronizing = _named(facts, _WAITS)
    calls = host[(facts.kinds[host] == KINDS.index("synchronisation")) & synchronizing[trace.name_id[host]]]
    waits = facts.every_device_activity
    waits = waits.where(waits.of("synchronisation"))
    stream_of = np.full(len(trace) + 1, -1, np.int64)
    stream_of[waits.launch] = waits.stream
    stream = np.where(_named(facts, _WHOLE_DEVICE)[trace.name_id[calls]], -1, stream_of[calls])
    of_stream = latest(device.stream, device.end, stream, facts.end_ns[calls])
    of_all = latest(np.zeros_like(device.end), device.end, np.zeros_like(calls), facts.end_ns[calls])
    ended = np.where(stream >= 0, of_stream, of_all)
    known = ended >= 0
    known[known] = device.end[ended[known]] > trace.start_ns[calls[known]]
    source, target = device.slice[ended[known]], calls[known]
    # A copy from or to memory that is not pinned keeps its call until it is done.
    launch = np.maximum(device.launch, 0)
    copies = (device.launch >= 0) & device.of("memcpy", "memset") & (device.end <= facts.end_ns[launch])
    copies &= _named(facts, _COPIES)[trace.name_id[launch]] & (device.start >= trace.start_ns[launch])
    copied = device.launch[copies]
    waiting[calls] = True
    waiting[copied] = True
    source, target = np.concatenate([source, device.slice[copies]]), np.concatenate([target, copied])
    graph.add(2 * source + 1, 2 * target + 1, "dependency", target)
    _add_stream_waits(graph, facts, waits, device)


def _named(facts: Facts, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which names of the trace a pattern finds something in."""
    return np.array([pattern.search(name) is not None for name in facts.trace.names] or [False], np.bool_)


def _add_stream_waits(graph: _Graph, facts: Facts, waits: Device, device: Device) -> None:
    """A stream's wait for an event: from the last activity of the other stream to the next one on this."""
    others = [arguments.get("wait_on_stream") for arguments in facts.decoded(waits.slice)]
    other = np.array([each if isinstance(each, int) and 0 <= each < 1 << 62 else -1 for each in others], np.int64)
    behind = earliest(device.stream, device.start, waits.stream, waits.start)
    chosen = (other >= 0) & (behind >= 0)
    behind = behind[chosen]
    before = latest(device.stream, device.end, other[chosen], device.start[behind])
    source, target = device.slice[before[before >= 0]], device.slice[behind[before >= 0]]
    graph.add(2 * source + 1, 2 * target, "dependency", target)


def _add_threads(graph: _Graph, facts: Facts, host: Column, waiting: NDArray[np.bool_]) -> None:
    """From boundary to boundary of each host thread."""
    trace, times = facts.trace, node_times(facts)
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
    outer = facts.nearest(within)
    inside = np.where(node % 2 == 0, node // 2, outer[node // 2])[:-1]
    same = lane[1:] == lane[:-1]
    bound = np.full(len(inside), BOUNDS.index("host"))
    bound[waiting[np.maximum(inside, 0)]] = BOUNDS.index("wait")
    bound[inside < 0] = BOUNDS.index("idle")
    blame = np.where(inside >= 0, inside, node[1:] // 2)
    graph.add(node[:-1][same], node[1:][same], bound[same], blame[same])


def _add_handovers(graph: _Graph, facts: Facts, host: Column) -> None:
    """From thread to thread: where one goes on as another has ended, and from forward to backward operators."""
    found = handovers(facts, host)
    graph.add(2 * found.source + 1, 2 * found.target, "dependency", found.target)
    source, target = forward_backward(facts)
    chosen = np.zeros(len(facts.trace), np.bool_)
    chosen[host] = True
    both = chosen[source] & chosen[target]
    graph.add(2 * source[both] + 1, 2 * target[both], "dependency", target[both])


def _add_streams(graph: _Graph, facts: Facts, device: Device) -> None:
    """Device activities themselves, and what each of them follows, be that outside of the stretch."""
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    ordered = every.where(np.lexsort((every.start, every.stream, every.device)))
    chosen = np.isin(ordered.slice, device.slice)
    bound = np.full(len(chosen), BOUNDS.index("kernel"))
    bound[ordered.of("memcpy", "memset")] = BOUNDS.index("memory")
    bound[ordered.of("communication")] = BOUNDS.index("communication")
    start, end = 2 * ordered.slice, 2 * ordered.slice + 1
    graph.add(start[chosen], end[chosen], bound[chosen], ordered.slice[chosen])
    same = (ordered.device[1:] == ordered.device[:-1]) & (ordered.stream[1:] == ordered.stream[:-1])
    previous = np.where(np.concatenate([[False], same])[: len(chosen)], np.arange(len(chosen)) - 1, -1)
    launched = facts.trace.start_ns[np.maximum(ordered.launch, 0)]
    free = (previous < 0) | (launched >= ordered.end[previous])
    by_launch = np.flatnonzero(chosen & (ordered.launch >= 0) & free)
    graph.add(2 * ordered.launch[by_launch], start[by_launch], "launch_delay", ordered.slice[by_launch])
    follows = np.flatnonzero(chosen & (previous >= 0) & ~((ordered.launch >= 0) & free))
    before = previous[follows]
    graph.add(end[before], start[follows], "kernel_gap", ordered.slice[follows])
    # What the stream was still busy with has been launched before the stretch.
    outside = ~chosen[before] & (ordered.launch[follows] >= 0)
    call, last = ordered.launch[follows[outside]], before[outside]
    graph.add(2 * call, end[last], "backlog", ordered.slice[last])
