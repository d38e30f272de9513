"""Small files that are read together give the same results as when each is read alone."""

import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from random import Random
from typing import BinaryIO
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary import kept_files
from stepscope.summary.event_file import EventFile
from stepscope.summary.logdir import Logdir
from stepscope.summary.packed_points import Packer
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.types_pb2 import DT_DOUBLE, DT_INT64, DT_STRING
from stepscope.summary.records import frame
from stepscope.summary.series import SCALARS
from stepscope.summary.small_files import Packed, read_together
from tools.event_file_cases import damaged, random_file, with_kind


def together(*contents: bytes) -> list[Packed | None]:
    return read_together([partial(io.BytesIO, content) for content in contents], [*map(len, contents)], Packer())


def alone(content: bytes) -> Packed | None:
    def opened(offset: int) -> BinaryIO:
        stream = io.BytesIO(content)
        stream.seek(offset)
        return stream

    return EventFile(PurePosixPath("run/events"), opened).read_packed(len(content), Packer())


def described(packed: Packed) -> Sequence[object]:
    state, points = packed
    # NaN is not equal to itself.
    return repr(state), points.table, points.block.read()


def file_of(*events: Event) -> bytes:
    return b"".join(frame(event.SerializeToString()) for event in events)


def numbers(step: int, **values: float) -> Event:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
    return Event(wall_time=100.0 + step, step=step, summary=summary)


VERSION = Event(wall_time=99.5, file_version="brain.Event:2")


def test_two_files_of_a_sweep() -> None:
    first = file_of(VERSION, numbers(0, loss=0.5, accuracy=0.25), numbers(1, loss=0.1), numbers(2, accuracy=1.5))
    second = file_of(VERSION, numbers(3, loss=2.0), numbers(1, loss=float("inf")))
    found = together(first, second)
    assert None not in found
    (state, points), (later_state, later) = [packed for packed in found if packed is not None]
    assert (state.position, state.records, state.first_wall_time, state.span) == (len(first), 4, 99.5, (99.5, 102.0))
    assert (state.head, state.tail) == (first[:64], first[-64:])
    assert points.table.tags.tags == ["loss", "accuracy"]
    assert points.table.narrow
    loss, accuracy = points.states()
    assert (loss.steps.tolist(), loss.wall_times.tolist()) == ([0, 1], [100.0, 101.0])
    assert (accuracy.steps.tolist(), accuracy.values.tolist()) == ([0, 2], [0.25, 1.5])
    assert later.table.tags.going_back == [0]
    assert later.states()[0].values.tolist() == [2.0, float("inf")]
    assert (later_state.records, later_state.span) == (3, (99.5, 103.0))


def values_in_any_form(random: Random) -> bytes:
    """Return a file in which nothing has to be read alone."""
    forms: list[Callable[[str], Summary.Value]] = [
        lambda tag: Summary.Value(tag=tag, simple_value=random.choice([0.0, random.random(), float("nan")])),
        lambda tag: with_kind(SCALARS, tag, TensorProto(dtype=DT_DOUBLE, double_val=[random.random()])),
        lambda tag: Summary.Value(node_name=tag, simple_value=random.random()),
        lambda tag: with_kind("text", tag, TensorProto(dtype=DT_STRING, string_val=[b"x" * random.randint(0, 9)])),
        lambda tag: Summary.Value(tag=tag, image=Summary.Image(width=1, height=1, encoded_image_string=b"png")),
        lambda tag: Summary.Value(tag=tag, histo=HistogramProto(bucket_limit=[1.0], bucket=[2.0])),
    ]
    tags = random.sample(["loss", "acc/ü", "", "x" * 200, *(f"layer_{k}" for k in range(40))], random.randint(1, 8))
    events = [Event(wall_time=random.choice([0.0, 5.0, float("nan"), -1.0]), file_version="brain.Event:2")]
    if random.random() < 0.2:
        events.insert(0, Event())
    form_of = {tag: random.choice(forms) for tag in tags}
    for _ in range(random.randint(1, 30)):
        event = Event(wall_time=random.choice([0.0, 7.0, random.random()]), step=random.randint(-2, 9))
        chosen = random.sample(tags, random.randint(1, len(tags)))
        event.summary.value.extend(form_of[tag](tag) for tag in chosen)
        events.append(event)
    return file_of(*events)


@given(random=st.randoms(use_true_random=True))
def test_files_of_values_are_what_they_are_alone(random: Random) -> None:
    contents = [values_in_any_form(random) for _ in range(random.randint(1, 6))]
    for content, packed in zip(contents, together(*contents), strict=True):
        expected = alone(content)
        assert packed is not None
        assert expected is not None
        assert described(packed) == described(expected)


