from typing import Any

import pytest

from stepscope.summary.kinds import decode, kind_of
from stepscope.summary.kinds.histogram import histogram_of_buckets
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary


def test_buckets_that_were_counted_elsewhere() -> None:
    value = histogram_of_buckets("h", -1, 9.5, 6, 20, 150.5, [0, 5, 7, 10], [1, 0, 3, 2])
    proto = HistogramProto(min=-1, max=9.5, num=6, sum=20, sum_squares=150.5)
    proto.bucket_limit.extend([0, 5, 7, 10])
    proto.bucket.extend([1, 0, 3, 2])
    assert value == Summary.Value(tag="h", histo=proto)
    assert kind_of(value) == "histograms"
    assert decode("histograms", value).buckets.tolist() == [[-1, 0, 1], [0, 5, 0], [5, 7, 3], [7, 9.5, 2]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 1, 1, 1, 1, [1, 2], [1]), ValueError, r"as many .*, got shapes \(2,\) and \(1,\)"),
        ((0, 1, 1, 1, 1, [], []), ValueError, r"got shapes \(0,\) and \(0,\)"),
        ((0, 1, 1, 1, 1, [[1]], [[1]]), ValueError, r"got shapes \(1, 1\)"),
        ((0, 1, 1, 1, 1, [2, 1], [1, 1]), ValueError, r"must not decrease, got \[2.0, 1.0\]"),
        ((0, 1, 1, 1, 1, [float("nan")], [1]), ValueError, "must not decrease"),
        ((0, 1, 1, 1, 1, [1], [-1]), ValueError, r"finite and not negative, got \[-1.0\]"),
        ((2, 1, 1, 1, 1, [1], [1]), ValueError, "must not be above max, got 2.0 and 1.0"),
        (("a", 1, 1, 1, 1, [1], [1]), TypeError, "min of the histogram 'h' must be real numbers"),
    ],
)
def test_wrong_buckets(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        histogram_of_buckets("h", *arguments)
