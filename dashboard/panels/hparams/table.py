"""The table of sessions: the columns and rows that the view asks for."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from statistics import stdev
from typing import Any, Final, TypeAlias, assert_never

from stepscope.dashboard.page.colors import PALETTE, RING, RunColor
from stepscope.dashboard.panels.hparams import messages
from stepscope.dashboard.panels.hparams.many import MOST_OF_GROUPS, choose, numbers
from stepscope.dashboard.panels.hparams.messages import SentRow, SentTable
from stepscope.dashboard.panels.hparams.sessions import Column, Session, Sessions, last_time, metric_value, text_of
from stepscope.dashboard.panels.hparams.settings import STATUSES, Rows, Status, TableRequest
from stepscope.dashboard.server.numbers import json_number, mean_of
from stepscope.summary.kinds.hparams import HParamValue

LOWER_IS_BETTER: Final = re.compile(
    r"(^|[^a-z])(loss|nll|err|error|perplexity|ppl|mse|rmse|mae|wer|cer|fid|time|latency|cost|bpc|bpd)([^a-z]|$)", re.I
)
MOST_LISTED: Final = 200
"""Maximum number of values that a filter lists; beyond that, filter by bounds or by the table's search."""
MOST_ROWS: Final = 5_000
"""Maximum number of rows sent to a page."""
LISTED_ROWS: Final = 1_000
"""If there are more, the number of rows in the table; the others are for the charts."""

Metric = tuple[float, int]
"""A value and the step at which it was reached."""


@dataclass(frozen=True)
class Row:
    """One line of the table: a session, or a group of them."""

    name: str
    runs: tuple[str, ...]
    group: str
    sessions: int
    status: Status
    start: float
    duration: float | None
    """In seconds; for a group, the mean."""
    hparams: Mapping[str, HParamValue]
    several: Mapping[str, tuple[str, ...]]
    """For a group, the hyperparameters in which its sessions differ, and the texts of their values."""
    metrics: Mapping[str, Metric]
    deviations: Mapping[str, float] = field(default_factory=dict)
    """For a group with means, the standard deviations (n - 1) of metrics that at least two of its sessions have."""


@dataclass(frozen=True)
class Window:
    """How much of all data the rows cover."""

    whole: bool
    """Whether the rows are all there are."""
    listed: int
    """The number of rows, from the first, that the table begins with."""
    rows: int
    """The total number of rows."""
    found: int
    """The number of these that the search finds; all of them if the page searches."""
    passing: int
    """The number of sessions that pass the filters."""


@dataclass(frozen=True)
class Table:
    """The content of the panel."""

    found: Sessions
    columns: tuple[Column, ...]
    """Shown columns: hyperparameters, then metrics."""
    constant: tuple[tuple[str, str], ...]
    """Hyperparameters that are the same in all sessions and have no column: name and text."""
    target: Column | None
    lower_is_better: bool
    rows: tuple[Row, ...]
    """Rows of the table, followed by those that only charts draw."""
    each: Callable[[], "Passing"] = field(repr=False, compare=False)
    """Returns all sessions that pass the filters."""
    window: Window

    @cached_property
    def passing(self) -> "Passing":
        """The result of ``each``, computed on first use."""
        return self.each()


@dataclass(frozen=True)
class Passing:
    """The sessions that pass the filters, as columns: the hyperparameters, and the value of the target."""

    hparams: Mapping[str, Sequence[HParamValue | None]]
    """Values of the shown hyperparameters."""
    metric: Sequence[float | None]


def build_table(found: Sessions, requested: TableRequest, most: int = MOST_ROWS, listed: int = LISTED_ROWS) -> Table:
    """Return the table that the view asks for, for the sessions of a folder.

    Args:
        found: the sessions.
        requested: what the view asks for.
        most: maximum number of sessions handled one by one; if there are more, this many rows are chosen.
        listed: the number of these that are the first rows of the table.
    """
    columns = shown_columns(found.columns, requested)
    all_metrics = [column for column in found.columns if column.kind == "metric"]
    target, wanted = _target_and_metrics(found, columns, requested)
    lower = _lower(target, requested)
    constant = tuple(
        (column.label, column.values[0])
        for column in found.columns
        if column.kind == "hparam" and not column.default and column.values and column not in columns
    )
    if len(found.sessions) > most:
        rows, each, window = _windowed(found, requested, target, lower, columns, wanted, most, listed)
    else:
        rows, each, window = _whole(found, requested, target, all_metrics, columns, wanted)
    return Table(found, columns, constant, target, lower, rows, each, window)


