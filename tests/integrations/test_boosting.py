"""Callbacks for XGBoost and LightGBM, used while training tiny models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.summary import open_logdir

ROWS = np.random.default_rng(0).normal(size=(80, 4))
LABELS = (ROWS.sum(axis=1) > 0).astype(int)


def session_of(folder: Path) -> dict[str, Any]:
    (row,) = open_logdir(folder).hparams().to_dicts()
    return row


def test_xgboost(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed: see make test-integrations")
    from stepscope.summary.integrations.xgboost import StepscopeCallback

    data = xgboost.DMatrix(ROWS, LABELS)
    params = {"objective": "binary:logistic", "eta": 0.5, "max_depth": 2, "eval_metric": ["logloss", "error"]}
    log: dict[str, Any] = {}
    callback = StepscopeCallback(tmp_path / "run", params)
    xgboost.train(params, data, 5, [(data, "train")], evals_result=log, verbose_eval=False, callbacks=[callback])
    written = scalars(tmp_path)["run"]
    assert written.keys() == {"train/logloss", "train/error"}
    for metric, values in log["train"].items():
        steps, numbers = zip(*written[f"train/{metric}"], strict=True)
        assert steps == (0, 1, 2, 3, 4)
        np.testing.assert_allclose(numbers, values, rtol=1e-6)
    session = session_of(tmp_path)
    assert (session["max_depth"], session["eval_metric"]) == (2, "['logloss', 'error']")

    xgboost.cv(params, data, 3, 2, callbacks=[StepscopeCallback(tmp_path / "cv")])
    assert {tag: len(points) for tag, points in scalars(tmp_path)["cv"].items()} == {
        f"{data}/{metric}{end}": 3
        for data in ("train", "test")
        for metric in ("logloss", "error")
        for end in ("", "-std")
    }


def test_lightgbm(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: see make test-integrations")
    from stepscope.summary.integrations.lightgbm import StepscopeCallback

    params = {"objective": "binary", "learning_rate": 0.5, "verbosity": -1, "min_data_in_leaf": 2}
    data = lightgbm.Dataset(ROWS, LABELS)
    log: dict[str, Any] = {}
    callbacks = [lightgbm.record_evaluation(log), StepscopeCallback(tmp_path / "run")]
    lightgbm.train(params, data, 5, valid_sets=[data], valid_names=["train"], callbacks=callbacks)
    steps, numbers = zip(*scalars(tmp_path)["run"]["train/binary_logloss"], strict=True)
    assert steps == (0, 1, 2, 3, 4)
    np.testing.assert_allclose(numbers, log["train"]["binary_logloss"], rtol=1e-6)
    session = session_of(tmp_path)
    assert (session["learning_rate"], session["status"]) == (0.5, "success")

    early = lightgbm.early_stopping(1, min_delta=9, verbose=False)
    test = data.create_valid(ROWS, LABELS)
    lightgbm.train(params, data, 5, valid_sets=[test], callbacks=[early, StepscopeCallback(tmp_path / "early" / "run")])
    assert session_of(tmp_path / "early")["status"] == "success"

    lightgbm.cv(params, data, 3, nfold=2, callbacks=[StepscopeCallback(tmp_path / "cv")])
    assert [(tag.endswith("-std"), len(points)) for tag, points in scalars(tmp_path)["cv"].items()] == [
        (False, 3),
        (True, 3),
    ]
