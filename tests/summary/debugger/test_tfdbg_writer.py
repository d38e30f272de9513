"""What is written for TensorBoard's debugger, read back."""

import os
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from stepscope.summary.debugger.figures import figures_of_values
from stepscope.summary.debugger.file_names import SUFFIXES
from stepscope.summary.debugger.model import DevicesData, Frame, Observations, SourceFile, WatchedTensor
from stepscope.summary.debugger.tfdbg import open_dump
from stepscope.summary.debugger.tfdbg_export import GRAPH, ObservationWriter, write_tfdbg
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter, debug_tensor_of, debug_tensor_of_figures
from stepscope.summary.kinds.tensor_proto import numbers, real_or_complex_numbers
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.storage import RemoteFolder, ReplacedRemoteFile
from tests.summary.debugger.dumps import HOST, write_dump

VALUES = np.array([[0.0, -1.0, np.inf], [np.nan, 2.0, -np.inf]], np.float32)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (tfdbg.CURT_HEALTH, [7, 1]),
        (tfdbg.CONCISE_HEALTH, [7, 6, 1, 1, 1]),
        (tfdbg.FULL_HEALTH, [7, 2, 1, 2, 6, 1, 1, 1, 1, 1, 1]),
        (tfdbg.SHAPE, [7, 1, 2, 6, 2, 3, 0, 0, 0, 0]),
    ],
    ids=lambda value: tfdbg.TensorDebugMode.Name(value) if isinstance(value, int) else "",
)
def test_what_each_mode_measures(mode: tfdbg.TensorDebugMode, expected: list[float]) -> None:
    assert numbers(debug_tensor_of(mode, VALUES, tensor_id=7, device_id=2)).tolist() == expected


def test_of_many_dimensions_the_last_six_are_written() -> None:
    found = numbers(debug_tensor_of(tfdbg.SHAPE, np.zeros((2, 3, 1, 1, 1, 1, 5)), tensor_id=1))
    assert found.tolist() == [1, 2, 7, 30, 3, 1, 1, 1, 1, 5]


def test_whole_tensors_keep_their_type() -> None:
    half = debug_tensor_of(tfdbg.FULL_TENSOR, VALUES.astype(np.float16))
    assert str(real_or_complex_numbers(half).dtype) == "float16"
    brain = debug_tensor_of(tfdbg.FULL_TENSOR, np.array([1.5], np.float32), dtype="bfloat16")
    assert (brain.dtype, real_or_complex_numbers(brain).tolist()) == (14, [1.5])


@pytest.mark.parametrize("mode", [tfdbg.NO_TENSOR, tfdbg.FULL_NUMERICS, tfdbg.REDUCE_INF_NAN_THREE_SLOTS])
def test_modes_that_figures_do_not_tell_are_refused(mode: tfdbg.TensorDebugMode) -> None:
    with pytest.raises(ValueError, match="expected the mode CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH or SHAPE"):
        debug_tensor_of_figures(mode, np.zeros(14))


