"""Log directories of `torch.utils.tensorboard` and tensorboardX: one run each, with every method that they have.

    python torch_logs.py FOLDER

Needs torch, tensorboard and tensorboardX.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorboardX
import torch
from torch.utils import tensorboard

LAYOUT = {"losses": {"both": ["Multiline", ["loss/.*", "acc"]], "band": ["Margin", ["acc", "loss/train", "acc"]]}}


class Network(torch.nn.Sequential):  # type: ignore[misc]
    """A convolution and a linear layer."""

    def __init__(self) -> None:
        super().__init__(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 4))


def write_run(writer: Any, seed: int) -> None:
    """Log some steps of everything, odd numbers included."""
    of_torch = isinstance(writer, tensorboard.SummaryWriter)
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(6, 3)).astype(np.float32)
    pictures = generator.random((6, 1, 8, 8)).astype(np.float32)
    for step in range(12):
        writer.add_scalar("loss/train", 1 / (1 + step) + 0.1 * generator.random(), step)
        writer.add_scalar("acc", 1 - 1 / (1 + step), step)
    for step, odd in enumerate((float("nan"), float("inf"), float("-inf"), 1e-30)):
        writer.add_scalar("odd", odd, step)
    writer.add_scalars("waves", {"sin": 0.5, "cos": -0.5}, 3)
    for step in (0, 5):
        writer.add_histogram("weights", generator.normal(size=200), step)
        writer.add_image("digit", pictures[step], step)
        writer.add_text("notes", f"step **{step}** | a | b", step)
        labels, predictions = generator.integers(0, 2, 40), generator.random(40)
        writer.add_pr_curve("pr/class_a", labels, predictions, step, num_thresholds=15)
        vertices = torch.tensor(points[None, :4])
        faces = torch.tensor([[[0, 1, 2], [0, 2, 3]]])
        writer.add_mesh("tetra", vertices, torch.full((1, 4, 3), 200), faces, {"camera": {"fov": 60}}, step)
    writer.add_images("batch", pictures[:3], 0)
    if of_torch:
        # tensorboardX needs another package for audio and for graphs.
        writer.add_audio("tone", torch.sin(torch.arange(400) / 4)[None], 0, 8000)
    writer.add_custom_scalars(LAYOUT)
    writer.add_embedding(points, list("abcdef"), torch.tensor(pictures), 5, "emb")
    of_run = {"run_name" if of_torch else "name": "hp"}
    writer.add_hparams({"lr": 10.0**-seed, "opt": "sgd", "norm": True}, {"hparam/acc": 0.5 + seed / 10}, **of_run)


def main(folder: Path) -> None:
    """Write ``torch`` and ``tensorboardX`` below a folder."""
    torch.manual_seed(0)
    for seed in (0, 1):
        with tensorboard.SummaryWriter(str(folder / f"torch/seed_{seed}")) as writer:
            write_run(writer, seed)
            if seed == 0:
                writer.add_graph(Network(), torch.zeros(1, 1, 8, 8))
    with tensorboardX.SummaryWriter(str(folder / "tensorboardX/run")) as writer:
        write_run(writer, 2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
