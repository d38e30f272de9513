"""Shared by the graph routes: their parameters, and the lookup of a graph and its entries."""

from typing import Annotated, Final

from fastapi import HTTPException, Query

from stepscope.dashboard.graphs.sources import (
    GraphCache,
    GraphSource,
    GraphUnavailableError,
    OpenGraph,
    find_graph_source,
)
from stepscope.dashboard.graphs.tree import Tree
from stepscope.dashboard.server.live import Live

LONGEST: Final = 16_384
"""Maximum number of characters of a name or an id."""

GraphId = Annotated[str, Query(alias="id", max_length=LONGEST, description="An id of the listing.")]
FunctionName = Annotated[
    str | None, Query(alias="function", max_length=LONGEST, description="A function of the graph; none for all of it.")
]
EntryId = Annotated[str, Query(alias="node", max_length=LONGEST, description="A node or group, by its path.")]


class GraphRequests:
    """Finds graphs named by requests, limited to those in the log directory."""

    def __init__(self, live: Live) -> None:
        self._live: Final = live
        self.cache: Final = live.shared(GraphCache)

    def source(self, graph_id: str) -> GraphSource:
        """Return the listed graph; `HTTPException` 404 if none has this id."""
        try:
            return find_graph_source(self._live.snapshot(), graph_id)
        except GraphUnavailableError as error:
            raise HTTPException(404, str(error)) from error

    def opened(self, graph_id: str) -> OpenGraph:
        """Return the graph, reading it first if necessary; `HTTPException` 404 or 422 if it cannot be shown."""
        source = self.source(graph_id)
        try:
            return self.cache.get(source)
        except GraphUnavailableError as error:
            raise HTTPException(422, str(error)) from error

    def tree(self, graph_id: str, function: str | None = None) -> Tree:
        """Return the tree of a graph, or of one of its functions.

        Raises as `opened` does, and 404 if the graph does not have the function.
        """
        opened = self.opened(graph_id)
        try:
            return opened.tree(function)
        except GraphUnavailableError as error:
            raise HTTPException(404, str(error)) from error


def entry_of(tree: Tree, path: str) -> int:
    """Return the entry with this path; `HTTPException` 404 if there is none."""
    entry = tree.entry_of.get(path)
    if not entry:
        raise HTTPException(404, f"The graph has no node {path!r}; it may be of another graph or function.")
    return entry
