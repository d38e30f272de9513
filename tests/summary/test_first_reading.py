"""A separate process reads many small event files, and the server continues from what that process wrote."""

import os
import queue
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import pytest

from stepscope.dashboard.server.warm_up import warm_event_files, warm_small_event_files
from stepscope.summary import first_reader, first_reading
from stepscope.summary.event_file import EventFile
from stepscope.summary.first_reader import LEAST_FILES, parts_of_small_files, read_part
from stepscope.summary.first_reading import FirstReading, read_ahead
from stepscope.summary.follow import Follower
from stepscope.summary.kept_files import LEAST_CACHED
from stepscope.summary.log_index import LogIndex, SegmentPlace
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.logdir_source import source_of
from stepscope.summary.packed_points import Packer
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import FoundFile

PATIENCE = 60.0


def write(folder: Path, *values: float, more: bytes = b"") -> None:
    folder.mkdir(parents=True)
    events = [
        Event(wall_time=1e9 + step, step=step, summary=Summary(value=[Summary.Value(tag="loss", simple_value=value)]))
        for step, value in enumerate(values)
    ]
    content = b"".join(frame(event.SerializeToString()) for event in events)
    (folder / "events.out.tfevents.1").write_bytes(content + more)


def shown(snapshot: Snapshot) -> dict[str, list[float]]:
    return {name: run.series["loss"].values.tolist() for name, run in snapshot.runs.items()}


def listed(logs: Path) -> list[FoundFile]:
    return sorted(source_of(logs).list(), key=lambda file: file.path)


def read(logs: Path, files: Sequence[FoundFile], index: Path) -> Sequence[SegmentPlace]:
    return read_part(source_of(logs), files, str(index), Packer())


def file(path: str, size: int = 100) -> FoundFile:
    return FoundFile(PurePosixPath(path), size, 1, (1, 1))


