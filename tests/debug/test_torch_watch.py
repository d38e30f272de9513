"""A PyTorch model is watched while it is trained."""

import math
import re
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from stepscope import SummaryWriter, debug, open_logdir
from stepscope.debug import watcher
from stepscope.debug.showing import LIVE
from stepscope.debug.torch_operations import Operation, Operations
from stepscope.debug.torch_watch import TorchWatcher
from stepscope.summary.debugger.model import FIGURES
from stepscope.summary.debugger.recordings import RecordedData, read_recording
from stepscope.summary.kinds.debug import value_tag

Train = Callable[[Any, int], None]


class Network(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.active = nn.ReLU()
        self.last = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.active(self.first(x))
        return self.last(hidden)


def recorded(folder: Path) -> RecordedData:
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int, batch: torch.Tensor | None = None) -> None:
    for _ in range(steps):
        loss = model(torch.ones(2, 3) if batch is None else batch).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def names(data: RecordedData) -> list[str]:
    return [f"{tensor.phase} {tensor.name}" for tensor in data.tensors]


def test_every_tensor_of_a_step_in_the_order_in_which_it_was_made(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with debug.watch(model, tmp_path, every=2):
        train(model, optimizer, 4)
    data = recorded(tmp_path)
    assert names(data) == [
        "parameter first.weight",
        "parameter first.bias",
        "parameter last.weight",
        "parameter last.bias",
        "forward Network:input",
        "forward first",
        "forward active",
        "forward last",
        "forward Network",
        "backward last",
        "backward Network",
        "backward active",
        "backward first",
        "backward first.weight",
        "backward first.bias",
        "backward last.weight",
        "backward last.bias",
        "update first.weight",
        "update first.bias",
        "update last.weight",
        "update last.bias",
    ]
    by_name = dict(zip(names(data), data.tensors, strict=True))
    first = by_name["forward first"]
    assert (first.module, first.op_type, first.dtype, first.shape) == ("first", "Linear", "float32", (2, 4))
    assert [names(data)[number] for number in first.inputs] == [
        "forward Network:input",
        "parameter first.weight",
        "parameter first.bias",
    ]
    assert first.stack is not None
    frames = data.stack(first.stack)
    assert [(Path(f.path).name, f.function, f.code.strip()) for f in frames[-1:]] == [
        ("test_torch_watch.py", "Network.forward", "hidden = self.active(self.first(x))")
    ]
    assert [names(data)[number] for number in by_name["backward first"].inputs] == ["backward active"]
    assert {s.path: s.lines for s in data.sources}[frames[-1].path][frames[-1].line - 1] == frames[-1].code
    assert by_name["backward first"].stack == first.stack
    found = data.observations(0, data.observation_count)
    assert found.steps.tolist() == [0] * 21 + [2] * 21
    assert (found.devices is not None and {data.devices[device] for device in found.devices}) == {"cpu"}
    assert data.problems == ()


def test_figures_are_those_of_the_values(tmp_path: Path) -> None:
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    weights = model.first.weight.detach().clone()
    with debug.watch(model, tmp_path):
        train(model, optimizer, 1)
    data = recorded(tmp_path)
    found = data.observations(0, data.observation_count)
    at = {name: found.figures[row] for name, row in zip(names(data), range(len(found)), strict=True)}
    gradient = model.first.weight.grad
    assert gradient is not None
    for name, value in (
        ("parameter first.weight", weights),
        ("backward first.weight", gradient),
        ("update first.weight", model.first.weight.detach() - weights),
    ):
        np.testing.assert_allclose(at[name], debug.health(value.numpy()), rtol=1e-5, err_msg=name)


class Lazy(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.LazyLinear(1), nn.LazyLinear(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def test_parameters_of_lazy_modules_are_watched_from_when_they_have_a_shape(tmp_path: Path) -> None:
    model = Lazy()
    with debug.watch(model, tmp_path):
        train(model, torch.optim.SGD(model.used.parameters(), 0.1), 1)
    assert names(recorded(tmp_path)) == [
        "forward Lazy:input",
        "parameter used.weight",
        "parameter used.bias",
        "forward used",
        "forward Lazy",
        "backward used",
        "backward Lazy",
        "backward used.weight",
        "backward used.bias",
        "update used.weight",
        "update used.bias",
    ]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.LBFGS])
def test_a_lazy_model_trains_on_while_its_operations_are_watched_and_its_steps_are_caught(
    tmp_path: Path, optimizer: Callable[..., torch.optim.Optimizer]
) -> None:
    model = Lazy()
    own = optimizer(model.used.parameters(), lr=0.1)
    with debug.watch(model, tmp_path, operations=True) as watcher:
        step = debug.catch(lambda: own.step(sum_of_ones(model, own)), watcher)
        for _ in range(2):
            step()
    assert "parameter used.weight" in names(recorded(tmp_path))


def times_four() -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(4)
    return model


def sum_of_ones(model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], torch.Tensor]:
    """Return the closure of a step."""

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(torch.ones(1, 1)).sum()
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("as_keyword", [False, True])
def test_gradients_that_a_closure_computes_are_those_of_its_step(tmp_path: Path, as_keyword: bool) -> None:
    model = times_four()
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    with debug.watch(model, tmp_path, every=1, rules=[]):
        for x in (1.0, 2.0):

            def closure(x: float = x) -> torch.Tensor:
                optimizer.zero_grad()
                loss = model(torch.full((1, 1), x)).sum()
                loss.backward()
                return loss

            optimizer.step(closure=closure) if as_keyword else optimizer.step(closure)
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("backward", 0, 1.0),
        ("update", 0, -0.5),
        ("parameter", 1, 3.5),
        ("backward", 1, 2.0),
        ("update", 1, -1.0),
    ]


