"""What TensorBoard's debugger reports about a dump, as values for JSON.

The formats follow ``to_json`` in TensorFlow's ``tensorflow/python/debug/lib/debug_events_reader.py`` and TensorBoard's
``tensorboard/plugins/debugger_v2/debug_data_multiplexer.py``.
"""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson

from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.pieces import joined
from stepscope.summary.debugger.dump_contents import DumpContents
from stepscope.summary.debugger.events import BadValue
from stepscope.summary.debugger.figures import debug_tensor
from stepscope.summary.debugger.graphs import Consumer, Graph, Operation, operation_and_slot
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto.debug_event_pb2 import Execution, GraphExecutionTrace

MOST_ALERTS: Final = 1_000
"""Maximum alerts of one type; TensorBoard reports it in its answers."""
ALERT_TYPE: Final = "InfNanAlert"
"""The only alert type."""

Json = dict[str, Any]


class NotThereError(Exception):
    """The dump has nothing by that name; the message is TensorBoard's."""


def alerts(dump: DumpContents) -> list[Json]:
    """Return the first values with elements that are not finite: those in graphs, then those in Python."""
    found: list[Json] = []
    first = 0
    for columns in dump.trace_columns:
        for bad in columns.first_bad:
            number = first + bad.row
            found.append(_alert(bad, dump.op_type_of(dump.trace_place(number)[0]), None, number))
        first += len(columns)
    found = found[:MOST_ALERTS]
    columns_of_python = dump.execution_columns
    for bad in columns_of_python.first_bad:
        # An execution with several outputs is listed in full.
        if len(found) >= MOST_ALERTS and found[-1]["execution_index"] != bad.row:
            break
        op_type = columns_of_python.op_type_names[int(columns_of_python.op_types[bad.row])]
        found.append(_alert(bad, op_type, bad.row, None))
    return found


def _alert(bad: BadValue, op_type: str, execution: int | None, trace: int | None) -> Json:
    return {
        "alert_type": ALERT_TYPE,
        "op_type": op_type,
        "output_slot": bad.slot,
        "size": bad.elements.size,
        "num_neg_inf": bad.elements.negative_infinity,
        "num_pos_inf": bad.elements.positive_infinity,
        "num_nan": bad.elements.nan,
        "execution_index": execution,
        "graph_execution_trace_index": trace,
    }


def execution_digests(dump: DumpContents, begin: int, end: int) -> Iterator[Json]:
    """Yield when each execution in a range happened, what it was, and where its outputs are."""
    return (_execution_digest(dump, number) for number in range(begin, end))


def _execution_digest(dump: DumpContents, number: int) -> Json:
    columns = dump.execution_columns
    return {
        "wall_time": float(columns.wall_times[number]),
        "op_type": columns.op_type_names[int(columns.op_types[number])],
        "output_tensor_device_ids": columns.device_ids[int(columns.devices[number])] or None,
    }


def executions(dump: DumpContents, begin: int, end: int) -> Iterator[Json]:
    """Yield a range of executions, or only the digest of one whose record has changed since it was first read.

    Raises:
        PayloadError: the file can no longer be read.
    """
    for number, execution in dump.executions(begin, end):
        yield _execution_digest(dump, number) | _execution(execution)


def _execution(found: Execution | None) -> Json:
    execution = found if found is not None else Execution()
    mode = execution.tensor_debug_mode
    values = None
    if mode not in (tfdbg.FULL_TENSOR, tfdbg.NO_TENSOR):
        values = [_numbers(debug_tensor(tensor)) for tensor in execution.tensor_protos] or None
    return {
        "host_name": execution.code_location.host_name,
        "stack_frame_ids": list(execution.code_location.stack_frame_ids),
        "tensor_debug_mode": mode,
        "graph_id": execution.graph_id,
        "input_tensor_ids": list(execution.input_tensor_ids) or None,
        "output_tensor_ids": list(execution.output_tensor_ids) or None,
        "debug_tensor_values": values,
    }


def trace_digests(dump: DumpContents, begin: int, end: int) -> Iterator[Json]:
    """Yield when each graph value in a range passed, and where."""
    return (_trace_digest(dump, number) for number in range(begin, end))


def _trace_digest(dump: DumpContents, number: int) -> Json:
    place, wall_time = dump.trace_place(number)
    return {
        "wall_time": wall_time,
        "op_type": dump.op_type_of(place),
        "op_name": place.operation,
        "output_slot": place.slot,
        "graph_id": place.graph_id,
    }


def traces(dump: DumpContents, begin: int, end: int) -> Iterator[Json]:
    """Yield a range of the values that passed inside graphs, as `executions` does."""
    for number, trace in dump.traces(begin, end):
        yield _trace_digest(dump, number) | _trace(dump, number, trace)


