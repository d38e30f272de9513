"""Images, audio, histograms, tensors and text as tables: read from the files when asked for, up to a limit."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.summary.contents import LARGEST_FRAME, Contents
from stepscope.summary.frames.selection import Names, SelectionError, selected_series
from stepscope.summary.kinds.audio import Audio
from stepscope.summary.kinds.base import Payload, PayloadError
from stepscope.summary.kinds.histogram import Histogram
from stepscope.summary.kinds.image import Images
from stepscope.summary.kinds.mesh import Mesh
from stepscope.summary.kinds.pr_curve import PrCurve
from stepscope.summary.kinds.registry import KINDS
from stepscope.summary.kinds.tensor import Tensor
from stepscope.summary.kinds.text import Text
from stepscope.summary.series import Series

_TENSOR_KINDS: Final = frozenset({"tensor", "pr_curves", "mesh"})

_POINT: Final[Mapping[str, Any]] = {
    "run": pl.Categorical(),
    "tag": pl.Categorical(),
    "step": pl.Int64(),
    "wall_time": pl.Float64(),
}
_ERROR: Final[Mapping[str, Any]] = {"error": pl.String()}
_Row: TypeAlias = tuple[Any, ...]


def histograms(
    contents: Contents,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.histograms`."""
    numbers = pl.List(pl.Float64)
    left_out = ("nan", "positive_infinite", "negative_infinite", "below", "above")
    columns = {"left": numbers, "right": numbers, "count": numbers, **dict.fromkeys(left_out, pl.Int64())}

    def rows(series: Series, histogram: Histogram) -> list[_Row]:
        counts = (getattr(histogram, name) for name in left_out)
        return [(*(np.ascontiguousarray(column) for column in histogram.buckets.T), *counts)]

    return _table(selected_series(contents, {"histograms"}, runs, tags), columns, rows, last, max_bytes)


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

    def rows(series: Series, payload: Tensor | PrCurve | Mesh) -> list[_Row]:
        array = _array(payload)
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return [(series.kind, array.dtype.name, list(array.shape), little_endian.tobytes())]

    # What has no kind, or one that nobody here knows, is a tensor.
    kinds = _TENSOR_KINDS | (contents.kinds - KINDS.keys())
    return _table(selected_series(contents, kinds, runs, tags), columns, rows, last, max_bytes)


def images(
    contents: Contents,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.images`."""
    columns = {"sample": pl.Int64(), "width": pl.Int64(), "height": pl.Int64(), "encoded": pl.Binary()}

    def rows(series: Series, payload: Images) -> list[_Row]:
        size = payload.width, payload.height
        return [(sample, *size, encoded) for sample, encoded in enumerate(payload.encoded)]

    return _table(selected_series(contents, {"images"}, runs, tags), columns, rows, last, max_bytes)


def audio(
    contents: Contents,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.audio`."""
    columns = {"sample": pl.Int64(), "content_type": pl.String(), "label": pl.String(), "encoded": pl.Binary()}

    def rows(series: Series, payload: Audio) -> list[_Row]:
        return [(sample, c.content_type, c.label, c.encoded) for sample, c in enumerate(payload.clips)]

    return _table(selected_series(contents, {"audio"}, runs, tags), columns, rows, last, max_bytes)


def texts(
    contents: Contents,
    runs: Names = None,
    tags: Names = None,
    *,
    last: int | None = None,
    max_bytes: int = LARGEST_FRAME,
) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.texts`."""
    columns = {"shape": pl.List(pl.Int64), "text": pl.List(pl.String)}

    def rows(series: Series, payload: Text) -> list[_Row]:
        return [(list(payload.strings.shape), payload.strings.reshape(-1).tolist())]

    return _table(selected_series(contents, {"text"}, runs, tags), columns, rows, last, max_bytes)


def to_arrays(frame: pl.DataFrame) -> list[NDArray[Any] | None]:
    """Return the tensors of a table that `tensors` made, row by row, read-only; None where one cannot be read.

    Raises:
        ValueError: the table lacks the columns dtype, shape or content.
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


def _array(payload: Tensor | PrCurve | Mesh) -> NDArray[Any]:
    match payload:
        case Tensor():
            return payload.array
        case PrCurve():
            return payload.table
        case Mesh():
            return payload.rows


def _table(
    chosen: Sequence[Series],
    columns: Mapping[str, Any],
    rows_of: Callable[[Series, Payload], list[_Row]],
    last: int | None,
    max_bytes: int,
) -> pl.DataFrame:
    """Return a table of the points' rows; a point without any has one of nulls, so that each point is there."""
    schema = {**_POINT, **columns, **_ERROR}
    values: list[list[Any]] = [[] for _ in schema]
    nothing = (None,) * len(columns)
    held = 0
    for series, index, payload, error in _payloads(chosen, _checked_last(last)):
        rows = rows_of(series, payload) if error is None else []
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


def _payloads(chosen: Sequence[Series], last: int | None) -> Iterator[tuple[Series, int, Payload, str | None]]:
    for series in chosen:
        for index in range(0 if last is None else max(0, len(series) - last), len(series)):
            try:
                yield series, index, series.read(index), None
            except PayloadError as error:
                yield series, index, None, str(error)


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