def test_operations_of_a_closure_are_not_part_of_the_update(tmp_path: Path) -> None:
    model = times_four()
    optimizer = torch.optim.SGD(model.parameters(), 0.5)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(1, 1)).exp().sum()
        loss.backward()
        return loss

    with debug.watch(model, tmp_path, operations=True, gradients=False, rules=[]):
        optimizer.step(closure)
    phases = {t.op_type: (t.phase, t.module) for t in recorded(tmp_path).tensors}
    assert (phases["aten.exp"], phases["aten.add_"]) == (("forward", ""), ("update", "SGD"))


def test_of_a_closure_that_is_called_several_times_the_last_gradients_count(tmp_path: Path) -> None:
    model = times_four()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.25, max_iter=2)
    gradients: list[float] = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(1, 1)).square().sum()
        loss.backward()
        gradients.append(model.weight.grad.item())
        return loss

    with debug.watch(model, tmp_path, rules=[]):
        optimizer.step(closure)
    assert len(gradients) == 2
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("backward", 0, gradients[-1]),
        ("update", 0, model.weight.item() - 4),
    ]


@pytest.mark.parametrize("counts_steps", [False, True])
def test_of_a_closure_that_is_called_several_times_the_last_gradients_are_written(
    tmp_path: Path, counts_steps: bool
) -> None:
    model = times_four()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.25, max_iter=2)
    gradients: list[float] = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(1, 1)).square().sum()
        loss.backward()
        gradients.append(model.weight.grad.item())
        return loss

    with debug.watch(model, tmp_path, every=1, tensors="histogram", rules=[]) as watcher:
        for _ in range(2):
            optimizer.step(closure)
            if counts_steps:
                watcher.step()
    series = open_logdir(tmp_path).runs["."].series["backward/weight"]
    assert series.steps.tolist() == [0, 1]
    assert [series.read(index).buckets.tolist() for index in range(2)] == [
        [[gradient, gradient, 1]] for gradient in gradients[1::2]
    ]


