"""`StepscopeCallback`: writes XGBoost's evaluations at each iteration.

from stepscope.summary.integrations.xgboost import StepscopeCallback

xgboost.train(params, data, evals=[(test, "test")], callbacks=[StepscopeCallback("runs/first", params)])
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.writer import SummaryWriter

try:
    from xgboost import collective
    from xgboost.callback import TrainingCallback
except ImportError as error:
    raise ImportError(f"stepscope.summary.integrations.xgboost needs XGBoost: pip install xgboost ({error})") from error


class StepscopeCallback(TrainingCallback):  # type: ignore[misc]
    """Writes ``<data set>/<metric>`` at each iteration, from the rank 0 process only.

    For ``xgboost.cv``, these are means, and ``<data set>/<metric>-std`` are their deviations.

    Args:
        log_dir: the run's folder.
        hparams: parameters to write as a session's hyperparameters; XGBoost does not pass its own to callbacks.
    """

    def __init__(self, log_dir: str | os.PathLike[str], hparams: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._log_dir: Final = log_dir
        self._hparams: Final = hparams
        self._writer: SummaryWriter | None = None

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Mapping[str, list[Any]]]) -> bool:
        """Write the latest evaluations; never end the training."""
        if collective.get_rank():
            return False
        latest = {f"{data}/{name}": log[-1] for data, logs in evals_log.items() for name, log in logs.items()}
        if self._writer is None:
            self._writer = SummaryWriter(self._log_dir)
            if self._hparams is not None:
                begin_session(self._writer, self._hparams, latest)
        for tag, value in latest.items():
            mean, *deviation = value if isinstance(value, tuple | list) else (value,)
            self._writer.add_scalar(tag, mean, epoch)
            if deviation:
                self._writer.add_scalar(f"{tag}-std", deviation[0], epoch)
        return False

    def after_training(self, model: Any) -> Any:
        """Write the end of the session, close the file, and return the model."""
        if self._writer is not None:
            if self._hparams is not None:
                end_session(self._writer)
            self._writer.close()
            self._writer = None
        return model
