"""Images, audio, histograms, tensors and text as tables, read from the files on demand, up to a size limit."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.summary.contents import LARGEST_FRAME, Contents
from stepscope.summary.frames.selection import Names, SelectionError, selected_series
from stepscope.summary.kinds.base import ColumnType, Payload, PayloadError
from stepscope.summary.kinds.registry import all_kinds, kind_named
from stepscope.summary.series import Series

_DTYPES: Final[Mapping[ColumnType, Any]] = {
    "bool": pl.Boolean(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "str": pl.String(),
    "name": pl.Categorical(),
    "bytes": pl.Binary(),
    "list[int]": pl.List(pl.Int64),
    "list[float]": pl.List(pl.Float64),
    "list[str]": pl.List(pl.String),
}
_POINT: Final[Mapping[str, Any]] = {
    "run": pl.Categorical(),
    "tag": pl.Categorical(),
    "step": pl.Int64(),
    "wall_time": pl.Float64(),
}
_ERROR: Final[Mapping[str, Any]] = {"error": pl.String()}
_Row: TypeAlias = tuple[Any, ...]


def payload_table(
    contents: Contents,
    kind: str,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.table`."""
    found = all_kinds().get(kind)
    if found is None or found.table is None:
        with_tables = ", ".join(name for name, each in all_kinds().items() if each.table)
        raise SelectionError(f"there is no table of {kind!r}; expected one of {with_tables}")
    table = found.table
    columns = {name: _DTYPES[type_] for name, type_ in table.columns.items()}
    chosen = selected_series(contents, {kind}, runs, tags)
    return _table(chosen, columns, lambda series, payload: table.rows(payload), last, max_bytes)


def tensors(
    contents: Contents,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.tensors`."""
    columns = {
        "kind": pl.Categorical(),
        "dtype": pl.String(),
        "shape": pl.List(pl.Int64),
        "content": pl.Binary(),
    }

    def rows(series: Series, payload: Payload) -> list[_Row]:
        array_of = kind_named(series.kind).array
        assert array_of is not None
        array = array_of(payload)
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return [(series.kind, array.dtype.name, list(array.shape), little_endian.tobytes())]

    kinds = {kind for kind in contents.kinds if kind_named(kind).array is not None}
    return _table(selected_series(contents, kinds, runs, tags), columns, rows, last, max_bytes)


def to_arrays(frame: pl.DataFrame) -> list[NDArray[Any] | None]:
    """Return the tensors of a table made by `tensors`, one read-only array per row; None where it cannot be read.

    Raises:
        ValueError: the table lacks a dtype, shape or content column.
    """
    missing = [column for column in ("dtype", "shape", "content") if column not in frame.columns]
    if missing:
        raise ValueError(f"expected a table of tensors, with a column {missing[0]!r}, got {frame.columns}")
    arrays: list[NDArray[Any] | None] = []
    for dtype, shape, content in frame.select("dtype", "shape", "content").iter_rows():
        if content is None:
            arrays.append(None)
        else:
            arrays.append(np.frombuffer(content, np.dtype(dtype).newbyteorder("<")).reshape(shape))
    return arrays


def _table(
    chosen: Sequence[Series],
    columns: Mapping[str, Any],
    rows_of: Callable[[Series, Payload], Sequence[_Row]],
    last: int | None,
    max_bytes: int,
) -> pl.DataFrame:
    """Return a table of the points' rows; a point without rows gets one row of nulls, so that every point appears."""
    schema = {**_POINT, **columns, **_ERROR}
    values: list[list[Any]] = [[] for _ in schema]
    nothing = (None,) * len(columns)
    held = 0
    for series, index, rows, error in _rows(chosen, rows_of, _checked_last(last)):
        held += sum(_held_bytes(row) for row in rows)
        if held > max_bytes:
            raise SelectionError(
                f"the payloads of {series.kind} need more than {max_bytes:,} bytes; choose fewer runs or tags, or "
                "only the last points of each, or allow more bytes"
            )
        point = series.run, series.tag, int(series.steps[index]), float(series.wall_times[index])
        for row in rows or [nothing]:
            for column, value in zip(values, (*point, *row, error), strict=True):
                column.append(value)
    return pl.DataFrame(
        [pl.Series(name, column, dtype=schema[name]) for name, column in zip(schema, values, strict=True)]
    )


def _rows(
    chosen: Sequence[Series], rows_of: Callable[[Series, Payload], Sequence[_Row]], last: int | None
) -> Iterator[tuple[Series, int, Sequence[_Row], str | None]]:
    for series in chosen:
        for index in range(0 if last is None else max(0, len(series) - last), len(series)):
            try:
                yield series, index, rows_of(series, series.read(index)), None
            except PayloadError as error:
                yield series, index, (), str(error)


def _checked_last(last: int | None) -> int | None:
    if last is None:
        return None
    try:
        whole = operator.index(last)
    except TypeError:
        raise TypeError(f"last must be a whole number or None, got {type(last).__name__} {last!r}") from None
    if whole < 1:
        raise ValueError(f"last must be at least 1, got {whole}")
    return whole


def _held_bytes(row: _Row) -> int:
    return sum(_size(value) for value in row)


def _size(value: Any) -> int:
    match value:
        case np.ndarray():
            return value.nbytes
        case bytes() | str():
            return len(value)
        case list():
            return sum(map(_size, value))
        case _:
            return 8
