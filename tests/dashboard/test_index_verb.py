"""``stepscope index`` reads a log directory ahead of the first start."""

import os
import re
import time
from pathlib import Path

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.summary import SummaryWriter
from stepscope.summary.index_places import index_in_cache, prune
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import sources_of
from tests.summary.index_parts import files_of
from tests.summary.test_index_building import refusing
from tests.summary.test_log_index import let_age


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for run in ("a", "b"):
        with SummaryWriter(tmp_path / "logs" / run) as writer:
            for step in range(3):
                writer.add_scalar("loss", step, step)
    return tmp_path / "logs"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's caches are."""
    monkeypatch.setattr("stepscope.summary.index_places.cache_folder", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr("stepscope.dashboard.cli.index.cache_folder", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache"


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The printed lines, without seconds and without sizes, which differ by a digit."""
    return re.sub(r"\([\d.]+ [kM]?B\)|[\d.]+ s\.", "*", capsys.readouterr().err).strip().splitlines()


def test_an_index_is_written_where_it_is_asked_for(
    logs: Path, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index"
    for read_before in ("0 files", "2 files"):
        assert main(["index", str(logs), "--to", str(index)]) == 0
        assert said(capsys) == [
            f"2 runs, 2 event files *, of which {read_before} had been read before; *",
            f"Index: {index}",
            f"Start from it: stepscope --logdir {logs} --index {index}",
        ]
    assert {path.parts[0] for path in files_of(index, logs)} == {"a", "b"}
    assert not cache.exists()


def test_the_requests_to_a_store_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SummaryWriter("memory://asked/run") as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert main(["index", "memory://asked", "--to", str(tmp_path / "index")]) == 0
    assert said(capsys)[1] == (
        "2 requests for the logs: 1 for the listing, 1 for 1 new or changed file; at most 3 were expected: 1 for the "
        "listing, 2 for each new or changed file."
    )


def test_an_engines_workers_write_it_too(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = tmp_path / "index"
    for read_before in ("0 files", "2 files"):
        assert main(["index", str(logs), "--to", str(index), "--engine", "processes"]) == 0
        assert said(capsys) == [
            f"2 runs, 2 event files *, of which {read_before} had been read before; *",
            f"Index: {index}",
            f"Start from it: stepscope --logdir {logs} --index {index}",
        ]
        # A file changed in the second before it was read might have changed again.
        let_age(logs)
    assert {path.parts[0] for path in files_of(index, logs)} == {"a", "b"}


def test_an_engine_needs_a_place_that_its_workers_reach(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(logs), "--engine", "dask://host:8786"]) == 2
    assert said(capsys) == [
        "stepscope: --engine dask://host:8786 needs --to: its workers write the index together, to a folder or an "
        "address that all of them reach."
    ]


def test_a_file_that_no_worker_could_read_is_named(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.summary.index_building._read_part", refusing("a"))
    assert main(["index", str(logs), "--to", str(tmp_path / "index"), "--engine", "threads"]) == 2
    (file,) = (logs / "a").iterdir()
    assert said(capsys) == [
        f"a/{file.name}: too large",
        "2 runs, 2 event files *, of which 0 files had been read before; *",
        f"Index: {tmp_path / 'index'}",
        "1 file not read; run the same command again to retry.",
    ]


def test_without_a_place_it_is_the_one_in_the_users_cache(
    logs: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", str(logs)]) == 0
    (folder,) = (cache / "index").iterdir()
    assert said(capsys)[1:] == [f"Index: {folder}"]
    assert folder.stat().st_mode & 0o077 == 0
    # It is the one that a start uses.
    logdir = Logdir(sources_of([str(logs)]), index=index_in_cache(sources_of([str(logs)])))
    logdir.update()
    assert logdir.taken_files == 2


def test_log_directories_under_other_names_have_an_index_of_their_own(logs: Path, cache: Path) -> None:
    given = ([str(logs)], [f"x:{logs}"], [f"y:{logs}"], [f"x:{logs / 'a'}", f"y:{logs / 'b'}"])
    assert len({index_in_cache(sources_of(logdirs)).address for logdirs in given}) == len(given)


def test_an_index_that_cannot_be_written_is_an_error(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["index", str(logs), "--to", str(tmp_path / "file")]) == 2
    lines = [line for line in said(capsys) if line.startswith("stepscope")]
    assert lines == [
        f"stepscope: The index at {tmp_path / 'file'} cannot be written: File exists; "
        "expected a folder that is yours to write to."
    ]


def test_an_address_of_no_known_protocol_is_an_error(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(logs), "--to", "nosuch://bucket/index"]) == 2
    assert said(capsys)[0].startswith("stepscope: --to: ")


def test_indexes_that_nobody_used_for_long_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, days in (("kept", 90), ("old", 31), ("new", 1), ("newest", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest").write_bytes(b"12345")
        os.utime(tmp_path / name, (time.time() - days * 86400,) * 2)
    prune(tmp_path, "kept")
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "new", "newest"}
    monkeypatch.setattr("stepscope.summary.index_places._MOST_BYTES", 7)
    prune(tmp_path, "kept")
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "newest"}
