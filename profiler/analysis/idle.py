"""Why streams are idle."""

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Device, Facts, Scope, facts_of
from stepscope.profiler.analysis.reasons import NO_DEVICE
from stepscope.profiler.analysis.records import DEVICE, STREAM, Analysis, Column
from stepscope.profiler.analysis.stretches import furthest
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import running_count

if TYPE_CHECKING:
    import polars as pl

Cause = Literal["host_wait", "kernel_wait", "other"]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
Of = Literal["stream", "device"]
BACK_TO_BACK_NS: Final = 30_000
"""A gap shorter than this is the cost of starting a kernel. HolisticTraceAnalysis' default is 30, which its
documentation calls nanoseconds; its traces are in microseconds, and so is the comparison."""


class Gaps(NamedTuple):
    """Gaps between activities of streams, or of whole devices, as parallel columns in order of device, stream and time.

    Nothing ran there in a gap.
    """

    of: Of
    device: NDArray[np.int64]
    stream: NDArray[np.int64]
    """-1 for gaps of a whole device."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    cause: NDArray[np.int64]
    """Indices into `CAUSES`."""
    slice: NDArray[np.int64]
    """The activity after the gap."""

    @property
    def duration(self) -> NDArray[np.int64]:
        """Durations in nanoseconds."""
        return self.end - self.start


def idle_gaps(
    trace: Trace | Facts,
    *,
    of: Of = "stream",
    scope: Scope = "complete",
    back_to_back_ns: int = BACK_TO_BACK_NS,
) -> Gaps:
    """Return the times in which nothing ran on a stream, or on any stream of a device, and their causes.

    The causes are those of the activities that end the gaps, as `idle_time` defines them.
    """
    facts = facts_of(trace)
    every, first = _activities(facts, scope, of)
    latest_end = every.end[furthest(running_count(first), every.end)]
    previous = np.concatenate([[0], latest_end[:-1]])[: len(first)].astype(np.int64)
    launched = np.where(every.launch >= 0, facts.trace.start_ns[np.maximum(every.launch, 0)], np.iinfo(np.int64).min)
    gap = every.start - previous
    cause = np.where(launched > previous, 0, np.where(gap < back_to_back_ns, 1, 2))
    keep = ~first & (gap > 0)
    return Gaps(
        of,
        every.device[keep],
        every.stream[keep] if of == "stream" else np.full(int(keep.sum()), -1, np.int64),
        previous[keep],
        every.start[keep],
        cause[keep],
        every.slice[keep],
    )


def _activities(facts: Facts, scope: Scope, of: Of = "stream") -> tuple[Device, NDArray[np.bool_]]:
    """Return the activities that count, by stream or device and start, and which of them are the first there."""
    every = facts.device(scope)
    busy = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    # Activities are in order of start, which a stable sort by stream keeps.
    stream = busy.stream if of == "stream" else np.zeros(len(busy.slice), np.int64)
    order = np.lexsort((stream, busy.device))
    busy, stream = busy.where(order), stream[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (busy.device[1:] != busy.device[:-1]) | (stream[1:] != stream[:-1])
    return busy, first


def idle_time(
    trace: Trace | Facts, *, scope: Scope = "complete", back_to_back_ns: int = BACK_TO_BACK_NS
) -> "pl.DataFrame":
    """Return the idle time of each stream by cause.

    Like HolisticTraceAnalysis' ``get_idle_time_breakdown``, which subtracts the time in which activities of a stream
    overlap. The gap before an activity is

    - host_wait if it was launched after those before it on the stream had ended: the host was late;
    - kernel_wait if not, and the gap is under ``back_to_back_ns``: the cost of starting a kernel;
    - other if not: usually waiting for another stream.

    Kernels, copies and memsets count as activities; synchronization does not.

    Columns: device, stream (int64), cause (text), idle_ns, gaps (int64), percent (float64, of the stream's idle time).
    """
    import polars as pl

    facts = facts_of(trace)
    every, first = _activities(facts, scope)
    gaps = idle_gaps(facts, scope=scope, back_to_back_ns=back_to_back_ns)
    device, stream = every.device[first], every.stream[first]
    stream_of = (running_count(first) - 1)[np.isin(every.slice, gaps.slice)]
    other = CAUSES.index("other")
    # Each stream has a row for "other", even if empty: its first activity has no gap before it.
    group = np.concatenate([stream_of * len(CAUSES) + gaps.cause, np.arange(len(device)) * len(CAUSES) + other])
    size = len(device) * len(CAUSES)
    counts = np.bincount(group[: len(gaps.start)], minlength=size)
    idle = np.zeros(size, np.int64)
    np.add.at(idle, group[: len(gaps.start)], gaps.duration)
    found = np.flatnonzero(np.bincount(group, minlength=size))
    of_stream = found // len(CAUSES)
    whole = idle.reshape(-1, len(CAUSES)).sum(axis=1)[of_stream]
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = 100 * idle[found] / whole
    return pl.DataFrame(
        {
            "device": device[of_stream],
            "stream": stream[of_stream],
            "cause": pl.Series([CAUSES[each] for each in (found % len(CAUSES)).tolist()], dtype=pl.String),
            "idle_ns": idle[found],
            "gaps": counts[found],
            "percent": pl.Series(
                [value if total else None for value, total in zip(percent.tolist(), whole.tolist(), strict=True)],
                dtype=pl.Float64,
            ),
        }
    )


IDLE: Final = Analysis(
    "idle",
    "idle time of streams by cause",
    idle_time,
    (
        DEVICE,
        STREAM,
        Column("cause", '"host_wait", "kernel_wait" or "other"', "word"),
        Column("idle_ns", "time of the stream without any activity"),
        Column("gaps", "how many gaps between activities"),
        Column("percent", "share of the stream's idle time"),
    ),
    title="Idle time of streams by cause",
    description="Host wait: the next activity was not launched yet. Kernel wait: what starting a kernel costs. "
    "Other: usually waiting for another stream.",
    empty=NO_DEVICE,
)
"""Idle time of streams by cause."""
