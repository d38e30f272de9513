"""Trainings that go bad at step 500, each for another reason: the verdict names the exact operation and line."""

import io
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import nn

from stepscope import debug, open_logdir
from stepscope.debug.catching import npy_bytes
from stepscope.summary.debugger.recordings import RecordedData, read_recording

STEPS = 510
BAD_STEP = 500


class Network(nn.Module):  # type: ignore[misc]
    """Its last layer's output goes through a function that the batch can break."""

    def __init__(self, break_it: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.last = nn.Linear(4, 1)
        self.break_it = break_it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(x))
        return self.last(self.break_it(hidden) if self.training else hidden)


def log_of_zero(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x)


def division(x: torch.Tensor) -> torch.Tensor:
    total = x.sum(1, keepdim=True)
    return x / total


def overflow_of_fp16(x: torch.Tensor) -> torch.Tensor:
    half = (1 + x).half()
    return half.pow(6).float()


def nothing(x: torch.Tensor) -> torch.Tensor:
    return x


CAUSES = [
    (log_of_zero, 0.0, "aten.log", "return torch.log(x)", "8 -Inf of 8", "aten.relu from 0 to 0"),
    (division, 0.0, "aten.div", "return x / total", "8 NaN of 8", "aten.sum from 0 to 0"),
    (overflow_of_fp16, 5.0, "aten.pow", "return half.pow(6).float()", "8 +Inf of 8", "aten._to_copy from"),
    (nothing, math.nan, "Network:input", "loss = model(batch).square().sum()", "6 NaN of 6", "check the batch"),
]


def run_until_bad(step: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]]) -> None:
    for number in range(STEPS):
        step(*arguments(number))


def recorded(folder: Path) -> RecordedData:
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run)


@pytest.mark.parametrize(("break_it", "value", "name", "code", "counts", "reason"), CAUSES)
def test_pytorch_names_the_operation_and_its_line(
    tmp_path: Path, break_it: Any, value: float, name: str, code: str, counts: str, reason: str
) -> None:
    torch.manual_seed(0)
    model = Network(break_it)
    with torch.no_grad():
        model.first.weight.fill_(0.5)
        model.first.bias.fill_(0.0)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)

    def train_step(batch: torch.Tensor) -> torch.Tensor:
        loss = model(batch).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    with debug.watch(model, tmp_path, every=100, on_alert=None, optimizer=optimizer) as watcher:
        step = debug.catch(train_step, watcher)
        with pytest.raises(debug.CaughtError) as caught:
            run_until_bad(step, lambda number: (torch.full((2, 3), value if number == BAD_STEP else 0.7),))
    assert caught.value.step == BAD_STEP
    verdict = caught.value.verdict
    assert verdict is not None
    data = recorded(tmp_path)
    read_again = debug.first_bad(data)
    assert read_again is not None
    assert read_again.sentence == verdict.sentence
    assert data.tensors[read_again.tensor].name == name
    assert verdict.frame is not None
    assert (Path(verdict.frame.path).name, verdict.frame.code.strip()) == ("test_nan_at_500.py", code)
    assert counts in verdict.sentence
    assert reason in verdict.sentence
    if name != "Network:input":
        value_in_run = data.value(read_again.observation)
        saved = np.load(tmp_path / "caught" / f"step_500_{name}.npy")
        np.testing.assert_array_equal(value_in_run, saved)
        np.testing.assert_array_equal(debug.health(saved)[:4], [verdict.figures[f] for f in list(verdict.figures)[:4]])
        assert np.isfinite(np.load(tmp_path / "caught" / f"step_500_{name}_input0.npy")).all()


def test_a_step_that_is_left_out_changes_nothing(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    alone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    alone.load_state_dict(model.state_dict())
    batches = [torch.randn(5, 3) for _ in range(6)]
    batches.insert(3, torch.full((5, 3), math.nan))

    def step_of(own: nn.Module) -> Callable[[torch.Tensor], Any]:
        optimizer = torch.optim.Adam(own.parameters(), 0.1)

        def train_step(batch: torch.Tensor) -> float:
            optimizer.zero_grad()
            loss = own(batch).square().sum()
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        return train_step

    torch.manual_seed(1)
    expected = [step_alone(batch) for step_alone in [step_of(alone)] for batch in batches[:3] + batches[4:]]
    torch.manual_seed(1)
    with debug.watch(model, tmp_path, every=1, on_alert=None) as watcher:
        step = debug.catch(step_of(model), watcher, then="skip")
        losses = [step(batch) for batch in batches]
    assert losses == [*expected[:3], None, *expected[3:]]
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, msg=name)
    (found,) = step.caught
    assert (found.step, watcher.step_number) == (3, 7)


