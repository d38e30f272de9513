"""Hyperparameters in the style of TensorBoard's ``tensorboard.plugins.hparams.api``."""

import hashlib
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from google.protobuf.struct_pb2 import ListValue

from stepscope.summary.arguments import checked_name, checked_number
from stepscope.summary.kinds.hparams import checked_hparams, experiment, session_start, start_info, struct_value
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import Experiment, HParamInfo, Interval, MetricInfo, MetricName
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.v2.writing import write_raw_pb

_DATA_TYPES: Final = {
    bool: hparams_pb2.DATA_TYPE_BOOL,
    int: hparams_pb2.DATA_TYPE_FLOAT64,
    float: hparams_pb2.DATA_TYPE_FLOAT64,
    str: hparams_pb2.DATA_TYPE_STRING,
}


@dataclass(frozen=True)
class _Interval:
    min_value: Any
    max_value: Any
    dtype: ClassVar[type]

    def __post_init__(self) -> None:
        for bound in (self.min_value, self.max_value):
            if not isinstance(bound, self.dtype):
                wanted = self.dtype.__name__
                raise TypeError(f"the bounds of {type(self).__name__} must be of type {wanted}, got {bound!r}")
        if not self.min_value <= self.max_value:
            raise ValueError(f"min_value must not be above max_value, got {self.min_value} and {self.max_value}")


class IntInterval(_Interval):
    """All whole numbers from ``min_value`` to ``max_value``, inclusive."""

    dtype = int

    def sample_uniform(self, rng: Any = random) -> int:
        """Return a random number of the interval; ``rng`` has the methods of the module `random`."""
        return int(rng.randint(self.min_value, self.max_value))


class RealInterval(_Interval):
    """All numbers from ``min_value`` to ``max_value``, inclusive."""

    dtype = float

    def sample_uniform(self, rng: Any = random) -> float:
        """Return a random number of the interval; ``rng`` has the methods of the module `random`."""
        return float(rng.uniform(self.min_value, self.max_value))


class Discrete:
    """Some values of one type.

    Args:
        values: the values, all bool, int, float or str.
        dtype: their type; by default the type of the first value.

    Raises:
        TypeError: a value is of another type.
        ValueError: there are no values and no ``dtype``, or the type is none of the four.
    """

    def __init__(self, values: Sequence[Any], dtype: type | None = None) -> None:
        given = list(values)
        if dtype is None and not given:
            raise ValueError("a discrete domain must have a value, or a dtype, got neither")
        self.dtype: Final[type] = type(given[0]) if dtype is None else dtype
        if self.dtype not in _DATA_TYPES:
            raise ValueError(f"the dtype of a discrete domain must be bool, int, float or str, got {self.dtype}")
        for value in given:
            if not isinstance(value, self.dtype):
                name = self.dtype.__name__
                raise TypeError(f"a discrete domain of {name} may contain only {name} values, got {value!r}")
        self.values: Final[list[Any]] = sorted(given)

    def sample_uniform(self, rng: Any = random) -> Any:
        """Return one of the values at random; ``rng`` has the methods of the module `random`.

        Raises:
            IndexError: there are no values.
        """
        return rng.choice(self.values)


@dataclass(frozen=True)
class HParam:
    """A hyperparameter: its name and the values that it may take."""

    name: str
    domain: Any = None
    """`IntInterval`, `RealInterval`, `Discrete` or TensorBoard's classes of these names; None for any value."""
    display_name: str | None = None
    description: str | None = None
    """Markdown."""

    def __post_init__(self) -> None:
        checked_name(self.name)
        if self.domain is not None:
            _info_of_domain(self.domain)


@dataclass(frozen=True)
class Metric:
    """A scalar tag that measures how well a session does."""

    tag: str
    group: str | None = None
    """The folder within the session's folder, if the tag is in another run."""
    display_name: str | None = None
    description: str | None = None
    """Markdown."""
    dataset_type: "hparams_pb2.DatasetType | None" = None
    """`TRAINING` or `VALIDATION`."""

    TRAINING: ClassVar[hparams_pb2.DatasetType] = hparams_pb2.DATASET_TRAINING
    VALIDATION: ClassVar[hparams_pb2.DatasetType] = hparams_pb2.DATASET_VALIDATION

    def __post_init__(self) -> None:
        checked_name(self.tag)
        if self.dataset_type not in (None, Metric.TRAINING, Metric.VALIDATION):
            raise ValueError(f"dataset_type must be TRAINING, VALIDATION or None, got {self.dataset_type!r}")


