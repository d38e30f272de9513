"""Counts and their nouns in messages."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a count and its noun: "1 file", "2 files"; both may go on, as in "file was" and "files were"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