def test_no_copy_of_parameters_is_held_while_a_closure_runs(tmp_path: Path) -> None:
    model = times_four()
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    copies: list[int] = []

    class Clones(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            if func is torch.ops.aten.clone.default:
                alive.add(made)
            return made

    alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()

    def closure() -> torch.Tensor:
        copies.append(len(alive))
        optimizer.zero_grad()
        loss = model(torch.ones(1, 1)).sum()
        loss.backward()
        return loss

    with debug.watch(model, tmp_path, every=1, rules=[]), Clones():
        optimizer.step(closure)
        optimizer.step(closure)
    assert copies == [0, 0]
    updates = [seen for seen in observed_means(recorded(tmp_path), "weight") if seen[0] == "update"]
    assert updates == [("update", 0, -0.5), ("update", 1, -0.5)]


def test_an_update_includes_what_an_optimizer_changes_before_it_calls_the_closure(tmp_path: Path) -> None:
    class Climbing(torch.optim.Optimizer):  # type: ignore[misc]
        """Like sharpness-aware minimization, but it stays where it climbs to."""

        def step(self, closure: Any = None) -> None:
            with torch.no_grad():
                model.weight.add_(model.weight.grad)
            closure()
            with torch.no_grad():
                model.weight.sub_(model.weight.grad / 2)

    model = times_four()
    optimizer = Climbing(model.parameters(), {})
    closure = sum_of_ones(model, optimizer)
    with debug.watch(model, tmp_path, rules=[]):
        closure()
        optimizer.step(closure)
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("backward", 0, 1.0),
        ("update", 0, 0.5),
    ]


def test_an_update_includes_what_an_optimizer_without_gradients_changes_before_it_calls_the_closure(
    tmp_path: Path,
) -> None:
    class Extrapolating(torch.optim.Optimizer):  # type: ignore[misc]
        """Moves on as in the step before, like a schedule-free optimizer."""

        def step(self, closure: Any = None) -> None:
            with torch.no_grad():
                model.weight.sub_(1)
            closure()
            with torch.no_grad():
                model.weight.sub_(model.weight.grad / 2)

    model = times_four()
    optimizer = Extrapolating(model.parameters(), {})
    closure = sum_of_ones(model, optimizer)
    with debug.watch(model, tmp_path, rules=[]):
        optimizer.step(closure)
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("backward", 0, 1.0),
        ("update", 0, -1.5),
    ]


@pytest.mark.parametrize("has_nan", [False, True])
@pytest.mark.parametrize("operations", [False, True])
def test_parameters_that_a_closure_does_not_use_have_no_update(tmp_path: Path, operations: bool, has_nan: bool) -> None:
    model = nn.ModuleDict({"odd": times_four(), "even": times_four()})
    model_names = [name for name, _ in model.named_parameters()]
    if has_nan:
        with torch.no_grad():
            model["even"].weight.fill_(math.nan)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    with debug.watch(model, tmp_path, every=1, operations=operations, rules=[]):
        for name in ("even", "odd"):

            def closure(name: str = name) -> torch.Tensor:
                optimizer.zero_grad()
                loss = model[name](torch.ones(1, 1)).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
    data = recorded(tmp_path)
    found = data.observations(0, data.observation_count)
    seen = [(data.tensors[tensor], step) for tensor, step in zip(found.tensors, found.steps, strict=True)]
    updates = [(tensor.name, step) for tensor, step in seen if tensor.phase == "update" and tensor.name in model_names]
    assert updates == [("even.weight", 0), ("odd.weight", 1)]


def test_operations_after_an_optimizer_that_raised_are_not_part_of_its_update(tmp_path: Path) -> None:
    class Strict(torch.optim.SGD):  # type: ignore[misc]
        def step(self, closure: Any = None) -> None:
            raise FloatingPointError

    model = times_four()
    optimizer = Strict(model.parameters(), 0.5)
    with debug.watch(model, tmp_path, operations=True, rules=[]):
        for function in (torch.exp, torch.sin):
            function(model(torch.ones(1, 1))).sum().backward()
            with pytest.raises(FloatingPointError):
                optimizer.step()
    phases = {t.op_type: (t.phase, t.module) for t in recorded(tmp_path).tensors}
    assert (phases["aten.exp"], phases["aten.sin"]) == (("forward", ""), ("forward", ""))


def test_a_step_that_calls_that_of_its_parent_class_is_one_step(tmp_path: Path) -> None:
    class Own(torch.optim.SGD):  # type: ignore[misc]
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    model = times_four()
    optimizer = Own(model.parameters(), 0.5)
    # PyTorch calls hooks for the steps of classes that have been used themselves.
    torch.optim.SGD(model.parameters(), 0.5)
    with debug.watch(model, tmp_path, every=1, rules=[]):
        for x in (1.0, 2.0):
            optimizer.zero_grad()
            model(torch.full((1, 1), x)).sum().backward()
            optimizer.step()
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("backward", 0, 1.0),
        ("update", 0, -0.5),
        ("parameter", 1, 3.5),
        ("backward", 1, 2.0),
        ("update", 1, -1.0),
    ]


