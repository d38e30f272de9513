"""The controls of a panel of curves."""

from collections.abc import Sequence
from typing import Any, Final

import dash_mantine_components as dmc
from dash import html

from stepscope.dashboard.curves.settings import CurveParameters
from stepscope.dashboard.page.controls import segmented, setting_id, switch
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs.facts import Facts
from stepscope.dashboard.traces.sources import has_traces
from stepscope.summary.snapshot import Snapshot

MOST_AXIS_TAGS: Final = 2_000
SCALES: Final = {"linear": "Linear", "log": "Log"}
LIKELY_AXES: Final = ("epoch", "token", "sample", "example", "time", "hour", "flop")


def curve_controls(parameters: CurveParameters, snapshot: Snapshot, view: View) -> list[Any]:
    """Return the controls for smoothing, axes, marks, and actions on all cards."""
    panel = parameters.smoothing.name.partition(".")[0]
    switches = [
        switch(parameters.outliers, view, "Ignore outliers"),
        switch(parameters.legend, view, "Legend"),
        *([switch(parameters.profiled, view, "Profiled steps")] if has_traces(snapshot) else []),
    ]
    download = html.Button(
        [icon("download", 14), "Download"],
        className="quiet act-all",
        title="Download the data or images of all cards",
    )
    return [
        smoothing_slider(parameters, view),
        horizontal_axis(parameters, snapshot, view, panel),
        labeled("y:", segmented(parameters.y_scale, view, SCALES, "Scale of the vertical axis")),
        *switches,
        html.Div([best_control(parameters, view), download], className="toolbar-end"),
    ]


def labeled(label: str, *controls: Any) -> html.Div:
    """Return related controls with a label before them."""
    return html.Div([html.Span(label, **{"aria-hidden": "true"}), *controls], className="field")


def horizontal_axis(parameters: CurveParameters, snapshot: Snapshot, view: View, panel: str) -> html.Div:
    """Return the controls for the quantity on the horizontal axis, and its scale."""
    axes = {"step": "Step", "relative": "Relative", "wall": "Wall", "metric": "Metric"}
    tags = Facts.of(snapshot).metric_tags[:MOST_AXIS_TAGS]
    metric = dmc.Select(
        id=setting_id(parameters.x_tag.name),
        value=parameters.x_tag.of(view) or None,
        data=tags,
        searchable=True,
        placeholder=f"Metric, such as {example_metric(tags)}" if tags else "Metric",
        size="xs",
        nothingFoundMessage="No such tag",
        comboboxProps={"withinPortal": True},
        **{"aria-label": "Metric of the horizontal axis"},
    )
    shown = "block" if parameters.x_axis.of(view) == "metric" else "none"
    return labeled(
        "x:",
        segmented(parameters.x_axis, view, axes, "Horizontal axis"),
        html.Div(metric, id=f"{panel}-axis-tag", className="axis-tag", style={"display": shown}),
        segmented(parameters.x_scale, view, SCALES, "Scale of the horizontal axis"),
    )


def example_metric(tags: Sequence[str]) -> str:
    """Return the tag that a user most likely wants on the horizontal axis."""
    likely = (tag for word in LIKELY_AXES for tag in tags if word in tag.lower())
    return next(likely, tags[0])


def smoothing_slider(parameters: CurveParameters, view: View) -> html.Div:
    """Return the slider of TensorBoard's smoothing, 0 for none; ``web/smoothing_box.ts`` appends a number field."""
    return html.Div(
        [
            html.Span("Smoothing"),
            dmc.Slider(
                id=setting_id(parameters.smoothing.name),
                value=parameters.smoothing.of(view),
                min=0,
                max=0.999,
                step=0.01,
                precision=3,
                size="xs",
                updatemode="mouseup",
                label=None,
                className="smoothing",
                attributes={"thumb": {"aria-label": "Smoothing"}},
            ),
            html.Span(className="smoothing-value"),
        ],
        className="field",
    )


def best_control(parameters: CurveParameters, view: View) -> html.Div:
    """Return the control for which point of each line is marked."""
    options = {"none": "Off", "min": "Min", "max": "Max"}
    return labeled("Best", segmented(parameters.best, view, options, "Mark the best value of each line"))
