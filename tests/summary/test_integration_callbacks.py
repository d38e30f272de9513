"""Callbacks that import no framework, called as frameworks call theirs; `tests/integrations` uses the frameworks."""

from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepscope.summary import open_logdir
from stepscope.summary.integrations.lightgbm import StepscopeCallback as LightGBMCallback
from stepscope.summary.integrations.optuna import StepscopeCallback as OptunaCallback
from stepscope.summary.integrations.sessions import plain_hparams
from stepscope.summary.kinds.hparams import start_info


def scalars_of(folder: Path) -> dict[str, dict[str, list[tuple[int, float]]]]:
    return {
        name: {
            one.tag: list(zip(one.steps.tolist(), one.values.tolist(), strict=True)) for one in run.of_kind("scalars")
        }
        for name, run in open_logdir(folder).runs.items()
    }


def boosting(iteration: int, model: Any) -> Any:
    """What LightGBM tells its callbacks, for a training of two iterations."""
    return SimpleNamespace(
        model=model,
        params={"metric": ["auc"], "eta": 0.5},
        iteration=iteration,
        begin_iteration=0,
        end_iteration=2,
        evaluation_result_list=[("test", "auc", 0.5 + iteration, True), ("test", "l2", 0.25, False, 0.125)],
    )


def test_lightgbm(tmp_path: Path) -> None:
    callback = LightGBMCallback(tmp_path / "run")
    for iteration in range(2):
        callback(boosting(iteration, SimpleNamespace(best_iteration=-1)))
    assert scalars_of(tmp_path) == {
        "run": {
            "test/auc": [(0, 0.5), (1, 1.5)],
            "test/l2": [(0, 0.25), (1, 0.25)],
            "test/l2-std": [(0, 0.125), (1, 0.125)],
        }
    }
    (session,) = open_logdir(tmp_path).hparams().to_dicts()
    assert {name: session[name] for name in ("eta", "metric", "status", "test/auc", "test/l2")} == {
        "eta": 0.5,
        "metric": "['auc']",
        "status": "success",
        "test/auc": 1.5,
        "test/l2": 0.25,
    }


def test_a_lightgbm_training_that_stops_before_its_last_iteration_ends_its_session(tmp_path: Path) -> None:
    stopped_early = LightGBMCallback(tmp_path / "a stopped early")
    model = SimpleNamespace(best_iteration=-1)
    stopped_early(boosting(0, model))
    model.best_iteration = 1
    closed, failed = LightGBMCallback(tmp_path / "b closed"), LightGBMCallback(tmp_path / "c failed")
    closed(boosting(0, model))
    failed(boosting(0, SimpleNamespace(best_iteration=-1)))
    del stopped_early, failed
    closed.close()
    sessions = open_logdir(tmp_path).hparams().to_dicts()
    assert [(row["run"], row["status"], row["test/auc"]) for row in sessions] == [
        ("a stopped early", "success", 0.5),
        ("b closed", "success", 0.5),
        ("c failed", "failure", 0.5),
    ]


def test_settings_of_any_type_are_hyperparameters() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    settings = {
        "flag": np.True_,
        "count": np.int8(3),
        "one": torch.tensor([0.5]),
        "several": torch.tensor([1, 2]),
        "complex": torch.tensor(1j),
        "phase": np.complex128(1j),
        "day": np.datetime64("2026-01-01"),
        "huge": 10**400,
        "file \udc80": "a\udc80",
        "none": None,
    }
    with TextIOWrapper(BytesIO()) as stream:
        found = plain_hparams({**settings, "log": stream})
        stream.write("still open")
    assert found == {
        "flag": True,
        "count": 3.0,
        "one": 0.5,
        "several": "tensor([1, 2])",
        "complex": "tensor(0.+1.j)",
        "phase": "1j",
        "day": "2026-01-01",
        "huge": str(10**400),
        "file \\udc80": "a\\udc80",
        "none": "None",
        "log": str(stream),
    }
    assert start_info(found).hparams.keys() == found.keys()


def test_optuna(tmp_path: Path) -> None:
    def trial(number: int, state: str, values: Any) -> Any:
        return SimpleNamespace(
            number=number,
            params={"lr": 0.5, "optimizer": None},
            intermediate_values={1: 0.25, 0: 0.5},
            values=values,
            state=SimpleNamespace(name=state),
        )

    one, two = (SimpleNamespace(directions=["minimize"] * count, metric_names=None) for count in (1, 2))
    OptunaCallback(tmp_path)(one, trial(0, "COMPLETE", [0.125]))
    OptunaCallback(tmp_path)(one, trial(1, "FAIL", None))
    OptunaCallback(str(tmp_path), ["loss", "time"])(two, trial(2, "COMPLETE", [0.5, 3.0]))
    OptunaCallback(tmp_path)(two, trial(3, "COMPLETE", [0.5, 3.0]))
    reported = {"intermediate_value": [(0, 0.5), (1, 0.25)]}
    assert scalars_of(tmp_path) == {
        "trial-0": {**reported, "value": [(0, 0.125)]},
        "trial-1": reported,
        "trial-2": {**reported, "loss": [(2, 0.5)], "time": [(2, 3.0)]},
        "trial-3": {**reported, "value_0": [(3, 0.5)], "value_1": [(3, 3.0)]},
    }
    sessions = open_logdir(tmp_path).hparams().to_dicts()
    assert [(row["lr"], row["optimizer"], row["status"]) for row in sessions] == [
        (0.5, "None", "success"),
        (0.5, "None", "failure"),
        (0.5, "None", "success"),
        (0.5, "None", "success"),
    ]
