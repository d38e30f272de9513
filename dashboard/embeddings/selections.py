"""Sets of points that a page refers to by key: selections, search results, isolated points."""

import base64
import binascii
import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.counts import counted
from stepscope.summary.distinct import distinct_values

Rows = NDArray[np.uint32]
"""Indices of points in their dataset, ascending and unique."""

MOST_SETS: Final = 500
MOST_BYTES: Final = 128 << 20


class RowsError(ValueError):
    """A set of rows is invalid or unknown; the message is a sentence for the user."""


class RowSets:
    """The most recently used sets, limited in number and bytes; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sets: OrderedDict[str, Rows] = OrderedDict()

    def keep(self, rows: Rows) -> str:
        """Store a set and return its key; equal sets have equal keys."""
        key = key_of_rows(rows)
        with self._lock:
            self._sets[key] = rows
            self._sets.move_to_end(key)
            held = sum(kept.nbytes for kept in self._sets.values())
            while len(self._sets) > 1 and (len(self._sets) > MOST_SETS or held > MOST_BYTES):
                held -= self._sets.popitem(last=False)[1].nbytes
        return key

    def get(self, key: str) -> Rows:
        """Return the set of a key. Raises RowsError if it is no longer stored."""
        with self._lock:
            if key not in self._sets:
                raise RowsError("This selection no longer exists. Select the points again.")
            self._sets.move_to_end(key)
            return self._sets[key]


def key_of_rows(rows: Rows) -> str:
    """Return a hash of the set."""
    return hashlib.sha256(rows.astype("<u4").tobytes()).hexdigest()[:32]


def no_such_point(number: int, count: int) -> str:
    """Return the sentence for a number that is not one of ``count`` points."""
    return f"The embedding has {counted(count, 'point')}; expected a number from 0 to {count - 1:,}, got {number:,}."


def checked_rows(rows: NDArray[np.integer], count: int) -> Rows:
    """Return rows in ascending order, without duplicates. Raises RowsError if one is not among ``count`` points."""
    if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < count:
        wrong = int(rows.min()) if int(rows.min()) < 0 else int(rows.max())
        raise RowsError(no_such_point(wrong, count))
    return distinct_values(rows).astype(np.uint32)


def decoded_rows(text: str, count: int) -> Rows:
    """Return rows from base64 of little-endian uint32; raises RowsError if it is invalid."""
    try:
        content = base64.b64decode(text, validate=True)
        numbers = np.frombuffer(content, "<u4")
    except (binascii.Error, ValueError) as error:
        raise RowsError(f"The rows are not base64 of uint32: {error}.") from error
    return checked_rows(numbers, count)
