"""Trains small networks on scikit-learn's digits, logging through `summary` and profiling through `profiler`.

Three learning rates times three seeds; ``make sample-logs`` writes the runs beside this file, and a manifest by which
a test tells when they are stale.
"""

import argparse
import hashlib
import json
import queue
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import profiler
from summary import SummaryWriter

FOLDER: Final = Path(__file__).resolve().parent
MANIFEST: Final = "manifest.json"
LEARNING_RATES: Final = (0.3, 0.1, 0.02)
SEEDS: Final = (0, 1, 2)
EPOCHS: Final = 30
BATCH: Final = 64
HIDDEN: Final = 48
MOMENTUM: Final = 0.9
PROFILED_STEPS: Final = range(48, 56)
MEDIA_EPOCHS: Final = 3
"""Histograms and pictures are logged once in so many epochs."""

Array: TypeAlias = NDArray[np.float32]
Batch: TypeAlias = tuple[Array, NDArray[np.int64]]


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 numbers in 0..1, and their labels."""

    train_images: Array
    train_labels: NDArray[np.int64]
    test_images: Array
    test_labels: NDArray[np.int64]

    @classmethod
    def load(cls) -> "Digits":
        images, labels = load_digits(return_X_y=True)
        train_x, test_x, train_y, test_y = train_test_split(
            (images / 16).astype(np.float32), labels, test_size=0.25, random_state=0, stratify=labels
        )
        return cls(train_x, train_y, test_x, test_y)


class Network:
    """Two dense layers with a ReLU between them, trained by gradient descent with momentum on the cross entropy."""

    def __init__(self, generator: np.random.Generator) -> None:
        def dense(inputs: int, outputs: int) -> Array:
            values: NDArray[np.float64] = generator.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)
            return values.astype(np.float32)

        self.parameters: dict[str, Array] = {
            "hidden/kernel": dense(64, HIDDEN),
            "hidden/bias": np.zeros(HIDDEN, np.float32),
            "output/kernel": dense(HIDDEN, 10),
            "output/bias": np.zeros(10, np.float32),
        }
        self._velocity = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self._activation = np.zeros((0, HIDDEN), np.float32)

    def probabilities(self, images: Array) -> Array:
        p = self.parameters
        with profiler.annotate("hidden", units=HIDDEN):
            self._activation = np.maximum(images @ p["hidden/kernel"] + p["hidden/bias"], 0)
        with profiler.annotate("output", units=10):
            logits = self._activation @ p["output/kernel"] + p["output/bias"]
            exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
            return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True), np.float32)

    def gradients(self, images: Array, labels: NDArray[np.int64], probabilities: Array) -> dict[str, Array]:
        with profiler.annotate("output"):
            error = probabilities.copy()
            error[np.arange(len(labels)), labels] -= 1
            error /= len(labels)
            output = {"output/kernel": self._activation.T @ error, "output/bias": error.sum(axis=0)}
        with profiler.annotate("hidden"):
            error = (error @ self.parameters["output/kernel"].T) * (self._activation > 0)
            return {"hidden/kernel": images.T @ error, "hidden/bias": error.sum(axis=0), **output}

    def update(self, gradients: dict[str, Array], learning_rate: float) -> None:
        for name, gradient in gradients.items():
            self._velocity[name] *= MOMENTUM
            self._velocity[name] -= learning_rate * gradient
            self.parameters[name] += self._velocity[name]


def cross_entropy(probabilities: Array, labels: NDArray[np.int64]) -> float:
    return float(-np.log(probabilities[np.arange(len(labels)), labels] + 1e-9).mean())


def accuracy(probabilities: Array, labels: NDArray[np.int64]) -> float:
    return float((probabilities.argmax(axis=1) == labels).mean())


def batches(digits: Digits, generator: np.random.Generator) -> Iterator[Batch]:
    order = generator.permutation(len(digits.train_labels))
    for begin in range(0, len(order), BATCH):
        with profiler.annotate("load batch", size=BATCH):
            chosen = order[begin : begin + BATCH]
            images, labels = digits.train_images[chosen], digits.train_labels[chosen]
        yield images, labels


def prefetched(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, made by a thread of its own while the network trains on the one before."""
    waiting: queue.Queue[Batch | None] = queue.Queue(maxsize=2)

    def load() -> None:
        for batch in batches:
            waiting.put(batch)
        waiting.put(None)

    loader = threading.Thread(target=load, name="loader")
    loader.start()
    while True:
        with profiler.annotate("wait for batch"):
            batch = waiting.get()
        if batch is None:
            break
        yield batch
    loader.join()


