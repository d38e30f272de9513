"""Scalars as tables: one row per point, or one row per step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.summary.contents import Contents
from stepscope.summary.distinct import distinct_values
from stepscope.summary.frames.points import joined, name_column, point_columns
from stepscope.summary.frames.selection import Names, selected_series
from stepscope.summary.series import SCALARS, Series

_KEYS = ("run", "step")


def scalars(
    contents: Contents, runs: Names = None, tags: Names = None, *, pivot: bool = False, wall_time: bool = True
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.scalars`."""
    chosen = selected_series(contents, {SCALARS}, runs, tags)
    if pivot:
        return _one_row_per_step(chosen)
    frame = pl.DataFrame([*point_columns(chosen), joined("value", [s.values for s in chosen], pl.Float64)])
    return frame if wall_time else frame.drop("wall_time")


def column_names(names: Iterable[str], taken: Iterable[str], noun: str) -> list[str]:
    """Return a column name for each name: the name itself, followed by ``(noun)`` where that is taken."""
    columns: list[str] = []
    used = set(taken)
    for name in names:
        column = name
        while column in used:
            column = f"{column} ({noun})"
        used.add(column)
        columns.append(column)
    return columns


@dataclass(frozen=True)
class _Rows:
    """The rows of one run: one per step, or several where a tag has a step more than once."""

    steps: NDArray[np.int64]
    first_row: int
    """The run's first row in the whole table."""
    distinct_steps: NDArray[np.int64]
    row_of_distinct_step: NDArray[np.int64]

    def of_points(self, steps: NDArray[np.int64]) -> NDArray[np.int64] | slice:
        """Return the row of each point of a tag: the n-th point of a step goes to the step's n-th row."""
        if np.array_equal(steps, self.steps):
            return slice(self.first_row, self.first_row + len(steps))
        return (
            self.first_row
            + self.row_of_distinct_step[np.searchsorted(self.distinct_steps, steps)]
            + _earlier_points_of_step(steps)
        )


def _one_row_per_step(chosen: Sequence[Series]) -> pl.DataFrame:
    by_run: dict[str, list[Series]] = {}
    for series in chosen:
        by_run.setdefault(series.run, []).append(series)
    rows: dict[str, _Rows] = {}
    row_count = 0
    for run, of_run in by_run.items():
        rows[run] = _rows_of_run(of_run, row_count)
        row_count += len(rows[run].steps)
    by_tag: dict[str, list[Series]] = {}
    for series in chosen:
        by_tag.setdefault(series.tag, []).append(series)
    return pl.DataFrame(
        [
            name_column("run", list(rows), [len(of_run.steps) for of_run in rows.values()]),
            joined("step", [of_run.steps for of_run in rows.values()], pl.Int64),
            *(
                _tag_column(column, of_tag, rows, row_count)
                for column, of_tag in zip(column_names(by_tag, _KEYS, "tag"), by_tag.values(), strict=True)
            ),
        ]
    )


def _rows_of_run(of_run: Sequence[Series], first_row: int) -> _Rows:
    # The tags of a run mostly have the same steps, which are then sorted once.
    different = list({series.steps.tobytes(): series.steps for series in of_run}.values())
    counted = [np.unique(steps, return_counts=True) for steps in different]
    distinct = counted[0][0] if len(counted) == 1 else distinct_values(np.concatenate([steps for steps, _ in counted]))
    most = np.zeros(len(distinct), np.int64)
    for steps, counts in counted:
        at = np.searchsorted(distinct, steps)
        most[at] = np.maximum(most[at], counts)
    return _Rows(np.repeat(distinct, most), first_row, distinct, np.cumsum(most) - most)


def _earlier_points_of_step(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each point, how many earlier points have the same step."""
    order = np.argsort(steps, kind="stable")
    in_order = steps[order]
    numbers = np.arange(len(steps), dtype=np.int64)
    begins = np.ones(len(steps), np.bool_)
    begins[1:] = in_order[1:] != in_order[:-1]
    earlier = np.empty_like(numbers)
    earlier[order] = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
    return earlier


def _tag_column(column: str, of_tag: Sequence[Series], rows: Mapping[str, _Rows], row_count: int) -> pl.Series:
    values = np.zeros(row_count)
    missing = np.ones(row_count, np.bool_)
    for series in of_tag:
        at = rows[series.run].of_points(series.steps)
        values[at] = series.values
        missing[at] = False
    filled = pl.Series(column, values)
    return filled.set(pl.Series(missing), None) if missing.any() else filled
