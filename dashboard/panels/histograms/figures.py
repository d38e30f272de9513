"""Charts of one histogram tag of one run: pure functions from buckets and settings to plain figure dicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from dashboard.arrays import typed, typed_for_screen
from dashboard.colors import RunColor, Scheme
from dashboard.numbers import count, counted
from dashboard.panels.charts import Chart
from dashboard.panels.histograms.buckets import (
    FINEST_SHARE,
    Cleaned,
    clean,
    join_narrow,
    outline,
    pick,
    rebin,
    span,
    typical_width,
)
from dashboard.theme import chart_layout, ink

Mode = Literal["offset", "overlay", "heatmap"]
Axis = Literal["step", "relative", "wall"]
Bins = Literal["written", "even"]

EVEN_BINS: Final = 30
"""As many as TensorBoard's page shows."""
HEATMAP_BINS: Final = 60
MOST_TICKS: Final = 6
RIDGE_SHARE: Final = 0.32
"""Height of the highest ridge as a share of the chart."""
LONE_RIDGE_SHARE: Final = 0.9
"""The same where there is only one."""


@dataclass(frozen=True)
class Moment:
    """One histogram as it was read."""

    step: int
    wall_time: float
    buckets: NDArray[np.float64] | None
    """float64[k, 3] of left edge, right edge, count; None where the record is damaged."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many values are in no bucket, by what they are called: "NaN", "+inf"; what there is none of is absent."""


@dataclass(frozen=True)
class ChartSettings:
    """How histograms are drawn."""

    mode: Mode = "offset"
    axis: Axis = "step"
    bins: Bins = "written"
    utc_offset: float = 0.0
    """Seconds to add to a wall time so that Plotly, which knows no time zones, prints local time."""


@dataclass(frozen=True)
class _Ridge:
    moment: Moment
    at: float
    """Place on the axis of steps or time."""
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    cleaned: Cleaned
    typical: float
    finest: float
    """Heights are counts per typical width; a bucket narrower than the finest is as high as one that wide."""


def histogram_chart(
    moments: Sequence[Moment],
    total: int,
    first_wall_time: float,
    color: RunColor,
    settings: ChartSettings,
    scheme: Scheme,
) -> Chart:
    """Draws histograms over steps.

    Args:
        moments: the histograms to draw, in order.
        total: how many there are in all.
        first_wall_time: where relative time begins.
        color: the run's.
        settings: mode, axis, bins.
        scheme: light or dark.
    """
    cleaned = [clean(m.buckets) if m.buckets is not None else Cleaned(np.empty((0, 3)), 0) for m in moments]
    low, high = span([c.buckets for c in cleaned])
    finest = (high - low) * FINEST_SHARE
    places, unit = _places(moments, first_wall_time, settings)
    if settings.bins == "even" and settings.mode != "heatmap":
        edges = np.linspace(low, high, EVEN_BINS + 1)
        drawn = [Cleaned(_even(c.buckets, edges), c.dropped) for c in cleaned]
    else:
        drawn = [Cleaned(join_narrow(c.buckets, finest), c.dropped) for c in cleaned]
    typical = typical_width([d.buckets for d in drawn], finest)
    ridges = [
        _Ridge(m, p, *outline(d.buckets, typical, finest), d, typical, finest)
        for m, p, d in zip(moments, places, drawn, strict=True)
    ]
    layout = chart_layout(scheme)
    layout["uirevision"] = f"{settings.mode}{settings.axis}{settings.bins}"
    layout["xaxis"] |= {"range": [low, high], "autorange": False, "zeroline": False}
    match settings.mode:
        case "offset":
            traces = _offset(ridges, color, scheme, layout, settings, unit)
        case "overlay":
            traces = _overlay(ridges, color, scheme, layout)
        case "heatmap":
            traces = _heatmap(ridges, (low, high), color, scheme, layout, settings, unit)
        case _:
            assert_never(settings.mode)
    return Chart({"data": traces, "layout": layout}, _note(moments, cleaned, total, settings))


