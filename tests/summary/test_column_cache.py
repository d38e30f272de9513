"""Data that was read is kept, and is never shown where the files say something else."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from stepscope.summary import SummaryWriter
from stepscope.summary.column_cache import ColumnCache, _KeptColumns
from stepscope.summary.event_file import EventFile
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.logdir import Logdir
from stepscope.summary.snapshot import Snapshot


@pytest.fixture(autouse=True)
def small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.kept_files.LEAST_CACHED", 1)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The files that are read, each with the offset where reading begins."""
    found: list[tuple[str, int]] = []
    read_new = EventFile.read_new

    def counted(self: EventFile, size: int) -> None:
        found.append((self.path.parent.name, self.position))
        read_new(self, size)

    monkeypatch.setattr(EventFile, "read_new", counted)
    return found


def look(logs: Path, cache: Path, **options: Any) -> Snapshot:
    logdir = Logdir(logs, cache=ColumnCache(cache), **options)
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
        "values": [[repr(value) for value in s.values.tolist()] for s in series],
        "payloads": [repr(s.read(index)) for s in series for index in range(len(s)) if s.kind != "scalars"],
    }


def write_runs(logs: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(logs / run) as writer:
            for step in range(100):
                writer.add_scalar("loss", step / 2, step)
                writer.add_scalar("new style", np.nan if step % 7 == 0 else step, step, new_style=True)
            writer.add_scalar("loss", -1.0, 50)
            writer.add_text("note", "x" * 100, 3)
            writer.add_image("image", np.zeros((3, 4, 4), np.uint8), 4)
            writer.add_scalar("named", 1.0, 1, display_name="Name", summary_description="says **what**")
    with SummaryWriter(logs / "b", purge_step=20) as writer:
        writer.add_scalar("loss", 7.0, 20)


def event_file(logs: Path, run: str) -> Path:
    return min((logs / run).iterdir())


def test_a_second_start_shows_the_same_and_reads_nothing(tmp_path: Path, reads: list[tuple[str, int]]) -> None:
    write_runs(tmp_path / "logs")
    content = event_file(tmp_path / "logs", "a").read_bytes()
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    event_file(tmp_path / "logs", "a").write_bytes(damaged)
    first = look(tmp_path / "logs", tmp_path / "cache")
    assert first.damage_count == 1
    assert first.superseded > 0
    assert len(reads) == 3
    reads.clear()
    second = look(tmp_path / "logs", tmp_path / "cache")
    assert shown(second) == shown(first) == shown(Logdir(tmp_path / "logs").update())
    assert [read for read in reads if read[1] > 0] == []
    everything = look(tmp_path / "logs", tmp_path / "cache", keep_superseded=True)
    assert shown(everything) == shown(Logdir(tmp_path / "logs", keep_superseded=True).update())


@pytest.mark.skipif(sys.platform != "linux", reason="Names of files that are not UTF-8")
def test_paths_need_not_be_utf_8(tmp_path: Path, reads: list[tuple[str, int]]) -> None:
    logs = tmp_path / os.fsdecode(b"logs \xe9")
    write_runs(logs / os.fsdecode(b"\xff"))
    first = look(logs, tmp_path / "cache")
    reads.clear()
    assert shown(look(logs, tmp_path / "cache")) == shown(first)
    assert reads == []


def test_of_a_file_that_has_grown_the_rest_is_read(tmp_path: Path, reads: list[tuple[str, int]]) -> None:
    logs = tmp_path / "logs"
    write_runs(logs)
    look(logs, tmp_path / "cache")
    file = event_file(logs, "a")
    size = file.stat().st_size
    with SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("loss", 5.0, 101)
        writer.add_scalar("another", 6.0, 101)
    with file.open("ab") as stream:
        stream.write(event_file(tmp_path, "other").read_bytes())
    reads.clear()
    logdir = Logdir(logs, cache=ColumnCache(tmp_path / "cache"))
    snapshot = logdir.update()
    assert reads == [("a", size)]
    assert snapshot.runs["a"].series["loss"].values[-1] == 5.0
    expected = shown(Logdir(logs).update())
    assert shown(snapshot) == expected
    logdir.wait_until_stored()
    assert shown(look(logs, tmp_path / "cache")) == expected


def flipped(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0x10
    return bytes(changed)


@pytest.mark.parametrize(
    "change",
    [flipped, lambda content: content[: len(content) // 2], lambda content: content[:-1] + b"?", lambda content: b""],
    ids=["a flipped bit", "half of it", "another end", "nothing"],
)
def test_a_file_that_changed_is_read_anew(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    logs = tmp_path / "logs"
    write_runs(logs)
    look(logs, tmp_path / "cache")
    file = event_file(logs, "a")
    modified_ns = file.stat().st_mtime_ns
    file.write_bytes(change(file.read_bytes()))
    os.utime(file, ns=(modified_ns, modified_ns + 1))
    assert shown(look(logs, tmp_path / "cache")) == shown(Logdir(logs).update())


def test_another_run_in_the_same_place_is_read_anew(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_runs(logs)
    look(logs, tmp_path / "cache")
    first, second = event_file(logs, "a"), event_file(logs, "b")
    content = second.read_bytes()
    second.write_bytes(first.read_bytes() + first.read_bytes())
    first.write_bytes(content)
    assert shown(look(logs, tmp_path / "cache")) == shown(Logdir(logs).update())


def test_damaged_cache_files_are_of_no_consequence(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with SummaryWriter(logs / "a") as writer:
        writer.add_scalar("loss", 1.0, 1)
    expected = shown(look(logs, tmp_path / "cache"))
    (kept,) = (tmp_path / "cache").iterdir()
    content = kept.read_bytes()
    for length in (0, 1, 19, 31, 40, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:length])
        assert shown(look(logs, tmp_path / "cache")) == expected
        assert kept.read_bytes() == content
    for place in range(len(content)):
        kept.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        assert shown(Logdir(logs, cache=ColumnCache(tmp_path / "cache")).update()) == expected


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places of the tags whose columns are loaded from cache files."""
    found: list[int] = []
    load = _KeptColumns.load

    def counted(self: _KeptColumns, place: int) -> Any:
        found.append(place)
        return load(self, place)

    monkeypatch.setattr(_KeptColumns, "load", counted)
    return found


def at_once(*looks: Callable[[], Any]) -> list[Any]:
    """The results of several threads that begin together."""
    barrier = threading.Barrier(len(looks))

    def begin(look_at: Callable[[], Any]) -> Any:
        barrier.wait()
        return look_at()

    with ThreadPoolExecutor(len(looks)) as pool:
        return list(pool.map(begin, looks))


def write_two_files(logs: Path, steps: tuple[range, range], second: str = "scalar") -> None:
    """Writes a run with two files, as a resumed run has."""
    for number, part in enumerate(steps):
        with SummaryWriter(logs / "a", filename_suffix=f".{number}") as writer:
            for step in part:
                if number == 0 or second == "scalar":
                    writer.add_scalar("loss", step / 2, step)
                writer.add_scalar(f"only in {number}", step, step)
            if number == 1 and second == "images":
                writer.add_image("loss", np.zeros((3, 4, 4), np.uint8), part[0])
            writer.add_image("image", np.full((3, 4, 4), number, np.uint8), part[0])


def test_columns_are_read_when_they_are_asked_for(tmp_path: Path, loads: list[int]) -> None:
    logs = tmp_path / "logs"
    write_two_files(logs, (range(10), range(10, 20)))
    expected = shown(look(logs, tmp_path / "cache"))
    loads.clear()
    run = look(logs, tmp_path / "cache").runs["a"]
    assert [(s.tag, s.kind, len(s)) for s in run.series.values()] == [
        ("loss", "scalars", 20),
        ("only in 0", "scalars", 10),
        ("image", "images", 2),
        ("only in 1", "scalars", 10),
    ]
    assert (list(run.series), "loss" in run.series, "nothing" in run.series, run.series.get("nothing")) == (
        ["loss", "only in 0", "image", "only in 1"],
        True,
        False,
        None,
    )
    assert loads == []
    assert run.series["loss"].steps.tolist() == list(range(20))
    assert run.series["loss"] is run.series["loss"] is next(iter(run.series.values()))
    assert loads == [0, 0]
    assert shown(look(logs, tmp_path / "cache")) == expected


@pytest.mark.parametrize("keep_superseded", [False, True])
@pytest.mark.parametrize(
    ("steps", "second"),
    [
        ((range(10), range(5, 15)), "scalar"),
        ((range(10), range(10, 20)), "images"),
        ((range(10), range(9, 15)), "images"),
    ],
    ids=["a step goes back", "another kind", "both"],
)
def test_files_that_do_not_simply_follow_each_other(
    tmp_path: Path, steps: tuple[range, range], second: str, keep_superseded: bool
) -> None:
    logs = tmp_path / "logs"
    write_two_files(logs, steps, second)
    look(logs, tmp_path / "cache")
    expected = Logdir(logs, keep_superseded=keep_superseded).update()
    assert expected.damage_count == (second == "images")
    assert shown(look(logs, tmp_path / "cache", keep_superseded=keep_superseded)) == shown(expected)


def test_what_has_not_grown_stays_the_same_series(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_two_files(logs, (range(10), range(10, 20)))
    look(logs, tmp_path / "cache")
    logdir = Logdir(logs, cache=ColumnCache(tmp_path / "cache"))
    before = logdir.update()
    os.utime(event_file(logs, "a"))
    assert logdir.update() is before
    with SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("loss", 1.0, 200)
        writer.add_scalar("new", 1.0, 200)
    with max((logs / "a").iterdir()).open("ab") as stream:
        stream.write(event_file(tmp_path, "other").read_bytes())
    after = logdir.update()
    assert shown(after) == shown(Logdir(logs).update())
    assert list(after.runs["a"].series) == [*before.runs["a"].series, "new"]
    same = [tag for tag, series in before.runs["a"].series.items() if after.runs["a"].series[tag] is series]
    assert same == ["only in 0", "image", "only in 1"]
    assert len(before.runs["a"].series["loss"].steps) == 20


def test_a_flipped_bit_among_the_columns_is_found_by_whoever_asks_first(
    tmp_path: Path, reads: list[tuple[str, int]], caplog: pytest.LogCaptureFixture
) -> None:
    """The file is read again once, however many threads ask, while the dashboard follows its growth."""
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    with SummaryWriter(logs / "a") as writer:
        for step in range(50):
            for tag in range(5):
                writer.add_scalar(f"tag {tag}", step + tag / 8, step)
        writer.add_text("note", "before", 1)
    file = event_file(logs, "a")
    content = file.read_bytes()
    expected = shown(look(logs, cache))
    with SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("tag 0", -1.0, 20)
        writer.add_scalar("new", 1.0, 51)
    growth = event_file(tmp_path, "other").read_bytes()
    (kept,) = cache.iterdir()
    stored = kept.read_bytes()
    body = len(stored) - (5 * 50 * 24 + 40)
    for place in range(body, len(stored), 311):
        for kept_before in cache.iterdir():
            kept_before.unlink()
        kept.write_bytes(stored[:place] + bytes([stored[place] ^ 1]) + stored[place + 1 :])
        file.write_bytes(content)
        modified_ns = file.stat().st_mtime_ns
        logdir = Logdir(logs, cache=ColumnCache(cache))
        snapshot = logdir.update()
        assert len(snapshot.runs["a"].series["tag 0"]) == 50
        reads.clear()
        for _ in range(2):
            # The event file grows while readers ask for its earlier contents.
            with file.open("ab") as stream:
                stream.write(growth)
            updated, *seen = at_once(logdir.update, *[partial(shown, snapshot)] * 4)
            assert seen == [expected] * 4
        assert file.stat().st_mtime_ns > modified_ns
        logdir.wait_until_stored()
        assert shown(updated) == shown(Logdir(logs).update())
        assert shown(snapshot) == expected


def test_points_are_read_again_once(tmp_path: Path, reads: list[tuple[str, int]]) -> None:
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    write_two_files(logs, (range(10), range(10, 20)))
    expected = shown(look(logs, cache))
    for kept in cache.iterdir():
        content = kept.read_bytes()
        kept.write_bytes(content[:-100] + bytes([content[-100] ^ 4]) + content[-99:])
    snapshot = Logdir(logs, cache=ColumnCache(cache)).update()
    reads.clear()
    assert at_once(*[partial(shown, snapshot)] * 6) == [expected] * 6
    assert reads == [("a", 0), ("a", 0)]
    assert list(cache.iterdir()) == []


def test_points_that_are_gone_from_both_places_are_an_error_until_the_next_look(tmp_path: Path) -> None:
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    with SummaryWriter(logs / "a") as writer:
        for step in range(10):
            writer.add_scalar("loss", step, step)
    look(logs, cache)
    logdir = Logdir(logs, cache=ColumnCache(cache))
    series = logdir.update().runs["a"].series["loss"]
    for kept in cache.iterdir():
        kept.unlink()
    file = event_file(logs, "a")
    with SummaryWriter(tmp_path / "other") as writer:
        for step in range(20):
            writer.add_scalar("loss", -step, step)
    file.write_bytes(event_file(tmp_path, "other").read_bytes())
    with pytest.raises(PayloadError, match=r"the points of 'loss' of 'a' cannot be read: .* is no longer the file"):
        series.values  # noqa: B018
    with pytest.raises(PayloadError, match="cannot be read"):
        series.read(0)
    assert shown(logdir.update()) == shown(Logdir(logs).update())
    file.unlink()
    with pytest.raises(PayloadError, match="cannot be read: No such file"):
        series.values  # noqa: B018


def test_points_that_are_gone_when_the_file_grows_are_read_anew(tmp_path: Path) -> None:
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    write_two_files(logs, (range(10), range(10, 20)))
    look(logs, cache)
    logdir = Logdir(logs, cache=ColumnCache(cache))
    logdir.update()
    for kept in cache.iterdir():
        kept.write_bytes(b"nothing")
    with max((logs / "a").iterdir()).open("ab") as stream:
        stream.write(min((logs / "a").iterdir()).read_bytes())
    assert shown(logdir.update()) == shown(Logdir(logs).update())


def test_the_cache_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_runs(logs)
    look(logs, tmp_path / "cache")
    restored = Logdir(logs, cache=ColumnCache(tmp_path / "cache")).update()
    for kept in (tmp_path / "cache").iterdir():
        kept.unlink()
    assert_array_equal(restored.runs["a"].series["loss"].values[:3], [0, 0.5, 1])
    assert shown(restored) == shown(Logdir(logs).update())


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_runs(tmp_path / "logs")
    (tmp_path / "cache").write_text("a file")
    assert shown(look(tmp_path / "logs", tmp_path / "cache")) == shown(Logdir(tmp_path / "logs").update())
    assert [record.message.split(":")[0] for record in caplog.records] == [
        f"nothing is cached, as {tmp_path / 'cache'} cannot be written"
    ]


def test_what_nobody_used_for_long_and_what_is_too_much_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.column_cache._MOST_BYTES", 25)
    cache = tmp_path / "cache"
    cache.mkdir()
    for age_days, name in ((0, "new"), (1, "old"), (2, "older"), (40, "oldest")):
        (cache / name).write_bytes(b"x" * 10)
        used = os.stat(cache).st_mtime - age_days * 86400
        os.utime(cache / name, (used, used))
    with SummaryWriter(tmp_path / "logs") as writer:
        writer.add_scalar("loss", 1.0, 1)
    look(tmp_path / "logs", cache)
    assert {path.name for path in cache.iterdir() if len(path.name) < 10} == {"new", "old"}
    assert len(list(cache.iterdir())) == 3


def test_only_the_user_may_look_into_the_cache(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("this system has other rights")
    write_runs(tmp_path / "logs")
    look(tmp_path / "logs", tmp_path / "deep" / "cache")
    assert (tmp_path / "deep" / "cache").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "deep" / "cache").iterdir()} == {0o600}
