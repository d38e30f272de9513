"""Trains small networks on scikit-learn's digits, logging through `summary` and profiling through `profiler`.

Three learning rates times three seeds, logged with all that the dashboard shows, a sweep over more hyperparameters,
logged with scalars, and networks of PyTorch, for a profile, and for one that goes NaN and one in which that is mended.
``make sample-logs`` writes the runs beside this file, and a manifest by which a test tells when they are stale.
"""

import argparse
import hashlib
import json
import math
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from sample_logs import nan_training, torch_training
from sample_logs.logs import (
    log_embedding,
    log_end,
    log_images,
    log_media,
    log_points,
    log_scores,
    log_sound,
    log_start,
)
from sample_logs.network import (
    Array,
    Digits,
    Hyperparameters,
    Labels,
    Network,
    accuracy,
    batches,
    cross_entropy,
    prefetched,
)
from stepscope import profiler
from stepscope.summary import SummaryWriter

FOLDER: Final = Path(__file__).resolve().parent
MANIFEST: Final = "manifest.json"
LEARNING_RATES: Final = (0.3, 0.1, 0.02)
SEEDS: Final = (0, 1, 2)
EPOCHS: Final = 30
PROFILED_STEPS: Final = range(48, 56)
MEDIA_EPOCHS: Final = 3
"""Histograms, pictures, texts and PR curves are logged once in so many epochs."""
MESH_EPOCHS: Final = (0, 3, 12, EPOCHS - 1)
EMBEDDED_RATE: Final = 0.1
SOUND_EPOCHS: Final = (3, 12, EPOCHS - 1)
SWEEP: Final = (
    Hyperparameters(0.001, hidden=32),
    Hyperparameters(0.003, hidden=16, batch=32),
    Hyperparameters(0.01, momentum=0.0, batch=32),
    Hyperparameters(0.01, hidden=64, batch=128),
    Hyperparameters(0.03, momentum=0.5, hidden=32),
    Hyperparameters(0.03, momentum=0.0, hidden=96, batch=16),
    Hyperparameters(0.1, momentum=0.0, hidden=16, batch=128),
    Hyperparameters(0.1, momentum=0.95, hidden=96),
    Hyperparameters(0.3, momentum=0.5, hidden=64, batch=32),
    Hyperparameters(0.6, momentum=0.0),
    # So far that it recovers twice before its logits overflow.
    Hyperparameters(1.0),
)
DIVERGED: Final = 10
"""The place in the sweep of the run that ends in NaN."""
SWEEP_EPOCHS: Final = 8
SWEEP_STEPS: Final = 10
"""A run of the sweep logs one in so many steps."""


@dataclass(frozen=True)
class Plan:
    """One training, and how much of it is logged."""

    chosen: Hyperparameters
    trial: str
    """What runs are called together that differ by their seed alone."""
    epochs: int
    every: int
    """Scalars are logged once in so many steps."""
    media: bool
    """Whether there are histograms, pictures, texts, PR curves and a profile."""

    @property
    def points_and_sound(self) -> bool:
        """Whether there are point clouds and sound, which are large: one seed is enough."""
        return self.media and self.chosen.seed == 0

    @property
    def embeddings(self) -> bool:
        """Whether there are embeddings, which are larger yet: one run is enough."""
        return self.points_and_sound and self.chosen.learning_rate == EMBEDDED_RATE


def plans() -> Mapping[str, Plan]:
    """Return all trainings, by the names of their runs."""
    seeds = {
        f"digits/lr_{rate}/seed_{seed}": Plan(Hyperparameters(rate, seed=seed), f"lr_{rate}", EPOCHS, 1, media=True)
        for rate in LEARNING_RATES
        for seed in SEEDS
    }
    sweep = {
        f"digits/sweep/{number:02}": Plan(chosen, f"sweep/{number:02}", SWEEP_EPOCHS, SWEEP_STEPS, media=False)
        for number, chosen in enumerate(SWEEP)
    }
    return MappingProxyType({**seeds, **sweep})


