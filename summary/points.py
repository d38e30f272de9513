"""The points of one tag: columns to which one thread appends, and joining of the columns of several files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.series import SCALARS, Columns

Number = TypeVar("Number", bound=np.generic)


_NO_INT64: Final = np.empty(0, np.int64)
_NO_FLOAT64: Final = np.empty(0, np.float64)
_NO_INT32: Final = np.empty(0, np.int32)


@dataclass(frozen=True)
class Rows:
    """Values of one tag as found by the scan: immutable columns of equal length."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    """NaN for values in which the scan found no number."""
    found: NDArray[np.void]
    """All rows of the window, `stepscope.summary.scan.ROW`, which include these."""
    numbers: NDArray[np.int32]
    """Index of each row in ``found``."""
    goes_back: bool
    """Whether a step is below the one before it."""

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Offset of each record's data in the file."""
        return self._column("offset", np.int64)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each record's data."""
        return self._column("length", np.int64)

    @property
    def indices(self) -> NDArray[np.int32]:
        """Index of each value in its record's summary."""
        return self._column("index", np.int32)

    def chosen(self, which: slice | NDArray[np.bool_], goes_back: bool) -> "Rows":
        """Return some of the rows."""
        return Rows(
            self.steps[which], self.wall_times[which], self.values[which], self.found, self.numbers[which], goes_back
        )

    def _column(self, name: str, dtype: type[Number]) -> NDArray[Number]:
        column: NDArray[Number] = self.found[name][self.numbers].astype(dtype, copy=False)
        return column


class TagState(NamedTuple):
    """The points of one tag in one file at one moment; columns that a kind does not keep are empty."""

    tag: str
    kind: str
    display_name: str
    description: str
    plugin_content: bytes
    goes_back: bool
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    indices: NDArray[np.int32]


class TagPoints:
    """The points of one tag in one file; only the following thread appends.

    Scalars keep their numbers; all other kinds keep the locations of their records. A file may begin in the middle of a
    run, without the metadata that defines the kind of a tensor; the run's other files have it, so points of unknown
    kind keep both. Arrays that were returned stay valid and never change.
    """

    __slots__ = (
        "_indices",
        "_length",
        "_lengths",
        "_offsets",
        "_steps",
        "_values",
        "_wall_times",
        "description",
        "display_name",
        "goes_back",
        "kind",
        "plugin_content",
        "tag",
    )

    def __init__(self, tag: str, kind: str) -> None:
        self.tag = tag
        self.kind = kind
        self.display_name = ""
        self.description = ""
        self.plugin_content = b""
        self.goes_back = False
        """Whether a step is below the one before it."""
        self._length = 0
        # Arrays may be longer than their contents; a column that is not kept stays empty.
        self._steps: NDArray[np.int64] = _NO_INT64
        self._wall_times: NDArray[np.float64] = _NO_FLOAT64
        self._values: NDArray[np.float64] = _NO_FLOAT64
        self._offsets: NDArray[np.int64] = _NO_INT64
        self._lengths: NDArray[np.int64] = _NO_INT64
        self._indices: NDArray[np.int32] = _NO_INT32

    @classmethod
    def restored(cls, state: TagState) -> Self:
        """Return points that continue from a state."""
        # Bypass the constructor, whose defaults would all be replaced.
        points = cls.__new__(cls)
        points.tag, points.kind, points.goes_back = state.tag, state.kind, state.goes_back
        points.display_name, points.description = state.display_name, state.description
        points.plugin_content = state.plugin_content
        points._length = len(state.steps)
        points._steps, points._wall_times, points._values = state.steps, state.wall_times, state.values
        points._offsets, points._lengths, points._indices = state.offsets, state.lengths, state.indices
        return points

    def state(self, count: int | None = None) -> TagState:
        """Return the points so far, or the first ``count`` of them, as views."""
        columns = self._views()
        goes_back = self.goes_back
        if count is not None and count < len(self):
            columns = tuple(column[:count] for column in columns)  # type: ignore[assignment]
            goes_back = bool((np.diff(columns[0]) < 0).any())
        return TagState(
            self.tag, self.kind, self.display_name, self.description, self.plugin_content, goes_back, *columns
        )

    def part(self, path: PurePosixPath) -> "Part":
        """Return the points so far, as views."""
        return Part(path, *self._views())

    @property
    def first_offset(self) -> int:
        """Offset of the first point's record; 0 for scalars, for which it is not kept."""
        return int(self._offsets[0]) if len(self._offsets) else 0

    def __len__(self) -> int:
        return self._length

    def extend(self, rows: Rows) -> None:
        """Append rows; the first rows are kept without copying."""
        if len(rows) == 0:
            return
        begin, end = self._length, self._length + len(rows)
        self.goes_back |= rows.goes_back or (begin > 0 and bool(rows.steps[0] < self._steps[begin - 1]))
        self._steps = _extended(self._steps, begin, rows.steps)
        self._wall_times = _extended(self._wall_times, begin, rows.wall_times)
        if self.kind in (SCALARS, ""):
            self._values = _extended(self._values, begin, rows.values)
        if self.kind != SCALARS:
            self._offsets = _extended(self._offsets, begin, rows.offsets)
            self._lengths = _extended(self._lengths, begin, rows.lengths)
            self._indices = _extended(self._indices, begin, rows.indices)
        self._length = end

    def _views(
        self,
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int32],
    ]:
        length = self._length
        if not len(self._offsets):
            offsets = (_NO_INT64, _NO_INT64, _NO_INT32)
        else:
            offsets = (self._offsets[:length], self._lengths[:length], self._indices[:length])
        if len(self._steps) == length:
            # As given, and never written to again.
            return self._steps, self._wall_times, self._values, *offsets
        return (
            _read_only(self._steps, length),
            _read_only(self._wall_times, length),
            _read_only(self._values, length),
            *offsets,
        )


