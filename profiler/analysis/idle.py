"""Why streams wait."""

from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from profiler.analysis.facts import Facts, Scope, facts_of
from profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

Cause = Literal["host_wait", "kernel_wait", "other"]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
BACK_TO_BACK_NS: Final = 30_000
"""A gap shorter than this is the cost of starting a kernel. HolisticTraceAnalysis' default is 30, which its
documentation calls nanoseconds; its traces are in microseconds, and so is the comparison."""


def idle_time(
    trace: Trace | Facts, *, scope: Scope = "complete", back_to_back_ns: int = BACK_TO_BACK_NS
) -> "pl.DataFrame":
    """Idle time of each stream by cause.

    As HolisticTraceAnalysis' ``get_idle_time_breakdown``. The gap before an activity is

    - host_wait if it was launched after the previous one on the stream had ended: the host was late;
    - kernel_wait if not, and the gap is under ``back_to_back_ns``: what starting a kernel costs;
    - other if not: usually waiting for another stream.

    Activities count with kernels, copies and memsets, synchronisation does not. A gap is negative where
    activities of a stream overlap.

    Columns: device, stream (int64), cause (text), idle_ns, gaps (int64), percent (float64, of the stream's idle
    time).
    """
    import polars as pl

    facts = facts_of(trace)
    every = facts.device(scope)
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    order = np.lexsort((every.start, every.stream, every.device))
    device, stream = every.device[order], every.stream[order]
    start, end, launch = every.start[order], every.end[order], every.launch[order]
    if not len(start):
        return _frame(pl.DataFrame({"device": [], "stream": [], "cause": [], "idle_ns": [], "gaps": []}))
    first = np.concatenate([[True], (device[1:] != device[:-1]) | (stream[1:] != stream[:-1])])
    previous = np.concatenate([[0], end[:-1]])
    launched = np.where(launch >= 0, facts.trace.start_ns[np.maximum(launch, 0)], np.iinfo(np.int64).min)
    gap = np.where(first, 0, start - previous)
    cause = np.where(launched > previous, 0, np.where(gap < back_to_back_ns, 1, 2))
    cause = np.where(first, 2, cause)
    grouped = (
        pl.DataFrame({"device": device, "stream": stream, "cause": cause, "idle_ns": gap, "gaps": ~first})
        .group_by("device", "stream", "cause")
        .agg(pl.col("idle_ns").sum(), pl.col("gaps").sum().cast(pl.Int64))
        .sort("device", "stream", "cause")
        .with_columns(pl.col("cause").replace_strict(list(range(len(CAUSES))), list(CAUSES), return_dtype=pl.String))
    )
    return _frame(grouped)


def _frame(grouped: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    whole = pl.col("idle_ns").sum().over("device", "stream")
    percent = pl.when(whole != 0).then(100 * pl.col("idle_ns") / whole)
    integers = ("device", "stream", "idle_ns", "gaps")
    return (
        grouped.cast(dict.fromkeys(integers, pl.Int64))
        .cast({"cause": pl.String})
        .with_columns(percent.cast(pl.Float64).alias("percent"))
    )