def test_an_exception_is_raised_as_it_is_unless_something_bad_led_to_it(tmp_path: Path) -> None:
    model = Network(nothing)

    def fails(batch: torch.Tensor) -> None:
        if not torch.isfinite(model(batch)).all():
            raise ValueError("the loss is not finite")
        raise KeyError("missing")

    with debug.watch(model, tmp_path, on_alert=None) as watcher:
        step = debug.catch(fails, watcher)
        with pytest.raises(KeyError, match="missing"):
            step(torch.ones(2, 3))
        with pytest.raises(debug.CaughtError, match="Network:input") as caught:
            step(torch.full((2, 3), math.inf))
        assert isinstance(caught.value.__cause__, ValueError)


def test_arguments_of_catch_are_checked(tmp_path: Path) -> None:
    watcher = debug.watch(Network(nothing), tmp_path)
    with watcher, pytest.raises(ValueError, match='`then` must be "raise" or "skip"'):
        debug.catch(lambda: None, watcher, then="ignore")  # type: ignore[arg-type]


def numpy_step(weights: dict[str, Any], x: Any, y: Any) -> float:
    hidden = np.maximum(x @ weights["kernel"], 0)
    share = hidden.sum(1) / hidden.sum()
    weights["kernel"] = weights["kernel"] - 1e-4 * (x.T @ (hidden - 1))
    return float(-(y * np.log(share)).mean())


@pytest.mark.filterwarnings("ignore:invalid value")
def test_numpy_names_the_function_and_its_line(tmp_path: Path) -> None:
    weights = {"kernel": np.ones((3, 2))}
    with debug.watch(numpy_step, tmp_path, every=100, on_alert=None, framework="numpy") as watcher:
        step = debug.catch(watcher, watcher)
        with pytest.raises(debug.CaughtError) as caught:
            run_until_bad(
                step, lambda number: (weights, np.full((4, 3), -1.0 if number == BAD_STEP else 1.0), np.ones(4))
            )
    before = weights["kernel"]
    assert type(before) is np.ndarray
    assert np.isfinite(before).all()
    data = recorded(tmp_path)
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert verdict.sentence == str(caught.value)
    assert verdict.sentence.startswith("Step 500: numpy.divide (float64) is the first with 4 NaN of 4 elements, at ")
    assert verdict.sentence.endswith(
        "in numpy_step: share = hidden.sum(1) / hidden.sum(). "
        "It produced them: its inputs were finite (numpy.add.reduce from 0 to 0)."
    )
    inputs = {tensor.name: [data.tensors[n].name for n in tensor.inputs] for tensor in data.tensors}
    assert inputs["numpy.matmul"] == ["x", "weights/kernel"]
    assert inputs["numpy.matmul#2"] == ["x", "numpy.subtract"]


def test_numpy_is_run_again_with_the_same_random_numbers_and_arguments(tmp_path: Path) -> None:
    def draw(order: Any, generator: np.random.Generator, weights: Any) -> float:
        numbers = random.random(), np.random.rand(), generator.random()
        drawn.append((*numbers, *order.tolist()))
        order += 1
        return float(np.log(weights).sum())

    drawn: list[tuple[float, ...]] = []
    order, generator = np.array([3, 5]), np.random.default_rng(0)
    with debug.watch(draw, tmp_path, every=100, on_alert=None, framework="numpy") as watcher:
        step = debug.catch(watcher, watcher, then="skip")
        with np.errstate(invalid="ignore"):
            assert [step(order, generator, weights) for weights in (np.ones(2), -np.ones(2), np.ones(2))] == [
                0,
                None,
                0,
            ]
    first, bad, again, after = drawn
    assert len({first, bad}) == 2
    assert (again, after) == (bad, bad)


def test_histograms_are_not_written_of_a_numpy_step_that_is_run_again(tmp_path: Path) -> None:
    def logarithm(x: Any) -> Any:
        return np.log(x)

    with debug.watch(logarithm, tmp_path, every=2, tensors="histogram", on_alert=None, framework="numpy") as watcher:
        step = debug.catch(watcher, watcher, then="skip")
        with np.errstate(invalid="ignore"):
            step(np.ones(2))
            step(-np.ones(2))
    (run,) = open_logdir(tmp_path).runs.values()
    assert {series.tag: series.steps.tolist() for series in run.of_kind("histograms")} == {
        "forward/x": [0],
        "forward/numpy.log": [0],
    }


