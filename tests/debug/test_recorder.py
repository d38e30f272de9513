"""What a recorder writes, whatever the framework."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stepscope import SummaryWriter, open_logdir
from stepscope.debug.catalog import Lines, described
from stepscope.debug.recorder import Recorder
from stepscope.summary.debugger.model import FIGURES, WatchedTensor
from stepscope.summary.debugger.recordings import read_recording


class Figures:
    """Figures that are there already."""

    is_here = True

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def figures(self) -> NDArray[np.float64]:
        return np.ones((self._count, len(FIGURES)))


def on(name: str, device: str) -> tuple[WatchedTensor, Lines]:
    return described(name, "forward", device=device), ()


def test_ranks_that_write_into_one_run_have_the_same_tensors_on_their_own_devices(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        for rank in range(2):
            recorder = Recorder(writer, f"rank {rank}", rules=())
            places = ("layer", f"cuda:{rank}"), ("loss", "")
            numbers = [recorder.number(name, partial(on, name, device)) for name, device in places]
            recorder.record(rank, [number for number in numbers if number is not None], Figures(2))
            recorder.close()
    data = read_recording(open_logdir(tmp_path).runs["."])
    assert [(tensor.name, tensor.device) for tensor in data.tensors] == [("layer", "cuda:0"), ("loss", "")]
    found = data.observations(0, 4)
    assert found.devices is not None
    where = [data.devices[device] for device in found.devices]
    assert list(zip(found.steps.tolist(), found.tensors.tolist(), where, strict=True)) == [
        (0, 0, "cuda:0"),
        (0, 1, ""),
        (1, 0, "cuda:1"),
        (1, 1, ""),
    ]
