"""Trace formats are records in one list, to which other distributions can add theirs."""

import gzip
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from stepscope.profiler.trace import Counter, Lane
from stepscope.profiler.traces import READERS, TraceReader, read_trace
from stepscope.profiler.traces.cache import encode_cache
from stepscope.profiler.traces.registry import begins_as_trace
from stepscope.profiler.traces.simple import Slice, trace_of_slices
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats
from tests.extending_chapters import commands_of, install, undocumented_fields
from tests.plugin_distributions import REPOSITORY, run_python, stepscope, write_distribution

CHAPTER = "A trace format"
LANE = Lane("p", "t", 1, 2, "host")
BROKEN = """
import sys
from stepscope.profiler.traces import TraceError, TraceReader
def refuse(*given):
    raise TraceError("It has no laps.")
def fail(*given):
    raise ZeroDivisionError("no time has passed")
def leave(*given):
    sys.exit("no license")
READS = TraceReader(name="reads", about="x", sniff=lambda data: data.startswith(b"reads"), read=fail)
EXITS = TraceReader(name="exits", about="e", sniff=lambda data: data.startswith(b"exits"), read=leave)
RETURNS = TraceReader(name="returns", about="y", sniff=lambda data: data.startswith(b"ret"), read=lambda *given: 3)
SNIFFS = TraceReader(name="sniffs", about="z", sniff=fail, read=fail, suffixes=(".sniffs",))
GREEDY = TraceReader(name="greedy", about="g", sniff=lambda data: data[:1] in b"{\\ns", read=fail)
REFUSES = TraceReader(name="refuses", about="r", sniff=lambda data: data.startswith(b"ref"), read=refuse)
TAKEN = TraceReader(name="chrome", about="c", sniff=fail, read=fail)
"""


@pytest.fixture(scope="module")
def laps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distribution from docs/extending.md, and its file."""
    folder = tmp_path_factory.mktemp("laps")
    install(CHAPTER, folder, "stepscope-laps")
    return folder


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a distribution whose readers all fail, and with files."""
    folder = tmp_path_factory.mktemp("broken")
    names = ("reads", "exits", "returns", "sniffs", "greedy", "refuses", "taken")
    points = {name: f"broken_readers:{name.upper()}" for name in names}
    write_distribution(folder, {"broken_readers": BROKEN}, {"trace_readers": points}, "stepscope-broken")
    for kind in ("reads", "exits", "returns", "refuses"):
        (folder / f"a.{kind}").write_text(kind)
    (folder / "no.sniffs").write_text("nothing")
    event = {"name": "op", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    (folder / "chrome.json").write_text(json.dumps({"traceEvents": [event]}))
    node = NodeExecStats(node_name="op", all_start_micros=1, all_end_rel_micros=2)
    device = DeviceStepStats(device="/job:x/device:CPU:0", node_stats=[node])
    (folder / "stats.pb").write_bytes(StepStats(dev_stats=[device]).SerializeToString())
    (folder / "cache.sstrace").write_bytes(encode_cache(trace_of_slices([Slice("op", 1, 2, LANE)])))
    return folder


def test_a_format_is_one_module_and_one_name_in_the_list() -> None:
    modules = [path.stem for path in (REPOSITORY / "profiler" / "traces").glob("*.py") if path.stem != "__init__"]
    records = {
        each.name: each
        for module in modules
        for each in vars(import_module(f"stepscope.profiler.traces.{module}")).values()
        if isinstance(each, TraceReader)
    }
    assert records == {reader.name: reader for reader in READERS}


def test_every_field_of_the_record_is_documented() -> None:
    assert undocumented_fields("profiler/traces/reader.py", "TraceReader") == []


def test_the_commands_of_the_documentation_read_a_format_of_somebody_else(laps: Path) -> None:
    analyze, convert = (stepscope(laps, *command) for command in commands_of(CHAPTER))
    assert analyze.returncode == 0, analyze.stderr
    assert "train step" in analyze.stdout
    assert convert.stderr.startswith("Wrote epoch.trace.json: 2 slices on 1 lane")
    converted = read_trace((laps / "epoch.trace.json").read_bytes(), name="converted")
    assert [converted.names[each] for each in converted.name_id] == ["load", "train step"]
    assert converted.duration_ns.tolist() == [10_000_000, 30_000_000]


def test_the_dashboard_lists_and_opens_a_format_of_somebody_else(laps: Path) -> None:
    logs = laps / "logs" / "run"
    logs.mkdir(parents=True)
    content = (laps / "epoch.laps").read_bytes()
    (logs / "packed.laps.gz").write_bytes(gzip.compress(content + b"what is this\n"))
    (logs / "of_any_name.txt").write_bytes(content)
    (logs / "notes.txt").write_text("nothing")
    found = run_python(
        laps,
        "-c",
        """
from stepscope.dashboard.panels.registry import companion_patterns, recognizers
from stepscope.dashboard.traces.sources import read_source, trace_sources
from stepscope.summary.logdir import Logdir
snapshot = Logdir("logs", companion_patterns=companion_patterns(), recognizers=recognizers()).update()
for source in sorted(trace_sources(snapshot), key=lambda source: source.label):
    trace = read_source(source)
    print(source.label, len(trace), trace.losses.notes)
""",
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == "of_any_name.txt 2 ()\npacked.laps.gz 2 ('line 4 is not a lap',)\n"


def test_what_may_be_read_is_said_with_the_formats_of_others(laps: Path) -> None:
    (laps / "other.bin").write_bytes(b"\x00\x00")
    found = stepscope(laps, "convert", "other.bin", "-o", "x.json")
    assert found.returncode == 2
    told = "other.bin is not a trace. Expected a Chrome trace (JSON), an .xplane.pb, a cache of Stepscope"
    assert told in found.stderr
    assert "or a list of laps (.laps), each plain or compressed" in found.stderr


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (
            "a.reads",
            "'reads' of stepscope-broken 1.2 (stepscope.trace_readers) failed: read: ZeroDivisionError: no time has",
        ),
        ("a.exits", "failed: read: SystemExit: no license"),
        ("a.returns", "failed: read: TypeError: read() returned int, not a Trace or None"),
    ],
)
def test_a_reader_that_fails_is_named(broken: Path, file: str, reason: str) -> None:
    found = stepscope(broken, "convert", file, "-o", "x.json")
    assert found.returncode == 2
    assert f"{file} cannot be read. The plug-in" in found.stderr
    assert reason in found.stderr
    assert "Traceback" not in found.stderr


