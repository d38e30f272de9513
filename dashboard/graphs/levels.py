"""Places of one level of a graph, whatever its parts: wraps what is absurdly wide, and keeps what was worked out.

Parts of a level that no edge connects are laid out one by one and put beside and below each other; edges to the
borders of the level lead to them as to nodes.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, TypeVar

from dashboard.graphs.columns import LevelEdge
from dashboard.graphs.layers import Flat, Ordered, order
from dashboard.graphs.measures import Measures, Size
from dashboard.graphs.places import Frame, Points, Settled, settle, simplified

T = TypeVar("T")

LEAST_WRAP: Final = 900.0
"""Pixels; rows of nodes wrap beyond, or beyond `ASPECT` times what a square of the same nodes would be wide."""
ASPECT: Final = 1.7
_ROW: Final = 58.0
"""About how high a row is with the gap below it."""


@dataclass(frozen=True)
class Level:
    """What is directly in one expanded group, or at the top of the graph.

    Vertices are its nodes, then the ports of its upper border, then those of its lower one.
    """

    sizes: tuple[Size, ...]
    closed: tuple[float, ...]
    """Width of each node when it is not expanded. Rows and order depend on these alone, so that they stay when a node
    is expanded."""
    tops: int
    bottoms: int
    edges: tuple[LevelEdge, ...]
    """Each once, between different vertices."""
    returns: tuple[bool, ...]
    """Per edge whether it is known to lead back."""
    frame: Frame


class LayoutCache:
    """Levels that were laid out, by their content; the least recently used are forgotten. For any thread."""

    def __init__(self, most: int = 400_000) -> None:
        """Remembers levels of about so many nodes and edges in total."""
        self._most: Final = most
        self._held = 0
        self._lock: Final = Lock()
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()

    def get(self, key: Hashable, weight: int, make: Callable[[], T]) -> T:
        """What ``make`` returned for this key; two threads may both make it."""
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
    """Places of a level."""
    weight = len(level.sizes) + len(level.edges) + 1
    return cache.get((level, measures), weight, partial(_Parts, level, measures, cache)).settled


class _Parts:
    """A level as parts that no edge connects, where it is too wide to be laid out as a whole."""

    def __init__(self, level: Level, measures: Measures, cache: LayoutCache) -> None:
        self.measures = measures
        self.cache = cache
        self.widest = _widest(level, measures)
        parts = _parts(level) if self._width(level) > self.widest else []
        self.settled = self._together(level, parts) if len(parts) > 1 else self._whole(level)

    def _width(self, level: Level) -> float:
        return sum(level.closed) + self.measures.gap * len(level.closed)

    def _flat(self, level: Level, closed: Sequence[float]) -> Flat:
        pairs: dict[tuple[int, int], bool] = {}
        for edge, back in zip(level.edges, level.returns, strict=True):
            pair = edge.source, edge.target
            pairs[pair] = pairs.get(pair, True) and back
        widths = tuple(width + self.measures.gap for width in closed)
        return Flat(widths, level.tops, level.bottoms, tuple(pairs), tuple(pairs.values()), self.widest)

    def _order(self, flat: Flat) -> Ordered:
        return self.cache.get(flat, flat.count + len(flat.pairs), lambda: order(flat))

    def _whole(self, level: Level, closed: Sequence[float] | None = None) -> Settled:
        flat = self._flat(level, level.closed if closed is None else closed)
        return settle(flat, self._order(flat), level.sizes, level.edges, level.frame, self.measures)

    def _together(self, level: Level, parts: list[list[int]]) -> Settled:
        nodes = len(level.sizes)
        inner = [_inner(level, part) for part in parts]
        rows = [self._estimate(each.level) for each in inner]
        # High ones first, so that what is beside one another is about as high.
        ranks = sorted(range(len(parts)), key=lambda index: (-rows[index][1], parts[index][0]))
        inner = [inner[index] for index in ranks]
        closed = [rows[index][0] for index in ranks]
        settled = [place_level(each.level, self.measures, self.cache) for each in inner]
        outer = _outer(level, inner, settled)
        whole = self._whole(outer.level, closed)
        places = [(0.0, 0.0)] * nodes
        for each, part, (x, y) in zip(inner, settled, whole.places, strict=True):
            for node, (left, top) in zip(each.nodes, part.places, strict=True):
                places[node] = (x + left, y + top)
        routes = [self._joined(chain, inner, settled, whole, outer.edge_of) for chain in _chains(level, inner)]
        return Settled(whole.width, whole.height, tuple(places), whole.tops, whole.bottoms, tuple(routes))
