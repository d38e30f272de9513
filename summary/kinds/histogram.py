"""Histograms: how many values fall in each bucket."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from summary.arguments import as_array, checked_number
from summary.kinds.base import Kind, PayloadError
from summary.kinds.tensors import numbers, numbers_tensor, plugin_metadata
from summary.proto import summary_pb2
from summary.proto.summary_pb2 import HistogramProto, Summary

PLUGIN_NAME: Final = "histograms"

Bins: TypeAlias = str | int | Sequence[float] | NDArray[Any]
"""Bucket edges: "tensorflow", what `numpy.histogram_bin_edges` takes, or the edges themselves."""


@dataclass(frozen=True)
class Histogram:
    """Buckets in order of their edges."""

    buckets: NDArray[np.float64]
    """Shape [k, 3]: left edge, right edge, count. Read-only; k may be 0."""


def histogram(tag: str, values: Any, bins: Bins = "tensorflow", max_bins: int | None = None) -> Summary.Value:
    """A value with the buckets from the smallest to the largest of ``values``.

    The outermost edges are the smallest and the largest value themselves, as in TensorBoard's reading of
    older histograms. Values that fall in no bucket (NaN, infinities, those outside given edges) are left out
    with a warning that says how many.

    Args:
        tag: the series.
        values: real numbers of any shape.
        bins: "tensorflow" for edges that grow by 10 % from 1e-12 on either side of zero, or see `Bins`.
        max_bins: merges neighbours until there are at most so many.

    Raises:
        TypeError: ``values`` are no real numbers.
        ValueError: there are none, or ``bins`` or ``max_bins`` make no sense.
    """
    flat = as_array(values, f"the histogram {tag!r}").reshape(-1).astype(np.float64)
    if flat.size == 0:
        raise ValueError(f"the histogram {tag!r} needs at least one value, got none")
    if max_bins is not None and max_bins < 1:
        raise ValueError(f"max_bins must be at least 1, got {max_bins}")
    finite = flat[np.isfinite(flat)]
    edges = _edges(finite, bins)
    inside = finite[(finite >= edges[0]) & (finite <= edges[-1])]
    if len(inside) < len(flat):
        left_out = f"{len(flat) - len(inside)} of {len(flat)} values ({len(flat) - len(finite)} not finite)"
        warnings.warn(f"the histogram {tag!r} leaves out {left_out}: no bucket holds them", stacklevel=3)
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR)
    return Summary.Value(tag=tag, metadata=metadata, tensor=numbers_tensor(_buckets(inside, edges, max_bins)))


def histogram_of_buckets(
    tag: str,
    smallest: Any,
    largest: Any,
    count: Any,
    total: Any,
    total_of_squares: Any,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Summary.Value:
    """A value with buckets that were counted elsewhere, in the older form, which keeps all that is given.

    Args:
        tag: the series.
        smallest: the smallest of the values, and the left edge of the first occupied bucket.
        largest: the largest of them.
        count: how many there are.
        total: their sum.
        total_of_squares: the sum of their squares.
        bucket_limits: right edges, ascending, shape [k].
        bucket_counts: how many values fell in each bucket, shape [k].

    Raises:
        TypeError: an argument is no real number, or no array of them.
        ValueError: the arrays differ in length, are empty or not of rank 1, the limits do not ascend, a count is
            negative or not finite, or ``smallest`` is above ``largest``.
    """
    name = f"the histogram {tag!r}"
    limits = as_array(bucket_limits, f"bucket_limits of {name}").astype(np.float64)
    counts = as_array(bucket_counts, f"bucket_counts of {name}").astype(np.float64)
    if limits.ndim != 1 or limits.shape != counts.shape or len(limits) == 0:
        raise ValueError(
            f"{name} needs as many bucket_limits as bucket_counts, got shapes {limits.shape} and {counts.shape}"
        )
    if not (limits[1:] >= limits[:-1]).all() or np.isnan(limits).any():
        raise ValueError(f"bucket_limits of {name} must ascend, got {limits.tolist()}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError(f"bucket_counts of {name} must be finite and not negative, got {counts.tolist()}")
    proto = HistogramProto(
        min=checked_number(smallest, f"min of {name}"),
        max=checked_number(largest, f"max of {name}"),
        num=checked_number(count, f"num of {name}"),
        sum=checked_number(total, f"sum of {name}"),
        sum_squares=checked_number(total_of_squares, f"sum_squares of {name}"),
        bucket_limit=limits.tolist(),
        bucket=counts.tolist(),
    )
    if not proto.min <= proto.max:
        raise ValueError(f"min of {name} must not be above max, got {proto.min} and {proto.max}")
    return Summary.Value(tag=tag, histo=proto)


def decode_histogram(value: Summary.Value) -> Histogram:
    """A tensor of shape [k, 3], or a `HistogramProto`.

    The latter's empty outer buckets are dropped, and its outermost edges, often +-DBL_MAX, become the
    smallest and the largest value (TensorBoard's ``data_compat.py``).

    Raises:
        PayloadError: it is neither.
    """
    field = value.WhichOneof("value")
    if field == "histo":
        buckets = _legacy_buckets(value.histo)
    elif field == "tensor":
        buckets = numbers(value.tensor).astype(np.float64)
        if buckets.ndim != 2 or buckets.shape[1] != 3:
            raise PayloadError(f"expected a histogram of shape [k, 3], got shape {list(buckets.shape)}")
    else:
        raise PayloadError(f"expected a histogram as histo or tensor, got {field or 'no value'}")
    buckets.flags.writeable = False
    return Histogram(buckets)


def _legacy_buckets(proto: HistogramProto) -> NDArray[np.float64]:
    counts = np.array(proto.bucket, dtype=np.float64)
    limits = np.array(proto.bucket_limit, dtype=np.float64)
    if len(counts) != len(limits):
        raise PayloadError(f"expected as many bucket limits as buckets, got {len(limits)} and {len(counts)}")
    return _trimmed(counts, limits, proto.min, proto.max)


def _buckets(inside: NDArray[np.float64], edges: NDArray[np.float64], max_bins: int | None) -> NDArray[np.float64]:
    if len(inside) == 0:
        return np.zeros((0, 3))
    counts, _ = np.histogram(inside, edges)
    buckets = _trimmed(counts.astype(np.float64), edges[1:], inside.min(), inside.max())
    if max_bins is None or len(buckets) <= max_bins:
        return buckets
    firsts = np.arange(0, len(buckets), -(-len(buckets) // max_bins))
    lasts = np.append(firsts[1:], len(buckets)) - 1
    return np.stack([buckets[firsts, 0], buckets[lasts, 1], np.add.reduceat(buckets[:, 2], firsts)], axis=1)


def _trimmed(
    counts: NDArray[np.float64], rights: NDArray[np.float64], smallest: float, largest: float
) -> NDArray[np.float64]:
    occupied = np.flatnonzero(counts > 0)
    if len(occupied) == 0:
        return np.zeros((0, 3))
    first, last = int(occupied[0]), int(occupied[-1])
    inner = rights[first:last]
    return np.stack([np.append(smallest, inner), np.append(inner, largest), counts[first : last + 1]], axis=1)


def _edges(finite: NDArray[np.float64], bins: Bins) -> NDArray[np.float64]:
    if isinstance(bins, str) and bins == "tensorflow":
        return _tensorflow_edges()
    if len(finite) == 0:
        return np.zeros(2)
    edges = np.histogram_bin_edges(finite, bins=bins).astype(np.float64)
    if len(edges) < 2:
        raise ValueError(f"bins must be at least two edges, got {len(edges)}")
    return edges


@cache
def _tensorflow_edges() -> NDArray[np.float64]:
    # As in tensorflow/core/lib/histogram/histogram.cc, whose last edges reach every finite number.
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    positive.append(np.finfo(np.float64).max)
    edges = np.array([-e for e in reversed(positive)] + [0.0] + positive)
    edges.flags.writeable = False
    return edges


KIND: Final = Kind(PLUGIN_NAME, "histo", decode_histogram)
