"""What the Audio panel sends its page: clips of a card, and what its routes answer. The page's types come from these.

Columns that are packed stand in a header by their places.
"""

from typing import Final, TypedDict

from stepscope.dashboard.panels.audio.clips import Facts
from stepscope.dashboard.panels.audio.figures import MOST_CHANNELS, MOST_WIDTH
from stepscope.dashboard.server.arrays import TypedArray


class RunClips(TypedDict):
    """A run that has clips: when each was logged."""

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
    """The lowest and the highest number of each pixel of a stretch."""

    channels: int
    width: int
    not_finite: int
    """How many numbers are NaN or infinite."""
    bounds: int
    """Of float32 ``[channels, width, 2]``."""


class SpectrogramHeader(TypedDict):
    """Levels of half a decibel over frequency, the highest first, and time."""

    height: int
    width: int
    top: float
    """Decibels of level 255."""
    is_whole: bool
    levels: int
    """Of uint8 ``[height, width]``."""


CONSTANTS: Final = {"MOST_CHANNELS": MOST_CHANNELS, "MOST_WIDTH": MOST_WIDTH}
MESSAGES: Final = (CardData, Facts, WaveformHeader, SpectrogramHeader)
