"""Rows and order of one level of a graph: which node is in which row, and where edges pass between nodes.

The classic layered drawing (Sugiyama, Tagawa, Toda 1981): cycles are broken (feedback arcs by Eades, Lin, Smyth 1993),
nodes get rows so that edges lead downwards, edges over several rows get a bend in each, and rows are ordered so that
edges cross little. igraph finds the feedback arcs and orders the rows; what it found is improved where that makes fewer
crossings. It is imported where it is needed: it brings Matplotlib with it where that is installed.

Edges over several rows that begin, or end, at the same node share their bends: a variable that a hundred nodes read has
one line that they branch off.
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
"""Of all edges of a level; the longest ones beyond are straight lines."""
MOST_ORDERED: Final = 45_000
"""Nodes and bends that igraph orders; rows of more stay in the graph's own order."""


@dataclass(frozen=True)
class Flat:
    """One level to be ordered: vertices are its nodes, then the ports of its upper border, then of its lower one."""

    widths: tuple[float, ...]
    """Of the nodes with the gaps between them; they only tell which rows must wrap."""
    tops: int
    bottoms: int
    pairs: tuple[Pair, ...]
    """Edges between different vertices, each pair once. None ends at an upper port or begins at a lower one."""
    returns: tuple[bool, ...]
    """Per edge whether it is known to lead back, as a loop's next iteration does."""
    widest: float
    """Rows of nodes wrap beyond."""

    @property
    def count(self) -> int:
        """Vertices."""
        return len(self.widths) + self.tops + self.bottoms


@dataclass(frozen=True)
class Ordered:
    """Rows from top to bottom; vertices beyond those of the level are bends."""

    rows: tuple[tuple[int, ...], ...]
    """Every vertex and bend once, each row from left to right. The first and the last have the ports."""
    paths: tuple[tuple[int, ...], ...]
    """Per edge the vertices and bends that it passes from its source to its target, one of each row.

    Of an edge that leads back: the source, a bend beside it, bends of the rows above, a bend beside the target, the
    target.
    """
    back: tuple[bool, ...]
    """Per edge whether it leads back: to a row above, or to the same one."""


def order(flat: Flat) -> Ordered:
    """Return rows and order of a level; the same for the same level."""
    layer, count = _layers(flat, _feedback(flat))
    bends = _Bends(flat, layer)
    rows = _ordered(bends.layer, count, bends.links)
    for index, back in enumerate(bends.back):
        if back:
            bends.turn(index, rows)
    return Ordered(tuple(map(tuple, rows)), tuple(map(tuple, bends.paths)), tuple(bends.back))


# --- rows ---------------------------------------------------------------------------------------------------------


def _feedback(flat: Flat) -> set[int]:
    """Return edges without which there is no cycle: those known to lead back, and others only if there are more
    cycles.
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
    # Graphs mostly name sources before targets.
    weights = [1.0 if flat.pairs[index][0] > flat.pairs[index][1] else 3.0 for index in rest]
    return found | {rest[index] for index in graph.feedback_arc_set(weights=weights, method="eades")}


def _layers(flat: Flat, feedback: set[int]) -> tuple[list[int], int]:
    """Return the row of each vertex: 0 for upper ports, then nodes, and the last for lower ports.

    And how many there are.
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
    # What more edges leave than enter is moved down to where they lead.
    for node in reversed(sequence):
        if len(below[node]) > len(above[node]):
            layer[node] = min(layer[other] for other in below[node]) - 1
    layer, rows = _wrapped(flat, layer)
    return [*(number + 1 for number in layer), *[0] * flat.tops, *[rows + 1] * flat.bottoms], rows + 2


def _topological(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """Return nodes so that sources come before targets; of those that could be next, the one with the lowest number."""
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
    """Return the rows numbered from 0 without gaps, those that are too wide as several of about one width.

    And how many.
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
            # By its middle, so that the last row is not short.
            part = int((passed + flat.widths[node] / 2) / share)
            passed += flat.widths[node]
            row += part != filled
            filled = part
            found[node] = row
    return found, row + 1


# --- bends --------------------------------------------------------------------------------------------------------


class _Bends:
    """The paths of edges over rows, and the bends that they pass."""

    def __init__(self, flat: Flat, layer: list[int]) -> None:
        self.layer = list(layer)
        """Of each vertex and bend."""
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
        """Return edges over several rows, the shortest first as long as there are not too many bends."""
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
        """Return the paths that links between neighboring rows are made of."""
        found = [path[::-1] if back else path for path, back in zip(self.paths, self.back, strict=True)]
        return [path for path in found if self.layer[path[0]] + len(path) - 1 == self.layer[path[-1]]]

    def turn(self, index: int, rows: list[list[int]]) -> None:
        """Give an edge that leads back its bends beside its source and its target."""
        path = self.paths[index]
        source, target = path[0], path[-1]
        if self.layer[source] == self.layer[target]:
            self.paths[index] = [source, self._beside(rows, source, target), target]
            return
        first = self._beside(rows, source, path[1] if len(path) > 2 else -1)
        last = self._beside(rows, target, path[-2] if len(path) > 2 else -1)
        self.paths[index] = [source, first, *path[1:-1], last, target]

    def _beside(self, rows: list[list[int]], vertex: int, towards: int) -> int:
        """Return a new bend next to a vertex: on its left if ``towards`` is rather there, else on its right."""
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
