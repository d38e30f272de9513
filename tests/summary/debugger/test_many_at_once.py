"""Records decoded in bulk give the same results as protobuf's own parser gives for each of them."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary import messages, scan
from stepscope.summary.debugger import events, measured, measures, packed_column, record_file
from stepscope.summary.debugger.packed_column import PackedColumn, PackedView
from stepscope.summary.debugger.tfdbg import Following, TfdbgDump
from stepscope.summary.kernels import Group
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.records import frame
from tests.summary.debugger.dumps import DUMPS, HOST, MODES, write_dump

PREFIX = f"tfdbg_events.1700000000.{HOST}"
TRACES, EXECUTIONS = f"{PREFIX}.graph_execution_traces", f"{PREFIX}.execution"
Files = dict[str, bytes]


@contextmanager
def without_loops() -> Iterator[None]:
    """Makes the loops look as if another process were compiling them."""
    group = Group("event files", ())
    group.compiled_elsewhere(Event())
    with patch.object(scan, "KERNELS", group):
        yield


def told(files: Files, sizes: list[int], *, by_loops: bool = True) -> dict[str, Any]:
    """Return all columns of a dump whose files grow to each of these sizes in turn, and are then whole."""

    def open_at(name: str, offset: int) -> BinaryIO:
        stream = io.BytesIO(files[name])
        stream.seek(offset)
        return stream

    following = Following(dict, open_at, "logs")
    with ExitStack() as stack:
        if not by_loops:
            stack.enter_context(without_loops())
        for size in sizes:
            following.update({name: min(size, len(content)) for name, content in files.items()})
        dump = following.update({name: len(content) for name, content in files.items()})
    return columns_of(dump)


def columns_of(dump: TfdbgDump) -> dict[str, Any]:
    found: dict[str, Any] = {"health": dump.health, "places": dump.places.first}
    found["where"] = [dump.places[number] for number in range(len(dump.places))]
    for place, columns in enumerate(dump.columns):
        values = columns.measured
        parts = vars(columns) | {"bad": values.bad, "by record": values.by_record}
        parts |= {f"figure {number}": figure for number, figure in enumerate(values.figures)}
        del parts["measured"]
        for name, column in parts.items():
            whole = column[:].tolist() if isinstance(column, PackedView | np.ndarray) else column
            found[f"{place} {name}"] = repr(whole)
    data = dump.data()
    try:
        found["figures"] = repr(data.observations(0, data.observation_count).figures.tolist())
    except OSError as error:
        found["figures"] = str(error)
    found["tensors"] = list(data.tensors)
    return found


@pytest.mark.peers
@pytest.mark.parametrize("dumps", DUMPS)
@pytest.mark.parametrize("mode", MODES, ids=tfdbg.TensorDebugMode.Name)
def test_dumps_of_real_trainings(peer: Callable[[str], Path], dumps: str, mode: tfdbg.TensorDebugMode) -> None:
    folder = peer(f"{dumps}/{tfdbg.TensorDebugMode.Name(mode)}")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    largest = max(map(len, files.values()))
    sizes = [largest // 7, largest // 3]
    assert told(files, sizes) == told(files, sizes, by_loops=False)


@pytest.mark.peers
@pytest.mark.parametrize("dumps", DUMPS)
@pytest.mark.parametrize("mode", ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE"])
def test_what_a_real_training_writes_is_decoded_by_loops(peer: Callable[[str], Path], dumps: str, mode: str) -> None:
    folder = peer(f"{dumps}/{mode}")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with patch.object(events, "value_of", wraps=measured.value_of) as values:
        dump = told(files, [])
    # The first value of each place, and one whose tensor TensorFlow leaves empty.
    assert values.call_count <= len(dump["where"]) + 1


def test_small_dumps_of_every_mode(tmp_path: Path) -> None:
    for mode in MODES:
        write_dump(tmp_path / str(mode), mode)
        files = {path.name: path.read_bytes() for path in (tmp_path / str(mode)).iterdir()}
        assert told(files, []) == told(files, [], by_loops=False)


def varint(number: int, longer: int = 0) -> bytes:
    """Encode a number, optionally in more bytes than it needs."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F or longer > 0:
        found.append(number & 0x7F | 0x80)
        longer -= number <= 0x7F
        number >>= 7
    return bytes([*found, number])


Part = tuple[int, int, bytes | int]
"""Number, wire type and content of a field."""


