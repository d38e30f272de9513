import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from stepscope.dashboard.page.health_badge import Progress, progress, reading_texts
from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.health.columns import columns
from stepscope.dashboard.panels.health.panel import MOST_ROWS, HealthPanel, count_text, panel_parts
from stepscope.dashboard.panels.health.report import (
    Condition,
    Verdict,
    advice,
    condition,
    table_row,
    verdict,
    worst_first,
)
from stepscope.summary import SummaryWriter
from stepscope.summary.contents import Damage, FileHealth
from stepscope.summary.logdir import open_logdir
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from tests.dashboard.media import client_of

WHOLE = FileHealth("a/events", "a", 1000, 1000, 20, (), 0, False)
DAMAGED = replace(
    WHOLE,
    path="b/events",
    run="b",
    damages=(Damage(40, 12, "bad"), Damage(90, 8, "bad")),
    damage_count=2,
    skipped_bytes=20,
)
CUT = replace(WHOLE, path="c/events", run="c", bytes_read=960, waiting=True)
CLOSED = FileHealth("d/events", "d", 0, 500, 0, (), 0, False, "Permission denied")
FOLDER = FileHealth("f", "f", 0, 0, 0, (), 0, False, "Permission denied", is_folder=True)
UNREAD = FileHealth("e/events", "e", 0, 300, 0, (), 0, False)


def snapshot(*health: FileHealth, loading: bool = False) -> Snapshot:
    return Snapshot(1, MappingProxyType({}), health=health, loading=loading)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (WHOLE, Condition("good", "up to date")),
        (replace(WHOLE, growing=True), Condition("good", "growing")),
        (replace(WHOLE, size=0, bytes_read=0), Condition("good", "empty")),
        (DAMAGED, Condition("bad", "damaged")),
        (CUT, Condition("open", "waiting for the rest of a record at byte 960")),
        (
            replace(DAMAGED, bytes_read=12_345, size=12_400, waiting=True),
            Condition("bad", "damaged; waiting for the rest of a record at byte 12,345"),
        ),
        (CLOSED, Condition("bad", "cannot be opened: Permission denied")),
        (FOLDER, Condition("bad", "cannot be listed: Permission denied")),
        (UNREAD, Condition("open", "not read yet")),
    ],
)
def test_state_in_words(file: FileHealth, expected: Condition) -> None:
    assert condition(file) == expected


def test_row_of_a_damaged_file() -> None:
    file = replace(DAMAGED, path="b/c/events.7", damage_count=5, superseded=3, skipped_bytes=77, modified=1e9)
    assert table_row(file) == {
        "path": "b/c/events.7",
        "file": "events.7",
        "run": "b",
        "records": 20,
        "size": 1000,
        "read": 1000,
        "stretches": 5,
        "skipped": 77,
        "superseded": 3,
        "modified": 1e9,
        "state": "damaged",
        "severity": "bad",
    }


def test_files_with_loss_come_first_and_then_those_that_wait() -> None:
    assert [file.run for file in worst_first([CUT, CLOSED, WHOLE, DAMAGED])] == ["b", "d", "c", "a"]


def test_the_column_of_superseded_points_is_there_if_there_are_any() -> None:
    shown = [
        [column["field"] for column in columns([table_row(file)]) if not column["hide"]]
        for file in (replace(WHOLE, superseded=3), WHOLE)
    ]
    rest = ["modified", "records", "read", "size"]
    assert shown == [
        ["run", "file", "state", "stretches", "skipped", "superseded", *rest],
        ["run", "file", "state", "stretches", "skipped", *rest],
    ]


def test_verdict_without_loss_is_good_news() -> None:
    assert verdict([WHOLE], 0, loading=False) == Verdict(
        "good", "1 file read without errors", ("20 records, 1 kB read",)
    )
    assert verdict([WHOLE, CUT], 0, loading=False) == Verdict(
        "good",
        "2 files read without errors",
        ("40 records, 1.96 kB read", "1 file ends in the middle of a record, which is read when the rest arrives"),
    )


def test_verdict_tells_of_files_that_grow_and_of_writers_at_once() -> None:
    growing = replace(WHOLE, growing=True)
    assert verdict([growing, growing, WHOLE], 0, {"a": 4}, loading=False).facts == (
        "60 records, 3 kB read",
        "2 files growing",
        "4 writers at once in 1 run: every point is shown",
    )
    assert verdict([WHOLE], 0, {"a": 4, "b": 2}, loading=False).facts[1:] == (
        "up to 4 writers at once in 2 runs: every point is shown",
    )
    assert advice(replace(WHOLE, writers=4)) == [
        "4 writers at once: files of this folder were written at the same time with the same tags. Every point of them "
        "is shown. Log from one process only, or into a separate folder per process."
    ]


