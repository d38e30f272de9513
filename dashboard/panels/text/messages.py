"""Messages of the Text panel: cards and responses of routes; the page's types are generated from these classes."""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.panels.text.diff import Change, Segment

MOST_ENTRIES: Final = 50
"""Number of texts in one response."""


class CardData(TypedDict):
    """A card: its number of texts, and the runs that have its tag, for comparison."""

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
    """The step of a text, and the number of texts in its series."""

    step: int
    total: int


class EntryPlace(StepPlace):
    """Position of a text in its series."""

    index: int


class Comparison(TypedDict):
    """Line-by-line comparison of two texts of a tag."""

    rows: list[tuple[Change, int | None, int | None, tuple[Segment, ...], tuple[Segment, ...]]]
    """The change, the line's numbers in the old and the new text, and its segments in each."""
    added: int
    removed: int
    notice: str
    error: str
    old: NotRequired[StepPlace]
    """Missing if the server did not respond."""
    new: NotRequired[StepPlace]


class FoundText(TypedDict):
    """A text in which something was found, and the location of its card."""

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
    """Results of one request of a search."""

    hits: list[FoundText]
    searched: int
    total: int
    unreadable: int
    place: str | None
    """Where the next request continues; None at the end."""
    error: str


CONSTANTS: Final = {"MOST_ENTRIES": MOST_ENTRIES}
MESSAGES: Final = (CardData, Entry, EntryPlace, Comparison, FoundText, SearchAnswer)