@st.composite
def messages_of(draw: st.DrawFn, parts: list[Part]) -> bytes:
    """Encode fields: usually as their writers do, else in another order, twice, beside unknown ones, or too long."""
    chosen = list(parts)
    oddity = draw(st.sampled_from(["none"] * 8 + ["order", "twice", "unknown", "long", "left out"]))
    if oddity == "order":
        chosen = draw(st.permutations(chosen))
    elif oddity == "twice" and chosen:
        chosen.insert(draw(st.integers(0, len(chosen))), draw(st.sampled_from(chosen)))
    elif oddity == "unknown":
        number = draw(st.integers(1, 20) | st.sampled_from([0, 16, 2_000, 1 << 29]))
        wire = draw(st.integers(0, 7))
        chosen.insert(draw(st.integers(0, len(chosen))), (number, wire, draw(st.binary(max_size=9))))
    elif oddity == "left out" and chosen:
        del chosen[draw(st.integers(0, len(chosen) - 1))]
    longer = draw(st.integers(1, 9)) if oddity == "long" else 0
    which = draw(st.integers(0, max(len(chosen) - 1, 0)))
    found = []
    for place, (number, wire, content) in enumerate(chosen):
        more = longer if place == which else 0
        key_more = more if draw(st.booleans()) else 0
        found.append(varint(number << 3 | wire, key_more))
        if isinstance(content, int):
            found.append(varint(content, more - key_more))
        else:
            found.append(varint(len(content), more - key_more) + content if wire == 2 else content)
    return b"".join(found)


some_numbers = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, 7.0, -1.0, 2.0**40, float("nan"), float("inf"), 0.5])
lengths = {0: 0, 1: 0, 2: 2, 3: 5, 4: 11, 5: 10, 6: 22, 7: 3, 8: 3}
names = st.sampled_from([b"a", b"b", b"layer/MatMul", b"", b"\xff", b"x" * 300])


@st.composite
def tensors(draw: st.DrawFn, mode: int) -> bytes:
    count = lengths.get(mode, 2) + draw(st.sampled_from([0] * 9 + [1]))
    values = np.array(draw(st.lists(some_numbers, min_size=count, max_size=count)), np.float64).tobytes()
    size = draw(messages_of([(1, 0, count)]))
    shape = draw(messages_of([(2, 2, size)]))
    way = draw(st.sampled_from(["content"] * 6 + ["packed", "split", "floats", "empty"]))
    kind = (1, 0, draw(st.sampled_from([2] * 9 + [1, 7, 0])))
    if way == "empty":
        return b""
    if way == "packed":
        return draw(messages_of([kind, (2, 2, shape), (6, 2, values)]))
    if way == "split":
        numbers: list[Part] = [(6, 1, values[at : at + 8]) for at in range(0, len(values), 8)]
        return draw(messages_of([kind, (2, 2, shape), *numbers]))
    if way == "floats":
        return draw(messages_of([(1, 0, 1), (2, 2, shape), (5, 2, values[: 4 * count])]))
    return draw(messages_of([kind, (2, 2, shape), (4, 2, values)]))


@st.composite
def traces(draw: st.DrawFn) -> bytes:
    mode = draw(st.sampled_from([2, 3, 4, 4, 5, 1, 7, 0, 6, 8, 9, 1 << 32 | 4]))
    parts: list[Part] = [(1, 2, draw(names)), (2, 2, draw(names))]
    slot = draw(st.sampled_from([0, 0, 0, 1, 2**31, -1, 1 << 33]))
    parts += [(3, 0, slot)] if slot else []
    parts += [(4, 0, mode), (5, 2, draw(tensors(mode))), (6, 2, draw(names))]
    return draw(messages_of([*times(draw), (10, 2, draw(messages_of(parts)))]))


def times(draw: st.DrawFn) -> list[Part]:
    return [(1, 1, np.float64(draw(st.sampled_from([0.0, 1.5, 1.7e9, float("nan"), 1e300]))).tobytes())]


ids = st.lists(st.sampled_from([0, 1, 2, 300, -1, 1 << 40]), max_size=3)


