"""Computed columns, such as clusters, in addition to those of the files."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.dataset import MOST_CATEGORIES, Column, Dataset

MOST_DATASETS: Final = 64
MOST_COLUMNS: Final = 32
"""Maximum number of columns per dataset."""


@dataclass(frozen=True)
class _Kept:
    digest: str
    columns: OrderedDict[str, Column]


class DerivedColumns:
    """The computed columns of each dataset, limited in number; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, int | None], _Kept] = OrderedDict()

    def add(self, dataset: Dataset, column: Column) -> str:
        """Add a column, replacing an added one of the same name; return its name.

        If a column of the files has the same name, a number is appended.
        """
        name = column.name
        taken = {own.name for own in dataset.columns}
        number = 2
        while name in taken:
            name = f"{column.name} ({number})"
            number += 1
        column = Column(name, column.kind, column.texts, column.numbers, column.categories, column.codes)
        place = (dataset.id, dataset.step)
        with self._lock:
            kept = self._kept.get(place)
            if kept is None or kept.digest != dataset.digest:
                kept = self._kept[place] = _Kept(dataset.digest, OrderedDict())
            kept.columns[name] = column
            kept.columns.move_to_end(name)
            if len(kept.columns) > MOST_COLUMNS:
                kept.columns.popitem(last=False)
            self._kept.move_to_end(place)
            if len(self._kept) > MOST_DATASETS:
                self._kept.popitem(last=False)
        return name

    def of(self, dataset: Dataset) -> tuple[Column, ...]:
        """Return the computed columns of a dataset, the oldest first; none if its points have changed.

        Those whose names columns of the files have, as of metadata that was dropped later, are left out.
        """
        with self._lock:
            kept = self._kept.get((dataset.id, dataset.step))
            if kept is None or kept.digest != dataset.digest:
                return ()
            taken = {own.name for own in dataset.columns}
            return tuple(column for name, column in kept.columns.items() if name not in taken)

    def all_of(self, dataset: Dataset) -> tuple[Column, ...]:
        """Return the columns of the files, then the computed ones."""
        return (*dataset.columns, *self.of(dataset))


def column_of_clusters(name: str, labels: NDArray[np.int32], rows: NDArray[np.uint32] | None, count: int) -> Column:
    """Return a column of cluster numbers.

    Args:
        name: name of the column.
        labels: int32, the cluster of each clustered point, from 0; -1 for noise.
        rows: the clustered points; None for all.
        count: total number of points; those that were not clustered have no value.
    """
    found = [f"cluster {label}" if label >= 0 else "noise" for label in range(-1, int(labels.max(initial=-1)) + 1)]
    each = np.full(count, "", dtype=object)
    named = np.array(found, dtype=object)[labels + 1]
    each[rows if rows is not None else slice(None)] = named
    texts = tuple(each.tolist())
    ordered = [text for text, _ in sorted(Counter(named.tolist()).items(), key=lambda item: (-item[1], item[0]))]
    if len(ordered) > MOST_CATEGORIES:
        return Column(name, "text", texts, None, (), None)
    code_of = {text: code for code, text in enumerate(ordered)} | {"": -1}
    return Column(name, "text", texts, None, tuple(ordered), np.array([code_of[text] for text in texts], np.int32))
