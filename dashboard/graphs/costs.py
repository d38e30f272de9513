"""Costs of a profiled step, by node and by scope.

RunMetadata is joined by TensorBoard's rule (``tf_graph_common/graph.ts``, ``joinStatsInfoWithGraph``): by the name of
the node, or of a node that is also a scope; repeats span the earliest start to the latest end; memory is the sum of
the positive values reported by allocators, the largest of all repeats. Slices of a trace are joined if their own name
or the profiler's note names the node, and their durations are added up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.tree import Tree
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import Numbered, distinct_values, numbered
from stepscope.summary.proto.step_stats_pb2 import NodeExecStats, StepStats

MOST_NAMES: Final = 200
"""Maximum names of slices without a node to report."""
_NOTES: Final = ("tf_op", "op_name", "node_name", "name", "long_name", "hlo_op", "op")
"""Arguments of slices in which profilers record the graph's node."""
_MOST_DECODED: Final = 100_000
"""Maximum slices whose arguments are decoded: the first of each name, then the second of each, and so on."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs joined with a tree of m entries whose model has n nodes."""

    time_ns: NDArray[np.int64]
    """[m]: time of each entry, including everything inside."""
    bytes: NDArray[np.int64]
    """[m]"""
    ran: NDArray[np.int64]
    """[m]: number of nodes inside that ran."""
    calls: NDArray[np.int64]
    """[m]: number of executions."""
    by_op: Mapping[str, tuple[int, int]]
    """Nanoseconds and executions of slices that name an operation of the graph but no node."""
    devices: tuple[str, ...]
    """Devices, or processes of lanes, with any costs."""
    matched: int
    """Number of executions that belong to a node."""
    unmatched: int
    unmatched_names: tuple[str, ...]
    """The first distinct names, at most `MOST_NAMES`."""


class _Names:
    """Finds the nodes that a profiler refers to."""

    def __init__(self, tree: Tree) -> None:
        self._nodes: Final = {name: node for node, name in enumerate(tree.model.names)}
        for node, entry in enumerate(tree.leaf_of.tolist()):
            self._nodes.setdefault(tree.paths[entry], node)
        by_op: dict[str, list[int]] = {}
        for node, op in enumerate(tree.model.ops):
            by_op.setdefault(op, []).append(node)
        self.by_op: Final = by_op

    def node(self, name: str) -> int | None:
        """Return the node with this name, with ``name:operation``, or with ``name`` after a device or a step."""
        found = self._nodes.get(name)
        if found is None and ":" in name:
            found = self._nodes.get(name.partition(":")[0])
            if found is None:
                found = self._nodes.get(name.rpartition(":")[2])
        return found

    def first(self, names: Iterable[str]) -> int:
        """Return the node of the first name that has one; -1 if none has."""
        return next((node for name in names if (node := self.node(name)) is not None), -1)


def costs_of_step_stats(tree: Tree, stats: StepStats, devices: Iterable[str] | None = None) -> Costs:
    """Return the costs in a profiled step.

    Args:
        tree: The graph.
        stats: The recorded executions.
        devices: Names of the devices to count; None for all.
    """
    wanted = None if devices is None else frozenset(devices)
    names = _Names(tree)
    table = _Table(len(tree.model))
    for device in stats.dev_stats:
        if wanted is not None and device.device not in wanted:
            continue
        for execution in device.node_stats:
            node = names.node(execution.node_name)
            if node is None:
                table.miss(execution.node_name)
                continue
            start, end = _span_ns(execution)
            table.add(node, start, end, sum(m.total_bytes for m in execution.memory if m.total_bytes > 0))
    time = np.where(table.calls > 0, np.maximum(table.end - table.start, 0), 0)
    return _joined(tree, table, time, {}, tuple([device.device for device in stats.dev_stats]))


def _span_ns(execution: NodeExecStats) -> tuple[int, int]:
    """Return start and end, from the finer clock if available."""
    if execution.all_start_nanos or execution.all_end_rel_nanos:
        return execution.all_start_nanos, execution.all_start_nanos + execution.all_end_rel_nanos
    start = execution.all_start_micros * 1_000
    return start, start + execution.all_end_rel_micros * 1_000


