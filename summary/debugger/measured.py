"""The measurements of TensorFlow's debugger, in columns, as far as most dumps share them."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.debugger.columns import GrowingColumn
from stepscope.summary.debugger.figures import (
    COUNTED,
    COUNTS_ALONE,
    BadElements,
    bad_in_debug_tensor,
    bad_in_figures,
    bad_in_value,
    counted_figures,
    debug_tensor,
    figures_of_debug_tensor,
    figures_of_tensor,
    numbers_in_mode,
)
from stepscope.summary.debugger.model import COLUMN, FIGURES
from stepscope.summary.debugger.packed_column import PackedColumn, PackedView
from stepscope.summary.messages import Layout, Mask, Numbers, Ranges, doubles, split
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.tensor_pb2 import TensorProto

_TENSOR: Final = Layout({1: "number", 2: "bytes", 4: "bytes"})
"""TensorProto: type, shape and content."""
_SHAPE: Final = Layout({2: "bytes"})
"""TensorShapeProto: one dimension."""
_DIMENSION: Final = Layout({1: "number"})
_COLUMNS: Final = [COLUMN[figure] for figure in COUNTED]
LARGE: Final = 1 << 16
"""Record size in bytes from which the figures of its values are kept, since rereading the record is slow."""
_MOST_LARGE: Final = 100_000
_NONE: Final = np.full(len(COUNTED), np.nan)


class Measured(NamedTuple):
    """The measurements of many values."""

    figures: NDArray[np.float64]
    """[len(COUNTED), n]"""
    bad: NDArray[np.bool_]
    """[n]"""

    def part(self, begin: int, end: int) -> "Measured":
        """Return a range of the measurements."""
        return Measured(self.figures[:, begin:end], self.bad[begin:end])

    def bad_elements(self, mode: int, row: int) -> BadElements:
        """Return the known counts of a bad value's nonfinite elements."""
        if mode == tfdbg.CURT_HEALTH:
            return BadElements()
        known = dict(zip(COUNTED, self.figures[:, row].tolist(), strict=True))
        return BadElements(known["size"], known["negative_infinity"], known["positive_infinity"], known["nan"])


def measured_in(buffer: NDArray[np.uint8], tensors: Ranges, modes: Numbers, plain: Mask) -> Measured:
    """Return the measurements in debug tensors.

    Args:
        buffer: the bytes that contain the debug tensors.
        tensors: TensorProto messages.
        modes: the mode of each.
        plain: which ones to read; those not laid out as TensorFlow writes them, or with a mode that provides more
            figures, are cleared.
    """
    wanted = numbers_in_mode(modes)
    tensor = split(buffer, tensors, _TENSOR, plain)
    shape = split(buffer, tensor.ranges(2), _SHAPE, plain)
    dimension = split(buffer, shape.ranges(2), _DIMENSION, plain)
    content = tensor.ranges(4)
    fits = (
        (tensor.numbers(1) == types_pb2.DT_DOUBLE)
        & shape.ranges(2).there
        & (dimension.numbers(1) == wanted)
        & (content.lengths == 8 * wanted)
    )
    plain &= (wanted == 0) | ((wanted > 0) & fits)
    counts = np.where(plain, wanted, 0)
    numbers = doubles(buffer, content.begins, counts, int(counts.max(initial=1)))
    return Measured(*counted_figures(np.where(plain, modes, -1), numbers))


class Value(NamedTuple):
    """A record's data about one value."""

    there: bool
    """Whether the record has any data about the value."""
    measured: list[Any] | None
    """The numbers of a debug tensor."""
    bad: BadElements | None
    figures: NDArray[np.float64] | None
    """The `stepscope.summary.debugger.model.FIGURES`; None if they are to be reread from the record."""


NO_VALUE: Final = Value(there=False, measured=None, bad=None, figures=None)


def value_of(mode: int, tensor: TensorProto, length: int) -> Value:
    """Return the data that a tensor provides; ``length`` is the size of its record in bytes."""
    if mode == tfdbg.NO_TENSOR:
        return Value(there=True, measured=None, bad=None, figures=None)
    if mode != tfdbg.FULL_TENSOR:
        measured = debug_tensor(tensor)
        figures = figures_of_debug_tensor(mode, measured) if mode in COUNTS_ALONE else None
        return Value(there=True, measured=measured, bad=bad_in_debug_tensor(mode, measured), figures=figures)
    if length < LARGE:
        return Value(there=True, measured=None, bad=bad_in_value(tensor), figures=None)
    figures = figures_of_tensor(mode, tensor)
    return Value(there=True, measured=None, bad=bad_in_figures(figures), figures=figures)


@dataclass(frozen=True)
class MeasuredView:
    """The measurements of consecutive values."""

    bad: PackedView
    """Whether the value had a nonfinite element, as far as the mode shows."""
    by_record: PackedView
    """Whether figures are to be read from the record."""
    figures: tuple[PackedView, ...]
    """One column per figure in `COUNTED`; NaN where it was not measured or is to be read from the record."""
    large_rows: NDArray[np.int64]
    """Rows, ascending, of values so large that all of their figures are kept."""
    large_figures: NDArray[np.float64]
    """[n, len(FIGURES)], the figures of these values."""

    @property
    def nbytes(self) -> int:
        """The memory use in bytes."""
        kept = self.large_rows.nbytes + self.large_figures.nbytes
        return kept + sum(column.nbytes for column in (self.bad, self.by_record, *self.figures))

    def put_large(self, rows: NDArray[np.int64], figures: NDArray[np.float64]) -> None:
        """Set the figures in the rows of large values."""
        if len(self.large_rows):
            places = np.minimum(np.searchsorted(self.large_rows, rows), len(self.large_rows) - 1)
            hits = self.large_rows[places] == rows
            figures[hits] = self.large_figures[places[hits]]


class MeasuredColumns:
    """The measurements so far; one thread adds to it.

    Args:
        places: the places of the same values, appended first.
    """

    def __init__(self, places: PackedColumn) -> None:
        self._bad: Final = PackedColumn(np.bool_)
        self._by_record: Final = PackedColumn(np.bool_)
        # Many tensors have the same size in every step.
        self._figures: Final = [PackedColumn(np.float64, places if figure == "size" else None) for figure in COUNTED]
        self._large_rows: Final = GrowingColumn(np.int64)
        self._large_figures: Final = GrowingColumn(np.float64)

    def append(self, mode: int, value: "Value") -> None:
        """Append a record's data about one value."""
        counts = mode in COUNTS_ALONE
        figures = _NONE
        if value.figures is not None and (counts or len(self._large_rows) < _MOST_LARGE):
            figures = value.figures[_COLUMNS]
            if not counts:
                self._large_rows.append(len(self._bad))
                self._large_figures.extend(value.figures)
        self._by_record.append(not counts and value.there and figures is _NONE)
        self._bad.append(value.bad is not None)
        for column, number in zip(self._figures, figures.tolist(), strict=True):
            column.append(number)

    def extend(self, measured: Measured) -> None:
        """Append the result of `measured_in`."""
        self._bad.extend(measured.bad)
        self._by_record.extend(np.zeros(len(measured.bad), np.bool_))
        for column, numbers in zip(self._figures, measured.figures, strict=True):
            column.extend(numbers)

    def view(self) -> MeasuredView:
        """Return the measurements so far."""
        return MeasuredView(
            self._bad.view(),
            self._by_record.view(),
            tuple(column.view() for column in self._figures),
            self._large_rows.view(),
            self._large_figures.view().reshape(-1, len(FIGURES)),
        )
