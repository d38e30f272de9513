import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary import writer as writer_module
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.storage import Folder

REPOSITORY = Path(__file__).resolve().parents[2]


def event_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if "tfevents" in path.name)


def events(folder: Path) -> list[Event]:
    """All events of a folder except the file versions, read until the first damaged record."""
    found = []
    for path in event_files(folder):
        first, *rest = (Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load())
        assert first.file_version == "brain.Event:2"
        found += rest
    return found


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    return [(e.summary.value[0].tag, e.step, e.summary.value[0].simple_value) for e in events(folder)]


class Tensor:
    """Has the methods of a PyTorch tensor that needs a gradient and lies on a device."""

    def __init__(self, array: Any, *, detached: bool = False, on_host: bool = False) -> None:
        self.array, self.detached, self.on_host = np.asarray(array), detached, on_host
        self.dtype = self.array.dtype

    def detach(self) -> "Tensor":
        return Tensor(self.array, detached=True)

    def cpu(self) -> "Tensor":
        return Tensor(self.array, detached=self.detached, on_host=True)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.detached
        assert self.on_host
        return self.array


def test_the_file_begins_with_its_version_and_writer(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path / "run", filename_suffix=".x", clock=lambda: 1234.5)
    writer.close()
    (path,) = event_files(tmp_path / "run")
    assert path.name == f"events.out.tfevents.0000001234.{socket.gethostname()}.{os.getpid()}.0.x"
    (first,) = (Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load())
    expected = Event(wall_time=1234.5, file_version="brain.Event:2")
    expected.source_metadata.writer = "stepscope.summary"
    assert first == expected


def test_writers_of_one_folder_never_share_a_file(tmp_path: Path) -> None:
    writers = [EventFileWriter(tmp_path, clock=lambda: 7.0) for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.add_scalar("t", number)
        writer.close()
    assert len(event_files(tmp_path)) == 3
    assert scalars(tmp_path) == [("t", 0, 0.0), ("t", 0, 1.0), ("t", 0, 2.0)]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (0.5, 0.5),
        (3, 3.0),
        (True, 1.0),
        (np.float64(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.int16(-2), -2.0),
        (np.array([[0.5]]), 0.5),
        (Tensor([0.5]), 0.5),
        (float("inf"), float("inf")),
        (1e300, float("inf")),
        (-1e300, float("-inf")),
    ],
)
def test_scalars_of_every_type(tmp_path: Path, value: Any, stored: float) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("t", value, 1)
    assert scalars(tmp_path) == [("t", 1, stored)]


