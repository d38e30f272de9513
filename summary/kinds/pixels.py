"""Conversion of pixel arrays in any layout to bytes and images."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array
from stepscope.summary.kinds.png import png

if TYPE_CHECKING:
    from PIL import Image

_MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}
_GRAY_ALPHA: Final = 2
"""Channels of gray with alpha."""
_BAND_PIXELS: Final = 1 << 15
"""Pixels converted at a time, so that they stay in the cache."""


def bytes_nhwc(pixels: Any, dataformats: str, name: str) -> NDArray[np.uint8]:
    """Return ``pixels`` as uint8 [n, height, width, channels], where channels is 1, 3 or 4.

    Args:
        pixels: whole numbers in 0..255, booleans, or floats in 0..1, which are scaled to 0..255 and rounded; values
            outside the range are clipped, and NaN becomes 0. Whole numbers other than uint8, none of which is above 1,
            are a mask and are shown like booleans.
        dataformats: one letter per axis: H and W, optionally C (channels) and N (samples), in any order.
        name: name of the pixels in error messages.

    Raises:
        TypeError: the pixels are not real numbers.
        ValueError: the letters are invalid or do not match the shape, or there are more than 4 channels.
    """
    return levels(checked_nhwc(pixels, dataformats, name))


def checked_nhwc(pixels: Any, dataformats: str, name: str) -> NDArray[Any]:
    """Return a view of the pixels that `bytes_nhwc` converts, [n, height, width, channels]; raise the same errors."""
    letters = dataformats.upper() if isinstance(dataformats, str) else ""
    if len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("NCHW"):
        raise ValueError(f"dataformats must contain H and W, and may contain N and C, each once; got {dataformats!r}")
    return bytes_or_floats(arranged(as_array(pixels, name), letters, "NHWC", name))


def arranged(
    array: NDArray[Any], letters: str, wanted: str, name: str, channels: Sequence[int] = (1, 2, 3, 4)
) -> NDArray[Any]:
    """Return ``array``, whose axes are ``letters``, with the axes ``wanted``, the last of which is C.

    Missing axes are added with length 1. Gray with alpha, which few programs read, becomes RGBA.

    Raises:
        ValueError: the letters do not match the shape, or the array is empty or has another number of channels.
    """
    if array.ndim != len(letters):
        raise ValueError(f"{name} must have {len(letters)} axes for {letters!r}, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must have pixels, got shape {array.shape}")
    ordered = array.transpose([letters.index(letter) for letter in wanted if letter in letters])
    ordered = np.expand_dims(ordered, [axis for axis, letter in enumerate(wanted) if letter not in letters])
    count = ordered.shape[-1]
    if count not in channels:
        expected = f"{', '.join(map(str, channels[:-1]))} or {channels[-1]} channels"
        raise ValueError(f"{name} must have {expected}, got {count} (shape {array.shape} read as {letters!r})")
    return ordered[..., [0, 0, 0, 1]] if count == _GRAY_ALPHA else ordered


def bytes_or_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Return uint8, bool and floats unchanged; other whole numbers as uint8, or as bool if none is above 1."""
    if array.dtype == np.uint8 or array.dtype.kind in "bf":
        return array
    return (array > 0) if array.max() <= 1 else array.clip(0, 255).astype(np.uint8)


def compact_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy in the same memory order, for which `levels` returns the same; floats have at most 32 bits."""
    is_long = array.dtype.kind == "f" and array.dtype.itemsize > np.dtype(np.float32).itemsize
    with np.errstate(over="ignore", under="ignore"):
        return array.astype(np.float32 if is_long else array.dtype, order="K", copy=True)


def levels(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return uint8 unchanged, booleans as 0 or 255, floats scaled from 0..1; shape [..., height, width, channels]."""
    if array.dtype == np.uint8 and array.flags.c_contiguous:
        return array
    converted = np.empty(array.shape, np.uint8)
    for at in np.ndindex(array.shape[:-3]):
        for source, target in _planes(array[at], converted[at]):
            band = max(1, _BAND_PIXELS // source[0].size)
            for begin in range(0, len(source), band):
                target[begin : begin + band] = _scaled(source[begin : begin + band])
    return converted


def _planes(source: NDArray[Any], target: NDArray[np.uint8]) -> Iterator[tuple[NDArray[Any], NDArray[np.uint8]]]:
    """Yield parts that are read from neighboring places in memory, as far as possible."""
    if abs(source.strides[-1]) == source.itemsize:
        yield source, target
    else:
        for channel in range(source.shape[-1]):
            yield source[..., channel], target[..., channel]


def _scaled(array: NDArray[Any]) -> NDArray[Any]:
    match array.dtype.kind:
        case "b":
            return array.astype(np.uint8) * np.uint8(255)
        case "f":
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                scaled = array.astype(np.float32)
                scaled *= np.float32(255)
                # Given a NaN and a number, these return the number.
                np.fmax(scaled, 0, out=scaled)
                np.fmin(scaled, 255, out=scaled)
                return np.rint(scaled, out=scaled)
        case _:
            return array


def in_grid(pictures: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """Return [n, ..., height, width, channels] as [..., rows * height, columns * width, channels].

    The pictures are laid out row by row; the rest is filled up with zeros.
    """
    count, *others, height, width, channels = pictures.shape
    filled = np.zeros((rows * columns, *pictures.shape[1:]), np.uint8)
    filled[:count] = pictures
    cells = np.moveaxis(filled.reshape(rows, columns, *pictures.shape[1:]), (0, 1), (-5, -3))
    return cells.reshape(*others, rows * height, columns * width, channels)


def to_picture(pixels: NDArray[np.uint8]) -> "Image.Image":
    """Return uint8 [height, width, channels] as a Pillow image."""
    from PIL import Image

    height, width, channels = pixels.shape
    return Image.frombytes(_MODES[channels], (width, height), np.ascontiguousarray(pixels).tobytes())


def png_of(picture: "Image.Image") -> bytes:
    """Return a gray, RGB or RGBA image as PNG."""
    pixels = np.asarray(picture, dtype=np.uint8)
    return png(pixels.reshape(picture.height, picture.width, -1))
