"""Where the time of each step went."""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Device, Facts, facts_of
from stepscope.profiler.analysis.intervals import Intervals, union
from stepscope.profiler.analysis.reasons import NO_STEPS
from stepscope.profiler.analysis.records import START, Analysis, Column
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

CATEGORIES: Final = (
    "kernel",
    "memcpy",
    "memset",
    "communication",
    "runtime",
    "dataloader",
    "cpu_exec",
    "other",
)
"""Categories in order of priority: an instant belongs to the first that is active, or else to "other"."""
_FEW_KERNELS: Final = 0.8


class Windows(NamedTuple):
    """Bounds of steps, int64 nanoseconds ``[k]``, and the number of each step."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    number: list[int]


def step_windows(facts: Facts) -> Windows:
    """Return the bounds of the steps, host and device together.

    Like torch-tb-profiler's ``StepParser``: step i lasts from max(end of step i - 1, its start on the host) to max(its
    end on the host, the last end of what it launched on a device). If the first step launched something, it does not
    begin before earlier work on the device has ended. Last steps that launched nothing, or under 0.8 of what the
    previous step did, are left out: the profiler may have stopped before their kernels ran.
    """
    return facts.once(_step_windows)


def _step_windows(facts: Facts) -> Windows:
    steps = facts.steps
    host_start = np.array([step.start_ns for step in steps], np.int64)
    host_end = host_start + np.array([step.duration_ns for step in steps], np.int64)
    numbers = [step.number for step in steps]
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication"))
    members = launched_within(facts, every, host_start, host_end)
    counts = list(map(len, members))
    if not any(counts):
        return Windows(host_start, host_end, numbers)
    previous = int(host_start[0])
    if counts[0]:
        outside = every.end < every.start[members[0]].min()
        outside[np.concatenate(members)] = False
        previous = max(previous, int(every.end[outside].max(initial=previous)))
    starts, ends = host_start.copy(), host_end.copy()
    for index, inside in enumerate(members):
        starts[index] = max(previous, int(host_start[index]))
        ends[index] = max(int(host_end[index]), int(every.end[inside].max(initial=starts[index])), int(starts[index]))
        previous = int(ends[index])
    keep = _kept(counts)
    return Windows(starts[:keep], ends[:keep], numbers[:keep])


def launched_within(
    facts: Facts, device: Device, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return the device activities launched by calls within each time interval, as indices among them."""
    launched = np.flatnonzero(device.launch >= 0)
    # Each interval examines only calls that begin in it: there may be thousands of both steps and kernels.
    launched = launched[np.argsort(facts.trace.start_ns[device.launch[launched]], kind="stable")]
    starts = facts.trace.start_ns[device.launch[launched]]
    bounds = zip(np.searchsorted(starts, begins), np.searchsorted(starts, ends, side="right"), ends, strict=True)
    found = ((launched[first:last], end) for first, last, end in bounds)
    return [within[facts.end_ns[device.launch[within]] <= end] for within, end in found]


def _kept(counts: list[int]) -> int:
    """Return how many steps are complete, given how many device activities each launched."""
    if len(counts) < 2:
        return len(counts)
    last = max(index for index, count in enumerate(counts) if count)
    incomplete = last > 0 and counts[last - 1] * _FEW_KERNELS > counts[last]
    return last if incomplete else last + 1


