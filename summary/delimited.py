"""Reads lines of delimited values as a table, even if a few of the lines are malformed."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.distinct import running_count
from stepscope.summary.memory_budget import claim
from stepscope.summary.vector_table_rules import Remark, VectorTableError, dimensions, left_out, unequal_rows

if TYPE_CHECKING:
    import polars as pl

_PIECE: Final = 16 << 20
"""Bytes that are searched for delimiters at a time."""
_SAMPLE: Final = 200
"""Lines that decide which delimiter it is, and which columns are numeric."""
_MOST_COLUMNS: Final = 1 << 16
_NUMBER_BYTES: Final = 40
"""Memory of a number that is not of a vector: its text, integer and float."""
_MISSING: Final = frozenset({"", "na", "n/a", "null", "none", "-", "?"})


@dataclass(frozen=True)
class _Lines:
    """Positions of the non-empty lines of a text, and the number of values in each."""

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: NDArray[np.int64]


def read_text(
    content: bytes, name: str, delimiters: str, quoted: bool
) -> tuple["pl.DataFrame", NDArray[np.int64], int, tuple[Remark, ...]]:
    """Return the lines that have as many values as most lines do, with numeric columns as numbers.

    Without a header, each column is named by its position after a NUL character.

    Args:
        content: the text.
        name: the file's name, for messages.
        delimiters: possible delimiters between the values.
        quoted: whether values may be in double quotes.

    Returns:
        The table; for each of its rows, the number of the row in the file; the number of rows in the file; what was
        wrong.

    Raises:
        VectorTableError: the content is not such a text.
    """
    content = _as_utf8(content, name)
    delimiter = _delimiter(content, delimiters)
    if delimiter == " ":
        content = re.sub(rb"(?m)^ +| +$", b"", content)
        content = re.sub(rb" {2,}", b" ", content)
    quote = b'"' if quoted and content.count(b'"') % 2 == 0 and b'"' in content else None
    lines = _lines(content, delimiter.encode(), quote)
    if not len(lines.begins):
        raise VectorTableError(f"{name} is empty.")
    counts = np.bincount(np.minimum(lines.values, _MOST_COLUMNS + 1))
    usual = int(len(counts) - 1 - np.argmax(counts[::-1]))
    if usual > _MOST_COLUMNS:
        raise VectorTableError(f"{name} has lines of more than {_MOST_COLUMNS:,} values.")
    good = np.flatnonzero(lines.values == usual)
    fields = [_fields(content, lines, int(i), delimiter, quote) for i in good[: _SAMPLE + 1]]
    numeric = _numeric(fields[1:] or fields, usual)
    header = fields[0] if len(fields) > 1 and _is_header(fields[0], fields[1], numeric) else None
    # word2vec's first line: the number of vectors, and the number of dimensions.
    counts_first = delimiter == " " and lines.values[0] == 2 and usual > 2
    skipped = int(header is not None and good[0] == 0) or int(counts_first)
    vectors = numeric
    if header is not None:
        good = good[1:]
        chosen = set(dimensions([text for text, number in zip(header, numeric, strict=True) if number]))
        vectors = [number and text in chosen for text, number in zip(header, numeric, strict=True)]
    rows = good.astype(np.int64) - skipped
    row_count = len(lines.begins) - skipped
    odd = row_count - len(good)
    first = int(np.argmax(lines.values[skipped:] != usual)) if odd else 0

    def fields_of(row: int) -> list[str]:
        return _fields(content, lines, int(good[row]), delimiter, quote)

    frame = _parsed(_chosen(content, lines, good), vectors, delimiter, quote)
    if frame is None or frame.height != len(good):
        frame = _slowly(map(fields_of, range(len(good))), vectors)
    frame, kept, wrong = _mended(frame, fields_of, vectors)
    others = [i for i in range(usual) if numeric[i] and not vectors[i]]
    frame = frame.with_columns(_as_numbers(frame.get_column(f"\0{i}")) for i in others)
    return _named(frame, header), rows[kept], row_count, (*unequal_rows(odd, usual, first), *wrong)


def _as_utf8(content: bytes, name: str) -> bytes:
    if b"\0" in content[:4096]:
        raise VectorTableError(f"{name} is not text in UTF-8.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            content = content.decode(errors="replace").encode()
    return content


def _delimiter(content: bytes, delimiters: str) -> str:
    """Return the first delimiter that divides most lines alike; one that is in the first line, if there is any."""
    full = (line for line in content[:1_000_000].split(b"\n") if line.strip())
    lines = [re.sub(rb" +", b" ", line.strip(b" ")) for line in itertools.islice(full, _SAMPLE)]
    found = [d for d in delimiters if lines and d.encode() in lines[0]]
    for delimiter in found:
        ((usual, count),) = Counter(line.count(delimiter.encode()) for line in lines).most_common(1)
        if usual and 2 * count > len(lines):
            return delimiter
    return (found or delimiters)[0]


def _lines(content: bytes, delimiter: bytes, quote: bytes | None) -> _Lines:
    """Find the lines; a line end between two quotes does not count."""
    data = np.frombuffer(content, np.uint8)
    ends: list[NDArray[np.int64]] = []
    totals: list[NDArray[np.int64]] = []
    before = quotes = 0
    for begin in range(0, len(data), _PIECE):
        piece = data[begin : begin + _PIECE]
        is_end, is_delimiter = piece == 10, piece == delimiter[0]
        if quote is not None:
            is_quote = piece == quote[0]
            outside = (running_count(is_quote) + quotes) % 2 == 0
            quotes += int(np.count_nonzero(is_quote))
            is_end, is_delimiter = is_end & outside, is_delimiter & outside
        found = np.flatnonzero(is_end)
        places = np.flatnonzero(is_delimiter)
        ends.append(found + begin)
        totals.append(np.searchsorted(places, found) + before)
        before += len(places)
    end_of_all, total_of_all = np.concatenate([*ends, [len(data)]]), np.concatenate([*totals, [before]])
    begins = np.concatenate([[0], end_of_all[:-1] + 1])
    values = np.diff(total_of_all, prepend=0) + 1
    full = end_of_all > begins
    for at in np.flatnonzero(full & (values == 1) & (end_of_all - begins < 1000)):
        full[at] = bool(content[begins[at] : end_of_all[at]].strip())
    return _Lines(begins[full], end_of_all[full], values[full])


def _fields(content: bytes, lines: _Lines, line: int, delimiter: str, quote: bytes | None) -> list[str]:
    """Return as many values of a line as were counted, even if its quotes are malformed."""
    text = content[lines.begins[line] : lines.ends[line]].decode(errors="replace")
    if quote is None:
        return text.split(delimiter)
    try:
        fields = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    except csv.Error:
        fields = text.split(delimiter)
    count = int(lines.values[line])
    return fields[:count] + [""] * (count - len(fields))


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _numeric(fields: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Return, for each column, whether at least nine in ten of the values that it has are numbers."""
    numeric: list[bool] = []
    for column in range(width):
        given = [row[column] for row in fields if column < len(row) and row[column].strip().lower() not in _MISSING]
        numbers = sum(_number(text) is not None for text in given)
        numeric.append(numbers > 0 and 10 * numbers >= 9 * len(given))
    return numeric


