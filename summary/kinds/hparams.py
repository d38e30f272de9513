"""Hyperparameters of a session, and the metrics that it reports; all stored as metadata."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import ListValue
from google.protobuf.struct_pb2 import Value as StructValue

from stepscope.summary.arguments import checked_number, checked_tag, is_tensor
from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import plugin_metadata
from stepscope.summary.proto import hparams_pb2, summary_pb2
from stepscope.summary.proto.hparams_pb2 import (
    Experiment,
    HParamInfo,
    HParamsPluginData,
    MetricInfo,
    MetricName,
    SessionEndInfo,
    SessionStartInfo,
)
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "hparams"
EXPERIMENT_TAG: Final = "_hparams_/experiment"
SESSION_START_TAG: Final = "_hparams_/session_start_info"
SESSION_END_TAG: Final = "_hparams_/session_end_info"

HParamValue = bool | float | str


def experiment(message: Experiment) -> Summary.Value:
    """Return a value with an experiment's hyperparameters and metrics; one per log directory is enough."""
    return _value(EXPERIMENT_TAG, HParamsPluginData(experiment=message))


def session_start(message: SessionStartInfo) -> Summary.Value:
    """Return a value with a session's hyperparameters; one per session, in its run."""
    return _value(SESSION_START_TAG, HParamsPluginData(session_start_info=message))


def session_end(message: SessionEndInfo) -> Summary.Value:
    """Return a value that records how a session ended."""
    return _value(SESSION_END_TAG, HParamsPluginData(session_end_info=message))


def checked_hparams(hparams: Mapping[str, Any]) -> dict[str, HParamValue]:
    """Return the values by name as booleans, floats and strings; None is left out.

    Numbers may be Python's or NumPy's, or arrays or tensors of one element; a function becomes its name, as in
    tensorboardX.

    Raises:
        TypeError: ``hparams`` is not a mapping, a name is not a string, or a value is none of the above.
        ValueError: an array does not have one element.
    """
    if not isinstance(hparams, Mapping):
        raise TypeError(f"hyperparameters must map names to values, got {type(hparams).__name__}")
    return {checked_tag(name): _checked_value(name, value) for name, value in hparams.items() if value is not None}


def hparam_infos(
    hparams: Mapping[str, HParamValue], discrete: Mapping[str, Sequence[Any]] | None = None
) -> list[HParamInfo]:
    """Return the hyperparameters' names, types and, if ``discrete`` has them, all values that they may take.

    Raises:
        TypeError: ``discrete`` has values of another type.
        ValueError: ``discrete`` names an unknown hyperparameter.
    """
    if not isinstance(discrete, Mapping | None):
        raise TypeError(f"discrete domains must map names to lists of values, got {type(discrete).__name__}")
    domains = dict(discrete or {})
    unknown = domains.keys() - hparams.keys()
    if unknown:
        raise ValueError(f"discrete domains must be those of {sorted(hparams)}, got {sorted(map(str, unknown))}")
    return [
        HParamInfo(name=name, type=data_type(value), domain_discrete=_domain(name, value, domains.get(name)))
        for name, value in hparams.items()
    ]


def metric_infos(names: Iterable[str]) -> list[MetricInfo]:
    """Return one metric per scalar tag."""
    return [MetricInfo(name=MetricName(tag=checked_tag(name))) for name in names]


def start_info(hparams: Mapping[str, HParamValue]) -> SessionStartInfo:
    """Return the hyperparameters as a message."""
    return SessionStartInfo(hparams={name: struct_value(value) for name, value in hparams.items()})


def decode_hparams(value: Summary.Value) -> HParamsPluginData:
    """Return the message in the value's metadata, which holds an experiment, a session's start or its end.

    Raises:
        PayloadError: the metadata has none of the three.
    """
    content = value.metadata.plugin_data.content
    try:
        data = parse(HParamsPluginData, content)
    except DecodeError as error:
        raise PayloadError(f"expected a HParamsPluginData message, got {content[:20]!r}...: {error}") from error
    if data.WhichOneof("data") is None:
        raise PayloadError("expected an experiment, a session's start or its end in the metadata, got none of them")
    return data


def _value(tag: str, data: HParamsPluginData) -> Summary.Value:
    # Readers substitute an empty tensor for the missing value only if no data class is given.
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_UNKNOWN, data.SerializeToString())
    return Summary.Value(tag=tag, metadata=metadata)


def _checked_value(name: str, value: Any) -> HParamValue:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float) or hasattr(value, "__array__") or is_tensor(value):
        return checked_number(value, f"the hyperparameter {name!r}")
    if callable(value):
        return str(getattr(value, "__name__", value))
    raise TypeError(
        f"the hyperparameter {name!r} must be a bool, a number, a string or None, got {type(value).__name__}"
    )


def data_type(value: HParamValue) -> hparams_pb2.DataType:
    """Return the declared data type of a hyperparameter with this value."""
    match value:
        case bool():
            return hparams_pb2.DATA_TYPE_BOOL
        case str():
            return hparams_pb2.DATA_TYPE_STRING
        case _:
            return hparams_pb2.DATA_TYPE_FLOAT64


def struct_value(value: HParamValue) -> StructValue:
    """Return the value in the form used in messages."""
    match value:
        case bool():
            return StructValue(bool_value=value)
        case str():
            return StructValue(string_value=value)
        case _:
            return StructValue(number_value=value)


def _domain(name: str, value: HParamValue, allowed: Sequence[Any] | None) -> ListValue | None:
    if allowed is None:
        return None
    if isinstance(allowed, str) or not isinstance(allowed, Sequence):
        raise TypeError(f"the discrete domain of {name!r} must be a list, got {type(allowed).__name__}")
    checked = [_checked_value(name, element) for element in allowed]
    if any(type(element) is not type(value) for element in checked):
        raise TypeError(f"the discrete domain of {name!r} must hold values like {value!r}, got {list(allowed)!r}")
    return ListValue(values=[struct_value(element) for element in checked])


KIND: Final = Kind(plugin_name=PLUGIN_NAME, decode=decode_hparams, about="hyperparameters of a session")
