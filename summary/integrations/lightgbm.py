"""`StepscopeCallback`: writes LightGBM's evaluations at each iteration.

from stepscope.summary.integrations.lightgbm import StepscopeCallback

lightgbm.train(params, data, valid_sets=[test], callbacks=[StepscopeCallback("runs/first")])
"""

import os
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.writer import SummaryWriter


class StepscopeCallback:
    """Writes ``<data set>/<metric>`` at each iteration, and the parameters as hyperparameters of a session.

    For ``lightgbm.cv``, these are means, and ``<data set>/<metric>-std`` are their deviations.

    Args:
        log_dir: the run's folder.
    """

    order = 10
    """After callbacks that change parameters, and before early stopping."""
    before_iteration = False

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self._log_dir: Final = log_dir
        self._writer: SummaryWriter | None = None

    def __call__(self, env: Any) -> None:
        """Log an iteration; LightGBM calls this after each one."""
        results = env.evaluation_result_list or ()
        if self._writer is None or env.iteration == env.begin_iteration:
            self._writer = self._writer or SummaryWriter(self._log_dir)
            begin_session(self._writer, env.params, [f"{result[0]}/{result[1]}" for result in results])
        for data, metric, value, _, *deviation in results:
            self._writer.add_scalar(f"{data}/{metric}", value, env.iteration)
            if deviation and deviation[0] is not None:
                self._writer.add_scalar(f"{data}/{metric}-std", deviation[0], env.iteration)
        if env.iteration == env.end_iteration - 1:
            end_session(self._writer)
            self._writer.close()
