"""Charts of device activity: pure functions from tables of analyses to figure dicts.

The ``customdata`` of points on the Timeline begins with their range and their slice there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from stepscope.dashboard.page.colors import PALETTE, Scheme
from stepscope.dashboard.page.theme import axis, chart_layout
from stepscope.dashboard.panels.profile import texts
from stepscope.dashboard.panels.profile.figures import (
    axis_title,
    escaped,
    held_line,
    hover_label,
    unit_of,
)
from stepscope.dashboard.panels.profile.table import Place
from stepscope.dashboard.server.numbers import count

if TYPE_CHECKING:
    import polars as pl

MOST_STREAMS: Final = 8
"""Maximum number of lines in one chart: the streams with the longest queues."""
MOST_POINTS: Final = 2_000
_DELAYS: Final = (0, *(step * 10**power for power in range(3, 9) for step in (1, 2, 5)), 10**9)
"""Lower bounds of the buckets of launch delays, in nanoseconds."""


def queue_chart(queue: "pl.DataFrame", origin: int, scheme: Scheme) -> dict[str, Any] | None:
    """Return the pending launches of each stream over time; None without any.

    ``queue`` is `stepscope.profiler.analysis.queue.queue_length`; ``origin`` is the trace's start in nanoseconds.
    """
    import polars as pl

    if queue.is_empty():
        return None
    longest = queue.group_by("device", "stream").agg(pl.col("length").max())
    most = longest.sort("length", "device", "stream", descending=(True, False, False)).head(MOST_STREAMS)
    streams = most.sort("device", "stream").rows()
    many = longest["device"].n_unique() > 1
    scale, unit = unit_of(int(queue["time_ns"].max()) - origin)  # type: ignore[arg-type]
    lines = []
    for number, (device, stream, _) in enumerate(streams):
        here = queue.filter((pl.col("device") == device) & (pl.col("stream") == stream))
        name = f"GPU {device} stream {stream}" if many else f"stream {stream}"
        x = (here["time_ns"].to_numpy() - origin) / scale
        y = here["length"].cast(pl.Float64).to_numpy()
        color = PALETTE[number].on(scheme)
        lines.append(held_line(name, x, y, color, fill=len(streams) == 1, value="%{y:.0f} pending"))
    layout = chart_layout(scheme) | {
        "hovermode": "x",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 46, "r": 16, "t": 22, "b": 36},
        "xaxis": axis(scheme) | {"title": axis_title(f"time ({unit})")},
        "yaxis": axis(scheme) | {"automargin": "left", "title": axis_title("launches"), "rangemode": "tozero"},
        "showlegend": len(lines) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": lines, "layout": layout}


def delay_chart(delays: "pl.DataFrame", scheme: Scheme) -> dict[str, Any] | None:
    """Return a histogram of launch delays; None without any.

    ``delays`` is `stepscope.profiler.analysis.queue.launch_delays`.
    """
    import numpy as np

    if delays.is_empty():
        return None
    values = delays["delay_ns"].to_numpy()
    numbers = np.histogram(values, bins=[*_DELAYS, np.inf])[0]
    known = np.flatnonzero(numbers)
    buckets = range(int(known[0]), int(known[-1]) + 1)
    bounds = [texts.duration(low) for low in _DELAYS]
    names = [
        f"under {bounds[1]}"
        if each == 0
        else f"{bounds[each]} to {bounds[each + 1]}"
        if each + 1 < len(bounds)
        # The last bound has no bound above it.
        else f"{bounds[each]} and more"
        for each in buckets
    ]
    counts = numbers[list(buckets)].tolist()
    whole = sum(counts)
    bar = {
        "type": "bar",
        "x": [bounds[each] for each in buckets],
        "y": counts,
        "customdata": [
            ["", "", name, count(number), texts.percent(100 * number / whole)]
            for name, number in zip(names, counts, strict=True)
        ],
        "marker": {"color": PALETTE[0].on(scheme), "line": {"width": 0}},
        "hovertemplate": "%{customdata[2]}: %{customdata[3]} launches, %{customdata[4]}<extra></extra>",
    }
    layout = chart_layout(scheme) | {
        "bargap": 0.12 if len(counts) > 2 else 0.7,
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 46, "r": 16, "t": 10, "b": 36},
        "xaxis": axis(scheme) | {"type": "category", "title": axis_title("delay, from"), "fixedrange": True},
        "yaxis": axis(scheme) | {"automargin": "left", "title": axis_title("launches"), "rangemode": "tozero"},
    }
    return {"data": [bar], "layout": layout}


def copy_chart(copies: "pl.DataFrame", places: Sequence[Place | None], scheme: Scheme) -> dict[str, Any] | None:
    """Return the bandwidth of copies over their size, both logarithmic; None if no copy has both.

    Args:
        copies: rows of `stepscope.profiler.analysis.memcpys.each_copy`, all with bytes and bandwidth.
        places: the place of each on the Timeline.
        scheme: light or dark.
    """
    if copies.is_empty():
        return None
    kinds: dict[str, list[int]] = {}
    rows = copies.to_dicts()
    for number, row in enumerate(rows):
        kinds.setdefault(f"{row['direction']} {row['memory']}".strip(), []).append(number)
    data = [
        _copies(name, numbers, rows, places, PALETTE[index].on(scheme))
        for index, (name, numbers) in enumerate(sorted(kinds.items()))
    ]
    log = {"type": "log"}
    layout = chart_layout(scheme) | {
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 60, "r": 16, "t": 22, "b": 36},
        "xaxis": axis(scheme) | log | {"title": axis_title("size"), "tickformat": "~s", "ticksuffix": "B", "dtick": 1},
        "yaxis": axis(scheme)
        | log
        | {"automargin": "left", "title": axis_title("GB/s"), "tickformat": "~g", "dtick": 1},
        "showlegend": len(data) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": data, "layout": layout}


def _copies(
    name: str, numbers: list[int], rows: list[dict[str, Any]], places: Sequence[Place | None], color: str
) -> dict[str, Any]:
    chosen = [rows[number] for number in numbers]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escaped(name),
        "x": [row["bytes"] for row in chosen],
        "y": [row["gb_per_s"] for row in chosen],
        "customdata": [
            [*_where(places[number]), texts.size(row["bytes"]), texts.duration(row["duration_ns"])]
            for number, row in zip(numbers, chosen, strict=True)
        ],
        "marker": {"size": 6, "color": color, "opacity": 0.65},
        "hovertemplate": f"{escaped(name)}: %{{customdata[2]}} in %{{customdata[3]}}, %{{y:.3~g}} GB/s<extra></extra>",
    }


def _where(place: Place | None) -> tuple[str, str]:
    if place is None:
        return "", ""
    return place.range, str(place.slice) if place.slice >= 0 else ""
