"""What the page is told of a profile besides its figures, as JSON; its types of it are made from these."""

from typing import Any, Final, TypedDict

RowMarks = TypedDict(
    "RowMarks",
    {
        "@row": str,
        "@group": int,
        "@size": int,
        "@in": int,
        "@at": str,
        "@slice": int,
        "@search": str,
        "@trace": str,
        "@spread": list[float],
        "@short": str,
    },
    total=False,
)
"""What a row has besides its columns: its id; of a group its number and how many are in it, of what is in one that
number; where it is on the Timeline: a stretch, a slice, what to search for, and the trace where it is not the table's;
least and greatest of the durations behind it, with how many there are in stretches between; and a shorter form of its
name."""


class NameParams(TypedDict):
    """What a table tells the cells of its first column: whether any row is on the Timeline, and of which trace."""

    linked: bool
    trace: str
    tree: bool
    """Whether it has groups."""


class Progress(TypedDict):
    """What is being read or worked out, and for how long it has been."""

    what: str
    seconds: float


class FollowedRanks(TypedDict):
    """The reading of ranks that the page follows, as far as the page shows it."""

    job: str
    version: str
    """Another whenever noticeably more is known."""
    running: bool


class RanksRead(TypedDict):
    """How far the reading of ranks is."""

    version: str
    words: str
    """Such as "16 of 1,024 ranks read"; empty once all are."""


class ChosenRows(TypedDict):
    """Rows of a table that is too long for the page, as somebody asks for them."""

    rows: list[dict[str, Any]]
    note: str
    """How many there are."""


MESSAGES: Final = (RowMarks, NameParams, Progress, FollowedRanks, RanksRead, ChosenRows)
