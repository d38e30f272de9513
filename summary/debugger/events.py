"""Locations of a dump's executions and of its traces from inside graphs: small columns, one row each.

The rest of a record is decoded on demand.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary import scan
from stepscope.summary.debugger.code_files import CodeFiles
from stepscope.summary.debugger.columns import GrowingColumn, Numbered
from stepscope.summary.debugger.event_rows import ExecutionRows, TraceRows, execution_rows, trace_rows
from stepscope.summary.debugger.figures import (
    BadElements,
    dtype_name,
    type_and_shape,
)
from stepscope.summary.debugger.keyed_rows import KeyedRows, take_rows
from stepscope.summary.debugger.measured import NO_VALUE, MeasuredColumns, MeasuredView, value_of
from stepscope.summary.debugger.packed_column import PackedColumn, PackedView
from stepscope.summary.debugger.record_file import EnoughError, Take, TakeAll, Taken, one_by_one
from stepscope.summary.messages import KeyTable
from stepscope.summary.names import LONGEST_NAME
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto.tensor_pb2 import TensorProto

MOST_EVENTS: Final = 5_000_000
"""Limit per file for traces or executions, and for their outputs and inputs; each takes some 40 bytes of memory."""
MOST_PLACES: Final = 200_000
"""The limit also applies to distinct operation names and to distinct lists of devices."""
MOST_PLACES_BYTES: Final = 100 << 20
"""Estimated memory limit for places."""
BAD_KEPT: Final = 1_000
"""Number of first values per file whose counts of nonfinite elements are kept; TensorBoard lists as many."""
_MOST_OUTPUTS: Final = 10_000
"""The limit also applies to the inputs of an execution."""
NO_TENSOR_ID: Final = -1
"""The id of an output whose identifier was not written."""
_TOO_MANY_PLACES: Final = (
    f"there are more than {MOST_PLACES:,} places that values passed through, or their names are too long"
)


class BadValue(NamedTuple):
    """A value with nonfinite elements."""

    row: int
    """The row of the execution or trace."""
    slot: int
    elements: BadElements


class EagerPlace(NamedTuple):
    """An output of an operation that Python called."""

    op_type: str
    stack: int
    slot: int


class GraphPlace(NamedTuple):
    """An output of a graph operation."""

    graph_id: str
    operation: str
    slot: int


class Places:
    """The places where values are observed, by number, with the type and shape of each first value; only grows."""

    def __init__(self) -> None:
        self._numbered: Final[Numbered[EagerPlace | GraphPlace]] = Numbered()
        self.first: Final[list[tuple[str, tuple[int, ...] | None]]] = []
        self.bytes = 0
        """Estimated memory use in bytes."""

    def __len__(self) -> int:
        return len(self.first)

    def have_room_for(self, places: Iterable[EagerPlace | GraphPlace]) -> bool:
        """Return whether all of these places have been added or can be added."""
        full = len(self) >= MOST_PLACES or self.bytes >= MOST_PLACES_BYTES
        return not full or all(self.find(place) is not None for place in places)

    def __getitem__(self, number: int) -> EagerPlace | GraphPlace:
        return self._numbered.values[number]

    def find(self, place: EagerPlace | GraphPlace) -> int | None:
        """Return the place's number, if any value was observed there."""
        return self._numbered.find(place)

    def number(self, place: EagerPlace | GraphPlace, mode: int, tensor: TensorProto | None, measured: Any) -> int:
        """Return the place's number, adding the place if it is new."""
        found = self._numbered.number(place)
        if found == len(self.first):
            self.bytes += 400 + sum(len(part) for part in place if isinstance(part, str))
            self.first.append(_type_and_shape(mode, tensor, measured))
        return found


def _type_and_shape(mode: int, tensor: TensorProto | None, measured: Any) -> tuple[str, tuple[int, ...] | None]:
    if mode != tfdbg.FULL_TENSOR or tensor is None:
        return type_and_shape(mode, measured)
    sizes = tuple(dim.size for dim in tensor.tensor_shape.dim[:LONGEST_NAME])
    return dtype_name(tensor.dtype), None if tensor.tensor_shape.unknown_rank else sizes


