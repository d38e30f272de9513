"""`SummaryWriter.add_scalar_batch`: many points of one series at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.kinds.scalar import ScalarForm
from stepscope.summary.kinds.scalar_batch import POINT, encode_scalar, scalar_template
from stepscope.summary.kinds.scalar_series import encode_series
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, frame, length_of_record

INT64 = st.integers(-(2**63), 2**63 - 1)
STEPS = st.one_of(INT64, st.integers(0, 1 << 15))


def messages(records: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(records):
        end = begin + length_of_record(records, begin)
        message = records[begin + HEADER_BYTES : end - FOOTER_BYTES]
        assert records[begin:end] == frame(message)
        yield message
        begin = end


def parsed(message: bytes) -> bytes:
    """The message with its fields in the order of their numbers, whatever order the writer used."""
    return Event.FromString(message).SerializeToString()


@settings(max_examples=40)
@given(
    tag=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    form=st.sampled_from(["simple_value", "float32", "float64"]),
    first=STEPS,
    stride=st.integers(0, 1000),
    scattered=st.lists(STEPS, max_size=5),
    wall_time=st.floats(allow_nan=False, allow_infinity=False),
    number=st.floats(),
)
def test_the_events_are_those_of_single_points(
    tag: str, form: ScalarForm, first: int, stride: int, scattered: list[int], wall_time: float, number: float
) -> None:
    regular = np.clip(first + stride * np.arange(200, dtype=object), -(2**63), 2**63 - 1).astype(np.int64)
    steps = np.concatenate([regular, np.array(scattered, np.int64)])
    wall_times = wall_time + np.linspace(0, 1, len(steps))
    numbers = np.append(np.linspace(-2, 1e39, len(steps) - 1), number)
    template = scalar_template(tag, form)
    points = np.zeros(len(steps), POINT)
    points["wall_time"], points["step"], points["number"] = wall_times, steps, numbers
    expected = [encode_scalar(template, point) for point in points]
    records = b"".join(encode_series(template, steps, wall_times, numbers))
    assert [parsed(message) for message in messages(records)] == [parsed(message) for message in expected]


@pytest.mark.parametrize("options", [{}, {"new_style": True}, {"double_precision": True}])
def test_points_are_read_back(tmp_path: Path, options: dict[str, bool]) -> None:
    count = 100_000
    values = np.linspace(-1, 1, count) if options.get("double_precision") else np.arange(count) * 0.5
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 7.0, 0)
        writer.add_scalar_batch("loss", values, np.arange(1, count + 1), 1000.5 + np.arange(count), **options)
        writer.add_scalar("loss", 8.0, count + 1)
    series = open_logdir(tmp_path).runs["."].series["loss"]
    assert_array_equal(series.steps, np.arange(count + 2))
    assert_array_equal(series.values, [7.0, *values, 8.0])
    assert_array_equal(series.wall_times[1:-1], 1000.5 + np.arange(count))


def test_lists_and_values_that_are_no_numbers(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar_batch("loss", [1, np.nan, np.inf], [0.0, 5.0, 2**62])
        writer.add_scalar_batch("none", [], [])
    (series,) = open_logdir(tmp_path).runs["."].series.values()
    assert series.steps.tolist() == [0, 5, 2**62]
    assert_array_equal(series.values, [1, np.nan, np.inf])
    assert len(set(series.wall_times)) == 1


def test_arrays_may_change_after_the_call(tmp_path: Path) -> None:
    values, steps, times = np.ones(3), np.arange(3), np.full(3, 10.0)
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar_batch("loss", values, steps, times)
        values[:], steps[:], times[:] = 9, 9, 9
    series = open_logdir(tmp_path).runs["."].series["loss"]
    assert (series.values.tolist(), series.steps.tolist(), series.wall_times.tolist()) == (
        [1, 1, 1],
        [0, 1, 2],
        [10, 10, 10],
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, [1.0], [1]), TypeError, "a tag must be a string, got int 3"),
        (("t", [1.0, 2.0], [1]), ValueError, r"must have the same length, got shapes \[2\], \[1\]"),
        (("t", [1.0], [1], [1.0, 2.0]), ValueError, r"must have the same length, got shapes \[1\], \[1\], \[2\]"),
        (("t", [[1.0]], [[1]]), ValueError, r"must have the same length, got shapes \[1, 1\], \[1, 1\]"),
        (("t", ["1"], [1]), TypeError, "the scalars 't' must be real numbers"),
        (("t", [1.0], ["1"]), TypeError, "steps must be real numbers"),
        (("t", [1.0], [0.5]), ValueError, "steps must be 64-bit integers, got 0.5"),
        (("t", [1.0], [float("nan")]), ValueError, "steps must be 64-bit integers, got nan"),
        (("t", [1.0], np.array([2**63], np.uint64)), ValueError, "signed 64-bit integer, got 9223372036854775808"),
        (("t", [1.0], [1], [float("nan")]), ValueError, "wall times must be finite, got nan"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        writer.add_scalar_batch(*arguments)
    assert open_logdir(tmp_path).runs["."].series == {}
