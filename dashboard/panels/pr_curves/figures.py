"""Charts of PR curves: pure functions from curves and settings to plain figure dicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.page.colors import RunColor, Scheme
from stepscope.dashboard.page.theme import chart_layout, ink
from stepscope.dashboard.panels.charts import Chart
from stepscope.dashboard.panels.pr_curves.curves import MOST_THRESHOLDS, Curve
from stepscope.dashboard.panels.pr_curves.messages import TrackMeta
from stepscope.dashboard.server.arrays import typed, typed_for_screen
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted

Kind = Literal["pr", "roc", "steps"]
Metric = Literal["ap", "auc", "f1"]
Axis = Literal["step", "relative", "wall"]

ISO_LINES: Final = (0.2, 0.4, 0.6, 0.8)
METRIC_NAMES: Final[dict[Metric, str]] = {"ap": "Average precision", "auc": "ROC AUC", "f1": "Best F1"}
_EDGE: Final = 0.012
"""Margin beyond 0 and 1, so that a line there is visible in its full width."""
_ISO_LABELS: Final = 44
"""Pixels at the right of the chart for the labels of the lines of equal F1."""
_TICKS: Final = [0, 0.2, 0.4, 0.6, 0.8, 1]
_UNITS: Final = ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"))


@dataclass(frozen=True)
class RunCurve:
    """The curve that a card shows for one run, or why there is none."""

    run: str
    color: RunColor
    curve: Curve | None
    said: str = ""
    """A remark about it; empty if there is none."""


@dataclass(frozen=True)
class RunTrack:
    """A metric of one run's curves over steps."""

    run: str
    color: RunColor
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    """float64[n]; NaN where a record cannot be read or does not have the metric."""
    total: int
    """The number of curves of the run; more than n if not all were read."""


def pr_chart(runs: Sequence[RunCurve], scheme: Scheme, *, iso_lines: bool) -> Chart:
    """Plot precision over recall, one line per run, with the fraction of positives as the baseline of each.

    Args:
        runs: the runs, in order.
        scheme: light or dark.
        iso_lines: whether to draw lines of equal F1.
    """
    traces: list[dict[str, Any]] = []
    layout = _unit_square(scheme, "Recall", "Precision", "pr")
    if iso_lines:
        traces += [_iso_line(f1, scheme) for f1 in ISO_LINES]
        layout["annotations"] = [_iso_label(f1, scheme) for f1 in ISO_LINES]
        layout["margin"] |= {"r": _ISO_LABELS}
    found = [(one, one.curve) for one in runs if one.curve is not None and len(one.curve.thresholds)]
    traces += _baselines(found, scheme)
    best_x, best_y, best_colors = [], [], []
    for one, curve in found:
        drawn = curve.thinned()
        drawn = drawn[drawn < curve.shown]
        traces.append(_line(one, curve.recall[drawn], curve.precision[drawn], scheme))
        if curve.best is not None and curve.best < curve.shown and len(curve.thresholds) > 1:
            best_x.append(float(curve.recall[curve.best]))
            best_y.append(float(curve.precision[curve.best]))
            best_colors.append(one.color.on(scheme))
    traces.append(_best(best_x, best_y, best_colors, scheme))
    return Chart({"data": traces, "layout": layout}, _note(runs))


