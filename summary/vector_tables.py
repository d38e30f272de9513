"""Vectors in tables: TSV, CSV and other text, JSON lines, Parquet and Arrow, one point per row.

If a table has columns of lists, one of them holds the vectors. Otherwise, all columns of numbers form the vectors, or
only the numbered columns (``x0``, ``x1``, ...) if there are any; a name such as "label" or "id" marks numbers that are
not dimensions. The other columns describe the points.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.delimited import read_text
from stepscope.summary.foreign_tables import read_foreign_table
from stepscope.summary.memory_budget import TooLargeError, claim, claim_json
from stepscope.summary.source import read_up_to
from stepscope.summary.table_sizes import declared_bytes
from stepscope.summary.vector_table_rules import Remark, VectorTableError, dimensions, left_out, unequal_rows

if TYPE_CHECKING:
    import polars as pl

LARGEST_TABLE: Final = 1 << 30
"""Maximum size of a file in bytes."""
MOST_VALUES: Final = 1 << 28
"""Maximum total number of values of all points."""
TABLE_SUFFIXES: Final = (".tsv", ".csv", ".txt", ".vec", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")

_LINE_BYTES: Final = 40
_TEXT_BYTES: Final = 60
"""Memory overhead, in bytes, of a line or a text."""
_NAMES_OF_VECTORS: Final = ("embedding", "embeddings", "vector", "vectors", "emb", "values", "features")


@dataclass(frozen=True)
class TableColumn:
    """A named column that describes the points; either texts or numbers."""

    name: str
    texts: list[str] | None
    """"" where there is no text."""
    numbers: NDArray[np.float64] | None
    """NaN where there is no number."""


@dataclass(frozen=True)
class VectorTable:
    """The points of a table."""

    points: NDArray[np.float32]
    """float32 [n, d], C-contiguous; may contain values that are not finite."""
    rows: NDArray[np.int64]
    """int64 [n]: the points' rows in the file, from 0; headers and empty lines do not count as rows."""
    row_count: int
    """Number of rows of the file, including those that were left out."""
    columns: tuple[TableColumn, ...] = ()
    """Columns that describe the points, in the order of the points."""
    remarks: tuple[Remark, ...] = field(default=())


def read_vector_table(stream: BinaryIO, name: str) -> VectorTable:
    """Return the points of a file whose name ends in one of `TABLE_SUFFIXES`.

    Raises:
        VectorTableError: the file holds no vectors, is damaged or is too large.
        OSError: the file cannot be read.
    """
    try:
        return _read(stream, name)
    except TooLargeError as error:
        raise VectorTableError(f"{name} cannot be read. {error}") from error


def _read(stream: BinaryIO, name: str) -> VectorTable:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    if size > LARGEST_TABLE:
        raise VectorTableError(f"{name} is more than {LARGEST_TABLE:,} bytes, the limit for tables.")
    claim(size)
    content = read_up_to(stream, LARGEST_TABLE)
    match PurePosixPath(name).suffix.lower():
        case ".parquet" | ".arrow" | ".feather":
            return vectors_of_frame(_frame(content, name), name)
        case ".jsonl" | ".ndjson":
            return vectors_of_json_lines(content, name)
        case ".tsv":
            return vectors_of_text(content, name, delimiters="\t", quoted=False)
        case ".csv":
            return vectors_of_text(content, name, delimiters=",;\t", quoted=True)
        case _:
            return vectors_of_text(content, name, delimiters="\t,; ", quoted=False)


def read_table(content: bytes, name: str) -> list[TableColumn]:
    """Return all columns of a Parquet or Arrow file or of JSON lines; none is treated as vectors.

    Raises:
        VectorTableError: the content cannot be read.
    """
    if PurePosixPath(name).suffix.lower() in (".jsonl", ".ndjson"):
        return list(_columns(_frame_of_records(_records(content, name)[0]), True))
    return list(_columns(_frame(content, name), True))


def vectors_of_text(content: bytes, name: str, *, delimiters: str = "\t", quoted: bool = False) -> VectorTable:
    """Return the points of lines of values.

    Args:
        content: the text, UTF-8.
        name: name of the file, for messages.
        delimiters: possible separators of values; the first that is in the first line and divides most lines alike is
            used.
        quoted: whether a value may be in double quotes.

    Raises:
        VectorTableError: the text holds no vectors.
    """
    claim(2 * len(content) + _LINE_BYTES * content.count(b"\n"))
    frame, rows, row_count, remarks = read_text(content, name, delimiters, quoted)
    table = vectors_of_frame(frame, name, named=not frame.columns or not frame.columns[0].startswith("\0"))
    return VectorTable(table.points, rows[table.rows], row_count, table.columns, (*remarks, *table.remarks))


