"""JSON responses of the Graph panel's routes; the page's types are generated from these classes."""

from typing import Final, NotRequired, TypedDict

from stepscope.dashboard.graphs.cards import Card
from stepscope.dashboard.graphs.compare import Comparison
from stepscope.dashboard.graphs.measures import Measures
from stepscope.dashboard.graphs.records import Problem
from stepscope.dashboard.graphs.scene import SceneEdge, SceneNode
from stepscope.dashboard.graphs.search import Search
from stepscope.dashboard.graphs.walks import Walk


class Size(TypedDict):
    """Size of a graph."""

    nodes: int
    edges: int


class Totals(Size):
    """Sums over a whole graph."""

    parameters: int
    bytes: int
    flops: float | None


class GraphRow(TypedDict):
    """A graph of the log directory; if it is open, with its size and problems."""

    id: str
    run: str
    tag: str
    kind: str
    label: str
    steps: tuple[int, ...]
    opened: bool
    functions: tuple[str, ...]
    total: NotRequired[Size]
    problems: NotRequired[list[Problem]]


class ClosedGraph(TypedDict):
    """A graph that cannot be shown."""

    id: str
    problem: str


class Cost(TypedDict):
    """Cost of an entry in a profiled step or a trace."""

    time_ns: int
    bytes: int
    ran: bool
    ran_count: int
    calls: int


class CostTotal(TypedDict):
    """Total cost of all entries."""

    time_ns: int
    bytes: int
    ran_count: int


class OpCost(TypedDict):
    """Cost of all nodes of an operation."""

    op: str
    time_ns: int
    calls: int


class CostsAnswer(TypedDict):
    """Costs by the paths of entries."""

    total: CostTotal
    devices: tuple[str, ...]
    matched: int
    unmatched: int
    unmatched_names: tuple[str, ...]
    by_op: list[OpCost]
    costs: dict[str, Cost]
    problem: NotRequired[str]


class AttributeText(TypedDict):
    """An attribute of a node, truncated if it is too long."""

    node: str
    name: str
    text: str
    truncated: bool


class Place(TypedDict):
    """Position of a node in a scene: its upper left corner and its size, in units of the graph."""

    x: float
    y: float
    w: float
    h: float


class EdgePoints(TypedDict):
    """The line of an edge of a scene."""

    points: list[float]
    """x0, y0, x1, y1, ..."""


class SceneFrame(TypedDict):
    """A scene without its nodes and edges."""

    key: str
    x: float
    y: float
    width: float
    height: float
    measures: Measures
    aside: list[SceneNode]
    problems: list[Problem]
    total: Totals


MESSAGES: Final = (
    GraphRow, ClosedGraph, Card, CostsAnswer, AttributeText, Comparison, Search, Walk, SceneNode, SceneEdge, Place,
    EdgePoints, SceneFrame,
)  # fmt: skip
