"""``/data/plugin/graphs``: TensorBoard's routes."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME, RunName, TagName
from stepscope.dashboard.server.work import HeavyRoute
from stepscope.dashboard.tensorboard.graph_parts import leave_out_large_attributes, tensorboards_graph_of_functions
from stepscope.dashboard.tensorboard.messages import text_answer
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.event_file import RUN_GRAPH_TAG
from stepscope.summary.graphs.from_keras import graph_from_keras
from stepscope.summary.kinds.base import Payload, PayloadError
from stepscope.summary.kinds.graph import FUNCTIONS_PLUGIN_NAME, KERAS_PLUGIN_NAME, PLUGIN_NAME
from stepscope.summary.kinds.run_metadata import PLUGIN_NAME as RUN_METADATA
from stepscope.summary.kinds.run_metadata import TAGGED_PLUGIN_NAME as TAGGED_RUN_METADATA
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.series import Run, Series
from stepscope.summary.snapshot import Snapshot

_FIELDS: Final = {
    FUNCTIONS_PLUGIN_NAME: ("op_graph",),
    RUN_METADATA: ("op_graph", "profile"),
    KERAS_PLUGIN_NAME: ("conceptual_graph",),
    TAGGED_RUN_METADATA: ("profile",),
}
"""What a series of each kind holds."""


def is_known(series: Series) -> bool:
    """Return whether the series has a version that can be read; data of older events has none."""
    return series.kind == TAGGED_RUN_METADATA or series.plugin_content == b"1"


def graphs_of(run: Run) -> dict[str, Any] | None:
    """Return a run's graphs and profiles by tag; None if it has none."""
    if run.kinds.isdisjoint({*_FIELDS, PLUGIN_NAME}):
        return None
    tags: dict[str, dict[str, Any]] = {}
    for series in run.series.values():
        if series.kind in _FIELDS and is_known(series):
            nothing = {"tag": series.tag, "conceptual_graph": False, "op_graph": False, "profile": False}
            tags.setdefault(series.tag, nothing).update(dict.fromkeys(_FIELDS[series.kind], True))
    graph = run.series.get(RUN_GRAPH_TAG)
    has_graph = graph is not None and graph.kind == PLUGIN_NAME
    return {"run": run.name, "run_graph": has_graph, "tags": tags} if tags or has_graph else None


def read_last(snapshot: Snapshot, run: str, tag: str, kinds: Iterable[str]) -> Payload:
    """Return the last payload of a tag.

    Raises:
        HTTPException: 404 if the run has no such tag of one of the kinds, 422 if it cannot be read.
    """
    series = snapshot.series(run, tag)
    if series is None or series.kind not in kinds or not len(series):
        known = "unknown run" if run not in snapshot.runs else "this run has no graph with that tag"
        raise HTTPException(404, f"No graph for run {run!r}, tag {tag!r}: {known}. See /data/plugin/graphs/info.")
    try:
        return series.read(len(series) - 1)
    except PayloadError as error:
        raise HTTPException(422, f"No graph: {error}.") from error


def find_graph(snapshot: Snapshot, run: str, tag: str | None, *, conceptual: bool) -> GraphDef:
    """Return the graph of the run or of a tag: of a Keras model's layers, or of operations.

    Raises:
        HTTPException: 404 if there is none, 422 if it cannot be read.
    """
    if conceptual:
        model = read_last(snapshot, run, tag or "", (KERAS_PLUGIN_NAME,))
        try:
            return graph_from_keras(model.json)
        except ValueError as error:
            raise HTTPException(422, f"No graph: {error}.") from error
    if tag is None:
        graph: GraphDef = read_last(snapshot, run, RUN_GRAPH_TAG, (PLUGIN_NAME,))
        return graph
    return tensorboards_graph_of_functions(read_last(snapshot, run, tag, (RUN_METADATA, FUNCTIONS_PLUGIN_NAME)))


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(tags=["graphs"], route_class=HeavyRoute)

    @routes.get("/data/plugin/graphs/info")
    def info() -> dict[str, dict[str, Any]]:
        """Run -> whether it has its own graph, and which of its tags hold graphs and profiles."""
        return {name: found for name, run in live.snapshot().runs.items() if (found := graphs_of(run)) is not None}

    @routes.get("/data/plugin/graphs/graph", response_class=Response)
    def graph(
        run: RunName,
        tag: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
        conceptual: bool = False,
        limit_attr_size: Annotated[int | None, Query(ge=1, description="Bytes.")] = None,
        large_attrs_key: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    ) -> Response:
        """Return a GraphDef as text protobuf: of the run, of a tag's functions, or (``conceptual``) of a Keras model's
        layers.

        Attributes larger than ``limit_attr_size`` are replaced by their names, in the attribute ``large_attrs_key``.
        """
        if limit_attr_size is not None and not large_attrs_key:
            raise HTTPException(
                400, "limit_attr_size needs large_attrs_key, which takes the names of what is left out."
            )
        found = find_graph(live.snapshot(), run, tag, conceptual=conceptual)
        if limit_attr_size is not None and large_attrs_key:
            leave_out_large_attributes(found, limit_attr_size, large_attrs_key)
        return text_answer(found)

    @routes.get("/data/plugin/graphs/run_metadata", response_class=Response)
    def run_metadata(run: RunName, tag: TagName) -> Response:
        """Return RunMetadata as text protobuf: the step stats of a profiled step."""
        return text_answer(read_last(live.snapshot(), run, tag, (TAGGED_RUN_METADATA, RUN_METADATA)))

    return routes


PLUGIN: Final = TensorboardPlugin(
    name="graphs",
    tab="graphs",
    kinds=(PLUGIN_NAME, KERAS_PLUGIN_NAME, FUNCTIONS_PLUGIN_NAME, RUN_METADATA, TAGGED_RUN_METADATA),
    router=router,
    reloads=False,
)
