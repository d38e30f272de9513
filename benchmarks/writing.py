"""Scalars: calls a second, the time of one call, and whole arrays, ours beside PyTorch's and tensorboardX's writers."""

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._report import Figure, print_figures
from stepscope.summary import SummaryWriter

WriterClass = Callable[[str], Any]

REPETITIONS = 7
SECONDS_PER_REPETITION = 0.6
BATCH_POINTS = 4_000_000
MOST_IMPORT_MS = 150.0
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
    rates_of_calls = [
        Figure(title, rate["Stepscope"], rate[peer], peer, "calls/s")
        for title, rate in (("add_scalar, all on disk", sustained), ("add_scalar, the calls alone", calling))
        for peer in peers
    ]
    return [*rates_of_calls, *_latencies(writers, steps, peers), *_batches(sustained, peers), _import_time()]


def _latencies(writers: Mapping[str, WriterClass], steps: Mapping[str, int], peers: Iterable[str]) -> list[Figure]:
    """Our 99th percentile beside the peers' median, each of a million calls or of what fits the time."""
    seconds = {name: call_seconds(writer, steps[name]) for name, writer in writers.items()}
    ours = float(np.quantile(seconds["Stepscope"], 0.99)) * 1e6
    return [
        Figure(
            "add_scalar, slowest 1 % of the calls beside the peer's median",
            ours,
            float(np.median(seconds[peer])) * 1e6,
            peer,
            "us",
            higher_is_better=False,
        )
        for peer in peers
    ]


def call_seconds(writer_class: WriterClass, steps: int) -> NDArray[np.float64]:
    """How long each call took the thread that made it."""
    clock = time.perf_counter
    seconds = np.empty(steps * len(TAGS))
    with tempfile.TemporaryDirectory() as folder:
        writer = writer_class(folder)
        for step in range(steps):
            for number, tag in enumerate(TAGS):
                begin = clock()
                writer.add_scalar(tag, step * 0.5, step)
                seconds[step * len(TAGS) + number] = clock() - begin
        writer.close()
    return seconds


def _batches(sustained: Mapping[str, float], peers: Iterable[str]) -> list[Figure]:
    """Points per second of the batch call; peers have none, so a call of theirs per point is beside it."""
    values, steps = np.random.default_rng(0).normal(size=BATCH_POINTS), np.arange(BATCH_POINTS)
    rates = []
    for _ in range(REPETITIONS):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            with SummaryWriter(folder) as writer:
                writer.add_scalar_batch("train/loss", values, steps)
            rates.append(BATCH_POINTS / (time.perf_counter() - begin))
    ours = statistics.median(rates)
    return [Figure("add_scalar_batch, all on disk", ours, sustained[peer], peer, "points/s") for peer in peers]


def _import_time() -> Figure:
    """How long the import of a training script takes in a fresh process, without the start of the interpreter."""
    script = (
        "import time; begin = time.perf_counter(); from stepscope import SummaryWriter; "
        "print(time.perf_counter() - begin)"
    )
    seconds = []
    for _ in range(2 * REPETITIONS):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        seconds.append(float(done.stdout))
    return Figure(
        "from stepscope import SummaryWriter",
        1000 * statistics.median(seconds),
        MOST_IMPORT_MS,
        "the mark",
        "ms",
        higher_is_better=False,
    )


def _peers() -> dict[str, WriterClass]:
    import tensorboardX
    from torch.utils import tensorboard as torch_tensorboard

    return {"torch": torch_tensorboard.SummaryWriter, "tensorboardX": tensorboardX.SummaryWriter}


def _steps_for(writer: WriterClass) -> int:
    warm = measure(writer, 500)
    return max(100, int(warm.sustained * SECONDS_PER_REPETITION / len(TAGS)))


if __name__ == "__main__":
    print_figures(run())
