"""The graphs of a dump: their nesting, and their operations with inputs and consumers."""

from dataclasses import dataclass, field
from sys import intern
from typing import Final, NamedTuple

from stepscope.summary.names import LONGEST_NAME
from stepscope.summary.proto.debug_event_pb2 import DebuggedDevice, DebuggedGraph, GraphOpCreation

MOST_GRAPHS: Final = 100_000
MOST_BYTES: Final = 200 << 20
"""Estimated memory limit for all operations: enough for about 150,000."""
DEEPEST: Final = 1_000
"""Maximum nesting depth of graphs that is followed."""


class Operation(NamedTuple):
    """An operation of a graph."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    """"name:slot" of each input."""
    output_ids: tuple[int, ...]
    """A number for each output, unique among the tensors of the dump."""
    stack: int
    """The number of the stack that made it."""
    host: str
    wall_time: float


class Consumer(NamedTuple):
    """A consumer of an operation's output."""

    slot: int
    operation: str
    input_slot: int


@dataclass
class Graph:
    """A graph; the information about it only grows."""

    graph_id: str
    name: str | None = None
    outer_id: str | None = None
    known: bool = False
    """Whether the graph was described, and not only referred to by others."""
    inner_ids: dict[str, None] = field(default_factory=dict)
    """Each once, in the order in which they were described."""
    operations: dict[str, Operation] = field(default_factory=dict)
    consumers: dict[str, list[Consumer]] = field(default_factory=dict)


class Graphs:
    """All graphs by id; one thread adds, any thread may read."""

    def __init__(self) -> None:
        self._graphs: dict[str, Graph] = {}
        self.devices: Final[dict[int, str]] = {}
        self.operations = 0
        self.bytes = 0
        """Estimated memory use in bytes."""

    def __len__(self) -> int:
        return len(self._graphs)

    def find(self, graph_id: str) -> Graph | None:
        """Return the graph, if it was described."""
        found = self._graphs.get(graph_id)
        return found if found is not None and found.known else None

    def operation(self, graph_id: str, name: str) -> Operation | None:
        """Return an operation, if it was described."""
        graph = self._graphs.get(graph_id)
        return None if graph is None else graph.operations.get(name)

    def enclosing(self, graph_id: str) -> list[str]:
        """Return the ids of the graphs that enclose a graph, outermost first, and its own; cycles are broken."""
        chain = {graph_id: None}
        graph = self._graphs.get(graph_id)
        while graph is not None and graph.outer_id and graph.outer_id not in chain and len(chain) < DEEPEST:
            chain[graph.outer_id] = None
            graph = self._graphs.get(graph.outer_id)
        return list(reversed(chain))

    def add_graph(self, graph: DebuggedGraph) -> str | None:
        """Add a graph; return what is wrong with it, if anything."""
        if len(graph.graph_id) > LONGEST_NAME or len(graph.outer_context_id) > LONGEST_NAME:
            return f"an identifier of a graph has more than {LONGEST_NAME:,} characters"
        if len(self._graphs) >= MOST_GRAPHS:
            return f"there are more than {MOST_GRAPHS:,} graphs"
        found = self._graphs.setdefault(graph.graph_id, Graph(graph.graph_id))
        found.known = True
        found.name = graph.graph_name[:LONGEST_NAME] or None
        found.outer_id = graph.outer_context_id or None
        if found.outer_id is not None:
            outer = self._graphs.setdefault(found.outer_id, Graph(found.outer_id))
            outer.inner_ids[graph.graph_id] = None
        return None

    def add_device(self, device: DebuggedDevice) -> str | None:
        """Add a device; return what is wrong with it, if anything."""
        if len(self.devices) >= MOST_GRAPHS:
            return f"there are more than {MOST_GRAPHS:,} devices"
        self.devices[device.device_id] = device.device_name[:LONGEST_NAME]
        return None

    def add_operation(self, wall_time: float, creation: GraphOpCreation, stack: int) -> str | None:
        """Add an operation; return what is wrong with it, if anything."""
        if len(creation.op_name) > LONGEST_NAME or len(creation.graph_id) > LONGEST_NAME:
            return f"a name of an operation has more than {LONGEST_NAME:,} characters"
        if self.bytes >= MOST_BYTES or len(self._graphs) >= MOST_GRAPHS:
            return f"there are more than {MOST_GRAPHS:,} graphs, or more operations than fit in {MOST_BYTES >> 20} MiB"
        graph = self._graphs.setdefault(creation.graph_id, Graph(creation.graph_id))
        if creation.op_name in graph.operations:
            return "the graph has another operation of the same name"
        inputs = tuple(name[:LONGEST_NAME] for name in creation.input_names)
        graph.operations[creation.op_name] = Operation(
            creation.op_name,
            intern(creation.op_type[:LONGEST_NAME]),
            inputs,
            tuple(creation.output_tensor_ids),
            stack,
            intern(creation.code_location.host_name[:LONGEST_NAME]),
            wall_time,
        )
        self.operations += 1
        self.bytes += 600 + len(creation.op_name) + sum(map(len, inputs)) + 300 * len(inputs)
        self.bytes += 40 * len(creation.output_tensor_ids)
        for input_slot, tensor in enumerate(inputs):
            source, slot = operation_and_slot(tensor)
            graph.consumers.setdefault(source, []).append(Consumer(slot, creation.op_name, input_slot))
        return None


def operation_and_slot(tensor: str) -> tuple[str, int]:
    """Return the operation and output index that "name:slot" refers to; without a number, the first output."""
    name, colon, slot = tensor.rpartition(":")
    return (name, int(slot)) if colon and slot.isascii() and slot.isdecimal() and len(slot) < 10 else (tensor, 0)
