"""The PR curves panel: one card per tag, with the curve of every shown run at one step."""

import math
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from dash import html
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.page.controls import segmented, switch, tag_filter_input
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import FULL_WIDTH, Action, Draw, Shown, expected, pair_key, tag_keys, titled_card
from stepscope.dashboard.panels.charts import chart_body
from stepscope.dashboard.panels.pr_curves.curves import Curve, check
from stepscope.dashboard.panels.pr_curves.figures import (
    METRIC_NAMES,
    Axis,
    Kind,
    Metric,
    RunCurve,
    RunTrack,
    pr_chart,
    roc_chart,
    track_chart,
)
from stepscope.dashboard.panels.pr_curves.messages import CardMeta, CurveMeta, RunMeta
from stepscope.dashboard.panels.pr_curves.routes import make_router
from stepscope.dashboard.panels.pr_curves.settings import (
    AXIS,
    ISO,
    MATRIX,
    METRIC,
    RUN_STEPS,
    SETTINGS,
    SLIDER,
    STEPS,
    VIEW,
)
from stepscope.dashboard.panels.steps import chosen_steps, index_at, pick, slider
from stepscope.dashboard.server.arrays import TypedArray, typed
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.pr_curve import PLUGIN_NAME
from stepscope.summary.series import Series

MOST_MATRICES: Final = 12
"""Maximum number of confusion matrices of a card, as in ``web/below.ts``."""
TRACKED: Final = 100
"""Maximum number of curves of one run that are read for a line over steps."""


class PrCurvesPanel(CardPanel):
    """The performance of binary classifiers at each threshold."""

    name = "pr_curves"
    title = "PR curves"
    kinds = ("pr_curves",)

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="PrCurves",
            keys=lambda snapshot, view: tag_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            depends=depends,
            draw=draw,
            toolbar=lambda _snapshot, view: toolbar(view),
            settings=SETTINGS,
            routes=make_router,
            nothing="No PR curves in the visible runs",
            target="figure",
            marks=lambda view: {"data-view": VIEW.of(view), "data-matrix": "on" if MATRIX.of(view) else "off"},
        )


def toolbar(view: View) -> html.Div:
    """Return the controls: tag filter, chart, metric over steps, display of steps, sliders, iso-lines, matrices."""
    kinds = {"pr": "Precision-recall", "roc": "ROC", "steps": "Over steps"}
    return html.Div(
        [
            tag_filter_input(view),
            segmented(VIEW, view, kinds, "Chart"),
            html.Span(
                segmented(
                    METRIC, view, {str(name): label for name, label in METRIC_NAMES.items()}, "Metric shown over steps"
                ),
                className="only-steps",
            ),
            segmented(AXIS, view, {"step": "Step", "relative": "Relative", "wall": "Wall"}, "How steps are shown"),
            html.Span(
                segmented(SLIDER, view, {"all": "One slider", "run": "One per run"}, "Step sliders"),
                className="only-curves",
            ),
            html.Span(switch(ISO, view, "F1 lines"), className="only-pr"),
            html.Span(switch(MATRIX, view, "Confusion matrix"), className="only-curves"),
        ],
        className="toolbar",
    )


