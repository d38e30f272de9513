"""A graph as a tree of groups and nodes, with sums over groups and the entries that are set aside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.bodies import MOST_NODES, OpenedGraph, open_calls
from stepscope.dashboard.graphs.element_types import shape_text, tensor_bytes
from stepscope.dashboard.graphs.folding import fold
from stepscope.dashboard.graphs.hierarchy import (
    Groups,
    Kind,
    fold_crowds,
    fold_series,
    grouped,
    sibling_edges,
    structure_classes,
)
from stepscope.dashboard.graphs.records import GraphModel, Problem
from stepscope.dashboard.graphs.weights import flops_of, parameter_bytes_of, parameters_of, products_of
from stepscope.summary.distinct import numbered

__all__ = ["Kind", "Tree", "tree_of"]

LEAST_FOR_DEGREES: Final = 15
"""Minimum members of a group to set aside those of a high degree (TensorBoard's ``minNodeCountForExtraction``)."""
LEAST_DEGREE: Final = 5
"""Minimum degree of such members (TensorBoard's ``minDegreeForExtraction``)."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Entries 0..m-1 in preorder: the entries inside entry i are i+1..end[i]-1. Entry 0 is the whole graph.

    Arrays are [m] unless stated otherwise, and must not be modified. Sums over an entry include all nodes inside.
    """

    original: GraphModel
    """The original graph."""
    opened: OpenedGraph
    """The graph with the bodies of its functions at their calls."""
    paths: tuple[str, ...]
    """Unique ids: "layer1/conv", or "layer1/conv_[1-9]" for a series; empty for the whole graph."""
    labels: tuple[str, ...]
    kinds: tuple[Kind, ...]
    parent: NDArray[np.int64]
    """-1 for entry 0."""
    end: NDArray[np.int64]
    node: NDArray[np.int64]
    """The node of an operation or of a function call; -1 for other groups."""
    leaf_of: NDArray[np.int64]
    """[n]: the entry of each node of ``model``."""
    count: NDArray[np.int64]
    """Number of nodes inside; 1 for an operation."""
    structure: NDArray[np.int64]
    """Equal for similar subtrees."""
    parameters: NDArray[np.int64]
    """Elements of trainable weights. Those of a folded variable count once, at its first host."""
    bytes: NDArray[np.int64]
    """Bytes of the trainable weights."""
    flops: NDArray[np.float64]
    """Floating-point operations of nodes that are not auxiliary, if known; else NaN."""
    problem_count: NDArray[np.int64]
    auxiliary: NDArray[np.bool_]
    """Whether all nodes inside are auxiliary."""
    hosts: Mapping[int, tuple[int, ...]]
    """Entry of an auxiliary node to the entries that it belongs to; see `folding`."""
    set_aside: NDArray[np.bool_]
    """Whether the entry is set aside for its degree."""
    entry_of: Mapping[str, int] = field(repr=False)
    """Path to entry."""

    @property
    def model(self) -> GraphModel:
        """The displayed graph: including the bodies of functions."""
        return self.opened.model

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.model.problems

    def __len__(self) -> int:
        return len(self.paths)

    def children(self, entry: int) -> list[int]:
        """Return the members of an entry, in graph order."""
        found, child, end = [], entry + 1, int(self.end[entry])
        while child < end:
            found.append(child)
            child = int(self.end[child])
        return found

    def ancestors(self, entry: int) -> list[int]:
        """Return the groups around an entry, innermost first, without the whole graph."""
        found = []
        parent = int(self.parent[entry])
        while parent > 0:
            found.append(parent)
            parent = int(self.parent[parent])
        return found

    def is_group(self, entry: int) -> bool:
        """Return whether an entry can be expanded."""
        return int(self.end[entry]) > entry + 1

    def op(self, entry: int) -> str:
        """Return the operation of a node or a call.

        For a series, return the common operation of its members; otherwise, empty.
        """
        node = int(self.node[entry])
        if node < 0 and self.kinds[entry] == "series":
            ops = {self.model.ops[n] if (n := int(self.node[m])) >= 0 else "" for m in self.children(entry)}
            return ops.pop() if len(ops) == 1 else ""
        return self.model.ops[node] if node >= 0 else ""

    def nodes_in(self, entry: int) -> NDArray[np.int64]:
        """Return the nodes of the model inside the entry, itself included."""
        nodes = self.node[entry : self.end[entry]]
        return nodes[nodes >= 0]

    def op_histogram(self, entry: int) -> dict[str, int]:
        """Return the number of nodes of each operation inside, the most frequent first."""
        codes = np.bincount(self._op_codes[self.nodes_in(entry)], minlength=len(self._op_names))
        order = np.argsort(-codes, kind="stable")
        return {self._op_names[code]: int(codes[code]) for code in order.tolist() if codes[code]}

    @cached_property
    def _op_names(self) -> list[str]:
        return sorted(set(self.model.ops))

    @cached_property
    def _op_codes(self) -> NDArray[np.int64]:
        codes = {op: code for code, op in enumerate(self._op_names)}
        return np.array([codes[op] for op in self.model.ops], np.int64)

    @cached_property
    def device_names(self) -> tuple[str, ...]:
        """The devices of the graph's nodes; the first is empty and means none."""
        return ("", *sorted(set(self.model.devices) - {""}))

    @cached_property
    def device_codes(self) -> NDArray[np.int32]:
        """[n]: each node's device, as an index into ``device_names``."""
        return _codes(self.model.devices, self.device_names)

    @cached_property
    def xla_names(self) -> tuple[str, ...]:
        """The XLA clusters of the graph's nodes; the first is empty and means none."""
        return ("", *sorted(set(self.model.xla) - {""}))

    @cached_property
    def xla_codes(self) -> NDArray[np.int32]:
        """[n]: each node's XLA cluster, as an index into ``xla_names``."""
        return _codes(self.model.xla, self.xla_names)

    @cached_property
    def aux_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The hosts in ascending order, and what is folded into each: the outermost wholly auxiliary entry."""
        pairs = {(host, self.outermost(aux)) for aux, hosts in self.hosts.items() for host in hosts}
        rows = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return rows[:, 0], rows[:, 1]

    def outermost(self, entry: int) -> int:
        """Return the largest wholly auxiliary entry around an auxiliary entry."""
        parent = int(self.parent[entry])
        while parent > 0 and self.auxiliary[parent]:
            entry, parent = parent, int(self.parent[parent])
        return entry

    @cached_property
    def tensors(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The tensor of each edge (-1 for control edges), and each tensor's first edge and bytes (or -1)."""
        model = self.model
        data = ~model.control
        keys = np.where(data, (model.source << 31) | np.maximum(model.source_slot, 0), -1)
        unique, first, of_edge = numbered(keys)
        if len(unique) and unique[0] == -1:
            first, of_edge = first[1:], of_edge - 1
        sizes = np.full(len(first), -1, np.int64)
        for tensor, edge in enumerate(first.tolist()):
            key = (int(model.source[edge]), int(model.source_slot[edge]))
            size = tensor_bytes(model.shapes.get(key), model.dtypes.get(key, ""))
            sizes[tensor] = -1 if size is None else size
        return of_edge.astype(np.int64), first.astype(np.int64), sizes

    def tensor_text(self, edge: int) -> str:
        """Return the element type and shape of an edge's tensor; empty if nothing is known."""
        return self.output_text(int(self.model.source[edge]), int(self.model.source_slot[edge]))

    def output_text(self, node: int, slot: int) -> str:
        """Return the element type and shape of an output of a node, as "float32 32×128"; empty if nothing is known."""
        return shape_text(self.model.shapes.get((node, slot)), self.model.dtypes.get((node, slot), ""))

    def summed(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return values [n] of nodes summed over the content of each entry, [m]."""
        summed: NDArray[np.int64] = _Sums(self.end, self.leaf_of).over(values)
        return summed


def _codes(values: Sequence[str], names: Sequence[str]) -> NDArray[np.int32]:
    codes = {name: code for code, name in enumerate(names)}
    return np.array([codes[value] for value in values], np.int32)


def tree_of(model: GraphModel, most_nodes: int = MOST_NODES) -> Tree:
    """Return the tree of a graph; calls of functions contain their bodies, up to ``most_nodes`` nodes in total."""
    opened = open_calls(model, most_nodes)
    full = opened.model
    touched = np.zeros(len(full), np.bool_)
    touched[full.source] = True
    touched[full.target] = True
    bare = frozenset(node for node in opened.opened if not touched[node])
    groups, entries = grouped(full.names, opened.opened, bare)
    hosts = {entries[aux]: tuple([entries[h] for h in found]) for aux, found in fold(full).items() if aux not in bare}
    aux = [entry in hosts for entry in range(len(groups.paths))]
    for entry in range(len(groups.paths) - 1, 0, -1):
        if groups.children[entry]:
            aux[entry] = all(aux[child] for child in groups.children[entry])
    classes = structure_classes(groups, full.ops, _crossings(groups, full, entries, hosts))
    fold_series(groups, classes, aux)
    fold_crowds(groups, classes)
    crossings = _crossings(groups, full, entries, hosts)
    high = _high_degrees(groups, crossings, hosts, full)
    return _numbered(model, opened, groups, entries, classes, hosts, high)


def _crossings(
    groups: Groups, model: GraphModel, entries: list[int], hosts: Mapping[int, tuple[int, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges between entries that are not auxiliary, as `hierarchy.sibling_edges` of the current groups."""
    of_node = np.array(entries, np.int64)
    source, target = of_node[model.source], of_node[model.target]
    folded = np.zeros(len(groups.paths), np.bool_)
    folded[list(hosts)] = True
    shown = ~(folded[source] | folded[target])
    return sibling_edges(np.array(groups.parents, np.int64), source[shown], target[shown])


def _high_degrees(
    groups: Groups,
    crossings: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    hosts: Mapping[int, tuple[int, ...]],
    model: GraphModel,
) -> NDArray[np.bool_]:
    """Return members of groups whose degree is far above their siblings' (TensorBoard's ``extractHighInOrOutDegree``).

    With the quartiles of the degrees among siblings, more than Q3 + (Q3 - Q1) different inputs or more than
    Q3 + 4 (Q3 - Q1) different outputs are too many, if they are at least `LEAST_DEGREE`. For "NoOp" nodes that nothing
    waits for, such as that of a whole training step, a single input is too many.
    """
    count = len(groups.paths)
    _, a, b = crossings
    out_degree = np.bincount(a, minlength=count)
    in_degree = np.bincount(b, minlength=count)
    high = np.zeros(count, np.bool_)
    for group in range(count):
        shown = [child for child in groups.children[group] if child not in hosts]
        if groups.kinds[group] == "series" or len(shown) < LEAST_FOR_DEGREES:
            continue
        members = np.array(shown, np.int64)
        for degree, factor in ((in_degree[members], 1), (out_degree[members], 4)):
            ordered = np.sort(degree)
            lower, upper = (
                ordered[round(len(members) * 0.25)],
                ordered[min(round(len(members) * 0.75), len(members) - 1)],
            )
            bound = max(int(upper + factor * (upper - lower)), LEAST_DEGREE - 1)
            high[members[degree > bound]] = True
        for member in members[(out_degree[members] == 0) & (in_degree[members] > 0)].tolist():
            node = groups.nodes[member]
            high[member] |= node >= 0 and model.ops[node] == "NoOp"
    return high


def _numbered(
    model: GraphModel,
    opened: OpenedGraph,
    groups: Groups,
    entries: list[int],
    classes: list[int],
    hosts: Mapping[int, tuple[int, ...]],
    high: NDArray[np.bool_],
) -> Tree:
    """Assign entries their final numbers, in preorder, and compute sums over them."""
    order, new, end = _preorder(groups)
    full = opened.model
    parents = np.array(groups.parents, np.int64)[order]
    parent = np.where(parents >= 0, new[parents], -1)
    node = np.array(groups.nodes, np.int64)[order]
    leaf_of = new[np.array(entries, np.int64)] if entries else np.zeros(0, np.int64)
    final_hosts = {int(new[aux]): tuple(sorted([int(new[h]) for h in found])) for aux, found in hosts.items()}
    sums = _Sums(end, leaf_of)
    ones = np.ones(len(full), np.int64)
    parameters = parameters_of(full)
    at = _where_they_count(leaf_of, final_hosts)
    count = sums.over(ones)
    aux_nodes = np.isin(leaf_of, np.array(sorted(final_hosts), np.int64)).astype(np.int64)
    flops = flops_of(full)
    # Operations computed once, to initialize variables, are not part of the cost of a step.
    in_step = aux_nodes == 0
    known = ~np.isnan(flops) & in_step
    flop_sums = sums.over(np.where(known, flops, 0.0))
    # A sum that lacks some of the products would be taken for the whole.
    lacking = sums.over((products_of(full) & ~known & in_step).astype(np.int64)) > 0
    paths = tuple([groups.paths[entry] for entry in order.tolist()])
    return Tree(
        original=model,
        opened=opened,
        paths=paths,
        labels=tuple([groups.labels[entry] for entry in order.tolist()]),
        kinds=tuple([groups.kinds[entry] for entry in order.tolist()]),
        parent=parent,
        end=end,
        node=node,
        leaf_of=leaf_of,
        count=count,
        structure=np.array(classes, np.int64)[order],
        parameters=sums.over(parameters, at),
        bytes=sums.over(parameter_bytes_of(full, parameters), at),
        flops=np.where((sums.over(known.astype(np.int64)) > 0) & ~lacking, flop_sums, np.nan),
        problem_count=sums.over(np.bincount(full.problem_nodes, minlength=len(full))),
        auxiliary=(count > 0) & (sums.over(aux_nodes) == count),
        hosts=final_hosts,
        set_aside=high[order],
        entry_of={path: entry for entry, path in enumerate(paths)},
    )


def _preorder(groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the old numbers in the new order, the new numbers by old, and the end of each entry."""
    order: list[int] = []
    stack = [0]
    while stack:
        entry = stack.pop()
        order.append(entry)
        stack += reversed(groups.children[entry])
    numbers = np.array(order, np.int64)
    new = np.empty(len(order), np.int64)
    new[numbers] = np.arange(len(order))
    size = [1] * len(order)
    for entry in reversed(order):
        parent = groups.parents[entry]
        if parent >= 0:
            size[parent] += size[entry]
    return numbers, new, np.arange(len(order)) + np.array(size, np.int64)[numbers]


def _where_they_count(leaf_of: NDArray[np.int64], hosts: Mapping[int, tuple[int, ...]]) -> NDArray[np.int64]:
    """Return for each node the entry at which its weights count: its own, or that of its first host."""
    return np.array([hosts[leaf][0] if hosts.get(leaf) else leaf for leaf in leaf_of.tolist()], np.int64)


class _Sums:
    """Sums of node values over entries."""

    def __init__(self, end: NDArray[np.int64], leaf_of: NDArray[np.int64]) -> None:
        self._end = end
        self._leaf_of = leaf_of

    def over(self, values: NDArray[Any], at: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return the sum inside each entry, [m]; ``at`` gives the entry of each node's value if not its own."""
        where = self._leaf_of if at is None else at
        sums = np.zeros(len(self._end) + 1, values.dtype)
        np.add.at(sums, where + 1, values)
        running = np.cumsum(sums)
        summed: NDArray[Any] = running[self._end] - running[:-1]
        return summed