@dataclass(frozen=True)
class TraceColumns:
    """The traces of one host, one row each, in file order."""

    name: str
    """The name of the file."""
    offsets: PackedView
    lengths: PackedView
    wall_times: PackedView
    places: PackedView
    measured: MeasuredView
    first_bad: tuple[BadValue, ...]
    """The first `BAD_KEPT` bad values."""
    devices: PackedView
    """The index of each trace's device among the device names."""
    device_names: list[str]

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """The memory that the columns take."""
        columns = (self.offsets, self.lengths, self.wall_times, self.places, self.devices)
        return sum(column.nbytes for column in columns) + self.measured.nbytes


class TraceFile:
    """The traces of one host so far; one thread adds to it."""

    def __init__(self, name: str, places: Places) -> None:
        self._name: Final = name
        self._places: Final = places
        self._numbers: Final = PackedColumn(np.int32)
        self._lengths: Final = PackedColumn(np.uint32, self._numbers)
        self._offsets: Final = PackedColumn(np.int64, lengths=self._lengths)
        self._wall_times: Final = PackedColumn(np.float64, microseconds=True)
        self._measured: Final = MeasuredColumns(self._numbers)
        self._first_bad: Final[list[BadValue]] = []
        self._devices: Final = PackedColumn(np.int32, self._numbers)
        self._device_names: Final[Numbered[str]] = Numbered()
        self._keys: Final = KeyTable()
        self._place_of_key: Final = GrowingColumn(np.int32)
        """The place of each key; -1 for keys whose first trace was refused, as all later ones are."""
        self._device_of_key: Final = GrowingColumn(np.int32)

    def taker(self, take: Take) -> TakeAll:
        """Return a `TakeAll` that takes many records at once; ``take`` takes one, by `add`."""

        def take_all(base: int, buffer: bytes, records: NDArray[np.int64]) -> Taken:
            if not scan.KERNELS.ready:
                return one_by_one(take)(base, buffer, records)
            rows = trace_rows(np.frombuffer(buffer, np.uint8), records, self._keys)

            def take_plain(begin: int, end: int) -> None:
                self._extend(rows, base, records, begin, end)

            return take_rows(
                KeyedRows(rows.plain, rows.keys, self._place_of_key, self._learn, take_plain, self._room),
                take,
                base,
                buffer,
                records,
            )

        return take_all

    def _room(self, begin: int, end: int) -> int:
        """Return how many of the given rows there is room for."""
        return min(end - begin, MOST_EVENTS - len(self._offsets))

    def _learn(self, *, taken: bool) -> None:
        """Store the place and device of a new key, taken from the trace added last."""
        last = len(self._offsets) - 1
        self._place_of_key.append(self._numbers.view()[last] if taken else -1)
        self._device_of_key.append(self._devices.view()[last] if taken else -1)

    def _extend(self, rows: TraceRows, base: int, records: NDArray[np.int64], begin: int, end: int) -> None:
        """Add a range of traces whose keys are all known."""
        keys = rows.keys[begin:end]
        bad = np.flatnonzero(rows.measured.bad[begin:end])[: BAD_KEPT - len(self._first_bad)]
        for row in bad.tolist():
            elements = rows.measured.bad_elements(int(rows.modes[begin + row]), begin + row)
            self._first_bad.append(BadValue(len(self._offsets) + row, int(rows.slots[begin + row]), elements))
        self._numbers.extend(self._place_of_key.view()[keys])
        self._lengths.extend(records[begin:end, 1] - records[begin:end, 0])
        self._offsets.extend(base + records[begin:end, 0])
        self._wall_times.extend(rows.wall_times[begin:end])
        self._measured.extend(rows.measured.part(begin, end))
        self._devices.extend(self._device_of_key.view()[keys])

    def add(self, offset: int, length: int, wall_time: float, trace: tfdbg.GraphExecutionTrace) -> str | None:
        """Add a trace whose record is at an offset; return what is wrong with it, if anything.

        Raises:
            EnoughError: there are already `MOST_EVENTS` traces.
        """
        if len(trace.op_name) > LONGEST_NAME or len(trace.tfdbg_context_id) > LONGEST_NAME:
            return f"a name of an operation has more than {LONGEST_NAME:,} characters"
        if len(self._offsets) >= MOST_EVENTS:
            raise EnoughError(f"there are more than {MOST_EVENTS:,} traces; only the first are read")
        place = GraphPlace(trace.tfdbg_context_id, trace.op_name, trace.output_slot)
        device = trace.device_name[:LONGEST_NAME]
        known = len(self._device_names) < MOST_PLACES or self._device_names.find(device) is not None
        if not known or not self._places.have_room_for([place]):
            return _TOO_MANY_PLACES
        mode = trace.tensor_debug_mode
        value = value_of(mode, trace.tensor_proto, length)
        self._numbers.append(self._places.number(place, mode, trace.tensor_proto, value.measured))
        self._lengths.append(length)
        self._offsets.append(offset)
        self._wall_times.append(wall_time)
        self._measured.append(mode, value)
        self._devices.append(self._device_names.number(device))
        if value.bad is not None and len(self._first_bad) < BAD_KEPT:
            self._first_bad.append(BadValue(len(self._offsets) - 1, trace.output_slot, value.bad))
        return None

    def columns(self) -> TraceColumns:
        """Return all traces so far."""
        return TraceColumns(
            self._name,
            self._offsets.view(),
            self._lengths.view(),
            self._wall_times.view(),
            self._numbers.view(),
            self._measured.view(),
            tuple(self._first_bad),
            self._devices.view(),
            self._device_names.values,
        )


