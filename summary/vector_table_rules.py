"""What every reader of vectors in tables goes by: which columns are their dimensions, and what is said of odd rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_NO_DIMENSION: Final = frozenset(
    {"id", "idx", "index", "row", "label", "labels", "target", "class", "cluster", "y", "split", "fold", "step", ""}
)
_FAMILY: Final = re.compile(r"(.*?)(\d+)$")


class VectorTableError(ValueError):
    """A table holds no vectors, or cannot be read; the message is a sentence for a person."""


@dataclass(frozen=True)
class Remark:
    """Something that was wrong with a table, and was worked around."""

    kind: str
    message: str
    """A sentence for a person."""
    count: int
    """How many rows it concerns."""


def dimensions(numbers: Sequence[str]) -> list[str]:
    """Return which of the columns of numbers are those of the vectors."""
    families: dict[str, list[str]] = {}
    for column in numbers:
        match = _FAMILY.fullmatch(column)
        if match is not None:
            families.setdefault(match[1], []).append(column)
    largest = max(families.values(), key=len, default=[])
    if len(largest) > 1 and 2 * len(largest) >= len(numbers):
        return largest
    return [c for c in numbers if c.strip().lower() not in _NO_DIMENSION] or list(numbers)


def unequal_rows(count: int, usual: int, first: int) -> tuple[Remark, ...]:
    """Return what is said of rows with another number of values than most; nothing where there are none."""
    return left_out(
        "unequal rows",
        count,
        f"has another number of values than the {usual:,} of most rows",
        f"have another number of values than the {usual:,} of most rows",
        f" (the first is row {first + 1:,})",
    )


def left_out(kind: str, count: int, one: str, many: str, end: str = "") -> tuple[Remark, ...]:
    """Return what is said of rows that are left out; nothing where there are none."""
    if not count:
        return ()
    said = f"1 row {one} and is left out" if count == 1 else f"{count:,} rows {many} and are left out"
    return (Remark(kind, f"{said}{end}.", count),)
