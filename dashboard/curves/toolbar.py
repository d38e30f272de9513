"""The controls of a panel of curves."""

from typing import Any, Final

import dash_mantine_components as dmc
from dash import html

from dashboard.curves.settings import CurveParameters
from dashboard.page.controls import segmented, setting_id, switch
from dashboard.page.icons import icon
from dashboard.page.state import View
from dashboard.traces.sources import has_traces
from summary.series import SCALARS
from summary.snapshot import Snapshot

MOST_AXIS_TAGS: Final = 2_000


def curve_controls(parameters: CurveParameters, snapshot: Snapshot, view: View) -> list[Any]:
    """Smoothing, axes, marks, and what can be done with all cards."""
    panel = parameters.smoothing.name.partition(".")[0]
    metric = parameters.x_axis.of(view) == "metric"
    axes = {"step": "Step", "relative": "Relative", "wall": "Wall", "metric": "Metric"}
    return [
        smoothing_slider(parameters, view, panel),
        segmented(parameters.x_axis, view, axes, "Horizontal axis"),
        html.Div(
            dmc.Select(
                id=setting_id(parameters.x_tag.name),
                value=parameters.x_tag.of(view) or None,
                data=scalar_tags(snapshot),
                searchable=True,
                placeholder="Which metric",
                size="xs",
                nothingFoundMessage="No such tag",
                comboboxProps={"withinPortal": True},
                **{"aria-label": "Metric of the horizontal axis"},
            ),
            id=f"{panel}-axis-tag",
            style={"display": "block" if metric else "none"},
        ),
        scale_control(parameters, view),
        switch(parameters.outliers, view, "Ignore outliers"),
        *([switch(parameters.profiled, view, "Profiled steps")] if has_traces(snapshot) else []),
        html.Div(
            [
                best_control(parameters, view),
                html.Button([icon("download", 14), "All"], className="quiet act-all", title="Download all cards"),
            ],
            className="toolbar-end",
        ),
    ]


def scalar_tags(snapshot: Snapshot) -> list[str]:
    """Every scalar tag, in order of first appearance."""
    tags = dict.fromkeys(series.tag for run in snapshot.runs.values() for series in run.of_kind(SCALARS))
    return list(tags)[:MOST_AXIS_TAGS]


def smoothing_slider(parameters: CurveParameters, view: View, panel: str) -> html.Label:
    """TensorBoard's smoothing: 0 is none."""
    value = parameters.smoothing.of(view)
    return html.Label(
        [
            html.Span("Smoothing"),
            dmc.Slider(
                id=setting_id(parameters.smoothing.name),
                value=value,
                min=0,
                max=0.999,
                step=0.001,
                precision=3,
                size="xs",
                updatemode="mouseup",
                label=None,
                className="smoothing",
                attributes={"thumb": {"aria-label": "Smoothing"}},
            ),
            html.Output(f"{value:.3g}", id=f"{panel}-smoothing-value", className="smoothing-value"),
        ],
        className="field",
    )


def scale_control(parameters: CurveParameters, view: View) -> html.Div:
    """Linear or logarithmic, both axes."""
    return html.Div(
        [
            segmented(parameters.y_scale, view, {"linear": "Linear", "log": "Log y"}, "Vertical scale"),
            segmented(parameters.x_scale, view, {"linear": "Linear", "log": "Log x"}, "Horizontal scale"),
        ],
        className="scales",
    )


def best_control(parameters: CurveParameters, view: View) -> dmc.SegmentedControl:
    """Which point of each line is marked."""
    options = {"none": "No mark", "min": "Least", "max": "Greatest"}
    return segmented(parameters.best, view, options, "Mark the best value of each line")
