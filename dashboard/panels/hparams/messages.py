"""JSON messages about sessions; the page's types are generated from these classes."""

from typing import Final, Literal, TypedDict

from stepscope.dashboard.panels.hparams.settings import Status


class Column(TypedDict):
    """A hyperparameter or metric, and the texts of its values: the first 200 of ``count``."""

    key: str
    label: str
    about: str
    kind: Literal["hparam", "metric"]
    type: Literal["number", "text"]
    shown: bool
    constant: bool
    values: tuple[str, ...]
    count: int


class SentRow(TypedDict):
    """A session or a group of sessions; numbers that JSON cannot represent are strings."""

    id: str
    runs: tuple[str, ...]
    group: str
    n: int
    """Number of sessions in the row."""
    status: Status
    start: float | str
    duration: float | str | None
    light: str
    dark: str
    v: list[float | str | None]
    """A value for each shown column."""
    s: list[int | None]
    """The steps of metrics."""
    deviations: dict[str, float | str]
    """For a group with means, the standard deviations by metric."""
    several: dict[str, str]
    """For a group, by column, the values in which its sessions differ."""


class SentTable(TypedDict):
    """The table that the panel shows."""

    all: list[Column]
    columns: list[str]
    """Keys of the shown columns."""
    constant: list[tuple[str, str]]
    """Hyperparameters with the same value everywhere: name and text."""
    target: str
    lower: bool
    """Whether lower values of the target are better."""
    rows: list[SentRow]
    sessions: int
    passing: int
    whole_table: bool
    """Whether ``rows`` has all rows; otherwise the page neither sorts nor searches them."""
    listed: int
    """Number of ``rows``, from the first, that the table lists; charts draw the others too."""
    all_rows: int
    found: int
    """Number of all rows that the search finds, if the server searches."""
    loading: bool
    """Whether the log directory is still being read for the first time: more may come."""
    statuses: dict[Status, int]
    groups: int
    folders: list[str]
    palette: list[tuple[str, str]]
    """Colors for the light and the dark scheme."""
    folder: str


class SentDensity(TypedDict):
    """Header of the counts of all sessions over pairs of columns."""

    sessions: int
    ends: dict[str, tuple[float, float]]
    """By numeric column, the minimum and the maximum."""


MESSAGES: Final = (SentTable, SentDensity)
