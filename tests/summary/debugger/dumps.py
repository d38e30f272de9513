"""A small dump: a training of two steps, of which the second takes the logarithm of zero."""

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
    """A second for each look."""
    return map(float, count(int(START)))


def write_dump(
    folder: Path, mode: tfdbg.TensorDebugMode = tfdbg.FULL_HEALTH, *, host: str = HOST, run_id: str = "run"
) -> TfdbgWriter:
    """Write two eager operations, and two steps of a graph inside of another; every event a second after the last."""
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