def _is_header(first: Sequence[str], second: Sequence[str], numeric: Sequence[bool]) -> bool:
    """Return whether the first line has names: text above numbers, or 0, 1, 2, ... as pandas writes them."""
    if any(text.strip() and _number(text) is None for text, number in zip(first, numeric, strict=False) if number):
        return True
    names = [text.strip() for text in first if text.strip()]
    return len(names) > 1 and names == [str(i) for i in range(len(names))] and list(first) != list(second)


def _chosen(content: bytes, lines: _Lines, good: NDArray[np.intp]) -> bytes:
    """Return only these lines."""
    if not len(good):
        return b""
    begins, ends = lines.begins[good], lines.ends[good]
    if (begins[1:] == ends[:-1] + 1).all():
        return content[begins[0] : ends[-1]]
    return b"\n".join(content[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True))


def _schema(vectors: Sequence[bool]) -> "dict[str, type[pl.DataType]]":
    import polars as pl

    return {f"\0{place}": pl.Float32 if vector else pl.String for place, vector in enumerate(vectors)}


def _parsed(content: bytes, vectors: Sequence[bool], delimiter: str, quote: bytes | None) -> "pl.DataFrame | None":
    """Return the lines as a table; None if Polars does not accept quotes as they are meant here."""
    import polars as pl

    if not content:
        return pl.DataFrame(schema=_schema(vectors))
    try:
        return pl.read_csv(
            content,
            has_header=False,
            separator=delimiter,
            quote_char=None if quote is None else quote.decode(),
            schema=_schema(vectors),
            ignore_errors=True,
            truncate_ragged_lines=True,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _slowly(lines: Iterable[Sequence[str]], vectors: Sequence[bool]) -> "pl.DataFrame":
    import polars as pl

    rows = [[_number(text) if vector else text for vector, text in zip(vectors, line, strict=True)] for line in lines]
    return pl.DataFrame(rows, schema=_schema(vectors), orient="row", strict=False)


def _as_numbers(texts: "pl.Series") -> "pl.Series":
    """Return texts as integers if all of their numbers but NaN are, else as float64."""
    import polars as pl

    claim(_NUMBER_BYTES * len(texts))
    texts = texts.str.strip_chars()
    integers, floats = texts.cast(pl.Int128, strict=False), texts.cast(pl.Float64, strict=False)
    return integers if integers.count() == floats.is_not_nan().sum() else floats


def _mended(
    frame: "pl.DataFrame", fields: Callable[[int], list[str]], numeric: Sequence[bool]
) -> tuple["pl.DataFrame", NDArray[np.int64], tuple[Remark, ...]]:
    """Reread, slowly, values that were not understood as numbers; rows with other text there are left out."""
    import polars as pl

    columns = [i for i, number in enumerate(numeric) if number]
    kept = np.ones(frame.height, bool)
    if not columns or not frame.height:
        return frame, np.flatnonzero(kept), ()
    unread = frame.select(pl.any_horizontal(pl.col([f"\0{i}" for i in columns]).is_null())).to_series().to_numpy()
    mended: dict[int, tuple[list[int], list[float]]] = {}
    example = ""
    for row in np.flatnonzero(unread).tolist():
        texts = fields(row)
        for i in columns:
            text = texts[i].strip() if i < len(texts) else ""
            value = float("nan") if text.lower() in _MISSING else _number(text)
            if value is None:
                kept[row], example = False, example or text
                value = float("nan")
            rows, values = mended.setdefault(i, ([], []))
            rows.append(row)
            values.append(value)
    if mended:
        frame = frame.with_columns(_scattered(frame.get_column(f"\0{i}"), *new) for i, new in mended.items())
    if kept.all():
        return frame, np.flatnonzero(kept), ()
    count = int(np.count_nonzero(~kept))
    remarks = left_out(
        "no numbers",
        count,
        "has a value that is not a number",
        "have values that are not numbers",
        f" (the first is {example[:40]!r})",
    )
    return frame.filter(pl.Series(kept)), np.flatnonzero(kept), remarks


def _scattered(series: "pl.Series", rows: Sequence[int], values: Sequence[float]) -> "pl.Series":
    import polars as pl

    array = series.to_numpy().copy()
    with np.errstate(over="ignore"):
        array[list(rows)] = np.array(values).astype(np.float32)
    return pl.Series(series.name, array, pl.Float32)


def _named(frame: "pl.DataFrame", header: Sequence[str] | None) -> "pl.DataFrame":
    if header is None:
        return frame
    names: dict[str, None] = {}
    for place, given in enumerate(header):
        name = given.strip() or ("index" if place == 0 else f"column {place + 1}")
        while name in names:
            name += "'"
        names[name] = None
    return frame.rename(dict(zip(frame.columns, names, strict=False)))
