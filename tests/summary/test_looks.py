"""A look at a log directory costs what changed, and sees what a listing sees; what stays takes little memory."""

import gc
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from stepscope.summary import SummaryWriter, local_source
from stepscope.summary.local_source import LocalSource
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.ordered_runs import OrderedRuns
from stepscope.summary.series import Run
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.staged_run import StagedRun

RUNS = 20


def write(folder: Path, *values: float) -> None:
    with SummaryWriter(folder) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("loss", value, step)


def shown(snapshot: Snapshot) -> dict[str, Any]:
    return {name: run.series["loss"].values.tolist() for name, run in snapshot.runs.items()}


def long_ago(top: Path) -> None:
    """Makes folders look as if nothing was added recently."""
    for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
        os.utime(folder, (1e9, 1e9))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(RUNS):
        write(tmp_path / "sweep" / f"run_{number:02}", number, number)
    long_ago(tmp_path)
    return tmp_path


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are looked at, the runs that are committed, and the files that are placed."""
    done: list[str] = []

    def count(owner: type, name: str, what: Callable[..., str]) -> None:
        function = getattr(owner, name)

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            done.append(what(self, *given))
            return function(self, *given, **named)

        monkeypatch.setattr(owner, name, counted)

    count(LocalSource, "_look", lambda _, folder, *others: f"look at {folder.relative or '.'}")
    count(StagedRun, "commit", lambda run: f"commit {run.name}")
    return done


def followed(logs: Path, work: list[str]) -> Logdir:
    logdir = Logdir(logs)
    logdir.update()
    work.clear()
    return logdir


def test_a_new_run_costs_a_look_at_the_folder_it_came_into_and_at_itself(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    write(logs / "sweep/later", 7)
    snapshot = logdir.update(changed={str(logs / "sweep/later")})
    assert work == ["look at sweep", "look at sweep/later", "commit sweep/later"]
    assert shown(snapshot) == shown(open_logdir(logs))
    assert list(snapshot.runs)[-1] == "sweep/later"
    assert [file.run for file in snapshot.health] == list(snapshot.runs)


def test_new_folders_below_each_other_are_found_by_the_highest_of_them(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    write(logs / "another/deep/run", 7)
    snapshot = logdir.update(changed={str(logs / "another"), str(logs / "another/deep/run/file")})
    assert work == [
        "look at .",
        "look at another",
        "look at another/deep",
        "look at another/deep/run",
        "commit another/deep/run",
    ]
    assert shown(snapshot) == shown(open_logdir(logs))


def test_runs_and_files_that_go_are_gone_after_a_look_at_the_folders_that_held_them(
    logs: Path, work: list[str]
) -> None:
    write(logs / "sweep/run_01", 8)
    long_ago(logs)
    logdir = followed(logs, work)
    shutil.rmtree(logs / "sweep/run_00")
    min((logs / "sweep/run_01").iterdir()).unlink()
    changed = {
        str(logs / "sweep/run_00"),
        str(logs / "sweep/run_00/file"),
        str(logs / "sweep"),
        str(logs / "sweep/run_01"),
    }
    snapshot = logdir.update(changed=changed)
    assert work == ["look at sweep", "look at sweep/run_01", "commit sweep/run_01"]
    assert shown(snapshot) == shown(open_logdir(logs))
    assert "sweep/run_00" not in snapshot.runs
    assert len(snapshot.health) == RUNS - 1


def test_a_listing_after_what_was_told_has_nothing_more_to_do(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    write(logs / "sweep/later", 7)
    shutil.rmtree(logs / "sweep/run_00")
    told = logdir.update(changed={str(logs / "sweep")})
    work.clear()
    assert logdir.update() is told
    assert [line for line in work if line.startswith("commit")] == []


def test_what_was_told_of_and_has_gone_since_is_missed_by_a_listing(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    write(logs / "sweep/later", 7)
    told = logdir.update(changed={str(logs / "sweep")})
    shutil.rmtree(logs / "sweep/later")
    (grown,) = (logs / "sweep/run_00").iterdir()
    os.utime(grown, (2e9, 2e9))
    assert "sweep/later" in told.runs
    assert shown(logdir.update()) == shown(open_logdir(logs))


def test_a_listing_costs_the_runs_that_came_and_went(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    write(logs / "sweep/later", 7)
    write(logs / "sweep/run_03", 8)
    shutil.rmtree(logs / "sweep/run_00")
    snapshot = logdir.update()
    assert [line for line in work if line.startswith("commit")] == ["commit sweep/later", "commit sweep/run_03"]
    assert shown(snapshot) == shown(open_logdir(logs))


def test_a_run_that_is_another_folder_by_now_is_read_anew(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    shutil.rmtree(logs / "sweep/run_00")
    write(logs / "sweep/run_00", 5, 5, 5)
    snapshot = logdir.update(changed={str(logs / "sweep"), str(logs / "sweep/run_00")})
    assert shown(snapshot) == shown(open_logdir(logs))


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_folder_that_can_be_reached_in_several_ways_has_all_listed(logs: Path, work: list[str]) -> None:
    logdir = followed(logs, work)
    (logs / "best").symlink_to(logs / "sweep/run_00", target_is_directory=True)
    snapshot = logdir.update(changed={str(logs / "best")})
    assert len([line for line in work if line.startswith("look at sweep/")]) == RUNS
    assert shown(snapshot) == shown(open_logdir(logs))


def test_a_file_that_cannot_be_read_is_tried_again_whatever_is_told(
    logs: Path, work: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = followed(logs, work)
    (file,) = (logs / "sweep/run_00").iterdir()
    opened, refused = local_source._opened, {str(file)}

    def refuse(path: str, offset: int) -> BinaryIO:
        if path in refused:
            raise PermissionError(13, "Permission denied")
        return opened(path, offset)

    monkeypatch.setattr(local_source, "_opened", refuse)
    with SummaryWriter(logs / "elsewhere") as writer:
        writer.add_scalar("loss", 1.0, 9)
    (longer,) = (logs / "elsewhere").iterdir()
    file.write_bytes(file.read_bytes() + longer.read_bytes())
    failed = logdir.update(changed={str(file)})
    assert [(health.path, health.error) for health in failed.health if health.error] == [
        (file.relative_to(logs).as_posix(), "Permission denied")
    ]
    refused.clear()
    work.clear()
    mended = logdir.update(changed={str(logs / "sweep/run_05")})
    assert work == ["look at sweep/run_05", "commit sweep/run_00"]
    assert [health for health in mended.health if health.error] == []
    assert shown(mended)["sweep/run_00"] == [0.0, 0.0, 1.0]


def test_what_is_told_is_shown_before_all_is_listed(
    logs: Path, work: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = followed(logs, work)
    monkeypatch.setattr(logdir, "_listed_until", -math.inf)
    write(logs / "sweep/later", 7)
    published: list[tuple[Snapshot, int]] = []
    snapshot = logdir.update(lambda snapshot: published.append((snapshot, len(work))), {str(logs / "sweep/later")})
    assert published == [(snapshot, 3)]
    assert work[:3] == ["look at sweep", "look at sweep/later", "commit sweep/later"]
    assert work[3:5] == ["look at .", "look at sweep"]
    assert "sweep/later" in snapshot.runs


def run(name: str, begun: float) -> Run:
    return Run(name, begun, {})


def test_runs_stay_in_order_as_they_come_change_and_go() -> None:
    runs = OrderedRuns()
    first = runs.changed({"b": run("b", 2), "c": run("c", 2), "a": run("a", 3)})
    assert list(first) == ["b", "c", "a"]
    other = run("c", 2)
    second = runs.changed({"c": other, "d": run("d", 4), "e": None})
    assert list(second) == ["b", "c", "a", "d"]
    assert second["c"] is other
    assert list(runs.changed({"a": run("a", 1), "b": None, "f": run("f", 2.5)})) == ["a", "c", "f", "d"]
    # Views that were handed out before stay as they were.
    assert (list(first), list(second)) == (["b", "c", "a"], ["b", "c", "a", "d"])


def held(folder: Path, runs: int) -> int:
    """The number of objects known to Python's garbage collector that a start from an index leaves."""
    for number in range(runs):
        write(folder / "logs" / f"run_{number:02}", number)
    first = Logdir(folder / "logs", index=LogIndex(str(folder / "index")))
    first.update()
    first.wait_until_stored()
    del first
    index = LogIndex(str(folder / "index"))
    gc.collect()
    before = len(gc.get_objects())
    logdir = Logdir(folder / "logs", index=index)
    logdir.update()
    logdir.wait_until_stored()
    gc.collect()
    assert logdir.taken_files == runs
    return len(gc.get_objects()) - before


@pytest.mark.long
def test_a_run_of_an_index_is_few_objects(tmp_path: Path) -> None:
    held(tmp_path / "warm", 2)
    few, more = held(tmp_path / "few", 10), held(tmp_path / "more", 30)
    # There were 39 when views, locks and lists were held for each file: a gigabyte for 100,000 runs.
    assert (more - few) / 20 < 32
