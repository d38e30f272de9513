"""Arrays as pictures: their layout, what is left out of large ones, and what their pixels are."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from stepscope.debug.pictures import GAP, HIGHEST, LOWEST, MOST_PIXELS, NOT_FINITE, laid_out, pixels

GAPS = -np.inf


def test_a_vector_is_a_row_of_bars_and_a_matrix_a_plane() -> None:
    assert laid_out(np.array([1, 2, 3])).layout == "bars"
    assert laid_out([0.5, 1.5]).values.tolist() == [[0.5, 1.5]]
    plane = laid_out(np.arange(6).reshape(2, 3))
    assert (plane.layout, plane.values.tolist(), plane.shape, plane.dtype) == (
        "plane",
        [[0, 1, 2], [3, 4, 5]],
        (2, 3),
        "int64",
    )
    assert laid_out(np.float32(7)).values.tolist() == [[7]]
    assert laid_out(np.empty((0, 3))).values.tolist() == [[]]


def test_kernels_are_tiles_by_output_and_input_in_either_order() -> None:
    kernels = np.arange(2 * 3 * 1 * 2).reshape(2, 3, 1, 2)
    kernels_2x2 = np.arange(2 * 2 * 2 * 2).reshape(2, 2, 2, 2)
    assert laid_out(kernels).layout == "tiles"
    assert laid_out(kernels_2x2).values.tolist() == [
        [0, 1, GAPS, 4, 5],
        [2, 3, GAPS, 6, 7],
        [GAPS] * 5,
        [8, 9, GAPS, 12, 13],
        [10, 11, GAPS, 14, 15],
    ]
    torch_order = np.arange(13 * 2 * 3 * 3).reshape(13, 2, 3, 3)
    tensorflow_order = torch_order.transpose(2, 3, 1, 0)
    assert np.array_equal(laid_out(torch_order).values, laid_out(tensorflow_order).values)


def test_where_elements_are_in_the_array_is_known() -> None:
    assert laid_out(np.float32(7)).axes == ()
    assert laid_out(np.zeros((1, 3000))).axes == ((0, 1), (1, 3))
    assert laid_out(np.zeros((1024, 1024))).axes == ((0, 6), (1, 6))
    assert laid_out(np.zeros((600, 300, 3), np.uint8)).axes == ((0, 3), (1, 3), (2, 1))
    kernels = np.arange(3 * 2 * 4 * 12).reshape(3, 2, 4, 12)
    plane = laid_out(kernels, most_pixels=200)
    (columns, rows, _, across), steps = zip(*plane.axes, strict=True)
    assert (columns, rows, across) == (3, 2, 1)
    assert plane.values[:3, :2].tolist() == kernels[:, :, 0, 0].tolist()
    assert plane.values[:3, 3:5].tolist() == kernels[:, :, steps[1], 0].tolist()
    assert plane.values[4:7, :2].tolist() == kernels[:, :, 0, steps[0]].tolist()


def test_pictures_in_color_are_told_by_their_shape_and_range() -> None:
    colors = np.zeros((2, 2, 3), np.uint8)
    colors[0, 0] = 255
    assert laid_out(colors).layout == "colors"
    assert laid_out(colors).values[0, 0].tolist() == [1, 1, 1]
    assert laid_out(np.full((2, 2, 3), 0.5)).layout == "colors"
    assert laid_out(np.full((2, 2, 3), -0.5)).layout == "tiles"


def test_a_scale_may_be_wider_than_single_precision_reaches() -> None:
    far = np.finfo(np.float32).max
    plane = laid_out(np.array([[-far, far], [0, -far]], np.float32))
    least, middle, most = pixels(plane.values, -float(far), float(far)).ravel()[[0, 2, 1]].tolist()
    assert (least, most) == (LOWEST, HIGHEST)
    assert middle in ((LOWEST + HIGHEST) // 2, (LOWEST + HIGHEST + 1) // 2)


def test_what_is_not_finite_has_a_pixel_of_its_own() -> None:
    plane = laid_out(np.array([[0.0, 1.0], [np.nan, -np.inf]]))
    assert plane.not_finite == 2
    assert plane.finite.tolist() == [0, 1]
    assert pixels(plane.values, 0, 1).tolist() == [[LOWEST, HIGHEST], [NOT_FINITE, NOT_FINITE]]
    assert pixels(plane.values, 2, 3).tolist() == [[LOWEST, LOWEST], [NOT_FINITE, NOT_FINITE]]
    assert len(set(pixels(plane.values, 1, 1)[0].tolist())) == 1
    assert pixels(np.array([[GAPS]], np.float32), 0, 1).tolist() == [[GAP]]


def test_tensors_of_low_precision_are_shown() -> None:
    assert laid_out(torch.tensor([[0.5, 2.0]], dtype=torch.bfloat16, requires_grad=True)).values.tolist() == [[0.5, 2]]
    assert laid_out(torch.tensor([True, False])).dtype == "bool"


def test_of_a_large_array_only_what_is_shown_is_read() -> None:
    # A view of one number: touching all of it would take gigabytes.
    huge = np.broadcast_to(np.float32(1), (10**6, 10**6))
    plane = laid_out(huge)
    assert plane.values.size == plane.shown <= MOST_PIXELS
    narrow = laid_out(np.broadcast_to(np.float32(1), (10**9, 2)))
    assert narrow.values.shape[1] == 2


def test_text_cannot_be_shown() -> None:
    with pytest.raises(TypeError, match="must be real numbers"):
        laid_out(np.array(["a"]))


@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int8, np.bool_]),
        arrays.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=9),
    ),
    st.integers(16, 300),
)
def test_any_array_fits_and_has_all_its_pixels_on_the_scale(array: np.ndarray, most: int) -> None:
    plane = laid_out(array, most)
    assert plane.shown <= array.size
    assert np.isfinite(plane.values).sum() + plane.not_finite + (plane.values == GAPS).sum() == plane.values.size
    if plane.layout != "colors":
        drawn = pixels(plane.values, -1.0, 1.0)
        assert (drawn == GAP).sum() == (plane.values == GAPS).sum()
    if plane.layout in ("bars", "plane"):
        assert plane.values.size == plane.shown <= max(most, 1)
