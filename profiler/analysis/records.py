"""What an analysis is, and what each column of its table is: one record from which all who show it take what they need.

`stepscope.profiler.analysis.report` lists them. Nothing here imports Polars.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from stepscope.profiler.analysis.facts import Facts

if TYPE_CHECKING:
    import polars as pl

Of = Literal["trace", "ranks", "changes"]
"""What an analysis is of: one trace, the traces of the ranks of one job, or two traces, one before the other."""
Format = Literal[
    "duration",
    "moment",
    "percent",
    "bytes",
    "count",
    "number",
    "identity",
    "flag",
    "text",
    "label",
    "word",
    "change",
    "change_percent",
]
"""How the values of a column are written.

Nanoseconds that something took ("duration") or at which it was, on the trace's clock ("moment"); shares in percent;
bytes; whole numbers of something ("count"), other numbers, and whole numbers that name something, of which 0 is one
("identity"); yes or no ("flag"); texts, short ones ("label"), and short ones of which underscores are shown as spaces
("word"); by how much nanoseconds changed ("change"), and by which share ("change_percent").
"""
Unit = Literal["percent", "ns", "bytes", "count"]
"""What the value of a metric is in."""


@dataclass(frozen=True)
class Column:
    """A column of an analysis' table."""

    name: str
    """As the table has it: ends in ``_ns`` for nanoseconds, ``_percent`` for shares, ``bytes`` for bytes."""
    about: str
    """What it is, in one line without a period at its end."""
    format: Format | None = None
    """How it is written; None for what its name and type say: see `Format`."""
    heading: str = ""
    """What stands above it; "" for its name in words."""
    adds_up: bool = False
    """Whether the rows add up to something: the page then shows the sum, and each row's share of it."""
    of_devices: bool = False
    """Whether it is 0 throughout where a trace has no devices: the command then leaves it out."""
    hidden: bool = False
    """Whether only files and JSON have it."""


class MetricDefinition(NamedTuple):
    """A figure that conditions of ``--fail-if`` may name."""

    name: str
    """Letters, digits and underscores."""
    unit: Unit
    """What its value is in."""
    meaning: str
    """One line."""


@dataclass(frozen=True)
class Analysis:
    """A question to traces, with the function that answers it by a table."""

    name: str
    """What ``stepscope analyze --table`` and JSON call it: lower-case letters, digits and underscores."""
    about: str
    """What its table is, in one line that begins in lower case and has no period at its end."""
    function: "Callable[..., pl.DataFrame]"
    """Makes the table. It is called with the `Facts` of a trace; of "ranks" with a mapping from rank to `Facts`,
    each of which is read when it is asked for and not kept; of
    "changes" with the `Facts` before, those after, and "step", "call" or "total" for what is compared. It is pure, its
    columns do not depend on the trace, and it imports Polars inside."""
    columns: tuple[Column, ...]
    """The table's columns, in the order of the page. Those that are not here are shown by their names."""
    of: Of = "trace"
    """What it is of."""
    title: str = ""
    """What stands above the table on the page; "" for `about`."""
    description: str = ""
    """A sentence or two beside the title."""
    empty: str = "The trace has nothing of this."
    """Why the table may have no rows, and what to do; shown where it has none."""
    note: str = ""
    """What the command says beside the table's name."""
    whole: bool = False
    """Whether the command prints all rows, however few are asked for."""
    of_devices: bool = False
    """Whether the digest leaves it out where a trace has no devices."""
    metrics: tuple[MetricDefinition, ...] = ()
    """Figures of one trace that conditions of ``--fail-if`` may name, and that the table "overview" has."""
    figures: Callable[[Facts], Mapping[str, float | None]] | None = None
    """Works out the values of `metrics` by name; None where the trace does not tell."""

    def table(self, *given: Any) -> "pl.DataFrame":
        """Return the table of what `function` takes.

        Raises:
            TypeError: the function gave something else, or a table of more than numbers, booleans and texts.
        """
        import polars as pl

        frame = self.function(*given)
        if not isinstance(frame, pl.DataFrame):
            raise TypeError(f"the analysis {self.name!r} gave a {type(frame).__name__}, not a polars.DataFrame")
        for name, dtype in frame.schema.items():
            if not (dtype.is_integer() or dtype.is_float() or dtype in (pl.Boolean, pl.String, pl.Null)):
                raise TypeError(f"the column {name!r} is of the type {dtype}, expected numbers, booleans or texts")
        return frame

    @property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @property
    def totals(self) -> tuple[str, ...]:
        """The names of the columns that add up."""
        return tuple(column.name for column in self.columns if column.adds_up)


SLICE: Final = Column("slice", "index of the slice that the row is of, or of its longest one", "identity", hidden=True)
"""In most tables whose rows are somewhere on the Timeline."""
START: Final = Column("start_ns", "since the beginning of the trace, as on the Timeline", "moment")
"""When something began."""
DEVICE: Final = Column("device", "number of the device", "identity")
STREAM: Final = Column("stream", "number of the stream", "identity")


def statistics_of(what: str) -> tuple[Column, ...]:
    """Return the columns of `stepscope.profiler.analysis.queue.statistics`; ``what`` is what they are statistics of."""
    return (
        Column("count", f"changes of {what} that are looked at"),
        Column("mean", f"mean of {what}"),
        Column("std", f"standard deviation of {what}"),
        Column("min", f"least {what}"),
        Column("p25", f"25th percentile of {what}"),
        Column("p50", f"median of {what}"),
        Column("p75", f"75th percentile of {what}"),
        Column("max", f"greatest {what}"),
    )
