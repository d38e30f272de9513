"""``stepscope analyze``: what it prints, what it fails on, and what it says of bad input."""

import json
from pathlib import Path

import pytest

from dashboard.cli import main
from profiler.analysis.report import CHANGES, DIGEST, RANK_TABLES, TABLES
from tests.profiler.analysis.kineto import Event, operator
from tests.profiler.analysis.test_device import GEMM, events


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "small.pt.trace.json", events())


def write(path: Path, found: list[Event]) -> str:
    path.write_text(json.dumps({"traceEvents": found}))
    return str(path)


def test_the_digest(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path]) == 0
    text = capsys.readouterr().out
    assert f"{path}: 17 slices, 2 steps" in text
    assert "problem Steps wait for input" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "step_time 100 us mean duration of a step" in lines
    assert "kernel 37 us 37.00%" in lines
    assert f"{GEMM} kernel yes 2 60 us 30 us 30 us 30 us 0 ns 77.92% 1.25 60.00%" in lines
    for name in DIGEST:
        assert name == "findings" or f"\n{name}\n" in text


def test_tables_as_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["analyze", path, "--json", "--table", "memcpys", "--table", "steps", "--fail-if", "gpu_idle > 50%"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    (only,) = found["traces"]
    assert (only["path"], only["slices"], only["losses"]) == (path, 17, {"counts": {}, "notes": []})
    assert only["tables"]["memcpys"] == [
        {
            "direction": "DtoH",
            "memory": "pageable",
            "count": 1,
            "bytes": 1000,
            "total_ns": 10000,
            "mean_ns": 10000.0,
            "max_ns": 10000,
            "gb_per_s": 0.1,
        }
    ]
    assert [row["kernel_ns"] for row in only["tables"]["steps"]] == [37000]
    assert found["fail_if"] == {"condition": "gpu_idle > 50%", "failed": []}


def test_every_table_is_printed(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path, path, "--before", path, "--table", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    changes = [f"changed_{what}" for what in CHANGES]
    assert [list(each["tables"]) for each in found["traces"]] == [[*TABLES, *changes]] * 2
    assert list(found["tables"]) == list(RANK_TABLES)
    assert main(["analyze", path, "--table", "all", "--top", "0"]) == 0
    assert "critical_path_parts" in capsys.readouterr().out


def test_the_condition_decides_the_exit_code(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", path, "--table", "steps", "--fail-if", "dataloader >= 20% and step_time < 1 s"]) == 1
    assert "dataloader is 20.00%, step_time is 100 us" in capsys.readouterr().err
    assert main(["analyze", path, "--table", "steps", "--fail-if", "dataloader > 20%"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-if", "gpu_idel > 1"], "no metric 'gpu_idel'"),
        (["--fail-if", "memory_peak > 1 GB"], "does not tell memory_peak"),
        (["--table", "kernel"], "--table kernel: there is no such table; expected one of overview, "),
        (["--table", "ranks"], "it needs several traces"),
        (["--table", "changed_steps"], "it needs --before"),
        (["--before", "/nowhere/x"], "/nowhere/x cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said(
    path: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["analyze", path, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_is_no_trace_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert main(["analyze", str(tmp_path / "notes.txt")]) == 2
    assert "notes.txt is no trace" in capsys.readouterr().err


def test_names_from_traces_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "x.json", [operator("\x1b[31m[bold]evil", 0, 10)])
    assert main(["analyze", path]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\\x1b[31m[bold]evil" in text
