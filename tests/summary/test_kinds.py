from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from stepscope.summary import open_logdir
from stepscope.summary.kinds import KINDS, Payload, PayloadError, decode, kind_of
from stepscope.summary.kinds.audio import Audio
from stepscope.summary.kinds.histogram import (
    Histogram,
    histogram,
    histogram_of_equal_buckets,
    prepared_histogram,
    prepared_histogram_of_equal_buckets,
)
from stepscope.summary.kinds.image import Images, images, prepared_images
from stepscope.summary.kinds.mesh import Mesh
from stepscope.summary.kinds.pr_curve import PrCurve
from stepscope.summary.kinds.run_metadata import tagged_run_metadata
from stepscope.summary.kinds.scalar import scalar
from stepscope.summary.kinds.tensor import Tensor
from stepscope.summary.kinds.tensor_proto import numbers_tensor, strings_tensor
from stepscope.summary.kinds.text import Text, text
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.custom_scalars_pb2 import Layout
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from stepscope.summary.proto.tensor_pb2 import TensorProto, TensorShapeProto
from stepscope.summary.records import frame

DBL_MAX = float(np.finfo(np.float64).max)


def tensor(dtype: Any, shape: list[int], **values: Any) -> TensorProto:
    dims = [TensorShapeProto.Dim(size=size) for size in shape]
    return TensorProto(dtype=dtype, tensor_shape=TensorShapeProto(dim=dims), **values)


def value_of(proto: TensorProto) -> Summary.Value:
    return Summary.Value(tensor=proto)


def equal(left: Payload, right: Payload) -> bool:
    match left, right:
        case Histogram(), Histogram():
            return np.array_equal(left.buckets, right.buckets)
        case Text(), Text():
            return left.strings.shape == right.strings.shape and bool((left.strings == right.strings).all())
        case _:
            return bool(left == right)


RUN_METADATA = RunMetadata()
RUN_METADATA.step_stats.dev_stats.add(device="/cpu:0")


@pytest.mark.parametrize(
    ("kind", "value", "payload"),
    [
        ("scalars", scalar("t", 0.25), 0.25),
        ("scalars", scalar("t", 0.25, "float32"), 0.25),
        ("scalars", scalar("t", 0.1, "float64"), 0.1),
        ("scalars", scalar("t", float("inf")), float("inf")),
        ("histograms", histogram("t", [3.0, 3.0]), Histogram(np.array([[3.0, 3.0, 2.0]]))),
        ("text", text("t", "# ä"), Text(np.array("# ä", dtype=object))),
        ("text", text("t", [["a", "b"], ["c", ""]]), Text(np.array([["a", "b"], ["c", ""]], dtype=object))),
    ],
)
def test_what_is_written_is_read(kind: str, value: Summary.Value, payload: Payload) -> None:
    assert kind_of(value) == kind
    assert equal(decode(kind, Summary.Value.FromString(value.SerializeToString())), payload)


@pytest.mark.parametrize(
    ("proto", "number"),
    [
        (tensor(types_pb2.DT_FLOAT, [], float_val=[1.5]), 1.5),
        (tensor(types_pb2.DT_FLOAT, [1], tensor_content=b"\0\0\xc0\x3f"), 1.5),
        (tensor(types_pb2.DT_DOUBLE, [], double_val=[0.1]), 0.1),
        (tensor(types_pb2.DT_HALF, [], half_val=[0x3E00]), 1.5),
        (tensor(types_pb2.DT_BFLOAT16, [], half_val=[0x3FC0]), 1.5),
        (tensor(types_pb2.DT_BFLOAT16, [], tensor_content=b"\xc0\x3f"), 1.5),
        (tensor(types_pb2.DT_INT8, [], int_val=[-3]), -3.0),
        (tensor(types_pb2.DT_UINT8, [], int_val=[200]), 200.0),
        (tensor(types_pb2.DT_INT32, [1], int_val=[-3]), -3.0),
        (tensor(types_pb2.DT_INT64, [], int64_val=[1 << 40]), float(1 << 40)),
        (tensor(types_pb2.DT_UINT64, [], uint64_val=[1 << 63]), float(1 << 63)),
        (tensor(types_pb2.DT_BOOL, [], bool_val=[True]), 1.0),
        (tensor(types_pb2.DT_FLOAT, []), 0.0),
    ],
)
def test_scalars_of_every_dtype(proto: TensorProto, number: float) -> None:
    assert decode("scalars", value_of(proto)) == number


