"""Rows of a table that is too long for the page, in the requested order and with the requested search and filters.

Order, search and filters work as in AG Grid, which handles shorter tables in the browser: a missing value sorts as the
minimum, each word of a search occurs somewhere in a row's texts, and comparisons of texts ignore case.
"""

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated, Final, Literal, assert_never

import msgspec

from stepscope.dashboard.panels.profile.columns import format_of
from stepscope.dashboard.panels.profile.table import FIRST_ROWS, Table

if TYPE_CHECKING:
    import polars as pl

MOST_LETTERS_ASKED: Final = 1_000
_MOST_COLUMNS: Final = 100
_MOST_CONDITIONS: Final = 10
_NUMBER: Final = "@number"

Asked = Annotated[str, msgspec.Meta(max_length=MOST_LETTERS_ASKED)]
TextTest = Literal["contains", "notContains", "equals", "notEqual", "startsWith", "endsWith", "blank", "notBlank"]
NumberTest = Literal[
    "equals",
    "notEqual",
    "lessThan",
    "lessThanOrEqual",
    "greaterThan",
    "greaterThanOrEqual",
    "inRange",
    "blank",
    "notBlank",
]


class TextCondition(msgspec.Struct, tag_field="filterType", tag="text"):
    """The condition for texts of a column to pass: one test, or several joined ones."""

    type: TextTest | None = None
    filter: Asked | None = None
    operator: Literal["AND", "OR"] = "AND"
    conditions: Annotated[list["TextCondition"], msgspec.Meta(max_length=_MOST_CONDITIONS)] = []


class NumberCondition(msgspec.Struct, tag_field="filterType", tag="number", rename="camel"):
    """The condition for numbers of a column to pass: one test, or several joined ones."""

    type: NumberTest | None = None
    filter: float | None = None
    filter_to: float | None = None
    operator: Literal["AND", "OR"] = "AND"
    conditions: Annotated[list["NumberCondition"], msgspec.Meta(max_length=_MOST_CONDITIONS)] = []


Condition = TextCondition | NumberCondition


class Order(msgspec.Struct, rename="camel"):
    """A column that rows are ordered by."""

    col_id: Asked
    sort: Literal["asc", "desc"]


class Chosen(msgspec.Struct):
    """The request for rows of a table, in AG Grid's terms."""

    order: Annotated[list[Order], msgspec.Meta(max_length=_MOST_COLUMNS)] = []
    """The most important column first."""
    search: Asked = ""
    filters: Annotated[dict[Asked, Condition], msgspec.Meta(max_length=_MOST_COLUMNS)] = {}


def chosen_rows(table: Table, chosen: Chosen) -> tuple[list[int], int]:
    """Return the numbers of the first requested rows, in order, and the number of rows found.

    Columns that the table does not have, and filters that do not suit a column's type, are ignored.
    """
    import polars as pl

    schema = table.frame.schema
    keep = [_holds(table, word) for word in chosen.search.lower().split()]
    for name, condition in chosen.filters.items():
        if name in schema:
            parts = condition.conditions or [condition]
            passing = [_passes(table, name, part) for part in parts if _fits(schema[name], part)]
            keep += [reduce(and_ if condition.operator == "AND" else or_, passing)] if passing else []
    order = [each for each in chosen.order if each.col_id in schema]
    rows = table.frame.lazy().with_row_index(_NUMBER)
    if keep:
        rows = rows.filter(keep)
    descending = [each.sort == "desc" for each in order]
    first = rows
    if order:
        keys = [_key(table, each.col_id) for each in order]
        first = rows.sort(keys, descending=descending, nulls_last=descending, maintain_order=True)
    numbers, count = pl.collect_all([first.select(_NUMBER).head(FIRST_ROWS), rows.select(pl.len())])
    return numbers[_NUMBER].to_list(), int(count.item())


def _key(table: Table, name: str) -> "pl.Expr":
    """Return the sort key of a column; changes are sorted by their magnitude."""
    import polars as pl

    return pl.col(name).abs() if format_of(table, name) == "change" else pl.col(name)


def _holds(table: Table, word: str) -> "pl.Expr":
    """Return whether a row's texts contain a lowercase word."""
    import polars as pl

    texts = [name for name, dtype in table.frame.schema.items() if dtype == pl.String]
    # If rows are identified by a number, users search for that number.
    searched = [pl.col(name).cast(pl.String) for name in dict.fromkeys([table.first, *texts])]
    return pl.any_horizontal(
        [text.fill_null("").str.to_lowercase().str.contains(word, literal=True) for text in searched]
    )


def _fits(dtype: "pl.DataType", condition: Condition) -> bool:
    import polars as pl

    return dtype in (pl.String, pl.Boolean) if isinstance(condition, TextCondition) else dtype.is_numeric()


def _passes(table: Table, name: str, condition: Condition) -> "pl.Expr":
    import polars as pl

    column = pl.col(name)
    if isinstance(condition, TextCondition):
        return _text_passes(column, condition)
    # The page counts moments from the trace's beginning.
    since = table.start_ns if name in table.moments else 0
    return _number_passes(column, condition, since)


def _text_passes(column: "pl.Expr", condition: TextCondition) -> "pl.Expr":
    import polars as pl

    text = column.cast(pl.String).fill_null("").str.to_lowercase()
    asked = (condition.filter or "").lower()
    match condition.type:
        case "contains":
            return text.str.contains(asked, literal=True)
        case "notContains":
            return ~text.str.contains(asked, literal=True)
        case "equals":
            return text == asked
        case "notEqual":
            return text != asked
        case "startsWith":
            return text.str.starts_with(asked)
        case "endsWith":
            return text.str.ends_with(asked)
        case "blank":
            return text == ""
        case "notBlank":
            return text != ""
        case None:
            return pl.lit(value=True)
        case _:
            assert_never(condition.type)


def _number_passes(column: "pl.Expr", condition: NumberCondition, since: int) -> "pl.Expr":
    import polars as pl

    low, high = (
        pl.lit(None if end is None else end + since, pl.Float64) for end in (condition.filter, condition.filter_to)
    )
    found: pl.Expr
    match condition.type:
        case "equals":
            found = column == low
        case "notEqual":
            return (column != low).fill_null(value=True)
        case "lessThan":
            found = column < low
        case "lessThanOrEqual":
            found = column <= low
        case "greaterThan":
            found = column > low
        case "greaterThanOrEqual":
            found = column >= low
        case "inRange":
            found = (column > low) & (column < high)
        case "blank":
            return column.is_null()
        case "notBlank":
            return column.is_not_null()
        case None:
            return pl.lit(value=True)
        case _:
            assert_never(condition.type)
    return found.fill_null(value=False)
