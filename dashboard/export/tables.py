"""Tables as text and files, as written by ``stepscope export``."""

import base64
import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, TypeAlias

import orjson

from stepscope.dashboard.server.numbers import json_number

if TYPE_CHECKING:
    import polars as pl

TableFormat: TypeAlias = Literal["csv", "json", "parquet"]

_ROWS_AT_A_TIME: Final = 1 << 16
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Prefixes of texts that spreadsheets run as formulas."""


def csv_cell(value: Any) -> Any:
    """Return a value for a file that a spreadsheet may open: a text that would run as a formula is prefixed by a quote.

    Numbers stay as they are, including those in texts, such as "-1.5". Texts come from whoever wrote the logs
    (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def csv_lines(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield CSV with CRLF line ends, a few thousand rows at a time; texts are escaped by `csv_cell`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(csv_cell, header))
    for number, row in enumerate(rows):
        writer.writerow(map(csv_cell, row))
        if number % 4096 == 4095:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def csv_pieces(frame: "pl.DataFrame", *, separator: str = ",", exact: bool = False) -> Iterator[bytes]:
    """Yield a table as CSV: floats may be NaN, inf and -inf, null is empty, lists are JSON, and bytes are base64.

    Args:
        frame: the table.
        separator: the separator between cells.
        exact: whether to leave texts and names unchanged, for programs, instead of escaping them by `csv_cell`.
    """
    import polars as pl

    if not exact:
        texts = (column for column in frame if column.dtype in (pl.String, pl.Categorical, pl.Enum))
        frame = frame.with_columns(map(_without_formulas, texts)).rename(csv_cell)
    flat = frame.with_columns(
        pl.Series(column.name, [_cell(value) for value in column.to_list()], dtype=pl.String())
        for column in frame
        if column.dtype.is_nested() or column.dtype == pl.Binary
    )
    for begin in range(0, max(1, len(flat)), _ROWS_AT_A_TIME):
        yield flat.slice(begin, _ROWS_AT_A_TIME).write_csv(include_header=begin == 0, separator=separator).encode()


def json_pieces(frame: "pl.DataFrame") -> Iterator[bytes]:
    """Yield a table as a JSON array of objects, one per line.

    NaN and the infinities, which JSON cannot represent as numbers, are the strings "NaN", "Infinity" and "-Infinity",
    as in TensorBoard's JSON; bytes are base64, null is null.
    """
    yield b"["
    for begin in range(0, len(frame), _ROWS_AT_A_TIME):
        piece = frame.slice(begin, _ROWS_AT_A_TIME)
        yield b",\n" if begin else b"\n"
        yield _fast_lines(piece) if _is_plain(piece) else b",\n".join(map(_object, piece.iter_rows(named=True)))
    yield b"\n]\n"


def write_table(frame: "pl.DataFrame", table_format: TableFormat, stream: BinaryIO) -> None:
    """Write a table in one of the formats, without escaping, for programs; raises OSError."""
    if table_format == "parquet":
        frame.write_parquet(stream)
        return
    for piece in csv_pieces(frame, exact=True) if table_format == "csv" else json_pieces(frame):
        stream.write(piece)


def _without_formulas(texts: "pl.Series") -> "pl.Series":
    """Return a column of texts or categories, with its texts escaped by `csv_cell`."""
    import polars as pl

    candidates = (texts if texts.dtype == pl.String else texts.unique()).cast(pl.String)
    formulas = candidates.filter(candidates.str.contains(f"^[{re.escape(''.join(_FORMULA))}]")).unique()
    if formulas.is_empty():
        return texts
    return texts.cast(pl.String).replace(formulas, [csv_cell(formula) for formula in formulas])


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    plain = _plain(value)
    return plain if isinstance(plain, str) else orjson.dumps(plain).decode()


def _is_plain(frame: "pl.DataFrame") -> bool:
    """Return whether Polars writes these rows in the format required here."""
    import polars as pl

    return all(
        not column.dtype.is_nested()
        and column.dtype != pl.Binary
        and not (column.dtype.is_float() and (~column.is_finite()).any())
        for column in frame
    )


def _fast_lines(frame: "pl.DataFrame") -> bytes:
    # Line feeds inside strings are escaped, so that each one ends an object.
    lines: str = frame.write_ndjson()
    return lines.encode().rstrip(b"\n").replace(b"\n", b",\n")


def _object(row: dict[str, Any]) -> bytes:
    return orjson.dumps({name: _plain(value) for name, value in row.items()})


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return json_number(value)
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [_plain(element) for element in value]
        case dict():
            return {key: _plain(element) for key, element in value.items()}
        case _:
            return value
