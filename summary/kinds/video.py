"""Video: frames as an animated GIF, stored and shown as an image."""

import math
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from summary.arguments import as_array, checked_number
from summary.kinds.image import encoded_images
from summary.kinds.pixels import arranged, to_bytes, to_picture
from summary.proto.summary_pb2 import Summary

_SHORTEST_FRAME: Final = 10
"""Milliseconds; GIF counts in these."""


def video(tag: str, frames: Any, fps: float, dataformats: str = "NTCHW") -> Summary.Value:
    """An image value with one GIF; several videos are laid out in a grid, as in PyTorch's ``add_video``.

    GIF rounds a frame's time to 10 ms and keeps 256 colours of each frame.

    Args:
        tag: the series.
        frames: uint8 in 0..255, booleans, or floats in 0..1, as for images.
        fps: frames a second.
        dataformats: the axes in any order: N (videos), T (frames), C (1, 3 or 4 channels), H and W.

    Raises:
        TypeError: another dtype, or ``fps`` is no number.
        ValueError: the letters or the shape make no sense, or ``fps`` is not above 0.
    """
    name = f"the video {tag!r}"
    rate = checked_number(fps, f"fps of {name}")
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"fps of {name} must be above 0 and finite, got {rate}")
    letters = dataformats.upper() if isinstance(dataformats, str) else ""
    if sorted(letters) != sorted("NTCHW"):
        raise ValueError(f"dataformats of a video must be the letters NTCHW in any order, got {dataformats!r}")
    grid = _grid(to_bytes(arranged(as_array(frames, name), letters, "NTHWC", name), name))
    _, height, width, _ = grid.shape
    return encoded_images(tag, width, height, [_to_gif(grid, rate)])


def _grid(videos: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[n, t, h, w, c] to [t, rows * h, columns * w, c], both powers of two, filled up with black."""
    count, length, height, width, channels = videos.shape
    cells = 1 << (count - 1).bit_length()
    rows = 1 << ((count.bit_length() - 1) // 2)
    columns = cells // rows
    filled = np.zeros((cells, length, height, width, channels), np.uint8)
    filled[:count] = videos
    in_place = filled.reshape(rows, columns, length, height, width, channels).transpose(2, 0, 3, 1, 4, 5)
    return in_place.reshape(length, rows * height, columns * width, channels)


def _to_gif(frames: NDArray[np.uint8], fps: float) -> bytes:
    pictures = [to_picture(frame) for frame in frames]
    milliseconds = max(_SHORTEST_FRAME, round(1000 / fps))
    stream = BytesIO()
    pictures[0].save(stream, format="GIF", save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0)
    return stream.getvalue()
