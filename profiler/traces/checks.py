"""Checks of the columns of a trace that this package did not make: compiled code relies on them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS, LONGEST_NS
from stepscope.record_fields import check_fields

_COLUMNS: Final[Mapping[str, Any]] = {
    "start_ns": np.int64,
    "duration_ns": np.int64,
    "lane": np.int32,
    "depth": np.int32,
    "name_id": np.int32,
    "category_id": np.int32,
}


def check_trace(trace: Trace) -> None:
    """Check that the parts of a trace have their types and fit together.

    Raises:
        TypeError: a part has another type; the message is one sentence.
        ValueError: the parts do not fit together; likewise.
    """
    check_fields(trace, Trace)
    size, flows = len(trace.start_ns), trace.flows
    for name, dtype in _COLUMNS.items():
        _check_column(name, getattr(trace, name), dtype, size)
    ids = (("lane", trace.lane, trace.lanes), ("name_id", trace.name_id, trace.names))
    for name, column, of in (*ids, ("category_id", trace.category_id, trace.categories)):
        _check_within(name, column, len(of))
    for name, dtype, limit in (
        ("source", np.int64, size),
        ("target", np.int64, size),
        ("category_id", np.int32, len(trace.categories)),
    ):
        column = getattr(flows, name)
        _check_column(f"flows.{name}", column, dtype, len(flows.source))
        _check_within(f"flows.{name}", column, limit)
    for counter in trace.counters:
        size_of_counter = len(counter.times_ns)
        for name, dtype in (("times_ns", np.int64), ("values", np.float64)):
            _check_column(f"{name} of the counter {counter.name!r}", getattr(counter, name), dtype, size_of_counter)
        if (np.diff(counter.times_ns) < 0).any():
            raise ValueError(f"the times of the counter {counter.name!r} go back")
    for what, times, least, most in _times(trace):
        first, last = (int(np.min(times)), int(np.max(times))) if len(times) else (least, most)
        if first < least or last > most:
            raise ValueError(f"the times of {what} are from {first:,} to {last:,} ns")
    depths = [lane.depths for lane in trace.lanes]
    if not are_in_rows(trace.start_ns, trace.duration_ns, trace.lane, trace.depth, depths):
        raise ValueError("its slices are not sorted by (lane, depth, start), or overlap in a row: see trace_of_slices")


def are_in_rows(
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    lane: NDArray[np.int32],
    depth: NDArray[np.int32],
    depths: Sequence[int],
) -> bool:
    """Return whether slices are sorted by row without overlaps in a row, and lanes have exactly the rows in use.

    Args:
        start_ns: when each slice starts; with the next three, columns ``[n]``.
        duration_ns: how long it takes.
        lane: the index of its lane, which must be one of ``depths``.
        depth: its depth in that.
        depths: the number of rows of each lane.
    """
    rows = np.array([*depths] or [0], np.int64)
    if not len(start_ns):
        return not rows.any()
    # The sum alone could exceed 64 bits.
    if min(int(column.min()) for column in (rows, duration_ns, depth)) < 0:
        return False
    if int(rows.max()) > len(start_ns) or int(rows.sum()) > len(start_ns):
        return False
    if (depth >= rows[lane]).any():
        return False
    row = (np.cumsum(rows) - rows)[lane] + depth
    step = np.diff(row)
    apart = start_ns[:-1] + duration_ns[:-1] <= start_ns[1:]
    return bool(row[0] == 0 and row[-1] == rows.sum() - 1 and ((step == 1) | ((step == 0) & apart)).all())


def _check_column(name: str, column: NDArray[Any], dtype: Any, size: int) -> None:
    if column.dtype != dtype:
        raise TypeError(f"{name} is of the type {column.dtype}, expected {np.dtype(dtype)}")
    if column.shape != (size,):
        raise ValueError(f"{name} is of shape {list(column.shape)}, expected [{size}]")


def _check_within(name: str, column: NDArray[Any], limit: int) -> None:
    if len(column) and not (int(column.min()) >= 0 and int(column.max()) < limit):
        raise ValueError(f"{name} has numbers from {column.min()} to {column.max()}, expected less than {limit}")


def _times(trace: Trace) -> Iterator[tuple[str, NDArray[np.int64] | Sequence[int], int, int]]:
    """Yield all times, with what they are of, the minimum and the maximum."""
    yield "slices", trace.start_ns, EARLIEST_NS, LATEST_NS
    yield "slices", trace.duration_ns, 0, LONGEST_NS
    for counter in trace.counters:
        yield f"the counter {counter.name!r}", counter.times_ns, EARLIEST_NS, LATEST_NS
    yield "steps", [step.start_ns for step in trace.steps], EARLIEST_NS, LATEST_NS
    yield "steps", [step.duration_ns for step in trace.steps], 0, LONGEST_NS
