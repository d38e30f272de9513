"""Reading event files that grow, end early or are damaged."""

import io
import struct
from pathlib import PurePosixPath
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary import event_file
from stepscope.summary.event_file import EventFile
from stepscope.summary.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.types_pb2 import DT_DOUBLE, DT_FLOAT, DT_INT64
from stepscope.summary.records import frame, masked_crc

PATH = PurePosixPath("run/events.out.tfevents.1.host")


class Growing:
    """A file of which only the first ``size`` bytes have arrived."""

    def __init__(self, content: bytes, size: int | None = None) -> None:
        self.content = content
        self.size = len(content) if size is None else size

    def open(self, offset: int) -> BinaryIO:
        stream = io.BytesIO(self.content[: self.size])
        stream.seek(offset)
        return stream


def scalar_event(step: int, *values: tuple[str, float], wall_time: float = 100.0) -> Event:
    return Event(
        wall_time=wall_time + step,
        step=step,
        summary=Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values]),
    )


def file_of(*events: Event) -> bytes:
    return b"".join(frame(event.SerializeToString()) for event in events)


def read(content: bytes) -> EventFile:
    growing = Growing(content)
    file = EventFile(PATH, growing.open)
    file.read_new(growing.size)
    return file


def points(file: EventFile) -> dict[str, list[tuple[int, float]]]:
    return {
        tag: list(zip(p.part(file.path).steps.tolist(), p.part(file.path).values.tolist(), strict=True))
        for tag, p in file.points.items()
        if p.kind == "scalars"
    }


def damages(file: EventFile) -> list[tuple[int, int]]:
    return [(d.offset, d.length) for d in file.all_damages]


VERSION = Event(wall_time=99.5, file_version="brain.Event:2")
THREE = [scalar_event(step, ("loss", step / 2), ("acc", 1 - step / 4)) for step in range(3)]
THREE_POINTS = {"loss": [(0, 0.0), (1, 0.5), (2, 1.0)], "acc": [(0, 1.0), (1, 0.75), (2, 0.5)]}


def test_a_whole_file() -> None:
    file = read(file_of(VERSION, *THREE))
    assert points(file) == THREE_POINTS
    assert file.points["loss"].part(file.path).wall_times.tolist() == [100.0, 101.0, 102.0]
    assert file.first_wall_time == 99.5
    assert (file.records, file.waiting, damages(file)) == (4, False, [])


def test_a_file_that_arrives_byte_by_byte_reads_as_if_it_had_come_whole() -> None:
    content = file_of(VERSION, *THREE)
    growing = Growing(content, 0)
    file = EventFile(PATH, growing.open)
    ends = [len(file_of(VERSION, *THREE[:n])) for n in range(4)]
    for size in range(len(content) + 1):
        growing.size = size
        file.read_new(size)
        whole_events = sum(end <= size for end in ends)
        assert file.records == whole_events
        assert file.waiting == (size not in (0, *ends))
    assert points(file) == THREE_POINTS
    assert damages(file) == []


def test_every_shape_of_a_number_is_read() -> None:
    def tensor(**fields: object) -> Summary:
        value = Summary.Value(tag="x", tensor=TensorProto(**fields))  # type: ignore[arg-type]
        value.metadata.plugin_data.plugin_name = "scalars"
        return Summary(value=[value])

    shape_1 = TensorProto(tensor_shape={"dim": [{"size": 1}]}).tensor_shape
    summaries = [
        tensor(dtype=DT_FLOAT, float_val=[0.5]),
        tensor(dtype=DT_FLOAT, tensor_content=struct.pack("<f", 1.5)),
        tensor(dtype=DT_DOUBLE, double_val=[0.1]),
        tensor(dtype=DT_DOUBLE, tensor_content=struct.pack("<d", 0.2)),
        tensor(dtype=DT_FLOAT, float_val=[2.5], tensor_shape=shape_1),
        tensor(dtype=DT_INT64, int64_val=[-7]),
        tensor(dtype=DT_FLOAT, float_val=[float("nan")]),
    ]
    file = read(file_of(*(Event(step=i, summary=s) for i, s in enumerate(summaries))))
    np.testing.assert_array_equal(file.points["x"].part(file.path).values, [0.5, 1.5, 0.1, 0.2, 2.5, -7.0, np.nan])
    assert damages(file) == []


