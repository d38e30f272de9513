"""Batch decoding of traces and executions that are laid out as TensorFlow writes them.

Data that values of one place share, such as names, is numbered and decoded once, by protobuf's own parser.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.measured import Measured, measured_in
from stepscope.summary.messages import (
    Fields,
    KeyTable,
    Layout,
    Mask,
    Numbers,
    Ranges,
    doubles,
    repeated,
    split,
    varint_counts,
    varints,
)
from stepscope.summary.proto import debug_event_pb2 as tfdbg

_TRACE_EVENT: Final = Layout({1: "double", 2: "number", 10: "bytes"})
_TRACE: Final = Layout({1: "bytes", 2: "bytes", 3: "number", 4: "number", 5: "bytes", 6: "bytes"})
_EXECUTION_EVENT: Final = Layout({1: "double", 2: "number", 9: "bytes"})
_EXECUTION: Final = Layout(
    {
        1: "bytes",
        2: "number",
        3: "bytes",
        4: "bytes",
        5: "bytes",
        6: "number",
        7: "bytes",
        8: "bytes",
        9: "bytes",
    },
    repeated=7,
)


@dataclass(frozen=True)
class TraceRows:
    """Traces from a section of a file."""

    plain: Mask
    """Which traces are decoded here; the others must be decoded one by one."""
    keys: Numbers
    """Key numbers, shared by traces that differ only in time and measured data; -1 where not plain."""
    wall_times: NDArray[np.float64]
    slots: Numbers
    modes: Numbers
    measured: Measured


def trace_rows(buffer: NDArray[np.uint8], records: NDArray[np.int64], keys: KeyTable) -> TraceRows:
    """Decode traces.

    Args:
        buffer: the bytes that contain them.
        records: [n, 2], where each begins and ends.
        keys: assigns the key numbers.
    """
    plain = np.ones(len(records), np.bool_)
    event = split(buffer, _ranges(records), _TRACE_EVENT, plain)
    plain &= event.ranges(10).there
    trace = split(buffer, event.ranges(10), _TRACE, plain)
    slots, modes = trace.numbers(3), trace.numbers(4)
    plain &= (slots >= 0) & (slots < 1 << 31)
    measured = measured_in(buffer, trace.ranges(5), modes, plain)
    texts = [trace.ranges(1), trace.ranges(2), trace.ranges(6)]
    numbers = keys.number(buffer, texts, [slots, modes], plain)
    return TraceRows(plain, numbers, _wall_times(buffer, event), slots, modes, measured)


@dataclass(frozen=True)
class ExecutionRows:
    """Executions from a section of a file; the outputs and inputs are those of the plain ones, concatenated."""

    plain: Mask
    keys: Numbers
    """Like `TraceRows.keys`."""
    wall_times: NDArray[np.float64]
    modes: Numbers
    output_ends: Numbers
    """Where the outputs of each execution end."""
    output_ids: Numbers
    measured: Measured
    """The measured data of each output."""
    input_ends: Numbers
    input_ids: Numbers


def execution_rows(buffer: NDArray[np.uint8], records: NDArray[np.int64], keys: KeyTable, most: int) -> ExecutionRows:
    """Decode executions, like `trace_rows`; those with more than ``most`` outputs or inputs are not plain."""
    plain = np.ones(len(records), np.bool_)
    event = split(buffer, _ranges(records), _EXECUTION_EVENT, plain)
    plain &= event.ranges(9).there
    execution = split(buffer, event.ranges(9), _EXECUTION, plain)
    inputs, outputs, devices = execution.ranges(4), execution.ranges(5), execution.ranges(9)
    input_counts = varint_counts(buffer, inputs, plain)
    output_counts = varint_counts(buffer, outputs, plain)
    device_counts = varint_counts(buffer, devices, plain)
    modes, tensor_counts = execution.numbers(6), execution.numbers(7)
    plain &= np.maximum.reduce([input_counts, output_counts, device_counts]) <= most
    plain &= tensor_counts == np.where(modes == tfdbg.NO_TENSOR, 0, output_counts)
    # An execution with any tensor that is not plain is not plain itself.
    tensors = repeated(buffer, event.ranges(9), 7, tensor_counts, plain)
    owners = np.repeat(np.flatnonzero(plain), tensor_counts[plain])
    plain_tensors = np.ones(len(owners), np.bool_)
    of_tensors = measured_in(buffer, tensors, modes[owners], plain_tensors)
    plain[owners[~plain_tensors]] = False
    texts = [execution.ranges(1), execution.ranges(3), execution.ranges(8), devices]
    numbers = keys.number(buffer, texts, [modes, output_counts], plain)
    kept = plain[owners]
    measured = Measured(of_tensors.figures[:, kept], of_tensors.bad[kept])
    output_counts, input_counts = np.where(plain, output_counts, 0), np.where(plain, input_counts, 0)
    untold = (modes == tfdbg.NO_TENSOR) & plain
    if untold.any():
        measured = _with_untold(measured, output_counts, untold)
    return ExecutionRows(
        plain,
        numbers,
        _wall_times(buffer, event),
        modes,
        np.cumsum(output_counts),
        varints(buffer, outputs, output_counts, plain),
        measured,
        np.cumsum(input_counts),
        varints(buffer, inputs, input_counts, plain),
    )


def _with_untold(measured: Measured, output_counts: Numbers, untold: Mask) -> Measured:
    """Return the measured data of all outputs, including those of executions for which nothing was measured."""
    told = np.repeat(~untold, output_counts)
    figures = np.full((len(measured.figures), len(told)), np.nan)
    bad = np.zeros(len(told), np.bool_)
    figures[:, told] = measured.figures
    bad[told] = measured.bad
    return Measured(figures, bad)


def _ranges(records: NDArray[np.int64]) -> Ranges:
    return Ranges(np.ascontiguousarray(records[:, 0]), np.ascontiguousarray(records[:, 1]))


def _wall_times(buffer: NDArray[np.uint8], event: Fields) -> NDArray[np.float64]:
    found = event.ranges(1)
    return doubles(buffer, found.begins, found.there.astype(np.int64), 1)[:, 0]
