"""The visible part of a graph for an expansion state, without positions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.tree import Kind, Tree
from stepscope.summary.distinct import distinct_values, numbered

MOST_AUXILIARY: Final = 32
"""Maximum number of entries listed as folded into a visible one; the node's card has all."""
MOST_MEMBERS: Final = 5_000
MOST_AT_FIRST: Final = 60
"""Maximum number of nodes when a graph is first opened."""
SEVERAL: Final = "(several)"
"""Shown instead of a device if those inside an entry differ."""


@dataclass(frozen=True)
class SceneNode:
    """A visible entry of the tree: an operation, or a group, open or closed."""

    id: str
    """The entry's path."""
    label: str
    """Its text: the last part of the path; for a series, its members."""
    kind: Kind
    op: str
    """Operation of a node or a function call; empty for a group. For a series, the common operation of its members."""
    parent: str | None
    """The expanded group that contains it; None at the top."""
    expanded: bool
    count: int
    """Number of operations inside; 1 for an operation."""
    aux: tuple[str, ...]
    """Paths of the auxiliary entries folded into it, at most `MOST_AUXILIARY`."""
    structure: int
    """Equal for similar subtrees."""
    device: str
    """Empty if none is stated; "(several)" if those inside differ."""
    xla: str
    """XLA cluster, in the same form as `device`."""
    parameters: int
    """Elements of trainable weights inside, including those folded into it."""
    flops: float | None
    """Known floating-point operations inside; None if none are known."""
    problems: int
    aside: bool
    """Whether it is set aside, manually or for its degree: it is drawn beside the graph, without edges."""
    members: tuple[str, ...] = ()
    """Paths of the members of a collapsed series, at most `MOST_MEMBERS`; they do not begin with the series' path."""


@dataclass(frozen=True)
class SceneEdge:
    """All edges from one visible node to another."""

    source: str
    target: str
    control: bool
    """Whether all of them are control edges."""
    reference: bool
    """Whether any of them passes a variable rather than its value."""
    tensors: int
    """Number of distinct tensors among them."""
    bytes: int | None
    """Bytes of those tensors; None if no size is known."""
    label: str
    """Shape and dtype of one tensor, or "3 tensors"."""


@dataclass(frozen=True)
class Scene:
    """The visible part of a graph."""

    nodes: tuple[SceneNode, ...]
    """Parents before children; siblings in the graph's order."""
    edges: tuple[SceneEdge, ...]
    """Edges between visible entries that are not expanded, at any level."""


def scene_of(
    tree: Tree,
    expanded: frozenset[str] = frozenset(),
    aside: frozenset[str] = frozenset(),
    back: frozenset[str] = frozenset(),
) -> Scene:
    """Return the visible part when ``expanded`` groups are open; unknown paths in any of the sets are ignored.

    A group is open only if all groups around it are.

    Args:
        tree: The graph.
        expanded: Paths of the open groups.
        aside: Paths of entries set aside manually.
        back: Paths of entries shown in place instead of being set aside or folded into another.
    """
    view = _View(tree, expanded, aside, back)
    view.open_groups()
    nodes = tuple([view.node_of(entry) for entry in view.shown])
    return Scene(nodes, _edges(tree, view.represented()))


def first_look(tree: Tree) -> frozenset[str]:
    """Return the groups that are open when a graph is first shown: level by level, as long as few entries are
    visible.

    The content of a single group at the top is always visible.
    """
    view = _opened(tree, frozenset())
    while closed := view.closed_groups():
        wider = _opened(tree, view.paths_of_open | {tree.paths[entry] for entry in closed})
        if wider.closed_nodes > MOST_AT_FIRST and closed != view.shown[:1]:
            break
        view = wider
    return view.paths_of_open


def _opened(tree: Tree, expanded: frozenset[str]) -> "_View":
    view = _View(tree, expanded, frozenset(), frozenset())
    view.open_groups()
    return view


