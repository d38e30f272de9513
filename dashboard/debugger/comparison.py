"""Comparison of two recordings of the same tensors: which differs first, by how much, and how the difference grows.

Observations are paired by tensor (name and phase), step, and position among the tensor's observations in that step.
Differences in minimum, maximum and mean are relative to the largest magnitude in either value, so that a mean close to
zero causes no difference; differences in L2 and absolute mean are relative to these figures themselves. A different
number of elements that are not finite is a difference of 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.summary.debugger.model import COLUMN, Figure
from stepscope.summary.distinct import distinct_values

MOST_OBSERVATIONS: Final = 500_000
"""Maximum number of observations compared per recording; the first ones are compared."""
COUNTS: Final[tuple[Figure, ...]] = ("nan", "positive_infinity", "negative_infinity")
EXTENTS: Final[tuple[Figure, ...]] = ("minimum", "maximum", "mean")
SIZES: Final[tuple[Figure, ...]] = ("l2", "absolute_mean")
COMPARED: Final = (*COUNTS, *EXTENTS, *SIZES)
_TINY: Final = 1e-300


@dataclass(frozen=True)
class Difference:
    """A tensor whose values differ by more than the tolerance."""

    tensor: int
    other: int
    """The tensor of the other recording."""
    step: int
    """The first step at which it differs."""
    observation: int
    other_observation: int
    figure: Figure
    """The figure that differs most at that step."""
    value: float
    other_value: float
    relative: float
    """Relative difference at that step."""
    largest: float
    """Largest relative difference over all steps."""
    differing: int
    """Number of observations that differ."""
    compared: int


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two recordings."""

    differences: Sequence[Difference]
    """Differences in order of occurrence."""
    matched: int
    """Number of tensors that both recordings have."""
    only_first: Sequence[int]
    only_second: Sequence[int]
    compared: int
    """Number of compared pairs of observations."""
    left_out: int
    """Number of observations beyond `MOST_OBSERVATIONS`, which are not compared."""


@dataclass(frozen=True)
class _Side:
    tensors: NDArray[np.int64]
    steps: NDArray[np.int64]
    figures: NDArray[np.float64]
    numbers: NDArray[np.int64]


def compare(first: OpenedDebug, second: OpenedDebug, tolerance: float) -> Comparison:
    """Compare two recordings.

    Args:
        first: the recording whose order is used.
        second: the recording to compare it with.
        tolerance: the largest relative difference that does not count as one.
    """
    places = {(tensor.name, tensor.phase): number for number, tensor in enumerate(second.data.tensors)}
    other_of = np.full(len(first.data.tensors), -1, np.int64)
    for number, tensor in enumerate(first.data.tensors):
        other_of[number] = places.get((tensor.name, tensor.phase), -1)
    matched = np.flatnonzero(other_of >= 0)
    first_of = np.full(len(second.data.tensors), -1, np.int64)
    first_of[other_of[matched]] = matched
    one, other = _side(first, np.where(other_of >= 0, np.arange(len(other_of)), -1)), _side(second, first_of)
    here, there = _pairs(one, other)
    differing, figures = _relative(one.figures[here], other.figures[there])
    found = []
    order = np.argsort(one.numbers[here], kind="stable")
    here, there, differing, figures = here[order], there[order], differing[order], figures[order]
    over = differing > tolerance
    tensors, begin = np.unique(one.tensors[here[over]], return_index=True)
    compared = np.bincount(one.tensors[here], minlength=len(other_of))
    counts = np.bincount(one.tensors[here[over]], minlength=len(other_of))
    largest = np.zeros(len(other_of))
    np.maximum.at(largest, one.tensors[here], differing)
    places_over = np.flatnonzero(over)
    for tensor, at in sorted(zip(tensors.tolist(), begin.tolist(), strict=True), key=lambda pair: pair[1]):
        pair = places_over[at]
        column = int(figures[pair])
        found.append(
            Difference(
                tensor,
                int(other_of[tensor]),
                int(one.steps[here[pair]]),
                int(one.numbers[here[pair]]),
                int(other.numbers[there[pair]]),
                COMPARED[column],
                float(one.figures[here[pair], column]),
                float(other.figures[there[pair], column]),
                float(differing[pair]),
                float(largest[tensor]),
                int(counts[tensor]),
                int(compared[tensor]),
            )
        )
    left_out = sum(max(each.data.observation_count - MOST_OBSERVATIONS, 0) for each in (first, second))
    return Comparison(
        found,
        len(matched),
        np.flatnonzero(other_of < 0).tolist(),
        np.flatnonzero(first_of < 0).tolist(),
        len(here),
        left_out,
    )


def _side(opened: OpenedDebug, number_of: NDArray[np.int64]) -> _Side:
    """Return observations with their tensors renumbered, without those of tensors that have no number."""
    columns = [COLUMN[figure] for figure in COMPARED]
    parts = []
    for begin, observed in opened.chunks():
        if begin >= MOST_OBSERVATIONS:
            break
        renumbered = number_of[observed.tensors]
        kept = np.flatnonzero(renumbered[: MOST_OBSERVATIONS - begin] >= 0)
        parts.append((renumbered[kept], observed.steps[kept], observed.figures[kept][:, columns], begin + kept))
    if not parts:
        nothing = np.zeros(0, np.int64)
        return _Side(nothing, nothing, np.zeros((0, len(columns))), nothing)
    tensors, steps, figures, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Side(tensors, steps, figures, numbers)


def _pairs(one: _Side, other: _Side) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of observations that belong together."""
    steps = distinct_values(np.concatenate([one.steps, other.steps]))
    nths = [_nth(side) for side in (one, other)]
    most = max((int(nth.max()) + 1 for nth in nths if len(nth)), default=1)
    keys = [
        (side.tensors * len(steps) + np.searchsorted(steps, side.steps)) * most + nth
        for side, nth in zip((one, other), nths, strict=True)
    ]
    _, here, there = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return here, there


def _nth(side: _Side) -> NDArray[np.int64]:
    """Return for each observation how many others of the same tensor and step precede it."""
    order = np.lexsort((np.arange(len(side.tensors)), side.steps, side.tensors))
    tensors, steps = side.tensors[order], side.steps[order]
    places = np.arange(len(order))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (tensors[1:] != tensors[:-1]) | (steps[1:] != steps[:-1])
    nth = np.empty(len(order), np.int64)
    nth[order] = places - np.maximum.accumulate(np.where(begins, places, 0)) if len(order) else places
    return nth


def _relative(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the relative difference of each pair, and which figure of `COMPARED` it concerns."""
    if not len(one):
        return np.zeros(0), np.zeros(0, np.intp)
    found = np.zeros(one.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(one - other)
        counts, extents = slice(0, len(COUNTS)), slice(len(COUNTS), len(COUNTS) + len(EXTENTS))
        sizes = slice(len(COUNTS) + len(EXTENTS), None)
        found[:, counts] = apart[:, counts] > 0
        both = np.concatenate([np.abs(one[:, extents]), np.abs(other[:, extents])], axis=1)
        reach = np.maximum(np.nan_to_num(both).max(axis=1, keepdims=True), _TINY)
        found[:, extents] = apart[:, extents] / reach
        found[:, sizes] = apart[:, sizes] / np.maximum(np.maximum(one[:, sizes], other[:, sizes]), _TINY)
    found = np.nan_to_num(found, nan=0.0, posinf=1.0)
    figures = found.argmax(axis=1)
    return found[np.arange(len(found)), figures], figures
