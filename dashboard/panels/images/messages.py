"""What the Images panel sends its page: cards, and what its routes answer; the page's types are made from these."""

from typing import Final, TypedDict

from stepscope.dashboard.panels.images.settings import Group
from stepscope.dashboard.panels.images.thumbnails import EDGES
from stepscope.dashboard.server.arrays import TypedArray

FACTS_HEADER: Final = "X-Picture"
"""Carries, as JSON, what is known of a picture beside its bytes."""


class CardSeries(TypedDict):
    """A series of a card; ``steps`` is the place of its steps."""

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
    """What is known of a picture, which is sent in a header."""

    samples: int
    width: int
    height: int
    frames: int
    size: int
    mime_type: str
    wall_time: float | str
    reduced: bool


class NoPicture(TypedDict):
    """Why there is no picture, and how many there are at its step."""

    error: str
    samples: int


class SeriesSteps(TypedDict):
    """The steps of a series, as they are now."""

    steps: TypedArray
    epoch: str


class CatalogRun(TypedDict):
    """A run and the places of its tags."""

    run: str
    light: str
    dark: str
    tags: list[int]


class Catalog(TypedDict):
    """All tags of the shown runs, and these."""

    tags: list[str]
    runs: list[CatalogRun]


CONSTANTS: Final = {"FACTS_HEADER": FACTS_HEADER, "EDGES": EDGES}
MESSAGES: Final = (CardData, PictureFacts, NoPicture, SeriesSteps, Catalog)
