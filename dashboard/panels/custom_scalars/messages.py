"""What the routes of the custom scalars panel answer, as JSON; the page's types of it are made from these.

A layout is as protobuf writes it as JSON: without what is empty.
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
    """Regular expressions of tags."""

    tag: list[str]


class SentChart(TypedDict, total=False):
    """A chart of either kind."""

    title: str
    multiline: SentMultiline
    margin: SentMargins


class SentCategory(TypedDict, total=False):
    """Charts under a title; closed at first, or not."""

    title: str
    closed: bool
    chart: list[SentChart]


class SentLayout(TypedDict, total=False):
    """A layout as protobuf writes it as JSON: without what is empty."""

    category: list[SentCategory]


class Folder(TypedDict):
    """Where a layout is written; "" where none can be."""

    folder: str


class LayoutAnswer(Folder):
    """The layouts of all runs as one, and where another one would be written."""

    layout: SentLayout


class Matches(TypedDict):
    """Scalar tags that an expression matches: how many, the first of them, and what is wrong with it."""

    count: int
    tags: list[str]
    error: str


MESSAGES: Final = (LayoutAnswer, Matches)
