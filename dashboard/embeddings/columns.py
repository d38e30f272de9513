"""Columns about the points: which ones are numeric, and which values they have."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.dataset import MOST_CATEGORIES, Column
from stepscope.summary.distinct import distinct_values
from stepscope.summary.vector_tables import TableColumn

_MISSING: Final = frozenset({"", "nan", "na", "n/a", "null", "none"})


def column_of_texts(name: str, texts: Sequence[str]) -> Column:
    """Return a column from texts; it is numeric if every value is a number or missing."""
    numbers = _numbers(texts)
    categories, codes = _categories(texts)
    if numbers is None:
        return Column(name, "text", tuple(texts), None, categories, codes)
    return Column(name, "number", _texts_of_ids(texts, numbers), numbers, categories, codes)


def column_of_numbers(name: str, numbers: NDArray[np.float64]) -> Column:
    """Return a numeric column; NaN marks missing values."""
    # As text only if there are few distinct numbers.
    different = distinct_values(numbers[~np.isnan(numbers)])
    if len(different) > MOST_CATEGORIES:
        return Column(name, "number", None, numbers, (), None)
    categories, codes = _categories(["" if value != value else number_text(value) for value in numbers.tolist()])
    return Column(name, "number", None, numbers, categories, codes)


def columns_of_table(columns: Iterable[TableColumn]) -> list[Column]:
    """Return the columns of a table about the points."""
    return [
        column_of_numbers(c.name, c.numbers) if c.numbers is not None else column_of_texts(c.name, c.texts or ())
        for c in columns
    ]


def unnamed_twice(columns: Iterable[Column]) -> list[Column]:
    """Return the columns with unique names."""
    found: dict[str, Column] = {}
    for column in columns:
        name = column.name
        while name in found:
            name += "'"
        found[name] = Column(name, column.kind, column.texts, column.numbers, column.categories, column.codes)
    return list(found.values())


def number_text(value: float) -> str:
    """Return a number in its shortest form: 3 rather than 3.0."""
    return str(int(value)) if value == value and abs(value) < 1e15 and value == int(value) else repr(value)


def _numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the texts as numbers; None if one is not a number or all are missing."""
    numbers = np.full(len(texts), np.nan)
    some = False
    for place, text in enumerate(texts):
        if text.strip().lower() in _MISSING:
            continue
        try:
            numbers[place] = float(text)
        except ValueError:
            return None
        if "_" in text:
            return None
        some = True
    return numbers if some else None


def _texts_of_ids(texts: Sequence[str], numbers: NDArray[np.float64]) -> tuple[str, ...] | None:
    """Return the texts of a column if numbers change some of its digits; None for other columns, to save memory."""
    pairs = zip(texts, numbers.tolist(), strict=True)
    if not any(text.strip().removeprefix("-").isdecimal() and number_text(number) != text for text, number in pairs):
        return None
    return tuple("" if missing else text for text, missing in zip(texts, np.isnan(numbers).tolist(), strict=True))


def _categories(texts: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32] | None]:
    """Return the distinct texts by frequency, then by first appearance, and the index of each text among them."""
    counts = Counter(texts)
    counts.pop("", None)
    if not 0 < len(counts) <= MOST_CATEGORIES:
        return (), None
    categories = tuple(text for text, _ in counts.most_common())
    code = {text: place for place, text in enumerate(categories)} | {"": -1}
    return categories, np.array([code[text] for text in texts], np.int32)