def test_steps_of_every_length_and_sign() -> None:
    steps = [0, 1, 127, 128, 129, 2**14, 2**31, 2**62, -1, -(2**63), 5, 6]
    file = read(file_of(*(scalar_event(step, ("x", 1.0)) for step in steps)))
    assert file.points["x"].part(file.path).steps.tolist() == steps


def test_tags_logged_together_share_their_steps_until_one_of_them_grows_alone() -> None:
    together = [scalar_event(step, ("a", 0.5), ("b", 1.5)) for step in (3, 5)]
    content = file_of(*together, scalar_event(3, ("other", 2.5)), scalar_event(6, ("other", 3.5)))
    growing = Growing(content + file_of(scalar_event(9, ("a", 4.5))), len(content))
    file = EventFile(PATH, growing.open)
    file.read_new(growing.size)
    a, b, other = (file.points[tag].part(PATH).steps for tag in ("a", "b", "other"))
    assert np.shares_memory(a, b)
    assert not np.shares_memory(a, other)
    growing.size = len(growing.content)
    file.read_new(growing.size)
    assert points(file) == {
        "a": [(3, 0.5), (5, 0.5), (9, 4.5)],
        "b": [(3, 1.5), (5, 1.5)],
        "other": [(3, 2.5), (6, 3.5)],
    }
    assert a.tolist() == b.tolist() == [3, 5]


def test_many_tags_outgrow_the_tables() -> None:
    tags = [f"layer_{i}/weights/{'x' * (i % 50)}" for i in range(3000)]
    content = file_of(*(scalar_event(step, *((tag, float(step)) for tag in tags)) for step in range(3)))
    assert points(read(content)) == {tag: [(0, 0.0), (1, 1.0), (2, 2.0)] for tag in tags}


def test_a_flipped_bit_costs_its_record_only_and_is_reported(subtests: pytest.Subtests) -> None:
    content = file_of(VERSION, *THREE)
    ends = [0, *(len(file_of(VERSION, *THREE[:n])) for n in range(4))]
    for offset in range(ends[2], ends[3]):
        with subtests.test(offset=offset):
            damaged = bytearray(content)
            damaged[offset] ^= 0x10
            file = read(bytes(damaged))
            assert points(file) == {tag: [p[0], p[2]] for tag, p in THREE_POINTS.items()}
            assert damages(file) == [(ends[2], ends[3] - ends[2])]


def test_reading_resumes_after_garbage_larger_than_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 4096)
    garbage = bytes(range(256)) * 40
    before, after = file_of(VERSION, THREE[0]), file_of(*THREE[1:])
    file = read(before + garbage + after)
    assert points(file) == THREE_POINTS
    assert damages(file) == [(len(before), len(garbage))]


def test_records_larger_than_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 4096)
    text = Summary.Value(tag="note", tensor=TensorProto(string_val=[b"x" * 100_000]))
    file = read(file_of(THREE[0], Event(summary=Summary(value=[text])), *THREE[1:]))
    assert points(file) == THREE_POINTS
    assert (file.points["note"].part(file.path).lengths > 100_000).all()


def test_a_file_that_outgrew_its_listing_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # A record larger than the window once made the reader ask for the same window forever, as the listed size was less.
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 4096)
    text = Summary.Value(tag="note", tensor=TensorProto(string_val=[b"x" * 100_000]))
    growing = Growing(file_of(Event(summary=Summary(value=[text])), *THREE))
    file = EventFile(PATH, growing.open)
    file.read_new(10)
    assert points(file) == THREE_POINTS


def test_what_was_read_before_an_error_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 64)

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= 4096:
                raise OSError("input/output error")
            return super().read(size)

    many = [scalar_event(step, ("loss", float(step))) for step in range(500)]
    content = file_of(*many)
    growing = Growing(content)
    streams = iter([Failing(content)])
    file = EventFile(PATH, lambda offset: next(streams, None) or growing.open(offset))
    with pytest.raises(OSError, match="input/output"):
        file.read_new(100)
    file.read_new(len(content))
    assert points(file) == {"loss": [(step, float(step)) for step in range(500)]}


