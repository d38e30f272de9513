"""Charts with a column per step: heat map and percentile bands; pure functions that return plain figure dicts."""

from collections.abc import Sequence
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor, Scheme
from stepscope.dashboard.page.theme import chart_layout, ink
from stepscope.dashboard.panels.charts import Chart
from stepscope.dashboard.panels.histograms.buckets import Cleaned, rebin, span
from stepscope.dashboard.panels.histograms.color_mix import clear, mix
from stepscope.dashboard.panels.histograms.messages import BandMeta, ColumnMeta, HeatMeta
from stepscope.dashboard.panels.histograms.moments import ChartSettings, Moment, moment_axis, note, places
from stepscope.dashboard.panels.histograms.shapes import foot_of, log_heights
from stepscope.dashboard.server.arrays import typed, typed_for_screen
from stepscope.dashboard.tensorboard.compressor import BASIS_POINTS, compress
from stepscope.summary.counts import counted

HEATMAP_BINS: Final = 60
_BANDS: Final = ((0, 8), (1, 7), (2, 6), (3, 5))
"""Indices into `BASIS_POINTS` of the lower and the upper edge of each band, from the outside in."""
_MEDIAN: Final = 4
_OPACITY: Final = (0.13, 0.17, 0.2, 0.24)


def heatmap_chart(
    moments: Sequence[Moment],
    total: int,
    first_wall_time: float,
    color: RunColor,
    settings: ChartSettings,
    scheme: Scheme,
) -> Chart:
    """Return a chart with a column per step, whose cells are darker the more values they hold.

    The arguments are those of `histogram_chart`.
    """
    cleaned = [m.cleaned() for m in moments]
    reach = span([c.buckets for c in cleaned], settings.reach)
    at, unit = places(moments, first_wall_time, settings)
    bins = settings.bin_count if settings.bins == "even" else HEATMAP_BINS
    edges = np.linspace(*reach, bins + 1)
    counts = np.array([rebin(c.buckets, edges) for c in cleaned]).reshape(-1, bins)
    drawn = _cells(counts, edges, settings)
    layout = _layout(at, unit, settings, scheme)
    layout["yaxis"] |= {"range": list(reach), "autorange": False}
    cells = counts.astype(np.float32).reshape(-1)
    surface, own = ink(scheme)["surface"], color.on(scheme)
    meta: HeatMeta = {**_column_meta(moments, at, cleaned), "edges": typed(edges), "counts": typed(cells)}
    trace = {
        "type": "heatmap",
        "x": typed(np.array(at, np.float64)),
        "y": typed((edges[:-1] + edges[1:]) / 2),
        "z": {**typed(drawn.T.astype(np.float32).reshape(-1)), "shape": f"{bins}, {len(moments)}"},
        "colorscale": [[0, surface], [0.15, mix(own, surface, 0.12 if settings.log else 0.45)], [1, own]],
        "zmin": 0,
        "showscale": False,
        "hoverinfo": "skip",
        "meta": meta,
    }
    # A typed array without cells has no shape that Plotly can read.
    traces = [trace] if len(moments) else []
    said = "" if settings.bins == "even" else f"spread over {counted(bins, 'equal bin')}"
    return Chart({"data": traces, "layout": layout}, note(moments, cleaned, total, said))


def bands_chart(
    moments: Sequence[Moment],
    total: int,
    first_wall_time: float,
    color: RunColor,
    settings: ChartSettings,
    scheme: Scheme,
) -> Chart:
    """Return TensorBoard's distributions: bands between percentiles over steps, and the median.

    The arguments are those of `histogram_chart`.
    """
    cleaned = [m.cleaned() for m in moments]
    filled = [i for i, c in enumerate(cleaned) if len(c.buckets)]
    kept = [moments[i] for i in filled]
    with np.errstate(over="ignore", invalid="ignore"):
        rows = [[value for _, value in compress(cleaned[i].buckets)] for i in filled]
    values = np.array(rows, np.float64).reshape(-1, len(BASIS_POINTS))
    at, unit = places(kept, first_wall_time, settings)
    layout = _layout(at, unit, settings, scheme)
    x, drawn = np.array(at, np.float64), values
    if len(x) == 1:
        # A single step has no width: half a unit on either side makes its bands visible.
        room = 0.5 if settings.axis != "wall" else 500.0
        x, drawn = np.array([x[0] - room, x[0] + room]), np.repeat(values, 2, axis=0)
    own = color.on(scheme)
    traces = []
    for (low, high), opacity in zip(_BANDS, _OPACITY, strict=True):
        traces += [
            _edge(x, drawn[:, low]),
            _edge(x, drawn[:, high]) | {"fill": "tonexty", "fillcolor": clear(own, opacity)},
        ]
    traces.append(_edge(x, drawn[:, _MEDIAN]) | {"line": {"color": own, "width": 1.6}})
    meta: BandMeta = {
        **_column_meta(kept, at, [cleaned[i] for i in filled]),
        "values": typed(values.reshape(-1)),
        "points": list(BASIS_POINTS),
    }
    traces[-1] |= {"meta": meta}
    return Chart({"data": traces if len(x) else [], "layout": layout}, note(moments, cleaned, total))


def _cells(counts: NDArray[np.float64], edges: NDArray[np.float64], settings: ChartSettings) -> NDArray[np.float64]:
    """Return the values that the cells' colors show, float64[moments, bins]; NaN where a moment has no values."""
    totals = counts.sum(axis=1, keepdims=True)
    match settings.height:
        case "count":
            drawn = np.where(totals > 0, counts, np.nan)
        case "density":
            drawn = np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
            drawn /= edges[1] - edges[0]
        case _:
            assert_never(settings.height)
    if settings.log:
        known = np.nan_to_num(drawn)
        # Spreading produces fractions of a count, which are not worth a decade each.
        foot = max(foot_of([known.reshape(-1)]), float(known.max(initial=0.0)) * 1e-4)
        drawn = np.where(np.isnan(drawn), np.nan, log_heights(known, foot)) if foot else drawn
    return drawn


def _layout(at: Sequence[float], unit: str, settings: ChartSettings, scheme: Scheme) -> dict[str, Any]:
    layout = chart_layout(scheme)
    layout["uirevision"] = f"{settings.mode}{settings.axis}{settings.bins}{settings.height}{settings.log}"
    layout["xaxis"] |= {"showgrid": False, "zeroline": False, **moment_axis(at, settings, unit, "across")}
    layout["yaxis"] |= {"showgrid": settings.mode == "bands", "zeroline": False}
    # Half of the last label stands right of the chart; without room for it, Plotly leaves it out.
    layout["margin"] |= {"r": 30}
    return layout


def _column_meta(moments: Sequence[Moment], at: Sequence[float], cleaned: Sequence[Cleaned]) -> ColumnMeta:
    return {
        "steps": typed(np.array([m.step for m in moments], np.float64)),
        "walls": typed(np.array([m.wall_time for m in moments], np.float64)),
        "indices": typed(np.array([m.index for m in moments], np.int64)),
        "places": typed(np.array(at, np.float64)),
        "totals": typed(np.array([c.total for c in cleaned], np.float64)),
    }


def _edge(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed(x),
        "y": typed_for_screen(y),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