@pytest.fixture
def for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a few files as many."""
    monkeypatch.setattr(first_reader, "LEAST_FILES", 2)
    monkeypatch.setattr(first_reader, "_LOOKED_AT", 3)
    monkeypatch.setattr(first_reader, "_PART_FILES", 2)


@pytest.mark.usefixtures("for_few")
def test_parts_have_whole_runs_of_small_files() -> None:
    files = [
        file("a/tfevents.1"),
        file("a/notes.txt"),
        file("b/tfevents.1"),
        file("b/tfevents.2"),
        file("large/tfevents.1"),
        file("large/tfevents.2", LEAST_CACHED),
        file("empty/tfevents.1", 0),
        file("c/tfevents.1"),
    ]
    parts = [[str(each.path) for each in part] for part in parts_of_small_files(files)]
    assert parts == [["a/tfevents.1", "b/tfevents.1", "b/tfevents.2"], ["c/tfevents.1"]]


@pytest.mark.usefixtures("for_few")
def test_few_small_files_are_left_to_the_server() -> None:
    assert list(parts_of_small_files([file("a/tfevents.1")])) == []
    files = [
        file("a/tfevents", LEAST_CACHED),
        file("b/tfevents", LEAST_CACHED),
        *(file(f"{run}/tfevents") for run in "cdef"),
    ]
    assert list(parts_of_small_files(files)) == []


def test_the_server_shows_each_part_as_it_comes_and_all_that_was_written_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    logs, index = tmp_path / "logs", tmp_path / "index"
    write(logs / "a", 3.0, 2.0)
    write(logs / "b", 1.0, more=frame(b"\xff damaged"))
    start = Event(wall_time=1e9, session_log=SessionLog(status=SessionLog.START))
    write(logs / "c", 4.0, more=frame(start.SerializeToString()))
    expected = open_logdir(logs)
    logdir = Logdir(logs, index=LogIndex(str(index)))
    files = listed(logs)
    first = logdir.indexed(read(logs, files[:1], index))
    second = logdir.indexed(read(logs, files[1:], index))
    assert [(one.revision, one.loading, list(one.runs)) for one in (first, second)] == [
        (1, True, ["a"]),
        (2, True, ["a", "b", "c"]),
    ]
    assert second.runs["a"] is first.runs["a"]
    opened: list[str] = []
    monkeypatch.setattr(EventFile, "read_new", lambda self, size: opened.append(str(self.path)))
    last = logdir.update()
    assert (last.revision, last.loading, opened) == (3, False, [])
    assert shown(last) == shown(expected) == {"a": [3.0, 2.0], "b": [1.0], "c": [4.0]}
    assert last.damage_count == expected.damage_count == 1
    assert last.runs["a"].series["loss"].version == first.runs["a"].series["loss"].version
    # This snapshot shows the directory as it is.
    assert logdir.indexed(()) is last


def test_what_cannot_be_read_is_left_to_the_server(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a", 1.0)
    write(logs / "gone", 1.0)
    files = listed(logs)
    (logs / "gone" / "events.out.tfevents.1").unlink()
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    assert shown(logdir.indexed(read(logs, files, tmp_path / "index"))) == {"a": [1.0]}


def followed(logs: Path, index: Path, reading: FirstReading) -> Iterator[Snapshot]:
    published: queue.Queue[Snapshot] = queue.Queue()
    follower = Follower(Logdir(logs, index=LogIndex(str(index))), published.put, reading=reading)
    follower.start()
    try:
        snapshot = published.get(timeout=PATIENCE)
        while snapshot.loading:
            yield snapshot
            snapshot = published.get(timeout=PATIENCE)
        yield snapshot
    finally:
        follower.stop()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for run in range(LEAST_FILES):
        write(tmp_path / "logs" / f"run_{run:03d}", float(run))
    return tmp_path / "logs"


def test_a_process_reads_for_the_server(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)
    # Nobody waits for a compiler there.
    warm_event_files()
    warm_small_event_files()
    read_here: list[object] = []

    def read_together(opened: Sequence[object], sizes: Sequence[int], packer: object) -> list[None]:
        read_here.extend(opened)
        return [None] * len(opened)

    monkeypatch.setattr("stepscope.summary.kept_files.read_together", read_together)
    monkeypatch.setattr(EventFile, "read_new", lambda self, size: read_here.append(self.path))
    left = tmp_path / "index" / f"{7:016x}.segment"
    left.parent.mkdir()
    left.touch()
    os.utime(left, (1e9, 1e9))
    *partial, last = followed(many, tmp_path / "index", FirstReading([str(many)], str(tmp_path / "index")))
    assert not left.exists()
    assert shown(last) == {f"run_{run:03d}": [float(run)] for run in range(LEAST_FILES)}
    assert list(partial[-1].runs) == list(last.runs)
    assert not read_here


def test_a_process_that_is_lost_leaves_all_to_the_server(many: Path, tmp_path: Path) -> None:
    reading = FirstReading([str(many)], str(tmp_path / "index"))
    reading.stop()
    *_, last = followed(many, tmp_path / "index", reading)
    assert shown(last) == {f"run_{run:03d}": [float(run)] for run in range(LEAST_FILES)}
    reading.stop()


def test_a_process_that_fails_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reading = FirstReading(["twice:/a", "twice:/b"], str(tmp_path / "index"))
    assert list(reading.segments()) == []
    assert "are read without it" in caplog.text
    reading.stop()


def test_an_index_that_cannot_be_written_is_told_of(
    many: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warm_event_files()
    warm_small_event_files()
    (tmp_path / "index").touch()
    reading = FirstReading([str(many)], str(tmp_path / "index"))
    assert list(reading.segments()) == []
    assert "are read without it" in caplog.text
    reading.stop()


def test_one_is_started_where_nothing_is_kept_of_very_many_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[Sequence[str], str]] = []

    def start(logdirs: Sequence[str], index: str) -> None:
        started.append((logdirs, index))

    monkeypatch.setattr(first_reading, "FirstReading", start)
    monkeypatch.setattr(first_reading, "_LEAST_FOLDERS", 4)
    logs, index = tmp_path / "logs", tmp_path / "index"
    for run in ("a/1", "a/2", "b/1"):
        (logs / run).mkdir(parents=True)
    given = [str(logs)]
    read_ahead(given, [tmp_path / "missing"], str(index))
    read_ahead(given, [logs / "a"], str(index))
    read_ahead(given, [logs], "s3://bucket/index")
    read_ahead([], [logs], str(index))
    assert not started
    read_ahead(given, [logs], str(index))
    assert started == [(given, str(index))]
    index.mkdir()
    (index / "manifest").touch()
    read_ahead(given, [logs], str(index))
    assert len(started) == 1


def test_where_no_process_can_be_started_the_server_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise OSError("too many")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(first_reading, "_LEAST_FOLDERS", 1)
    (tmp_path / "logs" / "a").mkdir(parents=True)
    assert read_ahead([str(tmp_path)], [tmp_path], str(tmp_path / "index")) is None
    assert "too many" in caplog.text
