"""Rules for all readers of vectors in tables: which columns are dimensions, and remarks about irregular rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_NO_DIMENSION: Final = frozenset(
    {"id", "idx", "index", "row", "label", "labels", "target", "class", "cluster", "y", "split", "fold", "step", ""}
)
_FAMILY: Final = re.compile(r"(.*?)(\d+)$")


class VectorTableError(ValueError):
    """A table holds no vectors, or cannot be read; the message is a user-readable sentence."""


@dataclass(frozen=True)
class Remark:
    """A problem in a table that was worked around."""

    kind: str
    message: str
    """A user-readable sentence."""
    count: int
    """Number of rows concerned."""


def dimensions(numbers: Sequence[str]) -> list[str]:
    """Return the columns of numbers that are dimensions of the vectors."""
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
    """Return the remark about rows whose number of values differs from most; empty if there are none."""
    return left_out(
        "unequal rows",
        count,
        f"has a different number of values than the {usual:,} of most rows",
        f"have a different number of values than the {usual:,} of most rows",
        f" (the first is row {first + 1:,})",
    )


def left_out(kind: str, count: int, one: str, many: str, end: str = "") -> tuple[Remark, ...]:
    """Return the remark about rows that are left out; empty if there are none."""
    if not count:
        return ()
    said = f"1 row {one} and is left out" if count == 1 else f"{count:,} rows {many} and are left out"
    return (Remark(kind, f"{said}{end}.", count),)
