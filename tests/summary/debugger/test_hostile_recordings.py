"""Hostile recordings: the amount of text that is read from them is bounded, and cuts are counted."""

from pathlib import Path

import pytest

from stepscope.summary import SummaryWriter
from stepscope.summary.debugger import recordings
from stepscope.summary.debugger.recordings import RecordedData, read_recording
from stepscope.summary.kinds.debug import debug_alerts, debug_catalog
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.debug_pb2 import DebugAlerts, DebugCatalog
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary

LONG = "n" * 5_000
CUT = "n" * 4_000 + "... (5,000 characters, beb969d4)"


def recorded(path: Path, catalog: DebugCatalog, alerts: DebugAlerts | None = None) -> RecordedData:
    values = [debug_catalog(catalog), *([] if alerts is None else [debug_alerts(alerts)])]
    with SummaryWriter(path) as writer:
        writer.file_writer.add_event(Event(wall_time=1.0, step=0, summary=Summary(value=values)))
    (run,) = open_logdir(path).runs.values()
    return read_recording(run)


def test_long_texts_are_cut_with_their_length(tmp_path: Path) -> None:
    catalog = DebugCatalog(source=LONG, notes=[LONG])
    catalog.frames.add(number=0, path=LONG, line=1, function=LONG, code=LONG)
    catalog.stacks.add(number=0, frames=[0] * 2_000)
    catalog.sources.add(path=LONG, host=LONG, text="x\n")
    catalog.tensors.add(number=0, name=LONG, phase="forward", module=LONG, op_type=LONG, dtype=LONG, device=LONG)
    catalog.tensors[0].stack = 0
    catalog.tensors[0].shape.extend([2] * 1_000)
    catalog.tensors[0].has_shape = True
    alerts = DebugAlerts()
    alerts.alerts.add(rule=LONG, message=LONG)
    data = recorded(tmp_path, catalog, alerts)
    (tensor,) = data.tensors
    assert {tensor.name, tensor.module, tensor.op_type, tensor.dtype, tensor.device} == {CUT}
    assert tensor.shape == (2,) * 100
    assert (data.source, list(data.problems), data.devices) == (CUT, [CUT], ("", CUT))
    assert [(source.path, source.host) for source in data.sources] == [(CUT, CUT)]
    assert tensor.stack is not None
    stack = data.stack(tensor.stack)
    assert len(stack) == 1_000
    assert {(frame.path, frame.function, frame.code) for frame in stack} == {(CUT, CUT, CUT)}
    assert [(alert.rule, alert.message) for alert in data.alerts] == [(CUT, CUT)]


def test_what_is_too_many_is_left_out_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_NAME_CHARACTERS", 8), ("MOST_NOTES", 2), ("MOST_SOURCES", 1)):
        monkeypatch.setattr(recordings, name, most)
    catalog = DebugCatalog(notes=["one", "two", "three", "four"])
    for number, name in enumerate(["aaaa", "bbbb", "cccc", "dddd", "aaaa"]):
        catalog.tensors.add(number=number, name=name, phase="forward")
    for path in ("a.py", "b.py", "a.py"):
        catalog.sources.add(path=path)
    data = recorded(tmp_path, catalog)
    assert [tensor.name for tensor in data.tensors] == ["aaaa", "bbbb"]
    assert [source.path for source in data.sources] == ["a.py"]
    assert list(data.problems) == [
        "one",
        "two",
        "2 tensors are left out: there are more than 1,000,000, or their names are too long",
        "1 source files are left out: there are more than 1",
        "2 further notes are left out",
    ]
