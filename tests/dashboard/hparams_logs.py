"""A log directory of sessions: two seeds of each of two groups, one session alone, one that failed."""

import math
from pathlib import Path
from typing import Any

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import (
    checked_hparams,
    experiment,
    hparam_infos,
    metric_infos,
    session_end,
    session_start,
)
from stepscope.summary.kinds.hparams import start_info as hparams_start
from stepscope.summary.proto.hparams_pb2 import STATUS_FAILURE, STATUS_SUCCESS, Experiment, SessionEndInfo, Status
from stepscope.summary.proto.summary_pb2 import Summary

SESSIONS: tuple[tuple[str, str, dict[str, Any], float, Status | None], ...] = (
    ("a0", "small", {"lr": 0.1, "opt": "sgd", "norm": True, "mixed": 1}, 0.5, STATUS_SUCCESS),
    ("a1", "small", {"lr": 0.1, "opt": "sgd", "norm": True, "mixed": 1}, 0.75, STATUS_SUCCESS),
    ("b0", "large", {"lr": 0.01, "opt": "adam", "norm": False, "mixed": "one"}, 0.875, STATUS_SUCCESS),
    ("b1", "large", {"lr": 0.01, "opt": "adam", "norm": False, "mixed": "one"}, 0.25, None),
    ("alone", "", {"opt": "50%_Adam"}, 0.625, STATUS_SUCCESS),
    ("failed", "", {"lr": 1e-5, "opt": "sgd", "norm": True}, 0.125, STATUS_FAILURE),
)


def write_sessions(logdir: Path, lone_rate: float = 0.05) -> Path:
    """Six runs; "accuracy" in each, "loss" in the run "val" below three of them.

    ``lone_rate`` is the "lr" of the session "alone".
    """
    for place, (run, group, hparams, accuracy, status) in enumerate(SESSIONS):
        start = hparams_start(checked_hparams({"lr": lone_rate, **hparams}))
        start.group_name = group
        start.start_time_secs = 1000.0 + place
        with SummaryWriter(str(logdir / run)) as writer:
            writer.add_summary(Summary(value=[session_start(start)]), 0, walltime=1000.0 + place)
            for step in (1, 2):
                writer.add_scalar("accuracy", accuracy * step / 2, step + place, walltime=1100.0 + 10 * step + place)
            if status is not None:
                end = SessionEndInfo(status=status, end_time_secs=1200.0 + place)
                writer.add_summary(Summary(value=[session_end(end)]), 0, walltime=1200.0 + place)
        if place % 2 == 0:
            with SummaryWriter(str(logdir / run / "val")) as writer:
                writer.add_scalar("loss", math.inf if place == 4 else 1.0 / (place + 1), 7, walltime=1150.0 + place)
    return logdir


def write_experiment(
    logdir: Path, run: str, hparams: dict[str, Any], metrics: list[str], description: str = ""
) -> None:
    """A run that describes the experiment."""
    infos = hparam_infos(checked_hparams(hparams))
    message = Experiment(description=description, hparam_infos=infos, metric_infos=metric_infos(metrics))
    with SummaryWriter(str(logdir / run)) as writer:
        writer.add_summary(Summary(value=[experiment(message)]), 0, walltime=900.0)
