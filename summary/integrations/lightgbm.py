"""`StepscopeCallback`: writes LightGBM's evaluations at each iteration.

from stepscope.summary.integrations.lightgbm import StepscopeCallback

lightgbm.train(params, data, valid_sets=[test], callbacks=[StepscopeCallback("runs/first")])
"""

import os
import weakref
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.writer import SummaryWriter


class StepscopeCallback:
    """Writes ``<data set>/<metric>`` at each iteration, and the parameters as hyperparameters of a session.

    For ``lightgbm.cv``, these are means, and ``<data set>/<metric>-std`` are their deviations.

    LightGBM does not report the end of a training that stops early or fails. Its session ends with `close`, with the
    next training, or when nothing refers to the callback anymore.

    Args:
        log_dir: the run's folder.
    """

    order = 10
    """After callbacks that change parameters, and before early stopping."""
    before_iteration = False

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self._log_dir: Final = log_dir
        self._writer: SummaryWriter | None = None
        self._ending: weakref.finalize[[int, SummaryWriter, Any], StepscopeCallback] | None = None

    def __call__(self, env: Any) -> None:
        """Log an iteration; LightGBM calls this after each one."""
        results = env.evaluation_result_list or ()
        if self._writer is None or self._ending is None or env.iteration == env.begin_iteration:
            self.close()
            self._writer = self._writer or SummaryWriter(self._log_dir)
            self._ending = weakref.finalize(self, _end_unreported, os.getpid(), self._writer, env.model)
            begin_session(self._writer, env.params, [f"{result[0]}/{result[1]}" for result in results])
        for data, metric, value, _, *deviation in results:
            self._writer.add_scalar(f"{data}/{metric}", value, env.iteration)
            if deviation and deviation[0] is not None:
                self._writer.add_scalar(f"{data}/{metric}-std", deviation[0], env.iteration)
        if env.iteration == env.end_iteration - 1:
            self._ending.detach()
            _end(self._writer, hparams_pb2.STATUS_SUCCESS)

    def close(self) -> None:
        """End the session and close the file, if LightGBM has not reported the end of the training."""
        if self._ending is not None:
            self._ending()


def _end_unreported(process: int, writer: SummaryWriter, model: Any) -> None:
    # A forked child has a copy of the callback, but the session is the parent's.
    if process == os.getpid():
        stopped_early = model.best_iteration > 0
        _end(writer, hparams_pb2.STATUS_SUCCESS if stopped_early else hparams_pb2.STATUS_FAILURE)


def _end(writer: SummaryWriter, status: hparams_pb2.Status) -> None:
    end_session(writer, status)
    writer.close()
