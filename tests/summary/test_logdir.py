"""Runs, tags and series of a log directory that grows and changes."""

import errno
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.companions import run_of_companion
from stepscope.summary.debugger.listing import dump_sources
from stepscope.summary.event_file import EventFile
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.types_pb2 import DT_STRING
from stepscope.summary.records import frame
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import FoundFile
from stepscope.summary.writer import SummaryWriter
from tests.summary.debugger.dumps import START, write_dump


def write(path: Path, *events: Event, mode: str = "ab") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as stream:
        stream.write(b"".join(frame(event.SerializeToString()) for event in events))


def scalar(step: int, value: float, tag: str = "loss", wall_time: float = 100.0) -> Event:
    return Event(wall_time=wall_time, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))


def text(step: int, content: str, tag: str = "note") -> Event:
    value = Summary.Value(tag=tag, tensor=TensorProto(dtype=DT_STRING, string_val=[content.encode()]))
    value.metadata.plugin_data.plugin_name = "text"
    value.metadata.display_name = "Note"
    value.metadata.summary_description = "What was noted"
    return Event(wall_time=100.0, step=step, summary=Summary(value=[value]))


def shown(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    return {
        name: {
            tag: list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
            for tag, series in run.series.items()
        }
        for name, run in snapshot.runs.items()
    }


def test_runs_are_directories_in_order_of_their_first_event(tmp_path: Path) -> None:
    write(tmp_path / "b" / "events.out.tfevents.1", scalar(0, 1.0, wall_time=5))
    write(tmp_path / "a" / "deep" / "events.out.tfevents.1", scalar(0, 2.0, wall_time=7))
    write(tmp_path / "events.out.tfevents.1", scalar(0, 3.0, wall_time=6))
    write(tmp_path / "c" / "notes.txt", scalar(0, 4.0))
    assert shown(open_logdir(tmp_path)) == {
        "b": {"loss": [(0, 1.0)]},
        ".": {"loss": [(0, 3.0)]},
        "a/deep": {"loss": [(0, 2.0)]},
    }


def test_the_revision_grows_only_when_something_changed(tmp_path: Path) -> None:
    logdir = Logdir(tmp_path)
    assert logdir.update().revision == 1
    file = tmp_path / "run" / "events.out.tfevents.1"
    write(file, scalar(0, 1.0))
    first = logdir.update()
    assert logdir.update() is first
    write(file, scalar(1, 2.0), scalar(0, 5.0, tag="acc"))
    second = logdir.update()
    assert second.revision > first.revision
    assert shown(second) == {"run": {"loss": [(0, 1.0), (1, 2.0)], "acc": [(0, 5.0)]}}
    assert shown(first) == {"run": {"loss": [(0, 1.0)]}}
    before, after = (snapshot.series("run", "loss") for snapshot in (first, second))
    assert before is not None
    assert after is not None
    assert after.version == before.version + 1


def test_a_growing_tag_leaves_the_series_of_others_untouched(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    write(file, scalar(0, 1.0), scalar(0, 1.0, tag="acc"))
    logdir = Logdir(tmp_path)
    first = logdir.update()
    write(file, scalar(1, 2.0))
    second = logdir.update()
    assert second.series(".", "acc") is first.series(".", "acc")
    assert second.series(".", "loss") is not first.series(".", "loss")


def test_several_files_of_a_run_are_all_followed_in_order_of_their_names(tmp_path: Path) -> None:
    logdir = Logdir(tmp_path)
    write(tmp_path / "events.out.tfevents.2", scalar(2, 2.0))
    logdir.update()
    write(tmp_path / "events.out.tfevents.1", scalar(0, 0.0))
    write(tmp_path / "events.out.tfevents.2", scalar(3, 3.0))
    assert shown(logdir.update()) == {".": {"loss": [(0, 0.0), (2, 2.0), (3, 3.0)]}}
    write(tmp_path / "events.out.tfevents.1", scalar(1, 1.0))
    assert shown(logdir.update()) == {".": {"loss": [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]}}


def test_a_large_file_that_joins_a_run_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "events.out.tfevents.1", scalar(0, 0.0))
    logdir = Logdir(tmp_path)
    logdir.update()
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)
    write(tmp_path / "events.out.tfevents.2", scalar(1, 1.0))
    assert shown(logdir.update()) == {".": {"loss": [(0, 0.0), (1, 1.0)]}}


