"""Which of the interpreter's instructions take elements: while one call takes all, no other thread runs."""

import dis
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


# Includes the place where Python 3.12 caches what it knows about generators.
LOOPS = ("FOR_ITER", "CACHE")


class Elements(tuple[T, ...]):
    """Elements that note which instructions take several of them: a loop has an instruction for each."""

    taken_at_once: set[str]

    def __new__(cls, *elements: T) -> "Elements[T]":
        made = super().__new__(cls, elements)
        made.taken_at_once = set()
        return made

    def __iter__(self) -> Iterator[T]:
        for element in super().__iter__():
            taker = sys._getframe(1)
            instruction = dis.opname[taker.f_code.co_code[taker.f_lasti]]
            if instruction not in LOOPS:
                self.taken_at_once.add(instruction)
            yield element


class Column(np.ndarray[Any, np.dtype[np.int64]]):
    """Numbers ``[n]``; ``lists`` records how many of them each call turned into objects."""

    lists: list[int]

    @classmethod
    def of(cls, values: NDArray[np.int64]) -> "Column":
        """Return these values."""
        made = values.view(cls)
        made.lists = []
        return made

    def __array_finalize__(self, origin: object) -> None:
        if isinstance(origin, Column):
            self.lists = origin.lists

    def tolist(self) -> Any:
        self.lists.append(self.size)
        return super().tolist()
