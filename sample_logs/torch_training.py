"""A small convolutional network on scikit-learn's digits, in PyTorch: a run whose profile knows every operator."""

from pathlib import Path
from typing import Final

import torch
from torch.nn import Conv2d, CrossEntropyLoss, Flatten, Linear, MaxPool2d, ReLU, Sequential
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

from sample_logs.network import Digits
from stepscope import profiler
from stepscope.summary import SummaryWriter

RUN: Final = "digits/torch"
EPOCHS: Final = 8
PROFILED_STEPS: Final = range(12, 14)
_WARMUP: Final = 2
_BATCH: Final = 64


def train(folder: Path, digits: Digits) -> None:
    """Train the network, and logs scalars, its graph and a profile into ``folder``."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = Sequential(
        Conv2d(1, 16, 3, padding=1),
        ReLU(),
        MaxPool2d(2),
        Conv2d(16, 32, 3, padding=1),
        ReLU(),
        Flatten(),
        Linear(512, 10),
    )
    optimizer, criterion = Adam(network.parameters(), lr=0.003), CrossEntropyLoss()
    images = torch.from_numpy(digits.train_images).view(-1, 1, 8, 8)
    batches = DataLoader(TensorDataset(images, torch.from_numpy(digits.train_labels)), _BATCH, shuffle=True)
    schedule = profiler.schedule(
        skip_first=PROFILED_STEPS.start - _WARMUP, wait=0, warmup=_WARMUP, active=len(PROFILED_STEPS), repeat=1
    )
    collectors = ("torch", "resources", "data_loading")
    step = 0
    with SummaryWriter(folder) as writer, profiler.Profile(folder, schedule=schedule, collectors=collectors) as profile:
        writer.add_graph(network, images[:1])
        for _ in range(EPOCHS):
            for inputs, labels in batches:
                with profiler.annotate("forward"):
                    loss = criterion(network(inputs), labels)
                with profiler.annotate("backward"):
                    optimizer.zero_grad()
                    loss.backward()
                with profiler.annotate("update"):
                    optimizer.step()
                writer.add_scalar("loss/train", loss.item(), step)
                step += 1
                profile.step(step)
            writer.add_scalar("accuracy/validation", _accuracy(network, digits), step)


def _accuracy(network: Sequential, digits: Digits) -> float:
    with torch.no_grad():
        logits = network(torch.from_numpy(digits.test_images).view(-1, 1, 8, 8))
    return float((logits.argmax(1) == torch.from_numpy(digits.test_labels)).float().mean())
