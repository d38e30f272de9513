"""Dependencies and dependents of a node, and paths between two nodes."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.tree import Tree
from stepscope.summary.distinct import distinct_values

Way = Literal["inputs", "outputs"]
MOST_NODES: Final = 20_000
"""Maximum number of nodes to list."""


@dataclass(frozen=True)
class Walk:
    """Nodes that hang together."""

    total: int
    """Total number of nodes."""
    truncated: bool
    """Whether the list is incomplete."""
    nodes: tuple[str, ...]
    """Paths of the operations' entries, in the order of the graph, at most `MOST_NODES`."""
    groups: tuple[str, ...]
    """Paths of all groups that contain any of them."""
    shortest: tuple[str, ...] = ()
    """For a path: the operations of one with the fewest edges, from start to end."""


class Links:
    """The edges of a tree's model, prepared for following them in one direction."""

    def __init__(self, tree: Tree, way: Way, *, control: bool = True) -> None:
        model = tree.model
        taken = slice(None) if control else np.flatnonzero(~model.control)
        near, far = (model.target, model.source) if way == "inputs" else (model.source, model.target)
        order = np.argsort(near[taken], kind="stable")
        self._far: Final = far[taken][order]
        self._start: Final = np.concatenate(([0], np.cumsum(np.bincount(near[taken], minlength=len(model)))))

    def next(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the targets of the edges of nodes, and the node that each comes from."""
        counts = self._start[nodes + 1] - self._start[nodes]
        steps = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._far[np.repeat(self._start[nodes], counts) + steps], np.repeat(nodes, counts)

    def reached(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each node, [n], is reached from ``nodes``; these are included."""
        return self.previous(nodes) >= -1

    def previous(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return [n]: the node from which each is reached in the fewest steps; -1 at the start, -2 if not reached."""
        previous = np.full(len(self._start) - 1, -2, np.int64)
        previous[nodes] = -1
        while len(nodes):
            far, near = self.next(nodes)
            new = previous[far] == -2
            nodes, first = np.unique(far[new], return_index=True)
            previous[nodes] = near[new][first]
        return previous


def trace(tree: Tree, entry: int, way: Way, *, control: bool = True) -> Walk:
    """Return everything that an entry depends on (``inputs``) or that depends on it (``outputs``), without its own
    content.
    """
    start = tree.nodes_in(entry)
    reached = Links(tree, way, control=control).reached(start)
    reached[start] = False
    return _walk(tree, reached)


def path(tree: Tree, start: int, end: int, *, control: bool = True) -> Walk:
    """Return all nodes on paths along the edges from one entry to another, and one shortest path.

    Empty if there is none.
    """
    first, last = tree.nodes_in(start), tree.nodes_in(end)
    outputs = Links(tree, "outputs", control=control)
    previous = outputs.previous(first)
    between = (previous >= -1) & Links(tree, "inputs", control=control).reached(last)
    reached = last[previous[last] >= -1]
    if not len(reached):
        return Walk(0, False, (), ())
    steps = min((_back(previous, int(node)) for node in reached[:1_000].tolist()), key=len)
    return _walk(tree, between, tuple([tree.paths[tree.leaf_of[node]] for node in steps]))


def _back(previous: NDArray[np.int64], node: int) -> list[int]:
    steps = [node]
    while previous[steps[-1]] >= 0:
        steps.append(int(previous[steps[-1]]))
    return steps[::-1]


def _walk(tree: Tree, nodes: NDArray[np.bool_], shortest: tuple[str, ...] = ()) -> Walk:
    entries = distinct_values(tree.leaf_of[np.flatnonzero(nodes)])
    groups: list[NDArray[np.int64]] = []
    around = distinct_values(tree.parent[entries])
    while len(around := around[around > 0]):
        groups.append(around)
        around = distinct_values(tree.parent[around])
    inside = distinct_values(np.concatenate(groups)) if groups else np.zeros(0, np.int64)
    return Walk(
        len(entries),
        len(entries) > MOST_NODES or len(inside) > MOST_NODES,
        tuple([tree.paths[entry] for entry in entries[:MOST_NODES].tolist()]),
        tuple([tree.paths[entry] for entry in inside[:MOST_NODES].tolist()]),
        shortest,
    )
