"""The digest of event files, compared with that of ``tensorboard --inspect``."""

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing import event_file_inspector
from tensorboard.compat import tf

from stepscope.summary.inspection import SingleFile, inspect, steps_that_go_back, text_of, text_of_files
from stepscope.summary.local_source import LocalSource
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame


def tensorboard_text(logdir: str = "", event_file: str = "", tag: str = "") -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        event_file_inspector.inspect(logdir, event_file, tag)
    return out.getvalue()


def our_text(logdir: Path, tag: str = "") -> str:
    return text_of(inspect(LocalSource(logdir), only_tag=tag), str(logdir), only_tag=tag)


@pytest.fixture(autouse=True)
def _folders_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    # TensorBoard walks folders in whatever order the file system returns.
    monkeypatch.setattr(tf.io.gfile, "listdir", lambda path: sorted(os.listdir(path)))


def write(file: Path, *events: Event) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(frame(event.SerializeToString()) for event in events))


def scalar(step: int, *tags: str) -> Event:
    return Event(step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=1.0) for tag in tags]))


@pytest.mark.peers
@pytest.mark.parametrize(
    "folder", [f"{place}{name}" for place in ("", "pack/") for name in ("tensorflow1", "tensorflow2", "torch")]
)
def test_the_text_on_logs_of_other_writers_is_tensorboards(peer: Callable[[str], Path], folder: str) -> None:
    logdir = peer(folder)
    assert our_text(logdir) == tensorboard_text(str(logdir))


@pytest.mark.peers
@pytest.mark.parametrize(
    ("folder", "tag"),
    [
        (f"{place}{name}", tag)
        for place in ("", "pack/")
        for name, tag in (("torch", "loss/train"), ("tensorflow2", "note"), ("torch", "absent"))
    ],
)
def test_the_text_on_one_tag_is_tensorboards(peer: Callable[[str], Path], folder: str, tag: str) -> None:
    logdir = peer(folder)
    assert our_text(logdir, tag) == tensorboard_text(str(logdir), tag=tag)


@pytest.mark.peers
@pytest.mark.parametrize("logdir", ["tensorflow1/logdir", "pack/tensorflow1/logdir"])
def test_the_text_on_one_file_is_tensorboards(peer: Callable[[str], Path], logdir: str) -> None:
    (file,) = peer(logdir).iterdir()
    assert text_of(inspect(SingleFile(str(file))), "") == tensorboard_text(event_file=str(file))


def test_sessions_graphs_and_steps_out_of_order_are_told_as_tensorboard_does(tmp_path: Path) -> None:
    def session(status: SessionLog.SessionStatus, step: int) -> Event:
        return Event(step=step, session_log=SessionLog(status=status))

    write(
        tmp_path / "b" / "events.out.tfevents.1",
        session(SessionLog.START, 0),
        Event(step=0, graph_def=b"graph"),
        scalar(5, "x", "y"),
        scalar(3, "x"),
        session(SessionLog.CHECKPOINT, 4),
        session(SessionLog.START, 2),
        scalar(-1, ""),
        session(SessionLog.STOP, 9),
        Event(step=1, file_version="brain.Event:2"),
    )
    write(tmp_path / "b" / "events.out.tfevents.2", scalar(4, "z"))
    write(tmp_path / "a b" / "events.out.tfevents.1")
    write(tmp_path / "a b" / "c" / "x.tfevents.profile-empty")
    assert our_text(tmp_path) == tensorboard_text(str(tmp_path))


def test_a_directory_without_event_files_is_told_as_tensorboard_does(tmp_path: Path) -> None:
    assert our_text(tmp_path) == tensorboard_text(str(tmp_path))


def test_records_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    large = Summary.Value(tag="i", image=Summary.Image(encoded_image_string=bytes(20 << 20)))
    write(
        tmp_path / "events.out.tfevents.1",
        scalar(1, "x"),
        Event(step=2, summary=Summary(value=[large])),
        scalar(3, "x"),
    )
    (found,) = inspect(LocalSource(tmp_path))
    assert (found.observations.steps["scalars"], found.observations.steps["images"]) == ([1, 3], [2])


def test_what_is_skipped_truncated_and_superseded_is_told_with_offset_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1"
    write(file, *(scalar(step, "x") for step in (1, 2, 3, 2)))
    content = bytearray(file.read_bytes())
    record = len(content) // 4
    content[20] ^= 1
    file.write_bytes(content + content[:7])
    inspected = inspect(LocalSource(tmp_path))
    assert inspected[0].observations.steps["scalars"] == [2, 3, 2]
    assert text_of_files(inspected) == (
        f"Event files in {tmp_path}/run:\n"
        "run/events.out.tfevents.1\n"
        f"   bytes_read           {4 * record} of {4 * record + 7}\n"
        "   records              3\n"
        "   skipped              1\n"
        f"   skipped_bytes        {record}\n"
        f"      at byte 0, {record} bytes: the CRC of a record's data does not match\n"
        "   superseded           2\n"
        f"   truncated_tail       at byte {4 * record}, 7 bytes: the file ends inside a record\n"
        f"{'=' * 70}\n\n"
    )


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6), st.integers(0, 400))
def test_what_is_counted_of_a_damaged_file_is_what_readers_see(changes: list[tuple[int, int]], length: int) -> None:
    content = bytearray(b"".join(frame(scalar(step, "x").SerializeToString()) for step in range(1, 12)))
    for at, byte in changes:
        content[at % len(content)] = byte
    with TemporaryDirectory() as folder:
        (Path(folder) / "events.out.tfevents.1").write_bytes(content[:length])
        (found,) = inspect(LocalSource(Path(folder)))
        series = open_logdir(folder, keep_superseded=True).series(".", "x")
    assert found.observations.steps["scalars"] == ([] if series is None else series.steps.tolist())


def test_a_file_of_any_name_is_inspected_and_its_neighbors_are_not(tmp_path: Path) -> None:
    write(tmp_path / "saved[1].bin", scalar(1, "x"))
    write(tmp_path / "events.out.tfevents.9", scalar(2, "y"))
    given = str(tmp_path / "saved[1].bin")
    (found,) = inspect(SingleFile(given))
    assert (found.name, found.observations.sorted_tags()["scalars"]) == (given, ["x"])
    assert [(file.path, file.records) for file in found.files] == [(given, 1)]


def test_steps_that_go_back() -> None:
    assert steps_that_go_back([]) == []
    assert steps_that_go_back([1, 1, 3, 2, 5, 0]) == [(3, 2), (5, 0)]