def roc_chart(runs: Sequence[RunCurve], scheme: Scheme) -> Chart:
    """Plot true over false positive rate, one line per run, and the diagonal of a random classifier."""
    layout = _unit_square(scheme, "False positive rate", "True positive rate", "roc")
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, 1],
            "y": [0, 1],
            "line": {"color": ink(scheme)["axis"], "width": 1, "dash": "dash"},
            "hoverinfo": "skip",
            "meta": {"role": "baseline"},
        }
    ]
    best_x, best_y, best_colors = [], [], []
    without = 0
    for one in runs:
        curve = one.curve
        if curve is None or len(curve.thresholds) == 0:
            continue
        if curve.positives == 0 or curve.negatives == 0:
            without += 1
            continue
        drawn = curve.thinned()
        false_rate, true_rate = (rate[drawn] for rate in curve.roc)
        if len(curve.thresholds) > 1:
            # The area is that of the line including both corners.
            false_rate, true_rate = (np.concatenate([[1.0], rate, [0.0]]) for rate in (false_rate, true_rate))
        traces.append(_line(one, false_rate, true_rate, scheme))
        if curve.best is not None and len(curve.thresholds) > 1:
            best_x.append(float(curve.roc[0][curve.best]))
            best_y.append(float(curve.roc[1][curve.best]))
            best_colors.append(one.color.on(scheme))
    traces.append(_best(best_x, best_y, best_colors, scheme))
    note = _note(runs)
    if without:
        note = " · ".join(filter(None, [note, f"{counted(without, 'run')} without an ROC curve: one class only"]))
    return Chart({"data": traces, "layout": layout}, note)


def track_chart(tracks: Sequence[RunTrack], metric: Metric, axis: Axis, scheme: Scheme) -> Chart:
    """Plot one metric of every curve over steps or time, one line per run.

    Args:
        tracks: the tracks, in order.
        metric: the metric that ``tracks`` hold.
        axis: steps, time since each run's first point, or wall time.
        scheme: light or dark.
    """
    layout = chart_layout(scheme)
    layout["uirevision"] = f"steps{axis}{metric}"
    layout["margin"] |= {"l": 52, "b": 40}
    longest = max((float(t.wall_times[-1] - t.wall_times[0]) for t in tracks if len(t.steps)), default=0.0)
    divisor, unit = next(((size, name) for least, size, name in _UNITS if longest >= least), (1.0, "s"))
    titles = {"step": "Step", "relative": f"Time since the run's first curve ({unit})", "wall": "Wall time"}
    layout["xaxis"] |= {"title": _title(titles[axis], scheme)} | ({"type": "date"} if axis == "wall" else {})
    layout["yaxis"] |= {"title": _title(METRIC_NAMES[metric], scheme)}
    marked = max((len(track.steps) for track in tracks), default=0) <= 40
    traces = []
    for track in tracks:
        color = track.color.on(scheme)
        x = _places(track, axis, divisor)
        meta: TrackMeta = {
            "role": "track",
            "run": track.run,
            "color": color,
            "steps": typed(track.steps.astype(np.float64)),
            "walls": typed(track.wall_times),
        }
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if marked or len(track.steps) == 1 else "lines",
                "x": typed(x),
                "y": typed_for_screen(track.values),
                "line": {"color": color, "width": 1.8},
                "marker": {"color": color, "size": 5},
                "hoverinfo": "skip",
                "meta": meta,
            }
        )
    return Chart({"data": traces, "layout": layout}, _track_note(tracks))


def _places(track: RunTrack, axis: Axis, divisor: float) -> NDArray[np.float64]:
    match axis:
        case "step":
            return track.steps.astype(np.float64)
        case "relative":
            return (track.wall_times - track.wall_times[:1]) / divisor
        case "wall":
            # Plotly shows milliseconds since 1970 in the browser's time zone.
            return track.wall_times * 1000.0
        case _:
            assert_never(axis)


def _title(text: str, scheme: Scheme) -> dict[str, Any]:
    return {"text": text, "font": {"size": 11, "color": ink(scheme)["text"]}, "standoff": 6}


def _unit_square(scheme: Scheme, x: str, y: str, kind: Kind) -> dict[str, Any]:
    """Return axes from 0 to 1, to which a double click resets them."""
    layout = chart_layout(scheme)
    layout["uirevision"] = kind
    layout["margin"] |= {"l": 50, "b": 40, "r": 14}
    bounds = {"minallowed": -_EDGE, "maxallowed": 1 + _EDGE}
    square = {"autorange": True, "autorangeoptions": bounds, "zeroline": False, "nticks": 6}
    layout["xaxis"] |= square | {"title": _title(x, scheme)}
    layout["yaxis"] |= square | {"title": _title(y, scheme)}
    return layout


