"""Writing to addresses: a real S3 server on this machine, and a file system in memory whose files grow."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest

from stepscope import profiler
from stepscope.profiler.hooks import ProfilerHook
from stepscope.summary import SummaryWriter, open_logdir, storage
from stepscope.summary.errors import UserError
from stepscope.summary.logdir import Logdir
from tests.object_store import ObjectStore, running_object_store

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def server() -> Iterator[ObjectStore]:
    """Holds the bucket "logs"; can be stopped and started."""
    with running_object_store("logs") as store:
        yield store


@pytest.fixture
def memory() -> Iterator[str]:
    file_system = fsspec.filesystem("memory")
    yield "memory://logs"
    file_system.rm("/logs", recursive=True)


def fetched(address: str, folder: Path) -> Path:
    """A local copy of the files at an address."""
    protocol, path = address.split("://")
    file_system = fsspec.filesystem(protocol, skip_instance_cache=True)
    for found in file_system.find(path):
        target = folder / found.lstrip("/").removeprefix(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file_system.cat_file(found))
    return folder


def write_everything(address: str) -> None:
    with SummaryWriter(address) as writer:
        for step in range(3):
            writer.add_scalar("loss", step / 2, step)
            writer.flush()
        writer.add_scalars("both", {"train": 1.0, "test": 2.0}, 3)
        writer.add_image("image", np.zeros((3, 4, 4), np.uint8), 3)
        writer.add_embedding(np.eye(2), ["a", "b"], np.zeros((2, 3, 4, 4)), 3)
        writer.add_embedding(np.eye(3), tag="other")
        writer.add_hparams({"lr": 1}, {"loss": 0.5}, run_name="trial")
        assert writer.get_logdir() == address


@pytest.mark.parametrize("place", ["s3", "memory"])
def test_everything_is_where_it_would_be_locally(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if place == "s3":
        request.getfixturevalue("server")
        address = "s3://logs/a/run"
    else:
        address = request.getfixturevalue("memory") + "/run"
    write_everything(address)
    write_everything(str(tmp_path / "local"))
    remote = fetched(address, tmp_path / "remote")

    def listing(top: Path) -> list[tuple[str, bytes]]:
        files = [path for path in sorted(top.rglob("*")) if path.is_file()]
        return [
            (path.parent.name, b"") if "tfevents" in path.name else (str(path.relative_to(top)), path.read_bytes())
            for path in files
        ]

    assert [entry[0] for entry in listing(remote)] == [
        entry[0].replace("local", "remote") for entry in listing(tmp_path / "local")
    ]
    assert [content for _, content in listing(remote)] == [content for _, content in listing(tmp_path / "local")]
    there, here = open_logdir(remote), open_logdir(tmp_path / "local")
    assert list(there.runs) == list(here.runs)
    for name, run in here.runs.items():
        assert [(s.tag, s.kind, s.steps.tolist()) for s in there.runs[name].series.values()] == [
            (s.tag, s.kind, s.steps.tolist()) for s in run.series.values()
        ]
    assert there.runs["."].series["loss"].values.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("place", ["s3", "memory"])
def test_a_recording_lies_beside_the_summaries(
    place: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It once went into a local folder "s3:".
    monkeypatch.chdir(tmp_path)
    if place == "s3":
        request.getfixturevalue("server")
        address = "s3://logs/recorded"
    else:
        address = request.getfixturevalue("memory") + "/recorded"
    for _ in range(2):
        with profiler.Profile(address) as profile, profiler.annotate("forward"):
            profiler.step()
        assert profile.recording is not None
        assert str(profile.recording.trace_path).startswith(f"{address}/plugins/profile/")
    hook = ProfilerHook(save_steps=1, output_dir=f"{address}/timelines")
    for step in range(2):
        hook.before_step(step)
        hook.after_step(step)
    assert os.listdir(tmp_path) == []
    found = fetched(address, tmp_path / "found")
    traces = list(found.glob("plugins/profile/*/*.trace.json.gz"))
    assert len(traces) == 2
    for trace in traces:
        assert "forward" in {event["name"] for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]}
    assert "step_0" in open_logdir(found).runs["."].series
    assert len(list(found.glob("timelines/timeline-1.*.json"))) == 1


def test_an_address_that_became_a_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="an address must be given as a string"):
        SummaryWriter(Path("s3://logs/run"))
    with pytest.raises(UserError, match="an address must be given as a string"):
        profiler.start(Path("s3://logs/run"))
    with pytest.raises(UserError, match="Protocol not known: nowhere"):
        profiler.start("nowhere://logs/run")
    assert os.listdir(tmp_path) == []


def test_each_flush_is_visible(server: ObjectStore, tmp_path: Path) -> None:
    writer = SummaryWriter("s3://logs/flushed")
    for step in range(3):
        writer.add_scalar("t", step, step)
        writer.flush()
        snapshot = open_logdir(fetched("s3://logs/flushed", tmp_path / str(step)))
        assert snapshot.runs["."].series["t"].steps.tolist() == list(range(step + 1))
    writer.close()


def test_a_log_directory_on_a_server_is_followed(server: ObjectStore) -> None:
    logdir = Logdir("s3://logs/followed")
    assert logdir.update().runs == {}
    with SummaryWriter("s3://logs/followed/run") as writer:
        for step in range(3):
            writer.add_scalar("t", step, step)
            writer.add_image("image", np.full((3, 4, 4), step, np.uint8), step)
            writer.flush()
            series = logdir.update(changed=set()).runs["run"].series
            assert series["t"].steps.tolist() == series["image"].steps.tolist() == list(range(step + 1))
    assert series["image"].read(2).width == 4
    assert logdir.snapshot.damage_count == 0


def test_a_file_that_is_replaced_whole_gives_way_to_another(
    server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_LARGEST_REPLACED", 10_000)
    with SummaryWriter("s3://logs/many") as writer:
        for step in range(2000):
            writer.add_scalar("t", step, step)
            if step % 100 == 99:
                writer.flush()
    found = fetched("s3://logs/many", tmp_path)
    assert len(list(found.iterdir())) > 3
    assert max(path.stat().st_size for path in found.iterdir()) < 20_000
    points = open_logdir(found).runs["."].series["t"]
    assert points.steps.tolist() == points.values.tolist() == list(range(2000))


def test_two_writers_that_start_at_once_take_different_files(server: ObjectStore) -> None:
    # The file does not exist before its first upload, and one once replaced the other.
    one, other = storage.folder_at("s3://logs/twice"), storage.folder_at("s3://logs/twice")
    assert one.create("events.0").name == "s3://logs/twice/events.0"
    with pytest.raises(FileExistsError, match=r"s3://logs/twice/events\.0 exists"):
        other.create("events.0")


def test_a_server_that_goes_away_and_comes_back(server: ObjectStore, tmp_path: Path) -> None:
    writer = SummaryWriter("s3://logs/lost")
    writer.add_scalar("t", 0, 0)
    writer.flush()
    server.stop()
    for step in range(1, 50):
        writer.add_scalar("t", step, step)
    with pytest.raises(OSError, match=r"; not in the file yet: 49 events \([\d,]+ bytes\); the next call will retry"):
        writer.flush()
    server.start()
    writer.close()
    points = open_logdir(fetched("s3://logs/lost", tmp_path)).runs["."].series["t"]
    assert points.steps.tolist() == list(range(50))


def test_a_growing_file_that_is_removed(memory: str, tmp_path: Path) -> None:
    writer = SummaryWriter(f"{memory}/run")
    writer.add_scalar("t", 0.0, 0)
    writer.flush()
    fsspec.filesystem("memory").rm("/logs/run", recursive=True)
    writer.add_scalar("t", 1.0, 1)
    with pytest.warns(RuntimeWarning, match="was removed while it was written to, and the 1 event in it is gone"):
        writer.flush()
    writer.close()
    snapshot = open_logdir(fetched(f"{memory}/run", tmp_path))
    assert snapshot.runs["."].series["t"].steps.tolist() == [1]
    assert snapshot.damage_count == 0


def test_what_is_not_closed_is_written_at_exit(server: ObjectStore, tmp_path: Path) -> None:
    script = (
        "from stepscope.summary import SummaryWriter\n"
        "writer = SummaryWriter('s3://logs/exit')\n"
        "for step in range(100): writer.add_scalar('t', step, step)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    points = open_logdir(fetched("s3://logs/exit", tmp_path)).runs["."].series["t"]
    assert points.steps.tolist() == list(range(100))


def test_an_address_on_this_machine_is_a_path(tmp_path: Path) -> None:
    with SummaryWriter(f"file://{tmp_path}/run") as writer:
        writer.add_scalar("t", 1.0, 1)
    assert os.listdir(tmp_path) == ["run"]
    assert open_logdir(tmp_path).runs["run"].series["t"].values.tolist() == [1.0]


def test_folders_are_created_on_a_file_system_without_buckets(tmp_path: Path) -> None:
    with SummaryWriter(f"dir://runs/first::file://{tmp_path}") as writer:
        writer.add_scalar("t", 1.0, 1)
    assert open_logdir(tmp_path).runs["runs/first"].series["t"].values.tolist() == [1.0]


@pytest.mark.parametrize("cache", ["", "simplecache::"])
def test_a_mistyped_bucket_is_not_created(server: ObjectStore, cache: str) -> None:
    with pytest.raises(OSError, match="bucket does not exist"):
        SummaryWriter(f"{cache}s3://lgos/run")
    assert fsspec.filesystem("s3").ls("") == ["logs"]


def test_a_protocol_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Protocol not known: nowhere"):
        SummaryWriter("nowhere://bucket/run")


def test_a_run_of_hyperparameters_stays_in_the_log_directory(memory: str) -> None:
    with SummaryWriter(f"{memory}/run") as writer:
        writer.add_hparams({"lr": 1}, {}, run_name=f"{memory}/run/inside")
        for outside in ("../away", "memory://logs/other", "/away"):
            with pytest.raises(ValueError, match="run_name must name a folder in the log directory"):
                writer.add_hparams({"lr": 1}, {}, run_name=outside)
    assert {Path(path).parent.name for path in fsspec.filesystem("memory").find("/logs")} == {"run", "inside"}


def test_without_writing_to_disk_arguments_are_still_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter("run", write_to_disk=False) as writer:
        writer.add_scalar("t", 1.0, 1)
        writer.add_scalars("s", {"a": 1.0})
        writer.add_embedding(np.eye(2))
        writer.add_hparams({"lr": 1}, {})
        writer.flush()
        with pytest.raises(TypeError, match="a tag must be a string, got int 3"):
            writer.add_scalar(3, 1.0)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []
