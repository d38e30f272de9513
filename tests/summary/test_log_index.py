"""Data read from a log directory is kept in few files, and never shown where the event files say something else."""

import logging
import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from unittest.mock import patch

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary import SummaryWriter, packed_points
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.event_file import EventFile
from stepscope.summary.index_files import IndexFolder
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.packed_points import BlockInMemory, PackedPoints, Packer
from stepscope.summary.points import TagState
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.stored_points import TagTable
from tests.summary.index_parts import files_of, loaded_index


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The event files that are opened, each with the offset where reading begins."""
    found: list[tuple[str, int]] = []
    read_new, tail_as_in = EventFile.read_new, EventFile._tail_as_in

    def read(self: EventFile, size: int) -> None:
        found.append((self.path.parent.name, self.position))
        read_new(self, size)

    def compared(self: EventFile, state: Any) -> bytes | None:
        found.append((self.path.parent.name, -1))
        return tail_as_in(self, state)

    monkeypatch.setattr(EventFile, "read_new", read)
    monkeypatch.setattr(EventFile, "_tail_as_in", compared)
    return found


def look(logs: "Path | str", index: "Path | str", **options: Any) -> Snapshot:
    logdir = Logdir(logs, index=LogIndex(str(index)), **options)
    snapshot = logdir.update()
    logdir.wait_until_stored()
    return snapshot


def shown(snapshot: Snapshot) -> dict[str, Any]:
    """Everything that readers can see, including payloads."""
    series = [series for run in snapshot.runs.values() for series in run.series.values()]
    return {
        "runs": {run.name: run.first_wall_time for run in snapshot.runs.values()},
        "health": snapshot.health,
        "series": [
            (s.run, s.tag, s.kind, s.display_name, s.description, s.plugin_content, s.superseded) for s in series
        ],
        "steps": [s.steps.tolist() for s in series],
        "wall times": [s.wall_times.tolist() for s in series],
        "values": [s.values.tobytes() for s in series],
        "payloads": [repr(s.read(index)) for s in series for index in range(len(s)) if s.kind != "scalars"],
    }


def read_anew(logs: "Path | str") -> dict[str, Any]:
    return shown(Logdir(logs).update())


def write_runs(logs: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(logs / run) as writer:
            for step in range(20):
                writer.add_scalar("loss", step / 3, step)
                writer.add_scalar("new style", np.nan if step % 7 == 0 else step, step, new_style=True)
            writer.add_scalar("loss", -1.0, 5)
            writer.add_text("note", "x" * 100, 3)
            writer.add_scalar("named", 1.0, 1, display_name="Name", summary_description="says **what**")
    with SummaryWriter(logs / "b", purge_step=10) as writer:
        writer.add_scalar("loss", 7.0, 10)


def event_file(logs: Path, run: str) -> Path:
    return min((logs / run).iterdir())


def let_age(logs: Path) -> None:
    """Wait until no file can change without getting a later change time."""
    changed = max(path.stat().st_ctime for path in logs.rglob("*"))
    while time.time() - changed < 2.1:
        threading.Event().wait(0.05)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_runs(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat change times as exact, as they are if no two changes come within a tick of the clock."""
    monkeypatch.setattr("stepscope.summary.index_lists._SETTLED_NS", 0)