def vectors_of_json_lines(content: bytes, name: str) -> VectorTable:
    """Return the points of JSON lines: objects with a list of numbers or with numbers, or bare lists of numbers.

    Raises:
        VectorTableError: the content holds no vectors.
    """
    records, rows, line_count = _records(content, name)
    remarks = left_out("damaged lines", line_count - len(rows), "is not JSON", "are not JSON")
    key = _key_of_lists(records)
    if key is None:
        table = vectors_of_frame(_frame_of_records(records), name)
    else:
        vectors = [_floats(record.get(key)) for record in records]
        others = [{k: v for k, v in record.items() if k != key} for record in records]
        table = _of_vectors(vectors, _frame_of_records(others))
    if not len(table.points):
        raise VectorTableError(f"{name} has no vectors.")
    kept = np.array(rows, np.int64)[table.rows]
    return VectorTable(table.points, kept, line_count, table.columns, (*remarks, *table.remarks))


def _records(content: bytes, name: str) -> tuple[list[dict[str, Any]], list[int], int]:
    """Return the lines that are JSON, their indices among all lines, and the number of lines."""
    import orjson

    claim_json(content)
    lines = [line for line in content.split(b"\n") if line.strip()]
    records: list[dict[str, Any]] = []
    rows: list[int] = []
    for row, line in enumerate(lines):
        if row % 1000 == 0:
            check_cancelled()
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict | list):
            records.append(value if isinstance(value, dict) else {"vector": value})
            rows.append(row)
    if not records:
        raise VectorTableError(f"{name} has no line with a JSON object or list.")
    return records, rows, len(lines)


def vectors_of_frame(frame: "pl.DataFrame", name: str, *, named: bool = True) -> VectorTable:
    """Return the points of a Polars table; the module docstring describes which columns are used.

    Args:
        frame: the table.
        name: name of the file, for messages.
        named: whether the column names are meaningful.

    Raises:
        VectorTableError: no column has numbers, or there are too many.
    """
    import polars as pl

    lists = [c for c in frame.columns if _is_vector_type(frame.schema[c])]
    if lists:
        chosen = next((c for n in _NAMES_OF_VECTORS for c in lists if c.lower() == n), lists[0])
        return _of_list_column(frame, chosen, name)
    numbers = [c for c in frame.columns if frame.schema[c].is_numeric()]
    vectors = dimensions(numbers) if named else numbers
    if not vectors or not frame.height:
        raise VectorTableError(
            f"{name} has no vectors. Expected columns of numbers, or one column with a list of numbers in each row."
        )
    if frame.height * len(vectors) > MOST_VALUES:
        raise VectorTableError(f"{name} has {frame.height * len(vectors):,} numbers; the limit is {MOST_VALUES:,}.")
    with np.errstate(over="ignore"):
        points = frame.select(pl.col(vectors).cast(pl.Float32, strict=False)).to_numpy(order="c")
    columns = _columns(frame.drop(vectors), named)
    return VectorTable(_floats32(points), np.arange(frame.height, dtype=np.int64), frame.height, columns)


def _is_vector_type(dtype: Any) -> bool:
    import polars as pl

    return isinstance(dtype, pl.List | pl.Array) and dtype.inner is not None and dtype.inner.is_numeric()


def _of_list_column(frame: "pl.DataFrame", chosen: str, name: str) -> VectorTable:
    import polars as pl

    lists = frame.get_column(chosen)
    if isinstance(lists.dtype, pl.Array):
        lists = lists.arr.to_list()
    lengths = lists.list.len().fill_null(0).to_numpy()
    kept, remarks = _equal(lengths)
    if not len(kept) or not lengths[kept[0]]:
        raise VectorTableError(f"{name} has no vectors in its column {chosen!r}.")
    if len(kept) * int(lengths[kept[0]]) > MOST_VALUES:
        raise VectorTableError(f"{name} has more than {MOST_VALUES:,} numbers, the limit.")
    if len(kept) < frame.height:
        lists, frame = lists.gather(kept), frame[kept]
    flat = lists.explode().cast(pl.Float32, strict=False).to_numpy()
    points = _floats32(flat.reshape(len(kept), -1))
    return VectorTable(points, kept, len(lengths), _columns(frame.drop(chosen), True), remarks)