def card(tag: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of one tag, without its chart; ``pr_curves/web/index.ts`` fills the area below the chart."""
    actions = [Action("reset", "Axes from 0 to 1"), FULL_WIDTH, Action("download", "Download")]
    count = len(on.series_of_tag(tag, PLUGIN_NAME))
    matrices = [html.I() for _ in range(min(count, MOST_MATRICES))]
    room = expected(
        html.Div(className="room-table"), html.Div(matrices, className="room-matrices"), style={"--rows": count}
    )
    body = html.Div([chart_body({"type": "pr_curves-data", "key": tag}), room, html.Div(className="fill")])
    return titled_card(tag, tag, "pr_curves", wide, body, actions=actions)


def depends(tag: str, on: Draw) -> object:
    """Return what the chart of a card depends on."""
    versions = [(s.run, s.version, on.colors[s.run]) for s in on.series_of_tag(tag, PLUGIN_NAME)]
    kind = VIEW.of(on.view)
    if kind == "steps":
        return (kind, METRIC.of(on.view), AXIS.of(on.view), on.scheme, versions)
    steps = [wanted_step(tag, run, on.view) for run, _, _ in versions]
    return (kind, SLIDER.of(on.view), ISO.of(on.view), on.scheme, versions, steps)


def draw(tag: str, on: Draw) -> dict[str, Any]:
    """Return the figure of a card.

    Its layout's ``meta`` has the data for the table and the matrices below.
    """
    found = on.series_of_tag(tag, PLUGIN_NAME)
    kind = cast(Kind, VIEW.of(on.view))
    if kind == "steps":
        metric, axis = cast(Metric, METRIC.of(on.view)), cast(Axis, AXIS.of(on.view))
        tracks = [track(series, on.colors[series.run], metric) for series in found]
        chart = track_chart(tracks, metric, axis, on.scheme)
        return chart.with_meta(**card_meta(kind, [], []))
    apart = SLIDER.of(on.view) == "run"
    steps = {series.run: wanted_step(tag, series.run, on.view) for series in found}
    if not apart:
        # The end of the slider is the newest step of all runs, which some runs may not have.
        newest = max((int(series.steps.max()) for series in found if len(series)), default=None)
        steps = {run: newest if step is None else step for run, step in steps.items()}
    read = [read_curve(series, on.colors[series.run], steps[series.run]) for series in found]
    curves = [one for one, _ in read]
    chart = pr_chart(curves, on.scheme, iso_lines=ISO.of(on.view)) if kind == "pr" else roc_chart(curves, on.scheme)
    runs = [run_meta(one, series, index, kind, on) for (one, index), series in zip(read, found, strict=True)]
    if apart:
        for run, series in zip(runs, found, strict=True):
            run.update({"slider": slider([series]), "key": pair_key(tag, series.run)})
    return chart.with_meta(**card_meta(kind, runs, [] if apart else found))


def card_meta(kind: Kind, runs: list[RunMeta | CurveMeta], slides: Sequence[Series]) -> CardMeta:
    """Return the data sent with a chart; ``slides`` are the series whose steps one slider offers."""
    return {"view": kind, "runs": runs, "slider": slider(slides)}


def wanted_step(tag: str, run: str, view: View) -> int | None:
    """Return the step chosen for a run of a card; None for the newest."""
    if SLIDER.of(view) == "run":
        return chosen_steps(RUN_STEPS.of(view)).get(pair_key(tag, run))
    return chosen_steps(STEPS.of(view)).get(tag)


def read_curve(series: Series, color: RunColor, step: int | None) -> tuple[RunCurve, int | None]:
    """Return a run's curve at a step, or at the nearest one before it, and its index in the series.

    Damage is returned as a value.
    """
    index = index_at(series.steps, step)
    if index is None:
        first = f"begins at step {count(int(series.steps.min()))}" if len(series) else "has no curve yet"
        return RunCurve(series.run, color, None, first), None
    try:
        curve = check(series.read(index))
    except PayloadError as error:
        return RunCurve(series.run, color, None, f"cannot be read: {error}"), index
    return RunCurve(series.run, color, curve, what_to_say(series, index, step, curve)), index


def what_to_say(series: Series, index: int, step: int | None, curve: Curve) -> str:
    """Return what is unusual about a curve; empty if nothing."""
    parts = []
    at = int(series.steps[index])
    if step is not None and at != step:
        parts.append(f"step {count(at)}")
    again = int((series.steps == at).sum())
    if again > 1:
        parts.append(f"the last of {count(again)} at step {count(at)}")
    if len(curve.thresholds) == 0:
        parts.append("no threshold that can be drawn")
    elif len(curve.thresholds) == 1:
        parts.append("one threshold: a point, no curve")
    elif curve.positives == 0:
        parts.append("no positive sample")
    if curve.left_out:
        parts.append(f"{counted(curve.left_out, 'threshold')} left out")
    if curve.contradicts:
        parts.append("ratios as logged differ from the counts")
    return " · ".join(parts)


def run_meta(one: RunCurve, series: Series, index: int | None, kind: Kind, on: Draw) -> RunMeta | CurveMeta:
    """Return the page's data for a run of a card: numbers by threshold, and their source."""
    known: RunMeta = {
        "run": one.run,
        "light": one.color.light,
        "dark": one.color.dark,
        "color": one.color.on(on.scheme),
        "said": one.said,
        "index": index,
        "step": None if index is None else int(series.steps[index]),
        "wall": None if index is None else _finite(float(series.wall_times[index])),
        "seconds": None if index is None else _finite(float(series.wall_times[index] - series.wall_times[0])),
    }
    curve = one.curve
    if index is None or curve is None or len(curve.thresholds) == 0:
        return known
    drawn = curve.thinned()
    true_positives, false_positives, true_negatives, false_negatives = curve.counts
    false_rate, true_rate = (compact(rate[drawn]) for rate in curve.roc) if kind == "roc" else (None, None)
    return {
        **known,
        "index": index,
        "step": int(series.steps[index]),
        "thresholds": compact(curve.thresholds[drawn]),
        "tp": compact(true_positives[drawn]),
        "fp": compact(false_positives[drawn]),
        "tn": compact(true_negatives[drawn]),
        "fn": compact(false_negatives[drawn]),
        "precision": compact(curve.precision[drawn]),
        "recall": compact(curve.recall[drawn]),
        "f1": compact(curve.f1[drawn]),
        "accuracy": compact(curve.accuracy[drawn]),
        "mcc": compact(curve.mcc[drawn]),
        "fpr": false_rate,
        "tpr": true_rate,
        "shown": int(np.searchsorted(drawn, curve.shown)),
        "best": None if curve.best is None else int(np.searchsorted(drawn, curve.best)),
        "baseline": _finite(curve.baseline),
        "ap": _finite(curve.average_precision),
        "auc": _finite(curve.roc_auc),
    }


def compact(values: NDArray[np.float64]) -> TypedArray:
    """Return numbers for the page, as float32 if lossless, since most counts and ratios were written that way."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return typed(single if np.array_equal(single, values, equal_nan=True) else values)


def track(series: Series, color: RunColor, metric: Metric) -> RunTrack:
    """Return a metric of at most `TRACKED` curves of a run, evenly spaced over its points."""
    chosen = pick(len(series), TRACKED)
    values = np.array([_number(series, index, metric) for index in chosen.tolist()], dtype=np.float64)
    return RunTrack(series.run, color, series.steps[chosen], series.wall_times[chosen], values, len(series))


def _number(series: Series, index: int, metric: Metric) -> float:
    try:
        curve = check(series.read(index))
    except PayloadError:
        return math.nan
    match metric:
        case "ap":
            return curve.average_precision
        case "auc":
            return curve.roc_auc
        case "f1":
            return math.nan if curve.best is None else float(curve.f1[curve.best])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


PANEL = PrCurvesPanel()
