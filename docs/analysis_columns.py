"""Writes ``analysis_columns.md``: what each column of each analysis is, as the records of the analyses say."""

from pathlib import Path
from typing import Final

from stepscope.profiler.analysis.records import Analysis
from stepscope.profiler.analysis.report import ANALYSES

PAGE: Final = Path(__file__).with_name("analysis_columns.md")
_BEGINNING: Final = """# Columns of the tables

The columns of the [tables of a trace](analysis.md#tables). Written by `python -m docs.analysis_columns`.

Columns that end in `_ns` are in nanoseconds; points in time, in files and JSON, are on the trace's clock. Columns that
end in `_percent` are in percent, and those that end in `bytes` in bytes. Unknown values are null.
"""


def written() -> str:
    """Return the page of the documentation."""
    return "\n".join([_BEGINNING, *map(_chapter, ANALYSES)])


def _chapter(analysis: Analysis) -> str:
    rows = [f"| `{column.name}` | {column.about} |" for column in analysis.columns]
    return "\n".join(
        [f"## {analysis.name}", "", f"{_sentence(analysis.about)}", "", "| Column | |", "|---|---|", *rows, ""]
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


if __name__ == "__main__":
    PAGE.write_text(written())
