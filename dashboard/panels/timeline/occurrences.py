"""The slices with one name: their durations, and the rank of one slice among them."""

import math
from typing import Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.details import longest_of, slice_row, step_at, steps_of
from stepscope.dashboard.panels.timeline.messages import InTime, OccurrencesAnswer, OccurrencesByStep
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.trace import Step, Trace
from stepscope.summary.distinct import distinct_values

Scope = Literal["all", "lane", "step"]
"""Which slices with the name count: all, those on the slice's lane, or those that begin in the same step."""
MOST_BUCKETS: Final = 40
LEAST_BUCKETS: Final = 4
MAX_LONGEST: Final = 20
MAX_STEPS: Final = 5_000


def occurrences(opened: OpenedTrace, index: int, scope: Scope) -> OccurrencesAnswer:
    """Return statistics of the slices with the same name as a slice; durations in nanoseconds.

    ``std`` is the sample standard deviation, 0 for one slice; ``rank`` is 1 for the longest, and equally long ones
    share a rank; ``percentile`` is the fraction of slices that take at most as long; ``place`` counts from 0 in
    chronological order. For each of the first `MAX_STEPS` steps, slices count where they begin; ``steps`` is None if
    the trace marks none.

    Raises:
        ValueError: if the scope is a step, and the slice begins in none.
    """
    trace = opened.trace
    steps = steps_of(trace)
    slices = _slices_of(trace, steps, index, scope)
    durations = trace.duration_ns[slices]
    own = int(trace.duration_ns[index])
    median, p95 = np.percentile(durations, [50, 95]).tolist()
    total = int(durations.sum())
    edges, counts = histogram(durations)
    return {
        "index": index,
        "name": trace.names[int(trace.name_id[index])],
        "scope": scope,
        "count": len(slices),
        "total": total,
        "mean": total / len(slices),
        "median": median,
        "p95": p95,
        "min": int(durations.min()),
        "max": int(durations.max()),
        "std": float(durations.std(ddof=1)) if len(slices) > 1 else 0.0,
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
        "rank": 1 + int((durations > own).sum()),
        "percentile": 100 * int((durations <= own).sum()) / len(slices),
        "longest": [slice_row(opened, each) for each in longest_of(trace, slices, MAX_LONGEST).tolist()],
        **_place(trace, slices, index),
        "steps": _by_step(trace, steps, slices) if steps else None,
    }


def _slices_of(trace: Trace, steps: list[Step], index: int, scope: Scope) -> NDArray[np.int64]:
    slices = np.flatnonzero(trace.name_id == trace.name_id[index])
    match scope:
        case "all":
            return slices
        case "lane":
            on_lane: NDArray[np.bool_] = trace.lane[slices] == trace.lane[index]
            return slices[on_lane]
        case "step":
            (step,) = step_at(steps, trace.start_ns[index : index + 1]).tolist()
            if step < 0:
                raise ValueError(
                    f"Slice {index} begins in no step of the trace; expected one that does, or scope “all” or “lane”."
                )
            in_step: NDArray[np.bool_] = step_at(steps, trace.start_ns[slices]) == step
            return slices[in_step]
        case _:
            assert_never(scope)


def histogram(durations: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return at most `MOST_BUCKETS` geometric buckets: edges int64 ``[b + 1]``, counts int64 ``[b]``.

    Bucket i holds durations from ``edges[i]`` up to, but not including, ``edges[i + 1]``; the last one includes its
    end. Durations of 0 have a separate bucket, which ends at the shortest other duration. If all durations are equal,
    there is one bucket, whose edges are both that duration.
    """
    positive = durations[durations > 0]
    if not len(positive):
        return np.array([0, 0]), np.array([len(durations)])
    low, high = int(positive.min()), int(positive.max())
    buckets = min(MOST_BUCKETS - 1, max(LEAST_BUCKETS, 2 * math.isqrt(len(durations))))
    inner = np.rint(np.geomspace(low, high, buckets + 1)[1:-1]).astype(np.int64)
    edges = distinct_values(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))
    if len(edges) == 1:
        edges = np.array([low, low])
    if len(positive) < len(durations):
        edges = np.concatenate([[0], edges])
    place = np.minimum(np.searchsorted(edges, durations, side="right") - 1, len(edges) - 2)
    return edges, np.bincount(place, minlength=len(edges) - 1)


def _place(trace: Trace, slices: NDArray[np.int64], index: int) -> InTime:
    """Return the chronological position of a slice among others, and the slices before and after it; ties by index."""
    starts, own = trace.start_ns[slices], trace.start_ns[index]
    before = slices[(starts < own) | ((starts == own) & (slices < index))]
    after = slices[(starts > own) | ((starts == own) & (slices > index))]
    return {
        "place": len(before),
        # Among equal times, the last one before and the first one after.
        "previous": int(before[::-1][np.argmax(trace.start_ns[before[::-1]])]) if len(before) else None,
        "next": int(after[np.argmin(trace.start_ns[after])]) if len(after) else None,
    }


def _by_step(trace: Trace, steps: list[Step], slices: NDArray[np.int64]) -> OccurrencesByStep:
    steps = steps[:MAX_STEPS]
    step = step_at(steps, trace.start_ns[slices])
    inside = step >= 0
    count = np.bincount(step[inside], minlength=len(steps))
    total = np.zeros(len(steps), np.int64)
    np.add.at(total, step[inside], trace.duration_ns[slices[inside]])
    mean = np.divide(total, count, out=np.full(len(steps), np.nan), where=count > 0)
    return {
        "number": [each.number for each in steps],
        "count": count.tolist(),
        "total": total.tolist(),
        "mean": [None if math.isnan(value) else value for value in mean.tolist()],
    }
