import re
from typing import Any

import numpy as np
import pytest

from stepscope.summary.kinds import PayloadError, decode, kind_of
from stepscope.summary.kinds.pr_curve import pr_curve, pr_curve_of_counts, pr_curves_of_classes
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.proto.plugin_data_pb2 import PrCurvePluginData
from stepscope.summary.proto.summary_pb2 import Summary


def test_a_curve() -> None:
    value = pr_curve("pr", [True, False, 1, 0], [1.0, 0.5, 0.4, 0.0], num_thresholds=3)
    assert (value.tag, kind_of(value)) == ("pr", "pr_curves")
    assert PrCurvePluginData.FromString(value.metadata.plugin_data.content).num_thresholds == 3
    curve = decode("pr_curves", value)
    assert curve.thresholds.tolist() == [0.0, 0.5, 1.0]
    assert curve.table.tolist() == [
        [2, 1, 1],
        [2, 1, 0],
        [0, 1, 2],
        [0, 1, 1],
        [0.5, 0.5, 1],
        [1, 0.5, 0.5],
    ]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64])
def test_predictions_as_integers_of_any_size(dtype: type[np.integer[Any]]) -> None:
    labels, predictions = [1, 0, 1, 0], np.array([1, 0, 0, 1])
    assert pr_curve("pr", labels, predictions.astype(dtype), 500) == pr_curve("pr", labels, predictions * 1.0, 500)
    with pytest.warns(UserWarning, match="1 of 2 predictions of the PR curve 'pr' lie outside of 0..1, such as 3,"):
        value = pr_curve("pr", [1, 1], np.array([3, 1], dtype), 127)
    assert value == pr_curve("pr", [1], [1.0], 127)


def test_weights() -> None:
    table = decode("pr_curves", pr_curve("pr", [1, 0], [1.0, 0.0], 2, weights=[0.25, 3])).table
    assert table[:4].tolist() == [[0.25, 0.25], [3, 0], [0, 3], [0, 0]]
    table = decode("pr_curves", pr_curve("pr", [1, 0], [1.0, 0.0], 2, weights=2)).table
    assert table[:4].tolist() == [[2, 2], [2, 0], [0, 2], [0, 0]]


def test_no_division_by_zero() -> None:
    table = decode("pr_curves", pr_curve("pr", [0], [0.0], 2)).table
    assert table.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert decode("pr_curves", pr_curve("pr", [], [], 2)).table.tolist() == [[0, 0]] * 6


def test_logits_are_not_counted() -> None:
    message = (
        "2 of 4 predictions of the PR curve 'pr' lie outside of 0..1, such as 3.5, and are not counted; "
        "put logits through a sigmoid"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        value = pr_curve("pr", [1, 0.25, 1, 0], [0.75, 0.25, 3.5, np.nan], 2)
    assert decode("pr_curves", value).table.tolist() == [[1.25, 0], [0.75, 0], [0, 0.75], [0, 1.25], [0.625, 0], [1, 0]]


def test_it_is_the_curve_of_tensorboardx() -> None:
    theirs = pytest.importorskip("tensorboardX.summary")
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 500)
    for dtype in (np.float32, np.float64):
        predictions = generator.random(500).astype(dtype)
        weights = generator.random(500)
        expected = theirs.compute_curve(labels, predictions, 127, weights).astype(np.float32)
        table = decode("pr_curves", pr_curve("pr", labels, predictions, 127, weights)).table
        np.testing.assert_allclose(table, expected, rtol=1e-6, atol=1e-6)


def test_counts() -> None:
    value = pr_curve_of_counts("pr", [3, 1], [2, 0], [0, 2], [0, 2], [0.6, 1], [1, 1 / 3])
    table = decode("pr_curves", value).table
    assert table.tolist() == [[3, 1], [2, 0], [0, 2], [0, 2], [np.float32(0.6), 1], [1, np.float32(1 / 3)]]


def test_one_curve_per_class() -> None:
    predictions = [[0.9, 0.1], [0.2, 0.8]]
    values = list(pr_curves_of_classes("pr", [0, 1], predictions, 2, class_names=["cat", "dog"]))
    assert [value.tag for value in values] == ["pr/cat", "pr/dog"]
    assert values[1] == pr_curve("pr/dog", [0, 1], [0.1, 0.8], 2)
    assert [value.tag for value in pr_curves_of_classes("pr", [0, 1], predictions)] == ["pr/0", "pr/1"]


@pytest.mark.parametrize(
    ("labels", "predictions", "options", "message"),
    [
        ([0, 1], [0.5], {}, "as many predictions as labels, got 1 predictions, 2 labels"),
        ([0, 2], [0.5, 0.5], {}, "labels .* must lie in 0..1, got 2"),
        ([0, np.nan], [0.5, 0.5], {}, "labels .* must lie in 0..1, got nan"),
        ([0], [0.5], {"num_thresholds": 1}, "at least 2, got 1"),
        ([0, 1], [0.5, 0.5], {"weights": [1, 1, 1]}, "one number or 2 of them, got 3"),
        ([0], [0.5], {"weights": -1}, "finite and not negative, got -1.0"),
        ([0], [0.5], {"weights": [np.inf]}, "finite and not negative, got inf"),
    ],
)
def test_curves_refuse(labels: Any, predictions: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pr_curve("pr", labels, predictions, **options)


def test_counts_refuse() -> None:
    with pytest.raises(
        ValueError, match=r"six arrays of one shape \[n\], got \[2\], \[2\], \[2\], \[2\], \[2\], \[1\]"
    ):
        pr_curve_of_counts("pr", *[[0, 0]] * 5, [0])
    with pytest.raises(ValueError, match="got 2 arrays"):
        pr_curve_of_counts("pr", [0], [0])


@pytest.mark.parametrize(
    ("labels", "predictions", "names", "message"),
    [
        ([0], [0.5], None, r"labels \[samples\] and predictions \[samples, classes\], got shapes \(1,\) and \(1,\)"),
        ([2], [[0.5, 0.5]], None, r"whole numbers in 0..1, got 2"),
        ([0], [[0.5, 0.5]], ["a"], r"2 different class names, got \['a'\]"),
        ([0], [[0.5, 0.5]], ["a", "a"], "2 different class names"),
    ],
)
def test_classes_refuse(labels: Any, predictions: Any, names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(pr_curves_of_classes("pr", labels, predictions, class_names=names))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Summary.Value(simple_value=1), "as a tensor, got simple_value"),
        (Summary.Value(tensor=numbers_tensor(np.zeros((5, 2)))), r"shape \[6, n\], got shape \[5, 2\]"),
    ],
)
def test_what_is_no_curve(value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode("pr_curves", value)
