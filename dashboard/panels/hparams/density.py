"""How all sessions lie on pairs of axes: counts, where there are too many to draw each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.hparams.many import holds_words, numbers, passes, texts_of
from stepscope.dashboard.panels.hparams.sessions import Column, Sessions
from stepscope.dashboard.panels.hparams.settings import TableRequest

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Axis:
    """A column cut into bins."""

    key: str
    cuts: tuple[float, ...] = ()
    """Of numbers, where one bin ends and the next begins, ascending; the first and the last bin have no other end."""
    positive: bool = False
    """Numbers of 0 and below have no place on it."""
    labels: tuple[str, ...] | None = None
    """Of texts, a bin each."""

    @property
    def bins(self) -> int:
        return len(self.cuts) + 1 if self.labels is None else len(self.labels)


@dataclass(frozen=True)
class Density:
    """How many sessions there are for each pair of bins."""

    sessions: int
    ends: Mapping[str, tuple[float, float]]
    """By axis of numbers, the least and the greatest that have a place; none where no session has any."""
    counts: Sequence[NDArray[np.uint32]]
    """For each pair of axes ``[bins + 1, bins + 1]``; the last is for sessions without a place on the axis."""


def density(
    found: Sessions, requested: TableRequest, axes: Sequence[Axis], pairs: Sequence[tuple[int, int]]
) -> Density:
    """Return how the sessions that pass the filters and that the search finds lie on pairs of axes, in one pass.

    Args:
        found: all sessions.
        requested: filters, search, and which value of a metric counts.
        axes: those that exist; of a column that there is not, no session has a place.
        pairs: two places in ``axes`` each.
    """
    chosen = np.flatnonzero(passes(found, requested) & holds_words(found, requested.search))
    columns = {column.key: column for column in found.columns}
    bins: list[Places] = []
    ends: dict[str, tuple[float, float]] = {}
    for axis in axes:
        column = columns.get(axis.key)
        if column is None:
            bins.append(np.full(len(chosen), axis.bins, np.intp))
        elif axis.labels is not None:
            bins.append(_text_bins(found, column, axis.labels)[chosen])
        else:
            values = numbers(found, column, requested)[chosen]
            has_place = np.isfinite(values) & ((values > 0) | (not axis.positive))
            if has_place.any():
                ends[axis.key] = float(values[has_place].min()), float(values[has_place].max())
            bins.append(np.where(has_place, np.searchsorted(np.array(axis.cuts), values, side="right"), axis.bins))
    return Density(len(chosen), ends, [*_counts(axes, bins, pairs)])


def _counts(
    axes: Sequence[Axis], bins: Sequence[Places], pairs: Sequence[tuple[int, int]]
) -> Iterator[NDArray[np.uint32]]:
    for first, second in pairs:
        shape = axes[first].bins + 1, axes[second].bins + 1
        flat = np.bincount(bins[first] * shape[1] + bins[second], minlength=shape[0] * shape[1])
        yield flat.reshape(shape).astype(np.uint32)


def _text_bins(found: Sessions, column: Column, labels: Sequence[str]) -> Places:
    """Return, for each session, the place of its text among the labels, and their number where it has none of them."""
    texts, codes = texts_of(found, column.key)
    place = {label: at for at, label in enumerate(labels)}
    bins = np.array([place.get(text, len(labels)) for text in texts], np.intp)[codes]
    # None is no empty text.
    return np.where(_given(found, column.key), bins, len(labels))


def _given(found: Sessions, key: str) -> NDArray[np.bool_]:
    def given() -> NDArray[np.bool_]:
        return np.fromiter((key in one.hparams for one in found.sessions), np.bool_, len(found.sessions))

    return found.once(("given", key), given)
