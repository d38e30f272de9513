"""Answers that a browser saves as files."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from dashboard.export.tables import csv_cell


def csv_lines(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """CSV with CRLF line ends, a few thousand rows at a time; texts as `csv_cell` gives them."""
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


def attachment(tag: str, extension: str) -> dict[str, str]:
    """The header that names a download after its tag."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in tag)[:100] or "scalars"
    return {"Content-Disposition": f'attachment; filename="{safe}.{extension}"'}
