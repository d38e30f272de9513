"""The slices behind table rows."""

import numpy as np
import polars as pl
import pytest

from stepscope.profiler.analysis.kernels import kernel_category, kernel_stem, kernels
from stepscope.profiler.analysis.members import BUCKETS, Members, histograms, longest, members_of
from stepscope.profiler.analysis.slices import slices_by_category, slices_by_name
from tests.profiler.analysis.kineto import activity, event, trace


def members(rows: list[int], durations: list[int]) -> Members:
    return Members(np.array(rows, np.int64), np.arange(len(rows)) + 100, np.array(durations, np.int64))


def test_the_longest_slice_of_each_row_and_of_equal_ones_the_first() -> None:
    found = members([0, 1, 0, -1, 0, 9], [5, 1, 7, 99, 7, 3])
    assert longest(found, 3).tolist() == [102, 101, -1]


def test_buckets_are_equally_wide_on_a_logarithmic_scale() -> None:
    low, high, counts = histograms(members([0, 0, 0, 0], [1, 2**12, 2**24 - 1, 2**24]), 1)
    assert (low[0], high[0]) == (1.0, 2.0**24)
    expected = np.zeros(BUCKETS, int)
    expected[[0, 12, 23]] = [1, 1, 2]
    assert counts.tolist() == [expected.tolist()]


def test_durations_that_are_alike_look_alike() -> None:
    low, high, counts = histograms(members([0, 0], [1_000, 1_001]), 1)
    assert high[0] / low[0] == pytest.approx(2)
    assert counts[0, 11:13].sum() == 2


def test_rows_without_slices_and_durations_of_nothing() -> None:
    low, high, counts = histograms(members([1, 1, -1, 5], [0, 0, 7, 7]), 3)
    assert counts.sum(axis=1).tolist() == [0, 2, 0]
    assert (low[0], high[0]) == (0, 0)
    assert low[1] < 1 < high[1]
    assert histograms(members([], []), 0).counts.shape == (0, BUCKETS)


def test_every_slice_is_counted_once() -> None:
    rng = np.random.default_rng(0)
    rows, durations = rng.integers(0, 50, 10_000), rng.integers(0, 10**9, 10_000)
    counts = histograms(Members(rows, np.arange(10_000), durations), 50).counts
    assert counts.sum(axis=1).tolist() == np.bincount(rows, minlength=50).tolist()


def test_slices_are_of_the_row_that_has_their_texts() -> None:
    frame = pl.DataFrame({"name": ["a", "b", "a"], "shape": ["", "x", "y"]})
    keys = {"name": pl.Series(["a", "b", "a", "c"]), "shape": pl.Series(["y", "x", "", ""])}
    found = members_of(frame, keys, np.arange(4), np.ones(4, np.int64))
    assert found.row.tolist() == [2, 1, 0, -1]
    assert found.grouped(np.array([5, 6, 5])).row.tolist() == [5, 6, 5, -1]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        (
            "void at::native::elementwise_kernel<128, 4, at::native::f<int> >(int, g<2>)",
            "at::native::elementwise_kernel",
        ),
        (
            "void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)",
            "(anonymous namespace)::softmax_warp_forward",
        ),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm>(cutlass_80_simt_sgemm::Params)", "cutlass::Kernel"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("broken<a", "broken<a"),
        ("a > b", "a > b"),
        ("<all of it>", "<all of it>"),
        ("", ""),
    ],
)
def test_stems_of_kernels(name: str, stem: str) -> None:
    assert kernel_stem(name) == stem


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
        ("void pytorch_flash::flash_fwd_kernel<...>", "attention"),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32", "convolution"),
        ("void cudnn::winograd_nonfused::winogradForwardData4x4", "convolution"),
        ("ampere_sgemm_128x64_tn", "matmul"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x8", "matmul"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", "normalization"),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4>", "normalization"),
        ("void at::native::reduce_kernel<512, 1>", "reduction"),
        ("triton_red_fused_add_1", "reduction"),
        ("void at::native::vectorized_elementwise_kernel<4, convert>", "elementwise"),
        ("triton_poi_fused_relu_0", "elementwise"),
        ("mystery", "other"),
    ],
)
def test_categories_of_kernels(name: str, category: str) -> None:
    assert kernel_category(name) == category


def test_kernels_by_stem_have_the_sums_of_their_names() -> None:
    found = trace(
        activity("void f<1>(int)", 0, 4, 1), activity("void f<2>(int)", 10, 8, 2), activity("void f<2>(int)", 20, 6, 3)
    )
    (row,) = kernels(found, by="stem").to_dicts()
    assert (row["name"], row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) == ("f", 3, 18_000, 4_000, 8_000)
    assert (row["mean_ns"], row["std_ns"], row["percent"]) == (6_000.0, 2_000.0, 100.0)
    assert kernels(found, by="category")["name"].to_list() == ["other"]


def test_slices_by_name_and_by_category() -> None:
    found = trace(event("c", "outer", 0, 10), event("c", "inner", 2, 3), event("d", "inner", 6, 1))
    by_name = slices_by_name(found)
    assert by_name.drop("slice").rows() == [
        ("outer", "c", 1, 6_000, 10_000, 10_000.0, 10_000),
        ("inner", "c", 1, 3_000, 3_000, 3_000.0, 3_000),
        ("inner", "d", 1, 1_000, 1_000, 1_000.0, 1_000),
    ]
    by_category = slices_by_category(by_name)
    assert by_category.drop("slice").rows() == [
        ("c", "c", 2, 9_000, 13_000, 6_500.0, 10_000),
        ("d", "d", 1, 1_000, 1_000, 1_000.0, 1_000),
    ]
    assert found.names[found.name_id[by_category["slice"][0]]] == "outer"


def test_marks_of_steps_and_of_the_recording_are_no_slices_of_the_table() -> None:
    marks = (event("user_annotation", f"ProfilerStep#{step}", 10 * step, 10) for step in range(2))
    recording = event("Trace", "PyTorch Profiler (0)", 0, 20)
    found = trace(recording, *marks, event("cpu_op", "aten::mm", 1, 4))
    assert slices_by_name(found).select("name", "count", "self_ns").rows() == [("aten::mm", 1, 4_000)]
    assert len(slices_by_name(trace(recording))) == 1
