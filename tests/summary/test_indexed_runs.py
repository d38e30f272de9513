"""An index is shown before the log directory is looked at, and without points that the event files do not have."""

import queue
import threading
from pathlib import Path
from typing import Any

import pytest

from stepscope.summary import SummaryWriter, stored_series
from stepscope.summary.event_file import EventFile
from stepscope.summary.follow import Follower
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import sources_of
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.snapshot import Snapshot

PATIENCE = 30.0
pytestmark = pytest.mark.usefixtures("settled")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat change times as exact, as they are if no two changes come within a tick of the clock."""
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose event files are read."""
    found: list[str] = []
    read_new = EventFile.read_new

    def read(self: EventFile, size: int) -> None:
        found.append(self.path.parent.name)
        read_new(self, size)

    monkeypatch.setattr(EventFile, "read_new", read)
    return found


def write(logs: Path, run: str, values: dict[int, float]) -> Path:
    """Write a file of the run, and return its path."""
    with SummaryWriter(logs / run) as writer:
        for step, value in values.items():
            writer.add_scalar("loss", value, step)
        writer.add_text("note", f"of {run}", 0)
    return max((logs / run).iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write(tmp_path / "logs", "late/b", {0: 1.0, 1: 0.5})
    write(tmp_path / "logs", "a", {0: 3.0, 1: 2.0, 2: 1.0})
    return tmp_path / "logs"


@pytest.fixture
def index(logs: Path, tmp_path: Path) -> Path:
    make_index(logs, tmp_path / "index")
    return tmp_path / "index"


def make_index(logs: Path, index: Path) -> None:
    logdir = Logdir(logs, index=LogIndex(str(index)))
    logdir.update()
    logdir.wait_until_stored()


def shown(snapshot: Snapshot) -> dict[str, Any]:
    return {
        run.name: [
            run.first_wall_time,
            *(
                (s.tag, s.kind, len(s), s.steps.tolist(), s.wall_times.tolist(), s.values.tolist())
                for s in run.series.values()
            ),
            run.series["note/text_summary"].read(0).strings.tolist(),
        ]
        for run in snapshot.runs.values()
    }


def test_a_start_shows_what_the_index_has_and_reads_no_event_file(logs: Path, index: Path, opened: list[str]) -> None:
    logdir = Logdir(logs, index=LogIndex(str(index)))
    first = logdir.indexed()
    assert (first.revision, first.loading, first.name, list(first.runs)) == (1, True, "logs", ["late/b", "a"])
    assert (set(first.kinds), set(first.tags)) == ({"scalars", "text"}, {"loss", "note/text_summary"})
    assert first.runs["a"].series["loss"].values.tolist() == [3.0, 2.0, 1.0]
    everything = shown(first)
    assert opened == []
    assert logdir.indexed() is first

    then = logdir.update()
    assert (then.revision, then.loading) == (2, False)
    assert everything == shown(then) == shown(Logdir(logs).update())
    # A reader that has the points need not ask for them again.
    assert [s.version for run in first.runs.values() for s in run.series.values()] == [
        s.version for run in then.runs.values() for s in run.series.values()
    ]
    assert logdir.indexed() is then


def test_points_of_an_event_file_that_has_grown_are_those_of_the_file(
    logs: Path, index: Path, opened: list[str], tmp_path: Path
) -> None:
    more = write(tmp_path / "other", "a", {3: 9.0}).read_bytes()
    with next((logs / "a").iterdir()).open("ab") as stream:
        stream.write(more)
    logdir = Logdir(logs, index=LogIndex(str(index)))
    first = logdir.indexed()
    assert first.runs["a"].series["loss"].values.tolist() == [3.0, 2.0, 1.0]
    assert opened == ["a"]
    then = logdir.update()
    assert then.runs["a"].series["loss"].values.tolist() == [3.0, 2.0, 1.0, 9.0]
    assert then.runs["a"].series["loss"].version > first.runs["a"].series["loss"].version


def test_points_of_an_event_file_that_is_another_by_now_are_not_shown(logs: Path, index: Path, tmp_path: Path) -> None:
    another = write(tmp_path / "other", "a", {0: 8.0, 1: 8.0, 2: 8.0, 3: 8.0, 4: 8.0}).read_bytes()
    replaced = next((logs / "a").iterdir())
    replaced.unlink()
    replaced.write_bytes(another)
    next((logs / "late/b").iterdir()).unlink()
    logdir = Logdir(logs, index=LogIndex(str(index)))
    first = logdir.indexed()
    assert list(first.runs) == ["late/b", "a"]
    for run in first.runs.values():
        with pytest.raises(PayloadError, match=f"the points of 'loss' of '{run.name}' cannot be read"):
            _ = run.series["loss"].columns
    then = logdir.update()
    assert list(then.runs) == ["a"]
    assert then.runs["a"].series["loss"].values.tolist() == [8.0] * 5


def test_an_index_of_another_directory_is_not_shown(logs: Path, index: Path, tmp_path: Path) -> None:
    write(tmp_path / "others", "a", {0: 8.0})
    for source in (tmp_path / "others", sources_of([f"x:{logs}", f"y:{tmp_path / 'others'}"])):
        assert Logdir(source, index=LogIndex(str(index))).indexed().revision == 0
    assert Logdir(logs, index=LogIndex(str(index))).indexed().revision == 1
    assert Logdir(logs, index=LogIndex(str(tmp_path / "none"))).indexed().revision == 0
    assert Logdir(logs).indexed().revision == 0


def test_files_one_after_the_other_are_one_run_and_what_takes_a_look_at_points_waits(
    logs: Path, tmp_path: Path
) -> None:
    write(logs, "a", {3: 0.5, 4: 0.25})
    write(logs, "restarted", {0: 1.0, 1: 2.0})
    write(logs, "restarted", {0: 3.0, 1: 4.0})
    write(logs, "back", {1: 1.0, 0: 2.0})
    with SummaryWriter(logs / "empty"):
        pass
    make_index(logs, tmp_path / "index")
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    first = logdir.indexed()
    assert list(first.runs) == ["late/b", "a", "empty"]
    assert first.runs["a"].series["loss"].values.tolist() == [3.0, 2.0, 1.0, 0.5, 0.25]
    then = logdir.update()
    assert list(then.runs) == ["late/b", "a", "restarted", "back", "empty"]
    assert first.runs["a"].series["loss"].version == then.runs["a"].series["loss"].version
    overwritten_too = Logdir(logs, index=LogIndex(str(tmp_path / "index")), keep_superseded=True)
    assert list(overwritten_too.indexed().runs) == list(then.runs)


def test_a_run_that_has_lost_a_file_has_another_version(logs: Path, tmp_path: Path) -> None:
    second = write(logs, "a", {3: 0.5})
    make_index(logs, tmp_path / "index")
    second.unlink()
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    versions = [snapshot.runs["a"].series["loss"].version for snapshot in (logdir.indexed(), logdir.update())]
    assert versions[0] < versions[1]


def test_damaged_points_are_read_from_the_event_file(logs: Path, index: Path, opened: list[str]) -> None:
    (segment,) = index.glob("*.segment")
    content = bytearray(segment.read_bytes())
    content[30] ^= 1
    segment.write_bytes(content)
    first = Logdir(logs, index=LogIndex(str(index))).indexed()
    assert shown(first) == shown(Logdir(logs).update())
    assert "a" in opened


def test_a_follower_shows_the_index_and_looks_when_it_may(logs: Path, index: Path) -> None:
    write(logs, "new", {0: 1.0})
    published: queue.Queue[Snapshot] = queue.Queue()
    may_look = threading.Event()
    follower = Follower(
        Logdir(logs, index=LogIndex(str(index))), published.put, poll_seconds=PATIENCE, may_look=may_look
    )
    follower.start()
    try:
        first = published.get(timeout=PATIENCE)
        assert (first.loading, list(first.runs), published.empty()) == (True, ["late/b", "a"], True)
        may_look.set()
        then = published.get(timeout=PATIENCE)
        assert (then.loading, list(then.runs)) == (False, ["late/b", "a", "new"])
    finally:
        follower.stop()


def test_what_was_shown_stays_while_files_are_read(logs: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.logdir._SECONDS_BETWEEN_PARTIAL_SNAPSHOTS", 0.0)
    write(logs, "new", {0: 1.0})
    logdir = Logdir(logs, index=LogIndex(str(index)))
    logdir.indexed()
    partial: list[Snapshot] = []
    logdir.update(partial.append)
    assert partial
    assert all(snapshot.loading and {"late/b", "a"} <= snapshot.runs.keys() for snapshot in partial)


def test_a_follower_looks_where_the_index_cannot_be_shown(
    logs: Path, index: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: Logdir) -> Snapshot:
        raise RuntimeError("no way to show it")

    monkeypatch.setattr(Logdir, "indexed", fail)
    published: queue.Queue[Snapshot] = queue.Queue()
    follower = Follower(Logdir(logs, index=LogIndex(str(index))), published.put, poll_seconds=PATIENCE)
    follower.start()
    try:
        assert list(published.get(timeout=PATIENCE).runs) == ["late/b", "a"]
    finally:
        follower.stop()
    assert f"the contents of the index of {logs} could not be shown" in caplog.text


def test_tags_and_contents_of_metadata_are_told_before_any_series_is_made(logs: Path, tmp_path: Path) -> None:
    with SummaryWriter(str(logs / "tuned")) as writer:
        start = session_start(start_info(checked_hparams({"lr": 0.5})))
        writer.add_summary(Summary(value=[start]), 0)
        writer.add_scalar("loss", 1.0, 0)
    with SummaryWriter(str(logs / "tuned"), filename_suffix=".again") as writer:
        writer.add_scalar("loss", 0.5, 1)
    make_index(logs, tmp_path / "index")
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    for snapshot in (logdir.indexed(), logdir.update()):
        for run in snapshot.runs.values():
            series = run.series
            assert run.tags_of_kind("scalars") == [found.tag for found in series.values() if found.kind == "scalars"]
            for tag, found in series.items():
                assert run.plugin_content(tag, found.kind) == found.plugin_content
                assert run.plugin_content(tag, "images") is None
            assert run.plugin_content("absent", "scalars") is None
            assert {tag: run.kind_of(tag) for tag in (*series, "absent")} == {
                **{tag: found.kind for tag, found in series.items()},
                "absent": None,
            }
        assert snapshot.runs["tuned"].plugin_content(start.tag, "hparams") == start.metadata.plugin_data.content


@pytest.mark.parametrize("keep_superseded", [False, True])
def test_the_furthest_step_is_told_before_any_series_is_made(
    logs: Path, tmp_path: Path, *, keep_superseded: bool
) -> None:
    write(logs, "back", {5: 1.0, 9: 2.0, 6: 3.0})
    write(logs, "twice", {0: 1.0})
    with SummaryWriter(str(logs / "twice"), filename_suffix=".again") as writer:
        writer.add_scalar("other", 0.5, 7)
    with SummaryWriter(str(logs / "none")) as writer:
        writer.add_text("note", "no scalar", 3)
    make_index(logs, tmp_path / "index")
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")), keep_superseded=keep_superseded)
    expected = {"late/b": 1, "a": 2, "back": 9 if keep_superseded else 6, "twice": 7, "none": None}
    for snapshot in (logdir.indexed(), logdir.update()):
        told = {name: run.furthest_step("scalars") for name, run in snapshot.runs.items()}
        assert told == {name: expected[name] for name in snapshot.runs}


def test_no_run_keeps_a_series_that_nobody_holds(logs: Path, index: Path) -> None:
    """A dictionary of them in each of 100,000 runs is work for every garbage collection."""
    runs = Logdir(logs, index=LogIndex(str(index))).indexed().runs
    before = len(stored_series._MADE)
    held = runs["a"].series["loss"]
    assert runs["a"].series["loss"] is held
    assert runs["late/b"].series["loss"].values.tolist() == [1.0, 0.5]
    assert len(stored_series._MADE) == before + 1
    del held
    assert len(stored_series._MADE) == before
