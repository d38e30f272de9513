"""A chart of scalars as sent to the page: pure functions from runs and settings to lines, marks and remarks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.curves.axes import Axis, axis_of, places
from stepscope.dashboard.curves.bands import group_curve
from stepscope.dashboard.curves.lines import DrawnLine, Line, choose, nearest_point, packed
from stepscope.dashboard.curves.messages import Drawing, LineAbout, NotFinite, PointAt, Rule, Shades
from stepscope.dashboard.curves.settings import CurveSettings
from stepscope.dashboard.curves.smoothing import smooth
from stepscope.dashboard.curves.spec import ChartSpec, LineSpec
from stepscope.dashboard.page.colors import RunColor, assign_colors
from stepscope.dashboard.runs.settings import BandStatistic
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.server.binary import ColumnPack
from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.numbers import count, json_number
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import SCALARS, Columns, Series

Window = tuple[float, float]
LEAST_POINTS: Final = 200
MOST_POINTS: Final = 8_000
MOST_MARKS: Final = 400
MOST_RULES: Final = 60
BAND_NAMES: Final[Mapping[BandStatistic, str]] = {
    "minmax": "minimum to maximum",
    "std": "standard deviation",
    "stderr": "standard error",
    "ci95": "95% confidence interval of the mean",
}


def chart_version(spec: ChartSpec, table: RunTable, settings: CurveSettings, window: Window | None, most: int) -> str:
    """Return the version of a chart: charts with equal versions are equal, and need not be sent again."""
    tags = {tag for line in spec.lines for tag in (line.tag, line.low_tag, line.high_tag)} | {settings.x_tag}
    versions = [
        (run, tag, series.version, series.superseded)
        for run in table.shown
        for tag in sorted(tags)
        if (series := table.snapshot.series(run, tag)) is not None
    ]
    looks = [(run, table.colors[run], table.label(run), table.group_of.get(run)) for run in table.shown]
    groups = sorted(table.group_colors.items()) if table.groups else []
    return fingerprint((spec, settings, window, most, versions, looks, groups))


def is_pictured(spec: ChartSpec, table: RunTable, settings: CurveSettings, window: Window | None) -> bool:
    """Return whether pictures of long curves are available sooner than all points, and look like the chart.

    They do not look like it where points of several curves must be combined.
    """
    if (
        window is not None
        or table.groups
        or settings.x_axis == "metric"
        or any(line.low_tag or line.high_tag for line in spec.lines)
    ):
        return False
    every = (_scalar(table, run, line.tag) for line in spec.lines for run in table.shown)
    return any(series.may_have_picture for series in every if series is not None)


def chart(
    spec: ChartSpec,
    table: RunTable,
    settings: CurveSettings,
    window: Window | None,
    most: int,
    pack: ColumnPack,
    *,
    pictured: bool = False,
) -> Drawing:
    """Draw one chart's lines into the pack.

    Args:
        spec: the tags.
        table: the runs.
        settings: axes, smoothing, groups.
        window: the visible part of the horizontal axis, in its own unit; None for all of it.
        most: maximum number of points per line, from `LEAST_POINTS` to `MOST_POINTS`.
        pack: receives the columns.
        pictured: use a curve's picture where it is available sooner than all of its points.
    """
    most = min(max(most, LEAST_POINTS), MOST_POINTS)
    whole = _whole_chart(spec, table, settings, pictured=pictured)
    axis, lines, every = whole.axis, _told_apart(whole.lines), whole.series
    drawn = [choose(line, window, most) for line in lines]
    superseded, writers = sum(s.superseded for s in every), max((s.writers for s in every), default=1)
    remarks = [note(drawn, settings, superseded, writers), *spec.problems, *whole.lost]
    if whole.pictured:
        remarks.insert(0, f"Preview of {count(whole.pictured)} points per line")
    return {
        "is_picture": whole.pictured > 0,
        "x": axis.described(settings),
        "lines": [packed(line, settings.smoothing, pack) for line in drawn],
        "marks": _marks(drawn),
        "best": _best(lines, settings),
        "rules": _rules(every, table, axis),
        "note": " · ".join(remark for remark in remarks if remark),
        "empty": " · ".join(spec.problems) if spec.problems and not lines else _why_empty(lines, settings),
    }


def values_at(spec: ChartSpec, table: RunTable, settings: CurveSettings, x: float) -> dict[str, PointAt]:
    """Return, by line id, the point of each line that is nearest to a place on the axis, among all of its points.

    On an axis of steps, "step" is "x".
    """
    whole = _whole_chart(spec, table, settings)
    found: dict[str, PointAt] = {}
    for line in whole.lines:
        at = nearest_point(line.x, x)
        if at < 0:
            continue
        columns: dict[str, NDArray[Any]] = {"x": line.x, "value": line.y, "y": smooth(line.y, settings.smoothing)}
        if whole.axis.kind == "step":
            columns["step"] = line.x
        for name, edge in (("low", line.low), ("high", line.high)):
            if edge is not None:
                columns[name] = smooth(edge, settings.smoothing)
        reported = {name: json_number(float(column[at])) for name, column in (columns | line.extra).items()}
        found[line.about["id"]] = cast(PointAt, reported)
    return found


class _WholeChart(NamedTuple):
    """All data of a chart, before points are chosen."""

    axis: Axis
    lines: list[Line]
    series: list[Series]
    lost: list[str]
    """Sentences that describe what cannot be read."""
    pictured: int
    """Number of points of the longest curve whose picture was used."""


def _whole_chart(spec: ChartSpec, table: RunTable, settings: CurveSettings, *, pictured: bool = False) -> _WholeChart:
    lost: list[str] = []
    lengths: list[int] = []
    found = [(line, _series_of(line.tag, table, lost, lengths if pictured else None)) for line in spec.lines]
    every = [s for _, series in found for s in series]
    axis = axis_of([s.columns for s in every], settings)
    lines = [
        line
        for index, (spec_, series) in enumerate(found)
        for line in _lines(spec_, index, series, table, settings, axis, lost)
    ]
    # Several lines may need the same other scalar.
    return _WholeChart(axis, lines, every, list(dict.fromkeys(lost)), max(lengths, default=0))


def _series_of(tag: str, table: RunTable, lost: list[str], pictured: list[int] | None) -> list[Series]:
    """Return the series of a tag in the shown runs; errors in reading them are added to ``lost``.

    With ``pictured``, pictures are used where they exist, and the numbers of points of these curves are added to it.
    """
    found: list[Series] = []
    for run in table.shown:
        series = _scalar(table, run, tag)
        try:
            picture = None if series is None or pictured is None else series.picture
            if series is not None and pictured is not None and picture is not None:
                pictured.append(len(series))
                series = series.with_points(picture)
            if series is not None and len(series.columns):
                found.append(series)
        except PayloadError as error:
            lost.append(str(error))
    return found


def _scalar(table: RunTable, run: str, tag: str) -> Series | None:
    series = table.snapshot.series(run, tag)
    return series if series is not None and series.kind == SCALARS and len(series) else None


def _points_of(table: RunTable, run: str, tag: str, lost: list[str]) -> Columns | None:
    """Return the points of a scalar that a line needs besides its own; an error in reading is added to ``lost``."""
    series = _scalar(table, run, tag)
    try:
        return None if series is None else series.columns
    except PayloadError as error:
        lost.append(str(error))
        return None


def _lines(
    spec: LineSpec,
    index: int,
    series: Sequence[Series],
    table: RunTable,
    settings: CurveSettings,
    axis: Axis,
    lost: list[str],
) -> list[Line]:
    """Return the lines of one tag: one line per group if runs are grouped, with the members if requested."""
    single = [_run_line(s, table, settings, axis, spec, index, lost) for s in series]
    if not table.groups:
        return single
    by_run = {s.run: line for s, line in zip(series, single, strict=True)}
    lines: list[Line] = []
    for group in table.groups:
        members = [by_run[run] for run in group.runs if run in by_run]
        if not members:
            continue
        color = table.group_colors[group.label]
        if settings.members:
            lines += [
                Line({**m.about, **_shades(color), "kind": "member"}, m.x, m.y, None, None, m.extra) for m in members
            ]
        joined = group_curve([(m.x, m.y) for m in members], settings.line, settings.band, settings.align)
        about: LineAbout = {
            "light": color.light, "dark": color.dark, "id": f"{index}:group:{group.label}", "kind": "group",
            "label": group.label, "tag": spec.tag, "side": spec.side, "dash": index,
            "runs": [member.about["run"] for member in members],
        }  # fmt: skip
        # A single run has no spread.
        low, high = (joined.low, joined.high) if len(members) > 1 else (None, None)
        lines.append(Line(about, joined.x, joined.y, low, high, {"members": joined.members}))
    return [*lines, *(line for run, line in by_run.items() if run not in table.group_of)]


def _run_line(
    series: Series,
    table: RunTable,
    settings: CurveSettings,
    axis: Axis,
    spec: LineSpec,
    index: int,
    lost: list[str],
) -> Line:
    columns = series.columns
    by_metric = axis.kind == "metric" and settings.x_tag
    x = places(columns, axis, _points_of(table, series.run, settings.x_tag, lost) if by_metric else None)
    first = float(columns.wall_times[0])
    color = table.colors[series.run]
    about: LineAbout = {
        "light": color.light, "dark": color.dark, "id": f"{index}:run:{series.run}", "kind": "run", "run": series.run,
        "label": table.label(series.run), "tag": spec.tag, "side": spec.side, "dash": index,
        "first": first if np.isfinite(first) else None,
    }  # fmt: skip
    extra: dict[str, NDArray[Any]] = {"seconds": (columns.wall_times - first).astype(np.float32)}
    if axis.kind != "step":
        extra["step"] = columns.steps.astype(np.float64)
    low, high = (_edge(table, series.run, tag, columns, lost) for tag in (spec.low_tag, spec.high_tag))
    line = Line(about, x, columns.values, low, high, extra)
    # Points of several writers are in the order of their steps, not in that of other axes.
    return line if series.writers == 1 or axis.kind == "step" else line.ordered(np.argsort(x, kind="stable"))


def _told_apart(lines: list[Line]) -> list[Line]:
    """Return the lines, with a separate color per tag if all belong to one run or one group.

    Dashes would hardly distinguish six of them.
    """
    tags = dict.fromkeys(line.about["tag"] for line in lines)
    owners = {line.about["label"] for line in lines if line.about["kind"] != "member"}
    if len(tags) < 2 or len(owners) != 1:
        return lines
    colors = assign_colors(tags)
    return [replace(line, about={**line.about, **_shades(colors[line.about["tag"]]), "dash": 0}) for line in lines]


def _edge(table: RunTable, run: str, tag: str, columns: Columns, lost: list[str]) -> NDArray[np.float64] | None:
    """Return the edge of a band, given by another scalar of the run, at the steps of the line."""
    edge = _points_of(table, run, tag, lost) if tag else None
    if edge is None:
        return None
    known, first = np.unique(edge.steps, return_index=True)
    at = np.minimum(np.searchsorted(known, columns.steps), len(known) - 1)
    return np.where(known[at] == columns.steps, edge.values[first][at], np.nan)


def _shades(color: RunColor) -> Shades:
    return {"light": color.light, "dark": color.dark}


def _marks(drawn: Sequence[DrawnLine]) -> list[tuple[int, float, NotFinite]]:
    """Return where lines are not finite: index of the line, x, and the kind of value."""
    marks: list[tuple[int, float, NotFinite]] = []
    for index, one in enumerate(drawn):
        if one.line.about["kind"] == "group":
            continue
        values = one.line.y[one.chosen]
        at = one.chosen[~np.isfinite(values)]
        if len(at) > MOST_MARKS:
            at = at[np.linspace(0, len(at) - 1, MOST_MARKS).round().astype(np.int64)]
        for place in at.tolist():
            value = one.line.y[place]
            kind: NotFinite = "NaN" if np.isnan(value) else "+Inf" if value > 0 else "-Inf"
            marks.append((index, float(one.line.x[place]), kind))
    return marks


def _best(lines: Sequence[Line], settings: CurveSettings) -> list[tuple[int, float, float]]:
    """Return the minimum or maximum of each line: index of the line, x and y."""
    if settings.best == "none":
        return []
    found: list[tuple[int, float, float]] = []
    for index, line in enumerate(lines):
        usable = np.flatnonzero(np.isfinite(line.y) & np.isfinite(line.x))
        if len(usable):
            y = line.y[usable]
            at = usable[int(y.argmin() if settings.best == "min" else y.argmax())]
            found.append((index, float(line.x[at]), float(line.y[at])))
    return found


def _rules(series: Sequence[Series], table: RunTable, axis: Axis) -> list[Rule]:
    """Return where runs were resumed after a restart that overwrote points."""
    rules: list[Rule] = []
    for one in series:
        for resumed in one.resumptions:
            match axis.kind:
                case "step":
                    x = float(resumed.step)
                case "wall":
                    x = resumed.wall_time
                case "relative":
                    x = (resumed.wall_time - float(one.wall_times[0])) / axis.divisor
                case "metric":
                    continue
                case _:
                    assert_never(axis.kind)
            lost = f"{counted(resumed.superseded, 'point')} superseded"
            title = f"{table.label(one.run)} resumed at step {resumed.step:,}: {lost}"
            rules.append({"x": x, "title": title, **_shades(table.colors[one.run])})
    return rules[:MOST_RULES]


def note(drawn: Sequence[DrawnLine], settings: CurveSettings, superseded: int, writers: int = 1) -> str:
    """Return in words what the lines of groups show, and what the chart leaves out.

    Empty if there is nothing to report.
    """
    parts: list[str] = []
    if any(one.line.about["kind"] == "group" for one in drawn):
        parts.append(
            f"{settings.line} of each group"
            + (f", band: {BAND_NAMES[settings.band]}" if settings.band != "none" else "")
        )
    thinned = [line for line in drawn if line.visible > len(line.chosen)]
    if thinned:
        most = max(line.visible for line in thinned)
        parts.append(f"Showing {count(max(len(line.chosen) for line in thinned))} of {count(most)} points per line")
    runs = [one.line for one in drawn if one.line.about["kind"] != "group"]
    for name, test in (("NaN", np.isnan), ("infinite", np.isinf)):
        found = sum(int(test(line.y).sum()) for line in runs)
        if found:
            parts.append(f"{count(found)} {name}")
    nowhere = sum(int((~np.isfinite(one.line.x)).sum()) for one in drawn)
    if nowhere:
        parts.append(f"{count(nowhere)} {'point has' if nowhere == 1 else 'points have'} no value on this axis")
    if superseded:
        parts.append(f"{counted(superseded, 'point')} superseded by a restart")
    if writers > 1:
        parts.append(f"{count(writers)} writers at once: every point is shown")
    if settings.ignore_outliers:
        parts.append("outliers ignored")
    for name, scale, values in (
        ("", settings.y_scale, [line.y for line in runs]),
        (" in x", settings.x_scale if settings.x_axis != "wall" else "linear", [line.x for line in runs]),
    ):
        below = sum(int((column <= 0).sum()) for column in values) if scale == "log" else 0
        if below:
            parts.append(f"{count(below)} not positive{name}, not drawn")
    return " · ".join(parts)


def _why_empty(lines: Sequence[Line], settings: CurveSettings) -> str:
    if not lines:
        return "None of the visible runs has this tag"
    if any(np.isfinite(line.y).any() and np.isfinite(line.x).any() for line in lines):
        return ""
    if settings.x_axis == "metric" and not any(np.isfinite(line.x).any() for line in lines):
        return f"None of the visible runs has {settings.x_tag!r} for the horizontal axis"
    return "No finite value"