@pytest.mark.parametrize(
    ("proto", "buckets"),
    [
        (
            HistogramProto(min=-2, max=9, bucket_limit=[-5, 0, 5, 7, DBL_MAX, DBL_MAX], bucket=[0, 1, 0, 2, 3, 0]),
            [[-2, 0, 1], [0, 5, 0], [5, 7, 2], [7, 9, 3]],
        ),
        (HistogramProto(min=1, max=1, bucket_limit=[0, 2], bucket=[0, 4]), [[1, 1, 4]]),
        (HistogramProto(min=0, max=0, bucket_limit=[1, 2], bucket=[0, 0]), np.zeros((0, 3))),
        (HistogramProto(), np.zeros((0, 3))),
    ],
    ids=["outer edges", "one value", "all empty", "no buckets"],
)
def test_legacy_histograms_lose_empty_outer_buckets(proto: HistogramProto, buckets: Any) -> None:
    value = Summary.Value(histo=proto)
    assert kind_of(value) == "histograms"
    np.testing.assert_array_equal(decode("histograms", value).buckets, buckets)


@pytest.mark.filterwarnings("error")
def test_the_sums_of_a_legacy_histogram_may_be_beyond_float64() -> None:
    histo = prepared_histogram("h", np.array([-1e200, 3e200]), legacy=True).encode().histo
    assert (histo.num, histo.sum, histo.sum_squares) == (2, 2e200, np.inf)
    histo = prepared_histogram("h", np.array([1e308, 1e308]), legacy=True).encode().histo
    assert (histo.num, histo.sum, histo.sum_squares) == (2, np.inf, np.inf)


def test_legacy_image() -> None:
    value = Summary.Value(image=Summary.Image(width=2, height=1, colorspace=3, encoded_image_string=b"png"))
    assert kind_of(value) == "images"
    assert decode("images", value) == Images(2, 1, (b"png",))


@pytest.mark.parametrize("shape", [[], [1], [1, 1], [1, 1, 1]])
@pytest.mark.parametrize("dtype", [1, 2, 3])
def test_a_tensor_of_one_element_is_a_scalar_of_any_rank(tmp_path: Path, shape: list[int], dtype: int) -> None:
    # With rank 2 or more, its points were once left out.
    value = value_of(tensor(dtype, shape, tensor_content=np.array(7, {1: "<f4", 2: "<f8", 3: "<i4"}[dtype]).tobytes()))
    value.tag = "loss"
    value.metadata.plugin_data.plugin_name = "scalars"
    assert decode("scalars", value) == 7.0
    events = [Event(step=step, summary=Summary(value=[value])) for step in range(3)]
    (tmp_path / "tfevents").write_bytes(b"".join(frame(event.SerializeToString()) for event in events))
    series = open_logdir(tmp_path).series(".", "loss")
    assert series is not None
    assert (series.values.tolist(), open_logdir(tmp_path).damage_count) == ([7.0] * 3, 0)


def test_a_field_of_its_own_says_the_kind_whatever_the_metadata() -> None:
    # Such a number was once not a scalar; TensorBoard's readers treat it as one.
    number = Summary.Value(tag="loss", simple_value=1.5)
    number.metadata.plugin_data.plugin_name = "another"
    histogram = Summary.Value(histo=HistogramProto(bucket_limit=[1.0], bucket=[2.0]))
    histogram.metadata.plugin_data.plugin_name = "scalars"
    assert [kind_of(number), kind_of(histogram)] == ["scalars", "histograms"]
    assert decode(kind_of(number), number) == 1.5


