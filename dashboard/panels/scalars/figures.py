"""Charts of one scalar tag: pure functions from series and settings to plain figure dicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from dashboard.arrays import typed, typed_for_screen
from dashboard.colors import RunColor, Scheme
from dashboard.downsample import POINTS_PER_LINE, indices_to_draw
from dashboard.numbers import count
from dashboard.panels.charts import Chart
from dashboard.panels.scalars.smoothing import smooth
from dashboard.theme import chart_layout
from summary.snapshot import Columns

XAxis = Literal["step", "relative", "wall"]
YScale = Literal["linear", "log"]
UNITS: Final = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))


@dataclass(frozen=True)
class RunCurve:
    """One run's points of the tag, and how the run looks."""

    run: str
    color: RunColor
    columns: Columns


@dataclass(frozen=True)
class ChartSettings:
    """How the charts are drawn."""

    smoothing: float = 0.6
    x_axis: XAxis = "step"
    y_scale: YScale = "linear"
    ignore_outliers: bool = False
    utc_offset: float = 0.0
    """Seconds to add to a wall time so that Plotly, which knows no time zones, prints local time."""


@dataclass(frozen=True)
class Zoom:
    """The visible part of a chart, in the axes' own units: milliseconds for wall time, log10 on a log scale."""

    x: tuple[float, float]
    y: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Line:
    curve: RunCurve
    x: NDArray[np.float64]
    raw: NDArray[np.float64]
    smoothed: NDArray[np.float64]
    chosen: NDArray[np.int64]
    visible: int


def scalar_chart(
    curves: Sequence[RunCurve],
    settings: ChartSettings,
    scheme: Scheme,
    zoom: Zoom | None = None,
    most: int = POINTS_PER_LINE,
) -> Chart:
    """Draws one tag of several runs.

    Args:
        curves: the runs, in drawing order; empty series are skipped.
        settings: axis, scale, smoothing, outliers.
        scheme: light or dark.
        zoom: the part of the chart that is visible; None for all of it. Points outside it are left out, so that
            those inside can be drawn in full.
        most: points drawn for each line.
    """
    curves = [curve for curve in curves if len(curve.columns)]
    divisor, unit = _relative_unit(curves) if settings.x_axis == "relative" else (1.0, "")
    x_range = zoom.x if zoom is not None else None
    lines = [_line(curve, settings, divisor, x_range, most) for curve in curves]
    traces: list[dict[str, Any]] = []
    if settings.smoothing > 0:
        traces += [_raw_trace(line, scheme, settings) for line in lines if _is_smoothed(line)]
    traces += [_main_trace(line, scheme, settings) for line in lines]
    singles = [line for line in lines if np.isfinite(line.raw).sum() == 1]
    if singles:
        traces.append(_single_points(singles, scheme, settings))
    y_range = zoom.y if zoom is not None and zoom.y is not None else _y_range(lines, settings)
    marks = _non_finite_marks(lines, scheme)
    layout = chart_layout(scheme)
    if marks is not None:
        traces.append(marks)
        layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "fixedrange": True, "visible": False}
    layout["uirevision"] = f"{settings.x_axis} {zoom is None}"
    layout["xaxis"] |= _x_axis(lines, settings, unit, x_range)
    if settings.x_axis == "wall":
        layout["margin"] = layout["margin"] | {"b": 40}
    if settings.y_scale == "log":
        # Of the digits between powers of ten only 2 and 5, which have room for their labels.
        layout["yaxis"] |= {"tickformat": _log_tick_format(lines), "nticks": 3}
    layout["yaxis"] |= {"type": settings.y_scale, "uirevision": f"{settings} {zoom is None}"}
    if y_range is not None:
        layout["yaxis"] |= {"range": list(y_range), "autorange": False}
    if not any(np.isfinite(line.raw).any() for line in lines):
        layout["yaxis"]["showticklabels"] = False
    return Chart({"data": traces, "layout": layout}, _note(lines, settings))


def _relative_unit(curves: Sequence[RunCurve]) -> tuple[float, str]:
    finite = [c.columns.wall_times[np.isfinite(c.columns.wall_times)] for c in curves]
    longest = max((float(np.ptp(times)) for times in finite if len(times)), default=0.0)
    return next((seconds, unit) for least, seconds, unit in UNITS if longest >= least)


