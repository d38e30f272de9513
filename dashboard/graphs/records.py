"""A GraphDef as columns: nodes, edges, descriptions of its tensors, functions, and problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.attributes import LARGEST_WHOLE, Attribute, attribute_of, whole_text
from stepscope.dashboard.graphs.element_types import Shape
from stepscope.summary.proto.graph_pb2 import NodeDef

ProblemKind = Literal[
    "dangling input",
    "duplicate name",
    "unnamed node",
    "cycle",
    "recursion",
    "too large",
    "unknown function",
]
MOST_EXAMPLES: Final = 5


@dataclass(frozen=True)
class Problem:
    """What is wrong with a graph, of one kind; the graph is shown as far as it goes."""

    kind: ProblemKind
    message: str
    """A sentence without the count."""
    count: int
    examples: tuple[str, ...]
    """The first examples, at most `MOST_EXAMPLES`."""


@dataclass(frozen=True)
class FunctionCall:
    """A function that a node calls."""

    attribute: str
    """The attribute with its name, such as "f", "body" or "then_branch"; empty if it is the node's operation."""
    function: str


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A graph of n nodes and e edges; arrays are parallel and must not be modified."""

    names: tuple[str, ...]
    """[n], unique."""
    ops: tuple[str, ...]
    devices: tuple[str, ...]
    xla: tuple[str, ...]
    """[n]: XLA clusters; empty for none."""
    source: NDArray[np.int64]
    """[e]: the node that an edge leaves."""
    target: NDArray[np.int64]
    source_slot: NDArray[np.int32]
    """[e]: index of the output; -1 for a control edge."""
    target_slot: NDArray[np.int32]
    """[e]: index of the input; -1 for a control edge."""
    control: NDArray[np.bool_]
    reference: NDArray[np.bool_]
    """[e]: whether the edge passes a variable rather than its value."""
    shapes: Mapping[tuple[int, int], Shape | None]
    """(node, output) to shape, for those given in the graph."""
    dtypes: Mapping[tuple[int, int], str]
    """(node, output) to element type, such as "float32"."""
    functions: Mapping[str, "GraphModel"]
    """The bodies of the graph's functions, by name; arguments are "_Arg" nodes and results "_Retval" nodes."""
    function_calls: Mapping[int, tuple[FunctionCall, ...]]
    """Nodes that call functions of the graph."""
    problems: tuple[Problem, ...]
    problem_nodes: NDArray[np.int64]
    """The nodes affected by problems; each is listed once per problem."""
    problem_kinds: tuple[ProblemKind, ...]
    """Kinds of the problems, parallel to ``problem_nodes``."""
    messages: Sequence[NodeDef] = field(repr=False)
    """[n]: the message of each node in the graph."""

    def __len__(self) -> int:
        return len(self.names)

    def attributes(self, node: int) -> Mapping[str, Attribute]:
        """Return the node's attributes as short texts, by name; large ones are only measured.

        Raises:
            IndexError: there is no such node.
        """
        stored = self.messages[node].attr
        return {name: attribute_of(stored[name]) for name in sorted(stored)}

    def attribute_text(self, node: int, name: str, limit: int = LARGEST_WHOLE) -> tuple[str, bool]:
        """Return the full text of one attribute, and whether it was cut, as `attributes.whole_text` does.

        Raises:
            IndexError: there is no such node.
            KeyError: the node has no such attribute.
        """
        stored = self.messages[node].attr
        if name not in stored:
            raise KeyError(name)
        return whole_text(stored[name], limit)
