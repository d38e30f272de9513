"""How far the host is ahead of the device: queue length per stream, and the delay from call to start."""

import re
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Device, Facts, Scope, facts_of
from stepscope.profiler.analysis.reasons import NO_DEVICE
from stepscope.profiler.analysis.records import DEVICE, STREAM, Analysis, Column, statistics_of
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import numbered

if TYPE_CHECKING:
    import polars as pl

FULL_QUEUE: Final = 1024
"""Number of pending launches of a stream at which the next launch blocks the host."""
_ENQUEUES: Final = re.compile(
    r"(cuda|cu|hip)(?!\w*Graph)\w*Launch\w*|(cuda|cu|hip)Mem(cpy|set)\w*(Async|WithStream)\w*|runFunction\b.*"
)
"""A launched graph is one entry of the queue, however many kernels it holds, so it is left out."""


def _queued(facts: Facts, scope: Scope) -> Device:
    """Return the activities that a call put into a stream's queue."""
    every = facts.device(scope)
    launched = np.flatnonzero(every.launch >= 0)
    if not len(launched):
        return every.where(launched)
    names, _, name = numbered(facts.trace.name_id[every.launch[launched]])
    enqueues = np.array([_ENQUEUES.match(facts.trace.names[each]) is not None for each in names.tolist()], np.bool_)
    return every.where(launched[enqueues[name]])


def queue_length(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return the number of activities that are launched but not yet started, per stream, over time.

    Like HolisticTraceAnalysis' ``get_queue_length_time_series``: +1 when the launching call begins, -1 when the
    activity starts. Each row is a change; the value holds until the next.

    Columns: device, stream, time_ns, length (int64), in order of device, stream and time.
    """
    import polars as pl

    facts = facts_of(trace)
    queued = _queued(facts, scope)
    times = np.concatenate([facts.trace.start_ns[queued.launch], queued.start])
    change = np.repeat(np.array([1, -1], np.int64), len(queued.start))
    device, stream = np.tile(queued.device, 2), np.tile(queued.stream, 2)
    # At equal times, additions come before removals.
    order = np.lexsort((2 * times + (change < 0), stream, device))
    # One sum for all streams: every activity of a stream is added and removed again, so each stream begins at 0.
    length = np.cumsum(change[order])
    return pl.DataFrame({"device": device[order], "stream": stream[order], "time_ns": times[order], "length": length})


def queue_summary(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return statistics of `queue_length` over its changes, and the time that each stream's queue was full.

    Columns: device, stream, count (int64), mean, std, min, p25, p50, p75, max (float64), full_ns (int64): the time with
    at least 1024 pending, in which launches block.
    """
    import polars as pl

    series = queue_length(trace, scope=scope)
    held = pl.col("time_ns").shift(-1) - pl.col("time_ns")
    length = pl.col("length")
    return (
        series.group_by("device", "stream")
        .agg(*statistics("length"), held.filter(length >= FULL_QUEUE).sum().alias("full_ns"))
        .sort("device", "stream")
    )


def statistics(column: str) -> list["pl.Expr"]:
    """Return the count, mean, sample standard deviation, extremes and quartiles (linear) of a column."""
    import polars as pl

    value = pl.col(column).cast(pl.Float64)
    quantiles = [value.quantile(part / 100, "linear").alias(f"p{part}") for part in (25, 50, 75)]
    return [
        pl.len().cast(pl.Int64).alias("count"),
        value.mean().alias("mean"),
        value.std().alias("std"),
        value.min().alias("min"),
        *quantiles,
        value.max().alias("max"),
    ]


def launch_delays(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return every launch: the duration of the call, of the activity, and of the delay between them.

    Like HolisticTraceAnalysis' ``get_cuda_kernel_launch_stats``: delay = max(0, start of the activity - end of the
    call).

    Columns: slice (int64, of the activity), name (text), device, stream, call_ns, duration_ns, delay_ns (int64), in
    order of start.
    """
    import polars as pl

    facts = facts_of(trace)
    queued = _queued(facts, scope)
    return pl.DataFrame(
        {
            "slice": queued.slice,
            "name": facts.name_column(queued.slice),
            "device": queued.device,
            "stream": queued.stream,
            "call_ns": facts.trace.duration_ns[queued.launch],
            "duration_ns": queued.duration,
            "delay_ns": np.maximum(queued.start - facts.end_ns[queued.launch], 0),
        }
    )


def launch_summary(trace: Trace | Facts, *, scope: Scope = "complete") -> "pl.DataFrame":
    """Return one row on all launches: their delays, and how many are signs of trouble.

    Columns: launches, short_kernels (shorter than their launching call), slow_calls (over 100 us), late (delay over
    100 us) (int64), delay_mean_ns, delay_p50_ns, delay_p95_ns, delay_max_ns (float64, null without launches).
    """
    import polars as pl

    delays = launch_delays(trace, scope=scope)
    delay = pl.col("delay_ns").cast(pl.Float64)
    limit: NDArray[np.int64] = np.array(100_000)
    return delays.select(
        pl.len().cast(pl.Int64).alias("launches"),
        (pl.col("duration_ns") < pl.col("call_ns")).sum().cast(pl.Int64).alias("short_kernels"),
        (pl.col("call_ns") > int(limit)).sum().cast(pl.Int64).alias("slow_calls"),
        (pl.col("delay_ns") > int(limit)).sum().cast(pl.Int64).alias("late"),
        delay.mean().alias("delay_mean_ns"),
        delay.quantile(0.5, "linear").alias("delay_p50_ns"),
        delay.quantile(0.95, "linear").alias("delay_p95_ns"),
        delay.max().alias("delay_max_ns"),
    )


QUEUE: Final = Analysis(
    "queue",
    "launches waiting on streams",
    queue_summary,
    (
        DEVICE,
        STREAM,
        *statistics_of("pending launches"),
        Column("full_ns", "time with at least 1024 pending launches, in which launches block"),
    ),
    title="Queue",
    description="Pending launches on each stream; statistics over each change.",
    empty="No launch is linked to what it launched. " + NO_DEVICE,
)
"""Pending launches."""
LAUNCHES: Final = Analysis(
    "launches",
    "delays from launch to start",
    launch_summary,
    (
        Column("launches", "launches whose activity on the device is known"),
        Column("short_kernels", "launched activities that are shorter than the launching call"),
        Column("slow_calls", "launching calls longer than 100 µs"),
        Column("late", "activities that started more than 100 µs after their launch"),
        Column("delay_mean_ns", "mean delay from a launch's end to its activity's start"),
        Column("delay_p50_ns", "median delay from a launch's end to its activity's start"),
        Column("delay_p95_ns", "95th percentile of the delay from a launch's end to its activity's start"),
        Column("delay_max_ns", "maximum delay from a launch's end to its activity's start"),
    ),
    title="Launches",
    description="Delays from a launch's end to its activity's start. Short: shorter than its launch. "
    "Late, slow: over 100 µs.",
    empty=NO_DEVICE,
)
"""Launch delays."""
