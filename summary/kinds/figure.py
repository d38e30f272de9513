"""Matplotlib figures, drawn to pixels and stored as images."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.kinds.image import images
from stepscope.summary.proto.summary_pb2 import Summary


def figures(tag: str, drawn: Any, close: bool = True) -> Summary.Value:
    """Return an image value with one PNG per figure, with the figure's own size, resolution and background.

    Args:
        tag: the tag of the series.
        drawn: a ``matplotlib.figure.Figure``, or a list of figures of one size.
        close: remove the figures from ``pyplot`` after drawing them, if it manages them.

    Raises:
        TypeError: an object is not a figure.
        ValueError: there are no figures, or their sizes differ.
    """
    several = list(drawn) if isinstance(drawn, list | tuple) else [drawn]
    for figure in several:
        if not (hasattr(figure, "savefig") and hasattr(figure, "set_canvas")):
            got = type(figure).__name__
            raise TypeError(f"the figure {tag!r} must be a Matplotlib Figure or a list of them, got {got}")
    value = images(tag, _stacked(tag, [_pixels(figure) for figure in several]), "NHWC")
    if close:
        _close(several)
    return value


def _stacked(tag: str, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    sizes = {picture.shape for picture in pictures}
    if len(sizes) != 1:
        got = sorted(f"{width} x {height}" for height, width, _ in sizes)
        raise ValueError(f"the figures {tag!r} must be one or more figures of the same size in pixels, got {got}")
    return np.stack(pictures)


def _pixels(figure: Any) -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    shown_on = figure.canvas
    try:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba(), dtype=np.uint8)[..., :3].copy()
    finally:
        figure.set_canvas(shown_on)


def _close(several: Sequence[Any]) -> None:
    # Only pyplot keeps figures; if it was not imported, there is nothing to close.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        for figure in several:
            pyplot.close(figure)
