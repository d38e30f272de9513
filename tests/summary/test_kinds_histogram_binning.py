"""Counting by cells compared with NumPy, and TensorFlow 2's buckets with TensorBoard's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from stepscope.summary import SummaryWriter
from stepscope.summary.kinds import decode
from stepscope.summary.kinds import histogram_binning as binning
from stepscope.summary.kinds.histogram import histogram, histogram_of_equal_buckets
from stepscope.summary.kinds.histogram_binning import EdgeTable, binary_floats
from tests.summary.test_kinds import DBL_MAX

TENSORFLOW_EDGES = np.concatenate(
    [sign * 1e-12 * 1.1 ** np.arange(774)[::sign] for sign in (-1, 1)] + [[0.0, -DBL_MAX, DBL_MAX]]
)
TENSORFLOW_EDGES.sort()
TINY = float(np.finfo(np.float64).smallest_subnormal)
TINY_32 = float(np.finfo(np.float32).smallest_subnormal)
HARD = [0.0, -0.0, TINY, -TINY, TINY_32, -TINY_32, 1e-50, -1e-50, 1.0, -1.0, 1e39, -1e39, DBL_MAX, -DBL_MAX]
HARD_AND_NEIGHBORS = sorted({float(np.nextafter(x, to)) for x in HARD for to in (-DBL_MAX, x, DBL_MAX)})
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(HARD_AND_NEIGHBORS)
EDGES = st.one_of(
    st.just(TENSORFLOW_EDGES),
    st.lists(FINITE | st.sampled_from([-np.inf, np.inf]), min_size=2, max_size=30).map(lambda edges: np.sort(edges)),
    # Many edges in one cell, and equal edges.
    st.tuples(FINITE, st.integers(2, 30)).map(
        lambda edge: np.linspace(edge[0], np.nextafter(edge[0], DBL_MAX), edge[1])
    ),
)


def assert_counts_as_numpy(numbers: NDArray[Any], edges: NDArray[np.float64]) -> None:
    counts = EdgeTable(edges).count(binary_floats(numbers))
    expected, _ = np.histogram(numbers.astype(np.float64), edges)
    assert counts.between.tolist() == expected.tolist()
    assert counts.below == int((numbers.astype(np.float64) < edges[0]).sum())
    assert counts.above == int((numbers.astype(np.float64) > edges[-1]).sum())


@pytest.mark.parametrize("by_cells", [True, False])
@given(edges=EDGES, numbers=st.lists(FINITE, max_size=40), data=st.data())
def test_counts_are_those_of_numpy(
    by_cells: bool, edges: NDArray[np.float64], numbers: list[float], data: st.DataObject
) -> None:
    finite = edges[np.isfinite(edges)]
    if len(finite):
        near = data.draw(st.lists(st.sampled_from(finite.tolist()), max_size=10))
        numbers = [*numbers, *near, *np.nextafter(near, 0).tolist(), *np.nextafter(near, DBL_MAX).tolist()]
    array = np.array(numbers, np.float64)
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(binning, "_FEW", 0 if by_cells else 1 << 20)
        patch.setattr(binning, "_CHUNK", 16)
        assert_counts_as_numpy(array[np.isfinite(array)], edges)
        # NumPy 1 rounds edges to float32 if the numbers are float32.
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            shorter = array.astype(np.float32)
            assert_counts_as_numpy(shorter[np.isfinite(shorter)], edges)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", np.int8, np.int64, bool])
@pytest.mark.parametrize("bins", ["edges", 30, 5000])
def test_many_numbers_of_every_dtype(dtype: Any, bins: Any) -> None:
    numbers = np.random.default_rng(0).normal(0, 40, 300_000).astype(dtype)
    edges = TENSORFLOW_EDGES if bins == "edges" else np.linspace(-90, 60, bins + 1)
    assert_counts_as_numpy(numbers, edges)
    assert_counts_as_numpy(numbers[::-3], edges)


def test_default_bins_of_many_numbers() -> None:
    numbers = np.random.default_rng(0).normal(0, 1, 100_000).astype(np.float32)
    numbers[:7] = np.nan
    found = decode("histograms", histogram("t", numbers))
    assert (found.nan, found.total) == (7, 100_000)
    counts, edges = np.histogram(numbers[7:].astype(np.float64), [numbers[7:].min(), *found.buckets[:, 1]])
    assert found.buckets[:, 0].tolist() == edges[:-1].tolist()
    assert found.buckets[:, 2].tolist() == counts.tolist()


def tensorboards_buckets(values: Any, buckets: int) -> NDArray[np.float64]:
    from tensorboard.plugins.histogram import summary_v2
    from tensorboard.util import tensor_util

    (value,) = summary_v2.histogram_pb("t", values, buckets).value
    return np.asarray(tensor_util.make_ndarray(value.tensor))


@given(
    values=arrays(
        st.sampled_from([np.float32, np.float64, np.int32]),
        st.integers(0, 50),
        elements=st.integers(-1000, 1000) | st.sampled_from([0]),
    )
    | arrays(np.float64, st.integers(0, 50), elements=st.floats(-1e300, 1e300, allow_subnormal=False)),
    buckets=st.integers(0, 40),
)
def test_equal_buckets_are_those_of_tensorflow_2(values: NDArray[Any], buckets: int) -> None:
    value = histogram_of_equal_buckets("t", values, buckets)
    np.testing.assert_array_equal(decode("histograms", value).buckets, tensorboards_buckets(values, buckets))


@pytest.mark.parametrize(
    ("values", "buckets"),
    [
        ([], [[0, 0, 0]] * 3),
        ([2.5, 2.5], [[2.5, 2.5, 0], [2.5, 2.5, 0], [2.5, 2.5, 2]]),
        ([0, 1, 2, 3, 6], [[0, 2, 2], [2, 4, 2], [4, 6, 1]]),
        ([0, TINY], [[0, 0, 1], [0, TINY, 0], [TINY, TINY, 1]]),
        (
            [-DBL_MAX, 0, DBL_MAX],
            [[-DBL_MAX, -DBL_MAX / 3, 1], [-DBL_MAX / 3, DBL_MAX / 3, 1], [DBL_MAX / 3, DBL_MAX, 1]],
        ),
    ],
    ids=["nothing", "one value", "several", "subnormal", "beyond float64"],
)
def test_equal_buckets(values: list[float], buckets: Any) -> None:
    found = decode("histograms", histogram_of_equal_buckets("t", values, 3))
    np.testing.assert_allclose(found.buckets, buckets, rtol=1e-14)
    assert found.left_out == 0


def test_equal_buckets_count_what_is_not_finite() -> None:
    found = decode("histograms", histogram_of_equal_buckets("t", [np.nan, 1.0, np.inf, 3.0, -np.inf, np.nan], 2))
    assert found.buckets.tolist() == [[1, 2, 1], [2, 3, 1]]
    assert (found.nan, found.positive_infinite, found.negative_infinite) == (2, 1, 1)
    nothing = decode("histograms", histogram_of_equal_buckets("t", [np.nan], 2))
    assert (nothing.buckets.tolist(), nothing.nan) == ([[0, 0, 0], [0, 0, 0]], 1)


@pytest.mark.parametrize(
    ("buckets", "error", "message"),
    [
        (-1, ValueError, r"whole number in 0\.\.16777216, got -1"),
        (1e12, ValueError, r"got 1e\+12"),
        (2.5, ValueError, "got 2.5"),
        ("3", TypeError, "must be real numbers, got str '3'"),
    ],
)
def test_equal_buckets_refuse(buckets: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        histogram_of_equal_buckets("t", [1.0], buckets)


def test_tensorboard_reads_histograms_that_leave_values_out(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.histogram import metadata
    from tensorboard.util import tensor_util

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_histogram("w", [1.0, np.nan, 3.0, np.inf], 1, bins=[0.0, 2.0, 4.0])
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    plugin = accumulator.SummaryMetadata("w").plugin_data
    assert metadata.parse_plugin_metadata(plugin.content).version == 0
    (event,) = accumulator.Tensors("w")
    assert tensor_util.make_ndarray(event.tensor_proto).tolist() == [[1, 2, 1], [2, 3, 1]]
