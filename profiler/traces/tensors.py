"""Lifetimes of tensors in StepStats as slices: a lane per allocator, from a tensor's creation to its last use."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.timeline import TensorLifetime
from stepscope.profiler.trace import Lane
from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS, Arranged, RawSlices
from stepscope.summary.proto.types_pb2 import DataType

TENSORS: Final = "Tensors"
"""Process name of the lanes."""
TENSOR_CATEGORY: Final = "tensor"
_NO_ALLOCATOR: Final = "no allocator"
_LONG_NAMES: Final[Mapping[str, str]] = {"float": "float32", "double": "float64", "half": "float16"}


class TensorSlices(NamedTuple):
    """Tensors, sorted by lane, row and start."""

    lanes: tuple[Lane, ...]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    lane: NDArray[np.int32]
    """Indices into ``lanes``."""
    depth: NDArray[np.int32]
    tensors: tuple[TensorLifetime, ...]


def tensor_slices(lifetimes: Sequence[TensorLifetime]) -> TensorSlices:
    """Return the lifetimes of a step as slices, those of one allocator in as few rows as possible.

    A tensor goes to the first row that is free when it is created. A tensor without a time that can be shown is left
    out; its node is counted among the losses.
    """
    shown = [
        each
        for each in lifetimes
        if EARLIEST_NS <= each.start * 1000 <= LATEST_NS and EARLIEST_NS <= each.end * 1000 <= LATEST_NS
    ]
    allocators = list(dict.fromkeys(_allocator(each) for each in shown))
    by_allocator: dict[str, list[TensorLifetime]] = {allocator: [] for allocator in allocators}
    for each in sorted(shown, key=lambda tensor: (tensor.start, tensor.end)):
        by_allocator[_allocator(each)].append(each)
    rows: list[tuple[int, int, TensorLifetime]] = []
    lanes = []
    for lane, (allocator, tensors) in enumerate(by_allocator.items()):
        placed = sorted(zip(_first_free_rows(tensors), tensors, strict=True), key=lambda pair: pair[0])
        rows += [(lane, row, tensor) for row, tensor in placed]
        lanes.append(Lane(TENSORS, allocator, TENSORS, allocator, "other", placed[-1][0] + 1))
    start = np.array([tensor.start * 1000 for _, _, tensor in rows], np.int64)
    end = np.array([tensor.end * 1000 for _, _, tensor in rows], np.int64)
    return TensorSlices(
        tuple(lanes),
        start,
        np.maximum(end - start, 0),
        np.array([lane for lane, _, _ in rows], np.int32),
        np.array([row for _, row, _ in rows], np.int32),
        tuple(tensor for _, _, tensor in rows),
    )


def _first_free_rows(tensors: Sequence[TensorLifetime]) -> list[int]:
    """Return the row of each tensor, given in order of start; there are as many rows as tensors alive at once."""
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    rows: list[int] = []
    for tensor in tensors:
        while busy and busy[0][0] <= tensor.start:
            heappush(free, heappop(busy)[1])
        row = heappop(free) if free else len(busy)
        heappush(busy, (max(tensor.end, tensor.start), row))
        rows.append(row)
    return rows


def _allocator(tensor: TensorLifetime) -> str:
    return tensor.description.allocation_description.allocator_name or _NO_ALLOCATOR


def with_tensors(
    arranged: Arranged, tensors: TensorSlices, name_id: NDArray[np.int32], category_id: NDArray[np.int32]
) -> Arranged:
    """Return the slices with the tensors after them, on lanes after theirs."""
    count = len(tensors.tensors)
    columns = arranged.columns
    return replace(
        arranged,
        columns=RawSlices(
            np.concatenate([columns.start_ns, tensors.start_ns]),
            np.concatenate([columns.duration_ns, tensors.duration_ns]),
            np.concatenate([columns.lane, tensors.lane + np.int32(len(arranged.lanes))]),
            np.concatenate([columns.name_id, name_id]),
            np.concatenate([columns.category_id, category_id]),
        ),
        depth=np.concatenate([arranged.depth, tensors.depth]),
        lanes=(*arranged.lanes, *tensors.lanes),
        order=np.concatenate([arranged.order, np.arange(len(arranged.order), len(arranged.order) + count)]),
        crossing=np.concatenate([arranged.crossing, np.zeros(count, np.bool_)]),
    )


def tensor_arguments(tensor: TensorLifetime) -> Mapping[str, Any]:
    """Return what is known of a tensor."""
    description = tensor.description
    allocation = description.allocation_description
    arguments: dict[str, Any] = {"node": tensor.node, "slot": tensor.slot, "bytes": allocation.requested_bytes}
    if allocation.allocated_bytes:
        arguments["allocated bytes"] = allocation.allocated_bytes
    if description.HasField("shape"):
        dimensions = [dimension.size for dimension in description.shape.dim]
        arguments["shape"] = "unknown" if description.shape.unknown_rank else dimensions
    if description.dtype:
        arguments["dtype"] = _dtype(description.dtype)
    if allocation.allocator_name:
        arguments["allocator"] = allocation.allocator_name
    if allocation.allocation_id:
        arguments["allocation id"] = allocation.allocation_id
    if not tensor.latest:
        arguments["note"] = "its node ran again: who used this one is not known"
    return arguments


def _dtype(number: DataType) -> str:
    if number not in DataType.values():
        return f"type {number}"
    name = DataType.Name(number).removeprefix("DT_").lower()
    return _LONG_NAMES.get(name, name)
