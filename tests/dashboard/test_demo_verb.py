"""``stepscope demo``: the sample logs, wherever the package is installed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from stepscope.dashboard.cli.demo import put_samples
from stepscope.dashboard.cli.main import main

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_demo_serves_every_sample_run_from_a_copy_that_goes_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stepscope", "demo", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            # The last line of a start, printed once everything has been read.
            found = next(line for line in server.stdout if " event files" in line)
            assert " 23 runs, " in found
            with urlopen(f"{url}data/runs") as answer:
                assert len(json.load(answer)) == 23
        finally:
            server.send_signal(signal.SIGINT)
    assert list(tmp_path.glob("stepscope-demo-*")) == []


def test_sample_logs_are_copied_once(tmp_path: Path) -> None:
    put_samples(tmp_path)
    (changed,) = (tmp_path / "digits" / "sweep" / "00").iterdir()
    changed.unlink()
    put_samples(tmp_path)
    assert not changed.exists()
    assert {path.name for path in (tmp_path / "digits").iterdir()} == {
        path.name for path in (REPOSITORY / "sample_logs" / "digits").iterdir()
    }


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    assert main(["demo", "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"stepscope: --folder {tmp_path} has other files in it, and no sample logs; expected a new or an empty "
        "folder.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--folder", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("stepscope: The sample logs cannot be written to ")
    # Like a folder that may not be searched, such a name fails in every look at it.
    folder = tmp_path / ("x" * 300)
    assert main(["demo", "--folder", str(folder)]) == 2
    assert capsys.readouterr().err == f"stepscope: The sample logs cannot be written to {folder}: File name too long.\n"
