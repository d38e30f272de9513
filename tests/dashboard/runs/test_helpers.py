"""Runs that writers make below their own belong to it, whatever asks for runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs.facts import Facts
from stepscope.dashboard.runs.grouping import RunGroup, SeedsFound, group_runs, seeds_found
from stepscope.dashboard.runs.helpers import Helper, helper_runs
from stepscope.dashboard.runs.listing import rows_of, surroundings
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import window_of
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import Points, snapshot

Runs: TypeAlias = dict[str, tuple[dict[str, Any], Points]]


def training(writer: SummaryWriter, lr: float) -> None:
    for step in range(3):
        writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_scalars("all/losses", {"train": 1.0, "val": 2.0}, step)
    writer.add_hparams({"lr": lr}, {"hparam/accuracy": 0.9})


def written(path: Path, **trainings: Callable[[SummaryWriter], None]) -> Snapshot:
    for name, write in trainings.items():
        with SummaryWriter(str(path / name.replace("__", "/"))) as writer:
            write(writer)
    return Logdir(path).update()


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    path = tmp_path_factory.mktemp("logs")
    return written(
        path, a__seed_0=lambda w: training(w, 0.1), a__seed_1=lambda w: training(w, 0.1), b=lambda w: training(w, 0.2)
    )


def test_lines_and_sessions_belong_to_the_run_of_their_writer(two_seeds: Snapshot) -> None:
    found = helper_runs(two_seeds.runs)
    assert Facts.of(two_seeds).trainings == ("a/seed_0", "a/seed_1", "b")
    assert {run: helper for run, helper in found.items() if helper.line} == {
        f"{run}/all_losses_{line}": Helper(run, f"all_losses_{line}")
        for run in ("a/seed_0", "a/seed_1", "b")
        for line in ("train", "val")
    }
    assert sorted(helper.parent for helper in found.values() if not helper.line) == ["a/seed_0", "a/seed_1", "b"]


def test_hyperparameters_of_a_session_are_those_of_its_run_and_its_lines(two_seeds: Snapshot) -> None:
    hparams = Facts.of(two_seeds).hparams
    assert {run: found["lr"] for run, found in hparams.items()} == {
        run: 0.2 if run.startswith("b") else 0.1 for run in two_seeds.runs
    }


def test_a_session_that_was_named_is_known_by_what_it_holds(tmp_path: Path) -> None:
    def named(writer: SummaryWriter) -> None:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 1}, {"accuracy": 1.0}, run_name="hp")

    def trials(writer: SummaryWriter) -> None:
        writer.add_scalar("best", 1.0, 0)
        for lr in (1, 2):
            writer.add_hparams({"lr": lr}, {"accuracy": 1.0}, run_name=f"trial-{lr}")

    found = helper_runs(written(tmp_path, one=named, several=trials).runs)
    assert found == {"one/hp": Helper("one", "")}


def test_other_runs_below_a_run_are_runs() -> None:
    shot = snapshot(
        {
            "a": ({}, {"loss": [1.0]}),
            "a/train": ({}, {"loss": [1.0]}),
            "a/loss_x": ({}, {"loss": [1.0], "accuracy": [1.0]}),
            "multi_sin": ({}, {"multi": [1.0]}),
            "keras": ({"lr": 1}, {}),
            "keras/train": ({}, {"loss": [1.0]}),
            "1795379229.35322": ({"lr": 1}, {"accuracy": [1.0]}),
        }
    )
    assert helper_runs(shot.runs) == {}


def test_helpers_are_shown_with_their_run_unless_they_are_switched(two_seeds: Snapshot) -> None:
    def shown(**view: object) -> set[str]:
        return set(RunTable(two_seeds, View(**view)).shown)  # type: ignore[arg-type]

    everything = set(two_seeds.runs)
    of_b = {run for run in everything if run.startswith("b")}
    assert shown() == everything
    assert shown(hide=("b",)) == everything - of_b
    assert shown(runs="none", show=("b",)) == of_b
    assert shown(hide=("b/all_losses_val",)) == everything - {"b/all_losses_val"}
    assert shown(runs="none", show=("b/all_losses_val",)) == {"b/all_losses_val"}
    assert shown(run_filter="^b$") == of_b
    assert shown(run_filter="lr > 0.15") == of_b


def test_helpers_take_no_place_among_the_first_runs_and_no_first_color() -> None:
    runs: Runs = {f"r{n:02}": ({}, {"loss": [1.0]}) for n in range(21)}
    lines: Runs = {f"r{n:02}/loss_{line}": ({}, {"loss": [1.0]}) for n in range(21) for line in ("a", "b")}
    table = RunTable(snapshot(dict(sorted({**runs, **lines}.items()))), View())
    assert [run for run in table.shown if run in runs] == list(runs)[:20]
    assert len(table.shown) == 60
    assert [table.colors[run] for run in runs] == list(PALETTE[:21])
    assert table.colors["r00/loss_a"] not in PALETTE[:10]


def test_rows_name_the_run_that_they_belong_to_and_only_runs_are_counted(two_seeds: Snapshot) -> None:
    table = RunTable(two_seeds, View(settings={"runs.group": ("seeds",)}))
    window = window_of(table, 10)
    rows, around = rows_of(table, window), surroundings(table, window)
    assert rows["b"]["parent"] is None
    assert (rows["b/all_losses_val"]["parent"], rows["b/all_losses_val"]["order"]) == ("b", 2)
    assert rows["a/seed_1/all_losses_val"]["group"] == rows["a/seed_1"]["group"] == 0
    assert rows["b"]["group"] is rows["b/all_losses_val"]["group"] is None
    assert [(group["label"], group["count"]) for group in around["groups"]] == [("a/seed_*", 2)]
    assert (around["total"], around["seeds"]) == (3, {"settings": 1, "runs": 2})


def test_lines_of_grouped_runs_are_groups_of_their_own(two_seeds: Snapshot) -> None:
    facts = Facts.of(two_seeds)
    groups, _ = group_runs(facts, ["seeds"])
    sessions = tuple(run for run, helper in facts.helpers.items() if not helper.line and helper.parent != "b")
    assert seeds_found(facts) == SeedsFound(settings=1, runs=2)
    assert groups == (
        RunGroup("a/seed_*", ("a/seed_0", "a/seed_1", *sessions)),
        *(
            RunGroup(
                f"a/seed_*/all_losses_{line}",
                (f"a/seed_0/all_losses_{line}", f"a/seed_1/all_losses_{line}"),
                lines=True,
            )
            for line in ("train", "val")
        ),
    )
