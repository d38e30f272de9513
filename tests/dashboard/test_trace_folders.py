"""Traces in folders: each recording once, and how the command line treats a folder."""

import gzip
import os
from pathlib import Path, PurePosixPath

import fsspec
import pytest

from stepscope.dashboard.cli.serving import found
from stepscope.dashboard.page.layout import empty
from stepscope.dashboard.panels.registry import recognizers
from stepscope.dashboard.traces.folders import MOST_OF_A_FOLDER, same_recording, traces_at
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.profiler.traces.compression import zstd_compress
from stepscope.summary import SummaryWriter
from stepscope.summary.contents import Companion
from stepscope.summary.errors import UserError
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.xplane_pb2 import XSpace
from stepscope.summary.recognition import Recognizer
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.test_profile_panel import words

SESSION = PurePosixPath("plugins/profile/2026_11_22_23_11_33")


def snapshot_of(*names: str) -> Snapshot:
    companions = tuple(Companion("r", SESSION / name, f"/x/{name}", 10, 1) for name in names)
    return Snapshot(1, {}, companions)


def test_a_recording_that_is_there_twice_is_listed_once() -> None:
    names = ("vm.trace.json.gz", "vm.xplane.pb", "other.trace.json.gz", "rank0.pt.trace.json")
    listed = {source.label: source.left_out for source in trace_sources(snapshot_of(*names))}
    assert listed == {"vm.xplane.pb": ("vm.trace.json.gz",), "other.trace.json.gz": (), "rank0.pt.trace.json": ()}
    here, there = PurePosixPath("a/vm.xplane.pb"), PurePosixPath("b/vm.trace.json.gz")
    assert same_recording([here, there]) == {}


def test_a_folder_is_the_traces_in_it(tmp_path: Path) -> None:
    for name in ("b.pt.trace.json", "a.pt.trace.json", "vm.xplane.pb", "vm.trace.json.gz", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "x.trace.json").mkdir()
    assert [Path(each).name for each in traces_at(str(tmp_path))] == [
        "a.pt.trace.json",
        "b.pt.trace.json",
        "vm.xplane.pb",
    ]
    assert traces_at(str(tmp_path / "notes.txt")) == [str(tmp_path / "notes.txt")]
    assert traces_at("s3://bucket/folder") == ["s3://bucket/folder"]


def test_a_folder_without_traces_says_where_there_are_some(tmp_path: Path) -> None:
    deep = tmp_path / "plugins" / "profile"
    deep.mkdir(parents=True)
    with pytest.raises(UserError, match="is a folder without traces"):
        traces_at(str(tmp_path))
    (deep / "vm.xplane.pb").touch()
    assert traces_at(str(tmp_path)) == [str(deep / "vm.xplane.pb")]
    for number in range(MOST_OF_A_FOLDER):
        (deep / f"{number}.trace.json").touch()
    with pytest.raises(UserError, match=r"more than 64 traces. Name one of their folders, such as .*plugins/profile"):
        traces_at(str(tmp_path))


def test_traces_are_told_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    (tmp_path / "rows.json").write_text('[{"loss": 1}]')
    (tmp_path / "graph.pb").write_bytes(b"\n\x0e\n\x01a\x12\x09NoOperate")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}')[:12])
    (tmp_path / "rank0.json.gz").write_bytes(gzip.compress(b'{"schemaVersion": 1, "traceEvents": [{"ph": "X"}]}'))
    (tmp_path / "array.json").write_text('[\n{"name": "a", "ph": "X", "ts": 1, "dur": 2}')
    (tmp_path / "packed.json.zst").write_bytes(zstd_compress(b'\xef\xbb\xbf {"displayTimeUnit": "ns", "other": 1}'))
    metadata = RunMetadata()
    metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    (tmp_path / "step.pb").write_bytes(metadata.SerializeToString())
    (tmp_path / "only.pb").write_bytes(metadata.step_stats.SerializeToString())
    (tmp_path / "step.pbtxt").write_text("# of a step\nstep_stats {\n}\n")
    space = XSpace()
    space.planes.add(name="/host:CPU", id=2)
    (tmp_path / "x.pb").write_bytes(space.SerializeToString())
    known = ["array.json", "only.pb", "packed.json.zst", "rank0.json.gz", "step.pb", "step.pbtxt", "x.pb"]
    assert [Path(each).name for each in traces_at(str(tmp_path))] == known

    snapshot = Logdir(str(tmp_path), recognizers=recognizers()).update()
    assert sorted(source.label for source in trace_sources(snapshot)) == known
    assert found(snapshot) == "7 traces"


def test_a_file_is_looked_at_once_and_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bytes] = []

    def knows(beginning: bytes) -> bool:
        looked.append(beginning)
        return beginning.startswith(b"trace")

    monkeypatch.setattr("stepscope.summary.recognition.MOST_LOCAL", 2)
    for number in range(3):
        path = tmp_path / f"{number}.json"
        path.write_text(f"trace {number}" + "." * (1 << 17))
        os.utime(path, (number + 1, number + 1))
    logdir = Logdir(str(tmp_path), recognizers=(Recognizer("trace", (".json",), knows),))
    assert [each.relative_path.name for each in logdir.update().companions] == ["1.json", "2.json"]
    assert [each.relative_path.name for each in logdir.update().companions] == ["0.json", "1.json", "2.json"]
    before = logdir.update()
    assert [beginning[:7] for beginning in looked] == [b"trace 2", b"trace 1", b"trace 0"]
    assert {len(beginning) for beginning in looked} == {1 << 16}
    (tmp_path / "1.json").write_text("now something else")
    assert [each.relative_path.name for each in logdir.update().companions] == ["0.json", "2.json"]
    assert logdir.update().revision == before.revision + 1
    assert len(looked) == 4


def test_what_jax_makes_for_perfetto_is_the_recording_again() -> None:
    session = [SESSION / name for name in ("perfetto_trace.json.gz", "vm.xplane.pb", "vm.trace.json.gz")]
    assert same_recording(session) == {session[0]: session[1], session[2]: session[1]}
    # With several hosts, its owner is unknown.
    assert SESSION / "perfetto_trace.json.gz" not in same_recording([*session, SESSION / "other.xplane.pb"])


def test_what_was_found_says_traces(tmp_path: Path) -> None:
    assert found(snapshot_of("a.pt.trace.json", "b.pt.trace.json")) == "2 traces"
    assert found(snapshot_of("vm.trace.json.gz", "vm.xplane.pb")) == "1 trace"
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert found(Logdir(str(tmp_path)).update()) == "1 run, 1 tag, 1 event file"
    (tmp_path / "a.trace.json").write_text("[]")
    both = Logdir(str(tmp_path), companion_patterns=("*.trace.json",)).update()
    assert found(both) == "1 trace, 1 run, 1 tag, 1 event file"


def test_the_empty_page_says_that_traces_are_looked_for_too() -> None:
    text = words(empty("/logs"))
    assert "Waiting for the first event file or trace" in text
    assert "Traces are recognized by content" in text


def test_few_remote_files_are_looked_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    system = fsspec.filesystem("memory")
    try:
        for number in range(3):
            system.pipe_file(f"/traces/{number}.json", b'{"traceEvents": []}')
        monkeypatch.setattr("stepscope.summary.recognition.MOST_REMOTE", 2)
        logdir = Logdir("memory://traces", recognizers=recognizers())
        assert [len(trace_sources(logdir.update())) for _ in range(3)] == [2, 3, 3]
    finally:
        system.rm("/traces", recursive=True)
