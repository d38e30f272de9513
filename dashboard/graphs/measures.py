"""Sizes of graph elements in CSS pixels: the constants that the layout and the client share."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from stepscope.dashboard.graphs.scene import SceneNode

Measure: TypeAlias = Callable[[str], float]
"""Width of a label in pixels."""


@dataclass(frozen=True)
class Measures:
    """Sizes and gaps in pixels."""

    font: int = 12
    op_height: float = 26.0
    group_height: float = 34.0
    series_height: float = 34.0
    series_stack: float = 4.0
    """Extent of a series' stack to the right and below; part of its box."""
    min_width: float = 70.0
    max_width: float = 220.0
    label_padding: float = 12.0
    """Padding on each side of a label."""
    group_extra: float = 34.0
    """Extra width of a group's label: the count of nodes, up to three digits, and the expand button."""
    long_count: float = 18.0
    """Additional width for counts from 1,000."""
    badge: float = 20.0
    """Space to the right of a node with auxiliaries, outside its box."""
    header: float = 30.0
    """Height of the top of an expanded group, which has its name."""
    padding: float = 16.0
    """Padding between the border of an expanded group and its content."""
    gap: float = 18.0
    """Gap between neighbors in a row."""
    bend_gap: float = 10.0
    """Gap between an edge and what it passes, and between parallel edges."""
    row_gap: float = 30.0
    """Minimum gap between rows."""
    most_row_gap: float = 84.0
    port_gap: float = 14.0
    """Gap between edges that cross a group's border."""
    inset: float = 10.0
    """Minimum distance of edges from a node's corners."""

    def as_json(self) -> dict[str, Any]:
        """Return all values by name."""
        return asdict(self)


MEASURES: Final = Measures()
_NARROW: Final = dict.fromkeys("ijl.,:;'|!()[]{}`", 3.6) | dict.fromkeys('frt/\\ -"*', 4.7)
_WIDE: Final = dict.fromkeys("mwMW@%", 11.2) | dict.fromkeys("ABCDEGHKNOPQRSUVXYZ_&+=<>~#", 8.4)
_ADVANCE: Final = {**_NARROW, **_WIDE}
_LETTER: Final = 7.2
_FULL_WIDTH: Final = 12.0


def text_width(label: str) -> float:
    """Return the approximate width of 12 px sans text in the widest common system font, so that no name is cut."""
    return sum(_ADVANCE.get(character, _LETTER if character < "\u2e80" else _FULL_WIDTH) for character in label)


@dataclass(frozen=True)
class Size:
    """Size of a node's box."""

    width: float
    height: float
    badge: float = 0.0
    """Space to the right of the box."""


def size_of(node: SceneNode, measure: Measure, measures: Measures = MEASURES) -> Size:
    """Return the size of a node when collapsed, even if it is expanded."""
    plain = node.kind in ("op", "function")
    counted = measures.group_extra + (measures.long_count if node.count >= 1000 else 0.0)
    extra = 2 * measures.label_padding + (0.0 if plain else counted)
    width = round(min(max(measure(node.label) + extra, measures.min_width), measures.max_width))
    badge = measures.badge if node.aux else 0.0
    match node.kind:
        case "op" | "function":
            return Size(width, measures.op_height, badge)
        case "series":
            return Size(width + measures.series_stack, measures.series_height + measures.series_stack, badge)
        case _:
            return Size(width, measures.group_height, badge)
