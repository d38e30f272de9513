"""What else a PyTorch watcher can do: operations, compiled models, live tensors, dumps, nothing at all."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from torch import nn
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from stepscope import SummaryWriter, debug, open_logdir
from stepscope.dashboard.debugger.comparison import compare
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.debug.live import LiveTensors
from stepscope.debug.torch_live import LiveView
from stepscope.summary.debugger.recordings import RecordedData, has_recording, read_recording
from stepscope.summary.debugger.tfdbg import open_dump
from stepscope.summary.debugger.tfdbg_data import TfdbgData


def recorded(folder: Path) -> RecordedData:
    run = open_logdir(folder).runs["."]
    return read_recording(run)


def names(data: RecordedData, phase: str) -> list[str]:
    return [tensor.name for tensor in data.tensors if tensor.phase == phase]


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def train(own: nn.Module, steps: int = 1) -> None:
    optimizer = torch.optim.SGD(own.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        own(torch.ones(2, 3)).square().sum().backward()
        optimizer.step()


def test_single_operations_with_what_they_took(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, operations=True, updates=False, rules=()):
        train(own)
    data = recorded(tmp_path)
    operations = {
        f"{tensor.phase} {tensor.name}": [data.tensors[n].name for n in tensor.inputs]
        for tensor in data.tensors
        if "." in tensor.op_type
    }
    assert operations["forward 0/aten.addmm"] == ["0.bias", "aten.ones", "0.weight"]
    assert operations["forward 1/aten.tanh"] == ["0"]
    assert operations["forward aten.pow"] == ["Sequential"]
    assert operations["backward 1/aten.tanh_backward"] == ["2/aten.mm", "1"]
    assert any(name.startswith("update SGD/aten.add") for name in operations)
    lines = {
        tensor.name: data.stack(tensor.stack)[-1].code.strip() for tensor in data.tensors if tensor.stack is not None
    }
    assert lines["1/aten.tanh_backward"] == "own(torch.ones(2, 3)).square().sum().backward()"


@pytest.mark.parametrize("is_compiled_before", [False, True])
@pytest.mark.parametrize("compiled", ["outside", "eager"])
def test_compiled_models_are_named_as_such(tmp_path: Path, compiled: Any, is_compiled_before: bool) -> None:
    own = model()
    wrapped = torch.compile(own, backend="eager")
    if is_compiled_before:
        train(wrapped)
    with debug.watch(wrapped, tmp_path, compiled=compiled, updates=False):
        train(wrapped)
    data = recorded(tmp_path)
    assert names(data, "parameter") == ["0.weight", "0.bias", "2.weight", "2.bias"]
    (note,) = data.problems
    assert note.startswith("Compiled by torch.compile: Sequential. ")
    if compiled == "eager":
        assert names(data, "forward") == ["Sequential:input", "0", "1", "2", "Sequential"]
        assert "Recorded steps run without it" in note
    else:
        assert names(data, "forward") == ["Sequential:input", "Sequential"]
        assert "Inside it, only parameters, their gradients and updates are observed" in note
    torch._dynamo.reset()


def test_the_first_difference_of_a_compiled_model_from_an_eager_one(tmp_path: Path) -> None:
    def trained(name: str, scale: float, *, compiled: bool) -> OpenedDebug:
        own = model()
        with torch.no_grad():
            own[2].weight.mul_(scale)
        called = torch.compile(own, backend="aot_eager") if compiled else own
        with debug.watch(called, tmp_path / name, every=1):
            train(called)
        return OpenedDebug(recorded(tmp_path / name))

    eager = trained("eager", 1.0, compiled=False)
    same = compare(eager, trained("compiled", 1.0, compiled=True), 1e-5)
    # Inside the compiled model, only parameters, gradients and updates are compared.
    assert (same.differences, same.compared) == ([], 15)
    other = compare(eager, trained("other", 1.5, compiled=True), 1e-5)
    assert eager.data.tensors[other.differences[0].tensor].name == "2.weight"
    torch._dynamo.reset()


def test_a_model_compiled_in_place_trains_while_it_is_watched(tmp_path: Path) -> None:
    own = model()
    own.compile(backend="eager")
    with debug.watch(own, tmp_path, updates=False):
        train(own, 2)
    data = recorded(tmp_path)
    assert names(data, "forward") == []
    assert names(data, "backward") == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert data.problems[0].startswith("Compiled by torch.compile: Sequential. Inside it, only parameters")
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("compiled", "observed", "hidden"),
    [
        (torch.jit.script, ["Sequential:input", "0", "Sequential"], "1"),
        (lambda inner: torch.jit.trace(inner, torch.ones(2, 3)), ["Sequential:input", "0", "1", "Sequential"], "1.0"),
    ],
)
def test_modules_compiled_by_torchscript_are_named_and_the_others_watched(
    tmp_path: Path, compiled: Callable[[nn.Module], nn.Module], observed: list[str], hidden: str
) -> None:
    own = nn.Sequential(nn.Linear(3, 3), compiled(nn.Sequential(nn.Linear(3, 1))))
    with debug.watch(own, tmp_path):
        train(own)
    data = recorded(tmp_path)
    parameters = ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    assert {phase: names(data, phase) for phase in ("parameter", "forward", "update")} == {
        "parameter": parameters,
        "forward": observed,
        "update": parameters,
    }
    assert set(parameters) <= set(names(data, "backward"))
    assert data.problems == (
        f"Compiled by TorchScript: {hidden}. Inputs and outputs of modules are not observed there, only parameters,"
        " their gradients and updates, and individual operations with operations=True.",
    )


def test_a_model_that_torchscript_compiled_shows_its_parameters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [0.0]
    live = LiveTensors(lambda: now[0])
    for module in ("torch_live", "torch_watch"):
        monkeypatch.setattr(f"stepscope.debug.{module}.LIVE", live)
    own = torch.jit.script(nn.Linear(3, 1))
    live.answer(b'{"wait_ms": 0}')
    with debug.watch(own, tmp_path):
        now[0] = 1.0
        train(own, 3)
        frame = live.answer(b'{"wait_ms": 0}')
    assert {section["name"]: [tensor["name"] for tensor in section["tensors"]] for section in frame["sections"]} == {
        "parameters": ["parameters/weight", "parameters/bias"],
        "gradients": ["gradients/weight", "gradients/bias"],
    }


class Logarithm(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_what_inductor_compiled_is_seen_from_outside_and_within_when_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each compiles all of PyTorch's headers once more, which pays only in trainings that compile much.
    inductor = import_module("torch._inductor.config")
    monkeypatch.setattr(inductor.cpp, "vec_isa_ok", True)
    monkeypatch.setattr(inductor, "cpp_cache_precompile_headers", False)
    own = torch.compile(nn.Sequential(nn.Linear(3, 3, bias=False), Logarithm()), backend="inductor")
    with torch.no_grad():
        own.get_parameter("_orig_mod.0.weight").copy_(torch.eye(3))
    optimizer = torch.optim.SGD(own.parameters(), 1e-6)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = own(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    good, bad = torch.ones(2, 3), torch.zeros(2, 3)
    step(good)
    assert torch._dynamo.utils.counters["inductor"]
    with debug.watch(own, tmp_path / "watched", on_alert=None):
        step(bad)
    verdict = debug.first_bad(recorded(tmp_path / "watched"))
    assert verdict is not None
    assert verdict.sentence.startswith("Step 0: Sequential (float32) is the first with 6 -Inf of 6 elements, at ")
    with torch.no_grad():
        own.get_parameter("_orig_mod.0.weight").copy_(torch.eye(3))
    with debug.watch(own, tmp_path / "caught", on_alert=None) as watcher:
        caught = debug.catch(step, watcher)
        caught(good)
        with pytest.raises(debug.CaughtError, match=r"Step 1: 1/aten\.log ") as error:
            caught(bad)
    assert "in Logarithm.forward: return torch.log(x). It produced them: its inputs were finite" in str(error.value)
    torch._dynamo.reset()


def test_what_a_model_shows_while_somebody_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    live = LiveTensors(lambda: now[0])
    for module in ("torch_live", "torch_watch"):
        monkeypatch.setattr(f"stepscope.debug.{module}.LIVE", live)
    own = model()

    def hooks() -> int:
        return sum(len(module._forward_hooks) for module in own.modules())

    with debug.watch(own, tmp_path, every=1000):
        train(own, 2)
        assert hooks() == 0
        live.answer(json.dumps({"names": "*", "rate": 30, "wait_ms": 0}).encode())
        now[0] = 1.0
        train(own, 3)
        frame = live.answer(json.dumps({"names": "*", "rate": 30, "wait_ms": 0}).encode())
    assert hooks() == 0
    shown = {section["name"]: [t["name"] for t in section["tensors"]] for section in frame["sections"]}
    assert sorted(shown["activations"]) == [f"activations/{name}" for name in ("0", "1", "2", "Sequential")]
    parameters = ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert sorted(shown["parameters"]) == [f"parameters/{name}" for name in parameters]
    assert sorted(shown["gradients"]) == [f"gradients/{name}" for name in parameters]


def test_a_compiled_model_shows_what_comes_out_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    live = LiveTensors(lambda: now[0])
    for module in ("torch_live", "torch_watch"):
        monkeypatch.setattr(f"stepscope.debug.{module}.LIVE", live)
    own = torch.compile(model(), backend="eager")
    looking = json.dumps({"names": "activations/*", "rate": 30, "wait_ms": 0}).encode()
    live.answer(looking)
    with debug.watch(own, tmp_path, every=1000):
        now[0] = 1.0
        train(own, 3)
        frame = live.answer(looking)
    assert [tensor["name"] for section in frame["sections"] for tensor in section["tensors"]] == [
        "activations/Sequential"
    ]
    torch._dynamo.reset()


def test_a_function_that_pytorch_transforms_shows_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    live = LiveTensors(lambda: now[0])
    for module in ("torch_live", "torch_watch"):
        monkeypatch.setattr(f"stepscope.debug.{module}.LIVE", live)
    own = nn.Linear(2, 1)
    looking = json.dumps({"names": "activations/*", "rate": 30, "wait_ms": 0}).encode()
    live.answer(looking)
    with debug.watch(own, tmp_path, every=1000) as watcher:
        watcher.step()
        for count in (3, 4):
            now[0] += 1
            torch.vmap(own)(torch.ones(5, 2))
            own(torch.ones(count, 2))
            watcher.step()
        frame = live.answer(looking)
    (section,) = frame["sections"]
    assert [(tensor["name"], tensor["shape"]) for tensor in section["tensors"]] == [("activations/Linear", [4, 1])]


def test_nobody_who_looks_costs_no_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.debug.torch_live.LIVE", LiveTensors())
    own = model()
    view = LiveView(own, {})
    view.begin()
    assert not view.is_on


def test_a_dump_as_of_tensorflows_debugger_has_the_same_observations(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, every=1, also_tfdbg=True, rules=()):
        train(own, 2)
    data = recorded(tmp_path)
    dump = TfdbgData(open_dump(tmp_path / "tfdbg"))
    written = {(t.name.removeprefix(f"{t.module}/"), t.op_type) for t in dump.tensors if t.phase == "graph"}
    assert len(written) == len(data.tensors)
    graph = np.array([t.phase == "graph" for t in dump.tensors])
    found = dump.observations(0, dump.observation_count)
    figures = found.figures[graph[found.tensors]][:, :6]
    np.testing.assert_array_equal(figures, data.observations(0, data.observation_count).figures[:, :6])


def test_a_watcher_that_is_off_writes_nothing_and_touches_nothing(tmp_path: Path) -> None:
    own = model()
    folder = tmp_path / "run"
    with debug.watch(own, folder, enabled=False) as watcher:
        watcher.step(loss=1.0)
        watcher.log(loss=2.0)
        watcher.labels([1, 2])
        step = debug.catch(train, watcher)
        step(own)
        assert step.caught == []
        assert not any(module._forward_hooks for module in own.modules())
        assert (watcher.dump(), watcher.alerts, watcher.should_stop) == (0, (), False)
    assert not folder.exists()
    doubled = debug.watch(lambda x: 2 * x, folder, enabled=False)
    assert doubled(3) == 6


def test_what_cannot_be_watched_is_said(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a step function of JAX or NumPy, got int"):
        debug.watch(3, tmp_path)
    with pytest.raises(ValueError, match=re.escape('framework must be "jax" or "numpy", got \'torch\'')):
        debug.watch(train, tmp_path, framework="torch")  # type: ignore[arg-type]
    with (
        debug.watch(model(), tmp_path) as watcher,
        pytest.raises(TypeError, match="a TorchWatcher cannot be called: call the model itself as usual"),
    ):
        watcher(1)


@pytest.mark.parametrize("model", [nn.Linear(1, 1), np.log])
def test_a_model_that_is_refused_leaves_nothing_open_and_no_recording(tmp_path: Path, model: Any) -> None:
    before = set(threading.enumerate())
    with pytest.raises(TypeError, match="a name must be a string or a compiled regular expression, got int"):
        debug.watch(model, tmp_path, include=[1], also_tfdbg=True)  # type: ignore[list-item]
    # Threads left by earlier tests may end in the meantime.
    assert set(threading.enumerate()) <= before
    assert not [run for run in open_logdir(tmp_path).runs.values() if has_recording(run)]
    with SummaryWriter(str(tmp_path / "own")) as writer:
        with pytest.raises(TypeError, match="a name must be"):
            debug.watch(model, writer, include=[1])  # type: ignore[list-item]
        writer.add_scalar("loss", 1.0, 0)
    (run,) = [run for name, run in open_logdir(tmp_path).runs.items() if name == "own"]
    assert run.series["loss"].values.tolist() == [1.0]


@pytest.mark.parametrize("include", ["typo", "0.typo", "0:input", ["typo", re.compile("^weight")]])
def test_names_that_include_nothing_are_refused(tmp_path: Path, include: Any) -> None:
    given = repr(include).strip("[]")
    expected = (
        f"include matches no module and no parameter of the model: got {given}; expected names among 'Sequential', '0',"
        " '1', '2', '0.weight', '0.bias', '2.weight', '2.bias', or regular expressions that are found in them"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        debug.watch(model(), tmp_path, include=include)
    assert open_files(tmp_path) == []


def test_some_of_the_names_may_include_nothing(tmp_path: Path) -> None:
    own = model()
    with debug.watch(own, tmp_path, include=["typo", re.compile("^0.b")]):
        train(own)
    included = ["parameter 0.bias", "backward 0.bias", "update 0.bias"]
    assert [f"{tensor.phase} {tensor.name}" for tensor in recorded(tmp_path).tensors] == included


@pytest.mark.parametrize("option", ["operations", "optimizer_state"])
def test_names_that_are_not_known_before_training_are_accepted(tmp_path: Path, option: str) -> None:
    with debug.watch(model(), tmp_path, include="aten.pow", **{option: True}):  # type: ignore[arg-type]
        pass


def open_files(folder: Path) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(folder)]


class Refusing(nn.Module):  # type: ignore[misc]
    def register_forward_hook(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no hooks on this module")


def test_a_failure_to_begin_leaves_no_hooks_and_nothing_open(tmp_path: Path) -> None:
    first = nn.Linear(3, 1)
    before = len(_global_optimizer_pre_hooks), len(_global_optimizer_post_hooks)
    with pytest.raises(RuntimeError, match="no hooks on this module"):
        debug.watch(nn.Sequential(first, Refusing()), tmp_path, operations=True)
    assert (len(_global_optimizer_pre_hooks), len(_global_optimizer_post_hooks)) == before
    assert [*first._forward_pre_hooks, *first._forward_hooks] == []
    assert open_files(tmp_path) == []


def test_a_dump_that_cannot_be_made_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "tfdbg").write_text("a file")
    with pytest.raises(OSError, match="tfdbg"):
        debug.watch(model(), tmp_path, also_tfdbg=True)
    assert open_files(tmp_path) == []


def test_whoever_only_watches_waits_for_no_picture_library_and_no_server() -> None:
    program = (
        "import sys, stepscope.debug; print([n for n in ('PIL', 'http.server', 'torch', 'jax') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