def test_a_reader_that_refuses_a_file_need_not_name_it(broken: Path) -> None:
    found = stepscope(broken, "convert", "a.refuses", "-o", "x.json")
    assert (found.returncode, found.stderr.splitlines()[-1]) == (
        2,
        "stepscope: a.refuses cannot be read. It has no laps.",
    )


def test_no_reader_of_others_takes_what_stepscopes_own_know_and_what_fails_to_look_is_left_out(broken: Path) -> None:
    for file in ("chrome.json", "stats.pb", "cache.sstrace"):
        found = stepscope(broken, "convert", file, "-o", "x.json", "--to", "chrome")
        assert "Wrote x.json: 1 slice on 1 lane" in found.stderr, found.stderr
        assert (
            "'taken' of stepscope-broken 1.2 (stepscope.trace_readers) failed: ValueError: the name 'chrome' is taken"
            in found.stderr
        )
    found = stepscope(broken, "convert", "no.sniffs", "-o", "x.json")
    assert "failed: sniff: ZeroDivisionError" in found.stderr


def test_what_only_a_trace_has_is_told_by_its_beginning() -> None:
    assert begins_as_trace(b'{"displayTimeUnit": "ms", "traceEvents": [')
    assert begins_as_trace(gzip.compress(b'[{"ph": "X"}]'))
    assert not begins_as_trace(b'{"lr": 0.1}')
    assert not begins_as_trace(b"")


def test_slices_at_hand_become_a_trace() -> None:
    other = Lane("p", "Steps", 1, 3, "host")
    counter = Counter("p", "memory", "bytes", np.array([1]), np.array([2.0]))
    trace = trace_of_slices(
        [
            Slice("inner", 20, 10, LANE, "op", {"shape": [2, 3]}),
            Slice("outer", 10, 90, LANE),
            Slice("0", 10, 90, other),
            Slice("lost", 1 << 62, 1, LANE),
            Slice("backwards", 200, -(1 << 61), LANE),
            Slice("lost too", 200, -(1 << 70), LANE),
        ],
        counters=[counter],
        notes=("a note",),
        metadata={"tool": "x"},
        epoch_ns=5,
    )
    rows = zip(trace.name_id.tolist(), trace.lane.tolist(), trace.depth.tolist(), trace.start_ns.tolist(), strict=True)
    assert [(trace.names[name], trace.lanes[lane].name, depth, start) for name, lane, depth, start in rows] == [
        ("outer", "t", 0, 10),
        ("backwards", "t", 0, 200),
        ("inner", "t", 1, 20),
        ("0", "Steps", 0, 10),
    ]
    assert [trace.arguments[index] for index in range(4)] == [{}, {}, {"shape": [2, 3]}, {}]
    assert [step.number for step in trace.steps] == [0]
    assert trace.duration_ns.tolist() == [90, 0, 10, 90]
    assert dict(trace.losses.counts) == {"time out of range": 2, "negative duration": 1}
    assert trace.losses.notes == ("a note",)
    assert (trace.counters, trace.metadata, trace.epoch_ns) == ((counter,), {"tool": "x"}, 5)
    assert len(trace_of_slices([])) == 0
