"""``stepscope ls``: list the runs of a log directory."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepscope.dashboard.cli.reading import (
    add_directories,
    add_keep_superseded,
    directories,
    printable,
    read_logdir,
    standard_output,
)
from stepscope.dashboard.cli.text_tables import LEAST_TEXT, column_parts
from stepscope.dashboard.server.numbers import count, file_size, json_number
from stepscope.summary.errors import UserError
from stepscope.summary.snapshot import Snapshot

Row = dict[str, Any]

_RUN_COLUMNS: Final = (
    "run",
    "tags",
    "points",
    "last_step",
    "start",
    "duration",
    "size",
    "superseded",
    "writers",
    "damages",
)
_TAG_COLUMNS: Final = ("run", "tag", "kind", "points", "last_step", "start", "duration", "superseded", "writers")

_NAMES: Final = ("run", "tag")
"""Columns of any width, whose texts take several lines if a terminal is too narrow for them."""
_USUAL: Final[Mapping[str, int]] = MappingProxyType({"superseded": 0, "writers": 1, "damages": 0})
"""Columns that a terminal shows only if they contain another value than this one."""


class ListRunsVerb:
    """Lists the runs, or the tags of each."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directory, what to list from it, and the order."""
        add_directories(parser)
        parser.add_argument("--tags", action="store_true", help="list the tags of each run")
        parser.add_argument(
            "--sort",
            choices=sorted({*_RUN_COLUMNS, *_TAG_COLUMNS}),
            help="column to sort by (default: when runs began, or when tags first appeared)",
        )
        parser.add_argument("--reverse", action="store_true", help="reverse the order")
        parser.add_argument("--json", action="store_true", help="print JSON, with times and durations in seconds")
        add_keep_superseded(parser)

    def run(self, arguments: Namespace) -> int:
        """Print the list: as a table on a terminal, elsewhere with tabs between the columns.

        Raises:
            UserError: there is no such log directory, or no such column to sort by.
        """
        columns = _TAG_COLUMNS if arguments.tags else _RUN_COLUMNS
        if arguments.sort is not None and arguments.sort not in columns:
            with_or_without = "with" if arguments.tags else "without"
            raise UserError(f"--sort is {arguments.sort}; expected, {with_or_without} --tags, {', '.join(columns)}")
        given = directories(arguments)
        snapshot = read_logdir(given, keep_superseded=arguments.keep_superseded)
        rows = _tag_rows(snapshot) if arguments.tags else snapshot.runs_frame().to_dicts()
        if not rows:
            # The output itself stays as programs expect it.
            print(f"No {'tags' if arguments.tags else 'runs'} in {', '.join(given)}.", file=sys.stderr)
        _sort(rows, arguments.sort, reverse=arguments.reverse)
        with standard_output() as stream:
            if arguments.json:
                stream.write(_json(rows, columns))
            elif not sys.stdout.isatty():
                stream.write(_lines(rows, columns).encode())
            elif rows:
                console = Console(highlight=False)
                for number, table in enumerate(_tables(rows, columns, console.width)):
                    if number:
                        console.print()
                    console.print(table)
        return 0


def _tag_rows(snapshot: Snapshot) -> list[Row]:
    rows = snapshot.summaries().to_dicts()
    for row in rows:
        first, last = row.pop("first_wall_time"), row.pop("last_wall_time")
        row["start"] = first
        row["duration"] = None if first is None else last - first
    return rows


def _sort(rows: list[Row], column: str | None, *, reverse: bool) -> None:
    """Sort in place; unknown values come last in either order."""
    if column is None:
        if reverse:
            rows.reverse()
        return
    rows.sort(key=lambda row: 0 if row[column] is None else row[column], reverse=reverse)
    rows.sort(key=lambda row: row[column] is None)


def _json(rows: Sequence[Row], columns: Sequence[str]) -> bytes:
    content = [
        {column: json_number(row[column]) if isinstance(row[column], float) else row[column] for column in columns}
        for row in rows
    ]
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _lines(rows: Sequence[Row], columns: Sequence[str]) -> str:
    lines = [columns, *([_plain(row[column], column) for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def _tables(rows: Sequence[Row], columns: Sequence[str], width: int) -> list[Table]:
    """Return the table, in several parts if a line cannot hold all columns; each part begins with the run."""
    shown = [column for column in columns if any(row[column] != _USUAL.get(column) for row in rows)]
    cells = {column: [_cell(row[column], column) for row in rows] for column in shown}
    least = []
    for column in shown:
        longest = max(cell_len(column), *(cell.cell_len for cell in cells[column]))
        least.append(min(longest, LEAST_TEXT) if column in _NAMES else longest)
    return [
        _table({shown[each]: cells[shown[each]] for each in part}, [least[each] for each in part])
        for part in column_parts(least, width)
    ]


def _table(cells: Mapping[str, Sequence[Text]], least: Sequence[int]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, size in zip(cells, least, strict=True):
        if column in _NAMES:
            table.add_column(column, overflow="fold", min_width=size)
        else:
            is_word = column == "kind"
            table.add_column(column.replace("_", " "), justify="left" if is_word else "right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _cell(value: Any, column: str) -> Text:
    return Text(_shown(value, column), style="red" if value != _USUAL.get(column, value) else "")


def _shown(value: Any, column: str) -> str:
    if value is None:
        return "-"
    return _SHOWN.get(column, count if isinstance(value, int) else printable)(value)


def _plain(value: Any, column: str) -> str:
    if value is None:
        return ""
    if column == "start":
        return _date(value)
    return printable(str(value))


def _date(seconds: float) -> str:
    """Return a date in local time with its UTC offset; the number itself if it is outside the calendar."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _minute(seconds: float) -> str:
    return _date(seconds)[: len("2026-01-31 12:34")]


def _duration(seconds: float) -> str:
    try:
        return str(timedelta(seconds=round(seconds)))
    except (ValueError, OverflowError):
        return str(seconds)


_SHOWN: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {"start": _minute, "duration": _duration, "size": file_size}
)
