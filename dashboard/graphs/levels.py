"""Positions in one level of a graph, whatever its parts: wraps levels that are far too wide, and caches results.

Unconnected parts of a level are laid out one by one and placed beside and below each other; edges to the borders of
the level are drawn like edges to nodes.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from threading import Lock
from typing import Final, TypeAlias, TypeVar

from stepscope.dashboard.graphs.columns import LevelEdge
from stepscope.dashboard.graphs.layers import Flat, Ordered, order
from stepscope.dashboard.graphs.measures import Measures, Size
from stepscope.dashboard.graphs.places import Margins, Points, Settled, joined, moved, settle

T = TypeVar("T")

LEAST_WRAP: Final = 900.0
"""Pixels; rows of nodes wrap above this, or above `ASPECT` times the width of a square with the same nodes."""
ASPECT: Final = 1.7
_ROW: Final = 58.0
"""Approximate height of a row including the gap below it."""


@dataclass(frozen=True)
class Level:
    """The direct content of one expanded group, or of the top of the graph.

    Vertices are its nodes, then the ports of its upper border, then those of its lower border.
    """

    sizes: tuple[Size, ...]
    closed: tuple[float, ...]
    """Width of each node when collapsed. Rows and order depend only on these, so that they stay the same when a node
    is expanded."""
    tops: int
    bottoms: int
    edges: tuple[LevelEdge, ...]
    """Each edge once, between different vertices."""
    returns: tuple[bool, ...]
    """For each edge, whether it is known to lead back."""
    margins: Margins


class LayoutCache:
    """Cached layouts of levels, by content; the least recently used are dropped. Thread-safe."""

    def __init__(self, most: int = 400_000) -> None:
        """Keep levels with up to about ``most`` nodes and edges in total."""
        self._most: Final = most
        self._held = 0
        self._lock: Final = Lock()
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()

    def get(self, key: Hashable, weight: int, make: Callable[[], T]) -> T:
        """Return the result of ``make`` for this key; two threads may both call it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                found: T = self._entries[key][0]  # type: ignore[assignment]
                return found
        made = make()
        with self._lock:
            if key not in self._entries:
                self._entries[key] = made, weight
                self._held += weight
            while self._held > self._most and len(self._entries) > 1:
                self._held -= self._entries.popitem(last=False)[1][1]
        return made

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)


def place_level(level: Level, measures: Measures, cache: LayoutCache) -> Settled:
    """Return the positions in a level."""
    weight = len(level.sizes) + len(level.edges) + 1
    return cache.get((level, measures), weight, lambda: _place(level, measures, cache))


def _place(level: Level, measures: Measures, cache: LayoutCache) -> Settled:
    widest = _widest(level, measures)
    if sum(level.closed) + measures.gap * len(level.closed) > widest:
        groups = _connected(level)
        if len(groups) > 1:
            return _in_parts(level, groups, widest, measures, cache)
    return _whole(level, widest, measures, cache)


def _widest(level: Level, measures: Measures) -> float:
    area = sum(width + measures.gap for width in level.closed) * _ROW
    return max(LEAST_WRAP, ASPECT * sqrt(area))


def _flat(level: Level, widest: float, measures: Measures) -> Flat:
    pairs: dict[tuple[int, int], bool] = {}
    for edge, back in zip(level.edges, level.returns, strict=True):
        pair = edge.source, edge.target
        pairs[pair] = pairs.get(pair, True) and back
    widths = tuple(width + measures.gap for width in level.closed)
    return Flat(widths, level.tops, level.bottoms, tuple(pairs), tuple(pairs.values()), widest)


def _ordered(flat: Flat, cache: LayoutCache) -> Ordered:
    return cache.get(flat, flat.count + len(flat.pairs) + 1, lambda: order(flat))


def _whole(level: Level, widest: float, measures: Measures, cache: LayoutCache) -> Settled:
    flat = _flat(level, widest, measures)
    return settle(flat, _ordered(flat, cache), level.sizes, level.edges, level.margins, measures)


# --- parts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """Nodes of a level that are not connected with the others, as a separate level."""

    nodes: tuple[int, ...]
    level: Level
    edges: tuple[int, ...]
    """Indices of edges in the whole level, in the order of the part's edges."""
    ports: tuple[int, ...]
    """Vertex of the whole level for each port of the part."""


def _connected(level: Level) -> list[list[int]]:
    """Return the nodes of each part, in order."""
    nodes = len(level.sizes)
    leader = list(range(nodes))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for edge in level.edges:
        if edge.source < nodes and edge.target < nodes:
            one, other = sorted((find(edge.source), find(edge.target)))
            leader[other] = one
    found: dict[int, list[int]] = {}
    for node in range(nodes):
        found.setdefault(find(node), []).append(node)
    return list(found.values())


def _parts(level: Level, groups: Sequence[Sequence[int]]) -> list[_Part]:
    nodes = len(level.sizes)
    part_of = {node: number for number, group in enumerate(groups) for node in group}
    edges: list[list[int]] = [[] for _ in groups]
    for index, edge in enumerate(level.edges):
        edges[part_of[edge.source if edge.source < nodes else edge.target]].append(index)
    return [_part(level, group, chosen) for group, chosen in zip(groups, edges, strict=True)]