@dataclass(frozen=True)
class ExecutionColumns:
    """The executions that Python called, one row each, in file order, and their concatenated outputs."""

    name: str
    """The name of the file."""
    offsets: PackedView
    lengths: PackedView
    wall_times: PackedView
    op_types: NDArray[np.int32]
    devices: NDArray[np.int32]
    output_ends: NDArray[np.int64]
    """Where the outputs of each execution end; they begin where the previous ones end."""
    places: PackedView
    """The place of each output."""
    measured: MeasuredView
    """The measured data of each output."""
    first_bad: tuple[BadValue, ...]
    """Like `TraceColumns.first_bad`."""
    op_type_names: list[str]
    device_ids: list[tuple[int, ...]]
    output_ids: NDArray[np.int64]
    """The identifier by which other executions take each output, or `NO_TENSOR_ID`."""
    input_ends: NDArray[np.int64]
    """Where the inputs of each execution end; they begin where the previous ones end."""
    input_ids: NDArray[np.int64]
    """The identifier of each input."""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """The memory that the columns take."""
        packed = (self.offsets, self.lengths, self.wall_times, self.places, self.measured)
        arrays = (self.op_types, self.devices, self.output_ends, self.output_ids, self.input_ends, self.input_ids)
        return sum(column.nbytes for column in packed) + sum(column.nbytes for column in arrays)

    def outputs(self, number: int) -> range:
        """Return the numbers of the outputs of an execution."""
        return range(int(self.output_ends[number - 1]) if number else 0, int(self.output_ends[number]))

    def inputs(self, number: int) -> range:
        """Return the numbers of the inputs of an execution."""
        return range(int(self.input_ends[number - 1]) if number else 0, int(self.input_ends[number]))


