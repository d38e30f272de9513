"""Data of an opened trace for the browser: pure functions from `OpenedTrace` to JSON-ready dicts and bytes.

Times are in nanoseconds relative to ``OpenedTrace.start_ns``, which float64 represents exactly for 104 days.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.lanes import MOST_COUNTERS, MOST_DEPTHS, lanes_payload, left_out, shown_lanes
from stepscope.dashboard.panels.timeline.messages import CounterWindow, Coverage, Matches, TraceRow, TraceSummary
from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.traces.sources import OpenedTrace, TraceSource
from stepscope.profiler.lod import Match, Window, coverage, search, span_ns
from stepscope.profiler.trace import Counter
from stepscope.profiler.traces.losses import counted_reason, examples_since, explain
from stepscope.summary.distinct import distinct_values, numbered

WINDOW_MAGIC = b"SSW1"
MAX_SLICES = 14_000
"""Maximum number of slices of one window: 28 bytes each, so that a view stays under 300 kB when compressed."""
MAX_STEPS = 5_000
MAX_NAME = 160
"""Maximum number of characters of a name in a window; a canvas never shows more, and details have the full name."""
MAX_NAMES = 10_000
"""Maximum number of distinct names that a search returns."""
MAX_CATEGORIES = 1_000
OVERVIEW_BUCKETS = 500
MAX_STRIPS = 16
MATCH_BUCKETS = 500


def listing(sources: Sequence[TraceSource]) -> list[TraceRow]:
    """Return the traces to choose from, in the order given."""
    return [
        {
            "id": s.id,
            "run": s.run,
            "label": s.label,
            "kind": s.kind,
            "step": s.step,
            "size": s.size,
            "recorded": s.recorded,
        }
        for s in sources
    ]


def summary(opened: OpenedTrace) -> TraceSummary:
    """Return what the panel needs before drawing: lanes, extent, steps, counters, losses, and utilization."""
    trace = opened.trace
    steps = sorted(trace.steps, key=lambda s: s.start_ns)
    return {
        "id": opened.source.id,
        "label": opened.source.label,
        "run": opened.source.run,
        "start_ns": str(opened.start_ns),
        "end": opened.end_ns - opened.start_ns,
        "work": _work(opened),
        "slices": len(trace),
        "steps": [
            (step.number, step.name, step.start_ns - opened.start_ns, step.duration_ns) for step in steps[:MAX_STEPS]
        ],
        "steps_total": len(steps),
        "counters": [
            {
                "process": c.process,
                "name": c.name,
                "series": c.series,
                "points": len(c.times_ns),
                "min": _finite(c.values, np.min),
                "max": _finite(c.values, np.max),
            }
            for c in trace.counters[:MOST_COUNTERS]
        ],
        **lanes_payload(trace, shown_lanes(trace)),
        "categories": sorted(trace.categories)[:MAX_CATEGORIES],
        "longest": int(trace.duration_ns.max()) if len(trace) else 0,
        "losses": dict(trace.losses.counts),
        "counted": {reason: counted_reason(reason, count) for reason, count in trace.losses.counts.items()},
        "examples": examples_since(trace.losses, opened.start_ns),
        "meanings": {reason: explain(reason) for reason in trace.losses.counts},
        "notes": [
            *trace.losses.notes,
            *left_out(trace),
            *(f"{name}, the same recording, is not listed" for name in opened.source.left_out),
        ],
        "coverage": _coverage(opened),
    }


def _work(opened: OpenedTrace) -> tuple[int, int]:
    """Return the start and end of the program's activity, without the profiler's notes unless there is nothing else."""
    trace = opened.trace
    if not len(trace):
        return 0, opened.end_ns - opened.start_ns
    notes = np.array([lane.kind == "other" for lane in trace.lanes], np.bool_)[trace.lane]
    chosen = ~notes if not notes.all() else notes
    ends = trace.start_ns[chosen] + trace.duration_ns[chosen]
    return int(trace.start_ns[chosen].min()) - opened.start_ns, int(ends.max()) - opened.start_ns


def _finite(values: NDArray[np.float64], reduce: Any) -> float | None:
    finite = values[np.isfinite(values)]
    return float(reduce(finite)) if len(finite) else None


def _coverage(opened: OpenedTrace) -> Coverage:
    """Return the strips of the minimap: how busy each lane is, or the busiest of each process if many, 0 to 100."""
    trace = opened.trace
    if not len(trace):
        return {"start": 0, "end": 0, "strips": []}
    begin, end = span_ns(trace)
    shown = [index for index in shown_lanes(trace) if trace.lanes[index].depths and trace.lanes[index].kind != "other"]
    busy = dict(zip(shown, coverage(trace, OVERVIEW_BUCKETS, shown), strict=True))
    groups = [[index] for index in shown]

    def busiest(group: list[int]) -> NDArray[np.float32]:
        most: NDArray[np.float32] = np.max([busy[index] for index in group], axis=0)
        return most

    if len(shown) > MAX_STRIPS:
        by_process: dict[str, list[int]] = {}
        for index in shown:
            by_process.setdefault(trace.lanes[index].process, []).append(index)
        groups = sorted(by_process.values(), key=lambda g: -float(busiest(g).sum()))[:MAX_STRIPS]
        groups.sort()
    return {
        "start": begin - opened.start_ns,
        "end": end - opened.start_ns,
        "strips": [
            {"kind": trace.lanes[g[0]].kind, "busy": (busiest(g) * 100).round().astype(int).tolist()} for g in groups
        ],
    }


def window(
    opened: OpenedTrace,
    start: int,
    end: int,
    buckets: int,
    lanes: Sequence[int] | None,
    values: NDArray[np.float32] | None = None,
) -> bytes:
    """Return the slices to draw between two moments: per row and bucket, the longest slice and how many it represents.

    The number of buckets is halved until at most `MAX_SLICES` remain; only the first `MOST_DEPTHS` rows of a lane and
    the first `MAX_SLICES` rows of all lanes are included. Without ``lanes``, those of `shown_lanes` are included.

    Layout, little-endian: the magic ``SSW1``; uint32 length of a JSON header; the header, padded with spaces so that
    what follows starts at a multiple of 8; then, for n slices sorted by lane, depth and start, the columns float64
    start[n], float64 duration[n], uint32 slice index[n], uint32 count[n], uint16 name[n], uint16 category[n], and with
    ``values``, one per slice of the trace, float32 value[n].

    The header holds ``n``; ``start`` and ``end`` as requested; ``bucket``, the width of a bucket in nanoseconds;
    ``names`` and ``categories``, the tables that two columns index; ``value``, whether there are values; ``rows``,
    flat triples of lane, depth and offset of the row's first slice; and ``rows_left_out``, of these lanes.
    """
    found = _fitting_window(opened, start, end, buckets, lanes)
    trace = opened.trace
    index = found.slice_index
    names, _, name_of = numbered(trace.name_id[index])
    categories, _, category_of = numbered(trace.category_id[index])
    header = {
        "n": len(index),
        "start": start,
        "end": end,
        "bucket": found.bucket_ns,
        "names": [trace.names[i][:MAX_NAME] for i in names],
        "categories": [trace.categories[i][:MAX_NAME] for i in categories],
        "value": values is not None,
        "rows": _rows(trace.lane[index], trace.depth[index]),
        "rows_left_out": found.rows_left_out,
    }
    text = json_bytes(header)
    text += b" " * (-(len(text) + 8) % 8)
    columns = [
        (trace.start_ns[index] - opened.start_ns).astype("<f8"),
        trace.duration_ns[index].astype("<f8"),
        index.astype("<u4"),
        found.count.astype("<u4"),
        name_of.astype("<u2"),
        category_of.astype("<u2"),
    ]
    if values is not None:
        columns.append(values[index].astype("<f4"))
    return b"".join([WINDOW_MAGIC, struct.pack("<I", len(text)), text, *(c.tobytes() for c in columns)])


def _fitting_window(opened: OpenedTrace, start: int, end: int, buckets: int, lanes: Sequence[int] | None) -> Window:
    origin = opened.start_ns
    shown = shown_lanes(opened.trace) if lanes is None else lanes
    while True:
        found = opened.lod.window(
            origin + start, origin + end, buckets, lanes=shown, most_depths=MOST_DEPTHS, most_rows=MAX_SLICES
        )
        if len(found.slice_index) <= MAX_SLICES or buckets == 1:
            return found
        buckets = max(buckets // 2, 1)


def _rows(lane: NDArray[np.int32], depth: NDArray[np.int32]) -> list[int]:
    if not len(lane):
        return []
    first = np.flatnonzero(np.concatenate(([True], (np.diff(lane) != 0) | (np.diff(depth) != 0))))
    flat: list[int] = np.stack([lane[first], depth[first], first], axis=1).ravel().tolist()
    return flat


def search_result(opened: OpenedTrace, pattern: str, match: Match, offset: int, limit: int, at: int) -> Matches:
    """Return the slices whose name matches, ordered by start: their number, a page of them, and where they are.

    ``rank`` is the number of those that begin before ``at``, so that a reader can continue from the visible part.

    Raises:
        UserError: if ``pattern`` is not a regular expression.
    """
    trace = opened.trace
    found = search(trace, pattern, match)
    starts = trace.start_ns[found] - opened.start_ns
    span = max(opened.end_ns - opened.start_ns, 1)
    hits = np.bincount(_bucket_of(starts, span, MATCH_BUCKETS), minlength=MATCH_BUCKETS)
    page = slice(offset, offset + limit)
    return {
        "count": len(found),
        "rank": int(np.searchsorted(starts, at)),
        "offset": offset,
        "index": found[page].tolist(),
        "start": starts[page].tolist(),
        "duration": trace.duration_ns[found[page]].tolist(),
        "lane": trace.lane[found[page]].tolist(),
        "depth": trace.depth[found[page]].tolist(),
        "names": [trace.names[i][:MAX_NAME] for i in distinct_values(trace.name_id[found])[:MAX_NAMES]],
        "minimap": hits.tolist(),
    }


def _bucket_of(offsets: NDArray[np.int64], span: int, buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each offset, computed in float64, since time times buckets may need more than 64 bits."""
    at = (offsets.astype(np.float64) * buckets / (span + 1)).astype(np.int64)
    return np.minimum(at, buckets - 1)


