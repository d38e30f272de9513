"""The rows of a table as sent to the grid; keys that begin with "@" are for ``profile/web``."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stepscope.dashboard.panels.profile.messages import RowMarks
from stepscope.dashboard.panels.profile.table import (
    FIRST_ROWS,
    MOST_LETTERS,
    MOST_ROWS,
    Groups,
    Places,
    RowNumbers,
    Table,
)
from stepscope.dashboard.panels.profile.texts import short_names
from stepscope.profiler.analysis.members import Histograms
from stepscope.profiler.analysis.report import plain
from stepscope.summary.counts import counted

if TYPE_CHECKING:
    import polars as pl


def totals(table: Table) -> dict[str, float]:
    """Return the sums of the additive columns, over all rows of the table and not just those that the page gets."""
    import polars as pl

    found = table.frame.select(pl.col(name).sum() for name in table.totals if name in table.frame.columns)
    return next(iter(found.to_dicts()), {})


def rows(table: Table) -> list[dict[str, Any]]:
    """Return the first rows of the grid, with groups before their members.

    The row to select is always among them, wherever it is in the table.
    """
    numbers = list(range(min(len(table.frame), FIRST_ROWS if table.is_cut else MOST_ROWS)))
    if table.chosen is not None and table.chosen >= len(numbers):
        numbers.append(table.chosen)
    found = numbered_rows(table, numbers)
    return found if table.groups is None else list(_grouped(table, table.groups, found))


def numbered_rows(table: Table, numbers: RowNumbers) -> list[dict[str, Any]]:
    """Return some rows as sent to the grid.

    Moments are relative to the trace's start; long texts are cut and then end in "…".
    """
    spread = None if table.spread is None else table.spread(numbers)
    found = _written(table, table.frame[numbers], table.at(numbers), spread)
    return [_marked(row, {"@row": str(number)}) for number, row in zip(numbers, found, strict=True)]


def _written(table: Table, frame: "pl.DataFrame", at: Places, spread: Histograms | None) -> list[dict[str, Any]]:
    import polars as pl

    moments = [name for name in frame.columns if name in table.moments]
    found = plain(frame.with_columns(pl.col(moments) - table.start_ns))
    names = [row[table.first] for row in found] if frame.schema[table.first] == pl.String and not table.tree else []
    short = short_names([name or "" for name in names])
    for number, row in enumerate(found):
        marks: RowMarks = {}
        if short and short[number] != names[number]:
            marks["@short"] = short[number][:MOST_LETTERS]
        place = at[number] if number < len(at) else None
        if place is not None:
            marks["@at"] = place.range
            if place.trace:
                marks["@trace"] = place.trace
            if place.slice >= 0:
                marks["@slice"] = place.slice
            # In most rows, it is the row's own text anyway.
            if place.search != row[table.first] and not place.trace:
                marks["@search"] = place.search
        if spread is not None and number < len(spread.counts):
            counts = spread.counts[number]
            if counts.sum() > 1:
                low, high = float(spread.low_ns[number]), float(spread.high_ns[number])
                marks["@spread"] = [round(low, 1), round(high, 1), *counts.tolist()]
        for name, value in row.items():
            if isinstance(value, str) and len(value) > MOST_LETTERS:
                row[name] = value[:MOST_LETTERS] + "…"
        found[number] = _marked(row, marks)
    return found


def _marked(row: Mapping[str, Any], marks: RowMarks) -> dict[str, Any]:
    return {**row, **marks}


def _grouped(table: Table, groups: Groups, rows_of_table: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each group and its members; a group of one is replaced by its member, unless groups of one are wanted."""
    inside: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of_table:
        inside.setdefault(groups.of[int(row["@row"])], []).append(row)
    sizes = np.bincount(np.array(groups.of, np.int64), minlength=len(groups.frame)).tolist()
    for number, row in enumerate(_written(table, groups.frame.head(MOST_ROWS), groups.at, groups.spread)):
        members = inside.get(number, [])
        if sizes[number] == 1 and members and not groups.alone:
            yield members[0]
            continue
        yield _marked(row, {"@row": f"group {number}", "@group": number, "@size": sizes[number]})
        for member in members:
            yield _marked(member, {"@in": number})


def chosen_id(table: Table) -> str:
    """Return the "@row" of the row selected when the page opens, or of its group if that has the row's name."""
    if table.chosen is None:
        return ""
    groups = table.groups
    if groups is not None and (groups.alone or groups.of.count(groups.of[table.chosen]) > 1):
        group = groups.of[table.chosen]
        name = table.frame[table.first][table.chosen]
        if group < MOST_ROWS and groups.frame[table.first][group] == name:
            return f"group {group}"
    return str(table.chosen)


def total_row(table: Table) -> list[dict[str, Any]]:
    """Return the row of sums at the bottom; none if nothing adds up or there is only one row."""
    import polars as pl

    sums = totals(table)
    if not sums or len(table.frame) < 2:
        return []
    words = total_words(table) if table.frame.schema[table.first] == pl.String else "Total"
    return [_marked({table.first: words, **sums}, {"@row": "total"})]


def total_words(table: Table) -> str:
    """Return the label of the sums of a table whose rows have names."""
    return f"Total of {len(table.frame):,} rows"


def size_note(table: Table) -> str:
    """Return the number of rows, as text."""
    words = counted(len(table.frame), "row")
    return words if table.groups is None else f"{words} in {counted(len(table.groups.frame), 'group')}"


def cut_note(table: Table) -> str:
    """Return which rows the page does not get, and where they are; empty if it gets all."""
    if table.is_cut:
        return found_note(table, len(table.frame))
    if len(table.frame) <= MOST_ROWS:
        return ""
    return f"The first {MOST_ROWS:,} of {len(table.frame):,} rows; the download contains all rows."


def found_note(table: Table, found: int) -> str:
    """Return how many rows of a cut table are found, and which of them the page gets."""
    which = f"The first {FIRST_ROWS:,} of " if found > FIRST_ROWS else ""
    of = f"{counted(found, 'row')} found among {len(table.frame):,}" if found < len(table.frame) else f"{found:,} rows"
    return f"{which}{of}; sorting, search and filters apply to all rows; the download contains all rows."
