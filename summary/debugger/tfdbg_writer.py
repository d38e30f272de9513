"""Writes dumps as TensorFlow's debugger does, so that TensorFlow and TensorBoard open them.

    with TfdbgWriter("runs/first") as writer:
        writer.add_graph("graph", name="model")
        writer.add_operation("graph", "log", "Log", inputs=["x:0"], output_ids=[1], stack=frames)
        writer.add_trace("graph", "log", 0, FULL_HEALTH, debug_tensor_of(FULL_HEALTH, values, tensor_id=1))

A source file is written before the frames that refer to it, and frames before anything with them in its stack.
"""

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.figures import SHAPE_DIMENSIONS, figures_of_values
from stepscope.summary.debugger.file_names import PREFIX, SUFFIXES, Suffix
from stepscope.summary.debugger.file_sets import FILE_VERSION
from stepscope.summary.debugger.model import COLUMN, Frame, SourceFile
from stepscope.summary.kinds.tensor_proto import bfloat16_tensor, numbers_tensor
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.records import frame
from stepscope.summary.storage import AppendFile, Folder, folder_at

FULL_HEALTH: Final = tfdbg.FULL_HEALTH
"""The mode that covers the most figures; others are in `stepscope.summary.proto.debug_event_pb2`."""
EAGER: Final = -1
"""The tensor id in debug tensors of operations that Python called."""


