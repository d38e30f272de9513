"""What is in columns, each once, without keeping other threads from running meanwhile.

``numpy.unique`` holds the interpreter's lock while it counts integers by their hashes, or compares rows along an axis:
seconds, for millions. Sorting them lets others run, and is ten times faster where most of them are different. So does
``numpy.cumsum`` of what becomes another type, by which ``numpy.unique`` numbers values.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def distinct_values(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the different values of an array of any shape, ascending; NaNs are all different."""
    ascending = np.sort(values, axis=None)
    return ascending[_begins(ascending)]


def running_count(chosen: NDArray[np.bool_]) -> Column:
    """Return how many of a mask are true up to each place, that place with them, int64 ``[n]``."""
    # Summed up as what they are: NumPy holds the lock while it turns them into another type by the way.
    counts = chosen.astype(np.int64)
    return np.cumsum(counts, out=counts)


class Numbered(NamedTuple, Generic[Scalar]):
    """The different values of an array, ascending, with a number for each: its place among them."""

    distinct: NDArray[Scalar]
    first: Column
    """Where each of them is first, int64 ``[k]``."""
    number: Column
    """Which of them each value is, int64 ``[n]``."""


def numbered(values: NDArray[Scalar]) -> Numbered[Scalar]:
    """Return the different values of an array ``[n]``, and which of them each is; NaNs are all different."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = _begins(ordered)
    number = np.empty(len(order), np.int64)
    number[order] = running_count(begins) - 1
    return Numbered(ordered[begins], order[begins], number)


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
    for column in columns:
        begins |= _begins(column[order])
    group = np.empty(len(order), np.int64)
    group[order] = running_count(begins) - 1
    return DistinctRows(order[begins], group)


def _begins(ordered: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which values differ from the one before."""
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins
