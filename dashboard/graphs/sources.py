"""Sources of graphs: a pure listing of those in a snapshot, and a bounded cache of opened ones."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from threading import Lock
from typing import Final, Literal, assert_never

from stepscope.dashboard.graphs.bodies import MOST_NODES
from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.records import GraphModel
from stepscope.dashboard.graphs.tree import Tree, tree_of
from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.dashboard.tensorboard.graphs import is_known
from stepscope.summary.errors import reason_of
from stepscope.summary.event_file import RUN_GRAPH_TAG
from stepscope.summary.graphs.from_keras import graph_from_keras
from stepscope.summary.graphs.functions import graph_of_functions
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.graph import FUNCTIONS_PLUGIN_NAME, KERAS_PLUGIN_NAME, PLUGIN_NAME
from stepscope.summary.kinds.run_metadata import PLUGIN_NAME as RUN_METADATA
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

GraphKind = Literal["op", "keras", "profile"]
"""Operations; layers of a Keras model; graphs of a profile."""

_KINDS: Final[dict[str, GraphKind]] = {
    PLUGIN_NAME: "op",
    FUNCTIONS_PLUGIN_NAME: "op",
    KERAS_PLUGIN_NAME: "keras",
    RUN_METADATA: "profile",
}
_MOST_TREES: Final = 8
_MOST_LISTED: Final = 10_000


class GraphUnavailableError(Exception):
    """A graph cannot be shown; the message explains why to the user."""


@dataclass(frozen=True)
class GraphSource:
    """One graph of a snapshot, not yet opened: the last one of its tag."""

    id: str
    """``<run>|graph|<tag>``."""
    run: str
    tag: str
    kind: GraphKind
    label: str
    steps: tuple[int, ...]
    """Steps of all graphs of the tag."""
    version: int
    """Equal for the same content: a cached graph with another version is read again."""
    origin: Series = field(repr=False, compare=False)
    run_title: str = ""
    """Title of the run."""


def has_graphs(snapshot: Snapshot) -> bool:
    """Return whether the snapshot may have a graph, without reading any file."""
    return not snapshot.kinds.isdisjoint(_KINDS)


def graph_sources(snapshot: Snapshot) -> tuple[GraphSource, ...]:
    """Return all graphs of the snapshot, by run: first the run's own graph, then by tag."""
    return tuple(source for run in snapshot.runs for source in _of_run(snapshot, run))


def find_graph_source(snapshot: Snapshot, graph_id: str) -> GraphSource:
    """Return the listed graph with this id.

    Raises:
        GraphUnavailableError: the snapshot lists no such graph.
    """
    run = graph_id.partition("|graph|")[0]
    if run in snapshot.runs:
        for source in _of_run(snapshot, run):
            if source.id == graph_id:
                return source
    raise GraphUnavailableError(
        f"There is no graph {graph_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def _of_run(snapshot: Snapshot, run: str) -> Iterator[GraphSource]:
    if snapshot.runs[run].kinds.isdisjoint(_KINDS):
        return
    found = [s for kind in _KINDS for s in snapshot.runs[run].of_kind(kind) if kind == PLUGIN_NAME or is_known(s)]
    found.sort(key=lambda s: (s.tag != RUN_GRAPH_TAG, s.tag))
    for series in found:
        if not len(series):
            continue
        own = series.tag == RUN_GRAPH_TAG and series.kind == PLUGIN_NAME
        yield GraphSource(
            id=f"{run}|graph|{series.tag}",
            run=run,
            tag=series.tag,
            kind=_KINDS[series.kind],
            label="graph of the run" if own else series.display_name or series.tag,
            steps=tuple(series.steps.tolist()),
            version=series.version,
            origin=series,
            run_title=snapshot.run_title(run),
        )


def read_graph(source: GraphSource) -> GraphDef:
    """Return the stored graph: for a Keras model, its layers; for a traced function, its graphs as one.

    Raises:
        GraphUnavailableError: the graph no longer exists, is damaged, or is empty.
    """
    try:
        payload = source.origin.read(len(source.origin) - 1)
        match source.kind:
            case "keras":
                return graph_from_keras(payload.json)
            case "op" if source.origin.kind == PLUGIN_NAME:
                graph: GraphDef = payload
                return graph
            case "op" | "profile":
                return graph_of_functions(payload)
            case _:
                assert_never(source.kind)
    except (OSError, IndexError, PayloadError, ValueError) as error:
        reason = reason_of(error)
        raise GraphUnavailableError(
            f"The graph {source.label!r} of run {source.run!r} cannot be read: {reason}."
        ) from error


class OpenGraph:
    """A graph in memory with the requested trees; thread-safe."""

    def __init__(self, source: GraphSource, graph_def: GraphDef) -> None:
        self.source: Final = source
        self.graph_def: Final = graph_def
        self.model: Final[GraphModel] = model_of(graph_def)
        self.bytes: Final = 12 * _size(graph_def) + 4_096
        """Estimated memory use."""
        self._trees: OrderedDict[str, Tree] = OrderedDict()
        self._lock = Lock()

    def tree(self, function: str | None = None, most_nodes: int = MOST_NODES) -> Tree:
        """Return the tree of the graph, or of the body of one of its functions.

        Raises:
            GraphUnavailableError: the graph has no such function.
        """
        name = function or ""
        if name and name not in self.model.functions:
            raise GraphUnavailableError(f"The graph has no function {name!r}; choose one from the list.")
        with self._lock:
            if name not in self._trees:
                self._trees[name] = tree_of(self.model.functions[name] if name else self.model, most_nodes)
                if len(self._trees) > _MOST_TREES:
                    self._trees.popitem(last=False)
            self._trees.move_to_end(name)
            return self._trees[name]


def _size(graph_def: GraphDef) -> int:
    """Return the bytes of a graph's nodes, measured one by one, as protobuf blocks all other threads meanwhile."""
    functions = (node for function in graph_def.library.function for node in function.node_def)
    return sum(node.ByteSize() for node in chain(graph_def.node, functions))


def open_graph(source: GraphSource) -> OpenGraph:
    """Read a graph; raises as `read_graph` does."""
    return OpenGraph(source, read_graph(source))


def _functions_in(source: GraphSource) -> tuple[str, ...]:
    if source.kind == "keras":
        return ()
    try:
        library = read_graph(source).library.function
    except GraphUnavailableError:
        return ()
    return tuple(sorted({function.signature.name for function in library}))


class GraphCache(OpenedCache[GraphSource, OpenGraph]):
    """The most recently opened graphs, and the function names of every graph that was requested."""

    def __init__(
        self,
        *,
        max_graphs: int = 8,
        max_bytes: int = 4 << 30,
        opener: Callable[[GraphSource], OpenGraph] = open_graph,
    ) -> None:
        super().__init__(opener, GraphUnavailableError, most=max_graphs, max_bytes=max_bytes)
        self._functions: OrderedDict[tuple[str, int], tuple[str, ...]] = OrderedDict()

    def functions(self, source: GraphSource) -> tuple[str, ...]:
        """Return the names of the graph's functions, without keeping it open; none if it cannot be read."""
        key = (source.id, source.version)
        with self._lock:
            known = self._functions.get(key)
        if known is None:
            known = _functions_in(source)
            with self._lock:
                self._functions[key] = known
                if len(self._functions) > _MOST_LISTED:
                    self._functions.popitem(last=False)
        return known

    def lists(self, source: GraphSource) -> bool:
        """Return whether `functions` already has the answer."""
        with self._lock:
            return (source.id, source.version) in self._functions
