import io

import pytest
from PIL import Image

from stepscope.dashboard.embeddings.sprites import read_sprite


def png(width: int, height: int, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, height)).save(stream, form)
    return stream.getvalue()


@pytest.mark.parametrize(("form", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg")])
def test_a_sprite(form: str, media_type: str) -> None:
    sprite, problems = read_sprite(png(40, 30, form), [10, 15], 7)
    assert sprite is not None
    assert (sprite.width, sprite.height, sprite.across, sprite.media_type) == (10, 15, 4, media_type)
    assert problems == []


@pytest.mark.parametrize(
    ("size", "sizes", "count", "shape", "said"),
    [
        ((40, 30), [10], 12, (10, 10, 4), []),
        ((40, 30), [], 12, (10, 10, 4), ["The size of one sprite image is not given; 10 x 10 is assumed."]),
        ((40, 30), [10, 10], 20, (10, 10, 4), ["The sprite holds 12 images for 20 points; the last have none."]),
        (
            (45, 30),
            [10, 10],
            12,
            (10, 10, 4),
            [
                "The sprite has 45 x 30 pixels, which is not a multiple of the 10 x 10 of one image; images may be "
                "shifted. Check single_image_dim."
            ],
        ),
    ],
)
def test_a_sprite_of_the_wrong_size_is_said(
    size: tuple[int, int], sizes: list[int], count: int, shape: tuple[int, int, int], said: list[str]
) -> None:
    sprite, problems = read_sprite(png(*size), sizes, count)
    assert sprite is not None
    assert (sprite.width, sprite.height, sprite.across) == shape
    assert [p.message for p in problems] == said


def test_what_cannot_be_shown_is_said() -> None:
    sprite, problems = read_sprite(png(8, 8), [16, 16], 4)
    assert sprite is None
    assert problems[-1].message.startswith("The sprite has 8 x 8 pixels, less than the 16 x 16 of one image")
    for content in (b"", b"<svg></svg>", b"\x89PNG\r\n\x1a\n", png(9, 9)[:30]):
        sprite, problems = read_sprite(content, [4, 4], 4)
        assert sprite is None
        assert problems[0].message.startswith("The sprite is not a supported image")
    sprite, problems = read_sprite(png(8200, 1), [1, 1], 4)
    assert sprite is not None
    assert "browsers may show no more than 8,192 per side" in problems[0].message
