"""Which hyperparameters and metrics there are: as the runs say, or where none does, as they have them."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.struct_pb2 import ListValue

from stepscope.dashboard.tensorboard.hparams.sessions import (
    experiments,
    fits_json,
    hparams_of,
    metric_names,
    python_value,
    sessions,
)
from stepscope.summary.kinds.hparams import HParamValue, data_type
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import Experiment, HParamInfo, Interval, MetricInfo
from stepscope.summary.snapshot import Snapshot

_KEPT: Final = "_experiment"
"""What is kept on a snapshot: to find it out of a hundred thousand sessions takes seconds."""


def experiment(snapshot: Snapshot, *, include_metrics: bool = True, limit: int = 0) -> Experiment:
    """Return the experiment of a log directory.

    Several runs may each say what their experiment is; all of it is joined. Hyperparameters that differ come first;
    then they go by name.

    Args:
        snapshot: the log directory.
        include_metrics: whether to say which metrics there are.
        limit: how many hyperparameters to list at most; 0 for all.
    """
    found = Experiment()
    if _KEPT not in vars(snapshot):
        vars(snapshot)[_KEPT] = _experiment(snapshot)
    found.CopyFrom(vars(snapshot)[_KEPT])
    if not include_metrics:
        found.ClearField("metric_infos")
    infos = sorted(found.hparam_infos, key=lambda info: (not info.differs, info.name))
    del found.hparam_infos[:]
    found.hparam_infos.extend(infos[:limit] if limit > 0 else infos)
    return found


def _experiment(snapshot: Snapshot) -> Experiment:
    said = experiments(snapshot.runs)
    return joined(said) if said else _experiment_of_sessions(snapshot)


def joined(parts: Sequence[Experiment]) -> Experiment:
    """Return several experiments as one: every hyperparameter and metric of any, and of each text the first there
    is.
    """
    if len(parts) == 1:
        return parts[0]
    whole = Experiment()
    hparams: dict[str, HParamInfo] = {}
    metrics: dict[tuple[str, str], MetricInfo] = {}
    for part in parts:
        whole.name = whole.name or part.name
        whole.description = whole.description or part.description
        whole.user = whole.user or part.user
        whole.time_created_secs = whole.time_created_secs or part.time_created_secs
        for info in part.hparam_infos:
            hparams[info.name] = _joined_info(hparams[info.name], info) if info.name in hparams else info
        for metric in part.metric_infos:
            metrics.setdefault((metric.name.group, metric.name.tag), metric)
    whole.hparam_infos.extend(hparams.values())
    whole.metric_infos.extend(metrics.values())
    return whole


def info_of_values(name: str, known: Sequence[HParamValue]) -> HParamInfo | None:
    """Return what is known of a hyperparameter from the values it has; None where it has none.

    Numbers get an interval, texts and truth values a list. Values of different types are taken as texts.
    """
    types = {data_type(value) for value in known}
    if not types:
        return None
    info = HParamInfo(name=name, type=types.pop() if len(types) == 1 else hparams_pb2.DATA_TYPE_STRING)
    if info.type == hparams_pb2.DATA_TYPE_FLOAT64:
        numbers = [float(value) for value in known]
        info.domain_interval.CopyFrom(Interval(min_value=min(numbers), max_value=max(numbers)))
        info.differs = len(set(numbers)) > 1
    elif info.type == hparams_pb2.DATA_TYPE_BOOL:
        info.domain_discrete.extend(sorted({bool(value) for value in known}))
        info.differs = len(info.domain_discrete.values) > 1
    else:
        info.domain_discrete.extend(sorted({_as_text(value) for value in known}))
        info.differs = len(info.domain_discrete.values) > 1
    return info


def _experiment_of_sessions(snapshot: Snapshot) -> Experiment:
    runs: list[str] = []
    values: dict[str, list[HParamValue]] = {}
    for session in sessions(snapshot.runs):
        runs.append(session.run)
        for name, value in hparams_of(session.start).items():
            plain = python_value(value)
            if plain is not None:
                values.setdefault(name, []).append(plain)
    infos = [info for name in sorted(values) if (info := info_of_values(name, values[name])) is not None]
    metrics = metric_names(snapshot, runs) if infos else []
    return Experiment(hparam_infos=infos, metric_infos=[MetricInfo(name=name) for name in metrics])


def _joined_info(first: HParamInfo, second: HParamInfo) -> HParamInfo:
    """Of two, the wider one: both domains, and text where the types differ."""
    whole = HParamInfo()
    whole.CopyFrom(first)
    whole.differs = first.differs or second.differs
    whole.display_name = first.display_name or second.display_name
    whole.description = first.description or second.description
    whole.ClearField("domain_discrete")
    whole.ClearField("domain_interval")
    if first.type != second.type:
        whole.type = hparams_pb2.DATA_TYPE_STRING
        return whole
    domains = {first.WhichOneof("domain"), second.WhichOneof("domain")}
    if domains == {"domain_interval"}:
        intervals = (first.domain_interval, second.domain_interval)
        whole.domain_interval.min_value = min(interval.min_value for interval in intervals)
        whole.domain_interval.max_value = max(interval.max_value for interval in intervals)
    elif domains == {"domain_discrete"}:
        values = [*first.domain_discrete.values]
        values += [value for value in second.domain_discrete.values if value not in values]
        whole.domain_discrete.CopyFrom(ListValue(values=values))
    return whole


def _as_text(value: HParamValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return repr(value)


def readable_json(found: Experiment) -> Experiment:
    """Return the experiment without values in a domain that JSON cannot hold."""
    for info in found.hparam_infos:
        if info.WhichOneof("domain") == "domain_discrete":
            kept = [value for value in info.domain_discrete.values if fits_json(value)]
            info.domain_discrete.CopyFrom(ListValue(values=kept))
    return found
