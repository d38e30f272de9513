"""The histograms panel: one card per tag and run."""

from collections.abc import Mapping
from typing import Any, cast

from dash import Dash, html
from fastapi import APIRouter

from dashboard.colors import RunColor
from dashboard.controls import segmented, tag_filter_input
from dashboard.live import Live
from dashboard.panels.cards import CardGrid, Draw, frame, pair_keys, pair_of
from dashboard.panels.charts import Chart, chart_body, utc_offset
from dashboard.panels.histograms.buckets import pick
from dashboard.panels.histograms.figures import Axis, Bins, ChartSettings, Mode, Moment, histogram_chart
from dashboard.state import Setting, View, choice
from summary.kinds.base import PayloadError
from summary.kinds.histogram import PLUGIN_NAME, Histogram
from summary.snapshot import Series, Snapshot

MODE = choice("histograms.mode", "offset", ("offset", "overlay", "heatmap"))
AXIS = choice("histograms.axis", "step", ("step", "relative", "wall"))
BINS = choice("histograms.bins", "written", ("written", "even"))


class HistogramsPanel:
    """Distributions of numbers over steps."""

    name = "histograms"
    title = "Histograms"
    icon = "histograms"

    def __init__(self) -> None:
        self._grid = CardGrid(
            panel=self.name,
            keys=lambda snapshot, view: pair_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            target="figure",
            depends=depends,
            draw=draw,
            nothing="No shown run has histograms",
        )
        self.settings: tuple[Setting[Any], ...] = (MODE, AXIS, BINS, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return PLUGIN_NAME in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        return html.Div([toolbar(view), *self._grid.layout(snapshot, view)], className="panel histograms")

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)

    def router(self, live: Live) -> APIRouter | None:
        return None


def toolbar(view: View) -> html.Div:
    """Tag filter, mode, axis, bins."""
    return html.Div(
        [
            tag_filter_input(view),
            segmented(
                MODE, view, {"offset": "Offset", "overlay": "Overlay", "heatmap": "Heat map"}, "How steps are drawn"
            ),
            segmented(AXIS, view, {"step": "Step", "relative": "Relative", "wall": "Wall"}, "Axis of steps"),
            segmented(BINS, view, {"written": "Bins as written", "even": "Even bins"}, "Bins"),
        ],
        className="toolbar",
    )


def card(key: str, wide: bool, colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag of one run, still without its chart."""
    tag, run = pair_of(key)
    body = chart_body({"type": "histograms-data", "key": key})
    return frame(key, tag, "histograms", wide, body, run=run, color=colors.get(run))


def depends(key: str, on: Draw) -> object:
    """What the chart of a card is made of."""
    series = series_of(key, on.snapshot)
    color = on.colors.get(pair_of(key)[1])
    return (chart_settings(on.view), on.scheme, color, None if series is None else series.version)


def draw(key: str, on: Draw) -> dict[str, Any]:
    """The figure of a card; its layout's ``meta`` carries what the card says about it."""
    series = series_of(key, on.snapshot)
    if series is None:
        return Chart({"data": [], "layout": {}}, "no data any more").with_meta()
    color = on.colors[series.run]
    return series_chart(series, color, on).with_meta(mode=MODE.of(on.view), color=color.on(on.scheme))


def series_chart(series: Series, color: RunColor, on: Draw) -> Chart:
    """Reads the histograms that are drawn, and draws them."""
    moments = [read(series, index) for index in pick(len(series)).tolist()]
    first = float(series.wall_times[0]) if len(series) else 0.0
    return histogram_chart(moments, len(series), first, color, chart_settings(on.view), on.scheme)


def read(series: Series, index: int) -> Moment:
    """One histogram; damage is a value."""
    step, wall_time = int(series.steps[index]), float(series.wall_times[index])
    try:
        histogram = series.read(index)
    except PayloadError:
        return Moment(step, wall_time, None)
    return Moment(step, wall_time, histogram.buckets, left_out(histogram))


def left_out(histogram: Histogram) -> dict[str, int]:
    """How many values are in no bucket, by what they are called."""
    numbers = {
        "NaN": histogram.nan,
        "+inf": histogram.positive_infinite,
        "-inf": histogram.negative_infinite,
        "below the edges": histogram.below,
        "above the edges": histogram.above,
    }
    return {name: number for name, number in numbers.items() if number}


def series_of(key: str, snapshot: Snapshot) -> Series | None:
    """The series that a card shows."""
    tag, run = pair_of(key)
    series = snapshot.series(run, tag)
    return series if series is not None and series.kind == PLUGIN_NAME else None


def chart_settings(view: View) -> ChartSettings:
    """The view's settings for charts; wall time is printed in the server's time zone."""
    return ChartSettings(
        mode=cast(Mode, MODE.of(view)),
        axis=cast(Axis, AXIS.of(view)),
        bins=cast(Bins, BINS.of(view)),
        utc_offset=utc_offset(),
    )
