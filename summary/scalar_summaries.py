"""Summaries of scalar tags: the last point, the minimum and the maximum; for many tags as one table."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

SUMMARY: Final = np.dtype(
    [
        ("last_time", "<f8"),
        ("last", "<f8"),
        ("least", "<f8"),
        ("least_step", "<i8"),
        ("greatest", "<f8"),
        ("greatest_step", "<i8"),
    ]
)
"""`ScalarSummary` without the last step, which is in the table of tags; meaningless for a tag without points."""
_POINTS_AT_ONCE: Final = 1 << 16


class ScalarSummary(NamedTuple):
    """Summary of the points of a scalar tag; minimum and maximum are the first such points among the finite ones.

    If no point is finite, both are NaN and their steps are 0.
    """

    last_step: int
    last_time: float
    """Seconds since the epoch, as written."""
    last: float
    least: float
    least_step: int
    greatest: float
    greatest_step: int

    def followed_by(self, later: "ScalarSummary") -> "ScalarSummary":
        """Return the combined summary of these points and later ones."""
        least = self if self.least <= later.least or np.isnan(later.least) else later
        greatest = self if self.greatest >= later.greatest or np.isnan(later.greatest) else later
        return ScalarSummary(
            later.last_step,
            later.last_time,
            later.last,
            least.least,
            least.least_step,
            greatest.greatest,
            greatest.greatest_step,
        )


class Points(NamedTuple):
    """The points of the scalar tags of a file, tag after tag."""

    counts: NDArray[np.int64]
    """[tags]: number of points; 0 for tags that are not scalars."""
    steps: NDArray[np.int64]
    step_begins: NDArray[np.int64]
    """[tags]: start of each tag's steps; tags may share them."""
    last_times: NDArray[np.float64]
    """[tags with points]"""
    values: NDArray[np.float64] | NDArray[np.float32]
    """[sum of counts]"""


def summary_of(
    steps: NDArray[np.int64], wall_times: NDArray[np.float64], values: NDArray[np.float64]
) -> ScalarSummary | None:
    """Return the summary of a tag's points, given as columns of equal length; None if there are none."""
    if not len(values):
        return None
    points = Points(np.array([len(values)]), steps, np.zeros(1, np.int64), wall_times[-1:], values)
    return from_row(summaries([points])[0], int(steps[-1]))


def from_row(row: np.void, last_step: int) -> ScalarSummary:
    """Return the summary in a row of `SUMMARY`."""
    return ScalarSummary(last_step, *row.item())


def summaries(files: Iterable[Points]) -> NDArray[np.void]:
    """Return `SUMMARY` [tags of all files]."""
    parts = [_summaries(batch) for batch in _batches(files)]
    return np.concatenate(parts) if parts else np.empty(0, SUMMARY)


def _batches(files: Iterable[Points]) -> Iterator[list[Points]]:
    batch: list[Points] = []
    count = 0
    for file in files:
        batch.append(file)
        count += len(file.values)
        if count >= _POINTS_AT_ONCE:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _summaries(files: Sequence[Points]) -> NDArray[np.void]:
    counts = np.concatenate([file.counts for file in files])
    found = np.zeros(len(counts), SUMMARY)
    some = counts > 0
    if not some.any():
        return found
    counts = counts[some]
    ends = np.cumsum(counts)
    begins = ends - counts
    values = np.concatenate([file.values for file in files]).astype(np.float64, copy=False)
    before = np.cumsum([0, *(len(file.steps) for file in files[:-1])])
    steps = np.concatenate([file.steps for file in files])
    # Where each tag's steps are, relative to the places of its points.
    shift = np.concatenate([file.step_begins + at for file, at in zip(files, before, strict=True)])[some] - begins
    finite = np.isfinite(values)
    places = np.arange(len(values))
    rows = np.zeros(len(counts), SUMMARY)
    rows["last_time"] = np.concatenate([file.last_times for file in files])
    rows["last"] = values[ends - 1]
    comparable = np.where(finite, values, np.nan)
    for name, extreme in (("least", np.fmin), ("greatest", np.fmax)):
        numbers = extreme.reduceat(comparable, begins)
        firsts = np.minimum.reduceat(np.where(comparable == np.repeat(numbers, counts), places, len(values)), begins)
        there = firsts < len(values)
        rows[name] = numbers
        rows[f"{name}_step"][there] = steps[firsts[there] + shift[there]]
    found[some] = rows
    return found
