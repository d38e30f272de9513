"""A small network on scikit-learn's digits, in NumPy, with its steps annotated for the profiler."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from stepscope import profiler

Array: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int64]
Batch: TypeAlias = tuple[Array, Labels]


@dataclass(frozen=True)
class Hyperparameters:
    """What trainings differ by."""

    learning_rate: float
    momentum: float = 0.9
    """The part of a step that goes on into the next one; 0 for plain gradient descent."""
    hidden: int = 48
    """Units of the hidden layer."""
    batch: int = 64
    """Images per step."""
    seed: int = 0

    @property
    def optimizer(self) -> str:
        """What the rule of the updates is called."""
        return "momentum" if self.momentum else "sgd"


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 numbers in 0..1, and their labels."""

    train_images: Array
    train_labels: Labels
    test_images: Array
    test_labels: Labels

    @classmethod
    def load(cls) -> "Digits":
        """1,347 images to train with and 450 to test with, the same at every call."""
        images, labels = load_digits(return_X_y=True)
        train_x, test_x, train_y, test_y = train_test_split(
            (images / 16).astype(np.float32), labels, test_size=0.25, random_state=0, stratify=labels
        )
        return cls(train_x, train_y, test_x, test_y)


class Network:
    """Two dense layers with a ReLU between them, trained by gradient descent with momentum on the cross entropy."""

    def __init__(self, chosen: Hyperparameters, generator: np.random.Generator) -> None:
        def dense(inputs: int, outputs: int) -> Array:
            values: NDArray[np.float64] = generator.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)
            return values.astype(np.float32)

        self.parameters: dict[str, Array] = {
            "hidden/kernel": dense(64, chosen.hidden),
            "hidden/bias": np.zeros(chosen.hidden, np.float32),
            "output/kernel": dense(chosen.hidden, 10),
            "output/bias": np.zeros(10, np.float32),
        }
        self._chosen = chosen
        self._velocity = {name: np.zeros_like(value) for name, value in self.parameters.items()}
        self.activation = np.zeros((0, chosen.hidden), np.float32)
        """Of the hidden units, at the images that were last given to `probabilities`; float32 [images, units]."""

    def probabilities(self, images: Array) -> Array:
        """Of each digit, float32 [images, 10]."""
        p = self.parameters
        with profiler.annotate("hidden", units=self._chosen.hidden):
            self.activation = np.maximum(images @ p["hidden/kernel"] + p["hidden/bias"], 0)
        with profiler.annotate("output", units=10):
            logits = self.activation @ p["output/kernel"] + p["output/bias"]
            # The plain formula, which overflows beyond logits of 88: what diverges ends in NaN, as in most programs.
            exponentials = np.exp(logits)
            return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True), np.float32)

    def gradients(self, images: Array, labels: Labels, probabilities: Array) -> dict[str, Array]:
        """Of the mean cross entropy, by parameter; ``probabilities`` must be the last that were computed."""
        with profiler.annotate("output"):
            error = probabilities.copy()
            error[np.arange(len(labels)), labels] -= 1
            error /= len(labels)
            output = {"output/kernel": self.activation.T @ error, "output/bias": error.sum(axis=0)}
        with profiler.annotate("hidden"):
            error = (error @ self.parameters["output/kernel"].T) * (self.activation > 0)
            return {"hidden/kernel": images.T @ error, "hidden/bias": error.sum(axis=0), **output}

    def update(self, gradients: dict[str, Array]) -> None:
        """Take one step down the gradients."""
        for name, gradient in gradients.items():
            self._velocity[name] *= self._chosen.momentum
            self._velocity[name] -= self._chosen.learning_rate * gradient
            self.parameters[name] += self._velocity[name]


def cross_entropy(probabilities: Array, labels: Labels) -> float:
    """Return the mean over all images, in nats."""
    return float(-np.log(probabilities[np.arange(len(labels)), labels] + 1e-9).mean())


def accuracy(probabilities: Array, labels: Labels) -> float:
    """Return the share of images whose digit is the most probable one."""
    return float((probabilities.argmax(axis=1) == labels).mean())


def batches(digits: Digits, size: int, generator: np.random.Generator) -> Iterator[Batch]:
    """Yield all training images once, in random order."""
    order = generator.permutation(len(digits.train_labels))
    for begin in range(0, len(order), size):
        with profiler.annotate("load batch", size=size):
            chosen = order[begin : begin + size]
            images, labels = digits.train_images[chosen], digits.train_labels[chosen]
        yield images, labels


def prefetched(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the same batches, made by a thread of its own while the network trains on the one before."""
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
