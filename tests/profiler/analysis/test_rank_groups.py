"""How ranks are divided by hosts and process groups."""

from typing import Any

import pytest

from stepscope.profiler.analysis.process_groups import ProcessGroup, process_groups, ranks_in_words
from stepscope.profiler.analysis.rank_groups import groupings, ranges_in_words, rank_groups, selected_ranks
from stepscope.profiler.trace import Trace
from tests.profiler.analysis.test_rank_outliers import rank


def stated(number: int) -> dict[str, Any]:
    """What PyTorch writes for rank ``number`` of a 4 x 2 mesh."""
    tp, dp = [number // 2 * 2, number // 2 * 2 + 1], [number % 2, number % 2 + 2, number % 2 + 4, number % 2 + 6]
    groups = [("0", "default_pg", list(range(8))), ("1", "tp", tp), ("2", "dp", dp)]
    config = [{"pg_name": n, "pg_desc": d, "pg_size": len(ranks), "ranks": ranks} for n, d, ranks in groups]
    return {"rank": number, "world_size": 8, "pg_config": config}


def job() -> dict[int, Trace]:
    """Eight ranks on two hosts; rank 5 takes twice as long."""
    return {
        number: rank(
            number, 160 if number == 5 else 80, distributedInfo=stated(number), host_name=f"node-{number // 4}"
        )
        for number in range(8)
    }


def test_groups_are_those_that_divide_the_ranks() -> None:
    assert process_groups(stated(3)) == [ProcessGroup("tp", "2–3", 2), ProcessGroup("dp", "1–7 by 2", 4)]


@pytest.mark.parametrize(
    "config",
    [
        None,
        {},
        [3, {}, {"pg_desc": "a"}, {"pg_desc": 3, "pg_size": 2}, {"pg_desc": "a", "pg_size": -1, "ranks": "[0]"}],
        # Two groups with the same description do not tell how the job is divided.
        [{"pg_name": n, "pg_desc": "undefined", "pg_size": 2, "ranks": [0, n]} for n in (1, 2)],
    ],
)
def test_what_states_no_groups_has_none(config: object) -> None:
    assert process_groups({"world_size": 8, "pg_config": config}) == []
    assert process_groups(config) == []


def test_a_group_whose_ranks_are_not_stated_has_its_name() -> None:
    config = [{"pg_name": "17", "pg_desc": "pp", "pg_size": 4, "ranks": []}]
    assert process_groups({"world_size": 8, "pg_config": config}) == [ProcessGroup("pp", "17", 4)]


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([3], "3"),
        ([1, 0], "0–1"),
        ([0, 5], "0, 5"),
        ([0, 8, 16], "0–16 by 8"),
        ([0, 1, 5], "0, 1, 5"),
        ([0, 1, 2, 3, 4, 5, 9], "0, 1 … 9 (7)"),
    ],
)
def test_ranks_in_words(ranks: list[int], words: str) -> None:
    assert ranks_in_words(ranks) == words


def test_ranks_are_divided_by_host_and_by_each_process_group() -> None:
    assert groupings(job()) == ("host", "dp", "tp")
    assert groupings({0: rank(0, 80), 1: rank(1, 80)}) == ()
    # Information that is missing for some rank does not divide the ranks at all.
    assert groupings(job() | {8: rank(8, 80, host_name="node-2")}) == ("host",)


def test_the_slowest_group_comes_first() -> None:
    found = rank_groups(job()).select("grouping", "group", "ranks", "step_ns", "slowest_rank").rows()
    assert found == [
        ("host", "node-1", 4, 145_000.0, 5),
        ("host", "node-0", 4, 120_000.0, 0),
        ("dp", "1–7 by 2", 4, 145_000.0, 5),
        ("dp", "0–6 by 2", 4, 120_000.0, 0),
        ("tp", "4–5", 2, 170_000.0, 5),
        ("tp", "0–1", 2, 120_000.0, 0),
        ("tp", "2–3", 2, 120_000.0, 2),
        ("tp", "6–7", 2, 120_000.0, 6),
    ]
    assert rank_groups({}).is_empty()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (0, 1, 2, 3, 4, 5, 6, 7)),
        ("5", (5,)),
        ("6-99", (6, 7)),
        ("1–7 by 3, 0", (0, 1, 4, 7)),
        ("NODE-1, 2", (2, 4, 5, 6, 7)),
        ("by 0", ()),
        ("3-1", ()),
        ("999999999999", ()),
    ],
)
def test_ranks_are_found_by_number_range_and_name(words: str, expected: tuple[int, ...]) -> None:
    assert selected_ranks(job(), words) == expected
    assert selected_ranks(job(), ranges_in_words(expected) or "none") == expected
