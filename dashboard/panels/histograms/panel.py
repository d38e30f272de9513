"""The histograms panel: a card per tag and run over steps, or a card per tag with all runs at one step."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast

import dash_mantine_components as dmc
from dash import html

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.page.controls import segmented, setting_id, switch, tag_filter_input
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import FULL_WIDTH, Action, Draw, Shown, pair_keys, pair_of, tag_keys, titled_card
from stepscope.dashboard.panels.charts import Chart, chart_body
from stepscope.dashboard.panels.groups import Place
from stepscope.dashboard.panels.histograms.buckets import COLUMNS_DRAWN, COLUMNS_WIDE, STEPS_DRAWN
from stepscope.dashboard.panels.histograms.figures import histogram_chart, runs_chart
from stepscope.dashboard.panels.histograms.messages import LegendRun, RunMeta, RunsMeta
from stepscope.dashboard.panels.histograms.moments import Axis, Bins, ChartSettings, Height, Mode
from stepscope.dashboard.panels.histograms.reading import Ranges, StepRange, read_at, read_some
from stepscope.dashboard.panels.histograms.routes import make_router
from stepscope.dashboard.panels.histograms.settings import (
    AXIS,
    BIN_COUNT,
    BINS,
    FIRST,
    HEIGHT,
    LAST,
    LOG,
    MODE,
    ONE_SCALE,
    SETTINGS,
    STEPS,
)
from stepscope.dashboard.panels.steps import chosen_steps, slider
from stepscope.summary.kinds.histogram import PLUGIN_NAME
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

ONE_SCALE_RUNS: Final = 100
"""Maximum number of runs whose cards share one scale: all ranges have to be read before the first card is drawn."""
RANGES: Final = Ranges()


class HistogramsPanel(CardPanel):
    """Distributions of numbers over steps."""

    name = "histograms"
    title = "Histograms"
    kinds = (
        "histograms",
        "distributions",
    )

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="Histograms",
            keys=keys,
            card=card,
            depends=depends,
            draw=draw,
            toolbar=lambda _snapshot, view: toolbar(view),
            settings=SETTINGS,
            routes=make_router,
            nothing="No histograms in the visible runs",
            target="figure",
            marks=lambda view: {"data-bins": BINS.of(view), "data-mode": MODE.of(view)},
        )


def toolbar(view: View) -> html.Div:
    """Return the controls: tag filter, mode, axis, range of steps, bins, heights."""
    assert BIN_COUNT.limits is not None
    least_bins, most_bins = BIN_COUNT.limits
    modes = {"offset": "Offset", "overlay": "Overlay", "heatmap": "Heat map", "bands": "Percentiles", "runs": "Runs"}
    return html.Div(
        [
            tag_filter_input(view),
            segmented(MODE, view, modes, "How histograms are drawn"),
            segmented(AXIS, view, {"step": "Step", "relative": "Relative", "wall": "Wall"}, "Step axis"),
            html.Div(
                [
                    html.Span("Steps"),
                    step_input(FIRST, view, "first", "First step that is shown"),
                    html.Span("to"),
                    step_input(LAST, view, "last", "Last step that is shown"),
                ],
                className="field steps-field",
            ),
            html.Div(
                [
                    segmented(BINS, view, {"even": "Equal bins", "written": "Bins as logged"}, "Bins"),
                    dmc.NumberInput(
                        id=setting_id(BIN_COUNT.name),
                        value=int(BIN_COUNT.of(view)),
                        min=least_bins,
                        max=most_bins,
                        allowDecimal=False,
                        clampBehavior="strict",
                        debounce=300,
                        size="xs",
                        className="bin-count",
                        **{"aria-label": "Number of equal bins"},
                    ),
                ],
                className="field of-bins",
            ),
            html.Div(
                [
                    segmented(HEIGHT, view, {"count": "Count", "density": "Density"}, "Heights"),
                    switch(LOG, view, "Log heights"),
                ],
                className="field of-bins",
            ),
            html.Div(switch(ONE_SCALE, view, "Same range for every run"), className="field one-scale"),
        ],
        className="toolbar",
    )


def step_input(setting: Setting[int | None], view: View, placeholder: str, label: str) -> dmc.NumberInput:
    """Return an input for a step; empty means no bound."""
    value = setting.of(view)
    return dmc.NumberInput(
        id=setting_id(setting.name),
        value="" if value is None else value,
        placeholder=placeholder,
        allowDecimal=False,
        hideControls=True,
        debounce=300,
        size="xs",
        className="step-input",
        **{"aria-label": label},
    )


def runs_key(tag: str) -> str:
    """Return the key of a card with all runs of a tag.

    Its length distinguishes it from a `stepscope.dashboard.panels.cards.pair_key`.
    """
    return json.dumps([tag], ensure_ascii=False)


def runs_tag(key: str) -> str | None:
    """Return the tag of a `runs_key`; None for any other key."""
    parts = json.loads(key)
    return str(parts[0]) if len(parts) == 1 else None


def keys(snapshot: Snapshot, view: View) -> Sequence[tuple[Place, str]]:
    """Return a card per tag and run; with all runs at one step, a card per tag."""
    if MODE.of(view) != "runs":
        return pair_keys(snapshot, view, PLUGIN_NAME)
    return [(group, runs_key(tag)) for group, tag in tag_keys(snapshot, view, PLUGIN_NAME)]


def card(key: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of a tag, for one run or all, without its chart."""
    actions = [FULL_WIDTH, Action("download", "Download")]
    chart = chart_body({"type": "histograms-data", "key": key})
    tag = runs_tag(key)
    if tag is not None:
        body = html.Div([chart, html.Div(className="fill")])
        return titled_card(key, tag, "histograms", wide, body, actions=actions)
    tag, run = pair_of(key)
    return titled_card(key, tag, "histograms", wide, chart, run=run, color=on.colors.get(run), actions=actions)


def depends(key: str, on: Draw) -> object:
    """Return what the chart of a card depends on."""
    settings = (chart_settings(on.view), step_range(on.view), on.scheme)
    tag = runs_tag(key)
    if tag is not None:
        versions = [(s.run, s.version, on.colors[s.run]) for s in on.series_of_tag(tag, PLUGIN_NAME)]
        return (settings, versions, chosen_steps(STEPS.of(on.view)).get(tag))
    series = series_of(key, on.snapshot)
    if series is None:
        return settings
    return (settings, columns(key, on.view), on.colors.get(series.run), series.version, shared_reach(series, on))


def draw(key: str, on: Draw) -> dict[str, Any]:
    """Return the figure of a card; its layout's ``meta`` has the card's remarks about it."""
    tag = runs_tag(key)
    if tag is not None:
        return draw_runs(tag, on)
    series = series_of(key, on.snapshot)
    if series is None:
        return Chart({"data": [], "layout": {}}, "no longer has data").with_meta()
    color = on.colors[series.run]
    chart = series_chart(series, color, on, columns(key, on.view))
    meta: RunMeta = {
        "mode": cast(Literal["offset", "overlay", "heatmap", "bands"], MODE.of(on.view)),
        "color": color.on(on.scheme),
        "run": series.run,
        "tag": series.tag,
    }
    return chart.with_meta(**meta)


def draw_runs(tag: str, on: Draw) -> dict[str, Any]:
    """Return the figure of all shown runs at one step; ``meta`` has the slider and a remark about each run."""
    found = on.series_of_tag(tag, PLUGIN_NAME)
    within = step_range(on.view)
    inside = {series.run: series.steps[within.indices(series)] for series in found}
    step = chosen_steps(STEPS.of(on.view)).get(tag)
    if step is None:
        step = max((int(steps.max()) for steps in inside.values() if len(steps)), default=None)
    runs = [read_at(series, on.colors[series.run], step, within) for series in found]
    chart = runs_chart(runs, chart_settings(on.view), on.scheme)
    legend: list[LegendRun] = [
        {
            "run": one.run,
            "light": one.color.light,
            "dark": one.color.dark,
            "said": one.said,
            "drawn": one.moment is not None,
        }
        for one in runs
    ]
    meta: RunsMeta = {"mode": "runs", "tag": tag, "runs": legend, "slider": slider(found, within.holds)}
    return chart.with_meta(**meta)


def series_chart(series: Series, color: RunColor, on: Draw, most: int) -> Chart:
    """Read the histograms to draw, and draw them."""
    moments, total = read_some(series, step_range(on.view), most)
    first = float(series.wall_times[0]) if len(series) else 0.0
    settings = replace(chart_settings(on.view), reach=shared_reach(series, on))
    return histogram_chart(moments, total, first, color, settings, on.scheme)


def shared_reach(series: Series, on: Draw) -> tuple[float, float] | None:
    """Return the range of values of the tag in all shown runs, if their cards share one scale."""
    if not ONE_SCALE.of(on.view) or MODE.of(on.view) == "bands":
        return None
    found = on.series_of_tag(series.tag, PLUGIN_NAME)
    return RANGES.of_all(found, step_range(on.view)) if 1 < len(found) <= ONE_SCALE_RUNS else None


def columns(key: str, view: View) -> int:
    """Return the maximum number of histograms that a card draws."""
    if MODE.of(view) not in ("heatmap", "bands"):
        return STEPS_DRAWN
    return COLUMNS_WIDE if key in view.settings.get("histograms.wide", ()) else COLUMNS_DRAWN


def series_of(key: str, snapshot: Snapshot) -> Series | None:
    """Return the series that a card of one run shows."""
    tag, run = pair_of(key)
    series = snapshot.series(run, tag)
    return series if series is not None and series.kind == PLUGIN_NAME else None


def step_range(view: View) -> StepRange:
    """Return the view's range of steps."""
    return StepRange(FIRST.of(view), LAST.of(view))


def chart_settings(view: View) -> ChartSettings:
    """Return the view's chart settings."""
    return ChartSettings(
        mode=cast(Mode, MODE.of(view)),
        axis=cast(Axis, AXIS.of(view)),
        bins=cast(Bins, BINS.of(view)),
        bin_count=int(BIN_COUNT.of(view)),
        height=cast(Height, HEIGHT.of(view)),
        log=LOG.of(view),
    )


PANEL = HistogramsPanel()
