"""Video: frames as an animated GIF, stored and shown as an image."""

import math
from functools import partial
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number
from stepscope.summary.full_install import needs_extra
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.kinds.image import encoded_images
from stepscope.summary.kinds.pixels import arranged, bytes_or_floats, compact_copy, in_grid, levels, to_picture
from stepscope.summary.proto.summary_pb2 import Summary

_SHORTEST_FRAME: Final = 10
_LONGEST_FRAME: Final = 655_350
"""Milliseconds; GIF counts hundredths of a second in 16 bits."""
_LONGEST_SIDE: Final = 65_535
"""Pixels; GIF counts them in 16 bits."""


def video(tag: str, frames: Any, fps: float, dataformats: str = "NTCHW") -> Summary.Value:
    """Return an image value with one GIF; several videos are laid out in a grid, as in PyTorch's ``add_video``.

    GIF rounds the duration of a picture to 10 ms, and keeps 256 colors per frame. Equal neighboring frames are one
    picture, which is shown for at most 655 s.

    Args:
        tag: the tag of the series.
        frames: whole numbers in 0..255, booleans, or floats in 0..1, as for images.
        fps: frames per second.
        dataformats: the axes in any order: N (videos), T (frames), C (1 to 4 channels), H and W.

    Raises:
        TypeError: the frames are not real numbers, or ``fps`` is not a number.
        NotInstalledError: Pillow is not installed.
        ValueError: the letters or the shape are invalid, ``fps`` is not above 0, or a side is longer than
            65,535 pixels.
    """
    return _video(tag, *_checked_video(tag, frames, fps, dataformats))


def prepared_video(tag: str, frames: Any, fps: float, dataformats: str = "NTCHW") -> Prepared:
    """Prepare a `video` whose frames are encoded later, from a copy."""
    videos, rate = _checked_video(tag, frames, fps, dataformats)
    held = compact_copy(videos)
    return Prepared(partial(_video, tag, held, rate), held.nbytes)


def _checked_video(tag: str, frames: Any, fps: float, dataformats: str) -> tuple[NDArray[Any], float]:
    with needs_extra("Writing a video", "stepscope-core[images]"):
        import PIL.Image
    # The frames are encoded in another thread: a fork while it imports Pillow's formats would leave the child waiting.
    PIL.Image.preinit()
    name = f"the video {tag!r}"
    rate = checked_number(fps, f"fps of {name}")
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"fps of {name} must be above 0 and finite, got {rate}")
    letters = dataformats.upper() if isinstance(dataformats, str) else ""
    if sorted(letters) != sorted("NTCHW"):
        raise ValueError(f"dataformats of a video must be the letters NTCHW in any order, got {dataformats!r}")
    videos = bytes_or_floats(arranged(as_array(frames, name), letters, "NTHWC", name))
    count, _, height, width, _ = videos.shape
    rows, columns = _grid_size(count)
    if max(rows * height, columns * width) > _LONGEST_SIDE:
        size = f"{columns * width} x {rows * height}"
        raise ValueError(f"{name} must have at most {_LONGEST_SIDE} pixels a side, got {size} in a grid")
    return videos, rate


def _video(tag: str, videos: NDArray[Any], fps: float) -> Summary.Value:
    grid = in_grid(levels(videos), *_grid_size(len(videos)))
    _, height, width, _ = grid.shape
    return encoded_images(tag, width, height, [_to_gif(grid, fps)])


def _grid_size(count: int) -> tuple[int, int]:
    """Return the numbers of rows and columns, powers of two."""
    cells = 1 << (count - 1).bit_length()
    rows = 1 << ((count.bit_length() - 1) // 2)
    return rows, cells // rows


class _Duration(int):
    """Milliseconds that stay within what GIF can hold when Pillow adds those of equal neighbors."""

    def __add__(self, other: int) -> "_Duration":
        return _Duration(min(int(self) + int(other), _LONGEST_FRAME))


def _to_gif(frames: NDArray[np.uint8], fps: float) -> bytes:
    pictures = [to_picture(frame) for frame in frames]
    milliseconds = _Duration(round(min(max(_SHORTEST_FRAME, 1000 / fps), _LONGEST_FRAME)))
    stream = BytesIO()
    pictures[0].save(stream, format="GIF", save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0)
    return stream.getvalue()
