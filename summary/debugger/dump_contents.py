"""The contents of a dump at one moment: its columns, and access to the records behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary.bounded_messages import parse
from stepscope.summary.contents import FileHealth
from stepscope.summary.counts import counted
from stepscope.summary.debugger.code_files import CodeFiles
from stepscope.summary.debugger.events import ExecutionColumns, GraphPlace, Places, TraceColumns
from stepscope.summary.debugger.graphs import Graphs
from stepscope.summary.debugger.record_file import OpenAt, read_records
from stepscope.summary.distinct import distinct_values
from stepscope.summary.names import readable_name
from stepscope.summary.proto.debug_event_pb2 import (
    DebugEvent,
    DebugMetadata,
    Execution,
    GraphExecutionTrace,
)

_READ_AT_ONCE = 1_000
_DAMAGES_SAID = 3


@dataclass(frozen=True, eq=False)
class DumpContents:
    """The contents of a dump at one moment.

    Columns are fixed at that moment. Graphs, places and code are shared with later moments and only grow. Executions
    are in file order, traces in the order of their files, host by host.
    """

    open_at: OpenAt
    metadata: DebugMetadata | None
    start: float
    """When the dump was started, in seconds since the epoch; NaN if unknown."""
    code: CodeFiles
    graphs: Graphs
    places: Places
    execution_columns: ExecutionColumns
    trace_columns: tuple[TraceColumns, ...]
    """The trace columns of each host."""
    health: tuple[FileHealth, ...]
    """The health of each file."""
    remarks: tuple[str, ...]
    """Missing content, one sentence each."""

    @cached_property
    def _trace_ends(self) -> NDArray[np.int64]:
        return np.cumsum([len(columns) for columns in self.trace_columns])

    @property
    def execution_count(self) -> int:
        """The number of operations and functions that Python called."""
        return len(self.execution_columns)

    @property
    def trace_count(self) -> int:
        """The number of values traced inside graphs."""
        return sum(len(columns) for columns in self.trace_columns)

    @property
    def columns(self) -> tuple[ExecutionColumns | TraceColumns, ...]:
        """The columns of executions, followed by the trace columns of each host."""
        return self.execution_columns, *self.trace_columns

    @property
    def bytes(self) -> int:
        """The estimated memory use in bytes."""
        held = sum(columns.nbytes for columns in self.columns)
        return held + self.graphs.bytes + self.places.bytes + self.code.bytes

    @property
    def problems(self) -> Sequence[str]:
        """Missing or damaged content, one sentence each."""
        return (*self.remarks, *(sentence for file in self.health for sentence in _problems_of(file)), *self._gaps)

    @cached_property
    def _gaps(self) -> tuple[str, ...]:
        missing = self.code.missing_frames()
        frames = counted(missing, "frame of the stacks is", "frames of the stacks are")
        return (f"{frames} not in the dump, and left out.",) if missing else ()

    def executions(self, begin: int, end: int) -> Iterator[tuple[int, Execution | None]]:
        """Yield a range of executions with their numbers; None for those whose records have changed.

        Raises:
            PayloadError: the file can no longer be read.
        """
        columns = self.execution_columns
        for first in range(begin, end, _READ_AT_ONCE):
            part = np.arange(first, min(end, first + _READ_AT_ONCE))
            events = self._events(columns, part)
            for number, event in zip(part.tolist(), events, strict=True):
                yield number, event.execution if event is not None else None

    def traces(self, begin: int, end: int) -> Iterator[tuple[int, GraphExecutionTrace | None]]:
        """Yield a range of traces with their numbers, like `executions`."""
        for first in range(begin, end, _READ_AT_ONCE):
            last = min(end, first + _READ_AT_ONCE)
            yield from zip(range(first, last), self.traces_at(np.arange(first, last)), strict=True)

    def traces_at(self, numbers: NDArray[np.intp]) -> Iterator[GraphExecutionTrace | None]:
        """Yield the traces with the given ascending numbers, like `executions`."""
        for events in self._by_host(numbers):
            for event in events:
                yield event.graph_execution_trace if event is not None else None

    def executions_at(self, numbers: NDArray[np.intp]) -> Iterator[Execution | None]:
        """Yield the executions with the given ascending numbers, like `executions`."""
        for event in self._events(self.execution_columns, numbers):
            yield event.execution if event is not None else None

    def _by_host(self, numbers: NDArray[np.intp]) -> Iterator[list[DebugEvent | None]]:
        hosts = np.searchsorted(self._trace_ends, numbers, side="right")
        for host in distinct_values(hosts).tolist():
            columns = self.trace_columns[host]
            first = int(self._trace_ends[host]) - len(columns)
            yield self._events(columns, numbers[hosts == host] - first)

    def _events(self, columns: ExecutionColumns | TraceColumns, numbers: NDArray[np.intp]) -> list[DebugEvent | None]:
        offsets, lengths = columns.offsets[numbers].tolist(), columns.lengths[numbers].tolist()
        wall_times = columns.wall_times[numbers].tolist()
        found = read_records(self.open_at, columns.name, offsets, lengths)
        return [_event(data, time) for data, time in zip(found, wall_times, strict=True)]

    def trace_place(self, number: int) -> tuple[GraphPlace, float]:
        """Return the place and time at which a trace's value was observed."""
        host = int(np.searchsorted(self._trace_ends, number, side="right"))
        columns = self.trace_columns[host]
        row = number - (int(self._trace_ends[host]) - len(columns))
        place = self.places[int(columns.places[row])]
        assert isinstance(place, GraphPlace)
        return place, float(columns.wall_times[row])

    def op_type_of(self, place: GraphPlace) -> str:
        """Return the kind of a graph operation; empty if its creation is not in the dump."""
        found = self.graphs.operation(place.graph_id, place.operation)
        return found.op_type if found is not None else ""


def _event(data: bytes | None, wall_time: float) -> DebugEvent | None:
    """Return an event if it is still the one from which the columns were made."""
    if data is None:
        return None
    try:
        event = parse(DebugEvent, data)
    except DecodeError:
        return None
    same = event.wall_time == wall_time or (event.wall_time != event.wall_time and wall_time != wall_time)
    return event if same else None


def _problems_of(file: FileHealth) -> Iterator[str]:
    name = readable_name(file.path)
    if file.error:
        yield f"{name} cannot be read: {file.error}."
    for damage in file.damages[:_DAMAGES_SAID]:
        skipped = counted(damage.length, "byte")
        yield f"{name}: skipped {skipped} at offset {damage.offset:,}: {damage.reason}."
    if file.waiting:
        yield f"{name} ends inside a record: its last {file.size - file.bytes_read:,} bytes wait for the rest."
    if file.damage_count > _DAMAGES_SAID:
        yield f"{name} has {file.damage_count:,} damaged stretches in all, of {file.skipped_bytes:,} bytes."