def all_rows(found: Sessions, requested: TableRequest, *, timed: bool) -> Iterator[Row]:
    """Yield all rows that the view asks for, in its order, each made on demand.

    Args:
        found: the sessions.
        requested: what the view asks for.
        timed: whether to determine the duration of each session, which requires reading all of its points.
    """
    columns = shown_columns(found.columns, requested)
    target, wanted = _target_and_metrics(found, columns, requested)
    how = row_of(found, requested)
    most = len(found.sessions)
    chosen = choose(found, requested, how, target, _lower(target, requested), most, most, most)
    rows = (_row(found, found.sessions[place], wanted, requested, timed=timed) for place in chosen.listed)
    if how == "sessions":
        return rows
    key = target.key if target is not None else ""
    return (_joined(name, list(group), how, key) for name, group in groupby(rows, lambda row: row.group))


def _target_and_metrics(
    found: Sessions, columns: Sequence[Column], requested: TableRequest
) -> tuple[Column | None, tuple[Column, ...]]:
    """Return the target, and the metrics that rows need: the shown ones and the target."""
    metrics = [column for column in columns if column.kind == "metric"]
    asked = (column for column in found.columns if column.kind == "metric" and column.key == requested.target)
    target = next(asked, next(iter(metrics), None))
    return target, tuple({column.key: column for column in (*metrics, *([target] if target else []))}.values())


def row_of(found: Sessions, requested: TableRequest) -> Rows:
    """Return what a row is: a session, or what represents a group."""
    if requested.rows != "auto":
        return requested.rows
    return "avg" if len({session.group for session in found.sessions}) < len(found.sessions) else "sessions"


_Rows: TypeAlias = tuple[tuple[Row, ...], Callable[[], Passing], Window]


def _whole(
    found: Sessions,
    requested: TableRequest,
    target: Column | None,
    all_metrics: Sequence[Column],
    columns: Sequence[Column],
    wanted: Sequence[Column],
) -> _Rows:
    hparams = frozenset(column.key for column in found.columns if column.kind == "hparam")
    kept = [session for session in found.sessions if _passes(session, requested, hparams)]
    bounded = [column for column in all_metrics if column.key in dict(requested.ranges)]
    rows: list[Row] = []
    for session in kept:
        row = _row(found, session, [*wanted, *(c for c in bounded if c not in wanted)], requested)
        if all(
            interval.holds(row.metrics.get(column.key, (None,))[0]) for column, interval in _bounds(bounded, requested)
        ):
            rows.append(row)
    passing = tuple(rows)
    how = requested.rows
    if how == "auto":
        how = "avg" if len({row.group for row in rows}) < len(rows) else "sessions"
    if how != "sessions":
        rows = grouped(rows, how, target.key if target is not None else "")
    window = Window(True, len(rows), len(rows), len(rows), len(passing))

    def each() -> Passing:
        key = target.key if target is not None else ""
        metric = [row.metrics[key][0] if key in row.metrics else None for row in passing]
        return Passing(_given(columns, [row.hparams for row in passing]), metric)

    return tuple(rows), each, window


def _windowed(
    found: Sessions,
    requested: TableRequest,
    target: Column | None,
    lower: bool,
    columns: Sequence[Column],
    wanted: Sequence[Column],
    most: int,
    listed: int,
) -> _Rows:
    how = row_of(found, requested)
    chosen = choose(found, requested, how, target, lower, most, listed, MOST_OF_GROUPS)

    def rows_at(places: Iterable[int], *, timed: bool = True) -> list[Row]:
        return [_row(found, found.sessions[place], wanted, requested, timed=timed) for place in places]

    # A session's duration requires looking at all of its points, and charts do not show it.
    first, rest = rows_at(chosen.listed), rows_at(chosen.sampled, timed=False)
    if how != "sessions":
        first, rest = (grouped(rows, how, target.key if target is not None else "") for rows in (first, rest))
    window = Window(False, len(first), chosen.rows, chosen.found, len(chosen.passing))

    def each() -> Passing:
        passing = chosen.passing.tolist()
        metric = [] if target is None else numbers(found, target, requested)[chosen.passing].tolist()
        return Passing(_given(columns, [found.sessions[place].hparams for place in passing]), metric)

    return (*first, *rest), each, window