def test_a_tensor_of_no_kind_or_an_unknown_one_is_a_tensor() -> None:
    for kind in ("", "another"):
        assert decode(kind, value_of(tensor(1, [2], float_val=[1, 2]))).array.tolist() == [1.0, 2.0]


def test_image_tensor() -> None:
    proto = strings_tensor([b"20", b"10", b"a", b"b"], (4,))
    assert decode("images", value_of(proto)) == Images(20, 10, (b"a", b"b"))


def test_text_that_is_no_utf8_is_shown_with_replacement_characters() -> None:
    assert decode("text", value_of(strings_tensor([b"a\xff"], ()))).strings.item() == "a\ufffd"


def test_run_metadata_in_both_forms() -> None:
    plugin = SummaryMetadata.PluginData(plugin_name="graph_run_metadata", content=b"1")
    encoded = RUN_METADATA.SerializeToString()
    value = Summary.Value(metadata=SummaryMetadata(plugin_data=plugin), tensor=strings_tensor([encoded], ()))
    assert decode(kind_of(value), value) == RUN_METADATA
    tagged = tagged_run_metadata("step 4", RUN_METADATA)
    assert tagged.tag == "step 4"
    assert decode("graph_tagged_run_metadata", tagged.run_metadata) == RUN_METADATA


UNKNOWN_RANK = TensorProto(dtype=types_pb2.DT_FLOAT, tensor_shape=TensorShapeProto(unknown_rank=True))
OLD_RUN_METADATA = Summary.Value(
    metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="graph_run_metadata")),
    tensor=strings_tensor([b""], ()),
)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("smell", Summary.Value(), "expected a tensor, got no value"),
        ("scalars", Summary.Value(), "expected a scalar as simple_value or tensor, got no value"),
        ("scalars", value_of(tensor(1, [2], float_val=[1, 2])), r"of one element, got shape \[2\]"),
        ("scalars", value_of(tensor(7, [], string_val=[b"1"])), "a numeric tensor, got DT_STRING"),
        ("scalars", value_of(tensor(999, [])), "a numeric tensor, got unknown dtype 999"),
        ("scalars", value_of(tensor(1, [3], float_val=[1, 2])), r"expected 3 values for shape \[3\], got 2"),
        ("scalars", value_of(tensor(1, [1 << 40], float_val=[1])), "expected 1099511627776 values"),
        ("scalars", value_of(tensor(1, [-1], float_val=[1])), r"known shape, got \[-1\]"),
        # NumPy has at most 64 dimensions, and its own error once ended the following of the directory.
        ("scalars", value_of(tensor(3, [1] * 65, int_val=[1])), "at most 32 dimensions, got 65"),
        ("text", value_of(strings_tensor([b"a"], (1,) * 65)), "at most 32 dimensions, got 65"),
        ("histograms", value_of(tensor(1, [0, 1 << 62, 1 << 62])), "fits into memory"),
        # Readers want lists, and each of so many rows is one: this takes all memory for a record of a few bytes.
        ("tensor", value_of(tensor(1, [11, 1 << 40, 0])), r"at most 65536 rows .* got shape \[11, 10995"),
        ("text", value_of(strings_tensor([], (1 << 40, 0))), r"at most 65536 rows without elements"),
        ("scalars", value_of(tensor(1, [], tensor_content=b"abc")), "a multiple of 4 bytes, got 3"),
        ("scalars", value_of(UNKNOWN_RANK), "known shape"),
        ("histograms", Summary.Value(simple_value=1), "as histo or tensor, got simple_value"),
        ("histograms", value_of(numbers_tensor(np.zeros((2, 2)))), r"shape \[k, 3\], got shape \[2, 2\]"),
        ("histograms", Summary.Value(histo=HistogramProto(bucket=[1])), "as many .* got 0 and 1"),
        ("images", Summary.Value(simple_value=1), "as image or tensor, got simple_value"),
        ("images", value_of(strings_tensor([b"1"], (1,))), r"got shape \[1\]"),
        ("images", value_of(strings_tensor([b"1", b"x"], (2,))), "a size in pixels, got b'x'"),
        ("text", Summary.Value(simple_value=1), "expected text as a tensor, got simple_value"),
        ("text", value_of(numbers_tensor(np.zeros(1))), "a tensor of strings, got DT_DOUBLE"),
        ("text", value_of(strings_tensor([b"a"], (2,))), "expected 2 strings"),
        ("graph_run_metadata", OLD_RUN_METADATA, "version b'1', got b''"),
        ("graph_run_metadata", value_of(strings_tensor([b"\xff"], ())), "a RunMetadata message"),
        ("graph_run_metadata", value_of(strings_tensor([b"", b""], (2,))), "one string"),
        ("graph_run_metadata", Summary.Value(), "as a tensor, got no value"),
    ],
)
def test_payload_errors_say_what_was_found_and_what_was_expected(kind: str, value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode(kind, value)


DAMAGED_TENSORS = st.builds(
    tensor,
    st.integers(0, 24),
    st.lists(st.integers(-1, 3) | st.just(1 << 40), max_size=3),
    tensor_content=st.binary(max_size=20),
    float_val=st.lists(st.floats(width=32), max_size=4),
    int_val=st.lists(st.integers(-9, 9), max_size=4),
    half_val=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4),
    scomplex_val=st.lists(st.floats(width=32), max_size=4),
    dcomplex_val=st.lists(st.floats(), max_size=4),
    string_val=st.lists(st.binary(max_size=9), max_size=4),
)
DAMAGED_VALUES = st.builds(Summary.Value, tensor=DAMAGED_TENSORS) | st.builds(
    Summary.Value,
    histo=st.builds(
        HistogramProto,
        min=st.floats(),
        bucket=st.lists(st.floats(), max_size=4),
        bucket_limit=st.lists(st.floats(), max_size=4),
    ),
)