def test_nan_is_kept(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("t", float("nan"))
    ((_, _, value),) = scalars(tmp_path)
    assert np.isnan(value)


@pytest.mark.parametrize(
    ("step", "stored"),
    [
        (None, 0),
        (7, 7),
        (-7, -7),
        (2**63 - 1, 2**63 - 1),
        (7.0, 7),
        (np.int64(7), 7),
        (np.float32(7), 7),
        (np.array(7), 7),
        (Tensor(7), 7),
        (Tensor(7.0), 7),
        (np.array([7.0]), 7),
    ],
)
def test_steps_of_every_type(tmp_path: Path, step: Any, stored: int) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("t", 1.0, step)
        writer.add_text("t", "x", step)
    assert [event.step for event in events(tmp_path)] == [stored, stored]


def test_wall_times(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("t", 1.0, 1, 12.25)
    writer.add_scalar("t", 1.0, 1, 13)
    writer.add_text("t", "x", 1, 14.0)
    # The epoch is also a time; it was once replaced by the present time.
    writer.add_text("t", "x", 1, 0.0)
    writer.add_run_metadata(RunMetadata(), "t", 1, 0)
    writer.close()
    assert [event.wall_time for event in events(tmp_path)] == [12.25, 13.0, 14.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 1.0), TypeError, "a tag must be a string, got int 3"),
        (("\ud800", 1.0), ValueError, "UTF-8"),
        (("t", "x"), TypeError, "the scalar 't' must be real numbers, got str 'x'"),
        (("t", None), TypeError, "the scalar 't' must be real numbers, got NoneType None"),
        (("t", [1.0, 2.0]), ValueError, r"the scalar 't' must have one element, got shape \(2,\)"),
        (("t", 1j), TypeError, "dtype complex128"),
        (("t", 10**400), ValueError, "must fit a float64"),
        (("t", 1.0, float("nan")), ValueError, "a step must be a whole number, got float nan"),
        (("t", 1.0, float("inf")), ValueError, "a step must be a whole number, got float inf"),
        (("t", 1.0, "1.5"), ValueError, "a step must be a whole number, got str '1.5'"),
        (("t", 1.0, 1j), TypeError, "a step must be a whole number, got complex 1j"),
        (("t", 1.0, 2**63), ValueError, "a signed 64-bit integer, got 9223372036854775808"),
        (("t", 1.0, 1, float("nan")), ValueError, "a wall time must be finite, got nan"),
        (("t", 1.0, 1, "now"), TypeError, "a wall time must be real numbers"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        writer.add_scalar(*arguments)
    assert events(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda w: w.add_scalars("m", [1.0]), TypeError, "add_scalars takes numbers by name, got list"),
        (lambda w: w.add_scalars("m", {"a": 1.0, "k" * 300: 1.0}), ValueError, "a folder of at most 255 bytes"),
        (lambda w: w.add_hparams({}, {}, run_name="r" * 300), ValueError, "a folder of at most 255 bytes"),
        (lambda w: w.add_summary(RunMetadata()), TypeError, "must be a Summary message or its bytes, got RunMetadata"),
        (lambda w: w.add_summary("x"), TypeError, "must be a Summary message or its bytes, got str"),
        (lambda w: w.add_run_metadata(Summary(), "t"), TypeError, "must be a RunMetadata message"),
        (lambda w: w.add_embedding(np.eye(2), tensor_format="x"), ValueError, "'tsv' or 'float32', got 'x'"),
    ],
)
def test_other_calls_are_refused_before_anything_is_written(
    tmp_path: Path, call: Callable[[SummaryWriter], None], error: type[Exception], message: str
) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        call(writer)
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in event_files(tmp_path)]
    assert events(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"log_dir": 3}, TypeError, "log_dir must be a path or an address, got int 3"),
        ({"log_dir": b"run"}, TypeError, "log_dir must be a path or an address, got bytes"),
        ({"filename_suffix": 3}, ValueError, "filename_suffix must be the end of a file's name, got 3"),
        ({"filename_suffix": "/x"}, ValueError, "filename_suffix must be the end of a file's name, got '/x'"),
    ],
)
def test_a_writer_that_makes_no_sense(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        SummaryWriter(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_refused_stays_open(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream, SummaryWriter(tmp_path / "run") as writer:
        for call in (writer.add_scalar, writer.add_histogram, lambda tag, value: writer.add_scalar(tag, 1.0, value)):
            with pytest.raises(TypeError, match="got TextIOWrapper"):
                call("t", stream)
        stream.write("still open")


def test_what_is_masked_becomes_nan(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("t", np.ma.masked, 1)
        writer.add_scalar_batch("b", np.ma.array([1, 2], mask=[True, False]), [1, 2])
        writer.add_histogram("h", np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False]))
    series = open_logdir(tmp_path).runs["."].series
    assert np.isnan(series["t"].values).tolist() == [True]
    assert np.isnan(series["b"].values).tolist() == [True, False]
    histogram = series["h"].read(0)
    assert (histogram.nan, histogram.buckets[:, 2].sum()) == (1, 2)


def test_programs_that_reach_for_the_inner_writer(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.file_writer.add_summary(Summary(value=[Summary.Value(tag="t", simple_value=1)]), 2)
    writer._get_file_writer().flush()
    assert writer.logdir == writer.get_logdir() == str(tmp_path)
    writer.close()
    assert scalars(tmp_path) == [("t", 2, 1.0)]


def test_add_scalars_writes_a_run_per_key(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/all", {"train": 1.0, "test": 2.0}, 5, 10.0)
        writer.add_scalars("loss/all", {"train": 3.0}, 6, 11.0)
        with pytest.raises(ValueError, match="below the log directory"):
            writer.add_scalars("loss", {"/../../../away": 1.0})
    assert scalars(tmp_path) == []
    assert scalars(tmp_path / "loss_all_train") == [("loss/all", 5, 1.0), ("loss/all", 6, 3.0)]
    assert scalars(tmp_path / "loss_all_test") == [("loss/all", 5, 2.0)]


def test_threads_that_add_the_same_scalars_share_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two threads once each opened a file for a new key; the writer then neither flushed nor closed the first one.
    together = threading.Barrier(2)

    def slow(folder: Folder, **options: Any) -> EventFileWriter:
        if folder.address != str(tmp_path):
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(0.2)
        return EventFileWriter(folder, **options)

    monkeypatch.setattr(writer_module, "EventFileWriter", slow)
    writer = SummaryWriter(tmp_path)
    threads = [threading.Thread(target=writer.add_scalars, args=("loss", {"a": 1.0})) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert len(event_files(tmp_path / "loss_a")) == 1


def test_flush_returns_when_all_is_in_the_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    for step in range(5):
        writer.add_scalar("t", 1.0, step)
        writer.add_text("t", "x", step)
        writer.flush()
        assert len(events(tmp_path)) == 2 * (step + 1)
    writer.close()


def test_events_appear_without_a_flush(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path, linger=0.0)
    assert events(tmp_path) == []
    for step in range(3):
        writer.add_scalar("t", 1.0, step)
        while len(events(tmp_path)) <= step:
            threading.Event().wait(0.001)
    writer.close()


def test_after_close_the_next_call_opens_a_new_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("t", 1.0, 1)
    writer.close()
    writer.close()
    writer.flush()
    assert len(event_files(tmp_path)) == 1
    writer.add_scalar("t", 2.0, 2)
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert scalars(tmp_path) == [("t", 1, 1.0), ("t", 2, 2.0)]


def test_many_threads_lose_nothing_and_keep_their_order(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)

    def work(name: str) -> None:
        for step in range(3000):
            writer.add_scalar(name, step, step)
            if step % 500 == 0:
                writer.add_text(name + " text", "x", step)
                writer.flush()
            if step % 1500 == 0:
                writer.close()

    threads = [threading.Thread(target=work, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = events(tmp_path)
    assert len(found) == 4 * (3000 + 6)
    for path in event_files(tmp_path):
        last: dict[str, int] = {}
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                assert last.get(value.tag, -1) < event.step
                last[value.tag] = event.step


def test_callers_far_ahead_of_the_disk_wait_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.event_file_writer._MANY_ITEMS", 4)
    monkeypatch.setattr("stepscope.summary.event_file_writer._MOST_ITEMS", 8)
    monkeypatch.setattr("stepscope.summary.event_file_writer._MOST_EVENT_BYTES", 100)
    writer = SummaryWriter(tmp_path)
    for step in range(100):
        writer.add_scalar("t", 1.0, step)
        writer.add_text("t", "x" * 30, step)
        assert len(writer._main._pending) <= 12
    writer.close()
    assert [event.step for event in events(tmp_path)] == [step for step in range(100) for _ in "ab"]


class FullDisk:
    """Acts as `os.write`: takes ``room`` bytes, then none until there is room again."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, fd: int, data: memoryview) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.write(fd, data[: self.room])
        self.room -= written
        return written


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(room=100)
    writer = SummaryWriter(tmp_path)
    monkeypatch.setattr("stepscope.summary.event_file_writer.os.write", disk)
    for step in range(50):
        writer.add_scalar("t", step, step)
    with pytest.raises(
        OSError, match=r"No space left on device; not in the file yet: 48 events \(1,848 bytes\);"
    ) as failure:
        writer.flush()
    assert failure.value.errno == errno.ENOSPC
    assert Path(failure.value.filename).parent == tmp_path
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    assert scalars(tmp_path) == [("t", 0, 0.0), ("t", 1, 1.0)]
    writer.add_scalar("t", 50, 50)
    disk.room = 1 << 20
    writer.close()
    assert scalars(tmp_path) == [("t", step, step) for step in range(51)]
    assert len(event_files(tmp_path)) == 1


def test_a_disk_without_room_for_a_file_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.event_file_writer.os.write", FullDisk(room=10))
    with pytest.raises(OSError, match="No space left"):
        SummaryWriter(tmp_path)
    assert event_files(tmp_path) == []


def test_a_log_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(FileExistsError, match="run"):
        SummaryWriter(tmp_path / "run")


def test_tags_too_long_for_batches(tmp_path: Path) -> None:
    tag = "long/" * 500
    with SummaryWriter(tmp_path) as writer:
        for step in range(40):
            writer.add_scalar(tag, step, step)
            writer.add_scalar("short", step, step)
    assert scalars(tmp_path) == [(t, step, step) for step in range(40) for t in (tag, "short")]


def test_the_default_folder_has_date_host_and_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr=1") as writer:
        writer.add_scalar("t", 1.0)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder == tmp_path / writer.get_logdir()
    assert folder.name.endswith(f"_{socket.gethostname()}_lr=1")
    assert scalars(folder) == [("t", 0, 1.0)]


def test_a_run_stays_where_it_began_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter("runs", fsync=True) as writer:
        writer.add_scalar("t", 1.0, 0, 10.0)
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        writer.flush()
        writer.add_scalars("both", {"a": 2.0}, 1, 11.0)
        writer.add_embedding([[1.0, 2.0]], tag="points")
        writer.add_hparams({"lr": 1.0}, {}, run_name=str(tmp_path / "runs" / "trial"))
        writer.export_scalars_to_json(tmp_path / "scalars.json")
        assert writer.all_writers is not None
        assert list(writer.all_writers) == ["runs", "runs/both_a"]
        writer.close()
        writer.add_scalar("t", 3.0, 2)
    assert list((tmp_path / "other").iterdir()) == []
    assert scalars(tmp_path / "runs") == [("t", 0, 1.0), ("t", 2, 3.0)]
    assert scalars(tmp_path / "runs" / "both_a") == [("both", 1, 2.0)]
    assert (tmp_path / "runs" / "00000" / "points" / "tensors.tsv").exists()
    assert (tmp_path / "runs" / "trial").exists()
    assert json.loads((tmp_path / "scalars.json").read_text()) == {
        "runs/t": [[10.0, 0, 1.0]],
        "runs/both_a/both": [[11.0, 1, 2.0]],
    }


@pytest.mark.parametrize(("name", "value"), [("max_queue", -1), ("flush_secs", -1), ("flush_secs", np.nan)])
def test_options_are_checked(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must not be negative, got"):
        SummaryWriter(tmp_path / "run", **{name: value})
    assert not (tmp_path / "run").exists()


def test_tensors_on_devices_are_fetched(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", Tensor([1.0, 1.0]))
        writer.add_image("i", Tensor(np.zeros((1, 2, 2))))
    histogram, image = (event.summary.value[0] for event in events(tmp_path))
    assert histogram.tensor.tensor_content == np.array([1.0, 1.0, 2.0]).tobytes()
    assert image.tensor.string_val[:2] == [b"2", b"2"]


def test_arrays_may_change_after_the_call(tmp_path: Path) -> None:
    weights = np.array([1.0])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", weights)
        weights[0] = 9.0
    (event,) = events(tmp_path)
    assert event.summary.value[0].tensor.tensor_content == np.array([1.0, 1.0, 1.0]).tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_writes_a_file_of_its_own(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("parent", 1.0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        writer.add_scalar("child", 2.0, 2)
        writer.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.add_scalar("parent", 3.0, 3)
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert sorted(scalars(tmp_path)) == [("child", 2, 2.0), ("parent", 1, 1.0), ("parent", 3, 3.0)]


def test_what_is_not_closed_is_written_at_exit(tmp_path: Path) -> None:
    script = (
        "import sys; from stepscope.summary import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "for step in range(1000): writer.add_scalar('t', step, step)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert scalars(tmp_path) == [("t", step, step) for step in range(1000)]


def test_the_folder_under_either_name(tmp_path: Path) -> None:
    with SummaryWriter(logdir=tmp_path / "run") as writer:
        assert writer.get_logdir() == str(tmp_path / "run")
    with pytest.raises(TypeError, match="log_dir and logdir are two names of one argument"):
        SummaryWriter("a", logdir="b")


def test_tensors_of_pytorch_in_every_kind(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = torch.rand(1, 4, 3, requires_grad=True)
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("video", torch.rand(1, 2, 3, 4, 4))
        writer.add_image_with_boxes("boxes", torch.rand(3, 8, 8), torch.tensor([[1, 1, 5, 5]]))
        writer.add_audio("audio", torch.linspace(-1, 1, 10)[None])
        writer.add_pr_curve("pr", torch.tensor([0, 1]), torch.tensor([0.1, 0.9]))
        writer.add_mesh("mesh", rows, faces=torch.tensor([[[0, 1, 2]]]))
        writer.add_tensor("tensor", torch.ones(2, dtype=torch.bfloat16))
        writer.add_embedding(rows[0], torch.arange(4), torch.rand(4, 3, 2, 2))
        writer.add_hparams({"lr": torch.tensor(0.5)}, {"loss": torch.tensor(0.25)}, run_name="trial")
    snapshot = open_logdir(tmp_path)
    kinds = {series.tag: series.kind for series in snapshot.runs["."].series.values()}
    assert kinds == {
        "video": "images",
        "boxes": "images",
        "audio": "audio",
        "pr": "pr_curves",
        "mesh_VERTEX": "mesh",
        "mesh_FACE": "mesh",
        "tensor": "tensor",
    }
    read = snapshot.runs["."].series["mesh_VERTEX"].read(0).rows
    assert read.tolist() == rows.tolist()
    assert snapshot.runs["trial"].series["loss"].values.tolist() == [0.25]
    assert (tmp_path / "00000" / "default" / "metadata.tsv").read_text() == "0\n1\n2\n3\n"
