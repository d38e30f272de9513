"""Trace formats are records in one list, to which other distributions can add theirs."""

import gzip
import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.profiler.trace import Counter, Flows, Lane, Step, Trace
from stepscope.profiler.traces import READERS, TraceReader, read_trace
from stepscope.profiler.traces.cache import encode_cache
from stepscope.profiler.traces.checks import check_trace
from stepscope.profiler.traces.registry import begins_as_trace
from stepscope.profiler.traces.simple import Slice, trace_of_slices
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats
from tests.extending_chapters import commands_of, install, undocumented_fields
from tests.plugin_distributions import REPOSITORY, run_python, stepscope, write_distribution

CHAPTER = "A trace format"
LANE = Lane("p", "t", 1, 2, "host")
BROKEN = """
import sys
from dataclasses import replace
from stepscope.profiler.trace import Lane
from stepscope.profiler.traces.simple import Slice, trace_of_slices
LANE = Lane("p", "t", 1, 2, "host")
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
class Late:
    def __getitem__(self, index):
        return {} if index else fail()
def read_late(data, name, notes, limits):
    return replace(trace_of_slices([Slice("late", 1, 2, LANE)]), arguments=Late())
def read_odd(data, name, notes, limits):
    return replace(trace_of_slices([Slice("odd", 1, 2, LANE)]), names=())
LATE = TraceReader(name="late", about="l", sniff=lambda data: data.startswith(b"late"), read=read_late)
ODD = TraceReader(name="odd", about="o", sniff=lambda data: data.startswith(b"odd"), read=read_odd)
REFUSES = TraceReader(name="refuses", about="r", sniff=lambda data: data.startswith(b"ref"), read=refuse)
EVERY = TraceReader(name="every", about="v", sniff=fail, read=fail, suffixes=("",))
UPPER = TraceReader(name="upper", about="u", sniff=fail, read=fail, endings=(".LAPS",))
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
    names = ("reads", "exits", "returns", "sniffs", "greedy", "refuses", "every", "upper", "taken", "late", "odd")
    points = {name: f"broken_readers:{name.upper()}" for name in names}
    write_distribution(folder, {"broken_readers": BROKEN}, {"trace_readers": points}, "stepscope-broken")
    for kind in ("reads", "exits", "returns", "refuses", "late", "odd"):
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
    told = "other.bin is not a trace. Expected a Chrome trace (JSON), an .xplane.pb, a Stepscope cache"
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
        ("a.odd", "failed: read: ValueError: name_id has numbers from 0 to 0, expected less than 0"),
        ("a.returns", "failed: read: TypeError: read() returned int, not a Trace or None"),
    ],
)
def test_a_reader_that_fails_is_named(broken: Path, file: str, reason: str) -> None:
    found = stepscope(broken, "convert", file, "-o", "x.json")
    assert found.returncode == 2
    assert f"{file} cannot be read. The plug-in" in found.stderr
    assert reason in found.stderr
    assert "Traceback" not in found.stderr


def test_arguments_that_a_reader_fails_to_decode_are_empty_and_it_is_named(broken: Path) -> None:
    found = stepscope(broken, "convert", "a.late", "-o", "late.json")
    assert (found.returncode, "Wrote late.json: 1 slice on 1 lane" in found.stderr) == (0, True)
    said = "'late' of stepscope-broken 1.2 (stepscope.trace_readers) failed: arguments: ZeroDivisionError"
    assert found.stderr.count(said) == 1


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
        for ending in ("", ".LAPS"):
            assert f"failed: ValueError: the ending of file names {ending!r} is not valid" in found.stderr
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
    with pytest.raises(TypeError, match=r"the arguments of 'op' are \['x'\], expected a mapping"):
        trace_of_slices([Slice("op", 1, 2, LANE, "", ["x"])])  # type: ignore[arg-type]


def spoiled(**changed: Any) -> Trace:
    """A trace of two slices and a counter, with changed fields."""
    counter = Counter("p", "memory", "bytes", np.array([1, 2]), np.array([2.0, 3.0]))
    trace = trace_of_slices([Slice("a", 1, 10, LANE), Slice("b", 2, 3, LANE)], counters=[counter])
    return replace(trace, **changed)


INT32 = np.int32


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"names": ("a", 3)}, "names[1] is 3, expected str"),
        ({"start_ns": np.array([1.0, 2.0])}, "start_ns is of the type float64, expected int64"),
        ({"lane": np.zeros(3, INT32)}, "lane is of shape [3], expected [2]"),
        ({"name_id": np.array([0, 2], INT32)}, "name_id has numbers from 0 to 2, expected less than 2"),
        ({"lane": np.array([0, -1], INT32)}, "lane has numbers from -1 to 0, expected less than 1"),
        ({"start_ns": np.array([1, 1 << 62])}, f"the times of slices are from 1 to {1 << 62:,} ns"),
        ({"duration_ns": np.array([-1, 3])}, "the times of slices are from -1 to 3 ns"),
        ({"depth": np.zeros(2, INT32)}, "its slices are not sorted by (lane, depth, start), or overlap in a row"),
        (
            {"flows": Flows(np.array([0]), np.array([2]), np.array([0], INT32))},
            "flows.target has numbers from 2 to 2, expected less than 2",
        ),
        (
            {"counters": (Counter("p", "memory", "", np.array([1, 2]), np.array([1.0])),)},
            "values of the counter 'memory' is of shape [1], expected [2]",
        ),
        (
            {"counters": (Counter("p", "memory", "", np.array([2, 1]), np.array([1.0, 2.0])),)},
            "the times of the counter 'memory' go back",
        ),
        ({"steps": (Step(1, "one", 1, -1),)}, "the times of steps are from -1 to -1 ns"),
    ],
)
def test_a_trace_whose_columns_do_not_fit_is_refused(changed: dict[str, Any], reason: str) -> None:
    check_trace(spoiled())
    with pytest.raises((TypeError, ValueError), match=re.escape(reason)):
        check_trace(spoiled(**changed))
