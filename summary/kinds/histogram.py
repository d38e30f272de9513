"""Histograms: how many values fall in each bucket."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError, Prepared, Table
from stepscope.summary.kinds.histogram_binning import (
    Counts,
    EdgeTable,
    Floats,
    binary_floats,
    equal_width_buckets,
    sums,
)
from stepscope.summary.kinds.tensor_proto import numbers, numbers_tensor, plugin_metadata
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.plugin_data_pb2 import HistogramPluginData
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary

PLUGIN_NAME: Final = "histograms"
EQUAL_BUCKETS: Final = 30
"""The number of buckets in TensorFlow 2 by default."""
_MOST_BUCKETS: Final = 1 << 24
_MOST_ESTIMATED_BUCKETS: Final = 1 << 12
"""Number of buckets that replaces a larger estimate: one outlier makes NumPy's rules ask for millions."""

Bins: TypeAlias = str | int | Sequence[float] | NDArray[Any]
"""Bucket edges: "tensorflow", any ``bins`` of `numpy.histogram_bin_edges`, or the edges themselves.

NumPy's rules "fd" and "auto" give at most 4096 buckets here.
"""


@dataclass(frozen=True)
class Histogram:
    """Buckets in order of their edges, and the counts of values in none of them."""

    buckets: NDArray[np.float64]
    """Shape [k, 3]: left edge, right edge, count. Read-only; k may be 0."""
    nan: int = 0
    positive_infinite: int = 0
    negative_infinite: int = 0
    below: int = 0
    """Finite values below the edges given to the writer."""
    above: int = 0
    """Finite values above the edges given to the writer."""

    @property
    def left_out(self) -> int:
        """The number of values in no bucket."""
        return self.nan + self.positive_infinite + self.negative_infinite + self.below + self.above

    @property
    def total(self) -> float:
        """The number of all values, in buckets and in none."""
        return float(self.buckets[:, 2].sum()) + self.left_out


def histogram(tag: str, values: Any, bins: Bins = "tensorflow", max_bins: int | None = None) -> Summary.Value:
    """Return a value with the buckets from the smallest to the largest of ``values``.

    The outermost edges are the smallest and the largest value themselves, as TensorBoard reads older histograms. NaN,
    infinities and values outside the given edges are in no bucket; they are counted in the value's own
    ``HistogramPluginData``.

    Args:
        tag: the tag of the series.
        values: real numbers of any shape.
        bins: "tensorflow" for edges that grow by 10 % from 1e-12 on either side of zero, or see `Bins`.
        max_bins: maximum number of buckets; neighbors are merged to stay within it.

    Raises:
        TypeError: ``values`` or given edges are not real numbers.
        ValueError: there are no values, or ``bins`` or ``max_bins`` is invalid.
    """
    return _histogram(tag, *_checked_histogram(tag, values, bins, max_bins))


def prepared_histogram(
    tag: str, values: Any, bins: Bins = "tensorflow", max_bins: int | None = None, *, legacy: bool = False
) -> Prepared:
    """Prepare a `histogram` whose values are counted later; edges that depend on the values are computed immediately.

    With ``legacy``, it has the older form, which PyTorch writes: without counts of values in no bucket, and with the
    sum and the sum of squares of the finite values.
    """
    floats, table, most = _checked_histogram(tag, values, bins, max_bins)
    held = _held(floats, values)
    own_edges = 0 if table is tensorflow_table() else table.edges.nbytes
    encode = partial(_legacy_histogram if legacy else _histogram, tag, held, table, most)
    return Prepared(encode, held.nbytes + own_edges)


def histogram_of_equal_buckets(tag: str, values: Any, buckets: int = EQUAL_BUCKETS) -> Summary.Value:
    """Return a value with ``buckets`` buckets of equal width from the smallest to the largest of ``values``.

    This is TensorFlow 2's rule (TensorBoard's ``plugins/histogram/summary_v2.py``), in float64: value x lies in bucket
    floor((x - smallest) / width), and the last bucket also holds the largest value. Without data, all rows are zeros;
    if all values are equal, every edge is that value, and the last bucket holds the count. NaN and infinities are not
    data here; they are counted as in `histogram`.

    Args:
        tag: the tag of the series.
        values: real numbers of any shape; may be empty.
        buckets: number of rows, k; 0 gives none.

    Raises:
        TypeError: ``values`` or ``buckets`` are not real numbers.
        ValueError: ``buckets`` is negative, a fraction, or more than 16,777,216.
    """
    return _histogram_of_equal_buckets(tag, *_checked_equal_buckets(tag, values, buckets))


