"""An engine's workers fill an index that equals the one that a start would create."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from stepscope.summary import SummaryWriter, index_building
from stepscope.summary.contents import LeftOut
from stepscope.summary.engine import Engine, Progress
from stepscope.summary.errors import UserError
from stepscope.summary.index_building import IndexTotals, fill_index
from stepscope.summary.log_index import LogIndex
from stepscope.summary.log_parts import LogPart, cut, from_anywhere
from stepscope.summary.logdir import Logdir
from stepscope.summary.remote_source import Requests
from stepscope.summary.source import FoundFile
from tests.summary.index_parts import files_of
from tests.summary.test_log_index import let_age, look, read_anew, shown

pytestmark = pytest.mark.long

RUNS = 6


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(RUNS):
        with SummaryWriter(tmp_path / "logs" / f"run_{number}") as writer:
            for step in range(4):
                writer.add_scalar("loss", step / 3 + number, step)
            writer.add_text("note", "x" * 100, 3)
    with SummaryWriter(tmp_path / "logs" / "run_0", purge_step=2) as writer:
        writer.add_scalar("loss", 7.0, 2)
    return tmp_path / "logs"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.log_parts.PART_FILES", 2)


def filled(logs: Path, index: Path, engine: str = "threads") -> tuple[list[IndexTotals], Progress]:
    progress = Progress(0, 0)
    with Engine(engine, 2) as chosen:
        steps = list(fill_index(from_anywhere([str(logs)]), LogIndex(str(index)), chosen, progress))
    return steps, progress


def totals(logs: Path, taken: int, left_out: LeftOut) -> IndexTotals:
    files = list(logs.rglob("*tfevents*"))
    size = sum(path.stat().st_size for path in files)
    return IndexTotals(len({path.parent for path in files}), len(files), size, taken, left_out, Requests())


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_it_is_the_index_that_a_start_would_have_made(logs: Path, tmp_path: Path, engine: str) -> None:
    let_age(logs)
    steps, progress = filled(logs, tmp_path / "index", engine)
    # Three points of the first run were overwritten when it restarted.
    assert steps[0] == totals(logs, 0, LeftOut())
    assert steps[-1] == totals(logs, 0, LeftOut(points=3))
    assert (progress.parts, progress.done, progress.complete) == (RUNS + 1, RUNS + 1, True)
    started = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    assert shown(started.update()) == read_anew(logs)
    assert started.taken_files == RUNS + 1


def test_only_runs_that_changed_are_read_and_of_these_the_rest(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    read_part = index_building._read_part

    def noted(part: Any) -> Any:
        read.extend(str(file.path.parent) for file in part.logs.files)
        return read_part(part)

    monkeypatch.setattr(index_building, "_read_part", noted)
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    filled(logs, tmp_path / "index")
    assert len(read) == RUNS + 1
    read.clear()
    with SummaryWriter(logs / "run_0") as writer:
        writer.add_scalar("loss", 1.0, 9)
    with SummaryWriter(logs / "new") as writer:
        writer.add_scalar("loss", 1.0, 0)
    steps, progress = filled(logs, tmp_path / "index")
    assert read == ["new", "run_0", "run_0", "run_0"]
    assert (steps[-1].taken, progress.done) == (RUNS + 1, 4)
    started = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    assert shown(started.update()) == read_anew(logs)
    assert started.taken_files == RUNS + 3
    assert [step.taken for step in filled(logs, tmp_path / "index")[0]] == [RUNS + 3]


def refusing(name: str) -> Callable[[Any], Any]:
    """Reads parts, but fails for all parts with a file of the run, as a worker with too little memory does."""
    read_part = index_building._read_part

    def read(part: Any) -> Any:
        if any(file.path.parent.name == name for file in part.logs.files):
            raise MemoryError("too large")
        return read_part(part)

    return read


def test_a_file_that_no_worker_can_read_is_named_and_the_others_are_read(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_age(logs)
    monkeypatch.setattr(index_building, "_read_part", refusing("run_3"))
    _, progress = filled(logs, tmp_path / "index")
    (file,) = (logs / "run_3").iterdir()
    assert progress.failures == {f"run_3/{file.name}": "too large"}
    assert (progress.done, progress.ended, progress.complete) == (RUNS, True, False)
    assert {path.parent.name for path in files_of(tmp_path / "index", logs)} == {
        f"run_{number}" for number in range(RUNS) if number != 3
    }


@pytest.mark.usefixtures("small_parts")
def test_what_was_read_stays_where_the_rest_is_given_up(logs: Path, tmp_path: Path) -> None:
    let_age(logs)
    with Engine("threads", 1) as engine:
        steps = fill_index(from_anywhere([str(logs)]), LogIndex(str(tmp_path / "index")), engine, Progress(0, 0))
        next(steps)
        next(steps)
        steps.close()
    assert {path.parent.name for path in files_of(tmp_path / "index", logs)} == {"run_0"}
    assert filled(logs, tmp_path / "index")[0][-1].taken == 2


def test_an_index_that_cannot_be_written_is_said(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file cannot be written: File exists; expected a folder"):
        filled(logs, tmp_path / "file")


def test_a_follower_goes_on_from_it(logs: Path, tmp_path: Path) -> None:
    let_age(logs)
    filled(logs, tmp_path / "index")
    with SummaryWriter(logs / "run_1") as writer:
        writer.add_scalar("loss", 5.0, 99)
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)


def found(*paths: str) -> tuple[FoundFile, ...]:
    return tuple(FoundFile(PurePosixPath(path), 10, 0, (0, 0)) for path in paths)


def names(parts: list[LogPart]) -> list[list[str]]:
    return [[str(file.path) for file in part.files] for part in parts]


@pytest.mark.usefixtures("small_parts")
def test_parts_are_of_whole_runs_and_of_event_files_alone() -> None:
    files = found("b/tfevents.2", "c/tfevents", "a/tfevents", "b/trace.json", "b/tfevents.1", "b/tfevents.3")
    parts = cut(["logs"], files)
    assert names(parts) == [["a/tfevents", "b/tfevents.1", "b/tfevents.2", "b/tfevents.3"], ["c/tfevents"]]
    assert names(list(parts[0].halves())) == [["a/tfevents"], ["b/tfevents.1", "b/tfevents.2", "b/tfevents.3"]]
    assert names(list(parts[0].halves()[1].halves())) == [["b/tfevents.1"], ["b/tfevents.2", "b/tfevents.3"]]
    assert parts[1].halves() == ()


def test_log_directories_are_called_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert from_anywhere(["logs", "name:logs/*", "s3://bucket/logs", "x:s3://bucket/logs"]) == (
        f"{tmp_path}/logs",
        f"name:{tmp_path}/logs/*",
        "s3://bucket/logs",
        "x:s3://bucket/logs",
    )
