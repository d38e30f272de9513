"""Facts of traces are kept, found again, and rejected where they have been altered."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import fsspec
import msgspec
import pytest
from polars.testing import assert_frame_equal

from stepscope.profiler.analysis.rank_facts import FACT_TABLES, VERSION, FactTable
from stepscope.profiler.ranks.files import (
    TraceFile,
    common_folder,
    facts_of_file,
    remote_trace_file,
    trace_file,
)
from stepscope.profiler.ranks.store import FactStore, Segment
from stepscope.profiler.traces import TraceError
from tests.profiler.ranks.jobs import write_job


@pytest.fixture
def files(tmp_path: Path) -> list[TraceFile]:
    return [trace_file(path) for path in write_job(tmp_path / "job", 3)]


def keep(store: FactStore, files: list[TraceFile]) -> Segment:
    return store.add([(file, facts_of_file(file)) for file in files], files)


def kept_files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file() and path.name != "used")


def test_facts_are_found_again_as_they_were(tmp_path: Path, files: list[TraceFile]) -> None:
    made = keep(FactStore(str(tmp_path / "facts")), files)
    (found,) = FactStore(str(tmp_path / "facts")).load(files)
    assert found.traces == tuple(files)
    for table in FACT_TABLES:
        assert_frame_equal(found.scan(table).collect(), made.scan(table).collect())
        whole = [facts_of_file(file).tables[table] for file in files]
        for place, frame in enumerate(whole):
            assert_frame_equal(found.scan(table).filter(trace=place).drop("trace").collect(), frame)


def test_facts_lie_at_an_address_too(files: list[TraceFile]) -> None:
    place = "memory://kept/facts"
    made = keep(FactStore(place), files)
    (found,) = FactStore(place).load(files)
    for table in FACT_TABLES:
        assert_frame_equal(found.scan(table).collect(), made.scan(table).collect())


def test_facts_of_other_traces_and_of_other_versions_of_these_are_not_given(
    tmp_path: Path, files: list[TraceFile]
) -> None:
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    first = files[0]
    for other in (
        TraceFile(first.address + ".other", first.size, first.version),
        TraceFile(first.address, first.size + 1, first.version),
        TraceFile(first.address, first.size, "later"),
    ):
        assert store.load([other]) == []
    assert [len(segment.traces) for segment in store.load(files[:1])] == [3]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def turn_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def remove(path: Path) -> None:
    path.unlink()


def replace_by_another(path: Path) -> None:
    """Acts as if two segments had been mixed up."""
    other = next(each for each in kept_files(path.parent) if each != path and each.suffix == path.suffix)
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("table", FACT_TABLES)
@pytest.mark.parametrize("harm", [cut, turn_a_bit, remove, replace_by_another])
def test_damaged_facts_are_not_believed_and_deleted(
    tmp_path: Path, files: list[TraceFile], table: FactTable, harm: Callable[[Path], None]
) -> None:
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    (path,) = (tmp_path / "facts").rglob(f"*.{table}.parquet")
    harm(path)
    assert store.load(files) == []
    assert kept_files(tmp_path / "facts") == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"version": "one"}', b"\xff\xfe", b'{"version":1,"traces":[],"files":{}}']
)
def test_what_does_not_say_what_it_is_of_is_not_believed(
    tmp_path: Path, files: list[TraceFile], content: bytes
) -> None:
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    (about,) = (tmp_path / "facts").rglob("*.facts.json")
    about.write_bytes(content)
    assert store.load(files) == []


def test_facts_of_another_version_of_what_facts_are_are_not_believed(tmp_path: Path, files: list[TraceFile]) -> None:
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    (about,) = (tmp_path / "facts").rglob("*.facts.json")
    stated = msgspec.json.decode(about.read_bytes())
    assert stated["version"] == VERSION
    about.write_bytes(msgspec.json.encode(stated | {"version": VERSION + 1}))
    assert store.load(files) == []


def test_a_segment_whose_last_file_was_not_written_is_none(tmp_path: Path, files: list[TraceFile]) -> None:
    """The file that names a segment's traces is written last: a process that ends earlier leaves nothing to trust."""
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    (about,) = (tmp_path / "facts").rglob("*.facts.json")
    about.unlink()
    assert store.load(files) == []


def test_several_keep_facts_of_one_job_at_once(tmp_path: Path, files: list[TraceFile]) -> None:
    facts = [(file, facts_of_file(file)) for file in files]
    store = FactStore(str(tmp_path / "facts"))
    threads = [threading.Thread(target=store.add, args=([each], files)) for each in facts * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.load(files)
    assert len(found) == 9
    assert {file for segment in found for file in segment.traces} == set(files)


def test_where_nothing_can_be_kept_facts_stay_in_memory(tmp_path: Path, files: list[TraceFile]) -> None:
    (tmp_path / "facts").write_text("a file, where a folder would have to be")
    store = FactStore(str(tmp_path / "facts"))
    segment = keep(store, files)
    assert store.problem.startswith(f"{tmp_path / 'facts'} cannot be written: ")
    assert segment.scan("trace").collect()["stated_rank"].to_list() == [0, 1, 2]
    assert store.load(files) == []


def test_what_was_not_used_for_long_is_deleted(tmp_path: Path, files: list[TraceFile]) -> None:
    store = FactStore(str(tmp_path / "facts"))
    keep(store, files)
    others = [trace_file(path) for path in write_job(tmp_path / "other", 3)]
    keep(store, others)
    store.load(files)
    store.load(others)
    (first, second) = sorted(path for path in (tmp_path / "facts").glob("v*/*"))
    os.utime(first / "used", (0, 0))
    store.prune()
    assert not first.exists()
    assert second.exists()


def test_a_trace_that_changes_while_it_is_read_is_refused(files: list[TraceFile]) -> None:
    stale = TraceFile(files[0].address, files[0].size, "before")
    with pytest.raises(TraceError, match="was changed while it was read"):
        facts_of_file(stale)


def test_the_version_of_a_file_is_what_its_store_says() -> None:
    said = {"size": 5, "ETag": '"abc"', "LastModified": "yesterday"}
    assert remote_trace_file("s3://b/x", said) == TraceFile("s3://b/x", 5, 'ETag "abc"')
    assert remote_trace_file("s3://b/x", {"size": 5, "mtime": 7}).version == "mtime 7"
    with fsspec.open("memory://traces/one.json", "wb") as stream:
        stream.write(b"[]")
    before = trace_file("memory://traces/one.json")
    assert before.size == 2
    with fsspec.open("memory://traces/one.json", "wb") as stream:
        stream.write(b"{}")
    assert trace_file("memory://traces/one.json").version != before.version


def test_a_trace_that_is_not_there_is_named() -> None:
    with pytest.raises(TraceError, match=r"^/nowhere/x cannot be read: No such file"):
        trace_file("/nowhere/x")


def test_jobs_are_found_by_their_common_folder() -> None:
    def of(*addresses: str) -> str:
        return common_folder([TraceFile(each, 0, "") for each in addresses])

    assert of("/a/b/x", "/a/b/y") == of("/a/b/z") == of("/a/b/c/x", "/a/b/y")
    assert of("/a/b/x", "/a/c/y") != of("/a/b/x")
    assert of("s3://bucket/a/x", "s3://bucket/a/y") == of("s3://bucket/a/z")
