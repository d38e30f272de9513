"""The output for the Stable-Baselines3 logger, compared with the library's own TensorBoard output."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: see make test-integrations")

import torch
from stable_baselines3 import A2C
from stable_baselines3.common.logger import HParam, Image, Logger, TensorBoardOutputFormat, Video

from stepscope.summary import open_logdir
from stepscope.summary.integrations.stable_baselines3 import StepscopeOutput


def recorded(folder: Path) -> dict[str, Any]:
    series = open_logdir(folder).runs["."].series
    return {
        tag: (one.kind, one.steps.tolist(), one.values.tolist() if one.kind == "scalars" else None)
        for tag, one in series.items()
    }


def test_what_a_training_and_its_callbacks_record(tmp_path: Path) -> None:
    outputs = [StepscopeOutput(tmp_path / "ours"), TensorBoardOutputFormat(str(tmp_path / "theirs"))]
    logger = Logger(str(tmp_path), outputs)
    model = A2C("MlpPolicy", "CartPole-v1", n_steps=8, seed=0, device="cpu")
    model.set_logger(logger)
    model.learn(80, log_interval=2)
    logger.record("note", "text")
    logger.record("weights", torch.arange(10.0))
    logger.record("picture", Image(np.zeros((4, 4, 3), np.uint8), "HWC"), exclude=("stdout", "log", "json", "csv"))
    logger.record("hidden", 1.0, exclude="tensorboard")
    logger.record("hparams", HParam({"lr": 0.1}, {"loss": 0.5}))
    logger.record("loss", np.float32(0.25))
    logger.dump(100)
    logger.record("film", Video(torch.zeros(1, 2, 3, 8, 8, dtype=torch.uint8), 4))
    # Theirs needs moviepy for videos.
    outputs[0].write(logger.name_to_value, logger.name_to_excluded, 101)
    logger.name_to_value.clear()
    logger.close()
    ours, theirs = recorded(tmp_path / "ours"), recorded(tmp_path / "theirs")
    assert ours.pop("film") == ("images", [101], None)
    assert ours == theirs
    assert {"train/value_loss", "note/text_summary", "weights", "picture", "loss"} <= ours.keys()
    assert "hidden" not in ours
