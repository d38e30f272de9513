"""The sessions of a log directory: runs that say what their hyperparameters are, and the metrics that they reach."""

import math
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Value

from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.hparams import EXPERIMENT_TAG, PLUGIN_NAME, SESSION_END_TAG, SESSION_START_TAG, HParamValue
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import (
    Experiment,
    HParamsPluginData,
    MetricInfo,
    MetricName,
    MetricValue,
    Session,
    SessionEndInfo,
    SessionStartInfo,
)
from stepscope.summary.scalar_summaries import ScalarSummary
from stepscope.summary.series import SCALARS, Run
from stepscope.summary.snapshot import Snapshot


@dataclass(frozen=True)
class FoundSession:
    """A run that a session began in."""

    run: str
    start: SessionStartInfo
    end: SessionEndInfo | None


def python_value(value: Value) -> HParamValue | None:
    """Return the value as Python has it; None where there is none, or one that no hyperparameter has."""
    match value.WhichOneof("kind"):
        case "number_value":
            return value.number_value
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None


def fits_json(value: Value) -> bool:
    """Return whether JSON can hold the value: protobuf refuses numbers there that are not finite."""
    return value.WhichOneof("kind") != "number_value" or math.isfinite(value.number_value)


def experiments(runs: Mapping[str, Run]) -> list[Experiment]:
    """Return what runs say of their experiment, by name of the run."""
    found = (_plugin_data(runs[name], EXPERIMENT_TAG) for name in sorted(runs))
    return [data.experiment for data in found if data is not None and data.WhichOneof("data") == "experiment"]


def sessions(runs: Mapping[str, Run]) -> Iterator[FoundSession]:
    """Yield the sessions of runs, by name."""
    for name in sorted(runs):
        found = session_of(runs[name])
        if found is not None:
            yield found


def session_of(run: Run) -> FoundSession | None:
    """Return the session that began in a run, if one did."""
    start = session_start_of(run)
    if start is None:
        return None
    end = _plugin_data(run, SESSION_END_TAG)
    ended = end is not None and end.WhichOneof("data") == "session_end_info"
    return FoundSession(run.name, start, end.session_end_info if end is not None and ended else None)


def session_start_of(run: Run) -> SessionStartInfo | None:
    """Return what a run's session began with, if one did."""
    data = _plugin_data(run, SESSION_START_TAG)
    began = data is not None and data.WhichOneof("data") == "session_start_info"
    return data.session_start_info if data is not None and began else None


def run_of_metric(session: str, group: str) -> str:
    """Return the run whose scalars are the metrics of a group: a folder below the session's own."""
    return posixpath.normpath(posixpath.join(session, group))


def metric_names(snapshot: Snapshot, session_runs: Iterable[str]) -> list[MetricName]:
    """Return the scalars of the sessions and of the runs below them, by tag and group.

    A run belongs to the nearest session above it; its path from there is the group.
    """
    known = frozenset(session_runs)
    names: set[tuple[str, str]] = set()
    for run in snapshot.runs.values():
        session = _session_above(run.name, known)
        if session is not None:
            group = "" if run.name == session else posixpath.relpath(run.name, session)
            names |= {(tag, group) for tag in run.tags_of_kind(SCALARS)}
    return [MetricName(tag=tag, group=group) for tag, group in sorted(names)]


def status_of(found: FoundSession) -> int:
    """Return the status that a session ended with, of ``hparams_pb2.Status``; unknown where it has not."""
    return hparams_pb2.STATUS_UNKNOWN if found.end is None else found.end.status


def session_message(snapshot: Snapshot, found: FoundSession, metrics: Iterable[MetricInfo]) -> Session:
    """Return the session with the last value of each metric that it has."""
    message = Session(
        name=found.run,
        start_time_secs=found.start.start_time_secs,
        model_uri=found.start.model_uri,
        monitor_url=found.start.monitor_url,
        metric_values=metric_values(snapshot, found.run, metrics),
    )
    if found.end is not None:
        message.status = found.end.status
        message.end_time_secs = found.end.end_time_secs
    return message


def metric_values(snapshot: Snapshot, session: str, metrics: Iterable[MetricInfo]) -> list[MetricValue]:
    """Return the last value of each metric that a session has."""
    values: list[MetricValue] = []
    for metric in metrics:
        run = snapshot.runs.get(run_of_metric(session, metric.name.group))
        summary = None if run is None else scalar_summary(run, metric.name.tag)
        if summary is not None:
            values.append(
                MetricValue(
                    name=metric.name,
                    value=summary.last,
                    training_step=_int32(summary.last_step),
                    wall_time_secs=summary.last_time,
                )
            )
    return values


def scalar_summary(run: Run, tag: str) -> ScalarSummary | None:
    """Return the summary of a scalar of a run; None if there is no point, or none can be read."""
    try:
        return run.summary(tag)
    except PayloadError:
        return None


def hparams_of(start: SessionStartInfo) -> Mapping[str, Value]:
    """Return the hyperparameters that have a value which JSON can hold."""
    return {name: value for name, value in start.hparams.items() if fits_json(value)}


def _plugin_data(run: Run, tag: str) -> HParamsPluginData | None:
    content = run.plugin_content(tag, PLUGIN_NAME)
    if content is None:
        return None
    try:
        data = parse(HParamsPluginData, content)
    except DecodeError:
        return None
    return data if data.version == 0 else None


def _session_above(run: str, sessions: frozenset[str]) -> str | None:
    at = run
    while at and at not in sessions:
        at = posixpath.dirname(at)
    return at or ("." if "." in sessions else None)


def _int32(step: int) -> int:
    """Return the message has 32 bits for a step; one beyond becomes the nearest that fits."""
    return max(-(1 << 31), min(step, (1 << 31) - 1))