def test_steps_that_raised_and_steps_within_steps_do_not_change_what_a_step_is(tmp_path: Path) -> None:
    class Trying(torch.optim.SGD):  # type: ignore[misc]
        def step(self, closure: Any = None) -> Any:
            with suppress(FloatingPointError):
                super().step(fail)
            return super().step(closure)

    def fail() -> Any:
        raise FloatingPointError

    def fail_otherwise() -> Any:
        raise ZeroDivisionError

    model = times_four()
    optimizer = Trying(model.parameters(), 0.5)
    torch.optim.SGD(model.parameters(), 0.5)
    with debug.watch(model, tmp_path, every=1, rules=[], include="weight", gradients=False):
        for x in (1.0, 2.0):
            optimizer.zero_grad()
            model(torch.full((1, 1), x)).sum().backward()
            with pytest.raises(ZeroDivisionError):
                optimizer.step(fail_otherwise)
            optimizer.step()
    assert observed_means(recorded(tmp_path), "weight") == [
        ("parameter", 0, 4.0),
        ("update", 0, -0.5),
        ("parameter", 1, 3.5),
        ("update", 1, -1.0),
    ]


def test_a_compiled_step_of_an_optimizer_is_a_step_and_warns_of_nothing(tmp_path: Path) -> None:
    model = times_four()
    optimizer = torch.optim.SGD(model.parameters(), 0.5)

    @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
    def update() -> None:
        optimizer.step()

    torch.compiler.reset()
    with warnings.catch_warnings(record=True) as warned, debug.watch(model, tmp_path, every=1, rules=[]):
        warnings.simplefilter("always")
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 1)).sum().backward()
            update()
    assert [str(each.message) for each in warned if "_getframe" in str(each.message)] == []
    updates = [seen for seen in observed_means(recorded(tmp_path), "weight") if seen[0] == "update"]
    assert updates == [("update", 0, -0.5), ("update", 1, -0.5)]


def observed_means(data: RecordedData, name: str) -> list[tuple[str, int, float]]:
    found = data.observations(0, data.observation_count)
    means = found.figures[:, FIGURES.index("mean")].tolist()
    return [
        (data.tensors[tensor].phase, int(step), mean)
        for tensor, step, mean in zip(found.tensors, found.steps, means, strict=True)
        if data.tensors[tensor].name == name
    ]


def test_the_state_of_the_optimizer_is_watched_where_asked(tmp_path: Path) -> None:
    model = Network()
    optimizer = torch.optim.Adam(model.parameters())
    with debug.watch(model, tmp_path, optimizer_state=True, include="last", rules=()):
        train(model, optimizer, 1)
    data = recorded(tmp_path)
    state = [tensor.name for tensor in data.tensors if tensor.phase == "update" and "/" in tensor.name]
    assert state == [f"last.{name}/{average}" for name in ("weight", "bias") for average in ("exp_avg", "exp_avg_sq")]
    found = data.observations(0, data.observation_count)
    at = next(row for row, tensor in enumerate(found.tensors) if data.tensors[tensor].name == "last.weight/exp_avg_sq")
    average = optimizer.state[model.last.weight]["exp_avg_sq"]
    np.testing.assert_allclose(found.figures[at], debug.health(average.numpy()), rtol=1e-5)


def test_a_choice_of_names(tmp_path: Path) -> None:
    model = Network()
    with debug.watch(model, tmp_path, include=["last"], exclude=re.compile("bias$"), gradients=False, updates=False):
        train(model, torch.optim.SGD(model.parameters(), 0.1), 1)
    assert names(recorded(tmp_path)) == ["parameter last.weight", "forward last:input", "forward last"]