@given(kind=st.sampled_from(sorted(KINDS)), value=DAMAGED_VALUES)
def test_damaged_values_raise_payload_errors_only(kind: str, value: Summary.Value) -> None:
    try:
        payload = decode(kind, value)
    except PayloadError:
        return
    assert isinstance(
        payload, float | Histogram | Images | Text | RunMetadata | Audio | PrCurve | Mesh | Tensor | Layout
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Summary.Value(), ""),
        (value_of(numbers_tensor(np.zeros(1))), ""),
        (Summary.Value(simple_value=1), "scalars"),
        (Summary.Value(metadata=OLD_RUN_METADATA.metadata, simple_value=1), "scalars"),
    ],
)
def test_kind_of(value: Summary.Value, kind: str) -> None:
    assert kind_of(value) == kind


def test_arrays_of_payloads_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        decode("histograms", histogram("t", [1.0])).buckets[0, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        decode("text", text("t", ["a"])).strings[0] = "b"


def test_histogram_with_given_edges() -> None:
    value = histogram("t", [0.5, 1.5, 1.6, 2.0, 3.5, -1.0, 9.0, 8.0, np.nan, np.inf], bins=[0, 1, 2, 3, 4])
    found = decode("histograms", value)
    np.testing.assert_array_equal(found.buckets, [[0.5, 1, 1], [1, 2, 2], [2, 3, 1], [3, 3.5, 1]])
    assert (found.nan, found.positive_infinite, found.negative_infinite) == (1, 1, 0)
    assert (found.below, found.above, found.left_out, found.total) == (1, 2, 5, 10)


@pytest.mark.parametrize(("rule", "count"), [("fd", 4096), ("auto", 40)])
def test_one_outlier_does_not_make_millions_of_buckets(rule: str, count: int) -> None:
    values = [*range(399), 1e6]
    found = decode("histograms", histogram("t", values, bins=rule)).buckets
    edges = np.linspace(0, 1e6, count + 1)
    np.testing.assert_array_equal(found, np.stack([edges[:-1], edges[1:], np.histogram(values, edges)[0]], axis=1))


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 3, [0.0, 1.0]])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_histogram_of_nothing_finite_has_counts_only(bins: Any, dtype: Any) -> None:
    value = histogram("t", np.array([np.nan, np.inf, -np.inf, np.nan], dtype), bins=bins)
    found = decode("histograms", Summary.Value.FromString(value.SerializeToString()))
    assert found.buckets.shape == (0, 3)
    assert (found.nan, found.positive_infinite, found.negative_infinite, found.total) == (2, 1, 1, 4)


