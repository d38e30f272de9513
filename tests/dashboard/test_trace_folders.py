"""Traces in folders: each recording once, and what the command line makes of a folder."""

from pathlib import Path, PurePosixPath

import pytest

from dashboard.cli.serve import found
from dashboard.page.layout import empty
from dashboard.traces.folders import same_recording, traces_at
from dashboard.traces.sources import trace_sources
from summary import SummaryWriter
from summary.contents import Companion
from summary.errors import UserError
from summary.logdir import Logdir
from summary.snapshot import Snapshot
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
    with pytest.raises(UserError, match=r"is a folder without traces.*, or name a file"):
        traces_at(str(tmp_path))
    (deep / "vm.xplane.pb").touch()
    with pytest.raises(UserError, match=r"as there are in .*plugins/profile \(1\)\."):
        traces_at(str(tmp_path))


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
    assert "*.pt.trace.json" in text