def test_modules_that_are_called_twice_and_give_several_outputs(tmp_path: Path) -> None:
    class Twice(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.split = Split()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            left, right = self.split(x)
            return self.split(left)[0] + right["right"]

    class Split(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            return x + 1, {"right": x - 1}

    model = Twice()
    with debug.watch(model, tmp_path) as watcher:
        model(torch.zeros(2))
        watcher.step()
    assert names(recorded(tmp_path)) == [
        "forward Twice:input",
        "forward split",
        "forward split:1",
        "forward split#2",
        "forward split:1#2",
        "forward Twice",
    ]


def test_modules_that_run_in_several_threads_keep_their_own_statistics(tmp_path: Path) -> None:
    model = nn.ModuleList([nn.Linear(2, 3), nn.Linear(4, 5)])

    def run(module: nn.Linear) -> None:
        for _ in range(60):
            module(torch.ones(1, module.in_features))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with debug.watch(model, tmp_path, rules=[]) as watcher:
            threads = [threading.Thread(target=run, args=(module,)) for module in model]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            watcher.step()
    finally:
        sys.setswitchinterval(interval)
    data = recorded(tmp_path)
    found = data.observations(0, data.observation_count)
    sizes = found.figures[:, FIGURES.index("size")].tolist()
    assert len(found) == 4 + 2 * 60 * 2
    assert sizes == [math.prod(data.tensors[tensor].shape) for tensor in found.tensors]


def test_the_operations_of_a_module_are_its_own_though_another_thread_runs_another(tmp_path: Path) -> None:
    inside, over = threading.Event(), threading.Event()

    class Waiting(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.set()
            over.wait()
            return x

    class Beside(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.waiting = Waiting()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            thread = threading.Thread(target=self.waiting, args=(x,))
            thread.start()
            inside.wait()
            result = x.exp()
            over.set()
            thread.join()
            return result

    model = nn.Sequential(Beside())
    with debug.watch(model, tmp_path, operations=True) as watcher:
        model(torch.zeros(2))
        watcher.step()
    assert [t.name for t in recorded(tmp_path).tensors if t.op_type == "aten.exp"] == ["0/aten.exp"]


def test_a_function_that_pytorch_transforms_is_left_alone(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, parameters, (x,)).sum()

    with debug.watch(model, tmp_path, every=1, rules=[]) as watcher:
        gradients = torch.vmap(torch.func.grad(loss), (None, 0))(parameters, torch.ones(3, 2))
        model(torch.ones(3, 2))
        watcher.step()
    assert gradients["weight"].tolist() == [[[1, 1]]] * 3
    assert names(recorded(tmp_path)) == [
        "parameter weight",
        "parameter bias",
        "forward Linear:input",
        "forward Linear",
    ]


def test_operations_of_a_thread_are_seen_while_another_thread_measures(tmp_path: Path) -> None:
    with debug.watch(nn.Identity(), tmp_path, operations=True, rules=[]) as watcher:
        assert isinstance(watcher, TorchWatcher)

        def run() -> None:
            with Operations(watcher):
                torch.zeros(2)

        def run_beside(operation: Operation, numbers: list[int | None]) -> None:
            watcher.on_operation = None
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()

        watcher.on_operation = run_beside
        torch.ones(2)
        watcher.step()
    assert names(recorded(tmp_path)) == ["forward aten.ones", "forward aten.zeros"]


def test_histograms_and_whole_values(tmp_path: Path) -> None:
    for detail in ("histogram", "full"):
        model = Network()
        with debug.watch(model, tmp_path / detail, tensors=detail, include="first"):
            train(model, torch.optim.SGD(model.parameters(), 0.1), 1)
    runs = open_logdir(tmp_path).runs
    assert [series.tag for series in runs["histogram"].of_kind("histograms")][:2] == [
        "parameter/first.weight",
        "parameter/first.bias",
    ]
    data = read_recording(runs["full"])
    row = names(data).index("forward first")
    value = data.value(row)
    assert value is not None
    assert value.shape == (2, 4)
    np.testing.assert_allclose(debug.health(value), data.observations(row, row + 1).figures[0], rtol=1e-6)
    assert read_recording(runs["histogram"]).value(row) is None


def test_values_of_any_layout_and_type_are_written(tmp_path: Path) -> None:
    class Spectrum(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(3, 2, sparse=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.complex(self.words(x), torch.zeros(len(x), 2))

    for detail in ("histogram", "full"):
        model = Spectrum()
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        with debug.watch(model, tmp_path / detail, every=1, tensors=detail, include=["words.weight", "Spectrum"]):
            for batch in (torch.tensor([1, 1]), torch.tensor([], dtype=torch.int64)):
                optimizer.zero_grad()
                model(batch).real.sum().backward()
                optimizer.step()
    runs = open_logdir(tmp_path).runs
    counts = {
        s.tag: [s.read(n).buckets[:, 2].sum() for n in range(len(s.steps))]
        for s in runs["histogram"].of_kind("histograms")
    }
    assert counts == {
        "parameter/words.weight": [6, 6],
        "forward/Spectrum:input": [2],
        "forward/Spectrum": [8],
        "backward/Spectrum": [8],
        "backward/words.weight": [2],
        "update/words.weight": [6, 6],
    }
    data = read_recording(runs["full"])
    observed = data.observations(0, data.observation_count)
    for row, size in enumerate(observed.figures[:, FIGURES.index("size")]):
        value = data.value(row)
        assert value is not None
        assert value.size * (1 + np.iscomplexobj(value)) == size


def test_a_value_that_is_too_large_is_measured_but_not_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "MOST_VALUE_BYTES", 31)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    with debug.watch(model, tmp_path, every=1, tensors="full", include=["0", "1"]) as watched:
        model(torch.ones(2, 3))
        watched.step()
    data = recorded(tmp_path)
    note = "0 is too large to be written whole (32 bytes): its statistics are."
    assert note in data.problems
    row = found_row(data, 0, "forward 0")
    assert data.observations(row, row + 1).figures[0, FIGURES.index("size")] == 8
    (run,) = open_logdir(tmp_path).runs.values()
    assert value_tag("forward", "1") in run.series
    assert value_tag("forward", "0") not in run.series


def test_nothing_is_on_the_model_between_recorded_steps_or_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LIVE, "active", False)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def hooks() -> int:
        return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())

    with debug.watch(model, tmp_path, every=3):
        counts = []
        for _ in range(4):
            counts.append(hooks())
            train(model, optimizer, 1)
    assert counts == [8, 0, 0, 8]
    assert hooks() == 0
    train(model, optimizer, 1)
    assert set(recorded(tmp_path).observations(0, 10**6).steps.tolist()) == {0, 3}


def test_evaluation_is_left_out_unless_it_is_asked_for(tmp_path: Path) -> None:
    for asked in (False, True):
        model = Network().eval()
        with debug.watch(model, tmp_path / str(asked), evaluation=asked) as watcher:
            with torch.no_grad():
                model(torch.ones(1, 3))
            watcher.step()
    runs = open_logdir(tmp_path).runs
    assert [len(read_recording(runs[str(asked)]).tensors) for asked in (False, True)] == [4, 9]


def test_the_ring_is_written_when_a_rule_is_broken_and_the_first_bad_value_is_named(tmp_path: Path) -> None:
    class Logarithm(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log(x)

    model = nn.Sequential(nn.Linear(3, 4), Logarithm(), nn.Linear(4, 1))
    with torch.no_grad():
        model[0].weight.fill_(1)
        model[0].bias.fill_(0)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with debug.watch(model, tmp_path, every=10, ring=3, rules=["not_finite"], on_alert=None) as watcher:
        train(model, optimizer, 17)
        train(model, optimizer, 1, torch.zeros(2, 3))
        train(model, optimizer, 1)
    data = recorded(tmp_path)
    assert sorted(set(data.observations(0, 10**6).steps.tolist())) == [0, 10, 15, 16, 17, 18]
    assert watcher.alerts[0].message == "1 has 8 -Inf of 8 elements; all should be finite"
    assert [(a.rule, a.step, a.tensor, a.observation) for a in data.alerts][:1] == [
        ("not_finite", 17, names(data).index("forward 1"), found_row(data, 17, "forward 1"))
    ]
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert (verdict.step, verdict.part, data.tensors[verdict.tensor].name) == (17, "producer", "1")
    assert verdict.sentence == (
        "Step 17: 1 (float32) is the first with 8 -Inf of 8 elements, at "
        f"{verdict.frame.path}:{verdict.frame.line} in train: {verdict.frame.code.strip()}. "  # type: ignore[union-attr]
        "It produced them: its inputs were finite (0 from 0 to 0)."
    )


def found_row(data: RecordedData, step: int, name: str) -> int:
    found = data.observations(0, data.observation_count)
    number = names(data).index(name)
    (row,) = np.flatnonzero((found.steps == step) & (found.tensors == number)).tolist()
    return int(row)


def test_an_alert_raises_where_it_is_asked_to(tmp_path: Path) -> None:
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with debug.watch(model, tmp_path, every=1, on_alert="raise"):
        train(model, optimizer, 1)
        with pytest.raises(debug.AlertError, match="step 1: Network:input has 6 NaN of 6 elements"):
            train(model, optimizer, 1, torch.full((2, 3), float("nan")))
    assert recorded(tmp_path).alerts[0].rule == "not_finite"


def test_an_exception_writes_the_ring(tmp_path: Path) -> None:
    model = Network()
    watcher = debug.watch(model, tmp_path, every=100, ring=2, rules=[])
    train(model, torch.optim.SGD(model.parameters(), 0.1), 5)
    with pytest.raises(ZeroDivisionError), watcher:
        1 / 0  # noqa: B018
    assert sorted(set(recorded(tmp_path).observations(0, 10**6).steps.tolist())) == [0, 3, 4]


def test_the_ring_is_written_by_hand(tmp_path: Path) -> None:
    model = Network()
    with debug.watch(model, tmp_path, every=100, ring=2, rules=[]) as watched:
        train(model, torch.optim.SGD(model.parameters(), 0.1), 5)
        assert (watched.dump(), watched.dump()) == (2, 0)
        assert sorted(set(recorded(tmp_path).observations(0, 10**6).steps.tolist())) == [0, 3, 4]


def test_a_writer_that_is_given_stays_open_and_scalars_go_with_the_steps(tmp_path: Path) -> None:
    model = Network()
    with SummaryWriter(tmp_path) as writer:
        with debug.watch(model, writer, every=1) as watcher:
            for loss in (3.0, 2.0):
                model(torch.ones(1, 3))
                watcher.step(**{"loss/train": torch.tensor(loss)})
        writer.add_scalar("after", 1.0, 0)
    (run,) = open_logdir(tmp_path).runs.values()
    assert run.series["loss/train"].values.tolist() == [3, 2]
    assert run.series["loss/train"].steps.tolist() == [0, 1]
    assert "after" in run.series


def test_scalars_after_the_optimizer_go_with_the_step_that_it_ended(tmp_path: Path) -> None:
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with debug.watch(model, tmp_path, every=1) as watcher:
        for loss in (3.0, 2.0, 1.0):
            train(model, optimizer, 1)
            watcher.step(**{"loss/train": loss})
        assert watcher.step_number == 3
    (run,) = open_logdir(tmp_path).runs.values()
    assert (run.series["loss/train"].steps.tolist(), run.series["loss/train"].values.tolist()) == ([0, 1, 2], [3, 2, 1])
    assert sorted(set(recorded(tmp_path).observations(0, 10**6).steps.tolist())) == [0, 1, 2]


def test_a_frozen_parameter_need_not_change(tmp_path: Path) -> None:
    model = Network()
    model.first.requires_grad_(requires_grad=False)
    with debug.watch(model, tmp_path, every=1, rules=["unchanged"], on_alert=None) as watcher:
        train(model, torch.optim.SGD(model.parameters(), 0.0), 4)
    assert [alert.message for alert in watcher.alerts] == [
        "the parameter last.weight no longer changes, though it is trained",
        "the parameter last.bias no longer changes, though it is trained",
    ]


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        debug.watch(Network(), "x", every=0)
    with pytest.raises(ValueError, match='tensors must be "health", "histogram" or "full"'):
        debug.watch(Network(), "x", tensors="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no rule 'nan'; expected some of not_finite, exploding"):
        debug.watch(Network(), "x", rules=["nan"])
    with pytest.raises(TypeError, match="model must be"):
        debug.watch(3, "x")
