from typing import Any

import pytest

from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs.examples import condition_example, examples, name_example
from stepscope.dashboard.runs.facts import Facts
from stepscope.dashboard.runs.listing import surroundings
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import window_of
from tests.dashboard.runs.tiny import Points, named, snapshot

RUNS: dict[str, tuple[dict[str, Any], Points]] = {
    "sweep/a.1": ({"my lr": 0.0012345678, "opt": 'a"b\\', "seed": 1}, {"train/loss": [2.0, 1.23456]}),
    "sweep/b": ({"my lr": 0.1, "opt": "sgd", "seed": 2}, {"train/loss": [2.0, 0.5]}),
    "c(": ({}, {"train/loss": [float("nan")]}),
}


def test_every_example_finds_something() -> None:
    shot = snapshot(RUNS)
    found = [example["text"] for example in examples(Facts.of(shot))]
    assert found == [
        r"a\.1",
        "`my lr` <= 0.001235",
        "train/loss.last <= 0.5",
        "`my lr` <= 0.001235 or train/loss.last <= 0.5",
        'name ~ "a\\\\.1"',
        "`my lr` in (0.0012345678, 0.1)",
        "step >= 1",
    ]
    for text in found:
        table = RunTable(shot, View(run_filter=text))
        assert (table.filter_error, bool(table.listed)) == ("", True), text


@pytest.mark.parametrize(
    ("hparams", "expected"),
    [
        ([{"lr": 0.3}, {"lr": 0.1}, {"lr": 0.2}], "lr <= 0.2"),
        ([{"opt": "adam"}, {"opt": "sgd"}], 'opt == "adam"'),
        ([{"flag": True}, {"flag": False}], "flag == true"),
        ([{"same": 1, "path": "x" * 50}, {"same": 1, "path": "y"}], "same <= 1"),
        ([{}], ""),
    ],
)
def test_the_example_in_the_search_is_a_condition_that_holds(hparams: list[dict[str, Any]], expected: str) -> None:
    shot = snapshot({f"r{at}": (found, {}) for at, found in enumerate(hparams)})
    assert condition_example(Facts.of(shot)) == expected
    table = RunTable(shot, View())
    around = surroundings(table, window_of(table, 10))
    assert around["placeholder"] == (f"Name or {expected}" if expected else "Name, such as r0")


def test_without_runs_there_is_no_example() -> None:
    facts = Facts.of(named())
    assert (name_example(facts), examples(facts)) == ("", [])
    table = RunTable(named(), View())
    assert surroundings(table, window_of(table, 10))["placeholder"] == "Name"


def test_of_a_long_name_the_end_is_an_example() -> None:
    assert name_example(Facts.of(named("exp/2026-11-23_resnet50_augment_seed1"))) == "augment_seed1"