def log_epoch(writer: SummaryWriter, network: Network, digits: Digits, step: int, epoch: int) -> None:
    with profiler.annotate("validate"):
        probabilities = network.probabilities(digits.test_images)
    writer.add_scalar("loss/validation", cross_entropy(probabilities, digits.test_labels), step)
    writer.add_scalar("accuracy/validation", accuracy(probabilities, digits.test_labels), step)
    if epoch % MEDIA_EPOCHS and epoch != EPOCHS - 1:
        return
    for name, value in network.parameters.items():
        writer.add_histogram(f"weights/{name}", value, step, bins="auto")
    kernels = network.parameters["hidden/kernel"].T.reshape(-1, 8, 8)
    scaled = np.clip(0.5 + kernels / 2, 0, 1, dtype=np.float32)
    writer.add_image("features/hidden", tiles(scaled, columns=12), step, dataformats="HW")
    doubtful = np.argsort(probabilities[np.arange(len(digits.test_labels)), digits.test_labels])[:8]
    writer.add_images("digits/hardest", digits.test_images[doubtful].reshape(-1, 8, 8, 1), step, dataformats="NHWC")
    rows = [["digit", "taken for", "with probability"]] + [
        [str(digits.test_labels[i]), str(probabilities[i].argmax()), f"{probabilities[i].max():.2f}"] for i in doubtful
    ]
    writer.add_text("hardest digits", "\n".join(" | ".join(row) for row in [rows[0], ["---"] * 3, *rows[1:]]), step)


def tiles(images: Array, columns: int) -> Array:
    """Pictures [n, height, width] side by side in one, with a border of one pixel."""
    padded = np.pad(images, ((0, 0), (0, 1), (0, 1)), constant_values=1.0)
    rows = len(images) // columns
    grid = padded[: rows * columns].reshape(rows, columns, *padded.shape[1:])
    return np.asarray(grid.transpose(0, 2, 1, 3).reshape(rows * padded.shape[1], -1), np.float32)


def train(folder: Path, digits: Digits, learning_rate: float, seed: int) -> None:
    """Trains one network and logs it into ``folder``."""
    generator = np.random.default_rng(seed)
    network = Network(generator)
    step = 0
    with SummaryWriter(folder) as writer:
        writer.add_text(
            "config",
            f"**digits**, two layers\n\n- learning rate {learning_rate}\n- momentum {MOMENTUM}\n- hidden units {HIDDEN}"
            f"\n- batch {BATCH}\n- seed {seed}",
            0,
        )
        for epoch in range(EPOCHS):
            for images, labels in prefetched(batches(digits, generator)):
                if step == PROFILED_STEPS.start:
                    profiler.start(folder, first_step=step)
                with profiler.annotate("forward"):
                    probabilities = network.probabilities(images)
                with profiler.annotate("backward"):
                    gradients = network.gradients(images, labels, probabilities)
                with profiler.annotate("update", learning_rate=learning_rate):
                    network.update(gradients, learning_rate)
                with profiler.annotate("log"):
                    writer.add_scalar("loss/train", cross_entropy(probabilities, labels), step)
                    writer.add_scalar("accuracy/train", accuracy(probabilities, labels), step)
                    norm = np.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
                    writer.add_scalar("gradient/norm", norm, step)
                step += 1
                if step == PROFILED_STEPS.stop:
                    profiler.stop()
                elif step in PROFILED_STEPS:
                    profiler.step()
            log_epoch(writer, network, digits, step, epoch)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(folder: Path) -> None:
    """Replaces the sample runs in ``folder``."""
    # The name of the machine they were made on does not belong into logs that everybody reads.
    socket.gethostname = lambda: "sample"
    digits = Digits.load()
    shutil.rmtree(folder / "digits", ignore_errors=True)
    for learning_rate in LEARNING_RATES:
        for seed in SEEDS:
            train(folder / "digits" / f"lr_{learning_rate}" / f"seed_{seed}", digits, learning_rate, seed)
    files = sorted(path for path in (folder / "digits").rglob("*") if path.is_file())
    manifest = {
        "made_by": digest(Path(__file__)),
        "files": {path.relative_to(folder).as_posix(): digest(path) for path in files},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the runs go (default: beside this script)")
    make(parser.parse_args().folder)


if __name__ == "__main__":
    main()