@st.composite
def executions(draw: st.DrawFn) -> bytes:
    mode = draw(st.sampled_from([2, 3, 4, 4, 5, 1, 7, 0]))
    outputs = draw(ids)
    parts: list[Part] = [(1, 2, draw(names)), (2, 0, len(outputs))]
    parts += [(4, 2, b"".join(map(varint, draw(ids))))] if draw(st.booleans()) else []
    unpacked = draw(st.sampled_from([False] * 5 + [True]))
    parts += [(5, 0, each) for each in outputs] if unpacked else [(5, 2, b"".join(map(varint, outputs)))]
    parts.append((6, 0, mode))
    told_of = 0 if mode == 1 else len(outputs) + draw(st.sampled_from([0] * 6 + [1]))
    parts += [(7, 2, draw(tensors(mode))) for _ in range(told_of)]
    frames: list[Part] = [(2, 2, draw(names)) for _ in range(draw(st.integers(0, 2)))]
    parts.append((8, 2, draw(messages_of([(1, 2, b"host"), *frames]))))
    parts.append((9, 2, b"".join(map(varint, draw(ids)))))
    return draw(messages_of([*times(draw), (9, 2, draw(messages_of(parts)))]))


@st.composite
def cut_and_damaged(draw: st.DrawFn, content: bytes) -> bytes:
    found = bytearray(content)
    for _ in range(draw(st.integers(0, 2)) if found else 0):
        found[draw(st.integers(0, len(found) - 1))] ^= draw(st.integers(1, 255))
    return bytes(found[: draw(st.integers(0, len(found)) | st.just(len(found)))])


@settings(max_examples=200)
@given(st.data())
def test_any_encoding_cut_and_damaged_anywhere(data: st.DataObject) -> None:
    draw = data.draw
    # Some records repeat, so that what is known about their places is used.
    drawn = draw(st.lists(traces(), max_size=5)), draw(st.lists(executions(), max_size=4))
    files = {}
    for name, records in zip((TRACES, EXECUTIONS), drawn, strict=True):
        more = draw(st.lists(st.sampled_from(records), max_size=12)) if records else []
        files[name] = draw(cut_and_damaged(b"".join(map(frame, [*records, *more]))))
    sizes = sorted(draw(st.lists(st.integers(0, max(map(len, files.values()))), max_size=3)))
    with (
        patch.object(record_file, "_WINDOW_BYTES", draw(st.sampled_from([24, 200, 1 << 20]))),
        patch.object(events, "MOST_EVENTS", draw(st.sampled_from([3, 8, 1_000]))),
        patch.object(events, "MOST_PLACES", draw(st.sampled_from([1, 3, 1_000]))),
        patch.object(events, "BAD_KEPT", draw(st.sampled_from([0, 2, 1_000]))),
        patch.object(messages, "MOST_KEYS", draw(st.sampled_from([0, 3, 1_000]))),
        patch.object(packed_column, "_SHIFT", 2),
        patch.object(packed_column, "BLOCK", 4),
    ):
        found = told(files, sizes)
        expected = told(files, sizes, by_loops=False)
    assert found == expected


def test_a_dump_goes_on_by_loops_where_it_was_begun_without(tmp_path: Path) -> None:
    write_dump(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    begun = [max(map(len, files.values())) * 2 // 3]
    expected = told(files, begun, by_loops=False)

    def open_at(name: str, offset: int) -> BinaryIO:
        stream = io.BytesIO(files[name])
        stream.seek(offset)
        return stream

    following = Following(dict, open_at, "logs")
    with without_loops():
        following.update({name: min(begun[0], len(content)) for name, content in files.items()})
    assert columns_of(following.update({name: len(content) for name, content in files.items()})) == expected


def test_a_key_that_is_refused_is_refused_each_time() -> None:
    event = tfdbg.DebugEvent(wall_time=1.0)
    event.graph_execution_trace.op_name = "x" * 50_000
    good = tfdbg.DebugEvent(wall_time=2.0)
    good.graph_execution_trace.op_name = "x"
    record, other = frame(event.SerializeToString()), frame(good.SerializeToString())
    found = told({TRACES: record + other + record + other}, [len(record)])
    health = found["health"][-1]
    assert (health.records, health.damage_count) == (2, 2)
    assert found == told({TRACES: record + other + record + other}, [len(record)], by_loops=False)


columns = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 3.0, -5.0, 1e18, 1.7e9 + 0.25, 0.1, float("nan"), float("inf"), 2.0**33]),
        st.integers(0, 3),
        st.integers(1, 9),
    ),
    max_size=30,
)


