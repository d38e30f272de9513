import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.dashboard.server import temporary_folders
from stepscope.dashboard.server.temporary_folders import OwnedFolder, sweep

SERVER = """
import sys
from stepscope.dashboard.embeddings.point_files import PointFiles
from stepscope.dashboard.embeddings.uploads import Uploads
import numpy as np
uploads, points = Uploads(), PointFiles()
upload = uploads.begin("points.npy")
upload.write(b"half a file")
points.hold("job", "points", lambda: np.zeros((3, 2), np.float32))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in folder.glob("stepscope-*"))


def test_what_a_killed_server_left_is_deleted_at_the_next_start_and_what_a_living_one_has_is_not(
    temporary: Path,
) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    servers = [
        subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        for _ in range(2)
    ]
    killed, living = servers
    try:
        for server in servers:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
        both = ["stepscope-dropped", "stepscope-points"]
        assert names(temporary) == sorted(2 * both)
        sweep()
        assert names(temporary) == sorted(2 * both)
        killed.kill()
        killed.wait()
        assert names(temporary) == sorted(2 * both)
        sweep()
        assert names(temporary) == both
        living.communicate()
        assert names(temporary) == []
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def test_a_server_sweeps_when_it_starts(temporary: Path) -> None:
    left = temporary / "stepscope-dropped-left"
    left.mkdir()
    (left / ".lock").touch()
    (left / "upload.npy").write_bytes(b"x")
    logs = temporary / "logs"
    logs.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "--logdir", str(logs), "--port", "0", "--no-cache"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        while left.exists():
            assert server.poll() is None
            os.sched_yield()
    finally:
        server.kill()
        server.wait()


def test_a_folder_is_there_until_it_is_closed(temporary: Path) -> None:
    folder = OwnedFolder("points")
    (folder.path / "file").write_bytes(b"x")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    sweep()
    assert (folder.path / "file").read_bytes() == b"x"
    folder.close()
    folder.close()
    assert list(temporary.iterdir()) == []


def test_only_own_folders_are_deleted(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = temporary / "outside"
    outside.mkdir()
    (outside / ".lock").touch()
    (temporary / "stepscope-points-link").symlink_to(outside)
    within = temporary / "stepscope-points-within"
    within.mkdir()
    (within / ".lock").symlink_to(outside / ".lock")
    (temporary / "stepscope-points-file").touch()
    old, new = (temporary / f"stepscope-dropped-{age}" for age in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    foreign = temporary / "stepscope-points-foreign"
    foreign.mkdir()
    (foreign / ".lock").touch()
    stranger = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: stranger)
    sweep()
    assert foreign.exists()
    assert old.exists()
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    sweep()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "outside",
        "stepscope-dropped-new",
        "stepscope-points-file",
        "stepscope-points-link",
        "stepscope-points-within",
    ]
    assert (outside / ".lock").exists()


@pytest.mark.parametrize("moment", ["before it has the lock", "after it has the lock"])
def test_a_server_that_starts_while_another_sweeps_has_a_folder(
    moment: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[[int], bool] = temporary_folders._take
    seen: list[Path] = []

    def take(file: int) -> bool:
        monkeypatch.setattr(temporary_folders, "_take", real)
        seen.extend(temporary.glob("stepscope-points-*"))
        if moment.startswith("before"):
            sweep()
        else:
            # A sweeper that saw the folder earlier deletes it now.
            (seen[0] / ".lock").unlink()
            seen[0].rmdir()
        return real(file)

    monkeypatch.setattr(temporary_folders, "_take", take)
    folder = OwnedFolder("points")
    assert seen
    assert not seen[0].exists()
    assert [*temporary.iterdir()] == [folder.path]
    sweep()
    assert folder.path.exists()
    folder.close()
