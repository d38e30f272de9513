"""The x of nodes and bends of one level: least displacement within each row.

In each row the nodes and bends are put as near as their order and the gaps allow to where their neighbours are, which
is isotonic regression (pool adjacent violators); sweeps over the rows go down and up. Weights are those of Gansner,
Koutsofios, North, Vo (1993), section 4: what passes over several rows is kept straight first.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

from dashboard.graphs.layers import Flat, Ordered
from dashboard.graphs.measures import Measures, Size

SWEEPS: Final = 8
_STRAIGHT: Final = (1.0, 2.0, 8.0)
"""Weight of a link by how many of its ends are bends."""
_LOOSE: Final = 0.01
"""Weight of what has no neighbours in the row looked at."""


@dataclass(frozen=True)
class LevelEdge:
    """From one vertex of a level to another."""

    source: int
    target: int
    out: float | None
    """Where it leaves the source's lower border, from the left; None where that may be chosen."""
    into: float | None
    """Where it enters the target's upper border, likewise."""



@dataclass(frozen=True)
class _Link:
    """Part of an edge between two neighbouring rows, with offsets from the middles of its ends."""

    upper: int
    lower: int
    upper_offset: float
    lower_offset: float
    weight: float


class Columns:
    """The x of every vertex and bend."""

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
        for row, after in zip(ordered.rows, self._after, strict=True):
            whole = after[-1] if after else 0.0
            self.x.update({vertex: place - whole / 2 for vertex, place in zip(row, after, strict=True)})
        self._sweep()
        self._straighten()

    def half(self, vertex: int) -> tuple[float, float]:
        """How far it reaches to the left and to the right of its x."""
        if vertex >= self.nodes:
            return 0.0, 0.0
        size = self.sizes[vertex]
        return size.width / 2, size.width / 2 + size.badge

    def offset(self, vertex: int, place: float | None) -> float:
        """A place on the border of a node from its middle; 0 where it may be chosen."""
        return 0.0 if place is None or vertex >= self.nodes else place - self.sizes[vertex].width / 2

    def _gap(self, left: int, right: int) -> float:
        if left < self.nodes and right < self.nodes:
            return self.measures.gap
        ports = left >= self.nodes and right >= self.nodes and max(left, right) < self.vertices
        return self.measures.port_gap if ports else self.measures.bend_gap

    def _separations(self, row: Sequence[int]) -> list[float]:
        """Least distance of each vertex from the first."""
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

    def _sweep(self) -> None:
        above: dict[int, list[tuple[int, float, float]]] = {}
        below: dict[int, list[tuple[int, float, float]]] = {}
        for link in self.links:
            shift = link.upper_offset - link.lower_offset
            above.setdefault(link.lower, []).append((link.upper, shift, link.weight))
            below.setdefault(link.upper, []).append((link.lower, -shift, link.weight))
        numbers = range(len(self.ordered.rows))
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            both = sweep >= SWEEPS - 2
            for number in numbers if down else reversed(numbers):
                sides = (above, below) if both else (above if down else below,)
                self._place_row(number, sides)

    def _place_row(self, number: int, sides: Iterable[Mapping[int, list[tuple[int, float, float]]]]) -> None:
        row = self.ordered.rows[number]
        wanted, weights = [], []
        for vertex in row:
            near = [(self.x[other] + shift, weight) for side in sides for other, shift, weight in side.get(vertex, ())]
            wanted.append(_weighted_median(near) if near else self.x[vertex])
            weights.append(sum(weight for _, weight in near) or _LOOSE)
        self.x.update(zip(row, nearest(wanted, weights, self._after[number]), strict=True))

    def _straighten(self) -> None:
        """Gives neighbouring bends of an edge one x where there is room."""
        done: set[int] = set()
        for path, _ in self.paths:
            chain = [vertex for vertex in path if vertex >= self.vertices and vertex not in done]
            done.update(chain)
            run: list[int] = []
            low, high = float("-inf"), float("inf")
            for vertex in chain:
                left, right = self._room(vertex)
                if run and max(low, left) > min(high, right):
                    self._align(run, low, high)
                    run, low, high = [], float("-inf"), float("inf")
                run.append(vertex)
                low, high = max(low, left), min(high, right)
            self._align(run, low, high)

    def _align(self, run: Sequence[int], low: float, high: float) -> None:
        if len(run) > 1:
            x = min(max(fmean(self.x[vertex] for vertex in run), low), high)
            self.x.update(dict.fromkeys(run, x))

    def _room(self, vertex: int) -> tuple[float, float]:
        """Least and greatest x between its neighbours."""
        row = self.ordered.rows[self.row_of[vertex]]
        place = self._place_in_row(vertex)
        low, high = float("-inf"), float("inf")
        if place:
            left = row[place - 1]
            low = self.x[left] + self.half(left)[1] + self._gap(left, vertex)
        if place + 1 < len(row):
            right = row[place + 1]
            high = self.x[right] - self.half(right)[0] - self._gap(vertex, right)
        # Rounding may have made them differ in the last digit.
        return min(low, self.x[vertex]), max(high, self.x[vertex])

    def _place_in_row(self, vertex: int) -> int:
        row = self.ordered.rows[self.row_of[vertex]]
        place = bisect_left(row, self.x[vertex], key=self.x.__getitem__)
        while row[place] != vertex:
            place += 1
        return place


def _weighted_median(values: list[tuple[float, float]]) -> float:
    """Where half of the weight is on either side; in the middle of the two values next to it, if there are two."""
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
    """Places as near as possible to those wanted, by weighted squares, that keep their distances.

    Args:
        wanted: Places.
        weights: Positive.
        after: The least distance of each from the first; growing.
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