def test_a_restart_supersedes_and_says_how_much(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", *(scalar(step, step) for step in range(5)))
    write(tmp_path / "events.out.tfevents.2", scalar(2, 20.0), scalar(3, 30.0))
    snapshot = open_logdir(tmp_path)
    assert shown(snapshot) == {".": {"loss": [(0, 0.0), (1, 1.0), (2, 20.0), (3, 30.0)]}}
    assert snapshot.superseded == 3
    kept = open_logdir(tmp_path, keep_superseded=True)
    assert len(kept.series(".", "loss")) == 7  # type: ignore[arg-type]
    assert kept.superseded == 0


def test_the_second_session_start_supersedes_in_every_tag_of_the_run(tmp_path: Path) -> None:
    def start(step: int) -> Event:
        return Event(step=step, session_log=SessionLog(status=SessionLog.START))

    write(tmp_path / "events.out.tfevents.1", start(0), *(scalar(s, s) for s in range(4)), scalar(3, 9.0, "acc"))
    write(tmp_path / "events.out.tfevents.2", start(2), scalar(5, 50.0))
    snapshot = open_logdir(tmp_path)
    assert shown(snapshot) == {".": {"loss": [(0, 0.0), (1, 1.0), (5, 50.0)], "acc": []}}
    assert snapshot.superseded == 3


def test_a_session_start_after_points_supersedes_even_if_it_is_the_first(tmp_path: Path) -> None:
    # A writer that resumes with purge_step=2 once left the points of the interrupted run in place, as the first session
    # had not marked its own start.
    write(tmp_path / "events.out.tfevents.1", *(scalar(s, s) for s in range(4)))
    write(tmp_path / "events.out.tfevents.2", Event(step=2, session_log=SessionLog(status=SessionLog.START)))
    write(tmp_path / "events.out.tfevents.2", scalar(7, 70.0))
    assert shown(open_logdir(tmp_path)) == {".": {"loss": [(0, 0.0), (1, 1.0), (7, 70.0)]}}


def test_payloads_are_read_when_looked_at_and_follow_superseding(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", text(0, "zero"), text(1, "one"), text(2, "two"))
    write(tmp_path / "events.out.tfevents.2", text(1, "one again"))
    series = open_logdir(tmp_path).series(".", "note")
    assert series is not None
    assert (series.kind, series.display_name, series.description) == ("text", "Note", "What was noted")
    assert [series.read(i).strings.item() for i in range(len(series))] == ["zero", "one again"]
    with pytest.raises(IndexError, match="has 2 points of 'note'; the index 2 is out of range"):
        series.read(2)


def test_a_payload_whose_bytes_changed_is_an_error_and_no_value(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    write(file, text(0, "zero"))
    series = open_logdir(tmp_path).series(".", "note")
    assert series is not None
    file.write_bytes(file.read_bytes().replace(b"zero", b"nero"))
    with pytest.raises(PayloadError, match=r"the record at offset 12 of events.out.tfevents.1 has changed"):
        series.read(0)
    file.unlink()
    with pytest.raises(PayloadError, match="cannot be read"):
        series.read(0)


def test_a_payload_of_another_point_in_the_same_place_is_an_error(tmp_path: Path) -> None:
    # A rewritten run once put a record of the same length, with a valid CRC, where the old one had been, and readers of
    # the old snapshot were shown its text.
    file = tmp_path / "events.out.tfevents.1"
    write(file, text(1, "zero"))
    series = open_logdir(tmp_path).series(".", "note")
    assert series is not None
    write(file, text(2, "nero"), mode="wb")
    with pytest.raises(PayloadError, match="has changed"):
        series.read(0)


def test_a_file_replaced_or_shortened_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1"
    logdir = Logdir(tmp_path)
    write(file, scalar(0, 1.0), scalar(1, 2.0))
    logdir.update()
    write(file, scalar(0, 3.0), mode="wb")
    assert shown(logdir.update()) == {".": {"loss": [(0, 3.0)]}}
    write(file, scalar(7, 4.0, wall_time=200.0), scalar(8, 4.0), scalar(9, 4.0), mode="wb")
    assert shown(logdir.update()) == {".": {"loss": [(7, 4.0), (8, 4.0), (9, 4.0)]}}
    other = tmp_path / "other"
    write(other, scalar(0, 5.0), scalar(1, 5.0), scalar(2, 5.0), scalar(3, 5.0))
    other.replace(file)
    assert shown(logdir.update()) == {".": {"loss": [(0, 5.0), (1, 5.0), (2, 5.0), (3, 5.0)]}}


def test_a_deleted_run_disappears(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1"
    write(file, scalar(0, 1.0))
    logdir = Logdir(tmp_path)
    assert list(logdir.update().runs) == ["run"]
    file.unlink()
    assert list(logdir.update().runs) == []


def test_a_series_that_comes_back_has_another_version(tmp_path: Path) -> None:
    # A run that was deleted and trained again once began at version 1 as before, so charts kept the old curve.
    file = tmp_path / "run" / "events.out.tfevents.1"
    logdir = Logdir(tmp_path)
    versions = []
    for value in (1.0, 2.0):
        write(file, scalar(0, value))
        series = logdir.update().series("run", "loss")
        assert series is not None
        versions.append(series.version)
        file.unlink()
        logdir.update()
    assert versions[1] > versions[0]


def test_a_tag_that_another_file_began_as_another_kind_is_reported(tmp_path: Path) -> None:
    # Such points cannot be shown in one series; they used to vanish silently.
    write(tmp_path / "events.out.tfevents.1", scalar(0, 1.0, tag="note"))
    write(tmp_path / "events.out.tfevents.2", text(1, "x"), text(2, "x"))
    snapshot = open_logdir(tmp_path)
    assert shown(snapshot) == {".": {"note": [(0, 1.0)]}}
    assert [(h.damage_count, [(d.offset, d.reason) for d in h.damages]) for h in snapshot.health] == [
        (0, []),
        (1, [(12, "2 points of 'note' are text, but another file of the run began it as scalars")]),
    ]


def test_runs_without_a_readable_wall_time_come_last(tmp_path: Path) -> None:
    # NaN is neither before nor after anything, and once left all runs in random order.
    for name, wall_time in (("a", 3.0), ("b", float("nan")), ("c", 1.0), ("d", 2.0)):
        write(tmp_path / name / "events.out.tfevents.1", scalar(0, 1.0, wall_time=wall_time))
    runs = open_logdir(tmp_path).runs.values()
    assert [(run.name, run.first_wall_time) for run in runs] == [("c", 1.0), ("d", 2.0), ("a", 3.0), ("b", math.inf)]


def test_the_epoch_of_a_series_without_a_readable_wall_time_stays_while_points_are_added(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    logdir = Logdir(tmp_path)
    epochs = []
    for step in range(2):
        write(path, scalar(step, 1.0, wall_time=float("nan")))
        epochs.append(logdir.update().runs["."].series["loss"].epoch)
    assert epochs[0] == epochs[1]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="file names are UTF-8 there")
def test_names_that_are_no_utf8_are_shown_escaped(tmp_path: Path) -> None:
    # Python's surrogates for such bytes cannot be encoded as JSON, so one folder once broke the whole list of runs.
    folder = tmp_path / os.fsdecode(b"r\xff")
    write(folder / "events.out.tfevents.1", text(0, "zero"))
    snapshot = open_logdir(tmp_path)
    assert list(snapshot.runs) == [r"r\xff"]
    assert [health.path for health in snapshot.health] == [r"r\xff/events.out.tfevents.1"]
    assert snapshot.runs[r"r\xff"].series["note"].read(0).strings.item() == "zero"


def test_folders_may_be_nested_deeper_than_python_recurses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The listing was once recursive; its RecursionError ended the following of the directory.
    monkeypatch.chdir(tmp_path)
    for _ in range(1100):
        Path("a").mkdir()
        monkeypatch.chdir("a")
    monkeypatch.chdir(tmp_path)
    # Unlike a test's usual folders, these could not be removed by pytest, which also works recursively.
    try:
        assert list(open_logdir(tmp_path).runs) == []
    finally:
        subprocess.run(["rm", "-r", "a"], cwd=tmp_path, check=True)


def test_a_missing_directory_is_empty_until_it_comes(tmp_path: Path) -> None:
    logdir = Logdir(tmp_path / "later")
    assert list(logdir.update().runs) == []
    write(tmp_path / "later" / "run" / "events.out.tfevents.1", scalar(0, 1.0))
    assert list(logdir.update().runs) == ["run"]


@pytest.mark.parametrize("path", [["a", "b"], None])
def test_what_is_not_one_log_directory_is_refused(path: Any) -> None:
    said = (
        f"path must be the path or address of one log directory, got {type(path).__name__}; to read several, call "
        "open_logdir for each, or give a pattern such as 'runs/*/seed_0'"
    )
    with pytest.raises(TypeError, match=re.escape(said)):
        open_logdir(path)


def test_symbolic_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "events.out.tfevents.1", scalar(0, 1.0))
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "loop").symlink_to(logs)
    assert list(open_logdir(logs).runs) == ["linked"]


def test_folders_that_link_to_each_other_are_listed_in_bounded_time(tmp_path: Path) -> None:
    # Every order in which the links can be walked is a separate path: 9 folders have a million of them.
    for name in "abcdefghi":
        (tmp_path / name).mkdir()
    for name in "abcdefghi":
        for other in "abcdefghi":
            (tmp_path / name / f"to_{other}").symlink_to(tmp_path / other)
    write(tmp_path / "a" / "events.out.tfevents.1", scalar(0, 1.0))
    runs = open_logdir(tmp_path).runs
    assert "a" in runs
    assert len(runs) <= 16


def test_health_names_file_offset_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1"
    write(file, scalar(1, 1.0), scalar(2, 2.0), scalar(3, 3.0))
    content = bytearray(file.read_bytes())
    record = len(content) // 3
    content[record + 20] ^= 1
    file.write_bytes(content + b"\x01")
    snapshot = open_logdir(tmp_path)
    (health,) = snapshot.health
    assert (health.path, health.run, health.records, health.waiting) == (
        "run/events.out.tfevents.1",
        "run",
        2,
        True,
    )
    assert [(d.offset, d.length, d.reason) for d in health.damages] == [
        (record, record, "the CRC of a record's data does not match")
    ]
    assert snapshot.damage_count == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_reported_and_others_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a" / "events.out.tfevents.1", scalar(0, 1.0))
    write(tmp_path / "b" / "events.out.tfevents.1", scalar(0, 1.0))
    (tmp_path / "a" / "events.out.tfevents.1").chmod(0)
    snapshot = open_logdir(tmp_path)
    assert list(snapshot.runs) == ["b"]
    assert [h.error for h in snapshot.health] == ["Permission denied", ""]


def test_a_dump_of_tensorflows_debugger_is_a_run_without_series(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "with_events")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    write_dump(tmp_path / "with_events")
    write_dump(tmp_path / "alone")
    (tmp_path / "tfdbg_events.notes.txt").touch()
    logdir = Logdir(tmp_path)
    snapshot = logdir.update()
    assert {name: list(run.series) for name, run in snapshot.runs.items()} == {"alone": [], "with_events": ["loss"]}
    assert snapshot.runs["alone"].first_wall_time == START
    assert {companion.run for companion in snapshot.companions} == {"with_events", "alone"}
    assert [source.id for source in dump_sources(snapshot)] == ["alone|tfdbg", "with_events|tfdbg"]
    assert [source.following().update().trace_count for source in dump_sources(snapshot)] == [4, 4]
    for path in (tmp_path / "alone").iterdir():
        path.unlink()
    assert list(logdir.update().runs) == ["with_events"]


def test_companions_belong_to_the_run_they_lie_in(tmp_path: Path) -> None:
    for path in ("run/plugins/profile/2026_11_01_00_00_00/host.trace.json.gz", "run/rank0.pt.trace.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"{}")
    snapshot = Logdir(tmp_path, companion_patterns=("*.trace.json", "*.trace.json.gz")).update()
    assert [(c.run, str(c.relative_path), c.size) for c in snapshot.companions] == [
        ("run", "run/plugins/profile/2026_11_01_00_00_00/host.trace.json.gz", 2),
        ("run", "run/rank0.pt.trace.json", 2),
    ]
    assert run_of_companion(snapshot.companions[0].relative_path.relative_to("run")) == "."


def test_a_first_pass_over_many_files_publishes_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.logdir._SECONDS_BETWEEN_PARTIAL_SNAPSHOTS", -1.0)
    monkeypatch.setattr("stepscope.summary.logdir._batches", lambda files, *size: [[file] for file in files])
    for run in "abc":
        write(tmp_path / run / "events.out.tfevents.1", scalar(0, 1.0))
    published: list[tuple[list[str], bool]] = []
    final = Logdir(tmp_path).update(lambda snapshot: published.append((list(snapshot.runs), snapshot.loading)))
    assert published == [(["a"], True), (["a", "b"], True), (["a", "b", "c"], True)]
    assert (list(final.runs), final.loading) == (["a", "b", "c"], False)


def test_a_file_that_grows_says_so_until_it_has_not_for_a_minute(tmp_path: Path) -> None:
    # A file that was still being written was once called complete.
    file = tmp_path / "events.out.tfevents.1"
    write(file, scalar(0, 1.0))
    os.utime(file, (1000.0, 1000.0))
    now = [1030.0]
    logdir = Logdir(tmp_path, clock=lambda: now[0])
    assert [health.growing for health in logdir.update().health] == [True]
    now[0] = 1059.0
    before = logdir.snapshot
    assert logdir.update() is before
    now[0] = 1060.0
    assert [health.growing for health in logdir.update().health] == [False]
    assert logdir.snapshot.series(".", "loss") is before.series(".", "loss")
    settled = logdir.snapshot
    now[0] = 9000.0
    assert logdir.update() is settled


@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_of_the_same_size_and_time_is_noticed(tmp_path: Path, in_place: bool) -> None:
    # A copy that keeps times once stayed unseen for good.
    file = tmp_path / "run" / "events.out.tfevents.1"
    write(file, *(scalar(step, 1.0) for step in range(50)))
    status = file.stat()
    logdir = Logdir(tmp_path)
    logdir.update()
    before = logdir.snapshot
    file.chmod(0o640)
    assert logdir.update().series("run", "loss") is before.series("run", "loss")
    other = file if in_place else tmp_path / "other"
    write(other, *(scalar(step, 2.0 if step == 25 else 1.0) for step in range(50)), mode="wb")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    series = logdir.update().series("run", "loss")
    assert series is not None
    assert series.values[25] == 2.0


def test_what_the_cache_has_of_a_file_that_was_copied_over_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)

    def look() -> tuple[float, int]:
        logdir = Logdir(tmp_path / "logs", cache=ColumnCache(tmp_path / "cache"))
        series = logdir.update().series(".", "loss")
        assert series is not None
        logdir.wait_until_stored()
        return float(series.values[2500]), len(reads)

    reads: list[int] = []
    read_new = EventFile.read_new

    def counted(self: EventFile, size: int) -> None:
        reads.append(self.position)
        read_new(self, size)

    monkeypatch.setattr(EventFile, "read_new", counted)
    file = tmp_path / "logs" / "events.out.tfevents.1"
    write(file, *(scalar(step, 1.0) for step in range(5000)))
    assert look() == (1.0, 1)
    # Changed permissions do not make it another file.
    file.chmod(0o640)
    assert look() == (1.0, 1)
    status = file.stat()
    write(file, *(scalar(step, 2.0 if step == 2500 else 1.0) for step in range(5000)), mode="wb")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert look() == (2.0, 2)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Folders that cannot be listed, by name, with the error; root may list everything."""
    found: dict[str, int] = {}
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        number = found.get(os.path.basename(path)) if isinstance(path, str) else None
        if number is not None:
            raise OSError(number, os.strerror(number), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    return found


@pytest.mark.parametrize("number", [errno.EACCES, errno.ESTALE, errno.EIO, errno.ENOENT])
@pytest.mark.parametrize("folder", ["logs", "run"])
def test_a_folder_that_cannot_be_listed_for_a_moment_keeps_its_runs(
    tmp_path: Path, refused: dict[str, int], folder: str, number: int
) -> None:
    # All runs once vanished, and were read again when they came back.
    logs = tmp_path / "logs"
    write(logs / "run" / "deep" / "events.out.tfevents.1", scalar(0, 1.0))
    logdir = Logdir(logs)
    before = logdir.update()
    refused[folder] = number
    during = logdir.update()
    assert during.series("run/deep", "loss") is before.series("run/deep", "loss")
    where = "." if folder == "logs" else "run"
    named = [(health.path, health.run, health.error) for health in during.health if health.is_folder]
    assert named == [(where, where, os.strerror(number))]
    assert logdir.update(changed=set()) is during
    refused.clear()
    after = logdir.update(changed=set())
    assert [health.is_folder for health in after.health] == [False]
    assert after.series("run/deep", "loss") is before.series("run/deep", "loss")
    shutil.rmtree(logs / "run")
    assert list(logdir.update(changed={str(logs / "run")}).runs) == []


def test_a_folder_that_may_not_be_listed_is_named(tmp_path: Path, refused: dict[str, int]) -> None:
    write(tmp_path / "open" / "events.out.tfevents.1", scalar(0, 1.0))
    write(tmp_path / "closed" / "events.out.tfevents.1", scalar(0, 1.0))
    refused["closed"] = errno.EACCES
    snapshot = open_logdir(tmp_path)
    assert list(snapshot.runs) == ["open"]
    assert [(health.path, health.error) for health in snapshot.health if health.is_folder] == [
        ("closed", "Permission denied")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other limits")
def test_a_path_that_is_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(24):
        os.mkdir("x" * 250)
        os.chdir("x" * 250)
    os.chdir(tmp_path)
    try:
        (named,) = open_logdir(tmp_path).health
        assert (named.is_folder, named.error.endswith("File name too long")) == (True, True)
    finally:
        subprocess.run(["rm", "-r", "x" * 250], cwd=tmp_path, check=True)


def test_names_are_bounded_and_do_not_reorder_what_is_around_them(tmp_path: Path) -> None:
    # Longer ones were once listed, but could not be requested; U+202E drew "rtl" as "ltr".
    file = tmp_path / "events.out.tfevents.1"
    write(file, scalar(0, 1.0, "x" * 5000), scalar(0, 2.0, "x" * 5001), scalar(0, 3.0, "a\u202ertl"))
    snapshot = open_logdir(tmp_path)
    tags = list(snapshot.runs["."].series)
    assert [len(tag) for tag in tags] == [4032, 4032, 10]
    assert tags[0].endswith("xxx... (5,000 characters, f26e7e2d)")
    assert tags[2] == r"a\u202ertl"
    # Also by the name as it was written.
    assert [s.values.tolist() for t in ("x" * 5000, "x" * 5001, "a\u202ertl") if (s := snapshot.series(".", t))] == [
        [1.0],
        [2.0],
        [3.0],
    ]


def test_of_files_that_are_told_of_only_these_are_looked_at_until_a_listing_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: tmp_path / name / "events.out.tfevents.1" for name in ("a", "b")}
    for file in files.values():
        write(file, scalar(0, 1.0))
        os.utime(file.parent, (1, 1))
    os.utime(tmp_path, (1, 1))
    logdir = Logdir(tmp_path)
    logdir.update()
    listings: list[object] = []
    whole = logdir.source.list

    def listed(changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        listings.append(changed)
        return whole(changed)

    monkeypatch.setattr(logdir.source, "list", listed)
    told = {str(files["a"])}

    write(files["a"], scalar(1, 2.0))
    write(files["b"], scalar(1, 3.0))
    first = logdir.update(changed=told)
    assert shown(first) == {"a": {"loss": [(0, 1.0), (1, 2.0)]}, "b": {"loss": [(0, 1.0)]}}
    assert logdir.update(changed=told) is first
    assert listings == []

    # Others are found by the next listing, which does not reread what was reported.
    second = logdir.update(changed=set())
    assert shown(second)["b"] == {"loss": [(0, 1.0), (1, 3.0)]}
    assert second.runs["a"] is first.runs["a"]
    assert listings == [set()]

    monkeypatch.setattr(logdir, "_listed_until", -math.inf)
    logdir.update(changed=told)
    assert listings == [set(), told]


@pytest.mark.parametrize("change", ["a new file", "another file of the name", "a shorter file", "a file less", "a log"])
def test_what_is_told_of_is_listed_where_it_is_more_than_a_file_that_grew(tmp_path: Path, change: str) -> None:
    file, log = tmp_path / "a" / "events.out.tfevents.1", tmp_path / "a" / "train.log"
    write(file, scalar(0, 1.0), scalar(1, 2.0))
    log.write_text("one")
    for folder in (file.parent, tmp_path):
        os.utime(folder, (1, 1))
    logdir = Logdir(tmp_path)
    logdir.update()
    match change:
        case "a new file":
            write(file.with_name("events.out.tfevents.2"), scalar(2, 3.0))
        case "another file of the name":
            write(tmp_path / "new", scalar(5, 6.0), scalar(6, 7.0))
            (tmp_path / "new").replace(file)
        case "a shorter file":
            write(file, scalar(7, 8.0), mode="wb")
        case "a file less":
            file.unlink()
        case _:
            log.write_text("one and two")
            write(file, scalar(2, 3.0))
    assert shown(logdir.update(changed={str(file), str(log)})) == shown(open_logdir(tmp_path))
