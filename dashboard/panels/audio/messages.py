"""Messages of the Audio panel: clips of a card and responses of its routes; the page's types are generated from these.

Headers refer to packed columns by their places.
"""

from typing import Final, TypedDict

from stepscope.dashboard.panels.audio.clips import Facts
from stepscope.dashboard.panels.audio.figures import MOST_CHANNELS, MOST_WIDTH
from stepscope.dashboard.server.arrays import TypedArray


class RunClips(TypedDict):
    """A run with clips, and when each was logged."""

    run: str
    light: str
    dark: str
    steps: TypedArray
    walls: TypedArray


class CardData(TypedDict):
    """The runs of a card."""

    tag: str
    runs: list[RunClips]


class WaveformHeader(TypedDict):
    """The minimum and maximum value of each pixel of a time range."""

    channels: int
    width: int
    not_finite: int
    """Number of values that are NaN or infinite."""
    bounds: int
    """float32 ``[channels, width, 2]``."""


class SpectrogramHeader(TypedDict):
    """Levels in steps of half a decibel over frequency, highest first, and time."""

    height: int
    width: int
    top: float
    """Decibels of level 255."""
    is_whole: bool
    levels: int
    """uint8 ``[height, width]``."""


CONSTANTS: Final = {"MOST_CHANNELS": MOST_CHANNELS, "MOST_WIDTH": MOST_WIDTH}
MESSAGES: Final = (CardData, Facts, WaveformHeader, SpectrogramHeader)
