"""``stepscope convert``: which file it writes, what it reports, and what it refuses."""

import gzip
import json
import os
import stat
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest

from stepscope.dashboard.cli.main import main
from stepscope.profiler.traces import load_trace
from stepscope.profiler.traces.compression import zstd_compress
from stepscope.profiler.traces.limits import Limits
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import StepStats

EVENTS = [
    {"ph": "X", "name": "op", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {"a": 1}},
    {"ph": "X", "name": "kernel", "cat": "kernel", "pid": 0, "tid": 7, "ts": 3, "dur": 2, "args": {"grid": [1, 1, 1]}},
    {"ph": "C", "name": "memory", "pid": 1, "ts": 2, "args": {"used": 3}},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 9},
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps(EVENTS))
    return path


@pytest.mark.parametrize("name", ["b.json", "b.json.gz", "b.json.zst", "b.pb", "b.step_stats.pb", "b.sstrace"])
def test_the_ending_says_the_format(trace: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / name
    assert main(["convert", str(trace), "-o", str(output)]) == 0
    content = output.read_bytes()
    magic = {
        "b.json": b"{",
        "b.json.gz": b"\x1f\x8b",
        "b.json.zst": b"\x28\xb5\x2f\xfd",
        "b.sstrace": b"stepscope trace",
    }
    assert content.startswith(magic.get(name, b""))
    if name == "b.pb":
        assert len(RunMetadata.FromString(content).step_stats.dev_stats) == 3
    if name == "b.step_stats.pb":
        assert len(StepStats.FromString(content).dev_stats) == 3
    found = load_trace(str(output))
    assert sorted(found.names[name_id] for name_id in found.name_id) == ["kernel", "op"]
    assert sorted(found.duration_ns.tolist()) == [2000, 5000]
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        f"Wrote {output}: 2 slices on 2 lanes, {len(content):,} bytes.",
        "Skipped or altered: 1 x end without a begin.",
    ]
    missing = "Not converted, because StepStats cannot hold them: 1 counter, and most arguments."
    assert said[2:] == ([missing] if name.endswith(".pb") else [])


def test_the_format_can_be_named(trace: Path, tmp_path: Path) -> None:
    assert main(["convert", str(trace), "-o", str(tmp_path / "b"), "--to", "cache"]) == 0
    assert (tmp_path / "b").read_bytes().startswith(b"stepscope trace 1\n")


def test_a_fifo_is_written_into(trace: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "b.json"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["convert", str(trace), "-o", str(fifo)]) == 0
        assert b'"kernel"' in os.read(reader, 1 << 16)
    finally:
        os.close(reader)
    assert fifo.is_fifo()


def test_of_a_link_the_file_that_it_points_to_is_replaced(trace: Path, tmp_path: Path) -> None:
    link, target = tmp_path / "b.sstrace", tmp_path / "kept" / "c"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("kept/c")
    assert main(["convert", str(trace), "-o", str(link)]) == 0
    assert link.readlink() == Path("kept/c")
    assert target.read_bytes().startswith(b"stepscope trace 1\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]


def test_traces_can_lie_elsewhere(trace: Path) -> None:
    folder = f"memory://{uuid4().hex}"
    with fsspec.open(f"{folder}/a.json.gz", "wb") as stream:
        stream.write(gzip.compress(trace.read_bytes()))
    assert main(["convert", f"{folder}/a.json.gz", "-o", f"{folder}/b.sstrace"]) == 0
    assert len(load_trace(f"{folder}/b.sstrace")) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.json", "-o", "b.json"], "absent.json cannot be read: No such file or directory."),
        (["a.trace.json", "-o", "b.txt"], "b.txt does not name a format. Expected an extension of .json"),
        (["a.trace.json", "-o", "a.trace.json/b.json"], "a.trace.json/b.json cannot be written: "),
        (
            ["memory://nowhere/a.json", "-o", "b.json"],
            "memory://nowhere/a.json cannot be read: No such file or directory. Expected",
        ),
        (["a.trace.json", "-o", "./a.trace.json"], "./a.trace.json is the input itself, which may hold more than is"),
        (["a.trace.json", "-o", "events.out.tfevents.1.json"], "events.out.tfevents.1.json has the name of an event"),
        (["memory://a/b.json", "-o", "memory://a/b.json"], "memory://a/b.json is the input itself"),
        (["notes.txt", "-o", "b.json"], "notes.txt is not a trace. Expected a Chrome trace"),
        (["empty.zst", "-o", "b.json"], "empty.zst is empty."),
    ],
)
def test_what_cannot_be_done_is_said(
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (tmp_path / "notes.txt").write_text("not a trace")
    (tmp_path / "empty.zst").write_bytes(zstd_compress(b""))
    monkeypatch.chdir(tmp_path)
    before = trace.read_bytes()
    assert main(["convert", *arguments]) == 2
    assert trace.read_bytes() == before
    assert capsys.readouterr().err.startswith(f"stepscope: {message}")


def test_a_file_beyond_the_limit_is_refused(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "a.sstrace"
    assert main(["convert", str(trace), "-o", str(cache)]) == 0
    monkeypatch.setattr(
        "stepscope.profiler.traces.limits_of_memory", lambda: Limits(file_bytes=100, events=1_000, message_bytes=1_000)
    )
    assert main(["convert", str(cache), "-o", str(tmp_path / "b.json")]) == 2
    assert "and was not read: only 0.0 MiB fit in memory" in capsys.readouterr().err


def test_of_a_chrome_trace_beyond_the_limit_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [f'{{"ph":"X","pid":1,"tid":1,"name":"op {at}","ts":{at},"dur":1}}' for at in range(10)]
    path = tmp_path / "large.json"
    path.write_text("[" + ",".join(events) + "]")
    monkeypatch.setattr(
        "stepscope.profiler.traces.limits_of_memory", lambda: Limits(file_bytes=200, events=1_000, message_bytes=1_000)
    )
    trace = load_trace(str(path))
    assert trace.names == ("op 0", "op 1", "op 2")
    assert trace.losses.notes == (
        "only the first 0.0 MiB of the file's 0.0 MiB were read",
        "the first unreadable event is at byte 169",
        "the file ends early: nothing was read from byte 169 of 200",
    )
