"""Scalars, histograms, text and tensors in the style of TensorFlow 1."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.foreign_protos import own_message
from stepscope.summary.kinds.histogram import tensorflow_table
from stepscope.summary.kinds.histogram_binning import Floats, binary_floats, sums
from stepscope.summary.kinds.scalar import scalar as scalar_value
from stepscope.summary.kinds.text import text as text_value
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from stepscope.summary.tensorflow_compat import strings_of, tensor_proto_of
from stepscope.summary.v1.names import tag_of
from stepscope.summary.writer_base import Message


def scalar(name: str, tensor: Any, collections: Iterable[str] | None = None, family: str | None = None) -> bytes:
    """Return a summary of one number, as float32 in its own field.

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`.
        tensor: one real number, or an array or tensor of one element.
        collections: no effect.
        family: prefix of the tag.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """
    tag = tag_of(name, family)
    return Summary(value=[scalar_value(tag, checked_number(tensor, f"the scalar {tag!r}"))]).SerializeToString()


def histogram(name: str, values: Any, collections: Iterable[str] | None = None, family: str | None = None) -> bytes:
    """Return a summary of the distribution of ``values``, in buckets that grow by 10 % from 1e-12 on either side of
    zero.

    This is the older form, with the sum and the sum of squares; consecutive empty buckets become one bucket
    (TensorFlow's ``core/lib/histogram/histogram.cc``).

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`.
        values: real numbers of any shape; may be empty.
        collections: no effect.
        family: prefix of the tag.

    Raises:
        TypeError: ``values`` are not real numbers.
        ValueError: a value is NaN or infinite.
    """
    tag = tag_of(name, family)
    flat = binary_floats(as_array(values, f"the histogram {tag!r}"))
    strange = len(flat) - int(np.isfinite(flat).sum())
    if strange:
        raise ValueError(f"the histogram {tag!r} must have finite values only, got {strange} that are NaN or infinite")
    return Summary(value=[Summary.Value(tag=tag, histo=_histogram_proto(flat))]).SerializeToString()


def text(name: str, tensor: Any, collections: Iterable[str] | None = None) -> bytes:
    """Return a summary of Markdown: a string, or an array of strings, which is shown as a table.

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`.
        tensor: `str` or UTF-8 bytes, of any shape.
        collections: no effect.

    Raises:
        TypeError: an element is not a string.
        ValueError: bytes are not UTF-8.
    """
    tag = tag_of(name)
    value = text_value(tag, strings_of(tensor, f"the text {tag!r}"))
    return Summary(value=[value]).SerializeToString()


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Iterable[str] | None = None,
    summary_metadata: Message | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> bytes:
    """Return a summary of a tensor, unchanged; ``summary_metadata`` identifies its plugin.

    Args:
        name: the tag; see `stepscope.summary.v1.names.tag_of`.
        tensor: numbers, booleans or strings of any shape.
        summary_description: a Markdown description of the tag.
        collections: no effect.
        summary_metadata: a SummaryMetadata message, which names the plugin that shows the tensor.
        family: prefix of the tag.
        display_name: the tag's name in panels.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """
    tag = tag_of(name, family)
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata = own_message(SummaryMetadata, summary_metadata, "summary_metadata")
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    value = Summary.Value(tag=tag, metadata=metadata, tensor=tensor_proto_of(tensor, f"the tensor {tag!r}"))
    return Summary(value=[value]).SerializeToString()


def _histogram_proto(values: Floats) -> HistogramProto:
    table = tensorflow_table()
    # The table has a negative zero.
    limits = table.edges + 0.0
    # The first limit is also a bucket's right edge, but no finite number is below it.
    counts = np.append(0, table.count(values).between)
    is_occupied = counts > 0
    is_kept = np.append(is_occupied[:-1] | is_occupied[1:], True)
    total, total_of_squares = sums(values)
    return HistogramProto(
        # Without values, the extremes are the defaults that a value would replace.
        min=values.min() if len(values) else limits[-1],
        max=values.max() if len(values) else limits[0],
        num=len(values),
        sum=total,
        sum_squares=total_of_squares,
        bucket_limit=limits[is_kept].tolist(),
        bucket=counts[is_kept].astype(np.float64).tolist(),
    )
