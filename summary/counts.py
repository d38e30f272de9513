"""Counts and their nouns in messages, and lists of names."""

from collections.abc import Sequence
from typing import Final

_MOST_NAMES_SHOWN: Final = 10


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a count and its noun: "1 file", "2 files"; both may go on, as in "file was" and "files were"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shown_names(names: Sequence[str]) -> str:
    """Return the first of some names in words, and how many more there are."""
    shown = ", ".join(map(repr, names[:_MOST_NAMES_SHOWN])) or "none"
    return f"{shown} and {len(names) - _MOST_NAMES_SHOWN} more" if len(names) > _MOST_NAMES_SHOWN else shown
