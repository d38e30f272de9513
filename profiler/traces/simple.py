"""Build a trace from slices as Python objects: the short way for readers of formats whose files are not large."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Counter, Lane, Losses, Trace
from stepscope.profiler.traces.build import (
    EARLIEST_NS,
    LATEST_NS,
    LONGEST_NS,
    RawSlices,
    arrange,
    assemble,
    find_steps,
    intern_used,
    no_flows,
)
from stepscope.profiler.traces.losses import TIME_RANGE


@dataclass(frozen=True)
class Slice:
    """What happened on one lane over a span of time."""

    name: str
    start_ns: int
    duration_ns: int
    lane: Lane
    category: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Details that the page shows when the slice is selected: numbers, texts, lists, and mappings of them."""


@dataclass(frozen=True)
class _Arguments:
    """The arguments of slices in the order of a trace."""

    of_slices: Sequence[Mapping[str, Any]]

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        return self.of_slices[slice_index]


def trace_of_slices(
    slices: Sequence[Slice],
    *,
    counters: Sequence[Counter] = (),
    notes: tuple[str, ...] = (),
    metadata: Mapping[str, Any] | None = None,
    epoch_ns: int | None = None,
) -> Trace:
    """Return the trace of slices in any order; within their lanes they are nested by time.

    Slices named ``ProfilerStep#<n>``, or named with a number on a lane named "Steps", become the training steps.

    Args:
        slices: up to a few hundred thousand are fast; readers of larger files should fill columns, as the modules
            beside this one do with `stepscope.profiler.traces.build`.
        counters: quantities over time.
        notes: what happened to the file as a whole, for the trace's losses.
        metadata: what the file says about itself.
        epoch_ns: wall time of the trace's time 0 in nanoseconds since 1970, if the file has it.

    Raises:
        TypeError: the arguments of a slice are no mapping.
    """
    for one in slices:
        if not isinstance(one.arguments, Mapping):
            raise TypeError(f"the arguments of {one.name!r} are {one.arguments!r}, expected a mapping")
    kept = [one for one in slices if _in_range(one)]
    lost = len(slices) - len(kept)
    lanes = list(dict.fromkeys(one.lane for one in kept))
    numbers = {lane: number for number, lane in enumerate(lanes)}
    names, categories = [one.name for one in kept], [one.category for one in kept]
    name_id, used_names = intern_used(np.arange(len(kept), dtype=np.int32), names)
    category_id, used_categories = intern_used(np.arange(len(kept), dtype=np.int32), categories)
    arranged = arrange(
        RawSlices(
            start_ns=_column((one.start_ns for one in kept), np.int64),
            duration_ns=_column((one.duration_ns for one in kept), np.int64),
            lane=_column((numbers[one.lane] for one in kept), np.int32),
            name_id=name_id,
            category_id=category_id,
        ),
        lanes,
    )
    return assemble(
        arranged,
        names=used_names,
        categories=used_categories,
        arguments=_Arguments([kept[index].arguments for index in arranged.order.tolist()]),
        flows=no_flows(),
        counters=tuple(counters),
        steps=find_steps(arranged.columns, used_names, arranged.lanes),
        losses=Losses({TIME_RANGE: lost} if lost else {}, notes),
        metadata=metadata or {},
        epoch_ns=epoch_ns,
    )


def _in_range(one: Slice) -> bool:
    return EARLIEST_NS <= one.start_ns <= LATEST_NS and abs(one.duration_ns) <= LONGEST_NS


def _column(values: Any, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    return np.fromiter(values, dtype)
