"""Numbered texts, in the tables with which `stepscope.summary.scan_kernel` finds them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary import scan_layout

_AT_FIRST: Final = 16
"""Initial capacity of the tables, which each of many files keeps for as long as it may grow."""


class Interned:
    """Distinct byte strings, numbered in the order in which they were added; only one thread adds."""

    __slots__ = ("arena", "slots", "starts", "state", "successors")

    def __init__(self) -> None:
        self.state: NDArray[np.int64] = np.array([0] * 7 + [-1], np.int64)
        """State that the kernel returns, at the indices in `stepscope.summary.scan_layout`."""
        self.arena: NDArray[np.uint8] = np.empty(32 * _AT_FIRST, np.uint8)
        self.starts: NDArray[np.int64] = np.zeros(_AT_FIRST, np.int64)
        self.slots: NDArray[np.int64] = np.full(2 * _AT_FIRST, -1, np.int64)
        self.successors: NDArray[np.int64] = np.full(_AT_FIRST, -1, np.int64)

    def __len__(self) -> int:
        return int(self.state[scan_layout.TAGS])

    def __getitem__(self, number: int) -> bytes:
        return self.arena[self.starts[number] : self.starts[number + 1]].tobytes()

    @property
    def tables(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The tables that the kernel takes besides the state: arena, starts, slots and successors."""
        return self.arena, self.starts, self.slots, self.successors

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the tables take."""
        return self.arena.nbytes + self.starts.nbytes + self.slots.nbytes + self.successors.nbytes

    def add(self, text: bytes) -> int:
        """Add a text that is not there yet, and return its number."""
        number = len(self)
        while (
            self.state[scan_layout.ARENA] + len(text) > len(self.arena)
            or number + 2 > len(self.starts) - 1
            or 2 * (number + 1) > len(self.slots)
        ):
            self.grow()
        begin = int(self.state[scan_layout.ARENA])
        self.arena[begin : begin + len(text)] = np.frombuffer(text, np.uint8)
        self.state[scan_layout.ARENA] = self.starts[number + 1] = begin + len(text)
        self.state[scan_layout.TAGS] = number + 1
        self._enter(number, text)
        return number

    def grow(self) -> None:
        """Double the capacity of the table that is full."""
        count = len(self)
        if count + 3 <= len(self.starts) and 2 * (count + 1) <= len(self.slots):
            self.arena = np.concatenate([self.arena, np.empty_like(self.arena)])
            return
        self.starts = np.concatenate([self.starts, np.zeros_like(self.starts)])
        self.successors = np.concatenate([self.successors, np.full_like(self.successors, -1)])
        self.slots = np.full(2 * len(self.slots), -1, np.int64)
        for number in range(count):
            self._enter(number, self[number])

    def _enter(self, number: int, text: bytes) -> None:
        """Put a text into the table by which the kernel finds it."""
        mask = len(self.slots) - 1
        slot = _hash(text) & mask
        while self.slots[slot] >= 0:
            slot = (slot + 1) & mask
        self.slots[slot] = number


def _hash(text: bytes) -> int:
    """FNV-1a with a final mix, as the kernel computes it."""
    h = 0xCBF29CE484222325
    for byte in text:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h ^ (h >> 29)
