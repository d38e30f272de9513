"""Recordings made of arrays, for tests of what is worked out about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.model import (
    COLUMN,
    FIGURES,
    Alert,
    Figure,
    Frame,
    Observations,
    SourceFile,
    WatchedTensor,
)


@dataclass
class Recorded:
    """A recording in memory."""

    tensors: Sequence[WatchedTensor]
    observed: Observations
    source: str = "a test"
    stacks: Sequence[Sequence[Frame]] = ()
    sources: Sequence[SourceFile] = ()
    alerts: Sequence[Alert] = ()
    problems: Sequence[str] = ()
    values: Mapping[int, NDArray[np.generic]] = field(default_factory=dict)
    reads: list[tuple[int, int]] = field(default_factory=list)
    """What was read."""

    @property
    def observation_count(self) -> int:
        return len(self.observed)

    def observations(self, begin: int, end: int) -> Observations:
        self.reads.append((begin, end))
        part = slice(begin, end)
        return Observations(
            self.observed.tensors[part],
            self.observed.steps[part],
            self.observed.wall_times[part],
            self.observed.figures[part],
        )

    def value(self, number: int) -> NDArray[np.generic] | None:
        return self.values.get(number)

    def stack(self, number: int) -> Sequence[Frame]:
        return self.stacks[number] if 0 <= number < len(self.stacks) else ()


def observed(rows: Sequence[tuple[int, int, Mapping[Figure, float]]]) -> Observations:
    """Return observations of (tensor, step, figures), a second apart."""
    figures = np.full((len(rows), len(FIGURES)), np.nan)
    for place, (_tensor, _step, given) in enumerate(rows):
        for figure, value in given.items():
            figures[place, COLUMN[figure]] = value
    return Observations(
        np.array([tensor for tensor, _, _ in rows], np.int32),
        np.array([step for _, step, _ in rows], np.int64),
        1e9 + np.arange(len(rows), dtype=np.float64),
        figures,
    )


def many(tensors: int, steps: int, every: int = 1) -> Recorded:
    """Return a recording of every tensor at every step, whose L2 is ``tensor + step / 10``."""
    count = tensors * steps
    figures = np.full((count, len(FIGURES)), np.nan)
    number = np.arange(count)
    figures[:, COLUMN["l2"]] = number % tensors + number // tensors * every / 10
    figures[:, COLUMN["nan"]] = 0
    return Recorded(
        [WatchedTensor(f"layer.{place}", "forward", f"layer.{place}") for place in range(tensors)],
        Observations(
            (number % tensors).astype(np.int32),
            (number // tensors * every).astype(np.int64),
            1e9 + number.astype(np.float64),
            figures,
        ),
    )