class ExecutionFile:
    """The executions so far; one thread adds to it."""

    def __init__(self, name: str, places: Places, code: CodeFiles) -> None:
        self._name: Final = name
        self._places: Final = places
        self._code: Final = code
        self._lengths: Final = PackedColumn(np.uint32)
        self._offsets: Final = PackedColumn(np.int64, lengths=self._lengths)
        self._wall_times: Final = PackedColumn(np.float64)
        self._op_types: Final = GrowingColumn(np.int32)
        self._devices: Final = GrowingColumn(np.int32)
        self._output_ends: Final = GrowingColumn(np.int64)
        self._output_places: Final = PackedColumn(np.int32)
        self._measured: Final = MeasuredColumns(self._output_places)
        self._first_bad: Final[list[BadValue]] = []
        self._op_type_names: Final[Numbered[str]] = Numbered()
        self._device_ids: Final[Numbered[tuple[int, ...]]] = Numbered()
        self._output_ids: Final = GrowingColumn(np.int64)
        self._input_ends: Final = GrowingColumn(np.int64)
        self._input_ids: Final = GrowingColumn(np.int64)
        self._keys: Final = KeyTable()
        self._op_type_of_key: Final = GrowingColumn(np.int32)
        """The operation type of each key; -1 for keys whose first execution was refused, as all later ones are."""
        self._devices_of_key: Final = GrowingColumn(np.int32)
        self._places_begin: Final = GrowingColumn(np.int64)
        """Where the output places of each key begin."""
        self._places_of_keys: Final = GrowingColumn(np.int32)

    def taker(self, take: Take) -> TakeAll:
        """Return a `TakeAll` that takes many records at once; ``take`` takes one, by `add`."""

        def take_all(base: int, buffer: bytes, records: NDArray[np.int64]) -> Taken:
            if not scan.KERNELS.ready:
                return one_by_one(take)(base, buffer, records)
            rows = execution_rows(np.frombuffer(buffer, np.uint8), records, self._keys, _MOST_OUTPUTS)

            def take_plain(begin: int, end: int) -> None:
                self._extend(rows, base, records, begin, end)

            def room(begin: int, end: int) -> int:
                before = np.maximum.reduce(
                    [
                        len(self._offsets) + np.arange(end - begin),
                        len(self._output_ids) + _before(rows.output_ends, begin, end),
                        len(self._input_ids) + _before(rows.input_ends, begin, end),
                    ]
                )
                return int(np.searchsorted(before, MOST_EVENTS))

            return take_rows(
                KeyedRows(rows.plain, rows.keys, self._op_type_of_key, self._learn, take_plain, room),
                take,
                base,
                buffer,
                records,
            )

        return take_all

    def _learn(self, *, taken: bool) -> None:
        """Store the data that executions of a new key share, taken from the execution added last."""
        self._op_type_of_key.append(self._op_types.view()[-1] if taken else -1)
        self._devices_of_key.append(self._devices.view()[-1] if taken else -1)
        self._places_begin.append(len(self._places_of_keys))
        if taken:
            ends = self._output_ends.view()
            begin = int(ends[-2]) if len(ends) > 1 else 0
            self._places_of_keys.extend(self._output_places.view()[begin : int(ends[-1])])

    def _extend(self, rows: ExecutionRows, base: int, records: NDArray[np.int64], begin: int, end: int) -> None:
        """Add a range of executions whose keys are all known."""
        keys = rows.keys[begin:end]
        first, last = _stretch(rows.output_ends, begin, end)
        counts = np.diff(rows.output_ends[begin:end], prepend=first)
        measured = rows.measured.part(first, last)
        for output in np.flatnonzero(measured.bad)[: BAD_KEPT - len(self._first_bad)].tolist():
            row = begin + int(np.searchsorted(rows.output_ends[begin:end], first + output, side="right"))
            slot = first + output - _stretch(rows.output_ends, row, row + 1)[0]
            elements = measured.bad_elements(int(rows.modes[row]), output)
            self._first_bad.append(BadValue(len(self._offsets) + row - begin, slot, elements))
        slots = np.arange(last - first) - np.repeat(rows.output_ends[begin:end] - counts - first, counts)
        self._output_places.extend(
            self._places_of_keys.view()[np.repeat(self._places_begin.view()[keys], counts) + slots]
        )
        self._lengths.extend(records[begin:end, 1] - records[begin:end, 0])
        self._offsets.extend(base + records[begin:end, 0])
        self._wall_times.extend(rows.wall_times[begin:end])
        self._op_types.extend(self._op_type_of_key.view()[keys])
        self._devices.extend(self._devices_of_key.view()[keys])
        self._output_ends.extend(rows.output_ends[begin:end] - first + len(self._output_ids))
        self._measured.extend(measured)
        self._output_ids.extend(rows.output_ids[first:last])
        first, last = _stretch(rows.input_ends, begin, end)
        self._input_ends.extend(rows.input_ends[begin:end] - first + len(self._input_ids))
        self._input_ids.extend(rows.input_ids[first:last])

    def add(self, offset: int, length: int, wall_time: float, execution: tfdbg.Execution) -> str | None:
        """Add an execution whose record is at an offset; return what is wrong with it, if anything.

        Raises:
            EnoughError: there are already `MOST_EVENTS` executions, outputs or inputs.
        """
        outputs = max(len(execution.output_tensor_ids), len(execution.tensor_protos))
        if len(execution.op_type) > LONGEST_NAME:
            return f"a name of an operation has more than {LONGEST_NAME:,} characters"
        if max(outputs, len(execution.output_tensor_device_ids)) > _MOST_OUTPUTS:
            return f"an execution has {outputs:,} outputs"
        if len(execution.input_tensor_ids) > _MOST_OUTPUTS:
            return f"an execution has {len(execution.input_tensor_ids):,} inputs"
        if max(len(self._offsets), len(self._output_ids), len(self._input_ids)) >= MOST_EVENTS:
            raise EnoughError(
                f"there are more than {MOST_EVENTS:,} executions, outputs or inputs; only the first are read"
            )
        stack = self._code.stack_number(execution.code_location.stack_frame_ids)
        places = [EagerPlace(execution.op_type, stack, slot) for slot in range(outputs)]
        devices = tuple(execution.output_tensor_device_ids)
        known = (
            len(self._op_type_names) < MOST_PLACES or self._op_type_names.find(execution.op_type) is not None
        ) and (len(self._device_ids) < MOST_PLACES or self._device_ids.find(devices) is not None)
        if not known or not self._places.have_room_for(places):
            return _TOO_MANY_PLACES
        mode = execution.tensor_debug_mode
        self._lengths.append(length)
        self._offsets.append(offset)
        self._wall_times.append(wall_time)
        self._op_types.append(self._op_type_names.number(execution.op_type))
        self._devices.append(self._device_ids.number(devices))
        for slot, place in enumerate(places):
            tensor = execution.tensor_protos[slot] if slot < len(execution.tensor_protos) else None
            value = NO_VALUE if tensor is None else value_of(mode, tensor, length)
            self._output_places.append(self._places.number(place, mode, tensor, value.measured))
            self._measured.append(mode, value)
            known_id = slot < len(execution.output_tensor_ids)
            self._output_ids.append(execution.output_tensor_ids[slot] if known_id else NO_TENSOR_ID)
            if value.bad is not None and len(self._first_bad) < BAD_KEPT:
                self._first_bad.append(BadValue(len(self._offsets) - 1, slot, value.bad))
        self._output_ends.append(len(self._output_ids))
        for tensor_id in execution.input_tensor_ids:
            self._input_ids.append(tensor_id)
        self._input_ends.append(len(self._input_ids))
        return None

    def columns(self) -> ExecutionColumns:
        """Return all executions so far."""
        return ExecutionColumns(
            self._name,
            self._offsets.view(),
            self._lengths.view(),
            self._wall_times.view(),
            self._op_types.view(),
            self._devices.view(),
            self._output_ends.view(),
            self._output_places.view(),
            self._measured.view(),
            tuple(self._first_bad),
            self._op_type_names.values,
            self._device_ids.values,
            self._output_ids.view(),
            self._input_ends.view(),
            self._input_ids.view(),
        )


def _stretch(ends: NDArray[np.int64], begin: int, end: int) -> tuple[int, int]:
    """Return the begin and end of the items of a range of rows, given where the items of each row end."""
    first = int(ends[begin - 1]) if begin else 0
    return first, int(ends[end - 1]) if end > begin else first


def _before(ends: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int64]:
    """Return, for each row from ``begin`` on, the number of items of the rows between ``begin`` and it."""
    first, _ = _stretch(ends, begin, end)
    return np.concatenate([[0], ends[begin : end - 1] - first])
