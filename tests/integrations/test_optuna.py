"""The callback for Optuna, in a study with a few trials."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="Optuna is not installed: see make test-integrations")

import optuna

from stepscope.summary import open_logdir
from stepscope.summary.integrations.optuna import StepscopeCallback


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def test_a_run_per_trial(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    def objective(trial: Any) -> float:
        lr = trial.suggest_float("lr", 0.1, 1)
        trial.suggest_categorical("optimizer", ["sgd", None])
        for step in range(2):
            trial.report(lr * step, step)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise ArithmeticError
        return float(lr)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=3, catch=ArithmeticError, callbacks=[StepscopeCallback(tmp_path, "loss")])
    written = scalars(tmp_path)
    assert {
        run: {tag: [step for step, _ in points] for tag, points in tags.items()} for run, tags in written.items()
    } == {
        "trial-0": {"intermediate_value": [0, 1], "loss": [0]},
        "trial-1": {"intermediate_value": [0, 1], "loss": [1]},
        "trial-2": {"intermediate_value": [0, 1]},
    }
    sessions = open_logdir(tmp_path).hparams().to_dicts()
    assert [row["status"] for row in sessions] == ["success", "unknown", "failure"]
    assert [row["lr"] for row in sessions] == [trial.params["lr"] for trial in study.trials]
    assert [row["optimizer"] for row in sessions] == [str(trial.params["optimizer"]) for trial in study.trials]


def test_several_objectives(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (0.5, 2.0), n_trials=1, callbacks=[StepscopeCallback(tmp_path / "unnamed")])
    study.set_metric_names(["loss", "accuracy"])
    study.optimize(lambda trial: (0.5, 2.0), n_trials=1, callbacks=[StepscopeCallback(tmp_path / "named")])
    assert scalars(tmp_path / "unnamed") == {"trial-0": {"value_0": [(0, 0.5)], "value_1": [(0, 2.0)]}}
    assert scalars(tmp_path / "named") == {"trial-1": {"loss": [(1, 0.5)], "accuracy": [(1, 2.0)]}}
