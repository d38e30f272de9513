"""Precision-recall curves: what a classifier gets right at each threshold."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import numbers, numbers_tensor, plugin_metadata
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.plugin_data_pb2 import PrCurvePluginData
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "pr_curves"

_LEAST_COUNT: Final = 1e-7
_ROWS: Final = (
    "true_positive_counts",
    "false_positive_counts",
    "true_negative_counts",
    "false_negative_counts",
    "precision",
    "recall",
)
_ROUNDING: Final = 1e-6
"""How far a softmax in float32 may be off."""


@dataclass(frozen=True)
class PrCurve:
    """Counts and ratios at n thresholds from 0 to 1 in equal steps."""

    table: NDArray[np.float64]
    """Shape [6, n], read-only: true positives, false positives, true negatives, false negatives, precision, recall."""

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """A prediction at or above its threshold counts as positive; float64 [n]."""
        return np.linspace(0.0, 1.0, self.table.shape[1])


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary.Value:
    """Return a value with the curve of a binary classifier, float32.

    A prediction p lies in bucket floor(p * (n - 1)) and is positive at the thresholds up to it; precision is
    TP / max(1e-7, TP + FP), and recall is TP / max(1e-7, TP + FN) (TensorBoard's ``plugins/pr_curve/summary.py``).

    Args:
        tag: the tag of the series.
        labels: how positive each sample is: booleans, or numbers in 0..1; any shape.
        predictions: probabilities in 0..1, with the same shape. Values outside this range are not counted, as in
            PyTorch, and a warning is issued.
        num_thresholds: n, at least 2.
        weights: the weight of each sample: a number, or an array with the same shape; by default 1.

    Raises:
        TypeError: an argument is not an array of real numbers.
        ValueError: the shapes differ or a number is out of range.
    """
    name = f"the PR curve {tag!r}"
    count = _checked_count(num_thresholds, name)
    positive = _checked_labels(labels, name)
    probabilities = as_array(predictions, f"the predictions of {name}").reshape(-1)
    if positive.shape != probabilities.shape:
        raise ValueError(
            f"{name} needs as many predictions as labels, got {probabilities.size} predictions, {positive.size} labels"
        )
    weight = _checked_weights(weights, positive.size, name)
    if probabilities.dtype.kind in "iu":
        probabilities = probabilities.astype(np.float64)
    # Use the predictions' own precision, as TensorBoard and PyTorch do: at a threshold, it decides the bucket.
    with np.errstate(invalid="ignore", over="ignore"):
        buckets = np.floor(
            np.where((probabilities >= -_ROUNDING) & (probabilities < 0), 0, probabilities) * (count - 1)
        )
    counted = (buckets >= 0) & (buckets < count)
    if not counted.all():
        left_out = probabilities[~counted]
        warnings.warn(
            f"{left_out.size} of {counted.size} predictions of {name} lie outside of 0..1, such as {left_out[0]:g}, "
            "and are not counted; put logits through a sigmoid",
            stacklevel=3,
        )
        buckets, positive, weight = buckets[counted], positive[counted], weight[counted]
    places = buckets.astype(np.int64)
    true_positives = _reaching(places, positive * weight, count)
    false_positives = _reaching(places, (1 - positive) * weight, count)
    false_negatives = true_positives[0] - true_positives
    return _value(
        tag,
        np.stack(
            [
                true_positives,
                false_positives,
                false_positives[0] - false_positives,
                false_negatives,
                true_positives / np.maximum(_LEAST_COUNT, true_positives + false_positives),
                true_positives / np.maximum(_LEAST_COUNT, true_positives + false_negatives),
            ]
        ),
    )


def pr_curve_of_counts(tag: str, *rows: Any) -> Summary.Value:
    """Return a value with a curve counted elsewhere, float32.

    Args:
        tag: the tag of the series.
        rows: true positives, false positives, true negatives, false negatives, precision and recall, each of shape
            [n]: one number per threshold, from 0 to 1 in equal steps.

    Raises:
        TypeError: an argument is not an array of real numbers.
        ValueError: the shapes differ, or are not [n] with n at least 1.
    """
    if len(rows) != len(_ROWS):
        raise ValueError(f"the PR curve {tag!r} needs {', '.join(_ROWS)}, got {len(rows)} arrays")
    arrays = [
        as_array(row, f"{what} of the PR curve {tag!r}").astype(np.float64)
        for what, row in zip(_ROWS, rows, strict=True)
    ]
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 1 or arrays[0].size == 0:
        got = ", ".join(str(list(array.shape)) for array in arrays)
        raise ValueError(f"the PR curve {tag!r} needs six arrays of one shape [n], got {got}")
    return _value(tag, np.stack(arrays))


def pr_curves_of_classes(
    tag: str,
    labels: Any,
    predictions: Any,
    num_thresholds: int = 127,
    weights: Any = None,
    class_names: Sequence[str] | None = None,
) -> Iterator[Summary.Value]:
    """Yield one value ``<tag>/<class>`` per class, for that class against all others.

    Args:
        tag: the prefix of the tags.
        labels: the class of each sample, whole numbers from 0, shape [samples].
        predictions: the probability of each class, shape [samples, classes].
        num_thresholds: as for `pr_curve`.
        weights: as for `pr_curve`.
        class_names: suffixes of the tags; by default the class numbers.

    Raises:
        TypeError: an argument is not an array of real numbers.
        ValueError: the shapes, the names and the labels do not match.
    """
    name = f"the PR curves {tag!r}"
    classes = as_array(labels, f"the labels of {name}")
    probabilities = as_array(predictions, f"the predictions of {name}")
    if classes.ndim != 1 or probabilities.ndim != 2 or len(classes) != len(probabilities):
        raise ValueError(
            f"{name} need labels [samples] and predictions [samples, classes],"
            f" got shapes {classes.shape} and {probabilities.shape}"
        )
    count = probabilities.shape[1]
    names = [str(number) for number in range(count)] if class_names is None else list(class_names)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"{name} need {count} different class names, got {names}")
    if not np.isin(classes, np.arange(count)).all():
        wrong = classes[~np.isin(classes, np.arange(count))][0]
        raise ValueError(f"the labels of {name} must be whole numbers in 0..{count - 1}, got {wrong}")
    for number, class_name in enumerate(names):
        yield pr_curve(f"{tag}/{class_name}", classes == number, probabilities[:, number], num_thresholds, weights)


def decode_pr_curve(value: Summary.Value) -> PrCurve:
    """Decode a numeric tensor of shape [6, n].

    Raises:
        PayloadError: the value is not such a tensor.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a PR curve as a tensor, got {value.WhichOneof('value') or 'no value'}")
    table = numbers(value.tensor).astype(np.float64)
    if table.ndim != 2 or len(table) != len(_ROWS):
        raise PayloadError(f"expected a PR curve of shape [6, n], got shape {list(table.shape)}")
    table.flags.writeable = False
    return PrCurve(table)


def _value(tag: str, table: NDArray[np.float64]) -> Summary.Value:
    content = PrCurvePluginData(num_thresholds=table.shape[1]).SerializeToString()
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR, content)
    return Summary.Value(tag=tag, metadata=metadata, tensor=numbers_tensor(table.astype(np.float32)))