class _View:
    """The visible entries, and the one that represents each entry of the tree."""

    def __init__(self, tree: Tree, expanded: frozenset[str], aside: frozenset[str], back: frozenset[str]) -> None:
        self._tree = tree
        self._expanded = _entries(tree, expanded)
        self._aside = _entries(tree, aside)
        self._back = _brought_back(tree, back)
        self.shown: list[int] = []
        """Visible entries, parents before children."""
        self._placed_aside: set[int] = set()
        self._open: set[int] = set()

    def open_groups(self) -> None:
        """Walk down from the whole graph through the open groups."""
        tree = self._tree
        stack = list(reversed(tree.children(0)))
        while stack:
            entry = stack.pop()
            back = entry in self._back
            if tree.auxiliary[entry] and not back:
                if int(tree.parent[entry]) != 0 or not self._belongs_nowhere(entry):
                    continue
                self._placed_aside.add(entry)
            if entry in self._aside or (tree.set_aside[entry] and not back):
                self._placed_aside.add(entry)
            self.shown.append(entry)
            if entry in self._expanded and tree.is_group(entry) and entry not in self._placed_aside:
                self._open.add(entry)
                stack += reversed(tree.children(entry))

    @property
    def paths_of_open(self) -> frozenset[str]:
        """The paths of the open groups."""
        return frozenset(self._tree.paths[entry] for entry in self._open)

    @property
    def closed_nodes(self) -> int:
        """The number of entries drawn as single nodes."""
        return len(self.shown) - len(self._open)

    def closed_groups(self) -> list[int]:
        """Return the visible groups that can be opened and are not set aside."""
        shut = self._open | self._placed_aside
        return [entry for entry in self.shown if self._tree.is_group(entry) and entry not in shut]

    def _belongs_nowhere(self, entry: int) -> bool:
        """Return whether an auxiliary entry has no host, such as the initialization of all variables."""
        end = int(self._tree.end[entry])
        return not any(self._tree.hosts.get(inside) for inside in range(entry, end))

    def represented(self) -> NDArray[np.int64]:
        """Return for each entry, [m], the visible entry that represents it in edges; -1 if there is none."""
        tree = self._tree
        stands = np.full(len(tree), -1, np.int64)
        for entry in self.shown:
            if entry not in self._open and entry not in self._placed_aside:
                stands[entry : tree.end[entry]] = entry
        alone = [(aux, hosts) for aux, hosts in tree.hosts.items() if not self._stays(aux)]
        if alone:
            folded = np.array([aux for aux, _ in alone], np.int64)
            # Auxiliary entries with a single host are part of it, wherever it is visible.
            only = np.array([hosts[0] if len(hosts) == 1 else -1 for _, hosts in alone], np.int64)
            stands[folded] = np.where(only >= 0, stands[only], -1)
        return stands

    def _stays(self, aux: int) -> bool:
        """Return whether an auxiliary entry was brought back, alone or in a group."""
        if not self._back:
            return False
        return aux in self._back

    def node_of(self, entry: int) -> SceneNode:
        """Return the visible entry as it is drawn."""
        tree = self._tree
        parent = int(tree.parent[entry])
        flops = float(tree.flops[entry])
        nodes = tree.nodes_in(entry)
        return SceneNode(
            id=tree.paths[entry],
            label=tree.labels[entry],
            kind=tree.kinds[entry],
            op=tree.op(entry),
            parent=tree.paths[parent] if parent > 0 else None,
            expanded=entry in self._open,
            count=int(tree.count[entry]),
            aux=self._folded_into(entry),
            structure=int(tree.structure[entry]),
            device=_common(tree.device_codes[nodes], tree.device_names),
            xla=_common(tree.xla_codes[nodes], tree.xla_names),
            parameters=int(tree.parameters[entry]),
            flops=None if np.isnan(flops) else flops,
            problems=int(tree.problem_count[entry]),
            aside=entry in self._placed_aside,
            members=self._members(entry),
        )

    def _members(self, entry: int) -> tuple[str, ...]:
        tree = self._tree
        if tree.kinds[entry] != "series" or entry in self._open:
            return ()
        return tuple([tree.paths[member] for member in tree.children(entry)[:MOST_MEMBERS]])

    def _folded_into(self, entry: int) -> tuple[str, ...]:
        """Return the entries elsewhere that belong to something inside.

        For an open group, return the entries that belong to the group itself.
        """
        tree = self._tree
        end = int(tree.end[entry])
        if entry in self._open:
            members = tree.children(entry)
            found: Iterable[int] = (c for c in members if tree.auxiliary[c] and self._belongs_nowhere(c))
        else:
            hosts, folded = tree.aux_pairs
            first, last = np.searchsorted(hosts, (entry, end))
            near = folded[first:last]
            found = distinct_values(near[(near < entry) | (near >= end)]).tolist()
        return tuple([tree.paths[aux] for aux in found if aux not in self._back][:MOST_AUXILIARY])