def _trace(dump: DumpContents, number: int, found: GraphExecutionTrace | None) -> Json:
    trace = found if found is not None else GraphExecutionTrace()
    mode = trace.tensor_debug_mode
    measured = None if mode == tfdbg.FULL_TENSOR or found is None else _numbers(debug_tensor(trace.tensor_proto))
    return {
        "graph_ids": dump.graphs.enclosing(dump.trace_place(number)[0].graph_id),
        "tensor_debug_mode": mode,
        "debug_tensor_value": measured or None,
        "device_name": trace.device_name or None,
    }


def _numbers(measured: list[Any] | None) -> list[Any] | None:
    """Return a debug tensor for JSON."""
    if measured is None:
        return None
    return [json_number(each) if isinstance(each, float) and not math.isfinite(each) else each for each in measured]


def graph_info(dump: DumpContents, graph_id: str) -> Json:
    """Return a graph's name, the graph that contains it, and the graphs inside it; raises NotThereError."""
    graph = _graph(dump, graph_id)
    return {
        "name": graph.name,
        "graph_id": graph.graph_id,
        "outer_graph_id": graph.outer_id,
        "inner_graph_ids": list(graph.inner_ids),
    }


def operation_info(dump: DumpContents, graph_id: str, name: str) -> tuple[Json, Iterator[bytes]]:
    """Return an operation with its inputs, and its consumers by output as JSON in pieces.

    Raises:
        NotThereError: the graph or the operation is not in the dump.
    """
    graph = _graph(dump, graph_id)
    operation = graph.operations.get(name)
    if operation is None:
        raise NotThereError(f'There is no op named "{name}" in graph with ID "{graph_id}"')
    found = _operation(dump, graph, operation)
    del found["consumers"]
    for each in found["inputs"]:
        source = graph.operations.get(each["op_name"])
        if source is not None:
            each["data"] = _operation(dump, graph, source)
    by_slot = (
        b"".join(joined(orjson.dumps(_consumer(dump, graph, consumer)) for consumer in consumers))
        for consumers in _consumers(graph, operation)
    )
    return found, joined(by_slot)


def _consumer(dump: DumpContents, graph: Graph, consumer: Consumer) -> Json:
    found: Json = {"op_name": consumer.operation, "input_slot": consumer.input_slot}
    operation = graph.operations.get(consumer.operation)
    return found if operation is None else found | {"data": _operation(dump, graph, operation)}


def _operation(dump: DumpContents, graph: Graph, operation: Operation) -> Json:
    inputs = map(operation_and_slot, operation.inputs)
    return {
        "wall_time": operation.wall_time,
        "op_type": operation.op_type,
        "op_name": operation.name,
        "output_tensor_ids": operation.output_ids or None,
        "host_name": operation.host,
        "stack_frame_ids": dump.code.ids_of_stack(operation.stack),
        "device_name": None,
        "graph_ids": dump.graphs.enclosing(graph.graph_id),
        "num_outputs": len(operation.output_ids),
        "inputs": [{"op_name": name, "output_slot": slot} for name, slot in inputs],
        "consumers": [
            [{"op_name": consumer.operation, "input_slot": consumer.input_slot} for consumer in consumers]
            for consumers in _consumers(graph, operation)
        ],
    }


def _consumers(graph: Graph, operation: Operation) -> list[list[Consumer]]:
    """Return the consumers of each output."""
    found: list[list[Consumer]] = [[] for _ in operation.output_ids]
    known = graph.consumers.get(operation.name, [])
    for consumer in islice(known, len(known)):
        if consumer.slot < len(found):
            found[consumer.slot].append(consumer)
    return found


def _graph(dump: DumpContents, graph_id: str) -> Graph:
    graph = dump.graphs.find(graph_id)
    if graph is None:
        raise NotThereError(f'There is no graph with ID "{graph_id}"')
    return graph


def source_file(dump: DumpContents, number: int) -> Json:
    """Return a source file.

    Raises:
        NotThereError: there is none with that number.
        PayloadError: it can no longer be read.
    """
    if not 0 <= number < len(dump.code.files):
        raise NotThereError(f"There is no source-code file at index {number}")
    host, path = dump.code.files[number]
    return {"host_name": host, "file_path": path, "lines": dump.code.lines(number)}


def stack_frames(dump: DumpContents, frame_ids: list[str]) -> Json:
    """Return the host, path, line, and function of frames; raises NotThereError."""
    found = []
    for frame_id in frame_ids:
        frame = dump.code.frame(frame_id)
        if frame is None:
            raise NotThereError(f"Cannot find stack frame with ID {frame_id}")
        host, path, raw = frame
        found.append((host, path, raw.line, raw.function))
    return {"stack_frames": found}
