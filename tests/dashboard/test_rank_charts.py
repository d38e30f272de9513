"""The charts of the Distributed page."""

import polars as pl

from stepscope.dashboard.panels.profile.rank_figures import rank_chart, rank_map_chart, straggler_chart
from stepscope.dashboard.panels.profile.table import Place
from stepscope.profiler.analysis.rank_map import heat_map
from tests.profiler.analysis.test_rank_groups import job
from tests.profiler.analysis.test_rank_outliers import rank

EACH = [("0", (0,)), ("1", (1,))]
MEANS = pl.DataFrame(
    {
        "rank": [0, 1],
        "step_ns": [100.0, 90.0],
        "computation_ns": [50.0, 40.0],
        "communication_ns": [30.0, 20.0],
        "overlap_ns": [10.0, 0.0],
        "other_ns": [30.0, 30.0],
    }
)


def test_parts_of_a_ranks_step_add_up_to_it() -> None:
    figure = rank_chart(MEANS, EACH, "dark")
    assert figure is not None
    assert {bar["name"]: bar["y"] for bar in figure["data"]} == {
        "Computing": [40.0, 40.0],
        "Both at once": [10.0, 0.0],
        "Communicating": [20.0, 20.0],
        "Neither": [30.0, 30.0],
    }
    assert figure["data"][0]["customdata"][1] == ["", "", "rank 1", "40 ns", " of 90 ns"]


def test_ranks_that_share_a_bar_have_their_mean() -> None:
    figure = rank_chart(MEANS, [("node-0", (0, 1)), ("node-1", (2,))], "light")
    assert figure is not None
    # Nothing is known of the second host's rank yet.
    assert {bar["name"]: (bar["x"], bar["y"]) for bar in figure["data"]}["Computing"] == (["node-0"], [40.0])
    assert figure["data"][0]["customdata"] == [["", "", "node-0, mean of 2 ranks", "40 ns", " of 95 ns"]]


def test_who_waited_and_who_was_waited_for() -> None:
    waits = pl.DataFrame({"rank": [1, 0], "last": [2, 0], "caused_waiting_ns": [7, 0], "own_waiting_ns": [0, 7]})
    waiting = straggler_chart(waits, EACH, "light")
    assert waiting is not None
    assert [bar["y"] for bar in waiting["data"]] == [[0.0, 7.0], [7.0, 0.0]]
    nobody = waits.with_columns(pl.lit(0).alias("caused_waiting_ns"), pl.lit(0).alias("own_waiting_ns"))
    assert straggler_chart(nobody, EACH, "light") is None


def test_names_beside_a_chart_are_short_and_differ() -> None:
    long = [(f"ip-10-0-12-{host}.eu-central-1.compute.internal", (host,)) for host in (0, 1)]
    figure = rank_chart(MEANS, long, "light")
    assert figure is not None
    assert figure["data"][0]["x"] == ["ip-10-0-12-0.eu-…ompute.internal", "ip-10-0-12-1.eu-…ompute.internal"]


def test_the_map_says_of_each_cell_who_was_slow_and_where_that_is() -> None:
    traces = {0: rank(0, 80), 1: rank(1, 80, steps=1), 2: rank(2, 80), 10: rank(10, 200)}
    found = heat_map(traces, most_rows=8, most_columns=8)
    chart = rank_map_chart(found, {(10, 2): Place(5, 9, trace="r|file|10.json")}, "light")
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
    assert drawn["customdata"][3] == [["", ""], ["r|file|10.json", "5:9"]]


def test_cells_that_stand_for_several_say_which() -> None:
    chart = rank_map_chart(heat_map(job(), most_rows=4, most_columns=1, by="tp"), {}, "dark")
    assert chart is not None
    (drawn,) = chart["data"]
    assert (drawn["x"], drawn["y"]) == (["1–2"], ["0–1", "2–3", "4–5", "6–7"])
    assert drawn["text"][2] == ["rank 5 of 4–5, 2 ranks, step 1–2: +85.7%"]
    assert drawn["customdata"][2] == [["", "", "4-5", "1-2"]]
    alone = rank_map_chart(heat_map(job(), most_rows=8, most_columns=1), {}, "dark")
    assert alone is not None
    assert alone["data"][0]["customdata"][5] == [["", "", "5", "1-2"]]


def test_ranks_that_are_alike_do_not_look_slow() -> None:
    traces = {number: rank(number, 80) for number in range(3)}
    chart = rank_map_chart(heat_map(traces, most_rows=8, most_columns=8), {}, "dark")
    assert chart is not None
    assert chart["data"][0]["zmax"] == 5


def test_without_steps_there_is_no_map() -> None:
    assert rank_map_chart(heat_map({}, most_rows=8, most_columns=8), {}, "light") is None
