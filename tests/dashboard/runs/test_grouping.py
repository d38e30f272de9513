import math

import pytest

from stepscope.dashboard.runs.facts import Facts
from stepscope.dashboard.runs.grouping import RunGroup, SeedsFound, group_runs, seed_labels, seeds_found, shown_value
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot


def labels(shot: Snapshot) -> list[str]:
    return list(seed_labels(Facts.of(shot)).values())


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (("a/seed_0", "a/seed_1", "b/seed_0"), ["a/seed_*", "a/seed_*", "b/seed_*"]),
        (("s1-x", "S2-x"), ["s*-x", "S*-x"]),
        (("lr=0.1,seed=3", "lr=0.1,seed=4"), ["lr=0.1,seed=*", "lr=0.1,seed=*"]),
        (("run_1", "run_2", "run_3"), ["run_*", "run_*", "run_*"]),
        (("run_0", "run_1"), ["run_*", "run_*"]),
        (("width_64", "width_128"), ["width_64", "width_128"]),
        (("run_2", "run_3"), ["run_2", "run_3"]),
        (("classes3", "glass2"), ["classes3", "glass2"]),
    ],
)
def test_seeds_are_found_in_names(runs: tuple[str, ...], expected: list[str]) -> None:
    assert labels(named(*runs)) == expected


def test_hyperparameters_other_than_the_seed_tell_trainings_apart() -> None:
    shot = snapshot(
        {
            "trial_0": ({"lr": 0.1, "seed": 1, "act": "relu"}, {}),
            "trial_1": ({"lr": 0.1, "seed": 2, "act": "relu"}, {}),
            "trial_2": ({"lr": 0.01, "random_seed": 3, "act": "relu"}, {}),
        }
    )
    assert labels(shot) == ["trial_* (lr=0.1)", "trial_* (lr=0.1)", "trial_* (lr=0.01)"]
    assert seeds_found(Facts.of(shot)) == SeedsFound(settings=1, runs=2)
    assert seeds_found(Facts.of(named("a", "b"))) == SeedsFound(0, 0)


def test_settings_that_few_digits_do_not_tell_apart_are_no_seeds() -> None:
    shot = snapshot(
        {
            "trial_0": ({"steps": 1_000_000, "decay": 0.1}, {}),
            "trial_1": ({"steps": 1_000_001, "decay": 0.1}, {}),
            "trial_2": ({"steps": 1_000_001, "decay": 0.1000000001}, {}),
        }
    )
    assert labels(shot) == [
        "trial_* (decay=0.1, steps=1000000)",
        "trial_* (decay=0.1, steps=1000001)",
        "trial_* (decay=0.1 (2), steps=1000001)",
    ]


def test_a_setting_that_is_absent_is_no_seed() -> None:
    shot = snapshot({"trial_0": ({"act": "(none)"}, {}), "trial_1": ({}, {}), "trial_2": ({}, {})})
    assert labels(shot) == ["trial_* (act=(none))", "trial_* (act=(none) (2))", "trial_* (act=(none) (2))"]


def test_groups_are_made_by_what_all_specs_say_together() -> None:
    shot = snapshot(
        {
            "x/1": ({"lr": 0.1, "opt": "sgd"}, {}),
            "y/1": ({"lr": 0.1, "opt": "adam"}, {}),
            "x/2": ({"lr": 0.1, "opt": "sgd"}, {}),
            "z": ({}, {}),
        }
    )
    facts = Facts.of(shot)
    assert group_runs(facts, []) == ((), "")
    assert group_runs(facts, ["path:1"]) == (
        (RunGroup("x", ("x/1", "x/2")), RunGroup("y", ("y/1",)), RunGroup("z", ("z",))),
        "",
    )
    assert group_runs(facts, ["hparam:lr", "hparam:opt"]) == (
        (
            RunGroup("lr=0.1 · opt=sgd", ("x/1", "x/2")),
            RunGroup("lr=0.1 · opt=adam", ("y/1",)),
            RunGroup("lr=(none) · opt=(none)", ("z",)),
        ),
        "",
    )
    assert group_runs(facts, [r"regex:/(\d)"]) == (
        (RunGroup("1", ("x/1", "y/1")), RunGroup("2", ("x/2",)), RunGroup("(no match)", ("z",))),
        "",
    )


