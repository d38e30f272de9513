"""Watching a model that trains on an NVIDIA GPU; skipped where there is none."""

import math
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from stepscope import debug, open_logdir
from stepscope.summary.debugger.model import FIGURES
from stepscope.summary.debugger.recordings import RecordedData, read_recording

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")


class Logarithm(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x)


def watched(folder: Path, device: str) -> tuple[RecordedData, list[str]]:
    """Train for nineteen steps, the eighteenth of which takes the logarithm of zero; return what was recorded."""
    model = nn.Sequential(nn.Linear(3, 4), Logarithm(), nn.Linear(4, 1)).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
        model[0].bias.fill_(0)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with debug.watch(model, folder, every=10, ring=3, rules=["not_finite"], on_alert=None) as watcher:
        for step in range(19):
            batch = torch.zeros(2, 3) if step == 17 else torch.ones(2, 3)
            loss = model(batch.to(device)).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run), [alert.message for alert in watcher.alerts]


def test_a_bad_step_between_recorded_ones_is_found_in_the_ring(tmp_path: Path) -> None:
    data, messages = watched(tmp_path, "cuda")
    # A step's figures reach the host after the step, so the ring has advanced by one when they are judged.
    assert sorted(set(data.observations(0, 10**6).steps.tolist())) == [0, 10, 16, 17, 18]
    assert messages[0] == "1 has 8 -Inf of 8 elements; all should be finite"
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert (verdict.step, verdict.part, data.tensors[verdict.tensor].name) == (17, "producer", "1")


def test_figures_are_those_of_the_processor(tmp_path: Path) -> None:
    (on_gpu, _), (on_cpu, _) = (watched(tmp_path / device, device) for device in ("cuda", "cpu"))
    found, expected = (each.observations(0, 10**6) for each in (on_gpu, on_cpu))
    assert [each.name for each in on_gpu.tensors] == [each.name for each in on_cpu.tensors]
    assert {each.device for each in on_gpu.tensors} == {"cuda:0"}
    rows = np.isin(expected.steps, found.steps)
    assert expected.tensors[rows].tolist() == found.tensors.tolist()
    for figure in FIGURES:
        np.testing.assert_allclose(found.figure(figure), expected.figure(figure)[rows], rtol=1e-5, err_msg=figure)


class OfEveryType(nn.Module):  # type: ignore[misc]
    """Returns numbers, some of which are not finite or very small, in every type that they can have."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        whole = torch.arange(-3, 9, device=x.device)
        floating = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
        found = {str(dtype): x.to(dtype) for dtype in floating}
        found |= {str(dtype): whole.to(dtype) for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64)}
        found["bool"] = whole > 2
        found["complex"] = torch.complex(x, x.flip(0)).conj()
        found["sparse"] = torch.eye(4, device=x.device).to_sparse()
        found["strided"] = x.reshape(3, 4).T
        found["empty"] = x[:0]
        return found


def test_figures_of_every_type_are_those_of_the_processor(tmp_path: Path) -> None:
    numbers = torch.tensor([math.nan, math.inf, -math.inf, 1e-40, 3e-6, 0, -0.0, 1, -2.5, 400, 57344, 1e5])
    recorded = {}
    for device in ("cuda", "cpu"):
        model = OfEveryType()
        with debug.watch(model, tmp_path / device, rules=[]) as watcher:
            model(numbers.to(device))
            watcher.step()
        (run,) = open_logdir(tmp_path / device).runs.values()
        recorded[device] = read_recording(run)
    names = {device: [tensor.name for tensor in data.tensors] for device, data in recorded.items()}
    assert names["cuda"] == names["cpu"]
    assert len(names["cuda"]) >= 15
    found, expected = (recorded[device].observations(0, 1_000) for device in ("cuda", "cpu"))
    for figure in FIGURES:
        np.testing.assert_allclose(found.figure(figure), expected.figure(figure), rtol=1e-6, atol=1e-9, err_msg=figure)


def test_gradients_and_updates_of_lbfgs_are_those_of_the_processor(tmp_path: Path) -> None:
    recorded = {}
    for device in ("cuda", "cpu"):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double().to(device)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
        batch = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).to(device)

        def closure(
            model: nn.Module = model, optimizer: torch.optim.Optimizer = optimizer, batch: torch.Tensor = batch
        ) -> torch.Tensor:
            optimizer.zero_grad()
            loss = (model(batch) - 1).square().sum()
            loss.backward()
            return loss

        with debug.watch(model, tmp_path / device, every=1, rules=[]):
            for _ in range(3):
                optimizer.step(closure)
        (run,) = open_logdir(tmp_path / device).runs.values()
        recorded[device] = read_recording(run)
    found, expected = (recorded[device].observations(0, 1_000) for device in ("cuda", "cpu"))
    assert {tensor.phase for tensor in recorded["cuda"].tensors} == {"parameter", "forward", "backward", "update"}
    assert found.steps.tolist() == expected.steps.tolist()
    assert found.tensors.tolist() == expected.tensors.tolist()
    for figure in FIGURES:
        np.testing.assert_allclose(found.figure(figure), expected.figure(figure), rtol=1e-6, atol=1e-9, err_msg=figure)


def test_modules_that_run_in_threads_with_streams_of_their_own_keep_their_statistics(tmp_path: Path) -> None:
    """Each stream has much to do first, so that whatever does not wait for it finds stale values."""
    model = nn.ModuleList([nn.Linear(2, 3), nn.Linear(4, 5)]).to("cuda")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
    runs = 30

    def run(module: nn.Linear) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for number in range(runs):
                torch.cuda._sleep(20_000_000)
                module(torch.full((1, module.in_features), float(number), device="cuda"))

    torch.cuda.synchronize()
    with debug.watch(model, tmp_path, rules=[]) as watcher:
        threads = [threading.Thread(target=run, args=(module,)) for module in model]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        watcher.step()
    (recorded,) = open_logdir(tmp_path).runs.values()
    data = read_recording(recorded)
    found = data.observations(0, 1_000)
    means: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    for number, mean in zip(found.tensors.tolist(), found.figure("mean").tolist(), strict=True):
        tensor = data.tensors[number]
        means.setdefault((tensor.phase, tuple(tensor.shape)), []).append(mean)
    assert {key: values for key, values in means.items() if key[0] == "forward"} == {
        ("forward", (1, 2)): [float(number) for number in range(runs)],
        ("forward", (1, 3)): [2.0 * number + 1 for number in range(runs)],
        ("forward", (1, 4)): [float(number) for number in range(runs)],
        ("forward", (1, 5)): [4.0 * number + 1 for number in range(runs)],
    }
