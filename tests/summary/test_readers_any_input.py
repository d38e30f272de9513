"""Readers of event files take any bytes, in any pieces, from changing files, and show only what was written."""

import io
import os
import shutil
import struct
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary import event_file, kinds
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.event_file import EventFile
from stepscope.summary.inspection import read_events
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.local_source import LocalSource
from stepscope.summary.logdir import Logdir
from stepscope.summary.names import readable_name
from stepscope.summary.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.types_pb2 import DT_COMPLEX128, DT_FLOAT, DT_INT64, DT_STRING
from stepscope.summary.records import frame, header
from stepscope.summary.restarts import Restart, kept_points
from tools.event_file_cases import MemorySource, Unreliable, with_kind
from tools.fuzz_readers import SCENARIOS, fuzz_cache, fuzz_runs, read_in_pieces, seen
from tools.plain_reader import check_as_plainly_read, damages_of, plainly_read, points_of

PATH = PurePosixPath("run/events.out.tfevents.1")


def scalar(step: int, value: float, tag: str = "loss") -> Event:
    return Event(wall_time=step + 0.5, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))


def event_of(step: int, *values: Summary.Value) -> Event:
    return Event(wall_time=step + 0.5, step=step, summary=Summary(value=values))


def start(step: int) -> Event:
    return Event(step=step, session_log=SessionLog(status=SessionLog.START))


def file_of(*events: Event) -> bytes:
    return b"".join(frame(event.SerializeToString()) for event in events)


def read(content: bytes) -> EventFile:
    file = EventFile(PATH, lambda _: io.BytesIO(content))
    file.read_new(len(content))
    return file


def steps_of(file: EventFile) -> dict[str, list[int]]:
    return {tag: points.part(PATH).steps.tolist() for tag, points in file.points.items()}


def strings(kind: str, tag: str, *values: bytes) -> Summary.Value:
    shape: Any = {"dim": [{"size": len(values)}]}
    return with_kind(kind, tag, TensorProto(dtype=DT_STRING, string_val=values, tensor_shape=shape))


OF_EVERY_KIND = [
    Event(wall_time=1.0, file_version="brain.Event:2"),
    scalar(1, 0.5),
    event_of(1, with_kind("scalars", "int", TensorProto(dtype=DT_INT64, int64_val=[7]))),
    event_of(1, Summary.Value(tag="histo", histo=HistogramProto(bucket_limit=[1.0], bucket=[2.0]))),
    event_of(1, strings("images", "image", b"1", b"1", b"PNG")),
    event_of(1, Summary.Value(tag="audio", audio=Summary.Audio(encoded_audio_string=b"RIFF"))),
    event_of(1, strings("text", "note", b"hello")),
    event_of(1, strings("pr_curves", "curve", b"")),
    event_of(1, strings("mesh", "mesh", b"")),
    event_of(1, with_kind("tensor", "tensor", TensorProto(dtype=DT_FLOAT, float_val=[1.0]))),
    event_of(1, strings("hparams", "_hparams_/session_start_info", b"")),
    event_of(1, strings("custom_scalars", "custom_scalars__config__", b"")),
    event_of(1, strings("graph_keras_model", "keras", b"{}")),
    Event(step=1, tagged_run_metadata=TaggedRunMetadata(tag="step 1", run_metadata=b"")),
    Event(step=1, graph_def=b""),
    scalar(2, 0.25),
]


# ---- any bytes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name not in ("runs", "cache")])
@given(random=st.randoms(use_true_random=True))
def test_any_file_shows_what_a_plain_reader_finds(scenario: str, random: Random) -> None:
    SCENARIOS[scenario](random)


@given(content=st.binary(max_size=400), random=st.randoms(use_true_random=False))
def test_any_bytes_around_records(content: bytes, random: Random) -> None:
    whole = file_of(scalar(1, 1.0)) + content + file_of(scalar(2, 2.0), scalar(3, 3.0))
    check_as_plainly_read(read_in_pieces(whole, random), whole)


