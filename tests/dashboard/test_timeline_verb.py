import gzip
import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from stepscope.dashboard.cli.timeline import TimelineVerb
from stepscope.profiler.timeline import chrome_trace
from stepscope.summary.errors import UserError
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

STATS = StepStats(
    dev_stats=[
        DeviceStepStats(
            device="/job:localhost/device:GPU:0",
            node_stats=[
                NodeExecStats(node_name="x", all_start_micros=1, all_end_rel_micros=9, output=[{"slot": 0}]),
                NodeExecStats(node_name="y", all_start_micros=3, all_end_rel_micros=2, timeline_label="y = Neg(x)"),
            ],
        ),
        DeviceStepStats(
            device="/device:GPU:0/stream:all",
            node_stats=[NodeExecStats(node_name="y:Neg", all_start_micros=20, all_end_rel_micros=2)],
        ),
    ]
)


@pytest.fixture
def step_stats(tmp_path: Path) -> Path:
    path = tmp_path / "step_stats.pb"
    path.write_bytes(STATS.SerializeToString())
    return path


def run(*arguments: str | Path) -> int:
    verb, parser = TimelineVerb(), ArgumentParser()
    verb.add_arguments(parser)
    return verb.run(parser.parse_args([str(argument) for argument in arguments]))


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], {}),
        (["--show-memory"], {"show_memory": True}),
        (["--no-dataflow"], {"show_dataflow": False}),
        (["--op-time", "gpu"], {"op_time": "gpu"}),
        (["--op-time", "all", "--show-memory"], {"op_time": "all", "show_memory": True}),
    ],
)
def test_options(step_stats: Path, tmp_path: Path, flags: list[str], options: dict[str, Any]) -> None:
    output = tmp_path / "trace.json"
    assert run(step_stats, "-o", output, *flags) == 0
    assert json.loads(output.read_bytes()) == chrome_trace(STATS, **options)


def test_the_options_make_a_difference() -> None:
    traces = [
        chrome_trace(STATS),
        chrome_trace(STATS, show_memory=True),
        chrome_trace(STATS, show_dataflow=False),
        chrome_trace(STATS, op_time="gpu"),
        chrome_trace(STATS, op_time="all"),
    ]
    assert len({json.dumps(trace) for trace in traces}) == len(traces)


def test_compressed_output(step_stats: Path, tmp_path: Path) -> None:
    output = tmp_path / "trace.json.gz"
    assert run(step_stats, "-o", output) == 0
    assert json.loads(gzip.decompress(output.read_bytes())) == chrome_trace(STATS)


def test_standard_output_holds_the_trace_and_nothing_else(
    step_stats: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(step_stats, "-o", "-") == 0
    written = capsysbinary.readouterr()
    assert json.loads(written.out) == chrome_trace(STATS)
    assert b"Wrote standard output: 10 events" in written.err


def test_a_reader_that_has_enough_ends_the_output_quietly(step_stats: Path, closed_pipe: BinaryIO) -> None:
    command = [sys.executable, "-m", "stepscope", "timeline", str(step_stats), "-o", "-"]
    ended = subprocess.run(
        command, stdout=closed_pipe, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2], check=False
    )
    assert ended.stderr.startswith(b"Wrote standard output: 10 events")
    assert ended.returncode == 0


def test_what_was_written_is_said(step_stats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "trace.json"
    run(step_stats, "-o", output)
    assert capsys.readouterr().err == (
        f"Wrote {output}: 10 events; operations: 3; devices: 2. Open it in Perfetto or chrome://tracing.\n"
    )


def test_an_output_that_cannot_be_written(step_stats: Path, tmp_path: Path) -> None:
    output = tmp_path / "absent" / "trace.json"
    with pytest.raises(UserError, match=re.escape(f"{output} cannot be written: No such file or directory")):
        run(step_stats, "-o", output)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("events.out.tfevents.1", "has the name of an event file; expected another name, such as trace.json.gz"),
        ("step_stats.pb", "is the input itself, which may hold more than is converted; choose another name"),
    ],
)
def test_event_files_and_the_input_are_not_overwritten(
    step_stats: Path, tmp_path: Path, name: str, reason: str
) -> None:
    output = tmp_path / name
    output.write_bytes(STATS.SerializeToString())
    with pytest.raises(UserError, match=re.escape(f"{output} {reason}")):
        run(step_stats, "-o", output)
    assert output.read_bytes() == STATS.SerializeToString()


def test_an_input_that_is_no_step_stats_leaves_no_output(tmp_path: Path) -> None:
    source, output = tmp_path / "notes.txt", tmp_path / "trace.json"
    source.write_text("not a protobuf")
    with pytest.raises(UserError, match=r"notes\.txt holds neither a StepStats nor a RunMetadata"):
        run(source, "-o", output)
    assert not output.exists()
