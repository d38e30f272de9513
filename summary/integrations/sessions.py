"""Training as a hyperparameter session, for frameworks whose settings may be of any type."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stepscope.summary.kinds.hparams import (
    checked_hparams,
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
    checked = checked_hparams({str(name): plain_value(value) for name, value in hparams.items()})
    infos = Experiment(hparam_infos=hparam_infos(checked), metric_infos=metric_infos(metrics))
    for value in (experiment(infos), session_start(start_info(checked))):
        writer.add_summary(Summary(value=[value]), step)


def end_session(
    writer: SummaryWriter, status: hparams_pb2.Status = hparams_pb2.STATUS_SUCCESS, step: int | None = None
) -> None:
    """Write how the session ended."""
    writer.add_summary(Summary(value=[session_end(SessionEndInfo(status=status))]), step)


def plain_value(value: Any) -> Any:
    """Return ``value`` itself if it can be a hyperparameter, otherwise its `str`."""
    if isinstance(value, bool | int | float | str | np.generic):
        return value
    is_number = hasattr(value, "detach") and value.numel() == 1 and not value.is_complex()
    return value if is_number else str(value)
