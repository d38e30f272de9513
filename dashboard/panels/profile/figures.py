"""The panel's charts: pure functions from tables of analyses to figure dicts."""

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.dashboard.page.colors import PALETTE, Scheme
from stepscope.dashboard.page.theme import axis, chart_layout, ink
from stepscope.dashboard.panels.profile import texts
from stepscope.dashboard.server.arrays import typed
from stepscope.dashboard.tensorboard.downsample import indices_to_draw
from stepscope.profiler.analysis.steps import CATEGORIES

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
"""Display names of `stepscope.profiler.analysis.steps.CATEGORIES`."""
MOST_STEPS: Final = 400
"""Maximum number of bars in a chart; more would be thinner than pixels."""
MOST_FRAMES: Final = 1_500
"""Maximum number of frames of a flame graph."""
MOST_NAMES: Final = 12
"""Maximum number of labeled points: those with the most FLOPs."""


def category_color(category: str, scheme: Scheme) -> str:
    """Return the color of a category of step time."""
    if category not in _HUES:
        return "#c3c9d3" if scheme == "light" else "#59616e"
    return PALETTE[_HUES[category]].on(scheme)


def shown_steps(steps: "pl.DataFrame") -> "pl.DataFrame":
    """Return the steps that the chart shows: all, or the slowest `MOST_STEPS`, in order.

    Of equally slow steps, the first are taken.
    """
    if len(steps) <= MOST_STEPS:
        return steps
    return steps.with_row_index("#").top_k(MOST_STEPS, by=("total_ns", "#"), reverse=(False, True)).sort("#").drop("#")


