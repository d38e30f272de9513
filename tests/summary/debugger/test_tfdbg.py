"""Dumps of TensorFlow's debugger: small ones in full, and what real ones report about the first bad value."""

import os
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepscope.debug.verdict import first_bad
from stepscope.summary.debugger.listing import dump_sources
from stepscope.summary.debugger.model import COLUMN, Figure, Frame, SourceFile, WatchedTensor
from stepscope.summary.debugger.tfdbg import NoDumpError, open_dump
from stepscope.summary.debugger.tfdbg_data import TfdbgData
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.summary.debugger.dumps import (
    CALLED,
    DUMPS,
    HOST,
    LINES,
    MODES,
    START,
    STEPS,
    clock,
    write_calls,
    write_dump,
    write_eager,
    write_events,
)

NAN = float("nan")


def of_worker(frames: tuple[Frame, ...], *texts: str) -> list[Frame]:
    return [
        Frame(frame.path, frame.line, frame.function, text, HOST) for frame, text in zip(frames, texts, strict=True)
    ]


def test_a_small_dump_in_the_form_of_a_recording(tmp_path: Path) -> None:
    write_dump(tmp_path)
    data = open_dump(tmp_path).data()
    assert data.source == "TensorFlow 2.21.0 debugger, FULL_HEALTH"
    assert list(data.tensors) == [
        WatchedTensor("Identity at train.py:5", "eager", op_type="Identity", dtype="float32", stack=2),
        WatchedTensor("loss/Log:0", "graph", module="loss", op_type="Log", dtype="float32", stack=1, graph_id="inner"),
        WatchedTensor(
            "loss/Sum:0", "graph", module="loss", op_type="Sum", dtype="float32", stack=0, inputs=(1,), graph_id="inner"
        ),
    ]
    observed = data.observations(0, data.observation_count)
    assert observed.tensors.tolist() == [0, 1, 2, 0, 1, 2]
    assert observed.steps.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.diff(observed.wall_times).tolist() == [1, 1, 1, 1, 1]
    assert observed.bad.tolist() == [False, False, False, False, True, True]
    counts: list[Figure] = ["size", "nan", "positive_infinity", "negative_infinity", "zeros", "negatives"]
    assert observed.figures[:, [COLUMN[name] for name in counts]].tolist() == [
        [3, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 1, 0],
        [1, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 1, 1],
        [3, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 0],
    ]
    assert list(data.stack(2)) == of_worker(CALLED, "loss(x)")
    assert [(frame.path, frame.line, frame.code) for frame in data.stack(1)] == [
        ("train.py", 5, "loss(x)"),
        ("train.py", 4, "    return tf.reduce_sum(tf.math.log(x))"),
        ("/lib/site-packages/tensorflow/math.py", 88, ""),
    ]
    assert list(data.sources) == [
        SourceFile("train.py", LINES, HOST),
        SourceFile("/lib/site-packages/tensorflow/math.py", (), HOST),
    ]
    assert (list(data.alerts), list(data.problems)) == ([], [])


@pytest.mark.parametrize("mode", MODES, ids=tfdbg.TensorDebugMode.Name)
def test_each_mode_tells_what_it_measures(tmp_path: Path, mode: tfdbg.TensorDebugMode) -> None:
    write_dump(tmp_path, mode)
    data = open_dump(tmp_path).data()
    observed = data.observations(0, data.observation_count)
    logarithm = observed.figures[4]
    measured = {name: float(logarithm[column]) for name, column in COLUMN.items() if not np.isnan(logarithm[column])}
    counts = {"size": 3.0, "nan": 1.0, "positive_infinity": 0.0, "negative_infinity": 1.0}
    whole = counts | {"zeros": 1.0, "negatives": 0.0, "minimum": 0.0, "maximum": 0.0, "mean": 0.0, "variance": 0.0}
    whole |= {"l2": 0.0, "absolute_mean": 0.0, "underflow": 0.0, "overflow": 1 / 3}
    health = counts | {"zeros": 1.0, "negatives": 0.0}
    expected = {tfdbg.CONCISE_HEALTH: counts, tfdbg.FULL_HEALTH: health, tfdbg.SHAPE: {"size": 3.0}}
    assert measured == (expected | {tfdbg.FULL_TENSOR: whole}).get(mode, {})
    assert observed.bad.any() == (mode not in (tfdbg.NO_TENSOR, tfdbg.SHAPE))
    shapes = {tfdbg.SHAPE: (3,), tfdbg.FULL_TENSOR: (3,)}
    assert data.tensors[1].shape == shapes.get(mode)
    value = data.value(0)
    if mode == tfdbg.FULL_TENSOR:
        assert value is not None
        assert (str(value.dtype), value.tolist()) == ("float32", STEPS[0].tolist())
    else:
        assert value is None