def _line(one: RunCurve, x: NDArray[np.float64], y: NDArray[np.float64], scheme: Scheme) -> dict[str, Any]:
    color = one.color.on(scheme)
    return {
        "type": "scatter",
        "mode": "lines" if len(x) > 1 else "markers",
        "x": typed(x),
        "y": typed(y),
        "line": {"color": color, "width": 1.8},
        "marker": {"color": color, "size": 8},
        "hoverinfo": "skip",
        "meta": {"role": "curve", "run": one.run},
    }


def _best(x: list[float], y: list[float], colors: list[str], scheme: Scheme) -> dict[str, Any]:
    """Return markers where each curve has its maximum F1."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": {
            "symbol": "diamond",
            "size": 9,
            "color": ink(scheme)["surface"],
            "line": {"color": colors, "width": 2},
        },
        "cliponaxis": False,
        "hoverinfo": "skip",
        "meta": {"role": "best"},
    }


def _baselines(found: Sequence[tuple[RunCurve, Curve]], scheme: Scheme) -> list[dict[str, Any]]:
    """Return one gray line if all runs have the same fraction of positives; else one line in each run's color."""
    shares = {round(curve.baseline, 6) for _, curve in found if np.isfinite(curve.baseline)}
    lines = [(curve.baseline, one.color.on(scheme)) for one, curve in found if np.isfinite(curve.baseline)]
    if len(shares) == 1:
        lines = [(lines[0][0], ink(scheme)["text"])]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, 1],
            "y": [share, share],
            "line": {"color": color, "width": 1, "dash": "dash"},
            "opacity": 0.7,
            "hoverinfo": "skip",
            "meta": {"role": "baseline"},
        }
        for share, color in lines
    ]


def _iso_line(f1: float, scheme: Scheme) -> dict[str, Any]:
    """Return the line of recalls R and precisions P with 2 P R / (P + R) = f1, that is, P = f1 R / (2 R - f1)."""
    recall = np.linspace(f1 / (2 - f1), 1.0, 60)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed_for_screen(recall),
        "y": typed_for_screen(f1 * recall / (2 * recall - f1)),
        "line": {"color": ink(scheme)["axis"], "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
        "meta": {"role": "iso"},
    }


def _iso_label(f1: float, scheme: Scheme) -> dict[str, Any]:
    """Return the label beyond the right end of the line, where no curve crosses it."""
    return {
        "x": 1.0,
        "y": f1 / (2 - f1),
        "text": f"F1 {f1:g}",
        "showarrow": False,
        "xanchor": "left",
        "xshift": 5,
        "yanchor": "middle",
        "font": {"size": 10, "color": ink(scheme)["text"]},
        "opacity": 0.75,
    }


def _note(runs: Sequence[RunCurve]) -> str:
    parts = []
    curves = [one.curve for one in runs if one.curve is not None]
    unread = sum(one.curve is None for one in runs)
    if unread:
        parts.append(f"{counted(unread, 'run')} without a curve, see below")
    left_out = sum(curve.left_out for curve in curves)
    if left_out:
        parts.append(f"{counted(left_out, 'threshold')} with NaN or impossible numbers left out")
    most = max((len(curve.thresholds) for curve in curves), default=0)
    if most > MOST_THRESHOLDS:
        parts.append(f"{count(MOST_THRESHOLDS)} of {count(most)} thresholds drawn")
    if any(curve.contradicts for curve in curves):
        parts.append("precision or recall as logged differs from the counts")
    return " · ".join(parts)


def _track_note(tracks: Sequence[RunTrack]) -> str:
    parts = []
    shown, total = sum(len(track.steps) for track in tracks), sum(track.total for track in tracks)
    if shown < total:
        parts.append(f"{count(shown)} of {count(total)} curves, evenly spaced, including the first and last")
    missing = sum(int(np.isnan(track.values).sum()) for track in tracks)
    if missing:
        parts.append(f"no value at {counted(missing, 'step')}")
    return " · ".join(parts)
