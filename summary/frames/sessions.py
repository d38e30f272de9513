"""Hyperparameters as a table: one row per session."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Final, TypeAlias

import polars as pl
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Value as StructValue

from stepscope.summary.bounded_messages import parse
from stepscope.summary.contents import Contents
from stepscope.summary.frames.scalars import column_names
from stepscope.summary.frames.selection import Names, selected_runs
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.hparams import EXPERIMENT_TAG, SESSION_END_TAG, SESSION_START_TAG, HParamValue
from stepscope.summary.proto.hparams_pb2 import (
    STATUS_FAILURE,
    STATUS_RUNNING,
    STATUS_SUCCESS,
    STATUS_UNKNOWN,
    Experiment,
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)
from stepscope.summary.series import SCALARS, Run

_STATUSES: Final = {
    STATUS_UNKNOWN: "unknown",
    STATUS_SUCCESS: "success",
    STATUS_FAILURE: "failure",
    STATUS_RUNNING: "running",
}
_Metric: TypeAlias = tuple[str, str]
"""The folder below a session's run ("" for the run itself) and the tag."""


@dataclass(frozen=True)
class _Session:
    run: str
    start: SessionStartInfo
    end: SessionEndInfo | None

    @property
    def hparams(self) -> dict[str, HParamValue | None]:
        return {name: _number_or_text(value) for name, value in self.start.hparams.items()}


def hparams(contents: Contents, runs: Names = None) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.hparams`."""
    sessions = [session for run in selected_runs(contents, runs) if (session := _session(run)) is not None]
    columns: dict[str, pl.Series] = {
        "run": pl.Series([session.run for session in sessions], dtype=pl.Categorical()),
        "group": pl.Series([session.start.group_name or session.run for session in sessions], dtype=pl.String()),
        "status": pl.Series([_status(session) for session in sessions], dtype=pl.Categorical()),
        "start_time": _times(session.start.start_time_secs for session in sessions),
        "end_time": _times(session.end.end_time_secs if session.end else 0.0 for session in sessions),
    }
    given = [session.hparams for session in sessions]
    names = dict.fromkeys(name for hparams in given for name in hparams)
    for name, column in zip(names, column_names(names, columns, "hyperparameter"), strict=True):
        columns[column] = _typed([hparams.get(name) for hparams in given])
    metrics = _metrics(contents, sessions)
    for metric, column in zip(metrics, column_names(map(_metric_name, metrics), columns, "metric"), strict=True):
        columns[column] = pl.Series([_last_value(contents, s.run, *metric) for s in sessions], dtype=pl.Float64())
    return pl.DataFrame([values.alias(column) for column, values in columns.items()])


def _session(run: Run) -> _Session | None:
    start = _latest(run, SESSION_START_TAG)
    if start is None or not start.HasField("session_start_info"):
        return None
    end = _latest(run, SESSION_END_TAG)
    ended = end is not None and end.HasField("session_end_info")
    return _Session(run.name, start.session_start_info, end.session_end_info if end is not None and ended else None)


def _latest(run: Run, tag: str) -> HParamsPluginData | None:
    """Return the last readable data under a tag, since a resumed run writes it again.

    If there is none, return the data in the series description.
    """
    series = run.series.get(tag)
    if series is None:
        return None
    for index in reversed(range(len(series))):
        try:
            data = series.read(index)
        except PayloadError:
            continue
        if isinstance(data, HParamsPluginData):
            return data
    try:
        return parse(HParamsPluginData, series.plugin_content)
    except DecodeError:
        return None


def _status(session: _Session) -> str:
    return "running" if session.end is None else _STATUSES.get(session.end.status, "unknown")


def _times(seconds: Iterable[float]) -> pl.Series:
    """Return seconds since the epoch, with null for 0, which means "not given" in the messages."""
    return pl.Series([second or None for second in seconds], dtype=pl.Float64())


def _number_or_text(value: StructValue) -> HParamValue | None:
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "number_value":
            return value.number_value
        case "string_value":
            return value.string_value
        case _:
            return None


def _typed(values: Sequence[HParamValue | None]) -> pl.Series:
    """Return a column of booleans, integers, floats or strings; all strings where sessions disagree on the type."""
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return pl.Series(values, dtype=pl.Boolean())
    if types == {float}:
        # Files store all numbers as float64; beyond its exact integers, no integer was meant.
        whole = all(float(value).is_integer() and abs(float(value)) < 2**53 for value in values if value is not None)
        floats = pl.Series(values, dtype=pl.Float64())
        return floats.cast(pl.Int64()) if whole else floats
    return pl.Series([_text(value) for value in values], dtype=pl.String())


def _text(value: HParamValue | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def _metrics(contents: Contents, sessions: Sequence[_Session]) -> list[_Metric]:
    """Return the metrics that experiments declare.

    If none are declared, return every scalar of each session's run and of the runs below it.
    """
    declared: dict[_Metric, None] = {}
    for run in contents.runs.values():
        for info in _experiment(run).metric_infos:
            declared[info.name.group, info.name.tag] = None
    if declared:
        return list(declared)
    below = chain.from_iterable(_runs_below(contents.runs, sessions))
    return list(dict.fromkeys((group, series.tag) for group, run in below for series in run.of_kind(SCALARS)))


def _experiment(run: Run) -> Experiment:
    data = _latest(run, EXPERIMENT_TAG)
    return data.experiment if data is not None else Experiment()


def _runs_below(runs: Mapping[str, Run], sessions: Sequence[_Session]) -> Iterable[list[tuple[str, Run]]]:
    """Return each session's run and the runs below it, each with its folder below the session's run."""
    found: dict[PurePosixPath, list[tuple[str, Run]]] = {PurePosixPath(session.run): [] for session in sessions}
    for run in runs.values():
        path = PurePosixPath(run.name)
        for above in (path, *path.parents):
            if above in found:
                found[above].append((path.relative_to(above).as_posix() if path != above else "", run))
    return found.values()


def _metric_name(metric: _Metric) -> str:
    group, tag = metric
    return f"{group}/{tag}" if group else tag


def _last_value(contents: Contents, session: str, group: str, tag: str) -> float | None:
    series = contents.series((PurePosixPath(session) / group).as_posix(), tag)
    if series is None or series.kind != SCALARS or len(series) == 0:
        return None
    return float(series.values[-1])
