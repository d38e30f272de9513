"""The sums over an area, as sent to the browser."""

from collections.abc import Sequence

import numpy as np

from stepscope.dashboard.panels.timeline.lanes import MOST_COUNTERS
from stepscope.dashboard.panels.timeline.messages import AreaAnswer, AreaCounter, AreaRow
from stepscope.dashboard.traces.sources import OpenedTrace
from stepscope.profiler.analysis.area import Totals, area, counter_figures
from stepscope.profiler.trace import Trace

MAX_ROWS = 5_000


def area_answer(
    opened: OpenedTrace, start: int, end: int, lanes: Sequence[int] | None = None, top: int = 500
) -> AreaAnswer:
    """Return the sums over the slices of some lanes (all if None) between two moments, clipped to them.

    ``by_name`` and ``by_category`` have the ``top`` rows with the longest total, out of ``names_total`` and
    ``categories_total``. ``by_lane`` has at most `MAX_ROWS` of ``lanes_total`` lanes, those with the most time.
    ``longest`` is the slice with the longest part in the area. ``counters`` are those with a value there.
    """
    trace = opened.trace
    start_ns, end_ns = opened.start_ns + start, opened.start_ns + end
    found = area(trace, start_ns, end_ns, lanes)
    # If there are very many lanes, those with the most time.
    lanes_of = np.sort(np.argsort(-found.by_lane.busy_ns, kind="stable")[:MAX_ROWS])
    busy = zip(*(column[lanes_of].tolist() for column in found.by_lane), strict=True)
    return {
        "start": start,
        "end": end,
        "slices": found.slices,
        "names_total": len(found.by_name.slices),
        "categories_total": len(found.by_category.slices),
        "by_name": _rows(trace, found.by_name, top, named=True),
        "by_category": _rows(trace, found.by_category, top, named=False),
        "lanes_total": len(found.by_lane.lane),
        "by_lane": [
            {"lane": lane, "count": count, "busy_ns": busy_ns, "share": busy_ns / (end - start)}
            for lane, count, busy_ns in busy
        ],
        "counters": _counters(trace, start_ns, end_ns),
    }


def _rows(trace: Trace, totals: Totals, top: int, *, named: bool) -> list[AreaRow]:
    rows: list[AreaRow] = []
    for name, category, count, total, own, least, most, longest in zip(
        *(column[:top].tolist() for column in totals), strict=True
    ):
        row: AreaRow = {
            "category": trace.categories[category],
            "count": count,
            "total_ns": total,
            "own_ns": own,
            "mean_ns": total / count,
            "min_ns": least,
            "max_ns": most,
            "longest": longest,
        }
        if named:
            row["name"] = trace.names[name]
        rows.append(row)
    return rows


def _counters(trace: Trace, start_ns: int, end_ns: int) -> list[AreaCounter]:
    found = (
        (number, counter_figures(counter, start_ns, end_ns))
        for number, counter in enumerate(trace.counters[:MOST_COUNTERS])
    )
    return [
        {"counter": number, "min": figures.minimum, "mean": figures.mean, "max": figures.maximum}
        for number, figures in found
        if figures is not None
    ]
