"""Square sparse matrices, stored by rows: the edges of UMAP's graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kernels import kernel


@dataclass(frozen=True)
class SparseRows:
    """Positive numbers of a matrix [n, n]; those of row i are from ``starts[i]`` to ``starts[i + 1]``."""

    starts: NDArray[np.int64]
    """[n + 1]"""
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each number, int32 like ``columns``."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    @staticmethod
    def of_rows(columns: NDArray[np.int32], values: NDArray[np.float32]) -> "SparseRows":
        """Return a matrix from columns and values [n, k] with the same number of values per row; zeros are dropped."""
        kept = values > 0
        return SparseRows(_starts(kept.sum(axis=1)), columns[kept], values[kept])

    def without_zeros(self) -> "SparseRows":
        """Return the same matrix without the values that have become 0."""
        kept = self.values > 0
        return SparseRows(
            _starts(np.bincount(self.rows[kept], minlength=len(self.starts) - 1)),
            self.columns[kept],
            self.values[kept],
        )

    def transposed(self) -> "SparseRows":
        """Return the transposed matrix; the columns of each row are in order."""
        starts = _starts(np.bincount(self.columns, minlength=len(self.starts) - 1))
        columns, values = np.empty_like(self.columns), np.empty_like(self.values)
        _transpose(self.starts, self.columns, self.values, starts[:-1].copy(), columns, values)
        return SparseRows(starts, columns, values)

    def either(self) -> "SparseRows":
        """Return the probability of either: ``a + b - a b`` for numbers a and b on opposite sides of the diagonal.

        The columns of each row are in order.
        """
        back = self.transposed()
        ordered = back.transposed()
        columns, values = np.empty(2 * len(self.columns), np.int32), np.empty(2 * len(self.values), np.float32)
        starts = np.zeros(len(self.starts), np.int64)
        _unite(
            ordered.starts,
            ordered.columns,
            ordered.values,
            back.starts,
            back.columns,
            back.values,
            starts,
            columns,
            values,
        )
        return SparseRows(starts, columns[: starts[-1]].copy(), values[: starts[-1]].copy())


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


@kernel()
def _transpose(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    ends: NDArray[np.int64],
    new_columns: NDArray[np.int32],
    new_values: NDArray[np.float32],
) -> None:
    """Write each number to the end of its new row; ``ends`` holds the starts of the new rows, and is modified."""
    for i in range(len(starts) - 1):
        for at in range(starts[i], starts[i + 1]):
            end = ends[columns[at]]
            new_columns[end] = i
            new_values[end] = values[at]
            ends[columns[at]] = end + 1


@kernel()
def _unite(
    a_starts: NDArray[np.int64],
    a_columns: NDArray[np.int32],
    a_values: NDArray[np.float32],
    b_starts: NDArray[np.int64],
    b_columns: NDArray[np.int32],
    b_values: NDArray[np.float32],
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
) -> None:
    """Merge the rows of two matrices with ordered columns into ``starts``, ``columns`` and ``values``."""
    count = 0
    for i in range(len(starts) - 1):
        a, b = a_starts[i], b_starts[i]
        a_end, b_end = a_starts[i + 1], b_starts[i + 1]
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and a_columns[a] < b_columns[b]):
                columns[count], values[count] = a_columns[a], a_values[a]
                a += 1
            elif a == a_end or b_columns[b] < a_columns[a]:
                columns[count], values[count] = b_columns[b], b_values[b]
                b += 1
            else:
                columns[count] = a_columns[a]
                values[count] = a_values[a] + b_values[b] - a_values[a] * b_values[b]
                a += 1
                b += 1
            count += 1
        starts[i + 1] = count
