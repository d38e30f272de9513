"""Export of recordings of any origin as dumps that TensorBoard's debugger opens.

with TfdbgWriter("runs/first/tfdbg") as writer:
    dump = ObservationWriter(writer, stack_of=catalog.frames)
    dump.write(tensors, observations)  # again and again
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import COLUMN, DebugData, Frame, Observations, WatchedTensor
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter, debug_tensor_of_figures
from stepscope.summary.names import LONGEST_NAME
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto.tensor_pb2 import TensorProto

GRAPH: Final = "recording"
"""The id and name of the only graph."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.\\/>-]")
"""Characters not allowed in names of TensorFlow operations; readers split names at colons."""
_READ_AT_ONCE: Final = 10_000


class ObservationWriter:
    """Writes observations into a dump: each tensor as an operation of one graph, named by its phase and name.

    Each series of observations of one step follows an execution ``step <number>``, which marks where the step begins.

    Args:
        writer: the writer of the dump.
        mode: the data to write for each value: CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH or SHAPE.
        stack_of: returns the frames of a stack by its number, outermost call first.

    Raises:
        OSError: the dump cannot be written.
        ValueError: the mode measures data that figures do not provide.
    """

    def __init__(
        self,
        writer: TfdbgWriter,
        mode: tfdbg.TensorDebugMode = tfdbg.FULL_HEALTH,
        *,
        stack_of: Callable[[int], Sequence[Frame]] = lambda _: (),
    ) -> None:
        self._writer: Final = writer
        self._mode: Final = mode
        self._stack_of: Final = stack_of
        self._names: Final[dict[int, str]] = {}
        self._taken: Final[set[str]] = set()
        self._written: Final[dict[int, int]] = {}
        """The number of each tensor in the dump."""
        self._ids = 0
        self._step: int | None = None
        # Fail early if figures cannot be written in this mode.
        debug_tensor_of_figures(mode, np.zeros(len(COLUMN)))
        writer.add_graph(GRAPH, name=GRAPH)

    def write(self, tensors: Sequence[WatchedTensor], observed: Observations) -> None:
        """Write observations, in order.

        Args:
            tensors: all tensors by number, including those of earlier calls.
            observed: observations of these tensors.
        """
        columns = (observed.tensors.tolist(), observed.steps.tolist(), observed.wall_times.tolist())
        for number, step, wall_time, figures in zip(*columns, observed.figures, strict=True):
            if step != self._step:
                self._step = step
                self._writer.add_execution(f"step {step}", self._mode, [], graph_id=GRAPH, wall_time=wall_time)
            tensor = tensors[number]
            tensor_id = self._written.get(number)
            if tensor_id is None:
                tensor_id = self._written[number] = self._add(number, tensors)
            measured = TensorProto()
            if not np.isnan(figures[COLUMN["size"]]):
                measured = debug_tensor_of_figures(
                    self._mode, figures, tensor_id=tensor_id, dtype=tensor.dtype, shape=tensor.shape or ()
                )
            name = self._name(number, tensors)
            self._writer.add_trace(
                GRAPH, name, tensor.slot, self._mode, measured, device=tensor.device, wall_time=wall_time
            )

    def _add(self, number: int, tensors: Sequence[WatchedTensor]) -> int:
        """Write an operation; return the number of the output that is the tensor."""
        tensor = tensors[number]
        first = self._ids + 1
        self._ids += tensor.slot + 1
        self._writer.add_operation(
            GRAPH,
            self._name(number, tensors),
            tensor.op_type or tensor.phase,
            inputs=[f"{self._name(taken, tensors)}:{tensors[taken].slot}" for taken in tensor.inputs],
            output_ids=range(first, self._ids + 1),
            stack=self._stack_of(tensor.stack) if tensor.stack is not None else (),
            graph_name=GRAPH,
        )
        return self._ids

    def _name(self, number: int, tensors: Sequence[WatchedTensor]) -> str:
        known = self._names.get(number)
        if known is None:
            tensor = tensors[number]
            ending = f":{tensor.slot}"
            wanted = _NOT_IN_NAMES.sub("_", f"{tensor.phase}/{tensor.name.removesuffix(ending)}")[: LONGEST_NAME - 20]
            known = wanted
            while known in self._taken:
                known = f"{known}.{number}"
            self._taken.add(known)
            self._names[number] = known
        return known


def write_tfdbg(
    data: DebugData, folder: str | os.PathLike[str], mode: tfdbg.TensorDebugMode = tfdbg.FULL_HEALTH
) -> None:
    """Write a whole recording as a dump.

    Args:
        data: the recording.
        folder: the destination folder.
        mode: see `ObservationWriter`.

    Raises:
        OSError: the recording cannot be read, or the dump cannot be written.
        ValueError: the mode measures data that figures do not provide.
    """
    with TfdbgWriter(folder, version=data.source) as writer:
        for source in data.sources:
            writer.add_source(source)
        observations = ObservationWriter(writer, mode, stack_of=data.stack)
        for begin in range(0, data.observation_count, _READ_AT_ONCE):
            check_cancelled()
            observations.write(data.tensors, data.observations(begin, begin + _READ_AT_ONCE))
