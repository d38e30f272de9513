"""Reduction of edge crossings between ordered rows, by medians and exchanges of neighbors.

As in Gansner, Koutsofios, North, Vo, "A technique for drawing directed graphs" (1993), sections 3 and 3.1.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

Links: TypeAlias = Sequence[tuple[int, int]]
"""Upper and lower vertex, in adjacent rows."""
Rows: TypeAlias = Sequence[Sequence[int]]

ROUNDS: Final = 8
MOST_LINKS: Final = 12_000
"""Maximum number of links; more are left unchanged, as each round would take too long."""


def crossings(rows: Rows, links: Links) -> int:
    """Return the number of pairs of links that cross with this order of rows; links of the same vertex do not cross."""
    place = {vertex: index for row in rows for index, vertex in enumerate(row)}
    row_of = {vertex: number for number, row in enumerate(rows) for vertex in row}
    between: list[list[tuple[int, int]]] = [[] for _ in rows]
    for upper, lower in links:
        between[row_of[upper]].append((place[upper], place[lower]))
    return sum(_inversions(sorted(pairs)) for pairs in between)


def _inversions(pairs: Iterable[tuple[int, int]]) -> int:
    """Count the pairs of sorted (upper, lower) positions whose lower positions are in reverse order."""
    seen: list[int] = []
    found = 0
    for _, lower in pairs:
        found += len(seen) - bisect_right(seen, lower)
        insort(seen, lower)
    return found


def improve(rows: Rows, links: Links) -> list[list[int]]:
    """Return the rows, reordered so that there are at most as many crossings."""
    best = [list(row) for row in rows]
    if len(links) > MOST_LINKS:
        return best
    least = crossings(best, links)
    above, below = _neighbors(links)
    current = [list(row) for row in best]
    for number in range(ROUNDS):
        if least == 0:
            break
        down = number % 2 == 0
        _sort_by_medians(current, above if down else below, down)
        _exchange(current, above, below)
        if (now := crossings(current, links)) < least:
            best, least = [list(row) for row in current], now
    return best


def _neighbors(links: Links) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return for each vertex its neighbors in the row above and in the row below."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for upper, lower in links:
        below.setdefault(upper, []).append(lower)
        above.setdefault(lower, []).append(upper)
    return above, below


def _sort_by_medians(rows: list[list[int]], fixed: dict[int, list[int]], down: bool) -> None:
    """Sort every row by the median position of neighbors in the previous row; vertices without any stay in place."""
    place: dict[int, int] = {}
    for row in rows if down else reversed(rows):
        wanted = {vertex: _median(sorted(place[other] for other in fixed[vertex])) for vertex in row if vertex in fixed}
        moving = iter(sorted((vertex for vertex in row if vertex in wanted), key=wanted.__getitem__))
        row[:] = [next(moving) if vertex in wanted else vertex for vertex in row]
        place = {vertex: index for index, vertex in enumerate(row)}


def _median(places: Sequence[int]) -> float:
    """Return the median; for an even count, weighted toward the side where positions are closer together."""
    middle = len(places) // 2
    if len(places) % 2 or len(places) == 2:
        return (places[middle] + places[~middle]) / 2
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if left + right == 0:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _exchange(rows: list[list[int]], above: dict[int, list[int]], below: dict[int, list[int]]) -> None:
    """Exchange adjacent vertices of a row as long as that removes crossings."""
    place = {vertex: index for row in rows for index, vertex in enumerate(row)}
    for row in rows:
        for _ in range(len(row)):
            gained = 0
            for index in range(len(row) - 1):
                left, right = row[index], row[index + 1]
                gain = sum(
                    _gain([place[v] for v in side.get(left, ())], [place[v] for v in side.get(right, ())])
                    for side in (above, below)
                )
                if gain > 0:
                    row[index], row[index + 1] = right, left
                    place[left], place[right] = index + 1, index
                    gained += gain
            if not gained:
                break


def _gain(left: list[int], right: list[int]) -> int:
    """Return the number of crossings removed by exchanging a vertex with its right neighbor, given their neighbors."""
    if not left or not right:
        return 0
    right = sorted(right)
    return sum(bisect_left(right, place) - (len(right) - bisect_right(right, place)) for place in left)


def in_order(rows: Rows, key: Sequence[float]) -> list[list[int]]:
    """Return every row sorted by a number per vertex; the sort is stable."""
    return [sorted(row, key=key.__getitem__) for row in rows]


def links_of(paths: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the distinct links of the paths from row to row, in order."""
    return list(dict.fromkeys(pair for path in paths for pair in pairwise(path)))
