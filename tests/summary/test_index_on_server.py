"""An index of logs in an object store: what a start requests from the store."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from stepscope.summary import SummaryWriter
from stepscope.summary.engine import Engine, Progress
from stepscope.summary.index_building import fill_index
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import requests_of, sources_of
from stepscope.summary.remote_source import Requests
from stepscope.summary.snapshot import Snapshot
from tests.object_store import running_object_store

RUNS = 30


@pytest.fixture
def bucket() -> Iterator[str]:
    with running_object_store("sweeps"):
        yield "s3://sweeps"


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """The requests to the store, by operation and first folder of the key."""
    asked: Counter[tuple[str, str]] = Counter()
    file_system = fsspec.get_filesystem_class("s3")
    call = file_system._call_s3

    def counted(self: Any, method: str, *given: Any, **options: Any) -> Any:
        key = options.get("Key") or options.get("Prefix") or ""
        asked[method, key.split("/")[0]] += 1
        return call(self, method, *given, **options)

    monkeypatch.setattr(file_system, "_call_s3", counted)
    return asked


def content(folder: Path, *values: float) -> bytes:
    with SummaryWriter(folder) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("loss", value, step)
    (file,) = folder.iterdir()
    return file.read_bytes()


def started(bucket: str) -> tuple[Snapshot, int]:
    snapshot, logdir = read(bucket)
    return snapshot, logdir.taken_files


def read(bucket: str) -> tuple[Snapshot, Logdir]:
    logdir = Logdir(f"{bucket}/logs", index=LogIndex(f"{bucket}/index"))
    snapshot = logdir.update()
    logdir.wait_until_stored()
    return snapshot, logdir


def last_values(snapshot: Snapshot) -> dict[str, float]:
    return {name: float(run.series["loss"].values[-1]) for name, run in snapshot.runs.items()}


def test_a_restart_asks_for_the_listing_and_for_what_changed(
    bucket: str, tmp_path: Path, requests: Counter[tuple[str, str]]
) -> None:
    store = fsspec.filesystem("s3")
    for run in range(RUNS):
        store.pipe(f"{bucket}/logs/run_{run:02d}/events.out.tfevents.1", content(tmp_path / str(run), 1.0, run))
    expected = {f"run_{run:02d}": float(run) for run in range(RUNS)}
    snapshot, taken = started(bucket)
    assert (last_values(snapshot), taken) == (expected, 0)
    for run in (3, 7):
        store.pipe(
            f"{bucket}/logs/run_{run:02d}/events.out.tfevents.1", content(tmp_path / f"new {run}", 2.0, 100 + run)
        )
        expected[f"run_{run:02d}"] = 100.0 + run
    store.pipe(f"{bucket}/logs/run_99/events.out.tfevents.1", content(tmp_path / "99", 99.0))
    expected["run_99"] = 99.0
    requests.clear()
    snapshot, taken = started(bucket)
    assert (last_values(snapshot), taken) == (expected, RUNS - 2)
    of_logs = {method: count for (method, folder), count in requests.items() if folder == "logs"}
    assert of_logs == {"list_objects_v2": 1, "get_object": 3}
    of_index = {method: count for (method, folder), count in requests.items() if folder == "index"}
    # The manifest, once more before it is replaced, and the list of the one segment; a block for each run whose points
    # were requested.
    assert of_index["get_object"] == 3 + RUNS + 1
    assert of_index["put_object"] == 2
    requests.clear()
    assert last_values(started(bucket)[0]) == expected
    assert {method for method, folder in requests if folder == "logs"} == {"list_objects_v2"}


def test_a_source_counts_what_the_store_was_asked_for(
    bucket: str, tmp_path: Path, requests: Counter[tuple[str, str]]
) -> None:
    store = fsspec.filesystem("s3")
    for run in range(RUNS):
        store.pipe(f"{bucket}/logs/run_{run:02d}/events.out.tfevents.1", content(tmp_path / str(run), 1.0, run))
    _, logdir = read(bucket)
    assert requests_of(logdir.source) == Requests(pages=1, files=RUNS)
    grown = content(tmp_path / "grown", *range(100))
    store.pipe(f"{bucket}/logs/run_00/events.out.tfevents.1", grown)
    requests.clear()
    snapshot, logdir = read(bucket)
    assert len(snapshot.runs["run_00"].series["loss"]) == 100
    assert requests_of(logdir.source) == Requests(pages=1, files=1)
    assert {method: count for (method, folder), count in requests.items() if folder == "logs"} == {
        "list_objects_v2": 1,
        "get_object": 1,
    }
    # The manifest, which s3fs looks up first, once more before it is replaced, and the list of the only segment, whose
    # size the manifest gives.
    assert {method: count for (method, folder), count in requests.items() if folder == "index"} == {
        "head_object": 2,
        "get_object": 3,
        "put_object": 2,
    }
    store.pipe(f"{bucket}/logs/run_01/events.out.tfevents.1", grown)
    with Engine("processes", 2) as engine:
        *_, totals = fill_index([f"{bucket}/logs"], LogIndex(f"{bucket}/index"), engine, Progress(0, 0))
    assert (totals.taken, totals.requests) == (RUNS - 1, Requests(pages=1, files=1))
    both = sources_of([f"a:{bucket}/logs", f"b:{bucket}/logs", f"c:{tmp_path}"])
    list(both.list())
    assert requests_of(both) == Requests(pages=2, files=0)
