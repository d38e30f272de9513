"""A small dump: training with two steps, the second of which takes the logarithm of zero."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np

from stepscope.summary.debugger.model import Frame, SourceFile
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter, debug_tensor_of
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto.tensor_pb2 import TensorProto

HOST = "worker"
START = 1_700_000_000.0
LINES = ("import tensorflow as tf", "", "def loss(x):", "    return tf.reduce_sum(tf.math.log(x))", "loss(x)")
DUMPS = ("debugger", "pack/debugger")
"""Where dumps of a real training in every mode are, for `peer`."""
MODES = (
    tfdbg.NO_TENSOR,
    tfdbg.CURT_HEALTH,
    tfdbg.CONCISE_HEALTH,
    tfdbg.FULL_HEALTH,
    tfdbg.SHAPE,
    tfdbg.FULL_TENSOR,
)
CALLED = (Frame("train.py", 5, "<module>"),)
INSIDE = (*CALLED, Frame("train.py", 4, "loss"), Frame("/lib/site-packages/tensorflow/math.py", 88, "log"))
STEPS = (np.array([1.0, 2.0, 4.0], np.float32), np.array([1.0, 0.0, -4.0], np.float32))


def clock() -> Iterator[float]:
    """Advances by a second with each look."""
    return map(float, count(int(START)))


def write_dump(
    folder: Path, mode: tfdbg.TensorDebugMode = tfdbg.FULL_HEALTH, *, host: str = HOST, run_id: str = "run"
) -> TfdbgWriter:
    """Write two eager operations, and two steps of a graph inside another; events are a second apart."""
    times = clock()
    with TfdbgWriter(folder, run_id=run_id, version="2.21.0", host=host, clock=lambda: next(times)) as writer:
        write_events(writer, mode)
    return writer


def write_events(writer: TfdbgWriter, mode: tfdbg.TensorDebugMode) -> None:
    writer.add_source(SourceFile("train.py", LINES))
    device = writer.add_device("/device:CPU:0")
    writer.add_graph("outer", name="")
    writer.add_graph("inner", name="loss", outer_id="outer")
    writer.add_operation("inner", "x", "Placeholder", output_ids=[1], stack=INSIDE[:2], graph_name="loss")
    writer.add_operation("inner", "Log", "Log", inputs=["x:0"], output_ids=[2], stack=INSIDE, graph_name="loss")
    writer.add_operation(
        "inner", "Sum", "Sum", inputs=["Log:0", "missing:0"], output_ids=[3], stack=INSIDE[:2], graph_name="loss"
    )
    for values in STEPS:
        writer.add_execution(
            "Identity",
            mode,
            [debug_of(mode, values, -1)],
            input_ids=[10],
            output_ids=[11],
            device_ids=[device],
            stack=CALLED,
        )
        with np.errstate(all="ignore"):
            logarithms = np.log(values)
        writer.add_trace("inner", "Log", 0, mode, debug_of(mode, logarithms, 2), device="/device:CPU:0")
        writer.add_trace("inner", "Sum", 0, mode, debug_of(mode, logarithms.sum(), 3), device="/device:CPU:0")


def debug_of(mode: tfdbg.TensorDebugMode, values: np.ndarray, tensor_id: int) -> TensorProto:
    if mode == tfdbg.NO_TENSOR:
        return TensorProto()
    return debug_tensor_of(mode, np.asarray(values), tensor_id=tensor_id)


def write_calls(folder: Path, mode: tfdbg.TensorDebugMode = tfdbg.FULL_HEALTH) -> None:
    """Write two calls of the function ``train``, which calls ``loss``; the second is given the logarithm of -1.

    Its graph has a loop, whose body goes bad on its own in the first call.
    """
    times = clock()
    with TfdbgWriter(folder, run_id="calls", version="2.21.0", host=HOST, clock=lambda: next(times)) as writer:
        writer.add_source(SourceFile("train.py", LINES))
        writer.add_graph("eager")
        writer.add_graph("outer", name="train", outer_id="eager")
        writer.add_graph("inner", name="loss", outer_id="outer")
        writer.add_graph("body", name="while_body_1", outer_id="outer")
        for graph, name, op_type, inputs in (
            ("outer", "w", "Placeholder", ()),
            ("outer", "x", "Placeholder", ()),
            ("outer", "Identity", "Identity", ("x:0",)),
            ("outer", "Mul", "Mul", ("w:0", "Identity:0")),
            ("inner", "y", "Placeholder", ()),
            ("inner", "Exp", "Exp", ("y:0",)),
            ("outer", "Neg", "Neg", ("PartitionedCall:0",)),
            ("outer", "While", "While", ("Neg:0",)),
            ("body", "z", "Placeholder", ()),
            ("body", "Log", "Log", ("z:0",)),
            ("outer", "Sum", "Sum", ("While:0", "axis:0")),
            ("outer", "axis", "Const", ()),
        ):
            writer.add_operation(graph, name, op_type, inputs=inputs, output_ids=[0], graph_name=graph)
        for step, x in enumerate((np.float32(2), np.float32(-1))):
            with np.errstate(all="ignore"):
                given = np.log(x)
                eager = [debug_of(mode, given, -1)]
                writer.add_execution("Log", mode, eager, input_ids=[90], output_ids=[100 + step], stack=CALLED)
                product, bad = given * 3, np.float32("nan")
                for graph, name, value in (
                    ("outer", "Mul", product),
                    ("inner", "Exp", np.exp(product)),
                    ("outer", "Neg", -np.exp(product)),
                    ("body", "Log", bad),
                    ("body", "Log", bad),
                    ("outer", "Sum", bad),
                ):
                    writer.add_trace(graph, name, 0, mode, debug_of(mode, np.asarray(value), 1))
                writer.add_execution(
                    "__inference_train_7",
                    mode,
                    [debug_of(mode, np.asarray(bad), -1)],
                    input_ids=[91, 100 + step],
                    output_ids=[200 + step],
                    stack=CALLED,
                    graph_id="outer",
                )


def write_eager(folder: Path, mode: tfdbg.TensorDebugMode = tfdbg.FULL_TENSOR) -> None:
    """Write a residual layer that Python calls three times, on two devices; the last call takes the logarithm of -1.

    In each layer, ``Log`` at line 2 takes what is given, ``Relu`` at line 2 takes that result, and ``AddV2`` at line 3
    takes what was given, the result of ``Relu``, and a constant that was not observed.
    """
    times = clock()
    with TfdbgWriter(folder, run_id="eager", version="2.21.0", host=HOST, clock=lambda: next(times)) as writer:
        lines = ("def layer(x):", "    y = tf.nn.relu(tf.math.log(x))", "    return x + y + 1", "layer(layer(x))")
        writer.add_source(SourceFile("eager.py", lines))
        devices = [writer.add_device(f"/job:localhost/replica:0/task:0/device:{name}") for name in ("CPU:0", "GPU:1")]

        def call(op_type: str, line: int, values: np.ndarray, given: list[int], made: int, device: int) -> np.ndarray:
            stack = (Frame("eager.py", 4, "<module>"), Frame("eager.py", line, "layer"))
            writer.add_execution(
                op_type,
                mode,
                [debug_of(mode, values, made)],
                input_ids=given,
                output_ids=[made],
                device_ids=[devices[device]],
                stack=stack,
            )
            return values

        x, taken = np.array([2.0, 3.0], np.float32), 1000
        call("Const", 1, x, [], taken, 0)
        for layer in range(3):
            if layer == 2:
                x = call("Neg", 1, -x, [taken], taken := 2000, 0)
            first = 10 * (layer + 1)
            with np.errstate(invalid="ignore"):
                y = call("Log", 2, np.log(x), [taken], first, layer % 2)
            y = call("Relu", 2, np.maximum(y, 0), [first], first + 1, layer % 2)
            x = call("AddV2", 3, x + y + 1, [taken, first + 1, 77], first + 2, layer % 2)
            taken = first + 2
