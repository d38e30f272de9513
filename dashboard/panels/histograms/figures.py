"""Charts of one histogram tag of one run: pure functions from buckets and settings to plain figure dicts."""

from collections.abc import Sequence
from typing import Any, Final, assert_never

from stepscope.dashboard.page.colors import RunColor, Scheme
from stepscope.dashboard.page.theme import chart_layout, ink
from stepscope.dashboard.panels.charts import Chart
from stepscope.dashboard.panels.histograms.color_mix import clear, mix
from stepscope.dashboard.panels.histograms.columns import bands_chart, heatmap_chart
from stepscope.dashboard.panels.histograms.messages import LineMeta
from stepscope.dashboard.panels.histograms.moments import (
    ChartSettings,
    Moment,
    RunMoment,
    moment_axis,
    note,
    places,
)
from stepscope.dashboard.panels.histograms.shapes import Shape, Shapes, log_ticks, make_shapes
from stepscope.dashboard.server.arrays import typed, typed_for_screen

RIDGE_SHARE: Final = 0.32
"""Height of the highest ridge as a fraction of the chart."""
LONE_RIDGE_SHARE: Final = 0.9
"""The same for a single ridge."""
HEADROOM: Final = 0.03
"""Free space above the highest ridge, as a fraction of the height below, so that the line at its peak is visible."""


def histogram_chart(
    moments: Sequence[Moment],
    total: int,
    first_wall_time: float,
    color: RunColor,
    settings: ChartSettings,
    scheme: Scheme,
) -> Chart:
    """Draw histograms over steps.

    Args:
        moments: the histograms to draw, in order.
        total: the number of histograms in all.
        first_wall_time: wall time at which relative time begins.
        color: color of the run.
        settings: mode, axis, bins, heights.
        scheme: light or dark.
    """
    match settings.mode:
        case "heatmap":
            return heatmap_chart(moments, total, first_wall_time, color, settings, scheme)
        case "bands":
            return bands_chart(moments, total, first_wall_time, color, settings, scheme)
        case "offset" | "overlay" | "runs":
            pass
        case _:
            assert_never(settings.mode)
    cleaned = [m.cleaned() for m in moments]
    shapes = make_shapes(cleaned, settings)
    layout = _layout(shapes, settings, scheme)
    if settings.mode == "offset":
        at, unit = places(moments, first_wall_time, settings)
        traces = _offset(shapes, moments, at, color, scheme, layout)
        layout["yaxis"] |= moment_axis(at, settings, unit, "down")
    else:
        _height_axis(layout, shapes, settings)
        traces = [
            _line(shape, moment, _shade(i, len(moments), color, scheme), 2 if i == len(moments) - 1 else 1)
            for i, (shape, moment) in enumerate(zip(shapes.shapes, moments, strict=True))
        ]
    return Chart({"data": traces, "layout": layout}, note(moments, cleaned, total))


def runs_chart(runs: Sequence[RunMoment], settings: ChartSettings, scheme: Scheme) -> Chart:
    """Draw the histograms of several runs at one step on top of each other, on one axis.

    Args:
        runs: the runs, in order; those without a histogram are left out, and the card says why.
        settings: bins, heights.
        scheme: light or dark.
    """
    found = [(one, one.moment) for one in runs if one.moment is not None]
    moments = [moment for _, moment in found]
    cleaned = [moment.cleaned() for moment in moments]
    shapes = make_shapes(cleaned, settings)
    layout = _layout(shapes, settings, scheme)
    _height_axis(layout, shapes, settings)
    traces = []
    for (one, moment), shape in zip(found, shapes.shapes, strict=True):
        trace = _line(shape, moment, one.color.on(scheme), 3 if shape.needle else 1.6)
        filled = {"fill": "tozeroy", "fillcolor": clear(one.color.on(scheme), 0.13)}
        traces.append(trace | filled | {"meta": trace["meta"] | {"run": one.run}})
    parts = [note(moments, cleaned, len(moments))]
    if len(found) < len(runs):
        parts.insert(0, f"{len(runs) - len(found)} of {len(runs)} runs not drawn, see below")
    return Chart({"data": traces, "layout": layout}, " · ".join(filter(None, parts)))


def _layout(shapes: Shapes, settings: ChartSettings, scheme: Scheme) -> dict[str, Any]:
    layout = chart_layout(scheme)
    layout["uirevision"] = f"{settings.mode}{settings.axis}{settings.bins}{settings.height}{settings.log}"
    layout["xaxis"] |= {"range": [shapes.low, shapes.high], "autorange": False, "zeroline": False}
    return layout


def _height_axis(layout: dict[str, Any], shapes: Shapes, settings: ChartSettings) -> None:
    title = "share per unit" if settings.height == "density" else "count"
    layout["yaxis"] |= {
        "rangemode": "tozero",
        "title": {"text": title, "font": {"size": 11, "color": layout["font"]["color"]}, "standoff": 4},
    }
    if shapes.foot:
        layout["yaxis"] |= log_ticks(shapes.foot, shapes.tallest)


def _shade(position: int, total: int, color: RunColor, scheme: Scheme) -> str:
    """Return a histogram's color: old ones fade into the background, and the newest has the run's own color."""
    age = 1.0 if total == 1 else position / (total - 1)
    return mix(color.on(scheme), ink(scheme)["surface"], 0.3 + 0.7 * age)


def _meta(shape: Shape, moment: Moment, at: float) -> LineMeta:
    """Return the data with which the page names the bucket under the pointer; the line stands on ``at``."""
    return {
        "step": moment.step,
        "wall": moment.wall_time,
        "index": moment.index,
        "total": shape.total,
        "at": at,
        "counts": typed(shape.counts),
    }


def _line(shape: Shape, moment: Moment, color: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed_for_screen(shape.x),
        "y": typed(shape.y),
        "line": {"color": color, "width": width},
        "hoverinfo": "skip",
        "meta": _meta(shape, moment, 0.0),
    }


def _offset(
    shapes: Shapes,
    moments: Sequence[Moment],
    at: Sequence[float],
    color: RunColor,
    scheme: Scheme,
    layout: dict[str, Any],
) -> list[dict[str, Any]]:
    first, last = (min(at), max(at)) if at else (0.0, 1.0)
    reach = last - first or 1.0
    share = RIDGE_SHARE if last > first else LONE_RIDGE_SHARE
    # The axis reaches beyond the oldest moment by the height of the highest ridge.
    full = reach / (1 - share)
    scale = full * share / shapes.tallest if shapes.tallest > 0 else 0.0
    # A ridge that is alone leaves enough room.
    headroom = HEADROOM if last > first else 0.0
    edge = ink(scheme)["text" if scheme == "light" else "surface"]
    traces = []
    for position, (shape, moment, place) in enumerate(zip(shapes.shapes, moments, at, strict=True)):
        shade = _shade(position, len(moments), color, scheme)
        border = {"color": mix(edge, shade, 0.3 if scheme == "light" else 0.6), "width": 0.7}
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": typed_for_screen(shape.x),
                "y": typed(place - shape.y * scale),
                "fill": "toself",
                "fillcolor": shade,
                "line": {"color": shade, "width": 3} if shape.needle else border,
                "hoverinfo": "skip",
                "meta": _meta(shape, moment, place),
            }
        )
    layout["margin"] |= {"l": 14, "r": 68}
    layout["yaxis"] |= {
        "range": [last + full * 0.02, last - full * (1 + headroom)],
        "autorange": False,
        "side": "right",
        "zeroline": False,
        "showgrid": False,
        "showline": False,
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": ink(scheme)["axis"],
    }
    return traces