def test_histograms_that_leave_nothing_out_have_empty_content() -> None:
    assert histogram("t", [1.0, -0.0]).metadata.plugin_data.content == b""


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\x00"])
def test_histograms_of_other_writers_leave_nothing_out(content: bytes) -> None:
    value = histogram("t", [1.0])
    value.metadata.plugin_data.content = content
    assert decode("histograms", value).left_out == 0


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50),
    max_bins=st.none() | st.integers(1, 9),
)
def test_default_bins_keep_every_finite_value(values: list[float], max_bins: int | None) -> None:
    buckets = decode("histograms", histogram("t", values, max_bins=max_bins)).buckets
    assert buckets[:, 2].sum() == len(values)
    assert (buckets[0, 0], buckets[-1, 1]) == (min(values), max(values))
    np.testing.assert_array_equal(buckets[1:, 0], buckets[:-1, 1])
    assert max_bins is None or len(buckets) <= max_bins


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        ([], {}, ValueError, "needs at least one value"),
        (["a"], {}, TypeError, "must be real numbers, got list .* of dtype <U1"),
        ([1j], {}, TypeError, "dtype complex128"),
        ([1], {"max_bins": 0}, ValueError, r"max_bins of the histogram 't' must be a whole number in 1\.\.\d+, got 0"),
        ([1], {"max_bins": 2.5}, ValueError, "got 2.5"),
        ([1], {"max_bins": "2"}, TypeError, "max_bins of the histogram 't' must be real numbers, got str"),
        ([1], {"bins": [2, 1]}, ValueError, "monotonically"),
        ([1], {"bins": [0, float("nan")]}, ValueError, "increase monotonically, got"),
        ([1], {"bins": [1]}, ValueError, "at least two edges, got 1"),
        ([1], {"bins": ["a", "b"]}, TypeError, "bins of the histogram 't' must be real numbers"),
        ([np.nan], {"bins": "some"}, ValueError, "not a valid estimator"),
        ([1], {"bins": 0}, ValueError, "must be positive"),
        # The messages of NumPy 2 and of NumPy 1.
        ([-1e308, 1e308], {"bins": 3}, ValueError, "data range|monotonically"),
        ([-1e308, 0, 0, 1, 1, 1e308], {"bins": "fd"}, ValueError, "data range|monotonically"),
    ],
)
def test_histograms_refuse(values: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    for make in (histogram, prepared_histogram):
        with pytest.raises(error, match=message):
            make("t", values, **options)


def test_prepared_histograms_are_of_the_values_at_the_call() -> None:
    for dtype in (np.float32, np.float64, np.int64):
        values = np.array([1, 2, 2, 5], dtype)
        expected = histogram("t", values, [0, 2, 4]), histogram_of_equal_buckets("t", values, 4)
        later = prepared_histogram("t", values, [0, 2, 4]), prepared_histogram_of_equal_buckets("t", values, 4)
        values[:] = 9
        assert tuple(prepared.encode() for prepared in later) == expected
        assert later[0].held_bytes == 4 * (4 if dtype is np.float32 else 8) + 3 * 8


def pixels_of(value: Summary.Value) -> list[Any]:
    decoded = decode("images", value)
    pictures = [Image.open(BytesIO(encoded)) for encoded in decoded.encoded]
    assert {picture.size for picture in pictures} == {(decoded.width, decoded.height)}
    return [np.asarray(picture).tolist() for picture in pictures]


RGB = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)


