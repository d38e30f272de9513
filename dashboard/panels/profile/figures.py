"""The panel's charts: pure functions from tables of analyses to figure dicts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dashboard.page.colors import PALETTE, Scheme
from dashboard.page.theme import axis, chart_layout, ink
from dashboard.panels.profile import texts
from dashboard.server.arrays import typed
from dashboard.tensorboard.downsample import indices_to_draw
from profiler.analysis.steps import CATEGORIES

if TYPE_CHECKING:
    import polars as pl

_HUES: Final = {
    "kernel": 0,
    "memcpy": 1,
    "memset": 7,
    "communication": 3,
    "runtime": 5,
    "dataloader": 4,
    "cpu_exec": 22,
}
LABELS: Final = {
    "kernel": "Kernel",
    "memcpy": "Copy",
    "memset": "Memset",
    "communication": "Communication",
    "runtime": "Runtime calls",
    "dataloader": "Data loading",
    "cpu_exec": "Host operators",
    "other": "Other",
}
"""What `profiler.analysis.steps.CATEGORIES` are called."""
MOST_STEPS: Final = 400
"""Bars that a chart can show; more are thinner than pixels."""
MOST_NAMES: Final = 12
"""Points that have their name beside them: those with most FLOPs."""


def category_color(category: str, scheme: Scheme) -> str:
    """The colour of a category of step time."""
    if category not in _HUES:
        return "#c3c9d3" if scheme == "light" else "#59616e"
    return PALETTE[_HUES[category]].on(scheme)


def shown_steps(steps: "pl.DataFrame") -> "pl.DataFrame":
    """The steps that the chart shows: all, or the slowest `MOST_STEPS` in their order."""
    if len(steps) <= MOST_STEPS:
        return steps
    return steps.with_row_index("#").top_k(MOST_STEPS, by="total_ns").sort("#").drop("#")


def step_chart(steps: "pl.DataFrame", scheme: Scheme, *, numbered: bool = True) -> dict[str, Any]:
    """Stacked bars: time of each step by category. Each bar's ``customdata`` begins with where it is on the Timeline.

    ``steps`` is `profiler.analysis.steps.step_breakdown`, with the column "at" (text, "start:end"). Where the trace
    marks none, the one bar is not ``numbered``.
    """
    scale, unit = unit_of(steps["total_ns"].max())
    labels = [str(step) if numbered else "whole trace" for step in steps["step"].to_list()]
    totals = [texts.duration(ns) for ns in steps["total_ns"].to_list()]
    bars = [
        {
            "type": "bar",
            "name": LABELS[category],
            "x": labels,
            "y": [ns / scale for ns in steps[f"{category}_ns"].to_list()],
            "customdata": [
                [at, "", texts.duration(ns), total]
                for at, ns, total in zip(steps["at"].to_list(), steps[f"{category}_ns"].to_list(), totals, strict=True)
            ],
            "marker": {"color": category_color(category, scheme), "line": {"width": 0}},
            "hovertemplate": f"{'step ' if numbered else ''}%{{x}}: %{{customdata[2]}} {LABELS[category].lower()} "
            "of %{customdata[3]}<extra></extra>",
        }
        for category in CATEGORIES
        if steps[f"{category}_ns"].sum()
    ]
    layout = chart_layout(scheme)
    layout |= {
        "barmode": "stack",
        "bargap": 0.25 if len(labels) > 1 else 0.75,
        "hovermode": "closest",
        "margin": {"l": 46, "r": 12, "t": 8, "b": 34},
        "xaxis": axis(scheme)
        | {"type": "category", "title": axis_title("step" if numbered else ""), "nticks": 20, "fixedrange": True},
        "yaxis": axis(scheme) | {"automargin": "left", "title": axis_title(unit), "rangemode": "tozero"},
        "hoverlabel": hover_label(scheme),
    }
    return {"data": bars, "layout": layout}


def memory_chart(timeline: "pl.DataFrame", origin: int, scheme: Scheme) -> dict[str, Any]:
    """Allocated and reserved bytes of one device over time, with its peak marked.

    ``timeline`` is the rows of one device of `profiler.analysis.memory.memory_timeline`, ``origin`` the trace's
    beginning in nanoseconds.
    """
    times = timeline["time_ns"].to_numpy() - origin
    scale, unit = unit_of(int(times.max()) if len(times) else 0)
    x = times / scale
    held = timeline["bytes"].to_numpy().astype(np.float64)
    lines = []
    reserved = timeline["reserved_bytes"]
    # An allocator that reserves nothing says 0 throughout.
    if (reserved.fill_null(0) != 0).any():
        lines.append(held_line("Reserved", x, reserved.cast(float).to_numpy(), PALETTE[1].on(scheme), fill=False))
    lines.append(held_line("Allocated", x, held, PALETTE[0].on(scheme), fill=True))
    at = int(held.argmax())
    layout = chart_layout(scheme)
    layout |= {
        "hovermode": "x",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 58, "r": 16, "t": 22, "b": 36},
        "xaxis": axis(scheme) | {"title": axis_title(f"time ({unit})")},
        "yaxis": axis(scheme) | {"automargin": "left", "tickformat": ".3~s", "ticksuffix": "B", "rangemode": "tozero"},
        "showlegend": len(lines) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "annotations": [
            {
                "x": float(x[at]),
                "y": float(held[at]),
                "text": f"peak {texts.size(held[at])}",
                "showarrow": True,
                "arrowhead": 0,
                "arrowwidth": 1,
                "arrowcolor": ink(scheme)["text"],
                "ax": 0,
                "ay": -14,
                "font": {"size": 11, "color": ink(scheme)["text"]},
            }
        ],
    }
    return {"data": lines, "layout": layout}


def held_line(
    name: str, x: Any, y: Any, color: str, *, fill: bool, value: str = "%{y:.4s}B", dash: str = "solid"
) -> dict[str, Any]:
    """A line of a value that holds until its next change; ``value`` is what hovering says of it."""
    chosen = indices_to_draw(x, y)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": typed(x[chosen]),
        "y": typed(y[chosen]),
        # A value holds until the next change.
        "line": {"shape": "hv", "width": 1.4, "color": color, "dash": dash},
        **({"fill": "tozeroy", "fillcolor": color + "22"} if fill else {}),
        "hovertemplate": f"{name}: {value}<extra></extra>",
    }


def roofline_chart(
    table: "pl.DataFrame", peak_tflops: float, peak_gbps: float, scheme: Scheme
) -> dict[str, Any] | None:
    """Throughput over intensity, both logarithmic, with the roof where the peaks are given; None without points.

    ``table`` is `profiler.analysis.roofline.roofline`; the peaks are in TFLOP/s and GB/s, 0 for unknown.
    """
    import polars as pl

    points = table.filter(pl.col("intensity").is_not_null() & (pl.col("gflops_per_s") > 0))
    if points.is_empty():
        return None
    names = [escaped(name) for name in points["name"].to_list()]
    marks = {
        "type": "scatter",
        "mode": "markers+text",
        "x": points["intensity"].to_list(),
        "y": points["gflops_per_s"].to_list(),
        "text": [name if number < MOST_NAMES else "" for number, name in enumerate(names)],
        "hovertext": names,
        "textposition": "top center",
        "textfont": {"size": 10, "color": ink(scheme)["text"]},
        "marker": {"size": 9, "color": PALETTE[0].on(scheme)},
        "hovertemplate": "%{hovertext}<br>%{x:.3g} FLOPs/byte<br>%{y:.4~g} GFLOP/s<extra></extra>",
        "cliponaxis": False,
    }
    data = [marks]
    if peak_tflops and peak_gbps:
        data.insert(0, _roof(points["intensity"].to_list(), peak_tflops * 1e3, peak_gbps, scheme))
    log = {"type": "log", "tickformat": "~g", "dtick": 1}
    layout = chart_layout(scheme)
    layout |= {
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 60, "r": 24, "t": 20, "b": 38},
        "xaxis": axis(scheme) | log | {"title": axis_title("FLOPs per byte")},
        "yaxis": axis(scheme) | log | {"automargin": "left", "title": axis_title("GFLOP/s")},
    }
    return {"data": data, "layout": layout}


def _roof(intensities: Sequence[float], gflops: float, gbps: float, scheme: Scheme) -> dict[str, Any]:
    ridge = gflops / gbps
    x = [min(*intensities, ridge) / 2, ridge, max(*intensities, ridge) * 2]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": [min(intensity * gbps, gflops) for intensity in x],
        "line": {"color": PALETTE[3].on(scheme), "width": 1.5},
        "hoverinfo": "skip",
    }


def unit_of(longest: object) -> tuple[float, str]:
    """What to divide nanoseconds by, and what they are then."""
    ns = float(longest) if isinstance(longest, (int, float)) else 0.0
    return next(((size, unit) for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)) if ns >= size), (1.0, "ns"))


def axis_title(words: str) -> dict[str, Any]:
    """An axis' title."""
    return {"text": words, "font": {"size": 11}, "standoff": 6}


def hover_label(scheme: Scheme) -> dict[str, Any]:
    """The box at the pointer."""
    colors = ink(scheme)
    return {
        "bgcolor": colors["surface"],
        "bordercolor": colors["axis"],
        "font": {"size": 11.5, "color": colors["text"]},
        "namelength": -1,
    }


def escaped(name: str) -> str:
    """A name as Plotly shows it as it is: it knows some tags, and templates."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "% {")[:60]
