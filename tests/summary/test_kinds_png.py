"""The PNG encoder, compared with Pillow's decoder."""

from io import BytesIO
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from stepscope.summary.kinds import png as encoder
from stepscope.summary.kinds.pixels import compact_copy, levels
from stepscope.summary.kinds.png import Strategy, png

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
PIXELS = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3, 4])))
SMOOTH = np.add.outer(np.arange(300), np.arange(200))
DRAWING = np.full((300, 200, 3), 255)
DRAWING[(150 + 100 * np.sin(np.arange(200) / 20)).astype(int), np.arange(200)] = [31, 119, 180]
DRAWING[280] = DRAWING[:, 10] = 0


def decoded(encoded: bytes, channels: int) -> NDArray[np.uint8]:
    picture = Image.open(BytesIO(encoded))
    picture.verify()
    picture = Image.open(BytesIO(encoded))
    assert (picture.format, picture.mode) == ("PNG", MODES[channels])
    return np.asarray(picture).reshape(picture.height, picture.width, channels)


@given(PIXELS)
def test_any_pixels_are_read_as_they_were(pixels: NDArray[np.uint8]) -> None:
    np.testing.assert_array_equal(decoded(png(pixels), pixels.shape[2]), pixels)


@pytest.mark.parametrize("code", range(5))
@pytest.mark.parametrize("strategy", get_args(Strategy))
@given(pixels=PIXELS)
def test_every_filter_and_strategy(code: int, strategy: Any, pixels: NDArray[np.uint8]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_best", lambda rows, channels: (code, strategy))
        # So few bytes that the rows of a picture are filtered in several parts.
        patch.setattr(encoder, "_BAND_BYTES", 30)
        np.testing.assert_array_equal(decoded(png(pixels), pixels.shape[2]), pixels)


def noisy(pixels: Any) -> Any:
    return pixels + np.random.default_rng(0).integers(0, 9, pixels.shape)


@pytest.mark.parametrize(
    ("pixels", "most"),
    [
        (DRAWING, 1.25),
        (noisy(np.stack([SMOOTH, SMOOTH * 2, SMOOTH // 3], axis=2)), 1.1),
        (np.random.default_rng(0).integers(0, 256, (300, 200, 4)), 1.01),
        (noisy(np.tile(SMOOTH[:8, :8], (50, 40))[..., None]), 1.1),
        (np.tile(np.random.default_rng(0).integers(0, 256, (300, 16, 3)), (1, 12, 1)), 1.25),
    ],
    ids=["drawing", "photo", "noise", "gray", "repeated"],
)
def test_files_are_hardly_larger_than_pillows(pixels: Any, most: float) -> None:
    exact = (pixels % 256).astype(np.uint8)
    channels = exact.shape[2]
    encoded = png(exact)
    np.testing.assert_array_equal(decoded(encoded, channels), exact)
    stream = BytesIO()
    Image.fromarray(exact.reshape(exact.shape[: 2 if channels == 1 else 3])).save(stream, "PNG")
    assert len(encoded) <= most * len(stream.getvalue())


FLOATS = arrays(np.float64, (2, 3, 4, 3), elements=st.floats(width=64))


@given(pixels=FLOATS, order=st.permutations(range(4)), dtype=st.sampled_from([np.float16, np.float32, np.float64]))
def test_floats_become_levels_in_any_order_of_memory(pixels: Any, order: list[int], dtype: Any) -> None:
    with np.errstate(over="ignore"):
        floats = pixels.astype(dtype)
        expected = np.rint(np.nan_to_num(floats.astype(np.float32), posinf=1, neginf=0).clip(0, 1) * np.float32(255))
    laid_out = np.ascontiguousarray(floats.transpose(order)).transpose(np.argsort(order))
    np.testing.assert_array_equal(levels(laid_out), expected)
    np.testing.assert_array_equal(levels(compact_copy(laid_out)), expected)