def counter_window(opened: OpenedTrace, counter: int, start: int, end: int, buckets: int) -> CounterWindow:
    """Return a counter between two moments, with the last value before them: all points, or the extremes per bucket."""
    series = opened.trace.counters[counter]
    first, last = _counter_range(series, opened.start_ns + start, opened.start_ns + end)
    times, values = series.times_ns[first:last], series.values[first:last]
    clipped = len(times) > 2 * buckets
    if clipped:
        keep = _extremes(times, values, buckets)
        times, values = times[keep], values[keep]
    return {
        "counter": counter,
        "time": (times - opened.start_ns).tolist(),
        "value": [v if np.isfinite(v) else None for v in values.tolist()],
        "points": last - first,
        "reduced": clipped,
    }


def _counter_range(series: Counter, start_ns: int, end_ns: int) -> tuple[int, int]:
    first = int(np.searchsorted(series.times_ns, start_ns, side="right")) - 1
    last = int(np.searchsorted(series.times_ns, end_ns, side="right")) + 1
    return max(first, 0), min(last, len(series.times_ns))


def _extremes(times: NDArray[np.int64], values: NDArray[np.float64], buckets: int) -> NDArray[np.int64]:
    span = max(int(times[-1] - times[0]), 1)
    bucket = _bucket_of(times - times[0], span, buckets)
    finite = np.nan_to_num(values)
    by_value = np.lexsort((finite, bucket))
    edge = np.flatnonzero(np.diff(bucket[by_value])) + 1
    lowest = by_value[np.concatenate(([0], edge))]
    highest = by_value[np.concatenate((edge - 1, [len(by_value) - 1]))]
    return distinct_values(np.concatenate((lowest, highest, [0, len(times) - 1])))
