"""Search for points by the values in their columns."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from stepscope.dashboard.embeddings.columns import number_text
from stepscope.dashboard.embeddings.dataset import Column
from stepscope.dashboard.embeddings.selections import Rows
from stepscope.summary.safe_regex import Pattern

Match = Literal["text", "regex"]

LONGEST_SEARCH: Final = 2.0
"""Maximum seconds per column."""
EVERYWHERE: Final = "*"


def search(columns: Sequence[Column], text: str, match: Match, count: int) -> Rows:
    """Return the points with the text, or a match of the regular expression, in one of the columns; case is ignored.

    Args:
        columns: columns to search.
        text: text to search for.
        match: whether the text is literal or a regular expression.
        count: number of points.

    Raises:
        PatternError: the regular expression is invalid or takes too long.
    """
    pattern = Pattern(text, literal=match == "text")
    found = np.zeros(count, bool)
    for column in columns:
        if column.codes is not None and column.categories:
            hits = np.array([*pattern.matches(column.categories, seconds=LONGEST_SEARCH), False])
            found |= hits[column.codes]
        else:
            left = np.flatnonzero(~found)
            texts = texts_of(column, left)
            found[left] = pattern.matches(texts, seconds=LONGEST_SEARCH)
    return np.flatnonzero(found).astype(np.uint32)


def texts_of(column: Column, rows: Rows | np.ndarray[tuple[int], np.dtype[np.intp]]) -> list[str]:
    """Return the values of a column for some points as text; "" if missing."""
    if column.texts is not None:
        texts = column.texts
        return [texts[row] for row in rows.tolist()]
    assert column.numbers is not None
    return [number_text(value) if value == value else "" for value in column.numbers[rows].tolist()]
