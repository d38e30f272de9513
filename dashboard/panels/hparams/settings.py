"""URL parameters of the hparams panel; those that only the page reads are used in ``hparams/web``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import unquote

from stepscope.dashboard.page.state import Setting, View, choice, flag, names, text

ValueOf = Literal["last", "min", "max"]
Better = Literal["auto", "lower", "higher"]
Rows = Literal["auto", "sessions", "avg", "median", "min", "max"]
Status = Literal["running", "success", "failure", "unknown"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)


FOLDER: Final = text("hparams.folder", "")
"""First folder of the runs to use if several hold sessions: an experiment, or a log directory."""
HPARAMS: Final = names("hparams.hparams")
"""Hyperparameters shown as columns: if empty, those that differ; one empty name for none."""
METRICS: Final = names("hparams.metrics")
"""Metrics shown as columns: if empty, the declared ones or the first few; one empty name for none."""
TARGET: Final = text("hparams.target", "")
BETTER: Final = choice("hparams.better", "auto", get_args(Better))
VALUE: Final = choice("hparams.value", "last", get_args(ValueOf))
ROWS: Final = choice("hparams.rows", "auto", get_args(Rows))
"""Whether the sessions of a group form one row, and which of their values it has; "auto": means if there are groups."""
STATUS: Final = names("hparams.status")
ALLOWED: Final = names("hparams.values")
"""Values that a column may have, each as "column:value" with both percent-encoded."""
EXCLUDED: Final = names("hparams.without")
"""Values that a column may not have, in the same form."""
RANGES: Final = names("hparams.range")
"""Bounds of a column, each as "column:low:high"; either may be empty."""

CHART: Final = choice("hparams.chart", "parallel", ("parallel", "scatter", "importance", "none"))
COLOR: Final = text("hparams.color", "")
"""The column that colors lines and points; empty for the target, "@run" for the colors of the runs."""
HORIZONTAL: Final = text("hparams.x", "")
VERTICAL: Final = text("hparams.y", "")
SCALES: Final = names("hparams.scale")
"""Scales that the user chose, each as "column:log"."""
ORDER: Final = names("hparams.order")
"""Columns in the order of their axes."""
BRUSHES: Final = names("hparams.brush")
"""Brushed parts of axes, each as "column:low:high"; a category is given by its index among all."""
HEAT: Final = flag("hparams.heat", False)
SEARCH: Final = text("hparams.search", "")
SORT: Final = names("hparams.sort")
"""Columns that the table is sorted by, each as "column:asc"."""
TABLE: Final = names("hparams.table")
"""The table's columns from left to right, if they were moved; "column:left" for a pinned one."""
CONTROLS: Final = flag("hparams.controls", True)
RANKED: Final = choice("hparams.ranked", "importance", ("importance", "correlation"))

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    FOLDER, HPARAMS, METRICS, TARGET, BETTER, VALUE, ROWS, STATUS, ALLOWED, EXCLUDED,
    RANGES, CHART, COLOR, HORIZONTAL, VERTICAL, SCALES, ORDER, BRUSHES, HEAT, SEARCH, SORT, TABLE, CONTROLS, RANKED,
)  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included."""

    low: float
    high: float

    def holds(self, value: object) -> bool:
        """Return whether a value is a number between the bounds."""
        return isinstance(value, float) and self.low <= value <= self.high


@dataclass(frozen=True)
class TableRequest:
    """A request for the table: everything that the server needs from the view."""

    folder: str = ""
    hparams: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    target: str = ""
    better: Better = "auto"
    value: ValueOf = "last"
    rows: Rows = "sessions"
    status: tuple[str, ...] = ()
    allowed: tuple[tuple[str, frozenset[str]], ...] = ()
    """By column, the texts of values that pass; "" for no value."""
    excluded: tuple[tuple[str, frozenset[str]], ...] = ()
    """By column, the texts of values that do not."""
    ranges: tuple[tuple[str, Interval], ...] = ()
    search: str = ""
    """Used only if there are more sessions than a page is sent; otherwise the page searches."""
    sort: tuple[str, ...] = ()
    """Used in the same case; as in `SORT`, but with decoded names."""

    @classmethod
    def of(cls, view: View) -> "TableRequest":
        """Return the view's request; entries that cannot be parsed are left out."""
        return cls(
            FOLDER.of(view),
            HPARAMS.of(view),
            METRICS.of(view),
            TARGET.of(view),
            cast(Better, BETTER.of(view)),
            cast(ValueOf, VALUE.of(view)),
            cast(Rows, ROWS.of(view)),
            STATUS.of(view),
            tuple(parse_values(ALLOWED.of(view)).items()),
            tuple(parse_values(EXCLUDED.of(view)).items()),
            tuple(parse_ranges(RANGES.of(view)).items()),
            SEARCH.of(view),
            tuple(unquote(entry) for entry in SORT.of(view)),
        )


def parse_values(raw: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Parse entries of the form "column:value", both percent-encoded, and collect the values of each column."""
    found: dict[str, list[str]] = {}
    for column, colon, value in (entry.partition(":") for entry in raw):
        if colon:
            found.setdefault(unquote(column), []).append(unquote(value))
    return {column: frozenset(values) for column, values in found.items()}


def parse_ranges(raw: Sequence[str]) -> Mapping[str, Interval]:
    """Parse entries of the form "column:low:high"; invalid ones are left out."""
    found: dict[str, Interval] = {}
    for entry in raw:
        column, *bounds = entry.split(":")
        try:
            low, high = (float(bound) if bound else default for bound, default in zip(bounds, _OPEN, strict=True))
        except ValueError:
            continue
        if not (math.isnan(low) or math.isnan(high)):
            found[unquote(column)] = Interval(low, high)
    return found


_OPEN: Final = (-math.inf, math.inf)
