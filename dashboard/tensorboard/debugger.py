"""``/data/plugin/debugger-v2``: TensorBoard's routes."""

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response

from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.parameters import MAX_NAME
from stepscope.dashboard.server.pieces import json_answer, listed, named
from stepscope.dashboard.server.work import HeavyRoute
from stepscope.dashboard.tensorboard.debugger_answers import (
    ALERT_TYPE,
    MOST_ALERTS,
    NotThereError,
    alerts,
    execution_digests,
    executions,
    graph_info,
    operation_info,
    source_file,
    stack_frames,
    trace_digests,
    traces,
)
from stepscope.dashboard.tensorboard.dumps import DumpCache, DumpUnavailableError
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin
from stepscope.summary.debugger.listing import DumpSource, dump_sources, has_dumps
from stepscope.summary.debugger.tfdbg import TfdbgDump
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.snapshot import Snapshot

DEFAULT_RUN: Final = "__default_debugger_run__"
"""TensorBoard's name for the only dump that it finds, the one in the log directory itself."""
_LONGEST_LIST: Final = 1 << 16
"""Maximum characters of the frame ids in a request."""

DumpRun = Annotated[str | None, Query(max_length=MAX_NAME, description="As `runs` has it.")]
Begin = Annotated[int, Query(lt=1 << 63, description="The first.")]
End = Annotated[int, Query(lt=1 << 63, description="The one after the last; all where it is negative.")]
GraphId = Annotated[str, Query(min_length=1, max_length=MAX_NAME)]


class RequestError(Exception):
    """A request that TensorBoard refuses, with its message."""


def run_name(source: DumpSource) -> str:
    """Return the name that a dump's run has here."""
    return DEFAULT_RUN if source.run == "." else source.run


def find_dump(snapshot: Snapshot, run: str | None) -> DumpSource:
    """Return the dump of a run.

    Raises:
        RequestError: no run is given.
        HTTPException: 404 if the run has none.
    """
    if run is None:
        raise RequestError("run parameter is not provided")
    for source in dump_sources(snapshot):
        if run_name(source) == run:
            return source
    raise HTTPException(404, f"No dump of TensorFlow's debugger in run {run!r}. See /data/plugin/debugger-v2/runs.")


def stretch(begin: int, end: int, count: int) -> tuple[int, int]:
    """Return the bounds of a range of a list; raises RequestError as TensorBoard does."""
    if begin < 0:
        raise RequestError(f"Invalid argument: Invalid begin index ({begin})")
    if end > count:
        raise RequestError(f"Invalid argument: end index ({end}) out of bounds ({count})")
    if 0 <= end < begin:
        raise RequestError(f"Invalid argument: end index ({end}) is unexpectedly less than begin index ({begin})")
    return begin, count if end < 0 else end


def stretch_answer(begin: int, end: int, name: str, elements: Iterator[Any], **numbers: int) -> Response:
    """Return a range of a list under a name; each element but the first is made when it is sent.

    Raises:
        PayloadError: the first can no longer be read.
    """
    elements = chain(list(islice(elements, 1)), elements)
    members = [(key, [orjson.dumps(number)]) for key, number in {"begin": begin, "end": end, **numbers}.items()]
    return json_answer(named([*members, (name, listed(elements))]))


def alerts_answer(dump: TfdbgDump, begin: int, end: int, alert_type: str | None) -> Response:
    """Return the alerts of a type, or all; raises RequestError."""
    found = alerts(dump)
    if alert_type is not None and (alert_type != ALERT_TYPE or not found):
        raise RequestError(f"Invalid argument: Filtering of alerts failed: alert type {alert_type} does not exist")
    begin, end = stretch(begin, end, len(found))
    answer = {
        "begin": begin,
        "end": end,
        "alert_type": alert_type,
        "num_alerts": len(found),
        "alerts_breakdown": {ALERT_TYPE: len(found)} if found else {},
        "per_type_alert_limit": MOST_ALERTS,
        "alerts": found[begin:end],
    }
    return Response(json_bytes(answer), media_type="application/json")


