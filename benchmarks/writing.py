"""Calls of ``add_scalar`` a second, ours beside PyTorch's and tensorboardX's writers."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks._report import Figure, print_figures
from summary import SummaryWriter

WriterClass = Callable[[str], Any]

REPETITIONS = 7
SECONDS_PER_REPETITION = 0.6
TAGS = tuple(f"{group}/{name}" for group in ("train", "test") for name in ("loss", "accuracy", "f1", "lr", "norm"))


@dataclass(frozen=True)
class Rates:
    """Calls a second."""

    sustained: float
    """Until every event is in the file: the calls, `flush` and `close`."""
    calling: float
    """The calls alone, as the training loop feels them."""


def measure(writer_class: WriterClass, steps: int) -> Rates:
    """Writes ``steps`` steps of `TAGS` into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        writer = writer_class(folder)
        gc.collect()
        begin = time.perf_counter()
        for step in range(steps):
            for tag in TAGS:
                writer.add_scalar(tag, step * 0.5, step)
        called = time.perf_counter()
        writer.flush()
        writer.close()
        done = time.perf_counter()
    calls = steps * len(TAGS)
    return Rates(calls / (done - begin), calls / (called - begin))


def run() -> list[Figure]:
    """Alternates the writers, so that all meet the same weather, and takes medians."""
    peers = _peers()
    writers: Mapping[str, WriterClass] = {"Stepscope": SummaryWriter, **peers}
    steps = {name: _steps_for(writer) for name, writer in writers.items()}
    rates: dict[str, list[Rates]] = {name: [] for name in writers}
    for _ in range(REPETITIONS):
        for name, writer in writers.items():
            rates[name].append(measure(writer, steps[name]))
    sustained = {name: statistics.median(r.sustained for r in found) for name, found in rates.items()}
    calling = {name: statistics.median(r.calling for r in found) for name, found in rates.items()}
    return [
        Figure(title, rate["Stepscope"], rate[peer], peer, "calls/s")
        for title, rate in (("add_scalar, all on disk", sustained), ("add_scalar, the calls alone", calling))
        for peer in peers
    ]


def _peers() -> dict[str, WriterClass]:
    import tensorboardX
    from torch.utils import tensorboard as torch_tensorboard

    return {"torch": torch_tensorboard.SummaryWriter, "tensorboardX": tensorboardX.SummaryWriter}


def _steps_for(writer: WriterClass) -> int:
    warm = measure(writer, 500)
    return max(100, int(warm.sustained * SECONDS_PER_REPETITION / len(TAGS)))


if __name__ == "__main__":
    print_figures(run())
