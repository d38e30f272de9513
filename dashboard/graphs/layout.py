"""Positions of everything in a scene.

Every expanded group is laid out on its own, from the innermost outward, as one large node of the group around it.
Data flows from top to bottom. Layouts are cached by content: when a group is expanded, only the groups around it are
laid out again, with the same rows and orders.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from stepscope.dashboard.graphs.levels import LayoutCache, place_level
from stepscope.dashboard.graphs.measures import MEASURES, Measure, Measures, Size, size_of, text_width
from stepscope.dashboard.graphs.places import Margins, Points, joined, moved
from stepscope.dashboard.graphs.routing import TOP, Assembled, Crossing, Ports, assemble, crossings_of
from stepscope.dashboard.graphs.scene import Scene

RETURNS: Final = ("NextIteration", "RefNextIteration")
"""Operations that pass a value to a loop's next iteration."""


@dataclass(frozen=True)
class Box:
    """Position and size of a node; x and y of its upper left corner, in pixels from the scene's upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Placed:
    """Positions in a scene."""

    nodes: dict[str, Box]
    """The nodes that are not set aside, by id; expanded groups contain their members."""
    edges: tuple[Points, ...]
    """Alternating x and y of the points of each edge of the scene, from its source's border to its target's border;
    empty for an edge with an end that is set aside or unknown."""
    width: float
    height: float
    key: str
    """Equal for equal scenes."""


def place(
    scene: Scene, measure: Measure = text_width, cache: LayoutCache | None = None, measures: Measures = MEASURES
) -> Placed:
    """Return positions for everything in a scene; deterministic."""
    work = _Work(scene, measure, LayoutCache() if cache is None else cache, measures)
    return work.placed()


class _Work:
    """The scene, with numbers instead of ids."""

    def __init__(self, scene: Scene, measure: Measure, cache: LayoutCache, measures: Measures) -> None:
        self.scene = scene
        self.measures = measures
        self.cache = cache
        self.number = {node.id: index for index, node in enumerate(scene.nodes)}
        self.closed = [size_of(node, measure, measures) for node in scene.nodes]
        self.children: dict[int, list[int]] = {TOP: []}
        self.parents = [TOP] * len(scene.nodes)
        for index, node in enumerate(scene.nodes):
            self.parents[index] = TOP if node.parent is None else self.number[node.parent]
            if node.expanded:
                self.children[index] = []
            if not node.aside:
                self.children[self.parents[index]].append(index)
        self.inside: dict[int, dict[Crossing, bool]] = {group: {} for group in self.children}
        self.paths = [self._path(edge.source, edge.target) for edge in scene.edges]

    def _path(self, source_id: str, target_id: str) -> list[tuple[int, Crossing]]:
        """Return the part of an edge in each group along its way.

        Return nothing for an edge that is not drawn or leads to its own source.
        """
        source, target = self.number.get(source_id), self.number.get(target_id)
        if source is None or target is None or source == target:
            return []
        if any(self.scene.nodes[end].aside for end in (source, target)):
            return []
        path = list(crossings_of(source, target, self.parents))
        returns = self.scene.nodes[source].op in RETURNS
        for group, crossing in path:
            known = self.inside[group]
            known[crossing] = known.get(crossing, True) and returns
        return path

    def placed(self) -> Placed:
        """Return the scene with positions."""
        opened: dict[int, Ports] = {}
        levels: dict[int, Assembled] = {}
        # Parents come before children.
        for group in sorted(self.children, reverse=True):
            levels[group] = self._assemble(group, opened)
            settled = place_level(levels[group].level, self.measures, self.cache)
            opened[group] = Ports(settled, levels[group].tops, levels[group].bottoms)
        boxes = self._boxes(opened)
        edges = tuple(self._line(index, opened, levels, boxes) for index in range(len(self.scene.edges)))
        whole = opened[TOP].settled
        nodes = {node.id: boxes[index] for index, node in enumerate(self.scene.nodes) if index in boxes}
        return Placed(nodes, edges, round(whole.width, 1), round(whole.height, 1), key_of(self.scene))

    def _assemble(self, group: int, opened: dict[int, Ports]) -> Assembled:
        children = self.children[group]
        sizes = [self._size(child, opened) for child in children]
        closed = [self.closed[child].width + self.closed[child].badge for child in children]
        margins = Margins(0.0, self.measures.padding) if group == TOP else self._margins(group)
        return assemble(children, sizes, closed, self.inside[group], opened, margins)

    def _size(self, child: int, opened: dict[int, Ports]) -> Size:
        if child not in opened:
            return self.closed[child]
        settled = opened[child].settled
        return Size(settled.width, settled.height, self.closed[child].badge)

    def _margins(self, group: int) -> Margins:
        least = self.closed[group].width + 2 * self.measures.padding
        return Margins(self.measures.header, self.measures.padding, least)

    def _boxes(self, opened: dict[int, Ports]) -> dict[int, Box]:
        """Return the boxes of all nodes that are not set aside, by number."""
        found: dict[int, Box] = {TOP: Box(0.0, 0.0, 0.0, 0.0)}
        for group in sorted(self.children):
            if group not in found:
                continue
            origin = found[group]
            for child, (x, y) in zip(self.children[group], opened[group].settled.places, strict=True):
                size = self._size(child, opened)
                numbers = origin.x + x, origin.y + y, size.width, size.height
                found[child] = Box(*(round(number, 1) for number in numbers))
        del found[TOP]
        return found

    def _line(
        self, index: int, opened: dict[int, Ports], levels: dict[int, Assembled], boxes: dict[int, Box]
    ) -> Points:
        edge = self.scene.edges[index]
        number = self.number.get(edge.source, TOP)
        if edge.source == edge.target and number != TOP and not self.scene.nodes[number].aside:
            return _loop(boxes[number], self.measures)
        points: Points = ()
        for group, crossing in self.paths[index]:
            origin = boxes[group] if group != TOP else Box(0.0, 0.0, 0.0, 0.0)
            route = opened[group].settled.routes[levels[group].edge_of[crossing]]
            points += moved(route, origin.x, origin.y)
        return joined(points)


def _loop(box: Box, measures: Measures) -> Points:
    """Return the line of an edge from a node to itself, around its right side."""
    turn = measures.bend_gap * 0.6
    middle, right = box.x + box.width / 2, box.x + box.width + turn
    top, bottom = box.y, box.y + box.height
    line = (
        (middle, bottom),
        (middle, bottom + turn),
        (right, bottom + turn),
        (right, top - turn),
        (middle, top - turn),
        (middle, top),
    )
    return tuple(round(number, 1) for point in line for number in point)


def key_of(scene: Scene) -> str:
    """Return a hash of the content of a scene."""
    digest = blake2b(digest_size=12)
    for node in scene.nodes:
        digest.update(repr((node.id, node.label, node.expanded, node.aside, node.aux)).encode())
    for edge in scene.edges:
        digest.update(repr((edge.source, edge.target, edge.control)).encode())
    return digest.hexdigest()
