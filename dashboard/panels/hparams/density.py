"""The distribution of all sessions on pairs of axes, as counts, for when there are too many to draw each."""

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
    """For numbers, the boundaries between bins, ascending; the first and the last bin are open-ended."""
    positive: bool = False
    """Whether numbers of 0 and below have no place on the axis."""
    labels: tuple[str, ...] | None = None
    """For texts, one bin each."""

    @property
    def bins(self) -> int:
        return len(self.cuts) + 1 if self.labels is None else len(self.labels)


@dataclass(frozen=True)
class Density:
    """The number of sessions in each pair of bins."""

    sessions: int
    ends: Mapping[str, tuple[float, float]]
    """By numeric axis, the minimum and maximum that have a place; absent if no session has any."""
    counts: Sequence[NDArray[np.uint32]]
    """For each pair of axes ``[bins + 1, bins + 1]``; the last bin is for sessions without a place on the axis."""


def density(
    found: Sessions, requested: TableRequest, axes: Sequence[Axis], pairs: Sequence[tuple[int, int]]
) -> Density:
    """Return the distribution on pairs of axes of the sessions that pass the filters and the search, in one pass.

    Args:
        found: all sessions.
        requested: filters, search, and which value of a metric counts.
        axes: the axes; no session has a place on an axis whose column does not exist.
        pairs: two indices into ``axes`` each.
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
    """Return, for each session, the index of its text in the labels, or the number of labels if it has none of them."""
    texts, codes = texts_of(found, column.key)
    place = {label: at for at, label in enumerate(labels)}
    bins = np.array([place.get(text, len(labels)) for text in texts], np.intp)[codes]
    # None is not an empty text.
    return np.where(_given(found, column.key), bins, len(labels))


def _given(found: Sessions, key: str) -> NDArray[np.bool_]:
    def given() -> NDArray[np.bool_]:
        return np.fromiter((key in one.hparams for one in found.sessions), np.bool_, len(found.sessions))

    return found.once(("given", key), given)