@given(columns, st.booleans(), st.booleans())
def test_packed_columns_are_the_numbers_that_were_appended(
    runs: list[tuple[float, int, int]], microseconds: bool, beside: bool
) -> None:
    with patch.object(packed_column, "_SHIFT", 2), patch.object(packed_column, "BLOCK", 4):
        places = PackedColumn(np.int32)
        column = PackedColumn(np.float64, places if beside else None, microseconds=microseconds)
        expected: list[float] = []
        moments: list[tuple[PackedView, list[float]]] = []
        for number, place, length in runs:
            places.extend(np.full(length, place))
            if length == 1:
                column.append(number)
            else:
                column.extend(np.full(length, number))
            expected += [number] * length
            moments.append((column.view(), list(expected)))
        for view, numbers in moments:
            rows = np.arange(len(numbers))
            np.testing.assert_array_equal(view[:], numbers)
            np.testing.assert_array_equal(view[rows[::-1]], numbers[::-1])
            np.testing.assert_array_equal(view[1:3], numbers[1:3])
            np.testing.assert_array_equal(view[len(numbers) - 1], numbers[-1])
            assert len(view) == len(numbers)


@given(st.lists(st.tuples(st.integers(0, 200), st.sampled_from([0, 0, 0, 1, 70_000])), max_size=40))
def test_packed_offsets_are_those_of_the_records(records: list[tuple[int, int]]) -> None:
    with patch.object(packed_column, "_SHIFT", 2), patch.object(packed_column, "BLOCK", 4):
        lengths = PackedColumn(np.uint32)
        offsets = PackedColumn(np.int64, lengths=lengths)
        expected, at = [], 12
        for length, gap in records:
            at += gap
            expected.append(at)
            lengths.append(length)
            offsets.append(at)
            at += length + 16
        assert offsets.view()[:].tolist() == expected
        assert [int(offsets.view()[row]) for row in range(len(expected))] == expected


def test_numbers_that_are_nearly_the_same_take_little_memory() -> None:
    count = packed_column.BLOCK
    places, sizes = PackedColumn(np.int32), PackedColumn(np.float64)
    by_place, clock = PackedColumn(np.float64, places), PackedColumn(np.float64, microseconds=True)
    empty = clock.view().nbytes
    places.extend(np.arange(count) % 100)
    sizes.extend(np.full(count, 7.0))
    by_place.extend(np.arange(count) % 100 * 1e9)
    clock.extend((1.7e15 + np.arange(count)) / 1e6)
    assert [column.view().nbytes - empty for column in (sizes, clock)] == [8, 2 * count]
    assert by_place.view().nbytes - empty == 8 * 256
    assert places.view().nbytes - empty // 2 == count


def test_a_record_that_has_changed_since_is_told_by_columns_but_not_read(tmp_path: Path) -> None:
    write_dump(tmp_path, tfdbg.FULL_TENSOR)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def open_at(name: str, offset: int) -> BinaryIO:
        stream = io.BytesIO(files[name])
        stream.seek(offset)
        return stream

    dump = Following(lambda: {name: len(content) for name, content in files.items()}, open_at, "logs").update()
    data = dump.data()
    assert data.value(1) is not None
    files[TRACES] = bytes(len(files[TRACES]))
    with pytest.raises(PayloadError, match="has changed"):
        data.value(1)


def test_figures_of_large_values_are_kept_and_the_same(tmp_path: Path) -> None:
    write_dump(tmp_path, tfdbg.FULL_TENSOR)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    expected = told(files, [])
    with patch.object(measured, "LARGE", 1):
        found = told(files, [])
    assert expected["1 by record"] == repr([True] * 4)
    assert found["1 by record"] == repr([False] * 4)
    same = ("figures", "1 first_bad", "1 bad", "0 first_bad", "tensors", "health")
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}


elements = st.sampled_from([0.0, 1.0, -2.5, 1e300, 3e38, 1e-40, float("nan"), float("inf"), float("-inf")])


@given(st.lists(elements, min_size=1, max_size=20), st.sampled_from(["float32", "float64", "int32"]))
def test_figures_are_the_same_in_pieces(values: list[float], dtype: str) -> None:
    numbers = np.array(values)
    expected = measures.figures_of_numbers(numbers, dtype)
    with patch.object(measures, "PIECE", 3):
        found = measures.figures_of_numbers(numbers, dtype)
    # A variance is as exact as the squares whose mean it is.
    with np.errstate(over="ignore"):
        scale = np.square(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * min(scale, 1e90))
