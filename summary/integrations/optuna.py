"""`StepscopeCallback`: writes each trial of an Optuna study as a run with its parameters and its value.

from stepscope.summary.integrations.optuna import StepscopeCallback

study.optimize(objective, n_trials=100, callbacks=[StepscopeCallback("runs/study", "accuracy")])
"""

import os
from collections.abc import Sequence
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.storage import folder_at
from stepscope.summary.writer import SummaryWriter

INTERMEDIATE: Final = "intermediate_value"
"""The tag of the values passed to ``trial.report``."""

_STATUS: Final = {"COMPLETE": hparams_pb2.STATUS_SUCCESS, "FAIL": hparams_pb2.STATUS_FAILURE}


class StepscopeCallback:
    """Writes each trial, when it ends, to ``<log_dir>/trial-<number>``: parameters, reported values and results.

    Args:
        log_dir: the study's folder.
        metric_names: the tag of the value, or the tags of several; by default the study's own, else ``value``, or
            ``value_0``, ``value_1`` and so on. The step of a value is the number of its trial.
    """

    def __init__(self, log_dir: str | os.PathLike[str], metric_names: str | Sequence[str] | None = None) -> None:
        self._folder: Final = folder_at(log_dir)
        self._names: Final = (metric_names,) if isinstance(metric_names, str) else metric_names

    def __call__(self, study: Any, trial: Any) -> None:
        """Log a trial; Optuna calls this with a study and a ``FrozenTrial``."""
        values = trial.values or ()
        names = self._names or getattr(study, "metric_names", None) or _numbered("value", len(study.directions))
        with SummaryWriter(self._folder.child(f"trial-{trial.number}").address) as writer:
            begin_session(writer, trial.params, names)
            for step, value in sorted(trial.intermediate_values.items()):
                writer.add_scalar(INTERMEDIATE, value, step)
            for name, value in zip(names, values, strict=False):
                writer.add_scalar(name, value, trial.number)
            end_session(writer, _STATUS.get(trial.state.name, hparams_pb2.STATUS_UNKNOWN))


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{number}" for number in range(count)]
