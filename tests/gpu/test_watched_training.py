"""Watching a model that trains on an NVIDIA GPU; skipped where there is none."""

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
    assert messages[0] == "1 has 8 -Inf of 8 elements, where all should be finite"
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