def router(live: Live) -> APIRouter:
    """Return the routes, over the latest snapshot."""
    routes = APIRouter(prefix="/data/plugin/debugger-v2", tags=["debugger"], route_class=HeavyRoute)
    cache = live.shared(DumpCache)

    def opened(source: DumpSource) -> TfdbgDump:
        try:
            return cache.get(source)
        except DumpUnavailableError as error:
            raise HTTPException(422, str(error)) from error

    def asked(run: str | None, answer: Callable[[TfdbgDump], Response]) -> Response:
        """Return the answer about a run's dump, or why there is none, in TensorBoard's form."""
        try:
            return answer(opened(find_dump(live.snapshot(), run)))
        except RequestError as error:
            return Response(json_bytes({"error": str(error)}), 400, media_type="application/json")
        except NotThereError as error:
            return Response(json_bytes({"error": f"Not found: {error}"}), 400, media_type="application/json")
        except PayloadError as error:
            raise HTTPException(422, f"The dump of run {run!r} can no longer be read: {error}.") from error

    @routes.get("/runs")
    def runs() -> Response:
        """Run -> start of its dump, in seconds since the epoch."""
        found = {run_name(source): {"start_time": opened(source).start} for source in dump_sources(live.snapshot())}
        return Response(json_bytes(found), media_type="application/json")

    @routes.get("/alerts", response_class=Response)
    def all_alerts(
        run: DumpRun = None,
        begin: Begin = 0,
        end: End = -1,
        alert_type: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    ) -> Response:
        """Return the first values with NaN or infinite elements."""
        return asked(run, lambda dump: alerts_answer(dump, begin, end, alert_type))

    @routes.get("/execution/digests", response_class=Response)
    def digests_of_executions(run: DumpRun = None, begin: Begin = 0, end: End = -1) -> Response:
        """Return the operations and functions that Python called."""

        def answer(dump: TfdbgDump) -> Response:
            count = dump.execution_count
            first, last = stretch(begin, end, count)
            found = execution_digests(dump, first, last)
            return stretch_answer(first, last, "execution_digests", found, num_digests=count)

        return asked(run, answer)

    @routes.get("/execution/data", response_class=Response)
    def all_executions(run: DumpRun = None, begin: Begin = 0, end: End = -1) -> Response:
        """Return what Python called, with stacks, tensor numbers, and what was measured of the outputs."""

        def answer(dump: TfdbgDump) -> Response:
            first, last = stretch(begin, end, dump.execution_count)
            return stretch_answer(first, last, "executions", executions(dump, first, last))

        return asked(run, answer)

    @routes.get("/graph_execution/digests", response_class=Response)
    def digests_of_traces(run: DumpRun = None, begin: Begin = 0, end: End = -1) -> Response:
        """Return where values passed inside graphs."""

        def answer(dump: TfdbgDump) -> Response:
            count = dump.trace_count
            first, last = stretch(begin, end, count)
            found = trace_digests(dump, first, last)
            return stretch_answer(first, last, "graph_execution_digests", found, num_digests=count)

        return asked(run, answer)

    @routes.get("/graph_execution/data", response_class=Response)
    def all_traces(run: DumpRun = None, begin: Begin = 0, end: End = -1) -> Response:
        """Return where values passed inside graphs, with the enclosing graphs and what was measured of the values."""

        def answer(dump: TfdbgDump) -> Response:
            first, last = stretch(begin, end, dump.trace_count)
            return stretch_answer(first, last, "graph_executions", traces(dump, first, last))

        return asked(run, answer)

    @routes.get("/graphs/graph_info", response_class=Response)
    def about_graph(graph_id: GraphId, run: DumpRun = None) -> Response:
        """Return the name of a graph, the graph that contains it, and the graphs inside it."""
        return asked(run, lambda dump: Response(json_bytes(graph_info(dump, graph_id)), media_type="application/json"))

    @routes.get("/graphs/op_info", response_class=Response)
    def about_operation(
        graph_id: GraphId, op_name: Annotated[str, Query(max_length=MAX_NAME)], run: DumpRun = None
    ) -> Response:
        """Return an operation of a graph with its stack, inputs, and consumers, and all of these for each of them."""

        def answer(dump: TfdbgDump) -> Response:
            found, consumers = operation_info(dump, graph_id, op_name)
            members = ((key, iter([json_bytes(value)])) for key, value in found.items())
            return json_answer(named([*members, ("consumers", consumers)]))

        return asked(run, answer)

    @routes.get("/source_files/list", response_class=Response)
    def source_files(run: DumpRun = None) -> Response:
        """Return the host and path of each source file."""
        return asked(run, lambda dump: json_answer(listed(list(dump.code.files))))

    @routes.get("/source_files/file", response_class=Response)
    def one_source_file(run: DumpRun = None, index: int | None = None) -> Response:
        """Return a source file as it was when the program ran, by its number in ``source_files/list``."""

        def answer(dump: TfdbgDump) -> Response:
            if index is None:
                raise RequestError("index is not provided for source file content")
            return Response(json_bytes(source_file(dump, index)), media_type="application/json")

        return asked(run, answer)

    @routes.get("/stack_frames/stack_frames", response_class=Response)
    def frames(
        run: DumpRun = None,
        stack_frame_ids: Annotated[
            str | None, Query(max_length=_LONGEST_LIST, description="Separated by commas.")
        ] = None,
    ) -> Response:
        """Return the host, path, line, and function of each frame."""

        def answer(dump: TfdbgDump) -> Response:
            if not stack_frame_ids:
                raise RequestError(f"{'Missing' if stack_frame_ids is None else 'Empty'} stack_frame_ids parameter")
            return Response(json_bytes(stack_frames(dump, stack_frame_ids.split(","))), media_type="application/json")

        return asked(run, answer)

    return routes


PLUGIN: Final = TensorboardPlugin(name="debugger-v2", tab="Debugger V2", kinds=(), router=router, has_data=has_dumps)