def prepared_histogram_of_equal_buckets(tag: str, values: Any, buckets: int = EQUAL_BUCKETS) -> Prepared:
    """Prepare a `histogram_of_equal_buckets` whose values are counted later."""
    floats, count = _checked_equal_buckets(tag, values, buckets)
    held = _held(floats, values)
    return Prepared(partial(_histogram_of_equal_buckets, tag, held, count), held.nbytes)


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
    """Return a value with buckets counted elsewhere, in the older form, which keeps all arguments.

    Args:
        tag: the tag of the series.
        smallest: the smallest value, and the left edge of the first occupied bucket.
        largest: the largest value.
        count: the number of values.
        total: the sum of the values.
        total_of_squares: the sum of their squares.
        bucket_limits: right edges, ascending, shape [k].
        bucket_counts: the number of values in each bucket, shape [k].

    Raises:
        TypeError: an argument is not a real number, or not an array of real numbers.
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
        raise ValueError(f"bucket_limits of {name} must not decrease, got {limits.tolist()}")
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
    """Decode a tensor of shape [k, 3] or a `HistogramProto`.

    The empty outer buckets of a `HistogramProto` are dropped, and its outermost edges, often +-DBL_MAX, become the
    smallest and the largest value (TensorBoard's ``data_compat.py``). A tensor's counts of values in no bucket are read
    from its own metadata.

    Raises:
        PayloadError: the value is neither.
    """
    field = value.WhichOneof("value")
    left_out = HistogramPluginData()
    if field == "histo":
        buckets = _legacy_buckets(value.histo)
    elif field == "tensor":
        buckets = numbers(value.tensor).astype(np.float64)
        if buckets.ndim != 2 or buckets.shape[1] != 3:
            raise PayloadError(f"expected a histogram of shape [k, 3], got shape {list(buckets.shape)}")
        left_out = _left_out(value.metadata.plugin_data.content)
    else:
        raise PayloadError(f"expected a histogram as histo or tensor, got {field or 'no value'}")
    buckets.flags.writeable = False
    return Histogram(
        buckets,
        left_out.nan,
        left_out.positive_infinite,
        left_out.negative_infinite,
        left_out.below,
        left_out.above,
    )


def _left_out(content: bytes) -> HistogramPluginData:
    try:
        return parse(HistogramPluginData, content)
    except DecodeError:
        # Old writers put the JSON text "{}" here, for the defaults.
        return HistogramPluginData()


def _legacy_buckets(proto: HistogramProto) -> NDArray[np.float64]:
    counts = np.array(proto.bucket, dtype=np.float64)
    limits = np.array(proto.bucket_limit, dtype=np.float64)
    if len(counts) != len(limits):
        raise PayloadError(f"expected as many bucket limits as buckets, got {len(limits)} and {len(counts)}")
    return _trimmed(counts, limits, proto.min, proto.max)


def _checked_histogram(tag: str, values: Any, bins: Bins, max_bins: int | None) -> tuple[Floats, EdgeTable, int | None]:
    name = f"the histogram {tag!r}"
    floats = binary_floats(as_array(values, name))
    if floats.size == 0:
        raise ValueError(f"{name} needs at least one value, got none")
    most = None if max_bins is None else _checked_count(max_bins, 1, f"max_bins of {name}")
    return floats, _edge_table(floats, bins, name), most


def _edge_table(floats: Floats, bins: Bins, name: str) -> EdgeTable:
    if isinstance(bins, str) and bins == "tensorflow":
        return tensorflow_table()
    if isinstance(bins, str | int | np.integer):
        finite = _split(floats)[0].astype(np.float64)
    else:
        bins = as_array(bins, f"bins of {name}").astype(np.float64)
        finite = np.empty(0)
    # NumPy rejects a range that float64 cannot hold, but only after trying.
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(bins, str):
            bins = _bounded(bins, finite)
        edges = np.histogram_bin_edges(finite, bins=bins).astype(np.float64)
    if len(edges) < 2:
        raise ValueError(f"bins must be at least two edges, got {len(edges)}")
    if np.isnan(edges).any():
        raise ValueError(f"bins must be edges that increase monotonically, got {edges.tolist()}")
    return EdgeTable(edges)


def _bounded(rule: str, finite: NDArray[np.float64]) -> str | int:
    """Return a rule of NumPy, or a number of buckets if it would give too many.

    Only the rule of Freedman and Diaconis, which "auto" also uses, has no bound of its own.
    """
    if rule not in ("auto", "fd") or len(finite) == 0:
        return rule
    lower, upper = np.percentile(finite, [25, 75])
    width = 2 * (upper - lower) / np.cbrt(len(finite))
    if not 0 < _MOST_ESTIMATED_BUCKETS * width < np.ptp(finite):
        return rule
    # As in newer versions of NumPy, the bound of "auto" is lower.
    return _MOST_ESTIMATED_BUCKETS if rule == "fd" else min(_MOST_ESTIMATED_BUCKETS, math.ceil(2 * len(finite) ** 0.5))


def _checked_equal_buckets(tag: str, values: Any, buckets: Any) -> tuple[Floats, int]:
    name = f"the histogram {tag!r}"
    return binary_floats(as_array(values, name)), _checked_count(buckets, 0, f"buckets of {name}")


def _checked_count(number: Any, least: int, name: str) -> int:
    count = checked_number(number, name)
    if not (least <= count <= _MOST_BUCKETS and count.is_integer()):
        raise ValueError(f"{name} must be a whole number in {least}..{_MOST_BUCKETS}, got {count:g}")
    return int(count)


def _held(floats: Floats, given: Any) -> Floats:
    """Return ``floats``, copied if they may be the caller's."""
    return floats if floats is not given and floats.base is None else floats.copy()


def _histogram(tag: str, floats: Floats, table: EdgeTable, max_bins: int | None) -> Summary.Value:
    finite, content = _split(floats)
    counts = table.count(finite)
    content.below, content.above = counts.below, counts.above
    return _value(tag, _occupied(finite, table.edges, counts, max_bins), content)


def _legacy_histogram(tag: str, floats: Floats, table: EdgeTable, max_bins: int | None) -> Summary.Value:
    finite, _ = _split(floats)
    buckets = _occupied(finite, table.edges, table.count(finite), max_bins)
    total, total_of_squares = sums(finite)
    proto = HistogramProto(num=len(finite), sum=total, sum_squares=total_of_squares)
    if len(buckets):
        proto.min, proto.max = float(finite.min()), float(finite.max())
        # As in PyTorch, an empty bucket precedes them; its limit is where the first one begins.
        proto.bucket_limit.extend([buckets[0, 0], *buckets[:, 1]])
        proto.bucket.extend([0.0, *buckets[:, 2]])
    return Summary.Value(tag=tag, histo=proto)


def _histogram_of_equal_buckets(tag: str, floats: Floats, count: int) -> Summary.Value:
    finite, content = _split(floats)
    return _value(tag, equal_width_buckets(finite, count), content)


def _value(tag: str, buckets: NDArray[np.float64], content: HistogramPluginData) -> Summary.Value:
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR, content.SerializeToString())
    return Summary.Value(tag=tag, metadata=metadata, tensor=numbers_tensor(buckets))


