"""Routes that read graphs, mounted under ``/api/graph``: lists, cards, searches, walks, costs and comparisons.

Every route is a plain function: FastAPI runs it in a thread, so that opening a large graph never blocks the event loop.
Client errors are answered with a 4xx status and ``{"detail": <sentence>}``.
"""

from dataclasses import asdict
from time import monotonic
from typing import Annotated, Any, Final, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response

from stepscope.dashboard.graphs.attributes import LARGEST_WHOLE
from stepscope.dashboard.graphs.cards import card_of
from stepscope.dashboard.graphs.compare import compare
from stepscope.dashboard.graphs.costs import Costs, costs_of_step_stats, costs_of_trace
from stepscope.dashboard.graphs.search import Match, Place, search
from stepscope.dashboard.graphs.sources import GraphSource, GraphUnavailableError, OpenGraph, graph_sources
from stepscope.dashboard.graphs.tree import Tree
from stepscope.dashboard.graphs.walks import Way, path, trace
from stepscope.dashboard.panels.graph.requests import LONGEST, EntryId, FunctionName, GraphId, GraphRequests, entry_of
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.sentence_routes import SentenceRoute, json_answer
from stepscope.dashboard.server.work import Pieces
from stepscope.dashboard.traces.requests import TraceRequests
from stepscope.dashboard.traces.sources import TraceSource
from stepscope.summary.contents import Companion
from stepscope.summary.graphs.files import binary_pieces, text_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError

MOST_RESULTS: Final = 1_000
MOST_CHANGES: Final = 5_000

LONGEST_LISTING: Final = 0.5
"""Maximum time, in seconds, that a listing spends reading graphs."""

Limit = Annotated[int, Query(ge=1, le=MOST_RESULTS)]


def make_router(live: Live) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    router = APIRouter(tags=["graph"], route_class=SentenceRoute)
    _add_lists(router, live)
    _add_nodes(router, live)
    _add_walks(router, live)
    _add_costs(router, live)
    return router


def _add_lists(router: APIRouter, live: Live) -> None:
    requested = GraphRequests(live)

    @router.get("/graphs")
    def graphs(request: Request) -> Response:
        """Return the graphs of the log directory, by run.

        Functions are listed for as many graphs as can be read at once, and for the next ones on the next request; sizes
        and problems are listed for open graphs.
        """
        end = monotonic() + LONGEST_LISTING
        rows = []
        for source in graph_sources(live.snapshot()):
            known = requested.cache.lists(source) or monotonic() < end
            rows.append(_row(source, requested.cache.peek(source), requested.cache.functions(source) if known else ()))
        return json_answer(request, rows)

    @router.get("/graph")
    def graph(request: Request, graph_id: GraphId) -> Response:
        """Open one graph of the listing and return its functions, its size, and its problems.

        A graph that cannot be shown is not a client error: the answer is then ``{"id": ..., "problem": <sentence>}``.
        """
        source = requested.source(graph_id)
        try:
            opened = requested.cache.get(source)
            return json_answer(request, _row(source, opened, tuple(sorted(opened.model.functions))))
        except GraphUnavailableError as error:
            return json_answer(request, {"id": graph_id, "problem": str(error)})

    @router.get("/compare")
    def comparison(
        request: Request,
        ids: Annotated[list[str], Query(alias="id", min_length=2, max_length=2, description="Before, and after.")],
        function: FunctionName = None,
    ) -> Response:
        """Return the nodes added, removed and changed between two graphs, or between two functions."""
        before, after = (requested.tree(graph_id, function) for graph_id in ids)
        return json_answer(request, asdict(compare(before, after, MOST_CHANGES)))

    @router.get("/export")
    def export(graph_id: GraphId, format: Literal["pbtxt", "pb"] = "pbtxt") -> Response:
        """Return the GraphDef for download, as text or binary protobuf."""
        opened = requested.opened(graph_id)
        graph_def = opened.graph_def
        headers = attachment(f"{opened.source.run}_{opened.source.tag}", format)
        if format == "pbtxt":
            return Response(text_of(graph_def), media_type="text/plain; charset=utf-8", headers=headers)
        return Pieces(binary_pieces(graph_def), media_type="application/octet-stream", headers=headers)


def _add_nodes(router: APIRouter, live: Live) -> None:
    requested = GraphRequests(live)

    @router.get("/node")
    def node(request: Request, graph_id: GraphId, node_id: EntryId, function: FunctionName = None) -> Response:
        """Return the card of a node or group."""
        tree = requested.tree(graph_id, function)
        return json_answer(request, asdict(card_of(tree, entry_of(tree, node_id))))

    @router.get("/attribute")
    def attribute(
        request: Request,
        graph_id: GraphId,
        node_id: EntryId,
        name: Annotated[str, Query(max_length=LONGEST)],
        function: FunctionName = None,
        limit: Annotated[int, Query(ge=1, le=LARGEST_WHOLE, description="Characters.")] = LARGEST_WHOLE,
    ) -> Response:
        """Return one attribute of a node, in full unless it is too long."""
        tree = requested.tree(graph_id, function)
        number = int(tree.node[entry_of(tree, node_id)])
        try:
            text, cut = tree.model.attribute_text(number, name, limit) if number >= 0 else _no_attribute(name)
        except KeyError as error:
            raise HTTPException(404, f"{node_id!r} has no attribute {name!r}.") from error
        return json_answer(request, {"node": node_id, "name": name, "text": text, "truncated": cut})

    @router.get("/search")
    def found(
        request: Request,
        graph_id: GraphId,
        q: Annotated[str, Query(min_length=1, max_length=LONGEST_PATTERN)],
        match: Match = "text",
        within: Annotated[str, Query(alias="in", max_length=64, description="name, op and attribute.")] = "name,op",
        limit: Limit = 100,
        function: FunctionName = None,
    ) -> Response:
        """Return nodes and groups whose names, operations or attributes contain a text or match a regular
        expression.
        """
        tree = requested.tree(graph_id, function)
        try:
            return json_answer(request, asdict(search(tree, q, match, _places(within), limit)))
        except PatternError as error:
            raise HTTPException(422, f"Parameter 'q' cannot be searched for: {error}.") from error


