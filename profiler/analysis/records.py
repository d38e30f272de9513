"""What an analysis is, and what each column of its table is: one record that serves everything that shows it.

`stepscope.profiler.analysis.report` lists them. This module does not import Polars.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from stepscope.profiler.analysis.facts import Facts

if TYPE_CHECKING:
    import polars as pl

Of = Literal["trace", "ranks", "changes"]
"""What an analysis applies to: one trace, the traces of the ranks of one job, or two traces, before and after."""
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
"""How the values of a column are formatted.

Nanoseconds of a duration ("duration") or of a point in time on the trace's clock ("moment"); shares in percent; bytes;
whole numbers of something ("count"), other numbers, and whole numbers that identify something, where 0 is a valid one
("identity"); yes or no ("flag"); texts, short ones ("label"), and short ones whose underscores are shown as spaces
("word"); changes of nanoseconds, absolute ("change") and as a share ("change_percent").
"""
Unit = Literal["percent", "ns", "bytes", "count"]
"""The unit of a metric."""


@dataclass(frozen=True)
class Column:
    """A column of an analysis' table."""

    name: str
    """The name in the table: ends in ``_ns`` for nanoseconds, ``_percent`` for shares, ``bytes`` for bytes."""
    about: str
    """Description, in one line without a period at its end."""
    format: Format | None = None
    """How the values are formatted; None to derive it from the name and type: see `Format`."""
    heading: str = ""
    """Column header; "" for the name in words."""
    adds_up: bool = False
    """Whether a sum over the rows is meaningful: the page then shows the sum, and each row's share of it."""
    of_devices: bool = False
    """Whether the column is all 0 if a trace has no devices: the command then leaves it out."""
    hidden: bool = False
    """Whether the column is only in files and JSON."""


class MetricDefinition(NamedTuple):
    """A metric that conditions of ``--fail-if`` can name."""

    name: str
    """Letters, digits and underscores."""
    unit: Unit
    """The unit of its value."""
    meaning: str
    """Description, in one line."""


@dataclass(frozen=True)
class Analysis:
    """A question about traces, with the function that answers it with a table."""

    name: str
    """The name for ``stepscope analyze --table`` and JSON: lowercase letters, digits and underscores."""
    about: str
    """Description of the table, in one line that begins in lower case and has no period at its end."""
    function: "Callable[..., pl.DataFrame]"
    """Makes the table. It is called with the `Facts` of a trace; for "ranks", with a mapping from rank to `Facts`, each
    of which is read on access and not kept; for "changes", with the `Facts` before, those after, and "step", "call" or
    "total" for the basis of comparison. It is pure, its columns do not depend on the trace, and it imports Polars
    inside."""
    columns: tuple[Column, ...]
    """The table's columns, in the order of the page. Columns not listed here are shown by their names."""
    of: Of = "trace"
    """What the analysis applies to."""
    title: str = ""
    """Heading above the table on the page; "" for `about`."""
    description: str = ""
    """A sentence or two beside the title."""
    empty: str = "The trace has no such data."
    """Why the table may have no rows, and what to do; shown if it has none."""
    note: str = ""
    """Note printed by the command beside the table's name."""
    whole: bool = False
    """Whether the command prints all rows, however few are requested."""
    of_devices: bool = False
    """Whether the digest leaves it out if a trace has no devices."""
    metrics: tuple[MetricDefinition, ...] = ()
    """Metrics of one trace that conditions of ``--fail-if`` can name, and that are in the table "overview"."""
    figures: Callable[[Facts], Mapping[str, float | None]] | None = None
    """Computes the values of `metrics` by name; None if the trace does not provide them."""

    def table(self, *given: Any) -> "pl.DataFrame":
        """Return the table, given the arguments of `function`.

        Raises:
            TypeError: the function returned something else, a table without one of the columns, or one of more than
                numbers, booleans and texts.
        """
        import polars as pl

        frame = self.function(*given)
        if not isinstance(frame, pl.DataFrame):
            raise TypeError(f"the analysis {self.name!r} gave a {type(frame).__name__}, not a polars.DataFrame")
        missing = [column.name for column in self.columns if column.name not in frame.columns]
        if frame.columns and missing:
            raise TypeError(f"the table has no column {missing[0]!r}, only {', '.join(map(repr, frame.columns))}")
        for name, dtype in frame.schema.items():
            if not (dtype.is_integer() or dtype.is_float() or dtype in (pl.Boolean, pl.String, pl.Null)):
                raise TypeError(f"the column {name!r} is of the type {dtype}, expected numbers, booleans or strings")
        return frame

    @property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @property
    def totals(self) -> tuple[str, ...]:
        """The names of the columns that add up."""
        return tuple(column.name for column in self.columns if column.adds_up)


SLICE: Final = Column("slice", "index of the row's slice, or of its longest one", "identity", hidden=True)
"""Column of most tables whose rows are somewhere on the Timeline."""
START: Final = Column("start_ns", "time since the beginning of the trace, as on the Timeline", "moment")
"""Column with the start of something."""
DEVICE: Final = Column("device", "number of the device", "identity")
STREAM: Final = Column("stream", "number of the stream", "identity")


def statistics_of(what: str) -> tuple[Column, ...]:
    """Return the columns of `stepscope.profiler.analysis.queue.statistics` for a quantity that ``what`` names."""
    return (
        Column("count", f"number of changes of {what}"),
        Column("mean", f"mean of {what}"),
        Column("std", f"standard deviation of {what}"),
        Column("min", f"least {what}"),
        Column("p25", f"25th percentile of {what}"),
        Column("p50", f"median of {what}"),
        Column("p75", f"75th percentile of {what}"),
        Column("max", f"greatest {what}"),
    )
