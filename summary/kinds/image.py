"""Images: one or several pictures of one size at a step."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from summary.arguments import as_array
from summary.kinds.base import Kind, PayloadError
from summary.kinds.tensors import plugin_metadata, strings, strings_tensor
from summary.proto import summary_pb2
from summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "images"

_MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}


@dataclass(frozen=True)
class Images:
    """Pictures as they were encoded: PNG from most writers, but GIF and JPEG exist."""

    width: int
    """Pixels, as the writer says."""
    height: int
    encoded: tuple[bytes, ...]
    """One picture per sample."""


def images(tag: str, pixels: Any, dataformats: str) -> Summary.Value:
    """A value with one PNG per sample.

    Args:
        tag: the series.
        pixels: uint8 in 0..255, booleans, or floats in 0..1, which are scaled to 0..255 and rounded; what
            lies outside is clipped and NaN becomes 0. One (grey), three (RGB) or four (RGBA) channels.
        dataformats: one letter per axis: H and W, optionally C (channels) and N (samples), in any order.

    Raises:
        TypeError: another dtype.
        ValueError: the letters make no sense, do not fit the shape, or the channels are 2 or more than 4.
    """
    name = f"the image {tag!r}"
    samples = _to_bytes(_to_nhwc(as_array(pixels, name), dataformats, name), name)
    _, height, width, channels = samples.shape
    encoded = [_to_png(sample, _MODES[channels]) for sample in samples]
    sizes = [str(width).encode(), str(height).encode()]
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_BLOB_SEQUENCE)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor([*sizes, *encoded], (2 + len(encoded),)))


def decode_images(value: Summary.Value) -> Images:
    """A string tensor [width, height, picture, ...], or the legacy field with one picture.

    Raises:
        PayloadError: it is neither.
    """
    field = value.WhichOneof("value")
    if field == "image":
        return Images(value.image.width, value.image.height, (value.image.encoded_image_string,))
    if field != "tensor":
        raise PayloadError(f"expected images as image or tensor, got {field or 'no value'}")
    parts = strings(value.tensor)
    if parts.ndim != 1 or len(parts) < 2:
        raise PayloadError(f"expected strings [width, height, picture, ...], got shape {list(parts.shape)}")
    return Images(_size(parts[0]), _size(parts[1]), tuple(parts[2:]))


def _to_nhwc(array: NDArray[Any], dataformats: str, name: str) -> NDArray[Any]:
    letters = dataformats.upper() if isinstance(dataformats, str) else ""
    if len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("NCHW"):
        raise ValueError(f"dataformats must be distinct letters of NCHW with H and W, got {dataformats!r}")
    if array.ndim != len(letters):
        raise ValueError(f"{name} must have {len(letters)} axes for {dataformats!r}, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must have pixels, got shape {array.shape}")
    present = [letter for letter in "NHWC" if letter in letters]
    ordered = array.transpose([letters.index(letter) for letter in present])
    if "N" not in letters:
        ordered = ordered[np.newaxis]
    if "C" not in letters:
        ordered = ordered[..., np.newaxis]
    if ordered.shape[3] not in _MODES:
        raise ValueError(
            f"{name} must have 1, 3 or 4 channels, got {ordered.shape[3]} (shape {array.shape} read as {dataformats!r})"
        )
    return ordered


def _to_bytes(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
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


def _to_png(pixels: NDArray[np.uint8], mode: str) -> bytes:
    height, width, _ = pixels.shape
    stream = BytesIO()
    Image.frombytes(mode, (width, height), np.ascontiguousarray(pixels).tobytes()).save(stream, format="PNG")
    return stream.getvalue()


def _size(text: bytes) -> int:
    # int() also takes signs, spaces, underscores and thousands of digits.
    if not text.isdigit() or len(text) > 10:
        raise PayloadError(f"expected a size in pixels, got {text[:20]!r}")
    return int(text)


KIND: Final = Kind(PLUGIN_NAME, "image", decode_images)