def test_equal_dumps_have_equal_bytes(tmp_path: Path) -> None:
    write_dump(tmp_path / "a")
    write_dump(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_code_that_comes_after_a_stack_that_names_it_is_found(tmp_path: Path) -> None:
    with TfdbgWriter(tmp_path) as writer:
        writer.add_execution("Add", tfdbg.NO_TENSOR, [], output_ids=[1], stack=[Frame("a.py", 1, "f")])
        writer.add_source(SourceFile("a.py", ("x + 1",)))
        writer.add_source(SourceFile("a.py", ("something else",)))
    data = open_dump(tmp_path).data()
    assert [(frame.path, frame.code) for frame in data.stack(0)] == [("a.py", "x + 1")]
    assert [(source.path, source.lines) for source in data.sources] == [("a.py", ("x + 1",))]


def test_closing_twice_leaves_the_files_of_others_open(tmp_path: Path) -> None:
    writer = TfdbgWriter(tmp_path / "dump")
    writer.close()
    with ExitStack() as stack:
        others = [stack.enter_context((tmp_path / str(number)).open("w")) for number in range(len(SUFFIXES))]
        writer.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            writer.add_graph("late")
        for other in others:
            other.write("of another")
    assert {path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"of another"}


def test_closing_twice_keeps_what_an_object_store_has() -> None:
    folder = RemoteFolder(f"memory://replaced_{uuid.uuid4().hex}")
    file = ReplacedRemoteFile(folder, "file")
    file.write(memoryview(b"content"))
    for _ in range(2):
        file.flush(to_disk=False)
        file.close()
    assert folder.read("file") == b"content"


def free_descriptors() -> list[int]:
    """The numbers that the system gives to the next files."""
    found = [os.open(os.devnull, os.O_RDONLY) for _ in SUFFIXES]
    for fd in found:
        os.close(fd)
    return found


def test_if_one_file_cannot_be_closed_the_others_are(tmp_path: Path) -> None:
    free = free_descriptors()
    writer = TfdbgWriter(tmp_path)
    os.close(free[0])
    with pytest.raises(OSError, match="Bad file descriptor"):
        writer.close()
    assert free_descriptors() == free


def test_observations_of_a_training_become_traces_of_a_graph(tmp_path: Path) -> None:
    tensors = [
        WatchedTensor("layers.0", "forward", op_type="Linear", dtype="float32", shape=(2, 3), stack=4, device="cuda:1"),
        WatchedTensor("layers.0", "backward", slot=1, dtype="float32", inputs=(0,)),
        WatchedTensor("layers:0", "forward", op_type="log", inputs=(0, 1)),
    ]
    observed = Observations(
        np.array([0, 2, 1, 0], np.int32),
        np.array([10, 10, 10, 20]),
        np.array([1.0, 2.0, 3.0, 4.0]),
        np.array([*[figures_of_values(VALUES)] * 2, np.full(14, np.nan), figures_of_values(np.zeros(3))]),
    )
    with TfdbgWriter(tmp_path, host=HOST) as writer:
        ObservationWriter(writer, stack_of=lambda number: [Frame("net.py", number, "forward")]).write(tensors, observed)
    dump = open_dump(tmp_path)
    assert [execution.op_type for _, execution in dump.executions(0, 2) if execution] == ["step 10", "step 20"]
    data = dump.data()
    assert [(tensor.name, tensor.op_type, tensor.slot, tensor.inputs, tensor.dtype) for tensor in data.tensors] == [
        ("recording/forward/layers.0:0", "Linear", 0, (), "float32"),
        ("recording/forward/layers:0", "log", 0, (0, 2), ""),
        ("recording/backward/layers.0:1", "backward", 1, (0,), ""),
    ]
    assert [(frame.path, frame.line) for frame in data.stack(data.tensors[0].stack or 0)] == [("net.py", 4)]
    found = data.observations(0, 4)
    assert isinstance(data, DevicesData)
    assert found.devices is not None
    assert [data.devices[device] for device in found.devices] == ["cuda:1", "", "", "cuda:1"]
    assert (found.tensors.tolist(), found.bad.tolist()) == ([0, 1, 2, 0], [True, True, False, False])
    np.testing.assert_array_equal(found.figures[[0, 1, 3], :6], observed.figures[[0, 1, 3], :6])
    assert dump.graphs.enclosing(GRAPH) == [GRAPH]


@pytest.mark.peers
@pytest.mark.parametrize("dump", ["debugger/FULL_TENSOR", "pack/debugger/FULL_TENSOR"])
def test_a_real_dump_written_again_tells_the_same(peer: Callable[[str], Path], tmp_path: Path, dump: str) -> None:
    expected = open_dump(peer(dump)).data()
    write_tfdbg(expected, tmp_path)
    found = open_dump(tmp_path).data()
    assert (found.observation_count, list(found.problems)) == (expected.observation_count, [])
    one, other = (data.observations(0, data.observation_count) for data in (found, expected))
    assert one.tensors.tolist() == other.tensors.tolist()
    assert one.bad.tolist() == other.bad.tolist()
    floats = np.isfinite(other.figures[:, 1])
    np.testing.assert_array_equal(one.figures[floats, :4], other.figures[floats, :4])
    for number in range(0, len(found.tensors), 17):
        stacks = [data.stack(data.tensors[number].stack or 0) for data in (found, expected)]
        assert [(f.path, f.line) for f in stacks[0]] == [(f.path, f.line) for f in stacks[1]]
