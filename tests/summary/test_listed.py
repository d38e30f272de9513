"""Columns as lists, piece by piece."""

import numpy as np
import pytest

from stepscope.summary import listed as module
from stepscope.summary.listed import listed


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10])
def test_a_list_is_that_of_numpy(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 3)
    for column in (np.arange(count), np.arange(count) > 1, np.arange(count).astype(str)):
        assert listed(column) == column.tolist()
