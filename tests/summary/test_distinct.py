"""Equal rows of columns, compared with NumPy's own way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from stepscope.summary.distinct import distinct_rows, distinct_values, numbered, running_count

_FEW = st.integers(-2, 2)
_ROWS = st.lists(st.tuples(_FEW, _FEW, st.sampled_from([0, 1 << 62, -(1 << 62)])), max_size=30)


@given(_ROWS)
def test_rows_are_as_with_unique_along_an_axis(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    found = distinct_rows(*table.T)
    expected, first, group, counts = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    assert_array_equal(table[found.first], expected)
    assert_array_equal(found.first, first)
    assert_array_equal(found.group, group.reshape(-1))
    assert_array_equal(found.counts, counts)


@given(st.lists(st.lists(_FEW, min_size=2, max_size=2)), st.sampled_from([np.int32, np.float64, np.uint8, np.str_]))
def test_values_are_as_with_unique(values: list[list[int]], dtype: type[np.generic]) -> None:
    table = np.abs(np.array(values, np.int64)).astype(dtype)
    assert_array_equal(distinct_values(table), np.unique(table))
    assert distinct_values(table).dtype == table.dtype


@given(st.lists(_FEW), st.sampled_from([np.int32, np.float64, np.str_]))
def test_numbers_are_as_with_unique(values: list[int], dtype: type[np.generic]) -> None:
    array = np.array(values, np.int64).astype(dtype)
    expected = np.unique(array, return_index=True, return_inverse=True)
    for mine, theirs in zip(numbered(array), expected, strict=True):
        assert_array_equal(mine, theirs)


def test_what_is_chosen_is_counted_as_with_cumsum() -> None:
    for chosen in (np.array([False, True, True, False, True]), np.zeros(0, np.bool_), np.ones(6, np.bool_)[::2]):
        assert_array_equal(running_count(chosen), np.cumsum(chosen), strict=True)
