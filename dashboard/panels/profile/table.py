"""Tables of the panel: the rows of an analysis, their places on the Timeline, and their grouping."""

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
"""Number of rows up to which the page gets all; files always have all rows."""
FIRST_ROWS: Final = 1_000
"""Number of rows that it gets of a longer table at once: the first in the requested order and search."""
MOST_LETTERS: Final = 2_000
"""Maximum length of one text; files have the whole text."""
NAMES: Final = ("name", "operator", "frame", "module")
"""Columns that identify a row, if a table has one of them: it comes first, with the link to the Timeline."""


class Place(NamedTuple):
    """A place on the Timeline, in nanoseconds since the trace's start."""

    start: int
    end: int
    slice: int = -1
    """The slice to select there; -1 for none."""
    search: str = ""
    """The name whose slices are highlighted there; empty for none."""
    trace: str = ""
    """Id of the trace, if it differs from that of the table."""

    @property
    def range(self) -> str:
        """The range in the format of the Timeline's setting."""
        return f"{self.start}:{self.end}"


Places = tuple[Place | None, ...]
RowNumbers = Sequence[int]


def nowhere(numbers: RowNumbers) -> Places:
    """Return None for every row."""
    return (None,) * len(numbers)


@dataclass(frozen=True)
class Groups:
    """Rows that each represent several rows of a table."""

    frame: "pl.DataFrame"
    """The columns of the table that groups have, one row per group."""
    of: tuple[int, ...]
    """For each row of the table, the group that it is in."""
    at: Places = ()
    spread: Histograms | None = None
    alone: bool = False
    """Whether a group of one row is still shown as a group."""


@dataclass(frozen=True)
class Table:
    """A table for the panel."""

    name: str
    title: str
    frame: "pl.DataFrame"
    empty: str
    """Why it has no rows, and what to do; shown if it has none."""
    about: str = ""
    totals: tuple[str, ...] = ()
    """Columns whose values are additive."""
    at: Callable[[RowNumbers], Places] = nowhere
    """Returns the places of some rows on the Timeline, by their numbers."""
    trace: str = ""
    """Id of the trace that ``at`` refers to."""
    start_ns: int = 0
    """The trace's start."""
    bars: bool = True
    """Whether additive columns show each row's share of the sum."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    """Descriptions of columns, by name; those of other columns follow from their names and types."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have, in addition to those that are always hidden."""
    tree: bool = False
    """Whether the rows form an ordered tree, by their "depth"."""
    spread: Callable[[RowNumbers], Histograms] | None = None
    """Returns the distributions of the durations behind some rows, by their numbers."""
    groups: Groups | None = None
    named_by: str = ""
    """The column that identifies a row, if it is not the one that `first` finds."""
    chosen: int | None = None
    """The row that is selected when the page opens."""
    failure: str = ""
    """What failed, if another distribution's analysis makes no table: a sentence that names it."""
    fail: Callable[[BaseException], object] | None = None
    """Records that the table of another distribution cannot be shown, and returns a sentence that names it."""

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
        """Whether the page gets only some of the rows, in the requested order and search.

        Of groups and trees it always gets only the first, since sorting keeps related rows together.
        """
        return len(self.frame) > MOST_ROWS and self.groups is None and not self.tree

    @cached_property
    def first(self) -> str:
        """The column that identifies a row."""
        import polars as pl

        if self.named_by:
            return self.named_by
        texts = [name for name, dtype in self.frame.schema.items() if dtype == pl.String]
        return next((name for name in NAMES if name in texts), next(iter(texts), self.frame.columns[0]))


def row_named(table: Table, name: str) -> int | None:
    """Return the number of the first row with a name; None if there is none."""
    import polars as pl

    if not name or table.frame.is_empty() or table.frame.schema[table.first] != pl.String:
        return None
    found = (table.frame[table.first] == name).arg_max()
    return found if found is not None and table.frame[table.first][found] == name else None


def around(start: int, end: int) -> tuple[int, int]:
    """Return a range with a margin on both sides, so that its surroundings are visible."""
    room = max((end - start) // 2, 1_000)
    return start - room, end + room


def places_of(frame: "pl.DataFrame", start: str, length: str, origin: int) -> Places:
    """Return the places of rows that have a start and a length themselves."""
    pairs: Sequence[tuple[int, int]] = list(zip(frame[start].to_list(), frame[length].to_list(), strict=True))
    return tuple(Place(*around(begin - origin, begin - origin + took)) for begin, took in pairs)
