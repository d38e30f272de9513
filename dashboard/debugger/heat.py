"""A figure of all tensors over all steps, at the detail that a screen can show.

Columns are ranges of observed steps, in order, so that data recorded every tenth step has no gaps. A `Matrix` holds a
whole recording, as finely as fits into `CELLS`; if a window needs finer columns and is short enough, its observations
are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.debugger.index import CHUNK, Index, Read
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import COLUMN, Figure, Observations

CELLS: Final = 1 << 21
"""Maximum number of cells of a matrix."""
BYTES_OF_CELL: Final = 17
MOST_COLUMNS: Final = 1 << 14
MOST_READ: Final = 64
"""Maximum number of chunks of observations read for one window."""
NOT_FINITE: Final = 1
INFINITE: Final = 2
NOT_A_NUMBER: Final = 3
"""Values of `Cells.bad` for a cell that contains something not finite; `NOT_FINITE` if the kind is unknown."""

Rule = Literal["largest", "least", "magnitude"]
RULES: Final[dict[Figure, Rule]] = {"minimum": "least", "mean": "magnitude"}
"""Rule for the worst of several values, by figure; by default the largest."""
SIGNED: Final[frozenset[Figure]] = frozenset(("minimum", "maximum", "mean"))


@dataclass(frozen=True)
class Cells:
    """Observed values by line and column; float32 [lines, columns], NaN where nothing was observed."""

    high: NDArray[np.float32]
    low: NDArray[np.float32]
    total: NDArray[np.float32]
    count: NDArray[np.uint32]
    """Number of values summed in ``total``."""
    bad: NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        return self.high.nbytes + self.low.nbytes + self.total.nbytes + self.count.nbytes + self.bad.nbytes

    def worst(self, rule: Rule) -> NDArray[np.float32]:
        """Return the worst value of each cell."""
        if rule == "largest":
            return self.high
        if rule == "least":
            return self.low
        return np.where(np.abs(self.low) > np.abs(self.high), self.low, self.high)

    def mean(self) -> NDArray[np.float32]:
        """Return the mean of each cell."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: NDArray[np.float32] = (self.total / self.count).astype(np.float32)
        return found


_COLUMNS_OF_CELLS: Final = ("high", "low", "total", "count", "bad")


def no_cells(lines: int, columns: int) -> Cells:
    """Return cells without observations."""
    shape = (lines, columns)
    return Cells(
        np.full(shape, np.nan, np.float32),
        np.full(shape, np.nan, np.float32),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.uint32),
        np.zeros(shape, np.uint8),
    )


def put(
    cells: Cells, observed: Observations, figure: Figure, lines: NDArray[np.int64], columns: NDArray[np.int64]
) -> None:
    """Add observations to cells; those whose line or column is negative are left out."""
    inside = (lines >= 0) & (columns >= 0)
    place = (lines * cells.bad.shape[1] + columns)[inside]
    figures = observed.figures[inside]
    not_numbers = np.nan_to_num(figures[:, COLUMN["nan"]]) > 0
    infinite = np.nan_to_num(figures[:, COLUMN["positive_infinity"]] + figures[:, COLUMN["negative_infinity"]]) > 0
    known = np.where(not_numbers, NOT_A_NUMBER, np.where(infinite, INFINITE, NOT_FINITE))
    bad = np.where(observed.bad[inside], known, 0).astype(np.uint8)
    np.maximum.at(cells.bad.reshape(-1), place[bad > 0], bad[bad > 0])
    with np.errstate(over="ignore"):
        values = figures[:, COLUMN[figure]].astype(np.float32)
    measured = ~np.isnan(values)
    place, values = place[measured], values[measured]
    np.fmax.at(cells.high.reshape(-1), place, values)
    np.fmin.at(cells.low.reshape(-1), place, values)
    np.add.at(cells.total.reshape(-1), place, values)
    np.add.at(cells.count.reshape(-1), place, np.uint32(1))


def joined(cells: Cells, starts: NDArray[np.int64], axis: Literal[0, 1]) -> Cells:
    """Return cells with neighbors joined.

    Args:
        cells: at least one along the axis.
        starts: where each new cell begins, ascending.
        axis: 0 to join lines, 1 to join columns.
    """
    return Cells(
        np.fmax.reduceat(cells.high, starts, axis),
        np.fmin.reduceat(cells.low, starts, axis),
        np.add.reduceat(cells.total, starts, axis),
        np.add.reduceat(cells.count, starts, axis),
        np.maximum.reduceat(cells.bad, starts, axis),
    )


@dataclass(frozen=True)
class Matrix:
    """All of a recording: a line for each tensor, a column for each ``width`` observed steps."""

    figure: Figure
    observations: int
    """Number of observations in the matrix."""
    steps: NDArray[np.int64]
    width: int
    cells: Cells

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes


