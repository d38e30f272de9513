"""Hostile recordings: the amount of text that is read from them is bounded, and cuts are counted."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from stepscope.summary import SummaryWriter
from stepscope.summary.debugger import recordings
from stepscope.summary.debugger.model import FIGURES
from stepscope.summary.debugger.recordings import RecordedData, read_recording
from stepscope.summary.kinds.debug import STEPS_TAG, debug_alerts, debug_catalog, debug_steps
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.debug_pb2 import DebugAlerts, DebugCatalog, DebugStep
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary

LONG = "n" * 5_000
CUT = "n" * 4_000 + "... (5,000 characters, beb969d4)"


def recorded(
    path: Path, catalog: DebugCatalog, alerts: DebugAlerts | None = None, steps: Sequence[Summary.Value] = ()
) -> RecordedData:
    values = [debug_catalog(catalog), *([] if alerts is None else [debug_alerts(alerts)])]
    with SummaryWriter(path) as writer:
        writer.file_writer.add_event(Event(wall_time=1.0, step=0, summary=Summary(value=values)))
        for value in steps:
            writer.file_writer.add_event(Event(wall_time=1.0, step=0, summary=Summary(value=[value])))
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
        "1 source file is left out: there are more than 1",
        "2 further notes are left out",
    ]


def observed(recording: int, *tensors: int) -> Summary.Value:
    """A step in which each figure of a tensor is the tensor's number in the recording."""
    figures = np.tile(np.array(tensors, np.float64)[:, np.newaxis], len(FIGURES))
    (value,) = debug_steps(STEPS_TAG, recording, np.array(tensors, np.int32), figures)
    return value


def test_tensors_that_nothing_describes_are_bounded_for_all_recordings_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "MOST_TENSORS", 4)
    steps = [observed(recording, 2, 0) for recording in (1, 2, 3)]
    data = recorded(tmp_path, DebugCatalog(), steps=steps)
    assert [tensor.name for tensor in data.tensors] == [
        "tensor 0 of recording 0000000000000001",
        "tensor 1 of recording 0000000000000001",
        "tensor 2 of recording 0000000000000001",
        "tensor 0 of recording 0000000000000002",
    ]
    found = data.observations(0, data.observation_count)
    assert found.tensors.tolist() == [2, 0, 0, 3, 0, 0]
    np.testing.assert_array_equal(found.figures[:, 0], [2, 0, np.nan, 0, np.nan, np.nan])
    assert list(data.problems) == [
        "4 tensors have figures, but the record that says what they are is missing",
        "only the first 4 tensors are used",
    ]


def test_a_header_without_observations_makes_no_tensors(tmp_path: Path) -> None:
    step = DebugStep(recording=7, columns="B" + "-" * len(FIGURES), tensors=1_000_000)
    value = observed(7, 0)
    value.tensor.string_val[0] = step.SerializeToString()
    data = recorded(tmp_path, DebugCatalog(), steps=[value])
    assert (list(data.tensors), list(data.problems)) == ([], [])


def test_a_large_number_takes_no_more_than_a_small_one(tmp_path: Path) -> None:
    catalog = DebugCatalog(recording=1)
    for number, name in ((4_294_967_295, "last"), (1, "first")):
        catalog.tensors.add(number=number, name=name, phase="forward")
    data = recorded(tmp_path, catalog, steps=[observed(1, 1)])
    assert [tensor.name for tensor in data.tensors] == ["last", "first", "tensor 0 of recording 0000000000000001"]
    assert data.observations(0, 1).tensors.tolist() == [1]
    assert sum(column.nbytes for numbers in data._numbers.values() for column in numbers) == 3 * (8 + 4 + 4)
