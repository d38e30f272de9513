"""What each rule finds in values and curves, and what it leaves alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stepscope import debug
from stepscope.debug.rules import ALL, named
from stepscope.debug.tensor_rules import TensorRule
from stepscope.summary.debugger.model import FIGURES, Observations, WatchedTensor
from tests.dashboard.debugger.recorded import Recorded

ReLU = WatchedTensor("active", "forward", "active", "ReLU")
TANH = WatchedTensor("squashed", "forward", "squashed", "Tanh")
OUTPUT = WatchedTensor("layer", "forward", "layer", "Linear")
GRADIENT = WatchedTensor("layer.weight", "backward")
WEIGHT = WatchedTensor("layer.weight", "parameter")
UPDATE = WatchedTensor("layer.weight", "update")
ONE = np.ones(100)


def recorded(tensors: Sequence[WatchedTensor], steps: Sequence[Sequence[Any]]) -> Recorded:
    """Return a recording with one value of each tensor per step."""
    count = len(tensors) * len(steps)
    return Recorded(
        tensors,
        Observations(
            np.tile(np.arange(len(tensors), dtype=np.int32), len(steps)),
            np.repeat(np.arange(len(steps)), len(tensors)),
            np.arange(count, dtype=np.float64),
            np.array([debug.health(value) for values in steps for value in values]).reshape(count, len(FIGURES)),
        ),
    )


def zeros(share: int) -> NDArray[np.float64]:
    return (np.arange(100) >= share).astype(np.float64)


@pytest.mark.parametrize(
    ("rule", "tensors", "steps", "at"),
    [
        ("not_finite", [OUTPUT], [[ONE], [ONE * np.nan]], [1]),
        ("exploding", [OUTPUT], [*[[ONE]] * 4, [ONE * 1001]], [4]),
        ("exploding", [OUTPUT], [*[[ONE]] * 4, [ONE * 999]], []),
        ("vanishing", [GRADIENT], [[ONE * 9e-8]] * 3, [2]),
        ("vanishing", [GRADIENT], [[ONE * 9e-8]] * 2 + [[ONE]], []),
        ("vanishing", [OUTPUT], [[ONE * 9e-8]] * 3, []),
        ("dead", [ReLU], [[zeros(95)]] * 3, [2]),
        ("dead", [ReLU], [[zeros(94)]] * 3, []),
        ("dead", [OUTPUT], [[zeros(95)]] * 3, []),
        ("saturated", [TANH], [[ONE * 0.999]] * 3, [2]),
        ("saturated", [TANH], [[ONE * 0.99]] * 3, []),
        ("all_zero", [GRADIENT], [[ONE * 0]] * 3, [2]),
        ("all_zero", [GRADIENT], [[zeros(99)]] * 3, []),
        ("unchanged", [WEIGHT], [[ONE]] * 4, [3]),
        ("unchanged", [WEIGHT], [[ONE * (1 + step / 1e4)] for step in range(4)], []),
        ("update_ratio", [WEIGHT, UPDATE], [[ONE, ONE * 11]] * 3, [2]),
        ("update_ratio", [WEIGHT, UPDATE], [[ONE, ONE * 9]] * 3, []),
        ("update_ratio", [WEIGHT, UPDATE], [[ONE, ONE * 9e-9]] * 3, [2]),
    ],
)
def test_a_rule_of_values_is_broken_beyond_its_threshold(
    rule: str, tensors: list[WatchedTensor], steps: list[list[Any]], at: list[int]
) -> None:
    found = debug.judge(recorded(tensors, steps), rules=named([rule]))
    assert [(alert.rule, alert.step) for alert in found] == [(rule, step) for step in at]


@dataclass(frozen=True)
class Points:
    """A curve."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]


def points(values: Sequence[float]) -> Points:
    return Points(np.arange(len(values)), np.arange(len(values), dtype=np.float64), np.array(values, np.float64))


NOISE = [1 + (step % 3) / 100 for step in range(25)]
FALLING = [1 / (1 + step) for step in range(30)]


@pytest.mark.parametrize(
    ("rule", "curves", "at"),
    [
        ("loss_not_decreasing", {"loss": [1.0] * 30}, [28]),
        ("loss_not_decreasing", {"loss": FALLING}, []),
        ("loss_spike", {"loss": [*NOISE, 3.0, 1.0]}, [25]),
        ("loss_spike", {"loss": [*NOISE, 1.5]}, []),
        ("loss_spike", {"loss": [1.0, float("nan")]}, [1]),
        ("loss_spike", {"accuracy": [*NOISE, 3.0]}, []),
        ("overfit", {"loss/train": FALLING, "loss/validation": FALLING[:10] + [0.2] * 20}, [12]),
        ("overfit", {"loss/train": FALLING, "loss/validation": FALLING}, []),
        ("class_imbalance", {"labels/cat": [1_000.0], "labels/dog": [90.0]}, [0]),
        ("class_imbalance", {"labels/cat": [1_000.0], "labels/dog": [101.0]}, []),
        ("class_imbalance", {"labels/cat": [400.0], "labels/dog": [20.0]}, []),
    ],
)
def test_a_rule_of_curves_is_broken_beyond_its_threshold(
    rule: str, curves: dict[str, list[float]], at: list[int]
) -> None:
    scalars = {tag: points(values) for tag, values in curves.items()}
    found = debug.judge(recorded([], []), scalars, rules=named([rule]))
    assert [(alert.rule, alert.step) for alert in found] == [(rule, step) for step in at]


def test_every_rule_says_where_its_thresholds_are_from() -> None:
    assert {rule.name for rule in ALL if not (rule.about and rule.source)} == set()


def test_what_a_rule_goes_by_of_a_tensor_is_asked_once_for_each() -> None:
    asked: list[str] = []

    def trait(tensor: WatchedTensor) -> bool:
        asked.append(tensor.name)
        return True

    (rule,) = named(["not_finite"])
    assert isinstance(rule, TensorRule)
    found = debug.judge(recorded([OUTPUT, WEIGHT], [[ONE, -ONE * np.inf]] * 5), rules=[replace(rule, trait=trait)])
    assert (asked, found) == (["layer", "layer.weight"], ())
