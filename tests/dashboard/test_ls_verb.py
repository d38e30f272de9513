import json
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from rich.text import Text

from stepscope.dashboard.cli.main import main
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame


def write(folder: Path, *points: tuple[str, int, float]) -> None:
    """Scalars as tag, step and wall time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "events.out.tfevents.1").open("ab") as stream:
        for tag, step, wall_time in points:
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=1.0)])
            stream.write(frame(Event(wall_time=wall_time, step=step, summary=summary).SerializeToString()))


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TZ", "UTC-02:00")
    time.tzset()
    write(tmp_path / "slow", ("loss", 1, 1.7e9), ("loss", 200, 1.7e9 + 60), ("acc", 1, 1.7e9 + 3723.5))
    write(tmp_path / "fast", ("loss", 1, 1.7e9 + 5))
    file = tmp_path / "fast" / "events.out.tfevents.1"
    content = file.read_bytes()
    file.write_bytes(content + bytes([content[0]]) + content[1:-1] + b"\0")
    yield tmp_path
    monkeypatch.undo()
    time.tzset()


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["ls", *arguments]) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_the_runs_with_tabs_between_the_columns(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [str((logdir / run / "events.out.tfevents.1").stat().st_size) for run in ("slow", "fast")]
    assert lines(capsys, "--logdir", str(logdir)) == [
        ["run", "tags", "points", "last_step", "start", "duration", "size", "superseded", "writers", "damages"],
        ["slow", "2", "3", "200", "2023-11-15 00:13:20+02:00", "3723.5", sizes[0], "0", "1", "0"],
        ["fast", "1", "1", "1", "2023-11-15 00:13:25+02:00", "0.0", sizes[1], "0", "1", "1"],
    ]


def test_the_tags_of_the_runs(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, "--logdir", str(logdir), "--tags") == [
        ["run", "tag", "kind", "points", "last_step", "start", "duration", "superseded", "writers"],
        ["slow", "loss", "scalars", "2", "200", "2023-11-15 00:13:20+02:00", "60.0", "0", "1"],
        ["slow", "acc", "scalars", "1", "1", "2023-11-15 01:15:23+02:00", "0.0", "0", "1"],
        ["fast", "loss", "scalars", "1", "1", "2023-11-15 00:13:25+02:00", "0.0", "0", "1"],
    ]


@pytest.mark.parametrize(
    ("order", "runs"),
    [
        ([], ["slow", "fast"]),
        (["--reverse"], ["fast", "slow"]),
        (["--sort", "run"], ["fast", "slow"]),
        (["--sort", "points"], ["fast", "slow"]),
        (["--sort", "points", "--reverse"], ["slow", "fast"]),
        (["--sort", "damages"], ["slow", "fast"]),
    ],
)
def test_the_order(logdir: Path, order: list[str], runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert [line[0] for line in lines(capsys, "--logdir", str(logdir), *order)[1:]] == runs


def test_runs_without_points_come_last_either_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "full", ("loss", 3, 1.0))
    (tmp_path / "bare").mkdir()
    session = Event(wall_time=2.0, file_version="brain.Event:2")
    (tmp_path / "bare" / "events.out.tfevents.1").write_bytes(frame(session.SerializeToString()))
    for order in ([], ["--reverse"]):
        found = lines(capsys, "--logdir", str(tmp_path), "--sort", "last_step", *order)[1:]
        assert [(line[0], line[3]) for line in found] == [("full", "3"), ("bare", "")]


def test_json_has_seconds(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["ls", "--logdir", str(logdir), "--json", "--sort", "run"])
    fast, slow = json.loads(capsys.readouterr().out)
    assert slow == {
        "run": "slow",
        "tags": 2,
        "points": 3,
        "last_step": 200,
        "start": 1.7e9,
        "duration": 3723.5,
        "size": (logdir / "slow" / "events.out.tfevents.1").stat().st_size,
        "superseded": 0,
        "writers": 1,
        "damages": 0,
    }
    assert fast["damages"] == 1


def terminal_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, logdir: Path, *options: str, width: int = 100
) -> list[str]:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    main(["ls", "--logdir", str(logdir), *options])
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out
    return [line.rstrip() for line in Text.from_ansi(out).plain.splitlines()]


def test_a_terminal_gets_aligned_columns_and_units(
    logdir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logdir / "s\x1b[2J", *(("loss", step, 1.8e9) for step in range(1500)))
    sizes = [(logdir / run / "events.out.tfevents.1").stat().st_size for run in ("slow", "fast")]
    assert terminal_lines(capsys, monkeypatch, logdir) == [
        "run       tags  points  last step             start  duration     size  damages",
        f"slow         2       3        200  2023-11-15 00:13   1:02:04    {sizes[0]} B        0",
        f"fast         1       1          1  2023-11-15 00:13   0:00:00     {sizes[1]} B        1",
        "s\\x1b[2J     1   1,500      1,499  2027-01-15 10:00   0:00:00  64.4 kB        0",
    ]


def test_a_narrow_terminal_gets_the_columns_in_parts_with_the_runs_before_each(
    logdir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [(logdir / run / "events.out.tfevents.1").stat().st_size for run in ("slow", "fast")]
    assert terminal_lines(capsys, monkeypatch, logdir, width=60) == [
        "run   tags  points  last step             start  duration",
        "slow     2       3        200  2023-11-15 00:13   1:02:04",
        "fast     1       1          1  2023-11-15 00:13   0:00:00",
        "",
        "run    size  damages",
        f"slow  {sizes[0]} B        0",
        f"fast   {sizes[1]} B        1",
    ]
    (logdir / "slow").rename(logdir / ("slow_" * 8))
    assert terminal_lines(capsys, monkeypatch, logdir, "--tags", "--sort", "tag", width=50) == [
        "run               tag   kind     points  last step",
        "slow_slow_slow_s  acc   scalars       1          1",
        "low_slow_slow_sl",
        "ow_slow_",
        "slow_slow_slow_s  loss  scalars       2        200",
        "low_slow_slow_sl",
        "ow_slow_",
        "fast              loss  scalars       1          1",
        "",
        "run                                start  duration",
        "slow_slow_slow_slow_sl  2023-11-15 01:15   0:00:00",
        "ow_slow_slow_slow_",
        "slow_slow_slow_slow_sl  2023-11-15 00:13   0:01:00",
        "ow_slow_slow_slow_",
        "fast                    2023-11-15 00:13   0:00:00",
    ]


def test_an_empty_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["ls", "--logdir", str(tmp_path)]
    assert main([*given, "--json"]) == 0
    assert capsys.readouterr() == ("[]\n", f"No runs in {tmp_path}.\n")
    assert main([*given, "--tags"]) == 0
    assert capsys.readouterr() == (
        "run\ttag\tkind\tpoints\tlast_step\tstart\tduration\tsuperseded\twriters\n",
        f"No tags in {tmp_path}.\n",
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(given) == 0
    assert capsys.readouterr() == ("", f"No runs in {tmp_path}.\n")


@pytest.mark.parametrize("command", [["ls"], ["inspect"], ["export"], ["debug"]])
def test_an_address_at_which_nothing_exists(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--logdir", "memory://nowhere/runs"]) == 2
    assert capsys.readouterr() == (
        "",
        "stepscope: memory://nowhere/runs does not exist; expected an address that holds runs.\n"
        "Check the address, and that you may read it.\n",
    )


def test_an_address_of_an_empty_folder(capsys: pytest.CaptureFixture[str]) -> None:
    fsspec.filesystem("memory").makedirs("/bare/runs")
    assert main(["ls", "--logdir", "memory://bare/runs", "--json"]) == 0
    assert capsys.readouterr() == ("[]\n", "No runs in memory://bare/runs.\n")


def test_a_column_that_the_list_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--logdir", str(tmp_path), "--sort", "kind"]) == 2
    assert "--sort is kind; expected, without --tags, run, tags, points" in capsys.readouterr().err