def _given(
    columns: Sequence[Column], hparams: Sequence[Mapping[str, HParamValue]]
) -> Mapping[str, Sequence[HParamValue | None]]:
    return {column.key: [one.get(column.key) for one in hparams] for column in columns if column.kind == "hparam"}


def shown_columns(columns: Sequence[Column], requested: TableRequest) -> tuple[Column, ...]:
    """Return the shown columns, in the order of ``columns``; chosen ones that are gone are left out."""

    def chosen(kind: str, keys: tuple[str, ...]) -> list[Column]:
        of_kind = [column for column in columns if column.kind == kind]
        return [column for column in of_kind if (column.key in keys if keys else column.default)]

    return (*chosen("hparam", requested.hparams), *chosen("metric", requested.metrics))


def grouped(rows: Sequence[Row], how: Rows, target: str) -> list[Row]:
    """Return one row for each group, in order of appearance.

    "avg" takes the mean of each metric; "median" (the lower of two), "min" and "max" take the metrics of the session
    whose ``target`` is that, as TensorBoard does, so that the numbers of a row belong together.
    """
    members: dict[str, list[Row]] = {}
    for row in rows:
        members.setdefault(row.group, []).append(row)
    return [_joined(name, group, how, target) for name, group in members.items()]


def payload(table: Table, colors: Mapping[str, RunColor], folders: Sequence[str], folder: str) -> SentTable:
    """Return the table as sent to the page; rows hold their values in the order of the shown columns."""
    found = table.found
    shown = {column.key: place for place, column in enumerate(table.columns)}
    counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
    for session in found.sessions:
        counts[session.status] += 1
    return {
        "all": [_column_payload(column, column.key in shown) for column in found.columns],
        "columns": list(shown),
        "constant": list(table.constant),
        "target": table.target.key if table.target is not None else "",
        "lower": table.lower_is_better,
        "rows": [_row_payload(row, table.columns, colors) for row in table.rows],
        "sessions": len(found.sessions),
        "passing": table.window.passing,
        "whole_table": table.window.whole,
        "listed": table.window.listed,
        "all_rows": table.window.rows,
        "found": table.window.found,
        "loading": found.snapshot.loading,
        "statuses": {status: number for status, number in counts.items() if number},
        "groups": len({session.group for session in found.sessions}),
        "folders": list(folders),
        "palette": [(color.light, color.dark) for color in PALETTE[:RING]],
        "folder": folder,
    }


def _column_payload(column: Column, shown: bool) -> messages.Column:
    return {
        "key": column.key,
        "label": column.label,
        "about": column.description,
        "kind": column.kind,
        "type": column.type,
        "shown": shown,
        "constant": column.kind == "hparam" and not column.default,
        "values": column.values[:MOST_LISTED],
        "count": len(column.values),
    }


def _row_payload(row: Row, columns: Sequence[Column], colors: Mapping[str, RunColor]) -> SentRow:
    values: list[float | str | None] = []
    steps: list[int | None] = []
    for column in columns:
        if column.kind == "metric":
            metric = row.metrics.get(column.key)
            values.append(None if metric is None else json_number(metric[0]))
            steps.append(None if metric is None else metric[1])
        else:
            value = row.hparams.get(column.key)
            if column.type == "text":
                values.append(None if value is None else text_of(value))
            else:
                values.append(json_number(value) if isinstance(value, float) else None)
            steps.append(None)
    color = colors[row.runs[0]]
    return {
        "id": row.name,
        "runs": row.runs,
        "group": row.group,
        "n": row.sessions,
        "status": row.status,
        "start": json_number(row.start),
        "duration": None if row.duration is None else json_number(row.duration),
        "light": color.light,
        "dark": color.dark,
        "v": values,
        "s": steps,
        "deviations": {key: json_number(value) for key, value in row.deviations.items()},
        "several": {key: ", ".join(texts) for key, texts in row.several.items()},
    }