class Training:
    """A network that is trained and logged as its plan says."""

    def __init__(self, plan: Plan, digits: Digits, writer: SummaryWriter) -> None:
        self._plan = plan
        self._digits = digits
        self._writer = writer
        self._generator = np.random.default_rng(plan.chosen.seed)
        self._network = Network(plan.chosen, self._generator)
        self._losses: list[float] = []
        self._points: Array | None = None

    def run(self) -> None:
        """Train to the end, whatever becomes of the loss."""
        log_start(self._writer, self._plan.chosen, self._plan.trial)
        if self._plan.embeddings:
            log_images(self._writer, self._digits)
        loss = math.nan
        for epoch in range(self._plan.epochs):
            for images, labels in prefetched(batches(self._digits, self._plan.chosen.batch, self._generator)):
                self._step(images, labels)
            loss = self._end_of_epoch(epoch)
        log_end(self._writer, len(self._losses), math.isfinite(loss))

    def _step(self, images: Array, labels: Labels) -> None:
        step = len(self._losses)
        if self._plan.media and step == PROFILED_STEPS.start:
            profiler.start(self._writer.log_dir, first_step=step)
        with profiler.annotate("forward"):
            probabilities = self._network.probabilities(images)
        with profiler.annotate("backward"):
            gradients = self._network.gradients(images, labels, probabilities)
        with profiler.annotate("update", learning_rate=self._plan.chosen.learning_rate):
            self._network.update(gradients)
        self._losses.append(cross_entropy(probabilities, labels))
        if step % self._plan.every == 0:
            with profiler.annotate("log"):
                self._writer.add_scalar("loss/train", self._losses[-1], step)
                self._writer.add_scalar("accuracy/train", accuracy(probabilities, labels), step)
                norm = np.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
                self._writer.add_scalar("gradient/norm", norm, step)
        if not self._plan.media:
            return
        if step + 1 == PROFILED_STEPS.stop:
            profiler.stop()
        elif step + 1 in PROFILED_STEPS:
            profiler.step()

    def _end_of_epoch(self, epoch: int) -> float:
        """Log what there is once an epoch, or less often; returns the loss on the test images."""
        step = len(self._losses)
        labels = self._digits.test_labels
        with profiler.annotate("validate"):
            probabilities = self._network.probabilities(self._digits.test_images)
        loss = log_scores(self._writer, probabilities, labels, step)
        if self._plan.media and (epoch % MEDIA_EPOCHS == 0 or epoch == self._plan.epochs - 1):
            log_media(self._writer, self._network, self._digits, probabilities, step)
        if self._plan.points_and_sound and epoch in MESH_EPOCHS:
            self._points = log_points(self._writer, self._network.activation, labels, step, self._points)
        if self._plan.embeddings and epoch in MESH_EPOCHS:
            log_embedding(self._writer, self._network.activation, self._digits, probabilities, step)
        if self._plan.points_and_sound and epoch in SOUND_EPOCHS:
            log_sound(self._writer, self._losses, step)
        return loss


def digest(*paths: Path) -> str:
    """SHA-256 of the files' bytes, one after another."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def sources() -> list[Path]:
    """Return the files that say what the samples are."""
    return sorted(FOLDER.glob("*.py"))


def make(folder: Path) -> None:
    """Replace the sample runs in ``folder``."""
    # The name of the machine they were made on does not belong into logs that everybody reads.
    socket.gethostname = lambda: "sample"
    digits = Digits.load()
    shutil.rmtree(folder / "digits", ignore_errors=True)
    for name, plan in plans().items():
        # One of them is meant to overflow.
        with SummaryWriter(folder / name) as writer, np.errstate(over="ignore", invalid="ignore"):
            Training(plan, digits, writer).run()
    torch_training.train(folder / torch_training.RUN, digits)
    nan_training.train_mended(folder / nan_training.MENDED, digits)
    nan_training.train(folder / nan_training.RUN, digits)
    files = sorted(path for path in (folder / "digits").rglob("*") if path.is_file())
    manifest = {
        "made_by": digest(*sources()),
        "files": {path.relative_to(folder).as_posix(): digest(path) for path in files},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def main() -> None:
    """Write the sample runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the runs go (default: beside this script)")
    make(parser.parse_args().folder)


if __name__ == "__main__":
    main()
