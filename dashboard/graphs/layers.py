"""Rows and order of one level of a graph: the row of each node, and where edges pass between nodes.

The classic layered drawing (Sugiyama, Tagawa, Toda 1981): cycles are broken (feedback arcs by Eades, Lin, Smyth 1993),
nodes are assigned to rows so that edges lead downward, edges over several rows get a bend in each, and rows are ordered
to reduce crossings. igraph finds the feedback arcs and orders the rows; its order is improved where that reduces
crossings. It is imported on demand, as it imports Matplotlib if that is installed.

Edges over several rows that begin, or end, at the same node share their bends: a variable that a hundred nodes read has
one line from which they branch off.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil
from typing import Final, TypeAlias

from stepscope.dashboard.graphs.crossings import improve, in_order, links_of

Pair: TypeAlias = tuple[int, int]

MOST_BENDS: Final = 30_000
"""Maximum bends of all edges of a level; the longest edges beyond it are straight lines."""
MOST_ORDERED: Final = 45_000
"""Maximum nodes and bends that igraph orders; with more, rows keep the graph's own order."""


@dataclass(frozen=True)
class Flat:
    """A level to order: vertices are its nodes, then the ports of its upper border, then those of its lower border."""

    widths: tuple[float, ...]
    """Widths of the nodes including gaps; used only to decide which rows must wrap."""
    tops: int
    bottoms: int
    pairs: tuple[Pair, ...]
    """Edges between different vertices, each pair once. None ends at an upper port or starts at a lower port."""
    returns: tuple[bool, ...]
    """For each edge, whether it is known to lead back, as to a loop's next iteration."""
    widest: float
    """Width above which rows of nodes wrap."""

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.widths) + self.tops + self.bottoms


@dataclass(frozen=True)
class Ordered:
    """Rows from top to bottom; vertices beyond those of the level are bends."""

    rows: tuple[tuple[int, ...], ...]
    """Every vertex and bend once, each row from left to right. The first and last rows contain the ports."""
    paths: tuple[tuple[int, ...], ...]
    """For each edge, the vertices and bends from its source to its target, one in each row.

    For an edge that leads back: the source, a bend beside it, bends of the rows above, a bend beside the target, the
    target.
    """
    back: tuple[bool, ...]
    """For each edge, whether it leads back: to a row above or to the same row."""


def order(flat: Flat) -> Ordered:
    """Return the rows and order of a level; deterministic."""
    layer, count = _layers(flat, _feedback(flat))
    bends = _Bends(flat, layer)
    rows = _ordered(bends.layer, count, bends.links)
    for index, back in enumerate(bends.back):
        if back:
            bends.turn(index, rows)
    return Ordered(tuple(map(tuple, rows)), tuple(map(tuple, bends.paths)), tuple(bends.back))


# --- rows ---------------------------------------------------------------------------------------------------------


def _feedback(flat: Flat) -> set[int]:
    """Return the edges to remove so that there is no cycle: those known to lead back, and others only if cycles
    remain.
    """
    import igraph

    graph = igraph.Graph(n=flat.count, edges=list(flat.pairs), directed=True)
    if graph.is_dag():
        return set()
    cycle_of = graph.connected_components(mode="strong").membership
    within = [index for index, (source, target) in enumerate(flat.pairs) if cycle_of[source] == cycle_of[target]]
    found = {index for index in within if flat.returns[index]}
    rest = [index for index in within if index not in found]
    graph = igraph.Graph(n=flat.count, edges=[flat.pairs[index] for index in rest], directed=True)
    # Most graphs list sources before targets.
    weights = [1.0 if flat.pairs[index][0] > flat.pairs[index][1] else 3.0 for index in rest]
    return found | {rest[index] for index in graph.feedback_arc_set(weights=weights, method="eades")}


def _layers(flat: Flat, feedback: set[int]) -> tuple[list[int], int]:
    """Return the row of each vertex (0 for upper ports, then nodes, then the last for lower ports).

    Also return the number of rows.
    """
    nodes = len(flat.widths)
    above: list[list[int]] = [[] for _ in range(nodes)]
    below: list[list[int]] = [[] for _ in range(nodes)]
    for index, (source, target) in enumerate(flat.pairs):
        if index not in feedback and source < nodes and target < nodes:
            below[source].append(target)
            above[target].append(source)
    sequence = _topological(above, below)
    layer = [0] * nodes
    for node in sequence:
        layer[node] = max((layer[other] + 1 for other in above[node]), default=0)
    # Nodes with more outgoing than incoming edges are moved down to their targets.
    for node in reversed(sequence):
        if len(below[node]) > len(above[node]):
            layer[node] = min(layer[other] for other in below[node]) - 1
    layer, rows = _wrapped(flat, layer)
    return [*(number + 1 for number in layer), *[0] * flat.tops, *[rows + 1] * flat.bottoms], rows + 2


