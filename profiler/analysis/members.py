"""The slices behind the rows of a table: the longest of each row, and the distribution of their durations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

BUCKETS: Final = 24
_LEAST_OCTAVES: Final = 1.0
"""The buckets of a row span at least a factor of 2, so that similar durations look similar."""


class Members(NamedTuple):
    """Slices and the table row of each, as parallel columns int64 ``[n]``."""

    row: NDArray[np.int64]
    """-1 for a slice that belongs to no row."""
    slice: NDArray[np.int64]
    duration_ns: NDArray[np.int64]

    def grouped(self, group_of_row: NDArray[np.int64]) -> "Members":
        """Return the same slices by the groups that the rows are in."""
        if not len(group_of_row):
            return self
        return self._replace(row=np.where(self.row >= 0, group_of_row[np.maximum(self.row, 0)], -1))


class Histograms(NamedTuple):
    """Durations of the slices of each row in buckets with bounds equally spaced on a logarithmic scale.

    Bucket i of row r holds durations from ``low_ns[r] * (high_ns[r] / low_ns[r]) ** (i / BUCKETS)`` on; the last one
    includes ``high_ns[r]`` itself. A duration of 0 ns counts as 1 ns. Rows without slices have bounds of 0.
    """

    low_ns: NDArray[np.float64]
    high_ns: NDArray[np.float64]
    counts: NDArray[np.int64]
    """``[rows, BUCKETS]``."""


def members_of(
    frame: "pl.DataFrame",
    keys: "Mapping[str, pl.Series]",
    slices: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
) -> Members:
    """Return the row of each slice: the first whose texts in the columns ``keys`` equal the slice's.

    Args:
        frame: the table.
        keys: for each column that distinguishes rows, the texts of the slices.
        slices: the slices.
        duration_ns: their durations.
    """
    import polars as pl

    rows = frame.select(*keys).with_row_index("@row").unique(list(keys), keep="first", maintain_order=True)
    texts = pl.DataFrame(dict(keys))
    found = texts.join(rows, on=list(keys), how="left", nulls_equal=True, maintain_order="left")["@row"]
    return Members(found.cast(pl.Int64).fill_null(-1).to_numpy(), slices, duration_ns)


def longest(members: Members, rows: int) -> NDArray[np.int64]:
    """Return the longest slice of each of the first ``rows`` rows, ties to the first; -1 for an empty row."""
    result = np.full(rows, -1, np.int64)
    known = np.flatnonzero((members.row >= 0) & (members.row < rows))
    # The last slice of each row is kept, so the one to keep comes last.
    order = known[np.lexsort((-known, members.duration_ns[known]))]
    result[members.row[order]] = members.slice[order]
    return result


def histograms(members: Members, rows: int) -> Histograms:
    """Return the distribution of the durations of each of the first ``rows`` rows."""
    known = (members.row >= 0) & (members.row < rows)
    row = members.row[known]
    octave = np.log2(np.maximum(members.duration_ns[known], 1))
    low, high = np.full(rows, np.inf), np.full(rows, -np.inf)
    np.minimum.at(low, row, octave)
    np.maximum.at(high, row, octave)
    empty = low > high
    low[empty] = high[empty] = 0.0
    room = np.maximum(_LEAST_OCTAVES - (high - low), 0.0) / 2
    low, high = low - room, high + room
    place = ((octave - low[row]) * (BUCKETS / (high - low)[row])).astype(np.int64) if len(row) else row
    counts = np.bincount(row * BUCKETS + np.minimum(place, BUCKETS - 1), minlength=rows * BUCKETS)
    bounds = np.where(empty, 0.0, np.exp2(low)), np.where(empty, 0.0, np.exp2(high))
    return Histograms(*bounds, counts.reshape(rows, BUCKETS))
