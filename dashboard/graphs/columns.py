"""The x coordinates of nodes and bends of one level: least displacement within each row.

In each row, the nodes and bends are placed as close to their neighbors as their order and the gaps allow, by isotonic
regression (pool adjacent violators); sweeps over the rows go down and up. The weights are from Gansner, Koutsofios,
North, Vo (1993), section 4: long edges over several rows are straightened first.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Final, TypeAlias

from stepscope.dashboard.graphs.layers import Flat, Ordered
from stepscope.dashboard.graphs.measures import Measures, Size

SWEEPS: Final = 8
ROUNDS: Final = 4
"""Rounds of straightening chains and moving the other vertices after them."""
_STRAIGHT: Final = (1.0, 2.0, 8.0)
"""Weight of a link by the number of its ends that are bends."""
_LOOSE: Final = 0.01
"""Weight of a vertex without neighbors in the current row."""


_Near: TypeAlias = dict[int, list[tuple[int, float, float]]]


@dataclass(frozen=True)
class LevelEdge:
    """An edge from one vertex of a level to another."""

    source: int
    target: int
    out: float | None
    """Position on the source's lower border, from the left; None if free."""
    into: float | None
    """Position on the target's upper border, from the left; None if free."""


@dataclass(frozen=True)
class _Link:
    """Part of an edge between two adjacent rows, with offsets from the centers of its ends."""

    upper: int
    lower: int
    upper_offset: float
    lower_offset: float
    weight: float