def test_verdict_counts_every_kind_of_loss() -> None:
    more = replace(DAMAGED, damage_count=200, skipped_bytes=3000)
    assert verdict([WHOLE, DAMAGED, more, CLOSED], 7, loading=True) == Verdict(
        "bad",
        "2 of 4 files are damaged, 1 cannot be opened",
        (
            "60 records, 3 kB read",
            "202 stretches skipped as unreadable, 3.02 kB; everything else is shown",
            "7 points superseded by a restart; start with --keep-superseded to see all",
        ),
    )
    assert verdict([DAMAGED], 0, loading=False).sentence == "1 of 1 file is damaged"
    assert verdict([WHOLE, FOLDER], 0, loading=False).sentence == "1 folder cannot be listed"
    assert verdict([WHOLE, CLOSED], 0, loading=False).sentence == "1 of 2 files cannot be opened"


def test_verdict_claims_nothing_while_files_are_still_read() -> None:
    assert verdict([WHOLE, UNREAD], 0, loading=True).sentence == "No damage so far; still reading"


def test_progress_counts_what_was_gone_through_in_full() -> None:
    loading = snapshot(WHOLE, DAMAGED, CUT, CLOSED, UNREAD, loading=True)
    assert progress(loading) == Progress(files_read=4, files=5, bytes_read=3500, bytes=3800)
    assert progress(replace(loading, loading=False)) is None


@pytest.mark.parametrize(
    ("at", "percent"), [(Progress(1, 4, 0, 0), 25.0), (Progress(1, 4, 30, 40), 75.0), (Progress(0, 0, 0, 0), 0.0)]
)
def test_progress_in_percent(at: Progress, percent: float) -> None:
    assert at.percent == percent


def test_progress_in_words() -> None:
    assert reading_texts(Progress(1, 2, 1000, 2500)) == ("reading: 1 of 2 files", "1 kB of 2.5 kB")
    assert reading_texts(Progress(0, 0, 0, 0)) == ("looking at the log directory",)


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        ("", ["b", "d", "c", "a"]),
        ("health.show=bad", ["b", "d"]),
        ("health.filter=%5E[ab]/", ["b", "a"]),
        ("health.filter=%5E[ab]/&health.show=bad", ["b"]),
        ("health.filter=[&health.show=odd", ["b", "d", "c", "a"]),
        ("run_filter=nothing&runs=none", ["b", "d", "c", "a"]),
    ],
)
def test_files_are_chosen_whichever_runs_are_shown(query: str, runs: list[str]) -> None:
    rows = panel_parts(snapshot(CUT, CLOSED, WHOLE, DAMAGED), decode(query))["rows"]
    assert [row["run"] for row in rows] == runs


def test_table_lists_so_many_files_and_says_so() -> None:
    files = [replace(WHOLE, path=f"{number:05}") for number in range(MOST_ROWS + 1)] + [DAMAGED]
    parts = panel_parts(snapshot(*files), View())
    assert [row["path"] for row in parts["rows"]] == ["b/events", *(file.path for file in files[: MOST_ROWS - 1])]
    assert parts["count"] == "the first 5,000 of 5,002 files, damaged files first; filter for others"
    assert count_text(3, 3) == "3 files"
    assert count_text(1, 3) == "1 of 3 files"


def test_tab_waits_for_something_to_say() -> None:
    panel = HealthPanel()
    assert not panel.has_data(EMPTY_SNAPSHOT)
    assert panel.has_data(snapshot(WHOLE))
    assert not panel.has_data(snapshot(UNREAD, loading=True))


def damaged_run(path: Path) -> str:
    """Write five points with a flipped bit in the last record's data; return the file's path in the log directory."""
    with SummaryWriter(str(path / "a, b")) as writer:
        for step in range(5):
            writer.add_scalar("loss", step, step)
    (file,) = (path / "a, b").iterdir()
    content = bytearray(file.read_bytes())
    content[-6] ^= 1
    file.write_bytes(content)
    return f"a, b/{file.name}"


def test_tables_as_csv(tmp_path: Path) -> None:
    path = damaged_run(tmp_path)
    os.utime(tmp_path / path, (1e9, 1e9))
    (file,) = open_logdir(tmp_path).health
    (damage,) = file.damages
    client = client_of(tmp_path)
    files = client.get("/api/health/files.csv")
    assert files.headers["content-disposition"] == 'attachment; filename="event_files.csv"'
    assert files.text.splitlines() == [
        "File,Run,Records,Size in bytes,Read up to byte,Skipped stretches,Skipped bytes,Superseded points,"
        "Writers at once,State,Last written",
        f'"{path}","a, b",{file.records},{file.size},{file.size},1,{damage.length},0,1,damaged,'
        "2001-09-09T01:46:40+00:00",
    ]
    damages = client.get("/api/health/damages.csv", params={"file": path})
    assert damages.text.splitlines() == [
        "File,Run,Offset,Length,Reason",
        f'"{path}","a, b",{damage.offset},{damage.length},{damage.reason}',
    ]
    assert damage.offset + damage.length == file.size


@pytest.mark.parametrize(
    ("route", "status"),
    [
        ("/api/health/files.csv?file=none", 404),
        ("/api/health/files.csv?filter=[", 422),
        ("/api/health/files.csv?show=odd", 422),
        ("/api/health/others.csv", 422),
        ("/api/health/damages.csv?filter=none", 200),
    ],
)
def test_wrong_requests_for_csv(tmp_path: Path, route: str, status: int) -> None:
    damaged_run(tmp_path)
    assert client_of(tmp_path).get(route).status_code == status
