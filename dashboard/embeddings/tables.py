"""The table of points: sorted rows, a page at a time, and the whole table as a file."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.dataset import Column
from stepscope.dashboard.embeddings.search import texts_of
from stepscope.dashboard.embeddings.selections import Rows
from stepscope.dashboard.export.tables import csv_pieces

ROW: Final = "#"
"""The column with the indices of the points."""
AXES: Final = ("x", "y", "z")
MOST_ORDERS: Final = 16
Format = Literal["csv", "tsv", "parquet"]


class Orders:
    """The most recently used sort orders of tables; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._orders: OrderedDict[tuple[str, str, bool], tuple[Column, Rows]] = OrderedDict()

    def of(self, digest: str, column: Column, *, descending: bool) -> Rows:
        """Return all points of the dataset with this digest, sorted by a column; see `order_of`."""
        key = (digest, column.name, descending)
        with self._lock:
            found = self._orders.get(key)
            if found is not None and found[0] is column:
                self._orders.move_to_end(key)
                return found[1]
        order = order_of(column, descending=descending)
        with self._lock:
            self._orders[key] = (column, order)
            if len(self._orders) > MOST_ORDERS:
                self._orders.popitem(last=False)
        return order


def order_of(column: Column, *, descending: bool) -> Rows:
    """Return indices of points sorted by their values in a column, equal values by index.

    Points without a value come last.

    Texts are sorted case-insensitively.
    """
    # No page needs this import before a table is sorted.
    import polars as pl

    if column.numbers is not None:
        values = pl.Series("value", column.numbers).fill_nan(None)
    else:
        texts = pl.Series("value", column.texts or (), pl.String)
        values = texts.str.to_lowercase().set(texts == "", None)
    frame = pl.DataFrame({"value": values}).with_row_index("row")
    ordered = frame.sort("value", "row", descending=[descending, False], nulls_last=True)
    return ordered["row"].to_numpy().astype(np.uint32)


def table_rows(columns: Sequence[Column], rows: Rows) -> list[dict[str, Any]]:
    """Return points as rows for a page: `ROW` and the value of each column; None if missing."""
    found: list[dict[str, Any]] = [{} for _ in range(len(rows))]
    for column in columns:
        for row, value in zip(found, _values(column, rows), strict=True):
            row[column.name] = value
    for row, place in zip(found, rows.tolist(), strict=True):
        row[ROW] = place
    return found


def _values(column: Column, rows: Rows) -> list[Any]:
    if column.texts is not None:
        return texts_of(column, rows)
    assert column.numbers is not None
    return [value if np.isfinite(value) else None for value in column.numbers[rows].tolist()]


def text_values(columns: Sequence[Column], row: int) -> dict[str, str]:
    """Return the values of all columns for one point, as text."""
    return {column.name: texts_of(column, np.array([row]))[0] for column in columns}


def export_table(
    columns: Sequence[Column],
    file_rows: NDArray[np.int64],
    rows: Rows,
    coordinates: NDArray[np.float32] | None,
    format: Format,
) -> bytes:
    """Return a file of points: "row" (the row in the embedding's file), the coordinates, and the columns.

    Args:
        columns: columns of the dataset.
        file_rows: file row of every point of the dataset.
        rows: indices of the points to write.
        coordinates: float32 [points, k]: x, y and z for up to three, x1, x2... for more; None for none.
        format: format of the file.
    """
    import polars as pl

    data: dict[str, pl.Series] = {}

    def add(name: str, values: Any, dtype: Any) -> None:
        free, number = name, 2
        while free in data:
            free = f"{name} ({number})"
            number += 1
        data[free] = pl.Series(free, values, dtype)

    add("row", file_rows[rows], pl.Int64)
    if coordinates is not None:
        width = coordinates.shape[1]
        names = AXES[:width] if width <= len(AXES) else [f"x{place + 1}" for place in range(width)]
        for name, values in zip(names, coordinates.T, strict=True):
            add(name, np.ascontiguousarray(values), pl.Float32)
    for column in columns:
        if column.texts is not None:
            add(column.name, texts_of(column, rows), pl.String)
        else:
            assert column.numbers is not None
            add(column.name, pl.Series(column.numbers[rows]).fill_nan(None), pl.Float64)
    frame = pl.DataFrame(list(data.values()))
    match format:
        case "csv":
            return b"".join(csv_pieces(frame))
        case "tsv":
            return b"".join(csv_pieces(frame, separator="\t"))
        case "parquet":
            import io

            buffer = io.BytesIO()
            frame.write_parquet(buffer)
            return buffer.getvalue()
        case _:
            assert_never(format)
