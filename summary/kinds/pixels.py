"""Arrays of pixels in any layout, to bytes and pictures."""

from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from summary.arguments import as_array

_MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}


def bytes_nhwc(pixels: Any, dataformats: str, name: str) -> NDArray[np.uint8]:
    """``pixels`` as uint8 [n, height, width, channels], channels being 1, 3 or 4.

    Args:
        pixels: uint8 in 0..255, booleans, or floats in 0..1, which are scaled to 0..255 and rounded; what
            lies outside is clipped and NaN becomes 0.
        dataformats: one letter per axis: H and W, optionally C (channels) and N (samples), in any order.
        name: what the pixels are, for errors.

    Raises:
        TypeError: another dtype.
        ValueError: the letters make no sense, do not fit the shape, or the channels are 2 or more than 4.
    """
    letters = dataformats.upper() if isinstance(dataformats, str) else ""
    if len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("NCHW"):
        raise ValueError(f"dataformats must be distinct letters of NCHW with H and W, got {dataformats!r}")
    return to_bytes(arranged(as_array(pixels, name), letters, "NHWC", name), name)


def arranged(array: NDArray[Any], letters: str, wanted: str, name: str) -> NDArray[Any]:
    """``array``, whose axes are called ``letters``, with the axes ``wanted``, the last of which is C.

    Axes of ``wanted`` that it lacks are added with length 1.

    Raises:
        ValueError: the letters do not fit the shape, it is empty, or has not 1, 3 or 4 channels.
    """
    if array.ndim != len(letters):
        raise ValueError(f"{name} must have {len(letters)} axes for {letters!r}, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must have pixels, got shape {array.shape}")
    ordered = array.transpose([letters.index(letter) for letter in wanted if letter in letters])
    ordered = np.expand_dims(ordered, [axis for axis, letter in enumerate(wanted) if letter not in letters])
    if ordered.shape[-1] not in _MODES:
        raise ValueError(
            f"{name} must have 1, 3 or 4 channels, got {ordered.shape[-1]} (shape {array.shape} read as {letters!r})"
        )
    return ordered


def to_bytes(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """uint8 as it is, booleans as 0 or 255, floats scaled from 0..1; raises TypeError for another dtype."""
    match array.dtype.kind:
        case "u" if array.dtype == np.uint8:
            return array.astype(np.uint8, copy=False)
        case "b":
            return array.astype(np.uint8) * np.uint8(255)
        case "f":
            clipped = np.nan_to_num(array.astype(np.float32), posinf=1, neginf=0).clip(0, 1)
            return np.asarray(np.rint(clipped * 255), dtype=np.uint8)
        case _:
            raise TypeError(f"{name} must be uint8 (0..255), bool or floats (0..1), got {array.dtype}")


def to_picture(pixels: NDArray[np.uint8]) -> Image.Image:
    """uint8 [height, width, channels] as a Pillow image."""
    height, width, channels = pixels.shape
    return Image.frombytes(_MODES[channels], (width, height), np.ascontiguousarray(pixels).tobytes())


def to_png(pixels: NDArray[np.uint8]) -> bytes:
    """uint8 [height, width, channels] as PNG."""
    return png_of(to_picture(pixels))


def png_of(picture: Image.Image) -> bytes:
    """The file that Pillow makes of the picture."""
    stream = BytesIO()
    picture.save(stream, format="PNG")
    return stream.getvalue()
