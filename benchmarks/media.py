"""Calls of ``add_histogram`` and ``add_image`` a second, ours beside PyTorch's and tensorboardX's writers."""

import gc
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._report import Figure, print_figures
from benchmarks._writers import WriterClass, other_writers
from stepscope.summary import SummaryWriter

REPETITIONS = 5
SIDE = 1024
NUMBERS = 1_000_000


@dataclass(frozen=True)
class Workload:
    """One method called again and again with the same array."""

    name: str
    method: str
    array: NDArray[Any]
    options: Mapping[str, str]
    calls: int
    """In one repetition."""


def workloads() -> list[Workload]:
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal(NUMBERS)
    noise = generator.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    pictures = {"like a photo": like_a_photo(generator), "noise": noise}
    return [
        *(
            Workload(f"add_histogram, a million {array.dtype}, all on disk", "add_histogram", array, {}, 40)
            for array in (numbers.astype(np.float32), numbers)
        ),
        *(
            Workload(
                f"add_image, {SIDE} x {SIDE} RGB {name}, all on disk", "add_image", array, {"dataformats": "HWC"}, 8
            )
            for name, array in pictures.items()
        ),
    ]


def like_a_photo(generator: np.random.Generator) -> NDArray[np.uint8]:
    """Amplitudes that fall with the frequency, as in natural images, correlated channels, and a sensor's noise."""
    frequencies = np.hypot(np.fft.fftfreq(SIDE)[:, np.newaxis], np.fft.rfftfreq(SIDE))
    frequencies[0, 0] = 1.0

    def clouds() -> NDArray[np.float64]:
        spectrum = np.fft.rfft2(generator.standard_normal((SIDE, SIDE))) / frequencies
        plane = np.fft.irfft2(spectrum)
        return np.asarray((plane - plane.mean()) / plane.std())

    light = clouds()
    channels = [128 + 40 * light + 10 * clouds() + generator.normal(0, 1, light.shape) for _ in range(3)]
    return np.stack(channels, axis=2).round().clip(0, 255).astype(np.uint8)


def measure(writer_class: WriterClass, workload: Workload) -> float:
    """Calls a second, from the first one until the writer is closed."""
    with tempfile.TemporaryDirectory() as folder:
        writer = writer_class(folder)
        gc.collect()
        begin = time.perf_counter()
        for step in range(workload.calls):
            getattr(writer, workload.method)("tag", workload.array, step, **workload.options)
        writer.close()
        return workload.calls / (time.perf_counter() - begin)


def run() -> list[Figure]:
    """Alternates the writers, so that all meet the same weather, and takes medians."""
    others = other_writers()
    writers: dict[str, WriterClass] = {"Stepscope": SummaryWriter, **others}
    figures = []
    for workload in workloads():
        rates: dict[str, list[float]] = {name: [] for name in writers}
        for _ in range(REPETITIONS):
            for name, writer in writers.items():
                rates[name].append(measure(writer, workload))
        medians = {name: statistics.median(found) for name, found in rates.items()}
        figures += [Figure(workload.name, medians["Stepscope"], medians[name], name, "calls/s") for name in others]
    return figures


if __name__ == "__main__":
    print_figures(run())
