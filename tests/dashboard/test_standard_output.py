"""What verbs do when standard output does not take everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.summary.graphs.files import binary_of
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = "Expected a terminal, a pipe, or a file on a disk that has room for all of it."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    summary = Summary(value=[Summary.Value(tag="loss", simple_value=1.0)])
    (tmp_path / "logs" / "events.out.tfevents.1").write_bytes(
        b"".join(frame(Event(step=step, summary=summary).SerializeToString()) for step in range(1000))
    )
    (tmp_path / "graph.pb").write_bytes(binary_of(GraphDef(node=[NodeDef(name="a", op="Const")])))
    node = NodeExecStats(node_name="x", all_start_micros=1, all_end_rel_micros=9)
    stats = StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0", node_stats=[node])])
    (tmp_path / "stats.pb").write_bytes(stats.SerializeToString())
    return tmp_path


def in_shell(folder: Path, script: str, *command: str, unbuffered: str = "") -> tuple[str, int]:
    """Run a script in which "$@" is the command; return its errors and its exit code."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUNBUFFERED": unbuffered,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    arguments = ["sh", "-c", script, "sh", sys.executable, "-m", "stepscope", *command]
    ended = subprocess.run(arguments, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    return ended.stderr, ended.returncode


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    "command", [["ls", "logs"], ["export", "logs"], ["pb2text", "graph.pb"], ["--help"]], ids=" ".join
)
def test_a_full_disk(folder: Path, command: list[str]) -> None:
    said = f"stepscope: standard output cannot be written: No space left on device. {EXPECTED}\n"
    assert in_shell(folder, '"$@" > /dev/full', *command) == (said, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit to the size of files")
def test_unbuffered_output_is_not_cut_silently(folder: Path) -> None:
    said = f"stepscope: standard output cannot be written: File too large. {EXPECTED}\n"
    script = 'ulimit -f 8; "$@" > cut.csv'
    assert in_shell(folder, script, "export", "logs", unbuffered="1") == (said, 2)
    assert 0 < (folder / "cut.csv").stat().st_size < 10_000


@pytest.mark.parametrize(
    "command",
    [
        ["ls", "logs"],
        ["ls", "--tags", "--json", "logs"],
        ["inspect", "logs"],
        ["export", "logs"],
        ["timeline", "stats.pb", "-o", "-"],
        ["analyze", "stats.pb"],
        ["graph", "graph.pb", "--logdir", "graphs"],
        ["pb2text", "graph.pb"],
        ["plugins"],
        ["warm-up"],
    ],
    ids=" ".join,
)
def test_a_closed_output(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("stepscope.dashboard.cli.warm_up.WARMERS", {})
    monkeypatch.setattr(sys, "stdout", None)
    assert main(command) == 2
    assert capsys.readouterr().err == f"stepscope: standard output cannot be written: it is closed. {EXPECTED}\n"
