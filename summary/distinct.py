"""Distinct values of columns, found without blocking other threads.

``numpy.unique`` holds the interpreter's lock while it counts integers by their hashes or compares rows along an axis,
which takes seconds for millions. Sorting lets other threads run, and is ten times faster if most values are distinct.
``numpy.cumsum``, by which ``numpy.unique`` numbers values, holds the lock too if it converts them to another type.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def distinct_values(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the distinct values of an array of any shape, ascending; NaNs are all distinct."""
    ascending = np.sort(values, axis=None)
    return ascending[_begins(ascending)]


def running_count(chosen: NDArray[np.bool_]) -> Column:
    """Return how many elements of a mask are true up to and including each place, int64 ``[n]``."""
    # Convert first: NumPy holds the GIL while it converts types during a sum.
    counts = chosen.astype(np.int64)
    return np.cumsum(counts, out=counts)


class Numbered(NamedTuple, Generic[Scalar]):
    """The distinct values of an array, ascending, each numbered by its place among them."""

    distinct: NDArray[Scalar]
    first: Column
    """Index of the first occurrence of each distinct value, int64 ``[k]``."""
    number: Column
    """Number of the distinct value that each value is, int64 ``[n]``."""


def numbered(values: NDArray[Scalar]) -> Numbered[Scalar]:
    """Return the distinct values of an array ``[n]`` and the number of each value; NaNs are all distinct."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = _begins(ordered)
    number = np.empty(len(order), np.int64)
    number[order] = running_count(begins) - 1
    return Numbered(ordered[begins], order[begins], number)


class DistinctRows(NamedTuple):
    """The distinct rows of some columns, sorted by the first column, then by the next."""

    first: Column
    """Index of the first occurrence of each distinct row, int64 ``[k]``."""
    group: Column
    """Number of the distinct row that each row is, int64 ``[n]``."""

    @property
    def counts(self) -> Column:
        """Number of rows that equal each distinct row, int64 ``[k]``."""
        return np.bincount(self.group, minlength=len(self.first))


def distinct_rows(*columns: Column) -> DistinctRows:
    """Return the distinct rows of columns, each int64 ``[n]``."""
    order = np.lexsort(columns[::-1])
    begins = np.zeros(len(order), np.bool_)
    for column in columns:
        begins |= _begins(column[order])
    group = np.empty(len(order), np.int64)
    group[order] = running_count(begins) - 1
    return DistinctRows(order[begins], group)


def _begins(ordered: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which values differ from the previous one."""
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins
