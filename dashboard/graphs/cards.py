"""Content of an entry's card: the entry itself, its inputs and outputs, and what is inside."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.attributes import Attribute
from stepscope.dashboard.graphs.hierarchy import Kind
from stepscope.dashboard.graphs.records import Problem
from stepscope.dashboard.graphs.tree import Tree
from stepscope.summary.distinct import distinct_values

MOST_LINKS: Final = 200
MOST_MEMBERS: Final = 500


@dataclass(frozen=True)
class Link:
    """An edge at an entry, seen from it."""

    node: str
    """Path of the node at the other end."""
    op: str
    inside: str
    """Path of the node at this end: the entry itself, or a node inside it."""
    expand: tuple[str, ...]
    """The groups around the node, outermost first."""
    slot: int
    """Index of the output where the edge starts; -1 for a control edge."""
    input: int
    """Index of the input where the edge ends; -1 for a control edge."""
    control: bool
    reference: bool
    label: str
    """Element type and shape; empty for a control edge or if unknown."""
    bytes: int | None


@dataclass(frozen=True)
class Member:
    """An entry of a group."""

    id: str
    label: str
    kind: Kind
    op: str
    count: int


@dataclass(frozen=True)
class OpCount:
    """How many nodes of an operation there are."""

    op: str
    count: int


@dataclass(frozen=True)
class Card:
    """An entry in full; lists are bounded, and counts are of all."""

    id: str
    label: str
    kind: Kind
    op: str
    name: str
    """Name of the node in the graph; empty for a group."""
    device: str
    xla: str
    expand: tuple[str, ...]
    """The groups around it, outermost first."""
    structure: int
    alike: int
    """Number of entries with the same structure, including this one."""
    count: int
    parameters: int
    bytes: int
    flops: float | None
    aside: bool
    auxiliary: bool
    hosts: tuple[str, ...]
    """The entries that an auxiliary node is folded into."""
    aux: tuple[str, ...]
    """The auxiliary entries folded into it or into its content."""
    function: str
    """The first function that it calls; empty if none."""
    functions: tuple[str, ...]
    attributes: dict[str, Attribute]
    outputs_of: tuple[str, ...]
    """For a node, element type and shape of each output that the graph describes."""
    inputs: tuple[Link, ...]
    inputs_total: int
    outputs: tuple[Link, ...]
    outputs_total: int
    members: tuple[Member, ...]
    members_total: int
    ops: tuple[OpCount, ...]
    """For a group, the number of nodes of each operation inside, the most frequent first."""
    problems: tuple[Problem, ...]
    """Problems with it or its content: their number here, with examples from anywhere in the graph."""


def card_of(tree: Tree, entry: int) -> Card:
    """Return the card of an entry."""
    model = tree.model
    node = int(tree.node[entry])
    children = tree.children(entry)
    inputs, outputs = _edges(tree, entry)
    hosts, folded = tree.aux_pairs
    first, last = np.searchsorted(hosts, (entry, int(tree.end[entry])))
    flops = float(tree.flops[entry])
    slots = [s for s in range(64) if node >= 0 and ((node, s) in model.shapes or (node, s) in model.dtypes)]
    calls = tuple([call.function for call in model.function_calls.get(node, ())])
    return Card(
        id=tree.paths[entry],
        label=tree.labels[entry],
        kind=tree.kinds[entry],
        op=tree.op(entry),
        name=model.names[node] if node >= 0 else "",
        device=model.devices[node] if node >= 0 else "",
        xla=model.xla[node] if node >= 0 else "",
        expand=_around(tree, entry),
        structure=int(tree.structure[entry]),
        alike=int(np.count_nonzero(tree.structure == tree.structure[entry])),
        count=int(tree.count[entry]),
        parameters=int(tree.parameters[entry]),
        bytes=int(tree.bytes[entry]),
        flops=None if np.isnan(flops) else flops,
        aside=bool(tree.set_aside[entry]),
        auxiliary=bool(tree.auxiliary[entry]),
        hosts=tuple([tree.paths[host] for host in tree.hosts.get(entry, ())]),
        aux=tuple([tree.paths[aux] for aux in distinct_values(folded[first:last])[:MOST_LINKS].tolist()]),
        function=calls[0] if calls else "",
        functions=calls,
        attributes=dict(model.attributes(node)) if node >= 0 else {},
        outputs_of=tuple([tree.output_text(node, slot) for slot in slots]),
        inputs=tuple([_link(tree, edge, inwards=True) for edge in inputs[:MOST_LINKS].tolist()]),
        inputs_total=len(inputs),
        outputs=tuple([_link(tree, edge, inwards=False) for edge in outputs[:MOST_LINKS].tolist()]),
        outputs_total=len(outputs),
        members=tuple([_member(tree, child) for child in children[:MOST_MEMBERS]]),
        members_total=len(children),
        ops=tuple([OpCount(op, count) for op, count in tree.op_histogram(entry).items()]) if children else (),
        problems=_problems(tree, entry),
    )


def _edges(tree: Tree, entry: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges into and out of an entry, in the order of a node's inputs and outputs, control edges last."""
    model = tree.model
    source, target = tree.leaf_of[model.source], tree.leaf_of[model.target]
    end = int(tree.end[entry])
    from_inside = (source >= entry) & (source < end)
    to_inside = (target >= entry) & (target < end)
    inputs = np.flatnonzero(to_inside & ~from_inside)
    outputs = np.flatnonzero(from_inside & ~to_inside)
    inputs = inputs[np.lexsort((model.target_slot[inputs], target[inputs], model.control[inputs]))]
    return inputs, outputs[np.lexsort((model.source_slot[outputs], source[outputs], model.control[outputs]))]


def _link(tree: Tree, edge: int, *, inwards: bool) -> Link:
    model = tree.model
    source, target = int(model.source[edge]), int(model.target[edge])
    far, near = (source, target) if inwards else (target, source)
    control = bool(model.control[edge])
    tensor_of, _, sizes = tree.tensors
    size = -1 if control else int(sizes[tensor_of[edge]])
    return Link(
        node=tree.paths[tree.leaf_of[far]],
        op=model.ops[far],
        inside=tree.paths[tree.leaf_of[near]],
        expand=_around(tree, int(tree.leaf_of[far])),
        slot=int(model.source_slot[edge]),
        input=int(model.target_slot[edge]),
        control=control,
        reference=bool(model.reference[edge]),
        label="" if control else tree.tensor_text(edge),
        bytes=None if size < 0 else size,
    )


def _around(tree: Tree, entry: int) -> tuple[str, ...]:
    return tuple([tree.paths[group] for group in reversed(tree.ancestors(entry))])


def _problems(tree: Tree, entry: int) -> tuple[Problem, ...]:
    if not tree.problem_count[entry]:
        return ()
    at = tree.leaf_of[tree.model.problem_nodes]
    inside = np.flatnonzero((at >= entry) & (at < tree.end[entry])).tolist()
    counts = Counter(tree.model.problem_kinds[number] for number in inside)
    return tuple([replace(p, count=counts[p.kind]) for p in tree.problems if counts[p.kind]])


def _member(tree: Tree, entry: int) -> Member:
    return Member(tree.paths[entry], tree.labels[entry], tree.kinds[entry], tree.op(entry), int(tree.count[entry]))
