"""Messages of the Images panel: cards and responses of routes; the page's types are generated from these classes."""

from typing import Final, TypedDict

from stepscope.dashboard.panels.images.settings import Group
from stepscope.dashboard.panels.images.thumbnails import EDGES
from stepscope.dashboard.server.arrays import TypedArray

FACTS_HEADER: Final = "X-Picture"
"""Header with the facts about a picture besides its bytes, as JSON."""


class CardSeries(TypedDict):
    """A series of a card; ``steps`` is the index of its steps among those of the card."""

    run: str
    tag: str
    light: str
    dark: str
    steps: int
    epoch: str


class CardData(TypedDict):
    """The series of a card, and their steps, which series may share."""

    key: str
    group: Group
    series: list[CardSeries]
    steps: list[TypedArray]


class PictureFacts(TypedDict):
    """Facts about a picture, sent in a header."""

    samples: int
    width: int
    height: int
    frames: int
    size: int
    mime_type: str
    wall_time: float | str
    reduced: bool


class NoPicture(TypedDict):
    """Why there is no picture, and the number of pictures at its step."""

    error: str
    samples: int


class SeriesSteps(TypedDict):
    """The current steps of a series."""

    steps: TypedArray
    epoch: str


class CatalogRun(TypedDict):
    """A run and the indices of its tags."""

    run: str
    light: str
    dark: str
    tags: list[int]


class Catalog(TypedDict):
    """All tags of the shown runs, and these runs."""

    tags: list[str]
    runs: list[CatalogRun]


CONSTANTS: Final = {"FACTS_HEADER": FACTS_HEADER, "EDGES": EDGES}
MESSAGES: Final = (CardData, PictureFacts, NoPicture, SeriesSteps, Catalog)
