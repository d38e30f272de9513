"""Columns as lists, piece by piece."""

import numpy as np
import pytest

from stepscope.summary import listed as module
from stepscope.summary.listed import let_go, listed


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10])
def test_a_list_is_that_of_numpy(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 3)
    for column in (np.arange(count), np.arange(count) > 1, np.arange(count).astype(str)):
        assert listed(column) == column.tolist()


def test_what_is_in_a_list_goes_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as one piece goes, no other thread runs."""
    monkeypatch.setattr(module, "_LET_GO", 3)
    left: list[int] = []

    class Element:
        def __del__(self) -> None:
            left.append(len(values))

    values = [Element() for _ in range(8)]
    let_go(values)
    assert left == [5, 5, 5, 2, 2, 2, 0, 0]
