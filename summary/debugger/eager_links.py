"""Links from the outputs of a dump's executions to the executions that took them, and the device of each value.

TensorFlow gives every eager tensor an identifier; an execution lists the identifiers of its inputs and outputs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.events import NO_TENSOR_ID, ExecutionColumns


@dataclass(frozen=True, eq=False)
class EagerLinks:
    """The inputs of each output. Numbers count all outputs of all executions, in file order."""

    columns: ExecutionColumns

    @cached_property
    def _taken(self) -> NDArray[np.int32]:
        """The output that each input is; -1 if no earlier execution made it."""
        columns: Final = self.columns
        order = np.argsort(columns.output_ids, kind="stable").astype(np.int32)
        ids = columns.output_ids[order]
        places = np.searchsorted(ids, columns.input_ids, side="right") - 1
        found = np.full(len(columns.input_ids), -1, np.int32)
        there = np.flatnonzero((places >= 0) & (columns.input_ids != NO_TENSOR_ID))
        there = there[ids[places[there]] == columns.input_ids[there]]
        found[there] = order[places[there]]
        # An execution's inputs were made before it; any other reference is damaged.
        counts = np.diff(columns.input_ends, prepend=0)
        firsts = np.repeat(np.concatenate([[0], columns.output_ends[:-1]])[: len(counts)], counts)
        found[found >= firsts] = -1
        return found

    @cached_property
    def _takers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The outputs that were taken, in order, and the corresponding input of each."""
        inputs = np.flatnonzero(self._taken >= 0)
        order = np.argsort(self._taken[inputs], kind="stable")
        return self._taken[inputs[order]], inputs[order].astype(np.int32)

    def made_of(self, output: int) -> list[int | None]:
        """Return the outputs taken by the execution that made an output; None for an input that is not an output."""
        return self.taken_by(int(np.searchsorted(self.columns.output_ends, output, side="right")))

    def taken_by(self, execution: int) -> list[int | None]:
        """Return the outputs that an execution took; None for an input that is not an output of any execution."""
        inputs = self.columns.inputs(execution)
        return [number if number >= 0 else None for number in self._taken[inputs.start : inputs.stop].tolist()]

    def made_into(self, output: int, most: int) -> list[int]:
        """Return the outputs of the executions that took an output, in order, at most ``most`` of them."""
        taken, inputs = self._takers
        begin, end = np.searchsorted(taken, [output, output + 1])
        executions = np.searchsorted(self.columns.input_ends, inputs[begin:end], side="right")
        found: dict[int, None] = {}
        for execution in executions.tolist():
            found.update(dict.fromkeys(self.columns.outputs(execution)))
            if len(found) >= most:
                break
        return list(found)[:most]


def output_devices(columns: ExecutionColumns) -> NDArray[np.int64]:
    """Return the device number of each output; -1 if none was written."""
    ids = columns.device_ids
    flat = np.array([device for each in ids for device in each] or [-1], np.int64)
    lengths = np.array([len(each) for each in ids], np.int64)
    begins = np.cumsum(lengths) - lengths
    counts = np.diff(columns.output_ends, prepend=0)
    lists = np.repeat(columns.devices, counts)
    slots = np.arange(len(lists)) - np.repeat(columns.output_ends - counts, counts)
    known = slots < lengths[lists]
    return np.where(known, flat[np.where(known, begins[lists] + slots, 0)], -1)
