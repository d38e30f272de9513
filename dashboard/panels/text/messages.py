"""What the Text panel sends its page: cards, and what its routes answer; the page's types are made from these."""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.panels.text.diff import Change, Segment

MOST_ENTRIES: Final = 50
"""Texts of one answer."""


class CardData(TypedDict):
    """How many texts a card has, and the runs that have its tag, to compare with."""

    key: str
    run: str
    tag: str
    markdown: bool
    total: int
    epoch: str
    runs: list[str]


class Entry(TypedDict):
    """A text as sanitized HTML, or why it cannot be read, and the strings in it that a search found."""

    index: int
    step: int
    wall: float | str
    html: str
    notice: str
    error: str
    form: Literal["text", "json", "table"]
    words: list[str]


class StepPlace(TypedDict):
    """The step of a text, and how many its series has."""

    step: int
    total: int


class EntryPlace(StepPlace):
    """Where a text is."""

    index: int


class Comparison(TypedDict):
    """Two texts of a tag compared by lines."""

    rows: list[tuple[Change, int | None, int | None, tuple[Segment, ...], tuple[Segment, ...]]]
    """The change, the line's numbers in the old and the new text, and its pieces there."""
    added: int
    removed: int
    notice: str
    error: str
    old: NotRequired[StepPlace]
    """Not there where the server did not answer."""
    new: NotRequired[StepPlace]


class FoundText(TypedDict):
    """A text in which something was found, and the place of its card."""

    tag: str
    run: str
    index: int
    step: int
    count: int
    before: str
    found: str
    after: str
    key: str
    sections: list[str]
    """The names of the sections around its card, outermost first."""
    page: int


class SearchAnswer(TypedDict):
    """What one request of a search found."""

    hits: list[FoundText]
    searched: int
    total: int
    unreadable: int
    place: str | None
    """Where the next request goes on; None at the end."""
    error: str


CONSTANTS: Final = {"MOST_ENTRIES": MOST_ENTRIES}
MESSAGES: Final = (CardData, Entry, EntryPlace, Comparison, FoundText, SearchAnswer)
