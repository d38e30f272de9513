"""Several traces in one view: how their times are aligned, and how two of them differ.

Times of a trace are its own here; its origin is the time that a view calls 0. An offset is added to a trace's times
since its origin so that they align with the first trace's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import is_profilers_own
from stepscope.profiler.analysis.communication import match_collectives
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.trace import Step
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    import polars as pl

By = Literal["start", "step", "clock", "name", "collectives"]
Verdict = Literal["only in first", "only in second", "longer", "shorter", "same"]

RELATIVE_CHANGE: Final = 0.1
"""A mean duration that changes by no more than this share of it counts as the same."""
SHARE_OF_WINDOW: Final = 0.001
"""So does one that changes the time of the calls by no more than this share of the window."""
_FAR_NS: Final = 3600 * 10**9


@dataclass(frozen=True)
class Aligned:
    """One of the traces to align."""

    facts: Facts
    origin_ns: int
    label: str
    """The name used in messages."""


@dataclass(frozen=True)
class Alignment:
    """Offsets in nanoseconds, the first of which is 0, and notes for the user."""

    offsets: tuple[int, ...]
    notes: tuple[str, ...]


def align(
    traces: Sequence[Aligned],
    by: By,
    *,
    step: int | None = None,
    name: str | None = None,
    communication: Sequence["pl.DataFrame"] = (),
) -> Alignment:
    """Align traces, of which there is at least one.

    - "start": by their origins;
    - "step": by the start of step ``step``; a trace without it uses the nearest step, which a note reports; without
      ``step``, by the first step that all have, else the first of each;
    - "clock": by the wall clock, from `stepscope.profiler.trace.Trace.epoch_ns`;
    - "name": by the first slice called ``name``;
    - "collectives": by the ends of matched collectives, which all ranks leave at nearly the same time: the median of
      the differences. ``communication`` has `stepscope.profiler.analysis.communication.communication` of each trace.
      This is for ranks whose clocks differ.

    Raises:
        UserError: a trace lacks what the traces are to be aligned by.
    """
    match by:
        case "start":
            return Alignment((0,) * len(traces), ())
        case "step":
            return _by_step(traces, step)
        case "clock":
            return _by_clock(traces)
        case "name":
            return _by_name(traces, name or "")
        case "collectives":
            return _by_collectives(traces, communication)
        case _:
            assert_never(by)


def _offsets(traces: Sequence[Aligned], moments: Sequence[int]) -> tuple[int, ...]:
    """Return the offsets that move a point of each trace, in its own time, to that of the first."""
    since = [moment - each.origin_ns for each, moment in zip(traces, moments, strict=True)]
    return tuple(since[0] - moment for moment in since)


def _by_step(traces: Sequence[Aligned], wanted: int | None) -> Alignment:
    for each in traces:
        if not each.facts.trace.steps:
            raise UserError(f"{each.label} has no marked steps. Align the traces by their start or by a slice's name.")
    steps = [each.facts.trace.steps for each in traces]
    common = set.intersection(*({step.number for step in of_trace} for of_trace in steps))
    notes: list[str] = []
    if wanted is None and common:
        wanted = min(common)
        notes.append(f"Aligned by step {wanted}, the first that all have.")
    elif wanted is None:
        notes.append("The traces have no step in common: they are aligned by the first step of each.")
        return Alignment(_offsets(traces, [of_trace[0].start_ns for of_trace in steps]), tuple(notes))
    chosen = [_nearest(of_trace, wanted) for of_trace in steps]
    notes += [
        f"{each.label} has no step {wanted}: its nearest, step {step.number}, is used."
        for each, step in zip(traces, chosen, strict=True)
        if step.number != wanted
    ]
    return Alignment(_offsets(traces, [step.start_ns for step in chosen]), tuple(notes))


def _nearest(steps: Sequence[Step], number: int) -> Step:
    return min(steps, key=lambda step: (abs(step.number - number), step.number))


def _by_clock(traces: Sequence[Aligned]) -> Alignment:
    begins: list[int] = []
    for each in traces:
        epoch = each.facts.trace.epoch_ns
        if epoch is None:
            raise UserError(
                f"{each.label} has no wall-clock start time. "
                "Align the traces by a step, by their start, or by their collectives."
            )
        begins.append(epoch + each.origin_ns)
    offsets = tuple(begin - begins[0] for begin in begins)
    notes = [
        f"{each.label} begins {abs(offset) / 1e9 / 3600:,.1f} hours {'after' if offset > 0 else 'before'} "
        f"{traces[0].label}."
        for each, offset in zip(traces, offsets, strict=True)
        if abs(offset) > _FAR_NS
    ]
    return Alignment(offsets, tuple(notes))


def _by_name(traces: Sequence[Aligned], name: str) -> Alignment:
    moments: list[int] = []
    for each in traces:
        trace = each.facts.trace
        number = trace.names.index(name) if name in trace.names else -1
        starts = trace.start_ns[trace.name_id == number]
        if not len(starts):
            raise UserError(f"{each.label} has no slice called “{name}”. Choose a name that all of the traces have.")
        moments.append(int(starts.min()))
    return Alignment(_offsets(traces, moments), ())


def _by_collectives(traces: Sequence[Aligned], communication: Sequence["pl.DataFrame"]) -> Alignment:
    matched = match_collectives(communication)
    keys = list(zip(*(matched[key].to_list() for key in ("step", "collective", "number")), strict=True))
    ends = (matched["start_ns"] + matched["duration_ns"]).to_list()
    since: list[dict[tuple[int, str, int], int]] = [{} for _ in traces]
    for key, trace, end in zip(keys, matched["trace"].to_list(), ends, strict=True):
        since[trace][key] = end - traces[trace].origin_ns
    offsets, notes = [0], []
    for each, of_trace in zip(traces[1:], since[1:], strict=True):
        pairs = [(since[0][key], end) for key, end in of_trace.items() if key in since[0]]
        if not pairs:
            raise UserError(
                f"{each.label} has no collective in common with {traces[0].label}. Align them by a step or by clock."
            )
        differences = np.array([first - end for first, end in pairs], np.int64)
        offset = int(np.median(differences))
        spread = float(np.median(np.abs(differences - offset)))
        offsets.append(offset)
        notes.append(
            f"{each.label}: {counted(len(pairs), 'collective')} in common, whose ends differ by {spread / 1e3:,.1f} µs "
            "(median)."
        )
    return Alignment(tuple(offsets), tuple(notes))


def totals_by_name(facts: Facts, window: tuple[int, int] | None = None) -> "pl.DataFrame":
    """Return count and time of the slices by name and category, on the host and on devices.

    ``window`` (in the trace's own time) selects those that begin in it, each with its whole duration. Profilers' notes
    about themselves (`stepscope.profiler.analysis.classify.is_profilers_own`, and lanes of kind "other") and lifetimes
    of tensors do not count.

    Columns: name, category, side ("host", "device"), count, total_ns (int64).
    """
    import polars as pl

    trace = facts.trace
    kinds = [lane.kind for lane in trace.lanes] or ["other"]
    side = np.array([{"other": -1, "host": 0}.get(kind, 1) for kind in kinds], np.int64)
    of_slice = side[trace.lane] if len(trace) else np.empty(0, np.int64)
    chosen = of_slice >= 0
    if window is not None:
        chosen &= (trace.start_ns >= window[0]) & (trace.start_ns < window[1])
    categories = max(1, len(trace.categories))
    key = (trace.name_id[chosen].astype(np.int64) * categories + trace.category_id[chosen]) * 2 + of_slice[chosen]
    distinct, count, total = _sums(key, trace.duration_ns[chosen])
    named = (distinct // 2) // categories
    in_category = (distinct // 2) % categories
    others = ~is_profilers_own(trace, named, in_category)
    distinct, count, total, named, in_category = (
        column[others] for column in (distinct, count, total, named, in_category)
    )
    return pl.DataFrame(
        {
            "name": pl.Series([trace.names[each] for each in named.tolist()], dtype=pl.String),
            "category": pl.Series([trace.categories[each] for each in in_category.tolist()], dtype=pl.String),
            "side": pl.Series([("host", "device")[each] for each in (distinct % 2).tolist()], dtype=pl.String),
            "count": count,
            "total_ns": total,
        }
    )


def _sums(
    key: NDArray[np.int64], value: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, the count of each, and the sum of its values."""
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    if not len(first):
        return key[:0], key[:0], value[:0]
    count = np.diff(first, append=len(order))
    return key[order][first], count, np.add.reduceat(value[order], first)


def differences(first: "pl.DataFrame", second: "pl.DataFrame", window_ns: int) -> "pl.DataFrame":
    """Return the differences of two traces, or parts of them, by name and category, largest change of the total first.

    Args:
        first: `totals_by_name` of one.
        second: the same of the other; names are compared exactly.
        window_ns: their length; the longer of the two if they differ.

    The verdict is per call, so that traces with different numbers of steps can be compared: "only in first" or "only in
    second"; "longer" or "shorter" if the mean duration differs by more than `RELATIVE_CHANGE` of that in the first, and
    this amounts to more than `SHARE_OF_WINDOW` of the window over as many calls as both have; else "same".

    Columns: name, category, side (text), count_first, count_second, total_first_ns, total_second_ns (int64),
    mean_first_ns, mean_second_ns (float64, null for none), change_ns (int64), verdict (text).
    """
    import polars as pl

    keys = ("name", "category", "side")
    joined = first.join(second, on=keys, how="full", coalesce=True, suffix="_second").with_columns(
        pl.exclude(keys).fill_null(0)
    )
    mean_first = pl.when(pl.col("count") > 0).then(pl.col("total_ns") / pl.col("count"))
    mean_second = pl.when(pl.col("count_second") > 0).then(pl.col("total_ns_second") / pl.col("count_second"))
    change = pl.col("total_ns_second") - pl.col("total_ns")
    larger = pl.col("mean_second_ns") - pl.col("mean_first_ns")
    amount = larger.abs() * pl.min_horizontal("count", "count_second")
    counts = (larger.abs() > RELATIVE_CHANGE * pl.col("mean_first_ns")) & (amount > SHARE_OF_WINDOW * window_ns)
    verdict = (
        pl.when(pl.col("count_second") == 0)
        .then(pl.lit("only in first"))
        .when(pl.col("count") == 0)
        .then(pl.lit("only in second"))
        .when(counts & (larger > 0))
        .then(pl.lit("longer"))
        .when(counts)
        .then(pl.lit("shorter"))
        .otherwise(pl.lit("same"))
    )
    return (
        joined.with_columns(mean_first.alias("mean_first_ns"), mean_second.alias("mean_second_ns"))
        .with_columns(change.alias("change_ns"), verdict.alias("verdict"))
        .rename({"count": "count_first", "total_ns": "total_first_ns", "total_ns_second": "total_second_ns"})
        .select(
            *keys,
            "count_first",
            "count_second",
            "total_first_ns",
            "total_second_ns",
            "mean_first_ns",
            "mean_second_ns",
            "change_ns",
            "verdict",
        )
        .sort(pl.col("change_ns").abs(), *keys, descending=[True, False, False, False])
    )
