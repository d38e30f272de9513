"""TensorFlow 2's summaries without TensorFlow, in place of ``tf.summary``.

    from stepscope.summary import v2 as tf_summary

    writer = tf_summary.create_file_writer("runs/first")
    with writer.as_default():
        for step in range(1000):
            loss, images = train_step()
            tf_summary.scalar("loss", loss, step=step)
            tf_summary.image("samples", images, step=step)

The default writer, the default step, `record_if` and `name_scope` apply to the thread or asyncio task that sets them.
Functions that write return whether they wrote: without a default writer, or while recording is off, they only return
False.
"""

from typing import Final, NoReturn

from stepscope.summary.v2 import experimental, hp
from stepscope.summary.v2.base import SummaryWriter
from stepscope.summary.v2.state import name_scope, record_if, should_record_summaries
from stepscope.summary.v2.values import audio, graph, histogram, image, scalar, text
from stepscope.summary.v2.writers import create_file_writer, create_noop_writer, flush
from stepscope.summary.v2.writing import write

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "hp",
    "image",
    "name_scope",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "write",
]

_PROFILERS: Final = frozenset({"trace_export", "trace_off", "trace_on"})


def __getattr__(name: str) -> NoReturn:
    if name in _PROFILERS:
        raise AttributeError(f"{name} traces TensorFlow's operations; profiler.Profile records steps of any program")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