def _topological(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes in topological order, sources before targets; among candidates, the lowest number is first."""
    waits = [len(sources) for sources in above]
    ready = [node for node, number in enumerate(waits) if number == 0]
    found = []
    while ready:
        node = heappop(ready)
        found.append(node)
        for target in below[node]:
            waits[target] -= 1
            if waits[target] == 0:
                heappush(ready, target)
    return found


def _wrapped(flat: Flat, layer: list[int]) -> tuple[list[int], int]:
    """Return the rows numbered from 0 without gaps; rows that are too wide are split into several of similar width.

    Also return the number of rows.
    """
    members: dict[int, list[int]] = {}
    for node, number in enumerate(layer):
        members.setdefault(number, []).append(node)
    found = [0] * len(layer)
    row = -1
    for number in sorted(members):
        whole = sum(flat.widths[node] for node in members[number])
        share = whole / max(1, ceil(whole / flat.widest))
        passed, filled = 0.0, -1
        for node in members[number]:
            # By the middle of the node, so that the last row is not short.
            part = int((passed + flat.widths[node] / 2) / share)
            passed += flat.widths[node]
            row += part != filled
            filled = part
            found[node] = row
    return found, row + 1


# --- bends --------------------------------------------------------------------------------------------------------


class _Bends:
    """The paths of edges over rows, and their bends."""

    def __init__(self, flat: Flat, layer: list[int]) -> None:
        self.layer = list(layer)
        """Row of each vertex and bend."""
        self.back = [layer[source] >= layer[target] for source, target in flat.pairs]
        self._shared: dict[tuple[str, int, int], int] = {}
        self._pairs = flat.pairs
        long = self._long()
        leaving = Counter(flat.pairs[index][0] for index in long)
        entering = Counter(flat.pairs[index][1] for index in long)
        self.paths: list[list[int]] = []
        for index, (source, target) in enumerate(flat.pairs):
            if index not in long:
                self.paths.append([source, target])
            elif self.back[index]:
                middle = [self._bend(("back", index, row), row) for row in range(layer[source] - 1, layer[target], -1)]
                self.paths.append([source, *middle, target])
            else:
                owner = ("from", source) if leaving[source] >= entering[target] else ("to", target)
                rows = range(layer[source] + 1, layer[target])
                self.paths.append([source, *(self._bend((*owner, row), row) for row in rows), target])
        self.links = links_of(self._downwards())

    def _long(self) -> set[int]:
        """Return the edges over several rows, the shortest first, up to the maximum number of bends."""
        spans = [abs(self.layer[source] - self.layer[target]) for source, target in self._pairs]
        most, found = MOST_BENDS, set()
        for index in sorted(range(len(spans)), key=spans.__getitem__):
            most -= max(spans[index] - 1, 0)
            if most < 0:
                break
            if spans[index] > 1:
                found.add(index)
        return found

    def _bend(self, key: tuple[str, int, int], row: int) -> int:
        if key not in self._shared:
            self._shared[key] = len(self.layer)
            self.layer.append(row)
        return self._shared[key]

    def _downwards(self) -> list[list[int]]:
        """Return the downward paths whose steps are links between adjacent rows."""
        found = [path[::-1] if back else path for path, back in zip(self.paths, self.back, strict=True)]
        return [path for path in found if self.layer[path[0]] + len(path) - 1 == self.layer[path[-1]]]

    def turn(self, index: int, rows: list[list[int]]) -> None:
        """Add the bends beside the source and the target of an edge that leads back."""
        path = self.paths[index]
        source, target = path[0], path[-1]
        if self.layer[source] == self.layer[target]:
            self.paths[index] = [source, self._beside(rows, source, target), target]
            return
        first = self._beside(rows, source, path[1] if len(path) > 2 else -1)
        last = self._beside(rows, target, path[-2] if len(path) > 2 else -1)
        self.paths[index] = [source, first, *path[1:-1], last, target]

    def _beside(self, rows: list[list[int]], vertex: int, towards: int) -> int:
        """Return a new bend next to a vertex: on the side of ``towards``, or on the right."""
        row = rows[self.layer[vertex]]
        place = row.index(vertex)
        left = False
        if towards >= 0:
            other = rows[self.layer[towards]]
            left = (other.index(towards) + 0.5) / len(other) < (place + 0.5) / len(row)
        bend = len(self.layer)
        self.layer.append(self.layer[vertex])
        row.insert(place if left else place + 1, bend)
        return bend


# --- order --------------------------------------------------------------------------------------------------------


def _ordered(layer: Sequence[int], count: int, links: Sequence[Pair]) -> list[list[int]]:
    """Return the vertices and bends of each row, from left to right."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for vertex, row in enumerate(layer):
        rows[row].append(vertex)
    if not links or len(layer) > MOST_ORDERED:
        return rows
    import igraph

    graph = igraph.Graph(n=len(layer), edges=list(links), directed=True)
    found = graph.layout_sugiyama(layers=list(layer), maxiter=20)
    return improve(in_order(rows, [x for x, _ in found.coords]), links)
