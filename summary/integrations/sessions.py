"""Training as a hyperparameter session, for frameworks whose settings may be of any type."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from stepscope.summary.arguments import checked_number, is_tensor
from stepscope.summary.kinds.hparams import (
    HParamValue,
    experiment,
    hparam_infos,
    metric_infos,
    session_end,
    session_start,
    start_info,
)
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.hparams_pb2 import Experiment, SessionEndInfo
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.writer import SummaryWriter


def begin_session(
    writer: SummaryWriter, hparams: Mapping[str, Any], metrics: Iterable[str] = (), step: int | None = None
) -> None:
    """Write hyperparameters, with unsupported values as their `str`, and the tags of their metrics."""
    plain = plain_hparams(hparams)
    infos = Experiment(hparam_infos=hparam_infos(plain), metric_infos=metric_infos(metrics))
    for value in (experiment(infos), session_start(start_info(plain))):
        writer.add_summary(Summary(value=[value]), step)


def end_session(
    writer: SummaryWriter, status: hparams_pb2.Status = hparams_pb2.STATUS_SUCCESS, step: int | None = None
) -> None:
    """Write how the session ended."""
    writer.add_summary(Summary(value=[session_end(SessionEndInfo(status=status))]), step)


def plain_hparams(hparams: Mapping[str, Any]) -> dict[str, HParamValue]:
    """Return values that can be hyperparameters as they are, and all others as their `str`."""
    return {_text(name): _plain(value) for name, value in hparams.items()}


def _plain(value: Any) -> HParamValue:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.generic) or is_tensor(value):
        with suppress(TypeError, ValueError):
            return checked_number(value, "a hyperparameter")
    return _text(value)


def _text(value: Any) -> str:
    # Names of files, for example, may have characters that UTF-8 cannot encode.
    return str(value).encode(errors="backslashreplace").decode()