def step_chart(steps: "pl.DataFrame", scheme: Scheme, *, numbered: bool = True, legend: bool = False) -> dict[str, Any]:
    """Return stacked bars with the time of each step by category.

    Each bar's ``customdata`` begins with its range on the Timeline.

    ``steps`` is `stepscope.profiler.analysis.steps.step_breakdown`, with the column "at" (text, "start:end"). If the
    trace marks no steps, the single bar is not ``numbered``.
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
    if legend:
        layout |= {"showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}}
        layout["margin"]["t"] = 28
    return {"data": bars, "layout": layout}


def memory_chart(timeline: "pl.DataFrame", origin: int, scheme: Scheme) -> dict[str, Any]:
    """Return allocated and reserved bytes of one device over time, with its peak marked.

    ``timeline`` has the rows of `stepscope.profiler.analysis.memory.memory_timeline` for one device; ``origin`` is the
    trace's start in nanoseconds.
    """
    times = timeline["time_ns"].to_numpy() - origin
    scale, unit = unit_of(int(times.max()) if len(times) else 0)
    x = times / scale
    held = timeline["bytes"].to_numpy().astype(np.float64)
    lines = []
    reserved = timeline["reserved_bytes"]
    # An allocator that reserves nothing reports 0 throughout.
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
    """Return a line for a value that holds until its next change; ``value`` is its hover text."""
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


def flame_chart(tree: "pl.DataFrame", scheme: Scheme) -> dict[str, Any] | None:
    """Return frames of the program below their callers, as wide as their total time; None without any.

    ``tree`` is `stepscope.profiler.analysis.code.code_view`. A click on a frame shows it alone; if there are very many
    frames, those with the least time are left out.
    """
    import polars as pl

    if tree.is_empty() or not tree["total_ns"].sum():
        return None
    rows = tree.with_row_index("#")
    # A frame takes at least as long as those below it together: omitting one also omits those below it.
    kept = rows.sort("total_ns", descending=True, maintain_order=True).head(MOST_FRAMES).sort("#")
    whole = int(tree.filter(pl.col("depth") == 0)["total_ns"].sum())
    ids, parents = ["all"], [""]
    above: list[str] = ["all"]
    for number, depth in zip(kept["#"].to_list(), kept["depth"].to_list(), strict=True):
        del above[depth + 1 :]
        parents.append(above[-1])
        above.append(str(number))
        ids.append(str(number))
    names = kept["frame"].to_list()
    labels = [escaped(name[name.split("(")[0].rfind("/") + 1 :]) for name in names]
    totals, own = kept["total_ns"].to_list(), kept["self_ns"].to_list()
    figures = [
        [escaped(name), texts.duration(total), texts.duration(alone), texts.percent(100 * total / whole)]
        for name, total, alone in zip(names, totals, own, strict=True)
    ]
    icicle = {
        "type": "icicle",
        "ids": ids,
        "parents": parents,
        "labels": ["all", *labels],
        "values": [whole, *totals],
        "branchvalues": "total",
        "sort": False,
        "customdata": [["all", texts.duration(whole), texts.duration(0), texts.percent(100)], *figures],
        "marker": {
            "colors": [
                ink(scheme)["surface"],
                *(PALETTE[zlib.crc32(each.encode()) % 12].on(scheme) for each in labels),
            ],
            "line": {"width": 1, "color": ink(scheme)["surface"]},
        },
        "tiling": {"orientation": "v"},
        "textfont": {"size": 11},
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]} (%{customdata[3]}), "
        "itself %{customdata[2]}<extra></extra>",
        "pathbar": {"visible": True, "thickness": 20},
    }
    layout = chart_layout(scheme) | {
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 6, "r": 6, "t": 24, "b": 6},
        "uniformtext": {"minsize": 9, "mode": "hide"},
    }
    return {"data": [icicle], "layout": layout}


def roofline_chart(
    table: "pl.DataFrame", tflops: Mapping[str, float], gbps: float, scheme: Scheme
) -> dict[str, Any] | None:
    """Return throughput over intensity, both logarithmic, with a roof for each peak, if any.

    Return None without points.

    ``table`` is `stepscope.profiler.analysis.roofline.roofline`; the compute peaks are in TFLOP/s by kind, and the
    memory peak is in GB/s, 0 if unknown.
    """
    import polars as pl

    points = table.filter(pl.col("intensity").is_not_null() & (pl.col("gflops_per_s") > 0))
    if points.is_empty():
        return None
    names = [escaped(name) for name in points["name"].to_list()]
    x, y = points["intensity"].to_list(), points["gflops_per_s"].to_list()
    roofs = [_roof(x, peak * 1e3, gbps, name, scheme) for name, peak in tflops.items()] if gbps else []
    wide, high = ([*own, *(each for line in roofs for each in line[way])] for own, way in ((x, "x"), (y, "y")))
    ranges = {"x": _log_range(wide, 0.12), "y": _log_range(high, 0.3)}
    labels = [(line["x"][-1], line["y"][-1], line["text"][-1]) for line in roofs]
    placed = _label_places(names[:MOST_NAMES], list(zip(x, y, strict=True)), labels, ranges)
    marks = {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": y,
        "text": [name if place < len(placed) and placed[place] else "" for place, name in enumerate(names)],
        "hovertext": names,
        "textposition": [*(each or "top center" for each in placed), *["top center"] * (len(names) - len(placed))],
        "textfont": {"size": 10, "color": ink(scheme)["text"]},
        "marker": {"size": 9, "color": PALETTE[0].on(scheme)},
        "hovertemplate": "%{hovertext}<br>%{x:.3g} FLOPs/byte<br>%{y:.4~g} GFLOP/s<extra></extra>",
        "cliponaxis": False,
    }
    log = {"type": "log", "tickformat": "~g", "dtick": 1}
    layout = chart_layout(scheme)
    layout |= {
        "hovermode": "closest",
        "hoverlabel": hover_label(scheme),
        "margin": {"l": 60, "r": 24, "t": 20, "b": 38},
        "xaxis": axis(scheme) | log | {"title": axis_title("FLOPs per byte"), "range": ranges["x"]},
        "yaxis": axis(scheme) | log | {"automargin": "left", "title": axis_title("GFLOP/s"), "range": ranges["y"]},
    }
    return {"data": [*roofs, marks], "layout": layout}


def _roof(intensities: Sequence[float], gflops: float, gbps: float, name: str, scheme: Scheme) -> dict[str, Any]:
    ridge = gflops / gbps
    x = [min(*intensities, ridge) / 2, ridge, max(*intensities, ridge) * 4]
    words = f"{name} peak {texts.digits(gflops / 1e3)} TFLOP/s".strip()
    return {
        "type": "scatter",
        "mode": "lines+text",
        "x": x,
        "y": [min(intensity * gbps, gflops) for intensity in x],
        "text": ["", "", words],
        "textposition": "top left",
        "textfont": {"size": 10, "color": ink(scheme)["text"]},
        "line": {"color": PALETTE[3].on(scheme), "width": 1.5},
        "hoverinfo": "skip",
    }


_LABEL_SIZE: Final = (0.0075, 0.075)
"""Width of a character and height of a line, as fractions of the chart at its default size."""
_SIDES: Final = (
    ("top center", 0.5, 1.0),
    ("bottom center", 0.5, -1.0),
    ("middle right", 0.0, 0.0),
    ("middle left", 1.0, 0.0),
)
"""Possible positions of a name, the fraction of it left of its point, and whether it lies above."""


def _log_range(values: Sequence[float], room: float) -> list[float]:
    """Return the range of a logarithmic axis that covers all values, with some margin."""
    return [math.log10(min(values)) - room, math.log10(max(values)) + room]


def _label_places(
    names: Sequence[str],
    points: Sequence[tuple[float, float]],
    others: Sequence[tuple[float, float, str]],
    ranges: Mapping[str, Sequence[float]],
) -> list[str]:
    """Return the label position of each point so that no two overlap, the first points first; "" if there is no room.

    ``others`` are texts that end above a place; ``ranges`` are those of the axes, as logarithms.
    """

    def at(x: float, y: float) -> tuple[float, float]:
        shares = [
            (math.log10(value) - low) / (top - low) for value, (low, top) in zip((x, y), ranges.values(), strict=True)
        ]
        return shares[0], shares[1]

    letter, line = _LABEL_SIZE
    taken = []
    for x, y, words in others:
        right, bottom = at(x, y)
        taken.append((right - letter * len(words), bottom, right, bottom + line))
    found = []
    for name, point in zip(names, points, strict=False):
        width = len(name) * letter
        left, middle = at(*point)
        chosen = ""
        for side, before, above in _SIDES:
            low = middle + (above - 0.5) * line
            box = (left - before * width, low, left + (1 - before) * width, low + line)
            free = all(box[2] <= a or box[0] >= c or box[3] <= b or box[1] >= d for a, b, c, d in taken)
            if free and box[0] >= 0 and box[2] <= 1:
                taken.append(box)
                chosen = side
                break
        found.append(chosen)
    return found


def unit_of(longest: object) -> tuple[float, str]:
    """Return the divisor for nanoseconds, and the resulting unit."""
    ns = float(longest) if isinstance(longest, (int, float)) else 0.0
    return next(((size, unit) for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)) if ns >= size), (1.0, "ns"))


def axis_title(words: str) -> dict[str, Any]:
    """Return an axis title."""
    return {"text": words, "font": {"size": 11}, "standoff": 6}


def hover_label(scheme: Scheme) -> dict[str, Any]:
    """Return the style of the hover box."""
    colors = ink(scheme)
    return {
        "bgcolor": colors["surface"],
        "bordercolor": colors["axis"],
        "font": {"size": 11.5, "color": colors["text"]},
        "namelength": -1,
    }


def escaped(name: str) -> str:
    """Return a name escaped so that Plotly, which interprets some tags and templates, shows it literally."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "% {")[:60]