def _part(level: Level, group: Sequence[int], chosen: Sequence[int]) -> _Part:
    nodes = len(level.sizes)
    edges = [level.edges[index] for index in chosen]
    # One port per port of the whole level; for a single node, one per place on its border.
    single = len(group) == 1
    tops = dict.fromkeys((e.source, e.into if single else None) for e in edges if e.source >= nodes)
    bottoms = dict.fromkeys((e.target, e.out if single else None) for e in edges if e.target >= nodes)
    number: dict[tuple[int, float | None], int] = {(node, None): index for index, node in enumerate(group)}
    number.update({port: len(group) + index for index, port in enumerate((*tops, *bottoms))})
    inner = tuple(
        LevelEdge(
            number[e.source, e.into if single and e.source >= nodes else None],
            number[e.target, e.out if single and e.target >= nodes else None],
            e.out,
            e.into,
        )
        for e in edges
    )
    part = Level(
        tuple(level.sizes[node] for node in group),
        tuple(level.closed[node] for node in group),
        len(tops),
        len(bottoms),
        inner,
        tuple(level.returns[index] for index in chosen),
        Margins(),
    )
    return _Part(tuple(group), part, tuple(chosen), tuple(port for port, _ in (*tops, *bottoms)))


def _in_parts(
    level: Level, groups: Sequence[Sequence[int]], widest: float, measures: Measures, cache: LayoutCache
) -> Settled:
    parts = _parts(level, groups)
    extents = [_closed_extent(part.level, measures, cache) for part in parts]
    # Tallest first, so that parts beside each other are about equally tall.
    ranks = sorted(range(len(parts)), key=lambda index: (-extents[index][1], index))
    parts = [parts[index] for index in ranks]
    settled = [_place_part(part.level, measures, cache) for part in parts]
    edges, through = _outer_edges(level, parts, settled)
    outer = Level(
        tuple(Size(each.width, each.height) for each in settled),
        tuple(extents[index][0] for index in ranks),
        level.tops,
        level.bottoms,
        tuple(edges),
        (False,) * len(edges),
        level.margins,
    )
    return _composed(level, parts, settled, _whole(outer, widest, measures, cache), through)


def _closed_extent(level: Level, measures: Measures, cache: LayoutCache) -> tuple[float, float]:
    """Return the approximate width and height of a part when none of its nodes is expanded."""
    if len(level.sizes) == 1:
        return level.closed[0], _ROW
    rows = _ordered(_flat(level, _widest(level, measures), measures), cache).rows
    nodes = len(level.sizes)
    widths = [sum(level.closed[v] + measures.gap for v in row if v < nodes) for row in rows]
    return max(widths) - measures.gap, _ROW * (len(rows) - 2)


def _place_part(level: Level, measures: Measures, cache: LayoutCache) -> Settled:
    if len(level.sizes) > 1:
        return place_level(level, measures, cache)
    (size,) = level.sizes
    middle = size.width / 2
    ports = [middle] * (level.tops + level.bottoms)
    routes: list[Points] = []
    for edge in level.edges:
        down = edge.target >= 1
        place = edge.out if down else edge.into
        x = middle if place is None else place
        ports[(edge.target if down else edge.source) - 1] = x
        routes.append((x, size.height if down else 0.0))
    tops, bottoms = tuple(ports[: level.tops]), tuple(ports[level.tops :])
    return Settled(size.width + size.badge, size.height, ((0.0, 0.0),), tops, bottoms, tuple(routes))


_Crossing: TypeAlias = tuple[int, int]
"""Index of a part, and of one of its ports."""


def _outer_edges(
    level: Level, parts: Sequence[_Part], settled: Sequence[Settled]
) -> tuple[list[LevelEdge], dict[_Crossing, int]]:
    """Return the edges between the ports of the whole level and the parts.

    Also return which of them goes to each port of a part.
    """
    nodes = len(level.sizes)
    found: list[LevelEdge] = []
    through: dict[_Crossing, int] = {}
    for number, (part, each) in enumerate(zip(parts, settled, strict=True)):
        for port, vertex in enumerate(part.ports):
            through[number, port] = len(found)
            outside = len(parts) + vertex - nodes
            if port < part.level.tops:
                found.append(LevelEdge(outside, number, None, each.tops[port]))
            else:
                found.append(LevelEdge(number, outside, each.bottoms[port - part.level.tops], None))
    return found, through


def _composed(
    level: Level,
    parts: Sequence[_Part],
    settled: Sequence[Settled],
    whole: Settled,
    through: dict[_Crossing, int],
) -> Settled:
    places = [(0.0, 0.0)] * len(level.sizes)
    routes: list[Points] = [()] * len(level.edges)
    for number, (part, each) in enumerate(zip(parts, settled, strict=True)):
        x, y = whole.places[number]
        for node, (left, top) in zip(part.nodes, each.places, strict=True):
            places[node] = x + left, y + top
        count = len(part.nodes)
        for index, edge, route in zip(part.edges, part.level.edges, each.routes, strict=True):
            line = moved(route, x, y)
            if edge.source >= count:
                line = whole.routes[through[number, edge.source - count]] + line
            if edge.target >= count:
                line = line + whole.routes[through[number, edge.target - count]]
            routes[index] = joined(line)
    return Settled(whole.width, whole.height, tuple(places), whole.tops, whole.bottoms, tuple(routes))
