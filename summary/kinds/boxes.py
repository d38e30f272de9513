"""An image with boxes and their labels drawn on it."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from summary.arguments import as_array, checked_number
from summary.kinds.image import encoded_images
from summary.kinds.pixels import bytes_nhwc, png_of, to_picture
from summary.proto.summary_pb2 import Summary

_BOX: Final = "red"
_LABEL: Final = "black"
_LINE_WIDTH: Final = 2


def image_with_boxes(
    tag: str,
    pixels: Any,
    boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: str | Sequence[str] | None = None,
) -> Summary.Value:
    """An image value with one PNG; the boxes are red, their labels stand in the lower left corners.

    Args:
        tag: the series.
        pixels: one picture, as `summary.kinds.image.images` takes it.
        boxes: shape [n, 4]: left, top, right, bottom in pixels of the picture.
        rescale: enlarges or shrinks the finished picture.
        dataformats: as for images.
        labels: one string per box, or one string where there is one box.

    Raises:
        TypeError: another dtype, or a label is no string.
        ValueError: a shape or number makes no sense, several pictures, or not as many labels as boxes.
    """
    name = f"the image {tag!r}"
    samples = bytes_nhwc(pixels, dataformats, name)
    if len(samples) != 1:
        raise ValueError(f"{name} with boxes must be one picture, got {len(samples)}")
    corners = _corners(boxes, name)
    texts = _texts(labels, len(corners), name)
    factor = checked_number(rescale, f"rescale of {name}")
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"rescale of {name} must be above 0 and finite, got {factor}")
    picture = to_picture(samples[0]).convert("RGB")
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
    if not (array[:, :2] <= array[:, 2:]).all():
        raise ValueError(f"the boxes of {name} must be (left, top, right, bottom), got {array.tolist()}")
    return [(left, top, right, bottom) for left, top, right, bottom in array.tolist()]


def _texts(labels: str | Sequence[str] | None, count: int, name: str) -> Sequence[str]:
    if labels is None:
        return [""] * count
    texts = [labels] if isinstance(labels, str) else list(labels)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"the labels of {name} must be strings, got {type(text).__name__}")
    if len(texts) != count:
        raise ValueError(f"the labels of {name} must be one per box, got {len(texts)} for {count} boxes")
    return texts


def _draw(draw: ImageDraw.ImageDraw, corner: tuple[float, float, float, float], text: str) -> None:
    left, _, _, bottom = corner
    draw.rectangle(corner, outline=_BOX, width=_LINE_WIDTH)
    if text:
        box = draw.textbbox((left + 1, bottom - 1), text, anchor="lb")
        draw.rectangle(box, fill=_BOX)
        draw.text((left + 1, bottom - 1), text, fill=_LABEL, anchor="lb")
