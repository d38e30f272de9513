"""Metadata files: labels of the points, as lines of columns by TensorBoard's rule or as another table."""

import csv
import io
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.columns import column_of_numbers, column_of_texts, unnamed_twice
from stepscope.dashboard.embeddings.dataset import Column, Problem
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted
from stepscope.summary.memory_budget import TooLargeError, claim
from stepscope.summary.vector_table_rules import VectorTableError
from stepscope.summary.vector_tables import TableColumn, read_table

MOST_COLUMNS: Final = 1_000
_TEXT_BYTES: Final = 60
"""Memory overhead of a text, without its characters."""
ONE_COLUMN: Final = "label"
"""The name of the column if a file has only one and therefore no header."""


def read_metadata_file(
    content: bytes, name: str, row_count: int, rows: NDArray[np.int64]
) -> tuple[list[Column], list[Problem]]:
    """Return the columns of a metadata file, for the displayed points.

    A single column has no header, several have one: TensorBoard's rule, unless the number of lines indicates otherwise.
    If there are too few lines, the last points have no values; extra lines are ignored.

    Args:
        content: content of the file: text with tabs, CSV (``.csv``), JSON lines, Parquet or Arrow, by its extension.
        name: name of the file.
        row_count: number of rows in the file with the points.
        rows: int64 [n]: the rows that are displayed.

    Returns:
        The columns, one value per point, and the problems.
    """
    try:
        claim(2 * len(content) + _TEXT_BYTES * sum(map(content.count, (b"\n", b"\t", b","))))
        match PurePosixPath(name).suffix.lower():
            case ".parquet" | ".arrow" | ".feather" | ".jsonl" | ".ndjson":
                return _of_table(read_table(content, name), name, row_count, rows)
            case ".csv":
                lines = _csv_lines(content, row_count)
            case _:
                lines = [line.split("\t") for line in _lines(content)]
    except (VectorTableError, TooLargeError, csv.Error) as error:
        return [], [Problem("metadata", f"The metadata cannot be read: {error}", 1)]
    return _of_lines(lines, name, row_count, rows)


def _of_lines(
    lines: list[list[str]], name: str, row_count: int, rows: NDArray[np.int64]
) -> tuple[list[Column], list[Problem]]:
    if not lines:
        return [], [Problem("metadata", f"The metadata file {name} is empty.", 1)]
    problems: list[Problem] = []
    names, lines = _header(lines, row_count, problems)
    if len(names) > MOST_COLUMNS:
        problems.append(Problem("metadata", f"Only the first {count(MOST_COLUMNS)} columns are shown.", len(names)))
        names = names[:MOST_COLUMNS]
    odd = sum(len(line) != len(names) for line in lines) if len(names) < MOST_COLUMNS else 0
    if odd:
        message = (
            f"{counted(odd, 'metadata line')} {'does' if odd == 1 else 'do'} not have {counted(len(names), 'column')}: "
            "missing cells are left empty, extra ones are ignored."
        )
        problems.append(Problem("metadata columns", message, odd))
    problems += length_problems(len(lines), row_count)
    columns: list[Column] = []
    for place, column in enumerate(names):
        texts = [line[place] if place < len(line) else "" for line in lines]
        columns.append(column_of_texts(column, [texts[row] if row < len(texts) else "" for row in rows.tolist()]))
    return unnamed_twice(columns), problems


def _header(lines: list[list[str]], row_count: int, problems: list[Problem]) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the lines without the header."""
    several = len(lines[0]) > 1
    if several and len(lines) == row_count:
        if _looks_like_header(lines):
            return _names(lines[0]), lines[1:]
        message = "The metadata has several columns but no header line: it has exactly one line per point."
        problems.append(Problem("metadata header", message, 1))
        return [f"column {place + 1}" for place in range(len(lines[0]))], lines
    if several:
        return _names(lines[0]), lines[1:]
    if len(lines) == row_count + 1:
        message = (
            f"The metadata has one line more than there are points, so the first, {lines[0][0][:60]!r}, is taken as "
            "the column name."
        )
        problems.append(Problem("metadata header", message, 1))
        return _names(lines[0]), lines[1:]
    return [ONE_COLUMN], lines


def _looks_like_header(lines: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line has a text where the second has a number."""
    if len(lines) < 2:
        return True
    return any(_is_number(b) and not _is_number(a) for a, b in zip(lines[0], lines[1], strict=False))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _names(texts: Sequence[str]) -> list[str]:
    return [text.strip() or f"column {place + 1}" for place, text in enumerate(texts)]


def length_problems(lines: int, row_count: int) -> list[Problem]:
    """Return the problem to report if there is metadata for more or fewer points than exist."""
    if lines == row_count:
        return []
    if lines < row_count:
        missing = row_count - lines
        said = f"the last {counted(missing, 'point')} {'has' if missing == 1 else 'have'} none"
    else:
        said = f"the last {counted(lines - row_count, 'line')} {'is' if lines - row_count == 1 else 'are'} left out"
    message = (
        f"There is metadata for {counted(lines, 'point')}, but the embedding has {counted(row_count, 'point')}: {said}."
    )
    return [Problem("metadata length", message, abs(lines - row_count))]


def _lines(content: bytes) -> list[str]:
    text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n") if text.strip("\n") else []


def _csv_lines(content: bytes, row_count: int) -> list[list[str]]:
    text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    rows = [line for line in lines if line]
    if not rows or len(rows[0]) > 1:
        return rows
    while not lines[-1]:
        lines.pop()
    # In a single column, a blank line is an empty label, unless the other lines alone are those of the points, or line
    # ends are "\r\r\n": Python's csv module writes them into text files on Windows.
    fitting = (row_count, row_count + 1)
    blank_between_all = all(lines[::2]) and not any(lines[1::2])
    are_rows_fitting = len(rows) in fitting and (blank_between_all or len(lines) not in fitting)
    if are_rows_fitting or (blank_between_all and b"\r\r\n" in content):
        return rows
    return [line or [""] for line in lines]


def _of_table(
    columns: Sequence[TableColumn], name: str, row_count: int, rows: NDArray[np.int64]
) -> tuple[list[Column], list[Problem]]:
    if not columns:
        return [], [Problem("metadata", f"The metadata file {name} has no columns.", 1)]
    length = max(len(c.numbers) if c.numbers is not None else len(c.texts or ()) for c in columns)
    inside = rows < length
    found: list[Column] = []
    for column in columns[:MOST_COLUMNS]:
        if column.numbers is not None:
            numbers = np.full(len(rows), np.nan)
            numbers[inside] = column.numbers[rows[inside]]
            found.append(column_of_numbers(column.name, numbers))
        else:
            texts = column.texts or []
            found.append(column_of_texts(column.name, [texts[r] if r < length else "" for r in rows.tolist()]))
    return unnamed_twice(found), length_problems(length, row_count)
