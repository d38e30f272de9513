"""Summaries of scalars, computed for many tags at once and kept by the index."""

import math
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir import Logdir
from stepscope.summary.packed_points import BlockInMemory, Packer
from stepscope.summary.points import TagState
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from stepscope.summary.scalar_summaries import ScalarSummary, from_row, summaries, summary_of
from stepscope.summary.series import Series

NAN, INFINITE = float("nan"), float("inf")


def event(step: int, **values: float) -> bytes:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
    return frame(Event(wall_time=100.0 + step, step=step, summary=summary).SerializeToString())


def write(path: Path, *events: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(b"".join(events))


def test_of_a_few_points() -> None:
    steps = np.array([1, 2, 3, 4, 5])
    found = summary_of(steps, steps + 100.0, np.array([2.0, NAN, -1.0, INFINITE, -1.0]))
    assert found == ScalarSummary(5, 105.0, -1.0, -1.0, 3, 2.0, 1)
    assert summary_of(steps[:0], steps[:0] + 0.0, steps[:0] + 0.0) is None
    nothing = summary_of(steps[:1], steps[:1] + 0.5, np.array([-INFINITE]))
    assert nothing is not None
    assert nothing[:3] == (1, 1.5, -INFINITE)
    assert [str(number) for number in nothing[3:]] == ["nan", "0", "nan", "0"]


def test_what_follows_is_the_later_last_and_the_first_of_equal_extremes() -> None:
    first = ScalarSummary(3, 1.0, 0.5, -1.0, 2, NAN, 0)
    later = ScalarSummary(9, 2.0, 0.7, -1.0, 7, 4.0, 8)
    assert first.followed_by(later) == ScalarSummary(9, 2.0, 0.7, -1.0, 2, 4.0, 8)


NUMBERS = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0])
KINDS = st.sampled_from(["scalars", "scalars", "", "text"])
TAGS = st.lists(st.tuples(KINDS, st.lists(NUMBERS, max_size=6)), max_size=5)


def tag_state(place: int, kind: str, numbers: list[float]) -> TagState:
    steps = np.arange(len(numbers)) * (1 + place % 2)
    values = np.array(numbers, np.float64)
    records = np.zeros(0 if kind == "scalars" else len(numbers), np.int64)
    return TagState(
        f"tag {place}",
        kind,
        "",
        "",
        b"",
        False,
        steps,
        np.array([step + 0.25 for step in steps], np.float64),
        values if kind != "text" else values[:0],
        records,
        records,
        records.astype(np.int32),
    )


def plainly(state: TagState) -> ScalarSummary:
    numbers, steps = state.values.tolist(), state.steps.tolist()
    finite = [number for number in numbers if math.isfinite(number)]
    least, greatest = (min(finite), max(finite)) if finite else (NAN, NAN)
    least_step, greatest_step = (steps[numbers.index(each)] if finite else 0 for each in (least, greatest))
    return ScalarSummary(steps[-1], steps[-1] + 0.25, numbers[-1], least, least_step, greatest, greatest_step)


def comparable(summary: ScalarSummary) -> list[str]:
    """Treats NaN as equal to itself, and both zeros as equal."""
    return [repr(number + 0.0) for number in summary]


@given(files=st.lists(TAGS, max_size=5))
def test_of_many_files_at_once_as_of_each_tag(files: list[list[tuple[str, list[float]]]]) -> None:
    packer = Packer()
    points, states = [], []
    for tags in files:
        own = [tag_state(place, kind, numbers) for place, (kind, numbers) in enumerate(tags)]
        packed = packer.pack(own)
        assert isinstance(packed.block, BlockInMemory)
        points.append(packed.table.scalars(packed.block.content))
        states += own
    found = summaries(points)
    assert len(found) == len(states)
    for row, state in zip(found, states, strict=True):
        if state.kind == "scalars" and len(state.steps):
            assert comparable(from_row(row, int(state.steps[-1]))) == comparable(plainly(state))


def series_of(logdir: Logdir, run: str, tag: str) -> Series:
    return logdir.snapshot.runs[run].series[tag]


def test_a_start_from_an_index_tells_them_without_a_look_at_the_points(tmp_path: Path) -> None:
    for run in range(5):
        write(tmp_path / "logs" / f"run_{run}" / "events.out.tfevents.1.host", event(0, loss=3.0), event(4, loss=run))
    write(tmp_path / "logs" / "run_1" / "events.out.tfevents.900.host", event(7, loss=9.0))
    first = Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index")))
    first.update()
    first.wait_until_stored()
    for segment in (tmp_path / "index").glob("*.segment"):
        # The list at the end stays intact.
        content = segment.read_bytes()
        segment.write_bytes(content[:30] + bytes(40) + content[70:])
    second = Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index")))
    runs = second.indexed().runs
    assert [runs[f"run_{run}"].summary("loss") for run in range(2)] == [
        ScalarSummary(4, 104.0, 0.0, 0.0, 4, 3.0, 0),
        ScalarSummary(7, 107.0, 9.0, 1.0, 4, 9.0, 7),
    ]
    assert runs["run_0"].summary("accuracy") is None
    before_the_look = [series_of(second, f"run_{run}", "loss").summary for run in range(3)]
    second.update()
    assert [series_of(second, f"run_{run}", "loss").summary for run in range(3)] == before_the_look
    assert before_the_look == [
        ScalarSummary(4, 104.0, 0.0, 0.0, 4, 3.0, 0),
        ScalarSummary(7, 107.0, 9.0, 1.0, 4, 9.0, 7),
        ScalarSummary(4, 104.0, 2.0, 2.0, 4, 3.0, 0),
    ]
    assert "columns" not in vars(series_of(second, "run_0", "loss"))


def test_a_run_that_grows_has_those_of_now(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "run" / "events.out.tfevents.1.host"
    write(path, event(0, loss=3.0), event(1, loss=2.0))
    logdir = Logdir(tmp_path / "logs", index=LogIndex(str(tmp_path / "index")))
    logdir.update()
    logdir.wait_until_stored()
    assert series_of(logdir, "run", "loss").summary == ScalarSummary(1, 101.0, 2.0, 2.0, 1, 3.0, 0)
    write(path, event(2, loss=1.0))
    logdir.update()
    assert series_of(logdir, "run", "loss").summary == ScalarSummary(2, 102.0, 1.0, 1.0, 2, 3.0, 0)
