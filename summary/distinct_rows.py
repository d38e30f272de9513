"""Which rows of several columns are equal, without keeping other threads from running meanwhile.

``numpy.unique(..., axis=...)`` compares rows as Python objects would be, and holds the interpreter's lock all that
time: seconds, for millions of rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]


class DistinctRows(NamedTuple):
    """The different rows of some columns, sorted by the first column, then by the next."""

    first: Column
    """Where each of them is first, int64 ``[k]``."""
    group: Column
    """Which of them each row is, int64 ``[n]``."""

    @property
    def counts(self) -> Column:
        """How many rows are equal to each, int64 ``[k]``."""
        return np.bincount(self.group, minlength=len(self.first))


def distinct_rows(*columns: Column) -> DistinctRows:
    """Return the different rows of columns, each int64 ``[n]``."""
    order = np.lexsort(columns[::-1])
    begins = np.zeros(len(order), np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= np.diff(column[order]) != 0
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(begins) - 1
    return DistinctRows(order[begins], group)
