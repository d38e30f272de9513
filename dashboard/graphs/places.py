"""Positions in one level: stacked rows, and the lines of edges between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import Final, TypeAlias

from stepscope.dashboard.graphs.columns import Columns, LevelEdge, nearest
from stepscope.dashboard.graphs.layers import Flat, Ordered
from stepscope.dashboard.graphs.measures import Measures, Size

Points: TypeAlias = tuple[float, ...]
"""Alternating x and y of every point."""
Point: TypeAlias = tuple[float, float]

_MOST_SHARE: Final = 0.36
"""Maximum distance of edges from the center of a node, as a fraction of its width."""
_SLOPE: Final = 0.06
"""Additional distance between rows for each pixel that an edge between them goes sideways."""
_TURN: Final = 10.0
"""Distance below its source, and above its target, at which an edge that leads back turns."""
_FLAT: Final = 0.05
"""Pixels that a point may be off a line without being a bend."""


@dataclass(frozen=True)
class Margins:
    """Space around the nodes of a level."""

    header: float = 0.0
    padding: float = 0.0
    least_width: float = 0.0


@dataclass(frozen=True)
class Settled:
    """A level with positions; x and y from its upper left corner."""

    width: float
    height: float
    places: tuple[Point, ...]
    """Upper left corner of every node."""
    tops: tuple[float, ...]
    """x of the ports of the upper border."""
    bottoms: tuple[float, ...]
    routes: tuple[Points, ...]
    """Line of every edge from the source's border to the target's border; ports are on the level's own border."""


def settle(
    flat: Flat,
    ordered: Ordered,
    sizes: Sequence[Size],
    edges: Sequence[LevelEdge],
    margins: Margins,
    measures: Measures,
) -> Settled:
    """Return the positions in an ordered level."""
    columns = Columns(flat, ordered, sizes, edges, measures)
    return _Lines(columns, flat, margins).settled()


def simplified(points: Iterable[Point]) -> Points:
    """Return a line without points that lie between their neighbors; numbers are rounded to a tenth of a pixel."""
    kept: list[Point] = []
    for point in points:
        while kept and _on_the_way(kept[-2] if len(kept) > 1 else kept[-1], kept[-1], point):
            kept.pop()
        kept.append(point)
    return tuple(round(number, 1) for point in kept for number in point)


def moved(points: Points, x: float, y: float) -> Points:
    """Return a line shifted to the right and down."""
    return tuple(number + (y if index % 2 else x) for index, number in enumerate(points))


def joined(points: Points) -> Points:
    """Return a line joined from several, without unnecessary points."""
    return simplified(zip(points[::2], points[1::2], strict=True))


def _on_the_way(before: Point, middle: Point, after: Point) -> bool:
    along = after[0] - before[0], after[1] - before[1]
    offset = middle[0] - before[0], middle[1] - before[1]
    if middle == after:
        return True
    length = hypot(*along)
    if middle == before or length == 0:
        return False
    forward = along[0] * offset[0] + along[1] * offset[1]
    return abs(along[0] * offset[1] - along[1] * offset[0]) <= _FLAT * length and 0 <= forward <= length * length


