"""JSON messages about a profile besides its figures; the page's types are generated from these classes."""

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
"""Fields of a row besides its columns: its id; a group's number and size, or the group's number for a row in it; the
place on the Timeline: a range, a slice, a search text, and the trace if it is not the table's; the minimum and maximum
of the durations behind it, followed by their counts in the intervals between; and a shorter form of its name."""


class NameParams(TypedDict):
    """Parameters for the cells of a table's first column: whether any row is on the Timeline, and of which trace."""

    linked: bool
    trace: str
    tree: bool
    """Whether it has groups."""


class Progress(TypedDict):
    """What is being read or computed, and for how long."""

    what: str
    seconds: float


class FollowedRanks(TypedDict):
    """The reading of ranks that the page follows, as far as the page shows it."""

    job: str
    version: str
    """Changes whenever noticeably more is known."""
    running: bool


class RanksRead(TypedDict):
    """Progress of reading ranks."""

    version: str
    words: str
    """For example "16 of 1,024 ranks read"; empty once all are read."""


class ChosenRows(TypedDict):
    """Requested rows of a table that is too long for the page."""

    rows: list[dict[str, Any]]
    note: str
    """The number of rows, as text."""


MESSAGES: Final = (RowMarks, NameParams, Progress, FollowedRanks, RanksRead, ChosenRows)
