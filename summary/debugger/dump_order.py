"""All values of a dump ordered by wall time; at equal times, executions come before traces.

A dump has millions of values, so only eight bytes per value are kept in addition to the dump itself, or four if the
files are already in order.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.events import ExecutionColumns, TraceColumns
from stepscope.summary.debugger.packed_column import PackedColumn

_BLOCK: Final = 1 << 16
"""Values processed at a time, so that temporary data for all of them is never in memory at once."""

Numbers = NDArray[np.int64]


class Column(Protocol):
    """A column of numbers, indexed by row."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


class DumpOrder:
    """The rows of values, by their numbers in wall time order; immutable.

    Rows count the outputs of executions first, followed by the traces of each host.

    Args:
        executions: the executions of the first host.
        traces: the traces of each host.
        names: [places], numbers from 0 that places of one tensor share.
    """

    def __init__(self, executions: ExecutionColumns, traces: Sequence[TraceColumns], names: NDArray[np.int32]) -> None:
        self._executions: Final = executions
        self._traces: Final = traces
        self._names: Final = names
        self._count: Final = len(executions.places) + sum(map(len, traces))
        self._rows: Final = self._sorted()
        self._steps: Final = PackedColumn(np.uint32)
        self._ranks: Final = np.full(int(names.max(initial=-1)) + 1, -1, np.int32)
        """For each name, the number of names that appeared before it for the first time."""
        self.first_numbers: Final[list[int]] = []
        """The number of each tensor's first value."""
        self._rank()
        self._step_view: Final = self._steps.view()

    def __len__(self) -> int:
        return self._count

    def rows(self, numbers: Numbers) -> Numbers:
        """Return the rows of values."""
        return numbers if self._rows is None else self._rows[numbers].astype(np.int64)

    def output_numbers(self) -> NDArray[np.int32]:
        """Return the number of each output of an execution."""
        outputs = len(self._executions.places)
        found: NDArray[np.int32] = np.empty(outputs, np.int32)
        for numbers in _blocks(self._count):
            rows = self.rows(numbers)
            found[rows[rows < outputs]] = numbers[rows < outputs]
        return found

    def gather(self, numbers: Numbers, parts: Sequence[Column]) -> NDArray[Any]:
        """Return elements of columns: the column of the executions' outputs, followed by each host's trace column."""
        return _gathered(self.rows(numbers), parts)

    def places_at(self, numbers: Numbers) -> NDArray[np.integer[Any]]:
        """Return the `stepscope.summary.debugger.events.Places` numbers of the places of values."""
        return self.gather(numbers, (self._executions.places, *(columns.places for columns in self._traces)))

    def tensors_at(self, numbers: Numbers) -> NDArray[np.int32]:
        """Return the tensors that values belong to, numbered in the order of their first values."""
        found: NDArray[np.int32] = self._ranks[self._names[self.places_at(numbers)]]
        return found

    def steps_at(self, numbers: Numbers) -> NDArray[np.int64]:
        """Return, for each value, the number of earlier values of the same tensor."""
        return np.asarray(self._step_view[numbers]).astype(np.int64)

    def wall_times_at(self, numbers: Numbers) -> NDArray[np.float64]:
        """Return the wall times in seconds since the epoch."""
        return self._wall_times(self.rows(numbers))

    def bad_at(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return which values are known to have a nonfinite element."""
        return self.gather(
            numbers, [self._executions.measured.bad, *(columns.measured.bad for columns in self._traces)]
        )

    def _wall_times(self, rows: Numbers) -> NDArray[np.float64]:
        outputs = len(self._executions.places)
        found: NDArray[np.float64] = np.empty(len(rows))
        eager = rows < outputs
        execution = np.searchsorted(self._executions.output_ends, rows[eager], side="right")
        found[eager] = self._executions.wall_times[execution]
        found[~eager] = _gathered(rows[~eager] - outputs, [columns.wall_times for columns in self._traces])
        return found

    def _sorted(self) -> NDArray[np.uint32] | None:
        """Return the rows in order; None if they are already in order."""
        last = -np.inf
        for rows in _blocks(self._count):
            times = self._wall_times(rows)
            if not (times[0] >= last and (times[1:] >= times[:-1]).all()):
                break
            last = times[-1]
        else:
            return None
        times = np.concatenate([self._wall_times(rows) for rows in _blocks(self._count)])
        return np.argsort(times, kind="stable").astype(np.uint32)

    def _rank(self) -> None:
        seen = np.zeros(len(self._ranks), np.int64)
        for numbers in _blocks(self._count):
            check_cancelled()
            names = self._names[self.places_at(numbers)]
            distinct, firsts = np.unique(names, return_index=True)
            new = self._ranks[distinct] < 0
            for name, first in sorted(zip(distinct[new].tolist(), firsts[new].tolist(), strict=True), key=_second):
                self._ranks[name] = len(self.first_numbers)
                self.first_numbers.append(int(numbers[first]))
            self._steps.extend(seen[names] + _times_before(names))
            seen += np.bincount(names, minlength=len(seen))


def _second(pair: tuple[int, int]) -> int:
    return pair[1]


def _blocks(count: int) -> Iterator[Numbers]:
    for begin in range(0, count, _BLOCK):
        yield np.arange(begin, min(begin + _BLOCK, count))


def _gathered(rows: Numbers, parts: Sequence[Column]) -> NDArray[Any]:
    """Return elements of arrays as if the arrays were concatenated."""
    found = np.empty(len(rows), np.result_type(*(part.dtype for part in parts)) if parts else np.float64)
    if not len(rows):
        return found
    first, last = int(rows[0]), int(rows[-1])
    # Usually, the rows are consecutive in one file.
    together = last - first + 1 == len(rows) and bool((np.diff(rows) == 1).all())
    begin = 0
    for part in parts:
        end = begin + len(part)
        if together:
            low, high = max(first, begin), min(last + 1, end)
            if low < high:
                found[low - first : high - first] = part[low - begin : high - begin]
        else:
            inside = (rows >= begin) & (rows < end)
            found[inside] = part[rows[inside] - begin]
        begin = end
    return found


def _times_before(names: NDArray[np.int32]) -> Numbers:
    """Return, for each name, how often the same name appeared before."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.diff(begins, append=len(ordered))
    found = np.empty(len(names), np.int64)
    found[order] = np.arange(len(ordered)) - np.repeat(begins, counts)
    return found
