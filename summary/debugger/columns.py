"""Columns and names that only grow, so that views returned earlier stay unchanged."""

from collections.abc import Hashable
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_FIRST_ROOM: Final = 256

H = TypeVar("H", bound=Hashable)


class GrowingColumn:
    """Numbers appended by one thread; any thread may read a view of the numbers so far.

    Args:
        dtype: the type of the numbers.
    """

    def __init__(self, dtype: Any) -> None:
        self._numbers: NDArray[Any] = np.empty(_FIRST_ROOM, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, number: float) -> None:
        """Append one number."""
        if self._count == len(self._numbers):
            self._move(2 * self._count)
        self._numbers[self._count] = number
        self._count += 1

    def extend(self, numbers: NDArray[Any]) -> None:
        """Append numbers."""
        needed = self._count + len(numbers)
        if needed > len(self._numbers):
            self._move(max(needed, 2 * len(self._numbers)))
        self._numbers[self._count : needed] = numbers
        self._count = needed

    def _move(self, room: int) -> None:
        # Earlier views show the old array, which no longer changes. Room that is not used yet takes no memory, because
        # none of its pages is touched.
        numbers = np.empty(room, self._numbers.dtype)
        numbers[: self._count] = self._numbers[: self._count]
        self._numbers = numbers

    def view(self) -> NDArray[Any]:
        """Return all numbers so far, read-only."""
        found = self._numbers[: self._count]
        found.flags.writeable = False
        return found


class Numbered(Generic[H]):
    """Distinct values, numbered in the order of their first appearance; equal values are held once."""

    def __init__(self) -> None:
        self._numbers: dict[H, int] = {}
        self.values: Final[list[H]] = []

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: H) -> int:
        """Return the value's number, assigning a new one if the value is new."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: H) -> int | None:
        """Return the value's number, if it has one."""
        return self._numbers.get(value)
