"""The tracker for Accelerate, in a single-process program."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("accelerate", reason="Accelerate is not installed: see make test-integrations")

from accelerate import Accelerator

from stepscope.summary import open_logdir
from stepscope.summary.integrations.accelerate import StepscopeTracker


def test_a_tracker(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    accelerator = Accelerator(cpu=True, log_with=StepscopeTracker("first", tmp_path))
    accelerator.init_trackers("first", config={"lr": 0.5, "layers": 2, "tags": ["a"]})
    for step in range(3):
        accelerator.log({"loss": 0.5 / 2**step, "accuracy": np.float32(step), "both": {"a": 1, "b": 2}}, step=step)
    accelerator.log({"note": "*fine*"}, step=2)
    tracker = accelerator.get_tracker("stepscope")
    tracker.log_images({"pictures": np.zeros((2, 4, 4, 3))}, step=1, dataformats="NHWC")
    accelerator.end_training()
    written = scalars(tmp_path)
    assert written["first"] == {
        "loss": [(0, 0.5), (1, 0.25), (2, 0.125)],
        "accuracy": [(0, 0.0), (1, 1.0), (2, 2.0)],
    }
    assert written["first/both_a"] == {"both": [(0, 1.0), (1, 1.0), (2, 1.0)]}
    series = open_logdir(tmp_path).runs["first"].series
    assert series["note/text_summary"].read(0).strings.item() == "*fine*"
    assert len(series["pictures"].read(0).encoded) == 2
    (session,) = open_logdir(tmp_path).hparams().to_dicts()
    assert {name: session[name] for name in ("lr", "layers", "tags", "status")} == {
        "lr": 0.5,
        "layers": 2,
        "tags": "['a']",
        "status": "success",
    }


def test_a_tracker_that_was_not_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"call Accelerator\.init_trackers first"):
        StepscopeTracker("first", tmp_path).log({"loss": 1.0})
