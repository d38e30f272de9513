"""JSON responses of the custom scalars panel's routes; the page's types are generated from these classes.

Layouts are as protobuf writes them as JSON: without empty fields.
"""

from typing import Final, TypedDict


class SentMargin(TypedDict, total=False):
    """Tags of a line and of the edges of its band."""

    value: str
    lower: str
    upper: str


class SentMargins(TypedDict, total=False):
    """Lines with margins."""

    series: list[SentMargin]


class SentMultiline(TypedDict, total=False):
    """Regular expressions for tags."""

    tag: list[str]


class SentChart(TypedDict, total=False):
    """A chart of either kind."""

    title: str
    multiline: SentMultiline
    margin: SentMargins


class SentCategory(TypedDict, total=False):
    """Charts under a title; closed by default, or not."""

    title: str
    closed: bool
    chart: list[SentChart]


class SentLayout(TypedDict, total=False):
    """A layout as protobuf writes it as JSON: without empty fields."""

    category: list[SentCategory]


class Folder(TypedDict):
    """Folder to write a layout to; "" if none can be written."""

    folder: str


class LayoutAnswer(Folder):
    """The layouts of all runs merged into one, and where another one would be written."""

    layout: SentLayout
    version: str
    """Changes whenever a layout is saved."""


class SavedLayout(Folder):
    """What became of a layout that was sent."""

    saved: bool
    """False if another layout was saved after the version that the sender had edited."""
    version: str
    """The present version."""
    stays: list[str]
    """Titles of the charts that runs declare themselves and that the layout lacks, which are still shown."""


class Matches(TypedDict):
    """Scalar tags that an expression matches: their number, the first of them, and the error in the expression."""

    count: int
    tags: list[str]
    error: str


MESSAGES: Final = (LayoutAnswer, SavedLayout, Matches)