def test_any_stretch_of_observations_is_that_part_of_all(tmp_path: Path) -> None:
    write_dump(tmp_path, tfdbg.FULL_TENSOR)
    data = open_dump(tmp_path).data()
    every = data.observations(0, data.observation_count)
    for begin in range(7):
        for end in range(7):
            part = data.observations(begin, end)
            assert part.tensors.tolist() == every.tensors[begin:end].tolist()
            np.testing.assert_array_equal(part.figures, every.figures[begin:end])


def test_a_dump_is_followed_while_it_grows(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    write_dump(whole)
    growing = tmp_path / "growing"
    growing.mkdir()
    contents = {path.name: path.read_bytes() for path in whole.iterdir()}
    for name, content in contents.items():
        (growing / name).write_bytes(content if name.endswith("metadata") else b"")
    first = dump = open_dump(growing)
    assert dump.data().observation_count == 0
    longest = max(map(len, contents.values()))
    for length in range(0, longest + 1, 7):
        for name, content in contents.items():
            (growing / name).write_bytes(content if name.endswith("metadata") else content[:length])
        dump = dump.refreshed()
    for name, content in contents.items():
        (growing / name).write_bytes(content)
    dump = dump.refreshed()
    assert first.data().observation_count == 0
    found, expected = dump.data(), open_dump(whole).data()
    assert [replace(tensor, stack=None) for tensor in found.tensors] == [
        replace(tensor, stack=None) for tensor in expected.tensors
    ]
    assert [found.stack(tensor.stack or 0) for tensor in found.tensors] == [
        expected.stack(tensor.stack or 0) for tensor in expected.tensors
    ]
    np.testing.assert_array_equal(found.observations(0, 6).figures, expected.observations(0, 6).figures)
    assert list(found.problems) == []
    assert dump.refreshed() is dump


def test_a_dump_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    write_dump(tmp_path)
    dump = open_dump(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    write_dump(tmp_path, tfdbg.SHAPE)
    again = dump.refreshed()
    assert again.data().source.endswith("SHAPE")
    assert again.data().observation_count == 6


def test_the_traces_of_all_hosts_are_of_one_run(tmp_path: Path) -> None:
    write_dump(tmp_path, host="a")
    write_dump(tmp_path, host="b")
    dump = open_dump(tmp_path)
    assert (dump.execution_count, dump.trace_count) == (2, 8)
    assert list(dump.data().problems) == []
    assert dump.start == START + 1


def test_of_two_runs_in_a_folder_the_later_is_shown_and_the_other_named(tmp_path: Path) -> None:
    write_dump(tmp_path, host="a", run_id="first")
    times = clock()
    with TfdbgWriter(tmp_path, run_id="second", host="b", clock=lambda: next(times) + 100) as writer:
        write_events(writer, tfdbg.SHAPE)
    data = open_dump(tmp_path).data()
    assert data.source.endswith("SHAPE")
    assert data.observation_count == 6
    assert list(data.problems) == [
        "The folder has dumps of 2 runs; the one that began last is shown. "
        "Move the others into separate folders: tfdbg_events.1700000000.a."
    ]


def test_dumps_are_written_and_read_at_addresses() -> None:
    address = f"memory://dumps_{uuid.uuid4().hex}"
    with TfdbgWriter(f"{address}/first", clock=lambda: START) as writer:
        write_events(writer, tfdbg.CONCISE_HEALTH)
        writer.flush()
        assert open_dump(address, "first").trace_count == 4
    assert open_dump(f"{address}/first").data().observations(0, 6).bad.tolist() == [False] * 4 + [True] * 2
    (source,) = dump_sources(open_logdir(address))
    assert (source.run, source.following().update().execution_count) == ("first", 2)


def test_a_folder_without_a_dump_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.a").touch()
    with pytest.raises(NoDumpError, match="has no dump of TensorFlow's debugger: expected files tfdbg_events"):
        open_dump(tmp_path)


@pytest.mark.peers
@pytest.mark.parametrize("dumps", DUMPS)
@pytest.mark.parametrize("mode", ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_TENSOR"])
def test_what_went_bad_first_in_a_real_training(peer: Callable[[str], Path], dumps: str, mode: str) -> None:
    data = open_dump(peer(f"{dumps}/{mode}")).data()
    observed = data.observations(0, data.observation_count)
    first = int(np.flatnonzero(observed.bad)[0])
    tensor = data.tensors[observed.tensors[first]]
    assert (tensor.name, tensor.op_type, tensor.module) == ("forward/Exp:0", "Exp", "forward")
    assert tensor.stack is not None
    own = [frame for frame in data.stack(tensor.stack) if frame.path == "/home/user/train.py"]
    assert "tf.exp" in own[-1].code
    assert list(data.problems) == []


@pytest.mark.peers
@pytest.mark.parametrize(
    ("dump", "what", "of"),
    [
        ("debugger/CURT_HEALTH", "forward/Exp:0 is the first with elements that are not finite", "forward/mul:0"),
        ("debugger/FULL_HEALTH", "forward/Exp:0 (float32) is the first with 3 +Inf of 192 elements", "forward/mul:0"),
        (
            "debugger/FULL_TENSOR",
            "forward/Exp:0 (float32) is the first with 3 +Inf of 192 elements",
            "forward/mul:0 from -126.3 to 110.7",
        ),
        (
            "pack/debugger/CURT_HEALTH",
            "forward/Exp:0 is the first with elements that are not finite",
            "forward/mul:0",
        ),
        (
            "pack/debugger/FULL_HEALTH",
            "forward/Exp:0 (float32) is the first with 2 +Inf of 24 elements",
            "forward/mul:0",
        ),
        (
            "pack/debugger/FULL_TENSOR",
            "forward/Exp:0 (float32) is the first with 2 +Inf of 24 elements",
            "forward/mul:0 from -95.22 to 134.6",
        ),
    ],
)
def test_the_verdict_on_a_real_training_in_words(peer: Callable[[str], Path], dump: str, what: str, of: str) -> None:
    verdict = first_bad(open_dump(peer(dump)).data())
    assert verdict is not None
    assert verdict.frame is not None
    line = f"/home/user/train.py:{verdict.frame.line} in forward: {verdict.frame.code.strip()}"
    assert "tf.exp(" in line
    found = f"{what}, at {line}. It produced them: its inputs were finite ({of})."
    assert re.sub(r"^Execution \d+: ", "", verdict.sentence) == found


def test_an_execution_knows_which_values_it_took_and_who_took_what_it_made(tmp_path: Path) -> None:
    write_eager(tmp_path)
    data = open_dump(tmp_path).data()
    assert isinstance(data, TfdbgData)
    names = [tensor.name for tensor in data.tensors]
    assert names == [
        f"{op} at eager.py:{line}" for op, line in zip(("Const", "Log", "Relu", "AddV2", "Neg"), "12231", strict=True)
    ]
    assert [tensor.inputs for tensor in data.tensors] == [(), (0,), (1,), (0, 2), (3,)]
    order = data.observations(0, 11).tensors.tolist()
    assert order == [0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3]
    assert [data.made_of(number) for number in range(11)] == [
        [],
        [0],
        [1],
        [0, 2, None],
        [3],
        [4],
        [3, 5, None],
        [6],
        [7],
        [8],
        [7, 9, None],
    ]
    assert [data.made_into(number) for number in range(11)] == [
        [1, 3],
        [2],
        [3],
        [4, 6],
        [5],
        [6],
        [7],
        [8, 10],
        [9],
        [10],
        [],
    ]
    found = first_bad(data)
    assert found is not None
    assert (found.observation, found.part, found.sentence) == (
        8,
        "producer",
        "Execution 8: Log at eager.py:2 (float32) is the first with 2 NaN of 2 elements, at eager.py:2 in layer: "
        "y = tf.nn.relu(tf.math.log(x)). "
        "It produced them: its inputs were finite (Neg at eager.py:1 from -7.728 to -6).",
    )


def test_each_value_has_its_device(tmp_path: Path) -> None:
    write_eager(tmp_path / "eager")
    data = open_dump(tmp_path / "eager").data()
    assert isinstance(data, TfdbgData)
    devices = data.observations(0, 11).devices
    assert devices is not None
    assert [data.devices[place].rpartition("device:")[2] for place in devices] == [
        *["CPU:0"] * 4,
        *["GPU:1"] * 3,
        *["CPU:0"] * 4,
    ]
    write_dump(tmp_path / "graphs")
    data = open_dump(tmp_path / "graphs").data()
    assert isinstance(data, TfdbgData)
    devices = data.observations(2, 4).devices
    assert devices is not None
    assert (list(data.devices), devices.tolist()) == (["", "/device:CPU:0"], [1, 1])
    assert [data.made_of(number) for number in range(3)] == [[None], [None], [1, None]]


def test_a_call_leads_into_its_graphs_and_arguments_lead_out_to_what_it_was_given(tmp_path: Path) -> None:
    write_calls(tmp_path)
    data = open_dump(tmp_path).data()
    assert isinstance(data, TfdbgData)
    observed = data.observations(0, 16)
    names = [data.tensors[number].name for number in observed.tensors]
    call = "__inference_train_7 at train.py:5"
    once = ["Log at train.py:5", "train/Mul:0", "loss/Exp:0", "train/Neg:0"]
    once += ["while_body_1/Log:0", "while_body_1/Log:0", "train/Sum:0", call]
    assert names == once * 2
    # Each call leads to the first bad observation of its own.
    assert [data.first_bad_inside(number) for number in range(16)] == [*[None] * 7, 4, *[None] * 7, 9]
    assert [data.made_of(number) for number in range(16)] == [
        [None],  # the constant that Python took the logarithm of is not observed
        [None, 0],  # the weights, and what the call was given, behind an operation that is not observed
        [None],  # calls of functions inside a graph are not written, and nothing before it is bad
        [None],
        [None],
        [4],  # a loop's body is given what it made before
        [5],
        [None, 0],
        [None],
        [None, 8],
        [9],
        [10],
        [11],
        [12],
        [13],
        [None, 8],
    ]
    verdict = first_bad(data)
    assert verdict is not None
    assert (verdict.observation, verdict.part) == (4, "unknown")


def test_a_call_that_was_cut_off_leads_nowhere(tmp_path: Path) -> None:
    write_calls(tmp_path)
    (path,) = tmp_path.glob("*.execution")
    os.truncate(path, path.stat().st_size - 20)
    data = open_dump(tmp_path).data()
    assert isinstance(data, TfdbgData)
    assert data.observation_count == 15
    assert data.made_of(9) == [None]


@pytest.mark.peers
@pytest.mark.parametrize("dumps", DUMPS)
def test_a_real_call_leads_to_the_operation_that_went_bad_in_a_function_that_it_calls(
    peer: Callable[[str], Path], dumps: str
) -> None:
    data = open_dump(peer(f"{dumps}/FULL_HEALTH")).data()
    assert isinstance(data, TfdbgData)
    observed = data.observations(0, data.observation_count)
    names = [data.tensors[number].name for number in observed.tensors]
    calls = [at for at, name in enumerate(names) if name.startswith("__inference_train") and observed.bad[at]]
    assert [names[data.first_bad_inside(call) or 0] for call in calls] == [
        "forward/Exp:0",
        *["forward/MatMul/ReadVariableOp:0"] * 2,  # the weights are bad from then on
    ]
    taken = {name: data.made_of(at) or () for at, name in enumerate(names[: calls[0]])}
    where = {name: [None if at is None else names[at] for at in found] for name, found in taken.items()}
    # The function's result, which the dump does not have, and the labels.
    assert where["train/GatherV2:0"] == ["forward/truediv:0", None]
    # The gradient's function was given the value that was made last around it.
    [given] = [name for name in where if re.fullmatch(r"__backward_forward_\d+/Placeholder:0", name)]
    assert where[given] == ["train/gradient_tape/Reshape_6:0"]
    assert where["forward/Exp:0"] == ["forward/mul:0"]