class Columns:
    """The x coordinate of every vertex and bend."""

    def __init__(
        self,
        flat: Flat,
        ordered: Ordered,
        sizes: Sequence[Size],
        edges: Sequence[LevelEdge],
        measures: Measures,
    ) -> None:
        self.ordered = ordered
        self.sizes = sizes
        self.edges = edges
        self.measures = measures
        self.nodes = len(sizes)
        self.vertices = flat.count
        self.row_of = {vertex: number for number, row in enumerate(ordered.rows) for vertex in row}
        path_of = dict(zip(flat.pairs, zip(ordered.paths, ordered.back, strict=True), strict=True))
        self.paths = [path_of[edge.source, edge.target] for edge in edges]
        self.links = self._links()
        self.x = dict.fromkeys(self.row_of, 0.0)
        self._after = [self._separations(row) for row in ordered.rows]
        self._begin()
        self._above, self._below = self._neighbors()
        self._sweep()
        for _ in range(ROUNDS):
            self._pull(self._straighten())

    def _begin(self) -> None:
        """Center the rows; rows without any edge start where the widest row does."""
        linked = {vertex for link in self.links for vertex in (link.upper, link.lower)}
        rows = list(zip(self.ordered.rows, self._after, strict=True))
        widest = max((after[-1] for _, after in rows if after), default=0.0)
        for row, after in rows:
            if row:
                begin = self.half(row[0])[0] - widest / 2 if linked.isdisjoint(row) else -after[-1] / 2
                self.x.update({vertex: begin + place for vertex, place in zip(row, after, strict=True)})

    def half(self, vertex: int) -> tuple[float, float]:
        """Return the extent of a vertex to the left and right of its x."""
        if vertex >= self.nodes:
            return 0.0, 0.0
        size = self.sizes[vertex]
        return size.width / 2, size.width / 2 + size.badge

    def offset(self, vertex: int, place: float | None) -> float:
        """Return the offset of a position on a node's border from its center; 0 if free."""
        return 0.0 if place is None or vertex >= self.nodes else place - self.sizes[vertex].width / 2

    def _gap(self, left: int, right: int) -> float:
        if left < self.nodes and right < self.nodes:
            return self.measures.gap
        ports = left >= self.nodes and right >= self.nodes and max(left, right) < self.vertices
        return self.measures.port_gap if ports else self.measures.bend_gap

    def _separations(self, row: Sequence[int]) -> list[float]:
        """Return the minimum distance of each vertex from the first."""
        found = [0.0] if row else []
        for left, right in pairwise(row):
            found.append(found[-1] + self.half(left)[1] + self._gap(left, right) + self.half(right)[0])
        return found

    def _links(self) -> list[_Link]:
        found: dict[_Link, None] = {}
        for edge, (path, _) in zip(self.edges, self.paths, strict=True):
            offsets = {0: self.offset(edge.source, edge.out), len(path) - 1: self.offset(edge.target, edge.into)}
            for index, (one, other) in enumerate(pairwise(path)):
                weight = _STRAIGHT[(one >= self.vertices) + (other >= self.vertices)]
                ends = [(one, offsets.get(index, 0.0)), (other, offsets.get(index + 1, 0.0))]
                down = self.row_of[other] - self.row_of[one]
                if abs(down) == 1:
                    (upper, a), (lower, b) = ends if down == 1 else ends[::-1]
                    found[_Link(upper, lower, a, b, weight)] = None
        return list(found)

    def _neighbors(self) -> tuple[_Near, _Near]:
        """Return the links of each vertex above and below: the neighbor, its shift to the right, and the weight."""
        above: _Near = {}
        below: _Near = {}
        for link in self.links:
            shift = link.upper_offset - link.lower_offset
            above.setdefault(link.lower, []).append((link.upper, shift, link.weight))
            below.setdefault(link.upper, []).append((link.lower, -shift, link.weight))
        return above, below

    def _sweep(self) -> None:
        self._weight: dict[int, float] = {}
        for link in self.links:
            for vertex in (link.upper, link.lower):
                self._weight[vertex] = self._weight.get(vertex, 0.0) + link.weight
        self._weight = {vertex: weight * weight for vertex, weight in self._weight.items()}
        numbers = range(len(self.ordered.rows))
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            both = sweep >= SWEEPS - 2
            for number in numbers if down else reversed(numbers):
                sides = (self._above, self._below) if both else (self._above if down else self._below,)
                self._place_row(number, sides)

    def _place_row(self, number: int, sides: Sequence[_Near]) -> None:
        row = self.ordered.rows[number]
        wanted = [self._wanted(vertex, sides) for vertex in row]
        # Vertices with more links get closer to their wanted x, so that chains with side branches stay straight.
        weights = [self._weight[v] if any(v in side for side in sides) else _LOOSE for v in row]
        self.x.update(zip(row, nearest(wanted, weights, self._after[number]), strict=True))

    def _wanted(self, vertex: int, sides: Sequence[_Near]) -> float:
        near = [(self.x[other] + shift, weight) for side in sides for other, shift, weight in side.get(vertex, ())]
        return _weighted_median(near) if near else self.x[vertex]

    def _pull(self, kept: set[int]) -> None:
        """Move all vertices except ``kept`` closer to their neighbors, as far as there is room."""
        sides = self._above, self._below
        for row, after in zip(self.ordered.rows, self._after, strict=True):
            for is_kept, places in groupby(range(len(row)), key=lambda place: row[place] in kept):
                if is_kept:
                    continue
                stretch = list(places)
                low, high = self._room(row[stretch[0]])[0], self._room(row[stretch[-1]])[1]
                distances = [after[place] - after[stretch[0]] for place in stretch]
                wanted = [self._wanted(row[place], sides) for place in stretch]
                weights = [self._weight.get(row[place], _LOOSE) for place in stretch]
                for place, x, distance in zip(stretch, nearest(wanted, weights, distances), distances, strict=True):
                    self.x[row[place]] = min(max(x, low + distance), high - (distances[-1] - distance))

    def _straighten(self) -> set[int]:
        """Align the bends of an edge, and the nodes of a chain, at one x if there is room; return them."""
        follower = self._followers()
        begun = set(follower.values())
        for first in [vertex for vertex in follower if vertex not in begun]:
            # Each shift is the distance to the right of the first vertex at which the edge is straight.
            run: list[tuple[int, float]] = []
            low, high, shift = float("-inf"), float("inf"), 0.0
            vertex: int | None = first
            while vertex is not None:
                left, right = self._room(vertex)
                if run and max(low, left - shift) > min(high, right - shift):
                    self._align(run, low, high)
                    run, low, high = [], float("-inf"), float("inf")
                run.append((vertex, shift))
                low, high = max(low, left - shift), min(high, right - shift)
                link = follower.get(vertex)
                shift += self._shift.get((vertex, link), 0.0) if link is not None else 0.0
                vertex = link
            self._align(run, low, high)
        return begun.union(follower)

    def _followers(self) -> dict[int, int]:
        """Return the successor of each bend of an edge, and of each node of a chain."""
        self._shift: dict[tuple[int, int], float] = {}
        above: dict[int, set[int]] = {}
        below: dict[int, set[int]] = {}
        for link in self.links:
            bend = max(link.upper, link.lower) >= self.vertices
            if bend and min(link.upper, link.lower) < self.nodes:
                continue
            self._shift[link.upper, link.lower] = link.upper_offset - link.lower_offset
            below.setdefault(link.upper, set()).add(link.lower)
            above.setdefault(link.lower, set()).add(link.upper)
        found = {}
        for upper, lowers in below.items():
            # Of several, the one that continues.
            lower = _only(lowers, below)
            if lower is not None and _only(above[lower], above) == upper:
                found[upper] = lower
        return found

    def _align(self, run: Sequence[tuple[int, float]], low: float, high: float) -> None:
        """Place a run of vertices, each with its shift, close to the other vertices that they are linked to."""
        if len(run) < 2:
            return
        own = {vertex for vertex, _ in run}
        near = [
            (self.x[other] + by - shift, weight)
            for vertex, shift in run
            for side in (self._above, self._below)
            for other, by, weight in side.get(vertex, ())
            if other not in own
        ]
        wanted = _weighted_median(near) if near else median(self.x[vertex] - shift for vertex, shift in run)
        x = min(max(wanted, low), high)
        self.x.update({vertex: x + shift for vertex, shift in run})

    def _room(self, vertex: int) -> tuple[float, float]:
        """Return the minimum and maximum x between the neighbors in the row."""
        row = self.ordered.rows[self.row_of[vertex]]
        place = self._place_in_row(vertex)
        low, high = float("-inf"), float("inf")
        if place:
            left = row[place - 1]
            low = self.x[left] + self.half(left)[1] + self._gap(left, vertex) + self.half(vertex)[0]
        if place + 1 < len(row):
            right = row[place + 1]
            high = self.x[right] - self.half(right)[0] - self._gap(vertex, right) - self.half(vertex)[1]
        # Rounding may make these differ from x in the last digit.
        return min(low, self.x[vertex]), max(high, self.x[vertex])

    def _place_in_row(self, vertex: int) -> int:
        row = self.ordered.rows[self.row_of[vertex]]
        place = bisect_left(row, self.x[vertex], key=self.x.__getitem__)
        while row[place] != vertex:
            place += 1
        return place