def _reaching(buckets: NDArray[np.int64], weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the total weight in each bucket and above it."""
    return np.bincount(buckets, weights, count)[::-1].cumsum()[::-1]


def _checked_count(num_thresholds: Any, name: str) -> int:
    number = checked_number(num_thresholds, f"num_thresholds of {name}")
    if not (number >= 2 and number.is_integer()):
        raise ValueError(f"num_thresholds of {name} must be a whole number of at least 2, got {number:g}")
    return int(number)


def _checked_labels(labels: Any, name: str) -> NDArray[np.float64]:
    positive = as_array(labels, f"the labels of {name}").reshape(-1)
    wrong = ~((positive >= 0) & (positive <= 1))
    if wrong.any():
        raise ValueError(f"the labels of {name} must lie in 0..1, got {positive[wrong][0]}")
    return positive.astype(np.float64)


def _checked_weights(weights: Any, count: int, name: str) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(count)
    array = as_array(weights, f"the weights of {name}").astype(np.float64).reshape(-1)
    if array.size not in (1, count):
        raise ValueError(f"the weights of {name} must be one number or {count} of them, got {array.size}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise ValueError(f"the weights of {name} must be finite and not negative, got {array[wrong][0]}")
    return np.broadcast_to(array, (count,))


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_pr_curve,
    about="what a classifier gets right at each threshold",
    array=lambda found: found.table,
)