@pytest.fixture(params=["whole", "divided"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are kept both as for small files and as for large ones."""
    if request.param == "divided":
        monkeypatch.setattr("stepscope.summary.packed_points.LARGEST_UNDIVIDED", 0)


@pytest.mark.usefixtures("settled", "_blocks")
def test_a_second_start_shows_the_same_and_opens_no_event_file(
    logs: Path, tmp_path: Path, opened: list[tuple[str, int]]
) -> None:
    damaged = bytearray(event_file(logs, "a").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    event_file(logs, "a").write_bytes(damaged)
    first = look(logs, tmp_path / "index")
    assert first.damage_count == 1
    assert first.superseded > 0
    opened.clear()
    second = look(logs, tmp_path / "index")
    everything = shown(second)
    assert opened == []
    assert everything == shown(first) == read_anew(logs)
    overwritten_too = look(logs, tmp_path / "index", keep_superseded=True)
    assert shown(overwritten_too) == shown(Logdir(logs, keep_superseded=True).update())


@pytest.mark.skipif(sys.platform != "linux", reason="Names of files that are not UTF-8")
@pytest.mark.usefixtures("settled")
def test_paths_need_not_be_utf_8(tmp_path: Path, opened: list[tuple[str, int]]) -> None:
    logs = tmp_path / os.fsdecode(b"logs \xe9")
    write_runs(logs / os.fsdecode(b"\xff"))
    first = look(logs, tmp_path / "index")
    opened.clear()
    assert shown(look(logs, tmp_path / "index")) == shown(first)
    assert opened == []


def test_an_unexpected_error_of_storing_is_logged(logs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(LogIndex):
        def store(self, files: Any, listed: Any = None) -> None:
            raise RuntimeError("unforeseen")

    logdir = Logdir(logs, index=Failing(str(tmp_path / "index")))
    assert shown(logdir.update()) == read_anew(logs)
    logdir.wait_until_stored()
    assert {record.message for record in caplog.records} == {"what was read could not be stored for the next start"}


def test_a_file_that_changed_just_before_it_was_read_is_compared(
    logs: Path, tmp_path: Path, opened: list[tuple[str, int]]
) -> None:
    """A second change within a tick of the clock leaves every time unchanged."""
    look(logs, tmp_path / "index")
    opened.clear()
    look(logs, tmp_path / "index")
    assert {run for run, _ in opened} == {"a", "b"}
    assert all(offset == -1 for _, offset in opened)


@pytest.mark.usefixtures("settled")
def test_of_a_file_that_has_grown_the_rest_is_read(logs: Path, tmp_path: Path, opened: list[tuple[str, int]]) -> None:
    look(logs, tmp_path / "index")
    file = event_file(logs, "a")
    size = file.stat().st_size
    with SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("loss", 5.0, 101)
        writer.add_scalar("another", 6.0, 101)
    with file.open("ab") as stream:
        stream.write(event_file(tmp_path, "other").read_bytes())
    opened.clear()
    snapshot = look(logs, tmp_path / "index")
    assert opened == [("a", -1), ("a", size)]
    expected = read_anew(logs)
    assert shown(snapshot) == expected
    assert snapshot.runs["a"].series["loss"].values[-1] == 5.0
    opened.clear()
    assert shown(look(logs, tmp_path / "index")) == expected
    assert ("a", 0) not in opened


def test_a_file_that_has_grown_large_is_taken_from_its_cache_file(
    logs: Path, tmp_path: Path, opened: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ColumnCache(tmp_path / "cache")
    logdir = Logdir(logs, cache=cache, index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    logdir.wait_until_stored()
    assert not cache.folder.exists()
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)
    with event_file(logs, "a").open("ab") as stream:
        stream.write(event_file(logs, "b").read_bytes())
    logdir.update()
    logdir.wait_until_stored()
    opened.clear()
    snapshot = look(logs, tmp_path / "index", cache=cache)
    assert [offset for run, offset in opened if run == "a"] == [-1]
    assert shown(snapshot) == read_anew(logs)


@pytest.mark.parametrize("keep_times", [True, False], ids=["with its times", "at another time"])
def test_another_file_of_equal_size_is_read_anew(logs: Path, tmp_path: Path, keep_times: bool) -> None:
    look(logs, tmp_path / "index")
    file = event_file(logs, "a")
    times = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    (tmp_path / "other").write_bytes(content)
    os.replace(tmp_path / "other", file)
    if keep_times:
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)


def test_a_file_changed_in_its_place_is_read_anew(logs: Path, tmp_path: Path) -> None:
    look(logs, tmp_path / "index")
    file = event_file(logs, "a")
    times = file.stat()
    with file.open("r+b") as stream:
        stream.seek(times.st_size // 2)
        stream.write(b"????")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)


def test_files_that_are_gone_are_not_shown_and_leave_the_index(logs: Path, tmp_path: Path) -> None:
    look(logs, tmp_path / "index")
    event_file(logs, "a").unlink()
    with SummaryWriter(logs / "c") as writer:
        writer.add_scalar("loss", 1.0, 1)
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)
    assert {path.parts[0] for path in files_of(tmp_path / "index", logs)} == {"b", "c"}


def test_a_run_that_grows_while_it_is_followed_is_kept_as_it_was_last(logs: Path, tmp_path: Path) -> None:
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    for step in range(100, 200):
        with SummaryWriter(tmp_path / f"other_{step}") as writer:
            writer.add_scalar("loss", 5.0, step)
        with event_file(logs, "a").open("ab") as stream:
            stream.write(event_file(tmp_path, f"other_{step}").read_bytes())
        snapshot = logdir.update()
    assert snapshot.runs["a"].series["loss"].steps[-1] == 199
    logdir.wait_until_stored()
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs) == shown(snapshot)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, bytes]]:
    """A log directory, what it shows, and the files of its index."""
    folder = tmp_path_factory.mktemp("kept")
    for run in ("a", "b"):
        with SummaryWriter(folder / "logs" / run) as writer:
            for step in range(4):
                writer.add_scalar("loss", step / 3, step)
            writer.add_text("note", "some text", 3)
    let_age(folder / "logs")
    look(folder / "logs", folder / "index")
    files = {path.name: path.read_bytes() for path in (folder / "index").iterdir()}
    assert len(files) == 2
    return folder / "logs", read_anew(folder / "logs"), files


@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_index_is_of_no_consequence(
    kept: tuple[Path, dict[str, Any], dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    logs, expected, files = kept
    index = tmp_path_factory.mktemp("index")
    for name, content in files.items():
        (index / name).write_bytes(content)
    name = data.draw(st.sampled_from(sorted(files)))
    content = files[name]
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = data.draw(
        st.sampled_from(
            [
                content[:place],
                content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 255))]) + content[place + 1 :],
                content[:place] + data.draw(st.binary(max_size=40)) + content[place:],
                content[place:],
            ]
        )
    )
    (index / name).write_bytes(damaged)
    assert shown(look(logs, index)) == expected
    # Damaged data has been created again if the damage was found at the start.
    assert shown(look(logs, index)) == expected


def test_damaged_points_do_not_keep_those_of_other_files_from_being_stored(logs: Path, tmp_path: Path) -> None:
    look(logs, tmp_path / "index")
    (segment,) = (tmp_path / "index").glob("*.segment")
    content = bytearray(segment.read_bytes())
    content[100] ^= 1
    segment.write_bytes(content)
    for path in logs.glob("*/*"):
        os.utime(path, (1, 1))
    with SummaryWriter(logs / "c") as writer:
        writer.add_scalar("loss", 1.0, 1)
    index = LogIndex(str(tmp_path / "index"))
    logdir = Logdir(logs, index=index)
    snapshot = logdir.update()
    logdir.wait_until_stored()
    assert index.refused == ""
    assert {path.parts[0] for path in files_of(tmp_path / "index", logs)} == {"b", "c"}
    assert shown(snapshot) == read_anew(logs)
    look(logs, tmp_path / "index")
    assert {path.parts[0] for path in files_of(tmp_path / "index", logs)} == {"a", "b", "c"}


def test_any_file_of_an_index_may_be_missing(
    kept: tuple[Path, dict[str, Any], dict[str, bytes]], tmp_path: Path
) -> None:
    logs, expected, files = kept
    for missing in files:
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / missing).unlink()
        assert shown(look(logs, tmp_path)) == expected


def test_an_index_of_another_version_is_replaced(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[tuple[str, int]]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("stepscope.summary.log_index._MAGIC", b"stepscope index 9\n")
        look(logs, tmp_path / "index")
    opened.clear()
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)
    assert ("a", 0) in opened
    opened.clear()
    look(logs, tmp_path / "index")
    assert ("a", 0) not in opened


def test_a_manifest_cannot_lead_out_of_its_folder(logs: Path, tmp_path: Path) -> None:
    import msgspec

    from stepscope.summary import log_index
    from stepscope.summary.records import crc32c

    look(logs, tmp_path / "index")
    (segment,) = (tmp_path / "index").glob("*.segment")
    outside = segment.rename(tmp_path / segment.name)
    manifest = (tmp_path / "index" / "manifest").read_bytes()
    ((logs_name, (place,)),) = log_index._decoded_manifest(manifest).items()
    led_out = log_index.SegmentPlace(f"../{outside.name}", place.at, place.length, place.crc)
    encoded = msgspec.msgpack.encode({logs_name: [led_out]})
    (tmp_path / "index" / "manifest").write_bytes(log_index._MAGIC + crc32c(encoded).to_bytes(4, "little") + encoded)
    assert files_of(tmp_path / "index", logs) == {}


def test_each_log_directory_has_its_own_part_of_an_index(tmp_path: Path) -> None:
    """Data stored before all files are listed once said nothing of others' files, which were shown as runs."""
    index = tmp_path / "index"
    for name in ("ours", "theirs"):
        with SummaryWriter(tmp_path / name / name) as writer:
            writer.add_scalar("loss", 8.0, 0)
    look(tmp_path / "theirs", index)
    ours = Logdir(tmp_path / "ours", index=LogIndex(str(index)))
    (read,) = files_of(index, tmp_path / "theirs").values()
    kept, files = loaded_index(index, tmp_path / "ours")
    assert files == {}
    kept.store([read._replace(found=replace(read.found, path=PurePosixPath("ours/events.out.tfevents.1")))])
    assert list(files_of(index, tmp_path / "ours")) == [PurePosixPath("ours/events.out.tfevents.1")]
    ours.update()
    ours.wait_until_stored()
    for name in ("ours", "theirs"):
        assert {path.parts[0] for path in files_of(index, tmp_path / name)} == {name}
        assert set(Logdir(tmp_path / name, index=LogIndex(str(index))).indexed().runs) == {name}


def test_parts_of_others_stay_in_a_manifest_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Busy(IndexFolder):
        def read_manifest(self) -> bytes:
            raise OSError("503 Slow Down")

    index = tmp_path / "index"
    for name in ("ours", "theirs"):
        with SummaryWriter(tmp_path / name / name) as writer:
            writer.add_scalar("loss", 8.0, 0)
    look(tmp_path / "theirs", index)
    ours = Logdir(tmp_path / "ours", index=LogIndex(Busy(index)))
    assert set(ours.update().runs) == {"ours"}
    ours.wait_until_stored()
    assert [len(files_of(index, tmp_path / name)) for name in ("ours", "theirs")] == [0, 1]
    assert [record.message for record in caplog.records] == [
        f"nothing is kept, as the index at {index} cannot be written: 503 Slow Down"
    ]


def test_a_log_directory_under_another_name_is_taken_from_the_index_and_has_a_part_of_its_own_then(
    logs: Path, tmp_path: Path
) -> None:
    look(logs, tmp_path / "index")
    (tmp_path / "linked").symlink_to(logs)
    for _ in range(2):
        logdir = Logdir(tmp_path / "linked", index=LogIndex(str(tmp_path / "index")))
        assert shown(logdir.update()) == read_anew(logs)
        assert logdir.taken_files == len(list(logs.rglob("events*")))
        logdir.wait_until_stored()
    assert len(files_of(tmp_path / "index", tmp_path / "linked")) == len(list(logs.rglob("events*")))


def test_two_that_follow_share_an_index(logs: Path, tmp_path: Path) -> None:
    first, second = (Logdir(logs, index=LogIndex(str(tmp_path / "index"))) for _ in range(2))
    first.update()
    second.update()
    for logdir in (first, second):
        logdir.wait_until_stored()
    expected = read_anew(logs)
    for segment in (tmp_path / "index").glob("*.segment"):
        segment.unlink()
    # Either may have replaced and deleted what the other has open.
    assert shown(first.snapshot) == shown(second.snapshot) == expected
    assert shown(look(logs, tmp_path / "index")) == expected


def test_many_that_write_at_once_leave_an_index_that_is_whole(logs: Path, tmp_path: Path) -> None:
    logdirs = [Logdir(logs, index=LogIndex(str(tmp_path / "index"))) for _ in range(8)]
    barrier = threading.Barrier(len(logdirs))

    def update(logdir: Logdir) -> None:
        barrier.wait()
        logdir.update()
        logdir.wait_until_stored()

    threads = [threading.Thread(target=update, args=(logdir,)) for logdir in logdirs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(files_of(tmp_path / "index", logs)) == 3
    assert not list((tmp_path / "index").glob("unfinished-*"))
    assert shown(look(logs, tmp_path / "index")) == read_anew(logs)


def test_an_index_that_cannot_be_written_is_said_once(
    logs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "index").write_text("a file")
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    with caplog.at_level(logging.WARNING):
        logdir.update()
        with SummaryWriter(logs / "c") as writer:
            writer.add_scalar("loss", 1.0, 1)
        snapshot = logdir.update()
        logdir.wait_until_stored()
    assert [record.message for record in caplog.records if "cannot be written" in record.message] == [
        f"nothing is kept, as the index at {tmp_path / 'index'} cannot be written: File exists"
    ]
    assert shown(snapshot) == read_anew(logs)


def test_small_segments_become_one_and_dead_ones_leave(logs: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    for number in range(12):
        with SummaryWriter(logs / f"more_{number}") as writer:
            writer.add_scalar("loss", float(number), 1)
        look(logs, index)
    loaded, files = loaded_index(index, logs)
    assert len(files) == 15
    assert len(loaded._places) < 10
    assert shown(look(logs, index)) == read_anew(logs)


def test_segments_that_no_manifest_has_are_deleted_after_a_while(logs: Path, tmp_path: Path) -> None:
    look(logs, tmp_path / "index")
    for name, age in (("0" * 16 + ".segment", 7200), ("1" * 16 + ".segment", 10), ("mine.txt", 7200)):
        (tmp_path / "index" / name).write_bytes(b"?")
        os.utime(tmp_path / "index" / name, (time.time() - age,) * 2)
    # Nothing in the existing segment is of use any more.
    for run in ("a", "b"):
        shutil.rmtree(logs / run)
    with SummaryWriter(logs / "c") as writer:
        writer.add_scalar("loss", 1.0, 1)
    look(logs, tmp_path / "index")
    names = {path.name for path in (tmp_path / "index").iterdir()}
    assert "0" * 16 + ".segment" not in names
    assert {"1" * 16 + ".segment", "mine.txt"} <= names


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://index_tests"
    fsspec.filesystem("memory").rm("/index_tests", recursive=True)


def test_an_index_at_an_address_has_files_of_any_size(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[tuple[str, int]]
) -> None:
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)
    write_runs(tmp_path / "logs")
    for path in (tmp_path / "logs").rglob("*tfevents*"):
        fsspec.filesystem("memory").pipe(f"/index_tests/logs/{path.parent.name}/{path.name}", path.read_bytes())
    expected = read_anew(f"{memory}/logs")
    assert shown(look(f"{memory}/logs", f"{memory}/index")) == expected
    opened.clear()
    assert shown(look(f"{memory}/logs", f"{memory}/index")) == expected
    assert all(offset == -1 for _, offset in opened)


def test_segments_at_an_address_are_deleted_after_a_while_too(
    memory: str, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.index_files._ABANDONED_SECONDS", 0.0)
    for number in range(12):
        with SummaryWriter(logs / f"more_{number}") as writer:
            writer.add_scalar("loss", float(number), 1)
        look(logs, f"{memory}/index")
    segments = [name for name in fsspec.filesystem("memory").find("/index_tests/index") if name.endswith(".segment")]
    assert len(segments) < 10
    assert shown(look(logs, f"{memory}/index")) == read_anew(logs)


def test_while_runs_grow_segments_are_written_now_and_then(logs: Path, tmp_path: Path) -> None:
    """Otherwise each flush of a few small files would be a segment."""
    logdir = Logdir(logs, index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    logdir.wait_until_stored()
    before = set((tmp_path / "index").iterdir())
    more = event_file(logs, "b").read_bytes()
    for _ in range(5):
        for run in ("a", "b"):
            with event_file(logs, run).open("ab") as stream:
                stream.write(more)
        logdir.update()
    logdir.wait_until_stored()
    assert set((tmp_path / "index").iterdir()) == before


KINDS = st.sampled_from(["scalars", "", "images", "text"])


@given(
    divided=st.booleans(),
    tags=st.lists(
        st.tuples(KINDS, st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), st.floats()), max_size=6)),
        max_size=5,
    ),
)
def test_packed_points_are_the_points_to_the_bit(
    tags: list[tuple[str, list[tuple[int, float, float]]]], *, divided: bool
) -> None:
    states = []
    for number, (kind, points) in enumerate(tags):
        steps = np.array([step for step, _, _ in points], np.int64)
        times = np.array([wall_time for _, wall_time, _ in points], np.float64)
        values = np.array([value for _, _, value in points], np.float64)
        places = steps ^ 77
        states.append(
            TagState(
                f"tag {number}",
                kind,
                "name" * (number % 2),
                "",
                b"content" * (number % 3),
                bool((steps[1:] < steps[:-1]).any()),
                steps,
                times,
                values if kind in ("scalars", "") else values[:0],
                places if kind != "scalars" else places[:0],
                places + 1 if kind != "scalars" else places[:0],
                np.arange(len(steps), dtype=np.int32) if kind != "scalars" else np.empty(0, np.int32),
            )
        )
    with patch.object(packed_points, "LARGEST_UNDIVIDED", 0 if divided else packed_points.LARGEST_UNDIVIDED):
        packed = Packer().pack(states)
    assert packed.table.is_sound
    assert packed.table.divided == (divided and any(points for _, points in tags))
    assert isinstance(packed.block, BlockInMemory)
    assert len(packed.block.content) == packed.table.length
    loaded = PackedPoints(packed.table, packed.block)
    assert [comparable(state) for state in loaded.states()] == [comparable(state) for state in states]
    for place, state in enumerate(states):
        found = loaded.load(place)
        assert found is not None
        assert found[:6] == state[:6]
        assert [column.tobytes() for column in found[6:]] == [column.tobytes() for column in state[6:]]
        assert [column.dtype for column in found[6:]] == [column.dtype for column in state[6:]]


@pytest.mark.parametrize(
    ("going_back", "is_sound"),
    [([], True), ([0, 2], True), ([2, 0], False), ([0, 0], False), ([-1], False), ([3], False)],
)
def test_tags_that_go_back_are_in_order_in_a_table(going_back: list[int], is_sound: bool) -> None:
    table = TagTable(["a", "b", "c"], ["scalars"] * 3, [2] * 3, [1] * 3, [0] * 3, going_back)
    assert table.is_sound(3) == is_sound
    if is_sound:
        assert [place for place in range(3) if table.goes_back(place)] == going_back


def two_points(value: float) -> TagState:
    nothing = np.empty(0, np.int64)
    columns = (np.arange(2), np.ones(2), np.full(2, value), nothing, nothing, nothing.astype(np.int32))
    return TagState("loss", "scalars", "", "", b"", False, *columns)


def test_tables_that_are_equal_are_one_object() -> None:
    packer = Packer()
    assert packer.pack([two_points(1.0)]).table is packer.pack([two_points(2.0)]).table
    assert packer.pack([two_points(0.1)]).table is not packer.pack([two_points(1.0)]).table


def test_a_table_is_freed_with_the_last_points_that_have_it() -> None:
    packer = Packer()
    one, other = packer.pack([two_points(1.0)]), packer.pack([two_points(2.0)])
    table = weakref.ref(one.table)
    del one
    assert table() is other.table
    del other
    assert table() is None


SAMPLES = sorted((Path(__file__).resolve().parents[2] / "sample_logs").rglob("*tfevents*"))


def test_what_is_packed_straight_from_the_scan_is_what_is_read_tag_by_tag(logs: Path) -> None:
    for new_style in (False, True):
        with SummaryWriter(logs / f"numbers {new_style}") as writer:
            for step in (1, 2, 3, 2):
                writer.add_scalar("loss", step / 3, step, new_style=new_style, summary_description="Falls.")
                writer.add_scalar("größe", np.inf, step, new_style=new_style)
            writer.add_scalar("late", np.nan, 3, new_style=new_style)
    straight = 0

    class Counting(Packer):
        def pack_numbers(self, *given: Any) -> PackedPoints:
            nonlocal straight
            straight += 1
            return super().pack_numbers(*given)

    for path in (*SAMPLES, *logs.rglob("*tfevents*")):
        read, packed = (EventFile(PurePosixPath(path.name), partial(opened_at, path)) for _ in range(2))
        read.read_new(path.stat().st_size)
        found = packed.read_packed(path.stat().st_size, Counting())
        assert found is not None
        state, points = found
        assert state == read._state()
        assert [comparable(one) for one in points.states()] == [comparable(one) for one in read.tag_states()]
        assert packed.all_damages == read.all_damages
    assert straight == 2


def comparable(state: TagState) -> tuple[object, ...]:
    return (*state[:6], *(column.tobytes() for column in state[6:]))


def opened_at(path: Path, offset: int) -> BinaryIO:
    stream = path.open("rb")
    stream.seek(offset)
    return stream


def test_a_file_that_grows_after_it_was_packed_goes_on(logs: Path, tmp_path: Path) -> None:
    """Straight from the scan, or tag by tag; with new tags, and with values that are not numbers."""
    with SummaryWriter(tmp_path / "numbers") as writer:
        for step in range(10):
            writer.add_scalar("loss", step, step)
    with SummaryWriter(tmp_path / "more") as writer:
        writer.add_scalar("loss", 5.5, 3)
        writer.add_text("note", "text", 4)
        writer.add_scalar("another", 1.0, 5)
    whole = event_file(tmp_path, "numbers").read_bytes() + event_file(tmp_path, "more").read_bytes()
    (tmp_path / "whole").write_bytes(whole)
    expected = EventFile(PurePosixPath("whole"), lambda offset: opened_at(tmp_path / "whole", offset))
    expected.read_new(len(whole))
    growing = EventFile(PurePosixPath("growing"), lambda offset: opened_at(tmp_path / "growing", offset))
    for end in (len(whole) // 3, len(whole) // 2, len(whole) - 9, len(whole)):
        (tmp_path / "growing").write_bytes(whole[:end])
        if growing.position == 0:
            growing.read_packed(end, Packer())
        else:
            growing.read_new(end)
    assert [comparable(one) for one in growing.tag_states()] == [comparable(one) for one in expected.tag_states()]
    assert growing.records == expected.records
    assert growing.all_damages == expected.all_damages == ()