def _extended(array: NDArray[Number], length: int, values: NDArray[Number]) -> NDArray[Number]:
    """Return an array whose first ``length`` elements are those of ``array``, followed by ``values``."""
    if length == 0:
        # The first fill is often the last (a finished run).
        values.flags.writeable = False
        return values
    end = length + len(values)
    if end >= len(array):
        # Never as long as its contents: that length marks arrays that were given.
        grown = np.empty(max(end + 1, length * 3 // 2), array.dtype)
        grown[:length] = array[:length]
        array = grown
    array[length:end] = values
    return array


def _read_only(array: NDArray[Number], length: int) -> NDArray[Number]:
    view = array[:length]
    view.flags.writeable = False
    return view


class Part(NamedTuple):
    """The points of one tag in one file at one moment: arrays of equal length, or empty if not kept.

    Scalars keep ``values``; all other kinds keep the location of the record: ``offsets`` and ``lengths`` of the
    record's data, and ``indices`` of the value in it.
    """

    path: PurePosixPath
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    indices: NDArray[np.int32]


def join(parts: Sequence[Part], shown: NDArray[np.intp] | None) -> Columns:
    """Return the points of several files as columns: those at the indices ``shown`` (intp [n]), or all of them."""
    if len(parts) == 1 and shown is None:
        return Columns(parts[0].steps, parts[0].wall_times, parts[0].values)

    def joined(arrays: list[NDArray[Number]]) -> NDArray[Number]:
        whole = np.concatenate(arrays)
        if shown is not None and len(whole):
            whole = whole[shown]
        whole.flags.writeable = False
        return whole

    # A file without metadata keeps numbers even if the tag's kind, known from another file, has none.
    have_values = all(len(p.values) == len(p.steps) for p in parts)
    return Columns(
        joined([p.steps for p in parts]),
        joined([p.wall_times for p in parts]),
        joined([p.values for p in parts]) if have_values else _NO_FLOAT64,
    )
