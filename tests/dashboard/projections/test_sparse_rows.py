"""The arithmetic of UMAP's edges, compared with dense matrices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from stepscope.dashboard.projections.sparse_rows import SparseRows

STRENGTHS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
SQUARES = st.integers(1, 6).flatmap(lambda n: arrays(np.float32, (n, n), elements=STRENGTHS))


def sparse(matrix: NDArray[np.float32]) -> SparseRows:
    # Nothing may depend on the order of the columns.
    columns = np.tile(np.arange(len(matrix), dtype=np.int32)[::-1], (len(matrix), 1))
    return SparseRows.of_rows(columns, matrix[:, ::-1])


def dense(found: SparseRows) -> NDArray[np.float32]:
    matrix = np.zeros((len(found.starts) - 1,) * 2, np.float32)
    matrix[found.rows, found.columns] = found.values
    assert len(found.values) == np.count_nonzero(matrix), "a number twice, or a zero"
    return matrix


@given(SQUARES)
def test_rows_become_columns_in_order(matrix: NDArray[np.float32]) -> None:
    found = sparse(matrix).transposed()
    np.testing.assert_array_equal(dense(found), matrix.T)
    assert all((np.diff(part) > 0).all() for part in np.split(found.columns, found.starts[1:-1]))


@given(SQUARES)
def test_either_of_two_directions(matrix: NDArray[np.float32]) -> None:
    found = sparse(matrix).either()
    np.testing.assert_array_equal(dense(found), matrix + matrix.T - matrix * matrix.T)
    assert all((np.diff(part) > 0).all() for part in np.split(found.columns, found.starts[1:-1]))


def test_what_has_become_zero_is_left_out() -> None:
    found = SparseRows(np.array([0, 2, 2, 3]), np.array([0, 1, 2], np.int32), np.array([0, 2, 0], np.float32))
    left = found.without_zeros()
    assert (left.starts.tolist(), left.columns.tolist(), left.values.tolist()) == ([0, 1, 1, 1], [1], [2.0])
