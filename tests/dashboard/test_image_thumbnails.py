"""Thumbnails: what is made small, what is not, and what is refused before it is decoded."""

import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from stepscope.dashboard.panels.images.thumbnails import Shape, Thumbnails, small
from stepscope.dashboard.server.pictures import Picture
from stepscope.summary.kinds.base import PayloadError


def picture(image: Image.Image, image_format: str = "PNG", **more: object) -> Picture:
    stream = BytesIO()
    image.save(stream, format=image_format, **more)
    return Picture(f"image/{image_format.lower()}", stream.getvalue())


def png_of_size(width: int, height: int) -> bytes:
    """A PNG whose header states any size, with next to nothing in it."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(bytes(100))
    chunks = b"".join(struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, body))
    return b"\x89PNG\r\n\x1a\n" + chunks


def test_a_large_picture_is_averaged_down_to_the_edge() -> None:
    pixels = np.zeros((256, 512), np.uint8)
    pixels[:, 256:] = 90
    made = small(picture(Image.fromarray(pixels)), 64)
    sent = np.asarray(Image.open(BytesIO(made.picture.data)))
    assert (made.shape, made.reduced) == (Shape(512, 256, 1), True)
    assert sent.shape == (32, 64)
    assert np.unique(sent[:, :32]).tolist() == [0]
    assert np.unique(sent[:, 32:]).tolist() == [90]


def test_a_small_picture_is_sent_as_it_is() -> None:
    original = picture(Image.new("RGB", (8, 8), "red"))
    made = small(original, 64)
    assert made.picture is original
    assert not made.reduced


@pytest.mark.parametrize(
    ("mode", "sent_as"),
    [("1", "L"), ("L", "L"), ("LA", "LA"), ("P", "RGB"), ("RGB", "RGB"), ("RGBA", "RGBA"), ("I;16", "L")],
)
def test_every_kind_of_png_has_a_thumbnail(mode: str, sent_as: str) -> None:
    made = small(picture(Image.new(mode, (100, 100))), 64)
    with Image.open(BytesIO(made.picture.data)) as sent:
        assert (sent.mode, sent.size) == (sent_as, (64, 64))


def test_16_bits_keep_their_upper_8() -> None:
    made = small(picture(Image.fromarray(np.full((100, 100), 0xAB12, np.uint16))), 64)
    assert np.unique(np.asarray(Image.open(BytesIO(made.picture.data)))).tolist() == [0xAB]


def test_jpeg_stays_jpeg() -> None:
    assert small(picture(Image.new("RGB", (300, 300)), "JPEG"), 64).picture.mime_type == "image/jpeg"


def test_an_animation_goes_as_it_is() -> None:
    frames = [Image.new("RGB", (300, 300), color) for color in ("red", "green", "blue")]
    original = picture(frames[0], "GIF", save_all=True, append_images=frames[1:])
    made = small(original, 64)
    assert made.picture is original
    assert made.shape == Shape(300, 300, 3)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png_of_size(30_000, 30_000), "too large: at most 50,000,000 pixels are drawn"),
        (png_of_size(9_000, 9_000), "is 9,000 by 9,000: at most 50,000,000 pixels are drawn"),
        (png_of_size(0, 7), "the image"),
        (png_of_size(40, 40), "the image is damaged"),
        (b"\x89PNG\r\n\x1a\n", "its header cannot be read"),
    ],
)
def test_what_cannot_be_drawn_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(PayloadError, match=why):
        small(Picture("image/png", data), 64)


def test_damage_of_pixels_is_found_whatever_the_size() -> None:
    rng = np.random.default_rng(0)
    data = picture(Image.fromarray(rng.integers(0, 255, (90, 90), np.uint8))).data
    for edge in (64, 128):
        with pytest.raises(PayloadError, match="the image is damaged"):
            small(Picture("image/png", data[: len(data) // 2]), edge)


def test_the_latest_are_kept_within_a_bound() -> None:
    pictures = [picture(Image.new("L", (100, 100), shade)) for shade in (1, 2, 3)]
    size = len(small(pictures[0], 64).picture.data)
    thumbnails = Thumbnails(most_bytes=2 * size + size // 2)
    first = thumbnails.of(pictures[0], 64)
    assert thumbnails.of(pictures[0], 64) is first
    thumbnails.of(pictures[1], 64)
    thumbnails.of(pictures[2], 64)
    assert len(thumbnails) == 2
    assert thumbnails.of(pictures[0], 64) is not first