def _split(floats: Floats) -> tuple[Floats, HistogramPluginData]:
    """Return the finite numbers, and how many others there are."""
    # An extreme is nonfinite if any number is: NaN propagates.
    if len(floats) == 0 or (np.isfinite(floats.min()) and np.isfinite(floats.max())):
        return floats, HistogramPluginData()
    counts = HistogramPluginData(
        nan=int(np.count_nonzero(np.isnan(floats))),
        positive_infinite=int(np.count_nonzero(floats == np.inf)),
        negative_infinite=int(np.count_nonzero(floats == -np.inf)),
    )
    return floats[np.isfinite(floats)], counts


def _occupied(finite: Floats, edges: NDArray[np.float64], counts: Counts, max_bins: int | None) -> NDArray[np.float64]:
    """Return the buckets from the smallest to the largest number within the edges."""
    if not counts.between.any():
        return np.zeros((0, 3))
    inside = finite
    if counts.below or counts.above:
        inside = finite[(finite >= edges[0]) & (finite <= edges[-1])]
    buckets = _trimmed(counts.between.astype(np.float64), edges[1:], float(inside.min()), float(inside.max()))
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


@cache
def tensorflow_table() -> EdgeTable:
    """Return TensorFlow's edges, which grow by 10 % from 1e-12 on both sides of zero, up to the largest finite numbers.

    They are multiplied one by one, the only way to match TensorFlow's last bits
    (``tensorflow/core/lib/histogram/histogram.cc``).
    """
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    positive.append(float(np.finfo(np.float64).max))
    return EdgeTable(np.array([-e for e in reversed(positive)] + [0.0] + positive))


_LEFT_OUT: Final = ("nan", "positive_infinite", "negative_infinite", "below", "above")


def _rows(found: Histogram) -> list[tuple[Any, ...]]:
    counts = (getattr(found, name) for name in _LEFT_OUT)
    return [(*(np.ascontiguousarray(column) for column in found.buckets.T), *counts)]


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_histogram,
    about="how many values fall in each bucket",
    table=Table(
        {"left": "list[float]", "right": "list[float]", "count": "list[float]", **dict.fromkeys(_LEFT_OUT, "int")},
        _rows,
    ),
    legacy_field="histo",
)