@given(random=st.randoms(use_true_random=True))
def test_any_files_are_what_they_are_alone_or_are_left_to_be_read_so(random: Random) -> None:
    writers: list[Callable[[Random], bytes]] = [values_in_any_form, partial(random_file, most=3)]
    contents = [random.choice(writers)(random) for _ in range(8)]
    contents = [damaged(content, random) if random.random() < 0.5 else content for content in contents]
    for content, packed in zip(contents, together(*contents), strict=True):
        expected = alone(content)
        assert packed is None or (expected is not None and described(packed) == described(expected))


def test_what_is_more_than_values_that_are_alike_is_left() -> None:
    plain = file_of(VERSION, numbers(0, loss=1.0))
    start = Event(wall_time=1.0, session_log=SessionLog(status=SessionLog.START))
    text = Event(step=1, summary=Summary(value=[with_kind("text", "note", TensorProto(string_val=[b"hello"]))]))
    number_among_texts = numbers(2, note=1.0)
    count = Event(
        step=1, summary=Summary(value=[with_kind(SCALARS, "count", TensorProto(dtype=DT_INT64, int64_val=[1]))])
    )
    contents = [
        plain,
        b"",
        file_of(VERSION),
        plain + file_of(start),
        plain + file_of(count, count),
        plain + file_of(text, number_among_texts),
        plain[:-1],
        plain[:-5] + b"-" + plain[-4:],
        file_of(Event(wall_time=1.0, file_version="brain.Event:2"), Event(step=1)),
        plain,
    ]
    assert [packed is not None for packed in together(*contents)] == [True, *[False] * 8, True]


def test_a_file_that_ends_within_a_record_does_not_take_the_beginning_of_the_next_for_its_end() -> None:
    record = frame(numbers(0, loss=1.0).SerializeToString())
    long = frame(Event(wall_time=1.0, file_version=("brain.Event:2" * 9)).SerializeToString())
    contents = [record + long[:30], long[30:] + record, record]
    assert [packed is not None for packed in together(*contents)] == [False, False, True]


def test_files_that_cannot_be_read_or_changed_since_they_were_listed_are_left() -> None:
    plain = file_of(VERSION, numbers(0, loss=1.0))

    def gone() -> BinaryIO:
        raise FileNotFoundError(2, "No such file or directory")

    plainly, grown, shrunk = (partial(io.BytesIO, content) for content in (plain, plain + plain, plain[:-9]))
    opened: list[Callable[[], BinaryIO]] = [plainly, gone, grown, shrunk]
    found = read_together(opened, [len(plain)] * 4, Packer())
    assert [packed is not None for packed in found] == [True, False, False, False]


def test_more_tags_than_the_tables_have_room_for() -> None:
    contents = [file_of(*(numbers(0, **{f"layer_{file}_{tag}": 1.0}) for tag in range(300))) for file in range(3)]
    for content, packed in zip(contents, together(*contents), strict=True):
        expected = alone(content)
        assert packed is not None
        assert expected is not None
        assert described(packed) == described(expected)


def test_a_log_directory_is_the_same(tmp_path: Path) -> None:
    random = Random(1)
    for number in range(40):
        path = tmp_path / f"run_{number % 30}" / f"events.out.tfevents.{number}.host"
        path.parent.mkdir(exist_ok=True)
        content = random.choice([values_in_any_form, random_file])(random)
        path.write_bytes(damaged(content, random) if number % 5 == 0 else content)

    grows = tmp_path / "run_7" / "events.out.tfevents.7.host"
    size = grows.stat().st_size

    def all_points() -> object:
        logdir = Logdir(tmp_path)
        snapshots = [logdir.update()]
        # Whatever came after them is read from where they ended.
        with grows.open("ab") as stream:
            stream.write(frame(numbers(2000, loss=0.5).SerializeToString()))
        snapshots.append(logdir.update())
        os.truncate(grows, size)
        return [
            (run.name, series.tag, series.kind, series.steps.tobytes(), series.wall_times.tobytes(), series.superseded)
            for snapshot in snapshots
            for run in snapshot.runs.values()
            for series in run.series.values()
        ], [(health.path, health.records, health.damages) for health in snapshots[0].health]

    at_once = all_points()
    with patch.object(kept_files, "read_together", lambda opened, *_: [None] * len(opened)):
        assert all_points() == at_once
