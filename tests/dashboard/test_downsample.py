import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stepscope.dashboard.tensorboard.downsample import MOST_GAPS, indices_to_draw


def test_few_points_are_all_drawn() -> None:
    assert indices_to_draw(np.arange(5.0), np.ones(5), most=5).tolist() == [0, 1, 2, 3, 4]


@given(arrays(np.float64, st.integers(41, 300), elements=st.floats(-1e9, 1e9)))
def test_extremes_and_ends_stay(values: np.ndarray) -> None:
    chosen = indices_to_draw(np.arange(len(values), dtype=np.float64), values, most=40)
    assert len(chosen) <= 40
    assert (np.diff(chosen) > 0).all()
    assert {0, len(values) - 1} <= set(chosen.tolist())
    assert (values[chosen].min(), values[chosen].max()) == (values.min(), values.max())


def test_a_lone_spike_is_kept() -> None:
    values = np.zeros(10_000)
    values[4321] = 1
    assert 4321 in indices_to_draw(np.arange(10_000.0), values, most=1000)


@given(st.sets(st.integers(0, 2999), min_size=1, max_size=400))
def test_values_that_are_not_finite_break_the_line(holes: set[int]) -> None:
    values = np.sin(np.arange(3000.0))
    values[list(holes)] = np.nan
    chosen = indices_to_draw(np.arange(3000.0), values, most=100)
    kept = np.isnan(values[chosen]).sum()
    assert kept == min(len(holes), MOST_GAPS)
    assert len(chosen) - kept <= 100


def test_steps_that_go_back_are_drawn_in_file_order() -> None:
    steps = np.concatenate([np.arange(2000.0), np.arange(1000, 3000.0)])
    chosen = indices_to_draw(steps, np.cos(np.arange(4000.0)), most=100)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) <= 100