class _Lines:
    """The y of every row, and the lines of edges."""

    def __init__(self, columns: Columns, flat: Flat, margins: Margins) -> None:
        self.columns = columns
        self.tops = flat.tops
        self.margins = margins
        self._sources = {edge.source for edge in columns.edges}
        self._targets = {edge.target for edge in columns.edges}
        self._ends = self._attached()
        self._place_rows()
        self._surround_columns()

    # Where edges leave and enter nodes.

    def _attached(self) -> list[tuple[float, float]]:
        """Return for each edge the x where it leaves its source and where it enters its target."""
        c = self.columns
        free: dict[tuple[int, bool], dict[int, float]] = {}
        for edge, (path, _) in zip(c.edges, c.paths, strict=True):
            for vertex, place, beside, other_place, lower in (
                (edge.source, edge.out, path[1], edge.into, True),
                (edge.target, edge.into, path[-2], edge.out, False),
            ):
                if vertex < c.nodes and place is None:
                    free.setdefault((vertex, lower), {})[beside] = self._towards(vertex, beside, other_place)
        chosen = {key: self._spread(key[0], towards) for key, towards in free.items()}
        found = []
        for edge, (path, _) in zip(c.edges, c.paths, strict=True):
            out = chosen.get((edge.source, True), {}).get(path[1]) if edge.out is None else None
            into = chosen.get((edge.target, False), {}).get(path[-2]) if edge.into is None else None
            found.append(
                (
                    c.x[edge.source] + c.offset(edge.source, edge.out) if out is None else out,
                    c.x[edge.target] + c.offset(edge.target, edge.into) if into is None else into,
                )
            )
        return found

    def _towards(self, vertex: int, other: int, other_place: float | None) -> float:
        """Return the x on a node's border from which a line to another vertex is straight, as far as possible."""
        c = self.columns
        if other >= c.nodes or other_place is not None:
            return c.x[other] + c.offset(other, other_place)
        own, theirs = self._reach(vertex), self._reach(other)
        low, high = max(own[0], theirs[0]), min(own[1], theirs[1])
        if low > high:
            return c.x[other]
        # Both nodes choose the same place: straight down from the middle of the narrower one.
        widths = c.sizes[vertex].width, c.sizes[other].width
        share = (widths[0] > widths[1]) + 0.5 * (widths[0] == widths[1])
        return min(max(c.x[vertex] + share * (c.x[other] - c.x[vertex]), low), high)

    def _reach(self, node: int) -> tuple[float, float]:
        """Return the range of x where edges may leave or enter a node."""
        width = self.columns.sizes[node].width
        reach = min(_MOST_SHARE * width, width / 2 - self.columns.measures.inset)
        return self.columns.x[node] - max(reach, 0.0), self.columns.x[node] + max(reach, 0.0)

    def _spread(self, node: int, towards: Mapping[int, float]) -> dict[int, float]:
        """Return the x of each edge on one border of a node, in the order of their directions."""
        low, high = self._reach(node)
        names = sorted(towards, key=lambda other: (towards[other], other))
        step = min(self.columns.measures.bend_gap, (high - low) / max(len(names) - 1, 1))
        wanted = [min(max(towards[name], low), high) for name in names]
        places = nearest(wanted, [1.0] * len(names), [step * index for index in range(len(names))])
        last = len(names) - 1
        return {
            name: min(max(place, low + step * index), high - step * (last - index))
            for index, (name, place) in enumerate(zip(names, places, strict=True))
        }

    # Rows.

    def _place_rows(self) -> None:
        c = self.columns
        rows = c.ordered.rows
        heights = [max((c.sizes[v].height for v in row if v < c.nodes), default=0.0) for row in rows]
        gaps = self._gaps()
        self.top = [0.0] * len(rows)
        y = self.margins.header
        for number, height in enumerate(heights):
            self.top[number] = y
            y += height + (gaps[number] if number < len(gaps) else 0.0)
        self.bottom = [top + height for top, height in zip(self.top, heights, strict=True)]
        self.height = y

    def _gaps(self) -> list[float]:
        """Return the gap below every row but the last: larger if edges go far sideways, so that they are not flat."""
        c = self.columns
        rows = c.ordered.rows
        aside = [0.0] * (len(rows) - 1)
        for (start, end), (path, back) in zip(self._ends, c.paths, strict=True):
            xs = [start, *(c.x[vertex] for vertex in path[1:-1]), end]
            for index, (one, other) in enumerate(pairwise(path)):
                upper = min(c.row_of[one], c.row_of[other])
                if c.row_of[one] == c.row_of[other]:
                    # Below the source, above the target.
                    upper -= index > 0
                aside[upper] = max(aside[upper], abs(xs[index + 1] - xs[index]) * (0.3 if back else 1.0))
        found = []
        for number, far in enumerate(aside):
            wide = min(c.measures.row_gap + _SLOPE * far, c.measures.most_row_gap)
            border = number in (0, len(aside) - 1)
            found.append(wide if not border else max(self.margins.padding, wide if far else 0.0))
        return found

    def _surround_columns(self) -> None:
        """Set the shift of everything to the right, and the level's width."""
        c = self.columns
        reach = [(c.x[v] - c.half(v)[0], c.x[v] + c.half(v)[1]) for v in c.x]
        low, high = min((left for left, _ in reach), default=0.0), max((right for _, right in reach), default=0.0)
        spare = max(self.margins.least_width - (high - low) - 2 * self.margins.padding, 0.0)
        self.shift = self.margins.padding + spare / 2 - low
        self.width = high - low + 2 * self.margins.padding + spare

    # Lines.

    def settled(self) -> Settled:
        """Return the level with positions."""
        c = self.columns
        places = [(c.x[node] + self.shift - size.width / 2, self._extent(node)[0]) for node, size in enumerate(c.sizes)]
        routes = [
            simplified(self._forward(edge, path, ends) if not back else self._backward(edge, path, ends))
            for edge, (path, back), ends in zip(c.edges, c.paths, self._ends, strict=True)
        ]
        ports = [c.x[vertex] + self.shift for vertex in range(c.nodes, c.vertices)]
        tops, bottoms = tuple(ports[: self.tops]), tuple(ports[self.tops :])
        return Settled(self.width, self.height, tuple(places), tops, bottoms, tuple(routes))

    def _forward(self, edge: LevelEdge, path: Sequence[int], ends: tuple[float, float]) -> list[tuple[float, float]]:
        xs = [ends[0], *(self.columns.x[vertex] for vertex in path[1:-1]), ends[1]]
        found = []
        for vertex, x in zip(path, xs, strict=True):
            upper, lower = self._extent(vertex)
            row = self.columns.row_of[vertex]
            if vertex != edge.source:
                found += [(x, self.top[row]), (x, upper)]
            if vertex != edge.target:
                found += [(x, lower), (x, self.bottom[row])]
        return [(x + self.shift, y) for x, y in found]

    def _extent(self, vertex: int) -> tuple[float, float]:
        """Return the top and bottom of a node; a bend has those of its row, a port is on the level's border."""
        c = self.columns
        row = c.row_of[vertex]
        if c.nodes <= vertex < c.vertices:
            y = 0.0 if row == 0 else self.height
            return y, y
        if vertex >= c.nodes:
            return self.top[row], self.bottom[row]
        height = c.sizes[vertex].height
        spare = self.bottom[row] - self.top[row] - height
        # In a tall row, pure sources are placed next to their targets, and pure targets next to their sources.
        leads, ends = vertex in self._sources, vertex in self._targets
        upper = self.top[row] + spare * (0.5 if leads and ends else 1.0 if leads else 0.0)
        return upper, upper + height

    def _backward(self, edge: LevelEdge, path: Sequence[int], ends: Point) -> list[Point]:
        """Return a line out at the source's lower border, up beside it, and in at the target's upper border."""
        c = self.columns
        below = self.bottom[c.row_of[edge.source]] + _TURN
        above = self.top[c.row_of[edge.target]] - _TURN
        first, last = c.x[path[1]], c.x[path[-2]]
        found = [(ends[0], self._extent(edge.source)[1]), (ends[0], below), (first, below)]
        for bend in path[1:-1]:
            row = c.row_of[bend]
            found += [(c.x[bend], self.bottom[row]), (c.x[bend], self.top[row])]
        found += [(last, above), (ends[1], above), (ends[1], self._extent(edge.target)[0])]
        return [(x + self.shift, y) for x, y in found]