def test_what_is_caught_lies_in_the_run_though_the_program_changed_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with debug.watch(lambda x: float(np.log(x).sum()), "run", every=100, on_alert=None, framework="numpy") as watcher:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        with np.errstate(divide="ignore"):
            assert debug.catch(watcher, watcher, then="skip")(np.zeros(2)) is None
    assert list((tmp_path / "other").iterdir()) == []
    assert [path.name for path in sorted((tmp_path / "run" / "caught").iterdir())] == [
        "step_0_numpy.log.npy",
        "step_0_numpy.log_input0.npy",
    ]


def test_what_numpy_has_no_type_for_is_saved_as_float32() -> None:
    content = npy_bytes(np.array([1.5, -2], ml_dtypes.bfloat16))
    loaded = np.load(io.BytesIO(content))
    assert (loaded.dtype, loaded.tolist()) == (np.float32, [1.5, -2])


def test_an_alert_about_finite_values_is_raised_as_it_is(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with torch.no_grad():
        model[0].bias.fill_(-10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train() -> torch.Tensor:
        loss = model(torch.ones(1, 2)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    with debug.watch(model, tmp_path, every=1, rules=["dead"], on_alert="raise") as watcher:
        step = debug.catch(train, watcher, then="skip")
        assert [float(step().detach()) for _ in range(2)] == [0, 0]
        with pytest.raises(debug.AlertError, match=r"step 2: 1 is 100\.0% zeros; expected under 95%"):
            step()
        assert (step.caught, watcher.step_number) == ([], 3)


class Trainer:
    """A training with two optimizers, a schedule, and scaled gradients."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        self.optimizers = [
            torch.optim.Adam(self.model[0].parameters(), 0.1),
            torch.optim.SGD(self.model[2].parameters(), 0.1, momentum=0.9),
        ]
        self.schedules = [torch.optim.lr_scheduler.StepLR(self.optimizers[1], 2, 0.5)]
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        self.watcher: debug.Watcher | None = None

    def train(self, batch: torch.Tensor) -> float:
        loss = self.model(batch).square().sum()
        self.scaler.scale(loss).backward()
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
            if not torch.isfinite(loss):
                raise ValueError("the loss is not finite, in the middle of a step")
            self.scaler.step(optimizer)
            optimizer.zero_grad()
        self.scaler.update()
        self.schedules[0].step()
        if self.watcher is not None:
            self.watcher.step()
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "schedule": self.schedules[0].state_dict(),
            "scaler": self.scaler.state_dict(),
        }


def test_a_step_that_is_left_out_changes_no_optimizer_no_schedule_and_no_scaler(tmp_path: Path) -> None:
    batches = [torch.randn(5, 3, generator=torch.Generator().manual_seed(n)) for n in range(6)]
    alone, own = Trainer(), Trainer()
    torch.manual_seed(1)
    expected = [alone.train(batch) for batch in batches]
    torch.manual_seed(1)
    with debug.watch(own.model, tmp_path, every=100, on_alert=None) as watcher:
        own.watcher = watcher
        watcher.step()
        step = debug.catch(own.train, watcher, then="skip")
        losses = [step(batch) for batch in [*batches[:3], torch.full((5, 3), math.inf), *batches[3:]]]
    assert losses == [*expected[:3], None, *expected[3:]]
    torch.testing.assert_close(own.state(), alone.state())
    assert own.scaler.get_scale() == 64.0


def test_what_a_step_keeps_elsewhere_is_put_back_where_it_is_named(tmp_path: Path) -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def state_dict(self) -> dict[str, int]:
            return {"count": self.count}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self.count = state["count"]

    counter, model = Counter(), nn.Linear(3, 1)

    def train_step(batch: torch.Tensor) -> torch.Tensor:
        counter.count += 1
        return model(batch).sum()

    with debug.watch(model, tmp_path, every=100, on_alert=None) as watcher:
        step = debug.catch(train_step, watcher, then="skip", also=[counter])
        step(torch.full((2, 3), math.nan))
        assert counter.count == 0
        step(torch.ones(2, 3))
        assert counter.count == 1
        with pytest.raises(TypeError, match="state_dict and load_state_dict, got int"):
            debug.catch(train_step, watcher, also=[3])
