"""Shades of a color."""

import numpy as np


def mix(one: str, other: str, share: float) -> str:
    """Return a mix of ``share`` of one color and the rest of the other, both "#rrggbb"."""
    a, b = (np.array(channels(color)) for color in (one, other))
    red, green, blue = np.rint(a * share + b * (1 - share)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def clear(color: str, opacity: float) -> str:
    """Return a color "#rrggbb" with an opacity."""
    red, green, blue = channels(color)
    return f"rgba({red},{green},{blue},{opacity})"


def channels(color: str) -> list[int]:
    """Return red, green and blue of "#rrggbb", each 0 to 255."""
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]
