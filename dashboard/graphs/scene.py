"""What of a graph is visible for an expansion state, without places."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboard.graphs.tree import Kind, Tree


@dataclass(frozen=True)
class SceneNode:
    """A visible entry of the tree: an operation, or a group, open or closed."""

    id: str
    """The entry's path."""
    label: str
    """What is written on it: the last part of the path, of a series its members."""
    kind: "Kind"
    op: str
    """Of an operation or a function call; empty for a group. Of a series, its members' common one."""
    parent: str | None
    """The expanded group that contains it; None at the top."""
    expanded: bool
    count: int
    """Operations inside; 1 for an operation."""
    aux: tuple[str, ...]
    """Paths of the auxiliary entries that are folded into it."""
    structure: int
    """Equal numbers are alike subtrees."""
    device: str
    """Empty where none is stated; "(several)" where those inside differ."""
    xla: str
    """XLA cluster, as `device`."""
    parameters: int
    """Elements of trainable weights inside, with those folded into it."""
    flops: float | None
    """Floating-point operations of those inside where it is known; None where it is known of none."""
    problems: int
    aside: bool
    """Set aside, by hand or for its degree: it is drawn beside the graph, without edges."""


@dataclass(frozen=True)
class SceneEdge:
    """All edges from one visible node to another."""

    source: str
    target: str
    control: bool
    """Whether all of them are control edges."""
    reference: bool
    """Whether any of them hands a variable on, not its value."""
    tensors: int
    """Different tensors among them."""
    bytes: int | None
    """Of those tensors; None where the size of none is known."""
    label: str
    """Shape and dtype of one tensor, or "3 tensors"."""


@dataclass(frozen=True)
class Scene:
    """The visible part of a graph."""

    nodes: tuple[SceneNode, ...]
    """Parents before children; siblings in the graph's order."""
    edges: tuple[SceneEdge, ...]
    """Between visible entries that are not expanded, wherever they are."""


def scene_of(
    tree: "Tree",
    expanded: frozenset[str] = frozenset(),
    aside: frozenset[str] = frozenset(),
    back: frozenset[str] = frozenset(),
) -> Scene:
    """What is visible when ``expanded`` groups are open; unknown paths in any of the sets are passed over.

    A group is open only if all groups around it are.

    Args:
        tree: The graph.
        expanded: Paths of the open groups.
        aside: Paths of entries set aside by hand.
        back: Paths of entries that are shown in place though they would be set aside or folded into another.
    """
    raise NotImplementedError