def _of_vectors(vectors: Sequence[NDArray[np.float32]], about: "pl.DataFrame") -> VectorTable:
    lengths = np.array([len(vector) for vector in vectors])
    kept, remarks = _equal(lengths)
    if len(kept) * int(lengths[kept[0]] if len(kept) else 0) > MOST_VALUES:
        raise VectorTableError(f"The table has more than {MOST_VALUES:,} numbers, the limit.")
    points = np.array([vectors[row] for row in kept], np.float32).reshape(len(kept), -1)
    columns = _columns(about[kept] if about.width else about, True)
    return VectorTable(_floats32(points), kept, len(vectors), columns, remarks)


def _equal(lengths: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[Remark, ...]]:
    """Return the rows of the most frequent length; no length is 0."""
    counts = Counter(lengths[lengths > 0].tolist())
    if not counts:
        return np.zeros(0, np.int64), ()
    usual = max(counts, key=lambda length: (counts[length], length))
    kept = np.flatnonzero(lengths == usual).astype(np.int64)
    return kept, unequal_rows(len(lengths) - len(kept), usual, int(np.argmax(lengths != usual)))


def _columns(frame: "pl.DataFrame", named: bool) -> tuple[TableColumn, ...]:
    columns: list[TableColumn] = []
    for place, name in enumerate(frame.columns):
        series = frame.get_column(name)
        shown = name if named else f"column {place + 1}"
        if series.dtype.is_numeric() and not _is_beyond_floats(series):
            columns.append(TableColumn(shown, None, series.cast(float, strict=False).to_numpy().astype(np.float64)))
        else:
            columns.append(TableColumn(shown, _texts(series), None))
    return tuple(columns)


def _is_beyond_floats(series: "pl.Series") -> bool:
    """Return whether float64 changes some whole numbers of a column, such as ids of 19 digits."""
    kind = series.dtype
    return kind.is_integer() and series.cast(float).cast(kind, strict=False).ne_missing(series).any()


def _texts(series: "pl.Series") -> list[str]:
    import polars as pl

    # One text in the file may serve any number of rows.
    is_text = series.dtype == pl.String
    claim(_TEXT_BYTES * len(series) + (int(series.str.len_bytes().sum() or 0) if is_text else 0))
    if not series.dtype.is_nested() and series.dtype not in (pl.Binary, pl.Object):
        return series.cast(pl.String, strict=False).fill_null("").to_list()
    return ["" if value is None else str(value) for value in series.to_list()]


def _floats32(points: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(points, dtype=np.float32)


def _floats(value: Any) -> NDArray[np.float32]:
    if isinstance(value, list):
        try:
            with np.errstate(over="ignore"):
                floats = np.array([np.nan if v is None else v for v in value], np.float64).astype(np.float32)
            if floats.ndim == 1:
                return floats
        except (TypeError, ValueError, OverflowError):
            pass
    return np.zeros(0, np.float32)


def _key_of_lists(records: Sequence[dict[str, Any]]) -> str | None:
    counts: Counter[str] = Counter()
    for record in records[:1000]:
        counts.update(k for k, v in record.items() if isinstance(v, list) and len(_floats(v)))
    for name in (*_NAMES_OF_VECTORS, *(key for key, _ in counts.most_common(1))):
        for key in counts:
            if key.lower() == name.lower():
                return key
    return None


def _frame_of_records(records: Sequence[dict[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    names = list(dict.fromkeys(key for record in records for key in record))[:1000]
    series: list[pl.Series] = []
    for name in names:
        values = [record.get(name) for record in records]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int}:
            series.append(pl.Series(name, values, pl.Int128))
        elif kinds <= {int, float}:
            series.append(pl.Series(name, [None if v is None else float(v) for v in values], pl.Float64))
        else:
            series.append(pl.Series(name, [None if v is None else str(v) for v in values], pl.String))
    return pl.DataFrame(series)


def _frame(content: bytes, name: str) -> "pl.DataFrame":
    try:
        declared = declared_bytes(content)
        # Once in the reading process, and once here.
        claim(2 * declared + len(content))
        return read_foreign_table(content, declared)
    except ValueError as error:
        raise VectorTableError(f"{name} cannot be read: {error!s:.300}.") from error
