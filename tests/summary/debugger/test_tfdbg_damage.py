"""Dumps that are cut, damaged, incomplete or hostile: what can be read is read, and the rest is reported."""

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.dashboard.tensorboard import debugger_answers as answers
from stepscope.dashboard.tensorboard.debugger_answers import NotThereError
from stepscope.summary.debugger import code_files, events, graphs, record_file
from stepscope.summary.debugger.file_names import SUFFIXES, Suffix
from stepscope.summary.debugger.tfdbg import Following, NoDumpError, TfdbgDump, open_dump
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.records import frame
from tests.summary.debugger.dumps import HOST, MODES, write_dump

PREFIX = f"tfdbg_events.1700000000.{HOST}"
Files = dict[str, bytes]


def opened(files: Files) -> TfdbgDump:
    def open_at(name: str, offset: int) -> BinaryIO:
        stream = io.BytesIO(files[name])
        stream.seek(offset)
        return stream

    return Following(lambda: {name: len(content) for name, content in files.items()}, open_at, "logs").update()


def look_at_everything(dump: TfdbgDump) -> None:
    """Ask for everything that can be asked; damaged parts may only be refused in the documented ways."""
    data = dump.data()
    count = data.observation_count
    observed = data.observations(0, count)
    assert len(observed) == count
    assert set(observed.tensors.tolist()) == set(range(len(data.tensors)))
    assert len({(tensor.name, tensor.phase) for tensor in data.tensors}) == len(data.tensors)
    assert observed.bad.shape == (count,)
    for number in range(count):
        try:
            data.value(number)
        except PayloadError:
            continue
    for tensor in data.tensors:
        assert all(0 <= taken < len(data.tensors) for taken in tensor.inputs)
        if tensor.stack is not None:
            data.stack(tensor.stack)
    assert [data.source, data.sources, data.alerts]
    assert all(sentence.endswith(".") for sentence in data.problems)
    answers.alerts(dump)
    for make, length in (
        (answers.execution_digests, dump.execution_count),
        (answers.executions, dump.execution_count),
        (answers.trace_digests, dump.trace_count),
        (answers.traces, dump.trace_count),
    ):
        assert len(list(make(dump, 0, length))) == length
    for graph_id in ("inner", "outer", ""):
        try:
            answers.graph_info(dump, graph_id)
            for name in list(dump.graphs.find(graph_id).operations):  # type: ignore[union-attr]
                b"".join(answers.operation_info(dump, graph_id, name)[1])
        except NotThereError:
            continue
    for number in range(len(dump.code.files)):
        answers.source_file(dump, number)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("dump")
    write_dump(folder, tfdbg.FULL_TENSOR)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_cut_anywhere_is_read_up_to_there(whole: Files, suffix: Suffix) -> None:
    name = f"{PREFIX}.{suffix}"
    expected = opened(whole).data()
    ends: list[int] = []
    for length in range(len(whole[name])):
        dump = opened(whole | {name: whole[name][:length]})
        look_at_everything(dump)
        health = {file.path: file for file in dump.health}
        if suffix == "metadata":
            assert list(dump.data().problems) == [
                f"{name} is incomplete or damaged: the version and the run are not known."
            ]
        elif health[name].waiting:
            assert f"{name} ends inside a record: its last {length - ends[-1]:,} bytes wait for the rest." in (
                dump.data().problems
            )
        else:
            ends.append(length)
        assert dump.data().observation_count <= expected.observation_count
    records = {"metadata": 0, "source_files": 2, "stack_frames": 3, "graphs": 6, "execution": 2}
    assert len(ends) == records.get(suffix, 4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_without_one_file_the_rest_is_read_and_it_is_said(whole: Files, suffix: Suffix) -> None:
    dump = opened({name: content for name, content in whole.items() if not name.endswith(suffix)})
    look_at_everything(dump)
    problems = list(dump.data().problems)
    assert problems[0].startswith(f"{PREFIX}.{suffix} is missing: ")
    kept = {"execution": 4, "graph_execution_traces": 2}
    assert dump.data().observation_count == kept.get(suffix, 6)


def test_any_one_file_alone_is_a_dump(whole: Files) -> None:
    for name, content in whole.items():
        dump = opened({name: content})
        look_at_everything(dump)
        assert sum(sentence.endswith(".") for sentence in dump.data().problems) >= 4


def test_a_damaged_byte_costs_one_record(whole: Files) -> None:
    name = f"{PREFIX}.graph_execution_traces"
    content = bytearray(whole[name])
    content[len(content) // 2] ^= 0xFF
    dump = opened(whole | {name: bytes(content)})
    look_at_everything(dump)
    assert dump.trace_count == 3
    (problem,) = dump.data().problems
    assert problem.startswith(f"{name}: ")
    assert "bytes at offset" in problem


def test_stacks_of_frames_that_do_not_exist_are_counted(whole: Files) -> None:
    name = f"{PREFIX}.execution"
    event = tfdbg.DebugEvent(wall_time=5.0)
    event.execution.op_type = "Add"
    event.execution.output_tensor_ids.append(1)
    event.execution.code_location.stack_frame_ids.extend(["nowhere", "nor here"])
    dump = opened(whole | {name: whole[name] + frame(event.SerializeToString())})
    look_at_everything(dump)
    assert list(dump.data().problems) == ["2 frames of the stacks are not in the dump, and left out."]
    assert [tensor.name for tensor in dump.data().tensors if tensor.op_type == "Add"] == ["Add"]


def test_a_record_that_is_too_large_is_skipped_and_named(whole: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_file, "LARGEST_READ", 1_000)
    monkeypatch.setattr(record_file, "_WINDOW_BYTES", 256)
    name = f"{PREFIX}.graph_execution_traces"
    event = tfdbg.DebugEvent(wall_time=5.0)
    event.graph_execution_trace.op_name = "Large"
    event.graph_execution_trace.tensor_proto.tensor_content = bytes(5_000)
    large = frame(event.SerializeToString())
    dump = opened(whole | {name: large + whole[name]})
    assert dump.trace_count == 4
    assert list(dump.data().problems) == [
        f"{name}: skipped {len(large):,} bytes at offset 0: a record of {len(large):,} bytes is too large to be read."
    ]


def test_more_events_than_there_is_room_for_are_left_out_and_named(
    whole: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_EVENTS", 3)
    name = f"{PREFIX}.graph_execution_traces"
    length = len(whole[name])
    files = dict(whole)
    dump = opened(files)
    look_at_everything(dump)
    begin = dump.health[-1].damages[0].offset
    assert (dump.trace_count, dump.execution_count) == (3, 2)
    reason = "there are more than 3 traces; only the first are read."
    assert list(dump.data().problems) == [f"{name}: skipped {length - begin:,} bytes at offset {begin:,}: {reason}"]
    files[name] += whole[name]
    grown = dump.refreshed()
    assert grown.trace_count == 3
    assert grown.health[-1].skipped_bytes == 2 * length - begin


def test_stacks_beyond_what_there_is_room_for_are_empty(whole: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_files, "MOST_BYTES", 1)
    dump = opened(whole)
    look_at_everything(dump)
    assert {len(dump.data().stack(tensor.stack or 0)) for tensor in dump.data().tensors} == {0}
    assert any("their names are too long" in sentence for sentence in dump.data().problems)


def test_operations_and_places_beyond_what_there_is_room_for_are_counted(
    whole: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "MOST_BYTES", 1)
    monkeypatch.setattr(events, "MOST_PLACES_BYTES", 1)
    dump = opened(whole)
    look_at_everything(dump)
    assert (dump.graphs.operations, len(dump.places), dump.data().observation_count) == (1, 1, 2)
    assert sum(file.damage_count for file in dump.health) == 6


def test_graphs_inside_each_other_in_a_circle_are_cut_open(whole: Files) -> None:
    name = f"{PREFIX}.graphs"
    event = tfdbg.DebugEvent(debugged_graph=tfdbg.DebuggedGraph(graph_id="outer", outer_context_id="inner"))
    dump = opened(whole | {name: whole[name] + frame(event.SerializeToString())})
    look_at_everything(dump)
    assert dump.graphs.enclosing("inner") == ["outer", "inner"]


def test_text_that_is_drawn_in_another_order_is_escaped(whole: Files) -> None:
    name = f"{PREFIX}.execution"
    event = tfdbg.DebugEvent(wall_time=5.0)
    event.execution.op_type = "\u202eddA"
    event.execution.output_tensor_ids.append(1)
    data = opened(whole | {name: frame(event.SerializeToString())}).data()
    assert [tensor.name for tensor in data.tensors if tensor.phase == "eager"] == ["\\u202eddA"]


def test_a_folder_of_other_files_has_no_dump() -> None:
    with pytest.raises(NoDumpError):
        opened({"tfdbg_events.metadata": b"", "tfdbg_events..other": b""})


@settings(max_examples=200)
@given(st.data())
def test_bytes_that_change_anywhere_never_stop_the_reader(whole: Files, data: st.DataObject) -> None:
    files = dict(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(files)))
        content = files[name]
        begin = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(begin, min(len(content), begin + 40)))
        files[name] = content[:begin] + data.draw(st.binary(max_size=40)) + content[end:]
    look_at_everything(opened(files))


texts = st.text(max_size=8) | st.sampled_from(["inner", "outer", "Log", "Log:0", "x:0", "x:99", ":", "a" * 5_000])
numbers = st.sampled_from([0, 1, 2, -1, 2**31 - 1, -(2**31)])
times = st.sampled_from([0.0, -1.0, 1.7e9, float("nan"), float("inf"), 1e300])
tensors = st.builds(
    TensorProto,
    dtype=st.sampled_from([0, 1, 2, 7, 9, 14, 22, 30]),
    tensor_content=st.binary(max_size=16) | st.just(np.array([-1.0, np.nan, np.inf, 2**60, -5.0]).tobytes()),
    double_val=st.lists(times, max_size=3),
    tensor_shape=st.builds(
        lambda sizes: {"dim": [{"size": size} for size in sizes]},
        st.lists(st.sampled_from([0, 1, 2, 5, 11, 22, -1, 2**40]), max_size=3),
    ),
)
places = st.builds(tfdbg.CodeLocation, host_name=texts, stack_frame_ids=st.lists(texts, max_size=3))
modes = st.sampled_from([0, *MODES, 6, 8])
hostile_events = st.one_of(
    st.builds(
        lambda execution: {"execution": execution},
        st.builds(
            tfdbg.Execution,
            op_type=texts,
            graph_id=texts,
            output_tensor_ids=st.lists(numbers, max_size=3),
            output_tensor_device_ids=st.lists(numbers, max_size=2),
            tensor_debug_mode=modes,
            tensor_protos=st.lists(tensors, max_size=3),
            code_location=places,
        ),
    ),
    st.builds(
        lambda trace: {"graph_execution_trace": trace},
        st.builds(
            tfdbg.GraphExecutionTrace,
            tfdbg_context_id=texts,
            op_name=texts,
            output_slot=numbers,
            tensor_debug_mode=modes,
            tensor_proto=tensors,
            device_name=texts,
        ),
    ),
    st.builds(
        lambda creation: {"graph_op_creation": creation},
        st.builds(
            tfdbg.GraphOpCreation,
            op_type=texts,
            op_name=texts,
            graph_id=texts,
            input_names=st.lists(texts, max_size=3),
            output_tensor_ids=st.lists(numbers, max_size=3),
            code_location=places,
        ),
    ),
    st.builds(
        lambda graph: {"debugged_graph": graph},
        st.builds(tfdbg.DebuggedGraph, graph_id=texts, graph_name=texts, outer_context_id=texts),
    ),
    st.builds(
        lambda file: {"source_file": file},
        st.builds(tfdbg.SourceFile, file_path=texts, host_name=texts, lines=st.lists(texts, max_size=2)),
    ),
    st.builds(
        lambda frame_id, file, line: {
            "stack_frame_with_id": {"id": frame_id, "file_line_col": {"file_index": file, "line": line}}
        },
        texts,
        numbers,
        numbers,
    ),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(SUFFIXES), times, hostile_events), max_size=12), st.booleans())
def test_whatever_whole_records_hold_never_stops_the_reader(
    whole: Files, hostile: list[tuple[Suffix, float, dict[str, object]]], beside: bool
) -> None:
    files = dict(whole) if beside else {f"{PREFIX}.{suffix}": b"" for suffix in SUFFIXES}
    for suffix, time, event in hostile:
        files[f"{PREFIX}.{suffix}"] += frame(tfdbg.DebugEvent(wall_time=time, **event).SerializeToString())  # type: ignore[arg-type]
    look_at_everything(opened(files))


def test_a_dump_of_a_program_that_died_is_read_from_disk(tmp_path: Path) -> None:
    write_dump(tmp_path)
    for path in tmp_path.iterdir():
        if path.name.endswith(("execution", "traces")):
            path.write_bytes(b"")
    data = open_dump(tmp_path).data()
    assert (data.observation_count, list(data.tensors)) == (0, [])
