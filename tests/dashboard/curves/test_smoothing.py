import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.curves.smoothing import smooth


def tensorboards_formula(values: list[float], weight: float) -> list[float]:
    """The formula in the docstring, verbatim, one value at a time."""
    if all(value == values[0] for value in values):
        return values
    last, n, out = 0.0, 0, []
    for y in values:
        if not math.isfinite(y):
            out.append(y)
            continue
        last = last * weight + (1 - weight) * y
        n += 1
        out.append(last / (1 if weight == 1 else 1 - weight**n))
    return out


@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1, max_size=50),
    st.floats(0, 0.999),
)
def test_equals_the_formula(values: list[float], weight: float) -> None:
    expected = values if weight == 0 else tensorboards_formula(values, weight)
    assert smooth(np.array(values), weight) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


def test_constant_series_is_not_touched() -> None:
    values = np.full(10, 0.1)
    assert smooth(values, 0.9) is values


def test_non_finite_values_pass_and_leave_the_average_alone() -> None:
    assert smooth(np.array([1.0, np.nan, 3.0, np.inf]), 0.5).tolist() == pytest.approx(
        [1.0, math.nan, (0.5 * 0.5 + 0.5 * 3) / 0.75, math.inf], nan_ok=True
    )


def test_empty_series_stays_empty() -> None:
    assert smooth(np.empty(0), 0.6).tolist() == []
