"""Thumbnails for galleries, made in bounded memory and cached.

An image is fully decoded before it is reduced, so the number of pixels of one image and of those decoded at a time
are limited. Headers are read first: a small file that would unpack to gigabytes is refused, not decoded.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from io import BytesIO
from typing import Final

import numpy as np
from PIL import Image, UnidentifiedImageError

from stepscope.dashboard.server.numbers import count, file_size
from stepscope.dashboard.server.pictures import Picture
from stepscope.summary.kinds.base import PayloadError

MOST_PIXELS: Final = 50_000_000
"""Maximum number of pixels of an image that is drawn: decoded, they take up to 200 MB."""
EDGES: Final = (64, 128, 256, 512, 1024)
"""Sizes of thumbnails; few, so that cached ones are found again."""
CACHE_BYTES: Final = 64_000_000
LARGEST_MOVING: Final = 4_000_000
"""Maximum size in bytes of an animation sent to a gallery as is; larger ones are reduced to their first frame."""
_AT_A_TIME: Final = 2
_DAMAGE: Final = (OSError, SyntaxError, ValueError, EOFError, IndexError, MemoryError, OverflowError)
"""Exceptions that Pillow raises for broken bytes, including `UnidentifiedImageError`, which is an OSError."""


@dataclass(frozen=True)
class Shape:
    """The contents of an image's header."""

    width: int
    height: int
    frames: int


@dataclass(frozen=True)
class Small:
    """An image for a gallery."""

    picture: Picture
    shape: Shape
    reduced: bool
    """Whether the image is smaller than the original, or only its first frame."""


def opened(data: bytes) -> Image.Image:
    """Return the image with its header read and its pixels not yet decoded.

    Raises:
        PayloadError: if the image cannot be read, has no pixels, or more than `MOST_PIXELS`.
    """
    try:
        image = Image.open(BytesIO(data))
    except Image.DecompressionBombError as error:
        raise PayloadError(f"the image is too large: at most {count(MOST_PIXELS)} pixels are drawn") from error
    except UnidentifiedImageError as error:
        raise PayloadError(f"the image is damaged: its header cannot be read ({file_size(len(data))})") from error
    except _DAMAGE as error:
        raise PayloadError(f"the image is damaged: {error} ({file_size(len(data))})") from error
    width, height = image.size
    if width < 1 or height < 1:
        raise PayloadError(f"the image has no pixels: it is {width} by {height}")
    if width * height > MOST_PIXELS:
        raise PayloadError(
            f"the image is {count(width)} by {count(height)}: at most {count(MOST_PIXELS)} pixels are drawn"
        )
    return image


def shape_of(image: Image.Image) -> Shape:
    """Return the size and the number of frames; damage after the first frame makes it one frame."""
    try:
        frames = int(getattr(image, "n_frames", 1))
        image.seek(0)
    except _DAMAGE:
        frames = 1
    return Shape(*image.size, frames)


def shape(data: bytes) -> Shape:
    """Return the contents of the header, without decoding.

    Raises:
        PayloadError: as for `opened`.
    """
    return shape_of(opened(data))


def small(picture: Picture, edge: int) -> Small:
    """Return an image of at most ``edge`` pixels in either direction.

    An image that is no larger stays as is, once it is known to be undamaged.

    Raises:
        PayloadError: as for `opened`, or if the pixels are damaged.
    """
    image = opened(picture.data)
    found = shape_of(image)
    fits = max(image.size) <= edge
    if found.frames > 1 and len(picture.data) <= LARGEST_MOVING:
        return Small(picture, found, False)
    try:
        if picture.mime_type == "image/jpeg":
            image.draft(None, (edge, edge))
        image.load()
        if fits and found.frames == 1:
            return Small(picture, found, False)
        plain = eight_bits(image)
        plain.thumbnail((edge, edge), Image.Resampling.BOX)
        return Small(encoded(plain, picture.mime_type), found, True)
    except _DAMAGE as error:
        raise PayloadError(
            f"the image is damaged: {error} ({found.width} by {found.height}, {file_size(len(picture.data))})"
        ) from error


def eight_bits(image: Image.Image) -> Image.Image:
    """Return the image in 8-bit gray or color, with alpha if it has any."""
    if image.mode.startswith("I"):
        # Browsers also show the upper 8 of 16 bits.
        return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return image
    if image.mode == "1":
        return image.convert("L")
    return image.convert("RGBA" if "transparency" in image.info or image.mode == "PA" else "RGB")


def encoded(image: Image.Image, mime_type: str) -> Picture:
    """Return a JPEG image as JPEG, and any other as PNG, which changes no pixel."""
    stream = BytesIO()
    if mime_type == "image/jpeg":
        image.convert("RGB").save(stream, format="JPEG", quality=90)
        return Picture("image/jpeg", stream.getvalue())
    image.save(stream, format="PNG", compress_level=1)
    return Picture("image/png", stream.getvalue())


class Thumbnails:
    """Cache of the most recent thumbnails, up to `CACHE_BYTES`; thread-safe."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, int], Small] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._decoding = threading.BoundedSemaphore(_AT_A_TIME)

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, picture: Picture, edge: int) -> Small:
        """Return the image as `small` does."""
        key = (picture.etag, edge)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with self._decoding:
            made = small(picture, edge)
        with self._lock:
            if key not in self._kept and len(made.picture.data) <= self._most_bytes:
                self._kept[key] = made
                self._bytes += len(made.picture.data)
            while self._bytes > self._most_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= len(oldest.picture.data)
        return made