def costs_of_trace(tree: Tree, trace: Trace) -> Costs:
    """Return the costs in a trace of any profiler.

    Slices that name an operation but no node count for the operation's only node, or by operation if there are more.
    """
    names = _Names(tree)
    table = _Table(len(tree.model))
    by_name = numbered(trace.name_id)
    codes, of_slice = by_name.distinct, by_name.number
    nodes = _named_nodes(names, trace, by_name)
    missed = nodes < 0
    calls = np.bincount(of_slice[missed], minlength=len(codes))
    durations = np.zeros(len(codes), np.int64)
    np.add.at(durations, of_slice[missed], trace.duration_ns[missed])
    only = np.full(len(codes), -1, np.int64)
    by_op: dict[str, tuple[int, int]] = {}
    for number in np.flatnonzero(calls).tolist():
        name, count, duration = trace.names[codes[number]], int(calls[number]), int(durations[number])
        alike = names.by_op.get(name) or names.by_op.get(f"aten::{name}") or []
        if len(alike) == 1:
            only[number] = alike[0]
        elif alike:
            known = by_op.get(name, (0, 0))
            by_op[name] = (known[0] + duration, known[1] + count)
        else:
            table.miss(name, count)
    nodes = np.where(missed, only[of_slice], nodes)
    matched = nodes >= 0
    time = np.zeros(len(tree.model), np.int64)
    np.add.at(time, nodes[matched], trace.duration_ns[matched])
    np.add.at(table.calls, nodes[matched], 1)
    table.matched = int(np.count_nonzero(matched))
    lanes = distinct_values(trace.lane[matched]).tolist()
    return _joined(tree, table, time, by_op, tuple(dict.fromkeys(trace.lanes[lane].process for lane in lanes)))


def _named_nodes(names: _Names, trace: Trace, by_name: Numbered[np.int32]) -> NDArray[np.int64]:
    """Return the node that the name or a note of each slice names, int64 ``[n]``; -1 for none.

    Slices with equal names may be of different nodes, as kernels are. Those that are not decoded count for the node of
    the decoded ones with their name, if these have only one.
    """
    of_slice = by_name.number
    nodes = np.array([names.first((trace.names[code],)) for code in by_name.distinct.tolist()], np.int64)[of_slice]
    unnamed = np.flatnonzero(nodes < 0)
    unnamed = unnamed[np.argsort(of_slice[unnamed], kind="stable")]
    turns = np.arange(len(unnamed)) - np.searchsorted(of_slice[unnamed], of_slice[unnamed])
    decoded, others = np.split(unnamed[np.argsort(turns, kind="stable")], [_MOST_DECODED])
    noted: list[int] = []
    for slice_ in decoded.tolist():
        if notes := _notes(trace.arguments[slice_]):
            nodes[slice_] = names.first(notes)
            noted.append(slice_)
    low = np.full(len(by_name.distinct), np.iinfo(np.int64).max)
    high = np.full(len(by_name.distinct), -1)
    # A note that names no node of the graph counts too: others with the slice's name may be as foreign.
    np.minimum.at(low, of_slice[noted], nodes[noted])
    np.maximum.at(high, of_slice[noted], nodes[noted])
    nodes[others] = np.where(low == high, low, -1)[of_slice[others]]
    return nodes


def _notes(arguments: Mapping[str, Any]) -> list[str]:
    return [note for key in _NOTES if isinstance(note := arguments.get(key), str)]


class _Table:
    """Collects executions by node."""

    def __init__(self, nodes: int) -> None:
        self.start: Final = np.full(nodes, np.iinfo(np.int64).max // 2, np.int64)
        self.end: Final = np.full(nodes, np.iinfo(np.int64).min // 2, np.int64)
        self.bytes: Final = np.zeros(nodes, np.int64)
        self.calls: Final = np.zeros(nodes, np.int64)
        self.matched = 0
        self.unmatched = 0
        self.names: Final[dict[str, None]] = {}

    def add(self, node: int, start: int, end: int, held: int) -> None:
        """Add one execution of a node."""
        limit = np.iinfo(np.int64).max // 4
        self.start[node] = min(int(self.start[node]), max(min(start, limit), -limit))
        self.end[node] = max(int(self.end[node]), max(min(end, limit), -limit))
        self.bytes[node] = max(int(self.bytes[node]), min(held, 1 << 53))
        self.calls[node] += 1
        self.matched += 1

    def miss(self, name: str, count: int = 1) -> None:
        """Count executions without a node."""
        self.unmatched += count
        if len(self.names) < MOST_NAMES:
            self.names.setdefault(name)


def _joined(
    tree: Tree, table: _Table, time: NDArray[np.int64], by_op: Mapping[str, tuple[int, int]], devices: tuple[str, ...]
) -> Costs:
    return Costs(
        time_ns=tree.summed(time),
        bytes=tree.summed(table.bytes),
        ran=tree.summed((table.calls > 0).astype(np.int64)),
        calls=tree.summed(table.calls),
        by_op=by_op,
        devices=devices,
        matched=table.matched,
        unmatched=table.unmatched,
        unmatched_names=tuple(table.names),
    )