def test_garbage_at_the_end_is_damage_until_records_follow() -> None:
    before, after = file_of(*THREE[:1]), file_of(*THREE[1:])
    growing = Growing(before + b"\0" * 50 + after, len(before) + 50)
    file = EventFile(PATH, growing.open)
    file.read_new(growing.size)
    assert damages(file) == [(len(before), 50)]
    assert not file.waiting
    growing.size = len(growing.content)
    file.read_new(growing.size)
    assert damages(file) == [(len(before), 50)]
    assert points(file) == THREE_POINTS


def test_a_length_beyond_all_limits_is_damage_even_with_a_valid_crc() -> None:
    length = struct.pack("<Q", 2**63)
    header = length + struct.pack("<I", masked_crc(length))
    file = read(file_of(THREE[0]) + header + file_of(*THREE[1:]))
    assert points(file) == THREE_POINTS
    assert damages(file) == [(len(file_of(THREE[0])), 12)]


def test_a_record_that_is_no_event_is_reported() -> None:
    file = read(file_of(THREE[0]) + frame(b"\xff\xff\xff") + frame(b"") + file_of(*THREE[1:]))
    assert points(file) == THREE_POINTS
    assert damages(file) == [(len(file_of(THREE[0])), 19)]


def test_skipped_bytes_are_exact_beyond_the_damages_that_are_listed() -> None:
    bad = Summary.Value(tag="loss", image=Summary.Image(height=1))
    several = Event(step=9, summary=Summary(value=[bad, bad, Summary.Value(tag="acc", simple_value=1.0)]))
    record = len(frame(THREE[0].SerializeToString()))
    content = bytearray(file_of(*[THREE[0]] * 401))
    for number in range(1, 401, 2):
        content[record * number + 20] ^= 1
    file = read(bytes(content) + file_of(several, THREE[2]) + b"\0" * 50)
    # If two values in one record are damaged, the record's bytes count once.
    assert file.all_damage_count == 200 + 2 + 1
    assert file.all_skipped_bytes == 200 * record + len(file_of(several)) + 50
    assert sum(damage.length for damage in file.all_damages) < file.all_skipped_bytes


def test_run_metadata_under_the_tag_of_a_scalar_is_damage_and_no_point() -> None:
    # It once became a point with the value NaN.
    tagged = Event(step=9, tagged_run_metadata=TaggedRunMetadata(tag="loss", run_metadata=b""))
    file = read(file_of(*THREE, tagged))
    assert points(file) == points(read(file_of(*THREE)))
    assert [d.reason for d in file.damages] == ["graph_tagged_run_metadata under the tag 'loss', which holds scalars"]


def test_session_starts_remember_how_many_points_came_since_the_one_before() -> None:
    start = Event(step=1, session_log=SessionLog(status=SessionLog.START))
    file = read(file_of(start, *THREE[:2], start, start, *THREE[1:], start))
    total = {tag: len(of_tag) for tag, of_tag in file.points.items()}
    assert total == {"loss": 4, "acc": 4}
    # Starts that alternate with points once held the numbers of all tags each.
    assert [s.points_between for s in file.session_starts] == [{}, {"loss": 2, "acc": 2}, {}, {"loss": 2, "acc": 2}]


events = st.builds(
    scalar_event,
    st.integers(-(2**63), 2**63 - 1),
    st.tuples(st.sampled_from(["a", "b/c", "ü", ""]), st.floats(width=32, allow_nan=False)),
    wall_time=st.just(0.0),
)


@given(st.lists(events, max_size=8), st.data())
def test_no_damage_shows_a_wrong_value(written: list[Event], data: st.DataObject) -> None:
    content = bytearray(file_of(*written))
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            at = data.draw(st.integers(0, len(content) - 1))
            content[at] ^= 1 << data.draw(st.integers(0, 7))
    del content[data.draw(st.integers(0, len(content))) :]
    file = read(bytes(content))
    true_points = [(e.summary.value[0].tag, e.step, e.summary.value[0].simple_value) for e in written]
    for tag, shown in points(file).items():
        remaining = iter([(step, value) for t, step, value in true_points if t == tag])
        assert all(any(point == true for true in remaining) for point in shown)


@given(st.binary(max_size=300))
def test_random_bytes_in_a_record_never_raise(payload: bytes) -> None:
    file = read(frame(payload) + file_of(*THREE))
    assert points(file).get("loss", [])[-3:] == THREE_POINTS["loss"]
