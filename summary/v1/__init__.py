"""TensorFlow 1's summaries without TensorFlow, in place of ``tf.compat.v1.summary``.

    from stepscope.summary import v1

    with v1.FileWriter("runs/first") as writer:
        for step in range(1000):
            loss, images = train_step()
            merged = v1.merge([v1.scalar("loss", loss), v1.image("samples", images)])
            writer.add_summary(merged, step)

In TensorFlow 1, the functions add operations to a graph; here, they take the values themselves and return what running
the operation would have returned: a serialized ``Summary``. ``collections`` and the ``name`` of `merge` concern the
graph only; they are accepted and have no effect.
"""

from typing import Final, NoReturn

from stepscope.summary.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from stepscope.summary.proto.summary_pb2 import Summary, SummaryDescription
from stepscope.summary.v1.file_writer import FileWriter, FileWriterCache
from stepscope.summary.v1.media import audio, image
from stepscope.summary.v1.merging import get_summary_description, merge
from stepscope.summary.v1.statistics import histogram, scalar, tensor_summary, text

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "scalar",
    "tensor_summary",
    "text",
]

_NEEDS_A_GRAPH: Final = frozenset({"all_v2_summary_ops", "initialize", "merge_all"})


def __getattr__(name: str) -> NoReturn:
    if name in _NEEDS_A_GRAPH:
        raise AttributeError(
            f"{name} needs a TensorFlow graph, which stepscope.summary.v1 does not have; pass the summaries to merge()"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
