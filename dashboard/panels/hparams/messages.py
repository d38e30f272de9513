"""What the page is told of sessions, as JSON; its types of it are made from these."""

from typing import Final, Literal, TypedDict

from stepscope.dashboard.panels.hparams.settings import Status


class Column(TypedDict):
    """A hyperparameter or a metric, and texts of its values: the first 200 of ``count``."""

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
    """A session, or a group of them; numbers that JSON has not are texts."""

    id: str
    runs: tuple[str, ...]
    group: str
    n: int
    """How many sessions it stands for."""
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
    """Of a group with means, by metric, the standard deviations."""
    several: dict[str, str]
    """Of a group, by column, the values in which its sessions differ."""


class SentTable(TypedDict):
    """What the panel shows."""

    all: list[Column]
    columns: list[str]
    """Keys of those that are shown."""
    constant: list[tuple[str, str]]
    """Hyperparameters that are the same everywhere: name and text."""
    target: str
    lower: bool
    """Whether lower values of the target are better."""
    rows: list[SentRow]
    sessions: int
    passing: int
    whole_table: bool
    """Whether ``rows`` are all; else the page neither sorts nor searches them."""
    listed: int
    """So many of them, from the first, stand in the table; charts draw the others too."""
    all_rows: int
    found: int
    """How many of all rows the search finds, where the server searches."""
    loading: bool
    """The first look at the log directory is under way: more may come."""
    statuses: dict[Status, int]
    groups: int
    folders: list[str]
    palette: list[tuple[str, str]]
    """Colors for the light and the dark scheme."""
    folder: str


class SentDensity(TypedDict):
    """The header of the counts of all sessions on pairs of columns."""

    sessions: int
    ends: dict[str, tuple[float, float]]
    """By column of numbers, the least and the greatest."""


MESSAGES: Final = (SentTable, SentDensity)
