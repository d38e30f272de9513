"""What a writer does when the disk refuses, the process is killed, or the machine may lose power."""

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.proto.event_pb2 import Event

REPOSITORY = Path(__file__).resolve().parents[2]


def steps(folder: Path) -> list[int]:
    """The steps of the tag "t", read by a reader that stops at the first damaged record."""
    found = []
    for path in sorted(folder.glob("events*")):
        events = (Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load())
        found += [event.step for event in events if event.WhichOneof("what") == "summary"]
    return found


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_what_was_flushed_outlives_the_process(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from stepscope.summary import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "for step in range(10_000): writer.add_scalar('t', step, step)\n"
        "writer.add_text('note', 'x' * 100_000)\n"
        "writer.flush()\n"
        "for step in range(10_000, 300_000): writer.add_scalar('t', step, step)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert run(script, tmp_path).returncode == -signal.SIGKILL
    snapshot = open_logdir(tmp_path)
    points = snapshot.runs["."].series["t"]
    assert len(points.steps) >= 10_000
    assert points.steps.tolist() == points.values.tolist() == list(range(len(points.steps)))
    assert [file.damages for file in snapshot.health] == [()]
    assert len(snapshot.runs["."].series["note/text_summary"].read(0).strings.item()) == 100_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A 64 kB file system."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(40_960))
    writer = SummaryWriter(small_disk / "run")
    for step in range(1000):
        writer.add_scalar("t", step, step)
    with pytest.raises(
        OSError, match=r"No space left on device; not in the file yet: [\d,]+ events \([\d,]+ bytes\)"
    ) as full:
        writer.flush()
    assert full.value.errno == errno.ENOSPC
    written = len(steps(small_disk / "run"))
    assert f"{1000 - written:,} events" in str(full.value)
    with pytest.raises(OSError, match="No space left on device"):
        writer.close()
    ballast.unlink()
    writer.close()
    assert steps(small_disk / "run") == list(range(1000))


def test_a_file_that_may_grow_no_further() -> None:
    """Runs in a process of its own, because the limit applies to all of its files."""
    script = (
        "import resource, sys, tempfile; from pathlib import Path; from stepscope.summary import SummaryWriter\n"
        "folder = tempfile.mkdtemp()\n"
        "writer = SummaryWriter(folder)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))\n"
        "for step in range(1000): writer.add_scalar('t', step, step)\n"
        "try: writer.flush()\n"
        "except OSError as error: print(error.strerror)\n"
        "(file,) = Path(folder).iterdir(); print(file.stat().st_size)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "writer.close(); print(folder)\n"
    )
    done = run(script)
    assert done.stderr == ""
    reason, size, folder = done.stdout.splitlines()
    assert reason.startswith("File too large; ")
    assert reason.endswith("; the next call will retry")
    assert size == "5000"
    assert steps(Path(folder)) == list(range(1000))


def test_at_exit_a_person_is_told_what_is_lost() -> None:
    script = (
        "import resource, tempfile; from stepscope.summary import SummaryWriter\n"
        "writer = SummaryWriter(tempfile.mkdtemp())\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))\n"
        "for step in range(1000): writer.add_scalar('t', step, step)\n"
    )
    (reported,) = run(script).stderr.splitlines()
    assert reported.startswith("stepscope: ")
    assert "File too large" in reported
    assert "events (" in reported
    assert reported.endswith("the program is exiting, so they are lost")


def test_no_more_is_taken_than_memory_should_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.summary.event_file_writer._MOST_EVENT_BYTES", 2000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = SummaryWriter(tmp_path)
    taken: list[int] = []
    refusals: list[str] = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        for step in range(200):
            try:
                writer.add_scalar("t", step, step)
                writer.flush()
            except OSError as error:
                refusals.append(str(error))
            if not refusals or "not taken" not in refusals[-1]:
                taken.append(step)
        with pytest.raises(OSError, match="not taken, for lack of room: File too large"):
            writer.add_text("note", "x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(taken) < 60
    writer.close()
    assert steps(tmp_path) == taken


def test_a_folder_without_permission(tmp_path: Path) -> None:
    script = (
        "import os, sys; from stepscope.summary import SummaryWriter\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try: SummaryWriter(sys.argv[1] + '/run')\n"
        "except PermissionError as error: print(error.strerror, error.filename)\n"
    )
    tmp_path.chmod(0o555)
    done = run(script, tmp_path)
    assert done.stderr == ""
    assert done.stdout.startswith("Permission denied")


def test_fsync_reaches_the_disk_before_flush_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def recorded(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not say what a file descriptor is")
    monkeypatch.setattr(os, "fsync", recorded)
    writer = SummaryWriter(tmp_path, fsync=True)
    (path,) = map(str, tmp_path.iterdir())
    writer.add_scalar("t", 1.0, 1)
    writer.flush()
    assert synced == [path, str(tmp_path)]
    writer.add_scalar("t", 2.0, 2)
    writer.close()
    assert synced == [path, str(tmp_path), path]
    with SummaryWriter(tmp_path / "plain") as plain:
        plain.add_scalar("t", 1.0, 1)
        plain.flush()
    assert len(synced) == 3


def test_a_disk_that_fails_to_sync_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken: Any = OSError(errno.EIO, "Input/output error")
    writer = SummaryWriter(tmp_path, fsync=True)
    writer.add_scalar("t", 1.0, 1)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(broken))
        with pytest.raises(OSError, match="Input/output error"):
            writer.flush()
    writer.close()
    assert steps(tmp_path) == [1]


def test_a_call_that_raised_for_a_full_disk_has_taken_nothing(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(40_960))
    writer = SummaryWriter(small_disk / "run", flush_secs=0)
    refusals: list[str] = []
    for step in range(1000):
        while True:
            try:
                writer.add_scalar("t", step, step)
            except OSError as error:
                refusals.append(error.strerror or "")
                if len(refusals) == 3:
                    ballast.unlink()
            else:
                break
        if len(refusals) < 3:
            with contextlib.suppress(OSError):
                writer._main._ask("flush")
    writer.close()
    assert [reason.partition(";")[0] for reason in refusals] == ["not taken: No space left on device"] * 3
    assert steps(small_disk / "run") == list(range(1000))


def test_of_numbers_that_belong_together_all_are_taken_or_none(tmp_path: Path) -> None:
    (tmp_path / "loss_b").touch()
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(OSError, match="loss_b"):
            writer.add_scalars("loss", {"a": 1.0, "b": 2.0}, 1)
        (tmp_path / "loss_b").unlink()
        writer.add_scalars("loss", {"a": 1.0, "b": 2.0}, 2)
    assert [steps(tmp_path / run) for run in ("loss_a", "loss_b")] == [[2], [2]]


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be removed here")
def test_a_folder_that_is_removed_while_it_is_written_to(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path / "run")
    for step in range(3):
        writer.add_scalar("t", step, step)
    writer.flush()
    shutil.rmtree(tmp_path / "run")
    writer.add_scalar("t", 3.0, 3)
    with pytest.warns(RuntimeWarning, match=r"run/events.* was removed .* and the 3 events in it are gone"):
        writer.flush()
    assert steps(tmp_path / "run") == [3]
    # If nothing is waiting, no new file is begun until something arrives.
    shutil.rmtree(tmp_path / "run")
    with pytest.warns(RuntimeWarning, match="the 1 event in it is gone"):
        writer.flush()
    assert os.listdir(tmp_path) == []
    writer.add_scalar("t", 4.0, 4)
    writer.close()
    assert steps(tmp_path / "run") == [4]


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be renamed here")
def test_a_folder_that_is_renamed_while_it_is_written_to(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path / "run")
    writer.add_scalar("t", 0.0, 0)
    writer.flush()
    (tmp_path / "run").rename(tmp_path / "other")
    writer.add_scalar("t", 1.0, 1)
    writer.close()
    assert steps(tmp_path / "other") == [0, 1]
    assert os.listdir(tmp_path) == ["other"]
