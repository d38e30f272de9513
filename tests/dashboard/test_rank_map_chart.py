"""The map of ranks and steps on the page."""

from stepscope.dashboard.panels.profile.device_figures import rank_map_chart
from stepscope.profiler.analysis.rank_map import rank_map
from tests.profiler.analysis.test_rank_outliers import rank


def test_the_map_says_of_each_cell_who_was_slow() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 80, steps=1), 2: rank(2, 80), 10: rank(10, 200)}
    chart = rank_map_chart(rank_map(traces), "light")
    assert chart is not None
    (drawn,) = chart["data"]
    assert (drawn["x"], drawn["y"]) == (["1", "2"], ["0", "1", "2", "10"])
    assert [[None if cell is None else round(cell, 3) for cell in row] for row in drawn["z"]] == [
        [0, 0],
        [0, None],
        [0, 0],
        [120, 128.571],
    ]
    assert drawn["text"][3] == ["rank 10, step 1: +120%", "rank 10, step 2: +129%"]
    assert drawn["text"][1] == ["rank 1, step 1: +0%", ""]


def test_ranks_that_are_alike_do_not_look_slow() -> None:
    chart = rank_map_chart(rank_map({number: rank(number, 80) for number in range(3)}), "dark")
    assert chart is not None
    assert chart["data"][0]["zmax"] == 5


def test_without_steps_there_is_no_map() -> None:
    assert rank_map_chart(rank_map({}), "light") is None