def _entries(tree: Tree, paths: Iterable[str]) -> set[int]:
    return {tree.entry_of[path] for path in paths if path and path in tree.entry_of}


def _brought_back(tree: Tree, paths: Iterable[str]) -> set[int]:
    """Return the entries with their content and, for auxiliary ones, the auxiliary groups around them."""
    back: set[int] = set()
    for entry in _entries(tree, paths):
        back.update(range(entry, int(tree.end[entry])) if tree.auxiliary[entry] else (entry,))
        back.update(around for around in tree.ancestors(entry) if tree.auxiliary[around])
    return back


def _common(codes: NDArray[np.int32], names: tuple[str, ...]) -> str:
    """Return the name common to all codes, ignoring those without a name (code 0)."""
    stated = codes[codes > 0]
    if not len(stated):
        return ""
    return names[int(stated[0])] if (stated == stated[0]).all() else SEVERAL


def _edges(tree: Tree, stands: NDArray[np.int64]) -> tuple[SceneEdge, ...]:
    """Return the edges between visible entries, merged for each pair."""
    model = tree.model
    source = stands[tree.leaf_of[model.source]]
    target = stands[tree.leaf_of[model.target]]
    crossing = np.flatnonzero((source >= 0) & (target >= 0) & (source != target))
    if not len(crossing):
        return ()
    pairs, _, of_edge = numbered((source[crossing] << 31) | target[crossing])
    controls = np.bincount(of_edge, model.control[crossing], len(pairs)).astype(np.int64)
    edges = np.bincount(of_edge, minlength=len(pairs))
    references = np.bincount(of_edge, model.reference[crossing], len(pairs)) > 0
    tensor_of, first_edge, sizes = tree.tensors
    tensors = tensor_of[crossing]
    data = tensors >= 0
    # A tensor that goes to several nodes inside one group counts as one.
    between, tensor = np.divmod(distinct_values(of_edge[data] * max(len(sizes), 1) + tensors[data]), max(len(sizes), 1))
    counts = np.bincount(between, minlength=len(pairs))
    known = sizes[tensor] >= 0
    sized = np.bincount(between, known, len(pairs)) > 0
    total = np.bincount(between, np.where(known, sizes[tensor], 0).astype(np.float64), len(pairs))
    start = np.searchsorted(between, np.arange(len(pairs)))
    return tuple(
        [
            SceneEdge(
                source=tree.paths[pair >> 31],
                target=tree.paths[pair & 0x7FFFFFFF],
                control=control == edge_count,
                reference=reference,
                tensors=count,
                bytes=int(size) if has_size else None,
                label=_label(tree, count, int(first_edge[tensor[at]]) if count == 1 else -1),
            )
            for pair, control, edge_count, reference, count, has_size, size, at in zip(
                *(column.tolist() for column in (pairs, controls, edges, references, counts, sized, total, start)),
                strict=True,
            )
        ]
    )


def _label(tree: Tree, count: int, edge: int) -> str:
    if count == 0:
        return ""
    return tree.tensor_text(edge) if count == 1 else f"{count:,} tensors"