def _x_values(columns: Columns, settings: ChartSettings, divisor: float) -> NDArray[np.float64]:
    match settings.x_axis:
        case "step":
            return columns.steps.astype(np.float64)
        case "relative":
            return (columns.wall_times - float(columns.wall_times[0])) / divisor
        case "wall":
            return (columns.wall_times + settings.utc_offset) * 1000.0
        case _:
            assert_never(settings.x_axis)


def _line(
    curve: RunCurve, settings: ChartSettings, divisor: float, x_range: tuple[float, float] | None, most: int
) -> _Line:
    columns = curve.columns
    x = _x_values(columns, settings, divisor)
    smoothed = smooth(columns.values, settings.smoothing)
    inside = np.arange(len(x))
    if x_range is not None:
        hit = np.flatnonzero((x >= x_range[0]) & (x <= x_range[1]))
        # One more point on either side, so that the line reaches the edge of the chart.
        inside = inside[max(hit[0] - 1, 0) : hit[-1] + 2] if len(hit) else inside[:0]
    raw = columns.values[inside]
    chosen = inside[indices_to_draw(x[inside], raw, most)]
    return _Line(curve, x, columns.values, smoothed, chosen, len(inside))


def _is_smoothed(line: _Line) -> bool:
    return line.smoothed is not line.raw


def _x_array(line: _Line, settings: ChartSettings, indices: NDArray[np.int64]) -> Any:
    if settings.x_axis == "step":
        return typed(line.curve.columns.steps[indices])
    return typed(line.x[indices]) if settings.x_axis == "wall" else typed_for_screen(line.x[indices])


def _drawable(values: NDArray[np.float64], settings: ChartSettings) -> NDArray[np.float64]:
    if settings.y_scale == "log":
        return np.where(values > 0, values, np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _raw_trace(line: _Line, scheme: Scheme, settings: ChartSettings) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.curve.run,
        "x": _x_array(line, settings, line.chosen),
        "y": typed_for_screen(_drawable(line.raw[line.chosen], settings)),
        "line": {"color": line.curve.color.on(scheme), "width": 1},
        "opacity": 0.28 if scheme == "light" else 0.3,
        "hoverinfo": "skip",
        "meta": {"role": "raw", "run": line.curve.run},
    }


def _main_trace(line: _Line, scheme: Scheme, settings: ChartSettings) -> dict[str, Any]:
    columns = line.curve.columns
    first = float(columns.wall_times[0])
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.curve.run,
        "x": _x_array(line, settings, line.chosen),
        "y": typed_for_screen(_drawable(line.smoothed[line.chosen], settings)),
        "line": {"color": line.curve.color.on(scheme), "width": 1.6},
        "hoverinfo": "skip",
        "meta": {
            "role": "line",
            "run": line.curve.run,
            "color": line.curve.color.on(scheme),
            "smoothed": _is_smoothed(line),
            "axis": settings.x_axis,
            "first": first,
            "steps": typed(columns.steps[line.chosen]),
            "seconds": typed_for_screen(columns.wall_times[line.chosen] - first),
            "values": typed_for_screen(line.raw[line.chosen]),
        },
    }


def _single_points(lines: Sequence[_Line], scheme: Scheme, settings: ChartSettings) -> dict[str, Any]:
    where = [(line, int(np.flatnonzero(np.isfinite(line.raw))[0])) for line in lines]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [float(line.x[index]) for line, index in where],
        "y": [float(line.raw[index]) for line, index in where],
        "marker": {"size": 7, "color": [line.curve.color.on(scheme) for line, _ in where]},
        "hoverinfo": "skip",
        "meta": {"role": "single"},
    }


def _non_finite_marks(lines: Sequence[_Line], scheme: Scheme) -> dict[str, Any] | None:
    """Triangles on the chart's edge: up for +Inf, down for -Inf, and an open one at the bottom for NaN."""
    marks: list[tuple[float, str, str]] = []
    for line in lines:
        at = line.chosen[~np.isfinite(line.raw[line.chosen])]
        for index in at.tolist():
            value = line.raw[index]
            kind = "NaN" if np.isnan(value) else "+Inf" if value > 0 else "-Inf"
            marks.append((float(line.x[index]), kind, line.curve.color.on(scheme)))
    if not marks:
        return None
    symbols = {"NaN": "triangle-up-open", "+Inf": "triangle-up", "-Inf": "triangle-down"}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _, _ in marks],
        "y": [0.97 if kind == "+Inf" else 0.03 for _, kind, _ in marks],
        "yaxis": "y2",
        "marker": {
            "size": 9,
            "symbol": [symbols[kind] for _, kind, _ in marks],
            "color": [color for _, _, color in marks],
            "line": {"width": 1.2, "color": [color for _, _, color in marks]},
        },
        "text": [kind for _, kind, _ in marks],
        "hoverinfo": "skip",
        "cliponaxis": False,
        "meta": {"role": "non-finite"},
    }