class TfdbgWriter:
    """Writes the six files of one host; safe to use from many threads.

    Args:
        folder: the destination: a path, an address or a folder.
        run_id: the same on all hosts of a run; a unique id if omitted.
        version: the program that wrote the dump, stored in place of TensorFlow's version.
        host: the host's name.
        clock: returns seconds since the epoch.

    Raises:
        OSError: the files cannot be created.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Folder,
        *,
        run_id: str = "",
        version: str = "stepscope",
        host: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.host: Final = host or socket.gethostname()
        self._clock: Final = clock
        self._lock: Final = threading.Lock()
        self._sources: Final[dict[tuple[str, str], int]] = {}
        """The number of each source file, by host and path."""
        self._whole_sources: Final[set[tuple[str, str]]] = set()
        self._frames: Final[dict[tuple[str, str, int, str], str]] = {}
        self._devices: Final[dict[str, int]] = {}
        target = folder_at(folder) if isinstance(folder, str | os.PathLike) else folder
        target.make()
        name = self.host.replace("/", "_").replace("\\", "_")
        self.prefix: Final = f"{PREFIX}{int(clock()):010d}.{name}"
        self._files: Final[dict[Suffix, AppendFile]] = {
            suffix: target.create(f"{self.prefix}.{suffix}") for suffix in SUFFIXES
        }
        metadata = tfdbg.DebugMetadata(
            tensorflow_version=version, file_version=FILE_VERSION, tfdbg_run_id=run_id or uuid.uuid4().hex[:8]
        )
        self._write("metadata", tfdbg.DebugEvent(debug_metadata=metadata))

    def add_source(self, source: SourceFile) -> None:
        """Write a source file, unless it was already written."""
        host = source.host or self.host
        with self._lock:
            if (host, source.path) not in self._whole_sources:
                # If a frame named it before, it was written without lines; readers take the later one.
                self._whole_sources.add((host, source.path))
                self._write_source(source.path, host, source.lines)

    def add_device(self, name: str) -> int:
        """Write a device, unless it was already written; return its number."""
        with self._lock:
            number = self._devices.get(name)
            if number is None:
                number = self._devices[name] = len(self._devices) + 1
                device = tfdbg.DebuggedDevice(device_name=name, device_id=number)
                self._write("graphs", tfdbg.DebugEvent(debugged_device=device))
            return number

    def add_graph(self, graph_id: str, *, name: str = "", outer_id: str = "") -> None:
        """Write a graph; it must be written before its contents."""
        graph = tfdbg.DebuggedGraph(graph_id=graph_id, graph_name=name, outer_context_id=outer_id)
        with self._lock:
            self._write("graphs", tfdbg.DebugEvent(debugged_graph=graph))

    def add_operation(
        self,
        graph_id: str,
        name: str,
        op_type: str,
        *,
        inputs: Iterable[str] = (),
        output_ids: Sequence[int] = (),
        stack: Iterable[Frame] = (),
        graph_name: str = "",
        device: str = "",
    ) -> None:
        """Write an operation of a graph.

        Args:
            graph_id: the id of the graph, which must already be written.
            name: the operation's name, unique in the graph.
            op_type: the type of operation, such as "MatMul".
            inputs: "operation:slot" of each input.
            output_ids: a number for each output, unique among the tensors of the dump.
            stack: the stack, outermost call first.
            graph_name: the name of the graph.
            device: the name of the operation's device.
        """
        with self._lock:
            creation = tfdbg.GraphOpCreation(
                op_type=op_type,
                op_name=name,
                graph_name=graph_name,
                graph_id=graph_id,
                device_name=device,
                input_names=inputs,
                num_outputs=len(output_ids),
                code_location=self._location(stack),
                output_tensor_ids=output_ids,
            )
            self._write("graphs", tfdbg.DebugEvent(graph_op_creation=creation))

    def add_execution(
        self,
        op_type: str,
        mode: tfdbg.TensorDebugMode,
        tensors: Iterable[TensorProto],
        *,
        input_ids: Iterable[int] = (),
        output_ids: Sequence[int] = (),
        device_ids: Iterable[int] = (),
        stack: Iterable[Frame] = (),
        graph_id: str = "",
        wall_time: float | None = None,
    ) -> None:
        """Write an operation that Python called, or a function, identified by the id of its graph.

        Args:
            op_type: the type of operation, such as "MatMul".
            mode: a `TensorDebugMode`.
            tensors: the mode's measurement of each output; see `debug_tensor_of`.
            input_ids: the numbers of the input tensors.
            output_ids: the numbers of the output tensors.
            device_ids: the devices of the outputs, as numbers from `add_device`.
            stack: the stack, outermost call first.
            graph_id: the id of the function's graph.
            wall_time: seconds since the epoch; defaults to now.
        """
        with self._lock:
            execution = tfdbg.Execution(
                op_type=op_type,
                num_outputs=len(output_ids),
                graph_id=graph_id,
                input_tensor_ids=input_ids,
                output_tensor_ids=output_ids,
                tensor_debug_mode=mode,
                tensor_protos=tensors,
                code_location=self._location(stack),
                output_tensor_device_ids=device_ids,
            )
            self._write("execution", tfdbg.DebugEvent(execution=execution), wall_time)

    def add_trace(
        self,
        graph_id: str,
        operation: str,
        slot: int,
        mode: tfdbg.TensorDebugMode,
        tensor: TensorProto,
        *,
        device: str = "",
        wall_time: float | None = None,
    ) -> None:
        """Write a value observed at an output of a graph operation, which must already be written.

        Args:
            graph_id: the id of the innermost graph.
            operation: the operation's name.
            slot: the index of its output.
            mode: a `TensorDebugMode`.
            tensor: the mode's measurement; see `debug_tensor_of`.
            device: the name of the device.
            wall_time: seconds since the epoch; defaults to now.
        """
        trace = tfdbg.GraphExecutionTrace(
            tfdbg_context_id=graph_id,
            op_name=operation,
            output_slot=slot,
            tensor_debug_mode=mode,
            tensor_proto=tensor,
            device_name=device,
        )
        with self._lock:
            self._write("graph_execution_traces", tfdbg.DebugEvent(graph_execution_trace=trace), wall_time)

    def flush(self) -> None:
        """Make the data written so far visible to readers; raise OSError if that fails."""
        with self._lock:
            for file in self._files.values():
                file.flush(to_disk=False)

    def close(self) -> None:
        """Write the remaining data and release the files; raise OSError if that fails for one of them."""
        with self._lock, contextlib.ExitStack() as stack:
            for file in self._files.values():
                stack.callback(file.close)
                stack.callback(file.flush, to_disk=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _location(self, stack: Iterable[Frame]) -> tfdbg.CodeLocation:
        return tfdbg.CodeLocation(host_name=self.host, stack_frame_ids=[self._frame(each) for each in stack])

    def _frame(self, each: Frame) -> str:
        host = each.host or self.host
        key = host, each.path, each.line, each.function
        known = self._frames.get(key)
        if known is None:
            # The same frame has the same id in every file set of the run.
            known = self._frames[key] = str(uuid.uuid5(uuid.NAMESPACE_OID, repr(key)))
            line = tfdbg.StackFrameWithId(id=known)
            if (host, each.path) not in self._sources:
                self._write_source(each.path, host, ())
            line.file_line_col.file_index = self._sources[host, each.path]
            line.file_line_col.line = each.line
            line.file_line_col.func = each.function
            line.file_line_col.code = each.code
            self._write("stack_frames", tfdbg.DebugEvent(stack_frame_with_id=line))
        return known

    def _write_source(self, path: str, host: str, lines: Iterable[str]) -> None:
        self._sources.setdefault((host, path), len(self._sources))
        file = tfdbg.SourceFile(file_path=path, host_name=host, lines=lines)
        self._write("source_files", tfdbg.DebugEvent(source_file=file))

    def _write(self, suffix: Suffix, event: tfdbg.DebugEvent, wall_time: float | None = None) -> None:
        event.wall_time = self._clock() if wall_time is None else wall_time
        rest = memoryview(frame(event.SerializeToString()))
        while len(rest):
            rest = rest[self._files[suffix].write(rest) :]


def debug_tensor_of(
    mode: tfdbg.TensorDebugMode,
    values: NDArray[Any],
    *,
    tensor_id: int = EAGER,
    device_id: int = EAGER,
    dtype: str = "",
) -> TensorProto:
    """Return a mode's measurement of an array, as TensorFlow writes it.

    Args:
        mode: CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE or FULL_TENSOR.
        values: an array of any shape.
        tensor_id: the tensor's number; -1 for an output of an operation that Python called.
        device_id: the device's number.
        dtype: the original type of the values, if NumPy lacks it, such as "bfloat16".

    Raises:
        ValueError: this function does not support the mode.
        TypeError: files cannot hold this dtype.
    """
    if mode == tfdbg.FULL_TENSOR:
        return bfloat16_tensor(values) if dtype == "bfloat16" else numbers_tensor(values)
    measured = figures_of_values(values, dtype)
    return debug_tensor_of_figures(
        mode, measured, tensor_id=tensor_id, device_id=device_id, dtype=dtype or values.dtype.name, shape=values.shape
    )


def debug_tensor_of_figures(
    mode: tfdbg.TensorDebugMode,
    figures: NDArray[np.float64],
    *,
    tensor_id: int = EAGER,
    device_id: int = EAGER,
    dtype: str = "",
    shape: Sequence[int] = (),
) -> TensorProto:
    """Return a mode's measurement, computed from figures measured before.

    Args:
        mode: CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH or SHAPE.
        figures: [len(FIGURES)].
        tensor_id: the tensor's number; -1 for an output of an operation that Python called.
        device_id: the device's number.
        dtype: the NumPy name of the value's type.
        shape: the value's shape.

    Raises:
        ValueError: the mode measures data that figures do not provide.
    """
    size, nan, positive, negative, zeros, negatives = np.nan_to_num(
        figures[[COLUMN[name] for name in _COUNTS]]
    ).tolist()
    counts = [size, negative, positive, nan]
    if mode == tfdbg.CURT_HEALTH:
        numbers = [tensor_id, float(any(counts[1:]))]
    elif mode == tfdbg.CONCISE_HEALTH:
        numbers = [tensor_id, *counts]
    elif mode == tfdbg.FULL_HEALTH:
        rest = size - negative - positive - nan - negatives - zeros
        numbers = [tensor_id, device_id, dtype_number(dtype), len(shape), *counts, negatives, zeros, rest]
    elif mode == tfdbg.SHAPE:
        sizes = list(shape)[-SHAPE_DIMENSIONS:]
        numbers = [tensor_id, dtype_number(dtype), len(shape), size, *sizes, *[0] * (SHAPE_DIMENSIONS - len(sizes))]
    else:
        raise ValueError(f"expected the mode CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH or SHAPE, got {mode}")
    return numbers_tensor(np.array(numbers, np.float64))


_COUNTS: Final = ("size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives")


def dtype_number(name: str) -> int:
    """Return TensorFlow's number for a type with the given NumPy name; 0 if TensorFlow has no such type."""
    known = {"float16": "DT_HALF", "float32": "DT_FLOAT", "float64": "DT_DOUBLE"}.get(name, f"DT_{name.upper()}")
    found = types_pb2.DataType.DESCRIPTOR.values_by_name.get(known)
    return found.number if found is not None else types_pb2.DT_INVALID