def _places(moments: Sequence[Moment], first: float, settings: ChartSettings) -> tuple[list[float], str]:
    match settings.axis:
        case "step":
            return [float(m.step) for m in moments], ""
        case "relative":
            seconds = [m.wall_time - first for m in moments]
            longest = max(seconds, default=0.0)
            units = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"))
            divisor, unit = next(((size, name) for least, size, name in units if longest >= least), (1.0, "s"))
            return [s / divisor for s in seconds], unit
        case "wall":
            return [(m.wall_time + settings.utc_offset) * 1000.0 for m in moments], ""
        case _:
            assert_never(settings.axis)


def _even(buckets: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(buckets) == 0:
        return buckets
    return np.column_stack([edges[:-1], edges[1:], rebin(buckets, edges)])


def _mix(one: str, other: str, share: float) -> str:
    """``share`` of one colour and the rest of the other, both "#rrggbb"."""
    a, b = (np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) for text in (one, other))
    red, green, blue = np.rint(a * share + b * (1 - share)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def _shade(position: int, total: int, color: RunColor, scheme: Scheme) -> str:
    """Old histograms fade into the background, the newest has the run's own colour."""
    age = 1.0 if total == 1 else position / (total - 1)
    return _mix(color.on(scheme), ink(scheme)["surface"], 0.3 + 0.7 * age)


def _meta(ridge: _Ridge, scale: float) -> dict[str, Any]:
    """What the page needs to name the bucket under the pointer: its height is (at - y) / scale."""
    return {
        "step": ridge.moment.step,
        "wall": ridge.moment.wall_time,
        "total": ridge.cleaned.total,
        "at": 0.0 if scale < 0 else ridge.at,
        "scale": scale,
        "typical": ridge.typical,
        "finest": ridge.finest,
    }


def _offset(
    ridges: Sequence[_Ridge],
    color: RunColor,
    scheme: Scheme,
    layout: dict[str, Any],
    settings: ChartSettings,
    unit: str,
) -> list[dict[str, Any]]:
    places = [ridge.at for ridge in ridges]
    first, last = (min(places), max(places)) if places else (0.0, 1.0)
    reach = last - first or 1.0
    share = RIDGE_SHARE if last > first else LONE_RIDGE_SHARE
    # One unit of the axis is this share of its full height: the highest ridge stands on the oldest moment at most.
    full = reach / (1 - share)
    tallest = max((float(ridge.y.max()) for ridge in ridges if len(ridge.y)), default=0.0)
    scale = full * share / tallest if tallest > 0 else 0.0
    edge = ink(scheme)["text" if scheme == "light" else "surface"]
    traces = []
    for position, ridge in enumerate(ridges):
        shade = _shade(position, len(ridges), color, scheme)
        # All values equal: the outline is a needle without an inside to fill.
        needle = len(ridge.x) > 0 and ridge.x[0] == ridge.x[-1]
        border = {"color": _mix(edge, shade, 0.3 if scheme == "light" else 0.6), "width": 0.7}
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": typed_for_screen(ridge.x),
                "y": typed(ridge.at - ridge.y * scale),
                "fill": "toself",
                "fillcolor": shade,
                "line": {"color": shade, "width": 3} if needle else border,
                "hoverinfo": "skip",
                "meta": _meta(ridge, scale),
            }
        )
    layout["margin"] |= {"l": 14, "r": 58}
    layout["yaxis"] |= {
        "range": [last + full * 0.02, last - full],
        "autorange": False,
        "side": "right",
        "zeroline": False,
        "showgrid": False,
        "showline": False,
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": ink(scheme)["axis"],
        **_moment_axis(places, settings, unit),
    }
    return traces


def _moment_axis(places: Sequence[float], settings: ChartSettings, unit: str) -> dict[str, Any]:
    """Ticks at moments that have a histogram."""
    distinct = sorted(set(places))
    marked = [distinct[i] for i in pick(len(distinct), MOST_TICKS).tolist()]
    if settings.axis == "wall":
        return {
            "type": "date",
            "tickvals": marked,
            "tickformat": "%H:%M:%S\n%d %b %Y" if len(marked) < 2 else "%H:%M:%S",
        }
    labels = [count(int(place)) if settings.axis == "step" else f"{place:.3g} {unit}" for place in marked]
    return {"tickvals": marked, "ticktext": labels}