def _y_range(lines: Sequence[_Line], settings: ChartSettings) -> tuple[float, float] | None:
    """The y range, where Plotly's own would not do: outliers are ignored, or there is only one value.

    Ignoring outliers takes the 5th to the 95th percentile of what is drawn. The ranks are TensorBoard's:
    ceil(0.05 (n - 1)) and floor(0.95 (n - 1)) of the sorted finite values.
    Source: tensorboard/webapp/widgets/line_chart_v2/lib/line_chart_internal_utils.ts.
    """
    values = [line.smoothed[line.chosen] for line in lines]
    joined = np.concatenate(values) if values else np.empty(0)
    usable = joined[np.isfinite(joined) & ((joined > 0) | (settings.y_scale == "linear"))]
    n = len(usable)
    if n == 0:
        return 0.0, 1.0
    if settings.ignore_outliers and n > 2:
        usable = np.sort(usable)
        low, high = usable[int(np.ceil(0.05 * (n - 1)))], usable[int(np.floor(0.95 * (n - 1)))]
    elif (usable == usable[0]).all():
        low = high = usable[0]
    else:
        return None
    if settings.y_scale == "log":
        low, high = np.log10(low), np.log10(high)
    margin = (high - low) * 0.05 or abs(high) * 0.1 or 1.0
    return float(low - margin), float(high + margin)


def _x_axis(
    lines: Sequence[_Line], settings: ChartSettings, unit: str, x_range: tuple[float, float] | None
) -> dict[str, Any]:
    axis: dict[str, Any] = {"type": "date" if settings.x_axis == "wall" else "linear"}
    if unit:
        axis["ticksuffix"] = f" {unit}"
    if settings.x_axis == "step":
        span = max((float(np.ptp(line.x)) for line in lines), default=0.0)
        # Steps are whole numbers: no ticks between them.
        axis |= {"tickformat": "~s"} if span >= 8 else {"tickformat": ",d", "dtick": 1}
    ends = {float(end) for line in lines for end in (line.x[0], line.x[-1])}
    if len(ends) == 1 and all(map(isfinite, ends)):
        # Where Plotly's own range would be half a millisecond of a date.
        margin = 1000.0 if settings.x_axis == "wall" else 1.0
        axis |= {"range": [min(ends) - margin, max(ends) + margin], "autorange": False}
    if x_range is not None:
        axis |= {"range": list(x_range), "autorange": False}
    return axis


def _log_tick_format(lines: Sequence[_Line]) -> str:
    """Plain numbers where they fit beside the axis, powers of ten where they do not."""
    positive = [line.raw[line.raw > 0] for line in lines]
    extremes = [edge for values in positive if len(values) for edge in (values.min(), values.max())]
    return "~g" if all(1e-4 <= edge < 1e5 for edge in extremes) else ".0e"


def _note(lines: Sequence[_Line], settings: ChartSettings) -> str:
    parts: list[str] = []
    dropped = [line for line in lines if line.visible > len(line.chosen)]
    if dropped:
        most = max(line.visible for line in dropped)
        drawn = max(len(line.chosen) for line in dropped)
        parts.append(f"{count(drawn)} of {count(most)} points a run shown")
    for name, test in (("NaN", np.isnan), ("infinite", np.isinf)):
        found = sum(int(test(line.raw).sum()) for line in lines)
        if found:
            parts.append(f"{count(found)} {name}")
    if settings.ignore_outliers:
        parts.append("outliers ignored")
    if settings.y_scale == "log":
        below = sum(int((line.raw <= 0).sum()) for line in lines)
        if below:
            parts.append(f"{count(below)} not positive, not drawn")
    return " · ".join(parts)
