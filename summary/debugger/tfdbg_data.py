"""A TensorFlow debugger dump as `DebugData`: places where values are observed, and observations by wall time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.call_links import CallLinks
from stepscope.summary.debugger.code_files import own_frame
from stepscope.summary.debugger.dump_contents import DumpContents
from stepscope.summary.debugger.dump_order import DumpOrder
from stepscope.summary.debugger.eager_links import EagerLinks, output_devices
from stepscope.summary.debugger.events import EagerPlace, GraphPlace
from stepscope.summary.debugger.figures import COUNTED, figures_of_tensor
from stepscope.summary.debugger.graphs import operation_and_slot
from stepscope.summary.debugger.model import COLUMN, FIGURES, Alert, Frame, Observations, SourceFile, WatchedTensor
from stepscope.summary.debugger.packed_column import PackedView
from stepscope.summary.distinct import numbered
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor_proto import real_or_complex_numbers, strings
from stepscope.summary.names import readable_name
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.tensor_pb2 import TensorProto

_LARGEST_SOURCES: Final = 64 << 20
"""Maximum number of characters of code in `TfdbgData.sources`; files beyond it have no lines."""
_READ_AT_ONCE: Final = 1_000
_MOST_CONSUMERS: Final = 1_000


class TfdbgData:
    """A dump in the form of `stepscope.summary.debugger.model.DebugData`.

    A tensor is a place: an output of an operation that a line of code calls, or of a graph operation. Observations are
    ordered by wall time; at equal times, executions come before traces.
    """

    def __init__(self, dump: DumpContents) -> None:
        self._dump: Final = dump

    @property
    def dump(self) -> DumpContents:
        """The dump itself."""
        return self._dump

    @cached_property
    def source(self) -> str:
        """A description of the program that wrote it."""
        metadata = self._dump.metadata
        version = f" {readable_name(metadata.tensorflow_version)}" if metadata is not None else ""
        return f"TensorFlow{version} debugger{self._mode}"

    @cached_property
    def _mode(self) -> str:
        dump = self._dump
        try:
            traces = [trace for _, trace in dump.traces(0, min(1, dump.trace_count))]
            first = [*traces, *(each for _, each in dump.executions(0, min(1, dump.execution_count)))]
        except PayloadError:
            return ""
        mode = next((each.tensor_debug_mode for each in first if each is not None), 0)
        known = tfdbg.TensorDebugMode.DESCRIPTOR.values_by_number.get(mode)
        return f", {known.name}" if known is not None and mode else ""

    @property
    def observation_count(self) -> int:
        """The number of observed values."""
        return len(self._order)

    @property
    def alerts(self) -> Sequence[Alert]:
        """Always empty, since TensorFlow writes no alerts."""
        return ()

    @property
    def problems(self) -> Sequence[str]:
        """Missing or damaged content, one sentence each."""
        return self._dump.problems

    @cached_property
    def _name_of_place(self) -> NDArray[np.int32]:
        """A number for each place, shared by places of one tensor.

        Calls from one line of the program are one tensor, wherever the line was called from.
        """
        dump = self._dump
        numbers: dict[Any, int] = {}
        found = np.empty(len(dump.places), np.int32)
        for number in range(len(found)):
            place = dump.places[number]
            key: Any = place
            if isinstance(place, EagerPlace):
                frame = own_frame(dump.code.stack(place.stack))
                where = place.stack if frame is None else (*frame[:2], frame[2].line)
                key = place.op_type, where, place.slot
            found[number] = numbers.setdefault(key, len(numbers))
        return found

    @cached_property
    def _order(self) -> DumpOrder:
        dump = self._dump
        return DumpOrder(dump.execution_columns, dump.trace_columns, self._name_of_place)

    @cached_property
    def tensors(self) -> Sequence[WatchedTensor]:
        """All places, in the order of their first values."""
        dump = self._dump
        firsts = self._order.first_numbers
        places = self._order.places_at(np.array(firsts, np.int64)).tolist()
        numbers = {dump.places[place]: number for number, place in enumerate(places)}
        names = _Names(dump)
        return [self._tensor(place, first, numbers, names) for place, first in zip(places, firsts, strict=True)]

    def _tensor(self, place: int, first: int, numbers: dict[Any, int], names: "_Names") -> WatchedTensor:
        dump = self._dump
        where = dump.places[place]
        dtype, shape = dump.places.first[place]
        if isinstance(where, EagerPlace):
            taken_values = np.array([taken for taken in self.made_of(first) or () if taken is not None], np.int64)
            return WatchedTensor(
                names.eager(where),
                "eager",
                op_type=readable_name(where.op_type),
                slot=where.slot,
                dtype=dtype,
                shape=shape,
                stack=where.stack,
                inputs=tuple(dict.fromkeys(self._order.tensors_at(taken_values).tolist())),
            )
        operation = dump.graphs.operation(where.graph_id, where.operation)
        inputs = () if operation is None else tuple(map(operation_and_slot, operation.inputs))
        taken = (numbers.get(GraphPlace(where.graph_id, name, slot)) for name, slot in inputs)
        return WatchedTensor(
            names.of_graph(where),
            "graph",
            module=names.graph(where.graph_id),
            op_type="" if operation is None else readable_name(operation.op_type),
            slot=where.slot,
            dtype=dtype,
            shape=shape,
            stack=self._stack_of_operation(where),
            inputs=tuple(number for number in taken if number is not None),
            graph_id=where.graph_id,
        )

    def _stack_of_operation(self, place: GraphPlace) -> int | None:
        operation = self._dump.graphs.operation(place.graph_id, place.operation)
        return None if operation is None else operation.stack

    @cached_property
    def _links(self) -> EagerLinks:
        return EagerLinks(self._dump.execution_columns)

    @cached_property
    def _calls(self) -> CallLinks:
        return CallLinks(self._dump, self._order, self.tensors, self._links, self._numbers)

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        """The observation number of each output."""
        return self._order.output_numbers()

    def _output(self, number: int) -> int | None:
        """Return the output of an execution that an observation corresponds to; None for a trace."""
        row = int(self._order.rows(np.array([number]))[0])
        return row if row < len(self._dump.execution_columns.places) else None

    def made_of(self, number: int) -> Sequence[int | None] | None:
        """Return the observations that an execution took, with None for each value that is not an output of any.

        For a trace, return them as far as graphs and calls reveal them.
        """
        output = self._output(number)
        if output is None:
            place = self._dump.places[int(self._order.places_at(np.array([number]))[0])]
            assert isinstance(place, GraphPlace)
            operation = self._dump.graphs.operation(place.graph_id, place.operation)
            return self._calls.made_of(number, operation, place.graph_id)
        return [None if taken is None else int(self._numbers[taken]) for taken in self._links.made_of(output)]

    def first_bad_inside(self, number: int) -> int | None:
        """Return the first bad observation inside the graph of a function that Python called, given an output of it."""
        output = self._output(number)
        if output is None:
            return None
        execution = int(np.searchsorted(self._dump.execution_columns.output_ends, output, side="right"))
        return self._calls.first_bad_inside(execution, number)

    def made_into(self, number: int) -> Sequence[int] | None:
        """Return the observations made by executions that took one, only the first if very many; None for a trace."""
        output = self._output(number)
        if output is None:
            return None
        return [int(self._numbers[made]) for made in self._links.made_into(output, _MOST_CONSUMERS)]

    @property
    def devices(self) -> Sequence[str]:
        """The device names; "" for an unknown device."""
        return self._devices[0]

    @cached_property
    def _devices(self) -> tuple[tuple[str, ...], NDArray[np.int32], tuple[NDArray[np.int32], ...]]:
        """The device names; the name index of each output; and, for each host, the name index by device number."""
        executions, all_traces = self._dump.execution_columns, self._dump.trace_columns
        known = self._dump.graphs.devices
        names: dict[str, int] = {"": 0}

        def places(found: Iterable[str]) -> NDArray[np.int32]:
            return np.array([names.setdefault(readable_name(name), len(names)) for name in found] or [0], np.int32)

        distinct, _, inverse = numbered(output_devices(executions))
        of_outputs = places(known.get(device, "") for device in distinct.tolist())[inverse]
        tables = tuple(places(traces.device_names) for traces in all_traces)
        return tuple(names), of_outputs, tables

    def _devices_at(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        _, of_outputs, tables = self._devices
        parts = [_Looked(traces.devices, table) for traces, table in zip(self._dump.trace_columns, tables, strict=True)]
        return self._order.gather(numbers, [of_outputs, *parts])

    def observations(self, begin: int, end: int) -> Observations:
        """Return a range of observations, in order.

        Raises:
            OSError: the files cannot be read.
        """
        order = self._order
        begin, end, _ = slice(begin, end).indices(len(order))
        numbers = np.arange(begin, max(begin, end))
        figures = np.full((len(numbers), len(FIGURES)), np.nan)
        measured = [each.measured for each in self._dump.columns]
        for place, figure in enumerate(COUNTED):
            figures[:, COLUMN[figure]] = order.gather(numbers, [each.figures[place] for each in measured])
        begin = 0
        for each in measured:
            each.put_large(order.rows(numbers) - begin, figures)
            begin += len(each.bad)
        by_record = np.flatnonzero(order.gather(numbers, [each.by_record for each in measured]))
        try:
            for at, mode, tensor in self._tensors_of(order.rows(numbers[by_record])):
                figures[by_record[at]] = figures_of_tensor(mode, tensor)
        except PayloadError as error:
            raise OSError(str(error)) from error
        return Observations(
            order.tensors_at(numbers),
            order.steps_at(numbers),
            order.wall_times_at(numbers),
            figures,
            order.bad_at(numbers),
            self._devices_at(numbers),
        )

    def value(self, number: int) -> NDArray[np.generic] | None:
        """Return the observed value itself; None if it was not kept.

        Raises:
            PayloadError: the value is damaged.
        """
        if not 0 <= number < self.observation_count:
            raise PayloadError(f"the observation {number} is out of range: there are {self.observation_count:,}")
        rows = self._order.rows(np.array([number]))
        for _, mode, tensor in self._tensors_of(rows):
            if mode != tfdbg.FULL_TENSOR or tensor is None or tensor.dtype == types_pb2.DT_INVALID:
                return None
            if tensor.dtype == types_pb2.DT_STRING:
                texts = [text.decode("utf-8", "replace") for text in strings(tensor).reshape(-1).tolist()]
                return np.array(texts, np.str_).reshape(strings(tensor).shape)
            return real_or_complex_numbers(tensor)
        raise PayloadError(f"the record of observation {number} has changed since it was first read")

    def _tensors_of(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, int, TensorProto | None]]:
        """Yield the index in ``rows``, the mode and the tensor of each row whose record has not changed."""
        outputs = len(self._dump.execution_columns.places)
        eager = np.flatnonzero(rows < outputs)
        ends = self._dump.execution_columns.output_ends
        for part, numbers in _parts(eager, rows[eager]):
            executions = np.searchsorted(ends, numbers, side="right")
            distinct, _, inverse = numbered(executions)
            found = list(self._dump.executions_at(distinct))
            for at, number, execution, which in zip(part, numbers, executions, inverse, strict=True):
                event = found[int(which)]
                if event is not None:
                    slot = int(number) - (int(ends[execution - 1]) if execution else 0)
                    tensor = event.tensor_protos[slot] if slot < len(event.tensor_protos) else None
                    yield int(at), event.tensor_debug_mode, tensor
        traces = np.flatnonzero(rows >= outputs)
        for part, numbers in _parts(traces, rows[traces] - outputs):
            for at, trace in zip(part.tolist(), self._dump.traces_at(numbers), strict=True):
                if trace is not None:
                    yield at, trace.tensor_debug_mode, trace.tensor_proto

    def stack(self, number: int) -> Sequence[Frame]:
        """Return a stack, outermost call first; empty if it was not kept."""
        code = self._dump.code
        if not 0 <= number < len(code.stacks):
            return ()
        return [
            Frame(
                readable_name(path),
                frame.line,
                readable_name(frame.function),
                frame.code or self._line(frame.file, frame.line),
                readable_name(host),
            )
            for host, path, frame in code.stack(number)
        ]

    def _line(self, file: int, line: int) -> str:
        try:
            lines = self._dump.code.lines(file)
        except PayloadError:
            return ""
        return lines[line - 1] if 1 <= line <= len(lines) else ""

    @cached_property
    def sources(self) -> Sequence[SourceFile]:
        """The source files that were kept."""
        found: list[SourceFile] = []
        held = 0
        for number, (host, path) in enumerate(list(self._dump.code.files)):
            check_cancelled()
            lines: tuple[str, ...] = ()
            if held < _LARGEST_SOURCES:
                try:
                    lines = self._dump.code.lines(number)
                except PayloadError:
                    lines = ()
            held += sum(map(len, lines))
            found.append(SourceFile(readable_name(path), lines, readable_name(host)))
        return found


class _Looked:
    """A column of numbers mapped through a table."""

    dtype: Final = np.dtype(np.int32)

    def __init__(self, column: PackedView, table: NDArray[np.int32]) -> None:
        self._column: Final = column
        self._table: Final = table

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, rows: Any) -> NDArray[np.int32]:
        found: NDArray[np.int32] = self._table[self._column[rows]]
        return found


class _Names:
    """Unique names for tensors."""

    def __init__(self, dump: DumpContents) -> None:
        self._dump: Final = dump
        self._graphs: dict[str, str] = {}
        self._tensors: Final[Counter[str]] = Counter()
        self._named_graphs: Final[Counter[str]] = Counter()

    def eager(self, place: EagerPlace) -> str:
        """Return a name such as ``MatMul at train.py:12``."""
        frame = own_frame(self._dump.code.stack(place.stack))
        where = "" if frame is None else f" at {PurePosixPath(frame[1].replace(chr(92), '/')).name}:{frame[2].line}"
        return self._unique(f"{place.op_type}{where}{f' :{place.slot}' if place.slot else ''}")

    def of_graph(self, place: GraphPlace) -> str:
        """Return a name such as ``train/dense/MatMul:0``."""
        return self._unique(f"{self.graph(place.graph_id)}/{place.operation}:{place.slot}")

    def graph(self, graph_id: str) -> str:
        """Return the display name of a graph: its name, with a number if another graph has the same name."""
        known = self._graphs.get(graph_id)
        if known is None:
            graph = self._dump.graphs.find(graph_id)
            name = readable_name((graph.name if graph is not None else None) or "graph")
            known = self._graphs[graph_id] = _numbered(name, self._named_graphs)
        return known

    def _unique(self, name: str) -> str:
        return _numbered(readable_name(name), self._tensors)


def _numbered(name: str, taken: Counter[str]) -> str:
    """Return a name that is not taken yet, and mark it as taken."""
    found = name
    while taken[found]:
        taken[name] += 1
        found = f"{name} ({taken[name]})"
    taken[found] += 1
    return found


def _parts(places: NDArray[np.intp], numbers: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """Yield places and numbers in batches, ordered by number."""
    order = np.argsort(numbers, kind="stable")
    for begin in range(0, len(order), _READ_AT_ONCE):
        part = order[begin : begin + _READ_AT_ONCE]
        yield places[part], numbers[part]
