"""A trace in memory: immutable columns of slices, with lanes, flows, counters, steps and what was lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

LaneKind = Literal["host", "device", "stream", "memcpy", "other"]


class Arguments(Protocol):
    """Arguments of slices, kept as they were stored and decoded for one slice at a time."""

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Lane:
    """One row group of the timeline: a thread of a process, or a stream of a device.

    ``process`` and ``name`` are for display; ``pid`` and ``tid`` are the identifiers in the file.
    """

    process: str
    name: str
    pid: int | str
    tid: int | str
    kind: LaneKind
    depths: int = 0
    """Number of rows of nested slices in the lane; 0 for a lane without slices, and before they are arranged."""


@dataclass(frozen=True)
class Flows:
    """Arrows between slices, as parallel columns: the slice that each leaves and the slice that each reaches."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    category_id: NDArray[np.int32]
    """Index into `Trace.categories`."""


@dataclass(frozen=True)
class Counter:
    """A quantity over time, one series of a counter event."""

    process: str
    name: str
    series: str
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One training step, as marked in the trace."""

    number: int
    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True)
class Losses:
    """What a reader could not show as it was in the file: counts by reason.

    Reasons are short sentences such as "negative duration"; ``notes`` describe what happened to the file as a whole,
    such as where a truncated file ends.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)
    """One example of each reason, as text that says what it is and where; `stepscope.profiler.traces.losses.explain`
    explains a reason. Reasons that concern nothing in particular have no example."""


@dataclass(frozen=True)
class Trace:
    """A trace, whatever format it was stored in.

    Slices are sorted by (lane, depth, start), so that each depth of each lane is one contiguous range, in which starts
    never decrease and slices never overlap. Times are integer nanoseconds on the trace's own clock.
    """

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    lane: NDArray[np.int32]
    depth: NDArray[np.int32]
    name_id: NDArray[np.int32]
    category_id: NDArray[np.int32]
    names: tuple[str, ...]
    categories: tuple[str, ...]
    lanes: tuple[Lane, ...]
    """In display order: by process, then by thread."""
    arguments: Arguments
    flows: Flows
    counters: tuple[Counter, ...]
    steps: tuple[Step, ...]
    losses: Losses
    metadata: Mapping[str, Any]
    epoch_ns: int | None = None
    """Wall time of the trace's time 0, in nanoseconds since 1970; None if the file does not state it.

    Two traces are on one clock once each one's own value is added to its times.
    """

    def __len__(self) -> int:
        return len(self.start_ns)

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """The innermost slice that encloses each slice on its lane, or -1; int64 ``[n]``."""
        # Compiled code, which programs that only record must not load.
        from stepscope.profiler.parents import enclosing

        return enclosing(self.start_ns, self.duration_ns, self.lane, self.depth)