def _overlay(ridges: Sequence[_Ridge], color: RunColor, scheme: Scheme, layout: dict[str, Any]) -> list[dict[str, Any]]:
    layout["yaxis"] |= {"rangemode": "tozero"}
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": typed_for_screen(ridge.x),
            "y": typed(ridge.y),
            "line": {
                "color": _shade(position, len(ridges), color, scheme),
                "width": 2 if position == len(ridges) - 1 else 1,
            },
            "hoverinfo": "skip",
            "meta": _meta(ridge, -1.0),
        }
        for position, ridge in enumerate(ridges)
    ]


def _heatmap(
    ridges: Sequence[_Ridge],
    reach: tuple[float, float],
    color: RunColor,
    scheme: Scheme,
    layout: dict[str, Any],
    settings: ChartSettings,
    unit: str,
) -> list[dict[str, Any]]:
    edges = np.linspace(*reach, HEATMAP_BINS + 1)
    counts = np.array([rebin(ridge.cleaned.buckets, edges) for ridge in ridges]).reshape(-1, HEATMAP_BINS)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
    surface = ink(scheme)["surface"]
    middles = (edges[:-1] + edges[1:]) / 2
    layout["xaxis"] |= {"showgrid": False, **_moment_axis([r.at for r in ridges], settings, unit), "autorange": True}
    layout["xaxis"].pop("range")
    layout["yaxis"] |= {"range": list(reach), "autorange": False, "showgrid": False, "zeroline": False}
    return [
        {
            "type": "heatmap",
            "x": [ridge.at for ridge in ridges],
            "y": typed(middles),
            "z": shares.T.tolist(),
            "colorscale": [[0, surface], [0.15, _mix(color.on(scheme), surface, 0.45)], [1, color.on(scheme)]],
            "showscale": False,
            "hoverinfo": "skip",
            "meta": {
                "edges": typed(edges),
                "steps": [ridge.moment.step for ridge in ridges],
                "walls": [ridge.moment.wall_time for ridge in ridges],
                "places": [ridge.at for ridge in ridges],
                "counts": typed(counts.reshape(-1)),
            },
        }
    ]


def _note(moments: Sequence[Moment], cleaned: Sequence[Cleaned], total: int, settings: ChartSettings) -> str:
    parts = _left_out(moments, cleaned)
    if total > len(moments):
        parts.append(f"{count(len(moments))} of {count(total)} steps shown")
    sizes = sorted({len(c.buckets) for c in cleaned if len(c.buckets)})
    if sizes and settings.mode == "heatmap":
        parts.append(f"spread over {HEATMAP_BINS} even bins")
    elif sizes and settings.bins == "even":
        parts.append(f"spread over {EVEN_BINS} even bins")
    elif sizes:
        low, high = sizes[0], sizes[-1]
        parts.append(counted(low, "bin") if low == high else f"{count(low)} to {count(high)} bins")
    damaged = sum(m.buckets is None for m in moments)
    if damaged:
        parts.append(f"{counted(damaged, 'damaged step')} left out")
    empty = sum(len(c.buckets) == 0 for c in cleaned) - damaged
    if empty:
        parts.append(f"empty at {counted(empty, 'step')}")
    dropped = sum(c.dropped for c in cleaned)
    if dropped:
        parts.append(f"{counted(dropped, 'bin')} not finite, not drawn")
    return " · ".join(parts)


def _left_out(moments: Sequence[Moment], cleaned: Sequence[Cleaned]) -> list[str]:
    """What the newest histogram with values in no bucket left out, and how many others did."""
    found = [(m, c) for m, c in zip(moments, cleaned, strict=True) if m.left_out]
    if not found:
        return []
    newest, buckets = found[-1]
    what = ", ".join(f"{count(number)} {name}" for name, number in newest.left_out.items())
    total = int(buckets.total) + sum(newest.left_out.values())
    others = f", some at {counted(len(found) - 1, 'other step')}" if len(found) > 1 else ""
    return [f"step {count(newest.step)}: {what} of {counted(total, 'value')}{others}"]