def matrix_of(figure: Figure, read: Read, index: Index, known: Matrix | None = None, cells: int = CELLS) -> Matrix:
    """Return a figure of all tensors over all steps; observations in an earlier matrix are not read again.

    Args:
        figure: the figure.
        read: returns observations.
        index: the index of the recording.
        known: the matrix of the same recording when it was shorter.
        cells: maximum number of cells.
    """
    tensors = len(index.counts)
    width, columns = _widths(index, cells)
    made = no_cells(tensors, columns)
    begin = 0
    if known is not None and _continues(known, index, width):
        begin = known.observations
        earlier = joined(known.cells, np.arange(0, known.cells.bad.shape[1], width // known.width), 1)
        lines, filled = earlier.bad.shape
        for name in _COLUMNS_OF_CELLS:
            getattr(made, name)[:lines, :filled] = getattr(earlier, name)
    while begin < index.observations:
        check_cancelled()
        end = min((begin // CHUNK + 1) * CHUNK, index.observations)
        observed = read(begin, end)
        put(
            made,
            observed,
            figure,
            observed.tensors.astype(np.int64),
            np.searchsorted(index.steps, observed.steps) // width,
        )
        begin = end
    return Matrix(figure, index.observations, index.steps, width, made)


def bytes_of_matrix(index: Index, cells: int = CELLS) -> int:
    """Return the memory that `matrix_of` takes, in bytes."""
    return BYTES_OF_CELL * len(index.counts) * _widths(index, cells)[1]


def _widths(index: Index, cells: int) -> tuple[int, int]:
    """Return how many steps a column has, and how many columns there are."""
    most = max(min(cells // max(len(index.counts), 1), MOST_COLUMNS), 1)
    width = 1
    while -(-len(index.steps) // width) > most:
        width *= 2
    return width, max(-(-len(index.steps) // width), 1)


def _continues(known: Matrix, index: Index, width: int) -> bool:
    return (
        known.observations > 0
        and known.observations <= index.observations
        and known.width <= width
        and known.cells.bad.shape[0] <= len(index.counts)
        and np.array_equal(known.steps, index.steps[: len(known.steps)])
    )


@dataclass(frozen=True)
class Window:
    """A part of the map as drawn."""

    cells: Cells
    rows: NDArray[np.int64]
    """Where each line begins among the requested rows."""
    columns: NDArray[np.int64]
    """Where each column begins among the observed steps, followed by the end of the last column."""


def window(
    matrix: Matrix,
    read: Read,
    index: Index,
    rows: Sequence[int] | NDArray[np.int64],
    begin: int,
    end: int,
    most_lines: int,
    most_columns: int,
) -> Window:
    """Return a part of the map with at most the requested numbers of lines and columns.

    Args:
        matrix: the whole map.
        read: returns observations, for more detail than the matrix has.
        index: the index of the recording.
        rows: the numbers of the tensors, in display order.
        begin: position of the first step among the observed steps.
        end: position after that of the last step.
        most_lines: maximum number of lines; rows are joined if there are more.
        most_columns: maximum number of columns; steps are joined if there are more.
    """
    chosen = np.asarray(rows, np.int64)
    starts = _starts(0, len(chosen), most_lines)
    if not len(chosen) or end <= begin:
        return Window(no_cells(len(starts), 0), starts, np.array([begin], np.int64))
    steps = index.steps
    if matrix.width > 1 and (end - begin) < matrix.width * most_columns:
        chunks = index.chunks_of(int(steps[begin]), int(steps[end - 1]))
        if len(chunks) <= MOST_READ:
            return _read_window(matrix.figure, read, index, chosen, starts, begin, end, most_columns, chunks)
    first, last = begin // matrix.width, -(-end // matrix.width)
    columns = _starts(first, last, most_columns)
    # One line after another, as selecting all rows at once would copy the whole matrix.
    lines = [
        _line(matrix.cells, chosen[begin_row:end_row], columns - first, slice(first, last))
        for begin_row, end_row in pairwise((*starts.tolist(), len(chosen)))
    ]
    part = Cells(*(np.concatenate([getattr(line, name) for line in lines]) for name in _COLUMNS_OF_CELLS))
    edges = np.append(columns * matrix.width, min(last * matrix.width, len(steps)))
    return Window(part, starts, edges)


def _line(cells: Cells, rows: NDArray[np.int64], columns: NDArray[np.int64], steps: slice) -> Cells:
    """Return rows joined to one line, with their steps joined to columns."""
    part = Cells(*(getattr(cells, name)[rows, steps] for name in _COLUMNS_OF_CELLS))
    return joined(joined(part, np.zeros(1, np.int64), 0), columns, 1)


def _starts(begin: int, end: int, most: int) -> NDArray[np.int64]:
    """Return the beginnings of at most ``most`` equal stretches."""
    parts = min(end - begin, most)
    found: NDArray[np.int64] = begin + np.arange(parts, dtype=np.int64) * (end - begin) // max(parts, 1)
    return found


def _read_window(
    figure: Figure,
    read: Read,
    index: Index,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    begin: int,
    end: int,
    most_columns: int,
    chunks: NDArray[np.int64],
) -> Window:
    line_of = np.full(len(index.counts), -1, np.int64)
    line_of[rows] = np.searchsorted(starts, np.arange(len(rows)), side="right") - 1
    columns = _starts(begin, end, most_columns)
    cells = no_cells(len(starts), len(columns))
    for chunk in chunks.tolist():
        check_cancelled()
        observed = read(chunk * CHUNK, min((chunk + 1) * CHUNK, index.observations))
        place = np.searchsorted(index.steps, observed.steps)
        column = np.searchsorted(columns, place, side="right") - 1
        column[(place < begin) | (place >= end)] = -1
        put(cells, observed, figure, line_of[observed.tensors], column)
    return Window(cells, starts, np.append(columns, end))