def test_a_flipped_bit_costs_its_record_and_nothing_else() -> None:
    records = [frame(event.SerializeToString()) for event in OF_EVERY_KIND]
    content = b"".join(records)
    points = [list(plainly_read(record).points().values()) for record in records]
    assert sum(map(len, points)) == len(records) - 1
    bounds = np.cumsum([0, *map(len, records)])
    for number, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        others = [*records[:number], bytes(end - begin), *records[number + 1 :]]
        expected = plainly_read(b"".join(others)).points()
        for offset in range(begin, end):
            flipped = bytearray(content)
            flipped[offset] ^= 1 << offset % 8
            file = read(bytes(flipped))
            assert points_of(file) == expected
            assert damages_of(file) == [(begin, end - begin)]
            assert file.all_damage_count == 1


def test_a_file_cut_anywhere_waits_and_reads_on() -> None:
    content = file_of(*OF_EVERY_KIND)
    whole = points_of(read(content))
    ends = {len(file_of(*OF_EVERY_KIND[:count])) for count in range(len(OF_EVERY_KIND) + 1)}
    for length in range(len(content)):
        arrived = [content[:length], content]
        file = EventFile(PATH, lambda _, arrived=arrived: io.BytesIO(arrived[0]))  # type: ignore[misc]
        file.read_new(length)
        assert file.waiting == (length not in ends)
        assert damages_of(file) == []
        del arrived[0]
        file.read_new(len(content))
        assert points_of(file) == whole
        assert (file.waiting, damages_of(file), file.records) == (False, [], len(OF_EVERY_KIND))