def test_labels_that_read_alike_are_told_apart() -> None:
    facts = Facts.of(named("a · b/c", "a/b · c"))
    assert group_runs(facts, ["regex:([^/]*)", "regex:/(.*)"]) == (
        (RunGroup("a · b · c", ("a · b/c",)), RunGroup("a · b · c (2)", ("a/b · c",))),
        "",
    )


def test_only_equal_hyperparameters_make_one_group() -> None:
    values = [20240101, 20240102, 1 / 3, 0.3333333, 1 / 3, True, "true"]
    facts = Facts.of(snapshot({str(place): ({"x": value}, {}) for place, value in enumerate(values)}))
    assert group_runs(facts, ["hparam:x"]) == (
        (
            RunGroup("x=20240101", ("0",)),
            RunGroup("x=20240102", ("1",)),
            RunGroup("x=0.333333", ("2", "4")),
            RunGroup("x=0.333333 (2)", ("3",)),
            RunGroup("x=true", ("5",)),
            RunGroup("x=true (2)", ("6",)),
        ),
        "",
    )


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("regex:(", "Cannot group by '(': missing ) at position 1"),
        ("path:0", "Cannot group by 'path:0': a path has a depth of 1 to 32, not '0'"),
        ("path:²", "Cannot group by 'path:²': a path has a depth of 1 to 32, not '²'"),
        (
            f"path:{'9' * 5000}",
            f"Cannot group by 'path:{'9' * 5000}': a path has a depth of 1 to 32, not '{'9' * 5000}'",
        ),
        (
            "metric:loss.last",
            "Cannot group by 'metric:loss.last': "
            'runs are grouped by "seeds", "path:DEPTH", "regex:PATTERN" or "hparam:NAME"',
        ),
        (
            r"regex:(\w+\s?)+$",
            r"Cannot group by '(\\w+\\s?)+$': "
            "it takes too long to search with, as nested repetitions such as (a+)+ do",
        ),
    ],
)
def test_what_cannot_group_is_told(spec: str, error: str) -> None:
    assert group_runs(Facts.of(named("a " * 2000 + "!", "b")), [spec]) == ((), error)


def test_runs_are_grouped_by_a_limited_number_of_fields() -> None:
    specs = [f"hparam:h{number}" for number in range(21)]
    facts = Facts.of(named("a"))
    assert len(group_runs(facts, [*specs[:20], *specs[:20]])[0]) == 1
    assert group_runs(facts, specs) == ((), "Cannot group by 21 fields at once, only by up to 20")


def test_whole_numbers_are_written_in_full_and_others_with_few_digits() -> None:
    values = [None, True, False, 3.0, -2e9, 2.0**53, 0.1, 1 / 3, "adam", math.nan, math.inf]
    assert [shown_value(value) for value in values] == [
        "(none)",
        "true",
        "false",
        "3",
        "-2000000000",
        "9.0072e+15",
        "0.1",
        "0.333333",
        "adam",
        "nan",
        "inf",
    ]


def test_a_run_without_another_seed_is_in_no_group_by_seeds() -> None:
    facts = Facts.of(named("a/seed_0", "sweep", "a/seed_1", "b/seed_0"))
    assert group_runs(facts, ["seeds"]) == ((RunGroup("a/seed_*", ("a/seed_0", "a/seed_1")),), "")
    assert group_runs(facts, ["seeds", "path:1"])[0] == (RunGroup("a/seed_* · a", ("a/seed_0", "a/seed_1")),)
    assert seeds_found(facts) == SeedsFound(settings=1, runs=2)
