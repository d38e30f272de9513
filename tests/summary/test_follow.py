import os
import queue
import sys
import time
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepscope.summary import follow
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from stepscope.summary.snapshot import Snapshot

pytestmark = pytest.mark.skipif(find_spec("watchdog") is None, reason="tests/test_core.py has what is without it")
PATIENCE = 30.0


def record(step: int) -> bytes:
    value = Summary.Value(tag="loss", simple_value=float(step))
    return frame(Event(wall_time=1.0, step=step, summary=Summary(value=[value])).SerializeToString())


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for(published: "queue.Queue[Snapshot]", steps: list[int]) -> None:
    while True:
        series = published.get(timeout=PATIENCE).series("run", "loss")
        if series is not None and series.steps.tolist() == steps:
            return


def test_what_is_appended_is_published_without_waiting_for_the_clock(tmp_path: Path) -> None:
    published: queue.Queue[Snapshot] = queue.Queue()
    file = tmp_path / "run" / "events.out.tfevents.1"
    file.parent.mkdir()
    file.write_bytes(record(0))
    follower = Follower(Logdir(tmp_path), published.put, poll_seconds=PATIENCE * 2)
    follower.start()
    try:
        wait_for(published, [0])
        with file.open("ab") as stream:
            stream.write(record(1)[:10])
            stream.flush()
            stream.write(record(1)[10:])
        wait_for(published, [0, 1])
    finally:
        follower.stop()
        # Servers stop it once more when they clean up.
        follower.stop()


def test_what_is_there_is_published_before_folders_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.summary import folder_watches

    published: queue.Queue[Snapshot] = queue.Queue()
    file = tmp_path / "run" / "events.out.tfevents.1"
    file.parent.mkdir()
    file.write_bytes(record(0))
    every: list[Snapshot] = []
    published_before: list[int] = []
    watches = folder_watches.FolderWatches

    def watch_later(tell: Callable[[Sequence[str]], None]) -> object:
        published_before.append(len(every))
        # Nobody reports this change.
        file.write_bytes(record(0) + record(1))
        return watches(tell)

    def publish(snapshot: Snapshot) -> None:
        every.append(snapshot)
        published.put(snapshot)

    monkeypatch.setattr(folder_watches, "FolderWatches", watch_later)
    follower = Follower(Logdir(tmp_path), publish, poll_seconds=PATIENCE * 2)
    follower.start()
    try:
        wait_for(published, [0, 1])
    finally:
        follower.stop()
    assert published_before == [1]


def write_quiet_runs(folder: Path) -> list[Path]:
    """Write the files of nine runs, each changed later than the one before, all of them long ago."""
    files = [folder / f"run_{number}" / "events.out.tfevents.1" for number in range(9)]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_bytes(record(0))
        os.utime(file, (number, number))
        os.utime(file.parent, (number, number))
    return files


def watched(follower: Follower) -> set[str]:
    return {os.path.basename(folder) for folder in follower._watches._watches} if follower._watches else set()


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has a limit of watches")
def test_of_many_folders_those_with_others_in_them_and_those_that_changed_last_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_MOST_WATCHED", 3)
    published: queue.Queue[Snapshot] = queue.Queue()
    write_quiet_runs(tmp_path)
    follower = Follower(Logdir(tmp_path), published.put, poll_seconds=PATIENCE * 2)
    follower.start()

    try:
        wait_until(lambda: watched(follower) == {tmp_path.name, "run_7", "run_8"})
        # The folder above is always watched, and reports it.
        new = tmp_path / "run_new" / "events.out.tfevents.1"
        new.parent.mkdir()
        new.write_bytes(record(0))
        wait_until(lambda: watched(follower) == {tmp_path.name, "run_new", "run_8"})
        with new.open("ab") as stream:
            stream.write(record(1))
        while (series := published.get(timeout=PATIENCE).series("run_new", "loss")) is None or len(series) < 2:
            pass
    finally:
        follower.stop()


def test_a_run_that_somebody_looks_at_is_watched_however_long_it_was_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_MOST_WATCHED", 3)
    monkeypatch.setattr(follow, "_MOST_HEEDED", 2)
    published: queue.Queue[Snapshot] = queue.Queue()
    files = write_quiet_runs(tmp_path)
    follower = Follower(Logdir(tmp_path), published.put, poll_seconds=PATIENCE * 2)
    follower.start()

    try:
        wait_until(lambda: watched(follower) == {tmp_path.name, "run_7", "run_8"})
        follower.heed(["run_2", "of another directory"])
        wait_until(lambda: watched(follower) == {tmp_path.name, "run_2"})
        with files[2].open("ab") as stream:
            stream.write(record(1))
        while (series := published.get(timeout=PATIENCE).series("run_2", "loss")) is None or len(series) < 2:
            pass
        # The runs that were named last, and no others.
        follower.heed(["run_3", "run_4"])
        wait_until(lambda: watched(follower) == {tmp_path.name, "run_3", "run_4"})
    finally:
        follower.stop()


def test_an_unexpected_error_does_not_end_the_following(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Logdir):
        failures = 2

        def update(
            self,
            publish: Callable[[Snapshot], None] | None = None,
            changed: Collection[str] | None = None,
        ) -> Snapshot:
            if self.failures:
                self.failures -= 1
                raise RuntimeError("unforeseen")
            return super().update(publish, changed)

    published: queue.Queue[Snapshot] = queue.Queue()
    follower = Follower(Failing(tmp_path), published.put, poll_seconds=0.01)
    follower.start()
    try:
        assert published.get(timeout=PATIENCE).revision == 1
    finally:
        follower.stop()
    assert [record.message for record in caplog.records] == [
        f"the log directory {tmp_path} could not be updated; retrying soon"
    ] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has these watches")
def test_an_unexpected_error_of_the_watches_does_not_end_the_following(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from stepscope.summary import folder_watches

    class Failing(folder_watches.FolderWatches):
        failures = 2

        def watch(self, wanted: Collection[str]) -> list[str]:
            if Failing.failures:
                Failing.failures -= 1
                raise RuntimeError("unforeseen")
            return super().watch(wanted)

    monkeypatch.setattr(folder_watches, "FolderWatches", Failing)
    published: queue.Queue[Snapshot] = queue.Queue()
    follower = Follower(Logdir(tmp_path), published.put, poll_seconds=0.01)
    follower.start()
    try:
        wait_until(lambda: watched(follower) == {tmp_path.name})
        file = tmp_path / "run" / "events.out.tfevents.1"
        file.parent.mkdir()
        file.write_bytes(record(0))
        wait_for(published, [0])
    finally:
        follower.stop()
    assert [record.message for record in caplog.records] == [
        f"the log directory {tmp_path} could not be updated; retrying soon"
    ] * 2


def test_the_clock_alone_finds_a_directory_that_comes_later(tmp_path: Path) -> None:
    published: queue.Queue[Snapshot] = queue.Queue()
    follower = Follower(Logdir(tmp_path / "later"), published.put, poll_seconds=0.01)
    follower.start()
    try:
        assert published.get(timeout=PATIENCE).revision == 1
        file = tmp_path / "later" / "run" / "events.out.tfevents.1"
        file.parent.mkdir(parents=True)
        file.write_bytes(record(0))
        wait_for(published, [0])
    finally:
        follower.stop()
