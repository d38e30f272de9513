"""Watching training: what health of every module output of a small GPT costs a step, beside PyTorch's detect_anomaly.

Also what it costs in the steps between recorded ones, what a watcher costs that is off, and how many bytes a step of
1,000 modules takes in the file.
"""

import gc
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from benchmarks._report import Figure, print_figures
from stepscope import debug

BLOCKS: Final = 4
WIDTH: Final = 192
HEADS: Final = 6
VOCABULARY: Final = 1024
LENGTH: Final = 128
BATCH: Final = 8
EVERY: Final = 10
ROUNDS: Final = 9
WIDE_MODULES: Final = 1_000
WIDE_STEPS: Final = 20
OFF_STEPS: Final = 200_000
BETWEEN_STEPS: Final = 20_000
OUTPUTS: Final = re.compile(r"^\d+$")


class Block(nn.Module):  # type: ignore[misc]
    """A Transformer's block, normalized before each part."""

    def __init__(self) -> None:
        super().__init__()
        self.first_norm = nn.LayerNorm(WIDTH)
        self.to_all = nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = nn.Linear(WIDTH, WIDTH)
        self.second_norm = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.active = nn.GELU()
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        parts = self.to_all(self.first_norm(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.from_heads(heads.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.narrow(self.active(self.wide(self.second_norm(x))))


class SmallGpt(nn.Module):  # type: ignore[misc]
    """A small GPT."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))


class Training:
    """A small GPT that is trained on noise."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = SmallGpt()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
        self._tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))

    def steps(self, count: int) -> float:
        """Train, and return the processor's seconds a step."""
        gc.collect()
        begin = time.process_time()
        for _ in range(count):
            scores = self.model(self._tokens[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), self._tokens[:, 1:].flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return (time.process_time() - begin) / count


Watching = Callable[[Training, str], AbstractContextManager[Any]]


def _outputs(training: Training, folder: str) -> AbstractContextManager[Any]:
    return debug.watch(training.model, folder, every=EVERY, gradients=False, updates=False)


def _everything(training: Training, folder: str) -> AbstractContextManager[Any]:
    return debug.watch(training.model, folder, every=EVERY)


def _anomaly(training: Training, folder: str) -> AbstractContextManager[Any]:
    found: AbstractContextManager[Any] = torch.autograd.detect_anomaly(check_nan=True)
    return found


def run() -> list[Figure]:
    """Alternates plain steps with watched ones, so that all meet the same weather; medians of the shares."""
    training = Training()
    ways: dict[str, Watching] = {
        "outputs": _outputs,
        "everything": _everything,
        "anomaly": _anomaly,
        "plain": lambda training, folder: nullcontext(),
    }
    shares: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder, _few_threads():
        training.steps(EVERY)
        for number in range(ROUNDS):
            plain = training.steps(EVERY)
            for name, watching in ways.items():
                with watching(training, f"{folder}/{name}{number}"):
                    watched = training.steps(EVERY)
                after = training.steps(EVERY)
                shares[name].append(2 * watched / (plain + after) - 1)
                plain = after
        size, figures = _bytes_of_a_step(folder)
    cost = {name: 100 * statistics.median(found) for name, found in shares.items()}
    between, empty = _between()
    off, nothing = _off()
    peer = "torch detect_anomaly, every step"
    return [
        _figure("every module output, every 10th step", cost["outputs"], cost["anomaly"], peer, "% of a step"),
        _figure("all of it, every 10th step", cost["everything"], cost["anomaly"], peer, "% of a step"),
        _figure("a step between recorded ones", between, empty, "two empty hooks of optimizers", "ns/step"),
        _figure("a step while off", off, nothing, "an empty method", "ns/step"),
        _figure("a step of 1,000 modules, in the file", size, figures, "its figures as float32", "bytes"),
    ]


@contextmanager
def _few_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _between() -> tuple[float, float]:
    """Return nanoseconds that an optimizer's step takes longer in steps that are not recorded, and with empty hooks."""
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def seconds() -> float:
        begin = time.process_time()
        for _ in range(BETWEEN_STEPS):
            optimizer.step()
        return (time.process_time() - begin) / BETWEEN_STEPS

    def nothing(*args: Any) -> None:
        pass

    longer: dict[str, list[float]] = {"watched": [], "empty": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            plain = seconds()
            with debug.watch(model, f"{folder}/{number}", every=1 << 40, optimizer=optimizer):
                # The first step is recorded.
                optimizer.step()
                longer["watched"].append(seconds() - plain)
            handles = [register_optimizer_step_pre_hook(nothing), register_optimizer_step_post_hook(nothing)]
            longer["empty"].append(seconds() - plain)
            for handle in handles:
                handle.remove()
    return 1e9 * statistics.median(longer["watched"]), 1e9 * statistics.median(longer["empty"])


def _off() -> tuple[float, float]:
    """Return nanoseconds of `Watcher.step` of a watcher that is off, and of a method that does nothing."""

    class Nothing:
        def step(self) -> None:
            pass

    with debug.watch(Training().model, "unused", enabled=False) as watcher:
        costs: dict[str, list[float]] = {"off": [], "nothing": []}
        for _ in range(ROUNDS):
            for name, step in (("off", watcher.step), ("nothing", Nothing().step)):
                begin = time.process_time()
                for _ in range(OFF_STEPS):
                    step()
                costs[name].append((time.process_time() - begin) / OFF_STEPS * 1e9)
    return statistics.median(costs["off"]), statistics.median(costs["nothing"])


def _bytes_of_a_step(folder: str) -> tuple[float, float]:
    """Return bytes of a step of a model of 1,000 modules in its file, and of as many float32."""
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(WIDE_MODULES)))
    sizes = []
    for steps in (1, WIDE_STEPS + 1):
        own = Path(folder, f"wide{steps}")
        with debug.watch(model, own, every=1, gradients=False, updates=False, rules=(), include=OUTPUTS) as watcher:
            for _ in range(steps):
                model(torch.randn(4, 8))
                watcher.step()
        sizes.append(sum(path.stat().st_size for path in own.rglob("*") if path.is_file()))
    return (sizes[1] - sizes[0]) / WIDE_STEPS, WIDE_MODULES * 14 * 4


def _figure(name: str, ours: float, peer: float, peer_name: str, unit: str) -> Figure:
    return Figure(name, ours, peer, peer_name, unit, higher_is_better=False)


if __name__ == "__main__":
    print_figures(run())
