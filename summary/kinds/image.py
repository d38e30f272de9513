"""Images: one or more images of one size at a step."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.full_install import needs_extra
from stepscope.summary.kinds.base import Kind, PayloadError, PayloadFile, Prepared, Table
from stepscope.summary.kinds.media_endings import media_ending
from stepscope.summary.kinds.pixels import checked_nhwc, compact_copy, in_grid, levels, png_of
from stepscope.summary.kinds.png import png, png_size
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "images"
_GRID_COLUMNS: Final = 8
"""In a grid of images, as in PyTorch's ``make_grid``."""
_CHANNELS: Final = {"L": 1, "RGB": 3, "RGBA": 4}


@dataclass(frozen=True)
class Images:
    """Images as encoded: PNG from most writers, but GIF and JPEG exist."""

    width: int
    """In pixels, as stated by the writer."""
    height: int
    encoded: tuple[bytes, ...]
    """One image per sample."""


def images(tag: str, pixels: Any, dataformats: str) -> Summary.Value:
    """Return a value with one PNG per sample.

    Args:
        tag: the tag of the series.
        pixels: as for `stepscope.summary.kinds.pixels.bytes_nhwc`; one (gray), two (gray and alpha), three (RGB) or
            four (RGBA) channels.
        dataformats: one letter per axis: H and W, optionally C (channels) and N (samples), in any order.

    Raises:
        TypeError: the pixels are not real numbers.
        ValueError: the letters are invalid or do not match the shape, or there are more than 4 channels.
    """
    return _images(tag, checked_nhwc(pixels, dataformats, f"the image {tag!r}"))


def prepared_images(tag: str, pixels: Any, dataformats: str, *, legacy: bool = False) -> Prepared:
    """Prepare `images` that are encoded later, from a copy; with ``legacy``, several are one grid, as in PyTorch."""
    held = compact_copy(checked_nhwc(pixels, dataformats, f"the image {tag!r}"))
    return Prepared(partial(_image_grid if legacy else _images, tag, held), held.nbytes)


def encoded_images(tag: str, width: int, height: int, encoded: Sequence[bytes]) -> Summary.Value:
    """Return a value with images that are already encoded: PNG, GIF or JPEG."""
    sizes = [str(width).encode(), str(height).encode()]
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_BLOB_SEQUENCE)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor([*sizes, *encoded], (2 + len(encoded),)))


def _images(tag: str, samples: NDArray[Any]) -> Summary.Value:
    _, height, width, _ = samples.shape
    return encoded_images(tag, width, height, [png(sample) for sample in levels(samples)])


def _image_grid(tag: str, samples: NDArray[Any]) -> Summary.Value:
    grid = in_grid(levels(samples), *_grid_size(len(samples)))
    return _images(tag, grid[np.newaxis])


def _grid_size(count: int) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    columns = min(count, _GRID_COLUMNS)
    return math.ceil(count / columns), columns


def decode_images(value: Summary.Value) -> Images:
    """Decode a string tensor [width, height, image, ...], or the legacy field with one image.

    Raises:
        PayloadError: the value is neither.
    """
    field = value.WhichOneof("value")
    if field == "image":
        return Images(value.image.width, value.image.height, (value.image.encoded_image_string,))
    if field != "tensor":
        raise PayloadError(f"expected images as image or tensor, got {field or 'no value'}")
    parts = strings(value.tensor)
    if parts.ndim != 1 or len(parts) < 2:
        raise PayloadError(f"expected strings [width, height, image, ...], got shape {list(parts.shape)}")
    return Images(_size(parts[0]), _size(parts[1]), tuple(parts[2:]))


def _size(text: bytes) -> int:
    # int() also accepts signs, spaces, underscores and thousands of digits.
    if not text.isdigit() or len(text) > 10:
        raise PayloadError(f"expected a size in pixels, got {text[:20]!r}")
    return int(text)


def _pillow() -> AbstractContextManager[None]:
    return needs_extra("Reading an image", "stepscope-core[images]")


def _legacy_form(value: Summary.Value) -> Summary.Value:
    """Return the images in the dedicated image field, several as one grid."""
    found = decode_images(value)
    encoded = found.encoded[0] if len(found.encoded) == 1 else _grid(found.encoded, found.width, found.height)
    width, height, channels = png_size(encoded) or _size_by_pillow(encoded)
    image = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=encoded)
    return Summary.Value(tag=value.tag, image=image)


def _size_by_pillow(encoded: bytes) -> tuple[int, int, int]:
    with _pillow():
        from PIL import Image

    with Image.open(BytesIO(encoded)) as picture:
        return picture.width, picture.height, _CHANNELS.get(picture.mode, 3)


def _grid(encoded: Sequence[bytes], width: int, height: int) -> bytes:
    with _pillow():
        from PIL import Image

    rows, columns = _grid_size(len(encoded))
    pictures = [Image.open(BytesIO(each)) for each in encoded]
    grid = Image.new(pictures[0].mode, (columns * width, rows * height))
    for place, picture in enumerate(pictures):
        grid.paste(picture, (place % columns * width, place // columns * height))
    return png_of(grid)


def _rows(found: Images) -> list[tuple[Any, ...]]:
    return [(sample, found.width, found.height, encoded) for sample, encoded in enumerate(found.encoded)]


KIND: Final = Kind(
    plugin_name=PLUGIN_NAME,
    decode=decode_images,
    about="one or several images of one size",
    table=Table({"sample": "int", "width": "int", "height": "int", "encoded": "bytes"}, _rows),
    files=lambda found: [PayloadFile(encoded, media_ending(encoded)) for encoded in found.encoded],
    legacy_field="image",
    legacy_form=_legacy_form,
)
