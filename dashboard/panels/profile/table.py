"""What a table of the panel is: an analysis' rows, where each is on the Timeline, and how they are grouped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from stepscope.dashboard.traces.headings import MOMENTS
from stepscope.profiler.analysis.members import Histograms
from stepscope.profiler.analysis.records import Column

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS: Final = 5_000
"""Rows up to which the page gets all; a file has them in any case."""
FIRST_ROWS: Final = 1_000
"""Rows that it gets of a longer table at once, the first in the order and of the search that somebody asks for."""
MOST_LETTERS: Final = 2_000
"""Of one text; a file has it whole."""
NAMES: Final = ("name", "operator", "frame", "module")
"""What a row is of, where a table has it: the first column, with the way to the Timeline."""


class Place(NamedTuple):
    """Where something is on the Timeline, in nanoseconds since the trace's beginning."""

    start: int
    end: int
    slice: int = -1
    """The slice that is selected there; -1 for none."""
    search: str = ""
    """The name whose slices are all highlighted there; empty for none."""
    trace: str = ""
    """Id of the trace, where it is not that of the table."""

    @property
    def range(self) -> str:
        """As the Timeline's setting has it."""
        return f"{self.start}:{self.end}"


Places = tuple[Place | None, ...]
RowNumbers = Sequence[int]


def nowhere(numbers: RowNumbers) -> Places:
    """Return no place for any row."""
    return (None,) * len(numbers)


@dataclass(frozen=True)
class Groups:
    """Rows that stand for several rows of a table each."""

    frame: "pl.DataFrame"
    """Those columns of the table that groups have, one row per group."""
    of: tuple[int, ...]
    """For each row of the table the group that it is in."""
    at: Places = ()
    spread: Histograms | None = None
    alone: bool = False
    """Whether a group of one row is shown as a group all the same."""


@dataclass(frozen=True)
class Table:
    """A table for the panel."""

    name: str
    title: str
    frame: "pl.DataFrame"
    empty: str
    """Why it has no rows, and what to do; shown where it has none."""
    about: str = ""
    totals: tuple[str, ...] = ()
    """Columns whose rows add up to something."""
    at: Callable[[RowNumbers], Places] = nowhere
    """Gives what shows some rows on the Timeline, by their numbers."""
    trace: str = ""
    """Id of the trace that ``at`` is of."""
    start_ns: int = 0
    """The trace's beginning."""
    bars: bool = True
    """Whether what adds up shows each row's share of the sum."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    """What is known of the columns, by name; the others are what their names and types say."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have, besides those that are always hidden."""
    tree: bool = False
    """Whether the rows are a tree in order, by their "depth"."""
    spread: Callable[[RowNumbers], Histograms] | None = None
    """Gives how the durations behind each of some rows are distributed, by their numbers."""
    groups: Groups | None = None
    named_by: str = ""
    """The column that says what a row is of, where it is not as `first` finds."""
    chosen: int | None = None
    """The row that is selected when the page opens."""

    @cached_property
    def moments(self) -> tuple[str, ...]:
        """The columns that are points in time; all other times are durations."""
        known = {name for name, column in self.columns.items() if column.format is not None}
        return tuple(
            name
            for name, dtype in self.frame.schema.items()
            if dtype.is_numeric() and (self.columns[name].format == "moment" if name in known else name in MOMENTS)
        )

    @property
    def is_cut(self) -> bool:
        """Whether the page gets some of its rows, in the order and of the search that somebody asks for.

        Of groups and trees it gets the first alone, as sorting keeps what belongs together.
        """
        return len(self.frame) > MOST_ROWS and self.groups is None and not self.tree

    @cached_property
    def first(self) -> str:
        """The column that says what a row is of."""
        import polars as pl

        if self.named_by:
            return self.named_by
        texts = [name for name, dtype in self.frame.schema.items() if dtype == pl.String]
        return next((name for name in NAMES if name in texts), next(iter(texts), self.frame.columns[0]))


def row_named(table: Table, name: str) -> int | None:
    """Return the number of the first row that is of a name; None where there is none."""
    import polars as pl

    if not name or table.frame.is_empty() or table.frame.schema[table.first] != pl.String:
        return None
    found = (table.frame[table.first] == name).arg_max()
    return found if found is not None and table.frame[table.first][found] == name else None


def around(start: int, end: int) -> tuple[int, int]:
    """Return a stretch with some room on both sides, so that one sees what it lies among."""
    room = max((end - start) // 2, 1_000)
    return start - room, end + room


def places_of(frame: "pl.DataFrame", start: str, length: str, origin: int) -> Places:
    """Return where rows are that have a start and a length themselves."""
    pairs: Sequence[tuple[int, int]] = list(zip(frame[start].to_list(), frame[length].to_list(), strict=True))
    return tuple(Place(*around(begin - origin, begin - origin + took)) for begin, took in pairs)
