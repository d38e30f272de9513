"""Edges between nodes of different groups: their parts within each group along the way.

An edge from a node of one group to a node of another leaves all groups around its source through their lower borders,
and enters those around its target through their upper borders. All edges of a group from the same neighbor share one
port of its border; so do neighbors whose edges lead to the same nodes inside.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.dashboard.graphs.columns import LevelEdge
from stepscope.dashboard.graphs.levels import Level
from stepscope.dashboard.graphs.measures import Size
from stepscope.dashboard.graphs.places import Margins, Settled

TOP: Final = -1
"""The group that contains everything."""


@dataclass(frozen=True)
class Crossing:
    """The part of an edge within one group: from a port of its upper border to a child ("in"), from a child to a port
    of its lower border ("out"), or from one child to another ("across").
    """

    kind: Literal["in", "out", "across"]
    one: int
    """The neighbor of the group, or of a group around it, at the other end of the edge; for an edge across, the child
    where it starts."""
    child: int
    """The child; for an edge across, the child where it ends."""


def crossings_of(source: int, target: int, parents: Sequence[int]) -> Iterator[tuple[int, Crossing]]:
    """Yield the groups that an edge passes from its source to its target, and its part in each.

    An edge between a group and its content begins or ends at the inner side of the group's border.

    Args:
        source: A node.
        target: Another node.
        parents: The group of each node, `TOP` for none.
    """
    up, down = _around(source, parents), _around(target, parents)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    first, last = up[-1] if up else source, down[-1] if down else target
    for child, group in zip((source, *up), up, strict=False):
        yield group, Crossing("out", last, child)
    if first != last:
        yield parents[first], Crossing("across", first, last)
    for child, group in reversed(list(zip((target, *down), down, strict=False))):
        yield group, Crossing("in", first, child)


def _around(node: int, parents: Sequence[int]) -> list[int]:
    found = []
    while (node := parents[node]) != TOP:
        found.append(node)
    return found


@dataclass(frozen=True)
class Ports:
    """A laid out group, and the port of each neighbor."""

    settled: Settled
    tops: dict[int, int]
    bottoms: dict[int, int]

    def top(self, neighbor: int) -> float | None:
        """Return the position of the port on the upper border; None if no edge from the neighbor continues inside."""
        number = self.tops.get(neighbor)
        return None if number is None else self.settled.tops[number]

    def bottom(self, neighbor: int) -> float | None:
        """Return the position of the port on the lower border, likewise."""
        number = self.bottoms.get(neighbor)
        return None if number is None else self.settled.bottoms[number]


@dataclass(frozen=True)
class Assembled:
    """A level of the graph, and the index of each edge in it."""

    level: Level
    edge_of: dict[Crossing, int]
    tops: dict[int, int]
    """The port for each neighbor."""
    bottoms: dict[int, int]


def assemble(
    children: Sequence[int],
    sizes: Sequence[Size],
    closed: Sequence[float],
    crossings: dict[Crossing, bool],
    opened: dict[int, Ports],
    margins: Margins,
) -> Assembled:
    """Return the level of a group whose expanded children are already laid out.

    Args:
        children: Direct members of the group.
        sizes: Size of each child.
        closed: Width of each child when collapsed.
        crossings: Edges in the group, and whether each is known to lead back.
        opened: The expanded children, by their numbers.
        margins: Space around the children.
    """
    number = {child: index for index, child in enumerate(children)}
    ends = {crossing: _ends(crossing, opened) for crossing in crossings}
    tops = _merged("in", ends, number)
    bottoms = _merged("out", ends, number)
    first_bottom = len(children) + _count(tops)
    index_of: dict[LevelEdge, int] = {}
    returns: list[bool] = []
    edge_of: dict[Crossing, int] = {}
    for crossing, (out, into) in ends.items():
        match crossing.kind:
            case "in":
                edge = LevelEdge(len(children) + tops[crossing.one], number[crossing.child], None, into)
            case "out":
                edge = LevelEdge(number[crossing.child], first_bottom + bottoms[crossing.one], out, None)
            case "across":
                edge = LevelEdge(number[crossing.one], number[crossing.child], out, into)
        index = edge_of[crossing] = index_of.setdefault(edge, len(index_of))
        if index == len(returns):
            returns.append(True)
        returns[index] &= crossings[crossing]
    counts = _count(tops), _count(bottoms)
    level = Level(tuple(sizes), tuple(closed), *counts, tuple(index_of), tuple(returns), margins)
    return Assembled(level, edge_of, tops, bottoms)


def _ends(crossing: Crossing, opened: dict[int, Ports]) -> tuple[float | None, float | None]:
    """Return where an edge leaves a child's lower border and enters a child's upper border.

    None if the position is free.
    """
    source = opened.get(crossing.one if crossing.kind == "across" else crossing.child)
    target = opened.get(crossing.child)
    out = source.bottom(crossing.child if crossing.kind == "across" else crossing.one) if source else None
    into = target.top(crossing.one) if target else None
    match crossing.kind:
        case "in":
            return None, into
        case "out":
            return out, None
        case "across":
            return out, into


def _merged(
    kind: Literal["in", "out"], ends: dict[Crossing, tuple[float | None, float | None]], number: dict[int, int]
) -> dict[int, int]:
    """Return the port of each neighbor; neighbors whose edges go to the same places inside share a port."""
    inside: dict[int, set[tuple[int, float | None]]] = {}
    for crossing, (out, into) in ends.items():
        if crossing.kind == kind:
            place = into if kind == "in" else out
            inside.setdefault(crossing.one, set()).add((number[crossing.child], place))
    ports: dict[frozenset[tuple[int, float | None]], int] = {}
    return {neighbor: ports.setdefault(frozenset(places), len(ports)) for neighbor, places in inside.items()}


def _count(ports: dict[int, int]) -> int:
    return len(set(ports.values()))
