"""One image that contains the picture of each point."""

import io
import math
from collections.abc import Sequence
from typing import Final

from PIL import Image

from stepscope.dashboard.embeddings.dataset import Problem, Sprite
from stepscope.dashboard.server.pictures import sniff
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError

LARGEST_SIDE: Final = 8192
"""Pixels; larger images do not work as textures everywhere."""
_MOST_PIXELS: Final = 16_384 * 16_384


def read_sprite(content: bytes, sizes: Sequence[int], row_count: int) -> tuple[Sprite | None, list[Problem]]:
    """Return the sprite of an embedding, and the problems with it.

    Args:
        content: a PNG, JPEG or similar; the picture of row ``i`` of the file is the ``i``-th from the left and top.
        sizes: width and height of one point's picture, as in the configuration; a single number is both; if empty, they
            are derived from the number of pictures.
        row_count: number of rows in the file with the points.
    """
    try:
        media_type = sniff(content)
        with Image.open(io.BytesIO(content)) as image:
            across, down = image.size
    except (PayloadError, OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        return None, [Problem("sprite", f"The sprite is not a supported image: {error}.", 1)]
    if across * down > _MOST_PIXELS:
        return None, [Problem("sprite", f"The sprite has {across:,} x {down:,} pixels, which is too large.", 1)]
    problems: list[Problem] = []
    if max(across, down) > LARGEST_SIDE:
        message = (
            f"The sprite has {across:,} x {down:,} pixels; browsers may show no more than {LARGEST_SIDE:,} per side."
        )
        problems.append(Problem("sprite", message, 1))
    width, height = _size(sizes, across, down, row_count, problems)
    if width > across or height > down:
        message = (
            f"The sprite has {across} x {down} pixels, less than the {width} x {height} of one image, "
            "so it is not shown. Set single_image_dim to the width and height of one image."
        )
        return None, [*problems, Problem("sprite size", message, 1)]
    problems += _misfits(across, down, width, height, row_count)
    return Sprite(content, width, height, across // width, media_type), problems


def _size(sizes: Sequence[int], across: int, down: int, row_count: int, problems: list[Problem]) -> tuple[int, int]:
    given = [size for size in sizes if size > 0]
    if len(given) >= 2:
        return given[0], given[1]
    if given:
        return given[0], given[0]
    side = max(1, math.ceil(math.sqrt(row_count)))
    width = max(1, across // side)
    lines = max(1, math.ceil(row_count / max(1, across // width)))
    height = width if down >= width * lines else max(1, down // lines)
    message = f"The size of one sprite image is not given; {width} x {height} is assumed."
    problems.append(Problem("sprite size", message, 1))
    return width, height


def _misfits(across: int, down: int, width: int, height: int, row_count: int) -> list[Problem]:
    problems: list[Problem] = []
    if across % width or down % height:
        message = (
            f"The sprite has {across} x {down} pixels, which is not a multiple of the {width} x {height} of one "
            "image; images may be shifted. Check single_image_dim."
        )
        problems.append(Problem("sprite size", message, 1))
    held = (across // width) * (down // height)
    if held < row_count:
        missing = row_count - held
        message = f"The sprite holds {counted(held, 'image')} for {counted(row_count, 'point')}; the last have none."
        problems.append(Problem("sprite size", message, missing))
    return problems