def _lower(target: Column | None, requested: TableRequest) -> bool:
    match requested.better:
        case "auto":
            return target is not None and LOWER_IS_BETTER.search(target.key) is not None
        case "lower":
            return True
        case "higher":
            return False
        case _:
            assert_never(requested.better)


def _passes(session: Session, requested: TableRequest, hparams: frozenset[str]) -> bool:
    if requested.status and session.status not in requested.status:
        return False
    if any(text_of(session.hparams.get(column)) not in texts for column, texts in requested.allowed):
        return False
    if any(text_of(session.hparams.get(column)) in texts for column, texts in requested.excluded):
        return False
    return all(
        interval.holds(session.hparams.get(column)) for column, interval in requested.ranges if column in hparams
    )


def _bounds(columns: Sequence[Column], requested: TableRequest) -> list[tuple[Column, Any]]:
    bounds = dict(requested.ranges)
    return [(column, bounds[column.key]) for column in columns]


def _row(
    found: Sessions, session: Session, metrics: Sequence[Column], requested: TableRequest, *, timed: bool = True
) -> Row:
    reached = {column.key: metric_value(found.snapshot, session, column, requested.value) for column in metrics}
    end = session.end or (last_time(found.snapshot, session) if timed else None)
    return Row(
        session.run,
        session.runs,
        session.group,
        1,
        session.status,
        session.start,
        end - session.start if end is not None and end >= session.start else None,
        session.hparams,
        {},
        {key: metric for key, metric in reached.items() if metric is not None},
    )


def _joined(name: str, members: Sequence[Row], how: Rows, target: str) -> Row:
    values: dict[str, list[HParamValue | None]] = {
        key: list({text_of(row.hparams.get(key)): row.hparams.get(key) for row in members}.values())
        for key in dict.fromkeys(key for row in members for key in row.hparams)
    }
    durations = [row.duration for row in members if row.duration is not None]
    statuses = {row.status for row in members}
    return Row(
        name,
        tuple(run for row in members for run in row.runs),
        name,
        len(members),
        next((status for status in ("failure", "running", "unknown", "success") if status in statuses), "unknown"),
        min(row.start for row in members),
        mean_of(durations) if durations else None,
        {key: only[0] for key, only in values.items() if len(only) == 1 and only[0] is not None},
        {key: tuple(text_of(value) or "not set" for value in found) for key, found in values.items() if len(found) > 1},
        _joined_metrics(members, how, target),
        _deviations(members) if how == "avg" else {},
    )


def _deviations(members: Sequence[Row]) -> Mapping[str, float]:
    """Return the standard deviations of metrics that at least two sessions have, all finite, as is their range."""
    values: dict[str, list[float]] = {}
    for row in members:
        for key, (value, _) in row.metrics.items():
            values.setdefault(key, []).append(value)
    return {
        key: stdev(found)
        for key, found in values.items()
        if len(found) > 1 and all(map(math.isfinite, found)) and math.isfinite(max(found) - min(found))
    }


def _joined_metrics(members: Sequence[Row], how: Rows, target: str) -> Mapping[str, Metric]:
    match how:
        case "avg" | "sessions" | "auto":
            found: dict[str, list[Metric]] = {}
            for row in members:
                for key, metric in row.metrics.items():
                    found.setdefault(key, []).append(metric)
            return {
                key: (mean_of([value for value, _ in metrics]), sum(step for _, step in metrics) // len(metrics))
                for key, metrics in found.items()
            }
        case "median":
            return _of_one(members, target, lambda values: sorted(values)[(len(values) - 1) // 2])
        case "min":
            return _of_one(members, target, min)
        case "max":
            return _of_one(members, target, max)
        case _:
            assert_never(how)


def _of_one(members: Sequence[Row], target: str, choose: Callable[[list[float]], float]) -> Mapping[str, Metric]:
    having = [(row.metrics[target][0], row) for row in members if target in row.metrics]
    numbers = [value for value, _ in having if value == value]
    if not numbers:
        return members[0].metrics
    chosen = choose(numbers)
    return next(row for value, row in having if value == chosen).metrics
