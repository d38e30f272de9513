"""A small network of PyTorch on scikit-learn's digits that goes NaN: an exponential overflows.

And the beginning of the same training with that mended, to compare the two.
"""

from pathlib import Path
from typing import Final

import torch
from torch import nn

from sample_logs.network import Digits
from stepscope import debug
from stepscope.summary import SummaryWriter

RUN: Final = "digits/nan"
MENDED: Final = "digits/nan_mended"
MENDED_STEPS: Final = 80
EVERY: Final = 4
"""A step in so many is recorded."""
_BATCH: Final = 64


class Shares(nn.Module):  # type: ignore[misc]
    """How large the share of each digit is, as a softmax that was written down too plainly."""

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        powers = torch.exp(scores)
        return powers / powers.sum(1, keepdim=True)


class MendedShares(nn.Module):  # type: ignore[misc]
    """The same shares; the largest power is 1, whatever the scores."""

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        powers = torch.exp(scores - scores.amax(1, keepdim=True))
        return powers / powers.sum(1, keepdim=True)


class Classifier(nn.Module):  # type: ignore[misc]
    """Two layers that give the share of each digit."""

    def __init__(self, shares: nn.Module) -> None:
        super().__init__()
        self.hidden = nn.Linear(64, 24)
        self.active = nn.ReLU()
        self.scores = nn.Linear(24, 10)
        self.shares = shares

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.shares(self.scores(self.active(self.hidden(images))))


def train(folder: Path, digits: Digits) -> None:
    """Train until the loss is no number."""
    _train(folder, digits, Shares(), 1000, ring=3)


def train_mended(folder: Path, digits: Digits) -> None:
    """Train as `train` does, with shares that do not overflow, for `MENDED_STEPS`."""
    _train(folder, digits, MendedShares(), MENDED_STEPS, ring=0)


def _train(folder: Path, digits: Digits, shares: nn.Module, steps: int, ring: int) -> None:
    """Train and log scalars and what became of the tensors into ``folder``."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = Classifier(shares)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.4)
    images, labels = torch.from_numpy(digits.train_images).float(), torch.from_numpy(digits.train_labels).long()

    def train_step(batch: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        shares = network(batch)
        loss = -torch.log(shares[torch.arange(len(batch)), expected]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    with (
        SummaryWriter(folder) as writer,
        debug.watch(network, writer, every=EVERY, ring=ring, on_alert=None) as watcher,
    ):
        step = debug.catch(train_step, watcher, save=False)
        try:
            for number in range(steps):
                chosen = torch.randint(len(images), (_BATCH,))
                loss = step(images[chosen], labels[chosen])
                writer.add_scalar("loss/train", loss.item(), number)
        except debug.CaughtError as caught:
            writer.add_scalar("loss/train", float("nan"), caught.step)