def hparams(hparams: Mapping[Any, Any], trial_id: str | None = None, start_time_secs: float | None = None) -> bool:
    """Write this run's hyperparameters to the default writer; return whether they were written.

    Args:
        hparams: booleans, numbers and strings by name or `HParam` object.
        trial_id: sessions with the same ID are shown as one group; by default a hash of the hyperparameters.
        start_time_secs: start of the session in seconds since the epoch; by default the current time.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """
    return write_raw_pb(hparams_pb(hparams, trial_id, start_time_secs), step=0)


def hparams_pb(
    hparams: Mapping[Any, Any], trial_id: str | None = None, start_time_secs: float | None = None
) -> Summary:
    """Return the Summary that `hparams` writes.

    Raises:
        TypeError: ``hparams`` is not a mapping, or ``trial_id`` is not a string.
        ValueError: a hyperparameter has two values.
    """
    if not isinstance(hparams, Mapping):
        raise TypeError(f"hyperparameters must map names to values, got {type(hparams).__name__}")
    named = [(getattr(key, "name", key), value) for key, value in hparams.items()]
    if len({name for name, _ in named}) < len(named):
        raise ValueError(f"each hyperparameter must have one value, got the names {sorted(name for name, _ in named)}")
    checked = checked_hparams(dict(named))
    if not isinstance(trial_id, str | None):
        raise TypeError(f"trial_id must be a string, got {type(trial_id).__name__}")
    message = start_info(checked)
    message.group_name = _hash({**checked, **_whole_numbers(named)}) if trial_id is None else trial_id
    message.start_time_secs = _seconds(start_time_secs, "start_time_secs")
    return Summary(value=[session_start(message)])


def hparams_config(hparams: Sequence[Any], metrics: Sequence[Any], time_created_secs: float | None = None) -> bool:
    """Write an experiment's hyperparameters and metrics to the default writer; return whether they were written.

    Args:
        hparams: `HParam` objects, or TensorBoard's.
        metrics: `Metric` objects, or TensorBoard's.
        time_created_secs: creation time of the experiment in seconds since the epoch; by default the current time.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """
    return write_raw_pb(hparams_config_pb(hparams, metrics, time_created_secs), step=0)


def hparams_config_pb(
    hparams: Sequence[Any], metrics: Sequence[Any], time_created_secs: float | None = None
) -> Summary:
    """Return the Summary that `hparams_config` writes."""
    message = Experiment(
        hparam_infos=[_hparam_info(hparam) for hparam in hparams],
        metric_infos=[_metric_info(metric) for metric in metrics],
        time_created_secs=_seconds(time_created_secs, "time_created_secs"),
    )
    return Summary(value=[experiment(message)])


def _hparam_info(hparam: Any) -> HParamInfo:
    if not (hasattr(hparam, "name") and hasattr(hparam, "domain")):
        raise TypeError(f"hyperparameters must be HParam objects, got {type(hparam).__name__}")
    info = HParamInfo() if hparam.domain is None else _info_of_domain(hparam.domain)
    info.name = hparam.name
    info.display_name = hparam.display_name or ""
    info.description = hparam.description or ""
    return info


def _info_of_domain(domain: Any) -> HParamInfo:
    if hasattr(domain, "min_value") and hasattr(domain, "max_value"):
        interval = Interval(min_value=domain.min_value, max_value=domain.max_value)
        return HParamInfo(type=hparams_pb2.DATA_TYPE_FLOAT64, domain_interval=interval)
    if hasattr(domain, "values") and getattr(domain, "dtype", None) in _DATA_TYPES:
        values = ListValue(values=[struct_value(value) for value in domain.values])
        return HParamInfo(type=_DATA_TYPES[domain.dtype], domain_discrete=values)
    raise TypeError(f"a domain must be an IntInterval, a RealInterval or Discrete, got {type(domain).__name__}")


def _metric_info(metric: Any) -> MetricInfo:
    if isinstance(metric, Metric):
        return MetricInfo(
            name=MetricName(group=metric.group or "", tag=metric.tag),
            display_name=metric.display_name or "",
            description=metric.description or "",
            dataset_type=metric.dataset_type,
        )
    if not hasattr(metric, "as_proto"):
        raise TypeError(f"metrics must be Metric objects, got {type(metric).__name__}")
    return MetricInfo.FromString(metric.as_proto().SerializeToString())


def _whole_numbers(named: Sequence[tuple[str, Any]]) -> dict[str, int]:
    """Return the hyperparameters that are whole numbers, which hash differently from floats."""
    return {
        name: int(value) for name, value in named if isinstance(value, int | np.integer) and not isinstance(value, bool)
    }


def _hash(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _seconds(seconds: float | None, name: str) -> float:
    return time.time() if seconds is None else checked_number(seconds, name)
