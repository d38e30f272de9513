"""Run metadata: a profiler's record of one step, as StepStats and graphs."""

from typing import Final

from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import strings
from stepscope.summary.proto.event_pb2 import TaggedRunMetadata
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "graph_run_metadata"
TAGGED_PLUGIN_NAME: Final = "graph_tagged_run_metadata"
"""TensorBoard's name for the event field ``tagged_run_metadata``, which no plugin writes."""

_CONTENT: Final = b"1"


def tagged_run_metadata(tag: str, run_metadata: RunMetadata) -> TaggedRunMetadata:
    """Return the content of ``Event.tagged_run_metadata``, for TensorBoard's graph panel and Stepscope's timeline."""
    return TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())


def decode_run_metadata(value: Summary.Value) -> RunMetadata:
    """Return the message in a string tensor of one element; metadata, if any, must have the content ``b"1"``.

    Raises:
        PayloadError: the value is not such a tensor, or its bytes are not a RunMetadata.
    """
    plugin = value.metadata.plugin_data
    if plugin.plugin_name == PLUGIN_NAME and plugin.content != _CONTENT:
        raise PayloadError(f"expected run metadata of version {_CONTENT!r}, got {plugin.content[:20]!r}")
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected run metadata as a tensor, got {value.WhichOneof('value') or 'no value'}")
    parts = strings(value.tensor)
    if parts.size != 1:
        raise PayloadError(f"expected one string of run metadata, got shape {list(parts.shape)}")
    try:
        return parse(RunMetadata, parts.item())
    except DecodeError as error:
        raise PayloadError(f"expected a RunMetadata message, got {parts.item()[:20]!r}...: {error}") from error


KIND: Final = Kind(plugin_name=PLUGIN_NAME, decode=decode_run_metadata, about="what was recorded of one step")
TAGGED_KIND: Final = Kind(
    plugin_name=TAGGED_PLUGIN_NAME, decode=decode_run_metadata, about="what was recorded of one step, under a tag"
)
