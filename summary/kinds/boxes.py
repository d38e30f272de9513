"""An image with boxes and their labels drawn on it."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.full_install import needs_extra
from stepscope.summary.kinds.image import encoded_images
from stepscope.summary.kinds.pixels import bytes_nhwc, png_of, to_picture
from stepscope.summary.proto.summary_pb2 import Summary

with needs_extra("Drawing boxes", "stepscope-core[images]"):
    from PIL import Image, ImageDraw, ImageFont

_BOX: Final = "Red"
_LABEL: Final = "black"
_LINE_WIDTH: Final = 2
_MARGIN: Final = 0.05
"""Around a label, as a share of its height."""


def image_with_boxes(
    tag: str,
    pixels: Any,
    boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: str | Sequence[str] | None = None,
) -> Summary.Value:
    """Return an image value with one PNG.

    The boxes are red, with labels in their lower left corners, as in PyTorch.

    Args:
        tag: the tag of the series.
        pixels: one image, as for `stepscope.summary.kinds.image.images`.
        boxes: shape [n, 4]: left, top, right, bottom in pixels of the image.
        rescale: factor by which the finished image is enlarged or shrunk.
        dataformats: as for images.
        labels: one string per box, or one string if there is one box; with any other number, none is drawn, and a
            warning is issued.

    Importing this module requires Pillow.

    Raises:
        TypeError: the pixels are not real numbers, or a label is not a string.
        ValueError: a shape or number is invalid, or there are several images.
    """
    name = f"the image {tag!r}"
    samples = bytes_nhwc(pixels, dataformats, name)
    if len(samples) != 1:
        raise ValueError(f"{name} with boxes must be one image, got {len(samples)}")
    corners = _corners(boxes, name)
    texts = _texts(labels, len(corners), name)
    factor = checked_number(rescale, f"rescale of {name}")
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"rescale of {name} must be above 0 and finite, got {factor}")
    picture = to_picture(samples[0])
    if picture.mode == "L":
        picture = picture.convert("RGB")
    for corner, text in zip(corners, texts, strict=True):
        _draw(ImageDraw.Draw(picture), corner, text)
    size = max(1, int(picture.width * factor)), max(1, int(picture.height * factor))
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return encoded_images(tag, *size, [png_of(picture)])


def _corners(boxes: Any, name: str) -> list[tuple[float, float, float, float]]:
    array: NDArray[Any] = as_array(boxes, f"the boxes of {name}").astype(np.float64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"the boxes of {name} must have shape [n, 4], got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the boxes of {name} must be finite, got {array.tolist()}")
    return [(left, top, right, bottom) for left, top, right, bottom in array.tolist()]


def _texts(labels: str | Sequence[str] | None, count: int, name: str) -> Sequence[str]:
    if labels is None:
        return [""] * count
    texts = [labels] if isinstance(labels, str) else list(labels)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"the labels of {name} must be strings, got {type(text).__name__}")
    if len(texts) != count:
        warnings.warn(
            f"the labels of {name} must be one per box, got {len(texts)} for {count} boxes; none is drawn", stacklevel=4
        )
        return [""] * count
    return texts


def _draw(draw: ImageDraw.ImageDraw, corner: tuple[float, float, float, float], text: str) -> None:
    left, top, right, bottom = corner
    outline = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(outline, width=_LINE_WIDTH, fill=_BOX)
    if text:
        font = ImageFont.load_default()
        text_left, text_top, text_right, text_bottom = font.getbbox(text)
        width, height = text_right - text_left, text_bottom - text_top
        margin = math.ceil(_MARGIN * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill=_BOX)
        draw.text((left + margin, bottom - height - margin), text, fill=_LABEL, font=font)