def _add_walks(router: APIRouter, live: Live) -> None:
    requested = GraphRequests(live)

    @router.get("/trace")
    def traced(
        request: Request,
        graph_id: GraphId,
        node_id: EntryId,
        way: Way = "inputs",
        control: bool = True,
        function: FunctionName = None,
    ) -> Response:
        """Return everything that a node or group depends on, or that depends on it."""
        tree = requested.tree(graph_id, function)
        return json_answer(request, asdict(trace(tree, entry_of(tree, node_id), way, control=control)))

    @router.get("/path")
    def between(
        request: Request,
        graph_id: GraphId,
        start: Annotated[str, Query(alias="from", max_length=LONGEST)],
        end: Annotated[str, Query(alias="to", max_length=LONGEST)],
        control: bool = True,
        function: FunctionName = None,
    ) -> Response:
        """Return all nodes on paths from one node to another, and a shortest path; empty if there is none."""
        tree = requested.tree(graph_id, function)
        return json_answer(request, asdict(path(tree, entry_of(tree, start), entry_of(tree, end), control=control)))


def _add_costs(router: APIRouter, live: Live) -> None:
    requested, traces = GraphRequests(live), TraceRequests(live)

    @router.get("/costs")
    def costs(
        request: Request,
        graph_id: GraphId,
        trace_id: Annotated[str, Query(alias="trace", max_length=LONGEST, description="An id of the traces' list.")],
        device: Annotated[list[str] | None, Query(max_length=1_000, description="Devices that count.")] = None,
        function: FunctionName = None,
    ) -> Response:
        """Return the time and memory of each entry that ran, by its path, from a profiled step or a trace.

        For a group, ``ran_count`` is the number of nodes inside that ran.
        """
        tree = requested.tree(graph_id, function)
        source = traces.source(trace_id)
        if isinstance(source.origin, Companion):
            found = costs_of_trace(tree, traces.opened(trace_id).trace)
        else:
            found = _costs_of_run_metadata(tree, source, device)
        return json_answer(request, _costs_payload(tree, found))


def _costs_of_run_metadata(tree: Tree, source: TraceSource, devices: list[str] | None) -> Costs:
    assert not isinstance(source.origin, Companion)
    try:
        stats = source.origin.read(int(source.id.rsplit("|", 1)[1])).step_stats
    except (OSError, IndexError, PayloadError) as error:
        raise HTTPException(422, f"{source.label} of run {source.run!r} cannot be read: {error}.") from error
    return costs_of_step_stats(tree, stats, devices)


def _costs_payload(tree: Tree, costs: Costs) -> dict[str, Any]:
    entries = np.flatnonzero(costs.calls > 0)
    entries = entries[entries > 0]
    columns = (costs.time_ns, costs.bytes, costs.ran, costs.calls)
    rows = zip(entries.tolist(), *(column[entries].tolist() for column in columns), strict=True)
    answer: dict[str, Any] = {
        "total": {"time_ns": int(costs.time_ns[0]), "bytes": int(costs.bytes[0]), "ran_count": int(costs.ran[0])},
        "devices": costs.devices,
        "matched": costs.matched,
        "unmatched": costs.unmatched,
        "unmatched_names": costs.unmatched_names,
        "by_op": [{"op": op, "time_ns": time, "calls": calls} for op, (time, calls) in costs.by_op.items()],
        "costs": {
            tree.paths[entry]: {"time_ns": time, "bytes": held, "ran": True, "ran_count": ran, "calls": calls}
            for entry, time, held, ran, calls in rows
        },
    }
    if not costs.matched:
        answer["problem"] = (
            f"None of the {costs.unmatched:,} executions in this trace names a node of this graph. "
            "Choose a trace of the same model, or a graph that was profiled."
        )
    return answer


def _row(source: GraphSource, opened: OpenGraph | None, functions: tuple[str, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": source.id,
        "run": source.run,
        "tag": source.tag,
        "kind": source.kind,
        "label": source.label,
        "steps": source.steps,
        "opened": opened is not None,
        "functions": functions,
    }
    if opened is not None:
        model = opened.model
        row["total"] = {"nodes": len(model), "edges": len(model.source)}
        row["problems"] = [asdict(problem) for problem in model.problems]
    return row


def _no_attribute(name: str) -> tuple[str, bool]:
    raise KeyError(name)


def _places(text: str) -> list[Place]:
    places: list[Place] = []
    for part in text.split(","):
        match part:
            case "name" | "op" | "attribute":
                places.append(part)
            case _:
                raise HTTPException(422, f"Parameter 'in' has {part!r}; expected name, op or attribute.")
    return places
