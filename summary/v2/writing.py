"""Writing summaries to the default writer."""

from collections.abc import Callable
from typing import Any

from stepscope.summary.arguments import checked_name
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.foreign_protos import own_message
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary, SummaryMetadata
from stepscope.summary.tensorflow_compat import tensor_proto_of
from stepscope.summary.v2.state import DEFAULT_WRITER, should_record_summaries, step_of, tag_of
from stepscope.summary.v2.writers import FileSummaryWriter
from stepscope.summary.writer_base import Message


def destination(step: Any) -> tuple[EventFileWriter, int] | None:
    """Return the default writer's file and the step to write at, or None if nothing is to be written.

    Raises:
        TypeError, ValueError: there is a default writer but no step, or the step is not a whole number.
        RuntimeError: the default writer is closed.
    """
    writer = DEFAULT_WRITER.get()
    if writer is None:
        return None
    whole = step_of(step)
    if not should_record_summaries():
        return None
    assert isinstance(writer, FileSummaryWriter)
    return writer.open_file(), whole


def write_value(
    name: str,
    build: Callable[[str], Summary.Value | Prepared],
    step: Any,
    description: str | None = None,
) -> bool:
    """Write the value that ``build`` returns for the tag, if anything is to be written; return whether it was.

    Raises:
        TypeError, ValueError, RuntimeError: as for `destination`, or the name cannot be a tag, or ``build`` raises one.
    """
    place = destination(step)
    if place is None:
        return False
    file, whole = place
    built = build(tag_of(name))
    if isinstance(built, Prepared):
        file.add_prepared(Prepared(lambda: _described(built.encode(), description), built.held_bytes), whole)
    else:
        file.add_event(Event(step=whole, summary=Summary(value=[_described(built, description)])))
    return True


def _described(value: Summary.Value, description: str | None) -> Summary.Value:
    if description is not None:
        value.metadata.summary_description = description
    return value


def write(
    tag: str,
    tensor: Any,
    step: Any = None,
    metadata: Message | bytes | None = None,
    name: str | None = None,
) -> bool:
    """Write a tensor of any kind to the default writer.

    Args:
        tag: the tag of the series, unchanged: it is not prefixed with name scopes.
        tensor: numbers, booleans or strings of any shape; or a function that returns them, which is called only if
            something is to be written.
        step: by default the default step.
        metadata: a SummaryMetadata message, or its bytes, which names the plugin that shows the tensor.
        name: no effect.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: there is no step, or an argument is invalid.
        RuntimeError: the default writer is closed.
    """
    place = destination(step)
    if place is None:
        return False
    file, whole = place
    value = Summary.Value(tag=checked_name(tag))
    if metadata is not None:
        value.metadata.CopyFrom(own_message(SummaryMetadata, metadata, "metadata"))
    value.tensor.CopyFrom(tensor_proto_of(tensor() if callable(tensor) else tensor, f"the tensor {tag!r}"))
    file.add_event(Event(step=whole, summary=Summary(value=[value])))
    return True


def write_raw_pb(tensor: bytes | Message, step: Any = None, name: str | None = None) -> bool:
    """Write a whole Summary to the default writer.

    Args:
        tensor: a Summary message of any class, or its bytes.
        step: by default the default step.
        name: no effect.

    Raises:
        TypeError: it is not a Summary.
        ValueError: there is no step, the bytes are not a Summary, or a value has no tag.
        RuntimeError: the default writer is closed.
    """
    place = destination(step)
    if place is None:
        return False
    file, whole = place
    own = own_message(Summary, tensor, "a summary")
    for value in own.value:
        checked_name(value.tag)
    file.add_event(Event(step=whole, summary=own))
    return True
