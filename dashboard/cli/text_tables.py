"""Tables for terminals: if space is short, long texts are cut, but numbers never are."""

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len, set_cell_size

GAP: Final = 2
LEAST_TEXT: Final = 16
"""Minimum number of characters that a long text keeps, however narrow the terminal is."""
MOST_TEXT: Final = 70
"""Maximum number of characters of a text that are shown, however wide the terminal is."""


class TextColumn(NamedTuple):
    """A column of a table: its title and one text per row."""

    title: str
    cells: Sequence[str]
    number: bool
    """Whether the column holds numbers, which are right-aligned and never cut."""


class Part(NamedTuple):
    """The lines of some columns of a table."""

    titles: list[str]
    rows: list[str]


def table_parts(columns: Sequence[TextColumn], width: int) -> list[Part]:
    """Return a table as lines, in several parts if a line cannot hold all columns.

    Each part begins with the table's first column. A part is wider than ``width`` if its first two columns alone are
    too wide.
    """
    titles = [_title(column) for column in columns]
    wide = [
        max([cell_len(line) for line in title] + [cell_len(cell) for cell in column.cells])
        for column, title in zip(columns, titles, strict=True)
    ]
    wide = [size if column.number else min(size, MOST_TEXT) for column, size in zip(columns, wide, strict=True)]
    least = [
        size if column.number else min(size, max(LEAST_TEXT, *map(cell_len, title)))
        for column, size, title in zip(columns, wide, titles, strict=True)
    ]
    return [
        _lines([columns[i] for i in part], [titles[i] for i in part], _fitted(part, wide, least, width))
        for part in column_parts(least, width)
    ]


def _title(column: TextColumn) -> list[str]:
    """Return the lines of a title: as wide as the cells below, or as its longest word."""
    words = column.title.split() or [""]
    size = max([cell_len(word) for word in words] + [cell_len(cell) for cell in column.cells])
    return textwrap.wrap(column.title, max(1, size), break_long_words=False) or [""]


def column_parts(least: Sequence[int], width: int) -> list[list[int]]:
    """Return which columns each part of a table has, given their minimum widths; each part has the first."""
    parts = [[0]]
    for column in range(1, len(least)):
        taken = sum(least[each] + GAP for each in parts[-1])
        if len(parts[-1]) > 1 and taken + least[column] > width:
            parts.append([0])
        parts[-1].append(column)
    return parts


def _fitted(part: Sequence[int], wide: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return the widths of the columns of a part; the longest texts are cut first."""
    sizes = [wide[column] for column in part]
    over = sum(sizes) + GAP * (len(part) - 1) - width
    while over > 0:
        room = [place for place, column in enumerate(part) if sizes[place] > least[column]]
        if not room:
            break
        longest = max(room, key=lambda place: sizes[place])
        sizes[longest] -= 1
        over -= 1
    return sizes


def _lines(columns: Sequence[TextColumn], titles: Sequence[list[str]], sizes: Sequence[int]) -> Part:
    height = max(map(len, titles))
    heads = [[""] * (height - len(title)) + title for title in titles]
    rows = [[title[line] for title in heads] for line in range(height)]
    rows += [list(row) for row in zip(*(column.cells for column in columns), strict=True)]
    lines = [
        (" " * GAP)
        .join(_cell(text, size, column.number) for text, size, column in zip(row, sizes, columns, strict=True))
        .rstrip()
        for row in rows
    ]
    return Part(lines[:height], lines[height:])


def _cell(text: str, size: int, number: bool) -> str:
    if cell_len(text) > size:
        text = set_cell_size(text, size - 1) + "…"
    room = " " * (size - cell_len(text))
    return room + text if number else text + room