def _only(vertices: set[int], going_on: Mapping[int, set[int]]) -> int | None:
    """Return the only vertex, or the only one that has further neighbors."""
    if len(vertices) > 1:
        vertices = {vertex for vertex in vertices if vertex in going_on}
    return next(iter(vertices)) if len(vertices) == 1 else None


def _weighted_median(values: list[tuple[float, float]]) -> float:
    """Return the value with half of the weight on either side.

    If there are two, return the midpoint between them.
    """
    values.sort()
    half = sum(weight for _, weight in values) / 2
    passed = 0.0
    for index, (value, weight) in enumerate(values):
        passed += weight
        if passed > half:
            return value
        if passed == half:
            return (value + values[index + 1][0]) / 2
    return values[-1][0]


def nearest(wanted: Sequence[float], weights: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return positions as close as possible to those wanted, by weighted squares, that keep their distances.

    Args:
        wanted: Wanted positions.
        weights: Positive weights.
        after: Minimum distance of each from the first; increasing.
    """
    blocks: list[tuple[float, float, int]] = []
    for place, weight, distance in zip(wanted, weights, after, strict=True):
        value, count = place - distance, 1
        while blocks and blocks[-1][0] > value:
            other, more, members = blocks.pop()
            value = (value * weight + other * more) / (weight + more)
            weight += more
            count += members
        blocks.append((value, weight, count))
    starts = [value for value, _, count in blocks for _ in range(count)]
    return [start + distance for start, distance in zip(starts, after, strict=True)]
