"""Overlays on the slices of a window: the critical path and idle gaps; pure functions.

Times are in nanoseconds relative to ``origin``, the trace's start.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.messages import CriticalPathWindow, IdleWindow, SumOf
from stepscope.profiler.analysis.critical_path import BOUNDS, EXPLAINED, Path
from stepscope.profiler.analysis.idle import CAUSES, Gaps
from stepscope.profiler.analysis.windows import group_narrow, sum_within
from stepscope.profiler.trace import Trace
from stepscope.summary.distinct import distinct_values, numbered

MAX_SEGMENTS: Final = 5_000
MAX_NAME: Final = 160
LEAST_SHARE: Final = 0.05
"""Minimum fraction of a pixel that is idle for gaps narrower than a pixel to be drawn."""

Column = NDArray[np.int64]


def critical_path_window(path: Path, trace: Trace, origin: int, start: int, end: int, width: int) -> CriticalPathWindow:
    """Return the parts of the critical path that reach into a window of ``width`` pixels.

    The parts are parallel lists in chronological order.

    Neighbors that are narrower than a pixel and begin in the same pixel become one segment, which represents ``count``
    parts and shows the longest; with more than `MAX_SEGMENTS`, this is repeated with wider pixels. ``origin`` is the
    slice at whose start or end a segment begins, so that a line can be drawn from there. ``totals`` has, by bound, the
    nanoseconds of the path within the window and the number of parts; ``explained`` says which bounds are explained.
    The whole path begins at ``begin``, ends at ``finish`` and takes ``total`` nanoseconds.
    """
    first = int(np.searchsorted(path.end, start + origin, side="right"))
    last = max(first, int(np.searchsorted(path.start, end + origin, side="left")))
    part = Path(*(column[first:last] for column in path))
    window = start + origin, end + origin
    nowhere = np.zeros(last - first, np.int64)
    while True:
        groups = group_narrow(nowhere, part.start, part.end, part.duration, window[0], _pixel(start, end, width))
        if len(groups.first) <= MAX_SEGMENTS or width == 1:
            break
        width //= 2
    slices, origins = part.slice[groups.largest], part.origin[groups.first]
    names, _, name = numbered(trace.name_id[slices])
    sums = sum_within(part.bound, part.start, part.end, np.ones(last - first, np.bool_), window, len(BOUNDS))
    return {
        "bounds": list(BOUNDS),
        "explained": list(EXPLAINED),
        "names": [trace.names[each][:MAX_NAME] for each in names.tolist()],
        "slice": slices.tolist(),
        "lane": trace.lane[slices].tolist(),
        "depth": trace.depth[slices].tolist(),
        "start": (part.start[groups.first] - origin).tolist(),
        "end": (part.end[groups.last] - origin).tolist(),
        "bound": part.bound[groups.largest].tolist(),
        "name": name.tolist(),
        "count": (groups.last - groups.first + 1).tolist(),
        "origin": origins.tolist(),
        "origin_lane": trace.lane[origins].tolist(),
        "origin_depth": trace.depth[origins].tolist(),
        "totals": _totals(BOUNDS, *sums),
        "parts": len(path.bound),
        "total": int(path.duration[path.explained].sum()),
        "begin": int(path.start[0]) - origin if len(path.start) else 0,
        "finish": int(path.end[-1]) - origin if len(path.end) else 0,
    }


def idle_window(gaps: Gaps, trace: Trace, origin: int, start: int, end: int, width: int) -> IdleWindow:
    """Return the gaps that reach into a window of ``width`` pixels, as parallel lists by lane and time; see `by_lane`.

    Gaps narrower than a pixel that begin in the same pixel become one, with the cause of most of their time:
    ``share`` is the idle fraction of what is drawn, which is at least a pixel wide. If it is below `LEAST_SHARE`, the
    gaps are left out and counted in ``left_out``. With more than `MAX_SEGMENTS`, this is repeated with wider pixels.
    ``slice`` is the activity after the longest gap. For gaps of whole devices, ``lane`` is the number of the device,
    and ``lanes`` has the lanes of each. ``totals`` has all gaps of the window by cause.
    """
    whole = gaps.of == "device"
    window = start + origin, end + origin
    chosen = np.flatnonzero((gaps.end > window[0]) & (gaps.start < window[1]))
    begins, ends, cause = gaps.start[chosen], gaps.end[chosen], gaps.cause[chosen]
    sums = sum_within(cause, begins, ends, np.ones(len(chosen), np.bool_), window, len(CAUSES))
    place = gaps.device[chosen] if whole else trace.lane[gaps.slice[chosen]].astype(np.int64)
    while True:
        pixel = _pixel(start, end, width)
        groups = group_narrow(place, begins, ends, ends - begins, window[0], pixel)
        count = groups.last - groups.first + 1
        by_cause = np.zeros((len(count), len(CAUSES)), np.int64)
        np.add.at(by_cause, (np.repeat(np.arange(len(count)), count), cause), ends - begins)
        extent = np.maximum(ends[groups.last] - begins[groups.first], pixel)
        share = by_cause.sum(axis=1) / extent
        shown = share >= LEAST_SHARE
        if int(shown.sum()) <= MAX_SEGMENTS or width == 1:
            break
        width //= 2
    return {
        "causes": list(CAUSES),
        "lane": place[groups.first[shown]].tolist(),
        "start": (begins[groups.first[shown]] - origin).tolist(),
        "end": (ends[groups.last[shown]] - origin).tolist(),
        "cause": by_cause[shown].argmax(axis=1).tolist(),
        "share": share[shown].round(3).tolist(),
        "count": count[shown].tolist(),
        "slice": gaps.slice[chosen][groups.largest[shown]].tolist(),
        "left_out": int(count[~shown].sum()),
        "totals": _totals(CAUSES, *sums),
        "lanes": _lanes_of_devices(gaps, trace) if whole else {},
    }


def by_lane(gaps: Gaps, trace: Trace) -> Gaps:
    """Return gaps sorted by lane (or device, for gaps of devices) and time, as `idle_window` takes them."""
    place = gaps.device if gaps.of == "device" else trace.lane[gaps.slice]
    order = np.lexsort((gaps.start, place))
    return Gaps(gaps.of, *(column[order] for column in gaps[1:]))


def _lanes_of_devices(gaps: Gaps, trace: Trace) -> dict[str, list[int]]:
    """Return the lanes that have activities of each device."""
    lanes = trace.lane[gaps.slice]
    return {
        str(device): distinct_values(lanes[gaps.device == device]).tolist()
        for device in distinct_values(gaps.device).tolist()
    }


def _pixel(start: int, end: int, width: int) -> int:
    """Return the nanoseconds that a pixel represents, rounded up."""
    return -(-(end - start) // width)


def _totals(names: tuple[str, ...], total: Column, count: Column) -> dict[str, SumOf]:
    """Return total nanoseconds and counts by name, without names that do not occur."""
    return {
        name: {"ns": int(total[index]), "count": int(count[index])} for index, name in enumerate(names) if count[index]
    }
