"""The picture of the steps of ranks, whole and in parts."""

import numpy as np

from stepscope.profiler.analysis.rank_map import heat_map, rows_of_ranks
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.test_rank_groups import job
from tests.profiler.analysis.test_rank_outliers import rank


def slow_fifth() -> dict[int, Trace]:
    return {number: rank(number, 160 if number == 5 else 80) for number in range(8)}


def test_a_map_shows_the_slowest_of_the_ranks_and_steps_that_share_a_cell() -> None:
    whole = heat_map(slow_fifth(), most_rows=8, most_columns=8)
    assert whole.rows == tuple((number,) for number in range(8))
    assert whole.names == tuple("01234567")
    assert whole.first_step.tolist() == whole.last_step.tolist() == [1, 2]
    assert whole.percent[5].round(6).tolist() == [80.0, 85.714286]
    assert whole.percent[[0, 1, 2, 3, 4, 6, 7]].tolist() == [[0.0, 0.0]] * 7
    folded = heat_map(slow_fifth(), most_rows=2, most_columns=1)
    assert (folded.rows, folded.names) == (((0, 1, 2, 3), (4, 5, 6, 7)), ("0–3", "4–7"))
    assert (folded.first_step.tolist(), folded.last_step.tolist()) == ([1], [2])
    assert folded.percent.round(6).tolist() == [[0.0], [85.714286]]
    assert folded.slowest.tolist() == [[0], [5]]


def test_a_part_is_beside_the_median_of_all() -> None:
    part = heat_map(slow_fifth(), most_rows=8, most_columns=8, only=(5, 6), steps=(2, 9))
    assert part.names == ("5", "6")
    assert part.first_step.tolist() == [2]
    assert part.percent.round(6).tolist() == [[85.714286], [0.0]]


def test_groups_have_rows_of_their_own() -> None:
    whole = heat_map(job(), most_rows=8, most_columns=1, by="tp")
    assert whole.names == ("0–1 · 0", "0–1 · 1", "2–3 · 2", "2–3 · 3", "4–5 · 4", "4–5 · 5", "6–7 · 6", "6–7 · 7")
    crossing = heat_map(job(), most_rows=8, most_columns=1, by="dp")
    assert crossing.rows == ((0,), (2,), (4,), (6,), (1,), (3,), (5,), (7,))
    folded = heat_map(job(), most_rows=4, most_columns=1, by="tp")
    assert (folded.names, folded.rows) == (("0–1", "2–3", "4–5", "6–7"), ((0, 1), (2, 3), (4, 5), (6, 7)))
    assert folded.percent.round(6).tolist() == [[0.0], [0.0], [85.714286], [0.0]]
    shared = heat_map(job(), most_rows=2, most_columns=1, by="tp")
    assert (shared.names, shared.rows) == (("0–1 … 2–3", "4–5 … 6–7"), ((0, 1, 2, 3), (4, 5, 6, 7)))


def test_a_group_can_be_one_row() -> None:
    ranks = job()
    assert rows_of_ranks(ranks, (0, 1, 4), "host", 8, whole_groups=True) == [("node-0", (0, 1)), ("node-1 · 4", (4,))]
    assert rows_of_ranks(ranks, (0, 1), "", 8, whole_groups=True) == [("0", (0,)), ("1", (1,))]
    assert rows_of_ranks(ranks, (), "host", 8) == []


def test_a_step_that_a_rank_lacks_is_no_number() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 80, steps=1)}
    found = heat_map(traces, most_rows=2, most_columns=2)
    assert np.isnan(found.percent).tolist() == [[False, False], [False, True]]
    assert found.slowest.tolist() == [[0, 0], [1, -1]]


def test_without_ranks_there_is_nothing() -> None:
    assert heat_map({}, most_rows=4, most_columns=4).percent.shape == (0, 0)
    assert heat_map(job(), most_rows=4, most_columns=4, only=()).percent.shape == (0, 2)
