"""JSON written while it is sent, so that a response of any length takes little memory and delays nobody."""

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import orjson
from fastapi import HTTPException
from numpy.typing import NDArray

from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.work import Pieces
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Columns, Series

POINTS_A_PIECE: Final = 10_000
_BYTES_A_PIECE: Final = 1 << 20

Row = tuple[float | str, int, float | str]
"""Wall time, step, and value."""


def json_answer(pieces: Iterable[bytes]) -> Pieces:
    """Return the response that consists of the pieces."""
    return Pieces(pieces, media_type="application/json")


def npy_pieces(array: NDArray[np.generic]) -> Iterator[bytes | memoryview]:
    """Yield an array as a NumPy file, without a second copy in memory."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    content = array.reshape(-1).view(np.uint8).data
    for begin in range(0, len(content), _BYTES_A_PIECE):
        yield content[begin : begin + _BYTES_A_PIECE]


def listed(elements: Iterable[Any]) -> Iterator[bytes]:
    """Return a JSON array, one element per piece."""
    return joined(orjson.dumps(element) for element in elements)


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a JSON array of parts, each holding one or several elements."""
    before = b"["
    for part in parts:
        yield before + part
        before = b","
    yield b"]" if before == b"," else b"[]"


def named(members: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield a JSON object whose values come in pieces."""
    before = b"{"
    for name, pieces in members:
        yield before + json_bytes(name) + b":"
        yield from pieces
        before = b","
    yield b"}" if before == b"," else b"{}"


def columns_of(series: Series) -> Columns:
    """Return the points of a series.

    Raises:
        HTTPException: 422 if they can no longer be read.
    """
    try:
        return series.columns
    except PayloadError as error:
        raise HTTPException(
            422, f"The points of run {series.run!r}, tag {series.tag!r} no longer exist: {error}."
        ) from error


def rows(columns: Columns) -> Iterator[list[Row]]:
    """Yield all points as wall time, step, and value for JSON, `POINTS_A_PIECE` at a time."""
    for begin in range(0, len(columns), POINTS_A_PIECE):
        part = slice(begin, begin + POINTS_A_PIECE)
        wall_times, values = json_column(columns.wall_times[part]), json_column(columns.values[part])
        yield list(zip(wall_times, columns.steps[part].tolist(), values, strict=True))


def json_column(numbers: NDArray[np.float64]) -> list[float | str]:
    """Return a column for JSON; NaN and the infinities become strings, as TensorBoard writes them."""
    column: list[float | str] = numbers.tolist()
    return column if np.isfinite(numbers).all() else [json_number(number) for number in numbers.tolist()]


def point_list(series: Series) -> Iterator[bytes]:
    """Return every point of a scalar series, as TensorBoard sends it; raises what `columns_of` raises, immediately."""
    columns = columns_of(series)
    return joined(elements_of(part) for part in rows(columns))


def elements_of(elements: list[Any]) -> bytes:
    """Return the elements of a JSON array without the enclosing brackets."""
    return orjson.dumps(elements)[1:-1]
