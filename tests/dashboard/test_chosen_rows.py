"""Rows of tables too long for the page: their order, search and filters."""

from typing import Any

import msgspec
import polars as pl
import pytest

from stepscope.dashboard.panels.profile import chosen_rows as module
from stepscope.dashboard.panels.profile.chosen_rows import Chosen, chosen_rows
from stepscope.dashboard.panels.profile.table import Table
from stepscope.profiler.analysis.records import Column

KERNELS = Table(
    "kernels",
    "Kernels",
    pl.DataFrame(
        {
            "name": ["gemm", "Relu", "copy", None, "gemm_half"],
            "kind": ["compute", "compute", "memory", "memory", "compute"],
            "mean_ns": [30, 10, None, 20, 30],
            "start_ns": [1_000, 1_010, 1_020, 1_030, 1_040],
        }
    ),
    "",
    start_ns=1_000,
)
RANKS = Table("ranks", "Ranks", pl.DataFrame({"rank": [0, 10, 11], "host": ["a", "a", "b"]}), "", named_by="rank")


def numbers(table: Table = KERNELS, **chosen: Any) -> list[int]:
    found, count = chosen_rows(table, msgspec.convert(chosen, Chosen))
    assert count == len(found)
    return found


def test_without_an_order_rows_are_as_they_are() -> None:
    assert numbers() == [0, 1, 2, 3, 4]


def test_rows_are_in_the_order_of_columns_equal_ones_as_before_and_what_has_no_value_is_least() -> None:
    assert numbers(order=[{"colId": "mean_ns", "sort": "asc"}]) == [2, 1, 3, 0, 4]
    assert numbers(order=[{"colId": "mean_ns", "sort": "desc"}]) == [0, 4, 3, 1, 2]
    assert numbers(order=[{"colId": each, "sort": "desc"} for each in ("kind", "mean_ns")]) == [3, 2, 0, 4, 1]
    assert numbers(order=[{"colId": "unknown", "sort": "asc"}]) == [0, 1, 2, 3, 4]


def test_each_word_of_a_search_is_in_some_text() -> None:
    assert numbers(search="GEMM") == [0, 4]
    assert numbers(search="compute half") == [4]
    assert numbers(search="30") == []
    assert numbers(RANKS, search="1") == [1, 2]
    assert numbers(RANKS, search="a 1") == [1]


@pytest.mark.parametrize(
    ("kind", "asked", "expected"),
    [
        ("contains", "EM", [0, 4]),
        ("notContains", "em", [1, 2, 3]),
        ("equals", "relu", [1]),
        ("notEqual", "relu", [0, 2, 3, 4]),
        ("startsWith", "gemm", [0, 4]),
        ("endsWith", "half", [4]),
        ("blank", "", [3]),
        ("notBlank", "", [0, 1, 2, 4]),
    ],
)
def test_texts_are_filtered(kind: str, asked: str, expected: list[int]) -> None:
    assert numbers(filters={"name": {"filterType": "text", "type": kind, "filter": asked}}) == expected


@pytest.mark.parametrize(
    ("kind", "low", "expected"),
    [
        ("equals", 30, [0, 4]),
        ("notEqual", 30, [1, 2, 3]),
        ("lessThan", 20, [1]),
        ("lessThanOrEqual", 20, [1, 3]),
        ("greaterThan", 20, [0, 4]),
        ("greaterThanOrEqual", 20, [0, 3, 4]),
        ("inRange", 10, [3]),
        ("blank", None, [2]),
        ("notBlank", None, [0, 1, 3, 4]),
    ],
)
def test_numbers_are_filtered(kind: str, low: float | None, expected: list[int]) -> None:
    asked = {"filterType": "number", "type": kind, "filter": low, "filterTo": 30}
    assert numbers(filters={"mean_ns": asked}) == expected


def test_filters_of_columns_all_hold_and_those_of_one_hold_as_it_is_said() -> None:
    ends = [{"filterType": "text", "type": kind, "filter": "gemm"} for kind in ("startsWith", "endsWith")]
    above = {"filterType": "number", "type": "greaterThan", "filter": 10}
    assert numbers(filters={"name": {"filterType": "text", "operator": "OR", "conditions": ends}}) == [0, 4]
    assert numbers(filters={"name": {"filterType": "text", "operator": "AND", "conditions": ends}}) == [0]
    assert numbers(filters={"kind": ends[0] | {"filter": "mem"}, "mean_ns": above}) == [3]
    assert numbers(filters={"name": above, "unknown": above}) == [0, 1, 2, 3, 4]


def test_changes_are_ordered_by_their_size_and_flags_are_filtered_as_texts() -> None:
    frame = pl.DataFrame({"name": ["a", "b", "c"], "change_ns": [-5, 3, 4], "new": [True, False, True]})
    changes = Table("t", "T", frame, "", columns={"change_ns": Column("change_ns", "what it changed", "change")})
    assert numbers(changes, order=[{"colId": "change_ns", "sort": "desc"}]) == [0, 2, 1]
    assert numbers(changes, filters={"new": {"filterType": "text", "type": "equals", "filter": "True"}}) == [0, 2]


def test_moments_are_filtered_as_the_page_has_them() -> None:
    assert numbers(filters={"start_ns": {"filterType": "number", "type": "lessThan", "filter": 20}}) == [0, 1]


def test_of_many_the_first_are_given_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_ROWS", 2)
    order = [{"colId": "mean_ns", "sort": "desc"}]
    assert chosen_rows(KERNELS, msgspec.convert({"order": order, "search": "compute"}, Chosen)) == ([0, 4], 3)


@pytest.mark.parametrize(
    "asked",
    [
        {"search": "x" * 1_001},
        {"order": [{"colId": "name", "sort": "up"}]},
        {"order": [{"colId": "name", "sort": "asc"}] * 101},
        {"filters": {"name": {"filterType": "date"}}},
        {"filters": {"name": {"operator": "AND", "conditions": []}}},
        {"filters": {"name": {"filterType": "text", "type": "greaterThan"}}},
    ],
)
def test_what_no_table_can_be_asked_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(asked, Chosen)
