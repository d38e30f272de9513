"""Merged summaries, and the description in a graph's summary operation."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import json_format

from stepscope.summary.foreign_protos import own_message
from stepscope.summary.proto.summary_pb2 import Summary, SummaryDescription
from stepscope.summary.writer_base import Message


def merge(
    inputs: Sequence[bytes | Message], collections: Iterable[str] | None = None, name: str | None = None
) -> bytes:
    """Return one summary with the values of all ``inputs``, in their order.

    Args:
        inputs: Summary messages of any class, or serialized.
        collections: no effect.
        name: no effect.

    Raises:
        TypeError: an input is neither bytes nor a message.
        ValueError: there are no inputs, bytes are not a Summary, or two values have the same tag.
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs must be a list of summaries, got {type(inputs).__name__}")
    if not inputs:
        raise ValueError("inputs must be one summary or more, got none")
    merged = Summary()
    for one in inputs:
        merged.MergeFrom(own_message(Summary, one, "an input of merge"))
    counts = Counter(value.tag for value in merged.value if value.tag)
    twice = sorted(tag for tag, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"the tags of merged summaries must differ, got {', '.join(map(repr, twice))} more than once")
    return merged.SerializeToString()


def get_summary_description(node_def: Any) -> SummaryDescription:
    """Return the description in the node of a ``TensorSummary`` operation.

    Args:
        node_def: a NodeDef of any class.

    Raises:
        ValueError: the node is another operation, or its description is not a SummaryDescription.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"a description must be of a TensorSummary operation, got {node_def.op!r}")
    try:
        return json_format.Parse(node_def.attr["description"].s.decode(), SummaryDescription())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(
            f"the description of {node_def.name!r} must be a SummaryDescription in JSON: {error}"
        ) from error
