"""What the routes of the Graph panel answer, as JSON; the page's types of it are made from these."""

from typing import Final, NotRequired, TypedDict

from stepscope.dashboard.graphs.cards import Card
from stepscope.dashboard.graphs.compare import Comparison
from stepscope.dashboard.graphs.measures import Measures
from stepscope.dashboard.graphs.records import Problem
from stepscope.dashboard.graphs.scene import SceneEdge, SceneNode
from stepscope.dashboard.graphs.search import Search
from stepscope.dashboard.graphs.walks import Walk


class Size(TypedDict):
    """How large a graph is."""

    nodes: int
    edges: int


class Totals(Size):
    """Sums over a whole graph."""

    parameters: int
    bytes: int
    flops: float | None


class GraphRow(TypedDict):
    """A graph of the log directory; sizes and problems of one that is open."""

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
    """What an entry took in a profiled step or a trace."""

    time_ns: int
    bytes: int
    ran: bool
    ran_count: int
    calls: int


class CostTotal(TypedDict):
    """What all entries took together."""

    time_ns: int
    bytes: int
    ran_count: int


class OpCost(TypedDict):
    """What all nodes of an operation took."""

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
    """An attribute of a node, as far as it is not too long."""

    node: str
    name: str
    text: str
    truncated: bool


class Place(TypedDict):
    """Where a node of a scene is: its upper left corner and its size, in units of the graph."""

    x: float
    y: float
    w: float
    h: float


class EdgePoints(TypedDict):
    """The line of an edge of a scene."""

    points: list[float]
    """x0, y0, x1, y1, ..."""


class SceneFrame(TypedDict):
    """What surrounds the nodes and edges of a scene."""

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