@pytest.mark.parametrize("length", [2**31 + 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_length_beyond_all_limits_costs_its_header(length: int) -> None:
    before = file_of(scalar(1, 1.0))
    file = read(before + header(length) + file_of(scalar(2, 2.0)))
    assert steps_of(file) == {"loss": [1, 2]}
    assert damages_of(file) == [(len(before), 12)]


@pytest.mark.parametrize("length", [1 << 26, 2**31 - 1, 2**31])
def test_for_a_record_that_is_not_there_nothing_is_held(tmp_path: Path, length: int) -> None:
    # The part that existed was once read again and again, however large, before the rest could have arrived.
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(file_of(scalar(1, 1.0)) + header(length))
    os.truncate(path, 60 << 20)

    def open_at(offset: int) -> BinaryIO:
        stream = path.open("rb", buffering=0)
        stream.seek(offset)
        return stream

    file = EventFile(PATH, open_at)
    tracemalloc.start()
    file.read_new(path.stat().st_size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert steps_of(file) == {"loss": [1]}
    assert (file.waiting, damages_of(file)) == (True, [])
    assert peak < 32 << 20


def test_records_of_no_bytes() -> None:
    file = read(frame(b"") * 1000 + file_of(scalar(1, 1.0)))
    assert (steps_of(file), file.records, damages_of(file)) == ({"loss": [1]}, 1001, [])


# ---- any message ----------------------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested(levels: int) -> bytes:
    content = b""
    for _ in range(levels):
        content = field(9, content)
    return content


@pytest.mark.parametrize("count", [1000, 200_000])
def test_a_record_may_hold_more_values_than_there_are_rows(count: int) -> None:
    # The reader once waited forever for room that never came.
    values = Summary.Value(tag="a", simple_value=1.5).SerializeToString()
    many = frame(b"\x10\x05" + field(5, field(1, values) * count))
    before, after = file_of(scalar(1, 1.0)), file_of(scalar(6, 6.0))
    file = read(before + many + after)
    assert len(file.points["a"]) == count
    assert steps_of(file)["loss"] == [1, 6]
    broken = frame(b"\x10\x05" + field(5, field(1, values) * count + b"\x0a"))
    file = read(before + broken + after)
    assert steps_of(file) == {"loss": [1, 6]}
    assert damages_of(file) == [(len(before), len(broken))]


def test_values_that_hold_nothing_are_no_points() -> None:
    # Two bytes each once became a row of fifty.
    nothing = frame(b"\x10\x05" + field(5, b"\x0a\x00" * 500_000 + b"\x0a\x02\x0a\x00"))
    tracemalloc.start()
    file = read(nothing)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (file.points, file.records, damages_of(file)) == ({}, 1, [])
    assert peak < 32 << 20
    # Values after them keep their place in the record.
    tagged = event_of(3, Summary.Value(), Summary.Value(tag="note", image=Summary.Image(width=1)))
    assert read(file_of(tagged)).points["note"].part(PATH).indices.tolist() == [1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (field(1, b"a") + b"\x15" + struct.pack("<f", 1.0) + b"\x15" + struct.pack("<f", 2.0), 2.0),
        (b"\x15" + struct.pack("<f", 2.0) + field(1, b"b") + field(1, b"a"), 2.0),
        # An unknown field with the number's wire type, and a number with another one.
        (field(1, b"a") + b"\x15" + struct.pack("<f", 2.0) + b"\xfd\x01\x00\x00\x00\x00" + b"\x10\x09", 2.0),
        (field(7, b"older") + field(1, b"a") + b"\x15" + struct.pack("<f", 2.0), 2.0),
        # Of several forms, the last one is the value.
        (field(1, b"a") + field(8, b"\x08\x01" + field(5, struct.pack("<f", 1.0))) + b"\x15\x00\x00\x00\x40", 2.0),
        (field(1, b"a") + b"\x15\x00\x00\x80\x3f" + field(8, b"\x08\x02" + field(6, struct.pack("<d", 2.0))), 2.0),
        # A varint of four bytes in the place of a float was once taken for a float.
        (field(1, b"a") + field(8, b"\x08\x01\x28\x81\x82\x83\x04" + field(5, struct.pack("<f", 2.0))), 2.0),
        (field(1, b"a") + field(8, b"\x08\x02\x30\x81\x82\x83\x84\x85\x86\x87\x04\x31" + struct.pack("<d", 2.0)), 2.0),
    ],
)
def test_numbers_are_what_protobuf_makes_of_them(value: bytes, expected: float) -> None:
    metadata = field(9, field(1, field(1, b"scalars")))
    # The first record is parsed; the others are as it was.
    file = read(frame(b"\x10\x05" + field(5, field(1, value + metadata))) * 3)
    assert file.points["a"].part(PATH).values.tolist() == [expected] * 3
    assert damages_of(file) == []


def test_a_value_of_two_tensors_is_both_together_and_no_scalar() -> None:
    # Protobuf merges them; the second was once shown.
    one = field(8, TensorProto(dtype=DT_FLOAT, float_val=[1.0]).SerializeToString())
    value = field(1, b"a") + field(9, field(1, field(1, b"scalars"))) + one + one
    record = frame(field(5, field(1, value)))
    file = read(record)
    assert steps_of(file) == {"a": []}
    assert damages_of(file) == [(0, len(record))]


@pytest.mark.parametrize(
    "data",
    [
        field(5, field(1, nested(10_000))),
        nested(100_000),
        field(5, field(1, field(8, field(2, field(2, b"\x08\x01") * 50_000)))),
        b"\xff" * 9,
        b"\xff" * 200,
        b"\x0b" * 50_000,
        b"\x2b\x2c" * 1000,
        field(5, b"") * 2,
        field(3, b"\xff"),
        field(5, field(1, field(1, b"\xff\xfe") + b"\x15\x00\x00\x80\x3f")),
        b"\x09" + bytes(3),
        b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x2a\xff\xff\xff\xff\x0f",
        b"\x00\x00",
    ],
    ids=lambda data: f"{data[:6].hex()} of {len(data)}",
)
def test_a_message_of_any_shape_leaves_the_records_around_it_alone(data: bytes) -> None:
    before, after = file_of(scalar(1, 1.0)), file_of(scalar(2, 2.0))
    file = read(before + frame(data) + after)
    assert steps_of(file)["loss"] == [1, 2]
    assert all(damage == (len(before), len(frame(data))) for damage in damages_of(file))
    assert file.all_damage_count <= 1
    assert sum(1 for _ in read_events(PATH, lambda *_: io.BytesIO(before + frame(data) + after))) >= 2


def test_a_value_that_cannot_be_read_is_reported_and_the_tag_begins_with_the_next() -> None:
    # The tag once had no kind for good, and the reported value stayed a point.
    metadata_is_broken = field(1, b"loss") + field(9, b"\xff") + b"\x15\x00\x00\x80\x3f"
    broken = frame(b"\x10\x01" + field(5, field(1, metadata_is_broken)))
    no_utf8 = frame(b"\x10\x01" + field(5, field(1, field(1, b"\xff") + b"\x15\x00\x00\x80\x3f")))
    file = read(broken + no_utf8 * 2 + file_of(scalar(2, 2.0)))
    assert (steps_of(file), file.points["loss"].kind) == ({"loss": [2]}, "scalars")
    begins = [0, len(broken), len(broken) + len(no_utf8)]
    assert damages_of(file) == [
        (begin, length) for begin, length in zip(begins, map(len, (broken, no_utf8, no_utf8)), strict=True)
    ]


def test_large_and_many_tags() -> None:
    # Each of a record's values was once searched for in the whole record again.
    large = "x" * (1 << 20)
    many = [f"{number}/é" for number in range(20_000)]
    values = [Summary.Value(tag=tag, simple_value=1.0) for tag in many]
    file = read(file_of(scalar(1, 1.0, large), event_of(1, *values), scalar(2, 2.0, large), event_of(2, *values)))
    assert steps_of(file) == {tag: [1, 2] for tag in (readable_name(large), *many)}
    assert damages_of(file) == []


def test_a_tag_may_be_empty_or_have_its_older_name() -> None:
    file = read(file_of(scalar(1, 1.0, ""), event_of(2, Summary.Value(node_name="older", simple_value=2.0))))
    assert steps_of(file) == {"": [1], "older": [2]}


# ---- any payload ----------------------------------------------------------------------------------------------------


sizes = st.sampled_from([0, 1, 1, 2, 3, 6, -1, 2**24, 2**31, 2**58, 2**59, 2**62, 2**63 - 1])
tensors = st.builds(
    TensorProto,
    dtype=st.sampled_from([*range(24), 101, 2**31 - 1]),
    tensor_shape=st.fixed_dictionaries(
        {"dim": st.lists(sizes.map(lambda size: {"size": size}), max_size=40), "unknown_rank": st.booleans()}
    ),
    tensor_content=st.just(b"") | st.binary(max_size=48),
    string_val=st.lists(st.sampled_from([b"", b"1", b"\xff", b"{}", b"[" * 5000]) | st.binary(max_size=9), max_size=6),
    float_val=st.lists(st.floats(width=32), max_size=6),
    half_val=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
    int_val=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
    scomplex_val=st.lists(st.floats(width=32), max_size=3),
)


@given(
    value=st.builds(Summary.Value, tag=st.just("t"), tensor=tensors), content=st.binary(max_size=9), name=st.booleans()
)
def test_any_tensor_is_a_payload_or_a_payload_error(value: Summary.Value, content: bytes, name: bool) -> None:
    for kind in kinds.KINDS:
        value.metadata.plugin_data.plugin_name = kind if name else ""
        value.metadata.plugin_data.content = content
        try:
            kinds.decode(kind, value)
        except PayloadError:
            continue


def test_a_shape_that_numpy_refuses_is_a_payload_error() -> None:
    # NumPy counts bytes even if one dimension is 0.
    shape: Any = {"dim": [{"size": 0}, {"size": 2**59}]}
    value = Summary.Value(tensor=TensorProto(dtype=DT_COMPLEX128, tensor_shape=shape))
    with pytest.raises(PayloadError, match="fits into memory"):
        kinds.decode("tensor", value)


# ---- files that change ----------------------------------------------------------------------------------------------


def failing_at(share: float, random: Random, content: bytes) -> Callable[[int], BinaryIO]:
    return lambda _: Unreliable(content, random, share)


@pytest.mark.parametrize("seed", range(40))
def test_a_line_that_fails_and_gives_few_bytes_costs_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Data taken before an error was once taken again if garbage followed or no end could be determined.
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 128)
    content = file_of(*(scalar(step, 1.0) for step in range(9))) + bytes(300) + file_of(scalar(9, 1.0)) + bytes(200)
    random = Random(seed)
    file = EventFile(PATH, failing_at(0.2, random, content))
    for _ in range(1000):
        try:
            file.read_new(len(content))
            break
        except OSError:
            continue
    check_as_plainly_read(file, content)


def test_a_file_that_shrinks_between_two_reads_of_it_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_WINDOW_BYTES", 128)
    content = file_of(*(scalar(step, 1.0) for step in range(9)))

    class Shrinking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                self.truncate(50)
            return super().read(size)

    for tail in (b"", bytes(500)):
        file = EventFile(PATH, lambda _, tail=tail: Shrinking(content + tail))  # type: ignore[misc]
        file.read_new(len(content))
        assert steps_of(file)["loss"] == list(range(len(steps_of(file)["loss"])))
        assert damages_of(file) == []


def test_a_file_that_was_cut_and_grew_again_unseen_is_read_anew() -> None:
    # It began as before, so its new bytes were once taken for a continuation of the old ones.
    source = MemorySource()
    logdir = Logdir(source)
    first = [scalar(step, 1.0) for step in range(10)]
    source.put("events.out.tfevents.1", file_of(*first))
    logdir.update()
    source.put("events.out.tfevents.1", file_of(*first[:3], *(scalar(step, 2.0) for step in range(3, 12))))
    series = logdir.update().series(".", "loss")
    assert series is not None
    assert series.values.tolist() == [1.0] * 3 + [2.0] * 9


def test_damage_that_was_cut_off_is_none() -> None:
    # Shorter than what was looked at, but not than what was read for good, it was once taken for the same file.
    source = MemorySource()
    logdir = Logdir(source)
    content = b"?" + file_of(scalar(0, 1.0))[:-1]
    source.put("events.out.tfevents.1", content)
    assert [(file.bytes_read, file.damage_count) for file in logdir.update().health] == [(1, 1)]
    source.put("events.out.tfevents.1", content[:6])
    assert [(file.bytes_read, file.damage_count) for file in logdir.update().health] == [(0, 0)]
    assert logdir.snapshot.health == Logdir(source).update().health


def test_damage_that_goes_on_where_a_record_was_awaited_is_one() -> None:
    source = MemorySource()
    logdir = Logdir(source)
    before = file_of(scalar(0, 1.0), scalar(1, 1.0)) + b"?"
    awaited = file_of(scalar(2, 1.0))
    source.put("events.out.tfevents.1", before + awaited[:-1])
    assert [(file.damage_count, file.waiting) for file in logdir.update().health] == [(1, True)]
    source.put("events.out.tfevents.1", before + b"?" + awaited)
    (file,) = logdir.update().health
    assert [(damage.offset, damage.length) for damage in file.damages] == [(len(before) - 1, 2)]
    assert logdir.snapshot.health == Logdir(source).update().health


def test_what_is_left_out_does_not_move_the_place_of_a_restart() -> None:
    # A value that is not a scalar, and run metadata, were once counted wrongly, and a good point superseded.
    note = strings("scalars", "loss", b"no number", b"either")
    metadata = Event(step=9, tagged_run_metadata=TaggedRunMetadata(tag="step", run_metadata=b""))
    content = file_of(
        start(0), scalar(0, 0.0), scalar(1, 1.0), event_of(2, note), metadata, start(1), scalar(1, 2.0), metadata
    )
    file = read(content)
    assert [s.points_between for s in file.session_starts] == [{}, {"loss": 2, "step": 1}]
    source = MemorySource()
    source.put("events.out.tfevents.1", content)
    run = Logdir(source).update().runs["."]
    assert {tag: series.steps.tolist() for tag, series in run.series.items()} == {"loss": [0, 1], "step": [9]}


def test_a_start_at_the_largest_step_supersedes_that_step() -> None:
    largest = 2**63 - 1
    kept = kept_points(np.array([1, largest, largest]), [Restart(position=2, step=largest)])
    assert kept.tolist() == [True, False, True]


def test_a_file_without_metadata_beside_one_of_another_kind_than_scalars() -> None:
    # Its numbers, which the other file lacks, once made the columns differ in length.
    source = MemorySource()
    bare = Summary.Value(tag="t", tensor=TensorProto(dtype=DT_INT64, int64_val=[3]))
    source.put("events.out.tfevents.1", file_of(event_of(5, with_kind("tensor", "t", bare.tensor))))
    source.put("events.out.tfevents.2", file_of(event_of(3, bare), event_of(4, bare)))
    series = Logdir(source).update().series(".", "t")
    assert series is not None
    assert (series.steps.tolist(), series.values.tolist()) == ([3, 4, 5], [])
    assert [series.read(index).array.item() for index in range(3)] == [3, 3, 3]


def test_integers_without_metadata_are_the_scalars_that_another_file_says_they_are() -> None:
    source = MemorySource()
    bare = Summary.Value(tag="t", tensor=TensorProto(dtype=DT_INT64, int64_val=[3]))
    source.put("events.out.tfevents.1", file_of(event_of(1, bare)))
    source.put("events.out.tfevents.2", file_of(event_of(2, with_kind("scalars", "t", bare.tensor))))
    series = Logdir(source).update().series(".", "t")
    assert series is not None
    assert series.values.tolist() == [3.0, 3.0]


@given(random=st.randoms(use_true_random=True))
def test_files_of_a_run_that_change_in_any_order_show_what_a_first_look_shows(random: Random) -> None:
    fuzz_runs(random)


@settings(max_examples=50)
@given(random=st.randoms(use_true_random=True))
def test_a_cache_of_files_that_changed_shows_what_a_first_look_shows(random: Random) -> None:
    fuzz_cache(random)


def test_a_cache_is_not_believed_where_the_file_was_deleted_or_is_another(tmp_path: Path) -> None:
    logs, cache = tmp_path / "logs", ColumnCache(tmp_path / "cache")
    logs.mkdir()
    path = logs / "events.out.tfevents.1"
    path.write_bytes(file_of(*(scalar(step, 1.0) for step in range(20_000))))
    first = Logdir(logs, cache=cache)
    first.update()
    first.wait_until_stored()
    assert len(list((tmp_path / "cache").iterdir())) == 1
    path.unlink()
    assert seen(Logdir(logs, cache=cache).update()) == seen(Logdir(logs).update())
    path.write_bytes(file_of(*(scalar(step, 2.0) for step in range(30_000))))
    assert seen(Logdir(logs, cache=cache).update()) == seen(Logdir(logs).update())


def test_a_writer_at_work_is_never_damage(tmp_path: Path) -> None:
    content = file_of(*(scalar(step, step / 2) for step in range(3000)))
    path = tmp_path / "events.out.tfevents.1"
    random = Random(1)

    def write() -> None:
        with path.open("ab", buffering=0) as stream:
            written = 0
            while written < len(content):
                length = random.choice([1, 7, 100, 5000])
                stream.write(content[written : written + length])
                written += length

    writer = threading.Thread(target=write)
    logdir = Logdir(tmp_path)
    writer.start()
    ended = False
    while not ended:
        ended = not writer.is_alive()
        snapshot = logdir.update()
        assert snapshot.damage_count == 0
        series = snapshot.series(".", "loss")
        if series is not None:
            assert series.steps.tolist() == list(range(len(series)))
            assert series.values.tolist() == [step / 2 for step in range(len(series))]
    assert series is not None
    assert len(series) == 3000


@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_written_anew_again_and_again_ends_as_a_first_look_sees_it(tmp_path: Path, in_place: bool) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(b"")

    def write() -> None:
        for generation in range(100):
            target = path if in_place else tmp_path / "other"
            with target.open("wb", buffering=0) as stream:
                for step in range(generation % 7 + 1):
                    stream.write(file_of(scalar(step, float(generation))))
            if not in_place:
                target.replace(path)

    writer = threading.Thread(target=write)
    logdir = Logdir(tmp_path)
    writer.start()
    ended = False
    while not ended:
        ended = not writer.is_alive()
        series = logdir.update().series(".", "loss")
        assert series is None or set(series.values.tolist()) <= set(map(float, range(100)))
    assert seen(logdir.snapshot) == seen(Logdir(tmp_path).update())


# ---- folders that change --------------------------------------------------------------------------------------------


def test_folders_that_vanish_while_they_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "b/deep", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.out.tfevents.1").write_bytes(file_of(scalar(1, 1.0)))
    logdir = Logdir(tmp_path)
    assert sorted(logdir.update().runs) == ["a", "b", "b/deep", "c"]
    scandir = os.scandir

    def deleting(path: Any) -> Any:
        listing = scandir(path)
        if str(path) == str(tmp_path):
            shutil.rmtree(tmp_path / "b", ignore_errors=True)
        return listing

    monkeypatch.setattr(os, "scandir", deleting)
    assert sorted(found.path.parent.name for found in LocalSource(tmp_path).list()) == ["a", "c"]
    monkeypatch.undo()
    assert sorted(logdir.update().runs) == ["a", "c"]


def test_files_that_vanish_between_listing_and_reading_are_reported(tmp_path: Path) -> None:
    class Vanishing(LocalSource):
        def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
            (self.root / path).unlink(missing_ok=True)
            return super().open(path, offset)

    (tmp_path / "events.out.tfevents.1").write_bytes(file_of(scalar(1, 1.0)))
    snapshot = Logdir(Vanishing(tmp_path)).update()
    assert [(health.path, health.error) for health in snapshot.health] == [
        ("events.out.tfevents.1", "No such file or directory")
    ]
    assert snapshot.runs == {}


def test_links_that_lead_nowhere_or_in_circles(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.out.tfevents.1").write_bytes(file_of(scalar(1, 1.0)))
    for link, target in (
        ("itself", "itself"),
        ("there", "back"),
        ("back", "there"),
        ("nowhere", "missing"),
        ("run/up", ".."),
        ("run/events.out.tfevents.2", "events.out.tfevents.2"),
        ("run/events.out.tfevents.3", "missing"),
    ):
        (tmp_path / link).symlink_to(target)
    snapshot = Logdir(tmp_path).update()
    assert {name: len(run.series["loss"]) for name, run in snapshot.runs.items()} == {"run": 1}
    assert snapshot.damage_count == 0


def test_points_of_another_kind_do_not_move_the_place_of_a_restart() -> None:
    # They are not shown, but were once counted, so good points after the restart were superseded.
    source = MemorySource()
    first = event_of(5, strings("text", "loss", b"x"))
    first.wall_time = 0.5
    source.put("events.out.tfevents.1", file_of(first))
    source.put("events.out.tfevents.2", file_of(scalar(1, 1.0), scalar(2, 2.0)))
    note = [event_of(step, strings("text", "loss", b"x")) for step in (4, 6)]
    source.put("events.out.tfevents.3", file_of(start(3), *note))
    series = Logdir(source).update().series(".", "loss")
    assert series is not None
    assert series.steps.tolist() == [4, 6]


def test_a_start_that_comes_to_be_a_restart_is_heeded_in_every_tag() -> None:
    # Only tags with new points were once rebuilt.
    source = MemorySource()
    source.put("events.out.tfevents.2", file_of(start(9), scalar(5, 1.0), scalar(2, 2.0)))
    logdir = Logdir(source)
    logdir.update()
    source.put("events.out.tfevents.1", file_of(scalar(5, 1.0, "another")))
    assert seen(logdir.update()) == seen(Logdir(source).update())


def test_an_event_of_very_many_values_is_inspected() -> None:
    # This once never ended with more values than the 65,536 rows of a window.
    value = Summary.Value(tag="a", simple_value=1.5).SerializeToString()
    content = frame(b"\x10\x05" + field(5, field(1, value) * 70_000))
    assert sum(1 for _ in read_events(PATH, lambda *_: io.BytesIO(content))) == 1
