"""Figures over tensors and steps, in the detail that a screen shows."""

import numpy as np
import pytest

from stepscope.dashboard.debugger.heat import INFINITE, NOT_A_NUMBER, Matrix, matrix_of, window
from stepscope.dashboard.debugger.index import CHUNK, index_of
from stepscope.dashboard.debugger.opened import OpenedDebug
from tests.dashboard.debugger.recorded import Recorded, many, observed


def matrix(recorded: Recorded, cells: int = 1 << 21, figure: str = "l2") -> tuple[OpenedDebug, Matrix]:
    opened = OpenedDebug(recorded)
    return opened, matrix_of(figure, opened.read, opened.index, cells=cells)  # type: ignore[arg-type]


def test_every_cell_is_there_while_there_is_room() -> None:
    opened, found = matrix(many(3, 4, every=10))
    assert found.width == 1
    assert opened.index.steps.tolist() == [0, 10, 20, 30]
    np.testing.assert_allclose(found.cells.high, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]])
    assert (found.cells.count == 1).all()


def test_steps_are_joined_where_there_is_not() -> None:
    _, found = matrix(many(2, 5), cells=6)
    assert found.width == 2
    np.testing.assert_allclose(found.cells.high, [[0.1, 0.3, 0.4], [1.1, 1.3, 1.4]], rtol=1e-6)
    np.testing.assert_allclose(found.cells.low, [[0, 0.2, 0.4], [1, 1.2, 1.4]], rtol=1e-6)
    np.testing.assert_allclose(found.cells.mean(), [[0.05, 0.25, 0.4], [1.05, 1.25, 1.4]], rtol=1e-6)


def test_what_is_not_finite_marks_its_cell_nan_before_infinity() -> None:
    rows = [
        (0, 0, {"nan": 0, "l2": 1}),
        (0, 1, {"positive_infinity": 2, "negative_infinity": 0, "l2": 2}),
        (0, 1, {"nan": 1}),
        (0, 2, {"negative_infinity": 1, "positive_infinity": 0}),
    ]
    recorded = Recorded(many(1, 1).tensors, observed(rows))
    _, found = matrix(recorded)
    assert found.cells.bad.tolist() == [[0, NOT_A_NUMBER, INFINITE]]
    np.testing.assert_array_equal(found.cells.high, [[1, 2, np.nan]])


@pytest.mark.parametrize(("rule", "expected"), [("largest", 3.0), ("least", -5.0), ("magnitude", -5.0)])
def test_the_worst_of_a_cell_goes_by_the_figure(rule: str, expected: float) -> None:
    recorded = Recorded(many(1, 1).tensors, observed([(0, 0, {"mean": 3}), (0, 0, {"mean": -5})]))
    _, found = matrix(recorded, figure="mean")
    assert found.cells.worst(rule).tolist() == [[expected]]  # type: ignore[arg-type]


def test_a_matrix_goes_on_where_it_ended() -> None:
    whole = many(7, 6_000)
    short = Recorded(whole.tensors, whole.observations(0, 7 * 2_500 + 3))
    opened, earlier = matrix(short, cells=7 * 1024)
    assert earlier.width == 4
    now = OpenedDebug(whole, opened)
    whole.reads.clear()
    continued = matrix_of("l2", whole.observations, now.index, earlier, cells=7 * 1024)
    assert min(begin for begin, _ in whole.reads) == 7 * 2_500 + 3
    afresh = matrix_of("l2", whole.observations, now.index, cells=7 * 1024)
    assert continued.width == afresh.width == 8
    for name in ("high", "low", "count", "bad"):
        np.testing.assert_array_equal(getattr(continued.cells, name), getattr(afresh.cells, name))
    np.testing.assert_allclose(continued.cells.total, afresh.cells.total, rtol=1e-5)


def test_a_window_joins_rows_and_steps_to_what_the_screen_has() -> None:
    opened, found = matrix(many(4, 6))
    part = window(found, opened.read, opened.index, [3, 2, 1, 0], 1, 5, 2, 2)
    assert (part.rows.tolist(), part.columns.tolist()) == ([0, 2], [1, 3, 5])
    np.testing.assert_allclose(part.cells.high, [[3.2, 3.4], [1.2, 1.4]], rtol=1e-6)
    np.testing.assert_allclose(part.cells.low, [[2.1, 2.3], [0.1, 0.3]], rtol=1e-6)


def test_a_short_window_has_more_detail_than_the_matrix() -> None:
    recorded = many(2, 40_000)
    opened, found = matrix(recorded, cells=2 * 1_024)
    assert found.width == 64
    recorded.reads.clear()
    part = window(found, recorded.observations, opened.index, [1, 0], 20_000, 20_004, 10, 10)
    assert part.columns.tolist() == [20_000, 20_001, 20_002, 20_003, 20_004]
    np.testing.assert_allclose(part.cells.high[1], [2_000, 2_000.1, 2_000.2, 2_000.3], rtol=1e-6)
    np.testing.assert_allclose(part.cells.high[0], [2_001, 2_001.1, 2_001.2, 2_001.3], rtol=1e-6)
    assert recorded.reads == [(2 * CHUNK, 3 * CHUNK)]


def test_a_window_without_rows_or_steps_is_empty() -> None:
    opened, found = matrix(many(2, 3))
    assert window(found, opened.read, opened.index, [], 0, 3, 10, 10).cells.bad.shape == (0, 0)
    assert window(found, opened.read, opened.index, [0], 3, 3, 10, 10).cells.bad.shape == (1, 0)


def test_a_recording_without_observations_has_an_empty_map() -> None:
    opened, found = matrix(Recorded((), observed([])))
    assert found.cells.bad.shape == (0, 1)
    assert len(opened.index.steps) == 0


def test_an_index_goes_on_where_it_ended() -> None:
    whole = many(5, 8_000)
    whole.observed.figures[[17, 17 + 5, 30_003], 1] = 1
    for until in (3, CHUNK, CHUNK + 7):
        short = index_of(whole.observations, until, 5)
        whole.reads.clear()
        continued = index_of(whole.observations, 40_000, 5, short)
        assert whole.reads[0][0] == until // CHUNK * CHUNK
        afresh = index_of(whole.observations, 40_000, 5)
        for name in ("steps", "chunk_first", "chunk_last", "counts", "bad", "first_bad"):
            np.testing.assert_array_equal(getattr(continued, name), getattr(afresh, name))
    assert afresh.first_bad.tolist() == [-1, -1, 17, 30_003, -1]
    assert afresh.bad.tolist() == [0, 0, 2, 1, 0]