def in_steps(facts: Facts) -> NDArray[np.bool_]:
    """Return which slices belong to complete steps, bool ``[n]``: begun in one, or on devices launched by one."""
    steps = facts.steps[: len(step_windows(facts).start)]
    starts = np.array([step.start_ns for step in steps], np.int64)
    ends = starts + np.array([step.duration_ns for step in steps], np.int64)
    begin = facts.trace.start_ns.copy()
    every = facts.every_device_activity
    launched = every.launch >= 0
    begin[every.slice[launched]] = facts.trace.start_ns[every.launch[launched]]
    place = np.searchsorted(starts, begin, side="right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (begin <= ends[np.maximum(place, 0)])
    return inside


def category_intervals(facts: Facts) -> dict[str, Intervals]:
    """Return when each category but "other" is active, merged over lanes, regardless of priority."""
    trace, end = facts.trace, facts.end_ns

    def merged(chosen: NDArray[np.int64]) -> Intervals:
        return union(trace.start_ns[chosen], end[chosen])

    return {
        "kernel": merged(facts.slices("kernel", on_device=True)),
        "memcpy": merged(facts.slices("memcpy", on_device=True)),
        "memset": merged(facts.slices("memset", on_device=True)),
        "communication": merged(facts.slices("communication")),
        "runtime": merged(facts.slices("runtime", "synchronization", on_device=False)),
        "dataloader": merged(facts.slices("data_loading", on_device=False)),
        "cpu_exec": merged(facts.slices("operator", on_device=False)),
    }


def step_breakdown(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the time of each step by category.

    Categories, priorities and step bounds are torch-tb-profiler's (``OverallParser``, ``ProfileRole``): an instant
    belongs to the first of kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec that is active, or else
    to other. The categories of a step add up to its total.

    Columns: step (int64), start_ns, total_ns, then ``<category>_ns`` for each of `CATEGORIES` (int64).
    """
    return facts_of(trace).once(_step_breakdown)


def _step_breakdown(facts: Facts) -> "pl.DataFrame":
    import polars as pl

    windows = step_windows(facts)
    left = union(windows.start, windows.end)
    columns: dict[str, NDArray[np.int64]] = {}
    for category, active in category_intervals(facts).items():
        taken = left & active
        columns[f"{category}_ns"] = taken.lengths_within(windows.start, windows.end)
        left = left - taken
    columns["other_ns"] = left.lengths_within(windows.start, windows.end)
    return pl.DataFrame(
        {
            "step": pl.Series(windows.number, dtype=pl.Int64),
            "start_ns": windows.start,
            "total_ns": windows.end - windows.start,
            **columns,
        }
    )


def mean_step(trace: Trace | Facts) -> "pl.DataFrame":
    """Return the mean step by category, in order of priority.

    Columns: category (text), mean_ns, percent of the mean step (float64); null without steps.
    """
    import polars as pl

    steps = step_breakdown(trace)
    means = [steps[f"{category}_ns"].mean() for category in CATEGORIES]
    whole = steps["total_ns"].mean()
    frame = pl.DataFrame(
        {"category": list(CATEGORIES), "mean_ns": pl.Series(means, dtype=pl.Float64)},
    )
    percent = 100 * pl.col("mean_ns") / pl.lit(whole if whole else None, dtype=pl.Float64)
    return frame.with_columns(percent.alias("percent"))


STEPS: Final = Analysis(
    "steps",
    "time of each step by category",
    step_breakdown,
    (
        Column("step", "number of the step", "identity"),
        START,
        Column("total_ns", "how long the step took", adds_up=True),
        Column("kernel_ns", "time in kernels", adds_up=True, of_devices=True),
        Column("memcpy_ns", "remaining time in copies", adds_up=True, of_devices=True),
        Column("memset_ns", "remaining time in memsets", adds_up=True, of_devices=True),
        Column("communication_ns", "remaining time in collectives", adds_up=True),
        Column("runtime_ns", "remaining time in calls of the device's runtime", adds_up=True),
        Column("dataloader_ns", "remaining time in data loading", adds_up=True),
        Column("cpu_exec_ns", "remaining time in operators on the host", adds_up=True),
        Column("other_ns", "time that no category accounts for", adds_up=True),
    ),
    title="Steps",
    description="Time of each step by category; if several overlap, time counts for the first.",
    empty=NO_STEPS,
)
"""Time of each step."""
MEAN_STEP: Final = Analysis(
    "mean_step",
    "the mean step by category",
    mean_step,
    (
        Column("category", "category, named as in the columns of `steps`", "label"),
        Column("mean_ns", "mean time per step", adds_up=True),
        Column("percent", "share of the mean step", adds_up=True),
    ),
    title="Mean step",
    description="The mean step by category; if several overlap, time counts for the first.",
    empty=NO_STEPS,
    whole=True,
)
"""The mean step."""