@pytest.mark.parametrize(
    ("array", "dataformats", "expected"),
    [
        (RGB, "HWC", [RGB.tolist()]),
        (RGB.transpose(2, 0, 1), "CHW", [RGB.tolist()]),
        (RGB.transpose(2, 1, 0), "CWH", [RGB.tolist()]),
        (np.stack([RGB, RGB + 1]), "nhwc", [RGB.tolist(), (RGB + 1).tolist()]),
        (RGB[..., :1], "HWC", [RGB[..., 0].tolist()]),
        (RGB[..., :2], "HWC", [RGB[..., [0, 0, 0, 1]].tolist()]),
        (RGB[..., 0], "HW", [RGB[..., 0].tolist()]),
        (RGB[..., 0].T, "WH", [RGB[..., 0].tolist()]),
        (np.zeros((1, 2, 4), bool), "HWC", [[[[0, 0, 0, 0], [0, 0, 0, 0]]]]),
        (np.array([[0.0, 1.0, 0.5, 100 / 255]]), "HW", [[[0, 255, 128, 100]]]),
        (np.array([[-1.0, 7.0, np.nan, np.inf, -np.inf]]), "HW", [[[0, 255, 0, 255, 0]]]),
        (np.array([[True, False]]), "HW", [[[255, 0]]]),
        (RGB.astype(np.int64), "HWC", [RGB.tolist()]),
        (np.array([[0, 1, 200, 300, -5]], ">i2"), "HW", [[[0, 1, 200, 255, 0]]]),
        (np.array([[0, 1, 1, -3]]), "HW", [[[0, 255, 255, 0]]]),
    ],
)
def test_image_layouts_and_dtypes(array: Any, dataformats: str, expected: list[Any]) -> None:
    assert pixels_of(images("t", array, dataformats)) == expected


@pytest.mark.parametrize(
    ("array", "dataformats", "error", "message"),
    [
        (np.zeros((5, 4, 3)), "CHW", ValueError, r"1, 2, 3 or 4 channels, got 5 \(shape \(5, 4, 3\) read as 'CHW'\)"),
        (RGB, "HW", ValueError, "must have 2 axes for 'HW', got shape"),
        (RGB, "HWX", ValueError, "must contain H and W, and may contain N and C, each once; got 'HWX'"),
        (RGB, "HHW", ValueError, "got 'HHW'"),
        (RGB.astype(complex), "HWC", TypeError, "the image 't' must be real numbers, got ndarray"),
        (RGB[:0], "HWC", ValueError, r"must have pixels, got shape \(0, 4, 3\)"),
    ],
)
def test_images_refuse(array: Any, dataformats: str, error: type[Exception], message: str) -> None:
    for make in (images, prepared_images):
        with pytest.raises(error, match=message):
            make("t", array, dataformats)


@pytest.mark.parametrize(("dtype", "bytes_each"), [(np.uint8, 1), (bool, 1), (np.float16, 2), (">f4", 4), (float, 4)])
def test_prepared_images_are_of_the_pixels_at_the_call(dtype: Any, bytes_each: int) -> None:
    pixels = (np.arange(3 * 200 * 150) % 2).reshape(3, 200, 150).astype(dtype)
    for array, letters in ((pixels, "CHW"), (pixels.transpose(2, 0, 1), "WCH"), (pixels[:, ::2], "CHW")):
        prepared = prepared_images("t", array, letters)
        assert prepared.held_bytes == array.size * bytes_each
        assert prepared.encode() == images("t", array, letters)
    later = prepared_images("t", pixels, "CHW")
    expected = images("t", pixels, "CHW")
    pixels[:] = 0
    assert later.encode() == expected != images("t", pixels, "CHW")


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (3, TypeError, "a string or an array of strings, got int"),
        (["a", None], TypeError, "got NoneType"),
        ("\ud800", ValueError, "UTF-8 can encode"),
    ],
)
def test_text_refuses(content: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        text("t", content)
