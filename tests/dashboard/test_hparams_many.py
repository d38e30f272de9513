"""When there are more sessions than a page is sent, the first ones of the full table are chosen."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.hparams import routes
from stepscope.dashboard.panels.hparams import table as hparams_table
from stepscope.dashboard.panels.hparams.many import passes
from stepscope.dashboard.panels.hparams.panel import asked_for
from stepscope.dashboard.panels.hparams.routes import AskedTable, cells
from stepscope.dashboard.panels.hparams.sessions import metric_value, read_sessions
from stepscope.dashboard.panels.hparams.settings import TableRequest
from stepscope.dashboard.panels.hparams.table import Table, Window, all_rows, build_table
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.hparams_logs import write_sessions
from tests.dashboard.runs.tiny import snapshot

LOSSES = (0.5, 0.25, math.nan, 2.0, 1.0, 0.75)
OPTIMIZERS = ("adam", "sgd", "adam", "sgd", "lion", "adam")
SWEEP: Snapshot = snapshot(
    {
        f"r{at}": ({"lr": (at + 1) / 10, "optimizer": optimizer}, {"loss": [9.0, loss]})
        for at, (loss, optimizer) in enumerate(zip(LOSSES, OPTIMIZERS, strict=True))
    }
)


def table(query: str, most: int, listed: int, of: Snapshot = SWEEP) -> Table:
    requested = TableRequest.of(decode(query))
    return build_table(read_sessions(of, requested.folder), requested, most, listed)


def names(found: Table) -> list[str]:
    return [row.name for row in found.rows[: found.window.listed]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("", ["r1", "r0", "r5"]),
        ("hparams.better=higher", ["r3", "r4", "r5"]),
        ("hparams.value=max", ["r0", "r1", "r2"]),
        ("hparams.sort=lr:desc", ["r5", "r4", "r3"]),
        ("hparams.sort=optimizer:asc&hparams.sort=lr:desc", ["r5", "r2", "r0"]),
        ("hparams.sort=@run:desc", ["r5", "r4", "r3"]),
        ("hparams.sort=@start:desc", ["r5", "r4", "r3"]),
        ("hparams.sort=gone:desc", ["r0", "r1", "r2"]),
        ("hparams.search=SGD", ["r1", "r3"]),
        ("hparams.search=adam+r5", ["r5"]),
        ("hparams.range=loss:0.6:", ["r5", "r4", "r3"]),
    ],
)
def test_the_table_begins_with_what_is_first_in_its_order(query: str, first: list[str]) -> None:
    found = table(query, most=4, listed=3)
    assert names(found) == first
    assert not found.window.whole


def test_numbers_in_names_are_sorted_by_size() -> None:
    longest = f"r{'9' * 5000}"
    sweep = snapshot({run: ({"lr": at}, {}) for at, run in enumerate([longest, "r10", "r9"])})
    assert names(table("hparams.sort=@run:asc", most=2, listed=2, of=sweep)) == ["r9", "r10"]


def test_while_runs_are_looked_at_for_the_first_time_no_metric_of_all_is_read() -> None:
    loading = replace(SWEEP, loading=True)
    assert names(table("", 4, 3, loading)) == ["r0", "r1", "r2"]
    assert names(table("hparams.sort=loss:asc&hparams.sort=lr:desc", 4, 3, loading)) == ["r5", "r4", "r3"]
    assert names(table("hparams.range=loss:0.6:", 4, 3, loading)) == ["r3", "r4", "r5"]


def test_the_window_counts_and_charts_get_the_ends_of_axes_and_an_even_sample() -> None:
    found = table("", most=5, listed=1)
    assert names(found) == ["r1"]
    # The least and the greatest of lr and of loss are among the others.
    assert {"r0", "r3", "r5"} <= {row.name for row in found.rows[1:]}
    assert len(found.rows) == 5
    assert found.window == Window(whole=False, listed=1, rows=6, found=6, passing=6)
    assert table("hparams.search=sgd&hparams.range=lr::0.5", 2, 1).window == Window(
        whole=False, listed=1, rows=5, found=2, passing=5
    )


@pytest.mark.parametrize("query", ["", "hparams.range=loss:0.6:", "hparams.search=sgd", "hparams.rows=avg"])
def test_importance_is_of_all_sessions_that_pass(query: str) -> None:
    few, many = table(query, 6, 6).passing, table(query, 2, 1).passing
    assert few.hparams == many.hparams
    assert [value for value in few.metric if value == value] == [value for value in many.metric if value == value]


@pytest.mark.parametrize("query", ["", "hparams.sort=lr:desc", "hparams.search=sgd", "hparams.rows=avg"])
def test_files_have_all_rows_in_the_order_of_the_table(query: str) -> None:
    of = SEEDS if "rows" in query else SWEEP
    requested = TableRequest.of(decode(query))
    assert tuple(all_rows(read_sessions(of), requested, timed=True)) == table(query, 0, 9, of).rows


def test_rows_of_files_are_made_when_it_is_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_ROWS", 3)
    made: list[str] = []

    def counting(*arguments: Any) -> Any:
        made.append(arguments[1].run)
        return metric_value(*arguments)

    monkeypatch.setattr(hparams_table, "metric_value", counting)
    header, rows = cells(SimpleNamespace(snapshot=lambda: SWEEP), AskedTable("", ["@run", "lr"]))  # type: ignore[arg-type]
    assert (header, next(iter(rows)), made) == (["run", "lr"], ["r1", 0.2], ["r1"])
    _, named = cells(SimpleNamespace(snapshot=lambda: SWEEP), AskedTable("", ["lr"], ["r4", "r0"]))  # type: ignore[arg-type]
    assert named == [[0.5], [0.1]]


def test_files_have_all_groups_however_many_sessions_these_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hparams_table, "MOST_OF_GROUPS", 1)
    requested = TableRequest.of(decode("hparams.rows=avg"))
    assert names(table("hparams.rows=avg", 0, 9, SEEDS)) == ["lr0.2/seed_*"]
    assert [row.name for row in all_rows(read_sessions(SEEDS), requested, timed=False)] == [
        "lr0.2/seed_*", "lr0.1/seed_*", "lr0.3/seed_*",
    ]  # fmt: skip


def test_a_page_that_has_all_sessions_is_not_told_of_its_search_and_its_order() -> None:
    found, requested = asked_for(SWEEP, decode("hparams.search=sgd&hparams.sort=lr:asc"))
    assert (len(found.sessions), requested.search, requested.sort) == (6, "", ())


SEEDS = snapshot(
    {
        f"lr{rate}/seed_{seed}": ({"lr": rate, "seed": seed}, {"loss": [loss]})
        for rate, losses in {0.1: (0.5, 0.75), 0.2: (0.125, 0.25), 0.3: (1.0, 3.0)}.items()
        for seed, loss in enumerate(losses)
    }
)


@pytest.mark.parametrize("how", ["auto", "avg", "min", "max", "median"])
def test_groups_of_many_sessions_are_those_of_few(how: str) -> None:
    query = f"hparams.rows={how}"
    whole = table(query, 6, 6, SEEDS)
    some = table(query, 4, 2, SEEDS)
    assert names(some) == ["lr0.2/seed_*", "lr0.1/seed_*"]
    by_name = {row.name: row for row in whole.rows}
    assert list(some.rows[:2]) == [by_name[row.name] for row in some.rows[:2]]
    assert some.window == Window(whole=False, listed=2, rows=3, found=3, passing=6)


given_hparams = st.fixed_dictionaries(
    {},
    optional={
        "lr": st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-3, 3)),
        "name": st.one_of(st.text("ab1.", max_size=3), st.booleans(), st.integers(0, 2)),
    },
)
filters = st.sampled_from(
    [
        "", "hparams.range=lr:0:", "hparams.range=lr::1", "hparams.range=loss:0:2", "hparams.values=name:a",
        "hparams.values=name:", "hparams.values=name:true&hparams.values=name:1", "hparams.status=running",
        "hparams.status=failure", "hparams.range=gone:1:2", "hparams.values=gone:x", "hparams.range=name:0:1",
        "hparams.without=name:a&hparams.without=name:", "hparams.without=gone:x",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(given_hparams, st.floats(width=32)), min_size=1, max_size=6), filters)
def test_columns_let_those_pass_that_pass_one_by_one(runs: list[tuple[Mapping[str, Any], float]], query: str) -> None:
    of = snapshot({f"r{at}": ({"at": at, **own}, {"loss": [loss]}) for at, (own, loss) in enumerate(runs)})
    requested = TableRequest.of(decode(query + "&hparams.rows=sessions"))
    found = read_sessions(of)
    one_by_one = [row.name for row in build_table(found, requested, len(runs)).rows]
    assert [one.run for one, keep in zip(found.sessions, passes(found, requested), strict=True) if keep] == one_by_one


def test_what_is_written_on_disk_is_the_same_either_way(tmp_path: Path) -> None:
    from stepscope.summary.logdir import open_logdir

    of = open_logdir(write_sessions(tmp_path))
    for rows in ("sessions", "avg", "max"):
        query = f"hparams.rows={rows}"
        whole = table(query, 9, 9, of)
        assert {row.name: row for row in table(query, 0, 9, of).rows} == {row.name: row for row in whole.rows}
