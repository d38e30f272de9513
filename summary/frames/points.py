"""The leading columns of every table of points."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.summary.series import Series


def name_column(column: str, names: Sequence[str], counts: Sequence[int]) -> pl.Series:
    """Return a categorical column that repeats each of ``names`` by its entry in ``counts``: four bytes per row."""
    once = pl.Series(column, names, dtype=pl.Categorical())
    positions = np.repeat(np.arange(len(names), dtype=np.uint32), np.asarray(counts, np.int64))
    return once.gather(pl.Series(positions))


def joined(column: str, arrays: Sequence[NDArray[Any]], dtype: type[pl.DataType]) -> pl.Series:
    """Return the concatenated arrays as a column; NaN stays NaN."""
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0)
    return pl.Series(column, whole, dtype=dtype)


def point_columns(chosen: Sequence[Series]) -> list[pl.Series]:
    """Return the columns run, tag, step and wall_time, one row per point."""
    counts = [len(series) for series in chosen]
    return [
        name_column("run", [series.run for series in chosen], counts),
        name_column("tag", [series.tag for series in chosen], counts),
        joined("step", [series.steps for series in chosen], pl.Int64),
        joined("wall_time", [series.wall_times for series in chosen], pl.Float64),
    ]
